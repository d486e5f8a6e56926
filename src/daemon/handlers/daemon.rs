//! `daemon/status`, `daemon/doctor`, `daemon/shutdown`, `daemon/drain`, `daemon/reload`. `rpc/discover` is the table's own.

use std::{sync::Arc, time::Duration};

use super::{
    super::{
        doctor, hook_places, otlp,
        redaction::without_secrets,
        reload,
        rpc::{MethodHandlers, RpcCaller},
    },
    by, known_roots, roots,
};
use crate::{
    client_connections::ClientConnections, daemon_life::DaemonLife, daemon_services::DaemonServices,
    daemon_telemetry::DaemonTelemetry, doctor::DaemonExamination, mcp::McpConnections,
    program_runtime::ProgramRuntime, reload::SettingsReloader, settings_in_force::SettingsInForce,
    workspace_sources::WorkspaceSources,
};
use protocol::{
    CheckState, DaemonDoctor, DaemonDrain, DaemonReload, DaemonShutdown, DaemonState, DaemonStatus,
    DaemonStatusResult, DatabaseStatus, DoctorParams, DoctorResult, DrainMode, DrainParams, DrainResult,
    NoParams, ReloadResult, RpcError, SandboxProfile, SandboxStatus, ShutdownResult,
};
use run::RunExecutor;
use sandbox::SandboxMechanism;
use store::EventStore;
use sys::process;

/// The services that the methods of the daemon use.
pub(super) struct DaemonMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
    pub workspaces: Arc<WorkspaceSources>,
    pub programs: Arc<ProgramRuntime>,
    pub mcp: Arc<McpConnections>,
    pub telemetry: Arc<DaemonTelemetry>,
    pub reloader: Arc<SettingsReloader>,
    pub examination: DaemonExamination,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices, reloader: &Arc<SettingsReloader>) {
    let DaemonServices {
        life, settings, store, executor, clients, workspaces, programs, mcp, telemetry, ..
    } = services.clone();
    let reloader = Arc::clone(reloader);
    let examination = DaemonExamination::of(services);
    let mut api = api.given(Arc::new(DaemonMethods {
        life,
        settings,
        store,
        executor,
        clients,
        workspaces,
        programs,
        mcp,
        telemetry,
        reloader,
        examination,
    }));
    api.cancellable::<DaemonStatus, _, _>(status);
    api.cancellable::<DaemonDoctor, _, _>(doctor);
    api.method::<DaemonShutdown, _, _>(shutdown);
    api.method::<DaemonDrain, _, _>(drain);
    api.method::<DaemonReload, _, _>(reload);
}

async fn status(
    state: Arc<DaemonMethods>,
    _: RpcCaller,
    _: NoParams,
) -> Result<DaemonStatusResult, RpcError> {
    let uptime = state.life.clock.monotonic().saturating_sub(state.life.started);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let degraded = degraded(&state).await;
    Ok(DaemonStatusResult {
        daemon: state.life.info(state.store.log_id()),
        state: daemon_state(&state),
        uptime_ms: u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX),
        runs: state.store.run_counts().await?,
        open_confirmations: state.store.open_confirmations().await?,
        clients: count(state.clients.load.connections()),
        subscriptions: count(state.clients.load.subscriptions()),
        database: DatabaseStatus {
            path: state.store.path().to_owned(),
            bytes: state.store.bytes().await?,
            head: state.store.head(),
            storage_full: *state.store.fullness().borrow(),
        },
        rss_bytes: process::rss_bytes(),
        sandbox: sandbox(&state),
        counts: state.telemetry.counts(&state.store, &state.executor, &state.clients.places),
        mcp_servers: state.mcp.published.told(&state.mcp.hub),
        degraded,
    })
}

async fn doctor(
    state: Arc<DaemonMethods>,
    _: RpcCaller,
    params: DoctorParams,
) -> Result<DoctorResult, RpcError> {
    let folders = match &params.workspace {
        Some(workspace) => known_roots(roots(workspace)?).await?,
        None => Vec::new(),
    };
    let checks = doctor::look_over(&state.examination, &hook_places::canonical(&folders)).await;
    let ok = checks.iter().all(|check| check.state != CheckState::Failed);
    Ok(DoctorResult { checks, ok })
}

fn daemon_state(state: &DaemonMethods) -> DaemonState {
    match (state.life.closing.is_cancelled(), state.executor.is_draining()) {
        (true, _) => DaemonState::Stopping,
        (false, true) => DaemonState::Draining,
        (false, false) => DaemonState::Running,
    }
}

fn sandbox(state: &DaemonMethods) -> Option<SandboxStatus> {
    let mechanism = state.programs.commands.sandbox.known_mechanism()?.name().to_owned();
    let config = &state.settings.get().config.sandbox;
    Some(SandboxStatus { mechanism, profile: config.profile.value, network: config.network.value })
}

