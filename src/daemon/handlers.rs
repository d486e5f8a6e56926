//! The methods, one file an area; the table in `protocol` says what each promises.

use std::{path::PathBuf, sync::Arc};

use serde_json::json;

use super::{
    daemon_services::DaemonServices,
    reload::SettingsReloader,
    rpc::{MethodHandlers, MethodTable, RpcCaller},
    run_defaults::usual_mode,
    wire_errors::{internal, no_session, violation},
};
use protocol::{ErrorKind, RpcError, WorkspaceParam};

mod agents;
mod approval;
mod attachments;
mod config;
mod confirmations;
mod connection;
mod contexts;
mod daemon;
mod events;
mod extensions;
mod hooks;
mod ide;
mod lending;
mod lists;
mod logs;
mod lookup;
mod mcp;
mod memory;
mod models;
mod observers;
mod policy;
mod programs;
mod prompts;
mod queue;
mod retention;
mod runs;
mod session;
mod sessions;
mod skills;
mod tool_calls;
mod tool_output;
mod tools;
mod traces;
mod undo;
mod usage;
mod worked_folders;
mod workspaces;

pub(super) use extensions::{
    ExtensionMethods, begin as begin_extensions, follow as follow_extensions, library as extension_library,
};
pub(super) use retention::keep_to_limits;
pub(super) use sessions::remove_closed;

/// Every method with its handler.
pub(super) fn methods(services: &DaemonServices, reloader: &Arc<SettingsReloader>) -> Arc<MethodTable> {
    let mut api = MethodHandlers::new();
    connection::register(&mut api, services);
    daemon::register(&mut api, services, reloader);
    config::register(&mut api, services);
    usage::register(&mut api, services);
    mcp::register(&mut api, services, reloader);
    memory::register(&mut api, services);
    retention::register(&mut api, services);
    ide::register(&mut api, services);
    models::register(&mut api, services);
    agents::register(&mut api, services);
    tool_calls::register(&mut api, services);
    tool_output::register(&mut api, services);
    tools::register(&mut api, services);
    lending::register(&mut api, services);
    undo::register(&mut api, services);
    hooks::register(&mut api, services);
    policy::register(&mut api, services);
    programs::register(&mut api, services);
    worked_folders::register(&mut api, services);
    prompts::register(&mut api, services);
    skills::register(&mut api, services, reloader);
    extensions::register(&mut api, services);
    workspaces::register(&mut api, services);
    runs::register(&mut api, services);
    queue::register(&mut api, services);
    confirmations::register(&mut api, services);
    lists::register(&mut api, services);
    session::register(&mut api, services);
    sessions::register(&mut api, services);
    contexts::register(&mut api, services);
    logs::register(&mut api, services);
    events::register(&mut api, services);
    traces::register(&mut api, services);
    // Proved by every test that boots a daemon: the handlers above are exactly the table's.
    api.build(Arc::clone(&services.clients.load)).expect("every method of the table has its handler")
}

/// The roots a client named. Relative ones are refused: the daemon does not stand where the client stands.
fn roots(workspace: &WorkspaceParam) -> Result<Vec<PathBuf>, RpcError> {
    let roots: Vec<PathBuf> = workspace.roots().iter().map(PathBuf::from).collect();
    let relative: Vec<String> =
        roots.iter().filter(|root| !root.is_absolute()).map(|root| root.display().to_string()).collect();
    if roots.is_empty() || !relative.is_empty() {
        let message = match relative.is_empty() {
            true => "a workspace needs at least one folder".to_owned(),
            false => format!("not an absolute path: {}", relative.join(", ")),
        };
        return Err(RpcError::new(ErrorKind::InvalidParams, message)
            .with_details(
                json!({ "violations": [{ "pointer": "/workspace", "message": "must be absolute" }] }),
            )
            .with_hint("give absolute paths: the daemon does not know your working directory"));
    }
    Ok(roots)
}

/// The same as a session keeps them: without links, so that one that comes to be there later is seen. One that is not there is
/// told by whoever opens it.
async fn known_roots(roots: Vec<PathBuf>) -> Result<Vec<PathBuf>, RpcError> {
    let canonical = move || roots.into_iter().map(|root| root.canonicalize().unwrap_or(root)).collect();
    let found = tokio::task::spawn_blocking(canonical).await;
    found.map_err(|error| internal("the workspace could not be looked at", &error))
}

/// Everything that the schema allows and that is wrong all the same: pointers with what is wrong there. `None` when there is
/// nothing.
fn violations(found: &[(&str, String)]) -> Option<RpcError> {
    let told: Vec<String> = found.iter().map(|(pointer, message)| format!("{pointer}: {message}")).collect();
    let list: Vec<_> =
        found.iter().map(|(pointer, message)| json!({ "pointer": pointer, "message": message })).collect();
    (!found.is_empty()).then(|| {
        RpcError::new(ErrorKind::InvalidParams, told.join("; ")).with_details(json!({ "violations": list }))
    })
}

/// Who an event is attributed to.
fn by(caller: &RpcCaller) -> Option<String> {
    caller.introduction().map(|it| it.client_id.to_string())
}

/// Works on agents' files, on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RpcError> + Send + 'static,
) -> Result<T, RpcError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| internal("the agents' files could not be worked on", &error))?
}
