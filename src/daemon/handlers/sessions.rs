//! `session/create`, `session/list`, `session/get`, `session/history`, `session/update`, `session/close`,
//! `session/delete`.

use std::{collections::HashSet, path::PathBuf, sync::Arc, time::Duration};

use tokio::sync::SemaphorePermit;

use super::{
    super::{
        once::KeyToken,
        rpc::{MethodHandlers, RpcCaller},
    },
    by, internal, known_roots,
    lookup::{definition, record, session},
    no_session,
    observers::may_change,
    policy::{RememberedRules, forget_session},
    roots, usual_mode, violation,
};
use crate::{
    client_connections::ClientConnections, daemon_life::DaemonLife, daemon_services::DaemonServices,
    hook_control::HookControl, program_runtime::ProgramRuntime, settings_in_force::SettingsInForce,
    workspace_sources::WorkspaceSources,
};
use protocol::{
    AgentName, ApprovalMode, ContextId, ErrorKind, EventBody, EventHead, EventSeq, PrivateEventFields,
    PruningReason, RpcError, RpcMethod as _, RuleOrigin, RuleOriginSource, RunId, RunState,
    SessionChangeResult, SessionClose, SessionClosed, SessionCreate, SessionCreateParams,
    SessionCreateResult, SessionCreated, SessionDelete, SessionDeleteResult, SessionDeleted, SessionGet,
    SessionGetResult, SessionHistory, SessionHistoryParams, SessionHistoryResult, SessionId, SessionIdParams,
    SessionList, SessionListParams, SessionListResult, SessionState, SessionUpdate, SessionUpdateParams,
    SessionUpdated, Timestamp,
};
use run::{PlanError, RunExecutor};
use store::{EventStore, LogFilter, NewEvent, RunFilter, SessionDeletionOutcome, SessionFilter, StoreError};
use sys::{clock::Clock, ids};
use tools::Workspace;

/// The most items of one page; the schemas say the same.
const MAX_PAGE: usize = 1_000;

/// Bytes of what a session appends to system prompts: each of its root runs carries it in its first event, and sends it with
/// each request (spec 08, "Replacing").
const MOST_APPENDED: usize = 32 << 10;

/// How long closing a session waits for its runs. Each ends within seconds of its cancel (spec 03), however many
/// there are; what takes longer is stuck, and the caller should hear of it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);

/// The services that the methods of sessions use.
#[derive(Clone)]
pub(super) struct SessionMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
    pub workspaces: Arc<WorkspaceSources>,
    pub programs: Arc<ProgramRuntime>,
    pub hooks: Arc<HookControl>,
    pub remembered: RememberedRules,
}

impl SessionMethods {
    pub fn of(services: &DaemonServices) -> SessionMethods {
        let DaemonServices { life, settings, store, executor, clients, workspaces, programs, hooks, .. } =
            services.clone();
        let remembered = RememberedRules::of(services);
        SessionMethods { life, settings, store, executor, clients, workspaces, programs, hooks, remembered }
    }
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let mut api = api.given(Arc::new(SessionMethods::of(services)));
    api.method::<SessionCreate, _, _>(create);
    api.cancellable::<SessionList, _, _>(list);
    api.cancellable::<SessionGet, _, _>(get);
    api.cancellable::<SessionHistory, _, _>(history);
    api.method::<SessionUpdate, _, _>(update);
    api.method::<SessionClose, _, _>(close);
    api.method::<SessionDelete, _, _>(delete);
}

async fn create(
    state: Arc<SessionMethods>,
    caller: RpcCaller,
    params: SessionCreateParams,
) -> Result<SessionCreateResult, RpcError> {
    let (key, by) = (params.idempotency_key.clone(), by(&caller));
    let (creator, asked) = (Arc::clone(&state), params.clone());
    let effect = move |token| async move { create_once(&creator, by, params, token).await };
    let created = state.clients.once.run(key, SessionCreate::NAME, &asked, effect).await?;
    state.clients.open_sessions.note(&caller, &created.session_id);
    Ok(created)
}

