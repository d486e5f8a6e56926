//! `queue/remove`, `queue/promote`.

use std::sync::Arc;

use serde_json::json;

use super::{
    super::{
        rpc::{MethodHandlers, RpcCaller},
        state::DaemonContext,
    },
    by,
    lookup::record,
    observers::may_change,
};
use protocol::{ErrorKind, QueuePromote, QueueRemove, QueueRunParams, QueueRunResult, RpcError, RunId};
use run::PromoteOutcome;

pub fn register(api: &mut MethodHandlers<DaemonContext>) {
    api.method::<QueueRemove, _, _>(remove);
    api.method::<QueuePromote, _, _>(promote);
}

async fn remove(
    state: Arc<DaemonContext>,
    caller: RpcCaller,
    params: QueueRunParams,
) -> Result<QueueRunResult, RpcError> {
    let QueueRunParams { run_id } = params;
    may_change(&state, &caller, &record(&state, &run_id).await?.session_id)?;
    match state.executor.remove(&run_id, by(&caller)).await? {
        Some(seq) => Ok(QueueRunResult { run_id, seq }),
        None => Err(not_queued(&state, &run_id).await?),
    }
}

async fn promote(
    state: Arc<DaemonContext>,
    caller: RpcCaller,
    params: QueueRunParams,
) -> Result<QueueRunResult, RpcError> {
    let QueueRunParams { run_id } = params;
    may_change(&state, &caller, &record(&state, &run_id).await?.session_id)?;
    match state.executor.promote(&run_id, by(&caller)).await? {
        PromoteOutcome::First(seq) => Ok(QueueRunResult { run_id, seq }),
        PromoteOutcome::NotQueued => Err(not_queued(&state, &run_id).await?),
    }
}

/// The run waits in no queue.
async fn not_queued(state: &DaemonContext, run: &RunId) -> Result<RpcError, RpcError> {
    let record = record(state, run).await?;
    let message = match record.reason {
        Some(reason) => format!("run {run} waits in no queue: it has ended {}", reason.as_str()),
        None => format!("run {run} waits in no queue: it is {}", record.state.as_str()),
    };
    Ok(RpcError::new(ErrorKind::Conflict, message)
        .with_details(json!({ "state": record.state, "reason": record.reason }))
        .with_hint("`subagent queue list` shows what waits; `subagent cancel` stops a run that has begun"))
}
