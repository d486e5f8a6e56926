//! How is somebody told of a question who is not there? By the command and the webhook of the settings (spec 06, "Routing",
//! 5).

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::json;

use super::{
    confirmation_router::{ATTENDED, RouterPorts},
    named::learn_own,
};
use crate::{
    confirmation_channels::ConfirmationChannels, daemon_life::DaemonLife, daemon_services::DaemonServices,
    program_runtime::ProgramRuntime, settings_in_force::SettingsInForce,
};
use config::ApprovalSettings;
use notify::{self, NotifyError, WebhookTarget};
use protocol::{ConfirmationId, ConfirmationRecord};
use run::RunExecutor;
use store::EventStore;

/// What a command or a webhook is told, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConfirmationNotice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    /// The question as it stands.
    confirmation: &'a ConfirmationRecord,
    /// Answers it, once and as it is now: `subagent approve --token`.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    /// Answers it by `POST`; where the daemon serves TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm_url: Option<String>,
}

/// The services by which people elsewhere are told.
pub(super) struct ConfirmationNotifier {
    life: Arc<DaemonLife>,
    settings: Arc<SettingsInForce>,
    store: EventStore,
    executor: RunExecutor,
    programs: Arc<ProgramRuntime>,
    confirmations: Arc<ConfirmationChannels>,
}

impl ConfirmationNotifier {
    pub fn of(services: &DaemonServices) -> ConfirmationNotifier {
        let DaemonServices { life, settings, store, executor, programs, confirmations, .. } =
            services.clone();
        ConfirmationNotifier { life, settings, store, executor, programs, confirmations }
    }

    /// What the desk of this daemon can do.
    pub fn ways(self) -> RouterPorts {
        let state = Arc::new(self);
        let (settling, asked, noting) = (Arc::clone(&state), Arc::clone(&state), state.store.clone());
        RouterPorts {
            settle: Box::new(move |run, confirmation, how| {
                let executor = settling.executor.clone();
                Box::pin(async move { executor.settle(&run, &confirmation, how).await })
            }),
            tell_after: Box::new(move || tell_after(&asked.settings.get().config.approval)),
            tell: Box::new(move |confirmation| -> BoxFuture<'static, ()> {
                let state = Arc::clone(&state);
                Box::pin(async move { tell(&state, &confirmation).await })
            }),
            note: Box::new(move |text| {
                let store = noting.clone();
                Box::pin(async move { store.leave_note(ATTENDED, text).await })
            }),
        }
    }
}

fn tell_after(settings: &ApprovalSettings) -> Option<Duration> {
    let has_way = !settings.notify_command.value.is_empty() || settings.webhook_url.value.is_some();
    has_way.then_some(settings.notify_after.value)
}

/// Tells by every way there is, at once. Whoever could not be told is named in the daemon's log.
async fn tell(state: &Arc<ConfirmationNotifier>, id: &ConfirmationId) {
    let stored = match state.store.confirmation(id).await {
        Ok(Some(stored)) if stored.resolution.is_none() => stored,
        Ok(_) => return,
        Err(error) => return tracing::warn!(confirmation = %id, %error, "nobody was told of a question"),
    };
    // As nobody in particular sees it.
    let Some(record) = state.confirmations.router.records(vec![stored], 0).pop() else { return };
    let token = token(state, &record).await;
    let in_force = state.settings.get();
    let settings = &in_force.config.approval;
    let by_command = async {
        // It is the owner's own program on the owner's machine: what it may do with the token is theirs to say.
        let input = notice(state, &record, token.as_deref());
        match settings.notify_command.value.as_slice() {
            [] => Ok(()),
            words => notify::run(&state.programs.children, &state.life.clock, words, &input).await,
        }
    };
    let by_webhook = async {
        let Some(url) = settings.webhook_url.value.clone() else { return Ok(()) };
        let Some(place) = &settings.webhook_secret.value else { return Err(NotificationFailure::NoSecret) };
        let secret =
            place.secret(&state.settings.sources.environment).map_err(NotificationFailure::Secret)?;
        state.settings.secrets.heard("WEBHOOK", &String::from_utf8_lossy(&secret));
        // Without TCP there is nothing that the token could be sent back to.
        let token = token.as_deref().filter(|_| state.life.tcp.get().is_some());
        let body = notice(state, &record, token);
        WebhookTarget { url, secret }.post(&state.life.clock, body).await.map_err(NotificationFailure::Notify)
    };
    let (command, webhook) = tokio::join!(by_command, by_webhook);
    for error in [command.map_err(NotificationFailure::Notify), webhook].into_iter().filter_map(Result::err) {
        tracing::warn!(confirmation = %id, %error, "somebody could not be told of a question");
    }
}

/// The reason why somebody could not be told.
#[derive(Debug, thiserror::Error)]
enum NotificationFailure {
    #[error(transparent)]
    Notify(NotifyError),
    #[error("approval.webhook.url is set, and approval.webhook.secret is not")]
    NoSecret,
    #[error("the secret of approval.webhook.secret {0}")]
    Secret(String),
}

fn notice(state: &ConfirmationNotifier, record: &ConfirmationRecord, token: Option<&str>) -> Vec<u8> {
    let address = state.life.tcp.get();
    let confirm_url = token.zip(address).map(|(token, address)| format!("http://{address}/confirm/{token}"));
    let notice =
        ConfirmationNotice { kind: "confirmation.requested", confirmation: record, token, confirm_url };
    json!(notice).to_string().into_bytes()
}

/// Without one the question is told all the same: who reads it can come and answer.
async fn token(state: &Arc<ConfirmationNotifier>, record: &ConfirmationRecord) -> Option<String> {
    let subject = &record.confirmation;
    let (tokens, id, digest) =
        (Arc::clone(&state.confirmations.tokens), subject.confirmation_id.clone(), subject.digest.clone());
    let (state_dir, secrets) = (state.settings.state_dir.clone(), state.settings.secrets.clone());
    let made = tokio::task::spawn_blocking(move || {
        let token = tokens.make(&id, &digest);
        // What it is made with may have been made just now.
        learn_own(&state_dir, &secrets);
        token
    })
    .await;
    match made {
        Ok(Ok(token)) => Some(token),
        Ok(Err(error)) => {
            tracing::warn!(%error, "there is no token to answer a question with");
            None
        }
        Err(error) => {
            tracing::error!(%error, "there is no token to answer a question with");
            None
        }
    }
}
