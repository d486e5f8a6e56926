//! `workspace/open`, `workspace/list`, `workspace/trust`, `agents/acknowledge`.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;

use super::{
    super::{
        discovery::{self, DiscoveryFreshness},
        hook_places, hook_problems,
        rpc::{MethodHandlers, RpcCaller},
    },
    by, internal, roots, violation,
};
use crate::{
    daemon_life::DaemonLife, daemon_services::DaemonServices, discovery::ToolDiscovery,
    hook_control::HookControl, mcp::McpConnections, settings_in_force::SettingsInForce,
    workspace_sources::WorkspaceSources,
};
use hooks::HookPlacesRead;
use memory::MemoryFileState;
use project::{ProjectFile, ProjectFileKind, ProjectSurvey, WithheldFile};
use protocol::{
    AgentsAcknowledge, AgentsAcknowledgeParams, AgentsAcknowledgeResult, ErrorKind, EventHead, EventSeq,
    ImportedMemoryFile, ListedWorkspace, NoParams, PrivateEventFields, RpcError, TrustedFile, WorkspaceFile,
    WorkspaceFileKind, WorkspaceList, WorkspaceListResult, WorkspaceOpen, WorkspaceOpenParams,
    WorkspaceOpenResult, WorkspaceParam, WorkspaceRecord, WorkspaceTrust, WorkspaceTrustParams,
    WorkspaceTrustResult, WorkspaceTrusted,
};
use run::RunExecutor;
use store::{EventStore, NewEvent};
use trust::{AcknowledgementState, TrustRecords, canonical};

/// The services that the methods of workspaces use.
pub(super) struct WorkspaceMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub workspaces: Arc<WorkspaceSources>,
    pub hooks: Arc<HookControl>,
    pub mcp: Arc<McpConnections>,
    pub discovery: ToolDiscovery,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { life, settings, store, executor, workspaces, hooks, mcp, .. } = services.clone();
    let discovery = ToolDiscovery::of(services);
    let mut api = api.given(Arc::new(WorkspaceMethods {
        life,
        settings,
        store,
        executor,
        workspaces,
        hooks,
        mcp,
        discovery,
    }));
    api.cancellable::<WorkspaceOpen, _, _>(open);
    api.cancellable::<WorkspaceList, _, _>(list);
    api.method::<WorkspaceTrust, _, _>(trust);
    api.method::<AgentsAcknowledge, _, _>(acknowledge);
}

async fn open(
    state: Arc<WorkspaceMethods>,
    _: RpcCaller,
    params: WorkspaceOpenParams,
) -> Result<WorkspaceOpenResult, RpcError> {
    let survey = survey(&state, &params.workspace).await?;
    let workspace = discovered(record(&survey, &state), &state).await?;
    Ok(WorkspaceOpenResult { workspace })
}

async fn list(
    state: Arc<WorkspaceMethods>,
    _: RpcCaller,
    _: NoParams,
) -> Result<WorkspaceListResult, RpcError> {
    let trust = state.workspaces.projects.trust();
    let listed = |(root, trusted): (&str, bool)| ListedWorkspace { roots: vec![root.to_owned()], trusted };
    Ok(WorkspaceListResult { workspaces: trust.workspaces().map(listed).collect() })
}

async fn trust(
    state: Arc<WorkspaceMethods>,
    caller: RpcCaller,
    params: WorkspaceTrustParams,
) -> Result<WorkspaceTrustResult, RpcError> {
    let WorkspaceTrustParams { workspace, trusted, files } = params;
    let turn = state.workspaces.trust_changes.lock().await;
    if let Some(roots) = gone(&state, &workspace)?.filter(|_| !trusted && files.is_empty()) {
        let said = roots.iter().map(|root| said(root, false, Vec::new())).collect();
        let seq = tell(&state, by(&caller), said).await?;
        roots.iter().for_each(|root| state.mcp.hub.distrust(root));
        let (files, problems, memory_files, memory_imports, gone) = Default::default();
        let discovery = None;
        let workspace = WorkspaceRecord {
            roots,
            trusted,
            files,
            problems,
            discovery,
            memory_files,
            memory_imports,
            gone,
        };
        return Ok(WorkspaceTrustResult { workspace, seq });
    }
    let survey = survey(&state, &workspace).await?;
    let said: Vec<WorkspaceTrusted> = match trusted {
        true => {
            check_shown(&survey, &files)?;
            check_files(&survey, &files)?;
            let trust = state.workspaces.projects.trust();
            survey.roots.iter().flat_map(|root| acknowledging(root, &survey, &files, &trust)).collect()
        }
        false if !files.is_empty() => {
            let message = "are not named to take trust back: all that was acknowledged is forgotten";
            return Err(violation("/files", message));
        }
        false => survey.roots.iter().map(|root| said(root, false, Vec::new())).collect(),
    };
    let seq = tell(&state, by(&caller), said).await?;
    if !trusted {
        survey.roots.iter().for_each(|root| state.mcp.hub.distrust(root));
    }
    // Of the files that the person named; others that came meanwhile are not acknowledged, and are shown so.
    let survey = self::survey(&state, &workspace).await?;
    // Others may have their turn while its command runs.
    drop(turn);
    let workspace = discovered(record(&survey, &state), &state).await?;
    Ok(WorkspaceTrustResult { workspace, seq })
}

