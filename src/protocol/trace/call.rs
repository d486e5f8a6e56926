//! Spans of calls, and who decided about them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SpanText, is_default};
use crate::{CallId, RuleOrigin, RunId, Timestamp, ToolName};

/// Fields that only tool calls have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpan {
    pub call_id: CallId,
    pub tool: ToolName,
    /// The MCP server that has the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// A description of this call for people, e.g. the path it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    /// The decision whether it runs; missing where nobody had to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<CallDecision>,
    /// The hook that wants this call, by its id; missing of a call that the agent asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    /// The call that it follows, where a hook wants it: the model reads what comes of it in place of that call's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<CallId>,
    /// The tool of that call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows_tool: Option<ToolName>,
    /// The arguments as the model gave them, or the hook that wants the call, where hooks or a person changed them; `input` has
    /// what ran, or what was denied at last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_input: Option<SpanText>,
    /// The hooks that changed them, by their ids, and the clients of people who did, in the order in which they did so first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by: Vec<String>,
    /// Each change of them, in the order in which they were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ArgumentChange>,
    /// The hook by whose word the model read another text than the result, or none. `output` has what it read; what the tool gave stands
    /// only in the event of the call's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_changed_by: Option<String>,
    /// The result was kept from the model: by that hook, or since the run ended before its hooks had said anything of it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub result_withheld: bool,
    /// Time until it ran; missing when it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// The most of its time in which there may have been no daemon, as in the run's `downMs`: it was not at work then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub down_ms: u64,
    /// The run that answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_run_id: Option<RunId>,
    /// Files that it changed; the first 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_changed: Vec<SpanFileChange>,
}

/// A change of a call's arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArgumentChange {
    /// `hook`, or `client`: a person.
    pub source: String,
    /// The id of the hook, or the client of the person.
    pub name: String,
    /// The time at which the hook or the person had changed them.
    pub at: Timestamp,
    /// The names of the arguments that were changed, at most 16 of at most 80 characters; `…` stands for more. Empty where the log tells only
    /// what several changes came to, and without full content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

/// A file that a call changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpanFileChange {
    pub path: String,
    /// `created`, `modified`, `deleted`, `moved`; `unchanged` where it was written with the content that it had.
    pub change: String,
    /// Names what `session/undo` puts back.
    pub undo_id: String,
    /// The change was undone after that. What is sent to collectors and written to files does not have it: the call's span has ended by
    /// then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<UndoneChange>,
}

/// A person's word that a changed file is to be as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoneChange {
    pub at: Timestamp,
    /// The client that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Somebody had changed the file since, and that was overwritten.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
}

/// A decision whether a call runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallDecision {
    /// `allow`, `deny`, or what a person answered: `allowOnce`, `allowSession`, `modify`, … Of a question that was asked again `edited`, where
    /// a hook changed what the person had made of the call, and `stale`, where what the call would touch was not what was shown any more.
    pub outcome: String,
    /// The version of the question that was answered, from 2 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// `policy`: a rule. `client`: a person. `deadline`, `system`: nobody answered. `agent`: its definition. `grace`: it was the last
    /// turn, in which only `complete_task` is there.
    pub source: String,
    /// The rule that decided, or that had a person asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The word that it goes back to, where the rule stands in no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<RuleOrigin>,
    /// The client that decided, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The message of whoever decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Time from the question to the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// The most of that in which there may have been no daemon.
    #[serde(skip_serializing_if = "is_default")]
    pub down_ms: u64,
    /// The calls that an answer allows from now on beside the one that was asked about, in plain words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allows: Option<String>,
    /// The rule that the answer saved: its id, and which calls it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remembers: Option<String>,
    /// The mode that the answer put the session into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}
