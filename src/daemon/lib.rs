//! The daemon: boot, listeners, handlers, recovery, shutdown (DESIGN, floor F7).
//!
//! Everything that lives has one owner here: tasks stand on its [`TaskGroup`], and one token stops them.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use agents::AgentPlaces;
use config::{ConfigSources, DaemonConfig};
use models::ModelRegistry;
use protocol::FileProblem;
use redact::{KnownSecrets, Redactor};
use rules::RulePlaces;
use run::{ExecutorParts, RunExecutor};
use sandbox::Sandbox;
use skills::SkillPlaces;
use store::{EventStore, StoreError};
use sys::{
    children::ChildProcesses,
    clock::Clock,
    current::HotSwap,
    ids,
    tasks::{TaskGroup, TaskPanic},
};
use tools::{BackgroundCommands, CommandRuntime, OwnFiles, ProgramLog, ToolRegistry, mcp::OAuthSessions};
use web::{WebClient, WebTransport};

mod active_settings;
mod agent_changes;
mod agent_files;
mod agent_urls;
mod alive;
mod clients;
mod command;
mod confirmation_notifier;
mod confirmation_router;
mod dead_names;
mod delivery_receipts;
mod discovery;
mod doctor;
mod feed;
mod guarded_places;
mod handlers;
mod hook_outlooks;
mod hook_places;
mod hook_problems;
mod hooks_in_force;
mod idle;
mod leftovers;
mod live_counts;
mod log_export;
mod log_level;
mod log_lines;
mod log_ring;
mod mcp;
mod mcp_server;
mod metrics;
mod metrics_collector;
mod named;
mod once;
mod open_sessions;
mod otlp;
mod otlp_senders;
mod projects;
mod published_mcp_states;
mod redaction;
mod reload;
mod retention;
pub mod rpc;
mod run_defaults;
mod service;
mod state;
mod subscription_places;
mod tool_discoveries;
mod trace_reader;
mod wire_errors;

use active_settings::ActiveSettings;
pub use command::{DaemonError, DaemonOptions, main};
use confirmation_notifier::ConfirmationNotifier;
use confirmation_router::{ConfirmationRouter, ConfirmationTokens};
pub use guarded_places::{GuardedBy, credentials_of_agents, own_files};
use leftovers::Leftovers;
pub use live_counts::LiveCounts;
use named::SettingsReferences;
use projects::{agent_switches, disabled_skills, projects};
use published_mcp_states::PublishedMcpStates;
use redaction::without_secrets;
use reload::max_concurrent;
use run_defaults::{command_rules, defaults, web_rules, written_system_file};
use state::DaemonContext;
use tool_discoveries::ToolDiscoveries;
use trace_reader::TraceReader;

/// Below the daemon's state: who signed in to MCP servers, a file each.
const SIGN_INS: &str = "mcp-auth";
/// How long a stop waits for each kind of task; each has a shorter bound of its own.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// What a test replaces.
pub struct DaemonDependencies {
    pub clock: Arc<dyn Clock>,
    pub models: ModelRegistry,
    pub tools: ToolRegistry,
    /// What starts processes; whether whoever descends from this process is refused goes with it.
    pub children: ChildProcesses,
    /// What confines the commands of agents.
    pub sandbox: Sandbox,
    /// What the web is reached through.
    pub outside: WebTransport,
}

/// Where a daemon lives and what its users set.
pub struct DaemonSettings {
    pub state_dir: PathBuf,
    pub agents: AgentPlaces,
    pub skills: SkillPlaces,
    /// The folder that holds extensions, and what their programs write.
    pub data_dir: PathBuf,
    pub rules: RulePlaces,
    pub config: DaemonConfig,
    /// What was wrong in the settings; shown as degraded.
    pub problems: Vec<FileProblem>,
    /// What `config` was read from, and will be read from anew.
    pub sources: ConfigSources,
    /// Takes secrets out of whatever is going to be stored or shown.
    pub redactor: Redactor,
    /// What tools must not change unasked, and where what they change is kept.
    pub own_files: OwnFiles,
}

