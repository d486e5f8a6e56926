//! The field `initialMessages`: examples that stand before the first message.

use serde_json::{Value, json};

use super::{
    check_placeholders,
    field_row::{FieldLoss, FieldRow, map_schema, names, read_rows, written},
    shapes::word_schema,
};
use crate::{
    fields::KnownFields,
    findings::FileFindings,
    yaml::{YamlContent, YamlNode},
};
use protocol::{AgentDefinition, FileProblemCode::WrongType, InitialMessage, InputSpec, MessageRole};

pub(super) const INITIAL_MESSAGES: FieldRow<AgentDefinition> = FieldRow {
    name: "initialMessages",
    meaning: || String::from("Example messages (few-shot) before the first message."),
    schema: || {
        let mut message = map_schema(MESSAGE_FIELDS);
        message["required"] = json!(names(MESSAGE_FIELDS));
        json!({ "type": ["array", "null"], "items": message })
    },
    example: "initialMessages: [{ role: user, text: hi }, { role: model, text: ho }]",
    read,
    write: |agent| {
        let messages = agent.initial_messages.iter().map(|message| written(MESSAGE_FIELDS, message).into());
        (!agent.initial_messages.is_empty()).then(|| messages.collect::<Vec<Value>>().into())
    },
    loss: Some(FieldLoss::of("`initialMessages`")),
    ..FieldRow::BLANK
};

const ROLES: &[(&str, MessageRole)] = &[("user", MessageRole::User), ("model", MessageRole::Model)];

pub(super) const MESSAGE_FIELDS: &[FieldRow<InitialMessage>] = &[
    FieldRow {
        name: "role",
        meaning: || String::from("Who speaks."),
        schema: || word_schema(ROLES),
        example: "initialMessages: [{ role: model, text: hi }]",
        required: Some("role: user"),
        read: |fields, message, findings| {
            if let Some(role) = fields.one_of("role", ROLES, findings) {
                message.role = role;
            }
        },
        write: |message| Some(json!(message.role)),
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "text",
        meaning: || String::from("Template of what is said."),
        schema: || json!({ "type": "string", "minLength": 1 }),
        example: "initialMessages: [{ role: user, text: hi }]",
        required: Some("text: …"),
        read: |fields, message, findings| {
            message.text = fields.text("text", findings).unwrap_or_default();
        },
        write: |message| Some(message.text.as_str().into()),
        ..FieldRow::BLANK
    },
];

fn read(fields: &KnownFields<'_>, agent: &mut AgentDefinition, findings: &mut FileFindings) {
    let Some(node) = fields.get("initialMessages") else { return };
    let YamlContent::List(nodes) = &node.content else {
        return findings.expected(node, "initialMessages", WrongType, "a list of `{role, text}`");
    };
    let numbered = nodes.iter().enumerate();
    let messages = numbered.filter_map(|(number, node)| read_one(number, node, &agent.inputs, findings));
    agent.initial_messages = messages.collect();
}

fn read_one(
    number: usize,
    node: &YamlNode,
    inputs: &[InputSpec],
    findings: &mut FileFindings,
) -> Option<InitialMessage> {
    let path = format!("initialMessages[{number}]");
    let fields = KnownFields::open(node, &path, &names(MESSAGE_FIELDS), findings)?;
    let mut message = InitialMessage { role: MessageRole::User, text: String::new() };
    read_rows(MESSAGE_FIELDS, &fields, &mut message, findings);
    if let Some(node) = fields.get("text") {
        check_placeholders(&message.text, inputs, |_| node.mark, findings);
    }
    Some(message)
}
