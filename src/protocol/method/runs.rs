//! Parameters and results: runs and their queues.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    AgentRoute, IdempotencyKey, PromptAttachment, ServerPrompt, WorkspaceParam, default_page, is_default,
    is_not,
};
use crate::{
    AgentName, ApprovalParams, ConfirmationRecord, EventSeq, LimitsParams, ModelRef, QueuedRun, RunId,
    RunRecord, RunState, SessionId,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStartParams {
    /// Goes on in this session, with what its agent remembers there. Missing = a new session in `workspace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Where the agent works: the boundary of its file tools. Needed without `sessionId`; with it, the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    /// Missing = the session's, else the daemon's default (setting `agents.default`). `auto` = the one whose trigger fits the
    /// prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Instead of `agent`: an agent that lies in no file. Fields of the front matter, as `agent.schema.json` has them, and
    /// `prompt`, the text below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Map<String, Value>>,
    /// The value of the input `prompt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Instead of `prompt`: what this prompt of an MCP server says, with what it brings along attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_prompt: Option<ServerPrompt>,
    /// Values of the agent's inputs by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
    /// What its model gets with the first message. Not beside `ifBusy: "steer"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<PromptAttachment>,
    /// Skills that its model is given before the first message, by name, beside those of the agent's file; at most 32.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    #[serde(default)]
    pub limits: LimitsParams,
    /// How its questions, and those of the runs it calls, are put.
    #[serde(default, skip_serializing_if = "is_default")]
    pub approval: ApprovalParams,
    /// Instead of the agent's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// An absolute path on the daemon's machine: a new file there, or an empty one, gets every reply of its model and of
    /// those of the runs that it calls, without secrets, as lines that the model `replay:FILE` plays. Not used when the
    /// prompt is said to the living run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// The span that the run is part of, as W3C Trace Context writes it: `00-<trace>-<span>-<flags>`. It is told to the commands
    /// and MCP servers that the run uses, and exported. What is none is ignored, with a warning. By HTTP the header
    /// `traceparent` says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// When a run of this agent lives in the session already.
    #[serde(default)]
    pub if_busy: IfBusy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// What becomes of a request to run an agent whose context is busy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum IfBusy {
    /// It waits for its turn.
    #[default]
    Queue,
    /// Its prompt is said to the living run.
    Steer,
    /// The living run is cancelled, and this one comes next.
    Interrupt,
    /// `BUSY`.
    Reject,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStartResult {
    pub disposition: RunDisposition,
    pub run_id: RunId,
    pub session_id: SessionId,
    pub agent: AgentName,
    /// The living run that is cancelled for this one (`ifBusy: "interrupt"`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<RunId>,
    /// The reason why it is this agent, of a request for `auto`; missing on a prompt that was said to the living run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routed: Option<AgentRoute>,
    /// The last event the request caused. Attach with `from` one below the first to see it all, or `start`.
    pub seq: EventSeq,
    /// This is the answer to an earlier request with the same `idempotencyKey`.
    #[serde(default, skip_serializing_if = "is_not")]
    pub replayed: bool,
}

/// What became of a request to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RunDisposition {
    Started,
    /// It waits for another run of its agent in this session.
    Queued,
    /// It was said to the living run, whose ids these are.
    Steered,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunListParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<RunState>,
    /// Only runs that have not ended.
    pub active: bool,
    /// Only runs that nobody called as a tool.
    pub roots: bool,
    /// Only runs that this one called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<RunId>,
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
pub struct RunListResult {
    pub runs: Vec<RunRecord>,
    /// There is more; give it as `cursor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunSteerParams {
    pub run_id: RunId,
    #[schemars(length(min = 1))]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunSteerResult {
    pub run_id: RunId,
    /// The event that says the message is kept.
    pub seq: EventSeq,
    /// This is the answer to an earlier request with the same `idempotencyKey`.
    #[serde(default, skip_serializing_if = "is_not")]
    pub replayed: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueListParams {
    /// Missing = every session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueListResult {
    pub queue: Vec<QueuedRun>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueRunParams {
    pub run_id: RunId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueRunResult {
    pub run_id: RunId,
    /// The last event the request caused.
    pub seq: EventSeq,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunIdParams {
    pub run_id: RunId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunWaitParams {
    pub run_id: RunId,
    /// At most 600,000; longer waits are repeated.
    #[schemars(range(max = 600_000))]
    pub timeout_ms: u64,
    /// What to wait for, whichever comes first. Missing = the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub until: Vec<WaitUntil>,
}

/// What can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WaitUntil {
    Ended,
    /// The run, or one below it, asks a person something.
    Confirmation,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunWaitResult {
    pub run: RunRecord,
    /// The run has ended.
    pub done: bool,
    /// Its open questions, and those of the runs below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmations: Vec<ConfirmationRecord>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunCancelParams {
    pub run_id: RunId,
    /// For people, kept in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunCancelResult {
    pub run: RunRecord,
    /// The last event the request caused; missing when it caused none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
}
