//! `session/compact` and `session/clear`: what an agent's model reads of its past becomes short, or nothing. Each is a run
//! of its own in the context: after the runs before it, durable, to be cancelled, and taken up again by the next daemon.

use std::{path::PathBuf, sync::Arc};

use serde_json::Map;
use sha2::{Digest as _, Sha256};

use super::{
    super::rpc::{MethodHandlers, RpcCaller},
    approval::approval,
    by, internal,
    lookup::open_session,
    observers::may_change,
};
use crate::{
    client_connections::ClientConnections, daemon_life::DaemonLife, daemon_services::DaemonServices,
    settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use models::OFFLINE;
use protocol::{
    AgentDefinition, AgentLimits, AgentName, AgentTracing, ApprovalParams, ClientId, CompletionMode,
    CompressionStatus, ContextClear, ContextCleared, ContextCompacted, ContextSummary, ErrorKind, EventBody,
    EventSeq, IfBusy, LimitsParams, ModelRef, RpcError, RpcMethod as _, RunCompleted, RunId, RunQueued,
    RunTask, SamplingSettings, SessionClear, SessionClearResult, SessionCompact, SessionCompactResult,
    SessionContextParams, SessionId, ToolSelection, TraceContent,
};
use run::{PromptExtent, RunExecutor, RunRequest, SessionChoice, StartOptions};
use store::{EventStore, LogFilter, RunFilter};
use tools::ForeignToolset;

/// One turn, in which no model of the run's own is asked.
const TURNS: u32 = 1;

/// The services that the methods of contexts use.
#[derive(Clone)]
pub(super) struct ContextMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
    pub workspaces: Arc<WorkspaceSources>,
}

impl ContextMethods {
    pub fn of(services: &DaemonServices) -> ContextMethods {
        let DaemonServices { life, settings, store, executor, clients, workspaces, .. } = services.clone();
        ContextMethods { life, settings, store, executor, clients, workspaces }
    }
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let mut api = api.given(Arc::new(ContextMethods::of(services)));
    // Only the waiting is dropped: a run that was begun goes on, and its record tells what came of it.
    api.cancellable::<SessionCompact, _, _>(compact);
    api.cancellable::<SessionClear, _, _>(clear);
}

async fn compact(
    state: Arc<ContextMethods>,
    caller: RpcCaller,
    params: SessionContextParams,
) -> Result<SessionCompactResult, RpcError> {
    may_change(&state.clients, &caller, &params.session_id)?;
    let session_id = params.session_id.clone();
    let begun = begin(&state, by(&caller), params, RunTask::Compact).await?;
    let mut contexts = Vec::with_capacity(begun.len());
    for ContextRun { agent, context, run } in begun {
        let (end, told) = end_of(&state, &run).await?;
        let told = told.into_iter().find_map(|body| match body {
            EventBody::ContextCompressed(told) => Some(told),
            _ => None,
        });
        contexts.push(ContextCompacted {
            agent,
            context_id: context.context_id,
            run_id: run,
            epoch: told.as_ref().map_or(context.epoch, |told| told.epoch),
            status: told.as_ref().map(|told| told.status),
            tokens_before: told.as_ref().map_or(context.tokens, |told| told.tokens_before),
            tokens_after: told.as_ref().map_or(context.tokens, |told| told.tokens_after),
            message: match &told {
                Some(told) if told.status == CompressionStatus::Compressed => None,
                Some(told) => told.message.clone(),
                None => Some(end.message.unwrap_or_else(|| end.reason.as_str().to_owned())),
            },
        });
    }
    Ok(SessionCompactResult { session_id, contexts })
}

async fn clear(
    state: Arc<ContextMethods>,
    caller: RpcCaller,
    params: SessionContextParams,
) -> Result<SessionClearResult, RpcError> {
    may_change(&state.clients, &caller, &params.session_id)?;
    clear_contexts(&state, by(&caller), params).await
}

/// Waits until they are empty; after the runs that are at work in them.
pub(super) async fn clear_contexts(
    state: &ContextMethods,
    by: Option<String>,
    params: SessionContextParams,
) -> Result<SessionClearResult, RpcError> {
    let session_id = params.session_id.clone();
    let begun = begin(state, by, params, RunTask::Clear).await?;
    let mut contexts = Vec::with_capacity(begun.len());
    for ContextRun { agent, context, run } in begun {
        let (end, told) = end_of(state, &run).await?;
        let cleared = told.into_iter().find_map(|body| match body {
            EventBody::ContextCleared(ContextCleared { epoch }) => Some(epoch),
            _ => None,
        });
        let Some(epoch) = cleared else {
            let why = end.message.unwrap_or_else(|| end.reason.as_str().to_owned());
            return Err(RpcError::new(
                ErrorKind::Conflict,
                format!("the context of {agent} was not cleared: {why}"),
            )
            .with_hint("those before it in the list were; call it again for the others"));
        };
        contexts.push(ContextClear { agent, context_id: context.context_id, run_id: run, epoch });
    }
    Ok(SessionClearResult { session_id, contexts })
}

/// A run that changes a context.
struct ContextRun {
    agent: AgentName,
    /// As it was before.
    context: ContextSummary,
    run: RunId,
}

