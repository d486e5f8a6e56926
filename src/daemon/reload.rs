//! Which settings are in force, and what happens when they and the rules are read anew? (spec 12)
//!
//! All of them are one value that is swapped whole: whoever begins something takes it once and keeps what it said. What
//! is mistaken keeps the value it had. The log is told first; when it cannot be, nothing changes.

use std::sync::Arc;

use tokio::task::JoinError;

use super::{
    dead_names::dead_names_in_force,
    discovery, hook_problems, named,
    named::SettingsReferences,
    otlp,
    redaction::{redactor, without_secrets},
    settings_in_force::ActiveSettings,
    wire_errors::internal,
};
use crate::{
    daemon_life::DaemonLife,
    daemon_services::DaemonServices,
    daemon_telemetry::DaemonTelemetry,
    program_runtime::ProgramRuntime,
    settings_in_force::SettingsInForce,
    settings_problems::{SettingsProblems, idle_exclusions, project_problems},
    settings_switch::SettingsSwitch,
    workspace_sources::WorkspaceSources,
};
use config::{ConfigSources, DaemonConfig};
use protocol::{
    ConfigChanged, EventBody, EventHead, FileProblem, PolicyChanged, PrivateEventFields, ReloadResult,
    RpcError,
};
use rules::RuleFiles;
use store::{EventStore, KeyedAnswer, NewEvent};

/// The services by which settings and rules are read anew.
pub(super) struct SettingsReloader {
    switch: SettingsSwitch,
    life: Arc<DaemonLife>,
    settings: Arc<SettingsInForce>,
    store: EventStore,
    workspaces: Arc<WorkspaceSources>,
    programs: Arc<ProgramRuntime>,
    telemetry: Arc<DaemonTelemetry>,
    problems: SettingsProblems,
}

impl SettingsReloader {
    pub fn of(services: &DaemonServices) -> SettingsReloader {
        let DaemonServices { life, settings, store, workspaces, programs, telemetry, .. } = services.clone();
        let problems = SettingsProblems::of(services);
        SettingsReloader {
            life,
            settings,
            store,
            workspaces,
            programs,
            telemetry,
            problems,
            switch: SettingsSwitch::of(services),
        }
    }

    /// Hides what somebody signed in with, and each secret that was read, from now on.
    pub fn hide_anew(&self) {
        self.switch.hide_anew();
    }
}

/// Reads the settings anew and puts them in force. One at a time, and whole: whoever asks may leave, but what the log says
/// is then done.
pub(super) async fn reload(
    state: &Arc<SettingsReloader>,
    by: Option<String>,
) -> Result<ReloadResult, RpcError> {
    let reloading = Arc::clone(state);
    let whole = async move { reload_whole(&reloading, by, None).await };
    let reloading = state.life.writing.spawn("the reading of the settings", whole);
    let done = reloading.await.map_err(|error| internal("the settings were not read anew", &error))?;
    discovery::refresh(&state.problems.discovery);
    done
}

/// What is kept under a request's key, given whether the log is told of any change.
pub(super) type KeyedReloadAnswer = Box<dyn FnOnce(bool) -> KeyedAnswer + Send>;

