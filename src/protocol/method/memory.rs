//! Parameters and results: memory files.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{WorkspaceParam, is_default};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryFilesParams {
    /// Missing: the user's and the system's files alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    /// Also answers what each file says to runs.
    #[serde(skip_serializing_if = "is_default")]
    pub with_text: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryFilesResult {
    /// The files that are there, the farthest first: where two disagree, the later one counts.
    pub files: Vec<MemoryFileRecord>,
    /// Into which file `save_memory` writes what is for all of the user's work.
    pub user_file: PathBuf,
    /// Into which one for this workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A memory file that is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryFileRecord {
    pub path: PathBuf,
    /// It comes from the workspace; otherwise from the user or the system.
    #[serde(default, skip_serializing_if = "is_default")]
    pub from_workspace: bool,
    pub state: MemoryFileUse,
    /// The reason why it is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// On the disk.
    pub bytes: u64,
    /// The tokens of its text with what it imports, about.
    pub tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The use of a memory file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MemoryFileUse {
    /// Runs are told what it says.
    Used,
    /// Another one of its folder counts, or says the same.
    Shadowed,
    /// Nobody has trusted its workspace.
    Untrusted,
    /// It cannot be read, or is no text.
    Skipped,
    /// There was no room for it.
    Dropped,
    /// It lies in a sub-folder: a run is told what it says with its first call that comes there.
    Below,
}
