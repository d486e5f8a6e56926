//! `mcp/*`: which servers are there, how are they, and what else do they have? (spec 07, "As a client")
//!
//! That a server is away is data; only what no settings name is `NOT_FOUND`.

use std::{path::PathBuf, sync::Arc};

use serde_json::{Map, Value, json};

use super::{
    super::{
        discovery, mcp,
        rpc::{MethodHandlers, RpcCaller},
    },
    internal, roots,
};
use crate::{
    client_connections::ClientConnections, daemon_life::DaemonLife, daemon_services::DaemonServices,
    mcp::McpConnections, program_runtime::ProgramRuntime, reload::SettingsReloader,
    settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use config::nearest;
use models::MediaSupport;
use protocol::{
    ErrorKind, ListedMcpServer, McpAdd, McpCalls, McpConnect, McpDisconnect, McpList, McpListParams,
    McpListResult, McpLogin, McpLogout, McpOrigin, McpPrompt, McpPromptArgument, McpPrompts,
    McpPromptsParams, McpPromptsResult, McpReadResource, McpReadResourceParams, McpReadResourceResult,
    McpRemove, McpResource, McpResources, McpResourcesResult, McpRestart, McpServerParams, McpServerStatus,
    McpSetEnabled, McpSetEnabledParams, McpSetEnabledResult, McpState, McpStatus, McpStatusParams,
    McpStatusResult, McpTemplate, McpTransport, McpTransportKind, RpcError, Timestamp, WorkspaceParam,
};
use store::EventStore;
use tools::{
    Workspace,
    mcp::{
        McpHub, McpListKind, McpRequestError, McpServerInstance, ReadyServer, ServerLease, ServerLookup,
        ServerOrigin, ServerSnapshot, ServerState, ToolCallTally, parts,
    },
};

mod signing;
mod template;
mod writing;

/// Prompts and resources that are answered: an answer stays a message's size.
const MOST_LISTED: usize = 1_000;

/// The services that the methods of MCP servers use.
pub(super) struct McpMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub clients: Arc<ClientConnections>,
    pub workspaces: Arc<WorkspaceSources>,
    pub programs: Arc<ProgramRuntime>,
    pub mcp: Arc<McpConnections>,
    pub reloader: Arc<SettingsReloader>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices, reloader: &Arc<SettingsReloader>) {
    let DaemonServices { life, settings, store, clients, workspaces, programs, mcp, .. } = services.clone();
    let reloader = Arc::clone(reloader);
    let mut api = api.given(Arc::new(McpMethods {
        life,
        settings,
        store,
        clients,
        workspaces,
        programs,
        mcp,
        reloader,
    }));
    api.cancellable::<McpList, _, _>(list)
        .cancellable::<McpStatus, _, _>(status)
        .cancellable::<McpConnect, _, _>(connect)
        .cancellable::<McpDisconnect, _, _>(disconnect)
        .cancellable::<McpRestart, _, _>(restart)
        .method::<McpSetEnabled, _, _>(set_enabled)
        .method::<McpAdd, _, _>(writing::add)
        .method::<McpRemove, _, _>(writing::remove)
        .method::<McpLogin, _, _>(signing::login)
        .method::<McpLogout, _, _>(signing::logout)
        .cancellable::<McpPrompts, _, _>(prompts)
        .cancellable::<McpResources, _, _>(resources)
        .cancellable::<McpReadResource, _, _>(read_resource)
        .method::<McpTemplate, _, _>(template::template);
}

async fn list(
    state: Arc<McpMethods>,
    _: RpcCaller,
    params: McpListParams,
) -> Result<McpListResult, RpcError> {
    let roots = workspace(&state, params.workspace.as_ref()).await?;
    let servers = state.mcp.hub.seen(&roots).iter().map(listed).collect();
    Ok(McpListResult { servers })
}

async fn status(
    state: Arc<McpMethods>,
    _: RpcCaller,
    params: McpStatusParams,
) -> Result<McpStatusResult, RpcError> {
    let roots = workspace(&state, params.workspace.as_ref()).await?;
    let servers = match params.server {
        None => state.mcp.hub.seen(&roots).iter().map(|seen| told(&state, seen)).collect(),
        Some(name) => vec![status_of(&state, &roots, &name)?],
    };
    Ok(McpStatusResult { servers })
}

