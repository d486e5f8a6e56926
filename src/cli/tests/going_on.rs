//! In which session `subagent run` goes on, what it says of a busy agent, and what becomes of a lost answer.

use std::sync::mpsc;

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

const SESSION: &str = "019aa1b2-c3d4-7001-8000-00000000000a";

fn started(disposition: &str, session_id: &str) -> Value {
    json!({
        "disposition": disposition, "runId": "r1", "sessionId": session_id, "agent": "scout", "seq": 42,
    })
}

fn goal() -> Value {
    record(json!({"reason": "GOAL", "result": "found"}))
}

/// The connection on which a run goes on in a session: `sessions` are listed, the run's first event is number 41.
fn goes_on(sessions: Value, disposition: &'static str, told: mpsc::Sender<Value>) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        let params = peer.answer("session/list", sessions);
        assert_eq!((&params["state"], &params["limit"]), (&json!("open"), &json!(1)));
        assert!(params["workspace"].is_string());
        told.send(peer.answer("run/start", started(disposition, SESSION))).unwrap();
        let first =
            json!({"events": [{"seq": 41, "type": "run.started", "runId": "r1", "data": {}}], "head": 42});
        let params = peer.answer("events/list", first);
        assert_eq!((&params["filter"]["runId"], &params["limit"]), (&json!("r1"), &json!(1)));
        peer.answer("run/get", goal());
        peer.wait_for_hangup();
    })
}

/// The connection that brings the run's events, from its first on.
fn its_events() -> DaemonScript {
    Box::new(|peer| {
        let params = peer.answer("session/attach", json!("1"));
        assert_eq!((&params["sessionId"], &params["from"]), (&json!(SESSION), &json!(40)));
        peer.event(completed(41, &goal()));
        peer.wait_for_hangup();
    })
}

#[test]
fn on_a_terminal_a_run_goes_on_in_the_current_session_and_says_so() {
    let (told, heard) = mpsc::channel();
    let sessions = json!({"sessions": [{"sessionId": SESSION, "title": "Mend the \u{1b}[2J docs"}]});
    let command = Command { is_terminal: true, ..Command::new(&["run", "scout", "-p", "q"]) };
    check(
        command,
        vec![goes_on(sessions, "started", told), its_events()],
        expect![[r#"
            exit 0
            --- stdout
            found
            --- stderr
            note: continuing session 019aa1b2-c3d4 (Mend the ^[[2J docs); --new opens a new one
            ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s

        "#]],
    );
    let params = heard.recv().unwrap();
    assert_eq!((&params["sessionId"], &params["workspace"]), (&json!(SESSION), &Value::Null));
}

#[test]
fn on_a_terminal_without_a_session_a_new_one_is_opened() {
    let (told, heard) = mpsc::channel();
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("session/list", json!({"sessions": []}));
        told.send(start_run(peer)).unwrap();
        peer.answer("run/get", goal());
        peer.wait_for_hangup();
    });
    let command = Command { is_terminal: true, ..Command::new(&["run", "scout", "-p", "q"]) };
    let ran = command.against(vec![control, events(vec![completed(1, &goal())])]);
    assert_eq!((ran.exit_code, ran.stderr.contains("continuing")), (0, false), "{}", ran.stderr);
    let params = heard.recv().unwrap();
    assert!(params["sessionId"].is_null() && params["workspace"].is_string(), "{params}");
}

/// The fake daemon fails on a request that it does not expect, and here it expects no `session/list`.
#[test]
fn a_pipe_a_detached_run_and_new_open_a_new_session() {
    let piped = Command { stdin: Some("q"), is_terminal: true, ..Command::new(&["run", "scout"]) };
    let detached = Command { is_terminal: true, ..Command::new(&["run", "scout", "-p", "q", "--detach"]) };
    let new =
        Command { is_terminal: true, ..Command::new(&["run", "scout", "-p", "q", "--new", "--detach"]) };
    let redirected = Command::new(&["run", "scout", "-p", "q", "--detach"]);
    for command in [detached, new, redirected] {
        let script: DaemonScript = Box::new(|peer| {
            say_hello(peer);
            assert!(start_run(peer)["sessionId"].is_null());
            peer.wait_for_hangup();
        });
        assert_eq!(command.against(vec![script]).exit_code, 0);
    }
    let scripts = vec![control(goal()), events(vec![completed(1, &goal())])];
    assert_eq!(piped.against(scripts).exit_code, 0);
}

#[test]
fn continue_goes_on_in_a_pipe_too_and_fails_when_there_is_nothing_to_continue() {
    let (told, heard) = mpsc::channel();
    let sessions = json!({"sessions": [{"sessionId": SESSION}]});
    let ran = Command::new(&["run", "scout", "-p", "q", "--continue"])
        .against(vec![goes_on(sessions, "started", told), its_events()]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "found\n"));
    assert_eq!(heard.recv().unwrap()["sessionId"], SESSION);

    let none: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        peer.answer("session/list", json!({"sessions": []}));
        peer.wait_for_hangup();
    });
    check(
        Command::new(&["run", "scout", "-p", "q", "--continue"]),
        vec![none],
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: there is no open session in FOLDER to continue
            hint: leave --continue out to open one; `subagent sessions` lists those there are
        "#]],
    );
}

