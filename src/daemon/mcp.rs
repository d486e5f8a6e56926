//! The servers of the Model Context Protocol, as the daemon keeps them: with the settings in force, and with followers of the
//! log told what becomes of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Settings, command_rules, state::State};
use crate::{
    config::Config,
    protocol::{
        EventBody, EventHead, McpServerNow, McpServerStateChanged, McpState, McpToolsChanged, Private,
        ToolName,
    },
    redact::Redactor,
    store::{NewEvent, Store, StoreError},
    sys::clock::Clock,
    tools::{
        Commands,
        mcp::{Change, ServerRules, Servers, Standing},
    },
};

/// Under which the names are left of servers that somebody switched off.
const OFF: &str = "mcp.off";
/// Tools listed in one event: nobody reads more, and an event stays a message's size.
const MOST_LISTED: usize = 1_000;

/// The servers, as settings and the last daemon left them. None is started.
pub(super) async fn servers(
    settings: &Settings,
    store: &Store,
    commands: &Arc<Commands>,
    clock: &Arc<dyn Clock>,
    (tasks, stop): (&TaskTracker, &CancellationToken),
) -> Result<Servers, StoreError> {
    let off = store.note(OFF).await?;
    let off: BTreeSet<String> = match off.as_deref().map(serde_json::from_str) {
        Some(Ok(off)) => off,
        Some(Err(error)) => {
            tracing::warn!(%error, "which servers were switched off cannot be read; all are as the settings say");
            BTreeSet::new()
        }
        None => BTreeSet::new(),
    };
    let rules = rules(&settings.config, &settings.redactor);
    let tasks = (tasks.clone(), stop.clone());
    Ok(Servers::new(Arc::clone(commands), Arc::clone(clock), tasks, rules, off))
}

/// Switches a server off or on, for the next daemon too.
pub(super) async fn switch(state: &State, name: &str, enabled: bool) -> Result<(), StoreError> {
    let off = state.servers.set_off(name, !enabled);
    // Names are plain text.
    state.store.leave_note(OFF, serde_json::to_string(&off).unwrap_or_default()).await
}

/// What the settings say of servers.
pub(super) fn rules(config: &Config, redactor: &Redactor) -> ServerRules {
    let mcp = &config.mcp;
    let idle = mcp.idle_timeout_ms.value;
    ServerRules {
        servers: mcp.servers.value.clone(),
        allowed: mcp.allowed.value.clone(),
        excluded: mcp.excluded.value.clone(),
        idle_timeout: (idle != 0).then(|| Duration::from_millis(idle)),
        commands: command_rules(config),
        redactor: redactor.clone(),
    }
}

/// Servers of which `daemon/status` tells: nobody reads more.
const MOST_TOLD: usize = 100;
/// Servers that are remembered to be up or in trouble.
const MOST_REMEMBERED: usize = 4_096;
/// Servers that are away of which `degraded` tells one by one.
const MOST_AWAY: usize = 10;

/// The servers that are up or in trouble, as the log was told last: by name and roots.
#[derive(Default)]
pub(super) struct Board(Mutex<BTreeMap<(String, Vec<String>), (McpState, Option<String>)>>);

impl Board {
    fn note(&self, change: &Change) {
        let key = (change.server.clone(), change.roots.clone());
        let mut board = self.lock();
        match standing_told(&change.standing) {
            (McpState::Idle, _) => drop(board.remove(&key)),
            told if board.len() < MOST_REMEMBERED || board.contains_key(&key) => {
                drop(board.insert(key, told))
            }
            _ => (),
        }
    }

    pub fn told(&self) -> Vec<McpServerNow> {
        let now =
            |((name, roots), (state, reason)): (&(String, Vec<String>), &(McpState, Option<String>))| {
                let (name, workspace, reason) = (name.clone(), roots.clone(), reason.clone());
                McpServerNow { name, workspace, state: *state, reason }
            };
        self.lock().iter().map(now).take(MOST_TOLD).collect()
    }

    /// One sentence for each that is away, and one for those that are more than anybody reads.
    pub fn degraded(&self) -> Vec<String> {
        let board = self.lock();
        let mut away =
            board.iter().filter(|(_, (state, _))| matches!(state, McpState::Backoff | McpState::Failed));
        let sentence =
            |((name, roots), (_, reason)): (&(String, Vec<String>), &(McpState, Option<String>))| {
                let place =
                    if roots.is_empty() { String::new() } else { format!(" of {}", roots.join(", ")) };
                let why = reason.as_deref().unwrap_or("nobody knows why");
                format!("the MCP server {name}{place} is away: {why}")
            };
        let mut told: Vec<String> = away.by_ref().take(MOST_AWAY).map(sentence).collect();
        let more = away.count();
        told.extend((more != 0).then(|| format!("{more} more MCP servers are away (`subagent mcp status`)")));
        told
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, Vec<String>), (McpState, Option<String>)>> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells what becomes of servers until the daemon stops.
pub(super) async fn follow(state: Arc<State>) {
    loop {
        let changes = tokio::select! {
            () = state.stop.cancelled() => return,
            changes = state.servers.changes() => changes,
        };
        changes.iter().for_each(|change| state.servers_now.note(change));
        let events: Vec<NewEvent> = changes.iter().flat_map(|change| events(&state, change)).collect();
        if let Err(error) = state.store.append(events).await {
            tracing::warn!(%error, "what became of MCP servers could not be told");
        }
    }
}

fn events(state: &State, change: &Change) -> Vec<NewEvent> {
    let Change { server, roots, standing, tools } = change;
    let (server, workspace) = (server.clone(), roots.clone());
    let mut bodies: Vec<EventBody> = Vec::new();
    let (now, error) = standing_told(standing);
    if *tools && let Standing::Ready(ready) = standing {
        let (server, workspace) = (server.clone(), workspace.clone());
        let all: Vec<ToolName> = ready.tools.iter().map(|tool| tool.canonical.clone()).collect();
        let more = u64::try_from(all.len().saturating_sub(MOST_LISTED)).unwrap_or_default();
        let tools = all.into_iter().take(MOST_LISTED).collect();
        bodies.push(McpToolsChanged { server, workspace, tools, more }.into());
    }
    bodies.insert(0, McpServerStateChanged { server, workspace, state: now, error }.into());
    let event = |body: EventBody| NewEvent {
        at: state.clock.now(),
        session: None,
        run: None,
        context: None,
        head: EventHead::default(),
        body,
        private: Private::default(),
    };
    bodies.into_iter().map(event).collect()
}

/// A standing as the wire has it, and why a server is away.
pub(super) fn standing_told(standing: &Standing) -> (McpState, Option<String>) {
    match standing {
        Standing::Idle => (McpState::Idle, None),
        Standing::Connecting => (McpState::Connecting, None),
        Standing::Ready(_) => (McpState::Ready, None),
        Standing::Backoff { error, .. } => (McpState::Backoff, Some(error.clone())),
        Standing::Failed { error } => (McpState::Failed, Some(error.clone())),
    }
}
