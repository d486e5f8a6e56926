//! Parameters and results: questions to people, and the rules that ask them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{WorkspaceParam, default_page, is_default, is_not};
use crate::{
    AgentName, BudgetLimits, CallId, Claim, ConfirmationId, ConfirmationOutcome, ConfirmationRecord,
    EventSeq, FileProblem, FileRestored, GrantScope, HookEventName, PolicyRule, PolicyVerdict,
    QuestionAnswer, Resolution, ResourceAccess, Risk, RunId, SessionId, Timestamp, ToolKind, ToolName,
    ToolResult, TrustedFile,
};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfirmationListParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Also those that are over.
    #[serde(skip_serializing_if = "is_default")]
    pub resolved: bool,
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
pub struct ConfirmationListResult {
    /// Oldest first.
    pub confirmations: Vec<ConfirmationRecord>,
    /// There is more; give it as `cursor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One of the two is given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfirmationGetParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation_id: Option<ConfirmationId>,
    /// As a notification told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationGetResult {
    pub confirmation: ConfirmationRecord,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationClaimParams {
    pub confirmation_id: ConfirmationId,
    /// How long somebody will probably read. Missing = a minute. Ends earlier with the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 600_000))]
    pub duration_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationClaimResult {
    pub confirmation_id: ConfirmationId,
    pub claim: Claim,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationReleaseParams {
    pub confirmation_id: ConfirmationId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationReleaseResult {
    pub confirmation_id: ConfirmationId,
    /// False when this client had claimed nothing.
    pub released: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationRespondParams {
    /// Needed without a `token`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation_id: Option<ConfirmationId>,
    /// Of the question that was read. Needed without a `token`, which is bound to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    pub outcome: ConfirmationOutcome,
    /// Which of the options of this outcome; without it the first, which is the narrowest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantScope>,
    /// For the model and the log, e.g. why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// With `modify`: the whole arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// With `modify`, instead of arguments: what the file of an edit shall be, or the command of an exec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// With `modify` of a budget: what the run may use from now on; more than it has used. What is missing stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<BudgetLimits>,
    /// With `answer`: one a question, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<QuestionAnswer>,
    /// As a notification told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationRespondResult {
    pub confirmation_id: ConfirmationId,
    pub run_id: RunId,
    pub resolution: Resolution,
    /// The event that says how it ended.
    pub seq: EventSeq,
    /// This client had said the same before, and this is what came of it.
    #[serde(default, skip_serializing_if = "is_not")]
    pub replayed: bool,
}

/// Data of `signal.claim`: who reads a question now, or has answered it with a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimSignal {
    pub confirmation_id: ConfirmationId,
    /// Missing = nobody any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyListParams {
    /// With the rules of this workspace's own files, if it is trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyListResult {
    /// By tier, then in the order in which they speak.
    pub rules: Vec<ListedRule>,
    /// What is wrong with the files they come from.
    pub problems: Vec<FileProblem>,
}

/// A rule, and what it is good for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedRule {
    #[serde(flatten)]
    pub rule: PolicyRule,
    /// Of a remembered rule: what it allows, in plain words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows: Option<String>,
    /// Of a remembered rule: when it last let a call run. Missing = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyCheckParams {
    /// A name or an alias.
    pub tool: ToolName,
    pub arguments: Value,
    /// Missing = the session's, else the daemon's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// In this session; it or `workspace` is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

/// What would become of the call. Nothing was run or written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyCheckResult {
    #[serde(flatten)]
    pub verdict: PolicyVerdict,
    /// Canonical.
    pub tool: ToolName,
    pub kind: ToolKind,
    pub risk: Risk,
    /// For people.
    pub description: String,
    pub accesses: Vec<ResourceAccess>,
    /// The hooks that a run would ask or tell about this call: before it is judged, before a person is asked, and after it. They are
    /// not run here, and may refuse or change it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<MatchedHook>,
}

/// A hook that a call meets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatchedHook {
    pub id: String,
    pub event: HookEventName,
    /// One line that says what it runs.
    pub runs: String,
    /// The reason why it fails without being asked, so that it refuses what it guards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny_reason: Option<String>,
    /// The reason why it fails without being asked, so that a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_reason: Option<String>,
    /// The reason why it is not asked or told, and the call goes on without it: nobody has acknowledged its file, or it fails and guards
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// A variable without a value in its command, which may work all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRemoveParams {
    /// Of a remembered rule, as `policy/list` tells it.
    pub rule_id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRemoveResult {
    pub rule_id: String,
    pub seq: EventSeq,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceOpenParams {
    pub workspace: WorkspaceParam,
}

/// A workspace, and what of its own files a person has acknowledged. A person agrees to it, so what is empty is there, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceRecord {
    /// Canonical.
    pub roots: Vec<String>,
    /// A person said so, of each root. Of its files those count that are acknowledged as they are now.
    pub trusted: bool,
    /// Its agents, rules and settings, and whether each is acknowledged as it is now.
    pub files: Vec<WorkspaceFile>,
    /// What is wrong with its files. One that cannot be read cannot be acknowledged, nor an agent with errors.
    pub problems: Vec<FileProblem>,
    /// What came of `tools.discoveryCommand` here, where one is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<WorkspaceDiscovery>,
    /// Its memory files that nobody is told of before it is trusted, and every agent after it, also what they say later.
    pub memory_files: Vec<String>,
    /// Files that these import, whose texts agents are told with theirs.
    pub memory_imports: Vec<ImportedMemoryFile>,
    /// Files that a person acknowledged and that are not there any more, while hooks or what they guarded wait for them: what those
    /// guarded is refused until the workspace is trusted without them. Paths below the root; of several roots whole.
    pub gone: Vec<String>,
}

/// A file that a memory file imports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedMemoryFile {
    pub path: String,
    /// The file that names it.
    pub by: String,
}

/// What a workspace's discovery of tools came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceDiscovery {
    /// As the setting has it, without secrets.
    pub command: String,
    /// When it ran last; missing where it may not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// How many tools there are now; `tools/list` has them.
    pub tools: u32,
    /// The reason why there are no more, or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFile {
    /// Below its root.
    pub path: String,
    /// Of the workspace's roots the one it lies in; missing when there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    pub kind: WorkspaceFileKind,
    pub digest: String,
    pub acknowledged: bool,
    /// It was acknowledged, and is another one since.
    #[serde(default, skip_serializing_if = "is_default")]
    pub changed: bool,
    /// What it changes once it is acknowledged, one sentence each, for the person who is asked.
    pub effects: Vec<String>,
    /// Those of `effects` by which something runs that nobody is asked about; not to be left out of what is shown.
    pub runs_unasked: Vec<String>,
}

/// What a workspace's own file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorkspaceFileKind {
    /// It may be started.
    Agent,
    /// Its rules count; they only make things stricter.
    Policy,
    /// They count here.
    Settings,
    /// A command of the settings names it, and it is run as it is.
    Program,
    /// Its text replaces the daemon's own system prompt, where `prompt.systemFile` is true.
    SystemPrompt,
    /// A folder, all of it: models may be told of it, and what it says.
    Skill,
    /// Its hooks are run at points of a run, and nobody is asked before.
    Hooks,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceOpenResult {
    pub workspace: WorkspaceRecord,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceListResult {
    /// Those about whose trust a person has spoken; without their files.
    pub workspaces: Vec<ListedWorkspace>,
}

/// A workspace about whose trust a person has spoken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedWorkspace {
    /// Canonical.
    pub roots: Vec<String>,
    /// A person said so, of each root.
    pub trusted: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTrustParams {
    pub workspace: WorkspaceParam,
    pub trusted: bool,
    /// What the person saw of it, as `workspace/open` told: just these are acknowledged, besides what was before. Needed to
    /// trust a workspace that has any; none to take trust back, which forgets all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TrustedFile>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTrustResult {
    pub workspace: WorkspaceRecord,
    pub seq: EventSeq,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsAcknowledgeParams {
    pub name: AgentName,
    /// As `agents/get` or `WORKSPACE_NOT_TRUSTED` told it.
    pub digest: String,
    pub workspace: WorkspaceParam,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsAcknowledgeResult {
    pub name: AgentName,
    pub seq: EventSeq,
}

/// One of `toCallId` and `lastTurn` is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionUndoParams {
    pub session_id: SessionId,
    /// Undoes everything from this call on, newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_call_id: Option<CallId>,
    /// Undoes what the last turn that changed files changed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub last_turn: bool,
    /// Also where somebody changed the file since.
    #[serde(default, skip_serializing_if = "is_default")]
    pub force: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionUndoResult {
    pub session_id: SessionId,
    /// Newest first.
    pub restored: Vec<FileRestored>,
    /// Calls among those undone whose effects cannot be taken back, and why.
    pub not_restorable: Vec<NotRestorable>,
    /// The last event the request caused; missing when there was nothing to undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotRestorable {
    pub call_id: CallId,
    pub tool: ToolName,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsCallParams {
    pub session_id: SessionId,
    pub tool: ToolName,
    pub arguments: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsCallResult {
    pub call_id: CallId,
    /// The run as which it was carried out.
    pub run_id: RunId,
    /// As hooks of `PostToolUse` and `PostToolUseFailure` left it: where one replaced or withheld it, only the text in its place.
    pub result: ToolResult,
    pub seq: EventSeq,
}
