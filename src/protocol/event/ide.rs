//! What is told of a person's editor.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdeContextShared {
    /// The text that the model reads.
    pub text: String,
    /// All that the editor shows; otherwise what has changed since the context was told last.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub full: bool,
    /// Files that are open in the editor.
    pub files: u32,
}
