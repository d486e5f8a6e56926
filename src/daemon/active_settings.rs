//! Which settings are in force?

use config::DaemonConfig;
use models::ModelRegistry;
use protocol::FileProblem;

/// What the settings say, as one.
pub(super) struct ActiveSettings {
    pub config: DaemonConfig,
    /// What is wrong in them, without secrets; shown as degraded.
    pub problems: Vec<FileProblem>,
    pub models: ModelRegistry,
}
