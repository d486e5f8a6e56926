//! `list`, `status`, `stop`, `rpc`, and a daemon that is not there.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

fn status(instance: &str) -> Value {
    let daemon = json!({
        "name": "subagentd", "version": "0.1.0", "pid": 7, "instance": instance, "logId": "l1",
        "startedAt": "2025-11-20T11:00:00.000Z",
    });
    json!({
        "daemon": daemon, "uptimeMs": 7_380_000,
        "runs": {"queued": 0, "running": 1, "waiting": 2, "parked": 0, "ended": 345},
        "clients": 1, "subscriptions": 2,
        "database": {"path": "/state/subagentd.db", "bytes": 1_300_000, "head": 4711},
        "rssBytes": 18_900_000, "degraded": ["the disk is nearly full"],
        "counts": {
            "runsEnded": {"GOAL": 4, "TIMEOUT": 1}, "slotQueue": 0, "modelRequests": {"count": 31, "p50Us": 1_000_000},
            "toolCalls": {"count": 60, "failed": 2}, "answers": {"count": 0}, "commits": {"count": 200}, "maxLag": 0,
            "usage": {"promptTokens": 91_000, "cachedTokens": 0, "outputTokens": 2_400, "thoughtTokens": 100},
            "cost": {"amount": "0.12", "currency": "USD"},
        },
    })
}

#[test]
fn status_reads_at_a_glance() {
    let script: DaemonScript = Box::new(|peer| {
        peer.answer("daemon/status", status("i1"));
    });
    check(
        Command::new(&["status"]),
        vec![script],
        expect![[r#"
            exit 0
            --- stdout
            subagentd 0.1.0, pid 7, up 2 h 3 min
            socket    FOLDER/fake.sock
            database  /state/subagentd.db, 1.2 MiB, 4711 events
            runs      1 running, 2 waiting, 345 ended
            clients   1 client, 2 subscriptions
            done      5 runs, 31 model requests, 60 tool calls (2 failed), 91.0k tokens → 2500 tokens since it started
            memory    18.0 MiB
            degraded  the disk is nearly full
            --- stderr
        "#]],
    );
}

#[test]
fn without_a_daemon_the_exit_code_is_69_and_a_hint_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let mut told = String::new();
    for command in [&["status"][..], &["stop"], &["list"], &["run", "scout", "-p", "q"], &["rpc", "ping"]] {
        let ran = Command::new(command).run(folder.path());
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (69, ""), "{command:?}");
        told.push_str(&format!("{}\n{}", command[0], ran.stderr));
    }
    expect![[r#"
        status
        error: no daemon is running (socket FOLDER/none.sock)
        hint: `subagent run` starts one, or run `subagentd`
        stop
        error: no daemon is running (socket FOLDER/none.sock)
        hint: `subagent run` starts one, or run `subagentd`
        list
        error: no daemon listens on FOLDER/none.sock
        hint: start one with `subagentd`
        run
        error: no daemon listens on FOLDER/none.sock
        hint: start one with `subagentd`
        rpc
        error: no daemon listens on FOLDER/none.sock
        hint: start one with `subagentd`
    "#]]
    .assert_eq(&told);
}

#[test]
fn usage_errors_exit_2() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        &["run"][..],
        &["fly"],
        &["run", "scout", "--input", "novalue"],
        &["run", "scout", "--timeout", "-1"],
        &["run", "scout", "--max-turns", "0"],
        &["run", "scout", "-p", "q", "--workspace", "/does/not/exist"],
        &["run", "scout", "-p", "q", "--inputs", "/does/not/exist"],
        &["rpc", "ping", "3"],
    ] {
        let ran = Command::new(command).run(folder.path());
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (2, ""), "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
    assert_eq!(Command::new(&["--version"]).run(folder.path()).exit_code, 0);
}

fn agents() -> Value {
    let agent = |name: &str, scope: &str, status: &str, model: &str| {
        json!({
            "name": name, "title": format!("The {name}"), "model": model, "scope": scope, "status": status,
            "digest": "sha256:00", "inputs": [],
        })
    };
    let mut invalid = agent("broken", "user", "invalid", "inherit");
    invalid["problems"] = json!([{
        "path": "/home/u/agents/broken.md", "line": 3, "column": 7, "severity": "error", "code": "BAD_YAML",
        "message": "expected `:`\u{1b}[2J", "fix": "write `name: broken`",
    }]);
    let mut hidden = agent("generalist", "builtin", "hidden", "inherit");
    hidden["hiddenBy"] = json!("/home/u/agents/generalist.md");
    json!({"agents": [
        agent("codebase-investigator", "builtin", "ok", "inherit"),
        hidden,
        agent("generalist", "user", "ok", "fast"),
        invalid,
        agent("deployer", "project", "untrusted", "inherit"),
    ]})
}

#[test]
fn list_groups_and_tells_why_an_agent_cannot_be_used() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        let params = peer.answer("agents/list", agents());
        assert_eq!((&params["includeHidden"], &params["includeInvalid"]), (&json!(true), &json!(true)));
        assert!(params["workspace"].is_string());
    });
    check(
        Command::new(&["list", "--all"]),
        vec![script],
        expect![[r#"
            exit 0
            --- stdout
            Project
              deployer               The deployer               inherit  untrusted
                  cannot be started: nobody has read and trusted it; `subagent trust deployer`

            User
              generalist             The generalist             fast     ok
              broken                 The broken                 inherit  invalid
                  /home/u/agents/broken.md:3:7: expected `:`^[[2J (write `name: broken`)

            Built in
              codebase-investigator  The codebase-investigator  inherit  ok
              generalist             The generalist             inherit  hidden
                  hidden by /home/u/agents/generalist.md
            --- stderr
        "#]],
    );
}

#[test]
fn list_as_json_is_the_answer() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        peer.answer("agents/list", agents());
    });
    let ran = Command::new(&["list", "--format", "json"]).against(vec![script]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), agents());
}

