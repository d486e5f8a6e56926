//! What do the settings say of runs that say nothing themselves?

use std::{path::PathBuf, sync::Arc, time::Duration};

use config::{
    ConfigSources, DaemonConfig, LayeredSetting, SandboxSettings, SearchProvider, SetAt, SettingLayer,
    WebSearchSettings,
};
use memory::MemoryRules;
use prompts::{ModuleSwitches, PromptModule};
use protocol::{ApprovalMode, ApprovalParams, DiscoveryCommands, LimitsParams, RunTracing, TraceBackend};
use run::{CompressionRules, LoopRules, ModelRoles, PromptRules, RunDefaults};
use sys::warden::CommandLimits;
use tools::{CommandRules, OutputLimits, OwnFiles};
use web::{SearchRoute, SearchRules, WebRules};

/// The mode of sessions for which nobody says one. `yolo` counts only where it is allowed.
pub(super) fn usual_mode(config: &DaemonConfig) -> ApprovalMode {
    match config.approval.mode.value {
        ApprovalMode::Yolo if !config.approval.allow_yolo.value => ApprovalMode::default(),
        mode => mode,
    }
}

/// As a run takes them that is planned now. `written_to`: where the modules of the system prompt are written at each root run.
pub(super) fn defaults(config: &DaemonConfig, written_to: Option<PathBuf>) -> RunDefaults {
    let run = &config.run;
    // What nobody set is left to the run, whose defaults depend on how it ends.
    let ms =
        |setting: &LayeredSetting<Duration>| u64::try_from(setting.value.as_millis()).unwrap_or(u64::MAX);
    let is_set = |origin: SettingLayer| origin != SettingLayer::Default;
    RunDefaults {
        approval: ApprovalParams { mode: Some(usual_mode(config)), ..ApprovalParams::default() },
        allow_yolo: config.approval.allow_yolo.value,
        model: config.models.default.value.clone(),
        roles: ModelRoles {
            small: config.models.small.value.clone(),
            compression: config.models.compression.value.clone(),
            fallback: config.models.fallback.value.clone(),
            fast: config.models.auto.fast.value.clone(),
            strong: config.models.auto.strong.value.clone(),
        },
        compression: CompressionRules {
            enabled: config.compression.enabled.value,
            threshold: config.compression.threshold.value,
        },
        loops: LoopRules {
            calls: config.loop_detection.calls.value,
            text: config.loop_detection.text.value,
            judge: config.loop_detection.judge.value,
        },
        next_speaker_check: config.next_speaker_check.value,
        overrides: Arc::new(config.agents.overrides.value.clone()),
        limits: LimitsParams {
            max_turns: is_set(run.max_turns.origin).then_some(run.max_turns.value),
            max_time_ms: is_set(run.max_time.origin).then(|| ms(&run.max_time)),
            max_tokens: run.max_tokens.value,
            max_cost: run.max_cost.value,
            on_budget: is_set(run.on_budget.origin).then_some(run.on_budget.value),
            grace_ms: is_set(run.grace.origin).then(|| ms(&run.grace)),
            max_depth: is_set(run.max_depth.origin).then_some(run.max_depth.value),
        },
        max_context_tokens: run.max_context_tokens.value,
        output: OutputLimits { max_chars: config.tools.output_max_chars.value },
        commands: command_rules(config),
        excluded: config.tools.exclude.value.clone(),
        discovery: DiscoveryCommands {
            discovery: config.tools.discovery_command.value.clone(),
            call: config.tools.call_command.value.clone(),
        },
        web: web_rules(config),
        prompt: PromptRules { written_to, ..prompt_rules(config) },
        memory: MemoryRules {
            names: config.memory.files.value.clone(),
            project_names: None,
            all_of_folder: config.memory.all_of_folder.value,
            user_files: config.memory.user_files.value.clone(),
        },
        tracing: tracing(config),
        unheld: config.unheld.iter().map(|it| it.problem.to_string()).collect(),
    }
}

