//! Calls that do not run.

use protocol::{RuleOrigin, ToolError, ToolResult};

/// The reason why a call does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRefusal {
    pub error: ToolError,
    /// The rule that forbids it, if one does.
    pub denied_by: Option<String>,
    /// The word that this rule goes back to, where it stands in no file.
    pub denied_origin: Option<RuleOrigin>,
}

impl From<ToolError> for CallRefusal {
    fn from(error: ToolError) -> CallRefusal {
        CallRefusal { error, denied_by: None, denied_origin: None }
    }
}

impl From<CallRefusal> for ToolResult {
    fn from(refusal: CallRefusal) -> ToolResult {
        let CallRefusal { error, denied_by, denied_origin } = refusal;
        let denied_by = denied_by.map(String::into_boxed_str);
        let denied_origin = denied_origin.map(Box::new);
        ToolResult { denied_by, denied_origin, ..ToolResult::failure(error.kind, error.message) }
    }
}
