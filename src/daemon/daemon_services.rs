//! Which services does the daemon consist of?

use std::sync::Arc;

use super::{
    client_connections::ClientConnections, confirmation_channels::ConfirmationChannels,
    daemon_life::DaemonLife, daemon_telemetry::DaemonTelemetry, hook_control::HookControl,
    installed_extensions::InstalledExtensions, mcp::McpConnections, program_runtime::ProgramRuntime,
    retention::SessionPruning, settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use run::RunExecutor;
use store::EventStore;

/// The services of a daemon, each in a room of its own.
#[derive(Clone)]
pub(super) struct DaemonServices {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
    pub workspaces: Arc<WorkspaceSources>,
    pub programs: Arc<ProgramRuntime>,
    pub hooks: Arc<HookControl>,
    pub mcp: Arc<McpConnections>,
    pub extensions: Arc<InstalledExtensions>,
    pub confirmations: Arc<ConfirmationChannels>,
    pub telemetry: Arc<DaemonTelemetry>,
    pub pruning: Arc<SessionPruning>,
}
