//! Which settings are in force, and what happens when they and the rules are read anew? (spec 12)
//!
//! All of them are one value that is swapped whole: whoever begins something takes it once and keeps what it said. What
//! is mistaken keeps the value it had. The log is told first; when it cannot be, nothing changes.

use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, PoisonError},
};

use tokio::task::JoinError;

use super::{
    agent_switches,
    dead_names::dead_names_in_force,
    defaults, disabled_skills, discovery, hook_problems, log_lines, mcp, named,
    named::SettingsReferences,
    otlp,
    redaction::{redactor, without_secrets},
    settings_in_force::ActiveSettings,
    state::DaemonContext,
    wire_errors::internal,
    written_system_file,
};
use config::{ConfigSources, DaemonConfig, SetAt, problem};
use protocol::{
    ConfigChanged, EventBody, EventHead, FileProblem, FileProblemCode, PolicyChanged, PrivateEventFields,
    ProblemSeverity, ReloadResult, RpcError,
};
use redact::{KnownSecrets, Redactor};
use rules::RuleFiles;
use run::ResourceUpdate;
use store::{KeyedAnswer, NewEvent};
use tools::mcp::OAuthSessions;

const EXCLUDE: &str = "tools.exclude";

/// Entries of `tools.exclude` that keep no tool from anybody: slips, mostly.
pub(super) async fn idle_exclusions(state: &DaemonContext) -> Result<Vec<FileProblem>, JoinError> {
    let project = state.workspaces.project(Vec::new()).await?;
    let registry = state.executor.registry(&project, discovery::foreign_known(state, &project));
    let config = &state.settings.get().config;
    let (path, mark) = match config.set_at.get(EXCLUDE) {
        Some(SetAt::File { path, mark }) => (path.clone(), Some(*mark)),
        Some(elsewhere) => (elsewhere.told().into(), None),
        None => (PathBuf::from("settings"), None),
    };
    let redactor = state.settings.redactor.get();
    let found = config.tools.exclude.value.iter().filter_map(|entry| {
        let message = format!("`{EXCLUDE}`: {}", registry.explain_idle(entry)?);
        let found = problem(&path, mark, FileProblemCode::BadValue, redactor.owned(message));
        Some(FileProblem { severity: ProblemSeverity::Warning, ..found })
    });
    Ok(found.collect())
}

/// What is wrong with the rules and settings of projects that people acknowledged. All of it warns only: it holds in its own
/// folder.
pub(super) async fn project_problems(state: &DaemonContext) -> Result<Vec<FileProblem>, JoinError> {
    let projects = state.workspaces.projects.clone();
    let problems = tokio::task::spawn_blocking(move || projects.problems()).await?;
    let warn = |it: FileProblem| FileProblem { severity: ProblemSeverity::Warning, ..it };
    let problems = problems.into_iter().map(warn).collect();
    Ok(without_secrets(problems, &state.settings.redactor.get()))
}

/// Runs at work at once: in one session, and in all.
pub(super) fn max_concurrent(config: &DaemonConfig) -> (usize, usize) {
    let bounds = &config.max_concurrent_runs;
    (bounds.session.value, bounds.daemon.value)
}

/// Reads the settings anew and puts them in force. One at a time, and whole: whoever asks may leave, but what the log says
/// is then done.
pub(super) async fn reload(state: &Arc<DaemonContext>, by: Option<String>) -> Result<ReloadResult, RpcError> {
    let reloading = Arc::clone(state);
    let whole = async move { reload_whole(&reloading, by, None).await };
    let reloading = state.life.writing.spawn("the reading of the settings", whole);
    let done = reloading.await.map_err(|error| internal("the settings were not read anew", &error))?;
    discovery::refresh(state);
    done
}

/// What is kept under a request's key, given whether the log is told of any change.
pub(super) type KeyedReloadAnswer = Box<dyn FnOnce(bool) -> KeyedAnswer + Send>;

