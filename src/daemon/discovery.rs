//! Which tools did the workspaces' own commands tell of, and when are they asked again? (spec 05, "Discovery by command")
//!
//! A workspace is asked when it is opened, when the settings are read anew, and when somebody needs its tools and it was not
//! asked with these commands yet. Nobody asks one that no person has trusted. Whoever needs the tools waits for the one
//! discovery that is under way; what came of it holds until the next, also when it failed.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
};

use futures_util::{StreamExt as _, stream};
use tokio_util::sync::CancellationToken;

use super::{
    redaction::shown_command,
    tool_discoveries::{DiscoveryOutcome, lock},
    wire_errors::internal,
};
use crate::{
    client_connections::ClientConnections, daemon_life::DaemonLife, daemon_services::DaemonServices,
    mcp::McpConnections, program_runtime::ProgramRuntime, settings_in_force::SettingsInForce,
    workspace_sources::WorkspaceSources,
};
use project::{Project, ProjectProgram};
use protocol::{
    AgentDefinition, DiscoveryCommands, ForeignTools, RpcError, SessionId, ToolName, WorkspaceDiscovery,
};
use run::RunExecutor;
use tools::{
    CommandSupervision, DiscoveryContext, DiscoveryResult, ForeignToolset, commands_in_force, discover,
    mcp::RunServers,
};
use trust::AcknowledgementState;

/// Workspaces that are asked at once when the settings were read anew: each is a command.
const AT_ONCE: usize = 4;

/// What is said of workspaces whose command no person has acknowledged.
pub(super) const UNREAD: &str = ".subagentd/settings.json names a discoveryCommand, which is not run until you acknowledge it: subagent trust";

/// The services by which tools from elsewhere are found.
#[derive(Clone)]
pub(super) struct ToolDiscovery {
    life: Arc<DaemonLife>,
    settings: Arc<SettingsInForce>,
    executor: RunExecutor,
    clients: Arc<ClientConnections>,
    workspaces: Arc<WorkspaceSources>,
    programs: Arc<ProgramRuntime>,
    mcp: Arc<McpConnections>,
}

impl ToolDiscovery {
    pub fn of(services: &DaemonServices) -> ToolDiscovery {
        let DaemonServices { life, settings, executor, clients, workspaces, programs, mcp, .. } =
            services.clone();
        ToolDiscovery { life, settings, executor, clients, workspaces, programs, mcp }
    }
}

/// How new it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiscoveryFreshness {
    /// As it is known, unless the commands are others now.
    Enough,
    /// Asked after this was wanted.
    Anew,
}

/// What the workspace's command tells. Cancel safe: a discovery that nobody waits for any more is ended.
pub(super) async fn of(
    state: &ToolDiscovery,
    project: &Project,
    fresh: DiscoveryFreshness,
) -> Arc<DiscoveryOutcome> {
    state.programs.discoveries.mark(project);
    let commands = commands_in_force(project, &state.executor.discovery_commands());
    let wish = match fresh {
        DiscoveryFreshness::Enough => 0,
        DiscoveryFreshness::Anew => state.programs.discoveries.wishes.fetch_add(1, Ordering::AcqRel) + 1,
    };
    if commands.discovery.is_none() {
        // Nothing of it is remembered, but what was told before does not hold any more.
        lock(&state.programs.discoveries.workspaces).remove(&project.roots);
        let (programs, discovery) = (Vec::new(), DiscoveryResult::default());
        return Arc::new(DiscoveryOutcome { commands, programs, at: None, discovery, wish });
    }
    let programs = programs(state, project, &commands).await;
    let may_run =
        project.is_trusted && programs.iter().all(|program| program.consent == AcknowledgementState::Now);
    let place = state.programs.discoveries.place(&project.roots);
    // Closed never, so that whoever comes has their turn.
    let _turn = place.turn.acquire().await;
    let is_good = |found: &&Arc<DiscoveryOutcome>| {
        found.commands == commands
            && found.programs == programs
            && wish <= found.wish
            && found.at.is_some() == may_run
    };
    if let Some(found) = lock(&place.known).found.as_ref().filter(is_good) {
        return Arc::clone(found);
    }
    let wish = state.programs.discoveries.wishes.load(Ordering::Acquire);
    let refused = |warning: String| (None, DiscoveryResult { tools: None, warnings: vec![warning] });
    let unread = programs.iter().find(|program| program.consent != AcknowledgementState::Now);
    let (at, discovery) = match unread {
        _ if !project.is_trusted => refused(
            "tools.discoveryCommand is not run here: no person has trusted this workspace (`subagent trust`)"
                .to_owned(),
        ),
        Some(ProjectProgram { path, .. }) => refused(format!(
            "tools.discoveryCommand is not run here: it or tools.callCommand runs {path}, which no person has acknowledged as \
             it is now (`subagent trust`)"
        )),
        None => (Some(state.life.clock.now()), ask(state, project, &commands, &programs).await),
    };
    for warning in &discovery.warnings {
        tracing::warn!(workspace = ?project.roots, "{warning}");
    }
    let found = Arc::new(DiscoveryOutcome { commands, programs, at, discovery, wish });
    lock(&place.known).found = Some(Arc::clone(&found));
    found
}

