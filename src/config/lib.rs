//! What did the people who run this daemon set, and where did they set it? (spec 12, "Settings")
//!
//! Settings are layers: defaults, the system's file, the user's file, the environment, flags; the later wins, and
//! every value knows its origin. A file with mistakes loses only what is mistaken, and all mistakes are told at once,
//! with line and column. This module also knows the places on disk, and how a file that a person wrote is read.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use protocol::{
    AgentName, AgentScope, ApprovalMode, Audience, OnBudget, OnDeadline, OnDetached, SandboxProfile,
    ToolName, UsdAmount,
};
// For whoever reads what people wrote: through this door come file, place and word together.
pub use sys::{
    mark::{TextPosition, one_based, problem},
    nearest::nearest,
};

mod agent_places;
mod approval;
mod command_line;
mod edit;
mod entries;
mod environment;
mod expand;
mod hooks;
mod hosts;
mod keys;
mod layer;
mod mcp;
mod memory;
mod mistake;
mod models;
mod overrides;
mod places;
mod project;
mod prompt;
mod providers;
mod retention;
mod sampling;
mod schema;
mod secret;
mod shapes;
mod shown;
mod skills;
mod source;
mod sources;
mod tracing;
mod unheld;
mod web;

pub use self::skills::SkillSettings;
pub use agent_places::{AgentPlaceSettings, ProductSettings};
pub use command_line::{BadCommand, command_words};
pub use edit::{ConfigEditError, ServerEdit, edited, edited_skills};
pub use environment::{variable_of, written_system_file};
pub use expand::{UnfilledVariable, expand};
pub use hooks::HookRules;
pub use hosts::AllowedHost;
pub use mcp::{
    McpSettings, ServerOf, ServerProblem, read_server, server_fields, server_name_problem, server_schema,
    server_sound,
};
pub use memory::MemorySettings;
pub use models::{AutoSettings, ModelAlias, ModelSettings};
pub use overrides::AgentOverride;
pub use places::{DaemonPlaces, NoHome};
pub use project::ProjectSettings;
pub use prompt::{
    LARGEST_SYSTEM_FILE, PROMPT_MODULES, PromptModuleSettings, PromptSettings, SystemFileChoice,
    UnknownPromptModule,
};
pub use providers::{KeySource, ProviderKind, ProviderSettings};
pub use retention::RetentionSettings;
pub use schema::schema;
pub use shown::{NoSuchSetting, SettingChanges, ShownSetting};
pub use source::{UNREADABLE_FILE_EFFECT, decode, read_bounded, reason};
pub use sources::{ConfigPlaces, ConfigSources, is_of_a_flag};
pub use tracing::{OtlpExportSettings, OtlpProtocol, TracingSettings};
pub use unheld::UnheldSetting;
pub use web::{SearchBackend, SearchProvider, WebSearchSettings};

/// Where a value was set; later ones win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingLayer {
    /// Nobody set it.
    Default,
    /// `/etc/subagentd/settings.json`
    System,
    /// `$XDG_CONFIG_HOME/subagentd/settings.json`
    User,
    /// A variable `SUBAGENTD_…`.
    Environment,
    /// The daemon's command line.
    Flag,
}

/// The very place where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetAt {
    File {
        path: PathBuf,
        mark: TextPosition,
    },
    /// Its name.
    Variable(String),
    /// With its key, as it was given.
    Flag(String),
}

/// A value and where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayeredSetting<T> {
    pub value: T,
    pub origin: SettingLayer,
}

impl<T> LayeredSetting<T> {
    fn default_of(value: T) -> LayeredSetting<T> {
        LayeredSetting { value, origin: SettingLayer::Default }
    }
}

