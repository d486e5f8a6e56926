//! Parameters and results: agents and tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WorkspaceParam;
use crate::protocol::{
    AgentName, AgentScope, AgentSummary, ClientId, InputSpec, SandboxProfile, SessionId, ToolDeclaration,
    ToolSource,
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
    /// How closely its file wants its commands confined; the settings may confine them further. Missing = as they say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxProfile>,
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
    /// Why it is not a pass, with places; one entry a finding.
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
}

/// Whether runs get a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ListedToolState {
    Available,
    /// Neither declared nor callable.
    Excluded,
}
