//! Parameters and results: what agents are told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{WorkspaceParam, is_default};
use crate::{AgentName, ModelRef, SessionId};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptRenderParams {
    pub agent: AgentName,
    /// As the next run of this session would be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The folder of a new session; missing beside `sessionId`, and where there is no workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    /// Default: the agent's, else the setting `models.default`. Its key is not looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// As a run is told that nobody answers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub headless: bool,
    /// Also answers `systemFile`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub with_system_file: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptRenderResult {
    pub agent: AgentName,
    /// The system prompt. Inputs of the agent that nobody has given yet stand in it as `${name}`.
    pub text: String,
    /// What the workspace says, in a message of the user before the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_message: Option<String>,
    /// In their order; those that are off among them.
    pub parts: Vec<RenderedPart>,
    /// Of all of it, about.
    pub tokens: u64,
    /// What a run would warn of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The daemon's own modules as a file for the setting `prompt.systemFile`, which then says the same bytes. Missing for an
    /// agent without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_file: Option<String>,
}

/// A part of what a run is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderedPart {
    /// A module of the system prompt, or `systemFile`, `body`, `environment`, `skills`, `systemAppend`, `folders`, `memory`,
    /// `skill`.
    pub name: String,
    /// Where its words come from: a file, or who says them.
    pub source: String,
    /// About.
    pub tokens: u64,
    /// The reason why it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<String>,
}
