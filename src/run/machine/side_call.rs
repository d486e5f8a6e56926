//! Calls of models beside the turns of a run: for a question of the daemon or of a tool.

use protocol::{SideCallPurpose, Timestamp, Usage, UsdAmount};

/// A call of a model for a question of the daemon's own.
#[derive(Debug, Clone, PartialEq)]
pub struct SideCallReply {
    pub model: String,
    pub usage: Usage,
    /// The provider did not say, so this is an estimate.
    pub is_estimate: bool,
    pub cost: Option<UsdAmount>,
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
}
