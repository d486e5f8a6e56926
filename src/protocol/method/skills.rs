//! Parameters and results: skills (spec 08, "Skills").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{WorkspaceParam, is_default};
use crate::{EventSeq, ExtensionRef, FileProblem};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SkillsListParams {
    /// The workspace in which they are looked for. Missing = the user's alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsListResult {
    /// All of them in the order of precedence, those that do not count included.
    pub skills: Vec<SkillSummary>,
    /// Problems with the places that they lie in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
    /// The number of those for which the answer had no room. Skills that cannot be used are left out first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub omitted: u32,
}

/// A skill, in one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillSummary {
    pub name: String,
    /// Empty for one that has errors. In a list it may be shortened, which `…` at its end says.
    pub description: String,
    /// The folder that it lies in.
    pub folder: String,
    pub scope: SkillScope,
    /// The extension that brings it along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionRef>,
    pub state: SkillStateName,
    /// The folder of the one of the same name that goes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_by: Option<String>,
    /// Models are not told of it: its file says `disable-model-invocation`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub only_by_name: bool,
    /// Models are not told of it: there was no room among the others.
    #[serde(default, skip_serializing_if = "is_default")]
    pub omitted: bool,
    /// It has errors, whatever its state is; `skills/get` tells them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub has_errors: bool,
    /// The reason why nobody can acknowledge it as it is: the end of a sentence that begins with the skill. `skills/get` tells it of each
    /// skill of a workspace, `skills/list` of those that were acknowledged before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The owner of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SkillScope {
    Project,
    User,
    /// An extension brings it along.
    Extension,
}

/// A skill's state: can it be used?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SkillStateName {
    Ready,
    /// The setting `skills.disabled` names it.
    Disabled,
    /// The workspace brings it along, and nobody has acknowledged it.
    Untrusted,
    /// It was acknowledged, and is another one since.
    Changed,
    /// One of the same name goes before it.
    Hidden,
    /// It has errors.
    Rejected,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsGetParams {
    /// The skill of this name that counts, or the first of them if none does. Not needed beside `folder`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The one that lies in this folder, absolute: also one that another one of its name goes before, or that nobody has acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The workspace in which it is looked for. Missing = the user's alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsGetResult {
    pub skill: SkillSummary,
    /// The others of its name, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<SkillSummary>,
    /// The text without front matter, as it was found.
    pub body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    /// `allowed-tools` of the file; it neither gives nor takes a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<String>,
    /// `metadata` of the file.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
    /// Its other files, below its folder; at most 100, and fewer with long names.
    pub files: Vec<String>,
    /// The number of all of them.
    pub file_count: u32,
    /// Problems with its file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsValidateParams {
    /// The folder of a skill on the daemon's machine, absolute.
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsValidateResult {
    /// The file; the folder where it has none.
    pub path: String,
    /// Nothing in it is against the published rules.
    pub valid: bool,
    /// An error is against the rules; a warning is odd otherwise.
    pub problems: Vec<FileProblem>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsSetEnabledParams {
    pub name: String,
    pub enabled: bool,
    /// The workspace that one which is switched off lies in, if not among the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsSetEnabledResult {
    pub name: String,
    pub enabled: bool,
    /// The settings file that says so.
    pub path: String,
    /// Reasons why it has no effect as it is, or may not be what was meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The event that tells of it; missing where the settings said so already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
}
