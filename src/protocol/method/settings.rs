//! Parameters and results: settings, and how much is logged.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EventSeq, FileProblem};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigGetParams {
    /// Keys, e.g. `run.maxTurns`, or sections of keys, e.g. `run`. Missing = all there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigGetResult {
    /// Also those that nobody set.
    pub settings: Vec<SettingValue>,
}

/// A setting that is in force, and where it was set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingValue {
    /// With dots. Each entry of `providers` is a key of its own.
    pub key: String,
    /// As a settings file would say it, with secrets taken out. `null` for what has no value, and for a provider whose
    /// settings have mistakes.
    pub value: Value,
    pub origin: SettingOrigin,
    /// The file that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Of the value in the file; 1-based.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// 1-based, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The variable of the environment that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// The flag of the daemon's command line that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
}

/// Which layer of settings a value comes from; later ones win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SettingOrigin {
    /// Nobody set it.
    Default,
    /// The system's file.
    System,
    /// The user's file.
    User,
    /// A variable of the daemon's environment.
    Environment,
    /// The daemon's command line.
    Flag,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReloadResult {
    /// Keys with another value than before. They count for whatever begins now; a run keeps what it began with.
    pub changed: Vec<String>,
    /// Rule files that are new, gone, or other than they were; they count for each call from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// Of the keys, what counts only when the daemon starts the next time.
    pub needs_restart: Vec<String>,
    /// What is wrong, with settings and rules. A value with a mistake keeps the one it had; a rule with a mistake asks.
    pub problems: Vec<FileProblem>,
    /// Of the files of `problems` those in which nobody can tell which hooks there are: until each is mended, no prompt and no tool call is
    /// accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped_by: Vec<String>,
    /// Of the last event it caused, `config.changed` or `policy.changed`; missing when nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetLogLevelParams {
    /// `off`, `error`, `warn`, `info`, `debug` or `trace`; or directives for parts of the daemon, e.g.
    /// `info,subagentd_run=debug`.
    #[schemars(length(min = 1, max = 1000))]
    pub level: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetLogLevelResult {
    /// What is logged from now on, until the daemon ends.
    pub level: String,
    /// What was logged until now.
    pub before: String,
}
