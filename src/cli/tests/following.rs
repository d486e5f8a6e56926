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
    let control: Script = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("run/get", running);
        peer.answer("run/get", ended);
        peer.wait_for_hangup();
    });
    let command = Command { is_terminal: true, ..Command::new(&["attach", "r1"]) };
    let ran = command.against(vec![control, events(sent)]);
    let Ran { exit_code, stdout, stderr } = ran;
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
    let control: Script = Box::new(move |peer| {
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
    let of = |seq: i64, kind: &str, run: &str, session: &str| {
        let mut event = envelope(seq, kind, json!({}));
        event["runId"] = json!(run);
        event["sessionId"] = json!(session);
        event
    };
    let page = vec![
        of(1, "run.started", "ra", "sa"),
        of(2, "run.started", "rb", "sb"),
        of(3, "run.started", "rc", "sc"),
        of(4, "run.completed", "rc", "sc"),
    ];
    let control: Script = Box::new(move |peer| {
        say_hello(peer);
        let params = peer.answer("events/list", json!({"events": page, "head": 4}));
        assert_eq!(params["filter"]["types"], json!(["run.started", "run.completed"]));
        let params = peer.answer("events/list", json!({"events": [], "head": 4}));
        assert_eq!(params["from"], json!(4), "a short page is not the last");
        peer.answer("run/get", record(json!({"reason": "GOAL"})));
        peer.wait_for_hangup();
    });
    let stream: Script = Box::new(|peer| {
        let params = peer.answer("session/attach", json!("1"));
        assert_eq!((&params["sessionId"], &params["from"]), (&json!("sb"), &json!("now")));
        peer.event(snapshot(vec![record(json!({"reason": "GOAL"}))], json!([])));
        peer.wait_for_hangup();
    });
    assert_eq!(Command::new(&["attach"]).against(vec![control, stream]).exit_code, 0);
}

#[test]
fn nothing_to_attach_to_is_told() {
    let control: Script = Box::new(|peer| {
        say_hello(peer);
        peer.answer("events/list", json!({"events": [], "head": 0}));
    });
    let ran = Command::new(&["attach"]).against(vec![control]);
    assert_eq!(ran.exit_code, 1);
    expect![[r#"
        error: there is no session to attach to
        hint: start a run with `subagent run AGENT -p PROMPT`
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn ctrl_c_leaves_at_once_and_the_run_goes_on() {
    let running = record(json!({"state": "running"}));
    let control: Script = Box::new(|peer| {
        say_hello(peer);
        peer.refuse("run/get", not_found());
        peer.wait_for_hangup();
    });
    let command = Command { interrupt_after: vec!["running"], ..Command::new(&["attach", "s1"]) };
    let ran = command.against(vec![control, events(vec![snapshot(vec![running], json!([]))])]);
    assert_eq!(ran.exit_code, 130);
    assert!(ran.stderr.ends_with("! left; the runs go on, `subagent attach` shows them again\n"));
}
