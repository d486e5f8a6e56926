//! How closely a command is confined: the words that settings, agents, status and confirmations share (spec 11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a command may touch. Ordered from the closest on.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum SandboxProfile {
    /// Only its temporary folder can be written.
    ReadOnly,
    /// The workspace, too.
    #[default]
    WorkspaceWrite,
    /// No sandbox: everything that the daemon's user may touch.
    Full,
}

impl SandboxProfile {
    /// The spelling on the wire and in files.
    pub fn as_str(self) -> &'static str {
        match self {
            SandboxProfile::ReadOnly => "readOnly",
            SandboxProfile::WorkspaceWrite => "workspaceWrite",
            SandboxProfile::Full => "full",
        }
    }
}
