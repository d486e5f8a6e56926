//! `runs`, `wait`, `cancel`, `steer`, `queue`: living with runs.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

const FIRST: &str = "019aa1b2-c3d4-7001-8000-000000000001";
const SECOND: &str = "019aa1b2-c3d4-7002-8000-000000000002";

/// One connection that says hello and answers this call; what was asked is checked.
fn refusing(method: &'static str, code: i64, kind: &'static str, message: &'static str) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        let data = json!({"kind": kind, "retryable": false});
        peer.refuse(method, json!({"code": code, "message": message, "data": data}));
        peer.wait_for_hangup();
    })
}

fn runs() -> Value {
    let error = json!({"code": "MODEL_FAILED", "message": "no answer"});
    json!({"nextCursor": "c7", "runs": [
        record(json!({"runId": SECOND, "state": "dreaming", "activeMs": 300})),
        record(json!({"runId": FIRST, "reason": "GOAL", "result": "\n\u{1b}[2JIt is there.\nAnd here."})),
        record(json!({"runId": "r3", "parentRunId": FIRST, "agent": "reader", "reason": "ERROR", "error": error})),
    ]})
}

#[test]
fn runs_are_a_table() {
    let params = json!({"active": true, "roots": false, "limit": 20});
    check(
        Command::new(&["runs", "--active"]),
        vec![answering("run/list", params, runs())],
        expect![[r#"
            exit 0
            --- stdout
            019aa1b2-c3d4-7002  scout     dreaming  2025-11-20 11:04:00Z  300 ms  -
            019aa1b2-c3d4-7001  scout     GOAL      2025-11-20 11:04:00Z  4.2 s   -  ^[[2JIt is there.
            r3                  ↳ reader  ERROR     2025-11-20 11:04:00Z  4.2 s   -  MODEL_FAILED: no answer
            --- stderr
            note: there are more: raise --limit, or go on with --cursor c7
        "#]],
    );
    let params = json!({"sessionId": "s1", "agent": "scout", "active": false, "roots": false, "cursor": "c7", "limit": 3});
    let arguments = ["runs", "--session", "s1", "--agent", "scout", "-n", "3", "--cursor", "c7"];
    let command = Command { is_terminal: true, ..Command::new(&arguments) };
    let mut last_page = runs();
    last_page["nextCursor"].take();
    check(
        command,
        vec![answering("run/list", params, last_page)],
        expect![[r#"
            exit 0
            --- stdout
            RUN                 AGENT     STATE     STARTED               ACTIVE  PROMPT  RESULT
            019aa1b2-c3d4-7002  scout     dreaming  2025-11-20 11:04:00Z  300 ms  -
            019aa1b2-c3d4-7001  scout     GOAL      2025-11-20 11:04:00Z  4.2 s   -       ^[[2JIt is there.
            r3                  ↳ reader  ERROR     2025-11-20 11:04:00Z  4.2 s   -       MODEL_FAILED: no answer
            --- stderr
        "#]],
    );
}

#[test]
fn runs_as_json_are_the_answer() {
    let params = json!({"active": false, "roots": false, "limit": 20});
    let ran =
        Command::new(&["runs", "--format", "json"]).against(vec![answering("run/list", params, runs())]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), runs());
    assert_eq!((ran.exit_code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn no_runs_are_told() {
    let params = json!({"active": false, "roots": false, "limit": 20});
    let ran = Command::new(&["runs"]).against(vec![answering("run/list", params, json!({"runs": []}))]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "no runs\n"));
}

#[test]
fn an_ambiguous_id_names_the_candidates() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        peer.answer("run/list", runs());
        assert_eq!(peer.answer("run/list", json!({"runs": []}))["cursor"], "c7");
        peer.wait_for_hangup();
    });
    check(
        Command::new(&["cancel", "019aa1b2"]),
        vec![script],
        expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: several runs have ids that begin with `019aa1b2`
          019aa1b2-c3d4-7002  scout · dreaming · 2025-11-20T11:04:00.100Z
          019aa1b2-c3d4-7001  scout · GOAL · 2025-11-20T11:04:00.100Z
        hint: give more of the id
    "#]],
    );
}

#[test]
fn a_beginning_that_fits_no_run_goes_to_the_daemon_as_it_is() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        peer.answer("run/list", json!({"runs": []}));
        let data = json!({"kind": "NOT_FOUND", "retryable": false});
        let params =
            peer.refuse("run/cancel", json!({"code": -31010, "message": "no run `beef`", "data": data}));
        assert_eq!(params, json!({"runId": "beef"}));
        peer.wait_for_hangup();
    });
    check(
        Command::new(&["cancel", "beef"]),
        vec![script],
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: no run `beef`
            hint: `subagent list`, `runs` and `sessions` show what there is
        "#]],
    );
}

#[test]
fn wait_asks_until_the_run_has_ended_and_ends_like_it() {
    let running = record(json!({"state": "running"}));
    let ended = record(json!({"reason": "MAX_TURNS", "partialResult": "half"}));
    let script = |running: Value, ended: Value| -> Vec<DaemonScript> {
        vec![
            Box::new(move |peer| {
                say_hello(peer);
                let params = peer.answer("run/wait", json!({"run": running, "done": false}));
                assert_eq!(params, json!({"runId": "r1", "timeoutMs": 10_000}));
                // The daemon is restarted.
                peer.hang_up_on("run/wait");
            }),
            Box::new(move |peer| {
                peer.answer("run/wait", json!({"run": ended, "done": true}));
                peer.wait_for_hangup();
            }),
        ]
    };
    check(
        Command::new(&["wait", "r1"]),
        script(running.clone(), ended.clone()),
        expect![[r#"
            exit 3
            --- stdout
            half
            --- stderr
            error: the run ended MAX_TURNS
            hint: allow more with --max-turns N, or ask for less at a time
        "#]],
    );
    let ran = Command::new(&["wait", "r1", "--format", "json"]).against(script(running, ended.clone()));
    assert_eq!((ran.exit_code, serde_json::from_str::<Value>(&ran.stdout).unwrap()), (3, ended));
}

#[test]
fn wait_gives_up_in_time_with_a_code_of_its_own() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        let params =
            peer.answer("run/wait", json!({"run": record(json!({"state": "running"})), "done": false}));
        assert!(params["timeoutMs"].as_u64().is_some_and(|ms| ms <= 60), "{params}");
        peer.wait_for_hangup();
    });
    // Six nanoseconds: over before the daemon is asked.
    let ran = Command::new(&["wait", "r1", "--timeout", "0.0000000001"]).against(vec![script]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (124, ""));
    expect![[r#"
        error: after 0 ms the run is not over: running · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
        hint: `subagent attach r1` shows what it does
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn cancel_tells_in_one_line_what_was_done() {
    let answers = [
        json!({"run": record(json!({"state": "running"})), "seq": 9}),
        json!({"run": record(json!({"reason": "ABORTED"})), "seq": 9}),
        json!({"run": record(json!({"reason": "GOAL"}))}),
        json!({"run": record(json!({"state": "running"}))}),
    ];
    let mut told = String::new();
    for answer in answers {
        let params = json!({"runId": "r1", "reason": "too slow"});
        let script = answering("run/cancel", params, answer);
        let ran = Command::new(&["cancel", "r1", "--reason", "too slow"]).against(vec![script]);
        assert_eq!((ran.exit_code, ran.stderr.as_str()), (0, ""));
        told.push_str(&ran.stdout);
    }
    expect![[r#"
        cancelling run r1 of scout
        cancelled run r1 of scout: ABORTED
        run r1 of scout had ended before: GOAL
        run r1 of scout is being cancelled already
    "#]]
    .assert_eq(&told);
}

#[test]
fn steer_says_what_was_typed_or_piped() {
    for (arguments, stdin) in
        [(&["steer", "r1", "look left"][..], None), (&["steer", "r1"], Some("look left\n"))]
    {
        let script: DaemonScript = Box::new(|peer| {
            say_hello(peer);
            let mut params = peer.answer("run/steer", json!({"runId": "r1", "seq": 9}));
            assert!(params["idempotencyKey"].take().is_string());
            assert_eq!(params, json!({"runId": "r1", "text": "look left", "idempotencyKey": null}));
            peer.wait_for_hangup();
        });
        let ran = Command { stdin, ..Command::new(arguments) }.against(vec![script]);
        assert_eq!((ran.exit_code, ran.stderr.as_str()), (0, ""));
        assert_eq!(ran.stdout, "said to run r1; its model reads it at the next turn\n");
    }
}

#[test]
fn a_run_that_is_over_hears_nothing() {
    check(
        Command::new(&["steer", "r1", "look left"]),
        vec![refusing("run/steer", -31025, "RUN_NOT_ACTIVE", "the run has ended")],
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: the run has ended
            hint: `subagent runs --active` lists the runs that are not over
        "#]],
    );
}

#[test]
fn a_message_whose_answer_is_lost_is_said_once() {
    let keys = std::sync::mpsc::channel();
    let (first, second) = (keys.0.clone(), keys.0);
    let scripts: Vec<DaemonScript> = vec![
        Box::new(move |peer| {
            say_hello(peer);
            first.send(peer.hang_up_on("run/steer")["idempotencyKey"].take()).unwrap();
        }),
        Box::new(move |peer| {
            let mut params = peer.answer("run/steer", json!({"runId": "r1", "seq": 9, "replayed": true}));
            second.send(params["idempotencyKey"].take()).unwrap();
            peer.wait_for_hangup();
        }),
    ];
    assert_eq!(Command::new(&["steer", "r1", "x"]).against(scripts).exit_code, 0);
    assert_eq!(keys.1.recv().unwrap(), keys.1.recv().unwrap());
}

fn waiting() -> Value {
    json!({"queue": [{
        "runId": SECOND, "sessionId": "s1", "agent": "scout", "for": "context", "query": "Where\u{1b}[2J?\nAnd why?",
        "queuedAt": "2025-11-20T11:04:00.000Z",
    }]})
}

#[test]
fn the_queue_is_listed_in_its_order() {
    let command = Command { is_terminal: true, ..Command::new(&["queue", "list", "--session", "s1"]) };
    check(
        command,
        vec![answering("queue/list", json!({"sessionId": "s1"}), waiting())],
        expect![[r#"
            exit 0
            --- stdout
            RUN            SESSION  AGENT  WAITS FOR  SINCE                 PROMPT
            019aa1b2-c3d4  s1       scout  context    2025-11-20 11:04:00Z  Where^[[2J?
            --- stderr
        "#]],
    );
    let ran = Command::new(&["queue", "list", "--format", "json"]).against(vec![answering(
        "queue/list",
        json!({}),
        waiting(),
    )]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), waiting());
    let ran = Command::new(&["queue", "list"]).against(vec![answering(
        "queue/list",
        json!({}),
        json!({"queue": []}),
    )]);
    assert_eq!(ran.stdout, "no run waits for its turn in a context\n");
}

#[test]
fn runs_are_taken_out_of_the_queue_and_put_to_its_front() {
    let answer = || json!({"runId": "r1", "seq": 9});
    let mut told = String::new();
    for (verb, method) in [("remove", "queue/remove"), ("promote", "queue/promote")] {
        let script = answering(method, json!({"runId": "r1"}), answer());
        told.push_str(&Command::new(&["queue", verb, "r1"]).against(vec![script]).stdout);
        let script = refusing(method, -31025, "RUN_NOT_ACTIVE", "the run waits no more");
        let ran = Command::new(&["queue", verb, "r1"]).against(vec![script]);
        assert_eq!(ran.exit_code, 1);
        told.push_str(&ran.stderr);
    }
    expect![[r#"
        removed run r1; it ended ABORTED
        error: the run waits no more
        hint: `subagent runs --active` lists the runs that are not over
        run r1 is the next of its context
        error: the run waits no more
        hint: `subagent runs --active` lists the runs that are not over
    "#]]
    .assert_eq(&told);
}

#[test]
fn usage_errors_exit_2() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["wait"][..],
        &["wait", "r1", "--timeout", "0"],
        &["cancel"],
        &["steer", "r1"],
        &["steer", "r1", " "],
        &["queue"],
        &["queue", "jump", "r1"],
        &["runs", "-n", "0"],
        &["runs", "-n", "1001"],
    ] {
        let ran = Command::new(arguments).run(folder.path());
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
    }
    for arguments in [
        &["runs"][..],
        &["wait", "r1"],
        &["cancel", "r1"],
        &["steer", "r1", "x"],
        &["queue", "list"],
        &["sessions"],
    ] {
        assert_eq!(Command::new(arguments).run(folder.path()).exit_code, 69, "{arguments:?}");
    }
}

#[test]
fn on_a_terminal_a_table_fits_and_is_coloured_by_meaning() {
    let show = |columns, arguments: &[&str]| {
        let script = answering("run/list", json!({"active": false, "roots": false, "limit": 20}), runs());
        Command { is_terminal: true, columns, ..Command::new(arguments) }.against(vec![script]).stdout
    };
    for columns in [80, 100, 200] {
        let table = show(columns, &["runs"]);
        for line in table.lines() {
            assert!(crate::width::of(line) <= columns, "{columns}: {line}");
        }
        assert!(table.starts_with("RUN ") && !table.contains('\x1b'), "{table}");
    }
    assert!(show(200, &["runs"]).contains("MODEL_FAILED: no answer"));
    let narrow = show(80, &["runs"]);
    assert!(narrow.contains("  STARTED       ACTIVE") && !narrow.contains("RESULT"), "{narrow}");
    let colored = show(200, &["runs", "--color", "always"]);
    for painted in ["\x1b[1mRUN\x1b[0m", "\x1b[32mGOAL\x1b[0m", "\x1b[31mERROR\x1b[0m", "  dreaming  "] {
        assert!(colored.contains(painted), "{painted:?}: {colored:?}");
    }
    assert!(!show(200, &["runs", "--color", "never"]).contains('\x1b'));
}
