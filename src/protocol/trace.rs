//! Spans: what runs did, as intervals that lie within each other (spec 10). They are computed from the log.
//!
//! Words that events have as enums stand here as texts: a reader of spans shows them, and a newer daemon has more of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AgentName, CallId, PromptSources, RunId, SessionId, SpanId, Timestamp, ToolName, TraceContext, Usage,
    UsdAmount,
};

mod call;
mod hook;
mod question;
mod waiting;

pub use call::{ArgumentChange, CallDecision, SpanFileChange, ToolSpan, UndoneChange};
pub use hook::HookSpan;
pub use question::ConfirmationSpan;
pub use waiting::{MovedAhead, NextHolder, QueuedBehind, WaitCause};

/// The kinds of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SpanKind {
    /// One execution of an agent, from when it was asked for.
    Run,
    /// One request to a model, with the calls that its reply asks for.
    Turn,
    /// A request to a model: of a turn, or one of the daemon's own, which has a `purpose`.
    Llm,
    /// A tool call, from when the model asked for it. Its `tool` says how long it waited until it ran.
    Tool,
    /// A question to a person, until it was over.
    Confirmation,
    /// A history that was replaced by a summary.
    Compression,
    /// A hook that was asked or told something: several lie beside each other. One that is at work for less than a second is told
    /// when it has ended.
    Hook,
    /// A request to an MCP server, within the call that it is for.
    Mcp,
}

impl SpanKind {
    /// The spelling on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            SpanKind::Run => "run",
            SpanKind::Turn => "turn",
            SpanKind::Llm => "llm",
            SpanKind::Tool => "tool",
            SpanKind::Confirmation => "confirmation",
            SpanKind::Compression => "compression",
            SpanKind::Hook => "hook",
            SpanKind::Mcp => "mcp",
        }
    }
}

/// The status of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SpanStatus {
    /// It goes on.
    Open,
    Ok,
    Error,
    /// It was cut off: by a stop, or by the end of the daemon.
    Cancelled,
}

impl SpanStatus {
    /// The spelling on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            SpanStatus::Open => "open",
            SpanStatus::Ok => "ok",
            SpanStatus::Error => "error",
            SpanStatus::Cancelled => "cancelled",
        }
    }
}

/// A span of a trace.
///
/// A span lies within its parent: in the order of the log, times never go back. Where the clock was set back, the times of what
/// follows are moved on, so that durations stay right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceSpan {
    /// The run at the root.
    pub trace_id: RunId,
    pub span_id: SpanId,
    /// Missing on the first run of what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<SpanId>,
    /// The span of somebody else that the whole trace lies in, as `traceparent` of `run/start` said. On export its trace goes
    /// before the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<TraceContext>,
    pub kind: SpanKind,
    /// The agent, the number of the turn, the model, the tool, the title of the question, the event of the hook, the method and
    /// tool of the request to a server.
    pub name: String,
    pub run_id: RunId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The number of its run among those of this agent in the trace, in the order in which they began; missing where there is only one, and
    /// on spans that are told as they end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_number: Option<u64>,
    /// 1-based; missing on a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Depth of its run: 0 for a root run.
    #[serde(default)]
    pub depth: u32,
    /// Spans of one run that overlap without one lying within the other have different ones: calls that run at the same
    /// time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lane: u32,
    pub started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Microseconds since 1970.
    pub start_us: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_us: Option<i64>,
    pub status: SpanStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<SpanError>,
    /// Input: the prompt of a run; of a request what a person said that the model has not read before; the arguments of a call
    /// as JSON; the subject of a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<SpanText>,
    /// Output: the result of a run or call, the text of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<SpanText>,
    /// Tokens of the request; of a run the sum of its own requests, without those of the runs below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The same in money; missing when the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<UsdAmount>,
    /// Set on a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<RunSpan>>,
    /// Set on a request to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm: Option<Box<LlmSpan>>,
    /// Set on a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Box<ToolSpan>>,
    /// Set on a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Box<ConfirmationSpan>>,
    /// Set on a compression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Box<CompressionSpan>>,
    /// Set on a hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<Box<HookSpan>>,
    /// Set on a request to an MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<Box<McpSpan>>,
    /// Events within the span, the first 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<SpanEvent>,
    /// The number of further events.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more_events: u64,
    /// It began before the first event that was read, which its start is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub began_before: bool,
}

