//! The daemon: boot, listeners, handlers, recovery, shutdown (DESIGN, floor F7).
//!
//! Everything that lives has one owner here: tasks stand on its [`TaskGroup`], and one token stops them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use agents::AgentPlaces;
use config::{ConfigSources, DaemonConfig};
use models::ModelRegistry;
use protocol::FileProblem;
use redact::Redactor;
use rules::RulePlaces;
use sandbox::Sandbox;
use skills::SkillPlaces;
use store::EventStore;
use sys::{
    children::ChildProcesses,
    clock::Clock,
    tasks::{TaskGroup, TaskPanic},
};
use tools::{OwnFiles, ToolRegistry};
use web::WebTransport;

mod agent_changes;
mod agent_files;
mod agent_urls;
mod alive;
mod boot;
mod client_connections;
mod clients;
mod command;
mod confirmation_channels;
mod confirmation_notifier;
mod confirmation_router;
mod daemon_life;
mod daemon_services;
mod daemon_telemetry;
mod dead_names;
mod delivery_receipts;
mod discovery;
mod doctor;
mod feed;
mod guarded_places;
mod handlers;
mod hook_control;
mod hook_outlooks;
mod hook_places;
mod hook_problems;
mod hooks_in_force;
mod idle;
mod installed_extensions;
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
mod program_runtime;
mod projects;
mod published_mcp_states;
mod redaction;
mod reload;
mod retention;
pub mod rpc;
mod run_defaults;
mod service;
mod settings_in_force;
mod settings_problems;
mod settings_switch;
mod subscription_places;
mod tool_discoveries;
mod trace_reader;
mod wire_errors;
mod workspace_sources;

use boot::DaemonTasks;
pub use command::{DaemonError, DaemonOptions, main};
use daemon_life::DaemonLife;
use daemon_services::DaemonServices;
pub use guarded_places::{GuardedBy, credentials_of_agents, own_files};
pub use live_counts::LiveCounts;
use metrics_collector::MetricsCollector;
use projects::{agent_switches, disabled_skills};
use reload::SettingsReloader;
use run_defaults::{command_rules, defaults, web_rules, written_system_file};

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
    services: DaemonServices,
    reloader: Arc<SettingsReloader>,
    collector: Arc<MetricsCollector>,
    methods: Arc<rpc::MethodTable>,
    /// Agents as tools of other programs.
    mcp_server: Arc<mcp_server::AgentMcpServer>,
    tasks: DaemonTasks,
}

impl Daemon {
    /// Serves connections of `listener` until the daemon stops.
    pub fn listen(&self, listener: impl Into<rpc::SocketListener>) {
        let allowed = Arc::clone(&self.services.settings.allowed_uids);
        let peers = rpc::AllowedPeers::owner_and(allowed, self.services.programs.children.clone());
        let door = rpc::UnixAcceptor::new(listener.into(), peers);
        if let Some(path) = door.path() {
            let _first = self.services.life.socket.set(path);
        }
        self.tasks
            .connections
            .spawn("the Unix socket", door.serve(self.reception(), self.tasks.closing.clone()));
    }

    /// Serves HTTP and WebSocket over TCP until the daemon stops.
    pub fn listen_tcp(&self, door: rpc::TcpAcceptor) {
        // The first address is told to those who may answer by it; there is one at most.
        let _first = self.services.life.tcp.set(door.address());
        // It may have been made just now.
        named::learn_own(&self.services.settings.state_dir, &self.services.settings.secrets);
        let door = door.closed_to(self.services.programs.children.clone());
        self.tasks
            .connections
            .spawn("the door of TCP", door.serve(self.reception(), self.tasks.closing.clone()));
    }

    fn reception(&self) -> rpc::ServerContext {
        let mcp: Arc<dyn rpc::McpAcceptor> = Arc::clone(&self.mcp_server) as Arc<dyn rpc::McpAcceptor>;
        reception(&self.services, &self.collector, &self.methods, &self.tasks.connections, Some(mcp))
    }