/// The same for a request that changed a file, whose answer is kept with what the log is told. The caller sees to it that this
/// runs to its end. After an error nothing is in force that was not.
pub(super) async fn reload_whole(
    state: &DaemonContext,
    by: Option<String>,
    to_be_kept: Option<KeyedReloadAnswer>,
) -> Result<ReloadResult, RpcError> {
    let _turn = state.settings.changes.lock().await;
    let before = state.settings.get();
    let read = SettingsReload { before: Arc::clone(&before), sources: Arc::clone(&state.settings.sources) };
    let places = state.settings.rule_places.clone();
    let read = tokio::task::spawn_blocking(move || (read.anew(), RuleFiles::read(&places))).await;
    let ((config, mut problems), rules) =
        read.map_err(|error| internal("the settings could not be read", &error))?;
    let (otlp_targets, otlp_problems) =
        otlp::found_targets(&config, &state.settings.sources.environment, &state.settings.secrets);
    problems.extend(otlp_problems);
    let settings_problems = problems.len();
    let changes = config.changes_since(&before.config);
    let redactor = match config.redaction.patterns.value == before.config.redaction.patterns.value {
        true => state.settings.redactor.get(),
        // Each pattern was compiled when it was read.
        false => Arc::new(
            redactor(&state.settings.sources.environment, &config)
                .map_err(|error| internal("the patterns to be hidden cannot be used", &error))?,
        ),
    };
    problems.extend(rules.problems().cloned());
    let mut problems = without_secrets(problems, &redactor);
    let needs_restart = changes.at_start.clone();
    let changed: Vec<String> = changes.at_once.into_iter().chain(changes.at_start).collect();
    let policies = rules.changed_since(&state.workspaces.projects.rules().files());
    let policies: Vec<String> =
        policies.iter().map(|path| redactor.owned(path.to_string_lossy().into_owned())).collect();
    let event = |body: EventBody| NewEvent {
        at: state.life.clock.now(),
        session: None,
        run: None,
        context: None,
        head: EventHead { by: by.clone(), ..EventHead::default() },
        body,
        private: PrivateEventFields::default(),
    };
    let mut events = Vec::new();
    if !changed.is_empty() {
        let data = ConfigChanged { changed: changed.clone(), needs_restart: needs_restart.clone() };
        events.push(event(data.into()));
    }
    if !policies.is_empty() {
        let files = policies.clone();
        events.push(event(PolicyChanged { added: Vec::new(), removed: Vec::new(), files }.into()));
    }
    let is_any = !events.is_empty();
    let keyed = to_be_kept.map(|to_be_kept| to_be_kept(is_any));
    let (_, last) = state.store.append_keyed(events, keyed).await?;
    let seq = is_any.then_some(last);
    let of_rules = problems.split_off(settings_problems);
    let references = SettingsReferences::in_settings(
        &config,
        (&state.settings.sources, &state.settings.rule_places),
        &state.settings.state_dir,
    );
    let files = state.programs.commands.sandbox.hidden().named().clone();
    named::take_in(references, &state.programs.log, &files, &state.settings.secrets)
        .await
        .map_err(|error| internal("what the settings name could not be looked at", &error))?;
    state.workspaces.projects.rules().replace_files(rules);
    put_in_force(state, config, problems.clone(), &before, (*redactor).clone());
    state.telemetry.otlp.retarget(otlp_targets, &state.settings.get().config);
    tracing::info!(
        ?changed,
        ?policies,
        ?needs_restart,
        problems = problems.len() + of_rules.len(),
        "settings and rules were read anew"
    );
    for problem in &problems {
        tracing::warn!("settings: {problem}");
    }
    for problem in &of_rules {
        tracing::warn!("rules: {problem}");
    }
    problems.extend(of_rules);
    let unread = |error: JoinError| internal("the projects could not be read", &error);
    problems.extend(idle_exclusions(state).await.map_err(unread)?);
    problems.extend(dead_names_in_force(state).await.map_err(unread)?);
    problems.extend(project_problems(state).await.map_err(unread)?);
    let of_hooks = hook_problems::problems_in_force(state).await.map_err(unread)?;
    let new: Vec<FileProblem> = of_hooks.into_iter().filter(|it| !problems.contains(it)).collect();
    problems.extend(new);
    Ok(ReloadResult { changed, policies, needs_restart, problems, seq })
}

struct SettingsReload {
    before: Arc<ActiveSettings>,
    sources: Arc<ConfigSources>,
}

impl SettingsReload {
    fn anew(&self) -> (DaemonConfig, Vec<FileProblem>) {
        self.before.config.reload(&self.sources)
    }
}

fn put_in_force(
    state: &DaemonContext,
    config: DaemonConfig,
    problems: Vec<FileProblem>,
    before: &ActiveSettings,
    redactor: Redactor,
) {
    // Poisoned or not: nothing is left half done by whoever held it.
    let _turn = state.hiding.lock().unwrap_or_else(PoisonError::into_inner);
    let hidden = (&state.mcp.sign_ins, &state.settings.secrets);
    let redactor = with_secrets(hidden, &state.settings.sources, &config).unwrap_or(redactor);
    let models = match config.providers == before.config.providers {
        true => before.models.clone(),
        false => before.models.reconfigured(&config.providers),
    };
    let models = models.with_settings(&config.models);
    // What hides comes first, so that nothing is shown in between that should not be.
    log_lines::HIDDEN.replace(redactor.clone());
    state.settings.redactor.replace(redactor.clone());
    state.settings.allowed_uids.replace(config.access.allow_uids.value.clone());
    state.executor.refit(ResourceUpdate {
        models: models.clone(),
        defaults: defaults(&config, written_system_file(&state.settings.sources, &state.settings.own_files)),
        redactor,
        max_concurrent: max_concurrent(&config),
    });
    state.workspaces.projects.agents().switch(agent_switches(&config));
    state.workspaces.projects.skills().disable(disabled_skills(&config));
    state.mcp.hub.configure(mcp::rules(&config, &state.settings.redactor.get(), &state.mcp.sign_ins));
    state.hooks.configure(&config);
    state.settings.replace(ActiveSettings { config, problems, models });
    state.pruning.limits_changed();
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

/// Hides what somebody signed in with, and each secret that was read, from now on. Blocks for as long as settings are swapped.
pub(super) fn hide_anew(state: &DaemonContext) {
    // Poisoned or not: nothing is left half done by whoever held it.
    let _turn = state.hiding.lock().unwrap_or_else(PoisonError::into_inner);
    let in_force = state.settings.get();
    let hidden = (&state.mcp.sign_ins, &state.settings.secrets);
    let Some(redactor) = with_secrets(hidden, &state.settings.sources, &in_force.config) else { return };
    log_lines::HIDDEN.replace(redactor.clone());
    state.settings.redactor.replace(redactor.clone());
    state.executor.refit(ResourceUpdate {
        models: in_force.models.clone(),
        defaults: defaults(
            &in_force.config,
            written_system_file(&state.settings.sources, &state.settings.own_files),
        ),
        redactor: redactor.clone(),
        max_concurrent: max_concurrent(&in_force.config),
    });
    state.mcp.hub.configure(mcp::rules(&in_force.config, &redactor, &state.mcp.sign_ins));
}
