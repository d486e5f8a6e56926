//! Are arguments mapped and checked as promised?

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "include": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
            "caseSensitive": {"type": "boolean"},
            "names": {"type": "array", "items": {"type": "string"}}
        },
        "required": ["path"],
        "additionalProperties": false
    })
}

fn check(arguments: Value, expected: Expect) {
    let read = Parameters::compile(&schema()).unwrap().read::<Value>(arguments);
    expected.assert_eq(&match read {
        Ok(arguments) => arguments.to_string(),
        Err(error) => format!("{}\n{}", error.kind.as_str(), error.message),
    });
}

#[test]
fn other_names_for_arguments_are_understood() {
    let all = json!({"file_path": "a", "glob": "*.rs", "case_sensitive": true});
    check(all, expect![[r#"{"path":"a","include":"*.rs","caseSensitive":true}"#]]);
    for alias in ["file_path", "filePath", "absolute_path", "dir_path", "directory"] {
        assert_eq!(canonical_arguments(&schema(), json!({ alias: "a" })), json!({"path": "a"}), "{alias}");
    }
    assert_eq!(
        canonical_arguments(&schema(), json!({"include_pattern": "*.rs", "path": "a", "file_path": "a"})),
        json!({"path": "a", "include": "*.rs"})
    );
}

#[test]
fn an_alias_that_is_a_parameter_of_its_own_is_left_alone() {
    let shell = json!({"properties": {"directory": {}, "path": {}}});
    assert_eq!(canonical_arguments(&shell, json!({"directory": "a"})), json!({"directory": "a"}));
}

#[test]
fn an_alias_that_contradicts_is_reported() {
    check(
        json!({"path": "a", "file_path": "b"}),
        expect![[r#"
            INVALID_TOOL_PARAMS
            /file_path: unknown argument"#]],
    );
}

#[test]
fn null_means_not_given_and_whole_floats_are_integers() {
    check(json!({"path": "a", "limit": null}), expect![[r#"{"path":"a"}"#]]);
    check(json!({"path": "a", "limit": 5.0}), expect![[r#"{"path":"a","limit":5}"#]]);
}

#[test]
fn every_violation_is_told_at_once_with_its_place() {
    check(
        json!({"limit": 0, "names": ["a", 2], "caseSensitive": "yes", "lmit": 1, "zzz": {}}),
        expect![[r#"
            INVALID_TOOL_PARAMS
            /limit: 0 is less than the minimum of 1
            /names/1: 2 is not of type "string"
            /caseSensitive: "yes" is not of type "boolean"
            /lmit: unknown argument; did you mean `limit`?
            /zzz: unknown argument
            /path: missing, but required"#]],
    );
    check(
        json!({"path": null, "limit": 1.5}),
        expect![[r#"
            INVALID_TOOL_PARAMS
            /path: null is not of type "string"
            /limit: 1.5 is not of type "integer""#]],
    );
    check(
        json!("a string"),
        expect![[r#"
            INVALID_TOOL_PARAMS
            "a string" is not of type "object""#]],
    );
    check(
        Value::Null,
        expect![[r#"
            INVALID_TOOL_PARAMS
            /path: missing, but required"#]],
    );
}

#[test]
fn a_violation_never_quotes_a_whole_file() {
    let read = Parameters::compile(&schema()).unwrap().read::<Value>(json!({"path": ["x".repeat(100_000)]}));
    assert!(read.unwrap_err().message.len() < 1000);
}
