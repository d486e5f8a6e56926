//! What do the settings say of skills? (spec 08, "Skills")

use super::LayeredSetting;

#[derive(Debug, Clone, PartialEq)]
pub struct SkillSettings {
    /// Names of those that are not used, wherever they lie.
    pub disabled: LayeredSetting<Vec<String>>,
}

impl Default for SkillSettings {
    fn default() -> SkillSettings {
        SkillSettings { disabled: LayeredSetting::default_of(Vec::new()) }
    }
}
