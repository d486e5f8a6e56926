//! What is wrong in the settings and rules in force, and in those of the projects that people acknowledged?

use std::{path::PathBuf, sync::Arc};

use tokio::task::JoinError;

use super::{
    daemon_services::DaemonServices,
    discovery::{self, ToolDiscovery},
    hook_problems::HookInspection,
    redaction::without_secrets,
    settings_in_force::SettingsInForce,
    workspace_sources::WorkspaceSources,
};
use config::{SetAt, problem};
use protocol::{FileProblem, FileProblemCode, ProblemSeverity};
use run::RunExecutor;

const EXCLUDE: &str = "tools.exclude";

/// The services by which problems of settings are found.
#[derive(Clone)]
pub(super) struct SettingsProblems {
    pub settings: Arc<SettingsInForce>,
    pub executor: RunExecutor,
    pub workspaces: Arc<WorkspaceSources>,
    pub discovery: ToolDiscovery,
    pub inspection: HookInspection,
}

impl SettingsProblems {
    pub fn of(services: &DaemonServices) -> SettingsProblems {
        let DaemonServices { settings, executor, workspaces, .. } = services.clone();
        let discovery = ToolDiscovery::of(services);
        let inspection = HookInspection::of(services);
        SettingsProblems { settings, executor, workspaces, discovery, inspection }
    }
}

/// Entries of `tools.exclude` that keep no tool from anybody: slips, mostly.
pub(super) async fn idle_exclusions(state: &SettingsProblems) -> Result<Vec<FileProblem>, JoinError> {
    let project = state.workspaces.project(Vec::new()).await?;
    let registry = state.executor.registry(&project, discovery::foreign_known(&state.discovery, &project));
    let config = &state.settings.get().config;
    let (path, mark) = match config.set_at.get(EXCLUDE) {
        Some(SetAt::File { path, mark }) => (path.clone(), Some(*mark)),
        Some(elsewhere) => (elsewhere.told().into(), None),
        None => (PathBuf::from("settings"), None),
    };
    let redactor = state.settings.redactor.get();
    let found = config.tools.exclude.value.iter().filter_map(|entry| {
        let message = format!("`{EXCLUDE}`: {}", registry.explain_idle(entry)?);
        let found = problem(&path, mark, FileProblemCode::BadValue, redactor.owned(message));
        Some(FileProblem { severity: ProblemSeverity::Warning, ..found })
    });
    Ok(found.collect())
}

/// What is wrong with the rules and settings of projects that people acknowledged. All of it warns only: it holds in its own
/// folder.
pub(super) async fn project_problems(state: &SettingsProblems) -> Result<Vec<FileProblem>, JoinError> {
    let projects = state.workspaces.projects.clone();
    let problems = tokio::task::spawn_blocking(move || projects.problems()).await?;
    let warn = |it: FileProblem| FileProblem { severity: ProblemSeverity::Warning, ..it };
    let problems = problems.into_iter().map(warn).collect();
    Ok(without_secrets(problems, &state.settings.redactor.get()))
}