/// The error that a span ended with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpanError {
    /// The type as the event has it: an error type of a tool, a code or the reason of a run's end; of a model `MODEL_FAILED`.
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
}

/// A text of at most 16 KiB.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpanText {
    pub text: String,
    /// Bytes of the whole, when this is only its beginning. The event under the span's id, or the one of its end, has the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Something that happened at a moment of a span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpanEvent {
    /// The type of the event in the log.
    pub name: String,
    pub at: Timestamp,
    pub at_us: i64,
    /// The gist of it in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// Fields that only runs have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunSpan {
    pub model: String,
    /// The run that called it, and its call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<CallId>,
    /// The message that its model reads first, where an agent's file makes that of what was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<SpanText>,
    /// The sources of what it was told before its first message. Missing in logs of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_sources: Option<Box<PromptSources>>,
    /// The end reason, as in the run's record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Turns; of a run that has not ended, as of what the log told of it last, as are its calls and times.
    pub turns: u64,
    pub tool_calls: u64,
    /// Time at work, or waiting for a model or a tool.
    pub active_ms: u64,
    /// Time in queues: for its context, or for one of the slots that runs share.
    #[serde(skip_serializing_if = "is_default")]
    pub queued_ms: u64,
    /// The runs that had its context while it waited for that, from the one that had it when it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_behind: Option<QueuedBehind>,
    /// The runs that were moved ahead of it while it waited for its context; the first 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moved_ahead: Vec<MovedAhead>,
    /// Time before it began in which hooks were asked about its prompt.
    #[serde(skip_serializing_if = "is_default")]
    pub hooks_ms: u64,
    /// Time during which every open call waited for a person.
    #[serde(skip_serializing_if = "is_default")]
    pub waiting_ms: u64,
    /// The part of `downMs` that fell into a wait for people: `waitingMs` may be too short by as much.
    #[serde(skip_serializing_if = "is_default")]
    pub waiting_down_ms: u64,
    /// Time during which it was parked.
    #[serde(skip_serializing_if = "is_default")]
    pub parked_ms: u64,
    /// The client that asked for it, and the one that stopped it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
    /// The most of its time in which there may have been no daemon: from what the log tells last before each restart until then.
    #[serde(skip_serializing_if = "is_default")]
    pub down_ms: u64,
    /// The number of times that a daemon took it up again.
    #[serde(skip_serializing_if = "is_default")]
    pub restarts: u64,
    /// Those of them before which the daemon had not stopped by itself.
    #[serde(skip_serializing_if = "is_default")]
    pub unclean_restarts: u64,
    /// The thing that it waits for; of a run that has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitCause>,
    /// The time of the last that the log tells of it; of a run that has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_event_at: Option<Timestamp>,
    /// Paths that it changed, not those that it wrote with the content that they had; the first 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_changed: Vec<String>,
    /// Commands that it ran; which files those changed is not known.
    #[serde(skip_serializing_if = "is_default")]
    pub commands: u64,
    /// Its calls that other runs answered. Files that these changed are theirs.
    #[serde(skip_serializing_if = "is_default")]
    pub called_runs: u64,
    /// Tokens of the runs below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_cost: Option<UsdAmount>,
    /// Tokens of its own, and of the runs below it, whose price nobody told; once it has ended.
    #[serde(skip_serializing_if = "is_default")]
    pub unpriced_tokens: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub child_unpriced_tokens: u64,
    /// Its requests of which the daemon estimated the tokens, or some of them.
    #[serde(skip_serializing_if = "is_default")]
    pub estimated_requests: u64,
    /// Its requests of which nobody knows what they used, since they were cut off before anything had come of them, or as the daemon
    /// ended. They may have cost something; `usage` and `cost` are without them.
    #[serde(skip_serializing_if = "is_default")]
    pub uncounted_requests: u64,
    /// The same of the runs below it, once it has ended.
    #[serde(skip_serializing_if = "is_default")]
    pub child_estimated_requests: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub child_uncounted_requests: u64,
}

