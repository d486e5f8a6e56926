//! Parameters and results: hooks, programs and questions that are asked or told at points of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{WorkspaceParam, is_default};
use crate::{FileProblem, HookConfinement, HookDecision, HookEventName, HookOutcome, HookSource, Timestamp};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HooksListParams {
    /// Missing = without any project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksListResult {
    /// Sorted in the order in which their answers are joined.
    pub hooks: Vec<ListedHook>,
    /// Mistakes in the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
}

/// A hook, and how it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedHook {
    /// The same as long as its place, event, matcher and what it runs stay what they are.
    pub id: String,
    /// The same as it is written: `BeforeTool` is another name of `PreToolUse`.
    pub event: String,
    pub source: HookSource,
    /// Absolute.
    pub file: String,
    /// 1-based; missing where nobody knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Tools, sources or agents that it is about; missing = everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// The rule that a call must match.
    #[serde(default, rename = "if", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// `command`, `http`, `mcp_tool`, `prompt` or `agent`; `unreadable` when nobody can tell.
    #[serde(rename = "type")]
    pub kind: String,
    /// Everything that it runs, in one line; of an entry that cannot be read the mistake.
    pub runs: String,
    pub on_failure: HookFailure,
    pub timeout_seconds: f64,
    /// It goes on beside the run and decides nothing.
    #[serde(default, rename = "async", skip_serializing_if = "is_default")]
    pub is_async: bool,
    pub state: HookStanding,
    /// The reason why it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The fault that keeps a hook that is on from working, as far as its text and the disk tell: its script is not there, for example. Only where a
    /// `workspace` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<HookFault>,
    /// A variable without a value in its command, which may work all the same. Only where a `workspace` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The place where its command runs. Missing if it is no command, and of hooks of the system and the user where no `workspace` is given:
    /// those are confined in each workspace of which they name a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<HookConfinement>,
    /// The outcome of it the last time, as far as the newest 20,000 events of the log before the daemon's start and all since then tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastHookEnd>,
}

/// The reason why a hook cannot work, and what comes of that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookFault {
    /// A sentence without its end.
    pub reason: String,
    pub failure: HookFailure,
}

/// The meaning of a failure of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookFailure {
    /// It is told as a warning.
    Continue,
    /// Blocks what it guards.
    Block,
    /// A person is asked.
    Ask,
}

/// The standing of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookStanding {
    On,
    /// A person switched it off.
    Off,
    /// Nobody acknowledged its file, or it stands in another product's file that `hooks.places` does not name: it does nothing.
    Untrusted,
    /// Its file, or one that it runs, is not what a person acknowledged: a guard fails, others rest.
    Changed,
    /// Its entry cannot be read: a guard fails, others rest.
    Broken,
    /// Its event is never fired by this daemon.
    NeverFires,
}

/// The outcome of a hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastHookEnd {
    pub at: Timestamp,
    pub outcome: HookOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<HookDecision>,
    /// The reason of one that failed, to be read after the hook's name: `ended with exit code 1: …`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksSetEnabledParams {
    /// The id in `hooks/list`.
    pub id: String,
    pub enabled: bool,
    /// The place where a project's hook is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksSetEnabledResult {
    pub id: String,
    pub enabled: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksTestParams {
    /// The id in `hooks/list`.
    pub id: String,
    /// The folder in which it runs.
    pub workspace: WorkspaceParam,
    /// The tool of the call that it is told of, by any of its names; only of an event that is about a call. Missing = the first that its
    /// matcher and its `if` mean, and `run_shell_command` where they mean any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The arguments of that call; of other events its facts, e.g. `prompt`. What is missing is made up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksTestResult {
    pub id: String,
    pub event: HookEventName,
    /// A run would fire it for just this: it is on, and its matcher and `if` mean it.
    pub would_fire: bool,
    /// Everything that it was told.
    pub input: Value,
    pub stdout: String,
    /// The end of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    pub outcome: HookOutcome,
    /// The place where its command ran, or was to run; missing if it is no command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<HookConfinement>,
    /// Its answer to this call, also where `wouldFire` is false and a run does not ask it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<HookDecision>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Texts that the model would get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<String>,
    /// The call's arguments as they would be after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Everything that would happen in a run, in a sentence or two.
    pub summary: String,
}