async fn create_once(
    state: &SessionMethods,
    by: Option<String>,
    params: SessionCreateParams,
    token: Option<KeyToken>,
) -> Result<SessionCreateResult, RpcError> {
    let SessionCreateParams { workspace, agent, title, mode, ephemeral, .. } = params;
    if state.life.closing.is_cancelled() {
        return Err(RpcError::new(ErrorKind::ShuttingDown, "the daemon is stopping; nothing was created"));
    }
    let roots = known_roots(roots(&workspace)?).await?;
    let opening = roots.clone();
    tokio::task::spawn_blocking(move || Workspace::open(&opening).map(drop))
        .await
        .map_err(|error| internal("the workspace could not be looked at", &error))?
        .map_err(PlanError::from)?;
    check_agent(state, agent.as_ref(), roots.clone()).await?;
    let session = ids::fresh::<SessionId>();
    let roots = roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
    let title = title.map(|title| state.settings.redactor.get().owned(title));
    let mode_of_settings = mode.is_none();
    let mode = mode.unwrap_or_else(|| usual_mode(&state.settings.get().config));
    check_mode(state, mode)?;
    let body = SessionCreated { roots, title, agent, mode, ephemeral, mode_of_settings };
    let created = event(state.life.clock.now(), &session, by, body);
    let result = SessionCreateResult { session_id: session, seq: EventSeq(0), replayed: false };
    let keyed = token.map(|token| token.keyed(&result, None));
    let (_, seq) = state.store.append_keyed(vec![created], keyed).await?;
    Ok(SessionCreateResult { seq, ..result })
}

/// Only who runs the daemon may say that everything but critical calls runs without asking.
fn check_mode(state: &SessionMethods, mode: ApprovalMode) -> Result<(), RpcError> {
    if mode != ApprovalMode::Yolo || state.settings.get().config.approval.allow_yolo.value {
        return Ok(());
    }
    let message =
        "the mode `yolo` is not allowed here: everything but critical calls would run without asking";
    Err(RpcError::new(ErrorKind::Forbidden, message)
        .with_details(serde_json::json!({ "mode": mode, "setting": "approval.allowYolo" }))
        .with_hint("set `approval.allowYolo` to true in your own settings, or take the mode `autoEdit`"))
}

/// A session's agent must be one that can be started.
async fn check_agent(
    state: &SessionMethods,
    agent: Option<&AgentName>,
    roots: Vec<PathBuf>,
) -> Result<(), RpcError> {
    let Some(agent) = agent else { return Ok(()) };
    let project = state
        .workspaces
        .project(roots)
        .await
        .map_err(|error| internal("the agents could not be read", &error))?;
    definition(&project.catalog, agent)?;
    Ok(())
}

async fn list(
    state: Arc<SessionMethods>,
    _: RpcCaller,
    params: SessionListParams,
) -> Result<SessionListResult, RpcError> {
    let SessionListParams { workspace, state: wanted, query, cursor, limit } = params;
    let roots = match &workspace {
        Some(workspace) => Some(known_roots(roots(workspace)?).await?),
        None => None,
    };
    let roots = roots.map(|roots| roots.iter().map(|it| it.to_string_lossy().into_owned()).collect());
    let filter = SessionFilter { roots, state: wanted, text: query };
    let listed = state.store.session_list(&filter, cursor.as_deref(), page(limit)).await?;
    Ok(SessionListResult { sessions: listed.items, next_cursor: listed.next })
}

async fn get(
    state: Arc<SessionMethods>,
    _: RpcCaller,
    params: SessionIdParams,
) -> Result<SessionGetResult, RpcError> {
    let summary = session(&state.store, &params.session_id).await?;
    let contexts = state.store.described_contexts(&params.session_id).await?;
    let system_append = state.store.system_append(&params.session_id).await?;
    Ok(SessionGetResult { session: summary, contexts, system_append })
}

async fn history(
    state: Arc<SessionMethods>,
    _: RpcCaller,
    params: SessionHistoryParams,
) -> Result<SessionHistoryResult, RpcError> {
    let SessionHistoryParams { session_id, agent, run_id, cursor, limit } = params;
    let summary = session(&state.store, &session_id).await?;
    if let Some(run) = run_id {
        let (agent, context) = context_of(&state, &session_id, agent, &run).await?;
        return read_history(&state, agent, &context, cursor.as_deref(), page(limit)).await;
    }
    let agent = match agent.or(summary.agent) {
        Some(agent) => agent,
        None => only_agent(&state, &session_id).await?,
    };
    let Some(context) = state.store.root_context(&session_id, &agent).await? else {
        return Err(RpcError::new(
            ErrorKind::NotFound,
            format!("{agent} has no history in session {session_id}"),
        )
        .with_hint("`subagent sessions show ID` shows the contexts there are"));
    };
    read_history(&state, agent, &context, cursor.as_deref(), page(limit)).await
}

