//! Calls of models beside the turns of a run: for a question of the daemon or of a tool.

use super::MeteredUsage;
use protocol::{SideCallPurpose, Timestamp};

/// A call of a model for a question of the daemon's own.
#[derive(Debug, Clone, PartialEq)]
pub struct SideCallReply {
    pub model: String,
    /// Usage of all tries.
    pub metered: MeteredUsage,
    /// What it answered.
    pub text: String,
    /// The reason why it is no answer.
    pub error: Option<String>,
}

/// A hook that asks a model something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskingHook {
    pub firing_id: String,
    pub hook_id: String,
}

/// A call of a model for a question of a tool's or a hook's.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSideCall {
    pub purpose: SideCallPurpose,
    pub call: SideCallReply,
    pub asked_at: Timestamp,
    pub duration_ms: u64,
    /// Only of a question of a hook's.
    pub hook: Option<AskingHook>,
    /// Nobody waits for the answer any more.
    pub given_up: bool,
}