async fn acknowledge(
    state: Arc<WorkspaceMethods>,
    caller: RpcCaller,
    params: AgentsAcknowledgeParams,
) -> Result<AgentsAcknowledgeResult, RpcError> {
    let AgentsAcknowledgeParams { name, digest, workspace } = params;
    let _turn = state.workspaces.trust_changes.lock().await;
    let roots = folders(&workspace)?;
    let project = state
        .workspaces
        .project(roots)
        .await
        .map_err(|error| internal("the agents could not be read", &error))?;
    let of_name: Vec<_> = project.catalog.of_project().filter(|agent| *agent.name == name).collect();
    let meant: Vec<_> = of_name.iter().filter(|agent| agent.digest == digest).collect();
    if of_name.is_empty() {
        let message = format!("this workspace has no agent {name} of its own");
        return Err(RpcError::new(ErrorKind::NotFound, message).with_hint(
            "only agents of a workspace are acknowledged; `workspace/open` lists what it brings along",
        ));
    }
    if meant.is_empty() {
        let now: Vec<_> =
            of_name.iter().map(|agent| json!({ "path": agent.path, "digest": agent.digest })).collect();
        let message = format!("{name} is not what it was when you read it; nothing was recorded");
        return Err(RpcError::new(ErrorKind::Conflict, message)
            .with_details(json!({ "files": now }))
            .with_hint("read it as it is now, and acknowledge that digest"));
    }
    if meant.iter().all(|agent| agent.definition.is_none()) {
        let message = format!("{name} has errors and cannot be started; there is nothing to acknowledge");
        return Err(RpcError::new(ErrorKind::InvalidDefinition, message)
            .with_hint("`agents/validate` tells the errors; acknowledge the file once they are mended"));
    }
    let survey = survey(&state, &workspace).await?;
    let is_withheld =
        |it: &&WithheldFile| meant.iter().any(|agent| (agent.root, agent.path) == (&it.root, &it.path));
    if let Some(WithheldFile { path, reason, .. }) = survey.withheld.iter().find(is_withheld) {
        return Err(RpcError::new(ErrorKind::InvalidDefinition, format!("{path} {reason}")).with_hint(
            "`workspace/open` tells all that a workspace brings along, and what of it cannot be shown",
        ));
    }
    let said = meant.iter().map(|agent| {
        let file = TrustedFile { path: agent.path.to_owned(), digest: agent.digest.to_owned() };
        read(agent.root, file)
    });
    let seq = tell(&state, by(&caller), said.collect()).await?;
    Ok(AgentsAcknowledgeResult { name, seq })
}

/// The folders of a workspace, which must be there: trust is for the folder itself, whatever name leads to it.
fn folders(workspace: &WorkspaceParam) -> Result<Vec<PathBuf>, RpcError> {
    let roots = roots(workspace)?;
    let is_folder = |root: &Path| canonical(root).is_some_and(|root| Path::new(&root).is_dir());
    match roots.iter().find(|root| !is_folder(root)) {
        None => Ok(roots),
        Some(root) => {
            let message = format!("{} is not a folder, or its name is not UTF-8", root.display());
            Err(violation("/workspace", &message))
        }
    }
}

/// The folders of a workspace of which people said something and none is there any more: there is nothing to be shown of
/// them, and trust in them can be taken back all the same.
fn gone(state: &WorkspaceMethods, workspace: &WorkspaceParam) -> Result<Option<Vec<String>>, RpcError> {
    let trust = state.workspaces.projects.trust();
    let known = |root: &PathBuf| {
        let root = root.to_str().filter(|root| !Path::new(root).exists())?;
        trust.is_trusted(root).then(|| root.to_owned())
    };
    Ok(roots(workspace)?.iter().map(known).collect())
}