/// The context of a run of this session, and whose it is.
async fn context_of(
    state: &SessionMethods,
    session: &SessionId,
    agent: Option<AgentName>,
    run: &RunId,
) -> Result<(AgentName, ContextId), RpcError> {
    if agent.is_some() {
        let message = "the run says whose context is meant";
        return Err(RpcError::new(ErrorKind::InvalidParams, format!("/agent: {message}"))
            .with_details(serde_json::json!({ "violations": [{ "pointer": "/agent", "message": message }] }))
            .with_hint("leave out `agent`, or `runId`"));
    }
    let run = record(&state.store, run).await?;
    if run.session_id != *session {
        let message = format!("run {} is not of session {session}", run.run_id);
        return Err(RpcError::new(ErrorKind::NotFound, message)
            .with_hint(format!("it is of session {}", run.session_id)));
    }
    Ok((run.agent, run.context_id))
}

async fn read_history(
    state: &SessionMethods,
    agent: AgentName,
    context: &ContextId,
    cursor: Option<&str>,
    limit: usize,
) -> Result<SessionHistoryResult, RpcError> {
    let listed = state.store.history(context, cursor, limit).await?;
    let changes = state.store.context_changes(context, cursor, listed.next.as_deref()).await?;
    Ok(SessionHistoryResult { agent, messages: listed.items, changes, next_cursor: listed.next })
}

/// The agent of the one context there is; those of called agents do not count.
async fn only_agent(state: &SessionMethods, session: &SessionId) -> Result<AgentName, RpcError> {
    let contexts = state.store.session_contexts(session).await?;
    let own: Vec<&AgentName> =
        contexts.iter().filter(|it| it.parent_run_id.is_none()).map(|it| &it.agent).collect();
    match own.as_slice() {
        [agent] => Ok((*agent).clone()),
        [] => Err(RpcError::new(ErrorKind::NotFound, format!("session {session} has no history yet"))
            .with_hint("a run in this session begins one (`subagent run --session ID`)")),
        several => {
            let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
            let message = format!("several agents have a history in session {session}: {}", names.join(", "));
            Err(RpcError::new(ErrorKind::InvalidParams, message)
                .with_details(serde_json::json!({
                    "violations": [{ "pointer": "/agent", "message": "needed: there are several" }]
                }))
                .with_hint("name one as `agent` (`--agent NAME`)"))
        }
    }
}

async fn update(
    state: Arc<SessionMethods>,
    caller: RpcCaller,
    params: SessionUpdateParams,
) -> Result<SessionChangeResult, RpcError> {
    let SessionUpdateParams { session_id, title, agent, mode, system_append } = params;
    may_change(&state.clients, &caller, &session_id)?;
    let _turn = turn(&state.executor).await?;
    let summary = session(&state.store, &session_id).await?;
    let new_agent = agent.flatten_or(&summary.agent);
    let new_title = title.flatten_or(&summary.title).map(|title| state.settings.redactor.get().owned(title));
    let new_mode = mode.unwrap_or(summary.mode);
    if system_append.iter().flatten().any(|text| MOST_APPENDED < text.len()) {
        let message = format!("is longer than {} KiB", MOST_APPENDED >> 10);
        return Err(violation("/systemAppend", &message));
    }
    let old_append = state.store.system_append(&session_id).await?;
    let new_append =
        system_append.flatten_or(&old_append).map(|text| state.settings.redactor.get().owned(text));
    let new_append = new_append.filter(|text| !text.trim().is_empty());
    let is_same = new_agent == summary.agent && new_title == summary.title && new_mode == summary.mode;
    if is_same && new_append == old_append {
        return Ok(SessionChangeResult { session_id, seq: None });
    }
    if new_mode != summary.mode {
        check_mode(&state, new_mode)?;
    }
    if new_agent != summary.agent {
        let roots = summary.roots.iter().map(PathBuf::from).collect();
        check_agent(&state, new_agent.as_ref(), roots).await?;
    }
    let body =
        SessionUpdated { title: new_title, agent: new_agent, mode: new_mode, system_append: new_append };
    let (now, by) = (state.life.clock.now(), by(&caller));
    let updated = event(now, &session_id, by.clone(), body);
    let (_, seq) = state.store.append(vec![updated]).await?;
    // One that stays as it is stays the word of whoever set it.
    let origin = (new_mode != summary.mode).then_some(RuleOrigin {
        source: RuleOriginSource::Session,
        by,
        at: Some(now),
    });
    state.executor.set_mode(&session_id, new_mode, seq, origin);
    Ok(SessionChangeResult { session_id, seq: Some(seq) })
}

