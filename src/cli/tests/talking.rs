//! A conversation against a scripted daemon: what it asks for, and what it never sends. On a real terminal and with a real
//! daemon: `tests/it/talking.rs`.

use std::sync::mpsc::{self, Sender};

use serde_json::{Value, json};

use super::*;

const PROMPT: &str = "scout › ";

/// `run scout --interactive --new`, by somebody who presses these keys.
fn talk(press_after: Vec<(&'static str, &'static str)>, interrupt_after: Vec<&'static str>) -> Command {
    let arguments = ["run", "scout", "--interactive", "--new", "--model", "m1", "--max-turns", "3"];
    Command { is_terminal: true, press_after, interrupt_after, ..Command::new(&arguments) }
}

fn begins(peer: &mut ScriptedPeer) {
    say_hello(peer);
    let params = peer.answer("agents/get", json!({"name": "scout", "model": "inherit"}));
    assert_eq!(params["name"], "scout");
}

/// One prompt: the daemon is there, and starts a run; answers what it was asked for.
fn says(peer: &mut ScriptedPeer) -> Value {
    peer.answer("ping", json!({"at": "2025-11-20T11:04:00.000Z"}));
    let params = start_run(peer);
    if params["sessionId"].is_string() {
        let first =
            json!({"events": [{"seq": 1, "type": "run.started", "runId": "r1", "data": {}}], "head": 1});
        peer.answer("events/list", first);
    }
    peer.answer("session/get", json!({"session": {"mode": "default"}}));
    peer.answer("run/get", record(json!({"reason": "GOAL", "result": "Here."})));
    params
}

fn its_end() -> DaemonScript {
    events(vec![completed(1, &record(json!({"reason": "GOAL", "result": "Here."})))])
}

/// The connection on which the conversation asks; tells what each run was started with.
fn two_prompts(
    told: Sender<Value>,
    between: impl FnOnce(&mut ScriptedPeer) + Send + 'static,
) -> DaemonScript {
    Box::new(move |peer| {
        begins(peer);
        told.send(says(peer)).unwrap();
        between(peer);
        told.send(says(peer)).unwrap();
        peer.wait_for_hangup();
    })
}

#[test]
fn the_second_prompt_goes_to_the_same_session_with_the_model_that_was_chosen() {
    let (told, heard) = mpsc::channel();
    let keys = vec![
        (PROMPT, "What?\r"),
        (PROMPT, "/frobnicate now\r"),
        (PROMPT, "/model m2\r"),
        (PROMPT, "  /odd one\r"),
        (PROMPT, "\x04"),
    ];
    let ran = talk(keys, Vec::new()).against(vec![two_prompts(told, |_| ()), its_end(), its_end()]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "Here.\nHere.\n"), "{}", ran.stderr);
    let (first, second) = (heard.recv().unwrap(), heard.recv().unwrap());
    let of = |params: &Value| {
        [&params["agent"], &params["model"], &params["prompt"], &params["sessionId"]]
            .map(Value::to_string)
            .join(" ")
    };
    assert_eq!(of(&first), r#""scout" "m1" "What?" null"#);
    assert!(first["workspace"].is_string() && second["workspace"].is_null(), "{first} {second}");
    assert_eq!(of(&second), r#""scout" "m2" "/odd one" "s1""#);
    for params in [&first, &second] {
        assert_eq!(params["limits"]["maxTurns"], 3);
    }
    assert_ne!(first["idempotencyKey"], second["idempotencyKey"]);
    assert!(ran.stderr.contains("there is no command `/frobnicate`; nothing was sent"), "{}", ran.stderr);
}

#[test]
fn what_a_prompt_fails_at_does_not_end_the_conversation() {
    let refused = json!({"code": -31210, "message": "no model is named `m1`", "data": {"kind": "NO_MODEL"}});
    let control: DaemonScript = Box::new(move |peer| {
        begins(peer);
        peer.answer("ping", json!({"at": "2025-11-20T11:04:00.000Z"}));
        peer.refuse("run/start", refused);
        says(peer);
        peer.wait_for_hangup();
    });
    let keys = vec![(PROMPT, "What?\r"), ("named `m1`", ""), (PROMPT, "Again\r"), (PROMPT, "/exit\r")];
    let ran = talk(keys, Vec::new()).against(vec![control, its_end()]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "Here.\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("error: no model is named `m1`\nhint: "), "{}", ran.stderr);
}

#[test]
fn tab_completes_models_and_asks_for_them_once() {
    let models = json!({
        "entries": [{"name": "a", "models": [{"model": "a/large"}, {"model": "a/late\u{1b}[2J"}]}],
        "aliases": [{"name": "fast", "model": "a/large"}], "offline": "offline",
    });
    let control: DaemonScript = Box::new(move |peer| {
        begins(peer);
        peer.answer("models/list", models);
        peer.wait_for_hangup();
    });
    let keys = vec![
        (PROMPT, "/model \t"),
        ("a/large  fast  inherit  offline", "a\t\r"),
        ("runs of this conversation use a/large", ""),
        (PROMPT, "/model in\t\r"),
        ("use the agent's own model", ""),
        (PROMPT, "\x04"),
    ];
    let ran = talk(keys, Vec::new()).against(vec![control]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
}

#[test]
fn an_agent_that_is_not_there_is_told_before_anything_is_typed() {
    let refused =
        json!({"code": -31100, "message": "there is no agent `scout`", "data": {"kind": "NOT_FOUND"}});
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.refuse("agents/get", refused);
        peer.wait_for_hangup();
    });
    let ran = talk(Vec::new(), Vec::new()).against(vec![control]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""));
    assert!(
        ran.stderr.contains("there is no agent `scout`") && !ran.stderr.contains(PROMPT),
        "{}",
        ran.stderr
    );
}

#[test]
fn ctrl_c_at_the_input_takes_back_what_stands_there() {
    let control: DaemonScript = Box::new(|peer| {
        begins(peer);
        peer.wait_for_hangup();
    });
    let keys = vec![
        (PROMPT, "nonsense"),
        ("^C", ""),
        ("Ctrl-D leaves", ""),
        (PROMPT, "/help\r"),
        (PROMPT, "exit\r"),
    ];
    let ran = talk(keys, vec!["nonsense", "^C"]).against(vec![control]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("/compact"), "{}", ran.stderr);
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_is_read_line_by_line() {
    let control: DaemonScript = Box::new(|peer| {
        begins(peer);
        says(peer);
        peer.wait_for_hangup();
    });
    let command = Command { typed: Some("What?\n/exit\n"), is_dumb: true, ..talk(Vec::new(), Vec::new()) };
    let ran = command.against(vec![control, its_end()]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "Here.\n"), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\x1b'), "{}", ran.stderr);
}
