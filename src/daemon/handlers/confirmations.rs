//! `confirmation/list`, `confirmation/get`, `confirmation/claim`, `confirmation/release`, `confirmation/respond`.

use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::{
    super::{
        confirmation_router::{EDIT_CHECKED, TokenError},
        rpc::{MethodHandlers, RpcCaller},
    },
    internal,
    lookup::{record as run_record, session},
    observers::may_change,
};
use crate::{
    client_connections::ClientConnections, confirmation_channels::ConfirmationChannels,
    daemon_life::DaemonLife, daemon_services::DaemonServices, settings_in_force::SettingsInForce,
};
use protocol::{
    Audience, Claim, ConfirmationAnswer, ConfirmationClaim, ConfirmationClaimParams, ConfirmationClaimResult,
    ConfirmationGet, ConfirmationGetParams, ConfirmationGetResult, ConfirmationId, ConfirmationList,
    ConfirmationListParams, ConfirmationListResult, ConfirmationOutcome, ConfirmationRecord,
    ConfirmationRelease, ConfirmationReleaseParams, ConfirmationReleaseResult, ConfirmationRespond,
    ConfirmationRespondParams, ConfirmationRespondResult, DecidedBy, ErrorKind, EventSeq, Resolution,
    RevisionReason, RpcError, RunId, SchemaViolation,
};
use run::{AnswerError, AnswerOutcome, RunExecutor, said};
use store::{ConfirmationFilter, EventStore, StoredConfirmation};

/// The most questions of one page; the schema says the same.
const MAX_PAGE: usize = 1_000;
/// Bytes of questions of one page, but for its first one: half of what an answer may have.
const PAGE_BYTES: usize = 8 << 20;
/// How long a claim stands when its client does not say.
const CLAIM: Duration = Duration::from_secs(60);
/// How an answer by token is named in the log.
const BY_TOKEN: &str = "token";

/// The services that the methods of confirmations use.
pub(super) struct ConfirmationMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
    pub confirmations: Arc<ConfirmationChannels>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { life, settings, store, executor, clients, confirmations, .. } = services.clone();
    let mut api =
        api.given(Arc::new(ConfirmationMethods { life, settings, store, executor, clients, confirmations }));
    api.cancellable::<ConfirmationList, _, _>(list);
    api.cancellable::<ConfirmationGet, _, _>(get);
    api.method::<ConfirmationClaim, _, _>(claim);
    api.method::<ConfirmationRelease, _, _>(release);
    api.method::<ConfirmationRespond, _, _>(respond);
}

async fn list(
    state: Arc<ConfirmationMethods>,
    caller: RpcCaller,
    params: ConfirmationListParams,
) -> Result<ConfirmationListResult, RpcError> {
    let ConfirmationListParams { session_id, run_id, resolved, cursor, limit } = params;
    // Nothing of what never was would look like nothing to answer.
    if let Some(id) = &session_id {
        session(&state.store, id).await?;
    }
    if let Some(id) = &run_id {
        run_record(&state.store, id).await?;
    }
    let filter = ConfirmationFilter { session: session_id, run: run_id, resolved };
    let limit = usize::try_from(limit).unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
    let listed = state.store.confirmations(&filter, cursor.as_deref(), limit).await?;
    let places: Vec<EventSeq> = listed.items.iter().map(|stored| stored.first_seq).collect();
    let mut next_cursor = listed.next;
    let mut confirmations = state.confirmations.router.records(listed.items, caller.connection());
    let fitting = n_fitting(&confirmations, PAGE_BYTES);
    if fitting < confirmations.len() {
        confirmations.truncate(fitting);
        next_cursor = places.get(fitting - 1).map(EventSeq::to_string);
    }
    Ok(ConfirmationListResult { confirmations, next_cursor })
}

/// How many of them fit, at least one.
fn n_fitting(records: &[ConfirmationRecord], mut room: usize) -> usize {
    let fits = |record: &ConfirmationRecord| {
        let left = room.checked_sub(json!(record).to_string().len());
        room = left.unwrap_or(0);
        left.is_some()
    };
    records.iter().map(fits).take_while(|fits| *fits).count().max(1)
}