/// Fields that only requests to models have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LlmSpan {
    pub model: String,
    /// The purpose of a request of the daemon's own; missing on a request of a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The id of the hook that made the request; the span lies within the hook's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_id: Option<String>,
    /// 1-based within its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// The request before it was cut off as the daemon ended, and it asks the same once more.
    #[serde(skip_serializing_if = "is_default")]
    pub repeated_after_restart: bool,
    /// Time from the request to the first that came of the reply: text, thoughts or calls; without that of hooks of the request.
    /// Missing when nothing came, and on what the daemon itself asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    /// Time from its end until it was asked again; missing when it was not, or at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// `stop`, `length`, `refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// The text was cut: the run was stopped while it was written.
    #[serde(skip_serializing_if = "is_default")]
    pub cut: bool,
    /// The daemon estimated the tokens, or some of them.
    #[serde(skip_serializing_if = "is_default")]
    pub estimated: bool,
    /// The reply was cut off before anything had come of it, or as the daemon ended, and it may have cost something: `usage` and
    /// `cost` are missing, or say only what earlier tries took.
    #[serde(skip_serializing_if = "is_default")]
    pub usage_unknown: bool,
    /// Calls that the reply asks for.
    #[serde(skip_serializing_if = "is_default")]
    pub calls: u64,
    /// The same by name; the first 64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requested: Vec<RequestedCall>,
    /// Calls whose results the model reads with this request for the first time; the first 64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<AnsweredToolCall>,
    /// The number of further ones.
    #[serde(skip_serializing_if = "is_default")]
    pub more_answered: u64,
}

/// A call whose result a request brings along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredToolCall {
    pub call_id: CallId,
    pub tool: ToolName,
    /// The result as the model reads it, the first 4 KiB. The span of the call has more; missing when it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<SpanText>,
}

/// A call that a reply asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestedCall {
    pub call_id: CallId,
    pub tool: ToolName,
    /// The arguments as JSON; missing when they have more than 4 KiB. The span of the call has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

/// Fields that only compressions have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CompressionSpan {
    /// The same as in `context.compressed`; missing when it did not come to that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub messages_before: u64,
    pub messages_after: u64,
}

/// Fields that only requests to MCP servers have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpSpan {
    pub server: String,
    /// `tools/call`
    pub method: String,
    /// The tool as its server calls it.
    pub tool: String,
    pub call_id: CallId,
}

/// A trace, as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceSummary {
    /// The run at the root.
    pub trace_id: RunId,
    pub session_id: SessionId,
    pub agent: AgentName,
    pub model: String,
    /// The state of the run at the root, as in its record.
    pub state: super::RunState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<super::RunEndReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The time at which it was asked for. Its time counts from here, with the time in queues.
    pub asked_at: Timestamp,
    /// The time at which it began, after its queues.
    pub started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Runs of the tree, the root among them; what follows is of all of them.
    pub runs: u64,
    pub turns: u64,
    pub tool_calls: u64,
    pub usage: Usage,
    /// Missing when none of the prices is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<UsdAmount>,
    /// Tokens whose price nobody told.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unpriced_tokens: u64,
    /// Requests of which the daemon estimated the tokens, or some of them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub estimated_requests: u64,
    /// Requests of which nobody knows what they used: `usage` and `cost` are without them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uncounted_requests: u64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
