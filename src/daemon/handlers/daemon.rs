//! `daemon/status`, `daemon/shutdown`. `rpc/discover` is the table's own.

use std::sync::Arc;

use super::super::{
    rpc::{Api, Caller},
    state::State,
};
use crate::{
    protocol::{
        DaemonShutdown, DaemonStatus, DaemonStatusResult, DatabaseStatus, NoParams, RpcError, ShutdownResult,
    },
    sys::process,
};

pub fn register(api: &mut Api<State>) {
    api.cancellable::<DaemonStatus, _, _>(status);
    api.method::<DaemonShutdown, _, _>(shutdown);
}

async fn status(state: Arc<State>, _: Caller, _: NoParams) -> Result<DaemonStatusResult, RpcError> {
    let uptime = state.clock.monotonic().saturating_sub(state.started);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Ok(DaemonStatusResult {
        daemon: state.info(),
        uptime_ms: u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX),
        runs: state.store.run_counts().await?,
        clients: count(state.load.connections()),
        subscriptions: count(state.load.subscriptions()),
        database: DatabaseStatus {
            path: state.store.path().to_owned(),
            bytes: state.store.bytes().await?,
            head: state.store.head(),
        },
        rss_bytes: process::rss_bytes(),
        degraded: degraded(&state),
    })
}

/// What does not work as it should, one sentence each.
fn degraded(state: &State) -> Vec<String> {
    let settings = state.problems.iter().map(|problem| format!("settings: {problem}"));
    let store = state.store.failing().map(|error| format!("nothing can be written: {error}"));
    let stranded = state.executor.stranded();
    let runs = stranded.iter().map(|(run, error)| format!("run {run} waits for the next start: {error}"));
    settings.chain(store).chain(runs).collect()
}

async fn shutdown(state: Arc<State>, caller: Caller, _: NoParams) -> Result<ShutdownResult, RpcError> {
    let suspended_runs = u64::try_from(state.executor.live_runs()).unwrap_or(u64::MAX);
    tracing::info!(client = ?caller.introduction().map(|it| it.client_id), suspended_runs, "asked to stop");
    state.stop.cancel();
    Ok(ShutdownResult { suspended_runs })
}
