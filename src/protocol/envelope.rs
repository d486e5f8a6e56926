//! What travels to subscribers: envelopes around events, and what is no fact: snapshots, deltas, signals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    AgentName, ApprovalMode, CallId, ClientSummary, CompressionStatus, ConfirmationRecord, ContextId,
    EventHead, EventSeq, MessagePart, MessageRole, OpenToolCall, QueuedRun, RunId, RunRecord, SessionId,
    SubscriptionId, Timestamp,
};

/// An event as subscribers receive it and `events/list` answers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// Its place in the log. Missing on what is no fact: `signal.*` and deltas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
    /// The `seq` sent before it on this subscription; unequal to your last one means you missed something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev: Option<EventSeq>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(flatten)]
    pub head: EventHead,
    /// Of `confirmation.requested` and `confirmation.revised`, on a subscription: whether this client should put up a
    /// dialog for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<bool>,
    pub data: Value,
}

/// Data of `model.textDelta` and `model.thoughtDelta`: more of an open text. Not stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamDelta {
    /// As in `model.started`.
    pub stream: String,
    /// The event that opened the stream.
    pub after_seq: EventSeq,
    /// UTF-8 bytes of this stream before this delta.
    pub offset: u64,
    pub text: String,
}

/// Data of `tool.output`: more of what a call puts out while it runs. Not stored; the event that ends the call has the
/// whole as `output`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputDelta {
    pub call_id: CallId,
    /// The event that said that the call executes.
    pub after_seq: EventSeq,
    /// UTF-8 bytes of the call's output before this delta.
    pub offset: u64,
    pub text: String,
}

/// Data of `signal.progress`: how far a call is, as whatever runs it says. Of several pieces of news the newest counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgressSignal {
    pub call_id: CallId,
    #[serde(flatten)]
    pub progress: ToolProgress,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolProgress {
    /// It grows; in what unit, whoever tells it knows.
    pub progress: f64,
    /// Of so much; missing = nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Data of `signal.snapshot`: what is as of `seq`; the first event after it has `prev` = `seq`. Of one session: the
/// session, its live runs and its newest others. Of several or all: what lives, and nothing that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    pub seq: EventSeq,
    /// Of a subscription to one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionSummary>,
    /// Of a subscription to several or all: those of the runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionSummary>,
    pub runs: Vec<RunRecord>,
    /// How many runs live, when they are more than `runs` has; the newest are shown, `run/list` has all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_runs: Option<u64>,
    /// Texts being streamed, with what there is of them so far; of much text the rest comes as deltas.
    pub open_items: Vec<OpenStreamText>,
    /// Calls that have not ended, of the runs that live.
    #[serde(default)]
    pub open_calls: Vec<OpenToolCall>,
    /// Questions that wait for a person, oldest first, at most 256; `confirmation/list` has all.
    #[serde(default)]
    pub open_confirmations: Vec<ConfirmationRecord>,
    /// Runs that wait for their turn in a context, the next one first.
    #[serde(default)]
    pub queue: Vec<QueuedRun>,
}

/// A text that grows: what a model is writing, or what a call puts out while it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenStreamText {
    pub run_id: RunId,
    /// As in `model.started`; of a call's output, the call's id.
    pub stream: String,
    /// The call whose output it is, which goes on as `tool.output`. Missing for what a model is writing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    pub after_seq: EventSeq,
    /// Deltas go on from the end of these.
    pub text: String,
    pub thought: String,
}

/// A session, as snapshots and lists show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    pub session_id: SessionId,
    pub roots: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The agent of runs that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    #[serde(default)]
    pub state: SessionState,
    /// How freely calls run where no rule speaks.
    #[serde(default)]
    pub mode: ApprovalMode,
    /// Everything is removed when it is closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ephemeral: bool,
    pub created_at: Timestamp,
    pub last_active_at: Timestamp,
}

/// Whether a session takes work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionState {
    #[default]
    Open,
    Closed,
}

impl SessionState {
    /// The spelling on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionState::Open => "open",
            SessionState::Closed => "closed",
        }
    }
}

/// One agent's history in a session, as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextSummary {
    pub context_id: ContextId,
    pub session_id: SessionId,
    pub agent: AgentName,
    /// The run that the context belongs to alone, when an agent was called as a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<RunId>,
    pub started_at: Timestamp,
    pub last_active_at: Timestamp,
    /// How often what its model reads was replaced: by a summary, or by nothing.
    #[serde(default)]
    pub epoch: u32,
    /// Of its last prompt, instructions and tools included; 0 = unknown.
    #[serde(default)]
    pub tokens: u64,
}

/// One message of a context as clients read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryMessage {
    /// The event that brought it into the context.
    pub seq: EventSeq,
    pub run_id: RunId,
    pub role: MessageRole,
    pub parts: Vec<MessagePart>,
}

/// What became of a context, between its messages: from here on its model reads something else. The messages before it
/// stay in the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextChange {
    /// The event that tells it; it stands after the messages of lower ones.
    pub seq: EventSeq,
    pub at: Timestamp,
    pub run_id: RunId,
    pub kind: ContextChangeKind,
    /// Of the context from here on.
    pub epoch: u32,
    /// Of a compression: what it came to; unless it is `COMPRESSED`, nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<CompressionStatus>,
    /// Of a compression: tokens of a request before and after, instructions and tools included; a provider's count or an
    /// estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    /// Why, when it came to nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What a context's model reads from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContextChangeKind {
    /// A summary in place of the older part, when it came to that.
    Compressed,
    /// Nothing of what was.
    Cleared,
}

/// Data of `signal.caughtUp`: everything that was in the log when the subscription began has been sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaughtUp {
    pub head: EventSeq,
    /// The subscription's `consumer` was not known before; from now on it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_consumer: bool,
}

/// Data of `signal.presence`: who is attached to the session, or to any with a subscription to all. Sent when that
/// changes, by somebody else than the receiver; of several changes only what came of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PresenceSignal {
    /// The one that has been there longest first; at most 32.
    pub clients: Vec<ClientSummary>,
    /// How many there are; `client/list` has all.
    pub total: u64,
}

/// Data of `signal.unknownField`: a parameter nobody knows was ignored. Said once a connection and field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnknownField {
    pub method: String,
    /// JSON pointer.
    pub field: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
}

/// Parameters of the notification `event`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventNotification {
    /// Missing for signals that concern the connection, not a subscription.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription: Option<SubscriptionId>,
    pub result: Envelope,
}