async fn survey(
    state: &Arc<WorkspaceMethods>,
    workspace: &WorkspaceParam,
) -> Result<ProjectSurvey, RpcError> {
    let (projects, workspace) = (state.workspaces.projects.clone(), workspace.clone());
    let commands = state.executor.discovery_commands();
    let surveying = move || Ok(projects.survey(&folders(&workspace)?, &commands));
    let surveyed: Result<ProjectSurvey, RpcError> = tokio::task::spawn_blocking(surveying)
        .await
        .map_err(|error| internal("the workspace could not be read", &error))?;
    let mut survey = surveyed?;
    let hooks = state
        .hooks
        .of(survey.roots.clone())
        .await
        .map_err(|error| internal("the workspace's hooks could not be read", &error))?;
    survey.add(hook_places::files(&hooks));
    let is_of_root = |problem: &&protocol::FileProblem| {
        survey.roots.iter().any(|root| problem.path.starts_with(root)) && !survey.problems.contains(problem)
    };
    let project = state.workspaces.project(survey.roots.iter().map(PathBuf::from).collect()).await;
    let project = project.map_err(|error| internal("the workspace could not be read", &error))?;
    let told = hooks.all_problems(&hook_problems::known_tools(&state.discovery, &project));
    let found: Vec<_> = told.iter().filter(is_of_root).cloned().collect();
    survey.problems.extend(found);
    let redactor = state.settings.redactor.get();
    survey.withhold(|effect| redactor.hides_syntax(effect));
    survey.gone = gone_files(&survey, &hooks, &state.workspaces.projects.trust());
    Ok(survey)
}

/// Files that were acknowledged and are gone: those that guarded something, and those that a hook still runs.
fn gone_files(survey: &ProjectSurvey, hooks: &HookPlacesRead, trust: &TrustRecords) -> Vec<String> {
    let mut gone = BTreeSet::new();
    for root in &survey.roots {
        for TrustedFile { path, .. } in trust.files(root) {
            let file = Path::new(root).join(&path);
            let is_waited_for = || trust.guards(root, &path).next().is_some() || hooks.waits_for(&file);
            if file.symlink_metadata().is_err() && is_waited_for() {
                gone.insert(if survey.roots.len() == 1 { path } else { file.display().to_string() });
            }
        }
    }
    gone.into_iter().collect()
}

/// Nobody saw what cannot be shown.
fn check_shown(survey: &ProjectSurvey, files: &[TrustedFile]) -> Result<(), RpcError> {
    let is_named = |it: &&WithheldFile| files.iter().any(|file| file.path == it.path);
    let is_there = |it: &WithheldFile| survey.files.iter().any(|file| file.path == it.path);
    match survey.withheld.iter().filter(is_named).find(|it| !is_there(it)) {
        Some(WithheldFile { path, reason, .. }) => Err(violation("/files", &format!("{path} {reason}"))),
        None => Ok(()),
    }
}

/// What a person says they saw must be what is there.
fn check_files(survey: &ProjectSurvey, files: &[TrustedFile]) -> Result<(), RpcError> {
    if files.is_empty() && !survey.files.is_empty() {
        let message = "name the files that were read, each with its digest, as `workspace/open` tells them";
        return Err(violation("/files", message));
    }
    let is_there = |file: &TrustedFile| survey.files.iter().any(|it| is_same(it, file));
    let changed: Vec<_> = files
        .iter()
        .filter(|file| !is_there(file))
        .map(|file| {
            let now = survey.files.iter().filter(|it| it.path == file.path).map(|it| it.digest.as_str());
            json!({ "path": file.path, "digest": file.digest, "now": now.collect::<Vec<_>>() })
        })
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = changed.iter().filter_map(|file| file["path"].as_str()).collect();
    let message =
        format!("changed since it was read, or not there: {}; nothing was recorded", names.join(", "));
    Err(RpcError::new(ErrorKind::Conflict, message)
        .with_details(json!({ "files": changed }))
        .with_hint("`workspace/open` tells what is there now; read it, and name those digests"))
}

fn is_same(brought: &ProjectFile, file: &TrustedFile) -> bool {
    brought.path == file.path && brought.digest == file.digest
}

/// What is recorded of one root: its files among those that were named. What was acknowledged before stays so, but for
/// files that are gone: the person saw the workspace without them.
fn acknowledging(
    root: &str,
    survey: &ProjectSurvey,
    files: &[TrustedFile],
    trust: &TrustRecords,
) -> Vec<WorkspaceTrusted> {
    let of_root = || survey.files.iter().filter(|it| it.root == root);
    let named = of_root().filter(|it| files.iter().any(|file| is_same(it, file)));
    let named: Vec<TrustedFile> = named
        .flat_map(|it| {
            let digests = std::iter::once(&it.digest).chain(&it.marks);
            digests.map(|digest| TrustedFile { path: it.path.clone(), digest: digest.clone() })
        })
        .collect();
    let withheld = survey.withheld.iter().filter(|it| it.root == root).map(|it| it.path.as_str());
    let there: BTreeSet<&str> = of_root().map(|it| it.path.as_str()).chain(withheld).collect();
    let (mut kept, gone): (Vec<_>, Vec<_>) =
        trust.files(root).partition(|file| there.contains(file.path.as_str()));
    if gone.is_empty() {
        return vec![said(root, true, named)];
    }
    // What the person has just seen is what they acknowledged last.
    kept.extend(named);
    vec![said(root, false, Vec::new()), said(root, true, kept)]
}

