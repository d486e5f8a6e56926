//! Are the arguments of a call what its schema says? And which names did the model mean by other ones?
//!
//! Models write `file_path` for `path`, `5.0` for `5` and `null` for "not given". That is mapped before
//! anything is checked; everything else that is wrong is reported, all of it at once.

use std::collections::HashSet;

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::nearest::nearest;
use protocol::{SchemaViolation, ToolError, ToolErrorType};

/// Other names for arguments (spec 05, "Argument aliases"). One holds where the schema has the second name and
/// not the first. Names that differ only in their style (`old_string`, `case_sensitive`) need no line.
const ALIASES: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filePath", "path"),
    ("absolute_path", "path"),
    ("dir_path", "path"),
    ("directory", "path"),
    ("include_pattern", "include"),
    ("glob", "include"),
    ("is_background", "background"),
    ("allow_multiple", "replaceAll"),
    ("description", "text"),
    ("content", "text"),
    ("skill", "name"),
    ("command", "name"),
];
/// Those that mean a list, so that one never takes the place of a single value.
const LIST_ALIASES: &[(&str, &str)] = &[("paths", "include")];

/// Violations told at once; a model mends the first few and sees the rest then.
const MAX_VIOLATIONS: usize = 20;
/// Characters of one violation: it may quote an argument, and arguments may be files.
const MAX_VIOLATION_CHARS: usize = 300;

/// A parameter schema, compiled once.
pub struct ParameterSchema {
    schema: Value,
    validator: Validator,
}

impl ParameterSchema {
    /// `None` when `schema` is no JSON Schema (2020-12), or one that nobody can read.
    pub fn compile(schema: &Value) -> Option<ParameterSchema> {
        if !schemas::is_readable(schema) {
            return None;
        }
        let validator =
            jsonschema::draft202012::options().should_validate_formats(false).build(schema).ok()?;
        Some(ParameterSchema { schema: schema.clone(), validator })
    }

    /// The arguments as the tool's own type, or every violation at once as `INVALID_TOOL_PARAMS`.
    pub fn read<Arguments: DeserializeOwned>(&self, arguments: Value) -> Result<Arguments, ToolError> {
        let arguments = canonical_arguments(&self.schema, arguments);
        let violations = self.violations(&arguments);
        if !violations.is_empty() {
            return Err(refusal(&violations));
        }
        serde_json::from_value(arguments).map_err(|error| {
            // Reached only for what a schema cannot say.
            refusal(&[SchemaViolation { pointer: String::new(), message: error.to_string() }])
        })
    }

    /// All that is wrong with canonical arguments.
    fn violations(&self, arguments: &Value) -> Vec<SchemaViolation> {
        if !schemas::is_bearable(&self.schema, arguments) {
            let message = "the tool's schema makes these arguments too much work to check; give simpler ones";
            return vec![SchemaViolation { pointer: String::new(), message: message.to_owned() }];
        }
        let errors: Vec<ValidationError<'_>> = self.validator.iter_errors(arguments).collect();
        let is_type = |error: &&ValidationError<'_>| matches!(error.kind(), ValidationErrorKind::Type { .. });
        let of_wrong_type: HashSet<&str> =
            errors.iter().filter(is_type).map(|error| error.instance_path().as_str()).collect();
        // What is of the wrong type is none of the words allowed either; once is enough.
        let is_news = |error: &&ValidationError<'_>| {
            !matches!(error.kind(), ValidationErrorKind::Enum { .. })
                || !of_wrong_type.contains(error.instance_path().as_str())
        };
        errors.iter().filter(is_news).flat_map(|error| self.violations_of(error)).collect()
    }

    fn violations_of(&self, error: &ValidationError<'_>) -> Vec<SchemaViolation> {
        let pointer = error.instance_path().as_str().to_owned();
        let below = |name: &str| format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let unknown = |name: &String| SchemaViolation {
                    pointer: below(name),
                    message: match nearest(name, known_names(self.schema_at(&pointer))) {
                        Some(known) => format!("unknown argument; did you mean `{known}`?"),
                        None => "unknown argument".to_owned(),
                    },
                };
                unexpected.iter().map(unknown).collect()
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                vec![SchemaViolation { pointer: below(name), message: "missing, but required".to_owned() }]
            }
            ValidationErrorKind::Enum { options } => {
                let options: Vec<String> =
                    options.as_array().into_iter().flatten().map(Value::to_string).collect();
                let message = shortened(format!("not one of {}", options.join(", ")));
                vec![SchemaViolation { pointer, message }]
            }
            _ => vec![SchemaViolation { pointer, message: told(error) }],
        }
    }

    /// The schema of what `pointer` names; of nothing, where the schema does not go that far.
    fn schema_at(&self, pointer: &str) -> &Value {
        let below = |schema: &'_ Value, name: &str| match schema.get("items") {
            Some(_) => "/items".to_owned(),
            None => format!("/properties/{name}"),
        };
        pointer
            .split('/')
            .skip(1)
            .fold(&self.schema, |schema, name| schema.pointer(&below(schema, name)).unwrap_or(&Value::Null))
    }
}

/// Whether this can say what arguments a tool takes.
pub fn is_schema(schema: &Value) -> bool {
    ParameterSchema::compile(schema).is_some()
}

/// All that is wrong with a tool's arguments, for whoever shows each at its place.
pub fn violations(schema: &Value, arguments: Value) -> Vec<SchemaViolation> {
    let Some(parameters) = ParameterSchema::compile(schema) else { return Vec::new() };
    parameters.violations(&canonical_arguments(schema, arguments))
}

