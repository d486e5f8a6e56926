//! What a person's editor shows (spec 08, "IDE context").

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of an editor, as agents are told of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct IdeContext {
    /// The one that was used last first, as the editor has them.
    pub open_files: Vec<IdeFile>,
}

/// A file that is open in an editor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct IdeFile {
    /// Absolute, below a root of the session.
    pub path: PathBuf,
    /// The person looks at it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<IdeCursor>,
    /// At most 16 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected_text: Option<String>,
}

/// A place in a file; both count from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdeCursor {
    pub line: u32,
    pub character: u32,
}
