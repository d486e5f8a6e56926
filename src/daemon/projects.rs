//! What do workspaces bring along when the daemon begins: their agents, the rules in force, and what people trust?

use super::{Settings, reload::without_secrets};
use crate::{
    agents::{Library, PlaceSwitches},
    config::Config,
    project::Projects,
    protocol::WorkspaceTrusted,
    rules::{RuleFiles, RulesInForce},
    store::{Store, StoreError, StoredTrust},
    trust::Trust,
};

/// The rules in force, and what people trust, as files and log have them.
pub(super) async fn projects(settings: &Settings, store: &Store) -> Result<Projects, StoreError> {
    let places = settings.rules.clone();
    // Before anything runs, so nobody waits for this thread; and without the rules nothing may begin.
    let files = RuleFiles::read(&places);
    for problem in without_secrets(files.problems().cloned().collect(), &settings.redactor) {
        tracing::warn!("rules: {problem}");
    }
    let rules = RulesInForce::new(files, store.remembered_rules().await?);
    let mut trust = Trust::default();
    for StoredTrust { workspace, trusted, files } in store.trust().await? {
        let whole = WorkspaceTrusted { workspace, trusted, files: Vec::new(), files_only: false };
        let read = WorkspaceTrusted { files, trusted: true, files_only: true, ..whole.clone() };
        trust.take(&whole);
        trust.take(&read);
    }
    let switches = agent_switches(&settings.config);
    let agents = Library::new(settings.agents.clone(), switches);
    let environment = settings.sources.environment.clone();
    Ok(Projects::new(agents, (places.home, environment), rules, trust))
}

/// Which places of agents count, and which agents do not.
pub(super) fn agent_switches(config: &Config) -> PlaceSwitches {
    let overrides = config.agents.overrides.value.iter();
    let disabled = overrides.filter(|(_, said)| said.enabled == Some(false));
    PlaceSwitches::of(&config.agents.places).without(disabled.map(|(name, _)| name.as_str().into()))
}