    /// Serves one connection over a pair of pipes: how tests talk to a daemon in their own process.
    pub fn connect(&self) -> tokio::io::DuplexStream {
        /// Bytes in flight in each direction before the writer waits.
        const PIPE: usize = 64 << 10;
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let peer = rpc::PeerCredentials { uid: 0, pid: None };
        self.tasks.connections.spawn("a connection", rpc::serve_connection(ours, peer, self.reception()));
        theirs
    }

    /// Ends the daemon after 15 minutes without connections and runs (spec 01, stdio; spec 12).
    pub fn end_when_idle(&self) {
        let DaemonServices { life, store, executor, clients, .. } = self.services.clone();
        let watch =
            move || idle::watch(Arc::clone(&life), store.clone(), executor.clone(), Arc::clone(&clients));
        self.tasks.connections.keep(
            "what ends a daemon that nobody needs",
            self.tasks.closing.clone(),
            watch,
        );
    }

    /// Completes when something asked the daemon to stop, or when it cannot go on.
    pub async fn asked_to_stop(&self) {
        tokio::select! {
            () = self.tasks.closing.cancelled() => (),
            () = self.tasks.base.broken() => (),
        }
    }

    /// The reason why nothing goes on any more, if a task is gone that all depend on; what the log has goes on in the next daemon.
    pub fn broken(&self) -> Option<TaskPanic> {
        self.tasks.base.broken_by().cloned()
    }

    /// Stops: no new work, turns that are under way end or are cut off when the grace is over, runs left to go on at
    /// the next start, connections answered and flushed, the database closed. Returns false when something did not end
    /// in time.
    pub async fn stop(self) -> bool {
        self.tasks.closing.cancel();
        self.tasks.runs.close();
        let grace = self.services.settings.get().config.shutdown.grace.value;
        tokio::select! {
            () = self.tasks.runs.wait() => (),
            () = self.services.life.clock.sleep(grace) => {
                tracing::info!(runs = self.services.executor.live_runs(), "turns did not end in time; they are cut off");
            }
        }
        self.tasks.stop.cancel();
        let mut is_whole = ended(&self.tasks.runs).await;
        is_whole &= ended(&self.tasks.connections).await;
        self.tasks.leaving.cancel();
        self.services.store.close().await;
        is_whole & ended(&self.tasks.base).await
    }

    /// Runs that are being driven, open connections, and tasks: what a soak test counts.
    pub fn census(&self) -> LiveCounts {
        LiveCounts {
            live_runs: self.services.executor.live_runs(),
            connections: self.services.clients.load.connections(),
            tasks: self.tasks.runs.len() + self.tasks.connections.len() + self.tasks.base.len(),
            open_texts: self.services.store.live().len(),
            holdings: self.services.executor.holdings(),
        }
    }

    /// The log, for tests and benches that look at it from inside.
    pub fn store(&self) -> &EventStore {
        &self.services.store
    }
}

/// What connections need.
fn reception(
    services: &DaemonServices,
    collector: &Arc<MetricsCollector>,
    methods: &Arc<rpc::MethodTable>,
    connections: &TaskGroup,
    mcp: Option<Arc<dyn rpc::McpAcceptor>>,
) -> rpc::ServerContext {
    let DaemonServices { life, store, .. } = services.clone();
    let stop = life.stop.clone();
    let (table, tasks) = (Arc::clone(methods), connections.clone());
    let collector = Arc::clone(collector);
    let metrics: Arc<dyn Fn() -> rpc::MetricsAnswer + Send + Sync> = Arc::new(move || {
        let collector = Arc::clone(&collector);
        Box::pin(async move { Ok(metrics_collector::samples(&collector).await?.into_text()) })
    });
    rpc::ServerContext {
        table,
        tasks,
        readiness: Arc::new(move || readiness(&life, &store)),
        metrics,
        mcp,
        stop,
    }
}

/// Whether new work can be taken, and why not.
fn readiness(life: &DaemonLife, store: &EventStore) -> Result<(), String> {
    if life.closing.is_cancelled() {
        return Err("the daemon is stopping".to_owned());
    }
    if *store.fullness().borrow() {
        return Err("the disk is full".to_owned());
    }
    match store.failing() {
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