/// What does not work as it should, one sentence each.
async fn degraded(state: &DaemonMethods) -> Vec<String> {
    let mistakes = doctor::mistakes_of_settings(&state.examination).await;
    let in_force = state.settings.get();
    let settings = mistakes.iter().map(|problem| format!("settings: {problem}"));
    let files = state.workspaces.projects.rules().files();
    let rules = files.problems().cloned().collect();
    let rules =
        without_secrets(rules, &state.settings.redactor.get()).into_iter().map(|it| format!("rules: {it}"));
    let store = state.store.failing().map(|error| format!("nothing can be written: {error}"));
    let reserve = state.store.missing_reserve().map(str::to_owned);
    let stranded = state.executor.stranded();
    let runs =
        stranded.iter().map(|(run, error)| format!("run {run} cannot go on yet and is tried again: {error}"));
    let approval = &in_force.config.approval;
    let is_unsigned = approval.webhook_url.value.is_some() && approval.webhook_secret.value.is_none();
    let webhook = is_unsigned.then(|| {
        "approval.webhook.url is set, and approval.webhook.secret is not: nothing is posted unsigned"
            .to_owned()
    });
    let is_confined = in_force.config.sandbox.profile.value != SandboxProfile::Full;
    let sandbox = match state.programs.commands.sandbox.known_mechanism() {
        Some(SandboxMechanism::Nothing(why)) if is_confined => {
            Some(format!("commands of agents are not confined: {why}"))
        }
        _ => None,
    };
    let is_loose = !is_confined || sandbox.is_some();
    let token = (is_loose && state.life.tcp.get().is_some())
        .then(|| "TCP is on and commands of agents are not confined, so they can read its token".to_owned());
    let changed = state.programs.children.owner_programs().found_changed();
    let changed = changed.into_iter().map(|file| {
        format!(
            "{} is another file than when it was noted, so what the settings run it for is not done; look at it, and if it \
             is right, acknowledge it: `subagent trust --programs`",
            file.display()
        )
    });
    settings
        .chain(rules)
        .chain(changed)
        .chain(state.programs.children.owner_programs().found_astray())
        .chain(sandbox)
        .chain(token)
        .chain(state.mcp.published.degraded(&state.mcp.hub))
        .chain(store)
        .chain(reserve)
        .chain(runs)
        .chain(webhook)
        .chain(doctor::panicked(&state.life.writing))
        .chain(otlp::refused(&state.telemetry.otlp.counts))
        .collect()
}

async fn reload(state: Arc<DaemonMethods>, caller: RpcCaller, _: NoParams) -> Result<ReloadResult, RpcError> {
    reload::reload(&state.reloader, by(&caller)).await
}

async fn shutdown(
    state: Arc<DaemonMethods>,
    caller: RpcCaller,
    _: NoParams,
) -> Result<ShutdownResult, RpcError> {
    let suspended_runs = u64::try_from(state.executor.live_runs()).unwrap_or(u64::MAX);
    tracing::info!(client = ?caller.introduction().map(|it| it.client_id), suspended_runs, "asked to stop");
    state.life.closing.cancel();
    Ok(ShutdownResult { suspended_runs })
}

async fn drain(
    state: Arc<DaemonMethods>,
    caller: RpcCaller,
    params: DrainParams,
) -> Result<DrainResult, RpcError> {
    let DrainParams { mode, deadline_ms } = params;
    let client = caller.introduction().map(|it| it.client_id);
    tracing::info!(?client, ?mode, deadline_ms, "asked to bring the runs to rest");
    state.executor.refuse_new();
    if mode == DrainMode::Park {
        state.executor.suspend();
    }
    let by = client.map(|client| client.to_string());
    let mut live = state.executor.watch_live_runs();
    let none_left = async {
        while *live.borrow_and_update() != 0 {
            // Also those that were starting when new ones began to be refused.
            if mode == DrainMode::Cancel {
                state.executor.cancel_all(by.as_deref(), "the daemon was drained").await;
            }
            // The sender lives as long as the executor, which the state holds.
            if live.changed().await.is_err() {
                return;
            }
        }
    };
    let live_runs = tokio::select! {
        // Whoever takes a place after that is refused.
        () = none_left => 0,
        () = state.life.clock.sleep(Duration::from_millis(deadline_ms)) => state.executor.live_runs(),
        () = state.life.stop.cancelled() => state.executor.live_runs(),
    };
    let live_runs = u64::try_from(live_runs).unwrap_or(u64::MAX);
    let counts = state.store.run_counts().await?;
    let unfinished = counts.queued + counts.running + counts.waiting + counts.parked;
    Ok(DrainResult {
        drained: live_runs == 0,
        live_runs,
        suspended_runs: unfinished.saturating_sub(live_runs),
    })
}
