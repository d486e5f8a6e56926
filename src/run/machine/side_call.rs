//! Calls of models beside the turns of a run: for a question of the daemon or of a tool.

use protocol::{SideCallPurpose, Usage, UsdAmount};

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
    /// Why it is no answer.
    pub error: Option<String>,
}

/// A call of a model for a question of a tool's.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSideCall {
    pub purpose: SideCallPurpose,
    pub call: SideCallReply,
}
