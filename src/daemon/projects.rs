//! What do workspaces bring along when the daemon begins: their agents, the rules in force, and what people trust?

use std::{collections::BTreeSet, sync::Arc};

use super::{DaemonSettings, redaction::without_secrets};
use agents::{AgentFileCache, PlaceSwitches};
use config::DaemonConfig;
use extensions::ExtensionLibrary;
use project::ProjectReader;
use protocol::WorkspaceTrusted;
use rules::{RuleFiles, RulesInForce};
use skills::SkillReader;
use store::{EventStore, StoreError, StoredTrust};
use trust::TrustRecords;

/// The rules in force, and what people trust, as files and log have them.
pub(super) async fn projects(
    settings: &DaemonSettings,
    store: &EventStore,
    extensions: ExtensionLibrary,
) -> Result<ProjectReader, StoreError> {
    let places = settings.rules.clone();
    // Before anything runs, so nobody waits for this thread; and without the rules nothing may begin.
    let files = RuleFiles::read(&places);
    for problem in without_secrets(files.problems().cloned().collect(), &settings.redactor) {
        tracing::warn!("rules: {problem}");
    }
    let rules = RulesInForce::new(files, store.remembered_rules().await?);
    let mut trust = TrustRecords::default();
    for StoredTrust { workspace, trusted, files } in store.trust().await? {
        let whole = WorkspaceTrusted { workspace, trusted, files: Vec::new(), files_only: false };
        let read = WorkspaceTrusted { files, trusted: true, files_only: true, ..whole.clone() };
        trust.take(&whole);
        trust.take(&read);
    }
    let switches = agent_switches(&settings.config);
    let agents = AgentFileCache::new(settings.agents.clone(), switches);
    let environment = settings.sources.environment.clone();
    let skills = SkillReader::new(settings.skills.clone());
    skills.disable(disabled_skills(&settings.config));
    skills.bring_extensions(Arc::new(move || extensions.skills()));
    Ok(ProjectReader::new(agents, (places.home, environment), (rules, skills), trust))
}

/// The skills that the settings switch off.
pub(super) fn disabled_skills(config: &DaemonConfig) -> BTreeSet<String> {
    config.skills.disabled.value.iter().cloned().collect()
}

/// Which places of agents count, and which agents do not.
pub(super) fn agent_switches(config: &DaemonConfig) -> PlaceSwitches {
    let overrides = config.agents.overrides.value.iter();
    let disabled = overrides.filter(|(_, said)| said.enabled == Some(false));
    PlaceSwitches::of(&config.agents.places).without(disabled.map(|(name, _)| name.as_str().into()))
}
