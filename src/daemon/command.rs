//! The daemon as a process: places, settings, logs, signals, readiness, exit.

use std::{
    env,
    fs::{self, OpenOptions},
    io::Write as _,
    net::SocketAddr,
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
    sync::Arc,
};

use tokio::{
    net::UnixListener,
    signal::unix::{Signal, SignalKind, signal},
};
use tracing_subscriber::{layer::SubscriberExt as _, util::SubscriberInitExt as _};

use self::check::check_settings;
use super::{
    Daemon, DaemonDependencies, DaemonSettings,
    guarded_places::{GuardedBy, agent_places, own_files, secrets_of, skill_places},
    hooks_in_force::transcripts,
    log_export::{JournalLayer, LogExportLayer},
    log_level::LEVEL,
    log_lines::{HIDDEN, RedactedStderr},
    redaction::redactor,
    rpc::{self, TOKEN_FILE},
    service,
};
use config::{ConfigPlaces, ConfigSources, DaemonConfig, DaemonPlaces, NoHome, is_of_a_flag};
use models::ModelRegistry;
use protocol::{FileProblem, ProblemSeverity};
use redact::{PatternError, Redactor};
use rules::RulePlaces;
use sandbox::{HiddenPlaces, MARKER, Sandbox};
use store::StoreError;
use sys::{
    children::{ChildProcesses, started_by_a_daemon},
    clock::SystemClock,
    process, programs,
    systemd::{self, ListeningSocket, PassedError, PassedSocket, ServiceNotifier, passed_sockets},
    tasks::TaskPanic,
    warden,
};
use tools::{OwnFiles, ToolRegistry};
use web::WebTransport;

mod check;

/// Worker threads of the runtime at most: the work is waiting, and each thread costs memory.
const MAX_WORKERS: usize = 4;

/// What the command line says (spec 12).
#[derive(Debug, Clone, Default)]
pub struct DaemonOptions {
    /// Read instead of the user's settings file.
    pub config: Option<PathBuf>,
    /// Settings that win over all files and the environment: keys and values.
    pub settings: Vec<(String, String)>,
    /// Only say what is wrong in the settings.
    pub check_config: bool,
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

/// The reason why the daemon did not start, or did not end well.
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
    /// Of the command line; who typed it is still there.
    #[error("{0}")]
    Flag(FileProblem),
    #[error("the settings have {}", count(*.errors, "error"))]
    BadSettings { errors: usize },
    #[error(transparent)]
    Passed(#[from] PassedError),
    #[error(
        "a TCP socket was passed to this process{}; only Unix sockets are served: take it out of the socket unit",
        if .name.is_empty() { String::new() } else { format!(" ({name})") }
    )]
    PassedTcp { name: String },
    /// The same of settings that could not be read.
    #[error(
        "the settings have mistakes that leave open what must not be shown, so nothing is started:{0}\nfix them; `subagentd --check-config` checks them"
    )]
    NotHidden(String),
    #[error(
        "process {0} was started by an agent, and what an agent starts must not start a daemon, which would take it for a \
         person: start the daemon yourself, from a terminal of your own"
    )]
    StartedByAgent(i32),
    #[error("{what}: {error}")]
    System { what: &'static str, error: std::io::Error },
    #[error("not everything ended in time; what was left is taken up at the next start")]
    SlowStop,
    #[error("{0}; nothing goes on without it; what was begun is taken up at the next start")]
    Broken(TaskPanic),
}

/// Runs a daemon until it is told to stop.
pub fn main(options: DaemonOptions) -> Result<(), DaemonError> {
    let uid =
        process::uid().map_err(|error| DaemonError::System { what: "the user cannot be told", error })?;
    let places = DaemonPlaces::from_env(&|name| env::var_os(name), uid)?;
    let files = match &options.config {
        Some(user) => ConfigPlaces { user: user.clone(), ..places.settings() },
        None => places.settings(),
    };
    let sources =
        ConfigSources { files, environment: env::vars_os().collect(), flags: options.settings.clone() };
    if options.check_config {
        let agents = agent_places(&places);
        // Of a folder that cannot be told nothing is looked at.
        let folder = env::current_dir().ok();
        let agents = (&agents, folder.as_deref());
        return check_settings(&sources, &rule_places(&places), agents, &mut std::io::stdout());
    }
    if let Some(pid) = started_by_a_daemon(MARKER) {
        return Err(DaemonError::StartedByAgent(pid));
    }
    process::raise_open_files();
    // No setting leaves it out: what an agent starts must be known when it knocks.
    let children = ChildProcesses::of_own_process()
        .map_err(|error| DaemonError::System { what: "what is started could not be looked after", error })?;
    // Before anything is opened, so that their numbers are still theirs.
    let passed = passed_sockets(&|name| env::var_os(name))?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .map_err(|error| DaemonError::System { what: "the runtime cannot be started", error })?;
    runtime.block_on(run(options, places, sources, passed, children))
}

