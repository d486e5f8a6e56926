//! Extensions: folders in the format Agent Plugins that a person installed (spec 08, "Plugins").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ExtensionId, Timestamp};

/// The extension that brings something along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionRef {
    pub id: ExtensionId,
    pub name: String,
}

/// An extension as it was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstalledExtension {
    /// Made when it was installed first; the same when another version takes its place.
    pub id: ExtensionId,
    /// The name of its folder, too.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The folder or the repository's URL that it came from.
    pub source: String,
    /// The commit, of one that came from a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Over path, mode and bytes of all its files: `sha256:<hex>`. One that is another one is off.
    pub digest: String,
    /// False = a person switched it off.
    pub enabled: bool,
    pub installed_at: Timestamp,
    /// Everything that was left out, ignored or skipped when it was installed, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl InstalledExtension {
    pub fn reference(&self) -> ExtensionRef {
        ExtensionRef { id: self.id.clone(), name: self.name.clone() }
    }
}

/// The things that a person does with an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExtensionChange {
    Installed,
    /// Another version took its place.
    Updated,
    Enabled,
    Disabled,
    Removed,
}

/// Data of `extension.changed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionChanged {
    pub extension: ExtensionRef,
    pub change: ExtensionChange,
    /// The extension as it is from now on; missing where it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installed: Option<InstalledExtension>,
}
