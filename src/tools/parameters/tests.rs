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
    let read = ParameterSchema::compile(&schema()).unwrap().read::<Value>(arguments);
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
fn every_listed_alias_leads_to_its_argument() {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let shell = json!({"properties": {"command": {}, "directory": {}, "description": {}, "background": {}}});
    let files = json!({"properties": {"include": list, "respectGitIgnore": {"type": "boolean"}}});
    let edit = json!({"properties": {
        "path": {}, "oldString": {}, "newString": {}, "expectedReplacements": {"type": "integer"},
        "edits": {"type": "array", "items": {"type": "object", "properties": {"oldString": {}, "newString": {}}}}
    }});
    for (schema, given, expected) in [
        (
            &shell,
            json!({"command": "ls", "directory": "a", "description": "b", "is_background": true}),
            json!({"command": "ls", "directory": "a", "description": "b", "background": true}),
        ),
        (
            &files,
            json!({"paths": ["a"], "respect_git_ignore": false}),
            json!({"include": ["a"], "respectGitIgnore": false}),
        ),
        (&files, json!({"glob": ["a"]}), json!({"include": ["a"]})),
        (
            &edit,
            json!({
                "filePath": "f", "old_string": "a", "new_string": "b", "expected_replacements": 2.0,
                "edits": [{"old_string": "c", "new_string": null}, "?", {"newString": "d"}]
            }),
            json!({
                "edits": [{"oldString": "c"}, "?", {"newString": "d"}],
                "path": "f", "oldString": "a", "newString": "b", "expectedReplacements": 2
            }),
        ),
        // What means a list is no name for a single value.
        (&schema(), json!({"paths": ["a"]}), json!({"paths": ["a"]})),
    ] {
        assert_eq!(canonical_arguments(schema, given), expected);
    }
}

#[test]
fn words_of_a_schema_are_known_in_other_spellings() {
    let words = json!({"properties": {
        "status": {"type": "string", "enum": ["pending", "in_progress"]},
        "outputMode": {"enum": ["filesWithMatches", "count"]},
        "odd": {"enum": ["a_b", "ab", 1]},
    }});
    let given = json!({"status": "In-Progress", "output_mode": "files_with_matches", "odd": "A-B"});
    let expected = json!({"odd": "A-B", "status": "in_progress", "outputMode": "filesWithMatches"});
    assert_eq!(canonical_arguments(&words, given), expected);
    assert_eq!(canonical_arguments(&words, json!({"status": "done"})), json!({"status": "done"}));
}

#[test]
fn what_is_wrong_deep_inside_is_told_with_the_names_there() {
    let schema = json!({"properties": {"edits": {"type": "array", "items": {
        "type": "object", "properties": {"oldString": {"type": "string"}}, "additionalProperties": false
    }}}});
    let read =
        ParameterSchema::compile(&schema).unwrap().read::<Value>(json!({"edits": [{}, {"oldStrin": "a"}]}));
    expect!["/edits/1/oldStrin: unknown argument; did you mean `oldString`?"]
        .assert_eq(&read.unwrap_err().message);
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
    let read =
        ParameterSchema::compile(&schema()).unwrap().read::<Value>(json!({"path": ["x".repeat(100_000)]}));
    assert!(read.unwrap_err().message.len() < 1000);
}
