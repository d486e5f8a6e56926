//! `subagent attach`.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

fn snapshot(runs: Vec<Value>, open_items: Value) -> Value {
    let session = json!({
        "sessionId": "s1", "roots": ["/w"], "createdAt": "2025-11-20T11:00:00.000Z",
        "lastActiveAt": "2025-11-20T11:04:00.000Z",
    });
    let data = json!({"seq": 7, "session": session, "runs": runs, "openItems": open_items});
    json!({"type": "signal.snapshot", "sessionId": "s1", "data": data})
}

fn not_found() -> Value {
    json!({"code": -31010, "message": "no such run", "data": {"kind": "NOT_FOUND", "retryable": false}})
}

#[test]
fn a_run_is_shown_from_its_snapshot_to_its_end_like_run_does() {
    let ended = record(json!({"reason": "MAX_TURNS", "partialResult": "half"}));
    let running = record(json!({"state": "running", "reason": null}));
    let open = json!([{"runId": "r1", "stream": "a", "afterSeq": 6, "text": "So far ", "thought": ""}]);
    let delta = json!({
        "type": "model.textDelta", "runId": "r1",
        "data": {"stream": "a", "afterSeq": 6, "offset": 7, "text": "so good."},
    });
    let sent = vec![snapshot(vec![running.clone()], open), delta, completed(8, &ended)];
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("run/get", running);
        peer.answer("run/get", ended);
        peer.wait_for_hangup();
    });
    let command = Command { is_terminal: true, ..Command::new(&["attach", "r1"]) };
    let ran = command.against(vec![control, events(sent)]);
    let Ran { exit_code, stdout, stderr, .. } = ran;
    expect![[r#"
        exit 3
        --- stdout
        half
        --- stderr
        session s1 in /w
        ▶ scout · running · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
        So far so good.
        ■ scout · MAX_TURNS · 2 turns · 3 tool calls · 1234 tokens · 4.2 s

        error: the run ended MAX_TURNS
        hint: allow more with --max-turns N, or ask for less at a time
    "#]]
    .assert_eq(&format!("exit {exit_code}\n--- stdout\n{stdout}--- stderr\n{stderr}"));
}

#[test]
fn a_session_without_live_runs_is_shown_and_left() {
    let ended = record(json!({"reason": "GOAL", "result": "done"}));
    let answer = ended.clone();
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.refuse("run/get", not_found());
        peer.answer("run/get", answer);
        peer.wait_for_hangup();
    });
    let ran = Command::new(&["attach", "s1"])
        .against(vec![control, events(vec![snapshot(vec![ended], json!([]))])]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "done\n"));
}

#[test]
fn without_a_target_the_newest_live_session_is_taken() {
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        let live = record(json!({"state": "running", "sessionId": "sb"}));
        let params = peer.answer("run/list", json!({"runs": [live], "nextCursor": "1"}));
        assert_eq!((&params["active"], &params["roots"]), (&json!(true), &json!(true)));
        peer.answer("run/get", record(json!({"reason": "GOAL"})));
        peer.wait_for_hangup();
    });
    let stream: DaemonScript = Box::new(|peer| {
        let params = peer.answer("session/attach", json!("1"));
        assert_eq!((&params["sessionId"], &params["from"]), (&json!("sb"), &json!("now")));
        peer.event(snapshot(vec![record(json!({"reason": "GOAL"}))], json!([])));
        peer.wait_for_hangup();
    });
    assert_eq!(Command::new(&["attach"]).against(vec![control, stream]).exit_code, 0);
}

