//! The field `inputs`: what an agent must be told before it starts.

use serde_json::{Map, Value, json};

use super::{
    field_row::{FieldLoss, FieldRow, field, map_schema, names, read_rows, written_section},
    read_schema,
    shapes::{FieldShape, FieldSlot, FieldTextShape, FlagShape, WORD, json_schema, word_schema},
};
use crate::{
    fields::KnownFields,
    findings::FileFindings,
    schema,
    template::{DAEMON_VALUES, is_name},
    yaml::{YamlContent, YamlKey, YamlNode},
};
use protocol::{
    AgentDefinition,
    FileProblemCode::{BadValue, MissingField, WrongType},
    InputSpec,
};

/// A file without the field has one required text, `prompt`.
pub(super) const INPUTS: FieldRow<AgentDefinition> = FieldRow {
    name: "inputs",
    meaning: || String::from("The inputs of the agent, by name. Default: one required text, `prompt`."),
    schema: || {
        let mut input = map_schema(INPUT_FIELDS);
        input["oneOf"] = json!([{ "required": ["type"] }, { "required": ["schema"] }]);
        json!({
            "type": ["object", "null"],
            "propertyNames": { "pattern": WORD, "not": { "enum": DAEMON_VALUES } },
            "additionalProperties": input,
        })
    },
    example: "inputs: { file: { type: string } }",
    read,
    write: |agent| {
        let usual = matches!(agent.inputs.as_slice(), [input] if *input == prompt());
        let inputs =
            agent.inputs.iter().map(|spec| (spec.name.clone(), written_section(INPUT_FIELDS, spec).into()));
        (!usual).then(|| inputs.collect::<Map<_, _>>().into())
    },
    loss: Some(FieldLoss {
        what: "`inputs`",
        kept_by: &[],
        is_lost: Some(
            |agent| !matches!(agent.inputs.as_slice(), [input] if ["prompt", "query"].contains(&input.name.as_str())),
        ),
    }),
    ..FieldRow::BLANK
};

pub(super) const INPUT_FIELDS: &[FieldRow<InputSpec>] = &[
    FieldRow {
        name: "type",
        meaning: || String::from("The type in a word."),
        schema: || word_schema(SHORT_TYPES),
        example: "inputs: { a: { type: \"number[]\" } }",
        read: |fields, input, findings| {
            // One of the two, which is told of the whole input.
            if fields.get("schema").is_some() {
                return;
            }
            match fields.one_of("type", SHORT_TYPES, findings) {
                Some(ShortType::One(name)) => input.schema = json!({ "type": name }),
                Some(ShortType::ListOf(name)) => {
                    input.schema = json!({ "type": "array", "items": { "type": name } });
                }
                None => {}
            }
        },
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "schema",
        meaning: || String::from("The type as a JSON Schema, instead of `type`."),
        schema: json_schema,
        example: "inputs: { a: { schema: { enum: [1, 2] } } }",
        read: |fields, input, findings| {
            if let (Some(node), None) = (fields.get("schema"), fields.get("type"))
                && let Some(schema) = read_schema(node, &fields.path("schema"), findings)
            {
                input.schema = schema;
            }
        },
        write: |input| Some(input.schema.clone()),
        ..FieldRow::BLANK
    },
    field!(
        "description", description, FieldTextShape, "What to give.",
        example: "inputs: { a: { type: string, description: d } }"
    ),
    FieldRow {
        name: "required",
        meaning: || String::from("Default: true without `default`."),
        schema: || FlagShape.schema(),
        example: "inputs: { a: { type: string, required: false } }",
        read: |fields, input, findings| {
            let said = fields.flag("required", findings);
            input.required = said.unwrap_or(fields.get("default").is_none());
        },
        write: |input| (input.required != input.default.is_none()).then_some(input.required.into()),
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "default",
        meaning: || String::from("The value when none is given; it fits the type."),
        example: "inputs: { a: { type: integer, default: 3 } }",
        read: |fields, input, _| input.default = fields.get("default").map(YamlNode::to_json),
        write: |input| input.default.clone(),
        ..FieldRow::BLANK
    },
];

#[derive(Clone, Copy)]
enum ShortType {
    One(&'static str),
    ListOf(&'static str),
}

const SHORT_TYPES: &[(&str, ShortType)] = &[
    ("string", ShortType::One("string")),
    ("number", ShortType::One("number")),
    ("integer", ShortType::One("integer")),
    ("boolean", ShortType::One("boolean")),
    ("string[]", ShortType::ListOf("string")),
    ("number[]", ShortType::ListOf("number")),
];

/// The inputs in the order of the file.
fn read(fields: &KnownFields<'_>, agent: &mut AgentDefinition, findings: &mut FileFindings) {
    let Some(node) = fields.get("inputs") else { return agent.inputs = vec![prompt()] };
    let YamlContent::Map(entries) = &node.content else {
        let expected = "a map from names to `type`, `description`, `required`, `default`";
        return findings.expected(node, "inputs", WrongType, expected);
    };
    agent.inputs = entries.iter().map(|(key, node)| read_one(key, node, findings)).collect();
}

fn prompt() -> InputSpec {
    InputSpec {
        name: "prompt".to_owned(),
        description: None,
        required: true,
        default: None,
        schema: json!({"type": "string"}),
    }
}

/// Even an input with mistakes is kept, so that templates that name it are not told off for it.
fn read_one(key: &YamlKey, node: &YamlNode, findings: &mut FileFindings) -> InputSpec {
    let name = key.text.clone();
    if !is_name(&name) {
        let message = format!("`inputs`: {name:?} is no name: only letters, digits and `_`");
        findings.error(Some(key.mark), BadValue, message);
    }
    if DAEMON_VALUES.contains(&name.as_str()) {
        let message =
            format!("`inputs`: `{name}` is a value that the daemon supplies; expected another name");
        findings.error(Some(key.mark), BadValue, message);
    }
    let path = format!("inputs.{name}");
    let Some(fields) = KnownFields::open(node, &path, &names(INPUT_FIELDS), findings) else {
        return InputSpec { name, ..prompt() };
    };
    // Anything fits a type that could not be read.
    let mut input = InputSpec { name, schema: Value::Bool(true), ..prompt() };
    read_rows(INPUT_FIELDS, &fields, &mut input, findings);
    match (fields.get("type"), fields.get("schema")) {
        (Some(_), Some(schema)) => {
            let message =
                format!("`{}` stands beside `type`; expected one of the two", fields.path("schema"));
            findings.error(Some(schema.mark), BadValue, message);
        }
        (None, None) => {
            let message = format!("`{}` is missing", fields.path("type"));
            findings.error_with_fix(Some(node.mark), MissingField, message, "add `type: string`");
        }
        _ => {}
    }
    if let (Some(node), Some(value)) = (fields.get("default"), &input.default) {
        check_default(&input.schema, value, node, &path, findings);
    }
    input
}

fn check_default(schema: &Value, value: &Value, node: &YamlNode, path: &str, findings: &mut FileFindings) {
    let Ok(validator) = schema::compile(schema) else { return };
    for violation in schema::violations(schema, &validator, value) {
        let mark = node.at_pointer(&violation.pointer).mark;
        findings.error(Some(mark), BadValue, format!("`{path}.default`: {}", violation.message));
    }
}