/// A running daemon. Dropping it without [`Daemon::stop`] is a crash, and recovered from like one.
pub struct Daemon {
    state: Arc<DaemonContext>,
    methods: Arc<rpc::MethodTable>,
    /// Agents as tools of other programs.
    mcp_server: Arc<mcp_server::AgentMcpServer>,
    /// Drivers of runs; they end first, since they write.
    runs: TaskGroup,
    connections: TaskGroup,
    /// The store's writer.
    base: TaskGroup,
    /// Nothing new begins.
    closing: CancellationToken,
    /// Everything ends.
    stop: CancellationToken,
    /// Nothing is started any more.
    leaving: CancellationToken,
}

impl Daemon {
    /// Opens the database, takes up the runs that were left unfinished, and is ready for connections.
    pub async fn boot(settings: DaemonSettings, edges: DaemonDependencies) -> Result<Daemon, StoreError> {
        let runs = TaskGroup::new();
        let (connections, base) = (runs.beside(), runs.beside());
        let (closing, stop) = (CancellationToken::new(), CancellationToken::new());
        let leaving = CancellationToken::new();
        let DaemonDependencies { clock, models, tools, children, sandbox, outside } = edges;
        let secrets = KnownSecrets::default();
        let models = models.with_settings(&settings.config.models).telling_keys(secrets.clone());
        let mut settings = settings;
        settings.own_files = settings.own_files.naming(sandbox.hidden().named().clone());
        let store = EventStore::open(&settings.state_dir, &base, Arc::clone(&clock)).await?;
        let counted_from = store.head();
        handlers::remove_closed(&store, &*clock).await?;
        // The store's lock says that no other daemon is at work there.
        let state_dir = settings.state_dir.clone();
        drop(tokio::task::spawn_blocking(move || agent_urls::sweep(&state_dir)).await);
        let extensions = handlers::extension_library(&settings.data_dir, &store).await?;
        let projects = projects(&settings, &store, extensions.clone()).await?;
        // Commands in the background go on while turns end, so they stand beside the connections.
        let background = BackgroundCommands::new(connections.clone(), stop.clone());
        let commands = CommandRuntime::new(sandbox, settings.sources.environment.clone(), background)
            .telling_keys(secrets.clone());
        let leftovers = Leftovers::of(&settings.state_dir, &settings.own_files);
        let commands = Arc::new(leftovers.known_to(commands));
        leftovers.put_aside(store.away()).await;
        leftovers.attend_notes(&connections, (&clock, &stop));
        connections.spawn("what takes away leftovers", leftovers.remove(store.clone(), closing.clone()));
        let web = WebClient::new(outside, settings.sources.environment.clone(), Arc::clone(&clock));
        let web = Arc::new(web.telling_keys(secrets.clone()));
        // Before anything runs, so nobody waits for this thread; and before anybody uses them they are hidden.
        let folder = settings.state_dir.join(SIGN_INS);
        let sign_ins = OAuthSessions::open(folder, Arc::clone(&clock), (connections.clone(), stop.clone()));
        let program_log =
            ProgramLog::open(store.clone(), Arc::clone(&clock), children.owner_programs().clone()).await?;
        let around = (&settings.sources, &settings.rules);
        let references = SettingsReferences::in_settings(&settings.config, around, &settings.state_dir);
        let places = commands.sandbox.hidden().clone();
        drop(named::take_in(references, &program_log, places.named(), &secrets).await);
        // From now on these are known by handle, too.
        drop(tokio::task::spawn_blocking(move || drop((places.look(), places.kept_in(&[])))).await);
        let hidden = (&sign_ins, &secrets);
        let (otlp, otlp_problems) =
            otlp::SpanExport::found(&settings.config, &settings.sources.environment, &secrets);
        settings.problems.extend(otlp_problems);
        if let Some(redactor) = reload::with_secrets(hidden, &settings.sources, &settings.config) {
            log_lines::HIDDEN.replace(redactor.clone());
            settings.redactor = redactor;
        }
        let (tasks, known) = ((&connections, &stop), (&projects, &program_log, &sign_ins));
        let servers = mcp::servers(&settings, &store, &commands, &clock, known, tasks).await?;
        handlers::begin_extensions(&extensions, &servers).await;
        let hooks_off = hook_places::switched_off(&store).await?;
        let hook_runner = hooks::HookRunner::new(
            commands.sandbox.clone(),
            settings.sources.environment.clone(),
            Arc::clone(&clock),
            connections.clone(),
            children.owner_programs().clone(),
        );
        let hook_library = hooks::HookLibrary::default();
        let confinement = command_rules(&settings.config).confinement;
        let hooks = hooks_in_force::in_force(
            hook_places::configuration(
                &settings.config,
                &settings.sources,
                &settings.rules,
                (&hooks_off, confinement),
            ),
            (&settings.sources, &settings.state_dir),
            &projects,
            (&hook_library, &hook_runner),
        );
        let parts = ExecutorParts {
            store: store.clone(),
            clock: Arc::clone(&clock),
            models: models.clone(),
            registry: tools,
            defaults: defaults(&settings.config, written_system_file(&settings.sources, &settings.own_files)),
            redactor: settings.redactor.clone(),
            own_files: Arc::new(settings.own_files.clone()),
            commands: Arc::clone(&commands),
            web: Arc::clone(&web),
            servers: servers.clone(),
            hooks: hooks.clone(),
            projects: projects.clone(),
            max_concurrent: max_concurrent(&settings.config),
            tasks: runs.clone(),
            // The executor's own: runs can be brought to rest in a daemon that goes on.
            closing: closing.child_token(),
            stop: stop.clone(),
        };
        let executor = RunExecutor::new(parts);
        let clients = clients::ConnectedClients::deciding_who_lends(&executor.lenders());
        // What was asked is asked again before any run goes on.
        let (desk, questions) = ConfirmationRouter::open(&store, &clients, &clock).await?;
        let resumed = executor.resume_all().await?;
        if resumed != 0 {
            tracing::info!(runs = resumed, clean = store.stopped_cleanly(), "runs of the last daemon go on");
        }
        let DaemonSettings { state_dir, rules, config, problems, redactor, sources, own_files, .. } =
            settings;
        let problems = without_secrets(problems, &redactor);
        let redactor = Arc::new(HotSwap::new(redactor));
        let state = DaemonContext {
            writing: runs.clone(),
            once: once::IdempotencyKeys::new(store.clone(), Arc::clone(&redactor), runs.clone()),
            store,
            executor,
            children: children.clone(),
            own_files,
            secrets,
            commands,
            hooks,
            projects,
            hook_runner,
            hooks_off: HotSwap::new(hooks_off),
            hook_changes: Semaphore::new(1),
            program_log,
            discoveries: ToolDiscoveries::default(),
            servers,
            servers_now: PublishedMcpStates::default(),
            sign_ins,
            hiding: std::sync::Mutex::default(),
            rule_places: rules,
            tokens: Arc::new(ConfirmationTokens::new(&state_dir)),
            state_dir,
            trust_changes: Semaphore::new(1),
            agent_changes: Semaphore::new(1),
            extensions,
            extension_changes: Semaphore::new(1),
            fetches: Semaphore::new(1),
            web,
            redactor,
            allowed_uids: Arc::new(HotSwap::new(config.access.allow_uids.value.clone())),
            settings: HotSwap::new(ActiveSettings { config, problems, models }),
            sources: Arc::new(sources),
            reloads: Semaphore::new(1),
            examinations: Semaphore::new(1),
            started_at: clock.now(),
            started: clock.monotonic(),
            clock,
            instance: ids::fresh(),
            load: rpc::ConnectionLoad::new(),
            clients,
            desk: desk.clone(),
            tcp: OnceLock::new(),
            socket: OnceLock::new(),
            receipts: Arc::default(),
            places: Arc::default(),
            metrics: metrics::RunMetrics::after(counted_from),
            traces: TraceReader::default(),
            pruning: retention::SessionPruning::default(),
            open_sessions: Default::default(),
            otlp,
            closing: closing.clone(),
            stop: stop.clone(),
        };
        let state = Arc::new(state);
        let hiding = Arc::downgrade(&state);
        let learning = Arc::downgrade(&state);
        state.secrets.hide_by(move || {
            if let Some(state) = learning.upgrade() {
                reload::hide_anew(&state);
            }
        });
        state.sign_ins.hide_by(move || {
            if let Some(state) = hiding.upgrade() {
                reload::hide_anew(&state);
            }
        });
        desk.keep(questions, ConfirmationNotifier::new(&state).ways(), &connections, &stop);
        let for_agents = Arc::clone(&state);
        let follow_agents = move || agent_changes::follow(Arc::clone(&for_agents));
        connections.keep("what tells of changed agents", closing.clone(), follow_agents);
        let for_alive = Arc::clone(&state);
        let say_alive = move || alive::keep_saying(Arc::clone(&for_alive));
        connections.keep("what says that the daemon is at work", closing.clone(), say_alive);
        let for_metrics = Arc::clone(&state);
        let follow_metrics = move || metrics_collector::follow(Arc::clone(&for_metrics));
        connections.keep("what counts for the metrics", stop.clone(), follow_metrics);
        hooks_in_force::keep(&connections, &closing, &state);
        handlers::keep_to_limits(&state, &connections);
        otlp_senders::begin(&state, &connections);
        let for_servers = Arc::clone(&state);
        let follow_servers = move || mcp::follow(Arc::clone(&for_servers));
        connections.keep("what tells of MCP servers", stop.clone(), follow_servers);
        let for_extensions = Arc::clone(&state);
        let follow_extensions = move || handlers::follow_extensions(Arc::clone(&for_extensions));
        connections.keep("what ends servers of changed extensions", stop.clone(), follow_extensions);
        if children.is_alone() {
            let until = leaving.clone();
            let reap = move || children.clone().reap_orphans(until.clone());
            base.keep("what ends processes that agents leave behind", leaving.clone(), reap);
        }
        let (trying, trying_stop) = (Arc::clone(&state.commands), stop.clone());
        // Known before anybody asks; whoever needs it sooner waits for it.
        connections.spawn("what tries the sandbox", async move {
            trying_stop.run_until_cancelled(trying.sandbox.mechanism()).await.map(drop)
        });
        let methods = handlers::methods(Arc::clone(&state));
        let inner = reception(&state, &methods, &connections, None);
        let mcp_server = Arc::new(mcp_server::AgentMcpServer::new(Arc::clone(&state), inner));
        Ok(Daemon { state, methods, mcp_server, runs, connections, base, closing, stop, leaving })
    }

