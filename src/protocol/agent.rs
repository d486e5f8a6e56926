//! Agent definitions as runs carry them, and agents as clients see them listed (spec 02).

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    AgentName, AgentTracing, FileProblem, McpServerConfig, MessageRole, ModelRef, OnBudget, Risk,
    SandboxProfile, ToolName, UsdAmount, Verdict,
};

/// A definition, checked and with defaults filled: what a run carries in its first event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentDefinition {
    pub name: AgentName,
    /// Whose way of writing its file follows.
    #[serde(default, skip_serializing_if = "AgentFormat::is_own")]
    pub format: AgentFormat,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whose file it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<AgentFormat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    pub model: ModelChoice,
    pub limits: AgentLimits,
    /// How a run ends; `None` = by the rule of spec 02 (`completion`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<CompletionMode>,
    /// In the order of the file.
    pub inputs: Vec<InputSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSpec>,
    /// Template of the first user message; the default of spec 02 is filled in already.
    pub query: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub initial_messages: Vec<InitialMessage>,
    pub tools: ToolSelection,
    /// Which servers it may use.
    #[serde(default, skip_serializing_if = "AgentMcp::is_empty")]
    pub mcp: AgentMcp,
    /// What its file says of single calls, in the file's order; a later one beats those before it. Each can only make
    /// things stricter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub narrowings: Vec<AgentToolRule>,
    /// Risks whose default ask is dropped for its calls; never `critical` (spec 02, `approval`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub auto_approve: Vec<Risk>,
    /// How closely its commands are confined; `None` = as the settings say. Never wider than those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxProfile>,
    /// Which prompts go to it when nobody names an agent; in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<RoutingTrigger>,
    #[serde(default)]
    pub hidden: bool,
    /// Fields of its file that this version does not carry out, though they say something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<String>,
    /// It is not told what memory files say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub omits_memory: bool,
    /// Its system prompt begins with the daemon's own modules; the body of the file follows them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prompt_modules: bool,
    /// Hooks of its runs, as its file has them: by event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Value>,
    /// Skills that its runs begin with, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Destinations of its spans, as far as its file says.
    #[serde(default, skip_serializing_if = "AgentTracing::says_nothing")]
    pub tracing: AgentTracing,
    /// The body of the file: template of the system prompt.
    pub prompt: String,
}

/// Which servers of the Model Context Protocol an agent may use (spec 02, `mcp.servers`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentMcp {
    /// Names; `None` = those that its tools name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<String>>,
    /// Those among them that each of its runs has for itself, by name: they begin and end with it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, McpServerConfig>,
}

impl AgentMcp {
    pub fn is_empty(&self) -> bool {
        self.servers.is_none() && self.own.is_empty()
    }
}

impl AgentDefinition {
    /// An agent of which nothing else is said.
    pub fn named(name: AgentName, title: impl Into<String>) -> AgentDefinition {
        AgentDefinition {
            name,
            format: AgentFormat::Own,
            title: title.into(),
            description: None,
            imported_from: None,
            version: None,
            color: None,
            model: ModelChoice::default(),
            limits: AgentLimits::default(),
            completion: None,
            inputs: Vec::new(),
            output: None,
            query: String::new(),
            initial_messages: Vec::new(),
            tools: ToolSelection::default(),
            mcp: AgentMcp::default(),
            narrowings: Vec::new(),
            auto_approve: Vec::new(),
            sandbox: None,
            triggers: Vec::new(),
            hidden: false,
            unsupported: Vec::new(),
            omits_memory: false,
            prompt_modules: false,
            hooks: None,
            skills: Vec::new(),
            tracing: AgentTracing::default(),
            prompt: String::new(),
        }
    }

    /// The fields without which it would be freer than its file says, or forget: with them it is not started.
    pub fn not_held_to(&self) -> Vec<&str> {
        self.unsupported.iter().map(String::as_str).collect()
    }

    /// Its tools, with those of the servers that it lists where it names no tools.
    pub fn selection(&self) -> ToolSelection {
        let mut selection = self.tools.clone();
        if selection.allow.is_none()
            && let Some(servers) = &self.mcp.servers
        {
            selection.servers = servers.clone();
        }
        selection
    }
}

/// Which model, and how it samples.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelChoice {
    /// `None` = inherit: the parent's, else the session's, else `models.default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<ModelRef>,
    pub sampling: SamplingSettings,
}

/// Sampling settings; a missing one is the provider's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SamplingSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Tokens; -1 = unlimited, 0 = off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_budget: Option<i64>,
}

impl SamplingSettings {
    /// Each setting as it is here, else as it is there.
    #[must_use]
    pub fn or(self, other: SamplingSettings) -> SamplingSettings {
        SamplingSettings {
            temperature: self.temperature.or(other.temperature),
            top_p: self.top_p.or(other.top_p),
            max_output_tokens: self.max_output_tokens.or(other.max_output_tokens),
            thinking_budget: self.thinking_budget.or(other.thinking_budget),
        }
    }
}

/// What the file says under `run`; `None` = the daemon's default (spec 02).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<UsdAmount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_budget: Option<OnBudget>,
    /// Of a request; less than the model's window may be enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_context_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
}

