//! The field `tools`: which tools an agent may use, in any of the ways people write that.

use super::super::{
    fields::{self, Fields},
    findings::Findings,
    yaml::{Content, Node},
};
use crate::protocol::{
    FileProblemCode::{BadValue, WrongType},
    ToolName, ToolSelection,
};

pub(super) const TOOLS_FIELDS: &[&str] = &["allow", "deny"];

/// A map with `allow` and `deny`; a list or a text alone is what to allow. `[]` allows none.
pub(super) fn read(fields: &Fields<'_>, findings: &mut Findings) -> ToolSelection {
    let Some(node) = fields.get("tools") else { return ToolSelection::default() };
    if let Content::Map(_) = node.content {
        let Some(fields) = Fields::open(node, "tools", TOOLS_FIELDS, findings) else {
            return ToolSelection::default();
        };
        let allow = fields.get("allow").map(|node| names(node, "tools.allow", findings));
        let deny = fields.get("deny").map(|node| names(node, "tools.deny", findings)).unwrap_or_default();
        return ToolSelection { allow, deny };
    }
    ToolSelection { allow: Some(names(node, "tools", findings)), deny: Vec::new() }
}

fn names(node: &Node, path: &str, findings: &mut Findings) -> Vec<ToolName> {
    match &node.content {
        Content::List(nodes) => nodes
            .iter()
            .enumerate()
            .filter_map(|(number, node)| name(node, &format!("{path}[{number}]"), findings))
            .collect(),
        Content::Scalar { .. } => {
            let Some(text) = fields::text(node, path, findings) else { return Vec::new() };
            split(text).into_iter().map(ToolName::from).collect()
        }
        Content::Map(_) => {
            findings.expected(node, path, WrongType, "a list of tool names");
            Vec::new()
        }
    }
}

fn name(node: &Node, path: &str, findings: &mut Findings) -> Option<ToolName> {
    let text = fields::text(node, path, findings)?.trim();
    if text.is_empty() {
        findings.expected(node, path, BadValue, "a tool's name");
        return None;
    }
    Some(ToolName::from(text))
}

/// Splits at commas outside parentheses, or at blanks when there is no such comma (spec 02, rule 5).
fn split(text: &str) -> Vec<&str> {
    let by_commas = split_outside_parentheses(text, |character| character == ',');
    if by_commas.len() > 1 { by_commas } else { split_outside_parentheses(text, char::is_whitespace) }
}

fn split_outside_parentheses(text: &str, is_separator: impl Fn(char) -> bool) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return depth == 0 && is_separator(character),
        }
        false
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}
