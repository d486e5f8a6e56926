//! `sessions`, `show`, `validate`, `logs`, and the verbs under `agents`.

use std::fs;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;

fn check(command: Command, scripts: Vec<Script>, expected: Expect) {
    let Ran { exit_code, stdout, stderr } = command.against(scripts);
    expected.assert_eq(&format!("exit {exit_code}\n--- stdout\n{stdout}--- stderr\n{stderr}"));
}

fn answering(method: &'static str, params: Value, answer: Value) -> Script {
    Box::new(move |peer| {
        say_hello(peer);
        assert_eq!(peer.answer(method, answer), params);
        peer.wait_for_hangup();
    })
}

const SESSION: &str = "019aa1b2-c3d4-7001-8000-00000000000a";

fn session(more: Value) -> Value {
    let mut session = json!({
        "sessionId": SESSION, "roots": ["/w"], "state": "open", "createdAt": "2025-11-20T11:00:00.000Z",
        "lastActiveAt": "2025-11-20T11:04:05.600Z",
    });
    for (key, value) in more.as_object().unwrap() {
        session[key] = value.clone();
    }
    session
}

fn sessions() -> Value {
    json!({"sessions": [
        session(json!({"title": "Mend the \u{1b}[2Jdocs", "agent": "scout"})),
        session(json!({"sessionId": "s2", "roots": ["/a", "/b"], "state": "dreaming", "ephemeral": true})),
    ]})
}