pub(super) fn said(root: &str, trusted: bool, files: Vec<TrustedFile>) -> WorkspaceTrusted {
    WorkspaceTrusted { workspace: root.to_owned(), trusted, files, files_only: false }
}

/// A person has read this file, which says nothing of the others, nor of the workspace.
pub(super) fn read(root: &str, file: TrustedFile) -> WorkspaceTrusted {
    WorkspaceTrusted { files_only: true, ..said(root, true, vec![file]) }
}

/// Tells the log, all of it or nothing, and then trusts accordingly.
async fn tell(
    state: &WorkspaceMethods,
    by: Option<String>,
    said: Vec<WorkspaceTrusted>,
) -> Result<EventSeq, RpcError> {
    let mut trust = (*state.workspaces.projects.trust()).clone();
    said.iter().for_each(|said| trust.take(said));
    let event = |said: WorkspaceTrusted| NewEvent {
        at: state.life.clock.now(),
        session: None,
        run: None,
        context: None,
        head: EventHead { by: by.clone(), ..EventHead::default() },
        body: said.into(),
        private: PrivateEventFields::default(),
    };
    let (_, seq) = state.store.append(said.into_iter().map(event).collect()).await?;
    state.workspaces.projects.replace_trust(trust);
    Ok(seq)
}

fn record(survey: &ProjectSurvey, state: &WorkspaceMethods) -> WorkspaceRecord {
    let trust = state.workspaces.projects.trust();
    let has_one_root = survey.roots.len() == 1;
    let redactor = state.settings.redactor.get();
    let file = |file: &ProjectFile| WorkspaceFile {
        path: file.path.clone(),
        root: (!has_one_root).then(|| file.root.clone()),
        kind: match file.kind {
            ProjectFileKind::Agent => WorkspaceFileKind::Agent,
            ProjectFileKind::Policy => WorkspaceFileKind::Policy,
            ProjectFileKind::Settings => WorkspaceFileKind::Settings,
            ProjectFileKind::Program => WorkspaceFileKind::Program,
            ProjectFileKind::SystemPrompt => WorkspaceFileKind::SystemPrompt,
            ProjectFileKind::Skill => WorkspaceFileKind::Skill,
            ProjectFileKind::Hooks => WorkspaceFileKind::Hooks,
        },
        digest: file.digest.clone(),
        acknowledged: file.consent == AcknowledgementState::Now,
        changed: file.consent == AcknowledgementState::Before,
        effects: file.effects.iter().map(|effect| redactor.owned(effect.clone())).collect(),
        runs_unasked: file.unasked.iter().map(|effect| redactor.owned(effect.clone())).collect(),
    };
    WorkspaceRecord {
        roots: survey.roots.clone(),
        trusted: survey.roots.iter().all(|root| trust.is_trusted(root)),
        files: survey.files.iter().map(file).collect(),
        problems: super::super::redaction::without_secrets(survey.problems.clone(), &redactor),
        discovery: None,
        memory_files: Vec::new(),
        memory_imports: Vec::new(),
        gone: survey.gone.clone(),
    }
}

/// Memory files that one answer names: a workspace of many roots has some for each.
const MOST_MEMORY_FILES: usize = 200;

/// The same with the memory files that wait for trust, and the tools that its own command tells of, which it is asked for anew.
async fn discovered(record: WorkspaceRecord, state: &WorkspaceMethods) -> Result<WorkspaceRecord, RpcError> {
    let roots = record.roots.iter().map(PathBuf::from).collect();
    let project = discovery::project(&state.workspaces, roots).await?;
    let found = discovery::of(&state.discovery, &project, DiscoveryFreshness::Anew).await;
    let redactor = state.settings.redactor.get();
    let memory = state.executor.memory(&project).await.files.into_iter().map(|(file, _)| file);
    let memory_files = memory
        .filter(|file| file.is_of_project && file.state == MemoryFileState::Untrusted)
        .map(|file| redactor.owned(file.path.display().to_string()))
        .take(MOST_MEMORY_FILES)
        .collect();
    let imports = state.executor.memory_imports_waiting(&project).await.into_iter();
    let shown = |path: PathBuf| redactor.owned(path.display().to_string());
    let memory_imports = imports
        .map(|it| ImportedMemoryFile { path: shown(it.path), by: shown(it.by) })
        .take(MOST_MEMORY_FILES)
        .collect();
    let discovery = discovery::record(&state.settings, &found);
    Ok(WorkspaceRecord { discovery, memory_files, memory_imports, ..record })
}
