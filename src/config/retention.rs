//! What do the settings say of how long sessions are kept? (spec 10, "Retention")

use super::LayeredSetting;

/// Bounds of what the database keeps; `None` = no bound, which is what holds where nobody says anything.
#[derive(Debug, Clone, PartialEq)]
pub struct RetentionSettings {
    /// Days that a session is kept after its last run.
    pub max_age_days: LayeredSetting<Option<u64>>,
    /// Sessions, the ones that were active last.
    pub max_sessions: LayeredSetting<Option<u64>>,
    /// Bytes of the database and of the outputs of tools beside it.
    pub max_bytes: LayeredSetting<Option<u64>>,
}

impl Default for RetentionSettings {
    fn default() -> RetentionSettings {
        RetentionSettings {
            max_age_days: LayeredSetting::default_of(None),
            max_sessions: LayeredSetting::default_of(None),
            max_bytes: LayeredSetting::default_of(None),
        }
    }
}
