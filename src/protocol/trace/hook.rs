//! What only spans of hooks have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::{CallId, DroppedChange, HookConfinement, ResultReplacement, ToolName};

/// Fields that only hooks have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HookSpan {
    /// The id in `hooks/list`.
    pub hook_id: String,
    /// `system`, `user`, `project`, `agent`.
    pub source: String,
    /// The call that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// The tool of that call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// A description of that call for people, as the call has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `answered`, or the way in which it failed; `interrupted`, with the status `cancelled`, of one that was at work when the daemon ended: its
    /// end is then when the log told of it last; `goesOn` of one beside the run that went on after the run's end; missing while it is at
    /// work, and when it was cut off.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    /// `allow`, `ask`, `deny`; missing when it said nothing about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The reason why it decided so, or what is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// It went on beside the run, and decided nothing.
    #[serde(rename = "async", skip_serializing_if = "is_default")]
    pub is_async: bool,
    /// It changed what it was shown.
    #[serde(skip_serializing_if = "is_default")]
    pub changed: bool,
    /// The change of the call's arguments that it wanted, where that did not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_change: Option<DroppedChange>,
    /// The text that it added for the model to read, the first 2 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<String>,
    /// Its message for people; shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The text that the model read in place of the call's result, by the word of this hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<ResultReplacement>,
    /// The call that is made because it wants that: the model reads what comes of it in place of the result of `callId`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<CallId>,
    /// The place where its command ran, in a sandbox or with the person's rights, and why. Missing if it is no command, and in logs of
    /// earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confinement: Option<HookConfinement>,
    /// The round of the firing in which it was asked, from 2 on: it was asked again, about the arguments as a hook had changed them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
    /// It was asked about the call as a person had changed it who answered a question about it. In logs of earlier versions a change that was
    /// refused then stands nowhere: `description` is missing.
    #[serde(skip_serializing_if = "is_default")]
    pub edited: bool,
    /// More than 1 when the daemon died before its verdict was written down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
}