/// Begins a run in each context that is meant.
async fn begin(
    state: &ContextMethods,
    by: Option<String>,
    params: SessionContextParams,
    task: RunTask,
) -> Result<Vec<ContextRun>, RpcError> {
    let SessionContextParams { session_id, agent } = params;
    let summary = open_session(&state.store, &session_id).await?;
    let contexts = state.store.session_contexts(&session_id).await?;
    let is_meant = |context: &ContextSummary| {
        context.parent_run_id.is_none() && agent.as_ref().is_none_or(|agent| *agent == context.agent)
    };
    let meant: Vec<ContextSummary> = contexts.into_iter().filter(is_meant).collect();
    if meant.is_empty() {
        let whose = agent.map_or_else(|| "no agent".to_owned(), |agent| agent.to_string());
        return Err(RpcError::new(
            ErrorKind::NotFound,
            format!("there is no history of {whose} in session {session_id}"),
        )
        .with_hint("`subagent sessions show ID` shows the contexts there are"));
    }
    let roots: Vec<PathBuf> = summary.roots.iter().map(PathBuf::from).collect();
    let project = state
        .workspaces
        .project(roots.clone())
        .await
        .map_err(|error| internal("the workspace could not be read", &error))?;
    let mut begun = Vec::with_capacity(meant.len());
    for context in meant {
        let agent = context.agent.clone();
        let definition = definition(&agent, task);
        let (model, sampling) = model(state, &session_id, &context, task).await?;
        let request = RunRequest {
            digest: format!("sha256:{:x}", Sha256::digest(definition.title.as_str())),
            definition: Arc::new(definition),
            project: Arc::clone(&project),
            roots: roots.clone(),
            prompt: None,
            inputs: Map::new(),
            limits: LimitsParams::default(),
            approval: approval(&state.settings, ApprovalParams::default())?,
            initiator: by.as_deref().map(ClientId::from),
            model: Some(model),
            sampling,
            foreign: ForeignToolset::default(),
            attached: Vec::new(),
            task,
            record: None,
            told: PromptExtent::Bare,
            traceparent: None,
            expansions: Vec::new(),
        };
        let place = SessionChoice::Session(session_id.clone());
        let options =
            StartOptions { place, if_busy: IfBusy::Queue, by: by.clone(), routed: None, keyed: None };
        let executor = state.executor.clone();
        let starting = state.life.writing.spawn("the change of a context", async move {
            let plan = executor.plan(request).await?;
            Ok::<_, RpcError>(executor.start(plan, options).await?)
        });
        let started = starting.await.map_err(|error| internal("the context was not changed", &error))??;
        begun.push(ContextRun { agent, context, run: started.run });
    }
    Ok(begun)
}

/// The model that the context's runs have, and how it samples there: the log knows no alias that may have said it. Nobody
/// is asked what to do with a context that is only cleared.
async fn model(
    state: &ContextMethods,
    session: &SessionId,
    context: &ContextSummary,
    task: RunTask,
) -> Result<(ModelRef, SamplingSettings), RpcError> {
    if task == RunTask::Clear {
        return Ok((OFFLINE.into(), SamplingSettings::default()));
    }
    let filter = RunFilter {
        session: Some(session.clone()),
        agent: Some(context.agent.clone()),
        roots: true,
        ..RunFilter::default()
    };
    /// Runs that only changed the context before are passed over.
    const LOOKED_AT: usize = 20;
    let runs = state.store.run_list(&filter, None, LOOKED_AT).await?.items;
    let last = runs.iter().find(|run| run.model != OFFLINE).or(runs.first());
    let Some(last) = last else {
        return Err(RpcError::new(ErrorKind::NotFound, format!("{} has had no run yet", context.agent)));
    };
    Ok((ModelRef::from(last.model.as_str()), sampling(state, &last.run_id).await?))
}

/// What a run's first event says of how its own model samples.
async fn sampling(state: &ContextMethods, run: &RunId) -> Result<SamplingSettings, RpcError> {
    // One of them is the first event of every run, so nothing is waited for.
    let types = ["run.queued", "run.started"].map(str::to_owned).to_vec();
    let mut log = state.store.follow(LogFilter { types, ..LogFilter::run(run.clone()) }, EventSeq(0));
    let mut sampling = SamplingSettings::default();
    for event in log.next().await? {
        match event.parse()? {
            Some(EventBody::RunStarted(start)) => sampling = start.safeguards.sampling,
            Some(EventBody::RunQueued(RunQueued { run: Some(start), .. })) => {
                sampling = start.safeguards.sampling
            }
            _ => (),
        }
    }
    Ok(sampling)
}

/// The agent's own context is what it works in; nothing else of the agent's file matters.
fn definition(agent: &AgentName, task: RunTask) -> AgentDefinition {
    let title = match task {
        RunTask::Compact => SessionCompact::NAME,
        _ => SessionClear::NAME,
    };
    AgentDefinition {
        limits: AgentLimits { max_turns: Some(TURNS), ..AgentLimits::default() },
        // What it comes to is no tool's result.
        completion: Some(CompletionMode::Message),
        query: title.to_owned(),
        tools: ToolSelection { allow: Some(Vec::new()), ..ToolSelection::default() },
        hidden: true,
        omits_memory: true,
        // The file that might have its texts kept back is not looked at.
        tracing: AgentTracing { content: Some(TraceContent::None), ..AgentTracing::default() },
        prompt: "A context is made shorter.".to_owned(),
        ..AgentDefinition::named(agent.clone(), title)
    }
}

/// Waits for the run's end; answers it with what was said of the context.
async fn end_of(state: &ContextMethods, run: &RunId) -> Result<(RunCompleted, Vec<EventBody>), RpcError> {
    let types = ["context.compressed", "context.cleared", "run.completed"].map(str::to_owned).to_vec();
    let mut log = state.store.follow(LogFilter { types, ..LogFilter::run(run.clone()) }, EventSeq(0));
    let mut told = Vec::new();
    loop {
        for event in log.next().await? {
            match event.parse()? {
                Some(EventBody::RunCompleted(end)) => return Ok((end, told)),
                Some(body) => told.push(body),
                None => (),
            }
        }
    }
}
