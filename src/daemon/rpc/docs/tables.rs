//! How does a schema read for people? As tables of fields, lists of values and links between types.

use std::fmt::Write as _;

use serde_json::Value;

use super::schemas::SchemaDefinitions;

/// What stands before a name in references of the schemas shown here.
pub(super) const PLACE: &str = "#/types/";

/// Which fields a table marks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldDirection {
    /// What a client may leave out.
    Sent,
    /// What the daemon may leave out.
    Received,
}

/// A doc comment as one paragraph, without the parentheses that send developers to the specification.
pub(super) fn one_line(doc: &str) -> String {
    let mut words = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    while let Some(begin) = words.find(" (spec ")
        && let Some(length) = words[begin..].find(')')
    {
        words.replace_range(begin..=begin + length, "");
    }
    words
}

/// The fields of an object as a table; a sentence when it has none.
pub(super) fn fields(schema: &Value, fields: FieldDirection, schemas: &SchemaDefinitions) -> String {
    let schema = resolved(schema, schemas);
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return match fields {
            FieldDirection::Sent => "No parameters.\n".to_owned(),
            FieldDirection::Received => format!("{}\n", type_name(schema, schemas)),
        };
    };
    let required = schema.get("required").and_then(Value::as_array);
    let third = match fields {
        FieldDirection::Sent => "required",
        FieldDirection::Received => "always there",
    };
    let mut table = format!("| name | type | {third} | meaning |\n|---|---|---|---|\n");
    for (name, property) in properties {
        let is_required = required.is_some_and(|required| required.iter().any(|field| field == name));
        let mark = if is_required { "yes" } else { "" };
        let kind = type_name(property, schemas);
        let _ = writeln!(
            table,
            "| `{name}` | {} | {mark} | {} |",
            cell(&kind),
            cell(&meaning(property, schemas))
        );
    }
    table
}

/// The section of one named type.
pub(super) fn type_section(name: &str, schema: &Value, schemas: &SchemaDefinitions) -> String {
    let mut section = format!("### {name}\n\n");
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        let _ = writeln!(section, "{}\n", one_line(description));
    }
    let variants = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    if schema.get("properties").is_some() {
        section.push_str(&fields(schema, FieldDirection::Received, schemas));
    } else if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let _ = writeln!(section, "One of {}.", values.iter().map(code).collect::<Vec<_>>().join(", "));
    } else if let Some(variants) = variants {
        section.push_str("One of:\n\n");
        for variant in variants {
            let described = variant.get("description").and_then(Value::as_str).map(one_line);
            let described = described.map(|words| format!(": {words}")).unwrap_or_default();
            let _ = writeln!(section, "- {}{described}", type_name(variant, schemas));
        }
    } else {
        let _ = writeln!(section, "{}.", capitalized(&type_name(schema, schemas)));
    }
    section
}

/// All named types, for the end of a page.
pub(super) fn types(schemas: &SchemaDefinitions, is_shown: impl Fn(&str) -> bool) -> String {
    let mut text = "## Types\n".to_owned();
    for (name, schema) in schemas.iter().filter(|(name, _)| is_shown(name)) {
        let _ = write!(text, "\n{}", type_section(name, schema, schemas));
    }
    text
}

/// A type in a few words, named types as links.
pub(super) fn type_name(schema: &Value, schemas: &SchemaDefinitions) -> String {
    let text = |word: &str| schema.get(word).and_then(Value::as_str);
    let list = |word: &str| schema.get(word).and_then(Value::as_array);
    if let Some(name) = text("$ref").and_then(|reference| reference.strip_prefix(PLACE)) {
        let link = format!("[{name}](#{})", name.to_lowercase());
        // A variant that has fields of its own beside those of a named type.
        return match schema.get("properties") {
            Some(_) => format!("{} and the fields of {link}", object_name(schema, schemas)),
            None => link,
        };
    }
    if let Some(value) = schema.get("const") {
        return code(value);
    }
    if let Some(values) = list("enum") {
        return values.iter().map(code).collect::<Vec<_>>().join(" or ");
    }
    if let Some(alternatives) = list("anyOf").or_else(|| list("oneOf")) {
        let refers = alternatives.iter().any(|alternative| alternative.get("$ref").is_some());
        let known = alternatives
            .iter()
            .filter(|alternative| !(is_null(alternative) || refers && is_newcomer(alternative, schema)));
        return known.map(|alternative| type_name(alternative, schemas)).collect::<Vec<_>>().join(" or ");
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        kind => kind.and_then(Value::as_str),
    };
    match kind {
        Some("array") => {
            let items = schema.get("items").map(|items| type_name(items, schemas));
            format!("array of {}", items.unwrap_or_else(|| "anything".to_owned()))
        }
        Some("object") => object_name(schema, schemas),
        Some(kind) => kind.to_owned(),
        None => "anything".to_owned(),
    }
}

fn object_name(schema: &Value, schemas: &SchemaDefinitions) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return "object".to_owned();
    };
    let required = schema.get("required").and_then(Value::as_array);
    let fields = properties.iter().map(|(name, property)| {
        let is_required = required.is_some_and(|required| required.iter().any(|field| field == name));
        let mark = if is_required { "" } else { "?" };
        format!("`{name}`{mark}: {}", type_name(property, schemas))
    });
    format!("object with {}", fields.collect::<Vec<_>>().join(", "))
}

/// True if it only says that an enum may grow, which each page says once.
fn is_newcomer(alternative: &Value, schema: &Value) -> bool {
    let says_kind_alone = alternative.as_object().is_some_and(|words| words.len() == 1);
    schema.get("anyOf").is_some() && says_kind_alone && alternative.get("type").is_some()
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

/// What a field means: its own words, else those of its type; then its bounds and its default.
fn meaning(property: &Value, schemas: &SchemaDefinitions) -> String {
    let own = property.get("description").and_then(Value::as_str);
    let of_type = resolved(inner(property), schemas).get("description").and_then(Value::as_str);
    let mut words: Vec<String> = own.or(of_type).map(one_line).into_iter().collect();
    let bound = |word: &str| property.get(word).and_then(Value::as_f64);
    // Some fields tell their bound with a reason.
    let says_bound = words.iter().any(|words| words.contains("At most"));
    match (bound("minimum").filter(|least| *least > 0.0), bound("maximum")) {
        (Some(least), Some(most)) => words.push(format!("From {least} to {most}.")),
        (Some(least), None) => words.push(format!("At least {least}.")),
        (None, Some(most)) if !says_bound => words.push(format!("At most {most}.")),
        (None, _) => {}
    }
    match property.get("default") {
        Some(Value::Null | Value::Object(_)) | None => {}
        Some(Value::String(empty)) if empty.is_empty() => {}
        Some(default) => words.push(format!("Default: {}.", code(default))),
    }
    words.join(" ")
}

/// The type of an optional field without "or null".
fn inner(property: &Value) -> &Value {
    let alternatives = property.get("anyOf").and_then(Value::as_array);
    alternatives.and_then(|all| all.iter().find(|one| !is_null(one))).unwrap_or(property)
}

fn resolved<'a>(schema: &'a Value, schemas: &'a SchemaDefinitions) -> &'a Value {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix(PLACE));
    name.and_then(|name| schemas.get(name)).unwrap_or(schema)
}

fn code(value: &Value) -> String {
    format!("`{value}`")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