#[test]
fn stop_waits_until_the_daemon_is_gone() {
    let stopping: DaemonScript = Box::new(|peer| {
        peer.answer("daemon/status", status("i1"));
        peer.answer("daemon/shutdown", json!({"suspendedRuns": 2}));
    });
    let still_there: DaemonScript = Box::new(|peer| {
        peer.answer("daemon/status", status("i1"));
    });
    check(
        Command::new(&["stop"]),
        vec![stopping, still_there],
        expect![[r#"
        exit 0
        --- stdout
        stopped; 2 runs will go on when the daemon starts again
        --- stderr
    "#]],
    );
}

#[test]
fn stop_is_not_fooled_by_a_successor() {
    let stopping: DaemonScript = Box::new(|peer| {
        peer.answer("daemon/status", status("i1"));
        peer.answer("daemon/shutdown", json!({"suspendedRuns": 0}));
    });
    let successor: DaemonScript = Box::new(|peer| {
        peer.answer("daemon/status", status("i2"));
    });
    let ran = Command::new(&["stop"]).against(vec![stopping, successor]);
    assert_eq!(ran.exit_code, 0);
    assert!(ran.stdout.contains("another client has started a new daemon"), "{}", ran.stdout);
}

#[test]
fn rpc_prints_any_answer() {
    let script: DaemonScript = Box::new(|peer| {
        peer.takes_wrong_params = true;
        let params = peer.answer("future/method", json!({"b": 1, "a": [true, null]}));
        assert_eq!(params, json!({"x": 1}));
    });
    check(
        Command::new(&["rpc", "future/method", "{\"x\":1}"]),
        vec![script],
        expect![[r#"
        exit 0
        --- stdout
        {
          "b": 1,
          "a": [
            true,
            null
          ]
        }
        --- stderr
    "#]],
    );
}

#[test]
fn rpc_prints_an_error_as_json_on_stderr() {
    let error = json!({"code": -32601, "message": "no method", "data": {"didYouMean": "ping"}});
    let script: DaemonScript = Box::new(move |peer| {
        peer.takes_wrong_params = true;
        peer.refuse("pong", error);
    });
    check(
        Command::new(&["rpc", "pong"]),
        vec![script],
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        {
          "code": -32601,
          "message": "no method",
          "data": {
            "didYouMean": "ping"
          }
        }
    "#]],
    );
}

#[test]
fn rpc_streams_a_subscription_until_ctrl_c() {
    let sent = envelope(1, "turn.started", json!({"turn": 1, "unknown": "kept"}));
    let expected = format!("{sent}\n");
    let stream = events(vec![sent]);
    let mut command = Command::new(&["rpc", "session/attach", "{\"sessionId\":\"s1\"}"]);
    command.interrupt_after_stdout = true;
    let ran = command.against(vec![stream]);
    assert_eq!((ran.exit_code, ran.stdout), (130, expected));
}

#[test]
fn a_daemon_of_another_version_is_worth_a_word() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello_as(peer, "9.9.9");
        peer.answer("agents/list", json!({"agents": []}));
    });
    let ran = Command::new(&["list"]).against(vec![script]);
    assert!(ran.stderr.starts_with("note: the daemon is version 9.9.9, this is "), "{}", ran.stderr);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "no agents\n"));
}

