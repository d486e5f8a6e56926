//! `tools`: a call of one's own, with its questions, and all of an output that was cut.

use serde_json::{Value, json};

use super::{
    asking::{CHOOSE, question},
    *,
};
use crate::link::patience;

fn called(result: Value) -> Value {
    json!({"callId": "k1", "runId": "r1", "result": result, "seq": 9})
}

#[test]
fn a_call_in_a_pipe_prints_what_the_tool_says() {
    let answer = called(json!({
        "llmContent": [{"type": "text", "text": "one"}, {"type": "inlineData"}, {"type": "text", "text": "two"}],
        "fullOutput": {"path": "/a/k1.txt", "bytes": 9, "totalBytes": 9},
    }));
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        let created = peer.answer("session/create", json!({"sessionId": "s9", "seq": 1}));
        assert!(created["workspace"].is_string() && created["idempotencyKey"].is_string());
        let params = peer.answer("tools/call", answer);
        assert_eq!(
            params,
            json!({"sessionId": "s9", "tool": "grep", "arguments": {"pattern": "x", "context": 2}})
        );
    });
    let ran =
        Command::new(&["tools", "call", "grep", "--args", "pattern=x", "context=2"]).against(vec![script]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "one\ntwo\n"), "{ran:?}");
    assert!(ran.stderr.contains("`subagent tools output k1` prints all of it"), "{}", ran.stderr);
}

#[test]
fn a_call_that_fails_exits_1_and_says_why() {
    let error = json!({"type": "FILE_NOT_FOUND", "message": "there is no `\u{1b}x`"});
    let result = json!({"llmContent": [{"type": "text", "text": "FILE_NOT_FOUND: …"}], "error": error});
    let script = answering(
        "tools/call",
        json!({"sessionId": "s1", "tool": "read_file", "arguments": {"path": "x"}}),
        called(result),
    );
    let arguments = ["tools", "call", "read_file", "--args", r#"{"path": "x"}"#, "--session", "s1"];
    let ran = Command::new(&arguments).against(vec![script]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.starts_with("error: the call failed, FILE_NOT_FOUND: there is no"), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'));
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["tools", "call"][..],
        &["tools", "--agent", "a", "call", "grep"],
        &["tools", "call", "grep", "--args", "{"],
    ] {
        assert_eq!(Command::new(arguments).run(folder.path()).exit_code, 2, "{arguments:?}");
    }
}

#[test]
fn a_command_that_fails_is_printed_and_exits_1() {
    for (data, exit_code) in [
        (json!({"exitCode": 3, "signal": null}), 1),
        (json!({"exitCode": null, "signal": "9 (KILL)"}), 1),
        (json!({"exitCode": 0, "signal": null}), 0),
        // What is read of one in the background went well, whatever became of that.
        (json!({"exitCode": 3, "signal": null, "running": false}), 0),
    ] {
        for format in ["text", "json"] {
            let answer =
                called(json!({"llmContent": [{"type": "text", "text": "what it says"}], "data": data}));
            let script: DaemonScript = Box::new(move |peer| {
                say_hello(peer);
                peer.answer("tools/call", answer);
            });
            let arguments = [
                "tools",
                "call",
                "run_shell_command",
                "--args",
                "command=x",
                "--session",
                "s1",
                "--format",
                format,
            ];
            let ran = Command::new(&arguments).against(vec![script]);
            assert_eq!(ran.exit_code, exit_code, "{data} {format}");
            assert!(ran.stdout.contains("what it says"), "{ran:?}");
        }
    }
}

#[test]
fn a_call_that_waits_for_a_person_names_its_own_question() {
    let (looked, until_looked) = std::sync::mpsc::channel::<()>();
    let calls: DaemonScript = Box::new(move |peer| {
        // As `c1`.
        say_hello(peer);
        let result = json!({"llmContent": [{"type": "text", "text": "written"}]});
        peer.answer_when("tools/call", called(result), || until_looked.recv().unwrap());
        peer.wait_for_hangup();
    });
    let own = "019aa1b2-c3d9-7001-8000-00000000000a";
    let looks: DaemonScript = Box::new(move |peer| {
        let others = question(json!({"initiator": "c7"}));
        let params = peer.answer("confirmation/list", json!({"confirmations": [&others]}));
        assert_eq!(params["sessionId"], "s1");
        // It is asked a little later.
        let own = question(json!({"confirmationId": own, "initiator": "c1"}));
        peer.answer("confirmation/list", json!({"confirmations": [others, own]}));
        looked.send(()).unwrap();
        peer.wait_for_hangup();
    });
    let ran = Command::new(&["tools", "call", "write_file", "--args", "path=a", "--session", "s1"])
        .against(vec![calls, looks]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "written\n"), "{ran:?}");
    assert_eq!(
        ran.stderr,
        "note: waits for a person: `subagent approve 019aa1b2-c3d9` or `deny 019aa1b2-c3d9`\n"
    );
}

