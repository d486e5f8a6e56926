//! What outputs of discovery commands tell. How they are run is tested where a daemon runs them.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::reading::{self, DiscoveredDeclarations};
use redact::{Redactor, RedactorParts};

fn read(output: &[u8]) -> Result<DiscoveredDeclarations, String> {
    let environment = vec![("A_TOKEN".to_owned(), "tok-1234567890".to_owned())];
    reading::read(
        output,
        &Redactor::new(RedactorParts { environment: environment.into_iter(), patterns: Vec::new() }),
    )
}

fn check(output: &str, expected: Expect) {
    let mut text = String::new();
    match read(output.as_bytes()) {
        Err(problem) => text = format!("failed: {problem}\n"),
        Ok(told) => {
            for tool in told.tools {
                text.push_str(&format!("{} ({}) {}\n", tool.name, tool.description, tool.parameters));
            }
            for warning in told.warnings {
                text.push_str(&format!("! {warning}\n"));
            }
        }
    }
    expected.assert_eq(&text);
}

#[test]
fn all_three_shapes_tell_tools() {
    let output = json!([
        { "function_declarations": [
            { "name": "a", "description": " Does a. ", "parameters": { "type": "object", "properties": { "x": { "type": "string" } } } },
            { "name": "b" },
        ] },
        { "functionDeclarations": [{ "name": "c", "parametersJsonSchema": { "type": "object" }, "parameters": { "type": "array" } }] },
        { "name": "d", "description": 7, "response": {} },
    ]);
    check(
        &output.to_string(),
        expect![[r#"
            a (Does a.) {"type":"object","properties":{"x":{"type":"string"}}}
            b () {}
            c () {"type":"object"}
            d () {}
        "#]],
    );
}

#[test]
fn types_in_capitals_are_geminis() {
    let parameters = json!({ "type": "OBJECT", "properties": { "type": { "type": "ARRAY", "items": { "type": "STRING" } } } });
    check(
        &json!([{ "name": "a", "parameters": parameters }]).to_string(),
        expect![[r#"
            a () {"type":"object","properties":{"type":{"type":"array","items":{"type":"string"}}}}
        "#]],
    );
}

#[test]
fn what_is_wrong_with_one_item_costs_that_item() {
    let output = json!([
        { "description": "nameless" },
        { "name": "  " },
        { "name": null },
        { "name": 7 },
        { "function_declarations": [{}, "x", { "name": "kept" }] },
        { "functionDeclarations": "no list" },
        { "function_declarations": {}, "name": "also-kept" },
        null,
        [1],
        "text\u{1b}[0m",
        { "name": "--help" },
        { "name": "two words" },
        { "name": "every*" },
        { "name": "x".repeat(200) },
        { "name": "list", "parameters": [] },
        { "name": "word", "parametersJsonSchema": "string" },
        { "name": "none", "parameters": null },
        { "name": "odd", "parameters": { "type": "wrong" } },
        { "name": "far", "parameters": { "$ref": "http://127.0.0.1:1/schema.json" } },
        { "name": "kept", "description": "the second" },
    ]);
    check(
        &output.to_string(),
        expect![[r#"
            kept (the second) {}
            also-kept () {}
            list () {}
            word () {}
            none () {}
            odd () {}
            far () {}
            ! [0] has no name
            ! [1] has no name
            ! [2] has no name
            ! the name of [3] is a number
            ! [4].function_declarations[0] has no name
            ! [4].function_declarations[1] is the text "x", no declaration
            ! [5] has no name
            ! [7] is null, no declaration
            ! [8] is a list, no declaration
            ! [9] is the text "text [0m", no declaration
            ! `--help` begins like an option, so the call command would take it for one
            ! `two words` is no name: it has something else than letters, digits and `_-.:/@+`
            ! `every*` is no name: it has something else than letters, digits and `_-.:/@+`
            ! `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…` is too long for a name
            ! the parameters of `list` are a list; any arguments are passed on
            ! the parameters of `word` are the text "string"; any arguments are passed on
            ! the parameters of `odd` are no JSON Schema; any arguments are passed on
            ! the parameters of `far` are no JSON Schema; any arguments are passed on
            ! `kept` is told twice; the second took the place of the first
        "#]],
    );
}

#[test]
fn what_is_no_list_is_no_discovery() {
    for (output, told) in [
        ("", "put out nothing"),
        (" \n", "put out nothing"),
        ("tools: a, b", "put out no JSON"),
        ("[{\"name\": \"a\"}] trailing", "put out no JSON"),
        ("[{\"name\": \"a\"}", "put out no JSON"),
        ("{\"name\": \"a\"}", "put out an object"),
        ("\"a\"", "put out the text \"a\""),
        ("7", "put out a number"),
    ] {
        let problem = read(output.as_bytes()).unwrap_err();
        assert!(problem.starts_with(told), "{output}: {problem}");
    }
    let secret = format!("{}tok-1234567890 \u{1b}[2J\nmore{}", "x".repeat(60), "y".repeat(100));
    let problem = read(secret.as_bytes()).unwrap_err();
    let shown = problem.split_once("it begins ").unwrap().1;
    assert!(shown.starts_with("\"xxx") && shown.ends_with("…\""), "{problem}");
    assert!(!problem.contains("tok-12") && !problem.contains(['\n', '\u{1b}']), "{problem}");
    assert!(read(b"Traceback\n  line 1").unwrap_err().ends_with(r#"it begins "Traceback\n  line 1""#));
    assert!(read(b"\xff\xfe").unwrap_err().starts_with("put out no JSON"));
    // Deeper than a reader's stack.
    assert!(read("[".repeat(100_000).as_bytes()).unwrap_err().starts_with("put out no JSON"));
    assert_eq!(read(b"[]").unwrap().tools, []);
}

#[test]
fn tools_are_bounded_in_number_and_in_bytes() {
    let many: Vec<Value> = (0..600).map(|n| json!({ "name": format!("t{n}") })).collect();
    let told = read(Value::from(many).to_string().as_bytes()).unwrap();
    assert_eq!(told.tools.len(), 500);
    assert!(told.warnings[0].starts_with("100 of its tools were left out"), "{:?}", told.warnings);
    let large = json!([
        { "name": "small" },
        { "name": "large", "description": "x".repeat(2 << 20) },
        { "name": "after" },
    ]);
    let told = read(large.to_string().as_bytes()).unwrap();
    assert_eq!(told.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["small", "after"]);
    assert!(told.warnings[0].starts_with("1 of its tools were left out"), "{:?}", told.warnings);
}
