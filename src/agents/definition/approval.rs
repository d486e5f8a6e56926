//! The field `approval`: which calls of an agent need no person where no rule speaks (spec 02, 06).

use super::super::{fields::Fields, findings::Findings, yaml::Content};
use crate::protocol::{
    FileProblemCode::{BadValue, WrongType},
    Risk,
};

pub(super) const APPROVAL_FIELDS: &[&str] = &["autoApprove"];

/// What may be approved beforehand. `critical` may not: only a rule that says so allows that.
pub(super) const RISKS: &[(&str, Risk)] =
    &[("safe", Risk::Safe), ("low", Risk::Low), ("medium", Risk::Medium), ("high", Risk::High)];

/// From the least on, each once. What is mistaken approves nothing.
pub(super) fn auto_approve(fields: &Fields<'_>, findings: &mut Findings) -> Vec<Risk> {
    const EXPECTED: &str = "a list of `safe`, `low`, `medium` and `high`";
    let Some(node) = fields.get("approval") else { return Vec::new() };
    let Some(fields) = Fields::open(node, "approval", APPROVAL_FIELDS, findings) else { return Vec::new() };
    let Some(node) = fields.get("autoApprove") else { return Vec::new() };
    let path = fields.path("autoApprove");
    let Content::List(nodes) = &node.content else {
        findings.expected(node, &path, WrongType, EXPECTED);
        return Vec::new();
    };
    let mut risks = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        let path = format!("{path}[{number}]");
        let word = node.as_raw_text();
        match word.and_then(|word| RISKS.iter().find(|(known, _)| *known == word)) {
            Some((_, risk)) => risks.push(*risk),
            None if word == Some("critical") => {
                let message =
                    format!("`{path}`: `critical` is never approved beforehand; only a rule allows it");
                findings.error(Some(node.mark), BadValue, message);
            }
            None => {
                let code = if word.is_some() { BadValue } else { WrongType };
                findings.expected(node, &path, code, "`safe`, `low`, `medium` or `high`");
            }
        }
    }
    risks.sort_unstable();
    risks.dedup();
    risks
}
