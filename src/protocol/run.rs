//! Runs as clients see them (spec 03).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    AgentName, CallDetails, CallId, CallState, ContextId, QueuedFor, RunId, SessionId, Timestamp, ToolName,
    Usage, UsdAmount,
};

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RunState {
    Queued,
    Running,
    Waiting,
    Parked,
    Ended,
}

impl RunState {
    /// The spelling on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::Queued => "queued",
            RunState::Running => "running",
            RunState::Waiting => "waiting",
            RunState::Parked => "parked",
            RunState::Ended => "ended",
        }
    }
}

/// The reason why a run ended (spec 03, "Terminal reasons").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RunEndReason {
    Goal,
    MaxTurns,
    Timeout,
    ErrorNoCompleteTaskCall,
    Budget,
    Guardrail,
    LoopDetected,
    Unattended,
    Aborted,
    Error,
}

impl RunEndReason {
    /// The exit code of `subagent run` (spec 03).
    pub fn exit_code(self) -> u8 {
        match self {
            RunEndReason::Goal => 0,
            RunEndReason::Error => 1,
            RunEndReason::MaxTurns => 3,
            RunEndReason::Timeout => 4,
            RunEndReason::ErrorNoCompleteTaskCall => 5,
            RunEndReason::Budget => 6,
            RunEndReason::Guardrail => 7,
            RunEndReason::LoopDetected => 8,
            RunEndReason::Unattended => 9,
            RunEndReason::Aborted => 130,
        }
    }

    /// The spelling on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            RunEndReason::Goal => "GOAL",
            RunEndReason::MaxTurns => "MAX_TURNS",
            RunEndReason::Timeout => "TIMEOUT",
            RunEndReason::ErrorNoCompleteTaskCall => "ERROR_NO_COMPLETE_TASK_CALL",
            RunEndReason::Budget => "BUDGET",
            RunEndReason::Guardrail => "GUARDRAIL",
            RunEndReason::LoopDetected => "LOOP_DETECTED",
            RunEndReason::Unattended => "UNATTENDED",
            RunEndReason::Aborted => "ABORTED",
            RunEndReason::Error => "ERROR",
        }
    }
}

/// What went wrong in a run that ended `ERROR` (spec 03).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RunErrorCode {
    ModelFailed,
    ProviderAuth,
    ContextOverflow,
    NoSpaceLeft,
    CrashLoop,
    /// A root folder of the workspace is no longer there, so a restarted run cannot go on.
    WorkspaceGone,
    Panic,
    /// A hook said that the run is not to go on, or that its prompt is not to be worked on.
    HookStopped,
    ReplayMismatch,
    ReplayExhausted,
}

/// An error of a run, with a message fit for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunError {
    pub code: RunErrorCode,
    pub message: String,
}

/// What happens when a run has used up its tokens or its money (spec 03, `BUDGET`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnBudget {
    /// It gets a grace turn and ends `BUDGET`.
    #[default]
    End,
    /// It stops, and a person is asked whether it may have more.
    Ask,
}

/// Limits of a run's tokens and money; a missing one is none, or stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetLimits {
    /// Prompt, output and thought tokens, those of the runs below included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// By `models.prices`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<UsdAmount>,
}

/// How much a run may use. A missing field is the agent's own, else the daemon's default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitsParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_turns: Option<u32>,
    /// Active time: waiting for a person, queueing and downtime do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_time_ms: Option<u64>,
    /// Prompt, output and thought tokens of all turns together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Of the run and those below it, by `models.prices`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<UsdAmount>,
    /// What happens once the tokens or the money are used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_budget: Option<OnBudget>,
    /// Time for the grace turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// How many levels of agents may call agents below this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
}

/// A run, as `run/get` and `run/wait` answer it and `subagent run --output-format json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    pub run_id: RunId,
    pub session_id: SessionId,
    pub context_id: ContextId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<RunId>,
    /// The call of the parent run that this run answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<CallId>,
    /// 0 for a root run.
    #[serde(default)]
    pub depth: u32,
    pub agent: AgentName,
    /// SHA-256 of the definition the run carries, as `sha256:<hex>`.
    pub digest: String,
    /// The model that was asked for, resolved.
    pub model: String,
    /// The prompt as it was given; missing when only inputs were, and on a run that another called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    pub state: RunState,
    /// Set when `state` is `ended`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<RunEndReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// The reason why it ended, in one sentence for people; of a cancelled run what whoever cancelled it said. Missing when it
    /// reached its goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The result as text, formatted as the agent's `output` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The typed result, for an agent with `output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What there was when a run ended without a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_result: Option<String>,
    /// The grace turn saved the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recovered: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered_from: Option<RunEndReason>,
    pub usage: Usage,
    /// What its own models cost so far, by `models.prices`; missing when none of their prices is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<UsdAmount>,
    /// Tokens of these whose price nobody told.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_tokens: u64,
    /// Requests of its own of which the daemon estimated the tokens, or some of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub estimated_requests: u64,
    /// Requests of its own of which nobody knows what they used, since they were cut off before anything had come of them, or as the daemon
    /// ended: `usage` and `cost` are without them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncounted_requests: u64,
    /// What the runs below it used and cost; set when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_cost: Option<UsdAmount>,
    /// Requests of the runs below it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub child_estimated_requests: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub child_uncounted_requests: u64,
    pub turns: u32,
    pub tool_calls: u32,
    /// Paths that the run changed; not those that it wrote with the content that they had.
    pub files_changed: Vec<String>,
    /// When it began; while it waits in a queue, when it was asked for.
    pub started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    pub active_ms: u64,
}

/// A call that has not ended, as a snapshot shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenToolCall {
    pub run_id: RunId,
    pub call_id: CallId,
    pub name: ToolName,
    pub state: CallState,
    /// What validation found out; missing before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<CallDetails>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_run_id: Option<RunId>,
}

/// A run that waits for its turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedRun {
    pub run_id: RunId,
    pub session_id: SessionId,
    pub agent: AgentName,
    #[serde(rename = "for")]
    pub waits_for: QueuedFor,
    /// The first user message.
    pub query: String,
    /// The prompt as it was given; missing when only inputs were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    pub queued_at: Timestamp,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