/// How a run ends (spec 02, 03).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompletionMode {
    /// Only by `complete_task`.
    Tool,
    /// Also by a turn without tool calls, whose text is the result.
    Message,
}

/// One input of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InputSpec {
    /// `\w+`
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// JSON Schema; the short types of spec 02 are written out.
    pub schema: Value,
}

/// A typed result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputSpec {
    /// The one argument of `complete_task`.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub schema: Value,
    /// A template over the fields; `None` = pretty-printed JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// A few-shot message put before the query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitialMessage {
    /// `user` or `model`.
    pub role: MessageRole,
    /// Template.
    pub text: String,
}

/// Which tools an agent may use (spec 02, "Tool filtering"): names, aliases, or patterns with `*`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolSelection {
    /// `None` = the default set of the file's format; for ours the read-only set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<ToolName>>,
    /// Beats `allow`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<ToolName>,
    /// Besides those that `allow` names: every tool there is but agents, as products have it whose files say nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inherits: bool,
    /// Besides those that `allow` names: every agent that others may call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agents: bool,
    /// Besides those that `allow` names: every tool of these MCP servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// Of a run that another agent's call started: the default set has none that may ask a person, see `protocol::default_tools`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_called: bool,
}

/// What an agent's own file says of calls of one tool (spec 02, "Foreign files", rule 5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentToolRule {
    /// A name or a pattern.
    pub tool: ToolName,
    /// Which calls: of the shell the beginning of a command (`git:*`, `git status *`) or a whole one (`npm test`), of
    /// `web_fetch` a host (`domain:example.com`). `None` = every call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// `allow` only lifts what an earlier one of the file says.
    pub decision: Verdict,
}

/// What makes a prompt one for this agent (spec 02, "Auto-routing"): any of the keywords, or else the expression.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RoutingTrigger {
    /// What such a prompt is about, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// Found without regard to case, where a word begins with one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// In the syntax of the `regex` crate; matched without regard to case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// The highest among those that fit decides.
    pub priority: i64,
}

/// Which product's way of writing agents a file follows (spec 02, "Foreign files").
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum AgentFormat {
    /// Ours.
    #[default]
    Own,
    /// Claude Code's subagents.
    Claude,
    /// Gemini CLI's agents.
    Gemini,
    /// OpenCode's agents.
    #[serde(rename = "opencode")]
    OpenCode,
}

impl AgentFormat {
    /// True if it is ours.
    pub fn is_own(&self) -> bool {
        *self == AgentFormat::Own
    }

    /// As on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            AgentFormat::Own => "own",
            AgentFormat::Claude => "claude",
            AgentFormat::Gemini => "gemini",
            AgentFormat::OpenCode => "opencode",
        }
    }

    /// The product, as people call it.
    pub fn product(self) -> &'static str {
        match self {
            AgentFormat::Own => "subagentd",
            AgentFormat::Claude => "Claude Code",
            AgentFormat::Gemini => "Gemini CLI",
            AgentFormat::OpenCode => "OpenCode",
        }
    }
}

/// Where an agent comes from; higher places hide lower ones (spec 02, "Places and precedence").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AgentScope {
    Builtin,
    User,
    Project,
}

/// Whether an agent can be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AgentStatus {
    Ok,
    /// From a workspace nobody has trusted yet; starting it answers `WORKSPACE_NOT_TRUSTED`.
    Untrusted,
    /// The file has errors; see `problems`.
    Invalid,
    /// An agent of the same name in a higher place, or earlier in the same place, is used instead.
    Hidden,
    /// The setting `agents.overrides` switches it off, or its own file does; starting it answers `AGENT_NOT_READY`.
    Disabled,
    /// It cannot be started in this version: it is a remote agent, or its file asks for what would not be held to (`guardrails`,
    /// `handoffs`, `memory`, `graph`; of other products also `hooks` and `isolation`; see `problems`). Starting it answers
    /// `AGENT_NOT_READY`.
    NotReady,
    /// Its file, which was written for another product, names a model that is not known here. It can be started; which model
    /// answers, and how to say what is meant, stands in `problems`.
    Unresolved,
}

/// What became of an agent's file (spec 02, "Foreign files", rule 8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AgentFileState {
    /// It was read as it is.
    #[default]
    Ok,
    /// Something in it is not what YAML wants, and was read as it was meant; a problem says what.
    Repaired,
    /// It holds no agent; a problem says why.
    Rejected,
}

/// An agent as `agents/list` shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSummary {
    pub name: AgentName,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// As the definition names it; `inherit` when it names none.
    pub model: String,
    /// For whoever shows it: `#RRGGBB`, or one of CSS's sixteen basic colour names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    pub scope: AgentScope,
    /// Whose way of writing its file follows.
    #[serde(default)]
    pub format: AgentFormat,
    /// Whether its file was read as it is, or had to be mended.
    #[serde(default)]
    pub state: AgentFileState,
    pub status: AgentStatus,
    /// Missing for built-in agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// SHA-256 of the file's bytes, as `sha256:<hex>`.
    pub digest: String,
    /// The path (or `built in`) of the agent that is used instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_by: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
    /// Names of the inputs, required ones first.
    pub inputs: Vec<String>,
}
