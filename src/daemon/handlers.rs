//! The methods, one file an area; the table in `protocol` says what each promises.

use std::{path::PathBuf, sync::Arc};

use serde_json::json;

use super::{
    rpc::{MethodHandlers, MethodTable, RpcCaller},
    run_defaults::usual_mode,
    state::DaemonContext,
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
mod workspaces;

pub(super) use extensions::{
    begin as begin_extensions, follow as follow_extensions, library as extension_library,
};
pub(super) use retention::keep_to_limits;
pub(super) use sessions::remove_closed;

/// Every method with its handler.
pub(super) fn methods(state: Arc<DaemonContext>) -> Arc<MethodTable> {
    let load = Arc::clone(&state.clients.load);
    let mut api = MethodHandlers::new(state);
    connection::register(&mut api);
    daemon::register(&mut api);
    config::register(&mut api);
    usage::register(&mut api);
    mcp::register(&mut api);
    memory::register(&mut api);
    retention::register(&mut api);
    ide::register(&mut api);
    models::register(&mut api);
    agents::register(&mut api);
    tool_calls::register(&mut api);
    tool_output::register(&mut api);
    tools::register(&mut api);
    lending::register(&mut api);
    undo::register(&mut api);
    hooks::register(&mut api);
    policy::register(&mut api);
    programs::register(&mut api);
    prompts::register(&mut api);
    skills::register(&mut api);
    extensions::register(&mut api);
    workspaces::register(&mut api);
    runs::register(&mut api);
    queue::register(&mut api);
    confirmations::register(&mut api);
    lists::register(&mut api);
    session::register(&mut api);
    sessions::register(&mut api);
    contexts::register(&mut api);
    logs::register(&mut api);
    events::register(&mut api);
    traces::register(&mut api);
    // Proved by every test that boots a daemon: the handlers above are exactly the table's.
    api.build(load).expect("every method of the table has its handler")
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