/// The settings in force.
#[derive(Debug, Clone, PartialEq)]
pub struct DaemonConfig {
    pub models: ModelSettings,
    pub compression: CompressionSettings,
    pub loop_detection: LoopSettings,
    /// Whether the small model says who speaks next in a conversation.
    pub next_speaker_check: LayeredSetting<bool>,
    /// By the entry's name. `None` = its settings have mistakes: nothing may be sent to it, since nobody knows what was
    /// meant, and nothing else may take its name.
    pub providers: BTreeMap<String, LayeredSetting<Option<ProviderSettings>>>,
    pub agents: AgentSettings,
    pub run: RunSettings,
    pub max_concurrent_runs: ConcurrencySettings,
    pub tools: ToolSettings,
    pub mcp: McpSettings,
    pub shutdown: ShutdownSettings,
    pub access: AccessSettings,
    pub redaction: RedactionSettings,
    pub approval: ApprovalSettings,
    pub sandbox: SandboxSettings,
    pub prompt: PromptSettings,
    pub hooks: HookRules,
    pub memory: MemorySettings,
    pub skills: SkillSettings,
    pub retention: RetentionSettings,
    pub tracing: TracingSettings,
    /// Settings that were meant to hold agents to less and do not count, since they are misspelled or mistaken.
    pub unheld: Vec<UnheldSetting>,
    /// Where each key that somebody set was set; an entry of `providers` under its own key.
    pub set_at: BTreeMap<String, SetAt>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AgentSettings {
    /// The agent of a run that names none.
    pub default: LayeredSetting<AgentName>,
    /// Whether the agent `auto` means the one whose trigger fits.
    pub auto_route: LayeredSetting<bool>,
    /// Where agents are made whose maker names no place.
    pub default_scope: LayeredSetting<AgentScope>,
    /// Where agents are looked for.
    pub places: AgentPlaceSettings,
    /// By an agent's name: what counts in place of what its file says.
    pub overrides: LayeredSetting<BTreeMap<String, AgentOverride>>,
}

/// When a context that has grown long is summed up (spec 04, "Compression").
#[derive(Debug, Clone, PartialEq)]
pub struct CompressionSettings {
    /// By itself; whoever asks for it is always heard.
    pub enabled: LayeredSetting<bool>,
    /// Share of the model's window: above 0, at most 1.
    pub threshold: LayeredSetting<f64>,
}

/// What is looked for in runs that go in circles (spec 04, "Loop detection").
#[derive(Debug, Clone, PartialEq)]
pub struct LoopSettings {
    /// The same call.
    pub calls: LayeredSetting<bool>,
    /// The same text.
    pub text: LayeredSetting<bool>,
    /// What the small model thinks of it.
    pub judge: LayeredSetting<bool>,
}

/// For agents whose definition does not say (spec 02, `run`).
#[derive(Debug, Clone, PartialEq)]
pub struct RunSettings {
    pub max_turns: LayeredSetting<u32>,
    /// Active time; waiting for a person does not count.
    pub max_time: LayeredSetting<Duration>,
    /// `None` = no limit.
    pub max_tokens: LayeredSetting<Option<u64>>,
    /// `None` = no limit.
    pub max_cost: LayeredSetting<Option<UsdAmount>>,
    /// What happens once one of these two is used up.
    pub on_budget: LayeredSetting<OnBudget>,
    /// Of a request. `None` = as many as fit the model.
    pub max_context_tokens: LayeredSetting<Option<u64>>,
    /// How long the grace turn may take.
    pub grace: LayeredSetting<Duration>,
    /// Levels of agents that may call agents.
    pub max_depth: LayeredSetting<u32>,
}

/// How many runs may be at work at once (spec 03, "Subagent calls"); the others wait in a queue.
#[derive(Debug, Clone, PartialEq)]
pub struct ConcurrencySettings {
    pub session: LayeredSetting<usize>,
    pub daemon: LayeredSetting<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolSettings {
    /// Neither declared nor callable: names, aliases, or patterns with `*`.
    pub exclude: LayeredSetting<Vec<ToolName>>,
    /// Tells tools of a workspace's own; `None` = none does.
    pub discovery_command: LayeredSetting<Option<String>>,
    /// Calls one of them.
    pub call_command: LayeredSetting<Option<String>>,
    /// Longer output is cut for the model, in characters.
    pub output_max_chars: LayeredSetting<usize>,
    /// How long a command may put out nothing before it is ended.
    pub shell_inactivity: LayeredSetting<Duration>,
    /// How long a command may take.
    pub shell_timeout: LayeredSetting<Duration>,
    /// Hosts that the web tools reach although they are no public ones.
    pub web_fetch_allow_hosts: LayeredSetting<Vec<AllowedHost>>,
    pub web_search: WebSearchSettings,
}

/// How commands are confined (spec 11, "What a tool may do").
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxSettings {
    /// Without a sandbox no command is run.
    pub required: LayeredSetting<bool>,
    /// Of agents that do not say.
    pub profile: LayeredSetting<SandboxProfile>,
    pub network: LayeredSetting<bool>,
    /// Names of variables that commands get beside the usual ones.
    pub environment: LayeredSetting<Vec<String>>,
    /// Socket files that commands may connect to, and folders of such: absolute, or from the home (`~/`).
    pub sockets: LayeredSetting<Vec<String>>,
    pub limits: SandboxLimits,
}

/// What one command may use, with all that it starts. `None` = no limit but the system's.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxLimits {
    pub cpu_seconds: LayeredSetting<Option<u64>>,
    /// Resident.
    pub memory_mb: LayeredSetting<Option<u64>>,
    pub processes: LayeredSetting<Option<u64>>,
    /// For each process.
    pub open_files: LayeredSetting<Option<u64>>,
    /// What it puts out.
    pub output_mb: LayeredSetting<Option<u64>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ShutdownSettings {
    /// How long a stopping daemon lets running calls finish.
    pub grace: LayeredSetting<Duration>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AccessSettings {
    /// Users besides the daemon's own that may connect.
    pub allow_uids: LayeredSetting<Vec<u32>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RedactionSettings {
    /// Regular expressions whose matches are hidden (spec 10). Each was compiled once and matches no empty text.
    pub patterns: LayeredSetting<Vec<String>>,
    /// False: a mistake kept some of them from being read, so that nobody knows what is to be hidden.
    pub is_whole: bool,
}

/// How questions to people are put, where whoever starts a run does not say (spec 06, "Routing").
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalSettings {
    /// Of sessions that name none.
    pub mode: LayeredSetting<ApprovalMode>,
    /// Without it no session may be in the mode `yolo`.
    pub allow_yolo: LayeredSetting<bool>,
    /// Hooks of the system and the user may answer questions in the person's place.
    pub hooks_may_approve: LayeredSetting<bool>,
    pub audience: LayeredSetting<Audience>,
    /// `None` = it waits, but for a starter who said that nobody sits there.
    pub on_detached: LayeredSetting<Option<OnDetached>>,
    /// `None` = no deadline.
    pub deadline: LayeredSetting<Option<Duration>>,
    pub on_deadline: LayeredSetting<OnDeadline>,
    /// How long nobody is there before somebody is told elsewhere.
    pub notify_after: LayeredSetting<Duration>,
    /// Run without a shell, with the question on its standard input. Empty = none.
    pub notify_command: LayeredSetting<Vec<String>>,
    /// `https`, or `http` on this machine. `None` = none.
    pub webhook_url: LayeredSetting<Option<String>>,
    /// Where the secret lies that signs what is posted: a variable or a file. A webhook without one is not used.
    pub webhook_secret: LayeredSetting<Option<KeySource>>,
}

impl Default for DaemonConfig {
    /// The defaults of spec 02 and 12.
    fn default() -> DaemonConfig {
        DaemonConfig {
            models: ModelSettings::default(),
            compression: CompressionSettings {
                enabled: LayeredSetting::default_of(true),
                threshold: LayeredSetting::default_of(0.5),
            },
            loop_detection: LoopSettings {
                calls: LayeredSetting::default_of(true),
                text: LayeredSetting::default_of(true),
                judge: LayeredSetting::default_of(true),
            },
            next_speaker_check: LayeredSetting::default_of(false),
            providers: BTreeMap::new(),
            agents: AgentSettings {
                default: LayeredSetting::default_of(AgentName::from("generalist")),
                auto_route: LayeredSetting::default_of(true),
                default_scope: LayeredSetting::default_of(AgentScope::Project),
                places: AgentPlaceSettings::default(),
                overrides: LayeredSetting::default_of(BTreeMap::new()),
            },
            run: RunSettings {
                max_turns: LayeredSetting::default_of(30),
                max_time: LayeredSetting::default_of(Duration::from_secs(10 * 60)),
                max_tokens: LayeredSetting::default_of(None),
                max_cost: LayeredSetting::default_of(None),
                on_budget: LayeredSetting::default_of(OnBudget::End),
                max_context_tokens: LayeredSetting::default_of(None),
                grace: LayeredSetting::default_of(Duration::from_secs(60)),
                max_depth: LayeredSetting::default_of(4),
            },
            max_concurrent_runs: ConcurrencySettings {
                session: LayeredSetting::default_of(8),
                daemon: LayeredSetting::default_of(256),
            },
            mcp: McpSettings::default(),
            hooks: HookRules::default(),
            tools: ToolSettings {
                exclude: LayeredSetting::default_of(Vec::new()),
                discovery_command: LayeredSetting::default_of(None),
                call_command: LayeredSetting::default_of(None),
                output_max_chars: LayeredSetting::default_of(40_000),
                shell_inactivity: LayeredSetting::default_of(Duration::from_secs(5 * 60)),
                shell_timeout: LayeredSetting::default_of(Duration::from_secs(30 * 60)),
                web_fetch_allow_hosts: LayeredSetting::default_of(Vec::new()),
                web_search: WebSearchSettings {
                    backend: LayeredSetting::default_of(None),
                    url: LayeredSetting::default_of(None),
                    key: LayeredSetting::default_of(None),
                },
            },
            sandbox: SandboxSettings {
                required: LayeredSetting::default_of(false),
                profile: LayeredSetting::default_of(SandboxProfile::WorkspaceWrite),
                network: LayeredSetting::default_of(false),
                environment: LayeredSetting::default_of(Vec::new()),
                sockets: LayeredSetting::default_of(Vec::new()),
                limits: SandboxLimits {
                    cpu_seconds: LayeredSetting::default_of(Some(3_600)),
                    memory_mb: LayeredSetting::default_of(Some(8_192)),
                    processes: LayeredSetting::default_of(Some(1_024)),
                    open_files: LayeredSetting::default_of(Some(8_192)),
                    output_mb: LayeredSetting::default_of(Some(4_096)),
                },
            },
            prompt: PromptSettings::default(),
            memory: MemorySettings::default(),
            skills: SkillSettings::default(),
            retention: RetentionSettings::default(),
            tracing: TracingSettings::default(),
            unheld: Vec::new(),
            shutdown: ShutdownSettings { grace: LayeredSetting::default_of(Duration::from_secs(10)) },
            access: AccessSettings { allow_uids: LayeredSetting::default_of(Vec::new()) },
            approval: ApprovalSettings {
                mode: LayeredSetting::default_of(ApprovalMode::Default),
                allow_yolo: LayeredSetting::default_of(false),
                hooks_may_approve: LayeredSetting::default_of(false),
                audience: LayeredSetting::default_of(Audience::All),
                on_detached: LayeredSetting::default_of(None),
                deadline: LayeredSetting::default_of(None),
                on_deadline: LayeredSetting::default_of(OnDeadline::Deny),
                notify_after: LayeredSetting::default_of(Duration::from_secs(60)),
                notify_command: LayeredSetting::default_of(Vec::new()),
                webhook_url: LayeredSetting::default_of(None),
                webhook_secret: LayeredSetting::default_of(None),
            },
            redaction: RedactionSettings { patterns: LayeredSetting::default_of(Vec::new()), is_whole: true },
            set_at: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests;