#[test]
fn tools_are_listed_with_their_sources_and_what_excludes_them() {
    let answer = json!({
        "tools": [
            {"name": "grep", "title": "Search", "kind": "search", "risk": "safe", "source": "builtin", "state": "excluded",
             "rule": "`ripgrep` in the setting tools.exclude"},
            {"name": "discovered_lint", "title": "lint", "kind": "other", "risk": "medium", "source": "discovered",
             "state": "available"},
            {"name": "diagnostics", "title": "Dia\u{1b}gnostics", "kind": "read", "risk": "safe", "source": "client",
             "state": "available", "clientId": "vim"},
            {"name": "of-tomorrow", "source": "moon"},
            {"name": "web_search", "title": "Web", "kind": "fetch", "risk": "low", "source": "builtin", "state": "excluded",
             "rule": "tools.webSearch.backend is not set"},
        ],
        "warnings": ["`bin/tell`: [0] has no name"],
    });
    let script = answering("tools/list", json!({"agent": "reader", "sessionId": "s1"}), answer.clone());
    let ran = Command::new(&["tools", "--agent", "reader", "--session", "s1"]).against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{ran:?}");
    let rows: Vec<Vec<&str>> = ran.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    let excluded = "grep builtin search safe excluded by `ripgrep` in the setting tools.exclude · Search";
    assert_eq!(rows[0].join(" "), excluded);
    assert_eq!(rows[1][..5], ["discovered_lint", "discovered", "other", "medium", "available"]);
    assert!(rows[2].join(" ").contains("lent by vim") && !ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    assert_eq!(rows[3][..2], ["of-tomorrow", "moon"]);
    let unset = "web_search builtin fetch low excluded tools.webSearch.backend is not set · Web";
    assert_eq!(rows[4].join(" "), unset);
    assert!(ran.stderr.contains("warning: `bin/tell`: [0] has no name"), "{}", ran.stderr);
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        let params = peer.answer("tools/list", answer);
        assert!(params["workspace"].is_string() && params.get("sessionId").is_none(), "{params}");
    });
    let ran = Command::new(&["tools", "list", "--format", "json"]).against(vec![script]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["tools"][1]["source"], "discovered");
}

#[test]
fn a_daemon_that_goes_away_is_no_answer() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        peer.hang_up_on("tools/call");
    });
    let ran = Command::new(&["tools", "call", "grep", "--session", "s1"]).against(vec![script]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (69, ""), "{ran:?}");
    assert!(ran.stderr.contains("`subagent runs` shows what came of it"), "{}", ran.stderr);
}

/// Events of the run as which a call is carried out; others of the session are nobody's business here.
fn of_run(run: &str, agent: &str, by: Option<&str>, seq: i64, kind: &str, data: Value) -> Value {
    let mut event = envelope(seq, kind, data);
    event["runId"] = json!(run);
    event["agent"] = json!(agent);
    if let Some(by) = by {
        event["by"] = json!(by);
    }
    event
}

