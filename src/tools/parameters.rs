//! Are the arguments of a call what its schema says? And which names did the model mean by other ones?
//!
//! Models write `file_path` for `path`, `5.0` for `5` and `null` for "not given". That is mapped before
//! anything is checked; everything else that is wrong is reported, all of it at once.

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::nearest::nearest;
use crate::protocol::{ToolError, ToolErrorType, Violation};

/// Other names for arguments (spec 05, "Argument aliases"). One holds for a tool that has the second name and
/// not the first.
const ALIASES: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filePath", "path"),
    ("absolute_path", "path"),
    ("dir_path", "path"),
    ("directory", "path"),
    ("include_pattern", "include"),
    ("glob", "include"),
];

/// Violations told at once; a model mends the first few and sees the rest then.
const MAX_VIOLATIONS: usize = 20;
/// Characters of one violation: it may quote an argument, and arguments may be files.
const MAX_VIOLATION_CHARS: usize = 300;

/// A parameter schema, compiled once.
pub struct Parameters {
    schema: Value,
    validator: Validator,
}

impl Parameters {
    /// `None` when `schema` is no JSON Schema (2020-12).
    pub fn compile(schema: &Value) -> Option<Parameters> {
        let validator =
            jsonschema::draft202012::options().should_validate_formats(false).build(schema).ok()?;
        Some(Parameters { schema: schema.clone(), validator })
    }

    /// The arguments as the tool's own type, or every violation at once as `INVALID_TOOL_PARAMS`.
    pub fn read<Arguments: DeserializeOwned>(&self, arguments: Value) -> Result<Arguments, ToolError> {
        let arguments = canonical_arguments(&self.schema, arguments);
        let violations: Vec<Violation> =
            self.validator.iter_errors(&arguments).flat_map(|error| self.violations_of(&error)).collect();
        if !violations.is_empty() {
            return Err(refusal(&violations));
        }
        serde_json::from_value(arguments).map_err(|error| {
            // Reached only for what a schema cannot say.
            refusal(&[Violation { pointer: String::new(), message: error.to_string() }])
        })
    }

    fn violations_of(&self, error: &ValidationError<'_>) -> Vec<Violation> {
        let pointer = error.instance_path().as_str().to_owned();
        let below = |name: &str| format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let unknown = |name: &String| Violation {
                    pointer: below(name),
                    message: match nearest(name, known_names(&self.schema)) {
                        Some(known) => format!("unknown argument; did you mean `{known}`?"),
                        None => "unknown argument".to_owned(),
                    },
                };
                unexpected.iter().map(unknown).collect()
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                vec![Violation { pointer: below(name), message: "missing, but required".to_owned() }]
            }
            _ => vec![Violation { pointer, message: shortened(&error.to_string()) }],
        }
    }
}

/// An `INVALID_TOOL_PARAMS` that lists `violations`.
pub fn refusal(violations: &[Violation]) -> ToolError {
    let line = |violation: &Violation| match violation.pointer.as_str() {
        "" => violation.message.clone(),
        pointer => format!("{pointer}: {}", violation.message),
    };
    let mut lines: Vec<String> = violations.iter().take(MAX_VIOLATIONS).map(line).collect();
    if MAX_VIOLATIONS < violations.len() {
        lines.push(format!("and {} more", violations.len() - MAX_VIOLATIONS));
    }
    ToolError { kind: ToolErrorType::InvalidToolParams, message: lines.join("\n") }
}

/// Arguments as events carry them: canonical names, no `null` for "not given", whole numbers as integers.
/// What it cannot map stays, for the check to report.
pub fn canonical_arguments(schema: &Value, arguments: Value) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let (given, properties) = match (arguments, properties) {
        (Value::Object(given), Some(properties)) => (given, properties),
        (Value::Null, _) => return Value::Object(Map::new()),
        (other, _) => return other,
    };
    let mut canonical = Map::new();
    let mut renamed = Vec::new();
    for (name, value) in given {
        match meant(&name, properties) {
            Some(meant) => renamed.push((meant.to_owned(), name, value)),
            None => drop(canonical.insert(name, value)),
        }
    }
    for (meant, name, value) in renamed {
        // Two names with different values is not ours to decide: the check reports the other name as unknown.
        match canonical.get(&meant) {
            None => drop(canonical.insert(meant, value)),
            Some(same) if *same == value => {}
            Some(_) => drop(canonical.insert(name, value)),
        }
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    canonical.retain(|name, value| !value.is_null() || required.contains(&name.as_str()));
    for (name, value) in &mut canonical {
        let is_integer = properties.get(name).and_then(|property| property.get("type"))
            == Some(&Value::String("integer".to_owned()));
        if is_integer && let Some(whole) = whole_number(value) {
            *value = whole.into();
        }
    }
    Value::Object(canonical)
}

/// The canonical name that `name` stands for; `None` when it stands for itself.
fn meant<'a>(name: &str, properties: &'a Map<String, Value>) -> Option<&'a str> {
    if properties.contains_key(name) {
        return None;
    }
    let listed =
        ALIASES.iter().filter(|(alias, _)| *alias == name).map(|(_, canonical)| (*canonical).to_owned());
    let candidate = listed.chain([camel_case(name)]).find(|candidate| properties.contains_key(candidate))?;
    properties.get_key_value(&candidate).map(|(name, _)| name.as_str())
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

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_VIOLATION_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests;
