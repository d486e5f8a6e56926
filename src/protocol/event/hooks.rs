//! What followers of the log are told of hooks: programs of the user's that are asked, or told, at points of a run (spec 08,
//! "Hooks").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallId, Timestamp, ToolName};

macro_rules! hook_events {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {
        /// A point of a run at which hooks are asked or told, as it is spelled in files and on the wire.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        pub enum HookEventName { $($(#[doc = $doc])+ $name),+ }

        impl HookEventName {
            /// Every one, in the order in which they come in a run.
            pub const ALL: &[HookEventName] = &[$(HookEventName::$name),+];

            /// The spelling in files and on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(HookEventName::$name => stringify!($name)),+ }
            }
        }
    };
}

hook_events! {
    /// Before a session's first run, and the first one after its context was cleared or compressed or the daemon was started.
    SessionStart;
    /// A prompt, or a text that is said to a root run while it works, before its model reads it.
    UserPromptSubmit;
    /// A prompt that a template or a skill made of what was typed.
    UserPromptExpansion;
    /// A child run, before its model is asked for the first time.
    SubagentStart;
    /// Any run, before its model is asked for the first time.
    BeforeAgent;
    /// Before each request to a model.
    BeforeModel;
    /// Before each request to a model: which tools it may choose among.
    BeforeToolSelection;
    /// After each reply of a model.
    AfterModel;
    /// A valid tool call, before the policy judges it.
    PreToolUse;
    /// Before a question about a call is put to a person.
    PermissionRequest;
    /// A call that the policy, the mode or a deadline refused.
    PermissionDenied;
    /// The result of a call is known, and its model has not read it.
    PostToolUse;
    /// The same of a call that failed.
    PostToolUseFailure;
    /// All calls of a turn have ended.
    PostToolBatch;
    /// Before a context is compressed.
    PreCompact;
    /// A context was compressed.
    PostCompact;
    /// Before a run hands its work to another agent.
    BeforeHandoff;
    /// A root run is about to reach its goal.
    Stop;
    /// A child run is about to reach its goal.
    SubagentStop;
    /// Any run has ended.
    AfterAgent;
    /// A root run ended, and neither reached its goal nor was cancelled.
    StopFailure;
    /// An MCP server asks a person something.
    Elicitation;
    /// Everything that a person answered it.
    ElicitationResult;
    /// A memory file was read for a run.
    InstructionsLoaded;
    /// A question was asked, or a run ended: what people are told.
    Notification;
    /// A session was closed.
    SessionEnd;
}

/// The place where a hook is configured. Their answers are joined in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookSource {
    /// `/etc/subagentd/settings.json`
    System,
    /// The user's settings.
    User,
    /// Files of the workspace that a person acknowledged.
    Project,
    /// The file of the run's agent.
    Agent,
}

/// Everything that a hook says of what is about to happen. The greater one is the stricter one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookDecision {
    /// It has no objection. Nothing gets looser by it.
    Allow,
    /// A person is to be asked.
    Ask,
    /// It must not happen, or must go on where a run would end.
    Deny,
}

/// The way in which a hook ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookOutcome {
    /// It answered.
    Answered,
    /// It ended with a code that means nothing, by a signal, or with an HTTP status that is no success.
    Failed,
    /// It took too long.
    TimedOut,
    /// It could not be started, or its file is not what a person acknowledged.
    NotStarted,
    /// Everything that it said cannot be read, or is too long.
    Invalid,
    /// It was to be told something when the daemon stopped, and is not told again.
    Interrupted,
}

/// Data of `hook.started`: a hook has been at work for a second, so that followers see what the run waits for. Nothing is decided by
/// it. Its `hook.fired` follows under the same firing and hook, unless the daemon dies, or what it is about is over, before it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookStarted {
    /// Names the firing, as in `hook.fired`.
    pub firing_id: String,
    /// The id in `hooks/list`.
    pub hook_id: String,
    pub event: HookEventName,
    pub source: HookSource,
    /// The call that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// More than 1 when the daemon died before the verdict was written down, and the firing was begun anew.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: u32,
    /// It goes on beside the run, which does not wait for it.
    #[serde(default, rename = "async", skip_serializing_if = "std::ops::Not::not")]
    pub is_async: bool,
    /// The time that it has been at work by now.
    pub elapsed_ms: u64,
}

/// The place where the command of a hook runs: in a sandbox or with the person's rights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookConfinement {
    /// True in a sandbox, like an agent's commands: the workspace can be written, the rest only read. False with the rights of the person.
    pub confined: bool,
    /// The reason, a clause without its end. It names the file of the workspace, or the words of the command, that it is about.
    pub reason: String,
}

/// A text that the model reads in place of the result of a call, since a hook replaced or withheld that.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultReplacement {
    /// The text, the first 4 KiB. It is empty where the model reads something that is no text.
    pub text: String,
    /// Bytes of the whole text; missing when all of it stands here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The hook withheld the result: the text says so, and why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

/// A change of a call's arguments that a hook wanted, and that did not count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DroppedChange {
    /// The arguments that it wanted, as JSON; of long ones the first 1 KiB.
    pub input: String,
    /// The reason why it did not count, a clause without its end: `the call was denied`.
    pub reason: String,
}

/// Data of `hook.fired`: one hook was asked or told, and this came of it. Whatever it led to stands in the same transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookFired {
    /// Names the firing: the same for all hooks that were asked at once, and for a firing that was begun anew after a restart.
    pub firing_id: String,
    /// The id in `hooks/list`.
    pub hook_id: String,
    pub event: HookEventName,
    pub source: HookSource,
    /// The call that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// More than 1 when the daemon died before the verdict was written down, and the firing was begun anew.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: u32,
    /// Missing when it said nothing about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<HookDecision>,
    /// It went on beside the run, and decided nothing.
    #[serde(default, rename = "async", skip_serializing_if = "std::ops::Not::not")]
    pub is_async: bool,
    /// The tool of an MCP server that it called, or was to call, as rules name it: `mcp.SERVER.TOOL`. Only of a hook of the type `mcp_tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_tool: Option<ToolName>,
    /// It changed what it was shown. In events of earlier versions also where the change did not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// The change of a call's arguments that it wanted, where that did not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_change: Option<DroppedChange>,
    /// The text that it adds for the model to read, the first 2 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<String>,
    /// Its message for people; shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The call that is made because it wants that: what comes of it is read in place of the result of `callId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<CallId>,
    /// The text that the model reads in place of the result of `callId`, by the word of this hook. Missing in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<ResultReplacement>,
    /// The round of the firing in which it was asked. From 2 on it was asked about the arguments as hooks had changed them by then, also if
    /// it had not been asked before.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub round: u32,
    /// The time at which it was asked: the answers of a firing are written down together. Missing in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    pub outcome: HookOutcome,
    /// Only of a command that ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    /// The reason why it decided so, or what is wrong with it; shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The end of what it wrote to its standard error, at most 2 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The place where its command ran, or was to run. Missing if it is no command, and in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<HookConfinement>,
    /// On the last answer of hooks that were asked about the result of a call: all is said of what the model reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settles_result: bool,
}

fn first() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_first(attempt: &u32) -> bool {
    *attempt == 1
}
