//! What every handler can reach.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    active_settings::ActiveSettings,
    clients::ConnectedClients,
    confirmation_router::{ConfirmationRouter, ConfirmationTokens},
    delivery_receipts::DeliveryReceipts,
    hook_places,
    metrics::{RunMetrics, timed},
    once::IdempotencyKeys,
    open_sessions::OpenSessions,
    otlp::SpanExport,
    published_mcp_states::PublishedMcpStates,
    retention::SessionPruning,
    rpc::ConnectionLoad,
    run_defaults,
    subscription_places::SubscriptionPlaces,
    tool_discoveries::ToolDiscoveries,
    trace_reader::TraceReader,
};
use config::ConfigSources;
use extensions::ExtensionLibrary;
use hooks::{HookPlacesRead, HookRunner};
use project::{Project, ProjectReader};
use protocol::{DaemonCounts, DaemonInfo, Timestamp};
use redact::{KnownSecrets, Redactor};
use rules::RulePlaces;
use run::{HooksInForce, RunExecutor};
use store::{EventStore, StoreError};
use sys::{children::ChildProcesses, clock::Clock, current::HotSwap, tasks::TaskGroup};
use tools::{
    CommandRuntime, OwnFiles, ProgramLog,
    mcp::{McpHub, OAuthSessions},
};
use web::WebClient;

pub(super) struct DaemonContext {
    pub store: EventStore,
    pub once: IdempotencyKeys,
    /// What writes and must be brought to its end, whoever asked for it; waited for when the daemon stops.
    pub writing: TaskGroup,
    pub executor: RunExecutor,
    /// What this daemon starts.
    pub children: ChildProcesses,
    /// Which files are the daemon's own, or named by the settings.
    pub own_files: OwnFiles,
    /// Secrets that were read.
    pub secrets: KnownSecrets,
    /// What agents' commands are run with.
    pub commands: Arc<CommandRuntime>,
    /// Everything that people wrote beside the settings, to be asked at points of runs.
    pub hooks: HooksInForce,
    /// What workspaces bring along, and what of it counts; the rules in force among it.
    pub projects: ProjectReader,
    /// Runs hooks by hand.
    pub hook_runner: HookRunner,
    /// Ids of those that a person switched off.
    pub hooks_off: HotSwap<Vec<String>>,
    /// One permit, for whoever switches one.
    pub hook_changes: Semaphore,
    /// The files that programs of the settings may be run with.
    pub program_log: ProgramLog,
    /// What their own commands told of tools.
    pub discoveries: ToolDiscoveries,
    /// Servers of the Model Context Protocol.
    pub servers: McpHub,
    /// Those of them that are up or in trouble.
    pub servers_now: PublishedMcpStates,
    /// Who signed in to them.
    pub sign_ins: OAuthSessions,
    /// Held by whoever changes what is hidden, so that no token comes to light in between.
    pub hiding: std::sync::Mutex<()>,
    pub rule_places: RulePlaces,
    /// The database, artifacts, trash.
    pub state_dir: PathBuf,
    /// One permit, for whoever changes what people trust.
    pub trust_changes: Semaphore,
    /// One permit, for whoever tells what changed of the agents' files.
    pub agent_changes: Semaphore,
    /// The extensions that a person installed.
    pub extensions: ExtensionLibrary,
    /// One permit, for whoever changes what is installed.
    pub extension_changes: Semaphore,
    /// One permit, for whoever fetches agents' files from elsewhere.
    pub fetches: Semaphore,
    /// The way into the web.
    pub web: Arc<WebClient>,
    /// Swapped whole when the settings are read anew.
    pub settings: HotSwap<ActiveSettings>,
    /// Takes secrets out of whatever is going to be stored or shown; swapped with the settings.
    pub redactor: Arc<HotSwap<Redactor>>,
    /// Who may connect besides the owner (setting `access.allowUids`); swapped with the settings.
    pub allowed_uids: Arc<HotSwap<Vec<u32>>>,
    /// What settings are read from.
    pub sources: Arc<ConfigSources>,
    /// One permit, for whoever reads the settings anew.
    pub reloads: Semaphore,
    /// One permit, for whoever has the daemon looked over.
    pub examinations: Semaphore,
    pub clock: Arc<dyn Clock>,
    pub started_at: Timestamp,
    /// The same moment on the monotonic clock.
    pub started: Duration,
    /// New at every start.
    pub instance: String,
    pub load: Arc<ConnectionLoad>,
    pub clients: Arc<ConnectedClients>,
    /// Who is asked what.
    pub desk: ConfirmationRouter,
    /// Answer questions for those who have no client.
    pub tokens: Arc<ConfirmationTokens>,
    /// Where HTTP over TCP is served, if it is.
    pub tcp: OnceLock<SocketAddr>,
    /// The Unix socket that it listens on, if that is a file.
    pub socket: OnceLock<PathBuf>,
    pub receipts: Arc<DeliveryReceipts>,
    /// The places up to which subscriptions were sent the log.
    pub places: Arc<SubscriptionPlaces>,
    /// Counts of what runs did since the daemon started.
    pub metrics: RunMetrics,
    /// Traces that clients read page by page.
    pub traces: TraceReader,
    /// Whoever prunes sessions.
    pub pruning: SessionPruning,
    /// The sessions in which clients work.
    pub open_sessions: OpenSessions,
    /// Traces, metrics and the log on their way to a collector.
    pub otlp: SpanExport,
    /// Nothing new begins.
    pub closing: CancellationToken,
    /// Everything ends.
    pub stop: CancellationToken,
}