#[test]
fn a_session_is_named_by_the_beginning_of_its_id() {
    let (told, heard) = mpsc::channel();
    let other = "019aa1b2-c3d4-7002-8000-00000000000b";
    let listed = move || {
        json!({"sessions": [
            {"sessionId": SESSION, "roots": ["/w"], "lastActiveAt": "2025-11-20T11:04:00.000Z"},
            {"sessionId": other, "title": "Other", "lastActiveAt": "2025-11-20T11:03:00.000Z"},
        ]})
    };
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        let params = peer.answer("session/list", json!({"sessions": [], "nextCursor": "older"}));
        assert!(params["cursor"].is_null(), "{params}");
        assert_eq!(peer.answer("session/list", listed())["cursor"], "older");
        told.send(peer.answer("run/start", started("started", SESSION))).unwrap();
        peer.wait_for_hangup();
    });
    let arguments = ["run", "scout", "-p", "q", "--session", "019aa1b2-c3d4-7001", "--detach"];
    assert_eq!(Command::new(&arguments).against(vec![script]).exit_code, 0);
    assert_eq!(heard.recv().unwrap()["sessionId"], SESSION);

    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("session/list", listed());
        peer.wait_for_hangup();
    });
    check(
        Command::new(&["run", "scout", "-p", "q", "--session", "019aa1b2"]),
        vec![script],
        expect![[r#"
            exit 2
            --- stdout
            --- stderr
            error: several sessions have ids that begin with `019aa1b2`
              019aa1b2-c3d4-7001  /w · 2025-11-20T11:04:00.000Z
              019aa1b2-c3d4-7002  Other · 2025-11-20T11:03:00.000Z
            hint: give more of the id
        "#]],
    );
}

#[test]
fn a_busy_agent_lets_the_run_wait_which_is_told_and_followed() {
    let (told, heard) = mpsc::channel();
    let sessions = json!({"sessions": [{"sessionId": SESSION}]});
    let stream: DaemonScript = Box::new(|peer| {
        assert_eq!(peer.answer("session/attach", json!("1"))["from"], 40);
        peer.event(envelope(41, "run.queued", json!({"for": "context"})));
        // The run before it ends, which is not the end of this one.
        let mut other = completed(42, &goal());
        other["runId"] = json!("r0");
        peer.event(other);
        peer.event(envelope(43, "run.queued", json!({"for": "place"})));
        peer.event(envelope(44, "run.queued", json!({"for": "miracle"})));
        peer.event(completed(45, &goal()));
        peer.wait_for_hangup();
    });
    check(
        Command::new(&["run", "scout", "-p", "q", "--continue"]),
        vec![goes_on(sessions, "queued", told), stream],
        expect![[r#"
            exit 0
            --- stdout
            found
            --- stderr
            note: continuing session 019aa1b2-c3d4; --new opens a new one
            note: queued: scout has a run in this session that is not over; this one begins after it
            … scout waits for its turn: another run of it is not over
            … scout waits for a place among the runs at work
            … scout waits for: miracle
            ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
        "#]],
    );
    assert_eq!(heard.recv().unwrap()["ifBusy"], "queue");
}

#[test]
fn a_busy_agent_can_be_spoken_to_and_its_run_is_followed() {
    let (told, heard) = mpsc::channel();
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        told.send(peer.answer("run/start", started("steered", SESSION))).unwrap();
        peer.answer("run/get", goal());
        peer.wait_for_hangup();
    });
    let stream: DaemonScript = Box::new(|peer| {
        assert_eq!(peer.answer("session/attach", json!("1"))["from"], "now");
        let running = record(json!({"state": "running"}));
        let session = json!({"sessionId": SESSION, "roots": ["/w"]});
        let data = json!({"seq": 42, "session": session, "runs": [running], "openItems": []});
        peer.event(json!({"type": "signal.snapshot", "sessionId": SESSION, "data": data}));
        peer.event(envelope(43, "run.steered", json!({"steerId": "t1", "text": "q", "turn": 3})));
        peer.event(completed(44, &goal()));
        peer.wait_for_hangup();
    });
    check(
        Command::new(&["run", "scout", "-p", "q", "--session", SESSION, "--if-busy", "steer"]),
        vec![control, stream],
        expect![[r#"
            exit 0
            --- stdout
            found
            --- stderr
            note: said to run r1 of scout, which is not over; following it
            session 019aa1b2-c3d4-7001-8000-00000000000a in /w
            ▶ scout · running · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
            » read in turn 3: q
            ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
        "#]],
    );
    assert_eq!(heard.recv().unwrap()["ifBusy"], "steer");
}

#[test]
fn a_run_that_ended_before_it_could_be_followed_is_over() {
    let control: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        peer.answer("run/start", started("steered", SESSION));
        peer.answer("run/get", goal());
        peer.wait_for_hangup();
    });
    let data = json!({"seq": 50, "session": {}, "runs": [goal()], "openItems": []});
    let stream = events(vec![json!({"type": "signal.snapshot", "data": data})]);
    let arguments = ["run", "scout", "-p", "q", "--session", SESSION, "--if-busy", "steer"];
    let ran = Command::new(&arguments).against(vec![control, stream]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "found\n"));
}

