//! How does a daemon begin? What is below comes first, and nothing runs before it is hidden and guarded.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{
    Daemon, DaemonDependencies, DaemonSettings,
    agent_changes::{self, AgentFileNews},
    agent_urls, alive,
    client_connections::ClientConnections,
    clients::ConnectedClients,
    confirmation_channels::ConfirmationChannels,
    confirmation_notifier::ConfirmationNotifier,
    confirmation_router::ConfirmationRouter,
    daemon_life::DaemonLife,
    daemon_services::DaemonServices,
    daemon_telemetry::DaemonTelemetry,
    handlers,
    hook_control::HookControl,
    hook_places, hooks_in_force,
    installed_extensions::InstalledExtensions,
    leftovers::Leftovers,
    log_lines,
    mcp::{self, McpConnections},
    mcp_server,
    metrics_collector::{self, MetricsCollector},
    named::{self, SettingsReferences},
    once::IdempotencyKeys,
    otlp::SpanExport,
    otlp_senders,
    program_runtime::ProgramRuntime,
    projects::projects,
    reception,
    redaction::without_secrets,
    reload::SettingsReloader,
    retention::SessionPruning,
    run_defaults::{command_rules, defaults, written_system_file},
    settings_in_force::{ActiveSettings, SettingsGround, SettingsInForce},
    settings_switch::{max_concurrent, with_secrets},
    tool_discoveries::ToolDiscoveries,
    workspace_sources::WorkspaceSources,
};
use redact::KnownSecrets;
use run::{ExecutorParts, RunExecutor};
use store::{EventStore, Follower, StoreError};
use sys::{children::ChildProcesses, clock::Clock, tasks::TaskGroup};
use tools::{BackgroundCommands, CommandRuntime, ProgramLog, ToolRegistry, mcp::OAuthSessions};
use web::WebClient;

/// Below the daemon's state: who signed in to MCP servers, a file each.
const SIGN_INS: &str = "mcp-auth";

/// The tasks of a daemon, and what ends them.
pub(super) struct DaemonTasks {
    /// Drivers of runs; they end first, since they write.
    pub runs: TaskGroup,
    pub connections: TaskGroup,
    /// The store's writer.
    pub base: TaskGroup,
    /// Nothing new begins.
    pub closing: CancellationToken,
    /// Everything ends.
    pub stop: CancellationToken,
    /// Nothing is started any more.
    pub leaving: CancellationToken,
}

impl DaemonTasks {
    fn new() -> DaemonTasks {
        let runs = TaskGroup::new();
        DaemonTasks {
            connections: runs.beside(),
            base: runs.beside(),
            runs,
            closing: CancellationToken::new(),
            stop: CancellationToken::new(),
            leaving: CancellationToken::new(),
        }
    }
}