async fn get(
    state: Arc<ConfirmationMethods>,
    caller: RpcCaller,
    params: ConfirmationGetParams,
) -> Result<ConfirmationGetResult, RpcError> {
    let ConfirmationGetParams { confirmation_id, token } = params;
    let id = match (confirmation_id, token) {
        (Some(id), None) => id,
        (None, Some(token)) => of_token(&state, token).await?.0,
        (Some(_), Some(_)) => {
            return Err(violations(vec![("/confirmationId", "is bound to the token; give one of the two")]));
        }
        (None, None) => return Err(violations(vec![("/confirmationId", "needed without a token")])),
    };
    let stored = known(&state, &id).await?;
    Ok(ConfirmationGetResult { confirmation: shown(&state, stored, &caller)? })
}

async fn claim(
    state: Arc<ConfirmationMethods>,
    caller: RpcCaller,
    params: ConfirmationClaimParams,
) -> Result<ConfirmationClaimResult, RpcError> {
    let ConfirmationClaimParams { confirmation_id, duration_ms: for_ms } = params;
    let stored = known(&state, &confirmation_id).await?;
    if let Some((_, resolution)) = &stored.resolution {
        return Err(already_resolved(resolution));
    }
    may_change(&state.clients, &caller, &stored.confirmation.session_id)?;
    let said = caller.introduction();
    let claim = Claim {
        client_id: said.as_ref().map(|said| said.client_id.clone()),
        name: said.map(|said| state.settings.redactor.get().owned(said.client.name)),
        until: state.life.clock.now().plus(for_ms.map_or(CLAIM, Duration::from_millis)),
        answered: false,
    };
    let claimed = state.confirmations.router.claim(&confirmation_id, caller.connection(), claim.clone());
    if let Some(until_the_end) = claimed.flatten() {
        caller.keep(until_the_end);
    }
    Ok(ConfirmationClaimResult { confirmation_id, claim })
}

async fn release(
    state: Arc<ConfirmationMethods>,
    caller: RpcCaller,
    params: ConfirmationReleaseParams,
) -> Result<ConfirmationReleaseResult, RpcError> {
    let ConfirmationReleaseParams { confirmation_id } = params;
    let stored = known(&state, &confirmation_id).await?;
    may_change(&state.clients, &caller, &stored.confirmation.session_id)?;
    let released = state.confirmations.router.release(&confirmation_id, caller.connection());
    Ok(ConfirmationReleaseResult { confirmation_id, released })
}