    /// Serves connections of `listener` until the daemon stops.
    pub fn listen(&self, listener: impl Into<rpc::SocketListener>) {
        let allowed = Arc::clone(&self.state.allowed_uids);
        let peers = rpc::AllowedPeers::owner_and(allowed, self.state.children.clone());
        let door = rpc::UnixAcceptor::new(listener.into(), peers);
        if let Some(path) = door.path() {
            let _first = self.state.socket.set(path);
        }
        self.connections.spawn("the Unix socket", door.serve(self.reception(), self.closing.clone()));
    }

    /// Serves HTTP and WebSocket over TCP until the daemon stops.
    pub fn listen_tcp(&self, door: rpc::TcpAcceptor) {
        // The first address is told to those who may answer by it; there is one at most.
        let _first = self.state.tcp.set(door.address());
        // It may have been made just now.
        named::learn_own(&self.state.state_dir, &self.state.secrets);
        let door = door.closed_to(self.state.children.clone());
        self.connections.spawn("the door of TCP", door.serve(self.reception(), self.closing.clone()));
    }

    fn reception(&self) -> rpc::ServerContext {
        let mcp: Arc<dyn rpc::McpAcceptor> = Arc::clone(&self.mcp_server) as Arc<dyn rpc::McpAcceptor>;
        reception(&self.state, &self.methods, &self.connections, Some(mcp))
    }

