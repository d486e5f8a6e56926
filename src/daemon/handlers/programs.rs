//! `programs/list`, `programs/acknowledge`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::json;

use super::{
    super::{
        named::{self, SettingsReferences},
        rpc::{MethodHandlers, RpcCaller},
    },
    by, internal,
};
use crate::{
    daemon_services::DaemonServices, mcp::McpConnections, program_runtime::ProgramRuntime,
    settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use protocol::{
    ErrorKind, NoParams, NotedProgram, NotedProgramFile, ProgramId, ProgramNoted, ProgramSource,
    ProgramsAcknowledge, ProgramsAcknowledgeParams, ProgramsAcknowledgeResult, ProgramsList,
    ProgramsListResult, RpcError,
};
use store::EventStore;
use sys::owner_programs::ProgramComparison;

/// The services that the methods of programs use.
pub(super) struct ProgramMethods {
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub workspaces: Arc<WorkspaceSources>,
    pub programs: Arc<ProgramRuntime>,
    pub mcp: Arc<McpConnections>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { settings, store, workspaces, programs, mcp, .. } = services.clone();
    let mut api = api.given(Arc::new(ProgramMethods { settings, store, workspaces, programs, mcp }));
    api.cancellable::<ProgramsList, _, _>(list);
    api.method::<ProgramsAcknowledge, _, _>(acknowledge);
}

async fn list(state: Arc<ProgramMethods>, _: RpcCaller, _: NoParams) -> Result<ProgramsListResult, RpcError> {
    Ok(ProgramsListResult { programs: all(&state).await? })
}

async fn acknowledge(
    state: Arc<ProgramMethods>,
    caller: RpcCaller,
    params: ProgramsAcknowledgeParams,
) -> Result<ProgramsAcknowledgeResult, RpcError> {
    let ProgramsAcknowledgeParams { id, files } = params;
    let _turn = state.workspaces.trust_changes.lock().await;
    let program = one(&state, &id).await?;
    let now: BTreeMap<&str, &str> =
        program.files.iter().filter_map(|file| Some((file.path.as_str(), file.now.as_deref()?))).collect();
    let seen: BTreeMap<&str, &str> =
        files.iter().map(|file| (file.path.as_str(), file.digest.as_str())).collect();
    if now != seen || seen.len() != files.len() {
        let now: Vec<_> =
            now.iter().map(|(path, digest)| json!({ "path": path, "digest": digest })).collect();
        let message =
            format!("{} is not what it was when you looked at it; nothing was recorded", program.name);
        return Err(RpcError::new(ErrorKind::Conflict, message).with_details(json!({ "files": now })).with_hint(
            "`programs/list` tells what is there now: look at it, and name every file of it that is there with that digest",
        ));
    }
    let NotedProgram { id, source, name, workspace, .. } = program;
    let noted = ProgramNoted { id: id.clone(), source, name, workspace, files, acknowledged: true };
    // One event that was asked for is one that was written.
    let seq = state.programs.log.note(vec![noted], by(&caller)).await?.unwrap_or_else(|| state.store.head());
    let settings = state.settings.get();
    let references = SettingsReferences::in_settings(
        &settings.config,
        (&state.settings.sources, &state.settings.rule_places),
        &state.settings.state_dir,
    );
    let files = state.programs.commands.sandbox.hidden().named().clone();
    named::take_in(references, &state.programs.log, &files, &state.settings.secrets)
        .await
        .map_err(|error| internal("what the settings name could not be looked at", &error))?;
    Ok(ProgramsAcknowledgeResult { program: one(&state, &id).await?, seq })
}

async fn one(state: &ProgramMethods, id: &ProgramId) -> Result<NotedProgram, RpcError> {
    all(state).await?.into_iter().find(|program| program.id == *id).ok_or_else(|| {
        RpcError::new(ErrorKind::NotFound, format!("the settings name no program with the id {id}"))
            .with_hint("`programs/list` lists those that they name")
    })
}

async fn all(state: &ProgramMethods) -> Result<Vec<NotedProgram>, RpcError> {
    let programs = state.programs.children.owner_programs().clone();
    let compared = tokio::task::spawn_blocking(move || programs.compared())
        .await
        .map_err(|error| internal("the programs could not be looked at", &error))?;
    let mut all: Vec<NotedProgram> = compared.into_iter().map(noted).collect();
    all.extend(state.mcp.hub.noted_programs().await);
    all.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(all)
}

fn noted(compared: ProgramComparison) -> NotedProgram {
    let ProgramComparison { now, noted, refused } = compared;
    let noted = noted.unwrap_or_default();
    let paths: BTreeSet<_> = noted.keys().chain(now.files.keys()).collect();
    let files = paths.into_iter().map(|path| NotedProgramFile {
        path: path.to_string_lossy().into_owned(),
        noted: noted.get(path).cloned(),
        now: now.files.get(path).cloned(),
    });
    NotedProgram {
        id: ProgramId(now.id),
        source: ProgramSource::Command,
        name: now.name,
        workspace: Vec::new(),
        files: files.collect(),
        changed: refused.is_some(),
    }
}