#[test]
fn a_refusal_because_of_a_busy_agent_is_told_at_once() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        let data = json!({"kind": "BUSY", "retryable": true});
        peer.refuse("run/start", json!({"code": -31026, "message": "scout is busy", "data": data}));
        peer.wait_for_hangup();
    });
    let arguments = ["run", "scout", "-p", "q", "--session", SESSION, "--if-busy", "reject"];
    check(
        Command::new(&arguments),
        vec![script],
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: scout is busy
        hint: leave --if-busy out, and it waits for its turn
    "#]],
    );
}

#[test]
fn a_start_whose_answer_is_lost_is_repeated_under_the_same_key() {
    let (told, heard) = mpsc::channel();
    let again = told.clone();
    let scripts: Vec<DaemonScript> = vec![
        Box::new(move |peer| {
            say_hello(peer);
            told.send(peer.hang_up_on("run/start")).unwrap();
        }),
        // A daemon that is about to stop is not the end of it.
        Box::new(|peer| {
            let data = json!({"kind": "SHUTTING_DOWN", "retryable": true});
            peer.refuse("run/start", json!({"code": -31006, "message": "stopping", "data": data}));
            peer.hang_up_on("run/start");
        }),
        Box::new(move |peer| {
            let mut answer = started("started", "s1");
            answer["replayed"] = json!(true);
            again.send(peer.answer("run/start", answer)).unwrap();
            peer.answer("run/get", goal());
            peer.wait_for_hangup();
        }),
        events(vec![completed(1, &goal())]),
    ];
    check(
        Command::new(&["run", "scout", "-p", "q"]),
        scripts,
        expect![[r#"
            exit 0
            --- stdout
            found
            --- stderr
            note: the daemon's answer got lost; asking again
            ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
        "#]],
    );
    let (first, second) = (heard.recv().unwrap(), heard.recv().unwrap());
    assert!(first["idempotencyKey"].as_str().is_some_and(|key| key.len() > 16), "{first}");
    assert_eq!(first, second);
}

#[test]
fn contradictory_wishes_are_usage_errors() {
    let folder = tempfile::tempdir().unwrap();
    for more in [
        &["--new", "--continue"][..],
        &["--session", "s1", "--new"],
        &["--session", "s1", "--workspace", "."],
        &["--if-busy", "shout"],
    ] {
        let ran = Command::new(&[&["run", "scout", "-p", "q"], more].concat()).run(folder.path());
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (2, ""), "{more:?}: {}", ran.stderr);
    }
}
