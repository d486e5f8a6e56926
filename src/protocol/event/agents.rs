//! What followers of the log are told of agents' files.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::{AgentName, AgentRoute, AgentScope, AgentStatus, RunId};

/// Data of `agents.changed`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentsChanged {
    /// The folders of the workspace that brings them along; missing when they are the user's own.
    #[serde(skip_serializing_if = "is_default")]
    pub workspace: Vec<String>,
    pub added: Vec<ChangedAgent>,
    /// Files that say something else than before, and agents that can be started now or cannot any more.
    pub changed: Vec<ChangedAgent>,
    /// As they were.
    pub removed: Vec<ChangedAgent>,
    /// How many more there are that are not listed; `agents/list` has all.
    #[serde(skip_serializing_if = "is_default")]
    pub more: u64,
    /// Where they came from, when a request brought them in from a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<AgentOrigin>,
}

/// What came from a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentOrigin {
    /// As it was given, but for what could be a secret in it.
    pub url: String,
    /// `sha256:<hex>`: of one file over its bytes; of a repository over a line for each file that was taken, in the order of
    /// the paths' bytes: the SHA-256 of its bytes in hexadecimal, two blanks, its path in the repository, a newline. It is
    /// what `sha256sum PATHS | sha256sum` prints of these paths.
    pub digest: String,
    /// Of a repository: the commit, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// An agent's file that came, went or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedAgent {
    pub name: AgentName,
    pub scope: AgentScope,
    /// Missing for built-in agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// SHA-256 of the file's bytes, as `sha256:<hex>`.
    pub digest: String,
    pub status: AgentStatus,
}

/// Data of `route.selected`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteSelected {
    /// The run that begins with the next event of it.
    pub run_id: RunId,
    #[serde(flatten)]
    pub routed: AgentRoute,
}
