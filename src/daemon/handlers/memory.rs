//! `memory/files`: which memory files are there, and which of them are told?

use std::{path::PathBuf, sync::Arc};

use super::{
    super::rpc::{MethodHandlers, RpcCaller},
    internal, known_roots, roots,
};
use crate::{
    daemon_services::DaemonServices, settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use memory::{MemoryFile, MemoryFileState};
use protocol::{
    MemoryFileRecord, MemoryFileUse, MemoryFiles, MemoryFilesParams, MemoryFilesResult, RpcError,
};
use run::{MEMORY_BELOW, RunExecutor};

/// The services that the methods of memory use.
pub(super) struct MemoryMethods {
    pub settings: Arc<SettingsInForce>,
    pub executor: RunExecutor,
    pub workspaces: Arc<WorkspaceSources>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { settings, executor, workspaces, .. } = services.clone();
    let mut api = api.given(Arc::new(MemoryMethods { settings, executor, workspaces }));
    api.cancellable::<MemoryFiles, _, _>(files);
}

async fn files(
    state: Arc<MemoryMethods>,
    _: RpcCaller,
    params: MemoryFilesParams,
) -> Result<MemoryFilesResult, RpcError> {
    let MemoryFilesParams { workspace, with_text } = params;
    let roots: Vec<PathBuf> = match &workspace {
        Some(workspace) => known_roots(roots(workspace)?).await?,
        None => Vec::new(),
    };
    let project = state
        .workspaces
        .project(roots)
        .await
        .map_err(|error| internal("the workspace could not be read", &error))?;
    let found = state.executor.memory(&project).await;
    let redactor = state.settings.redactor.get();
    let record = |(file, tokens): (MemoryFile, u64)| {
        let MemoryFile { path, is_of_project, state, text, bytes } = file;
        let (state, why) = told(state);
        MemoryFileRecord {
            path,
            from_workspace: is_of_project,
            state,
            reason: why,
            bytes,
            tokens,
            text: with_text.then(|| redactor.owned(text)),
        }
    };
    Ok(MemoryFilesResult {
        files: found.files.into_iter().map(record).collect(),
        user_file: found.user_file,
        project_file: found.project_file,
        warnings: found.warnings.into_iter().map(|text| redactor.owned(text)).collect(),
    })
}

fn told(state: MemoryFileState) -> (MemoryFileUse, Option<String>) {
    match state {
        MemoryFileState::Used => (MemoryFileUse::Used, None),
        MemoryFileState::Shadowed { by } => {
            (MemoryFileUse::Shadowed, Some(format!("{} counts", by.display())))
        }
        MemoryFileState::Untrusted => {
            let why = "nobody has trusted the workspace (`subagent trust`)";
            (MemoryFileUse::Untrusted, Some(why.to_owned()))
        }
        MemoryFileState::Skipped(why) => (MemoryFileUse::Skipped, Some(why)),
        MemoryFileState::Dropped => {
            (MemoryFileUse::Dropped, Some("there was no room for it: nearer files are longer".to_owned()))
        }
        MemoryFileState::Below => (MemoryFileUse::Below, Some(MEMORY_BELOW.to_owned())),
    }
}
