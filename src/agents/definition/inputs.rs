//! The field `inputs`: what an agent must be told before it starts.

use serde_json::{Value, json};

use super::{
    super::{
        fields::KnownFields,
        findings::FileFindings,
        schema,
        template::{DAEMON_VALUES, is_name},
        yaml::{YamlContent, YamlKey, YamlNode},
    },
    read_schema,
};
use protocol::{
    FileProblemCode::{BadValue, MissingField, WrongType},
    InputSpec,
};

pub(super) const INPUT_FIELDS: &[&str] = &["type", "schema", "description", "required", "default"];

#[derive(Clone, Copy)]
pub(super) enum ShortType {
    One(&'static str),
    ListOf(&'static str),
}

pub(super) const SHORT_TYPES: &[(&str, ShortType)] = &[
    ("string", ShortType::One("string")),
    ("number", ShortType::One("number")),
    ("integer", ShortType::One("integer")),
    ("boolean", ShortType::One("boolean")),
    ("string[]", ShortType::ListOf("string")),
    ("number[]", ShortType::ListOf("number")),
];

/// The inputs in the order of the file. A file without the field has one required text, `prompt`.
pub(super) fn read(fields: &KnownFields<'_>, findings: &mut FileFindings) -> Vec<InputSpec> {
    let Some(node) = fields.get("inputs") else { return vec![prompt()] };
    let YamlContent::Map(entries) = &node.content else {
        findings.expected(
            node,
            "inputs",
            WrongType,
            "a map from names to `type`, `description`, `required`, `default`",
        );
        return Vec::new();
    };
    entries.iter().filter_map(|(key, node)| read_one(key, node, findings)).collect()
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
fn read_one(key: &YamlKey, node: &YamlNode, findings: &mut FileFindings) -> Option<InputSpec> {
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
    let Some(fields) = KnownFields::open(node, &path, INPUT_FIELDS, findings) else {
        return Some(InputSpec { name, ..prompt() });
    };
    let schema = read_type(&fields, node, findings);
    let default = fields.get("default").map(|node| {
        let value = node.to_json();
        if let Some(schema) = &schema {
            check_default(schema, &value, node, &path, findings);
        }
        value
    });
    let required = fields.flag("required", findings).unwrap_or(default.is_none());
    let description = fields.text("description", findings);
    Some(InputSpec { name, description, required, default, schema: schema.unwrap_or(Value::Bool(true)) })
}

fn read_type(fields: &KnownFields<'_>, node: &YamlNode, findings: &mut FileFindings) -> Option<Value> {
    match (fields.get("type"), fields.get("schema")) {
        (Some(_), None) => match fields.one_of("type", SHORT_TYPES, findings)? {
            ShortType::One(name) => Some(json!({"type": name})),
            ShortType::ListOf(name) => Some(json!({"type": "array", "items": {"type": name}})),
        },
        (None, Some(schema)) => read_schema(schema, &fields.path("schema"), findings),
        (Some(_), Some(schema)) => {
            let message =
                format!("`{}` stands beside `type`; expected one of the two", fields.path("schema"));
            findings.error(Some(schema.mark), BadValue, message);
            None
        }
        (None, None) => {
            let message = format!("`{}` is missing", fields.path("type"));
            findings.error_with_fix(Some(node.mark), MissingField, message, "add `type: string`");
            None
        }
    }
}

fn check_default(schema: &Value, value: &Value, node: &YamlNode, path: &str, findings: &mut FileFindings) {
    let Ok(validator) = schema::compile(schema) else { return };
    for violation in schema::violations(schema, &validator, value) {
        let mark = node.at_pointer(&violation.pointer).mark;
        findings.error(Some(mark), BadValue, format!("`{path}.default`: {}", violation.message));
    }
}
