//! Where are hooks looked for, by what do they run, and which of them did a person switch off? (spec 08, "Hooks")

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use agents::AgentCatalog;
use config::{ConfigSources, DaemonConfig};
use hooks::{AgentHooks, HookPlaces, HookPlacesRead, HookSettings};
use project::{Project, ProjectFile, ProjectFileKind};
use protocol::AgentDefinition;
use rules::RulePlaces;
use run::HookConfiguration;
use sandbox::SandboxRules;
use store::{EventStore, StoreError};

/// Under this name the next daemon finds which hooks are off.
const OFF: &str = "hooks.off";

/// The hooks that a person switched off, as the daemon before left it. What cannot be read is no list, so that every hook is on.
pub(super) async fn switched_off(store: &EventStore) -> Result<Vec<String>, StoreError> {
    let note = store.note(OFF).await?;
    Ok(note.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// Notes for the next daemon which hooks are off.
pub(super) async fn note_off(store: &EventStore, off: &[String]) -> Result<(), StoreError> {
    store.leave_note(OFF, serde_json::json!(off).to_string()).await
}

/// The place where hooks are looked for that are no workspace's.
pub(super) fn places_of(
    config: &DaemonConfig,
    sources: &ConfigSources,
    rules: &RulePlaces,
    switched_off: &[String],
) -> HookPlaces {
    let path = sources.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    HookPlaces {
        system_file: Some(sources.files.system.clone()),
        user_file: Some(sources.files.user.clone()),
        home: rules.home.clone(),
        other_products: config.hooks.places.value.clone(),
        roots: Vec::new(),
        program_folders: sys::programs::folders_of_person(path, Some(&rules.home)),
        disable_all: config.hooks.disable_all.value,
        disabled: switched_off.to_vec(),
    }
}

/// Everything that settings and switches say of hooks to runs. `sandbox`: what confines commands.
pub(super) fn configuration(
    config: &DaemonConfig,
    sources: &ConfigSources,
    rules: &RulePlaces,
    (switched_off, sandbox): (&[String], SandboxRules),
) -> HookConfiguration {
    let places = places_of(config, sources, rules, switched_off);
    HookConfiguration {
        places,
        settings: settings(config, sandbox),
        may_approve: config.approval.hooks_may_approve.value,
    }
}

/// The rules by which hooks run, as the settings have it.
fn settings(config: &DaemonConfig, sandbox: SandboxRules) -> HookSettings {
    HookSettings {
        environment: config.hooks.environment.value.clone(),
        http_env: config.hooks.http_env.value.clone(),
        sandbox,
    }
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

/// The hooks that agents of a workspace, and the user's, bring along.
pub(super) fn of_agents(project: &Project) -> Vec<AgentHooks> {
    of_catalog(&project.catalog)
}

/// The same of a catalog.
pub(super) fn of_catalog(catalog: &AgentCatalog) -> Vec<AgentHooks> {
    let hooks = |(definition, file, is_trusted): (&Arc<AgentDefinition>, &Path, bool)| {
        let (agent, hooks) = (definition.name.clone(), definition.hooks.clone()?);
        Some(AgentHooks { agent, file: file.to_owned(), hooks, is_trusted, begun_from: None })
    };
    catalog.with_hooks().filter_map(hooks).collect()
}

/// Absolute folders as canonical paths, those that are there.
pub(super) fn canonical(roots: &[PathBuf]) -> Vec<String> {
    roots.iter().filter_map(|root| trust::canonical(root)).collect()
}
