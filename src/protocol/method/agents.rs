//! Parameters and results: agents and tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::WorkspaceParam;
use crate::{
    AgentFormat, AgentName, AgentScope, AgentSummary, AgentToolRule, ChangedAgent, ClientId, EventSeq,
    ExtensionRef, FileProblem, InputSpec, Risk, RoutingTrigger, SandboxProfile, SessionId, Timestamp,
    ToolDeclaration, ToolSource,
};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentsListParams {
    /// Lists this workspace's project agents too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    /// Also agents that another of the same name hides.
    pub include_hidden: bool,
    /// Also files that could not be loaded.
    pub include_invalid: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsListResult {
    pub agents: Vec<AgentSummary>,
    /// Of folders and files that could not be looked into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsGetParams {
    pub name: AgentName,
    /// Only the agent of this place; missing = the one that a run would use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<AgentScope>,
    /// Looks among this workspace's project agents too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsGetResult {
    #[serde(flatten)]
    pub summary: AgentSummary,
    /// The system prompt's template; missing for a file with errors, like all below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Template of the first user message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_specs: Vec<InputSpec>,
    /// The tools a run would get, `complete_task` among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What its file says of asking.
    pub approval: AgentApproval,
    /// How closely its file wants its commands confined; the settings may confine them further. Missing = as they say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxProfile>,
    /// The front matter of a file of ours that says the same, see `agent.schema.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Map<String, Value>>,
    /// The whole file, as it is written. Missing when it cannot be read, and when it is changing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What the file would say if it were written right; of one that had to be mended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<String>,
    /// When the file was made, where the file system keeps that; and when it was written to last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Which prompts are for it, in the order of the file, and what came of that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<TriggerUse>,
}

/// One trigger of an agent, and how often it decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerUse {
    #[serde(flatten)]
    pub trigger: RoutingTrigger,
    /// Prompts that it brought to the agent.
    pub hits: u64,
    /// How many of them a person gave to another agent then, by its name.
    pub overrides: u64,
}

/// What an agent's own file says of which calls ask.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentApproval {
    /// Risks of calls that run without asking where no rule speaks.
    pub auto_approve: Vec<Risk>,
    /// Which calls it makes stricter, in the order of the file; a later one beats those before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<AgentToolRule>,
}

/// Exactly one of the fields `name`, `text` and `all`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentsValidateParams {
    /// One agent that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<AgentName>,
    /// A file's text that need not be saved anywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What the text's file is called, for findings and for an agent that names itself nowhere; it is not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<std::path::PathBuf>,
    /// Whose format the text has [default: as the path's folders say, `.claude`, `.gemini`, `.opencode`, else as it looks].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<AgentFormat>,
    /// Every agent there is.
    pub all: bool,
    /// Looks among this workspace's project agents too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsValidateResult {
    pub agents: Vec<ValidatedAgent>,
    /// No check failed.
    pub valid: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidatedAgent {
    pub name: AgentName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<std::path::PathBuf>,
    pub checks: Vec<AgentCheck>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCheck {
    /// What holds, e.g. `front matter is valid YAML`.
    pub check: String,
    pub outcome: CheckOutcome,
    /// The reason why it is not a pass, with places; one entry a finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckOutcome {
    Pass,
    Warn,
    Fail,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentsReloadParams {
    /// Reads this workspace's project agents anew, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

/// What is other than it was when it was told last, at most 1,000 of each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsReloadResult {
    pub added: Vec<ChangedAgent>,
    pub changed: Vec<ChangedAgent>,
    /// As they were.
    pub removed: Vec<ChangedAgent>,
    /// Of the last `agents.changed` it caused; missing when nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolsListParams {
    /// Only the tools that this agent's runs get, or would get if nothing excluded them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// As the runs of this session have them: with the tools of its workspace, and those lent to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// As runs in this workspace have them. Not beside `sessionId`, which has a workspace of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsListResult {
    /// In the order in which they are declared to models.
    pub tools: Vec<ListedTool>,
    /// What is odd about tools that are not the daemon's own, such as a discovery that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    #[serde(flatten)]
    pub declaration: ToolDeclaration,
    pub source: ToolSource,
    pub state: ListedToolState,
    /// Of an excluded one: what excludes it, and where that stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Of one that a client lends: that client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<ClientId>,
    /// The extension that brings it along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionRef>,
}

/// Whether runs get a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ListedToolState {
    Available,
    /// Neither declared nor callable.
    Excluded,
}
