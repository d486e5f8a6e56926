//! Do readers of Chrome's trace events see the tree that there is? They take from times alone what lies within what.

use std::collections::BTreeMap;

use protocol::TraceFormat;

use super::{documents::document, *};

/// Everything in one microsecond: calls beside each other, one that a guard takes no time over, a question about the run while a call is
/// at work, a run below, a request of the daemon's own that is told as a whole.
const AT_ONCE: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    0 model.started {"model": "m", "stream": "s1", "attempt": 1}
    0 model.completed {"model": "m", "stream": "s1", "text": "x", "calls": ["c1", "c2", "c3"], "usage": {}}
    0 tool.state {"callId": "c1", "to": "validating", "name": "reader", "arguments": {}}
    0 tool.state {"callId": "c2", "to": "validating", "name": "mcp.files.read", "arguments": {}}
    0 tool.state {"callId": "c3", "to": "error", "name": "read_file", "arguments": {}, "error": {"type": "X", "message": "y"}}
    0 hook.fired {"firingId": "f1", "hookId": "user/a", "event": "PreToolUse", "callId": "c1", "durationMs": 0, "outcome": "answered"}
    0 hook.fired {"firingId": "f1", "hookId": "user/b", "event": "PreToolUse", "callId": "c1", "durationMs": 0, "outcome": "answered"}
    0 tool.state {"callId": "c1", "to": "executing", "name": "reader", "childRunId": "r2"}
    0 @r2 run.started {"agent": "reader", "model": "m", "query": "a", "parentCallId": "c1", "rootRunId": "r1", "^": {"parentRunId": "r1", "agent": "reader", "agentPath": ["lead", "reader"]}}
    0 @r2 run.completed {"reason": "GOAL", "result": "x", "^": {"parentRunId": "r1", "agent": "reader", "agentPath": ["lead", "reader"]}}
    0 tool.state {"callId": "c2", "to": "executing", "name": "mcp.files.read"}
    0 confirmation.requested {"confirmation": {"confirmationId": "q1", "title": "More money?", "rule": "budget", "reason": "spent", "risk": "low", "details": {"type": "budget"}}}
    0 tool.state {"callId": "c1", "to": "success", "name": "reader", "result": {"llmContent": []}}
    0 confirmation.resolved {"confirmationId": "q1", "outcome": "allowOnce", "by": "client", "name": "cli-1"}
    0 sideCall.completed {"purpose": "check", "model": "m", "callId": "c2", "usage": {}}
    0 tool.state {"callId": "c2", "to": "success", "name": "mcp.files.read", "result": {"llmContent": []}}
    0 turn.completed {"turn": 1}
    0 turn.started {"turn": 2}
    0 turn.completed {"turn": 2}
    0 sideCall.started {"purpose": "compression"}
    0 sideCall.completed {"purpose": "compression", "model": "m", "usage": {}}
    0 context.compressed {"status": "COMPRESSED"}
    0 run.completed {"reason": "GOAL"}
"#;

/// A span as a reader sees it: when, and what it is.
struct Drawn {
    from: i64,
    to: i64,
    id: String,
    name: String,
}

/// The spans that have ended, by their tracks.
fn drawn(events: &[Value]) -> BTreeMap<String, Vec<Drawn>> {
    let mut tracks: BTreeMap<String, Vec<Drawn>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let from = event["ts"].as_i64().unwrap();
        let (id, name) = (event["args"]["spanId"].as_str().unwrap(), event["name"].as_str().unwrap());
        tracks.entry(format!("{}/{}", event["pid"], event["tid"])).or_default().push(Drawn {
            from,
            to: from + event["dur"].as_i64().unwrap(),
            id: id.to_owned(),
            name: name.to_owned(),
        });
    }
    tracks.values_mut().for_each(|spans| spans.sort_by_key(|span| span.from));
    tracks
}

fn trace_events(log: &str) -> Vec<Value> {
    let whole: Value = serde_json::from_str(&document(TraceFormat::Chrome, log)).unwrap();
    whole["traceEvents"].as_array().unwrap().clone()
}

/// What a reader may rely on: each span is there, lasts, and lies on its track within its parent or beside its siblings; no two
/// things happen at the same time there, of which a reader would have to guess the order.
fn hold(log: &str) {
    let (events, spans) = (trace_events(log), spans(log));
    let ids = |event: &&Value| event["args"]["spanId"].as_str().map(str::to_owned);
    let mut told: Vec<String> = events.iter().filter_map(|event| ids(&event)).collect();
    let mut expected: Vec<String> = spans.iter().map(|span| span.span_id.to_string()).collect();
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
    let parents: BTreeMap<&str, Option<&str>> = spans
        .iter()
        .map(|span| (span.span_id.as_str(), span.parent_span_id.as_ref().map(|id| id.as_str())))
        .collect();
    for spans in drawn(&events).values() {
        let (mut times, mut open): (Vec<i64>, Vec<&Drawn>) = (Vec::new(), Vec::new());
        for span in spans {
            assert!(span.from < span.to, "{} lasts no time", span.name);
            times.extend([span.from, span.to]);
            open.retain(|around| span.from < around.to);
            if let Some(around) = open.last() {
                assert!(span.to < around.to, "{} overlaps {}", span.name, around.name);
                assert_eq!(parents[span.id.as_str()], Some(around.id.as_str()), "{}", span.name);
            }
            open.push(span);
        }
        times.sort_unstable();
        assert!(times.is_sorted_by(|one, next| one < next), "two things at the same time: {times:?}");
    }
    let marks = events.iter().filter(|event| event["ph"] == "i").count();
    assert_eq!(marks, spans.iter().map(|span| span.events.len()).sum::<usize>());
    for event in &events {
        let number = |key: &str| event[key].as_i64().unwrap();
        assert!(
            (0..=i64::from(i32::MAX)).contains(&number("pid"))
                && (0..=i64::from(i32::MAX)).contains(&number("tid"))
        );
    }
}

#[test]
fn spans_lie_within_each_other_on_each_track() {
    hold(STORY);
    hold(AT_ONCE);
}

#[test]
fn what_took_no_time_is_drawn_in_its_place() {
    let shown: String = drawn(&trace_events(AT_ONCE))
        .into_values()
        .map(|spans| {
            let spans = spans
                .iter()
                .map(|span| format!("{} {}..{}", span.name, span.from - BEGAN_US, span.to - BEGAN_US));
            spans.collect::<Vec<_>>().join(", ") + "\n"
        })
        .collect();
    expect![[r#"
        lead 0..13, turn 1 1..6, m 2..3, reader 4..5, turn 2 7..8, compression 9..12, m 10..11
        reader 0..1
        PreToolUse 0..1, PreToolUse 2..3
        asks: More money? 0..1
        read_file 0..1
        mcp.files.read 0..5, tools/call read 1..4, m 2..3
    "#]]
    .assert_eq(&shown);
}

/// A log that ends anywhere: what is open has a beginning alone, and what it holds lies within it.
#[test]
fn what_is_open_has_a_beginning_alone() {
    let lines: Vec<&str> = AT_ONCE.trim().lines().collect();
    for end in 1..lines.len() {
        let log = lines[..end].join("\n");
        let (events, spans) = (trace_events(&log), spans(&log));
        let count = |ph: &str| events.iter().filter(|event| event["ph"] == ph).count();
        let open = spans.iter().filter(|span| span.end_us.is_none()).count();
        assert_eq!((count("B"), count("X"), count("E")), (open, spans.len() - open, 0), "{log}");
        hold(&log);
    }
}
