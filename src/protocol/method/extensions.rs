//! Parameters and results: extensions (spec 08, "Plugins").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::{EventSeq, InstalledExtension};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionListResult {
    /// Sorted by name.
    pub extensions: Vec<ExtensionSummary>,
}

/// An extension that is installed, and whether it counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionSummary {
    #[serde(flatten)]
    pub installed: InstalledExtension,
    pub state: ExtensionStateName,
    /// The reason why it is off, of one that changed: the end of a sentence that begins with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The number of its skills and of its MCP servers.
    pub skill_count: u32,
    pub server_count: u32,
}

/// An extension's state: does what it brings along count?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExtensionStateName {
    Enabled,
    /// A person switched it off.
    Disabled,
    /// Its files are not what was installed, so it is off. Installing it again puts that right.
    Changed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionNameParams {
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionGetResult {
    pub extension: ExtensionSummary,
    /// Nothing, of one that changed.
    pub contents: ExtensionContents,
    /// Its folder.
    pub folder: String,
    /// The folder for what its programs write; made when one is started.
    pub data_folder: String,
}

/// The things that an extension brings along. A person agrees to them, so a list is there when it is empty, too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionContents {
    pub skills: Vec<BundledSkill>,
    pub servers: Vec<BundledMcpServer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
}

/// A skill that an extension brings along.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundledSkill {
    pub name: String,
    pub description: String,
    /// The reason why it is not used, if it is not: another one goes before it, or settings switch it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused_reason: Option<String>,
}

/// An MCP server that an extension brings along.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundledMcpServer {
    pub name: String,
    /// A program of it is started, in the sandbox; otherwise it is reached at an address.
    pub is_program: bool,
    /// The words with which it is started, or the address.
    pub command_or_url: String,
    /// The variables or headers that its entry sets, each as `NAME=VALUE`.
    pub variables: Vec<String>,
    /// The reason why it is not used, if it is not: its name is in use, or settings do not allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused_reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionInstallParams {
    /// A folder on the daemon's machine, absolute; or the URL of a repository (`https://….git`, `git+https://…`, `ssh://…`,
    /// `git@HOST:PATH`, `file:///…`), with `#` and a branch, tag or commit behind it.
    pub source: String,
    /// The digest of what a person agreed to, as an answer to `dryRun` told it. Needed unless `dryRun`; anything else is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Copies and reads it and answers what would be installed; nothing of it is left.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dry_run: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionInstallResult {
    pub outcome: ExtensionInstallOutcome,
    /// The extension as it is installed, or would be.
    pub extension: InstalledExtension,
    /// The one that was installed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<InstalledExtension>,
    pub contents: ExtensionContents,
    /// The number of its files.
    pub file_count: u32,
    /// The event that tells of it; missing where nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
}

/// The outcome of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExtensionInstallOutcome {
    Installed,
    /// It took the place of another one of its name. What its programs wrote stays, and it is as enabled as that was.
    Updated,
    /// Just this is installed already.
    Unchanged,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionSwitchResult {
    pub extension: ExtensionSummary,
    /// The event that tells of it; missing where nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionRemoveResult {
    pub name: String,
    pub seq: EventSeq,
}
