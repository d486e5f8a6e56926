//! What `subagent run` shows of the runs below its own, and of a run as a whole.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

/// The same event of another run: `path` goes from the root's agent to this run's.
fn of(run: &str, parent: &str, path: &[&str], mut event: Value) -> Value {
    event["runId"] = json!(run);
    event["parentRunId"] = json!(parent);
    event["agent"] = json!(path.last());
    event["agentPath"] = json!(path);
    event
}

fn run_started(seq: i64, agent: &str, path: &str) -> Value {
    let data = json!({
        "agent": agent, "title": "T", "digest": "sha256:00", "model": "offline", "contextId": "c1", "query": "q",
        "inputs": {}, "limits": {"maxTurns": 30, "graceMs": 60000}, "completion": "tool", "depth": 0,
        "path": path,
    });
    envelope(seq, "run.started", data)
}

fn state(seq: i64, call_id: &str, name: &str, to: &str, description: &str) -> Value {
    let mut data = json!({"callId": call_id, "name": name, "to": to});
    if to == "scheduled" {
        data["details"] = json!({
            "title": "T", "description": description, "kind": "read", "risk": "safe", "locations": [],
        });
    }
    envelope(seq, "tool.state", data)
}

/// Two calls of `reader` at the same time, one of which asks `finder` and then fails.
fn family() -> Vec<Value> {
    let first = |event| of("r2", "r1", &["scout", "reader"], event);
    let second = |event| of("r3", "r1", &["scout", "reader"], event);
    let below = |event| of("r4", "r3", &["scout", "reader", "finder"], event);
    let thought = |seq, subject: &str| {
        envelope(seq, "thought", json!({"stream": "x", "subject": subject, "text": "…"}))
    };
    let failed = json!({
        "runId": "r3", "agent": "reader", "state": "ended", "reason": "ERROR", "turns": 1, "toolCalls": 1,
        "activeMs": 900, "error": {"code": "MODEL_FAILED", "message": "no answer\u{1b}[2J"},
    });
    let stopping = json!({"reason": "MAX_TURNS", "then": "grace", "message": "the turns are used up."});
    let child_delta = json!({
        "type": "model.textDelta", "runId": "r2",
        "data": {"stream": "x", "afterSeq": 5, "offset": 0, "text": "not for people"},
    });
    // The thought itself is shown.
    let output = json!({
        "type": "tool.output", "runId": "r1",
        "data": {"callId": "k1", "afterSeq": 3, "offset": 0, "text": "Look at the door\n"},
    });
    vec![
        run_started(1, "scout", "scout#1"),
        state(2, "k1", "reader", "scheduled", "Where are errors mapped?"),
        state(3, "k1", "reader", "executing", ""),
        first(run_started(4, "reader", "scout#1/reader#1")),
        second(run_started(5, "reader", "scout#1/reader#2")),
        child_delta,
        first(thought(6, "Look at the door")),
        output,
        first(state(7, "k2", "grep", "scheduled", "error")),
        second(thought(8, "Ask somebody")),
        below(run_started(9, "finder", "scout#1/reader#2/finder#1")),
        below(thought(10, "Found it")),
        first(state(11, "k2", "grep", "success", "")),
        below(envelope(12, "run.stopping", stopping)),
        below(completed(13, &record(json!({"runId": "r4", "reason": "MAX_TURNS"})))),
        second(completed(14, &failed)),
        first(completed(15, &record(json!({"runId": "r2", "reason": "GOAL"})))),
        state(16, "k1", "reader", "success", ""),
    ]
}

fn show(is_terminal: bool, sent: Vec<Value>) -> Ran {
    let record = record(json!({"reason": "GOAL", "result": "done"}));
    let last = sent.iter().filter_map(|event| event["seq"].as_i64()).max().unwrap();
    let sent = sent.into_iter().chain([completed(last + 1, &record)]).collect();
    let command = Command { is_terminal, ..Command::new(&["run", "scout", "-p", "q", "--new"]) };
    command.against(vec![control(record), events(sent)])
}

#[test]
fn what_children_do_stands_below_their_names() {
    let ran = show(false, family());
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "done\n"));
    expect![[r#"
        ▶ scout · offline · run r1
        ● reader Where are errors mapped?
          ▶ reader · offline · run r2
          ▶ reader#2 · offline · run r3
          ▶ reader
            · Look at the door
          ▶ reader#2
            · Ask somebody
            ▶ finder · offline · run r4
              · Found it
          ▶ reader
            ✓ grep error
            ▶ finder
              ! the turns are used up; one last turn to finish
            ■ finder · MAX_TURNS · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
          ■ reader#2 · ERROR · 1 turn · 1 tool call · 0 tokens · 900 ms
            ✗ MODEL_FAILED: no answer^[[2J
          ■ reader · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
        ✓ reader Where are errors mapped? · 1.3 s
        ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn on_a_terminal_the_text_of_children_is_not_mixed_into_their_parents() {
    let ran = show(true, family());
    assert!(!ran.stderr.contains("not for people"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("Look at the door").count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("\n    · Look at the door\n"), "{}", ran.stderr);
}

#[test]
fn runs_of_others_in_the_session_are_not_shown() {
    let mut other = envelope(1, "thought", json!({"stream": "x", "subject": "Soup", "text": "…"}));
    other["runId"] = json!("r9");
    let grandchild = of("r8", "r9", &["cook", "taster"], run_started(2, "taster", ""));
    let ran = show(false, vec![other, grandchild]);
    assert_eq!(ran.stderr, "■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s\n");
}

#[test]
fn what_happens_to_a_run_as_a_whole_is_one_line_each() {
    let plan = json!([
        {"text": "look", "status": "completed"},
        {"text": "write\u{1b}[2J", "status": "in_progress"},
        {"text": "rest", "status": "someday", "more": 1},
    ]);
    let ran = show(
        false,
        vec![
            envelope(1, "run.queued", json!({"for": "place"})),
            envelope(2, "run.steered", json!({"steerId": "t1", "text": "also the tests"})),
            envelope(3, "run.steered", json!({"steerId": "t1", "text": "also the tests", "turn": 2})),
            envelope(4, "run.parked", json!({"reason": "storageFull"})),
            envelope(5, "run.resumed", json!({"unclean": false})),
            envelope(6, "run.resumed", json!({"unclean": false})),
            envelope(7, "run.resumed", json!({"unclean": true})),
            envelope(8, "run.parked", json!({"reason": "fullMoon"})),
            envelope(9, "todos.updated", json!({"callId": "k1", "todos": plan})),
            envelope(10, "todos.updated", json!({"callId": "k1", "todos": []})),
            envelope(11, "todos.updated", json!({"callId": "k1", "todos": "later"})),
        ],
    );
    expect![[r#"
        … scout waits for a place among the runs at work
        » said: also the tests
        » read in turn 2: also the tests
        ! the disk is full; the run holds still until there is room
        ! the run goes on
        ! the daemon was restarted; the run goes on
        ! the daemon came back after a crash; the run goes on
        ! the run holds still: fullMoon
        ☰ 1 of 3 done · now: write^[[2J
        ☰ 0 of 0 done
        ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
    "#]]
    .assert_eq(&ran.stderr);
}
