//! What did the people who run this daemon set, and where did they set it? (spec 12, "Settings")
//!
//! Settings are layers: defaults, the system's file, the user's file, the environment, flags; the later wins, and
//! every value knows its origin. A file with mistakes loses only what is mistaken, and all mistakes are told at once,
//! with line and column. This module also knows the places on disk, and how a file that a person wrote is read.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use crate::protocol::{
    AgentName, AgentScope, ApprovalMode, Audience, Cost, OnBudget, OnDeadline, OnDetached, SandboxProfile,
    ToolName,
};
// For whoever reads what people wrote: through this door come file, place and word together.
pub use crate::sys::{
    mark::{Mark, one_based, problem},
    nearest::nearest,
};

mod agent_places;
mod approval;
mod command_line;
mod edit;
mod entries;
mod environment;
mod expand;
mod hosts;
mod keys;
mod layer;
mod mcp;
mod models;
mod overrides;
mod places;
mod project;
mod providers;
mod sampling;
mod schema;
mod secret;
mod shapes;
mod shown;
mod source;
mod sources;
mod web;

pub use agent_places::{AgentPlaceSettings, ProductSettings};
pub use command_line::{BadCommand, command_words};
pub use edit::{ServerEdit, Unedited, edited};
pub use environment::variable_of;
pub use expand::{Unfilled, expand};
pub use hosts::AllowedHost;
pub use mcp::{
    McpSettings, ServerOf, ServerProblem, read_server, server_fields, server_name_problem, server_schema,
    server_sound,
};
pub use models::{Alias, AutoSettings, ModelSettings};
pub use overrides::AgentOverride;
pub use places::{NoHome, Places};
pub use project::ProjectSettings;
pub use providers::{KeySource, ProviderKind, ProviderSettings};
pub use schema::schema;
pub use shown::{Changes, NoSuchSetting, Shown};
pub use source::{decode, read_bounded, reason};
pub use sources::{ConfigPlaces, Sources, is_of_a_flag};
pub use web::{SearchBackend, Searcher, WebSearchSettings};

/// Where a value was set; later ones win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
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
        mark: Mark,
    },
    /// Its name.
    Variable(String),
    /// With its key, as it was given.
    Flag(String),
}

/// A value and where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    pub value: T,
    pub origin: Origin,
}

impl<T> Setting<T> {
    fn default_of(value: T) -> Setting<T> {
        Setting { value, origin: Origin::Default }
    }
}

/// The settings in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub models: ModelSettings,
    pub compression: CompressionSettings,
    pub loop_detection: LoopSettings,
    /// Whether the small model says who speaks next in a conversation.
    pub next_speaker_check: Setting<bool>,
    /// By the entry's name. `None` = its settings have mistakes: nothing may be sent to it, since nobody knows what was
    /// meant, and nothing else may take its name.
    pub providers: BTreeMap<String, Setting<Option<ProviderSettings>>>,
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
    /// Where each key that somebody set was set; an entry of `providers` under its own key.
    pub set_at: BTreeMap<String, SetAt>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AgentSettings {
    /// The agent of a run that names none.
    pub default: Setting<AgentName>,
    /// Whether the agent `auto` means the one whose trigger fits.
    pub auto_route: Setting<bool>,
    /// Where agents are made whose maker names no place.
    pub default_scope: Setting<AgentScope>,
    /// Where agents are looked for.
    pub places: AgentPlaceSettings,
    /// By an agent's name: what counts in place of what its file says.
    pub overrides: Setting<BTreeMap<String, AgentOverride>>,
}

/// When a context that has grown long is summed up (spec 04, "Compression").
#[derive(Debug, Clone, PartialEq)]
pub struct CompressionSettings {
    /// By itself; whoever asks for it is always heard.
    pub enabled: Setting<bool>,
    /// Share of the model's window: above 0, at most 1.
    pub threshold: Setting<f64>,
}

/// What is looked for in runs that go in circles (spec 04, "Loop detection").
#[derive(Debug, Clone, PartialEq)]
pub struct LoopSettings {
    /// The same call.
    pub calls: Setting<bool>,
    /// The same text.
    pub text: Setting<bool>,
    /// What the small model thinks of it.
    pub judge: Setting<bool>,
}

