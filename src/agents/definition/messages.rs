//! The field `initialMessages`: examples that stand before the first message.

use super::{
    super::{
        fields::KnownFields,
        findings::FileFindings,
        yaml::{YamlContent, YamlNode},
    },
    check_placeholders,
};
use protocol::{FileProblemCode::WrongType, InitialMessage, InputSpec, MessageRole};

pub(super) const MESSAGE_FIELDS: &[&str] = &["role", "text"];

pub(super) const ROLES: &[(&str, MessageRole)] =
    &[("user", MessageRole::User), ("model", MessageRole::Model)];

pub(super) fn read(
    fields: &KnownFields<'_>,
    inputs: &[InputSpec],
    findings: &mut FileFindings,
) -> Vec<InitialMessage> {
    let Some(node) = fields.get("initialMessages") else { return Vec::new() };
    let YamlContent::List(nodes) = &node.content else {
        findings.expected(node, "initialMessages", WrongType, "a list of `{role, text}`");
        return Vec::new();
    };
    let numbered = nodes.iter().enumerate();
    numbered.filter_map(|(number, node)| read_one(number, node, inputs, findings)).collect()
}

fn read_one(
    number: usize,
    node: &YamlNode,
    inputs: &[InputSpec],
    findings: &mut FileFindings,
) -> Option<InitialMessage> {
    let path = format!("initialMessages[{number}]");
    let fields = KnownFields::open(node, &path, MESSAGE_FIELDS, findings)?;
    let role =
        fields.require("role", "role: user", findings).and_then(|_| fields.one_of("role", ROLES, findings));
    let text = fields.require("text", "text: …", findings).and_then(|node| {
        let text = fields.text("text", findings)?;
        check_placeholders(&text, inputs, |_| node.mark, findings);
        Some(text)
    });
    Some(InitialMessage { role: role?, text: text? })
}
