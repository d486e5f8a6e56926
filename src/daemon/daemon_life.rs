//! When did this daemon begin, where does it listen, and what ends it?

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use protocol::{DaemonInfo, Timestamp};
use sys::{clock::Clock, ids, tasks::TaskGroup};

/// One daemon from its start to its end.
pub(super) struct DaemonLife {
    pub clock: Arc<dyn Clock>,
    pub started_at: Timestamp,
    /// The same moment on the monotonic clock.
    pub started: Duration,
    /// New at every start.
    pub instance: String,
    /// Where HTTP over TCP is served, if it is.
    pub tcp: OnceLock<SocketAddr>,
    /// The Unix socket that it listens on, if that is a file.
    pub socket: OnceLock<PathBuf>,
    /// What writes and must be brought to its end, whoever asked for it; waited for when the daemon stops.
    pub writing: TaskGroup,
    /// Nothing new begins.
    pub closing: CancellationToken,
    /// Everything ends.
    pub stop: CancellationToken,
}

impl DaemonLife {
    /// One that begins now.
    pub fn new(
        clock: Arc<dyn Clock>,
        writing: TaskGroup,
        (closing, stop): (CancellationToken, CancellationToken),
    ) -> DaemonLife {
        DaemonLife {
            started_at: clock.now(),
            started: clock.monotonic(),
            clock,
            instance: ids::fresh(),
            tcp: OnceLock::new(),
            socket: OnceLock::new(),
            writing,
            closing,
            stop,
        }
    }

    /// The daemon as clients are told of it. `log_id`: of its log.
    pub fn info(&self, log_id: &str) -> DaemonInfo {
        DaemonInfo {
            name: "subagentd".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            instance: self.instance.clone(),
            log_id: log_id.to_owned(),
            started_at: self.started_at,
        }
    }
}
