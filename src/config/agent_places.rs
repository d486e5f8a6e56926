//! In which places are agents looked for? (spec 12, `agents.places`)

use super::LayeredSetting;

/// Which places count, each by its own switch (spec 02, "Places and precedence").
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPlaceSettings {
    /// What a workspace brings along.
    pub project: ProductSettings,
    /// What lies in the user's own folders.
    pub user: ProductSettings,
    pub built_in: LayeredSetting<bool>,
}

/// Whose agents count: those in our folder, and those in the folders of other products.
#[derive(Debug, Clone, PartialEq)]
pub struct ProductSettings {
    pub own: LayeredSetting<bool>,
    pub gemini: LayeredSetting<bool>,
    pub claude: LayeredSetting<bool>,
    pub opencode: LayeredSetting<bool>,
}

impl Default for AgentPlaceSettings {
    fn default() -> AgentPlaceSettings {
        let all = || ProductSettings {
            own: LayeredSetting::default_of(true),
            gemini: LayeredSetting::default_of(true),
            claude: LayeredSetting::default_of(true),
            opencode: LayeredSetting::default_of(true),
        };
        AgentPlaceSettings { project: all(), user: all(), built_in: LayeredSetting::default_of(true) }
    }
}
