//! What do the settings say of memory files? (spec 08, "Memory files")

use std::path::PathBuf;

use jsonc_parser::ast::Value;
use serde_json::{Value as Json, json};

use super::{
    LayeredSetting,
    shapes::{SettingShape, ShapeError},
};

#[derive(Debug, Clone, PartialEq)]
pub struct MemorySettings {
    /// Names of memory files; in one folder the first that is there counts.
    pub files: LayeredSetting<Vec<String>>,
    /// Every one of them counts.
    pub all_of_folder: LayeredSetting<bool>,
    /// Further files of the user; from the root, or from the home (`~/`).
    pub user_files: LayeredSetting<Vec<PathBuf>>,
}

impl Default for MemorySettings {
    fn default() -> MemorySettings {
        let files = ["AGENTS.md", "GEMINI.md", "CLAUDE.md"].map(str::to_owned).into();
        MemorySettings {
            files: LayeredSetting::default_of(files),
            all_of_folder: LayeredSetting::default_of(false),
            user_files: LayeredSetting::default_of(Vec::new()),
        }
    }
}

/// A file's name, without a folder.
pub(super) struct FileNameShape;

impl SettingShape for FileNameShape {
    type Out = String;

    fn read(&self, value: &Value<'_>) -> Result<String, ShapeError> {
        let name = value.as_string_lit().ok_or(ShapeError::WrongType)?.value.trim();
        let says_something = name.chars().any(|letter| !letter.is_whitespace() && letter != '.');
        let is_name = says_something && !name.contains('/');
        if is_name { Ok(name.to_owned()) } else { Err(ShapeError::BadValue) }
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "pattern": r"^[^/]*[^/\s.][^/]*$" })
    }

    fn is_text(&self) -> bool {
        true
    }
}
