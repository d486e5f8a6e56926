//! The fields `prompt` and `memory`: does the system prompt begin with the daemon's own modules, and is the agent told what
//! memory files say? (spec 08)

use super::super::{fields::KnownFields, findings::FileFindings, unsupported};
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

/// `memory: { include: false }`. What else stands under `memory` is not carried out, and told as that.
pub(super) fn omits_memory(fields: &KnownFields<'_>, findings: &mut FileFindings) -> bool {
    let Some(node) = fields.get("memory").filter(|node| !unsupported::is_left_out("memory", node)) else {
        return false;
    };
    if node.says_nothing() {
        return false;
    }
    let fields = KnownFields::open(node, "memory", &[unsupported::INCLUDE], findings);
    fields.and_then(|fields| fields.flag(unsupported::INCLUDE, findings)) == Some(false)
}