#[test]
fn a_call_that_needs_consent_asks_in_place() {
    let (told, asked) = std::sync::mpsc::channel::<String>();
    let (answered, until_answered) = std::sync::mpsc::channel::<()>();
    let calls: DaemonScript = Box::new(move |peer| {
        // The connection that introduced somebody is the one by which the call goes.
        let hello = json!({
            "protocolVersion": "2", "clientId": "c1", "methods": [],
            "daemon": {"name": "subagentd", "version": env!("CARGO_PKG_VERSION"), "pid": 7, "instance": "i1",
                       "logId": "l1", "startedAt": "2025-11-20T11:00:00.000Z"},
        });
        let introduced = peer.answer("initialize", hello);
        told.send(introduced["clientId"].as_str().unwrap().to_owned()).unwrap();
        let result = json!({"llmContent": [{"type": "text", "text": "written"}]});
        let params = peer.answer_when("tools/call", called(result), || until_answered.recv().unwrap());
        assert_eq!(params["tool"], "write_file");
        peer.wait_for_hangup();
    });
    let follows: DaemonScript = Box::new(move |peer| {
        peer.answer("initialize", json!({}));
        peer.answer("session/attach", json!("1"));
        let me = asked.recv().unwrap();
        peer.event(of_run("r7", "client-77", Some("others"), 3, "run.started", json!({"query": "theirs"})));
        peer.event(of_run("r1", "client-11", Some(&me), 4, "run.started", json!({"query": "ours"})));
        for (seq, run, id) in [(5, "r7", "q7"), (6, "r1", "q1")] {
            let confirmation = question(json!({"confirmationId": id, "runId": run}));
            let mut event =
                of_run(run, "x", None, seq, "confirmation.requested", json!({"confirmation": confirmation}));
            event["offered"] = json!(true);
            peer.event(event);
        }
        peer.wait_for_hangup();
    });
    let asks: DaemonScript = Box::new(move |peer| {
        peer.answer("initialize", json!({}));
        let params = peer
            .answer("confirmation/get", json!({"confirmation": question(json!({"confirmationId": "q1"}))}));
        assert_eq!(params["confirmationId"], "q1", "only questions of the own call are asked");
        peer.answer("confirmation/claim", json!({}));
        let resolution =
            json!({"outcome": "allowOnce", "by": "client", "digest": "d", "at": "2025-11-20T11:04:00.000Z"});
        let answer = json!({"confirmationId": "q1", "runId": "r1", "resolution": resolution, "seq": 9});
        assert_eq!(peer.answer("confirmation/respond", answer)["outcome"], "allowOnce");
        answered.send(()).unwrap();
        peer.wait_for_hangup();
    });
    let command = Command {
        is_terminal: true,
        press_after: vec![(CHOOSE, "y")],
        ..Command::new(&["tools", "call", "write_file", "--args", "path=a", "--session", "s1"])
    };
    let ran = command.against(vec![calls, follows, asks]);
    assert_eq!(ran.exit_code, 0, "{ran:?}");
    assert!(ran.stdout.ends_with("written\n") && !ran.stderr.contains("theirs"), "{ran:?}");
}

#[test]
fn an_output_is_paged_and_printed_byte_for_byte() {
    let pages = |arguments: &[&str], is_terminal: bool| {
        let script: DaemonScript = Box::new(|peer| {
            say_hello(peer);
            let page = |text: &str, next: Option<u64>| {
                let mut page =
                    json!({"callId": "k1", "sessionId": "s1", "text": text, "bytes": 8, "totalBytes": 12});
                if let Some(next) = next {
                    page["next"] = json!(next);
                }
                page
            };
            assert_eq!(peer.answer("tools/output", page("a\u{1b}\r\n", Some(4))), json!({"callId": "k1"}));
            assert_eq!(peer.answer("tools/output", page("é\nc", None))["from"], 4);
            peer.wait_for_hangup();
        });
        Command { is_terminal, ..Command::new(arguments) }.against(vec![script])
    };
    let ran = pages(&["tools", "output", "k1"], false);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "a\u{1b}\r\né\nc"));
    assert!(ran.stderr.contains("only the first 8 of its 12 bytes were kept"), "{}", ran.stderr);
    assert_eq!(pages(&["tools", "output", "k1"], true).stdout, "a^[\né\nc\n");
    let json: Value =
        serde_json::from_str(&pages(&["tools", "output", "k1", "--format", "json"], false).stdout).unwrap();
    assert_eq!((&json["text"], json.get("next")), (&json!("a\u{1b}\r\né\nc"), None));
}

