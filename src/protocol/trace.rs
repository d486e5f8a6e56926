//! Spans: what runs did, as intervals that lie within each other (spec 10). They are computed from the log.
//!
//! Words that events have as enums stand here as texts: a reader of spans shows them, and a newer daemon has more of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AgentName, CallId, ConfirmationId, RunId, SessionId, SpanId, Timestamp, ToolName, Usage, UsdAmount,
};

/// What a span is about.
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
        }
    }
}

/// How a span stands.
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
    pub kind: SpanKind,
    /// The agent, the number of the turn, the model, the tool, the title of the question.
    pub name: String,
    pub run_id: RunId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// 1-based; missing on a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Of its run: 0 for a root run.
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
    /// What a run was asked, the arguments of a call as JSON, what a person was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<SpanText>,
    /// What came of it: a result, a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<SpanText>,
    /// By the model; of a run by all its own requests, without those of the runs below it.
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
    /// What happened meanwhile, the first 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<SpanEvent>,
    /// How many more there were.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more_events: u64,
    /// It began before the first event that was read, which its start is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub began_before: bool,
}

/// Why a span ended in an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpanError {
    /// As the event has it: an error type of a tool, a code or the reason of a run's end; of a model `MODEL_FAILED`.
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
}

/// A text of at most 16 KiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpanText {
    pub text: String,
    /// Of the whole, when this is only its beginning. The event under the span's id, or the one of its end, has the rest.
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
    /// What of it, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// What only runs have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunSpan {
    pub model: String,
    /// The run that called it, and its call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<CallId>,
    /// As in the run's record, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub turns: u64,
    pub tool_calls: u64,
    /// Where it was at work, or waited for a model or a tool.
    pub active_ms: u64,
    /// Until its turn in a context or one of the places that runs share came.
    #[serde(skip_serializing_if = "is_default")]
    pub queued_ms: u64,
    /// While every open call waited for a person.
    #[serde(skip_serializing_if = "is_default")]
    pub waiting_ms: u64,
    /// While it held still.
    #[serde(skip_serializing_if = "is_default")]
    pub parked_ms: u64,
    /// How often a daemon took it up again.
    #[serde(skip_serializing_if = "is_default")]
    pub restarts: u64,
    /// Paths that it changed; the first 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_changed: Vec<String>,
    /// By the runs below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_cost: Option<UsdAmount>,
}

/// What only requests to models have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LlmSpan {
    pub model: String,
    /// What the daemon itself asked for; missing on a request of a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// 1-based within its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// `stop`, `length`, `refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// The text was cut: the run was stopped while it was written.
    #[serde(skip_serializing_if = "is_default")]
    pub cut: bool,
    /// The daemon estimated the tokens.
    #[serde(skip_serializing_if = "is_default")]
    pub estimated: bool,
    /// Calls that the reply asks for.
    #[serde(skip_serializing_if = "is_default")]
    pub calls: u64,
}

/// What only tool calls have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpan {
    pub call_id: CallId,
    pub tool: ToolName,
    /// The MCP server that has the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Of this call, for people, e.g. the path it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    /// Who let it run, or did not; missing where nobody had to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<CallDecision>,
    /// Until it ran; missing when it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// The run that answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_run_id: Option<RunId>,
    /// What it changed; the first 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_changed: Vec<SpanFileChange>,
}

/// A file that a call changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpanFileChange {
    pub path: String,
    /// `created`, `modified`, `deleted`, `moved`.
    pub change: String,
    /// Names what `session/undo` puts back.
    pub undo_id: String,
}

/// Who decided about a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallDecision {
    /// `allow`, `deny`, or what a person answered: `allowOnce`, `allowSession`, `modify`, …
    pub outcome: String,
    /// `policy`: a rule. `client`: a person. `deadline`, `system`: nobody answered. `agent`: its definition.
    pub source: String,
    /// The rule that decided, or that had a person asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Who, when it was a client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What they said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// From the question to the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
}

/// What only questions have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationSpan {
    pub confirmation_id: ConfirmationId,
    /// Missing when it is about the run itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// `edit`, `exec`, `mcp`, `fetch`, `info`, `question`, `budget`.
    pub asks: String,
    /// Which rule asked.
    pub rule: String,
    /// Why it asked.
    pub reason: String,
    pub risk: String,
    /// How often the question changed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub revisions: u64,
    /// Missing while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<CallDecision>,
}

/// What only compressions have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CompressionSpan {
    /// As in `context.compressed`; missing when it did not come to that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub messages_before: u64,
    pub messages_after: u64,
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
    /// As in its record.
    pub state: super::RunState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<super::RunEndReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
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
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
