//! A called agent that keeps its texts back: does its caller tell them?

use protocol::{Envelope, EventHead, TraceBackend};

use super::*;
use crate::traced::TracedSpans;

/// An event of the run `lead`, or of `scout` below it.
fn event(seq: i64, run: &str, kind: &str, data: Value) -> Envelope {
    let parent = (run == "scout").then(|| RunId::from("lead"));
    Envelope {
        seq: Some(EventSeq(seq)),
        prev: None,
        at: Some(Timestamp(1_700_000_000_000_000 + seq * 1_000)),
        kind: kind.to_owned(),
        session_id: Some(SessionId::from("s")),
        run_id: Some(RunId::from(run)),
        head: EventHead { agent: Some(AgentName::from(run)), parent_run_id: parent, ..EventHead::default() },
        offered: None,
        data,
    }
}

/// The lead calls a scout and reads a file beside that; a hook is told of the scout's result.
fn log(tracing: Value) -> Vec<Envelope> {
    let said = |text: &str| json!({ "llmContent": [{ "type": "text", "text": text }] });
    let scout = json!({
        "agent": "scout", "model": "m", "query": "SCOUT was asked", "parentCallId": "c1", "tracing": tracing,
    });
    let events = [
        ("lead", "run.started", json!({ "agent": "lead", "model": "m", "query": "q" })),
        ("lead", "turn.started", json!({ "turn": 1 })),
        (
            "lead",
            "tool.state",
            json!({ "callId": "c1", "to": "validating", "name": "scout", "arguments": { "prompt": "SCOUT was asked" } }),
        ),
        (
            "lead",
            "tool.state",
            json!({ "callId": "c2", "to": "executing", "name": "read_file", "arguments": { "path": "a" } }),
        ),
        (
            "lead",
            "tool.state",
            json!({ "callId": "c1", "from": "validating", "to": "executing", "name": "scout", "childRunId": "scout" }),
        ),
        ("scout", "run.started", scout),
        ("scout", "run.completed", json!({ "reason": "GOAL", "result": "SCOUT found" })),
        (
            "lead",
            "tool.state",
            json!({ "callId": "c1", "from": "executing", "to": "success", "name": "scout", "awaitsHooks": true, "result": said("SCOUT found") }),
        ),
        (
            "lead",
            "hook.fired",
            json!({ "firingId": "f", "hookId": "h", "event": "PostToolUse", "callId": "c1", "outcome": "answered", "durationMs": 1, "added": "SCOUT found it", "settlesResult": true }),
        ),
        (
            "lead",
            "tool.state",
            json!({ "callId": "c2", "from": "executing", "to": "success", "name": "read_file", "result": said("FILE") }),
        ),
        ("lead", "turn.completed", json!({ "turn": 1 })),
        ("lead", "turn.started", json!({ "turn": 2 })),
        ("lead", "model.started", json!({ "model": "m", "stream": "s", "attempt": 1 })),
        (
            "lead",
            "model.completed",
            json!({ "model": "m", "stream": "s", "text": "ok", "usage": {}, "calls": [] }),
        ),
        ("lead", "run.completed", json!({ "reason": "GOAL", "result": "ok" })),
    ];
    let events = events.into_iter().enumerate();
    events.map(|(n, (run, kind, data))| event(i64::try_from(n).unwrap() + 1, run, kind, data)).collect()
}

fn sent(tracing: Value) -> String {
    let mut spans = TracedSpans::new(TraceBackend::Otlp, RunTracing::default());
    let told: Vec<_> = log(tracing).iter().flat_map(|event| spans.apply(event)).collect();
    serde_json::to_string(&told).unwrap()
}

#[test]
fn what_a_called_agent_keeps_back_its_caller_keeps_back_as_well() {
    let tracing = |backends: Value, content: &str| json!({ "backends": backends, "content": content, "sampleRate": 1.0 });
    let all = sent(tracing(json!(["otlp"]), "full"));
    assert!(all.contains("SCOUT was asked") && all.matches("SCOUT found").count() == 4, "{all}");
    for (what, tracing) in [
        ("none", tracing(json!(["otlp"]), "none")),
        ("redacted", tracing(json!(["otlp"]), "redacted")),
        ("nothing is sent of it", tracing(json!([]), "full")),
        ("unsampled", json!({ "backends": ["otlp"], "content": "full", "sampleRate": 0.0 })),
    ] {
        let told = sent(tracing);
        assert!(!told.contains("SCOUT"), "{what}: {told}");
        // Its own texts the caller tells as before, in the call and in the request that brings the result.
        assert_eq!(told.matches("FILE").count(), 2, "{what}: {told}");
    }
}