async fn respond(
    state: Arc<ConfirmationMethods>,
    caller: RpcCaller,
    params: ConfirmationRespondParams,
) -> Result<ConfirmationRespondResult, RpcError> {
    check(&params)?;
    let ConfirmationRespondParams {
        confirmation_id,
        digest,
        outcome,
        grant,
        message,
        arguments,
        content,
        limits,
        answers,
        token,
    } = params;
    let (id, digest, is_by_token) = match (token, confirmation_id, digest) {
        (Some(token), _, _) => {
            let (id, digest) = of_token(&state, token).await?;
            (id, digest, true)
        }
        (None, Some(id), Some(digest)) => (id, digest, false),
        // Refused above.
        (None, _, _) => return Err(violations(vec![("/confirmationId", "needed without a token")])),
    };
    let stored = known(&state, &id).await?;
    let subject = &stored.confirmation;
    let (run_id, name) = (subject.run_id.clone(), name_of(&caller, is_by_token));
    if is_by_token && outcome == ConfirmationOutcome::Modify {
        let offered = subject.options.iter().map(|option| option.outcome);
        return Err(not_offered(
            &offered.filter(|it| *it != ConfirmationOutcome::Modify).collect::<Vec<_>>(),
        ));
    }
    // A viewer decides nothing. Who is not attached at all is a script or a command, whose user the socket has proved.
    if !is_by_token {
        may_change(&state.clients, &caller, &subject.session_id)?;
    }
    // Nor does who was left out on purpose, by whatever connection they come.
    if let Audience::Clients(meant) = &subject.audience
        && !is_by_token
        && !caller.introduction().is_some_and(|said| meant.contains(&said.client_id))
    {
        let message = format!("the question {id} is for other clients, which the run's starter named");
        return Err(RpcError::new(ErrorKind::Forbidden, message).with_details(json!({ "audience": meant })));
    }
    let is_edit = arguments.is_some() || content.is_some();
    let answer = ConfirmationAnswer {
        confirmation: id.clone(),
        digest: digest.clone(),
        outcome,
        grant,
        message,
        arguments,
        content,
        limits,
        answers,
        name: Some(name.clone()),
    };
    let repeat = RepeatedAnswer { outcome, digest, name, said: said(&answer) };
    if let Some(resolution) = stored.resolution {
        return repeat.answered(id, run_id, resolution);
    }
    let edited = is_edit.then(|| {
        let (said, user) = (caller.introduction(), format!("user {}", caller.peer().uid));
        let claim = Claim {
            client_id: said.as_ref().map(|said| said.client_id.clone()),
            // Who does not say who they are is the user whom the socket has proved.
            name: Some(said.map_or(user, |said| state.settings.redactor.get().owned(said.client.name))),
            until: state.life.clock.now().plus(EDIT_CHECKED),
            answered: true,
        };
        state.confirmations.router.edit_begins(&id, claim)
    });
    let answered = state.executor.answer(&run_id, answer).await;
    drop(edited);
    match answered {
        Ok(AnswerOutcome { seq, resolution }) => {
            Ok(ConfirmationRespondResult { confirmation_id: id, run_id, resolution, seq, replayed: false })
        }
        // Somebody else was faster, or the same one was.
        Err(AnswerError::Resolved) => match known(&state, &id).await?.resolution {
            Some(resolution) => repeat.answered(id, run_id, resolution),
            None => Err(not_active(&state, &run_id).await?),
        },
        Err(AnswerError::Stale(fresh)) => {
            let fresh = shown(&state, StoredConfirmation::open(*fresh), &caller)?;
            Err(stale(&fresh))
        }
        Err(AnswerError::AskedAgain(fresh, why)) => {
            let fresh = shown(&state, StoredConfirmation::open(*fresh), &caller)?;
            Err(asked_again(&fresh, why))
        }
        Err(error) => Err(refused(error)),
    }
}

/// What was said, for telling whether it is said again.
struct RepeatedAnswer {
    outcome: ConfirmationOutcome,
    digest: String,
    name: String,
    said: Option<String>,
}

impl RepeatedAnswer {
    /// The question is over: whoever says again what decided it gets the same answer again, all others the resolution.
    fn answered(
        self,
        confirmation_id: ConfirmationId,
        run_id: RunId,
        (seq, resolution): (EventSeq, Resolution),
    ) -> Result<ConfirmationRespondResult, RpcError> {
        // Nothing is kept of the answers to a tool's question; the first ones stay, whatever comes after them.
        let is_unsaid =
            resolution.outcome == ConfirmationOutcome::Answer && resolution.answer_digest.is_none();
        let is_the_same = (resolution.outcome == self.outcome || is_overruled(&resolution, self.outcome))
            && resolution.digest == self.digest
            && (is_unsaid || resolution.answer_digest == self.said)
            && resolution.name.as_ref() == Some(&self.name);
        match is_the_same {
            true => {
                Ok(ConfirmationRespondResult { confirmation_id, run_id, resolution, seq, replayed: true })
            }
            false => Err(already_resolved(&resolution)),
        }
    }
}

/// True if an answer by which the call would run came to a no by the word of a hook or a rule: its digest is kept with that.
fn is_overruled(resolution: &Resolution, said: ConfirmationOutcome) -> bool {
    let is_no = resolution.outcome == ConfirmationOutcome::Deny;
    said.is_consent() && is_no && matches!(resolution.by, DecidedBy::Hook | DecidedBy::Policy)
}