async fn connect(
    state: Arc<McpMethods>,
    _: RpcCaller,
    params: McpServerParams,
) -> Result<McpServerStatus, RpcError> {
    let roots = workspace(&state, params.workspace.as_ref()).await?;
    if let Some(server) = used(&state, &roots, &params.server)? {
        state.mcp.hub.begin(&server);
        // That it is away is told by the status.
        drop(state.mcp.hub.ready(&roots, &params.server).await);
    }
    status_of(&state, &roots, &params.server)
}

async fn disconnect(
    state: Arc<McpMethods>,
    _: RpcCaller,
    params: McpServerParams,
) -> Result<McpServerStatus, RpcError> {
    let roots = workspace(&state, params.workspace.as_ref()).await?;
    if let Some(server) = used(&state, &roots, &params.server)? {
        server.end();
        server.ended().await;
    }
    status_of(&state, &roots, &params.server)
}

async fn restart(
    state: Arc<McpMethods>,
    _: RpcCaller,
    params: McpServerParams,
) -> Result<McpServerStatus, RpcError> {
    let roots = workspace(&state, params.workspace.as_ref()).await?;
    if let Some(server) = used(&state, &roots, &params.server)? {
        server.end();
        server.ended().await;
        drop(state.mcp.hub.ready(&roots, &params.server).await);
    }
    status_of(&state, &roots, &params.server)
}

async fn set_enabled(
    state: Arc<McpMethods>,
    _: RpcCaller,
    params: McpSetEnabledParams,
) -> Result<McpSetEnabledResult, RpcError> {
    let McpSetEnabledParams { server, enabled } = params;
    // A workspace's own server is known once somebody looked at that workspace; what nobody knows can be switched on alone.
    if !enabled && !state.mcp.hub.is_known(&server) {
        return Err(not_found((&state.mcp.hub, &state.settings), &[], &server));
    }
    mcp::switch(&state.mcp.hub, &state.store, &server, enabled).await?;
    Ok(McpSetEnabledResult { server, enabled })
}

async fn prompts(
    state: Arc<McpMethods>,
    _: RpcCaller,
    params: McpPromptsParams,
) -> Result<McpPromptsResult, RpcError> {
    let roots = workspace(&state, params.workspace.as_ref()).await?;
    let (ready, _use) = ready((&state.mcp.hub, &state.settings), &roots, &params.server).await?;
    let Some(name) = &params.prompt else {
        let listed = ready.connection.list(McpListKind::Prompts, &state.life.stop).await;
        let listed = nothing_is_none(listed).map_err(|error| refused(&state.settings, &error))?;
        let prompts = listed.iter().filter_map(prompt).take(MOST_LISTED).collect();
        return Ok(McpPromptsResult { prompts, ..McpPromptsResult::default() });
    };
    let arguments: Map<String, Value> =
        params.arguments.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let said = ready.connection.prompt(name, arguments, &state.life.stop).await;
    let said = said.map_err(|error| refused(&state.settings, &error))?;
    let messages = said.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
    let blocks: Vec<Value> = messages.into_iter().filter_map(|it| it.get("content").cloned()).collect();
    Ok(McpPromptsResult {
        parts: parts(&blocks, MediaSupport { audio: true, pdf: true }),
        ..McpPromptsResult::default()
    })
}

async fn resources(
    state: Arc<McpMethods>,
    _: RpcCaller,
    params: McpServerParams,
) -> Result<McpResourcesResult, RpcError> {
    let roots = workspace(&state, params.workspace.as_ref()).await?;
    let (ready, _use) = ready((&state.mcp.hub, &state.settings), &roots, &params.server).await?;
    let listed = ready.connection.list(McpListKind::Resources, &state.life.stop).await;
    let listed = nothing_is_none(listed).map_err(|error| refused(&state.settings, &error))?;
    Ok(McpResourcesResult { resources: listed.iter().filter_map(resource).take(MOST_LISTED).collect() })
}

async fn read_resource(
    state: Arc<McpMethods>,
    _: RpcCaller,
    params: McpReadResourceParams,
) -> Result<McpReadResourceResult, RpcError> {
    let roots = workspace(&state, params.workspace.as_ref()).await?;
    let (ready, _use) = ready((&state.mcp.hub, &state.settings), &roots, &params.server).await?;
    let read = ready.connection.read(&params.uri, &state.life.stop).await;
    let read = read.map_err(|error| refused(&state.settings, &error))?;
    let contents = read.get("contents").and_then(Value::as_array).cloned().unwrap_or_default();
    let blocks: Vec<Value> =
        contents.into_iter().map(|it| json!({ "type": "resource", "resource": it })).collect();
    Ok(McpReadResourceResult { parts: parts(&blocks, MediaSupport { audio: true, pdf: true }) })
}

