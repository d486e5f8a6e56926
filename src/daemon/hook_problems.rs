//! What is wrong with hooks, so that somebody would believe in a guard that is none? For whoever checks settings, agents and
//! workspaces.

use tokio::task::JoinError;

use super::{discovery::foreign_known, hook_places, redaction::without_secrets, state::DaemonContext};
use agents::AgentCatalog;
use config::{ConfigSources, DaemonConfig};
use hooks::{KnownTools, read_hooks};
use project::Project;
use protocol::FileProblem;
use rules::RulePlaces;
use trust::TrustRecords;

/// Everything that a call may be of in a workspace.
pub(super) fn known_tools(state: &DaemonContext, project: &Project) -> KnownTools {
    KnownTools {
        agents: project.catalog.definitions().map(|agent| agent.name.clone()).collect(),
        tools: foreign_known(state, project).tools().map(|tool| tool.declaration().name.clone()).collect(),
    }
}

/// Everything that is wrong with the hooks that hold in every workspace, without secrets: of the settings, and of the user's agents.
pub(super) async fn problems_in_force(state: &DaemonContext) -> Result<Vec<FileProblem>, JoinError> {
    let read = state.hooks_of(Vec::new()).await?;
    let project = state.project(Vec::new()).await?;
    Ok(without_secrets(read.all_problems(&known_tools(state, &project)), &state.redactor.get()))
}

/// The same where no daemon runs.
pub(super) fn problems_at_start(
    config: &DaemonConfig,
    sources: &ConfigSources,
    rules: &RulePlaces,
    agents: &AgentCatalog,
) -> Vec<FileProblem> {
    let places = hook_places::places_of(config, sources, rules, &[]);
    let read = read_hooks(&places, &hook_places::of_catalog(agents), &TrustRecords::default());
    let agents = agents.definitions().map(|agent| agent.name.clone()).collect();
    read.all_problems(&KnownTools { agents, tools: Vec::new() })
}
