//! Skills that a run's model was given (spec 08, "Skills").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallId, ExtensionRef};

/// Data of `skill.activated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillActivated {
    /// The call by which its model asked for it; missing where the run was begun with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    pub name: String,
    /// Tools may read what lies there from now on, and never write it.
    pub folder: String,
    /// The name of its file in that folder: `SKILL.md`. Missing in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Over the bytes of that file, as the model was given them. Missing in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_digest: Option<String>,
    /// Over path, mode and bytes of all its files, of one that a workspace brings along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The extension that brings it along; `digest` is of the bytes of its `SKILL.md` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionRef>,
}
