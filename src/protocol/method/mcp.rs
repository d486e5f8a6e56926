//! Parameters and results: servers of the Model Context Protocol (spec 07, "As a client").

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::is_default;
use crate::{
    AgentName, EventSeq, ExtensionRef, IdempotencyKey, McpState, MessagePart, Timestamp, ToolName,
    WorkspaceParam,
};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct McpListParams {
    /// As it is there. Missing = where nobody works in a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpListResult {
    /// By name.
    pub servers: Vec<ListedMcpServer>,
}

/// A server, in one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedMcpServer {
    pub name: String,
    pub state: McpState,
    /// The reason why it is away, or is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whose settings name it; missing for one that is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<McpOrigin>,
    /// Whose run has it for itself; missing for one that is shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The extension that brings it along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionRef>,
    /// Missing for one that is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<McpTransportKind>,
    /// How many tools it has that can be used; 0 while it is not ready.
    pub tools: u32,
}

/// Whose settings name a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpOrigin {
    User,
    Project,
    /// It stands in an agent's file, and one run of that agent has it for itself.
    Agent,
    /// An extension brings it along.
    Extension,
}

/// The way to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpTransportKind {
    /// A program that the daemon starts.
    Stdio,
    /// Streamable HTTP.
    Http,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct McpStatusParams {
    /// Of this server alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// As it is there. Missing = where nobody works in a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpStatusResult {
    /// By name.
    pub servers: Vec<McpServerStatus>,
}

/// All that is known of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerStatus {
    #[serde(flatten)]
    pub listed: ListedMcpServer,
    /// Name and version in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The process that runs it, or watches over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The reason why it was away last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Times it was started again.
    pub restarts: u64,
    /// When it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try_at: Option<Timestamp>,
    /// What it has that can be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_names: Vec<ToolName>,
    /// What is odd about its tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The last that its program printed on standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// Of all its tools.
    pub calls: McpCalls,
    /// By tool, of those that were called.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_tool: BTreeMap<String, McpCalls>,
}

/// How calls went since the daemon started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpCalls {
    pub calls: u64,
    pub errors: u64,
    /// Half of the last ones took no longer; missing when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<u64>,
    /// All but one of a hundred of the last ones took no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<u64>,
}

/// A server, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerParams {
    pub server: String,
    /// As it is there. Missing = where nobody works in a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpSetEnabledParams {
    /// In every workspace.
    pub server: String,
    pub enabled: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpSetEnabledResult {
    pub server: String,
    pub enabled: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpAddParams {
    pub name: String,
    /// What stands under the name in `mcpServers`.
    pub server: Map<String, Value>,
    /// Whose settings it goes into.
    #[serde(default = "of_user")]
    pub scope: McpScope,
    /// For the scope `project`: into the settings of its first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    /// Another entry of the name may be replaced. The file as it was goes to the trash.
    #[serde(default)]
    pub force: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpRemoveParams {
    pub name: String,
    /// Whose settings it is taken out of.
    #[serde(default = "of_user")]
    pub scope: McpScope,
    /// For the scope `project`: out of the settings of its first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// Whose settings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpScope {
    User,
    Project,
}

fn of_user() -> McpScope {
    McpScope::User
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpWrittenResult {
    pub name: String,
    pub scope: McpScope,
    pub path: PathBuf,
    /// What is odd about it, and what keeps it from being used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Of the last event that it caused; missing when it changed nothing that is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
    /// The answer of an earlier request with the same key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpLoginParams {
    pub server: String,
    /// As it is there. Missing = where nobody works in a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    /// How long to wait for what was begun. Missing = it is begun, and what was begun before ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 600_000))]
    pub wait_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpLoginResult {
    pub server: String,
    pub state: McpLoginState,
    /// Where a person has to go, of one that was just begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The reason why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How it is with signing in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpLoginState {
    /// Nobody has come back yet, or nobody began.
    Waiting,
    /// Somebody signed in, and the server is tried.
    Done,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpLogoutResult {
    pub server: String,
    /// Somebody had signed in.
    pub was_signed_in: bool,
    /// Whoever issued the tokens took them back.
    pub revoked: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpPromptsParams {
    pub server: String,
    /// As it is there. Missing = where nobody works in a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    /// What this one says; missing = they are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What it is filled in with.
    #[serde(default, skip_serializing_if = "is_default")]
    pub arguments: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpPromptsResult {
    /// Those there are, when none was named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<McpPrompt>,
    /// What the named one says, one message after the other: a run can be started with the texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<MessagePart>,
}

/// A prompt that a server has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpPrompt {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<McpPromptArgument>,
}

/// What a prompt is filled in with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpPromptArgument {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpResourcesResult {
    pub resources: Vec<McpResource>,
}

/// A resource that a server lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpResource {
    pub uri: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// In bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpReadResourceParams {
    pub server: String,
    #[schemars(length(min = 1))]
    pub uri: String,
    /// As it is there. Missing = where nobody works in a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpReadResourceResult {
    /// What is no text and no image, sound or PDF, is described.
    pub parts: Vec<MessagePart>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct McpTemplateParams {
    /// Where it is written to, absolute, in a folder that is there. Missing = it is only answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Another file may be replaced. It goes to the trash.
    pub force: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpTemplateResult {
    /// What the server is called in `entry`.
    pub name: String,
    /// What the file is called: the path, or the usual name.
    pub file: String,
    /// A small server that works: Python, without anything to be installed.
    pub text: String,
    /// What stands in the settings under `mcpServers` for it, as JSON.
    pub entry: String,
    /// Where it was written to; missing when it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}
