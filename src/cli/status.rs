//! `subagent status`: is the daemon there, and how is it?

use std::{path::Path, time::Duration};

use clap::Args;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    ListingFormat, ProcessIo,
    failure::{CommandFailure, other_version},
    human,
    link::{DaemonLink, note_version},
    message::show_message,
    paging, person,
    text_color::TextColor,
};
use client::{CallError, ConnectError, RpcClient};
use protocol::{DaemonStatus, Initialize, NoParams, RunState, Usage};

#[derive(Args)]
pub(super) struct StatusArguments {
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

pub(super) fn status(
    arguments: &StatusArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let mut client = link.dialer().connect().map_err(not_running)?;
    // How it is can be asked of any: whoever is refused elsewhere looks here.
    let other = match client.call_as::<Initialize, Value>(&person::nobody()) {
        Ok(_) => None,
        Err(CallError::Refused(refusal)) if let Some(told) = other_version(&refusal) => Some(told),
        // Whoever is let in nowhere is told why here, too.
        Err(error) => return Err(error.into()),
    };
    let answer: Value = client.call_as::<DaemonStatus, _>(&NoParams {})?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let status: DaemonStatusReply = paging::view(&answer)?;
    let text = draw(&status, link.dialer().socket());
    surroundings.stdout.write_text(&text)?;
    note_version(&status.daemon.version, &mut surroundings.stderr);
    if let Some((what, hint)) = other {
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", &what);
        show_message(&mut surroundings.stderr, TextColor::Yellow, "hint", &hint);
    }
    Ok(0)
}

/// A connection to a daemon that is there, which speaks as we do; starts none.
pub(super) fn look(link: &DaemonLink) -> Result<RpcClient, CommandFailure> {
    let mut client = link.dialer().connect().map_err(not_running)?;
    client.call_as::<Initialize, Value>(&person::nobody())?;
    Ok(client)
}

/// Asking how the daemon is starts none.
pub(super) fn not_running(error: ConnectError) -> CommandFailure {
    match error {
        ConnectError::NobodyListens { ref socket } => {
            CommandFailure::unavailable(format!("no daemon is running (socket {})", socket.display()))
                .or_hint("`subagent run` starts one, or run `subagentd`")
        }
        error => error.into(),
    }
}

/// The answer to `daemon/status`; whatever a daemon does not tell is left out.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DaemonStatusReply {
    daemon: DaemonView,
    uptime_ms: u64,
    /// Open: what is not known is shown as it came.
    state: String,
    /// By state, which is open.
    runs: Map<String, Value>,
    open_confirmations: u64,
    clients: u64,
    subscriptions: u64,
    database: DatabaseView,
    counts: CountsView,
    rss_bytes: Option<u64>,
    mcp_servers: Vec<McpServerStateView>,
    degraded: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DaemonView {
    name: String,
    version: String,
    pid: u32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DatabaseView {
    path: String,
    bytes: u64,
    head: i64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct McpServerStateView {
    name: String,
    /// Open.
    state: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CountsView {
    /// Counts by reason, which is open.
    runs_ended: Map<String, Value>,
    model_requests: TimedView,
    tool_calls: TimedView,
    usage: Usage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TimedView {
    count: u64,
    failed: u64,
}

impl CountsView {
    /// A line about the time since the daemon started; nothing when nothing was done.
    fn line(&self) -> Option<String> {
        let runs: u64 = self.runs_ended.values().filter_map(Value::as_u64).sum();
        let (requests, calls) = (self.model_requests.count, self.tool_calls.count);
        if runs == 0 && requests == 0 && calls == 0 {
            return None;
        }
        let failed = match self.tool_calls.failed {
            0 => String::new(),
            failed => format!(" ({failed} failed)"),
        };
        let out = self.usage.output_tokens.saturating_add(self.usage.thought_tokens);
        let tokens = human::change_of_tokens(self.usage.prompt_tokens, out);
        let (runs, requests) = (human::count(runs, "run"), human::count(requests, "model request"));
        let calls = human::count(calls, "tool call");
        Some(format!("done      {runs}, {requests}, {calls}{failed}, {tokens} since it started"))
    }
}

/// Servers that are named; `subagent mcp list` has all of them.
const MOST_SERVERS: usize = 8;

/// States in the order in which they matter.
const STATES: [RunState; 5] =
    [RunState::Running, RunState::Waiting, RunState::Queued, RunState::Parked, RunState::Ended];

fn draw(status: &DaemonStatusReply, socket: &Path) -> String {
    let daemon = &status.daemon;
    let place = |state: &str| STATES.iter().position(|known| known.as_str() == state).unwrap_or(STATES.len());
    let mut counted: Vec<(&str, u64)> =
        status.runs.iter().map(|(state, count)| (state.as_str(), count.as_u64().unwrap_or(0))).collect();
    counted.sort_by_key(|(state, _)| place(state));
    let counted = counted.iter().filter(|(_, count)| 0 < *count);
    let counted: Vec<String> = counted.map(|(state, count)| format!("{count} {state}")).collect();
    let runs = if counted.is_empty() { "none".to_owned() } else { counted.join(", ") };
    let clients = human::count(status.clients, "client");
    let subscriptions = human::count(status.subscriptions, "subscription");
    let DatabaseView { path, bytes, head } = &status.database;
    // Events are numbered from 1 on.
    let events = human::count(u64::try_from(*head).unwrap_or_default(), "event");
    let uptime = human::duration(Duration::from_millis(status.uptime_ms));
    let state_line = match status.state.as_str() {
        "" | "running" => String::new(),
        "draining" => ", draining: it takes no new runs".to_owned(),
        state => format!(", {state}"),
    };
    let mut lines = vec![
        format!("{} {}, pid {}, up {uptime}{state_line}", daemon.name, daemon.version, daemon.pid),
        format!("socket    {}", socket.display()),
        format!("database  {path}, {}, {events}", human::bytes(*bytes)),
        format!("runs      {runs}"),
        format!("clients   {clients}, {subscriptions}"),
    ];
    lines.extend(status.counts.line());
    if 0 < status.open_confirmations {
        let questions = human::count(status.open_confirmations, "open question");
        lines.push(format!("waiting   {questions}: `subagent approvals` lists them, `--watch` asks them"));
    }
    if !status.mcp_servers.is_empty() {
        let servers = status.mcp_servers.iter().take(MOST_SERVERS);
        let mut servers: Vec<String> = servers.map(|it| format!("{} {}", it.name, it.state)).collect();
        let more = status.mcp_servers.len().saturating_sub(MOST_SERVERS);
        servers.extend((more != 0).then(|| format!("{more} more")));
        lines.push(format!("servers   {}", servers.join(", ")));
    }
    lines.extend(status.rss_bytes.map(|bytes| format!("memory    {}", human::bytes(bytes))));
    lines.extend(status.degraded.iter().map(|sentence| format!("degraded  {sentence}")));
    lines.join("\n")
}
