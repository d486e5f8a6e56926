//! `workedFolders/list`, `workedFolders/forget`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;

use super::{
    super::{
        named::{self, SettingsReferences},
        rpc::{MethodHandlers, RpcCaller},
    },
    by, internal, violation,
};
use crate::{
    daemon_life::DaemonLife, daemon_services::DaemonServices, mcp::McpConnections,
    program_runtime::ProgramRuntime, settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use protocol::{
    ErrorKind, EventHead, FolderForgotten, NoParams, PrivateEventFields, RpcError, WorkedFoldersForget,
    WorkedFoldersForgetParams, WorkedFoldersForgetResult, WorkedFoldersList, WorkedFoldersListResult,
};
use store::{EventStore, FolderForgettingOutcome, NewEvent};

/// Folders that one answer lists.
const MOST_LISTED: u32 = 1_000;

/// The services that the methods of worked folders use.
pub(super) struct WorkedFolderMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub workspaces: Arc<WorkspaceSources>,
    pub programs: Arc<ProgramRuntime>,
    pub mcp: Arc<McpConnections>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { life, settings, store, workspaces, programs, mcp, .. } = services.clone();
    let mut api =
        api.given(Arc::new(WorkedFolderMethods { life, settings, store, workspaces, programs, mcp }));
    api.cancellable::<WorkedFoldersList, _, _>(list);
    api.method::<WorkedFoldersForget, _, _>(forget);
}

async fn list(
    state: Arc<WorkedFolderMethods>,
    _: RpcCaller,
    _: NoParams,
) -> Result<WorkedFoldersListResult, RpcError> {
    let found = state.store.newest_worked_folders(MOST_LISTED + 1).await;
    let mut folders = found.map_err(|error| internal("the folders could not be read", &error))?;
    let more = (MOST_LISTED as usize) < folders.len();
    folders.truncate(MOST_LISTED as usize);
    Ok(WorkedFoldersListResult { folders, more })
}

async fn forget(
    state: Arc<WorkedFolderMethods>,
    caller: RpcCaller,
    params: WorkedFoldersForgetParams,
) -> Result<WorkedFoldersForgetResult, RpcError> {
    let named = PathBuf::from(&params.folder);
    if !named.is_absolute() {
        return Err(violation(
            "/folder",
            "must be an absolute path: the daemon does not know your working directory",
        ));
    }
    let _turn = state.workspaces.trust_changes.lock().await;
    let worked = state.store.worked_folders().clone();
    // One that is gone, or has become a link, is known by its name.
    let written: PathBuf = named.components().collect();
    let meant = match worked.is_one(&written) {
        true => written,
        false => tokio::fs::canonicalize(&named).await.unwrap_or(written),
    };
    let Some(folder) = meant.to_str().map(str::to_owned) else {
        return Err(violation("/folder", "leads to a folder whose path is not UTF-8"));
    };
    let event = NewEvent {
        at: state.life.clock.now(),
        session: None,
        run: None,
        context: None,
        head: EventHead { by: by(&caller), ..EventHead::default() },
        body: FolderForgotten { folder: folder.clone() }.into(),
        private: PrivateEventFields::default(),
    };
    // A server outlives the sessions whose runs used it, and may write there. One that is in use is a session's, for which the folder is
    // not forgotten.
    if worked.is_one(&meant) {
        state.mcp.hub.end_unused_in(Path::new(&folder)).await;
    }
    let outcome = state.store.forget_worked_folder(&folder, event).await;
    let seq = match outcome.map_err(|error| internal("the folder could not be forgotten", &error))? {
        FolderForgettingOutcome::Gone { seq } => Some(seq),
        FolderForgettingOutcome::Unknown => None,
        FolderForgettingOutcome::InUse { sessions } => {
            let first = sessions.first().map(ToString::to_string).unwrap_or_default();
            let message =
                format!("agents work in {folder}: session {first} is there, so it cannot be forgotten");
            return Err(RpcError::new(ErrorKind::Conflict, message)
                .with_details(json!({ "sessions": sessions }))
                .with_hint(format!(
                    "delete every session that works there first: `subagent sessions delete {first}`"
                )));
        }
    };
    if seq.is_some() {
        look_again(&state).await?;
    }
    let above = worked.all_holding(Path::new(&folder));
    Ok(WorkedFoldersForgetResult {
        folder,
        forgotten: seq.is_some(),
        still_within: above.iter().map(|above| above.to_string_lossy().into_owned()).collect(),
        seq: seq.unwrap_or_else(|| state.store.head()),
    })
}

/// What was not run, since it lay there, is judged anew at once.
async fn look_again(state: &WorkedFolderMethods) -> Result<(), RpcError> {
    let settings = state.settings.get();
    let references = SettingsReferences::in_settings(
        &settings.config,
        (&state.settings.sources, &state.settings.rule_places),
        &state.settings.state_dir,
    );
    let files = state.programs.commands.sandbox.hidden().named().clone();
    named::take_in(references, &state.programs.log, &files, &state.settings.secrets)
        .await
        .map(drop)
        .map_err(|error| internal("what the settings name could not be looked at", &error))
}
