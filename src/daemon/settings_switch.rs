//! How do settings come in force, and what must be hidden by them?

use std::{
    ffi::OsString,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    agent_switches,
    daemon_services::DaemonServices,
    defaults, disabled_skills,
    hook_control::HookControl,
    log_lines,
    mcp::{self, McpConnections},
    redaction::redactor,
    retention::SessionPruning,
    settings_in_force::{ActiveSettings, SettingsInForce},
    workspace_sources::WorkspaceSources,
    written_system_file,
};
use config::{ConfigSources, DaemonConfig};
use protocol::FileProblem;
use redact::{KnownSecrets, Redactor};
use run::{ResourceUpdate, RunExecutor};
use tools::mcp::OAuthSessions;

/// The services that go by the settings.
pub(super) struct SettingsSwitch {
    /// Held by whoever changes what is hidden, so that no token comes to light in between.
    hiding: Mutex<()>,
    settings: Arc<SettingsInForce>,
    executor: RunExecutor,
    workspaces: Arc<WorkspaceSources>,
    hooks: Arc<HookControl>,
    mcp: Arc<McpConnections>,
    pruning: Arc<SessionPruning>,
}

impl SettingsSwitch {
    pub fn of(services: &DaemonServices) -> SettingsSwitch {
        let DaemonServices { settings, executor, workspaces, hooks, mcp, pruning, .. } = services.clone();
        SettingsSwitch { settings, executor, workspaces, hooks, mcp, pruning, hiding: Mutex::default() }
    }

    /// Puts these in force, in one step.
    pub fn put_in_force(
        &self,
        config: DaemonConfig,
        problems: Vec<FileProblem>,
        before: &ActiveSettings,
        redactor: Redactor,
    ) {
        // Poisoned or not: nothing is left half done by whoever held it.
        let _turn = self.hiding.lock().unwrap_or_else(PoisonError::into_inner);
        let hidden = (&self.mcp.sign_ins, &self.settings.secrets);
        let redactor = with_secrets(hidden, &self.settings.sources, &config).unwrap_or(redactor);
        let models = match config.providers == before.config.providers {
            true => before.models.clone(),
            false => before.models.reconfigured(&config.providers),
        };
        let models = models.with_settings(&config.models);
        // What hides comes first, so that nothing is shown in between that should not be.
        log_lines::HIDDEN.replace(redactor.clone());
        self.settings.redactor.replace(redactor.clone());
        self.settings.allowed_uids.replace(config.access.allow_uids.value.clone());
        self.executor.refit(ResourceUpdate {
            models: models.clone(),
            defaults: defaults(
                &config,
                written_system_file(&self.settings.sources, &self.settings.own_files),
            ),
            redactor,
            max_concurrent: max_concurrent(&config),
        });
        self.workspaces.projects.agents().switch(agent_switches(&config));
        self.workspaces.projects.skills().disable(disabled_skills(&config));
        self.mcp.hub.configure(mcp::rules(&config, &self.settings.redactor.get(), &self.mcp.sign_ins));
        self.hooks.configure(&config);
        self.settings.replace(ActiveSettings { config, problems, models });
        self.pruning.limits_changed();
    }

    /// Hides what somebody signed in with, and each secret that was read, from now on. Blocks for as long as settings are swapped.
    pub fn hide_anew(&self) {
        // Poisoned or not: nothing is left half done by whoever held it.
        let _turn = self.hiding.lock().unwrap_or_else(PoisonError::into_inner);
        let in_force = self.settings.get();
        let hidden = (&self.mcp.sign_ins, &self.settings.secrets);
        let Some(redactor) = with_secrets(hidden, &self.settings.sources, &in_force.config) else { return };
        log_lines::HIDDEN.replace(redactor.clone());
        self.settings.redactor.replace(redactor.clone());
        self.executor.refit(ResourceUpdate {
            models: in_force.models.clone(),
            defaults: defaults(
                &in_force.config,
                written_system_file(&self.settings.sources, &self.settings.own_files),
            ),
            redactor: redactor.clone(),
            max_concurrent: max_concurrent(&in_force.config),
        });
        self.mcp.hub.configure(mcp::rules(&in_force.config, &redactor, &self.mcp.sign_ins));
    }
}

/// Runs at work at once: in one session, and in all.
pub(super) fn max_concurrent(config: &DaemonConfig) -> (usize, usize) {
    let bounds = &config.max_concurrent_runs;
    (bounds.session.value, bounds.daemon.value)
}

/// What must not be shown, with the tokens of those who signed in to servers and the secrets that were read; `None` where
/// there are none.
pub(super) fn with_secrets(
    (sign_ins, known): (&OAuthSessions, &KnownSecrets),
    sources: &ConfigSources,
    config: &DaemonConfig,
) -> Option<Redactor> {
    let secrets: Vec<(String, String)> = sign_ins.secrets().into_iter().chain(known.all()).collect();
    if secrets.is_empty() {
        return None;
    }
    let secrets = secrets.into_iter().map(|(name, value)| (name.into(), value.into()));
    let environment: Vec<(OsString, OsString)> = sources.environment.iter().cloned().chain(secrets).collect();
    match redactor(&environment, config) {
        Ok(redactor) => Some(redactor),
        Err(error) => {
            // Each pattern was compiled when it was read.
            tracing::error!(%error, "tokens of servers cannot be hidden");
            None
        }
    }
}
