//! The field `output`: a result with a type.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{
    field_row::{FieldLoss, FieldNarrowing, FieldRow, map_schema, names, read_rows, written_section},
    read_schema,
    shapes::{WORD, json_schema, or_null, text},
    undeclared,
};
use crate::{fields::KnownFields, findings::FileFindings, template::is_name};
use config::nearest;
use protocol::{AgentDefinition, FileProblemCode::BadValue, OutputSpec};

pub(super) const OUTPUT: FieldRow<AgentDefinition> = FieldRow {
    name: "output",
    meaning: || String::from("The type of the result. Default: a text."),
    schema: || {
        let mut output = map_schema(OUTPUT_FIELDS);
        output["required"] = json!(["name", "schema"]);
        or_null(output)
    },
    example: "output: { name: report, schema: { type: object } }",
    read,
    write: |agent| written_section(OUTPUT_FIELDS, agent),
    below: OUTPUT_FIELDS,
    narrowing: FieldNarrowing::KeysThatSoundSo,
    loss: Some(FieldLoss::of("`output`: the result is a text there")),
    ..FieldRow::BLANK
};

/// They are read into an [`OutputSpec`] that is there while they are.
const OUTPUT_FIELDS: &[FieldRow<AgentDefinition>] = &[
    FieldRow {
        name: "name",
        meaning: || String::from("The argument of `complete_task`."),
        schema: || json!({ "type": "string", "pattern": WORD }),
        example: "output: { name: report, schema: {} }",
        required: Some("name: report"),
        read: |fields, agent, findings| {
            let (Some(node), Some(output)) = (fields.get("name"), &mut agent.output) else { return };
            let Some(name) = fields.text("name", findings) else { return };
            if !is_name(&name) {
                findings.expected(node, "output.name", BadValue, "a name of letters, digits and `_`");
            }
            output.name = name;
        },
        write: |agent| Some(agent.output.as_ref()?.name.as_str().into()),
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "description",
        meaning: || String::from("What the result is, for the model."),
        schema: text,
        example: "output: { name: report, schema: {}, description: d }",
        read: |fields, agent, findings| {
            if let Some(output) = &mut agent.output {
                output.description = fields.text("description", findings);
            }
        },
        write: |agent| Some(agent.output.as_ref()?.description.as_deref()?.into()),
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "schema",
        meaning: || String::from("The result's type."),
        schema: json_schema,
        example: "output: { name: report, schema: { type: string } }",
        required: Some("schema: {type: object}"),
        read: |fields, agent, findings| {
            let (Some(node), Some(output)) = (fields.get("schema"), &mut agent.output) else { return };
            output.schema = read_schema(node, "output.schema", findings).unwrap_or_default();
        },
        write: |agent| Some(agent.output.as_ref()?.schema.clone()),
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "format",
        meaning: || String::from("`json`, or a template over the fields of the schema. Default: `json`."),
        schema: text,
        example: "output: { name: report, schema: {}, format: \"${a}\" }",
        read: |fields, agent, findings| {
            if let Some(output) = &mut agent.output {
                output.format = fields.text("format", findings).filter(|format| format != "json");
            }
        },
        write: |agent| Some(agent.output.as_ref()?.format.as_deref()?.into()),
        ..FieldRow::BLANK
    },
];

/// There is none when it has mistakes; they are told.
fn read(fields: &KnownFields<'_>, agent: &mut AgentDefinition, findings: &mut FileFindings) {
    let Some(node) = fields.get("output") else { return };
    let Some(fields) = KnownFields::open(node, "output", &names(OUTPUT_FIELDS), findings) else { return };
    let unread = OutputSpec { name: String::new(), description: None, schema: Value::Null, format: None };
    agent.output = Some(unread);
    read_rows(OUTPUT_FIELDS, &fields, agent, findings);
    agent.output.take_if(|output| output.name.is_empty() || output.schema.is_null());
    if let Some(OutputSpec { schema, format: Some(template), .. }) = &agent.output {
        check_format(&fields, template, schema, findings);
    }
}

/// The template may name the properties that the schema lists, if it lists any.
fn check_format(
    fields: &KnownFields<'_>,
    template: &str,
    schema: &serde_json::Value,
    findings: &mut FileFindings,
) {
    let Some(properties) = schema.get("properties").and_then(|properties| properties.as_object()) else {
        return;
    };
    let mark = fields.get("format").map(|node| node.mark);
    let known: HashSet<&str> = properties.keys().map(String::as_str).collect();
    for placeholder in undeclared(template, &known) {
        if findings.are_full() {
            return;
        }
        let name = placeholder.name;
        let message = format!("`output.format` names `${{{name}}}`, which the schema does not have");
        match nearest(name, properties.keys().map(String::as_str)) {
            Some(near) => {
                findings.error_with_fix(mark, BadValue, message, format!("did you mean `${{{near}}}`?"))
            }
            None => findings.error(mark, BadValue, message),
        }
    }
}
