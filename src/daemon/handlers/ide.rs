//! `ide/contextUpdate`: what does the editor of a person show who works in a session?

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    super::rpc::{MethodHandlers, RpcCaller},
    lookup::open_session,
    observers::may_change,
};
use crate::{
    client_connections::ClientConnections, daemon_services::DaemonServices,
    settings_in_force::SettingsInForce,
};
use protocol::{
    ConnectionTransport, ErrorKind, IdeContext, IdeContextUpdate, IdeContextUpdateParams,
    IdeContextUpdateResult, IdeFile, OmittedIdeFile, RpcError,
};
use redact::Redactor;
use run::{EditorContexts, RunExecutor};
use store::EventStore;
use tools::Workspace;

/// Files of which runs are told (spec 08).
const MOST_FILES: usize = 10;
/// Bytes of what is selected in one of them (spec 08).
const MOST_SELECTED: usize = 16 << 10;
/// Bytes of a path, as Linux has it.
const MOST_PATH: usize = 4_096;

/// The services that the methods of editors use.
pub(super) struct IdeMethods {
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { settings, store, executor, clients, .. } = services.clone();
    let mut api = api.given(Arc::new(IdeMethods { settings, store, executor, clients }));
    api.method::<IdeContextUpdate, _, _>(update);
}

async fn update(
    state: Arc<IdeMethods>,
    caller: RpcCaller,
    params: IdeContextUpdateParams,
) -> Result<IdeContextUpdateResult, RpcError> {
    let IdeContextUpdateParams { session_id, open_files, trusted } = params;
    if caller.transport() == ConnectionTransport::Http {
        let message = "an editor cannot tell what it shows over HTTP, where each request stands alone; nothing was changed";
        return Err(RpcError::new(ErrorKind::NotInitialized, message).with_hint(
            "use the Unix socket or a WebSocket, and keep it open: what was told is gone with its client",
        ));
    }
    may_change(&state.clients, &caller, &session_id)?;
    let roots: Vec<PathBuf> =
        open_session(&state.store, &session_id).await?.roots.iter().map(PathBuf::from).collect();
    let (context, left_out) = match trusted {
        true => {
            let own_files = state.settings.own_files.clone();
            // Follows links on the disk.
            let sorting = move || match Workspace::open_known(&roots) {
                Ok(workspace) => sorted(open_files, &own_files.close(workspace)),
                Err(error) => {
                    (IdeContext::default(), vec![OmittedIdeFile { path: None, reason: error.to_string() }])
                }
            };
            let sorted = tokio::task::spawn_blocking(sorting).await;
            sorted.map_err(|error| super::internal("the paths could not be looked at", &error))?
        }
        false => {
            let why =
                "the editor does not trust the workspace (`trusted`), so nothing of it is told".to_owned();
            (IdeContext::default(), vec![OmittedIdeFile { path: None, reason: why }])
        }
    };
    let context = without_secrets(context, &state.settings.redactor.get());
    let files = u32::try_from(context.open_files.len()).unwrap_or(u32::MAX);
    state.clients.open_sessions.note(&caller, &session_id);
    let connection = caller.connection();
    let editors = state.executor.editors();
    // Before it tells, so that nothing of it can stay.
    caller.keep_once(|| EditorLease { editors: editors.clone(), connection });
    editors
        .update(&session_id, connection, context)
        .map_err(|error| RpcError::new(ErrorKind::LimitExceeded, error.to_string()))?;
    Ok(IdeContextUpdateResult { files, omitted: left_out })
}

/// Takes secrets out of what is selected: it is kept in the log.
fn without_secrets(mut context: IdeContext, redactor: &Redactor) -> IdeContext {
    for file in &mut context.open_files {
        file.selected_text = file.selected_text.take().map(|text| redactor.owned(text));
    }
    context
}

/// Forgets what a connection told when it ends.
struct EditorLease {
    editors: EditorContexts,
    connection: u64,
}

impl Drop for EditorLease {
    fn drop(&mut self) {
        self.editors.leave(self.connection);
    }
}

/// Sorts what may be told from what may not. Blocks on the file system.
fn sorted(files: Vec<IdeFile>, workspace: &Workspace) -> (IdeContext, Vec<OmittedIdeFile>) {
    let mut context = IdeContext::default();
    let mut left_out = Vec::new();
    for mut file in files {
        let mut leave_out = |path: &Path, why: &str| {
            // It is said back to whoever sent it, but not at any length.
            let path = Some(path.to_owned()).filter(|path| path.as_os_str().len() <= MOST_PATH);
            left_out.push(OmittedIdeFile { path, reason: why.to_owned() });
        };
        if MOST_FILES <= context.open_files.len() {
            leave_out(&file.path, "there are 10 open files already");
            continue;
        }
        if let Err(why) = place(&file.path, workspace) {
            leave_out(&file.path, why);
            continue;
        }
        if context.open_files.iter().any(|it| it.path == file.path) {
            leave_out(&file.path, "it stands there twice");
            continue;
        }
        if file.selected_text.as_ref().is_some_and(|text| MOST_SELECTED < text.len()) {
            leave_out(&file.path, "what is selected is longer than 16 KiB; the file is told without it");
            file.selected_text = None;
        }
        if file.cursor.is_some_and(|at| at.line == 0 || at.character == 0) {
            leave_out(&file.path, "lines and characters count from 1; the file is told without its cursor");
            file.cursor = None;
        }
        file.selected_text = file.selected_text.filter(|text| !text.is_empty());
        context.open_files.push(file);
    }
    (context, left_out)
}

/// Fails unless agents may know of a path. It need not be there: an editor has files that were never saved.
fn place(path: &Path, workspace: &Workspace) -> Result<(), &'static str> {
    let Some(text) = path.to_str().filter(|text| text.len() <= MOST_PATH) else {
        return Err("its path is too long");
    };
    if !path.is_absolute() {
        return Err("its path is not absolute");
    }
    workspace.resolve(text).map(drop).map_err(|_| "it lies outside of the session's roots")
}