/// The folders of a workspace, canonical, and what it brings along noted.
async fn workspace(state: &McpMethods, workspace: Option<&WorkspaceParam>) -> Result<Vec<String>, RpcError> {
    let given: Vec<PathBuf> = workspace.map(roots).transpose()?.unwrap_or_default();
    are_still_there(state, &given).await?;
    let project = discovery::project(&state.workspaces, given).await?;
    state.mcp.hub.meet(&project);
    Ok(project.roots.clone())
}

/// Refuses folders that are known by their paths without links and lead to others by now: nobody meant to have servers started there.
async fn are_still_there(state: &McpMethods, given: &[PathBuf]) -> Result<(), RpcError> {
    let known: Vec<PathBuf> = {
        let trust = state.workspaces.projects.trust();
        let is_known = |root: &str| trust.is_trusted(root) || state.mcp.hub.has_met(root);
        let plain = given.iter().map(|root| root.components().collect::<PathBuf>());
        plain.filter(|root| root.to_str().is_some_and(is_known)).collect()
    };
    let look = move || known.into_iter().find_map(|root| Workspace::moved(&root).map(|why| (root, why)));
    let moved = tokio::task::spawn_blocking(look).await;
    match moved.map_err(|error| internal("the workspace could not be looked at", &error))? {
        None => Ok(()),
        Some((root, why)) => Err(RpcError::new(ErrorKind::Conflict, format!("{}: {why}", root.display()))),
    }
}

/// A server that may be used; `None` = there is one, which may not.
fn used(
    state: &McpMethods,
    roots: &[String],
    name: &str,
) -> Result<Option<Arc<McpServerInstance>>, RpcError> {
    match state.mcp.hub.meaning(roots, name) {
        ServerLookup::Server(server) => Ok(Some(server)),
        ServerLookup::Disabled(_) | ServerLookup::Blocked(_) | ServerLookup::Untrusted => Ok(None),
        ServerLookup::Unknown => Err(not_found((&state.mcp.hub, &state.settings), roots, name)),
    }
}

pub(super) async fn ready(
    (hub, settings): (&McpHub, &SettingsInForce),
    roots: &[String],
    name: &str,
) -> Result<(Arc<ReadyServer>, ServerLease), RpcError> {
    if let ServerLookup::Unknown = hub.meaning(roots, name) {
        return Err(not_found((hub, settings), roots, name));
    }
    match hub.ready(roots, name).await {
        Ok((ready, in_use, _)) => Ok((ready, in_use)),
        Err(why) => {
            let message = settings.redactor.get().owned(format!("the server {name} is away: {why}"));
            Err(RpcError::new(ErrorKind::Conflict, message).with_hint("`mcp/status` tells more"))
        }
    }
}

/// A server that has none of something may not know the question.
fn nothing_is_none(listed: Result<Vec<Value>, McpRequestError>) -> Result<Vec<Value>, McpRequestError> {
    match listed {
        Err(McpRequestError::Refused(_)) => Ok(Vec::new()),
        listed => listed,
    }
}

pub(super) fn refused(settings: &SettingsInForce, error: &McpRequestError) -> RpcError {
    RpcError::new(
        ErrorKind::Conflict,
        settings.redactor.get().owned(format!("the server did not answer: {error}")),
    )
}

fn not_found((hub, settings): (&McpHub, &SettingsInForce), roots: &[String], name: &str) -> RpcError {
    let redactor = settings.redactor.get();
    let names = hub.names(roots);
    let message = redactor.owned(format!("no settings name a server `{name}`"));
    let error = RpcError::new(ErrorKind::NotFound, message);
    match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => {
            error.with_hint(format!("did you mean `{near}`?")).with_details(json!({ "didYouMean": near }))
        }
        None => error.with_hint("`mcp/list` answers those there are; a workspace's own need `workspace`"),
    }
}

fn status_of(state: &McpMethods, roots: &[String], name: &str) -> Result<McpServerStatus, RpcError> {
    let seen = state.mcp.hub.seen(roots);
    let seen = seen.iter().find(|seen| seen.name == name);
    seen.map(|seen| told(state, seen))
        .ok_or_else(|| not_found((&state.mcp.hub, &state.settings), roots, name))
}