/// Whoever makes a failure says what to do about it, in the same statement.
#[test]
fn every_failure_says_what_to_do() {
    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if !path.ends_with("tests") => sources(&path, found),
                false if !path.ends_with("failure.rs") && !path.ends_with("tests.rs") => found.push(path),
                _ => {}
            }
        }
    }
    let mut files = Vec::new();
    sources(Path::new(env!("CARGO_MANIFEST_DIR")), &mut files);
    let (mut mute, mut seen) = (Vec::new(), 0);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for maker in ["new", "usage", "unavailable", "with_code"] {
            for rest in text.split(&format!("Failure::{maker}(")).skip(1) {
                seen += 1;
                let statement = rest.split("Failure::").next().unwrap();
                // Where the next item begins, whatever is said there is not about this.
                let statement = statement.split("\n}").next().unwrap();
                if !statement.contains(".or_hint(") {
                    mute.push(format!("{}: {}", file.display(), rest.lines().next().unwrap()));
                }
            }
        }
    }
    assert_eq!(mute, [] as [String; 0]);
    assert!(seen > 15, "{seen}");
}

#[test]
fn a_refusal_without_a_hint_gets_one_whatever_its_kind() {
    let kinds = protocol::ErrorKind::ALL.iter().map(|kind| kind.as_str()).chain(["TOO_BLUE"]);
    for kind in kinds {
        let script: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            let data = json!({"kind": kind, "retryable": false});
            peer.refuse("run/list", json!({"code": -31999, "message": "no", "data": data}));
        });
        let ran = Command::new(&["runs"]).against(vec![script]);
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert!(matches!(lines[..], ["error: no", hint] if hint.starts_with("hint: ")), "{kind}: {lines:?}");
    }
}

#[test]
fn what_comes_of_settings_that_are_no_json_is_said() {
    let problem = |message: &str| json!({"path": "/c/settings.json", "line": 2, "column": 5, "severity": "error", "code": "BAD_VALUE", "message": message});
    let mut told = String::new();
    let stopping = json!(["/c/settings.json"]);
    for (messages, stopped_by) in [
        // Whatever is wrong with it: a list, bytes that are no UTF-8, hooks that cannot be read.
        (&["expected an object with settings"][..], stopping.clone()),
        (&["`run.maxTurns`: expected more"], json!([])),
        // Which of the two stops is not told.
        (&["`run.maxTurns`: expected more", "`hooks`: expected an object"], stopping),
    ] {
        let problems: Vec<Value> = messages.iter().copied().map(problem).collect();
        let reloaded = json!({"changed": ["models.default"], "policies": [], "needsRestart": [], "problems": problems,
            "stoppedBy": stopped_by});
        let script: DaemonScript = Box::new(|peer| {
            peer.answer("daemon/reload", reloaded);
        });
        let ran = Command::new(&["reload"]).against(vec![script]);
        assert_eq!(ran.exit_code, 1);
        told.push_str(&(ran.stdout + &ran.stderr));
    }
    expect![[r#"
        changed: models.default
        (hooks, agents and skills are read without a reload)
        error: /c/settings.json:2:5: expected an object with settings
        hint: mend /c/settings.json:2:5: no prompt and no tool call is accepted before; then reload again, for its settings
        changed: models.default
        (hooks, agents and skills are read without a reload)
        error: /c/settings.json:2:5: `run.maxTurns`: expected more
        hint: a mistaken setting keeps the value it had, a mistaken rule asks or denies; fix it and reload again
        changed: models.default
        (hooks, agents and skills are read without a reload)
        error: /c/settings.json:2:5: `run.maxTurns`: expected more
        error: /c/settings.json:2:5: `hooks`: expected an object
        hint: mend what is wrong in /c/settings.json: no prompt and no tool call is accepted before; then reload again, for its settings
    "#]].assert_eq(&told);
}