/// What confines commands. This program is their warden: the one that runs, whatever lies by now where it was started.
fn sandbox(own_files: &OwnFiles, children: ChildProcesses) -> Sandbox {
    let home = env::home_dir();
    let secrets = secrets_of(home.as_deref(), &|name| env::var_os(name));
    let hidden = HiddenPlaces::with_secrets(secrets, own_files.fixed().iter().cloned());
    let hidden = hidden.reading(own_files.sources().clone());
    let hidden = hidden.finding(programs::own_folders(env::var_os("PATH").as_deref(), home.as_deref()));
    Sandbox::new(warden::OWN_PROGRAM.into(), hidden, children)
}

async fn run(
    options: DaemonOptions,
    places: DaemonPlaces,
    sources: ConfigSources,
    passed: Vec<PassedSocket>,
    children: ChildProcesses,
) -> Result<(), DaemonError> {
    // Watched from the first moment, so that a stop during the start is not lost.
    let mut stops = StopSignals::new()?;
    let hangup = watch(SignalKind::hangup())?;
    let (config, mut problems) = DaemonConfig::load(&sources);
    let is_fatal = |it: &FileProblem| it.severity == ProblemSeverity::Error && is_of_a_flag(it);
    if let Some(at) = problems.iter().position(is_fatal) {
        return Err(DaemonError::Flag(problems.swap_remove(at)));
    }
    if !config.redaction.is_whole {
        let mistakes = problems.iter().filter(|it| it.severity == ProblemSeverity::Error);
        return Err(DaemonError::NotHidden(mistakes.map(|it| format!("\n  {it}")).collect()));
    }
    // Nothing is logged before it is known what must not be.
    let redactor = redactor(&sources.environment, &config)?;
    start_logs(options.json_logs, redactor.clone());
    for problem in &problems {
        tracing::warn!("settings: {problem}");
    }
    let notifier = ServiceNotifier::from_env(&|name| env::var_os(name))
        .map_err(|error| DaemonError::System { what: "the service manager cannot be told", error })?;
    let notifier = Arc::new(notifier);
    let (rules, agents) = (rule_places(&places), agent_places(&places));
    let skills = skill_places(&places);
    let state_dir = options.state_dir.unwrap_or_else(|| places.state_dir.clone());
    let home = env::home_dir();
    let listeners = DaemonListeners::new(passed, options.socket.clone(), places.socket.clone()).await?;
    let token_file = state_dir.join(TOKEN_FILE);
    make_own_folders([&places.config_dir, &state_dir]);
    // Which one it is must be known: agents may not replace it.
    let program = env::current_exe()
        .map_err(|error| DaemonError::System { what: "the daemon's own program cannot be found", error })?;
    let own_files = own_files(&GuardedBy {
        places: &places,
        settings: &sources.files,
        socket: options.socket.as_deref(),
        state_dir: &state_dir,
        home: home.as_deref(),
        rules: &rules,
        program: Some(&program),
    });
    let own_files = own_files.hiding(transcripts(&sources.environment, &rules.home, &state_dir));
    let sandbox = sandbox(&own_files, children.clone());
    let data_dir = places.data_dir.clone();
    let settings = DaemonSettings {
        state_dir,
        data_dir,
        own_files,
        agents,
        skills,
        rules,
        config,
        problems,
        sources,
        redactor,
    };
    let models =
        ModelRegistry::configured(&settings.config.providers, children.clone(), |name| env::var_os(name));
    let edges = DaemonDependencies {
        clock: SystemClock::new(),
        models,
        tools: ToolRegistry::built_in(),
        children,
        sandbox,
        outside: WebTransport::system(),
    };
    // Before runs go on: a daemon that nobody can reach takes up none.
    let door = match options.listen {
        Some(address) => match rpc::TcpAcceptor::bind(address, &token_file).await {
            Ok(door) => Some(door),
            Err(error) => {
                listeners.give_up();
                return Err(error.into());
            }
        },
        None => None,
    };
    let daemon = match Daemon::boot(settings, edges).await {
        Ok(daemon) => daemon,
        Err(error) => {
            listeners.give_up();
            return Err(error.into());
        }
    };
    if let Some(door) = door {
        tracing::info!(address = %door.address(), token = %token_file.display(), "listening");
        daemon.listen_tcp(door);
    }
    listeners.serve(&daemon);
    if options.exit_when_idle {
        daemon.end_when_idle();
    }
    daemon.reload_on(hangup, Arc::clone(&notifier));
    daemon.keep_alive(Arc::clone(&notifier));
    service::tell(&notifier, systemd::ServiceState::Ready);
    if let Some(fd) = options.ready_fd {
        tell_ready(fd);
    }
    tokio::select! {
        () = daemon.asked_to_stop() => (),
        signal = stops.next() => tracing::info!(signal, "stopping"),
    }
    service::tell(&notifier, systemd::ServiceState::Stopping);
    let broken = daemon.broken();
    let is_whole = daemon.stop().await;
    match broken {
        Some(why) => Err(DaemonError::Broken(why)),
        None if is_whole => Ok(()),
        None => Err(DaemonError::SlowStop),
    }
}