/// Who answers, for the log: the client, else the way by which the answer came.
fn name_of(caller: &RpcCaller, is_by_token: bool) -> String {
    match caller.introduction() {
        _ if is_by_token => BY_TOKEN.to_owned(),
        Some(said) => said.client_id.to_string(),
        None => format!("user {}", caller.peer().uid),
    }
}

/// What must and what must not be given with an outcome: all of it at once.
fn check(params: &ConfirmationRespondParams) -> Result<(), RpcError> {
    let ConfirmationRespondParams {
        confirmation_id,
        digest,
        outcome,
        arguments,
        content,
        limits,
        answers,
        token,
        ..
    } = params;
    let mut wrong: Vec<(&str, &str)> = Vec::new();
    match token {
        Some(_) => {
            wrong.extend(confirmation_id.as_ref().map(|_| ("/confirmationId", "is bound to the token")));
            wrong.extend(digest.as_ref().map(|_| ("/digest", "is bound to the token")));
        }
        None => {
            let needed = "needed without a token";
            wrong.extend(confirmation_id.is_none().then_some(("/confirmationId", needed)));
            wrong.extend(digest.is_none().then_some(("/digest", needed)));
        }
    }
    let is_modified = *outcome == ConfirmationOutcome::Modify;
    let given =
        [("/arguments", arguments.is_some()), ("/content", content.is_some()), ("/limits", limits.is_some())];
    let given: Vec<&str> =
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect();
    match given[..] {
        [] if is_modified => {
            wrong.push((
                "/arguments",
                "with `modify`, `arguments` or `content` is needed; to a question about a budget, `limits`",
            ));
        }
        // Which of them fits the question is seen with the question.
        [_, ref more @ ..] if is_modified => {
            wrong.extend(
                more.iter().map(|pointer| (*pointer, "is instead of what else is given; give one of them")),
            );
        }
        _ => wrong.extend(given.iter().map(|pointer| (*pointer, "only with `modify`"))),
    }
    match (answers.is_empty(), *outcome == ConfirmationOutcome::Answer) {
        (true, true) => wrong.push(("/answers", "needed with `answer`: one a question, in order")),
        (false, false) => wrong.push(("/answers", "only with `answer`")),
        _ => (),
    }
    if wrong.is_empty() { Ok(()) } else { Err(violations(wrong)) }
}

fn violations(wrong: Vec<(&str, &str)>) -> RpcError {
    let list = wrong.iter().map(|(pointer, message)| SchemaViolation {
        pointer: (*pointer).to_owned(),
        message: (*message).to_owned(),
    });
    invalid(&list.collect::<Vec<_>>())
}

fn invalid(violations: &[SchemaViolation]) -> RpcError {
    let said: Vec<String> = violations.iter().map(|it| format!("{}: {}", it.pointer, it.message)).collect();
    RpcError::new(ErrorKind::InvalidParams, said.join("; ")).with_details(json!({ "violations": violations }))
}

/// The question and the digest that a token is bound to.
async fn of_token(
    state: &Arc<ConfirmationMethods>,
    token: String,
) -> Result<(ConfirmationId, String), RpcError> {
    let tokens = Arc::clone(&state.confirmations.tokens);
    let checked = tokio::task::spawn_blocking(move || tokens.check(&token)).await;
    match checked.map_err(|error| internal("a token could not be checked", &error))? {
        Ok(bound) => Ok(bound),
        Err(error @ TokenError::Wrong) => Err(RpcError::new(ErrorKind::Forbidden, error.to_string())
            .with_hint("copy the whole token of the notification; `subagent approvals` shows what is open")),
        Err(TokenError::Key(error)) => Err(internal("tokens cannot be checked", &error)),
    }
}

async fn known(state: &ConfirmationMethods, id: &ConfirmationId) -> Result<StoredConfirmation, RpcError> {
    let missing = || {
        RpcError::new(ErrorKind::NotFound, format!("there is no question {id}"))
            .with_hint("it never was, or went with its session; `subagent approvals` shows what is open")
    };
    state.store.confirmation(id).await?.ok_or_else(missing)
}

