//! What is kept of calls beside the log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::protocol::{CallId, SessionId};

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
