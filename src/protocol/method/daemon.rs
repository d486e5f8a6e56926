//! Parameters and results: the daemon.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{WorkspaceParam, is_default};
use crate::{EventSeq, McpState, SandboxProfile, Timestamp, Usage, UsdAmount};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonInfo {
    pub name: String,
    pub version: String,
    pub pid: u32,
    /// New at every start.
    pub instance: String,
    /// Made with the database; cursors of another log mean nothing here.
    pub log_id: String,
    pub started_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonStatusResult {
    pub daemon: DaemonInfo,
    #[serde(default)]
    pub state: DaemonState,
    pub uptime_ms: u64,
    /// By state; `ended` counts the whole log's.
    pub runs: RunCounts,
    /// Questions that wait for a person; `confirmation/list` has them.
    #[serde(default)]
    pub open_confirmations: u64,
    pub clients: u32,
    pub subscriptions: u32,
    pub database: DatabaseStatus,
    /// Resident memory; missing where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// What confines the commands of agents that say nothing of it themselves; missing until it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxStatus>,
    /// Figures since it started.
    #[serde(default)]
    pub counts: DaemonCounts,
    /// MCP servers that are up or in trouble, by name; at most so many as anybody reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<McpServerHealth>,
    /// What does not work as it should, one sentence each.
    pub degraded: Vec<String>,
}

/// Figures of a daemon since it started; `GET /metrics` has the same by model, tool and outcome, for Prometheus.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonCounts {
    /// Runs that ended, by reason.
    pub runs_ended: BTreeMap<String, u64>,
    /// Runs that wait for a slot now.
    pub slot_queue: u64,
    /// Requests to models.
    pub model_requests: TimedCount,
    /// Tool calls that ended; their time is that of running.
    pub tool_calls: TimedCount,
    /// Answers of people to questions.
    pub answers: TimedCount,
    /// Transactions of the database.
    pub commits: TimedCount,
    pub usage: Usage,
    /// Cost of the tokens whose price is known.
    pub cost: UsdAmount,
    /// Events that the slowest subscription has not been sent.
    pub max_lag: u64,
}

/// A number of things that take time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TimedCount {
    pub count: u64,
    /// The number of them that ended with an error.
    #[serde(skip_serializing_if = "is_default")]
    pub failed: u64,
    /// Microseconds that half of them did not exceed, to the next bound of a histogram; missing when there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<u64>,
    /// The same of all but one of a hundred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<u64>,
}

/// How a server of the Model Context Protocol is; `mcp/status` tells more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerHealth {
    pub name: String,
    /// Whose it is; empty where nobody works in a folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspace: Vec<String>,
    pub state: McpState,
    /// The reason why it is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What confines the commands of agents (spec 11, "What a tool may do"); `daemon/doctor` proves it by trying.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxStatus {
    /// `bubblewrap`, `Landlock` or `none`.
    pub mechanism: String,
    pub profile: SandboxProfile,
    pub network: bool,
}

/// Whether a daemon takes work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DaemonState {
    #[default]
    Running,
    /// It takes no new runs (`daemon/drain`).
    Draining,
    /// It ends.
    Stopping,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunCounts {
    pub queued: u64,
    pub running: u64,
    pub waiting: u64,
    pub parked: u64,
    pub ended: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseStatus {
    pub path: PathBuf,
    pub bytes: u64,
    pub head: EventSeq,
    /// The disk is full: runs are parked, and what would write is refused. It goes on by itself when there is room.
    #[serde(default)]
    pub storage_full: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DoctorParams {
    /// A folder whose hooks are looked at, whether anybody has acknowledged them or not. Those that people acknowledged always are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

/// What was found by looking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorResult {
    /// In the order in which it matters.
    pub checks: Vec<DoctorCheck>,
    /// No check failed; there may be warnings.
    pub ok: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorCheck {
    /// What was looked at, e.g. `database`; later versions look at more.
    pub name: String,
    pub state: CheckState,
    /// What was found.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How something stands that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckState {
    Ok,
    /// It works, and may not be what was meant.
    Warning,
    /// Something does not work, or is not safe.
    Failed,
}

/// What becomes of the runs when a daemon is drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DrainMode {
    /// They go on to their end.
    Finish,
    /// Each stops when its turn ends, and goes on at the next start.
    Park,
    /// They are cancelled.
    Cancel,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DrainParams {
    pub mode: DrainMode,
    /// How long to wait for the runs; what is left then is told. At most 600,000.
    #[schemars(range(max = 600_000))]
    pub deadline_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DrainResult {
    /// No run is at work any more.
    pub drained: bool,
    /// Runs that are still at work.
    pub live_runs: u64,
    /// Runs that will go on at the next start.
    pub suspended_runs: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LogsParams {
    /// Lines after this number; missing = the newest `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Missing = 100.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// When there is no such line yet: waits this long for the first. At most 60,000.
    #[schemars(range(max = 60_000))]
    pub wait_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogsResult {
    /// Oldest first.
    pub lines: Vec<String>,
    /// The number of the last of these; give it as `after` for those that follow.
    pub last: u64,
    /// Lines between `after` and the first of these that are no longer kept.
    pub missed: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownResult {
    /// Runs that will go on at the next start.
    pub suspended_runs: u64,
}