/// The same for a request that changed a file, whose answer is kept with what the log is told. The caller sees to it that this
/// runs to its end. After an error nothing is in force that was not.
pub(super) async fn reload_whole(
    state: &SettingsReloader,
    by: Option<String>,
    to_be_kept: Option<KeyedReloadAnswer>,
) -> Result<ReloadResult, RpcError> {
    let _turn = state.settings.changes.lock().await;
    let before = state.settings.get();
    let read = SettingsReload { before: Arc::clone(&before), sources: Arc::clone(&state.settings.sources) };
    let places = state.settings.rule_places.clone();
    let read = tokio::task::spawn_blocking(move || (read.anew(), RuleFiles::read(&places))).await;
    let ((config, mut problems), rules) =
        read.map_err(|error| internal("the settings could not be read", &error))?;
    let (otlp_targets, otlp_problems) =
        otlp::found_targets(&config, &state.settings.sources.environment, &state.settings.secrets);
    problems.extend(otlp_problems);
    let settings_problems = problems.len();
    let changes = config.changes_since(&before.config);
    let redactor = match config.redaction.patterns.value == before.config.redaction.patterns.value {
        true => state.settings.redactor.get(),
        // Each pattern was compiled when it was read.
        false => Arc::new(
            redactor(&state.settings.sources.environment, &config)
                .map_err(|error| internal("the patterns to be hidden cannot be used", &error))?,
        ),
    };
    problems.extend(rules.problems().cloned());
    let mut problems = without_secrets(problems, &redactor);
    let needs_restart = changes.at_start.clone();
    let changed: Vec<String> = changes.at_once.into_iter().chain(changes.at_start).collect();
    let policies = rules.changed_since(&state.workspaces.projects.rules().files());
    let policies: Vec<String> =
        policies.iter().map(|path| redactor.owned(path.to_string_lossy().into_owned())).collect();
    let event = |body: EventBody| NewEvent {
        at: state.life.clock.now(),
        session: None,
        run: None,
        context: None,
        head: EventHead { by: by.clone(), ..EventHead::default() },
        body,
        private: PrivateEventFields::default(),
    };
    let mut events = Vec::new();
    if !changed.is_empty() {
        let data = ConfigChanged { changed: changed.clone(), needs_restart: needs_restart.clone() };
        events.push(event(data.into()));
    }
    if !policies.is_empty() {
        let files = policies.clone();
        events.push(event(PolicyChanged { added: Vec::new(), removed: Vec::new(), files }.into()));
    }
    let is_any = !events.is_empty();
    let keyed = to_be_kept.map(|to_be_kept| to_be_kept(is_any));
    let (_, last) = state.store.append_keyed(events, keyed).await?;
    let seq = is_any.then_some(last);
    let of_rules = problems.split_off(settings_problems);
    let references = SettingsReferences::in_settings(
        &config,
        (&state.settings.sources, &state.settings.rule_places),
        &state.settings.state_dir,
    );
    let files = state.programs.commands.sandbox.hidden().named().clone();
    named::take_in(references, &state.programs.log, &files, &state.settings.secrets)
        .await
        .map_err(|error| internal("what the settings name could not be looked at", &error))?;
    state.workspaces.projects.rules().replace_files(rules);
    state.switch.put_in_force(config, problems.clone(), &before, (*redactor).clone());
    state.telemetry.otlp.retarget(otlp_targets, &state.settings.get().config);
    tracing::info!(
        ?changed,
        ?policies,
        ?needs_restart,
        problems = problems.len() + of_rules.len(),
        "settings and rules were read anew"
    );
    for problem in &problems {
        tracing::warn!("settings: {problem}");
    }
    for problem in &of_rules {
        tracing::warn!("rules: {problem}");
    }
    problems.extend(of_rules);
    let unread = |error: JoinError| internal("the projects could not be read", &error);
    problems.extend(idle_exclusions(&state.problems).await.map_err(unread)?);
    problems.extend(dead_names_in_force(&state.settings, &state.workspaces).await.map_err(unread)?);
    problems.extend(project_problems(&state.problems).await.map_err(unread)?);
    let of_hooks = hook_problems::problems_in_force(&state.problems.inspection).await.map_err(unread)?;
    let new: Vec<FileProblem> = of_hooks.into_iter().filter(|it| !problems.contains(it)).collect();
    problems.extend(new);
    let unreadable = hook_problems::unreadable_files(&state.problems.inspection).await.map_err(unread)?;
    let problems = hook_problems::as_of_now(&problems, &unreadable);
    let stopped_by = unreadable.iter().map(|it| it.path.to_string_lossy().into_owned()).collect();
    Ok(ReloadResult { changed, policies, needs_restart, problems, stopped_by, seq })
}

struct SettingsReload {
    before: Arc<ActiveSettings>,
    sources: Arc<ConfigSources>,
}

impl SettingsReload {
    fn anew(&self) -> (DaemonConfig, Vec<FileProblem>) {
        self.before.config.reload(&self.sources)
    }
}