impl Daemon {
    /// Opens the database, takes up the runs that were left unfinished, and is ready for connections.
    pub async fn boot(settings: DaemonSettings, edges: DaemonDependencies) -> Result<Daemon, StoreError> {
        let tasks = DaemonTasks::new();
        let DaemonDependencies { clock, models, tools, children, sandbox, outside } = edges;
        let secrets = KnownSecrets::default();
        let models = models.with_settings(&settings.config.models).telling_keys(secrets.clone());
        let mut settings = settings;
        settings.own_files = settings.own_files.naming(sandbox.hidden().named().clone());
        let store = EventStore::open(&settings.state_dir, &tasks.base, Arc::clone(&clock)).await?;
        let counted_from = store.head();
        handlers::remove_closed(&store, &*clock).await?;
        // The store's lock says that no other daemon is at work there.
        let state_dir = settings.state_dir.clone();
        drop(tokio::task::spawn_blocking(move || agent_urls::sweep(&state_dir)).await);
        let extensions = handlers::extension_library(&settings.data_dir, &store).await?;
        let projects = projects(&settings, &store, extensions.clone()).await?;
        // Commands in the background go on while turns end, so they stand beside the connections.
        let background = BackgroundCommands::new(tasks.connections.clone(), tasks.stop.clone());
        let commands = CommandRuntime::new(sandbox, settings.sources.environment.clone(), background)
            .telling_keys(secrets.clone());
        let commands = without_leftovers(&settings, commands, &store, (&clock, &tasks)).await;
        let web = WebClient::new(outside, settings.sources.environment.clone(), Arc::clone(&clock));
        let web = Arc::new(web.telling_keys(secrets.clone()));
        let workspaces = Arc::new(WorkspaceSources::new(projects, web));
        // Before anything runs, so nobody waits for this thread; and before anybody uses them they are hidden.
        let folder = settings.state_dir.join(SIGN_INS);
        let around = (tasks.connections.clone(), tasks.stop.clone());
        let sign_ins = OAuthSessions::open(folder, Arc::clone(&clock), around);
        let programs = programs(&settings, (commands, children), &store, (&clock, &secrets)).await?;
        let (otlp, otlp_problems) =
            SpanExport::found(&settings.config, &settings.sources.environment, &secrets);
        settings.problems.extend(otlp_problems);
        if let Some(redactor) = with_secrets((&sign_ins, &secrets), &settings.sources, &settings.config) {
            log_lines::HIDDEN.replace(redactor.clone());
            settings.redactor = redactor;
        }
        let hub = {
            let known = (&workspaces.projects, &programs.log, &sign_ins);
            let tasks = (&tasks.connections, &tasks.stop);
            mcp::servers(&settings, &store, &programs.commands, &clock, known, tasks).await?
        };
        handlers::begin_extensions(&extensions, &hub).await;
        let mcp = Arc::new(McpConnections::new(hub, sign_ins));
        let settings = Arc::new(in_force(settings, models, secrets));
        let hooks = Arc::new(hooks(&settings, &store, (&workspaces, &programs), &clock, &tasks).await?);
        let executor =
            executor((&settings, &store), (&workspaces, &programs), (&mcp, &hooks), tools, &clock, &tasks);
        let connected = ConnectedClients::deciding_who_lends(&executor.lenders());
        // What was asked is asked again before any run goes on.
        let (router, questions) = ConfirmationRouter::open(&store, &connected, &clock).await?;
        let resumed = executor.resume_all().await?;
        if resumed != 0 {
            tracing::info!(runs = resumed, clean = store.stopped_cleanly(), "runs of the last daemon go on");
        }
        let once = IdempotencyKeys::new(store.clone(), Arc::clone(&settings.redactor), tasks.runs.clone());
        let life = DaemonLife::new(clock, tasks.runs.clone(), (tasks.closing.clone(), tasks.stop.clone()));
        let confirmations = Arc::new(ConfirmationChannels::new(router, &settings.state_dir));
        let services = DaemonServices {
            life: Arc::new(life),
            settings,
            store,
            executor,
            clients: Arc::new(ClientConnections::new(connected, once)),
            workspaces,
            programs,
            hooks,
            mcp,
            extensions: Arc::new(InstalledExtensions::new(extensions)),
            confirmations,
            telemetry: Arc::new(DaemonTelemetry::new(counted_from, otlp)),
            pruning: Arc::new(SessionPruning::default()),
        };
        let reloader = Arc::new(SettingsReloader::of(&services));
        hide_what_comes(&services, &reloader);
        let collector = Arc::new(MetricsCollector::of(&services));
        follow(&services, questions, &collector, &tasks);
        let methods = handlers::methods(&services, &reloader);
        let inner = reception(&services, &collector, &methods, &tasks.connections, None);
        let mcp_server = Arc::new(mcp_server::AgentMcpServer::new(&services, inner));
        Ok(Daemon { services, reloader, collector, methods, mcp_server, tasks })
    }
}