/// An `INVALID_TOOL_PARAMS` that lists `violations`.
pub fn refusal(violations: &[SchemaViolation]) -> ToolError {
    let line = |violation: &SchemaViolation| match violation.pointer.as_str() {
        "" => violation.message.clone(),
        pointer => format!("{pointer}: {}", violation.message),
    };
    let mut lines: Vec<String> = violations.iter().take(MAX_VIOLATIONS).map(line).collect();
    if MAX_VIOLATIONS < violations.len() {
        lines.push(format!("and {} more", violations.len() - MAX_VIOLATIONS));
    }
    ToolError { kind: ToolErrorType::InvalidToolParams, message: lines.join("\n") }
}

/// Arguments as events carry them: canonical names, no `null` for "not given", whole numbers as integers, and
/// the schema's own spelling of its words (`in-progress` for `in_progress`); objects and lists inside of them too.
/// What it cannot map stays, for the check to report.
pub fn canonical_arguments(schema: &Value, arguments: Value) -> Value {
    match arguments {
        Value::Null if schema.get("properties").is_some() => Value::Object(Map::new()),
        arguments => canonical(schema, arguments),
    }
}

/// Recursion ends with the value, whose depth the JSON reader bounds.
fn canonical(schema: &Value, value: Value) -> Value {
    match value {
        // A choice with a description of its own, where a text is wanted.
        Value::Object(given) if schema.get("type").is_some_and(|kind| kind == "string") => labelled(given),
        Value::Object(given) => match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => Value::Object(canonical_object(schema, properties, given)),
            None => Value::Object(given),
        },
        Value::Array(items) => match schema.get("items") {
            Some(schema) => items.into_iter().map(|item| canonical(schema, item)).collect(),
            None => Value::Array(items),
        },
        Value::String(word) => Value::String(own_spelling(schema, word)),
        number if schema.get("type").is_some_and(|kind| kind == "integer") => {
            whole_number(&number).map_or(number, Value::from)
        }
        other => other,
    }
}

fn canonical_object(
    schema: &Value,
    properties: &Map<String, Value>,
    given: Map<String, Value>,
) -> Map<String, Value> {
    let mut canonical_object = Map::new();
    let mut renamed = Vec::new();
    for (name, value) in given {
        match meant(&name, properties) {
            Some(meant) => renamed.push((meant.to_owned(), name, value)),
            None => drop(canonical_object.insert(name, value)),
        }
    }
    for (meant, name, value) in renamed {
        // Two names with different values is not ours to decide: the check reports the other name as unknown.
        match canonical_object.get(&meant) {
            None => drop(canonical_object.insert(meant, value)),
            Some(same) if *same == value => {}
            Some(_) => drop(canonical_object.insert(name, value)),
        }
    }
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    canonical_object.retain(|name, value| !value.is_null() || required.iter().any(|it| it == name));
    for (name, value) in &mut canonical_object {
        if let Some(property) = properties.get(name) {
            *value = canonical(property, value.take());
        }
    }
    canonical_object
}

/// The canonical name that `name` stands for; `None` when it stands for itself.
fn meant<'a>(name: &str, properties: &'a Map<String, Value>) -> Option<&'a str> {
    if properties.contains_key(name) {
        return None;
    }
    let is_list = |property: &str| properties.get(property).is_some_and(|it| it["type"] == "array");
    let lists = LIST_ALIASES.iter().filter(|(_, canonical)| is_list(canonical));
    let listed = ALIASES.iter().chain(lists).filter(|(alias, _)| *alias == name);
    let candidates = listed.map(|(_, canonical)| (*canonical).to_owned()).chain([camel_case(name)]);
    let candidate = candidates.into_iter().find(|candidate| properties.contains_key(candidate))?;
    properties.get_key_value(&candidate).map(|(name, _)| name.as_str())
}

/// `{label, description}` as one text; anything else stays, for the check to report.
fn labelled(given: Map<String, Value>) -> Value {
    let text = |name: &str| given.get(name).and_then(Value::as_str);
    match (text("label"), text("description")) {
        (Some(label), Some(description)) => Value::String(format!("{label}: {description}")),
        (Some(label), None) => Value::String(label.to_owned()),
        (None, _) => Value::Object(given),
    }
}

/// `word` as the schema's `enum` spells it, when it means just one of its words but for case, `-`, `_` and blanks.
fn own_spelling(schema: &Value, word: String) -> String {
    let Some(words) = schema.get("enum").and_then(Value::as_array) else { return word };
    let plain = |word: &str| word.replace(['-', '_', ' '], "").to_lowercase();
    let mut same = words.iter().filter_map(Value::as_str).filter(|it| plain(it) == plain(&word));
    match (same.next(), same.next()) {
        (Some(only), None) => only.to_owned(),
        _ => word,
    }
}

/// `respect_git_ignore` → `respectGitIgnore`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut chars = word.chars();
        camel.extend(chars.next().into_iter().flat_map(char::to_uppercase));
        camel.push_str(chars.as_str());
    }
    camel
}

/// The largest integer that a float holds exactly together with all smaller ones.
const MAX_EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// `5.0` as 5; `None` for integers, which need no change, and for everything else.
#[allow(clippy::cast_possible_truncation, reason = "the value is whole and in range")]
fn whole_number(value: &Value) -> Option<i64> {
    let Value::Number(number) = value else { return None };
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() <= MAX_EXACT_FLOAT).then_some(float as i64)
}

fn known_names(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str())
}

/// What is wrong, with the value it is about, unless that is so long that it would hide the rest.
fn told(error: &ValidationError<'_>) -> String {
    let is_short = |text: &String| text.chars().count() <= MAX_VIOLATION_CHARS;
    shortened(Some(error.to_string()).filter(is_short).unwrap_or_else(|| error.masked().to_string()))
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_VIOLATION_CHARS) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests;
