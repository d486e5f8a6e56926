//! `run/start`, `run/get`, `run/wait`, `run/cancel`, `run/steer`, `run/unpark`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::{
    super::{
        discovery::foreign,
        once::KeyToken,
        rpc::{MethodHandlers, RpcCaller},
    },
    agents::route,
    approval::approval,
    attachments::{self, AttachmentSources},
    by, internal, known_roots,
    lookup::{definition, not_held_to, open_session, record, usual_agent},
    observers::may_change,
    roots, violation,
};
use crate::{
    client_connections::ClientConnections, confirmation_channels::ConfirmationChannels,
    daemon_life::DaemonLife, daemon_services::DaemonServices, discovery::ToolDiscovery,
    settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use agents::{self, AgentFile};
use protocol::{
    AgentDefinition, AgentFormat, AgentName, AgentScope, ClientId, ErrorKind, EventSeq, IfBusy,
    PromptExpansion, PromptExpansionKind, QueueRunResult, RpcError, RpcMethod as _, RunCancel,
    RunCancelParams, RunCancelResult, RunGet, RunId, RunIdParams, RunRecord, RunStart, RunStartParams,
    RunStartResult, RunState, RunSteer, RunSteerParams, RunSteerResult, RunTask, RunUnpark, RunWait,
    RunWaitParams, RunWaitResult, SamplingSettings, ServerPrompt, SessionId, WaitUntil, WorkspaceParam,
};
use redact::Redactor;
use run::{
    CancelOutcome, MakeKeyed, PlanError, PromptExtent, RunExecutor, RunRequest, SessionChoice, StartOptions,
    StartOutcome, SteerOutcome,
};
use store::{EventStore, LogFilter, RunFilter};

/// Open questions that an answer shows: more than a person answers before they look again; `confirmation/list` has all.
const QUESTIONS_SHOWN: u32 = 32;

/// Skills that a run begins with: their texts stand in each of its requests.
const MOST_SKILLS: usize = 32;

/// The services that the methods of runs use.
pub(super) struct RunMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
    pub workspaces: Arc<WorkspaceSources>,
    pub confirmations: Arc<ConfirmationChannels>,
    pub discovery: ToolDiscovery,
    pub attachments: AttachmentSources,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { life, settings, store, executor, clients, workspaces, confirmations, .. } =
        services.clone();
    let discovery = ToolDiscovery::of(services);
    let attachments = AttachmentSources::of(services);
    let mut api = api.given(Arc::new(RunMethods {
        life,
        settings,
        store,
        executor,
        clients,
        workspaces,
        confirmations,
        discovery,
        attachments,
    }));
    api.method::<RunStart, _, _>(start);
    api.cancellable::<RunGet, _, _>(get);
    api.cancellable::<RunWait, _, _>(wait);
    api.method::<RunCancel, _, _>(cancel);
    api.method::<RunSteer, _, _>(steer);
    api.method::<RunUnpark, _, _>(unpark);
}

async fn start(
    state: Arc<RunMethods>,
    caller: RpcCaller,
    params: RunStartParams,
) -> Result<RunStartResult, RpcError> {
    if let Some(session_id) = &params.session_id {
        may_change(&state.clients, &caller, session_id)?;
    }
    let (key, by) = (params.idempotency_key.clone(), caller.introduction().map(|it| it.client_id));
    let (starter, asked) = (Arc::clone(&state), params.clone());
    // Beside what is asked, since whoever asks again with the same key is in another span.
    let traceparent = params.traceparent.clone().or_else(|| caller.traceparent());
    let effect = move |token| async move { start_once(&starter, by, (params, traceparent), token).await };
    let started = state.clients.once.run(key, RunStart::NAME, &asked, effect).await?;
    state.clients.open_sessions.note(&caller, &started.session_id);
    Ok(started)
}

