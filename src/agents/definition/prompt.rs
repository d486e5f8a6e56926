//! The field `prompt`: does the system prompt begin with the daemon's own modules? (spec 08, "System prompt")

use super::super::{fields::KnownFields, findings::FileFindings};
use protocol::FileProblemCode::MissingField;

pub(super) const PROMPT_FIELDS: &[&str] = &["modules"];

/// They do where the file says so, and where it has no text of its own.
pub(super) fn has_modules(fields: &KnownFields<'_>, body: &str, findings: &mut FileFindings) -> bool {
    let said = fields.get("prompt").and_then(|node| {
        let fields = KnownFields::open(node, "prompt", PROMPT_FIELDS, findings)?;
        fields.flag("modules", findings)
    });
    let is_bare = body.is_empty() && said == Some(false);
    if is_bare {
        let message = "the file has no text after the front matter and says `prompt.modules: false`, so the agent has no \
                       system prompt";
        findings.warning(fields.get("prompt").map(|node| node.mark), MissingField, message, None);
    }
    said.unwrap_or(body.is_empty())
}
