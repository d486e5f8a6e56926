//! What do the settings say of memory files? (spec 08, "Memory files")

use std::path::PathBuf;

use super::LayeredSetting;

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
