//! What followers of the log are told of servers of the Model Context Protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::{AgentName, ExtensionRef, ToolName};

/// Whether a server can be used (spec 07).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpState {
    /// Somebody switched it off, or its entry is.
    Disabled,
    /// The settings do not allow it.
    Blocked,
    /// A workspace's own settings name it, which nobody has acknowledged as they are.
    Untrusted,
    /// Nobody needs it; it is started when somebody does.
    Idle,
    Connecting,
    Ready,
    /// It is away, and is not tried again by itself: its entry is wrong, or nobody needs it any more.
    Failed,
    /// It is away, and is tried again soon.
    Backoff,
}

/// Data of `mcp.serverState`. States that a server had for a moment only may be left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerStateChanged {
    pub server: String,
    /// Whose run has it for itself; missing for one that is shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The extension that brings it along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionRef>,
    /// The folders of the workspace that it serves.
    pub workspace: Vec<String>,
    pub state: McpState,
    /// The reason why it is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Data of `run.toolsChanged`: which of the run's tools are other ones from its next model call on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunToolsChanged {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<ToolName>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<ToolName>,
    /// The same names with another description, other parameters or another risk.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ToolName>,
}

/// Data of `mcp.toolsChanged`: what runs that begin from now on may be given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolsChanged {
    pub server: String,
    /// Whose run has it for itself; missing for one that is shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The extension that brings it along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionRef>,
    /// The folders of the workspace that it serves.
    pub workspace: Vec<String>,
    /// All that it has now.
    pub tools: Vec<ToolName>,
    /// How many more there are that are not listed; `mcp/status` has all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more: u64,
}
