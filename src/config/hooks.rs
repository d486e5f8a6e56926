//! What do the settings say of hooks, beside the hooks themselves? (spec 08, "Hooks")
//!
//! The events in the section `hooks` are read where hooks are.

use super::LayeredSetting;

/// The section that has hooks by their events, and settings about them.
pub(super) const SECTION: &str = "hooks";

/// Products whose own files of hooks can count.
pub(super) const PRODUCTS: &[&str] = &["claude", "codex"];

/// The place where hooks are looked for, and what they get.
#[derive(Debug, Clone, PartialEq)]
pub struct HookRules {
    /// Products whose files in the home count: `claude`, `codex`.
    pub places: LayeredSetting<Vec<String>>,
    /// Variables that hooks get beside the usual ones.
    pub environment: LayeredSetting<Vec<String>>,
    /// Variables that a project's hooks may send in headers.
    pub http_env: LayeredSetting<Vec<String>>,
    /// All hooks but the system's rest.
    pub disable_all: LayeredSetting<bool>,
}

impl Default for HookRules {
    fn default() -> HookRules {
        HookRules {
            places: LayeredSetting::default_of(Vec::new()),
            environment: LayeredSetting::default_of(Vec::new()),
            http_env: LayeredSetting::default_of(Vec::new()),
            disable_all: LayeredSetting::default_of(false),
        }
    }
}
