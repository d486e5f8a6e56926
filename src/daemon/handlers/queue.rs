//! `queue/remove`, `queue/promote`.

use std::sync::Arc;

use serde_json::json;

use super::{
    super::rpc::{MethodHandlers, RpcCaller},
    by,
    lookup::record,
    observers::may_change,
};
use crate::{client_connections::ClientConnections, daemon_services::DaemonServices};
use protocol::{ErrorKind, QueuePromote, QueueRemove, QueueRunParams, QueueRunResult, RpcError, RunId};
use run::{PromoteOutcome, RunExecutor};
use store::EventStore;

/// The services that the methods of the queue use.
pub(super) struct QueueMethods {
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { store, executor, clients, .. } = services.clone();
    let mut api = api.given(Arc::new(QueueMethods { store, executor, clients }));
    api.method::<QueueRemove, _, _>(remove);
    api.method::<QueuePromote, _, _>(promote);
}

async fn remove(
    state: Arc<QueueMethods>,
    caller: RpcCaller,
    params: QueueRunParams,
) -> Result<QueueRunResult, RpcError> {
    let QueueRunParams { run_id } = params;
    may_change(&state.clients, &caller, &record(&state.store, &run_id).await?.session_id)?;
    match state.executor.remove(&run_id, by(&caller)).await? {
        Some(seq) => Ok(QueueRunResult { run_id, seq }),
        None => Err(not_queued(&state, &run_id).await?),
    }
}

async fn promote(
    state: Arc<QueueMethods>,
    caller: RpcCaller,
    params: QueueRunParams,
) -> Result<QueueRunResult, RpcError> {
    let QueueRunParams { run_id } = params;
    may_change(&state.clients, &caller, &record(&state.store, &run_id).await?.session_id)?;
    match state.executor.promote(&run_id, by(&caller)).await? {
        PromoteOutcome::First(seq) => Ok(QueueRunResult { run_id, seq }),
        PromoteOutcome::NotQueued => Err(not_queued(&state, &run_id).await?),
    }
}

/// The run waits in no queue.
async fn not_queued(state: &QueueMethods, run: &RunId) -> Result<RpcError, RpcError> {
    let record = record(&state.store, run).await?;
    let message = match record.reason {
        Some(reason) => format!("run {run} waits in no queue: it has ended {}", reason.as_str()),
        None => format!("run {run} waits in no queue: it is {}", record.state.as_str()),
    };
    Ok(RpcError::new(ErrorKind::Conflict, message)
        .with_details(json!({ "state": record.state, "reason": record.reason }))
        .with_hint("`subagent queue list` shows what waits; `subagent cancel` stops a run that has begun"))
}