#[test]
fn sessions_are_a_table() {
    let params = json!({"limit": 20});
    check(
        Command::new(&["sessions"]),
        vec![answering("session/list", params, sessions())],
        expect![[r#"
        exit 0
        --- stdout
        019aa1b2-c3d4  open                 2025-11-20 11:04:05Z  scout  Mend the ^[[2Jdocs · /w
        s2             dreaming, ephemeral  2025-11-20 11:04:05Z  -      /a, /b
        --- stderr
    "#]],
    );
    let params = json!({"workspace": "/w", "state": "open", "query": "docs", "cursor": "c1", "limit": 2});
    let arguments =
        ["sessions", "--open", "--workspace", "/w", "--query", "docs", "--cursor", "c1", "--limit", "2"];
    let command = Command { is_terminal: true, ..Command::new(&arguments) };
    check(
        command,
        vec![answering("session/list", params, sessions())],
        expect![[r#"
        exit 0
        --- stdout
        SESSION        STATE                LAST ACTIVE           AGENT  TITLE AND FOLDERS
        019aa1b2-c3d4  open                 2025-11-20 11:04:05Z  scout  Mend the ^[[2Jdocs · /w
        s2             dreaming, ephemeral  2025-11-20 11:04:05Z  -      /a, /b
        --- stderr
    "#]],
    );
    let ran = Command::new(&["sessions", "--format", "json"]).against(vec![answering(
        "session/list",
        json!({"limit": 20}),
        sessions(),
    )]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), sessions());
}

#[test]
fn a_session_is_shown_with_its_contexts() {
    let context = |id: &str, agent: &str| {
        json!({
            "contextId": id, "sessionId": SESSION, "agent": agent, "startedAt": "2025-11-20T11:00:00.000Z",
            "lastActiveAt": "2025-11-20T11:04:05.000Z",
        })
    };
    let mut called = context("x2", "reader");
    called["parentRunId"] = json!("r1");
    let answer =
        json!({"session": session(json!({"title": "Docs"})), "contexts": [context("x1", "scout"), called]});
    let params = json!({"sessionId": SESSION});
    check(
        Command::new(&["sessions", "show", SESSION]),
        vec![answering("session/get", params.clone(), answer.clone())],
        expect![[r#"
            exit 0
            --- stdout
            session      019aa1b2-c3d4-7001-8000-00000000000a
            title        Docs
            state        open
            folders      /w
            created      2025-11-20 11:00:00Z
            last active  2025-11-20 11:04:05Z

            contexts
            x1  scout   2025-11-20 11:00:00Z  2025-11-20 11:04:05Z
            x2  reader  2025-11-20 11:00:00Z  2025-11-20 11:04:05Z  called by run r1
            --- stderr
        "#]],
    );
    let ran = Command::new(&["sessions", "show", SESSION, "--format", "json"]).against(vec![answering(
        "session/get",
        params,
        answer.clone(),
    )]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), answer);
}

fn message(run: &str, role: &str, parts: Value) -> Value {
    json!({"seq": 1, "runId": run, "role": role, "parts": parts})
}

#[test]
fn a_history_is_shown_page_by_page() {
    let first = json!({"agent": "scout", "nextCursor": "p2", "messages": [
        message("r1", "user", json!([{"type": "text", "text": "Where?\u{1b}[2J\nAnd why?\n"}])),
        message("r1", "model", json!([
            {"type": "thought", "text": "Look\nthere"},
            {"type": "text", "text": "I look."},
            {"type": "toolCall", "callId": "k1", "name": "grep", "arguments": {"pattern": "error"}},
        ])),
        message("r1", "tool", json!([
            {"type": "toolResult", "callId": "k1", "name": "grep", "parts": [{"type": "text", "text": "a.rs:3"}]},
            {"type": "toolResult", "callId": "k2", "name": "grep", "isError": true, "parts": []},
        ])),
    ]});
    let second = json!({"agent": "scout", "messages": [
        message("r2", "oracle", json!([
            {"type": "inlineData", "mimeType": "image/png", "data": "AA=="}, {"type": "smell"},
        ])),
    ]});
    let page = first.clone();
    let script: Script = Box::new(move |peer| {
        say_hello(peer);
        let params = peer.answer("session/history", first);
        assert_eq!(params, json!({"sessionId": SESSION, "agent": "scout", "limit": 100}));
        assert_eq!(peer.answer("session/history", second)["cursor"], "p2");
        peer.wait_for_hangup();
    });
    let arguments = ["sessions", "history", SESSION, "--agent", "scout"];
    check(
        Command::new(&arguments),
        vec![script],
        expect![[r#"
        exit 0
        --- stdout
        ── run r1
        user:
          Where?^[[2J
          And why?
        model:
          · Look there
          I look.
          ● grep {"pattern":"error"}
        tool:
          ✓ grep a.rs:3
          ✗ grep
        ── run r2
        oracle:
          [image/png]
          [smell]
        --- stderr
    "#]],
    );
    let params = json!({"sessionId": SESSION, "limit": 3});
    let ran = Command::new(&["sessions", "history", SESSION, "-n", "3", "--format", "json"])
        .against(vec![answering("session/history", params, page.clone())]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), page);
}

#[test]
fn sessions_are_closed_and_deleted() {
    let params = || json!({"sessionId": SESSION});
    let answers = [
        ("close", "session/close", json!({"sessionId": SESSION, "seq": 9})),
        ("close", "session/close", json!({"sessionId": SESSION})),
        ("delete", "session/delete", json!({"sessionId": SESSION, "seq": 9, "events": 1})),
    ];
    let mut told = String::new();
    for (verb, method, answer) in answers {
        let ran =
            Command::new(&["sessions", verb, SESSION]).against(vec![answering(method, params(), answer)]);
        assert_eq!((ran.exit_code, ran.stderr.as_str()), (0, ""));
        told.push_str(&ran.stdout);
    }
    let refusing: Script = Box::new(|peer| {
        say_hello(peer);
        let data = json!({"kind": "CONFLICT", "retryable": false, "hint": "cancel its runs first"});
        peer.refuse("session/delete", json!({"code": -31013, "message": "a run of it lives", "data": data}));
        peer.wait_for_hangup();
    });
    let ran = Command::new(&["sessions", "delete", SESSION]).against(vec![refusing]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""));
    told.push_str(&ran.stderr);
    expect![[r#"
        closed session 019aa1b2-c3d4-7001-8000-00000000000a
        session 019aa1b2-c3d4-7001-8000-00000000000a was closed before
        deleted session 019aa1b2-c3d4-7001-8000-00000000000a with its 1 event
        error: a run of it lives
        hint: cancel its runs first
    "#]]
    .assert_eq(&told);
}

fn agent() -> Value {
    json!({
        "name": "reviewer", "title": "Reviewer", "description": "Reads one file.", "model": "inherit",
        "scope": "user", "status": "ok", "path": "/home/u/reviewer.md", "digest": "sha256:00",
        "inputs": ["file", "depth", "mode"],
        "problems": [{
            "path": "/home/u/reviewer.md", "line": 3, "severity": "warning", "code": "UNKNOWN_FIELD",
            "message": "nobody knows `colour`",
        }],
        "prompt": "You review code.\u{1b}[2J\nBe kind.\n", "query": "Review ${file}.",
        "inputSpecs": [
            {"name": "file", "description": "The file to read", "required": true, "schema": {"type": "string"}},
            {"name": "depth", "required": false, "default": 3, "schema": {"type": "integer"}},
            {"name": "mode", "required": false, "schema": {"enum": ["fast", "slow"]}},
        ],
        "tools": ["read_file", "complete_task"],
    })
}

#[test]
fn an_agent_is_shown_whole() {
    let script: Script = Box::new(|peer| {
        say_hello(peer);
        let params = peer.answer("agents/get", agent());
        assert_eq!((&params["name"], &params["scope"]), (&json!("reviewer"), &json!("user")));
        assert!(params["workspace"].is_string());
        peer.wait_for_hangup();
    });
    check(
        Command::new(&["show", "reviewer", "--scope", "global"]),
        vec![script],
        expect![[r#"
        exit 0
        --- stdout
        reviewer  Reviewer
        description  Reads one file.
        model        inherit
        from         user, /home/u/reviewer.md
        status       ok
                     /home/u/reviewer.md:3: nobody knows `colour`
        digest       sha256:00
        inputs       file: string, required. The file to read
                     depth: integer, default 3
                     mode: {"enum":["fast","slow"]}, optional
        tools        read_file, complete_task

        query
        Review ${file}.

        prompt
        You review code.^[[2J
        Be kind.
        --- stderr
    "#]],
    );
}

#[test]
fn an_agent_as_json_is_the_answer_also_under_the_word_agents() {
    let script: Script = Box::new(|peer| {
        say_hello(peer);
        assert!(peer.answer("agents/get", agent())["scope"].is_null());
        peer.wait_for_hangup();
    });
    let ran = Command::new(&["agents", "show", "reviewer", "--format", "json"]).against(vec![script]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), agent());
}

#[test]
fn every_verb_about_agents_stands_under_the_word_agents() {
    let folder = tempfile::tempdir().unwrap();
    for verb in ["run", "list", "show", "validate"] {
        let help = |arguments: &[&str]| Command::new(arguments).run(folder.path());
        let (short, long) = (help(&[verb, "--help"]), help(&["agents", verb, "--help"]));
        assert_eq!((short.exit_code, long.exit_code), (0, 0), "{verb}");
        assert_eq!(short.stdout, long.stdout.replace("subagent agents ", "subagent "), "{verb}");
    }
}

#[test]
fn an_unknown_agent_is_told() {
    let script: Script = Box::new(|peer| {
        say_hello(peer);
        let data = json!({"kind": "NOT_FOUND", "retryable": false, "details": {"didYouMean": "reviewer"}});
        peer.refuse("agents/get", json!({"code": -31010, "message": "no agent `revewer`", "data": data}));
        peer.wait_for_hangup();
    });
    check(
        Command::new(&["show", "revewer"]),
        vec![script],
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: no agent `revewer`
        hint: did you mean `reviewer`?
    "#]],
    );
}

fn validated() -> Value {
    json!({"valid": false, "agents": [
        {"name": "reviewer", "path": "/home/u/reviewer.md", "checks": [
            {"check": "front matter is valid YAML", "outcome": "pass"},
            {"check": "every field is known", "outcome": "warn", "findings": ["3:1: nobody knows `colour`"]},
        ]},
        {"name": "broken", "checks": [
            {"check": "front matter is valid YAML", "outcome": "fail", "findings": ["2:7: expected `:`\u{1b}[2J", "5:1: x"]},
            {"check": "the model can be had", "outcome": "fail"},
        ]},
    ]})
}

/// Answers `agents/validate` with these agents of [`validated`], and whether all hold.
fn validating(agents: &'static [usize], valid: bool, expected: Value) -> Script {
    Box::new(move |peer| {
        say_hello(peer);
        let chosen: Vec<Value> = agents.iter().map(|at| validated()["agents"][*at].clone()).collect();
        let mut params = peer.answer("agents/validate", json!({"agents": chosen, "valid": valid}));
        assert!(params["workspace"].take().is_string());
        params.as_object_mut().unwrap().remove("workspace");
        assert_eq!(params, expected);
        peer.wait_for_hangup();
    })
}

#[test]
fn all_agents_are_checked_a_line_each() {
    let script = validating(&[0, 1], false, json!({"all": true}));
    check(
        Command::new(&["validate", "--all"]),
        vec![script],
        expect![[r#"
        exit 1
        --- stdout
        reviewer  valid
        broken    invalid: 2:7: expected `:`^[[2J
        2 agents: 1 valid, 1 invalid
        --- stderr
    "#]],
    );
}

#[test]
fn one_agent_is_checked_a_line_a_check() {
    let script = validating(&[1], false, json!({"name": "broken", "all": false}));
    check(
        Command::new(&["validate", "broken"]),
        vec![script],
        expect![[r#"
        exit 1
        --- stdout
        broken
          fail  front matter is valid YAML
                2:7: expected `:`^[[2J
                5:1: x
          fail  the model can be had
        2 checks: 0 passed, 0 warned, 2 failed
        --- stderr
    "#]],
    );
    let script = validating(&[0], true, json!({"name": "reviewer", "all": false}));
    check(
        Command::new(&["validate", "reviewer"]),
        vec![script],
        expect![[r#"
            exit 0
            --- stdout
            reviewer  /home/u/reviewer.md
              pass  front matter is valid YAML
              warn  every field is known
                    3:1: nobody knows `colour`
            2 checks: 1 passed, 1 warned, 0 failed
            --- stderr
        "#]],
    );
    let script = validating(&[0], true, json!({"name": "reviewer", "all": false}));
    let ran = Command::new(&["validate", "reviewer", "--format", "json"]).against(vec![script]);
    let expected = json!({"agents": [validated()["agents"][0]], "valid": true});
    assert_eq!((ran.exit_code, serde_json::from_str::<Value>(&ran.stdout).unwrap()), (0, expected));
}

#[test]
fn a_file_is_checked_by_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("draft.md");
    fs::write(&file, "---\nname: draft\n---\nHello.\n").unwrap();
    let expected = json!({"text": "---\nname: draft\n---\nHello.\n", "all": false});
    let script = validating(&[0], true, expected);
    let ran = Command::new(&["validate", file.to_str().unwrap()]).against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);

    let ran = Command::new(&["validate", "missing.md"]).run(folder.path());
    assert_eq!(ran.exit_code, 2);
    assert!(ran.stderr.starts_with("error: cannot read FOLDER/missing.md: "), "{}", ran.stderr);
    fs::write(&file, b"\xff").unwrap();
    assert_eq!(Command::new(&["validate", "./draft.md"]).run(folder.path()).exit_code, 2);
    for arguments in [&["validate"][..], &["validate", "x", "--all"], &["logs", "-f", "--format", "json"]] {
        assert_eq!(Command::new(arguments).run(folder.path()).exit_code, 2, "{arguments:?}");
    }
}

#[test]
fn logs_are_shown_and_followed() {
    let page = || json!({"lines": ["one", "two\u{1b}[2J"], "last": 7, "missed": 0});
    let newest: Script = Box::new(move |peer| {
        let params = peer.answer("daemon/logs", page());
        assert_eq!(params, json!({"limit": 2, "waitMs": 0}));
        peer.wait_for_hangup();
    });
    let command = Command { is_terminal: true, ..Command::new(&["logs", "-n", "2"]) };
    check(
        command,
        vec![newest],
        expect![[r#"
        exit 0
        --- stdout
        one
        two^[[2J
        --- stderr
    "#]],
    );

    let following: Script = Box::new(move |peer| {
        peer.answer("daemon/logs", page());
        let params = peer.answer("daemon/logs", json!({"lines": [], "last": 7, "missed": 0}));
        assert_eq!((&params["after"], params["waitMs"].as_u64() > Some(0)), (&json!(7), true));
        let params = peer.answer("daemon/logs", json!({"lines": ["nine"], "last": 9, "missed": 1}));
        assert_eq!(params["after"], 7);
        peer.hang_up_on("daemon/logs");
    });
    check(
        Command::new(&["logs", "-f"]),
        vec![following],
        expect![[r#"
            exit 69
            --- stdout
            one
            two[2J
            nine
            --- stderr
            note: not kept any more: 1 line between
            error: the daemon closed the connection before it answered
            hint: `subagent status` shows whether it is back
        "#]],
    );

    let json: Script = Box::new(move |peer| {
        peer.answer("daemon/logs", page());
    });
    let ran = Command::new(&["logs", "--format", "json"]).against(vec![json]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), page());
}

#[test]
fn following_logs_ends_with_ctrl_c() {
    let script: Script = Box::new(|peer| {
        peer.answer("daemon/logs", json!({"lines": ["one"], "last": 1, "missed": 0}));
        peer.wait_for_hangup();
    });
    let command = Command { interrupt_after_stdout: true, ..Command::new(&["logs", "--follow"]) };
    let ran = command.against(vec![script]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (130, "one\n"));
}

#[test]
fn logs_start_no_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(&["logs"]).run(folder.path());
    assert_eq!((ran.exit_code, ran.stderr.contains("no daemon is running")), (69, true), "{}", ran.stderr);
}