fn shown(
    state: &ConfirmationMethods,
    stored: StoredConfirmation,
    caller: &RpcCaller,
) -> Result<ConfirmationRecord, RpcError> {
    let record = state.confirmations.router.records(vec![stored], caller.connection()).pop();
    record.ok_or_else(|| internal("a question was lost", &"one record was asked for and none came"))
}

fn already_resolved(resolution: &Resolution) -> RpcError {
    let name = resolution.name.as_deref();
    let (who, after) = match resolution.by {
        DecidedBy::Client => (name.unwrap_or("somebody"), None),
        DecidedBy::Policy => ("a rule", name.map(|name| format!("after {name} had answered"))),
        DecidedBy::Deadline => ("the deadline", None),
        DecidedBy::System => ("the daemon", None),
        DecidedBy::Hook => ("a hook", name.map(|name| format!("after {name} had changed the call"))),
    };
    let after = after.map(|after| format!(", {after}")).unwrap_or_default();
    let message = format!("the question is over: {who} decided {}{after}", resolution.outcome.as_str());
    RpcError::new(ErrorKind::ConfirmationAlreadyResolved, message)
        .with_details(json!({ "resolution": resolution }))
}

fn stale(fresh: &ConfirmationRecord) -> RpcError {
    RpcError::new(ErrorKind::ConfirmationStale, "the question has changed since it was shown")
        .with_details(json!({ "confirmation": fresh }))
        .with_hint("look at it again, and answer with its digest")
}

/// The answer was taken, and is not the last one.
fn asked_again(fresh: &ConfirmationRecord, why: RevisionReason) -> RpcError {
    let what = match why {
        RevisionReason::AskedByHook => "a hook wants a person to be asked about it",
        _ => "a hook changed it again",
    };
    let message = format!("the change was taken, and {what}, so the question is asked again");
    RpcError::new(ErrorKind::ConfirmationStale, message)
        .with_details(json!({ "confirmation": fresh, "edited": true, "reason": why }))
        .with_hint("look at it again, and answer with its digest")
}

fn not_offered(offered: &[ConfirmationOutcome]) -> RpcError {
    let names: Vec<&str> = offered.iter().map(|outcome| outcome.as_str()).collect();
    RpcError::new(ErrorKind::OutcomeNotOffered, "this outcome is not among the options")
        .with_details(json!({ "offered": offered }))
        .with_hint(format!("answer with one of: {}", names.join(", ")))
}

/// The run cannot take an answer although nobody decided.
async fn not_active(state: &ConfirmationMethods, run: &RunId) -> Result<RpcError, RpcError> {
    let record = run_record(&state.store, run).await?;
    let message = format!("run {run} takes no answer: it is {}", record.state.as_str());
    Ok(RpcError::new(ErrorKind::RunNotActive, message)
        .with_details(json!({ "state": record.state, "reason": record.reason })))
}

fn refused(error: AnswerError) -> RpcError {
    match error {
        AnswerError::Ask(error) => error.into(),
        AnswerError::NotOffered(offered) => not_offered(&offered),
        AnswerError::Invalid(violations) => invalid(&violations),
        AnswerError::Denied(error) => {
            RpcError::new(ErrorKind::Forbidden, format!("what was changed is {}", error.message))
                .with_details(json!({ "error": error }))
                .with_hint("the question is still open: change it otherwise, or deny it")
        }
        // Answered with what the store has, by whoever asked.
        AnswerError::Resolved => {
            RpcError::new(ErrorKind::ConfirmationAlreadyResolved, "the question is over")
        }
        AnswerError::Stale(fresh) | AnswerError::AskedAgain(fresh, _) => {
            RpcError::new(ErrorKind::ConfirmationStale, "the question has changed since it was shown")
                .with_details(json!({ "confirmation": fresh }))
        }
    }
}
