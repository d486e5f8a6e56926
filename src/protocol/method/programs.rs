//! Parameters and results: programs that settings name, which run outside of every sandbox (spec 11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EventSeq, ProgramId, ProgramSource, TrustedFile};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgramsListResult {
    /// Sorted by their ids.
    pub programs: Vec<NotedProgram>,
}

/// A program that settings name, and its files as they were noted and as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotedProgram {
    pub id: ProgramId,
    pub source: ProgramSource,
    /// The first word of the command, or the server's name.
    pub name: String,
    /// The folders of the workspace that a server was started in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspace: Vec<String>,
    /// The files that others than root can change.
    pub files: Vec<NotedProgramFile>,
    /// It is not run: a file is another one than was noted, or was not noted.
    pub changed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotedProgramFile {
    /// Absolute, without links.
    pub path: String,
    /// The digest when it was first run, or when a person acknowledged it last: `sha256:<hex>`. Missing = it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noted: Option<String>,
    /// The digest now. Missing = it is gone, or cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgramsAcknowledgeParams {
    pub id: ProgramId,
    /// Every file of the program that is there, as `programs/list` told it: just these are run from then on.
    pub files: Vec<TrustedFile>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgramsAcknowledgeResult {
    pub program: NotedProgram,
    pub seq: EventSeq,
}
