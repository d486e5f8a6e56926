//! `show`, `validate`, and the verbs under `agents`.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

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
        "tools": ["read_file", "complete_task"], "sandbox": "readOnly",
        "createdAt": "2025-11-20T11:00:00.000Z", "updatedAt": "2025-11-20T11:04:05.600Z",
        "triggers": [
            {"intent": "debug", "keywords": ["bug", "stack\u{1b}[2J trace"], "priority": 10, "hits": 4, "overrides": 1},
            {"regex": "fix.*test", "priority": 0, "hits": 1, "overrides": 0},
        ],
    })
}

#[test]
fn an_agent_is_shown_whole() {
    let script: DaemonScript = Box::new(|peer| {
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
        created      2025-11-20 11:00:00Z
        changed      2025-11-20 11:04:05Z
        inputs       file: string, required. The file to read
                     depth: integer, default 3
                     mode: {"enum":["fast","slow"]}, optional
        tools        read_file, complete_task
        triggers     debug: bug, stack^[[2J trace · priority 10 · 4 hits, 1 of them given to another agent
                     /fix.*test/ · priority 0 · 1 hit
        sandbox      readOnly; the settings may confine its commands further

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
    let script: DaemonScript = Box::new(|peer| {
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
    for verb in [
        "run",
        "list",
        "show",
        "validate",
        "create",
        "edit",
        "delete",
        "import",
        "export",
        "templates",
        "route",
    ] {
        let help = |arguments: &[&str]| Command::new(arguments).run(folder.path());
        let (short, long) = (help(&[verb, "--help"]), help(&["agents", verb, "--help"]));
        assert_eq!((short.exit_code, long.exit_code), (0, 0), "{verb}");
        assert_eq!(short.stdout, long.stdout.replace("subagent agents ", "subagent "), "{verb}");
    }
}

#[test]
fn an_unknown_agent_is_told() {
    let script: DaemonScript = Box::new(|peer| {
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
fn validating(agents: &'static [usize], valid: bool, expected: Value) -> DaemonScript {
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
            reviewer  valid, 1 warning: 3:1: nobody knows `colour`
            broken    invalid: 2:7: expected `:`^[[2J
            2 agents: 1 valid, 1 invalid; of all checks 1 pass, 1 warn, 2 fail
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
    let expected = json!({"text": "---\nname: draft\n---\nHello.\n", "path": file, "all": false});
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
