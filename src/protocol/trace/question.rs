//! Spans of questions: each version that a person was asked is one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CallDecision, SpanText, is_default};
use crate::{CallId, ConfirmationId};

/// Fields that only questions have.
///
/// A question that is asked again has one more span, under the same `confirmationId`: a hook changed what a person had made of the call, or
/// what the call would touch had changed when an answer came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationSpan {
    pub confirmation_id: ConfirmationId,
    /// Missing when it is about the run itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// `edit`, `exec`, `mcp`, `fetch`, `info`, `question`, `budget`.
    pub asks: String,
    /// The rule that asked.
    pub rule: String,
    /// The reason why it asked.
    pub reason: String,
    pub risk: String,
    /// The number of this version of the question, from 2 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The arguments as the person made them who answered this version with a change that hooks have not answered yet, changed again or
    /// refused, as JSON. Missing in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_input: Option<SpanText>,
    /// The most of its time in which there may have been no daemon, as in the run's `downMs`: nobody could answer it then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub down_ms: u64,
    /// The number of times that a daemon was started again while it was open.
    #[serde(default, skip_serializing_if = "is_default")]
    pub restarts: u64,
    /// The number of times that a daemon was started again while hooks were asked about what a person had made of the call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub edited_restarts: u64,
    /// The number of times that the question changed so far.
    #[serde(default, skip_serializing_if = "is_default")]
    pub revisions: u64,
    /// Missing while it is open and nobody has answered. With `edited` it is open, was asked again, or was over before hooks had answered;
    /// with `editDropped` and `stale` it was asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<CallDecision>,
}