/// A field that may be missing, and cleared.
trait FieldPatch<T> {
    fn flatten_or(self, old: &Option<T>) -> Option<T>;
}

impl<T: Clone> FieldPatch<T> for Option<Option<T>> {
    fn flatten_or(self, old: &Option<T>) -> Option<T> {
        self.unwrap_or_else(|| old.clone())
    }
}

async fn close(
    state: Arc<SessionMethods>,
    caller: RpcCaller,
    params: SessionIdParams,
) -> Result<SessionChangeResult, RpcError> {
    let SessionIdParams { session_id } = params;
    may_change(&state.clients, &caller, &session_id)?;
    // Nothing starts from here on, and what was starting is in the store.
    let _bar = state.executor.bar(&session_id).await;
    if session(&state.store, &session_id).await?.state == SessionState::Open {
        end_runs(&state, &session_id, by(&caller)).await?;
    }
    state.programs.commands.background.end_session(&session_id);
    let _turn = turn(&state.executor).await?;
    let summary = session(&state.store, &session_id).await?;
    let mut seq = None;
    if summary.state == SessionState::Open {
        // Before the end is told: what allows more is gone first.
        forget_session(&state.remembered, by(&caller), &session_id).await?;
        let closed = event(state.life.clock.now(), &session_id, by(&caller), SessionClosed {});
        seq = Some(state.store.append(vec![closed]).await?.1);
        state.executor.tell_session_end(&summary, summary.ephemeral).await;
    }
    // Also of one that was closed before: its removal may have been cut off.
    if summary.ephemeral {
        seq = Some(remove(&state, &session_id, by(&caller), None).await?.seq);
    }
    Ok(SessionChangeResult { session_id, seq })
}

