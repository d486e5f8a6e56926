//! Are the examples of the documents true? Each fits its schema and its type, none is missing, together they are one
//! lawful log, and what a real daemon always says, they say.

use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use subagentd::{
    daemon::rpc::docs::{ProtocolExamples, SIGNALS},
    protocol::{EVENTS, Envelope, ErrorKind, EventDoc, METHODS, RpcError, reread},
};

use crate::{
    laws::{self, Attached, Deltas},
    support::{House, Reply, Script},
};

const FOLDER: &str = "src/daemon/rpc/docs/examples";

fn broken_rules(schema: Schema, value: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(&schema.to_value()).unwrap();
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// What a client sends may leave out what has a default; nothing of it may be without effect.
fn check_sent(name: &str, schema: Schema, reread: fn(&Value) -> serde_json::Result<Value>, value: &Value) {
    assert_eq!(broken_rules(schema, value), [] as [String; 0], "{name}");
    let kept = reread(value).unwrap_or_else(|error| panic!("{name}: {error}"));
    for (field, value) in value.as_object().unwrap() {
        assert_eq!(Some(value), kept.get(field), "{name}: `{field}` is not what the type keeps of it");
    }
}

/// What the daemon sends is exactly what the type writes.
fn check_received(
    name: &str,
    schema: Schema,
    reread: fn(&Value) -> serde_json::Result<Value>,
    value: &Value,
) {
    assert_eq!(broken_rules(schema, value), [] as [String; 0], "{name}");
    let written = reread(value).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(*value, written, "{name}: the daemon would write this otherwise");
}

fn check_whole<T: JsonSchema + Serialize + DeserializeOwned>(name: &str, value: &Value) {
    check_received(name, schemars::schema_for!(T), reread::<T>, value);
}

#[test]
fn everything_has_an_example() {
    let examples = ProtocolExamples::read();
    let mut missing = Vec::new();
    for method in METHODS.iter().filter(|method| examples.of_method(method.name).next().is_none()) {
        missing.push(format!("the method `{}`: a line in {FOLDER}/methods.jsonl", method.name));
    }
    for (docs, file) in [(EVENTS, "events.jsonl"), (SIGNALS, "signals.jsonl")] {
        for event in docs.iter().filter(|event| examples.of_event(event.name).is_empty()) {
            missing.push(format!("`{}`: a line in {FOLDER}/{file}", event.name));
        }
    }
    for kind in ErrorKind::ALL.iter().filter(|kind| examples.of_error(kind.as_str()).is_none()) {
        missing.push(format!("the error {}: a line in {FOLDER}/errors.jsonl", kind.as_str()));
    }
    assert!(missing.is_empty(), "there is no example of\n{}", missing.join("\n"));
}

#[test]
fn calls_fit_their_methods() {
    for example in ProtocolExamples::read().methods() {
        let name = &example.method;
        let method = METHODS.iter().find(|method| method.name == name);
        let method = method.unwrap_or_else(|| panic!("{FOLDER}/methods.jsonl: there is no method {name}"));
        let params = Value::Object(example.params.clone());
        check_sent(&format!("params of {name}"), (method.params)(), method.reread_params, &params);
        check_received(
            &format!("result of {name}"),
            (method.result)(),
            method.reread_result,
            &example.result,
        );
        assert!(!example.title.is_empty(), "{name}: say what it is an example of");
    }
}

#[test]
fn envelopes_fit_their_types() {
    let check = |docs: &[EventDoc], envelopes: &[Value]| {
        for envelope in envelopes {
            let name = envelope["type"].as_str().unwrap();
            let event = docs.iter().find(|event| event.name == name);
            let event = event.unwrap_or_else(|| panic!("{FOLDER}: there is no type {name} in this file"));
            check_whole::<Envelope>(name, envelope);
            check_received(name, (event.data)(), event.reread, &envelope["data"]);
        }
    };
    let examples = ProtocolExamples::read();
    check(EVENTS, examples.events());
    check(SIGNALS, examples.signals());
}

#[test]
fn errors_fit_their_kinds() {
    for error in ProtocolExamples::read().errors() {
        check_whole::<RpcError>("error", error);
        let read: RpcError = serde_json::from_value(error.clone()).unwrap();
        let kind = read.data.kind;
        assert_eq!((read.code, read.data.retryable), (kind.code(), kind.is_retryable()), "{}", kind.as_str());
    }
}

/// The log of the examples is held to the laws that every test's log is held to.
#[test]
fn the_events_are_a_lawful_log() {
    let examples = ProtocolExamples::read();
    let events = examples.events();
    assert_eq!(laws::check_finished(events), Ok(()));
    assert_eq!(laws::check_subscription(Attached::After(0), Deltas::Off, events), Ok(()));
}

/// A result that says which event it caused is about what that event is about.
#[test]
fn results_name_events_of_the_log() {
    let examples = ProtocolExamples::read();
    let mut compared = 0;
    for example in examples.methods() {
        let Some(seq) = example.result["seq"].as_u64() else { continue };
        let event = examples.events().get(usize::try_from(seq).unwrap() - 1);
        let event = event.unwrap_or_else(|| panic!("{}: the log has no event {seq}", example.method));
        for id in ["runId", "sessionId"] {
            if let Some(said) = example.result.get(id) {
                assert_eq!(event.get(id), Some(said), "{}: {id} of event {seq}", example.method);
                compared += 1;
            }
        }
    }
    assert!(compared > 0);
}

/// Fails when a daemon's answer always has something that the method's examples lack. For the table of methods.
pub fn says_what_a_daemon_says(method: &str, answers: &[Value]) {
    let always =
        answers.iter().map(fields).reduce(|always, more| always.intersection(&more).cloned().collect());
    for example in ProtocolExamples::read().of_method(method) {
        let said = fields(&example.result);
        let missing: Vec<_> = always.iter().flatten().filter(|field| !said.contains(*field)).collect();
        assert!(
            missing.is_empty(),
            "{FOLDER}/methods.jsonl: the example of {method} ({}) lacks {missing:?}, which the daemon always says",
            example.title
        );
    }
}

/// The names of an answer's fields, and of those of its objects that are not in lists.
fn fields(value: &Value) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        fields.insert(name.clone());
        // Deeper down stand types that many answers share, and documents.
        fields.extend(value.as_object().into_iter().flatten().map(|(inner, _)| format!("{name}/{inner}")));
    }
    fields
}

