//! What is wrong with hooks, so that somebody would believe in a guard that is none? For whoever checks settings, agents and
//! workspaces.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::task::JoinError;

use super::{discovery::foreign_known, hook_places, redaction::without_secrets};
use crate::{
    daemon_services::DaemonServices, discovery::ToolDiscovery, hook_control::HookControl,
    settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use agents::AgentCatalog;
use config::{ConfigSources, DaemonConfig, UNREADABLE_FILE_EFFECT};
use hooks::{HookPlaces, KnownTools, read_hooks};
use project::Project;
use protocol::{FileProblem, ProblemSeverity};
use rules::RulePlaces;
use trust::TrustRecords;

/// The services by which hooks are looked at.
#[derive(Clone)]
pub(super) struct HookInspection {
    settings: Arc<SettingsInForce>,
    workspaces: Arc<WorkspaceSources>,
    hooks: Arc<HookControl>,
    discovery: ToolDiscovery,
}

impl HookInspection {
    pub fn of(services: &DaemonServices) -> HookInspection {
        let DaemonServices { settings, workspaces, hooks, .. } = services.clone();
        let discovery = ToolDiscovery::of(services);
        HookInspection { settings, workspaces, hooks, discovery }
    }
}

/// Everything that a call may be of in a workspace.
pub(super) fn known_tools(discovery: &ToolDiscovery, project: &Project) -> KnownTools {
    KnownTools {
        agents: project.catalog.definitions().map(|agent| agent.name.clone()).collect(),
        tools: foreign_known(discovery, project)
            .tools()
            .map(|tool| tool.declaration().name.clone())
            .collect(),
    }
}

/// Everything that is wrong with the hooks that hold in every workspace, without secrets: of the settings, and of the user's agents.
pub(super) async fn problems_in_force(state: &HookInspection) -> Result<Vec<FileProblem>, JoinError> {
    let read = state.hooks.of(Vec::new()).await?;
    let project = state.workspaces.project(Vec::new()).await?;
    Ok(without_secrets(
        read.all_problems(&known_tools(&state.discovery, &project)),
        &state.settings.redactor.get(),
    ))
}

/// Files of settings as they are now in which nobody can tell which hooks there are, so that nothing is accepted; without secrets.
pub(super) async fn unreadable_files(state: &HookInspection) -> Result<Vec<FileProblem>, JoinError> {
    let read = state.hooks.of(Vec::new()).await?;
    let found = read.problems.iter().filter(|it| stops_all(it)).cloned().collect();
    Ok(without_secrets(found, &state.settings.redactor.get()))
}

/// True if it says that nothing is accepted because of it.
fn stops_all(problem: &FileProblem) -> bool {
    problem.fix.as_ref().is_some_and(|fix| fix.contains(UNREADABLE_FILE_EFFECT))
}

const MENDED_SINCE: &str = "it can be read now: `subagent reload` takes its settings in";

/// What was wrong when the settings were read, without what no longer comes of it: a file that was mended since stops nothing, though its
/// settings wait for a reload. `unreadable`: what is as it says now, see [`unreadable_files`].
pub(super) fn as_of_now(problems: &[FileProblem], unreadable: &[FileProblem]) -> Vec<FileProblem> {
    let is_still = |it: &FileProblem| unreadable.iter().any(|now| now.path == it.path);
    let told = |it: &FileProblem| match stops_all(it) && !is_still(it) {
        true => FileProblem { fix: Some(MENDED_SINCE.to_owned()), ..it.clone() },
        false => it.clone(),
    };
    problems.iter().map(told).collect()
}

/// Acknowledged folders whose hooks are looked at.
const MOST_FOLDERS: usize = 200;

/// Mistakes that are told.
const MOST_PROBLEMS: usize = 100;

/// Everything that is wrong with the hooks of folders that people acknowledged, and of these, whether anybody has. All of it warns only: it
/// holds in its own folder.
pub(super) async fn problems_of_projects(
    state: &HookInspection,
    folders: &[String],
) -> Result<Vec<FileProblem>, JoinError> {
    let mut roots = folders.to_vec();
    let trust = state.workspaces.projects.trust();
    let trusted =
        trust.workspaces().filter(|(root, is_trusted)| *is_trusted && !folders.iter().any(|it| it == root));
    roots.extend(trusted.take(MOST_FOLDERS).map(|(root, _)| root.to_owned()));
    let mut problems = Vec::new();
    for root in roots {
        if MOST_PROBLEMS <= problems.len() {
            break;
        }
        if !tokio::fs::metadata(&root).await.is_ok_and(|it| it.is_dir()) {
            continue;
        }
        let read = state.hooks.of(vec![root.clone()]).await?;
        let project = state.workspaces.project(vec![PathBuf::from(&root)]).await?;
        let found = read.all_problems(&known_tools(&state.discovery, &project));
        problems.extend(found.into_iter().filter(|it| is_of_folder(&it.path, &root)).map(warning));
    }
    problems.truncate(MOST_PROBLEMS);
    Ok(without_secrets(problems, &state.settings.redactor.get()))
}

/// True of a file in which a folder of somebody's work has hooks. A home may be one, and has the person's own settings below it.
fn is_of_folder(file: &Path, root: &str) -> bool {
    const PLACES: &[&str] = &[".subagentd", ".claude", ".codex"];
    let below = file.strip_prefix(root).ok();
    below.is_some_and(|below| PLACES.iter().any(|place| below.starts_with(place)))
}

fn warning(problem: FileProblem) -> FileProblem {
    FileProblem { severity: ProblemSeverity::Warning, ..problem }
}

/// The same of all where no daemon runs. `folder`: the hooks of that are looked at, too, though nobody has acknowledged them.
pub(super) fn problems_at_start(
    config: &DaemonConfig,
    sources: &ConfigSources,
    rules: &RulePlaces,
    (agents, folder): (&AgentCatalog, Option<&Path>),
) -> Vec<FileProblem> {
    let root = folder.and_then(trust::canonical);
    let roots = root.iter().cloned().collect();
    let places = HookPlaces { roots, ..hook_places::places_of(config, sources, rules, &[]) };
    let read = read_hooks(&places, &hook_places::of_catalog(agents), &TrustRecords::default());
    let agents = agents.definitions().map(|agent| agent.name.clone()).collect();
    let is_of_folder = |it: &FileProblem| root.as_ref().is_some_and(|root| is_of_folder(&it.path, root));
    let found = read.all_problems(&KnownTools { agents, tools: Vec::new() }).into_iter();
    found.map(|it| if is_of_folder(&it) { warning(it) } else { it }).collect()
}
