//! Parameters and results: sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GoneCursorPolicy, IdempotencyKey, WorkspaceParam, default_page, given, is_default, is_not};
use crate::{
    AgentName, ApprovalMode, CompressionStatus, ContextChange, ContextId, ContextSummary, EventSeq,
    HistoryMessage, RunId, SessionId, SessionState, SessionSummary, SubscriptionId,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCreateParams {
    pub workspace: WorkspaceParam,
    /// The agent of runs that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How freely calls run where no rule speaks. Missing = setting `approval.mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    /// Everything is removed when the session is closed.
    #[serde(default)]
    pub ephemeral: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCreateResult {
    pub session_id: SessionId,
    pub seq: EventSeq,
    /// This is the answer to an earlier request with the same `idempotencyKey`.
    #[serde(default, skip_serializing_if = "is_not")]
    pub replayed: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionListParams {
    /// Only sessions of exactly this workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// Only sessions whose title or folder contains this text, whatever the letter case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// As `nextCursor` said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Missing = 100.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(default = "default_page")]
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionListResult {
    pub sessions: Vec<SessionSummary>,
    /// There is more; give it as `cursor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionIdParams {
    pub session_id: SessionId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionGetResult {
    pub session: SessionSummary,
    /// Oldest first.
    pub contexts: Vec<SessionContext>,
    /// What the system prompts of its later root runs end with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_append: Option<String>,
}

/// A context of a session, with what is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionContext {
    #[serde(flatten)]
    pub context: ContextSummary,
    /// Messages that `session/history` has of it, of every epoch.
    #[serde(default)]
    pub messages: u64,
    /// Missing where no run is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ContextMetadata>,
}

/// What a context came about by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextMetadata {
    /// Runs that have worked in it, or wait to.
    pub runs: u64,
    /// The newest of them.
    pub last_run_id: RunId,
    /// The model of that run.
    pub model: String,
    /// SHA-256 of the definition that it carries, as `sha256:<hex>`.
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHistoryParams {
    pub session_id: SessionId,
    /// Whose context; missing = the session's agent, or the only one there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The context of this run instead, e.g. of one that another called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// As `nextCursor` said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Missing = 100.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(default = "default_page")]
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHistoryResult {
    pub agent: AgentName,
    /// Oldest first.
    pub messages: Vec<HistoryMessage>,
    /// Where the context was compressed or cleared, oldest first: after the messages of the page before and before those of
    /// the next. At most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ContextChange>,
    /// There is more; give it as `cursor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionContextParams {
    pub session_id: SessionId,
    /// Whose context; missing = all of the session, but those of agents that others called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCompactResult {
    pub session_id: SessionId,
    /// Oldest first.
    pub contexts: Vec<ContextCompacted>,
}

/// What became of a context that was to be compressed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextCompacted {
    pub agent: AgentName,
    pub context_id: ContextId,
    /// The run that did it.
    pub run_id: RunId,
    /// Of the context from here on.
    pub epoch: u32,
    /// Missing when the run ended before it came to that, e.g. because it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<CompressionStatus>,
    /// Of a prompt, instructions and tools included; a provider's count or an estimate.
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// Why, when it came to nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionClearResult {
    pub session_id: SessionId,
    /// Oldest first.
    pub contexts: Vec<ContextClear>,
}

/// A context that begins anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextClear {
    pub agent: AgentName,
    pub context_id: ContextId,
    /// The run that did it.
    pub run_id: RunId,
    /// Of the context from here on.
    pub epoch: u32,
}

/// A field that is missing stays as it is; `null` clears it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionUpdateParams {
    pub session_id: SessionId,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub title: Option<Option<String>>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub agent: Option<Option<AgentName>>,
    /// Counts from the next call on, also of runs that live; of those that were started in a mode of their own only `plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    /// What the system prompts of later root runs end with, at most 32 KiB. Runs called by others do not have it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub system_append: Option<Option<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionChangeResult {
    pub session_id: SessionId,
    /// The last event the request caused; missing when nothing had to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleteResult {
    pub session_id: SessionId,
    pub seq: EventSeq,
    /// Events that were removed.
    pub events: u64,
}

/// Where a subscription begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AttachFrom {
    /// After this `seq`.
    Seq(EventSeq),
    Word(AttachFromKeyword),
}

impl Default for AttachFrom {
    fn default() -> AttachFrom {
        AttachFrom::Word(AttachFromKeyword::Now)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AttachFromKeyword {
    /// A snapshot, then what happens.
    #[default]
    Now,
    /// Everything the log has, then what happens.
    Start,
    /// Everything after what `consumer` has acknowledged, then what happens.
    Consumer,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionAttachParams {
    /// A session, or `"*"`: every session, also those that are created later.
    pub session_id: SessionId,
    /// A `seq` (exclusive), `"now"`, `"start"`, or `"consumer"`: after what `consumer` has acknowledged.
    #[serde(default)]
    pub from: AttachFrom,
    /// With a `seq`: the log it came from, as `daemon.logId` said. Of another log it is `CURSOR_GONE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_id: Option<String>,
    /// As in `events/subscribe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub consumer: Option<String>,
    /// What comes of a cursor that is gone. Missing = `error`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_gone: GoneCursorPolicy,
    /// What the client is there for. Missing = `control`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub role: AttachRole,
    /// Text while it is being written.
    #[serde(default)]
    pub deltas: bool,
}

impl SessionAttachParams {
    /// What stands for every session.
    pub const EVERY_SESSION: &str = "*";

    /// A session from a place on; all else as it is when nothing is said.
    pub fn new(session_id: SessionId, from: AttachFrom) -> SessionAttachParams {
        let (log_id, consumer, on_gone) = (None, None, GoneCursorPolicy::Error);
        let (role, deltas) = (AttachRole::Control, false);
        SessionAttachParams { session_id, from, log_id, consumer, on_gone, role, deltas }
    }
}

/// What a client is attached for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AttachRole {
    /// Somebody who can be asked.
    #[default]
    Control,
    /// Somebody who looks on: is asked nothing, decides nothing, and changes nothing in the session by this connection
    /// (`FORBIDDEN`).
    Observe,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDetachParams {
    pub subscription: SubscriptionId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DetachResult {
    /// False when there was no such subscription on this connection.
    pub detached: bool,
}