/// Reads who else is told of spans, of agents that say nothing.
pub(super) fn tracing(config: &DaemonConfig) -> RunTracing {
    let settings = &config.tracing;
    let is_elsewhere = |it: &TraceBackend| sends_spans(config) && *it != TraceBackend::Sqlite;
    RunTracing {
        backends: settings.backend.value.iter().copied().filter(is_elsewhere).collect(),
        events: settings.events.value.clone(),
        content: settings.content.value,
        sample_rate: settings.sample_rate.value,
    }
}

/// True if anything of runs may leave the database. Where nobody knows what a person wanted to keep back, all of it stays.
pub(super) fn sends_spans(config: &DaemonConfig) -> bool {
    config.tracing.enabled.value && !config.unheld.iter().any(|setting| setting.is_of_tracing)
}

/// What agents are told that have the daemon's own modules.
fn prompt_rules(config: &DaemonConfig) -> PromptRules {
    let mut switches = ModuleSwitches::default();
    for (name, setting) in config.prompt.modules.by_name() {
        let Some(module) = PromptModule::named(name) else { continue };
        let key = format!("prompt.modules.{name}");
        let by = match config.set_at.get(&key) {
            Some(SetAt::Variable(variable)) => format!("{variable} in the environment"),
            _ => format!("the setting {key}"),
        };
        switches.switch(module, setting.value, &by);
    }
    PromptRules {
        switches,
        system_file: config.prompt.system_file.value.clone(),
        saves_shell_output: config.prompt.shell_output_economy.value,
        unknown_modules: config.prompt.unknown_modules.clone(),
        unread_variables: config.prompt.unread_variables.iter().map(ToString::to_string).collect(),
        written_to: None,
    }
}

/// Where the environment wants the modules of the system prompt to be written at each root run.
pub(super) fn written_system_file(sources: &ConfigSources, own_files: &OwnFiles) -> Option<PathBuf> {
    let usual = own_files.memory_folder().join("system.md");
    config::written_system_file(&sources.environment, &usual)
}

/// Which of the web agents reach.
pub(super) fn web_rules(config: &DaemonConfig) -> WebRules {
    let WebSearchSettings { backend, url, key } = &config.tools.web_search;
    let searching = |searcher| match searcher {
        SearchProvider::Gemini => SearchRoute::Model,
        SearchProvider::Backend(backend) => {
            let rules = SearchRules { backend, url: url.value.clone(), key: key.value.clone() };
            SearchRoute::Backend(Arc::new(rules))
        }
    };
    WebRules {
        allowed: config.tools.web_fetch_allow_hosts.value.clone().into(),
        search: backend.value.map(searching),
    }
}

/// What commands of agents may do that say nothing of it themselves.
pub(super) fn command_rules(config: &DaemonConfig) -> CommandRules {
    let SandboxSettings { required, profile, network, environment, sockets, limits } = &config.sandbox;
    let bytes =
        |mebibytes: &LayeredSetting<Option<u64>>| mebibytes.value.map(|it| it.saturating_mul(1 << 20));
    CommandRules {
        confinement: sandbox::SandboxRules {
            profile: profile.value,
            network: network.value,
            required: required.value,
            limits: CommandLimits {
                cpu_seconds: limits.cpu_seconds.value,
                memory_bytes: bytes(&limits.memory_mb),
                processes: limits.processes.value,
                open_files: limits.open_files.value,
            },
        },
        environment: environment.value.clone().into(),
        sockets: sockets.value.iter().filter_map(|place| at_home(place)).collect(),
        inactivity: config.tools.shell_inactivity.value,
        timeout: config.tools.shell_timeout.value,
        max_output: bytes(&limits.output_mb),
    }
}

/// Where a path leads that may begin with `~/`; nowhere without a home.
fn at_home(place: &str) -> Option<PathBuf> {
    match place.strip_prefix("~/") {
        Some(below) => std::env::home_dir().map(|home| home.join(below)),
        None => Some(PathBuf::from(place)),
    }
}