async fn start_once(
    state: &RunMethods,
    initiator: Option<ClientId>,
    (params, traceparent): (RunStartParams, Option<String>),
    token: Option<KeyToken>,
) -> Result<RunStartResult, RpcError> {
    let RunStartParams {
        session_id,
        workspace,
        agent,
        definition: inline,
        prompt,
        server_prompt,
        inputs,
        attachments,
        skills,
        limits,
        model,
        record,
        if_busy,
        approval: asked,
        ..
    } = params;
    let approval = approval(&state.settings, asked)?;
    if MOST_SKILLS < skills.len() {
        return Err(violation("/skills", &format!("at most {MOST_SKILLS} are given to a run")));
    }
    if !skills.is_empty() && if_busy == IfBusy::Steer {
        let message = "a run that goes on cannot be given one; `queue` begins another run";
        return Err(violation("/skills", message));
    }
    attachments::check(&attachments, prompt.as_deref(), server_prompt.as_ref(), if_busy)?;
    let (place, roots, usual) = ground(state, session_id, workspace.as_ref()).await?;
    let project = state
        .workspaces
        .project(roots.clone())
        .await
        .map_err(|error| internal("the workspace could not be read", &error))?;
    let (attached, said) =
        attachments::read(&state.attachments, &project, &roots, attachments, server_prompt.as_ref()).await?;
    let prompt = prompt.or(said);
    if inline.is_some() && agent.is_some() {
        return Err(violation("/definition", "not beside `agent`: one of the two says what is run"));
    }
    let mut routed = None;
    let (definition, digest) = match (inline, agent) {
        (Some(inline), _) => inline_definition(&inline)?,
        (None, Some(agent)) if agent.as_str() == AUTO => {
            let prompt =
                prompt.as_deref().ok_or_else(|| violation("/prompt", "`auto` needs one to go by"))?;
            let route = route::select(&state.settings, &project, prompt, usual).await?;
            let found = definition(&project.catalog, &route.agent)?;
            routed = Some(route);
            found
        }
        (None, agent) => {
            let agent = agent.or(usual).unwrap_or_else(|| usual_agent(&state.settings, &project));
            definition(&project.catalog, &agent)?
        }
    };
    let by = initiator.as_ref().map(ClientId::to_string);
    let session = match &place {
        SessionChoice::Session(session) => Some(session),
        SessionChoice::NewSession => None,
    };
    let append = match session {
        Some(session) => state.store.system_append(session).await?,
        None => None,
    };
    let foreign = foreign(&state.discovery, &project, session, Some(&definition)).await;
    let is_first = is_first_of(state, session).await?;
    let request = RunRequest {
        definition,
        digest,
        project,
        roots,
        prompt,
        inputs,
        limits,
        approval,
        initiator,
        model,
        sampling: SamplingSettings::default(),
        foreign,
        attached,
        task: RunTask::Work,
        record: record.map(PathBuf::from),
        expansions: expansions(server_prompt.as_ref(), &skills, &state.settings.redactor.get()),
        told: PromptExtent::Whole { append, skills, is_first },
        traceparent,
    };
    let plan = state.executor.plan(request).await.map_err(|error| start_refused(&state.settings, error))?;
    let keyed = token.map(|token| -> MakeKeyed {
        Box::new(move |started: &StartOutcome| token.keyed(&answer(started), Some(started.run.clone())))
    });
    let started = state.executor.start(plan, StartOptions { place, if_busy, by, routed, keyed }).await?;
    Ok(answer(&started))
}

/// Everything that a person named instead of writing it.
fn expansions(prompt: Option<&ServerPrompt>, skills: &[String], redactor: &Redactor) -> Vec<PromptExpansion> {
    let of_server = prompt.map(|prompt| PromptExpansion {
        kind: PromptExpansionKind::McpPrompt,
        name: prompt.name.clone(),
        arguments: prompt
            .arguments
            .iter()
            .map(|(name, value)| redactor.owned(format!("{name}={value}")))
            .collect(),
        source: Some(prompt.server.clone()),
    });
    let of_skills = skills.iter().map(|name| PromptExpansion {
        kind: PromptExpansionKind::Skill,
        name: name.clone(),
        arguments: Vec::new(),
        source: None,
    });
    of_server.into_iter().chain(of_skills).collect()
}

/// Answers whether it is the first run of its session, which tells what is left out and which hooks mean nothing.
async fn is_first_of(state: &RunMethods, session: Option<&SessionId>) -> Result<bool, RpcError> {
    let Some(session) = session else { return Ok(true) };
    let filter = RunFilter { session: Some(session.clone()), roots: true, ..RunFilter::default() };
    Ok(state.store.run_list(&filter, None, 1).await?.items.is_empty())
}

