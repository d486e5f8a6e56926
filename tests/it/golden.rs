//! Can every event that was ever written still be read? `golden/events.jsonl` has stored bodies of every type,
//! with their private faces. Lines are added when bodies grow, and never changed.

use std::collections::BTreeSet;

use serde_json::Value;
use subagentd::protocol::{EVENTS, EventBody, PrivateEventFields};

const EVENTS_EVER_WRITTEN: &str = include_str!("golden/events.jsonl");

struct Line {
    number: usize,
    kind: String,
    body: Value,
    private: Value,
}

fn lines() -> Vec<Line> {
    let read = |(number, line): (usize, &str)| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let kind = line["type"].as_str().unwrap().to_owned();
        Line { number: number + 1, kind, body: line["body"].take(), private: line["private"].take() }
    };
    EVENTS_EVER_WRITTEN.lines().enumerate().map(read).collect()
}

/// What `again` has lost of `written`, as JSON pointers.
fn lost(written: &Value, again: &Value, pointer: &str) -> Vec<String> {
    match (written, again) {
        (Value::Object(written), Value::Object(again)) => {
            let field = |(key, value): (&String, &Value)| match again.get(key) {
                Some(other) => lost(value, other, &format!("{pointer}/{key}")),
                None => vec![format!("{pointer}/{key}")],
            };
            written.iter().flat_map(field).collect()
        }
        (Value::Array(written), Value::Array(again)) if written.len() == again.len() => {
            let items = written.iter().zip(again).enumerate();
            items.flat_map(|(at, (value, other))| lost(value, other, &format!("{pointer}/{at}"))).collect()
        }
        _ if written == again => Vec::new(),
        _ => vec![format!("{pointer}: {written} became {again}")],
    }
}

#[test]
fn every_event_ever_written_is_still_read_whole() {
    for Line { number, kind, body, private } in lines() {
        let read = EventBody::parse(&kind, &body.to_string());
        let read = read.unwrap_or_else(|error| panic!("line {number}: {kind}: {error}"));
        let read = read.unwrap_or_else(|| panic!("line {number}: `{kind}` is not known any more"));
        assert_eq!(read.type_name(), kind, "line {number}");
        let again: Value = serde_json::from_str(&read.data_json().unwrap()).unwrap();
        assert_eq!(lost(&body, &again, ""), Vec::<String>::new(), "line {number}: {kind}");
        if !private.is_null() {
            let read: PrivateEventFields = serde_json::from_value(private.clone())
                .unwrap_or_else(|error| panic!("line {number}: private of {kind}: {error}"));
            let again = serde_json::to_value(&read).unwrap();
            assert_eq!(lost(&private, &again, ""), Vec::<String>::new(), "line {number}: private of {kind}");
        }
    }
}

#[test]
fn every_type_and_every_field_has_its_line() {
    let lines = lines();
    for event in EVENTS {
        let schema = (event.data)().to_value();
        // Some say everything by their type.
        let properties = schema.get("properties").and_then(Value::as_object);
        let fields: BTreeSet<&String> = properties.into_iter().flat_map(|it| it.keys()).collect();
        let of_type = lines.iter().filter(|line| line.kind == event.name);
        let written: BTreeSet<&String> =
            of_type.flat_map(|line| line.body.as_object().unwrap().keys()).collect();
        let missing: Vec<_> = fields.difference(&written).collect();
        assert!(missing.is_empty(), "add a line to golden/events.jsonl: {} with {missing:?}", event.name);
    }
}

#[test]
fn every_private_field_has_its_line() {
    let fields = [
        "activeUs",
        "seed",
        "message",
        "call",
        "completion",
        "childUsage",
        "childCost",
        "childUnpricedTokens",
        "childEstimatedRequests",
        "childUncountedRequests",
        "served",
        "memory",
        "besideResult",
        "compaction",
        "hooked",
    ];
    let PrivateEventFields {
        active_us: _,
        seed: _,
        message: _,
        call: _,
        completion: _,
        child_usage: _,
        child_cost: _,
        child_unpriced_tokens: _,
        child_estimated_requests: _,
        child_uncounted_requests: _,
        served: _,
        memory: _,
        compaction: _,
        editor: _,
        beside_result: _,
        hooked: _,
    } = PrivateEventFields::default();
    let lines = lines();
    for field in fields {
        assert!(lines.iter().any(|line| !line.private[field].is_null()), "no line has a private `{field}`");
    }
}

#[test]
fn what_is_lost_is_named() {
    let written = serde_json::json!({ "a": { "b": [1, { "c": 2 }] }, "d": 3 });
    let again = serde_json::json!({ "a": { "b": [1, {}] }, "d": 4, "new": true });
    assert_eq!(lost(&written, &again, ""), ["/a/b/1/c", "/d: 3 became 4"]);
}
