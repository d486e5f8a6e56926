//! Tools that clients lend, and what is kept of calls beside the log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use serde_json::Value;

use super::is_default;
use crate::{CallId, ClientId, EventSeq, OnDisconnect, Risk, RunId, SessionId, ToolKind, ToolName};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsRegisterParams {
    /// For the runs of this session alone. Missing = for those of every session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// In place of those that this client lent there before; none = it lends none any more.
    #[schemars(length(max = 100))]
    pub tools: Vec<ClientToolParams>,
    /// What becomes of a call that the client has not answered when its connection ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_disconnect: OnDisconnect,
}

/// A tool that a client lends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientToolParams {
    /// Letters, digits, `_`, `-` and `.`, a letter or `_` first. Not a name or an alias of a tool of the daemon's own, nor
    /// one that begins like those of other sources: `discovered_`, `mcp`, `handoff_to_`.
    pub name: ToolName,
    /// For people. Missing = the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For the model.
    pub description: String,
    /// JSON Schema (2020-12) of the arguments.
    pub parameters: Value,
    /// Missing = `other`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// Missing = `medium`. Only what reads or searches may be less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// How long the client may take for a call. Missing = 10 minutes.
    #[schemars(range(min = 1_000, max = 86_400_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsRegisterResult {
    /// Who lends them: events name it.
    pub client_id: ClientId,
    /// Their names. Runs that are planned from now on may be given them; those that have begun keep what they have.
    pub tools: Vec<ToolName>,
    /// Calls that wait for this client, the oldest first: it is told of them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<OpenClientCall>,
}

/// A call that a client has not answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenClientCall {
    pub call_id: CallId,
    pub session_id: SessionId,
    pub run_id: RunId,
    pub name: ToolName,
    pub arguments: Value,
}

/// One of `content` and `error` is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsResultParams {
    /// As `tool.clientCall` told it.
    pub call_id: CallId,
    /// What the tool found or did, for the model. Longer text than it gets is cut and kept whole, like any output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ClientContent>>,
    /// For programs, beside `content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The reason why the tool failed; the model reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ClientError>,
}

/// A piece of what a lent tool returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ClientContent {
    Text {
        text: String,
    },
    /// Bytes in base64: an image, audio.
    InlineData {
        mime_type: String,
        data: String,
    },
}

/// A failure of a lent tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientError {
    #[schemars(length(min = 1))]
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsResultResult {
    pub call_id: CallId,
    /// Of the last event it caused: the call has ended.
    pub seq: EventSeq,
    /// The same was answered before; this is what was said then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub replayed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsOutputParams {
    pub call_id: CallId,
    /// The call must be of this session. Missing = of any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub stream: OutputStream,
    /// Where the page begins, in bytes: 0 is the beginning, then `next` of the page before.
    #[serde(default, skip_serializing_if = "is_default")]
    pub from: u64,
}

/// Which of a call's outputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OutputStream {
    /// The texts of its result, one after the other, as the model would have got them.
    #[default]
    Result,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsOutputResult {
    pub call_id: CallId,
    pub session_id: SessionId,
    /// Whole characters; about 256 KiB of them unless it is the last page.
    pub text: String,
    /// Give it as `from`; missing on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// What is kept, in bytes of UTF-8.
    pub bytes: u64,
    /// What there was, in bytes; more than `bytes` when it was too long even for keeping.
    pub total_bytes: u64,
}