/// Stands for whichever agent's trigger fits.
const AUTO: &str = "auto";

/// An agent that lies in no file: written as one, so that it is read and judged as one.
fn inline_definition(fields: &Map<String, Value>) -> Result<(Arc<AgentDefinition>, String), RpcError> {
    let text = agents::written(fields);
    let path = Path::new("definition");
    let file = AgentFile::read(path, text.as_bytes(), AgentScope::User, AgentFormat::Own);
    let problems: Vec<String> = file.problems.iter().map(|problem| problem.message.clone()).collect();
    match file.definition {
        // Nobody has acknowledged them, and they would run unasked.
        Some(definition) if definition.hooks.is_some() => {
            Err(violation("/definition/hooks", "hooks of an agent count in a file only"))
        }
        Some(definition) => match definition.not_held_to().as_slice() {
            [] => Ok((definition, file.digest)),
            fields => Err(not_held_to(&definition.name, fields)),
        },
        None => Err(RpcError::new(
            ErrorKind::InvalidDefinition,
            format!("the definition cannot be used: {}", problems.join("; ")),
        )
        .with_details(json!({ "problems": file.problems }))
        .with_hint("`agent.schema.json` says what its fields are; `prompt` is the text below them")),
    }
}

fn answer(started: &StartOutcome) -> RunStartResult {
    RunStartResult {
        disposition: started.disposition,
        run_id: started.run.clone(),
        session_id: started.session.clone(),
        agent: started.agent.clone(),
        interrupts: started.interrupts.clone(),
        routed: started.routed.clone(),
        seq: started.seq,
        replayed: false,
    }
}

/// Where a run works: in which session, in which folders, and which agent is usual there.
async fn ground(
    state: &RunMethods,
    session: Option<SessionId>,
    workspace: Option<&WorkspaceParam>,
) -> Result<(SessionChoice, Vec<PathBuf>, Option<AgentName>), RpcError> {
    let given = match workspace {
        Some(workspace) => Some(known_roots(roots(workspace)?).await?),
        None => None,
    };
    let Some(session) = session else {
        let roots = given.ok_or_else(|| {
            violation("/workspace", "needed without sessionId")
                .with_hint("give the folder to work in, or the session to go on in")
        })?;
        return Ok((SessionChoice::NewSession, roots, None));
    };
    let summary = open_session(&state.store, &session).await?;
    let own: Vec<PathBuf> = summary.roots.iter().map(PathBuf::from).collect();
    if given.is_some_and(|given| given != own) {
        return Err(violation("/workspace", "is not that of the session")
            .with_hint("leave it out, or leave out sessionId for a new session"));
    }
    Ok((SessionChoice::Session(session), own, summary.agent))
}

async fn steer(
    state: Arc<RunMethods>,
    caller: RpcCaller,
    params: RunSteerParams,
) -> Result<RunSteerResult, RpcError> {
    // A repeated request is answered as before, also when its run is gone by now.
    if let Ok(record) = record(&state.store, &params.run_id).await {
        may_change(&state.clients, &caller, &record.session_id)?;
    }
    let (key, by) = (params.idempotency_key.clone(), by(&caller));
    let (steerer, asked) = (Arc::clone(&state), params.clone());
    let effect = move |token: Option<KeyToken>| async move {
        let RunSteerParams { run_id, text, .. } = params;
        if text.trim().is_empty() {
            let message = "/text: there is nothing in it";
            return Err(RpcError::new(ErrorKind::InvalidParams, message));
        }
        record(&steerer.store, &run_id).await?;
        let result = RunSteerResult { run_id: run_id.clone(), seq: EventSeq(0), replayed: false };
        let keyed = token.map(|token| token.keyed(&result, Some(run_id.clone())));
        match steerer.executor.steer(&run_id, text, by, keyed).await? {
            SteerOutcome::Kept(seq) => Ok(RunSteerResult { seq, ..result }),
            SteerOutcome::NotActive => Err(not_active(&steerer, &run_id).await?),
        }
    };
    state.clients.once.run(key, RunSteer::NAME, &asked, effect).await
}

