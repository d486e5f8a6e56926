//! Which hooks are asked, which did a person switch off, and how are they run by hand?

use std::{path::PathBuf, sync::Arc};

use tokio::{sync::Mutex, task::JoinError};

use super::{
    hook_places, run_defaults::command_rules, settings_in_force::SettingsInForce,
    workspace_sources::WorkspaceSources,
};
use config::DaemonConfig;
use hooks::{HookPlacesRead, HookRunner};
use run::HooksInForce;
use store::{EventStore, StoreError};
use sys::current::HotSwap;

/// The hooks of settings, workspaces and agents.
pub(super) struct HookControl {
    /// Everything that people wrote beside the settings, to be asked at points of runs.
    pub in_force: HooksInForce,
    /// Runs hooks by hand.
    pub runner: HookRunner,
    /// Ids of those that a person switched off.
    pub switched_off: HotSwap<Vec<String>>,
    /// Held by whoever switches one.
    pub changes: Mutex<()>,
    store: EventStore,
    settings: Arc<SettingsInForce>,
    workspaces: Arc<WorkspaceSources>,
}

impl HookControl {
    pub fn new(
        (in_force, runner): (HooksInForce, HookRunner),
        switched_off: Vec<String>,
        store: EventStore,
        settings: Arc<SettingsInForce>,
        workspaces: Arc<WorkspaceSources>,
    ) -> HookControl {
        let switched_off = HotSwap::new(switched_off);
        let changes = Mutex::default();
        HookControl { in_force, runner, switched_off, changes, store, settings, workspaces }
    }

    /// Switches a hook on or off, for this daemon and the next. Whoever asks holds [`HookControl::changes`].
    pub async fn switch(&self, id: &str, enabled: bool) -> Result<(), StoreError> {
        let mut off: Vec<String> = (*self.switched_off.get()).clone();
        off.retain(|other| other != id);
        if !enabled {
            off.push(id.to_owned());
        }
        hook_places::note_off(&self.store, &off).await?;
        self.switched_off.replace(off);
        self.configure(&self.settings.get().config);
        Ok(())
    }

    /// Takes what these settings, and the switches, say of hooks from now on.
    pub fn configure(&self, config: &DaemonConfig) {
        let off = self.switched_off.get();
        let sandbox = command_rules(config).confinement;
        let (sources, rules) = (&self.settings.sources, &self.settings.rule_places);
        self.in_force.replace(hook_places::configuration(config, sources, rules, (&off, sandbox)));
    }

    /// The hooks of a workspace with these canonical folders, as they are now.
    pub async fn of(&self, roots: Vec<String>) -> Result<Arc<HookPlacesRead>, JoinError> {
        let (hooks, projects) = (self.in_force.clone(), self.workspaces.projects.clone());
        let reading = move || {
            let folders: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
            let project = projects.load(&folders);
            hooks.read(&roots, &hook_places::of_agents(&project))
        };
        tokio::task::spawn_blocking(reading).await
    }
}
