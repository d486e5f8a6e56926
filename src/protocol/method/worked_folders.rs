//! Parameters and results: the folders in which agents work, or have worked (spec 11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EventSeq, SessionId, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkedFoldersListResult {
    /// Those in which agents worked last come first; at most 1,000.
    pub folders: Vec<WorkedFolder>,
    /// There are more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// A folder in which agents work, or have worked: whatever lies there, one may have written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkedFolder {
    /// Absolute, without links as it was when a session began there.
    pub folder: String,
    /// The session that began there last; it may have been deleted. Missing = it was deleted before the daemon kept that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_session_id: Option<SessionId>,
    /// The time at which that session was active last, or at which it began, if it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Timestamp>,
    /// Sessions that have it as one of their folders, deleted ones apart. While there are some it cannot be forgotten.
    pub sessions: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkedFoldersForgetParams {
    /// Absolute, as `workedFolders/list` tells it, or by a link. It need not be there any more.
    pub folder: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkedFoldersForgetResult {
    /// The folder that was meant, without links.
    pub folder: String,
    /// False = it was none of these folders, so nothing was changed.
    pub forgotten: bool,
    /// Folders above it in which agents work, or have worked: what lies in it counts by them as before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still_within: Vec<String>,
    pub seq: EventSeq,
}
