//! Which servers of the Model Context Protocol are up or in trouble, as the log was told last?

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use protocol::{McpServerHealth, McpState};
use tools::mcp::{McpHub, ServerChange, ServerLookup, ServerState};

/// Servers of which `daemon/status` tells: nobody reads more.
const MOST_TOLD: usize = 100;
/// Servers that are remembered to be up or in trouble.
const MOST_REMEMBERED: usize = 4_096;
/// Servers that are away of which `degraded` tells one by one.
const MOST_AWAY: usize = 10;

/// A server's name, and the workspace's roots.
type McpServerKey = (String, Vec<String>);
/// Its state, and why it is away.
type McpStateReason = (McpState, Option<String>);

/// The servers that may be up or in trouble, by what the log was told last: by name and roots.
#[derive(Default)]
pub(super) struct PublishedMcpStates(Mutex<BTreeSet<McpServerKey>>);

impl PublishedMcpStates {
    pub fn note(&self, change: &ServerChange) {
        // What a run has for itself is told with the run.
        if change.agent.is_some() {
            return;
        }
        let whose = (change.server.clone(), change.roots.clone());
        let mut board = self.lock();
        match change.state {
            ServerState::Idle => drop(board.remove(&whose)),
            _ if board.len() < MOST_REMEMBERED => drop(board.insert(whose)),
            _ => (),
        }
    }

    /// How they are now. Those that the settings have no more, or otherwise, are forgotten.
    fn now(&self, servers: &McpHub) -> Vec<(McpServerKey, McpStateReason)> {
        let board = self.lock().clone();
        let (mut now, mut gone) = (Vec::new(), Vec::new());
        for whose in board {
            let state = match servers.meaning(&whose.1, &whose.0) {
                ServerLookup::Server(server) => server.state(),
                _ => ServerState::Idle,
            };
            match state {
                ServerState::Idle => gone.push(whose),
                state => now.push((whose, told_state(&state))),
            }
        }
        self.lock().retain(|whose| !gone.contains(whose));
        now
    }

    pub fn told(&self, servers: &McpHub) -> Vec<McpServerHealth> {
        let now = |((name, workspace), (state, reason))| McpServerHealth { name, workspace, state, reason };
        self.now(servers).into_iter().take(MOST_TOLD).map(now).collect()
    }

    /// One sentence for each that is away, and one for those that are more than anybody reads.
    pub fn degraded(&self, servers: &McpHub) -> Vec<String> {
        let is_away = |(_, (state, _)): &(McpServerKey, McpStateReason)| {
            matches!(state, McpState::Backoff | McpState::Failed)
        };
        let mut away = self.now(servers).into_iter().filter(is_away);
        let sentence = |((name, roots), (_, reason)): (McpServerKey, McpStateReason)| {
            let place = if roots.is_empty() { String::new() } else { format!(" of {}", roots.join(", ")) };
            let why = reason.unwrap_or_else(|| "nobody knows why".to_owned());
            format!("the MCP server {name}{place} is away: {why}")
        };
        let mut told: Vec<String> = away.by_ref().take(MOST_AWAY).map(sentence).collect();
        let more = away.count();
        told.extend((more != 0).then(|| format!("{more} more MCP servers are away (`subagent mcp status`)")));
        told
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<McpServerKey>> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A state as the wire has it, and why a server is away.
pub(super) fn told_state(state: &ServerState) -> (McpState, Option<String>) {
    match state {
        ServerState::Idle => (McpState::Idle, None),
        ServerState::Connecting => (McpState::Connecting, None),
        ServerState::Ready(_) => (McpState::Ready, None),
        ServerState::Backoff { error, .. } => (McpState::Backoff, Some(error.clone())),
        ServerState::Failed { error } => (McpState::Failed, Some(error.clone())),
    }
}
