//! Parameters and results: agents' files are made, changed, brought in, written out, and chosen by a prompt.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{IdempotencyKey, WorkspaceParam};
use crate::{
    AgentFileState, AgentFormat, AgentName, AgentOrigin, AgentScope, EventSeq, FileProblem, Risk,
    RoutingTrigger, SessionId, ToolName,
};

/// What the file says is given in one way: its `text`, or fields in `definition`, over a template or alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentsCreateParams {
    /// A template's name, see `agents/templates`; the fields of `definition` take the place of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Fields of the front matter, as `agent.schema.json` has them, and `prompt`, the text below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<Map<String, Value>>,
    /// A whole file, as it is written; its `name` says what it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where it goes [default: the setting `agents.defaultScope`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<AgentScope>,
    /// Needed for the scope `project`: the first of its folders takes the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    /// A file that is there already may be replaced; it goes to the trash.
    pub overwrite: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// Exactly one of `text` and `definition`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsUpdateParams {
    pub name: AgentName,
    /// Only the agent of this place; missing = the one that a run would use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<AgentScope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    /// The whole file, in the format that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Of a file of ours: fields that take the place of its own, `null` to remove one; `prompt` is the text below. All else
    /// stays as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Map<String, Value>>,
    /// The digest of the file that was changed; with another one there now, nothing is written (`CONFLICT`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentWrittenResult {
    pub name: AgentName,
    pub scope: AgentScope,
    pub path: PathBuf,
    /// Of what stands there now. A project's file is acknowledged by making it, and stays so when it is changed through the
    /// daemon; what nobody had acknowledged is not by a change.
    pub digest: String,
    /// Warnings; a file with errors is not written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
    /// Of the last event that it caused; missing when the file says what it said before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
    /// The answer of an earlier request with the same key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// What becomes of a deleted agent's contexts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DeletedAgentContexts {
    /// They stay, and can be read.
    #[default]
    Keep,
    /// They are emptied in sessions in which the agent has no run.
    Delete,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsDeleteParams {
    pub name: AgentName,
    /// Only the agent of this place; missing = the one that a run would use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<AgentScope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    #[serde(default)]
    pub contexts: DeletedAgentContexts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsDeleteResult {
    pub name: AgentName,
    pub scope: AgentScope,
    /// Where it was.
    pub path: PathBuf,
    /// Where it is now.
    pub trash: PathBuf,
    /// Sessions whose context of the agent was emptied.
    pub cleared: u32,
    /// Sessions in which the agent has a run; their contexts stay.
    pub busy: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentsTemplatesParams {
    /// Also the templates among the agents of this workspace, if it is trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsTemplatesResult {
    /// The built-in ones, then the user's own and the workspace's; the first of these of a name counts, and takes the place of a
    /// built-in one.
    pub templates: Vec<TemplateSummary>,
    /// What is wrong with those that are not built in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
}

/// What agents are made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateSummary {
    pub name: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Missing for built-in ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The whole file.
    pub text: String,
}

/// What happens to an imported agent whose name is taken where it goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnConflict {
    /// It is not written.
    #[default]
    Skip,
    /// The other one goes to the trash.
    Replace,
    /// It is called after the folder that it comes from, too: `folder-name`.
    Namespace,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentsImportParams {
    /// Files, and folders that are read with those below them; absolute.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathBuf>,
    /// Instead of `paths`: one file (`https://…`), or a repository that the daemon's `git` fetches (`https://….git`,
    /// `ssh://…`, `git@host:…`, `file:///…`; with `git+` before it any https URL is one), of which the newest commit is taken,
    /// or that of a branch, a tag or a whole commit id behind `#`. At most 1 MiB a file, 16 MiB and 10,000 files a repository.
    /// Users and passwords in an https URL are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What must come from `url`, as `origin.digest` said before; with anything else nothing is written (`CONFLICT`). The
    /// scope `user` needs it, unless `dryRun`: nobody asks before such an agent is started, so whoever names the digest says
    /// that they have read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Whose format they have [default: as the folders above say, `.claude`, `.gemini`, `.opencode`, else as the file looks].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<AgentFormat>,
    /// Where they go [default: the setting `agents.defaultScope`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<AgentScope>,
    /// Needed for the scope `project`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    pub on_conflict: OnConflict,
    /// Nothing is written.
    pub dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsImportResult {
    pub files: Vec<ImportedAgent>,
    /// Folders and files that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
    /// What came from the `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<AgentOrigin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedAgent {
    /// Its path; of what came from a `url` the URL with the path in the repository.
    pub source: PathBuf,
    pub format: AgentFormat,
    pub state: AgentFileState,
    /// As it is called where it was written to.
    pub name: AgentName,
    pub outcome: ImportOutcome,
    /// Where it was, or would be, written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// What it may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<ImportedAgentPermissions>,
    /// Of a `url` with `dryRun`: what would be written, to be read before its digest is named. Missing where an answer's size
    /// does not allow all texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
}

/// What an agent may do by its file. A person agrees to it, so what is empty or false is there, too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedAgentPermissions {
    /// Tools, aliases and patterns that it names; missing = the default set, which `agent.schema.json` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolName>>,
    /// Besides `tools` every tool of these MCP servers.
    pub servers: Vec<String>,
    /// Beats `tools`.
    pub deny: Vec<ToolName>,
    /// Besides `tools` every tool there is.
    pub inherits: bool,
    /// Besides `tools` every agent that others may call.
    pub agents: bool,
    /// Risks of calls that run without asking where no rule speaks.
    pub auto_approve: Vec<Risk>,
    /// Its own MCP servers, which each of its runs starts or reaches, and how, in words.
    pub mcp_servers: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ImportOutcome {
    /// It is there now, or would be.
    Written,
    /// It took another one's place, or would.
    Replaced,
    /// It is there already, word for word.
    Unchanged,
    /// Another one has its name.
    Skipped,
    /// It holds no agent.
    Rejected,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsExportParams {
    pub names: Vec<AgentName>,
    /// [default: ours]
    #[serde(default)]
    pub format: AgentFormat,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsExportResult {
    pub files: Vec<ExportedAgent>,
}

/// An agent in another product's words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportedAgent {
    pub name: AgentName,
    /// What the file is usually called there.
    pub file_name: String,
    pub text: String,
    /// What the product cannot express, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsRouteParams {
    pub prompt: String,
    /// Looks among this workspace's project agents too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    /// As a run in this session would be routed. Not beside `workspace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

/// Which agent a prompt goes to, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentRoute {
    pub agent: AgentName,
    /// The trigger that fits; missing when none does, and the session's usual agent is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<RoutingTrigger>,
    /// Keywords as the file has them, or what the expression found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<String>,
    /// Other agents whose triggers fit, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runners_up: Vec<AlternativeRoute>,
}

/// An agent that a prompt might have gone to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlternativeRoute {
    pub agent: AgentName,
    pub trigger: RoutingTrigger,
    pub matched: Vec<String>,
}