fn listed(seen: &ServerSnapshot) -> ListedMcpServer {
    let unused = |state, reason: Option<String>| (state, reason, None, None);
    let (mut agent, mut extension) = (None, None);
    let (now, reason, origin, transport) = match &seen.meaning {
        ServerLookup::Server(server) => {
            let (now, error) = crate::published_mcp_states::told_state(&seen.state);
            let origin = match server.origin {
                ServerOrigin::User => McpOrigin::User,
                ServerOrigin::Project => McpOrigin::Project,
                ServerOrigin::Agent { .. } => McpOrigin::Agent,
                ServerOrigin::Extension(_) => McpOrigin::Extension,
            };
            extension = server.origin.extension().cloned();
            agent = server.origin.agent().cloned();
            let transport = match server.entry.transport {
                McpTransport::Stdio { .. } => McpTransportKind::Stdio,
                McpTransport::Http { .. } => McpTransportKind::Http,
            };
            (now, error, Some(origin), Some(transport))
        }
        ServerLookup::Disabled(why) => unused(McpState::Disabled, Some(why.clone())),
        ServerLookup::Blocked(why) => unused(McpState::Blocked, Some(why.clone())),
        ServerLookup::Untrusted | ServerLookup::Unknown => unused(
            McpState::Untrusted,
            Some(
                "no person has acknowledged the workspace's settings as they are (`subagent trust`)"
                    .to_owned(),
            ),
        ),
    };
    let tools = match &seen.state {
        ServerState::Ready(ready) => u32::try_from(ready.tools.len()).unwrap_or(u32::MAX),
        _ => 0,
    };
    ListedMcpServer {
        name: seen.name.clone(),
        state: now,
        reason,
        origin,
        agent,
        extension,
        transport,
        tools,
    }
}

fn told(state: &McpMethods, seen: &ServerSnapshot) -> McpServerStatus {
    let redactor = state.settings.redactor.get();
    let record = &seen.record;
    let ready = match &seen.state {
        ServerState::Ready(ready) => Some(ready),
        _ => None,
    };
    let next_try_at = match seen.state {
        ServerState::Backoff { until, .. } => {
            let wait = until.saturating_sub(state.life.clock.monotonic());
            let Timestamp(now) = state.life.clock.now();
            Some(Timestamp(now.saturating_add(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX))))
        }
        _ => None,
    };
    let mut all = ToolCallTally::default();
    for tally in record.tallies.values() {
        all.calls += tally.calls;
        all.errors += tally.errors;
        all.times.extend(&tally.times);
    }
    McpServerStatus {
        listed: listed(seen),
        server: ready.and_then(|ready| ready.server.clone()).map(|server| redactor.owned(server)),
        pid: ready.and_then(|ready| u32::try_from(ready.pid?).ok()),
        last_error: record.last_error.clone(),
        restarts: record.restarts,
        next_try_at,
        tool_names: ready
            .map_or_else(Vec::new, |ready| ready.tools.iter().map(|it| it.canonical.clone()).collect()),
        warnings: ready.map_or_else(Vec::new, |ready| ready.warnings.clone()),
        stderr: redactor.owned(seen.complaints.clone()),
        calls: calls(&all),
        by_tool: record.tallies.iter().map(|(name, tally)| (name.clone(), calls(tally))).collect(),
    }
}

fn calls(tally: &ToolCallTally) -> McpCalls {
    let mut times: Vec<u64> = tally.times.iter().copied().collect();
    times.sort_unstable();
    // The least time that so many of a hundred did not exceed.
    let share = |percent: usize| {
        let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
        times.get(at).copied()
    };
    McpCalls { calls: tally.calls, errors: tally.errors, p50_ms: share(50), p99_ms: share(99) }
}

fn word(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

fn prompt(told: &Value) -> Option<McpPrompt> {
    let argument = |told: &Value| {
        Some(McpPromptArgument {
            name: word(told, "name")?,
            description: word(told, "description"),
            required: told.get("required") == Some(&Value::Bool(true)),
        })
    };
    let arguments = told.get("arguments").and_then(Value::as_array);
    Some(McpPrompt {
        name: word(told, "name")?,
        title: word(told, "title"),
        description: word(told, "description"),
        arguments: arguments.into_iter().flatten().filter_map(argument).collect(),
    })
}

fn resource(told: &Value) -> Option<McpResource> {
    let uri = word(told, "uri")?;
    Some(McpResource {
        name: word(told, "name").unwrap_or_else(|| uri.clone()),
        uri,
        description: word(told, "description"),
        mime_type: word(told, "mimeType"),
        size: told.get("size").and_then(Value::as_u64),
    })
}