/// For agents whose definition does not say (spec 02, `run`).
#[derive(Debug, Clone, PartialEq)]
pub struct RunSettings {
    pub max_turns: Setting<u32>,
    /// Active time; waiting for a person does not count.
    pub max_time: Setting<Duration>,
    /// `None` = no limit.
    pub max_tokens: Setting<Option<u64>>,
    /// `None` = no limit.
    pub max_cost: Setting<Option<Cost>>,
    /// What happens once one of these two is used up.
    pub on_budget: Setting<OnBudget>,
    /// Of a request. `None` = as many as fit the model.
    pub max_context_tokens: Setting<Option<u64>>,
    /// How long the grace turn may take.
    pub grace: Setting<Duration>,
    /// Levels of agents that may call agents.
    pub max_depth: Setting<u32>,
}

/// How many runs may be at work at once (spec 03, "Subagent calls"); the others wait in a queue.
#[derive(Debug, Clone, PartialEq)]
pub struct ConcurrencySettings {
    pub session: Setting<usize>,
    pub daemon: Setting<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolSettings {
    /// Neither declared nor callable: names, aliases, or patterns with `*`.
    pub exclude: Setting<Vec<ToolName>>,
    /// Tells tools of a workspace's own; `None` = none does.
    pub discovery_command: Setting<Option<String>>,
    /// Calls one of them.
    pub call_command: Setting<Option<String>>,
    /// Longer output is cut for the model, in characters.
    pub output_max_chars: Setting<usize>,
    /// How long a command may put out nothing before it is ended.
    pub shell_inactivity: Setting<Duration>,
    /// How long a command may take.
    pub shell_timeout: Setting<Duration>,
    /// Hosts that the web tools reach although they are no public ones.
    pub web_fetch_allow_hosts: Setting<Vec<AllowedHost>>,
    pub web_search: WebSearchSettings,
}

/// How commands are confined (spec 11, "What a tool may do").
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxSettings {
    /// Without a sandbox no command is run.
    pub required: Setting<bool>,
    /// Of agents that do not say.
    pub profile: Setting<SandboxProfile>,
    pub network: Setting<bool>,
    /// Names of variables that commands get beside the usual ones.
    pub environment: Setting<Vec<String>>,
    /// Socket files that commands may connect to, and folders of such: absolute, or from the home (`~/`).
    pub sockets: Setting<Vec<String>>,
    pub limits: SandboxLimits,
}

/// What one command may use, with all that it starts. `None` = no limit but the system's.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxLimits {
    pub cpu_seconds: Setting<Option<u64>>,
    /// Resident.
    pub memory_mb: Setting<Option<u64>>,
    pub processes: Setting<Option<u64>>,
    /// For each process.
    pub open_files: Setting<Option<u64>>,
    /// What it puts out.
    pub output_mb: Setting<Option<u64>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ShutdownSettings {
    /// How long a stopping daemon lets running calls finish.
    pub grace: Setting<Duration>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AccessSettings {
    /// Users besides the daemon's own that may connect.
    pub allow_uids: Setting<Vec<u32>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RedactionSettings {
    /// Regular expressions whose matches are hidden (spec 10). Each was compiled once and matches no empty text.
    pub patterns: Setting<Vec<String>>,
    /// False: a mistake kept some of them from being read, so that nobody knows what is to be hidden.
    pub is_whole: bool,
}

/// How questions to people are put, where whoever starts a run does not say (spec 06, "Routing").
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalSettings {
    /// Of sessions that name none.
    pub mode: Setting<ApprovalMode>,
    /// Without it no session may be in the mode `yolo`.
    pub allow_yolo: Setting<bool>,
    pub audience: Setting<Audience>,
    /// `None` = it waits, but for a starter who said that nobody sits there.
    pub on_detached: Setting<Option<OnDetached>>,
    /// `None` = no deadline.
    pub deadline: Setting<Option<Duration>>,
    pub on_deadline: Setting<OnDeadline>,
    /// How long nobody is there before somebody is told elsewhere.
    pub notify_after: Setting<Duration>,
    /// Run without a shell, with the question on its standard input. Empty = none.
    pub notify_command: Setting<Vec<String>>,
    /// `https`, or `http` on this machine. `None` = none.
    pub webhook_url: Setting<Option<String>>,
    /// Where the secret lies that signs what is posted: a variable or a file. A webhook without one is not used.
    pub webhook_secret: Setting<Option<KeySource>>,
}

impl Default for Config {
    /// The defaults of spec 02 and 12.
    fn default() -> Config {
        Config {
            models: ModelSettings::default(),
            compression: CompressionSettings {
                enabled: Setting::default_of(true),
                threshold: Setting::default_of(0.5),
            },
            loop_detection: LoopSettings {
                calls: Setting::default_of(true),
                text: Setting::default_of(true),
                judge: Setting::default_of(true),
            },
            next_speaker_check: Setting::default_of(false),
            providers: BTreeMap::new(),
            agents: AgentSettings {
                default: Setting::default_of(AgentName::from("generalist")),
                auto_route: Setting::default_of(true),
                default_scope: Setting::default_of(AgentScope::Project),
                places: AgentPlaceSettings::default(),
                overrides: Setting::default_of(BTreeMap::new()),
            },
            run: RunSettings {
                max_turns: Setting::default_of(30),
                max_time: Setting::default_of(Duration::from_secs(10 * 60)),
                max_tokens: Setting::default_of(None),
                max_cost: Setting::default_of(None),
                on_budget: Setting::default_of(OnBudget::End),
                max_context_tokens: Setting::default_of(None),
                grace: Setting::default_of(Duration::from_secs(60)),
                max_depth: Setting::default_of(4),
            },
            max_concurrent_runs: ConcurrencySettings {
                session: Setting::default_of(8),
                daemon: Setting::default_of(256),
            },
            mcp: McpSettings::default(),
            tools: ToolSettings {
                exclude: Setting::default_of(Vec::new()),
                discovery_command: Setting::default_of(None),
                call_command: Setting::default_of(None),
                output_max_chars: Setting::default_of(40_000),
                shell_inactivity: Setting::default_of(Duration::from_secs(5 * 60)),
                shell_timeout: Setting::default_of(Duration::from_secs(30 * 60)),
                web_fetch_allow_hosts: Setting::default_of(Vec::new()),
                web_search: WebSearchSettings {
                    backend: Setting::default_of(None),
                    url: Setting::default_of(None),
                    key: Setting::default_of(None),
                },
            },
            sandbox: SandboxSettings {
                required: Setting::default_of(false),
                profile: Setting::default_of(SandboxProfile::WorkspaceWrite),
                network: Setting::default_of(false),
                environment: Setting::default_of(Vec::new()),
                sockets: Setting::default_of(Vec::new()),
                limits: SandboxLimits {
                    cpu_seconds: Setting::default_of(Some(3_600)),
                    memory_mb: Setting::default_of(Some(8_192)),
                    processes: Setting::default_of(Some(1_024)),
                    open_files: Setting::default_of(Some(8_192)),
                    output_mb: Setting::default_of(Some(4_096)),
                },
            },
            shutdown: ShutdownSettings { grace: Setting::default_of(Duration::from_secs(10)) },
            access: AccessSettings { allow_uids: Setting::default_of(Vec::new()) },
            approval: ApprovalSettings {
                mode: Setting::default_of(ApprovalMode::Default),
                allow_yolo: Setting::default_of(false),
                audience: Setting::default_of(Audience::All),
                on_detached: Setting::default_of(None),
                deadline: Setting::default_of(None),
                on_deadline: Setting::default_of(OnDeadline::Deny),
                notify_after: Setting::default_of(Duration::from_secs(60)),
                notify_command: Setting::default_of(Vec::new()),
                webhook_url: Setting::default_of(None),
                webhook_secret: Setting::default_of(None),
            },
            redaction: RedactionSettings { patterns: Setting::default_of(Vec::new()), is_whole: true },
            set_at: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests;