#[test]
fn without_a_live_run_there_is_nothing_to_attach_to_and_the_last_run_is_named() {
    let mut told = String::new();
    let last = record(json!({"runId": "019aa1b2-c3d5-7001-8000-00000000000b", "reason": "GOAL"}));
    for runs in [json!([last]), json!([])] {
        let control: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            assert_eq!(peer.answer("run/list", json!({"runs": []}))["active"], true);
            let params = peer.answer("run/list", json!({"runs": runs}));
            assert_eq!((&params["active"], &params["roots"]), (&json!(false), &json!(true)));
        });
        let ran = Command::new(&["attach"]).against(vec![control]);
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""));
        told.push_str(&ran.stderr);
    }
    expect![[r#"
        error: no run is live; the last one was 019aa1b2-c3d5 (scout)
        hint: `subagent attach 019aa1b2-c3d5` shows how it ended, `subagent show 019aa1b2-c3d5` what it did; `subagent runs` lists all
        error: no run is live, and there was none before
        hint: start a run with `subagent run AGENT -p PROMPT`
    "#]].assert_eq(&told);
}

#[test]
fn a_run_is_followed_with_those_below_it_and_no_other() {
    let running = record(json!({"state": "running"}));
    let child = record(json!({"runId": "r2", "parentRunId": "r1", "agent": "reader", "state": "running"}));
    let other = record(json!({"runId": "r9", "agent": "cook", "state": "running"}));
    let ended = record(json!({"reason": "GOAL", "result": "done"}));
    let call = |run: &str, call: &str, description: &str| {
        let details = json!({
            "title": "T", "description": description, "kind": "read", "risk": "safe", "locations": [],
        });
        json!({"runId": run, "callId": call, "name": "read_file", "state": "executing", "details": details})
    };
    let mut sent = snapshot(
        vec![running.clone(), child, other.clone()],
        json!([
            {"runId": "r2", "stream": "b", "afterSeq": 6, "text": "not for people", "thought": ""},
            {"runId": "r1", "stream": "k0", "callId": "k0", "afterSeq": 6, "text": "said twice", "thought": ""},
        ]),
    );
    sent["data"]["openCalls"] = json!([call("r2", "k1", "a.rs"), call("r9", "k9", "menu.txt")]);
    sent["data"]["queue"] = json!([{
        "runId": "r1", "sessionId": "s1", "agent": "scout", "for": "context", "query": "and then?",
        "queuedAt": "2025-11-20T11:04:00.000Z",
    }]);
    let of_child = |seq: i64, kind: &str, data: Value| {
        let mut event = envelope(seq, kind, data);
        event["runId"] = json!("r2");
        event["parentRunId"] = json!("r1");
        event["agent"] = json!("reader");
        event["agentPath"] = json!(["scout", "reader"]);
        event
    };
    let of_other = |seq: i64, kind: &str, data: Value| {
        let mut event = envelope(seq, kind, data);
        event["runId"] = json!("r9");
        event["agent"] = json!("cook");
        event["agentPath"] = json!(["cook"]);
        event
    };
    let sent = vec![
        sent,
        of_other(8, "thought", json!({"stream": "c", "subject": "Soup", "text": "…"})),
        of_child(9, "tool.state", json!({"callId": "k1", "name": "read_file", "to": "success"})),
        of_other(10, "run.completed", other),
        completed(11, &ended),
    ];
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("run/get", running);
        peer.answer("run/get", ended);
        peer.wait_for_hangup();
    });
    let ran = Command::new(&["attach", "r1"]).against(vec![control, events(sent)]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "done\n"));
    expect![[r#"
        session s1 in /w
        ▶ scout · running · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
          ▶ reader · running · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
        ● reader · read_file a.rs
        … scout waits for its turn: and then?
          ▶ reader
            ✓ read_file a.rs
        ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
    "#]]
    .assert_eq(&ran.stderr);
}

const RUN: &str = "019aa1b2-c3d4-7001-8000-000000000001";

#[test]
fn the_beginning_of_an_id_is_enough() {
    let ended = record(json!({"runId": RUN, "reason": "GOAL", "result": "done"}));
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("run/list", json!({"runs": [ended.clone()]}));
        let params = peer.answer("run/get", ended.clone());
        assert_eq!(params["runId"], RUN);
        peer.answer("run/get", ended.clone());
        peer.wait_for_hangup();
    });
    let stream = events(vec![snapshot(vec![record(json!({"runId": RUN, "reason": "GOAL"}))], json!([]))]);
    let ran = Command::new(&["attach", "019aa1b2"]).against(vec![control, stream]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "done\n"));
}

#[test]
fn ctrl_c_leaves_at_once_and_the_run_goes_on() {
    let running = record(json!({"state": "running"}));
    let control: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        peer.refuse("run/get", not_found());
        peer.wait_for_hangup();
    });
    let command = Command { interrupt_after: vec!["running"], ..Command::new(&["attach", "s1"]) };
    let ran = command.against(vec![control, events(vec![snapshot(vec![running], json!([]))])]);
    assert_eq!(ran.exit_code, 130);
    assert!(ran.stderr.ends_with("! left; the runs go on, `subagent attach` shows them again\n"));
}
