//! `tools/call`: a client's own call, as a run of its own, so that rules, questions, records and undo are those of any
//! call.

use std::{path::PathBuf, sync::Arc};

use sha2::{Digest as _, Sha256};

use super::{
    super::{
        discovery::foreign,
        rpc::{MethodHandlers, RpcCaller},
    },
    approval::approval,
    by, internal,
    lookup::open_session,
    observers::may_change,
};
use crate::{
    client_connections::ClientConnections, daemon_life::DaemonLife, daemon_services::DaemonServices,
    discovery::ToolDiscovery, settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use models::{DICTATED, DictatedCall};
use protocol::{
    AgentDefinition, AgentLimits, AgentName, AgentTracing, ApprovalParams, CallId, ClientId, CompletionMode,
    ErrorKind, EventBody, EventSeq, HookFired, IfBusy, InputSpec, LimitsParams, MessagePart, ModelChoice,
    RpcError, RunId, RunTask, SamplingSettings, ToolError, ToolName, ToolResult, ToolSelection, ToolState,
    ToolsCall, ToolsCallParams, ToolsCallResult, TraceContent,
};
use run::{PromptExtent, RunExecutor, RunRequest, SessionChoice, StartOptions};
use store::{CommittedEvent, EventStore, LogFilter, replaced_results};
use sys::ids;

/// One turn for the call, one to hand in that it was made; a rule of the machine may want one more.
const TURNS: u32 = 3;

/// The services that the methods of tool calls use.
pub(super) struct ToolCallMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
    pub workspaces: Arc<WorkspaceSources>,
    pub discovery: ToolDiscovery,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { life, settings, store, executor, clients, workspaces, .. } = services.clone();
    let discovery = ToolDiscovery::of(services);
    let mut api = api.given(Arc::new(ToolCallMethods {
        life,
        settings,
        store,
        executor,
        clients,
        workspaces,
        discovery,
    }));
    // Only the waiting is dropped: a run that was begun goes on, and its record tells what came of it.
    api.cancellable::<ToolsCall, _, _>(call);
}

async fn call(
    state: Arc<ToolCallMethods>,
    caller: RpcCaller,
    params: ToolsCallParams,
) -> Result<ToolsCallResult, RpcError> {
    let ToolsCallParams { session_id, tool, arguments } = params;
    may_change(&state.clients, &caller, &session_id)?;
    let summary = open_session(&state.store, &session_id).await?;
    let roots: Vec<PathBuf> = summary.roots.iter().map(PathBuf::from).collect();
    let project = state
        .workspaces
        .project(roots.clone())
        .await
        .map_err(|error| internal("the workspace could not be read", &error))?;
    let prompt = DictatedCall { tool: tool.clone(), arguments }.message();
    if state.settings.redactor.get().owned(prompt.clone()) != prompt {
        let message =
            "/arguments: hold a secret, which the record of a run does not keep; nothing was called";
        return Err(RpcError::new(ErrorKind::InvalidParams, message));
    }
    let by = by(&caller);
    let definition = definition(&tool);
    let foreign = foreign(&state.discovery, &project, Some(&session_id), Some(&definition)).await;
    let request = RunRequest {
        definition: Arc::new(definition),
        digest: format!("sha256:{:x}", Sha256::digest(tool.as_str())),
        project,
        roots,
        prompt: Some(prompt),
        inputs: serde_json::Map::new(),
        limits: LimitsParams::default(),
        approval: approval(&state.settings, ApprovalParams::default())?,
        initiator: by.as_deref().map(ClientId::from),
        model: None,
        sampling: SamplingSettings::default(),
        foreign,
        attached: Vec::new(),
        task: RunTask::Work,
        record: None,
        told: PromptExtent::Bare,
        traceparent: None,
        expansions: Vec::new(),
    };
    let options = StartOptions {
        place: SessionChoice::Session(session_id),
        if_busy: IfBusy::Queue,
        by,
        routed: None,
        keyed: None,
    };
    let executor = state.executor.clone();
    let starting = state.life.writing.spawn("a call of a client's", async move {
        let plan = executor.plan(request).await?;
        Ok::<_, RpcError>(executor.start(plan, options).await?)
    });
    let started = starting.await.map_err(|error| internal("the call was not begun", &error))??;
    end_of_call(&state, &started.run).await
}