/// The files of the workspace that its commands run.
async fn programs(
    state: &ToolDiscovery,
    project: &Project,
    commands: &DiscoveryCommands,
) -> Vec<ProjectProgram> {
    let (projects, roots, commands) =
        (state.workspaces.projects.clone(), project.roots.clone(), commands.clone());
    match tokio::task::spawn_blocking(move || projects.programs(&roots, &commands)).await {
        Ok(programs) => programs,
        // A defect, or the end of the daemon. One that nobody can acknowledge stands for all of them.
        Err(error) => {
            tracing::error!(%error, "the programs of a workspace's commands cannot be looked at");
            let root = project.roots.first().cloned().unwrap_or_default();
            vec![ProjectProgram {
                root,
                path: String::new(),
                digest: None,
                consent: AcknowledgementState::Never,
                is_for_calls: true,
            }]
        }
    }
}

async fn ask(
    state: &ToolDiscovery,
    project: &Project,
    commands: &DiscoveryCommands,
    programs: &[ProjectProgram],
) -> DiscoveryResult {
    let folders = state.programs.commands.temporary().clone();
    let temporary = match tokio::task::spawn_blocking(move || folders.make("discovery")).await {
        Ok(Ok(temporary)) => temporary,
        Ok(Err(error)) => return unasked(&error),
        Err(error) => return unasked(&error),
    };
    let config = &state.settings.get().config;
    let ground = DiscoveryContext {
        commands: Arc::clone(&state.programs.commands),
        rules: super::command_rules(config),
        redactor: (*state.settings.redactor.get()).clone(),
        roots: project.roots.iter().map(PathBuf::from).collect(),
        temporary: temporary.path().to_owned(),
        programs: programs.iter().filter_map(ProjectProgram::acknowledged).collect(),
    };
    let attendance = CommandSupervision {
        cancel: state.life.closing.child_token(),
        yields: CancellationToken::new(),
        clock: Arc::clone(&state.life.clock),
        output: None,
    };
    discover(commands, ground, attendance).await
}

fn unasked(error: &dyn std::fmt::Display) -> DiscoveryResult {
    let warning = format!("no tools were discovered: there is no temporary folder for the command: {error}");
    DiscoveryResult { tools: None, warnings: vec![warning] }
}

/// The tools from elsewhere, as there are now for runs in this workspace.
/// `definition`: of the agent whose run it is; without one no server is started.
pub(super) async fn foreign(
    state: &ToolDiscovery,
    project: &Project,
    session: Option<&SessionId>,
    definition: Option<&AgentDefinition>,
) -> ForeignToolset {
    let found = of(state, project, DiscoveryFreshness::Enough);
    let served = async {
        let Some(definition) = definition else {
            return (state.mcp.hub.known(project), RunServers::default());
        };
        let overriding = state.executor.overriding(definition);
        let excluded: Vec<ToolName> =
            state.executor.exclusions(project).into_iter().map(|it| it.entry).collect();
        let definition = overriding.as_ref().unwrap_or(definition);
        state.mcp.hub.for_agent(definition, project, &excluded).await
    };
    // Neither waits for the other.
    let (found, (mcp, owned)) = tokio::join!(found, served);
    let may_lend = |connection| state.clients.connected.may_lend(connection, session);
    let lent = state.executor.lenders().tools_for(session, &may_lend);
    let told = ForeignTools { discovered: found.discovery.tools.clone(), mcp, lent };
    ForeignToolset::new(told, owned, &state.executor.lenders(), (&state.mcp.hub, &project.roots))
}

/// The same as far as it is known; nothing is run.
pub(super) fn foreign_known(state: &ToolDiscovery, project: &Project) -> ForeignToolset {
    let found = state.programs.discoveries.known(&project.roots).filter(|_| project.is_trusted);
    let may_lend = |connection| state.clients.connected.may_lend(connection, None);
    let lent = state.executor.lenders().tools_for(None, &may_lend);
    let mcp = state.mcp.hub.known(project);
    let told = ForeignTools { discovered: found.and_then(|found| found.discovery.tools.clone()), mcp, lent };
    ForeignToolset::new(
        told,
        RunServers::default(),
        &state.executor.lenders(),
        (&state.mcp.hub, &project.roots),
    )
}

/// Asks every known workspace again, in the background.
pub(super) fn refresh(state: &ToolDiscovery) {
    let state = state.clone();
    let tasks = state.life.writing.clone();
    tasks.spawn("what asks workspaces again for their tools", async move {
        let known: Vec<Vec<String>> = lock(&state.programs.discoveries.workspaces).keys().cloned().collect();
        stream::iter(known).for_each_concurrent(AT_ONCE, |roots| again(&state, roots)).await;
    });
}

async fn again(state: &ToolDiscovery, roots: Vec<String>) {
    if state.life.closing.is_cancelled() {
        return;
    }
    match state.workspaces.project(roots.iter().map(PathBuf::from).collect()).await {
        Ok(project) => drop(of(state, &project, DiscoveryFreshness::Anew).await),
        Err(error) => drop(internal("the workspace could not be read", &error)),
    }
}

/// What is told of it where a workspace is shown; `None` where no command is set.
pub(super) fn record(settings: &SettingsInForce, found: &DiscoveryOutcome) -> Option<WorkspaceDiscovery> {
    let command = shown_command(found.commands.discovery.clone()?, &settings.redactor.get());
    let tools = found.discovery.tools.as_ref().map_or(0, |told| told.tools.len());
    Some(WorkspaceDiscovery {
        command,
        at: found.at,
        tools: u32::try_from(tools).unwrap_or(u32::MAX),
        warnings: found.discovery.warnings.clone(),
    })
}

/// A workspace as it is, or why it cannot be read.
pub(super) async fn project(
    workspaces: &WorkspaceSources,
    roots: Vec<PathBuf>,
) -> Result<Arc<Project>, RpcError> {
    workspaces.project(roots).await.map_err(|error| internal("the workspace could not be read", &error))
}
