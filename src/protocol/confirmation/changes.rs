//! What the log says of a question: asked, changed, over (spec 06, "Confirmation").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Confirmation, Resolution};
use crate::{CallId, ConfirmationId};

/// Data of `confirmation.requested`: a call waits for a person, before it runs or while it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationRequested {
    pub confirmation: Box<Confirmation>,
}

/// Data of `confirmation.revised`: the question is this now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationRevised {
    pub confirmation: Box<Confirmation>,
    pub reason: RevisionReason,
    /// The change as the model is told it, with `changedByHook` and `askedByHook`: who changed the call, and what is now other than it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<String>,
    /// The arguments as the person had made them, with `changedByHook`, `askedByHook` and `editDropped`. Missing in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Value>,
    /// The arguments that the question is about now, with `changedByHook` and `askedByHook`. Missing in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
}

/// Data of `confirmation.edited`: a person has changed the call that is asked about, and hooks are asked about the change before
/// anything comes of it. `by` names the person, and until the question is over or asked again no other answer counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationEdited {
    pub confirmation_id: ConfirmationId,
    pub tool_call_id: CallId,
    /// The digest of the question that was answered.
    pub digest: String,
    /// The arguments as the person made them, without secrets.
    pub edited: Value,
    /// Secrets of the arguments are not in `edited`: a daemon that did not take the answer itself cannot run the call so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// The person: the client's id, or the way by which the answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The words that came with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The digest of what came with the answer, as in `confirmation.resolved`: the same answer once more is known by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_digest: Option<String>,
}

/// The reason why a question changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RevisionReason {
    /// A person changed what the call does.
    Modified,
    /// What the call would touch is not what was shown any more.
    Changed,
    /// A hook changed what a person had made of the call, who has not seen that yet.
    ChangedByHook,
    /// A hook wants a person to be asked about what one has made of the call, for a reason that nobody was told before.
    AskedByHook,
    /// Nothing came of what a person had made of the call, as `reason` says; it is asked as it was.
    EditDropped,
    /// Only `deadlineAt`: somebody was there for a while.
    Deadline,
}

/// Data of `confirmation.resolved`: the question is over. Exactly one each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationResolved {
    pub confirmation_id: ConfirmationId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<CallId>,
    #[serde(flatten)]
    pub resolution: Resolution,
    /// The change of the person, with `modify`, as the model is told it; also where a hook refused the changed call, or changed it again before
    /// it was allowed or denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<String>,
    /// The arguments as the person had made them, where a hook refused the changed call. Missing in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Value>,
}

/// Data of `run.waiting`: whether every open call of the run waits for a person, directly or through a run it called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunWaiting {
    pub waiting: bool,
}
