//! What do the settings say of the system prompt? (spec 08, "System prompt")

use std::path::PathBuf;

use jsonc_parser::ast::Value;
use serde_json::{Value as Json, json};

use super::{
    LayeredSetting,
    shapes::{SettingShape, ShapeError},
};
use protocol::FileProblem;

/// The settings `prompt.modules.…`, in the order in which the modules stand.
pub const PROMPT_MODULES: [&str; 8] = [
    "preamble",
    "coreMandates",
    "agents",
    "primaryWorkflows",
    "operationalGuidelines",
    "sandbox",
    "git",
    "finalReminder",
];

/// The section of the settings that has them.
pub(super) const MODULES_SECTION: &str = "prompt.modules.";

/// Largest file that replaces them, in bytes: a prompt of this length fills the windows of many models.
pub const LARGEST_SYSTEM_FILE: u64 = 256 * 1024;

/// What agents are told that have the daemon's own modules.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptSettings {
    pub modules: PromptModuleSettings,
    /// What stands in the modules' place.
    pub system_file: LayeredSetting<SystemFileChoice>,
    /// Whether models are told to keep the output of commands short.
    pub shell_output_economy: LayeredSetting<bool>,
    /// Names below `prompt.modules` that no module has. Whoever wrote one meant to change what agents are told, so no run that is told
    /// the modules begins without it.
    pub unknown_modules: Vec<UnknownPromptModule>,
    /// Variables of this section that do not count, since their values mean nothing.
    pub unread_variables: Vec<FileProblem>,
}

/// The name of a module of the system prompt that there is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPromptModule {
    pub name: String,
    /// A place in a file, or a variable.
    pub place: String,
}

/// Whether each module is there.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptModuleSettings {
    pub preamble: LayeredSetting<bool>,
    pub core_mandates: LayeredSetting<bool>,
    pub agents: LayeredSetting<bool>,
    pub primary_workflows: LayeredSetting<bool>,
    pub operational_guidelines: LayeredSetting<bool>,
    pub sandbox: LayeredSetting<bool>,
    pub git: LayeredSetting<bool>,
    pub final_reminder: LayeredSetting<bool>,
}

impl PromptModuleSettings {
    /// By name, in the order of [`PROMPT_MODULES`].
    pub fn by_name(&self) -> [(&'static str, &LayeredSetting<bool>); 8] {
        let [preamble, core, agents, workflows, guidelines, sandbox, git, reminder] = PROMPT_MODULES;
        [
            (preamble, &self.preamble),
            (core, &self.core_mandates),
            (agents, &self.agents),
            (workflows, &self.primary_workflows),
            (guidelines, &self.operational_guidelines),
            (sandbox, &self.sandbox),
            (git, &self.git),
            (reminder, &self.final_reminder),
        ]
    }
}

/// Which file stands in the modules' place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SystemFileChoice {
    #[default]
    Off,
    /// The workspace's `.subagentd/system.md` where somebody acknowledged it, else `system.md` beside the user's settings.
    Usual,
    /// From the root, or from the home (`~/`).
    File(PathBuf),
}

impl Default for PromptSettings {
    fn default() -> PromptSettings {
        let on = || LayeredSetting::default_of(true);
        PromptSettings {
            modules: PromptModuleSettings {
                preamble: on(),
                core_mandates: on(),
                agents: on(),
                primary_workflows: on(),
                operational_guidelines: on(),
                sandbox: on(),
                git: on(),
                final_reminder: on(),
            },
            system_file: LayeredSetting::default_of(SystemFileChoice::Off),
            shell_output_economy: LayeredSetting::default_of(false),
            unknown_modules: Vec::new(),
            unread_variables: Vec::new(),
        }
    }
}

/// A path, or whether the usual file stands there. In the environment `1` and `0` are `true` and `false`.
pub(super) struct SystemFileShape;

impl SettingShape for SystemFileShape {
    type Out = SystemFileChoice;

    fn read(&self, value: &Value<'_>) -> Result<SystemFileChoice, ShapeError> {
        let text = match value {
            Value::NullKeyword(_) => return Ok(SystemFileChoice::Off),
            Value::BooleanLit(flag) if flag.value => return Ok(SystemFileChoice::Usual),
            Value::BooleanLit(_) => return Ok(SystemFileChoice::Off),
            value => value.as_string_lit().ok_or(ShapeError::WrongType)?.value.trim(),
        };
        match text {
            "true" | "1" => Ok(SystemFileChoice::Usual),
            "false" | "0" => Ok(SystemFileChoice::Off),
            text if text.starts_with('/') || text.starts_with("~/") => {
                Ok(SystemFileChoice::File(PathBuf::from(text)))
            }
            _ => Err(ShapeError::BadValue),
        }
    }

    fn schema(&self) -> Json {
        json!({ "anyOf": [{ "type": ["boolean", "null"] }, { "type": "string", "pattern": "^~?/" }] })
    }

    fn is_text(&self) -> bool {
        true
    }
}

impl SystemFileChoice {
    /// As a file would say it.
    pub(super) fn shown(&self) -> Json {
        match self {
            SystemFileChoice::Off => json!(false),
            SystemFileChoice::Usual => json!(true),
            SystemFileChoice::File(path) => json!(path.to_string_lossy()),
        }
    }
}
