//! What are the arguments of a call as one text, so that a rule's expression finds what it looks for?

use serde_json::Value;

/// JSON without blanks, the keys of every object in the order of their code points: the same arguments are the same
/// text, in whatever order a model gave them.
pub(super) fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

// Recursion is bounded: what reads JSON from a wire refuses more than 128 levels.
fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                if at != 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::Array(elements) => {
            text.push('[');
            for (at, element) in elements.iter().enumerate() {
                if at != 0 {
                    text.push(',');
                }
                write(element, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth_and_nothing_else_changes() {
        let given =
            json!({ "b": [ { "z": 1, "a": null } ], "ä": 1.50, "a\"": "x / \u{1} é", "B": {}, "c": [] });
        let expected = r#"{"B":{},"a\"":"x / \u0001 é","b":[{"a":null,"z":1}],"c":[],"ä":1.5}"#;
        assert_eq!(canonical_json(&given), expected);
    }
}
