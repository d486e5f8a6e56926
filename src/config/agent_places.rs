//! In which places are agents looked for? (spec 12, `agents.places`)

use super::Setting;

/// Which places count, each by its own switch (spec 02, "Places and precedence").
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPlaceSettings {
    /// What a workspace brings along.
    pub project: ProductSettings,
    /// What lies in the user's own folders.
    pub user: ProductSettings,
    pub built_in: Setting<bool>,
}

/// Whose agents count: those in our folder, and those in the folders of other products.
#[derive(Debug, Clone, PartialEq)]
pub struct ProductSettings {
    pub own: Setting<bool>,
    pub gemini: Setting<bool>,
    pub claude: Setting<bool>,
    pub opencode: Setting<bool>,
}

impl Default for AgentPlaceSettings {
    fn default() -> AgentPlaceSettings {
        let all = || ProductSettings {
            own: Setting::default_of(true),
            gemini: Setting::default_of(true),
            claude: Setting::default_of(true),
            opencode: Setting::default_of(true),
        };
        AgentPlaceSettings { project: all(), user: all(), built_in: Setting::default_of(true) }
    }
}
