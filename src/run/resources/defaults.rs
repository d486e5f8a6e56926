//! What holds for a run where its request and its agent's file are silent, and what counts in place of the file?

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use config::{AgentOverride, ProjectSettings, SystemFileChoice, UnknownPromptModule};
use memory::MemoryRules;
use prompts::ModuleSwitches;
use protocol::{
    AgentDefinition, AgentLimits, AgentName, ApprovalParams, DiscoveryCommands, LimitsParams, ModelRef,
    RunTracing, ToolName,
};
use tools::{CommandRules, OutputLimits};
use web::WebRules;

/// Stands for no model in the name of one (spec 02, `model`).
const INHERIT: &str = "inherit";

/// What the settings say where request and definition are silent.
#[derive(Debug, Clone, Default)]
pub struct RunDefaults {
    pub model: Option<ModelRef>,
    pub roles: ModelRoles,
    pub compression: CompressionRules,
    pub loops: LoopRules,
    /// True if the small model says who speaks next in a conversation.
    pub next_speaker_check: bool,
    /// What counts in place of agents' files, by the agents' names.
    pub overrides: Arc<BTreeMap<String, AgentOverride>>,
    pub limits: LimitsParams,
    /// Tokens of a context at most; `None` = as many as fit the model.
    pub max_context_tokens: Option<u64>,
    pub approval: ApprovalParams,
    /// True if the mode `yolo` counts (setting `approval.allowYolo`); without, it is as `default`.
    pub allow_yolo: bool,
    pub output: OutputLimits,
    /// What commands may do that its agents run.
    pub commands: CommandRules,
    /// Tools that no run gets (setting `tools.exclude`).
    pub excluded: Vec<ToolName>,
    /// The user's own; a workspace may have others.
    pub discovery: DiscoveryCommands,
    /// Which of the web its agents reach.
    pub web: WebRules,
    /// What those of its agents are told that have the daemon's own modules.
    pub prompt: PromptRules,
    /// The files that count as memory files.
    pub memory: MemoryRules,
    /// Destinations of spans.
    pub tracing: RunTracing,
    /// Sentences about settings that were meant to hold agents to less and do not count.
    pub unheld: Vec<String>,
}

/// How the daemon's own system prompt is put together.
#[derive(Debug, Clone, Default)]
pub struct PromptRules {
    pub switches: ModuleSwitches,
    /// What stands in the modules' place.
    pub system_file: SystemFileChoice,
    pub saves_shell_output: bool,
    /// Modules that settings name and that there are not.
    pub unknown_modules: Vec<UnknownPromptModule>,
    /// Sentences about variables of the environment that do not count.
    pub unread_variables: Vec<String>,
    /// Where the modules are written at each root run.
    pub written_to: Option<PathBuf>,
}

/// Models for what is no turn of a run, and in place of a run's own. Names as people write them: [`Models`] resolves them.
///
/// [`Models`]: models::ModelRegistry
#[derive(Debug, Clone, Default)]
pub struct ModelRoles {
    /// For checks and classifiers; without it there are none.
    pub small: Option<ModelRef>,
    /// For summaries; else the small one, else the run's own.
    pub compression: Option<ModelRef>,
    /// In this order.
    pub fallback: Vec<ModelRef>,
    /// What `auto` chooses for simple requests; else the default model.
    pub fast: Option<ModelRef>,
    /// What `auto` chooses for others; else the default model.
    pub strong: Option<ModelRef>,
}

/// When a context is summed up by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompressionRules {
    pub enabled: bool,
    /// Share of the model's window: above 0, at most 1.
    pub threshold: f64,
}

/// Which ways of going in circles are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopRules {
    pub calls: bool,
    pub text: bool,
    pub judge: bool,
}

impl Default for CompressionRules {
    /// As the settings' own defaults.
    fn default() -> CompressionRules {
        CompressionRules { enabled: true, threshold: 0.5 }
    }
}

impl CompressionRules {
    /// As they are in a workspace, whose own settings come first.
    #[must_use]
    pub fn in_workspace(self, settings: &ProjectSettings) -> CompressionRules {
        CompressionRules {
            enabled: settings.compression_enabled.unwrap_or(self.enabled),
            threshold: settings.compression_threshold.unwrap_or(self.threshold),
        }
    }
}

impl Default for LoopRules {
    /// As the settings' own defaults.
    fn default() -> LoopRules {
        LoopRules { calls: true, text: true, judge: true }
    }
}

impl RunDefaults {
    /// The definition with what the user says in place of it (spec 02, "Registry").
    pub fn overridden(&self, definition: Arc<AgentDefinition>) -> Arc<AgentDefinition> {
        self.overriding(&definition).map_or(definition, Arc::new)
    }

    /// True if the user says which model answers for this agent.
    pub fn names_model_of(&self, agent: &AgentName) -> bool {
        self.overrides.get(agent.as_str()).is_some_and(|said| said.model.name.is_some())
    }

    /// The same; `None` = the user says nothing of this agent.
    pub fn overriding(&self, definition: &AgentDefinition) -> Option<AgentDefinition> {
        let AgentOverride { enabled: _, model, run, allow, deny } =
            self.overrides.get(definition.name.as_str())?;
        let mut definition = definition.clone();
        if let Some(name) = &model.name {
            definition.model.name = Some(name.clone()).filter(|name| name.as_str() != INHERIT);
        }
        definition.model.sampling = model.sampling.or(definition.model.sampling);
        let own = definition.limits;
        definition.limits = AgentLimits {
            max_turns: run.max_turns.or(own.max_turns),
            max_time_ms: run.max_time_ms.or(own.max_time_ms),
            max_tokens: run.max_tokens.or(own.max_tokens),
            max_cost: run.max_cost.or(own.max_cost),
            on_budget: run.on_budget.or(own.on_budget),
            max_context_tokens: run.max_context_tokens.or(own.max_context_tokens),
            grace_ms: run.grace_ms.or(own.grace_ms),
            max_depth: run.max_depth.or(own.max_depth),
        };
        if let Some(allow) = allow {
            definition.tools.allow = Some(allow.clone());
        }
        if let Some(deny) = deny {
            definition.tools.deny.clone_from(deny);
        }
        Some(definition)
    }
}
