//! The field `output`: a result with a type.

use std::collections::HashSet;

use super::{
    super::{fields::KnownFields, findings::FileFindings, template::is_name},
    read_schema, undeclared,
};
use config::nearest;
use protocol::{FileProblemCode::BadValue, OutputSpec};

pub(super) const OUTPUT_FIELDS: &[&str] = &["name", "description", "schema", "format"];

/// `None` also when it has mistakes; they are told.
pub(super) fn read(fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<OutputSpec> {
    let fields = KnownFields::open(fields.get("output")?, "output", OUTPUT_FIELDS, findings)?;
    let name = fields.require("name", "name: report", findings).and_then(|node| {
        let name = fields.text("name", findings)?;
        if !is_name(&name) {
            findings.expected(node, "output.name", BadValue, "a name of letters, digits and `_`");
        }
        Some(name)
    });
    let description = fields.text("description", findings);
    let schema = fields
        .require("schema", "schema: {type: object}", findings)
        .and_then(|node| read_schema(node, "output.schema", findings));
    let format = fields.text("format", findings).filter(|format| format != "json");
    let (name, schema) = (name?, schema?);
    if let Some(template) = &format {
        check_format(&fields, template, &schema, findings);
    }
    Some(OutputSpec { name, description, schema, format })
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
