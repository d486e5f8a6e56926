//! Is `proto-docs/` what the daemon really speaks? `UPDATE_EXPECT=1 cargo test --test it proto_docs` writes it.

use std::path::{Path, PathBuf};

use expect_test::expect_file;
use serde_json::Value;
use subagentd::{
    daemon::rpc::docs,
    protocol::{MAX_BATCH, MAX_IN_FLIGHT, MAX_MESSAGE_BYTES, MAX_SUBSCRIPTIONS, METHODS},
};

pub mod examples;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("proto-docs")
}

#[test]
fn proto_docs_are_what_the_types_say() {
    for (name, text) in docs::files() {
        let path = folder().join(name);
        // Perf: a whole difference of files this long takes minutes to work out.
        if std::env::var_os("UPDATE_EXPECT").is_none() {
            let written = std::fs::read_to_string(&path).unwrap_or_default();
            let stale = first_difference(&written, &text);
            assert_eq!(
                stale, None,
                "{name} is stale; `UPDATE_EXPECT=1 cargo test --test it proto_docs` writes it"
            );
        }
        expect_file![path].assert_eq(&text);
    }
}

/// The number of the first line that differs, and what it should be.
fn first_difference(written: &str, should_be: &str) -> Option<(usize, String)> {
    if written == should_be {
        return None;
    }
    let same = written.split('\n').zip(should_be.split('\n')).take_while(|(one, other)| one == other).count();
    Some((same + 1, should_be.split('\n').nth(same).unwrap_or("the end").to_owned()))
}

#[test]
fn a_stale_line_is_named() {
    assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
    assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some((2, "c".to_owned())));
    assert_eq!(first_difference("a\n", "a\nb\n"), Some((2, "b".to_owned())));
    assert_eq!(first_difference("a\nb\n", "a\n"), Some((2, String::new())));
    assert_eq!(first_difference("a\nb", "a"), Some((2, "the end".to_owned())));
}

/// Words of everyday speech that stood for a term of the field, each with that term. A reader of the protocol would not look them up.
const EVERYDAY_WORDS: &[(&str, &str)] = &[
    ("again", "redelivered, repeatedAfterRestart"),
    ("because", "reason"),
    ("brings", "contents"),
    ("care", "safeguards"),
    ("consulted", "sideCall"),
    ("fires", "wouldFire"),
    ("forMs", "durationMs"),
    ("givenUp", "abandoned"),
    ("hooked", "awaitsHooks"),
    ("leftOut", "omitted"),
    ("lent", "inherited, clientTools"),
    ("may", "permissions"),
    ("means", "summary, failure"),
    ("most", "maximum"),
    ("mostLag", "maxLag"),
    ("ofProject", "fromWorkspace"),
    ("said", "answerDigest, text"),
    ("settles", "settlesResult"),
    ("told", "promptSources"),
    ("unasked", "runsUnasked"),
    ("whole", "full, fullOutput"),
    ("why", "reason"),
    ("whyItFailed", "failureReason"),
];

/// The names of properties anywhere below, whatever they are properties of.
fn property_names<'value>(value: &'value Value, names: &mut Vec<&'value str>) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                if let ("properties", Value::Object(properties)) = (key.as_str(), inner) {
                    names.extend(properties.keys().map(String::as_str));
                }
                property_names(inner, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| property_names(item, names)),
        _ => {}
    }
}

#[test]
fn fields_of_the_wire_have_terms_of_the_field() {
    let files = docs::files();
    let (_, text) = files.iter().find(|(name, _)| *name == "openrpc.json").unwrap();
    let document: Value = serde_json::from_str(text).unwrap();
    let mut names = Vec::new();
    property_names(&document, &mut names);
    assert!(names.len() > 1_000, "{} names of properties", names.len());
    for (word, instead) in EVERYDAY_WORDS {
        assert!(!names.contains(word), "a field of the protocol is called `{word}`; say {instead}");
    }
}

/// The page written by hand cannot be generated, but what it sends can be compared with the methods.
#[test]
fn requests_of_the_hand_written_page_are_requests() {
    let page = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let mut methods = Vec::new();
    for exchange in page.split("→ ").skip(1) {
        // A request goes on over indented lines, until the next message or the end of the block.
        let lines = exchange.split("\n←").next().unwrap().split("\n```").next().unwrap();
        let request: Value = serde_json::from_str(lines).unwrap_or_else(|error| panic!("{error}: {lines}"));
        let name = request["method"].as_str().unwrap().to_owned();
        let method = METHODS.iter().find(|method| method.name == name).expect("a method of the table");
        let schema = (method.params)().to_value();
        for field in request["params"].as_object().unwrap().keys() {
            assert!(schema["properties"].get(field).is_some(), "{name}: {field}");
        }
        let is_right = jsonschema::draft202012::is_valid(&schema, &request["params"]);
        let is_refused = exchange.split("\n```").next().unwrap().contains("INVALID_PARAMS");
        assert_ne!(is_right, is_refused, "{name}: what the page has it answered");
        methods.push(name);
    }
    let told = ["initialize", "run/start", "run/start", "session/attach", "session/attach", "run/start"];
    assert_eq!(methods, told);
}

#[test]
fn the_limits_of_the_hand_written_page_are_the_limits() {
    let page = std::fs::read_to_string(folder().join("README.md")).unwrap().replace(',', "");
    for (what, limit) in [
        ("bytes of a message", MAX_MESSAGE_BYTES),
        ("requests that are open", MAX_IN_FLIGHT),
        ("subscriptions", MAX_SUBSCRIPTIONS),
        ("requests in a batch", MAX_BATCH),
    ] {
        assert!(page.contains(&format!("| {what} | {limit} |")), "{what}: {limit}");
    }
}