/// An agent that has this one tool. Its name is its own, so that calls of clients do not wait for each other.
fn definition(tool: &ToolName) -> AgentDefinition {
    let id = ids::fresh::<String>();
    let short = id.rsplit('-').next().unwrap_or_default();
    AgentDefinition {
        model: ModelChoice { name: Some(DICTATED.into()), ..ModelChoice::default() },
        limits: AgentLimits { max_turns: Some(TURNS), ..AgentLimits::default() },
        completion: Some(CompletionMode::Tool),
        inputs: vec![InputSpec {
            name: "prompt".to_owned(),
            description: None,
            required: true,
            default: None,
            schema: serde_json::json!({ "type": "string" }),
        }],
        query: "${prompt}".to_owned(),
        tools: ToolSelection { allow: Some(vec![tool.clone()]), ..ToolSelection::default() },
        hidden: true,
        omits_memory: true,
        // The file that might have its texts kept back is not looked at.
        tracing: AgentTracing { content: Some(TraceContent::None), ..AgentTracing::default() },
        prompt: "A client calls a tool.".to_owned(),
        ..AgentDefinition::named(AgentName::from(format!("client-{short}")), "A client's call")
    }
}

/// Waits for the call's end, however long a person takes. Whoever hangs up leaves a run that goes on.
async fn end_of_call(state: &ToolCallMethods, run: &RunId) -> Result<ToolsCallResult, RpcError> {
    let types = ["tool.state", "run.completed"].map(str::to_owned).to_vec();
    let mut log = state.store.follow(LogFilter { types, ..LogFilter::run(run.clone()) }, EventSeq(0));
    let mut ended: Option<ToolState> = None;
    loop {
        for event in log.next().await? {
            match event.parse()? {
                Some(EventBody::ToolState(data)) if data.to.is_end() && ended.is_none() => {
                    ended = Some(data);
                }
                Some(EventBody::RunCompleted(end)) => {
                    let Some(data) = ended else {
                        let message = end.message.unwrap_or_else(|| "the call was never made".to_owned());
                        return Err(RpcError::new(ErrorKind::Conflict, message));
                    };
                    // A run waits for its hooks, so whatever they said is there.
                    let events = state.store.run_events(run).await?;
                    return Ok(ToolsCallResult {
                        result: as_hooks_left_it(data.result.unwrap_or_default(), &data.call_id, &events),
                        call_id: data.call_id,
                        run_id: run.clone(),
                        seq: event.seq,
                    });
                }
                _ => (),
            }
        }
    }
}

/// The result of a call as a model would read it. What hooks keep from that stands in no other field either.
fn as_hooks_left_it(result: ToolResult, call: &CallId, events: &[CommittedEvent]) -> ToolResult {
    let read = events.iter().rev().find_map(|event| replaced_results(&event.private)?.get(call));
    let Some(read) = read.cloned() else { return result };
    let is_of_call = |fired: &HookFired| fired.call_id.as_ref() == Some(call);
    let is_replaced = |event: &CommittedEvent| match &event.body {
        EventBody::HookFired(fired) => {
            is_of_call(fired) && (fired.replacement.is_some() || fired.follow_up.is_some())
        }
        _ => false,
    };
    if !events.iter().any(is_replaced) {
        // Something was added behind it.
        return ToolResult { llm_content: read, ..result };
    }
    let text = || read.iter().filter_map(MessagePart::as_text).collect::<Vec<_>>().join("\n");
    let error = result.error.map(|error| ToolError { message: text(), ..error });
    ToolResult { llm_content: read, error, ..ToolResult::default() }
}