/// Commands, after anything that the last daemon left of theirs is put aside, to be taken away.
async fn without_leftovers(
    settings: &DaemonSettings,
    commands: CommandRuntime,
    store: &EventStore,
    (clock, tasks): (&Arc<dyn Clock>, &DaemonTasks),
) -> Arc<CommandRuntime> {
    let leftovers = Leftovers::of(&settings.state_dir, &settings.own_files);
    let commands = Arc::new(leftovers.known_to(commands));
    leftovers.put_aside(store.away()).await;
    leftovers.attend_notes(&tasks.connections, (clock, &tasks.stop));
    let removing = leftovers.remove(store.clone(), tasks.closing.clone());
    tasks.connections.spawn("what takes away leftovers", removing);
    commands
}

/// Everything that programs are started with; those that the settings name are noted as they are.
async fn programs(
    settings: &DaemonSettings,
    (commands, children): (Arc<CommandRuntime>, ChildProcesses),
    store: &EventStore,
    (clock, secrets): (&Arc<dyn Clock>, &KnownSecrets),
) -> Result<Arc<ProgramRuntime>, StoreError> {
    let log = ProgramLog::open(store.clone(), Arc::clone(clock), children.owner_programs().clone()).await?;
    let around = (&settings.sources, &settings.rules);
    let references = SettingsReferences::in_settings(&settings.config, around, &settings.state_dir);
    let places = commands.sandbox.hidden().clone();
    drop(named::take_in(references, &log, places.named(), secrets).await);
    // From now on these are known by handle, too.
    drop(tokio::task::spawn_blocking(move || drop((places.look(), places.kept_in(&[])))).await);
    Ok(Arc::new(ProgramRuntime { children, commands, log, discoveries: ToolDiscoveries::default() }))
}

/// The settings that the daemon begins with.
fn in_force(
    settings: DaemonSettings,
    models: models::ModelRegistry,
    secrets: KnownSecrets,
) -> SettingsInForce {
    let DaemonSettings { state_dir, rules, config, problems, redactor, sources, own_files, .. } = settings;
    let problems = without_secrets(problems, &redactor);
    let ground = SettingsGround { secrets, sources, rule_places: rules, own_files, state_dir };
    SettingsInForce::new(ActiveSettings { config, problems, models }, redactor, ground)
}

async fn hooks(
    settings: &Arc<SettingsInForce>,
    store: &EventStore,
    (workspaces, programs): (&Arc<WorkspaceSources>, &ProgramRuntime),
    clock: &Arc<dyn Clock>,
    tasks: &DaemonTasks,
) -> Result<HookControl, StoreError> {
    let switched_off = hook_places::switched_off(store).await?;
    let (sources, config) = (&settings.sources, &settings.get().config);
    let runner = hooks::HookRunner::new(
        programs.commands.sandbox.clone(),
        sources.environment.clone(),
        Arc::clone(clock),
        tasks.connections.clone(),
        programs.children.owner_programs().clone(),
    );
    let confinement = command_rules(config).confinement;
    let configuration =
        hook_places::configuration(config, sources, &settings.rule_places, (&switched_off, confinement));
    let in_force = hooks_in_force::in_force(
        configuration,
        (sources, &settings.state_dir),
        &workspaces.projects,
        (&hooks::HookLibrary::default(), &runner),
    );
    let (settings, workspaces) = (Arc::clone(settings), Arc::clone(workspaces));
    Ok(HookControl::new((in_force, runner), switched_off, store.clone(), settings, workspaces))
}