    /// Serves one connection over a pair of pipes: how tests talk to a daemon in their own process.
    pub fn connect(&self) -> tokio::io::DuplexStream {
        /// Bytes in flight in each direction before the writer waits.
        const PIPE: usize = 64 << 10;
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let peer = rpc::PeerCredentials { uid: 0, pid: None };
        self.connections.spawn("a connection", rpc::serve_connection(ours, peer, self.reception()));
        theirs
    }

    /// Ends the daemon after 15 minutes without connections and runs (spec 01, stdio; spec 12).
    pub fn end_when_idle(&self) {
        let state = Arc::clone(&self.state);
        let watch = move || idle::watch(Arc::clone(&state));
        self.connections.keep("what ends a daemon that nobody needs", self.closing.clone(), watch);
    }

    /// Completes when something asked the daemon to stop, or when it cannot go on.
    pub async fn asked_to_stop(&self) {
        tokio::select! {
            () = self.closing.cancelled() => (),
            () = self.base.broken() => (),
        }
    }

    /// The reason why nothing goes on any more, if a task is gone that all depend on; what the log has goes on in the next daemon.
    pub fn broken(&self) -> Option<TaskPanic> {
        self.base.broken_by().cloned()
    }

    /// Stops: no new work, turns that are under way end or are cut off when the grace is over, runs left to go on at
    /// the next start, connections answered and flushed, the database closed. Returns false when something did not end
    /// in time.
    pub async fn stop(self) -> bool {
        self.closing.cancel();
        self.runs.close();
        let grace = self.state.settings.get().config.shutdown.grace.value;
        tokio::select! {
            () = self.runs.wait() => (),
            () = self.state.clock.sleep(grace) => {
                tracing::info!(runs = self.state.executor.live_runs(), "turns did not end in time; they are cut off");
            }
        }
        self.stop.cancel();
        let mut is_whole = ended(&self.runs).await;
        is_whole &= ended(&self.connections).await;
        self.leaving.cancel();
        self.state.store.close().await;
        is_whole & ended(&self.base).await
    }