#[test]
fn who_waits_for_a_discovery_is_told_so_and_waits_longer_than_it_may_take() {
    let note = "note: waiting for the daemon; the workspace's tools.discoveryCommand may take 30 s\n";
    let nothing = json!({"tools": [], "warnings": []});
    let trusted = json!({"workspace": {"roots": ["/w"], "trusted": true}, "seq": 3});
    let reloaded = json!({"changed": [], "policies": [], "needsRestart": [], "problems": []});
    let started =
        json!({"disposition": "started", "runId": "r1", "sessionId": "s1", "agent": "scout", "seq": 2});
    for (arguments, method, answer, greets) in [
        (&["tools"][..], "tools/list", nothing, true),
        (&["trust", "--no"], "workspace/trust", trusted, true),
        (&["run", "scout", "-p", "q", "--detach"], "run/start", started, true),
        (&["reload"], "daemon/reload", reloaded, false),
    ] {
        let answering = |answer: Value| -> DaemonScript {
            Box::new(move |peer| {
                if greets {
                    say_hello(peer);
                }
                peer.answer(method, answer);
                peer.wait_for_hangup();
            })
        };
        let slow = Command { silence: Duration::ZERO, ..Command::new(arguments) };
        let ran = slow.against(vec![answering(answer.clone())]);
        assert_eq!((ran.exit_code, ran.stderr.matches(note).count()), (0, 1), "{arguments:?}: {ran:?}");
        let quick = Command { silence: Duration::from_secs(60), ..Command::new(arguments) };
        assert!(!quick.against(vec![answering(answer)]).stderr.contains(note), "{arguments:?}");
        assert!(Duration::from_secs(30 + 10) < patience(method), "{method}");
    }
    // Whoever fetches has two minutes.
    for method in ["agents/import", "extension/install"] {
        assert!(Duration::from_secs(120 + 10) < patience(method), "{method}");
    }
    assert!(
        patience("workspace/open") == patience("tools/list") && patience("ping") < patience("tools/list")
    );
}

#[test]
fn models_are_listed_with_what_no_provider_told() {
    let answer = json!({
        "entries": [
            {
                "name": "local", "kind": "openai", "baseUrl": "http://127.0.0.1:1/v1", "key": {"state": "notNeeded"},
                "models": [
                    {"model": "local/a", "title": "A\u{1b}[1m", "window": 32768, "windowFrom": "provider"},
                    {"model": "local/bcd", "window": 128000, "windowFrom": "assumed"},
                ],
                "truncated": true,
            },
            {
                "name": "gemini", "kind": "gemini", "baseUrl": "https://g/", "models": [],
                "key": {"state": "missing"}, "problem": "there is no key: GEMINI_API_KEY is not set",
            },
            {"name": "bad", "models": [], "problem": "its settings have mistakes"},
        ],
        "aliases": [{"name": "quick", "model": "local/a"}],
        "default": "quick", "offline": "offline",
    });
    let script: DaemonScript = Box::new(move |peer| {
        assert_eq!(peer.answer("models/list", answer), json!({"refresh": true, "entry": "local"}));
    });
    check(
        Command::new(&["models", "--refresh", "--entry", "local"]),
        vec![script],
        expect_test::expect![[r#"
            exit 0
            --- stdout
            local/a    32768    A^[[1m
            local/bcd  128000?
            quick is local/a
            quick is the default
            offline is always there
            --- stderr
            local (http://127.0.0.1:1/v1) has more models than are shown
            gemini (https://g/): there is no key: GEMINI_API_KEY is not set
            bad (settings with mistakes): its settings have mistakes
        "#]],
    );
}

#[test]
fn a_model_that_does_not_answer_exits_1() {
    let result = |more: Value| {
        let mut result = json!({
            "model": "a/m", "reachable": false, "latencyMs": 30, "toolCalls": false, "usage": {}, "window": 9,
            "windowFrom": "assumed",
        });
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        result
    };
    let no = result(json!({"problem": "the provider answered 401 Unauthorized"}));
    let deaf = result(
        json!({"reachable": true, "firstTokenMs": 3, "cost": {"amount": "0.00002", "currency": "USD"}}),
    );
    for (answer, expected) in [
        (
            no,
            expect_test::expect![[r#"
        exit 1
        --- stdout
        a/m did not answer (30 ms)
          window  9 tokens (assumed)
          problem the provider answered 401 Unauthorized
        --- stderr
    "#]],
        ),
        (
            deaf,
            expect_test::expect![[r#"
        exit 0
        --- stdout
        a/m answered in 30 ms, the first of it in 3 ms
          tools   did not call the tool it was asked to
          window  9 tokens (assumed)
          cost    $0.00002
        --- stderr
    "#]],
        ),
    ] {
        let script: DaemonScript = Box::new(move |peer| {
            assert_eq!(peer.answer("models/test", answer), json!({"model": "m"}));
        });
        check(Command::new(&["models", "test", "m"]), vec![script], expected);
    }
}
