//! The servers of the Model Context Protocol, as the daemon keeps them: with the settings in force, and with followers of the
//! log told what becomes of them.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    DaemonSettings, command_rules,
    daemon_life::DaemonLife,
    published_mcp_states::{PublishedMcpStates, told_state},
};
use config::{DaemonConfig, KeySource};
use models::usual_key_variables;
use project::ProjectReader;
use protocol::{EventBody, EventHead, McpServerStateChanged, McpToolsChanged, PrivateEventFields, ToolName};
use redact::Redactor;
use store::{EventStore, NewEvent, StoreError};
use sys::{clock::Clock, tasks::TaskGroup};
use tools::{
    CommandRuntime, ProgramLog,
    mcp::{McpHub, OAuthSessions, ServerChange, ServerRules, ServerState},
};

/// Under which the names are left of servers that somebody switched off.
const OFF: &str = "mcp.off";
/// Tools listed in one event: nobody reads more, and an event stays a message's size.
const MOST_LISTED: usize = 1_000;

/// The servers of the Model Context Protocol, how they are, and who signed in to them.
pub(super) struct McpConnections {
    pub hub: McpHub,
    /// Those of them that are up or in trouble.
    pub published: PublishedMcpStates,
    pub sign_ins: OAuthSessions,
}

impl McpConnections {
    /// Before any server is started.
    pub fn new(hub: McpHub, sign_ins: OAuthSessions) -> McpConnections {
        McpConnections { hub, published: PublishedMcpStates::default(), sign_ins }
    }
}

/// The servers, as settings and the last daemon left them. None is started.
pub(super) async fn servers(
    settings: &DaemonSettings,
    store: &EventStore,
    commands: &Arc<CommandRuntime>,
    clock: &Arc<dyn Clock>,
    (projects, program_log, sign_ins): (&ProjectReader, &ProgramLog, &OAuthSessions),
    (tasks, stop): (&TaskGroup, &CancellationToken),
) -> Result<McpHub, StoreError> {
    let off = store.note(OFF).await?;
    let off: BTreeSet<String> = match off.as_deref().map(serde_json::from_str) {
        Some(Ok(off)) => off,
        Some(Err(error)) => {
            tracing::warn!(%error, "which servers were switched off cannot be read; all are as the settings say");
            BTreeSet::new()
        }
        None => BTreeSet::new(),
    };
    let rules = rules(&settings.config, &settings.redactor, sign_ins);
    let tasks = (tasks.clone(), stop.clone());
    Ok(McpHub::new(
        (Arc::clone(commands), projects.clone(), program_log.clone()),
        Arc::clone(clock),
        tasks,
        rules,
        off,
    ))
}

/// Switches a server off or on, for the next daemon too.
pub(super) async fn switch(
    hub: &McpHub,
    store: &EventStore,
    name: &str,
    enabled: bool,
) -> Result<(), StoreError> {
    let off = hub.set_off(name, !enabled);
    // Names are plain text.
    store.leave_note(OFF, serde_json::to_string(&off).unwrap_or_default()).await
}

/// What the settings say of servers.
pub(super) fn rules(config: &DaemonConfig, redactor: &Redactor, sign_ins: &OAuthSessions) -> ServerRules {
    let mcp = &config.mcp;
    let idle = mcp.idle_timeout_ms.value;
    let all = mcp.servers.value.clone().into_iter();
    let (faulty, whole): (Vec<_>, Vec<_>) = all.partition(|(_, server)| server.faulty);
    ServerRules {
        servers: whole.into_iter().collect(),
        faulty: faulty.into_iter().map(|(name, _)| name).collect(),
        allowed: mcp.allowed.value.clone(),
        excluded: mcp.excluded.value.clone(),
        idle_timeout: (idle != 0).then(|| Duration::from_millis(idle)),
        commands: command_rules(config),
        redactor: redactor.clone(),
        own_keys: own_keys(config),
        sign_ins: sign_ins.clone(),
    }
}

/// The variables in which this daemon's own keys are looked for.
fn own_keys(config: &DaemonConfig) -> Vec<String> {
    let of_providers = config.providers.values().filter_map(|entry| entry.value.as_ref()?.key.as_ref());
    let others = [&config.tools.web_search.key.value, &config.approval.webhook_secret.value];
    let named = of_providers.chain(others.into_iter().flatten()).filter_map(|key| match key {
        KeySource::Env(name) => Some(name.clone()),
        KeySource::File(_) | KeySource::Command(_) => None,
    });
    // What goes to a collector of traces, and keys that a person named for hooks of theirs.
    let filled = config.tracing.otlp.headers.value.values().flat_map(|header| variables_in(header));
    let of_commands = config.hooks.environment.value.iter().filter(|name| redact::names_a_secret(name));
    let of_hooks = of_commands.chain(&config.hooks.http_env.value).cloned();
    let usual = usual_key_variables().into_iter().chain(COLLECTOR_HEADERS.iter().copied());
    named.chain(filled).chain(of_hooks).chain(usual.map(str::to_owned)).collect()
}

/// The variables with a collector's headers (OpenTelemetry, "OTLP exporter configuration").
const COLLECTOR_HEADERS: &[&str] = &[
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
    "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
];

/// The names in `${NAME}` and `${NAME:-default}`.
fn variables_in(text: &str) -> impl Iterator<Item = String> {
    text.split("${").skip(1).filter_map(|rest| rest.split(['}', ':']).next()).map(str::to_owned)
}

/// Tells what becomes of servers until the daemon stops.
pub(super) async fn follow(life: Arc<DaemonLife>, store: EventStore, mcp: Arc<McpConnections>) {
    loop {
        let changes = tokio::select! {
            () = life.stop.cancelled() => return,
            changes = mcp.hub.changes() => changes,
        };
        changes.iter().for_each(|change| mcp.published.note(change));
        let events: Vec<NewEvent> = changes.iter().flat_map(|change| events(&*life.clock, change)).collect();
        if let Err(error) = store.append(events).await {
            tracing::warn!(%error, "what became of MCP servers could not be told");
        }
    }
}

fn events(clock: &dyn Clock, change: &ServerChange) -> Vec<NewEvent> {
    let ServerChange { server, agent, extension, roots, state: server_state, tools } = change;
    let (server, agent, workspace) = (server.clone(), agent.clone(), roots.clone());
    let extension = extension.clone();
    let mut bodies: Vec<EventBody> = Vec::new();
    let (now, error) = told_state(server_state);
    if *tools && let ServerState::Ready(ready) = server_state {
        let (server, agent, workspace) = (server.clone(), agent.clone(), workspace.clone());
        let extension = extension.clone();
        let all: Vec<ToolName> = ready.tools.iter().map(|tool| tool.canonical.clone()).collect();
        let more = u64::try_from(all.len().saturating_sub(MOST_LISTED)).unwrap_or_default();
        let tools = all.into_iter().take(MOST_LISTED).collect();
        bodies.push(McpToolsChanged { server, agent, extension, workspace, tools, more }.into());
    }
    bodies.insert(0, McpServerStateChanged { server, agent, extension, workspace, state: now, error }.into());
    let event = |body: EventBody| NewEvent {
        at: clock.now(),
        session: None,
        run: None,
        context: None,
        head: EventHead::default(),
        body,
        private: PrivateEventFields::default(),
    };
    bodies.into_iter().map(event).collect()
}
