//! Which settings are in force, what were they read from, and what is hidden by them?

use std::{path::PathBuf, sync::Arc};

use tokio::sync::Mutex;

use config::{ConfigSources, DaemonConfig};
use models::ModelRegistry;
use protocol::FileProblem;
use redact::{KnownSecrets, Redactor};
use rules::RulePlaces;
use sys::current::HotSwap;
use tools::OwnFiles;

/// The settings, as one value.
pub(super) struct ActiveSettings {
    pub config: DaemonConfig,
    /// What is wrong in them, without secrets; shown as degraded.
    pub problems: Vec<FileProblem>,
    pub models: ModelRegistry,
}

/// The settings as they count now, and everything that is swapped with them.
pub(super) struct SettingsInForce {
    current: HotSwap<ActiveSettings>,
    /// Held by whoever reads them, or the rules, anew.
    pub changes: Mutex<()>,
    /// Takes secrets out of whatever is going to be stored or shown; swapped with the settings.
    pub redactor: Arc<HotSwap<Redactor>>,
    /// Who may connect besides the owner (setting `access.allowUids`); swapped with the settings.
    pub allowed_uids: Arc<HotSwap<Vec<u32>>>,
    /// Secrets that were read.
    pub secrets: KnownSecrets,
    /// The files and the environment that settings are read from.
    pub sources: Arc<ConfigSources>,
    pub rule_places: RulePlaces,
    /// Which files are the daemon's own, or named by the settings.
    pub own_files: OwnFiles,
    /// The database, artifacts, trash.
    pub state_dir: PathBuf,
}

/// The part of the settings that stays as long as the daemon.
pub(super) struct SettingsGround {
    pub secrets: KnownSecrets,
    pub sources: ConfigSources,
    pub rule_places: RulePlaces,
    pub own_files: OwnFiles,
    pub state_dir: PathBuf,
}

impl SettingsInForce {
    pub fn new(settings: ActiveSettings, redactor: Redactor, ground: SettingsGround) -> SettingsInForce {
        let SettingsGround { secrets, sources, rule_places, own_files, state_dir } = ground;
        SettingsInForce {
            redactor: Arc::new(HotSwap::new(redactor)),
            allowed_uids: Arc::new(HotSwap::new(settings.config.access.allow_uids.value.clone())),
            current: HotSwap::new(settings),
            changes: Mutex::default(),
            secrets,
            sources: Arc::new(sources),
            rule_places,
            own_files,
            state_dir,
        }
    }

    /// The settings of this moment. Whoever begins something takes them once and keeps what they said.
    pub fn get(&self) -> Arc<ActiveSettings> {
        self.current.get()
    }

    /// Puts others in force, whole.
    pub fn replace(&self, settings: ActiveSettings) {
        self.current.replace(settings);
    }
}
