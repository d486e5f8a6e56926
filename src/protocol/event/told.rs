//! What a run is told before its first message, by where it comes from: places and sizes, never texts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sources of what a run is told before its first message. It keeps what it was told, whatever becomes of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptSources {
    pub system_prompt: SystemPromptSource,
    /// The memory files that it is told, in their order, each with what it imports behind it; the first 64. Files of sub-folders are told later, with the
    /// first call that comes there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<PromptFile>,
    /// The number of further ones.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_memory: u64,
    /// The skills that it begins with.
    #[serde(skip_serializing_if = "is_zero")]
    pub skills: u64,
}

/// The system prompt of a run, without its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SystemPromptSource {
    /// `modules`: the daemon's own. `file`: a file in their place. `agent`: neither.
    pub source: String,
    /// That file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub bytes: u64,
    /// The text of the agent's own file stands in it, too, with `modules` and `file`.
    #[serde(skip_serializing_if = "is_false")]
    pub has_agent_text: bool,
    /// It ends with the `systemAppend` of the session.
    #[serde(skip_serializing_if = "is_false")]
    pub has_system_append: bool,
    /// SHA-256 of it as the model reads it, as `sha256:<hex>`. Only traces of full content have it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
}

/// A file that a run is told, without its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptFile {
    /// `memory`, or `import`: a file that one of these imports, whose size and digest are in that one's.
    pub kind: String,
    /// Absolute.
    pub path: String,
    /// The file that imports it, with `import`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Bytes of what is told of it, with what it imports.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// SHA-256 of that as the model reads it, as `sha256:<hex>`. Only traces of full content have it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(it: &bool) -> bool {
    !it
}
