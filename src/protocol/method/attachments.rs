//! What somebody gives a run beside a prompt of theirs: files, bytes, what MCP servers have (spec 01, `attachments`; spec 07,
//! "Prompts are listed and can start a run").

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of `{path}`, `{mimeType, data}` and `{server, uri}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptAttachment {
    /// A file of the run's workspace: absolute, or below its first folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What `data` is, e.g. `image/png`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// In base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// An MCP server that can be used in the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Of a resource of `server`, as `mcp/resources` lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

/// A prompt that an MCP server has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerPrompt {
    /// An MCP server that can be used in the workspace.
    pub server: String,
    /// As `mcp/prompts` lists it.
    pub name: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
}