    /// Runs that are being driven, open connections, and tasks: what a soak test counts.
    pub fn census(&self) -> LiveCounts {
        LiveCounts {
            live_runs: self.state.executor.live_runs(),
            connections: self.state.load.connections(),
            tasks: self.runs.len() + self.connections.len() + self.base.len(),
            open_texts: self.state.store.live().len(),
            holdings: self.state.executor.holdings(),
        }
    }

    /// The log, for tests and benches that look at it from inside.
    pub fn store(&self) -> &EventStore {
        &self.state.store
    }
}

/// What connections need.
fn reception(
    state: &Arc<DaemonContext>,
    methods: &Arc<rpc::MethodTable>,
    connections: &TaskGroup,
    mcp: Option<Arc<dyn rpc::McpAcceptor>>,
) -> rpc::ServerContext {
    let stop = state.stop.clone();
    let (table, tasks) = (Arc::clone(methods), connections.clone());
    let (for_metrics, state) = (Arc::clone(state), Arc::clone(state));
    let metrics: Arc<dyn Fn() -> rpc::MetricsAnswer + Send + Sync> = Arc::new(move || {
        let state = Arc::clone(&for_metrics);
        Box::pin(async move { Ok(metrics_collector::samples(&state).await?.into_text()) })
    });
    rpc::ServerContext { table, tasks, readiness: Arc::new(move || readiness(&state)), metrics, mcp, stop }
}

/// Whether new work can be taken, and why not.
fn readiness(state: &DaemonContext) -> Result<(), String> {
    if state.closing.is_cancelled() {
        return Err("the daemon is stopping".to_owned());
    }
    if *state.store.fullness().borrow() {
        return Err("the disk is full".to_owned());
    }
    match state.store.failing() {
        Some(_) => Err("nothing can be written; see the daemon's log".to_owned()),
        None => Ok(()),
    }
}

async fn ended(tasks: &TaskGroup) -> bool {
    tasks.close();
    tokio::select! {
        () = tasks.wait() => true,
        () = tokio::time::sleep(STOP_TIMEOUT) => {
            tracing::error!(tasks = tasks.len(), "tasks did not end in time");
            false
        }
    }
}
