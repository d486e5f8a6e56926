//! Parameters and results: what a person's editor shows.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{IdeFile, SessionId};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdeContextUpdateParams {
    /// Runs of this session are told.
    pub session_id: SessionId,
    /// All that are open, at most 10; in place of what was said before. None: the editor shows nothing.
    #[serde(default)]
    pub open_files: Vec<IdeFile>,
    /// The editor's person trusts the workspace. Otherwise nothing of this is told.
    #[serde(default)]
    pub trusted: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdeContextUpdateResult {
    /// The number of files that runs are told of.
    pub files: u32,
    /// Files that they are not told of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<OmittedIdeFile>,
}

/// Something that was left out, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OmittedIdeFile {
    /// The file; missing = all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    pub reason: String,
}
