//! `daemon/logs`, `daemon/setLogLevel`.

use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::super::{
    log_level::LEVEL,
    log_ring::{LOG, LogExcerpt},
    rpc::{MethodHandlers, RpcCaller},
};
use crate::{daemon_life::DaemonLife, daemon_services::DaemonServices, settings_in_force::SettingsInForce};
use protocol::{
    DaemonLogs, DaemonSetLogLevel, ErrorKind, LogsParams, LogsResult, RpcError, SetLogLevelParams,
    SetLogLevelResult,
};

/// Lines when nobody says how many; the schema says the same.
const USUAL_LINES: usize = 100;
/// The most lines of one answer; the schema says the same.
const MAX_LINES: usize = 1_000;

/// The services that the methods of the daemon's own log use.
pub(super) struct LogMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { life, settings, .. } = services.clone();
    let mut api = api.given(Arc::new(LogMethods { life, settings }));
    api.cancellable::<DaemonLogs, _, _>(logs);
    api.method::<DaemonSetLogLevel, _, _>(set_level);
}

async fn logs(state: Arc<LogMethods>, _: RpcCaller, params: LogsParams) -> Result<LogsResult, RpcError> {
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
            () = state.life.clock.sleep(Duration::from_millis(wait_ms)) => (),
            () = state.life.stop.cancelled() => (),
        }
        excerpt = read();
    }
    let LogExcerpt { lines, last, missed } = excerpt;
    Ok(LogsResult { lines, last, missed })
}

async fn set_level(
    state: Arc<LogMethods>,
    caller: RpcCaller,
    params: SetLogLevelParams,
) -> Result<SetLogLevelResult, RpcError> {
    // It stands in the log and in the next answer.
    let level = state.settings.redactor.get().owned(params.level);
    let before = LEVEL.change(&level).map_err(|error| {
        RpcError::new(ErrorKind::InvalidParams, error.to_string())
            .with_details(json!({ "violations": [{ "pointer": "/level", "message": error.to_string() }] }))
            .with_hint("for example `debug`, or `info,subagentd_run=debug`")
    })?;
    let client = caller.introduction().map(|it| it.client_id);
    tracing::info!(?client, %level, %before, "another level is logged");
    Ok(SetLogLevelResult { level, before })
}
