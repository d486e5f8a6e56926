//! What is common to `agents/create`, `agents/update`, `agents/delete` and `agents/import`: where files go, what of them counts
//! as read by a person, and how the log is told.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;

use super::AgentMethods;
use crate::{
    agent_changes::{self, AgentChangesTurn, ImportProvenance},
    agent_files::{AgentFileFolder, ReversibleChange},
    handlers::{blocking, roots, workspaces},
    once::KeyToken,
};
use agents::{AgentCatalog, AgentFile, OWN_OF_PROJECT};
use config::problem;
use protocol::{
    AgentDefinition, AgentName, AgentScope, ErrorKind, EventSeq, FileProblem, FileProblemCode,
    ProblemSeverity, RpcError, TrustedFile, WorkspaceParam, WorkspaceTrusted,
};
use trust::{AcknowledgementState, canonical};

/// Where a request wants files to go.
#[derive(Debug, Clone)]
pub struct WriteDestination {
    pub scope: AgentScope,
    /// Of the workspace, if one was named.
    pub roots: Vec<PathBuf>,
    /// Its folder, as the catalogue knows it.
    pub folder: Option<PathBuf>,
}

impl WriteDestination {
    /// What is asked for, or the usual place; what is wrong with it goes to `found`.
    pub fn of(
        state: &AgentMethods,
        scope: Option<AgentScope>,
        workspace: Option<&WorkspaceParam>,
        found: &mut Vec<(&'static str, String)>,
    ) -> Result<WriteDestination, RpcError> {
        let roots = workspace.map(roots).transpose()?.unwrap_or_default();
        let is_said = scope.is_some();
        let scope = scope.unwrap_or(state.settings.get().config.agents.default_scope.value);
        match scope {
            AgentScope::Builtin => {
                found.push((
                    "/scope",
                    "built-in agents come with the daemon; name `user` or `project`".to_owned(),
                ));
            }
            AgentScope::Project if roots.is_empty() && is_said => {
                found.push(("/workspace", "must name the workspace that the file goes to".to_owned()));
            }
            AgentScope::Project if roots.is_empty() => {
                let usual = "must name the workspace, since `project` is the usual scope (setting `agents.defaultScope`); or name the scope `user`";
                found.push(("/workspace", usual.to_owned()));
            }
            AgentScope::Project | AgentScope::User => {}
        }
        let folder = match scope {
            AgentScope::Project => roots.first().map(|root| root.join(OWN_OF_PROJECT)),
            _ => state.workspaces.projects.agents().places().own_of_user().map(Path::to_owned),
        };
        Ok(WriteDestination { scope, roots, folder })
    }

    /// Opens its folder. Blocks on the file system.
    pub fn home(&self, state: &AgentMethods) -> Result<AgentFileFolder, RpcError> {
        match (self.scope, self.roots.first()) {
            (AgentScope::Project, Some(root)) => AgentFileFolder::of_project(root),
            _ => match state.workspaces.projects.agents().places().own_of_user() {
                Some(folder) => AgentFileFolder::of_user(folder),
                None => {
                    Err(RpcError::new(ErrorKind::Conflict, "this daemon has no folder for the user's agents"))
                }
            },
        }
    }
}

/// A file with errors is not written.
pub fn refuse_errors(file: &AgentFile) -> Result<(), RpcError> {
    if file.definition.is_some() {
        return Ok(());
    }
    let errors = file.problems.iter().filter(|it| it.severity == ProblemSeverity::Error);
    let told: Vec<String> = errors
        .map(|it| match (it.line, it.column) {
            (Some(line), Some(column)) => format!("line {line}, column {column}: {}", it.message),
            _ => it.message.clone(),
        })
        .collect();
    Err(RpcError::new(ErrorKind::InvalidDefinition, format!("nothing was written: {}", told.join("; ")))
        .with_details(json!({ "problems": file.problems }))
        .with_hint("fix the lines that are named, and send it again; `agents/validate` checks a text without writing it"))
}

/// True if a person has read these bytes of the workspace's file; nobody asks that of other files.
pub fn is_acknowledged(state: &AgentMethods, path: &Path, root: Option<&Path>, digest: &str) -> bool {
    let Some(root) = root else { return true };
    let (Ok(below), Some(canonical)) = (path.strip_prefix(root), canonical(root)) else { return false };
    state.workspaces.projects.trust().consent(&canonical, &below.to_string_lossy(), digest)
        == AcknowledgementState::Now
}

/// Who wrote a workspace's file through the daemon has read it: what is to be told of that, if it is news.
pub fn acknowledging(
    state: &AgentMethods,
    path: &Path,
    root: Option<&Path>,
    digest: &str,
) -> Vec<WorkspaceTrusted> {
    let said = || {
        let root = root?;
        let path = path.strip_prefix(root).ok()?.to_string_lossy().into_owned();
        let root = canonical(root)?;
        if state.workspaces.projects.trust().consent(&root, &path, digest) == AcknowledgementState::Now {
            return None;
        }
        let file = TrustedFile { path, digest: digest.to_owned() };
        Some(workspaces::read(&root, file))
    };
    said().into_iter().collect()
}

/// What is to be said of a file that was just written: its own warnings, and who is in its way.
pub fn warnings(
    state: &AgentMethods,
    catalog: &AgentCatalog,
    name: &AgentName,
    path: &Path,
) -> Vec<FileProblem> {
    let Some(agent) = catalog.at(path).into_iter().find(|agent| agent.name == *name) else {
        let message = "is written, but not used: the setting `agents.places` switches its place off";
        let found = problem(path, None, FileProblemCode::Unreadable, message);
        return vec![FileProblem { severity: ProblemSeverity::Warning, ..found }];
    };
    let hidden = agent.hidden_by.map(|by| {
        let message = format!("is hidden: `{name}` means {by}");
        FileProblem {
            severity: ProblemSeverity::Warning,
            ..problem(path, None, FileProblemCode::DuplicateName, message)
        }
    });
    let mut problems = agent.problems;
    if let Some(definition) = catalog.definition(name, Some(path)) {
        let odd = oddities(state, definition).into_iter();
        problems.extend(odd.map(|(code, message)| FileProblem {
            severity: ProblemSeverity::Warning,
            ..problem(path, None, code, message)
        }));
    }
    // The catalogue says the same of two files in one place.
    if !problems.iter().any(|it| it.code == FileProblemCode::DuplicateName) {
        problems.extend(hidden);
    }
    problems
}

/// The root of the workspace that a file lies in, as it was named.
pub fn root_of(path: &Path, scope: AgentScope, roots: &[PathBuf]) -> Option<PathBuf> {
    let of_project = (scope == AgentScope::Project).then_some(roots)?;
    // Of roots that lie in each other the inner one.
    let around = of_project.iter().filter(|root| path.starts_with(root));
    around.max_by_key(|root| root.components().count()).cloned()
}

/// What of a definition nobody here knows: tools of the daemon's own, models and servers; agents, lent and discovered tools are
/// not looked at.
fn oddities(state: &AgentMethods, definition: &AgentDefinition) -> Vec<(FileProblemCode, String)> {
    let model = state.executor.model_problem(definition);
    let model = model.map(|message| (FileProblemCode::UnknownModel, message));
    let listed = definition.mcp.servers.iter().flatten();
    let servers = listed.filter(|name| !state.mcp.hub.is_known(name)).map(|name| {
        let message = format!("`mcp.servers`: no settings name a server `{name}`");
        (FileProblemCode::UnknownServer, state.settings.redactor.get().owned(message))
    });
    model.into_iter().chain(servers).collect()
}

/// What a request changed on the disk, to be told to the log.
pub struct AgentFileWrites {
    pub by: Option<String>,
    pub roots: Vec<PathBuf>,
    pub acknowledged: Vec<WorkspaceTrusted>,
    pub changes: Vec<ReversibleChange>,
    /// Of what came from a URL.
    pub arrival: Option<ImportProvenance>,
}

impl AgentFileWrites {
    /// Tells the log; what it cannot be told did not happen. `turn`: taken before the files were written.
    pub async fn tell<R: Serialize>(
        self,
        state: &AgentMethods,
        token: Option<KeyToken>,
        answer: impl Fn(&AgentCatalog, Option<EventSeq>) -> R,
        turn: &AgentChangesTurn<'_>,
    ) -> Result<R, RpcError> {
        let AgentFileWrites { by, roots, acknowledged, changes, arrival } = self;
        let arrival = arrival.as_ref();
        let told =
            agent_changes::settle(&state.news, by, acknowledged, (&roots, arrival), token, answer, turn)
                .await;
        if told.is_err() {
            blocking(move || {
                // The last one first: a file may have been changed twice.
                changes.into_iter().rev().for_each(ReversibleChange::take_back);
                Ok(())
            })
            .await?;
        }
        told
    }
}
