//! Which rules of a JSON Schema does a value break, and is the schema one? (JSON Schema 2020-12)

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use protocol::SchemaViolation;

/// Most violations told at once: a long list with every element wrong must not make a longer answer.
const MOST_VIOLATIONS: usize = 100;

/// Longest message, in characters; the validator repeats the value in it, and a longer one is left out.
const LONGEST_MESSAGE: usize = 300;

/// Largest compiled pattern. Files of workspaces nobody trusts yet are checked, too, so what compiling costs
/// is bounded; patterns are matched in linear time for the same reason.
const LARGEST_PATTERN: usize = 256 * 1024;

/// Makes a schema ready for use. Nothing is fetched for it.
pub(super) fn compile(schema: &Value) -> Result<Validator, SchemaViolation> {
    if !schemas::is_readable(schema) {
        let message = "names parts of itself too often; at most 1,000 references are read".to_owned();
        return Err(SchemaViolation { pointer: String::new(), message });
    }
    let patterns = PatternOptions::regex().size_limit(LARGEST_PATTERN).dfa_size_limit(LARGEST_PATTERN);
    jsonschema::draft202012::options()
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| told(&error))
}

/// Every rule that `value` breaks; `validator` was made of `schema`.
pub(super) fn violations(schema: &Value, validator: &Validator, value: &Value) -> Vec<SchemaViolation> {
    if !schemas::is_bearable(schema, value) {
        let message = "the schema makes this value too much work to check".to_owned();
        return vec![SchemaViolation { pointer: String::new(), message }];
    }
    validator.iter_errors(value).take(MOST_VIOLATIONS).map(|error| told(&error)).collect()
}

/// Everything that makes `schema` no JSON Schema; the pointers lead into the schema.
pub(super) fn mistakes(schema: &Value) -> Vec<SchemaViolation> {
    let meta = jsonschema::draft202012::meta::validator();
    let mistakes: Vec<_> = meta.iter_errors(schema).take(MOST_VIOLATIONS).map(|error| told(&error)).collect();
    if mistakes.is_empty() { compile(schema).err().into_iter().collect() } else { mistakes }
}

fn told(error: &jsonschema::ValidationError<'_>) -> SchemaViolation {
    let mut text = error.to_string();
    if text.len() > LONGEST_MESSAGE {
        text = error.masked().to_string();
    }
    let message = match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    SchemaViolation { pointer: error.instance_path().to_string(), message }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_that_is_none_is_found_out_with_its_place() {
        let check = |schema: Value, pointer: &str| {
            let mistakes = mistakes(&schema);
            assert_eq!(
                mistakes.first().map(|mistake| mistake.pointer.as_str()),
                Some(pointer),
                "{mistakes:?}"
            );
        };
        check(json!({"type": "object", "properties": {"a": {"type": "strin"}}}), "/properties/a/type");
        check(json!({"required": "a"}), "/required");
        check(json!({"properties": {"a": {"pattern": "("}}}), "/properties/a/pattern");
        check(json!({"$ref": "https://example.org/schema"}), "");
        check(json!({"$ref": "#/nowhere"}), "");
        assert_eq!(mistakes(&json!({"type": "object"})), []);
    }

    #[test]
    fn hostile_schemas_cost_little() {
        assert_ne!(mistakes(&json!({"pattern": "((a{1000}){1000}){1000}"})), []);
        let endless = json!({"$ref": "#"});
        if let Ok(validator) = compile(&endless) {
            violations(&endless, &validator, &json!({"a": 1}));
        }
        let told = |schema: Value, value: Value| violations(&schema, &compile(&schema).unwrap(), &value);
        assert_eq!(told(json!({"pattern": "^(a+)+$"}), json!("a".repeat(50_000) + "b")).len(), 1);
        // Doubles at every level of itself.
        let twice = json!({"properties": {"a": {"$ref": "#"}}});
        let value = (0..60).fold(json!({}), |value, _| json!({"a": value}));
        let told = told(json!({"allOf": [twice, twice]}), value);
        assert_eq!(told[0].message, "the schema makes this value too much work to check");
    }

    #[test]
    fn messages_and_their_number_are_bounded() {
        let violations =
            |schema: Value, value: Value| violations(&schema, &compile(&schema).unwrap(), &value);
        let texts = json!({"type": "array", "items": {"type": "string"}});
        assert_eq!(violations(texts, json!(vec![1; 5_000])).len(), MOST_VIOLATIONS);
        let told = violations(json!({"type": "integer"}), json!("ü".repeat(5_000)));
        assert_eq!(told[0].message, "value is not of type \"integer\"");
        let choices: Vec<String> = (0..200).map(|number| format!("choice {number}")).collect();
        let told = violations(json!({"enum": choices}), json!(1));
        assert!(told[0].message.chars().count() <= LONGEST_MESSAGE + 1, "{}", told[0].message);
    }
}