/// Who says what about whom: the fields beside `data` are those that a daemon sends with events of the type.
#[tokio::test]
async fn envelopes_have_the_fields_of_real_ones() {
    let reader =
        "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [read_file]\n---\nx\n";
    let replies =
        [Reply::calls(&[("read_file", serde_json::json!({ "path": "nowhere" }))]), Reply::done("found")];
    let house = House::new().agent("reader", reader).script(&Script::new(replies));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", serde_json::json!({})).await;
    client.ended(&run).await;
    let log = running.log().await;
    let heads = |events: &[Value], kind: &Value| -> BTreeSet<Vec<String>> {
        // Who caused it is told of clients that said who they are; the cursor's `prev` is no part of a page.
        let head = |event: &Value| {
            let names =
                event.as_object().unwrap().keys().filter(|name| !["by", "prev"].contains(&name.as_str()));
            names.cloned().collect()
        };
        events.iter().filter(|event| event["type"] == *kind).map(head).collect()
    };
    let examples = ProtocolExamples::read();
    let mut compared = BTreeSet::new();
    for event in &log {
        let (real, shown) = (heads(&log, &event["type"]), heads(examples.events(), &event["type"]));
        assert!(
            real.is_subset(&shown),
            "{}: a daemon's are {real:?}, the examples' {shown:?}",
            event["type"]
        );
        compared.insert(event["type"].to_string());
    }
    assert!(compared.len() > 7, "{compared:?}");
    drop(client);
    running.stop().await;
}

#[test]
fn an_answer_is_compared_field_by_field() {
    let answers =
        [serde_json::json!({ "a": { "b": 1, "c": 2 } }), serde_json::json!({ "a": { "b": 1 }, "d": [] })];
    assert_eq!(fields(&answers[0]), ["a", "a/b", "a/c"].map(str::to_owned).into());
    let refused = std::panic::catch_unwind(|| {
        says_what_a_daemon_says("ping", &[serde_json::json!({ "at": "now", "mood": "good" })]);
    });
    assert!(refused.is_err(), "an example without `mood` was let pass");
    says_what_a_daemon_says("ping", &[serde_json::json!({ "at": "now" })]);
}