/// Removes the ephemeral sessions that were closed by a daemon which did not live to remove them.
pub async fn remove_closed(store: &EventStore, clock: &dyn Clock) -> Result<(), StoreError> {
    for session in store.closed_ephemeral_sessions().await? {
        let tombstone =
            event(clock.now(), &session, None, SessionDeleted { events: 0, last_seq: None, pruned: None });
        match store.delete_session(&session, tombstone).await {
            Ok(SessionDeletionOutcome::Gone { events, .. }) => {
                tracing::info!(%session, events, "an ephemeral session was closed but not removed; now it is");
            }
            Ok(deleted) => {
                tracing::warn!(%session, ?deleted, "a closed ephemeral session could not be removed")
            }
            Err(StoreError::Full) => {
                tracing::warn!(%session, "no room to remove a closed ephemeral session; the next start tries again");
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Cancels every run of the session and waits until all have ended.
async fn end_runs(state: &SessionMethods, session: &SessionId, by: Option<String>) -> Result<(), RpcError> {
    let ends = LogFilter { types: vec!["run.completed".to_owned()], ..LogFilter::session(session.clone()) };
    // Followed from before the first look, so that no end is missed.
    let mut ends = state.store.follow(ends, state.store.head());
    let mut asked: HashSet<RunId> = HashSet::new();
    let deadline = state.life.clock.sleep(CLOSE_TIMEOUT);
    tokio::pin!(deadline);
    loop {
        let filter = RunFilter { session: Some(session.clone()), active: true, ..RunFilter::default() };
        let mut live = state.store.run_list(&filter, None, MAX_PAGE).await?.items;
        if live.is_empty() {
            return Ok(());
        }
        // Those that wait first, or the end of the one before them would let them begin.
        live.sort_by_key(|run| run.state != RunState::Queued);
        for run in live.iter().filter(|run| !asked.contains(&run.run_id)) {
            let reason = Some("its session was closed".to_owned());
            state.executor.cancel(&run.run_id, by.clone(), reason).await?;
        }
        asked.extend(live.into_iter().map(|run| run.run_id));
        let ended = tokio::select! {
            ended = ends.next() => Some(ended),
            () = &mut deadline => None,
            () = state.life.stop.cancelled() => {
                return Err(RpcError::new(ErrorKind::ShuttingDown, "the daemon is stopping; the session stays open"));
            }
        };
        let Some(ended) = ended else {
            let message = format!("runs of session {session} did not end in {} s", CLOSE_TIMEOUT.as_secs());
            return Err(RpcError::new(ErrorKind::Busy, message)
                .with_hint(format!(
                    "they were cancelled; close it again when `subagent runs --active --session {session}` shows none"
                )));
        };
        ended?;
    }
}

async fn delete(
    state: Arc<SessionMethods>,
    caller: RpcCaller,
    params: SessionIdParams,
) -> Result<SessionDeleteResult, RpcError> {
    let SessionIdParams { session_id } = params;
    may_change(&state.clients, &caller, &session_id)?;
    let _bar = state.executor.bar(&session_id).await;
    let _turn = turn(&state.executor).await?;
    session(&state.store, &session_id).await?;
    remove(&state, &session_id, by(&caller), None).await
}

pub(super) async fn remove(
    state: &SessionMethods,
    session: &SessionId,
    by: Option<String>,
    pruned: Option<PruningReason>,
) -> Result<SessionDeleteResult, RpcError> {
    let tombstone = event(
        state.life.clock.now(),
        session,
        by.clone(),
        SessionDeleted { events: 0, last_seq: None, pruned },
    );
    match state.store.delete_session(session, tombstone).await? {
        SessionDeletionOutcome::Gone { seq, events } => {
            state.programs.commands.background.forget_session(session);
            // What is left over matches nothing, but is to be seen.
            if let Err(error) = forget_session(&state.remembered, by, session).await {
                tracing::warn!(%session, %error, "rules that held in it could not be forgotten");
            }
            let (artifacts, of) = (state.executor.artifacts(), session.clone());
            let forgotten = tokio::task::spawn_blocking(move || artifacts.forget_session(&of)).await;
            // The log is without it; what is left over on the disk harms nobody but is to be seen.
            if !matches!(forgotten, Ok(Ok(()))) {
                tracing::warn!(%session, ?forgotten, "what was kept of it could not be removed");
            }
            let (hooks, of) = (state.hooks.in_force.clone(), session.clone());
            let forgotten = tokio::task::spawn_blocking(move || hooks.forget_session(&of)).await;
            if !matches!(forgotten, Ok(Ok(()))) {
                tracing::warn!(%session, ?forgotten, "what hooks could read of it could not be removed");
            }
            Ok(SessionDeleteResult { session_id: session.clone(), seq, events })
        }
        SessionDeletionOutcome::Busy { live_runs } => {
            let message = format!("session {session} has live runs: {live_runs}");
            Err(RpcError::new(ErrorKind::Busy, message)
                .with_hint("close it first (`subagent sessions close ID`), which ends its runs"))
        }
        SessionDeletionOutcome::Missing => Err(no_session(&state.store, session).await),
    }
}

/// Sessions change one after the other, so that what was read of one still holds when the change is written.
pub(super) async fn turn(executor: &RunExecutor) -> Result<SemaphorePermit<'_>, RpcError> {
    let closed = |_| RpcError::new(ErrorKind::ShuttingDown, "the daemon is stopping");
    executor.session_changes().acquire().await.map_err(closed)
}

pub(super) fn event(
    at: Timestamp,
    session: &SessionId,
    by: Option<String>,
    body: impl Into<EventBody>,
) -> NewEvent {
    NewEvent {
        at,
        session: Some(session.clone()),
        run: None,
        context: None,
        head: EventHead { by, ..EventHead::default() },
        body: body.into(),
        private: PrivateEventFields::default(),
    }
}

fn page(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE)
}