fn executor(
    (settings, store): (&SettingsInForce, &EventStore),
    (workspaces, programs): (&WorkspaceSources, &ProgramRuntime),
    (mcp, hooks): (&McpConnections, &HookControl),
    tools: ToolRegistry,
    clock: &Arc<dyn Clock>,
    tasks: &DaemonTasks,
) -> RunExecutor {
    let active = settings.get();
    RunExecutor::new(ExecutorParts {
        store: store.clone(),
        clock: Arc::clone(clock),
        models: active.models.clone(),
        registry: tools,
        defaults: defaults(&active.config, written_system_file(&settings.sources, &settings.own_files)),
        redactor: (*settings.redactor.get()).clone(),
        own_files: Arc::new(settings.own_files.clone()),
        commands: Arc::clone(&programs.commands),
        web: Arc::clone(&workspaces.web),
        servers: mcp.hub.clone(),
        hooks: hooks.in_force.clone(),
        projects: workspaces.projects.clone(),
        max_concurrent: max_concurrent(&active.config),
        tasks: tasks.runs.clone(),
        // The executor's own: runs can be brought to rest in a daemon that goes on.
        closing: tasks.closing.child_token(),
        stop: tasks.stop.clone(),
    })
}

/// Whatever is read or signed in with from now on is hidden at once.
fn hide_what_comes(services: &DaemonServices, reloader: &Arc<SettingsReloader>) {
    let (hiding, learning) = (Arc::downgrade(reloader), Arc::downgrade(reloader));
    services.settings.secrets.hide_by(move || {
        if let Some(reloader) = learning.upgrade() {
            reloader.hide_anew();
        }
    });
    services.mcp.sign_ins.hide_by(move || {
        if let Some(reloader) = hiding.upgrade() {
            reloader.hide_anew();
        }
    });
}

/// Begins everything that goes on beside requests, until the daemon stops.
fn follow(
    services: &DaemonServices,
    questions: Follower,
    collector: &Arc<MetricsCollector>,
    tasks: &DaemonTasks,
) {
    let DaemonTasks { connections, base, closing, stop, leaving, .. } = tasks;
    let DaemonServices { life, store, executor, mcp, programs, .. } = services.clone();
    let router = services.confirmations.router.clone();
    router.keep(questions, ConfirmationNotifier::of(services).ways(), connections, stop);
    let news = AgentFileNews::of(services);
    let follow_agents = move || agent_changes::follow(news.clone());
    connections.keep("what tells of changed agents", closing.clone(), follow_agents);
    let for_alive = services.clone();
    let say_alive = move || {
        let DaemonServices { life, store, executor, programs, .. } = for_alive.clone();
        alive::keep_saying(life, store, executor, programs)
    };
    connections.keep("what says that the daemon is at work", closing.clone(), say_alive);
    let for_metrics = Arc::clone(collector);
    let follow_metrics = move || metrics_collector::follow(Arc::clone(&for_metrics));
    connections.keep("what counts for the metrics", stop.clone(), follow_metrics);
    let hooks = (&services.hooks.in_force, &store);
    hooks_in_force::keep(connections, closing, hooks, (&executor, &life.clock));
    handlers::keep_to_limits(services, connections);
    otlp_senders::begin(collector, &services.settings, connections);
    let follow_servers = move || mcp::follow(Arc::clone(&life), store.clone(), Arc::clone(&mcp));
    connections.keep("what tells of MCP servers", stop.clone(), follow_servers);
    let extensions = handlers::ExtensionMethods::of(services);
    let follow_extensions = move || handlers::follow_extensions(extensions.clone());
    connections.keep("what ends servers of changed extensions", stop.clone(), follow_extensions);
    let children = &programs.children;
    if children.is_alone() {
        let (until, children) = (leaving.clone(), children.clone());
        let reap = move || children.clone().reap_orphans(until.clone());
        base.keep("what ends processes that agents leave behind", leaving.clone(), reap);
    }
    let (trying, trying_stop) = (Arc::clone(&programs.commands), stop.clone());
    // Known before anybody asks; whoever needs it sooner waits for it.
    connections.spawn("what tries the sandbox", async move {
        trying_stop.run_until_cancelled(trying.sandbox.mechanism()).await.map(drop)
    });
}
