//! Where are hooks looked for, by what do they run, and which of them did a person switch off? (spec 08, "Hooks")

use std::{path::PathBuf, sync::Arc};

use super::{run_defaults, state::DaemonContext};
use config::{ConfigSources, DaemonConfig};
use hooks::{HookPlaces, HookPlacesRead, HookSettings};
use project::{ProjectFile, ProjectFileKind};
use rules::RulePlaces;
use run::HookConfiguration;
use store::{EventStore, StoreError};

/// Under this name the next daemon finds which hooks are off.
const OFF: &str = "hooks.off";

/// The hooks that a person switched off, as the daemon before left it. What cannot be read is no list, so that every hook is on.
pub(super) async fn switched_off(store: &EventStore) -> Result<Vec<String>, StoreError> {
    let note = store.note(OFF).await?;
    Ok(note.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// Switches a hook on or off, for this daemon and the next. Whoever asks sees to it that nobody else does meanwhile.
pub(super) async fn switch(state: &DaemonContext, id: &str, enabled: bool) -> Result<(), StoreError> {
    let mut off: Vec<String> = (*state.hooks_off.get()).clone();
    off.retain(|other| other != id);
    if !enabled {
        off.push(id.to_owned());
    }
    state.store.leave_note(OFF, serde_json::json!(off).to_string()).await?;
    let settings = state.settings.get();
    let now = configuration(&settings.config, &state.sources, &state.rule_places, &off);
    state.hooks_off.replace(off);
    state.hooks.replace(now);
    Ok(())
}

/// Where hooks of a workspace with these canonical folders are looked for now.
pub(super) fn places(state: &DaemonContext, roots: Vec<String>) -> HookPlaces {
    let settings = state.settings.get();
    let off = state.hooks_off.get();
    HookPlaces { roots, ..places_of(&settings.config, &state.sources, &state.rule_places, &off) }
}

/// The same without the folders of any workspace.
pub(super) fn places_of(
    config: &DaemonConfig,
    sources: &ConfigSources,
    rules: &RulePlaces,
    switched_off: &[String],
) -> HookPlaces {
    HookPlaces {
        system_file: Some(sources.files.system.clone()),
        user_file: Some(sources.files.user.clone()),
        home: rules.home.clone(),
        other_products: config.hooks.places.value.clone(),
        roots: Vec::new(),
        disable_all: config.hooks.disable_all.value,
        disabled: switched_off.to_vec(),
    }
}

/// What settings and switches say of hooks to runs.
pub(super) fn configuration(
    config: &DaemonConfig,
    sources: &ConfigSources,
    rules: &RulePlaces,
    switched_off: &[String],
) -> HookConfiguration {
    HookConfiguration { places: places_of(config, sources, rules, switched_off), settings: settings(config) }
}

/// By what hooks run, as the settings have it.
pub(super) fn settings(config: &DaemonConfig) -> HookSettings {
    HookSettings {
        environment: config.hooks.environment.value.clone(),
        http_env: config.hooks.http_env.value.clone(),
        sandbox: run_defaults::command_rules(config).confinement,
    }
}

/// The hooks of a workspace with these canonical folders, as they are now.
pub(super) async fn read(
    state: &Arc<DaemonContext>,
    roots: Vec<String>,
) -> Result<Arc<HookPlacesRead>, tokio::task::JoinError> {
    let (library, places, trust) = (state.hook_library.clone(), places(state, roots), state.projects.trust());
    tokio::task::spawn_blocking(move || library.current(&places, &[], &trust)).await
}

/// The workspace's files that run something by hooks, as a person who may acknowledge them is told of them.
pub(super) fn files(read: &HookPlacesRead) -> impl Iterator<Item = ProjectFile> {
    read.project_files.iter().map(|file| ProjectFile {
        root: file.root.clone(),
        path: file.path.clone(),
        digest: file.digest.clone(),
        consent: file.consent,
        kind: if file.has_hooks { ProjectFileKind::Hooks } else { ProjectFileKind::Program },
        effects: file.effects.clone(),
        // Of a program it is said where it is run.
        unasked: if file.has_hooks { file.effects.clone() } else { Vec::new() },
        marks: file.guards.clone(),
    })
}

/// Absolute folders as canonical paths, those that are there.
pub(super) fn canonical(roots: &[PathBuf]) -> Vec<String> {
    roots.iter().filter_map(|root| trust::canonical(root)).collect()
}
