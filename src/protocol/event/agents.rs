//! What followers of the log are told of agents' files.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::protocol::{AgentName, AgentScope, AgentStatus, Routed, RunId};

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
    pub routed: Routed,
}