/// The reason why a run takes no message.
async fn not_active(state: &RunMethods, run: &RunId) -> Result<RpcError, RpcError> {
    let record = record(&state.store, run).await?;
    let message = match record.reason {
        Some(reason) => format!("run {run} has ended: {}", reason.as_str()),
        None => {
            format!("run {run} is ending and has no further turn, or too many messages wait for its next one")
        }
    };
    Ok(RpcError::new(ErrorKind::RunNotActive, message)
        .with_details(json!({ "state": record.state, "reason": record.reason }))
        .with_hint("start another run in its session: it remembers this one"))
}

/// What is wrong in the settings may be why.
pub(super) fn start_refused(settings: &SettingsInForce, error: PlanError) -> RpcError {
    let is_about_models = matches!(error, PlanError::NoModel | PlanError::Model(_));
    let mut error = RpcError::from(error);
    if is_about_models && let Some(problem) = settings.get().problems.first() {
        let hint = error.data.hint.take().unwrap_or_default();
        error.data.hint = Some(format!("{hint}; the settings have a problem: {problem}"));
    }
    error
}

async fn get(state: Arc<RunMethods>, _: RpcCaller, params: RunIdParams) -> Result<RunRecord, RpcError> {
    record(&state.store, &params.run_id).await
}

async fn wait(
    state: Arc<RunMethods>,
    caller: RpcCaller,
    params: RunWaitParams,
) -> Result<RunWaitResult, RpcError> {
    let RunWaitParams { run_id, timeout_ms, until } = params;
    let is_for_questions = until.contains(&WaitUntil::Confirmation);
    let mut types = vec!["run.completed".to_owned()];
    types.extend(is_for_questions.then(|| "confirmation.requested".to_owned()));
    let filter = LogFilter { types, descendants: is_for_questions, ..LogFilter::run(run_id.clone()) };
    // Followed from before the record is read, so that what happens in between is not missed.
    let mut news = state.store.follow(filter, state.store.head());
    let mut time = state.life.clock.sleep(Duration::from_millis(timeout_ms));
    let mut is_over = false;
    loop {
        let run = record(&state.store, &run_id).await?;
        let done = run.state == RunState::Ended;
        let asked = match done {
            true => Vec::new(),
            false => state.store.open_confirmations_below(&run_id, QUESTIONS_SHOWN).await?,
        };
        if done || is_over || (is_for_questions && !asked.is_empty()) {
            let confirmations = state.confirmations.router.records(asked, caller.connection());
            return Ok(RunWaitResult { run, done, confirmations });
        }
        tokio::select! {
            events = news.next() => drop(events?),
            () = &mut time => is_over = true,
            () = state.life.stop.cancelled() => is_over = true,
        }
    }
}

/// A parked run goes on.
async fn unpark(
    state: Arc<RunMethods>,
    caller: RpcCaller,
    params: RunIdParams,
) -> Result<QueueRunResult, RpcError> {
    let RunIdParams { run_id } = params;
    may_change(&state.clients, &caller, &record(&state.store, &run_id).await?.session_id)?;
    if let Some(seq) = state.executor.unpark(&run_id, by(&caller)).await? {
        return Ok(QueueRunResult { run_id, seq });
    }
    let record = record(&state.store, &run_id).await?;
    let message = format!("run {run_id} is not parked: it is {}", record.state.as_str());
    Err(RpcError::new(ErrorKind::Conflict, message)
        .with_details(json!({ "state": record.state, "reason": record.reason }))
        .with_hint("`subagent runs --active` shows the runs that live, and which of them are parked"))
}

async fn cancel(
    state: Arc<RunMethods>,
    caller: RpcCaller,
    params: RunCancelParams,
) -> Result<RunCancelResult, RpcError> {
    let RunCancelParams { run_id, reason } = params;
    may_change(&state.clients, &caller, &record(&state.store, &run_id).await?.session_id)?;
    let cancelled = state.executor.cancel(&run_id, by(&caller), reason).await?;
    let seq = match cancelled {
        CancelOutcome::Stopping(seq) => Some(seq),
        CancelOutcome::NothingToDo => None,
    };
    Ok(RunCancelResult { run: record(&state.store, &run_id).await?, seq })
}