impl DaemonContext {
    pub fn info(&self) -> DaemonInfo {
        DaemonInfo {
            name: "subagentd".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            instance: self.instance.clone(),
            log_id: self.store.log_id().to_owned(),
            started_at: self.started_at,
        }
    }

    /// The metrics in short.
    pub fn counts(&self) -> DaemonCounts {
        let (_, slot_queue, _) = self.executor.holdings();
        let lags = self.places.lags(self.store.head());
        DaemonCounts {
            slot_queue: u64::try_from(slot_queue).unwrap_or(u64::MAX),
            commits: timed(&self.store.commit_times(), 0),
            max_lag: lags.into_values().max().unwrap_or_default(),
            ..self.metrics.summary()
        }
    }

    /// Switches a hook on or off, for this daemon and the next. Whoever asks sees to it that nobody else does meanwhile.
    pub async fn switch_hook(&self, id: &str, enabled: bool) -> Result<(), StoreError> {
        let mut off: Vec<String> = (*self.hooks_off.get()).clone();
        off.retain(|other| other != id);
        if !enabled {
            off.push(id.to_owned());
        }
        hook_places::note_off(&self.store, &off).await?;
        let config = &self.settings.get().config;
        let sandbox = run_defaults::command_rules(config).confinement;
        let now = hook_places::configuration(config, &self.sources, &self.rule_places, (&off, sandbox));
        self.hooks_off.replace(off);
        self.hooks.replace(now);
        Ok(())
    }

    /// The hooks of a workspace with these canonical folders, as they are now.
    pub async fn hooks_of(&self, roots: Vec<String>) -> Result<Arc<HookPlacesRead>, tokio::task::JoinError> {
        let (hooks, projects) = (self.hooks.clone(), self.projects.clone());
        let reading = move || {
            let folders: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
            let project = projects.load(&folders);
            hooks.read(&roots, &hook_places::of_agents(&project))
        };
        tokio::task::spawn_blocking(reading).await
    }

    /// What holds in a workspace, its agents among it. Reads files, so it leaves the async threads alone.
    pub async fn project(&self, roots: Vec<PathBuf>) -> Result<Arc<Project>, tokio::task::JoinError> {
        let projects = self.projects.clone();
        tokio::task::spawn_blocking(move || Arc::new(projects.load(&roots))).await
    }
}
