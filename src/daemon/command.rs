//! The daemon as a process: places, settings, logs, signals, readiness, exit.

use std::{
    env,
    fs::{self, OpenOptions},
    io::Write as _,
    net::SocketAddr,
    path::PathBuf,
};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::{Daemon, Edges, Settings, log_lines::RedactedStderr, rpc};
use crate::{
    agents::AgentPlaces,
    config::{Config, ConfigPlaces, NoHome, Places},
    models::Models,
    redact::{Pattern, PatternError, Redactor, RedactorParts},
    store::StoreError,
    sys::{clock::SystemClock, process},
    tools::Registry,
};

/// Worker threads of the runtime at most: the work is waiting, and each thread costs memory.
const MAX_WORKERS: usize = 4;

/// What requests over TCP must show lies in this file of the state folder.
const TOKEN_FILE: &str = "token";

/// What the command line says (spec 12).
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Read instead of the user's settings file.
    pub config: Option<PathBuf>,
    pub socket: Option<PathBuf>,
    pub state_dir: Option<PathBuf>,
    /// A loopback address to serve HTTP and WebSocket on.
    pub listen: Option<SocketAddr>,
    /// JSON lines instead of text on stderr.
    pub json_logs: bool,
    /// A descriptor that gets the line `ready` once the daemon listens.
    pub ready_fd: Option<u32>,
    /// End after 15 minutes without clients and runs.
    pub exit_when_idle: bool,
}

/// Why the daemon did not start, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    NoHome(#[from] NoHome),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Bind(#[from] rpc::BindError),
    /// Starting without it would show what it hides.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("{what}: {error}")]
    System { what: &'static str, error: std::io::Error },
    #[error("not everything ended in time; what was left is taken up at the next start")]
    SlowStop,
}

/// Runs a daemon until it is told to stop.
pub fn main(options: Options) -> Result<(), DaemonError> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .map_err(|error| DaemonError::System { what: "the runtime cannot be started", error })?;
    runtime.block_on(run(options))
}

async fn run(options: Options) -> Result<(), DaemonError> {
    // Watched from the first moment, so that a stop during the start is not lost.
    let mut stops = Stops::new()?;
    let uid =
        process::uid().map_err(|error| DaemonError::System { what: "the user cannot be told", error })?;
    let places = Places::from_env(&|name| env::var_os(name), uid)?;
    let config_places = match options.config {
        Some(user) => ConfigPlaces { user, ..places.settings() },
        None => places.settings(),
    };
    let (config, problems) = Config::load(&config_places);
    // Nothing is logged before it is known what must not be.
    let redactor = redactor(&config)?;
    start_logs(options.json_logs, redactor.clone());
    for problem in &problems {
        tracing::warn!("settings: {problem}");
    }
    let allowed_uids = config.access.allow_uids.value.clone();
    let socket = options.socket.unwrap_or(places.socket);
    let listener = rpc::bind(&socket).await?;
    let state_dir = options.state_dir.unwrap_or(places.state_dir);
    let token_file = state_dir.join(TOKEN_FILE);
    let settings = Settings {
        state_dir,
        agents: AgentPlaces { user: places.config_dir.join("agents") },
        config,
        problems,
        redactor,
    };
    let models = Models::configured(&settings.config.providers, |name| env::var_os(name));
    let edges = Edges { clock: SystemClock::new(), models, tools: Registry::built_in() };
    let daemon = match Daemon::boot(settings, edges).await {
        Ok(daemon) => daemon,
        Err(error) => {
            // While it is still ours; a socket that cannot be removed is replaced by the next daemon.
            let _stays = fs::remove_file(&socket);
            return Err(error.into());
        }
    };
    if let Some(address) = options.listen {
        match rpc::TcpDoor::bind(address, &token_file).await {
            Ok(door) => {
                tracing::info!(address = %door.address(), token = %token_file.display(), "listening");
                daemon.listen_tcp(door);
            }
            Err(error) => {
                daemon.stop().await;
                let _stays = fs::remove_file(&socket);
                return Err(error.into());
            }
        }
    }
    daemon.listen(listener, allowed_uids);
    if options.exit_when_idle {
        daemon.end_when_idle();
    }
    tracing::info!(socket = %socket.display(), version = env!("CARGO_PKG_VERSION"), "listening");
    if let Some(fd) = options.ready_fd {
        tell_ready(fd);
    }
    tokio::select! {
        () = daemon.asked_to_stop() => (),
        signal = stops.next() => tracing::info!(signal, "stopping"),
    }
    let is_whole = daemon.stop().await;
    if is_whole { Ok(()) } else { Err(DaemonError::SlowStop) }
}

/// What the environment and the settings say must not be shown.
fn redactor(config: &Config) -> Result<Redactor, PatternError> {
    // A name or a value that is not UTF-8 cannot stand in a text either.
    let environment =
        env::vars_os().filter_map(|(name, value)| name.into_string().ok().zip(value.into_string().ok()));
    let patterns = config.redaction.patterns.value.iter().map(|pattern| Pattern::new(pattern));
    Ok(Redactor::new(RedactorParts { environment, patterns: patterns.collect::<Result<_, _>>()? }))
}

fn start_logs(is_json: bool, redactor: Redactor) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(RedactedStderr::new(redactor));
    // A second subscriber can only be set by a test that runs in this process; the first then stays.
    let _stays = if is_json { logs.json().try_init() } else { logs.with_target(false).try_init() };
    // What a panic says may hold a secret as well, so it goes the same way as every line.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
}

/// Writes to a descriptor that was inherited, through its name in `/proc`, so that no raw descriptor is owned.
fn tell_ready(fd: u32) {
    let written = OpenOptions::new()
        .write(true)
        .open(format!("/proc/self/fd/{fd}"))
        .and_then(|mut pipe| pipe.write_all(b"ready\n"));
    if let Err(error) = written {
        tracing::warn!(fd, %error, "nobody could be told that the daemon is ready");
    }
}

/// The signals that end the daemon, and the one that must not.
struct Stops {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Stops {
    fn new() -> Result<Stops, DaemonError> {
        let watch = |kind| {
            signal(kind).map_err(|error| DaemonError::System { what: "signals cannot be watched", error })
        };
        Ok(Stops {
            terminate: watch(SignalKind::terminate())?,
            interrupt: watch(SignalKind::interrupt())?,
            hangup: watch(SignalKind::hangup())?,
        })
    }

    /// The name of the signal that came. The end of a terminal is no reason to stop.
    async fn next(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hangup.recv() => tracing::info!("SIGHUP: settings are read at the next start"),
            }
        }
    }
}
