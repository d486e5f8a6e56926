//! `daemon/logs`.

use std::{sync::Arc, time::Duration};

use super::super::{
    log_ring::{Excerpt, LOG},
    rpc::{Api, Caller},
    state::State,
};
use crate::protocol::{DaemonLogs, LogsParams, LogsResult, RpcError};

/// Lines when nobody says how many; the schema says the same.
const USUAL_LINES: usize = 100;
/// The most lines of one answer; the schema says the same.
const MAX_LINES: usize = 1_000;

pub fn register(api: &mut Api<State>) {
    api.cancellable::<DaemonLogs, _, _>(logs);
}

async fn logs(state: Arc<State>, _: Caller, params: LogsParams) -> Result<LogsResult, RpcError> {
    let LogsParams { after, limit, wait_ms } = params;
    let limit = limit.map_or(USUAL_LINES, |limit| usize::try_from(limit).unwrap_or(MAX_LINES));
    let limit = limit.clamp(1, MAX_LINES);
    let read = || match after {
        Some(after) => LOG.after(after, limit),
        None => LOG.newest(limit),
    };
    let mut excerpt = read();
    if excerpt.lines.is_empty() && wait_ms != 0 {
        tokio::select! {
            () = LOG.grown(excerpt.last) => (),
            () = state.clock.sleep(Duration::from_millis(wait_ms)) => (),
            () = state.stop.cancelled() => (),
        }
        excerpt = read();
    }
    let Excerpt { lines, last, missed } = excerpt;
    Ok(LogsResult { lines, last, missed })
}
