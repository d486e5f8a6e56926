//! `run/list`, `queue/list`.

use std::sync::Arc;

use super::{
    super::rpc::{MethodHandlers, RpcCaller},
    lookup::{record, session},
};
use crate::daemon_services::DaemonServices;
use protocol::{
    QueueList, QueueListParams, QueueListResult, RpcError, RunId, RunList, RunListParams, RunListResult,
    SessionId,
};
use store::{EventStore, RunFilter};

/// The most runs of one page; the schema says the same.
const MAX_PAGE: usize = 1_000;

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let mut api = api.given(Arc::new(services.store.clone()));
    api.cancellable::<RunList, _, _>(runs);
    api.cancellable::<QueueList, _, _>(queue);
}

async fn runs(
    store: Arc<EventStore>,
    _: RpcCaller,
    params: RunListParams,
) -> Result<RunListResult, RpcError> {
    let RunListParams { session_id, agent, state: wanted, active, roots, parent_run_id, cursor, limit } =
        params;
    let filter =
        RunFilter { session: session_id, agent, state: wanted, active, roots, parent: parent_run_id };
    known(&store, filter.session.as_ref(), filter.parent.as_ref()).await?;
    let limit = usize::try_from(limit).unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
    let listed = store.run_list(&filter, cursor.as_deref(), limit).await?;
    Ok(RunListResult { runs: listed.items, next_cursor: listed.next })
}

async fn queue(
    store: Arc<EventStore>,
    _: RpcCaller,
    params: QueueListParams,
) -> Result<QueueListResult, RpcError> {
    known(&store, params.session_id.as_ref(), None).await?;
    Ok(QueueListResult { queue: store.queue(params.session_id.as_ref()).await? })
}

/// What a list is asked about must be there: nothing of a session that never was would look like a session without runs.
async fn known(store: &EventStore, of: Option<&SessionId>, parent: Option<&RunId>) -> Result<(), RpcError> {
    if let Some(id) = of {
        session(store, id).await?;
    }
    if let Some(id) = parent {
        record(store, id).await?;
    }
    Ok(())
}
