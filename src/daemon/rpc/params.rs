//! What did the client ask, exactly? Reads parameters, and says all that is wrong with them at once (spec 01).
//!
//! Unknown fields are found by walking the schema beside the value: a reader that collects what it skips does
//! not see into untagged types.

use std::sync::OnceLock;

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Map, Value, json};

use super::suggest;
use protocol::{ErrorKind, RpcError, RpcMethod, SchemaViolation, UnknownField};

/// Violations that one answer lists; a client with more mends these first.
const MAX_VIOLATIONS: usize = 100;
/// Characters of one violation's message.
const MAX_MESSAGE_CHARS: usize = 300;

/// Parameters that hold an agent back. What nobody knows in them is an error for every client: a limit that somebody meant to
/// set must not be lost with a signal that few read.
const HOLDING_BACK: [&str; 2] = ["limits", "approval"];
/// A shorter word is like too many others to be taken for one of theirs that stands in the wrong place.
const LEAST_LIKE: usize = 7;

/// What a method's parameters look like.
pub(super) struct ParamsShape {
    method: &'static str,
    schema: Value,
    /// Compiled when first needed: most methods are never called with anything wrong.
    validator: OnceLock<Option<Validator>>,
    /// The schema forbids values that the Rust type can hold.
    is_narrower_than_type: bool,
}

impl ParamsShape {
    pub(super) fn of<M: RpcMethod>() -> ParamsShape {
        let schema = schemars::schema_for!(M::Params).to_value();
        let is_narrower_than_type = has_bounds(&schema);
        ParamsShape { method: M::NAME, schema, validator: OnceLock::new(), is_narrower_than_type }
    }

    /// Reads parameters by `parse`; missing ones are `{}`. Also answers the fields that nobody knows, which are errors when
    /// `is_strict`, and where they would have held an agent back.
    pub(super) fn read<T>(
        &self,
        params: Option<&str>,
        is_strict: bool,
        parse: &dyn Fn(&Value) -> Result<T, serde_json::Error>,
    ) -> Result<(T, Vec<UnknownField>), RpcError> {
        let value = match params.map(serde_json::from_str::<Value>) {
            None => Value::Object(Map::new()),
            Some(Ok(value @ Value::Object(_))) => value,
            Some(Ok(_)) => {
                return Err(self.refusal(vec![whole("parameters are given by name, as an object")]));
            }
            Some(Err(error)) => return Err(self.refusal(vec![whole(error.to_string())])),
        };
        let mut unknown_fields = Vec::new();
        self.find_unknown(&self.schema, &value, &mut String::new(), &mut unknown_fields);
        let read = parse(&value);
        let mut violations = match read {
            Ok(_) if !self.is_narrower_than_type => Vec::new(),
            _ => self.violations(&value),
        };
        for field in &unknown_fields {
            violations.extend(match self.lost_limit(field) {
                None if is_strict => Some(unknown_field_violation(field)),
                lost => lost,
            });
        }
        match read {
            Ok(params) if violations.is_empty() => Ok((params, unknown_fields)),
            Err(error) if violations.is_empty() => Err(self.refusal(vec![whole(error.to_string())])),
            _ => Err(self.refusal(violations)),
        }
    }

    /// What is wrong with a field that nobody knows and that was meant to hold an agent back.
    fn lost_limit(&self, field: &UnknownField) -> Option<SchemaViolation> {
        let path = field.field.strip_prefix('/')?;
        let violation = |message: String| Some(SchemaViolation { pointer: field.field.clone(), message });
        if let Some((first, _)) = path.split_once('/') {
            let part = HOLDING_BACK.into_iter().find(|part| *part == first)?;
            let known: Vec<String> = self.members(part).map(|name| format!("`{name}`")).collect();
            let message = unknown_field_violation(field).message;
            let mark = if field.did_you_mean.is_some() { "" } else { ";" };
            return violation(format!("{message}{mark} `{part}` has {}", known.join(", ")));
        }
        // Its very name says more than a word that is like it.
        let is_member = |part: &&str| self.members(part).any(|name| name == path);
        if let Some(part) = HOLDING_BACK.into_iter().find(is_member) {
            return violation(format!("unknown field; did you mean `{path}` in `{part}`?"));
        }
        match field.did_you_mean.as_deref() {
            Some(near) if HOLDING_BACK.contains(&near) => Some(unknown_field_violation(field)),
            None if LEAST_LIKE <= path.len() => {
                let near = |part| suggest::nearest(path, self.members(part)).map(|near| (near, part));
                let (near, part) = HOLDING_BACK.into_iter().find_map(near)?;
                violation(format!("unknown field; did you mean `{near}` in `{part}`?"))
            }
            _ => None,
        }
    }

    /// The fields of one of the parameters.
    fn members(&self, part: &str) -> impl Iterator<Item = &str> {
        let fields = self.known_fields(&self.schema).unwrap_or_default();
        let schema = fields.into_iter().find(|(name, _)| *name == part).map(|(_, schema)| schema);
        let members = schema.and_then(|schema| self.known_fields(schema)).unwrap_or_default();
        members.into_iter().map(|(name, _)| name.as_str())
    }

