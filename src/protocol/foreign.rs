//! Tools that are no part of the daemon: told by a workspace's own command, of MCP servers, or lent by clients (spec 05,
//! "Discovery by command"; 07; 01, `tools/register`).

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ClientId, McpServerTools, SessionId, ToolDeclaration, ToolName};

/// Where a tool comes from, in the order of listings and declarations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ToolSource {
    /// It is part of the daemon.
    Builtin,
    /// It is an agent, whose run answers the call.
    Agent,
    /// The command `tools.discoveryCommand` told of it.
    Discovered,
    /// A server that speaks the Model Context Protocol has it.
    Mcp,
    /// A client lends it.
    Client,
}

impl ToolSource {
    /// The spelling on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolSource::Builtin => "builtin",
            ToolSource::Agent => "agent",
            ToolSource::Discovered => "discovered",
            ToolSource::Mcp => "mcp",
            ToolSource::Client => "client",
        }
    }
}

/// The tools from elsewhere that a run was planned with. It keeps them as they were then, also after a restart; what is
/// behind them may have gone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ForeignTools {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovered: Option<DiscoveredTools>,
    /// By server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp: Vec<McpServerTools>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lent: Vec<RegisteredClientTool>,
}

impl ForeignTools {
    pub fn is_empty(&self) -> bool {
        self.discovered.is_none() && self.mcp.is_empty() && self.lent.is_empty()
    }
}

/// What one command told of one workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveredTools {
    pub commands: DiscoveryCommands,
    /// Where both commands run.
    pub directory: PathBuf,
    pub tools: Vec<DiscoveredTool>,
    /// Files of the workspace that the commands name, as they were when they were run: nothing else is run in their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramDigest>,
}

/// A file that is run, as a person acknowledged it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramDigest {
    /// Absolute, without links.
    pub path: PathBuf,
    /// `sha256:<hex>`.
    pub digest: String,
}

/// The command that tells tools, and the one that calls them; each as its setting has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DiscoveryCommands {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovery: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// One tool, as its command told it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveredTool {
    /// As its own command knows it.
    pub name: String,
    pub description: String,
    /// JSON Schema (2020-12) of the arguments.
    pub parameters: Value,
}

/// What the names of discovered tools begin with.
pub const DISCOVERED_PREFIX: &str = "discovered_";

impl DiscoveredTool {
    /// As everybody but its own command knows it.
    pub fn canonical_name(&self) -> ToolName {
        ToolName::from(format!("{DISCOVERED_PREFIX}{}", self.name))
    }
}

/// What becomes of a call when the client that was to answer it goes away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnDisconnect {
    /// It waits until the same client is back and lends the tool again, and is told to it again; also after a restart of
    /// the daemon.
    Wait,
    /// It ends in an error that says so; after a restart of the daemon as `INTERRUPTED`.
    #[default]
    Fail,
}

/// A tool that a client lends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredClientTool {
    pub declaration: ToolDeclaration,
    pub client: ClientId,
    /// The session it is lent to; `None` = every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    pub on_disconnect: OnDisconnect,
    /// How long the client may take for one call.
    pub timeout_ms: u64,
}

/// What a client must know to answer a call, as the call was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientToolCall {
    /// Canonical.
    pub name: ToolName,
    pub client: ClientId,
    pub arguments: Value,
    pub on_disconnect: OnDisconnect,
    pub timeout_ms: u64,
}