/// Makes the daemon's own folders, private, before anybody else does: whoever made them would say what lies there.
fn make_own_folders(folders: [&PathBuf; 2]) {
    for folder in folders {
        if let Err(error) = fs::DirBuilder::new().mode(0o700).recursive(true).create(folder) {
            // Who needs it says so; commands are kept from making it all the same.
            tracing::warn!(folder = %folder.display(), %error, "the folder cannot be made");
        }
    }
}

fn rule_places(places: &DaemonPlaces) -> RulePlaces {
    let (system, user) = places.policies();
    // Without a home a rule that names it is a mistake, and told.
    RulePlaces { system, user, home: places.home.clone().unwrap_or_default() }
}

/// Where the daemon listens.
struct DaemonListeners {
    /// Made by this process, with its path.
    own: Option<(UnixListener, PathBuf)>,
    passed: Vec<UnixListener>,
}

impl DaemonListeners {
    /// A socket that was passed stands for the usual one; a path that was asked for by name is listened on in any case.
    async fn new(
        passed: Vec<PassedSocket>,
        wanted: Option<PathBuf>,
        usual: PathBuf,
    ) -> Result<DaemonListeners, DaemonError> {
        let cannot = |error| DaemonError::System { what: "a socket that was passed cannot be used", error };
        let mut unix = Vec::new();
        for PassedSocket { name, socket } in passed {
            match socket {
                ListeningSocket::Unix(socket) => {
                    socket.set_nonblocking(true).map_err(cannot)?;
                    unix.push(UnixListener::from_std(socket).map_err(cannot)?);
                }
                ListeningSocket::Tcp(_) => return Err(DaemonError::PassedTcp { name }),
            }
        }
        let own = match wanted.or_else(|| unix.is_empty().then_some(usual)) {
            Some(path) => Some((rpc::bind(&path).await?, path)),
            None => None,
        };
        Ok(DaemonListeners { own, passed: unix })
    }

    fn serve(self, daemon: &Daemon) {
        let version = env!("CARGO_PKG_VERSION");
        if let Some((listener, path)) = self.own {
            daemon.listen(listener);
            tracing::info!(socket = %path.display(), version, "listening");
        }
        for socket in self.passed {
            let address = socket.local_addr().ok();
            let path = address.as_ref().and_then(|address| address.as_pathname());
            tracing::info!(socket = ?path, version, "listening on a socket that was passed");
            daemon.listen(rpc::SocketListener::passed(socket));
        }
    }

    /// Removes the socket file while it is still ours; one that cannot be removed is replaced by the next daemon.
    fn give_up(self) {
        if let Some((_listener, path)) = self.own {
            let _stays = fs::remove_file(path);
        }
    }
}

fn start_logs(is_json: bool, redactor: Redactor) {
    HIDDEN.replace(redactor);
    // What a panic says may hold a secret as well, so it goes the same way as every line.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    // A log can only be set up once; a test that starts a second daemon in its process keeps the first.
    let Some(filter) = LEVEL.take_filter() else { return };
    // Before the lines: the journal says first whether it took one. JSON was asked for, so it stays.
    let journal = if is_json { None } else { JournalLayer::found() };
    let subscriber = tracing_subscriber::registry().with(filter).with(LogExportLayer::new()).with(journal);
    let lines = tracing_subscriber::fmt::layer().with_writer(RedactedStderr);
    let _stays = match is_json {
        true => subscriber.with(lines.json()).try_init(),
        false => subscriber.with(lines.with_target(false)).try_init(),
    };
    // Said by whoever starts the daemon; a mistake in it must not keep it from starting.
    if let Some(wanted) = env::var_os("RUST_LOG").filter(|wanted| !wanted.is_empty())
        && let Err(error) = LEVEL.change(&wanted.to_string_lossy())
    {
        tracing::warn!("RUST_LOG has no effect: {error}");
    }
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

/// The signals that end the daemon.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn new() -> Result<StopSignals, DaemonError> {
        Ok(StopSignals {
            terminate: watch(SignalKind::terminate())?,
            interrupt: watch(SignalKind::interrupt())?,
        })
    }

    /// The name of the signal that came.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

fn watch(kind: SignalKind) -> Result<Signal, DaemonError> {
    signal(kind).map_err(|error| DaemonError::System { what: "signals cannot be watched", error })
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