    fn refusal(&self, violations: Vec<SchemaViolation>) -> RpcError {
        let message = match violations.as_slice() {
            [one] if one.pointer.is_empty() => format!("{}: {}", self.method, one.message),
            [one] => format!("{}: {}: {}", self.method, one.pointer, one.message),
            _ => format!("{}: the parameters have {} errors", self.method, violations.len()),
        };
        RpcError::new(ErrorKind::InvalidParams, message).with_details(json!({ "violations": violations }))
    }

    fn violations(&self, value: &Value) -> Vec<SchemaViolation> {
        // A test compiles every schema; if one did not, serde's words would still be said.
        let validator = self.validator.get_or_init(|| jsonschema::validator_for(&self.schema).ok());
        let errors = validator.iter().flat_map(|validator| validator.iter_errors(value));
        errors.take(MAX_VIOLATIONS).map(|error| violation(&error)).collect()
    }

    /// Walks schema and value side by side.
    fn find_unknown(
        &self,
        schema: &Value,
        value: &Value,
        pointer: &mut String,
        found: &mut Vec<UnknownField>,
    ) {
        let length = pointer.len();
        match value {
            Value::Object(fields) => {
                let Some(known) = self.known_fields(schema) else { return };
                for (name, value) in fields {
                    pointer.push('/');
                    pointer.push_str(&escaped(name));
                    match known.iter().find(|(known, _)| *known == name) {
                        Some((_, schema)) => self.find_unknown(schema, value, pointer, found),
                        None if found.len() < MAX_VIOLATIONS => {
                            let names = known.iter().map(|(name, _)| name.as_str());
                            let did_you_mean = suggest::nearest(name, names).map(str::to_owned);
                            let method = self.method.to_owned();
                            found.push(UnknownField { method, field: pointer.clone(), did_you_mean });
                        }
                        None => {}
                    }
                    pointer.truncate(length);
                }
            }
            Value::Array(items) => {
                let Some(schema) = self.resolved(schema).get("items") else { return };
                for (index, value) in items.iter().enumerate() {
                    pointer.push_str(&format!("/{index}"));
                    self.find_unknown(schema, value, pointer, found);
                    pointer.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// The fields an object may have by this schema; `None` when it may have any.
    fn known_fields<'a>(&'a self, schema: &'a Value) -> Option<Vec<(&'a String, &'a Value)>> {
        let schema = self.resolved(schema);
        let parts = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|word| schema.get(word)?.as_array());
        let alternatives: Vec<_> = parts.flatten().filter_map(|part| self.known_fields(part)).collect();
        let own = schema.get("properties").and_then(Value::as_object);
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        let is_open = schema.get("additionalProperties").is_some_and(|more| more != &Value::Bool(false));
        let knows_fields = own.is_some() || is_object || !alternatives.is_empty();
        (knows_fields && !is_open)
            .then(|| own.into_iter().flatten().chain(alternatives.into_iter().flatten()).collect())
    }

    /// Follows references into the schema's own definitions.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
        match reference.and_then(|pointer| self.schema.pointer(pointer)) {
            Some(definition) => self.resolved(definition),
            None => schema,
        }
    }
}

fn whole(message: impl Into<String>) -> SchemaViolation {
    SchemaViolation { pointer: String::new(), message: message.into() }
}

fn unknown_field_violation(field: &UnknownField) -> SchemaViolation {
    let message = match &field.did_you_mean {
        Some(known) => format!("unknown field; did you mean `{known}`?"),
        None => "unknown field".to_owned(),
    };
    SchemaViolation { pointer: field.field.clone(), message }
}

fn violation(error: &ValidationError<'_>) -> SchemaViolation {
    let pointer = error.instance_path().to_string();
    // A field that is missing is named where it belongs, so that a form can show the error beside its input.
    if let ValidationErrorKind::Required { property: Value::String(name) } = error.kind() {
        return SchemaViolation {
            pointer: format!("{pointer}/{}", escaped(name)),
            message: "is required".to_owned(),
        };
    }
    SchemaViolation { pointer, message: description(error).chars().take(MAX_MESSAGE_CHARS).collect() }
}

/// A field's name within a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Says what is wrong without repeating the value, which may be long or secret.
fn description(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let reasons = context.iter().flatten().map(description);
            // "or null" says nothing to somebody who wanted to give a value.
            let reasons = reasons.filter(|reason| !reason.ends_with(r#"type "null""#));
            reasons.collect::<Vec<_>>().join("; or ")
        }
        // One of several alternatives, so the pointer does not name it.
        ValidationErrorKind::Required { property } => format!("{property} is required"),
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().into_iter().flatten().map(Value::to_string);
            format!("value is not one of {}", options.collect::<Vec<_>>().join(", "))
        }
        _ => error.masked().to_string(),
    }
}

/// True if the schema names a bound that Rust's types do not have. `minimum: 0` is what unsigned integers say.
fn has_bounds(schema: &Value) -> bool {
    const BOUNDS: [&str; 7] =
        ["maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "maxItems"];
    match schema {
        Value::Object(words) => words.iter().any(|(word, value)| {
            BOUNDS.contains(&word.as_str()) || (word == "minimum" && value != &json!(0)) || has_bounds(value)
        }),
        Value::Array(schemas) => schemas.iter().any(has_bounds),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
