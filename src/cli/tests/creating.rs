//! `create`: what is asked of whom, what is sent, and what is never written.

use std::{fs, sync::mpsc};

use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use protocol::{BUILTIN_TOOLS, default_tools};

fn written(problems: Value) -> Value {
    json!({
        "name": "bug-hunter", "scope": "user", "path": "/home/u/bug-hunter.md", "digest": "sha256:00",
        "problems": problems, "seq": 3,
    })
}

fn refused(kind: &str, message: &str, details: Value) -> Value {
    json!({"code": -31012, "message": message, "data": {"kind": kind, "retryable": false, "details": details}})
}

/// What `agents/create` was asked for, without what is new each time.
fn creates(peer: &mut ScriptedPeer) -> Value {
    known(peer.answer("agents/create", written(json!([]))))
}

fn known(mut params: Value) -> Value {
    let fields = params.as_object_mut().unwrap();
    assert!(fields.remove("idempotencyKey").unwrap().as_str().unwrap().starts_with("subagent-"));
    assert!(fields.remove("workspace").unwrap().is_string());
    params
}

/// A daemon that is asked for just this agent.
fn creating(expected: Value) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        assert_eq!(creates(peer), expected);
        peer.wait_for_hangup();
    })
}

#[test]
fn what_the_command_line_says_is_sent_and_nothing_is_asked() {
    let arguments = [
        "create",
        "bug-hunter",
        "--title",
        "Bug Hunter",
        "--description",
        "Hunts.",
        "--model",
        "a/m",
        "--tools",
        "grep, read_file,",
        "--prompt",
        "You hunt.",
        "--template",
        "debugging",
        "--scope",
        "global",
        "--force",
    ];
    let definition = json!({
        "name": "bug-hunter", "title": "Bug Hunter", "description": "Hunts.", "model": "a/m", "prompt": "You hunt.",
        "tools": ["grep", "read_file"],
    });
    let expected =
        json!({"template": "debugging", "definition": definition, "scope": "user", "overwrite": true});
    check(
        Command { is_terminal: true, ..Command::new(&arguments) },
        vec![creating(expected)],
        expect![[r#"
            exit 0
            --- stdout
            created bug-hunter (user): /home/u/bug-hunter.md
              subagent edit bug-hunter
              subagent run bug-hunter -p "what to do"
            --- stderr
        "#]],
    );
    // In a pipe a name is enough.
    let expected = json!({"template": "blank", "definition": {"name": "bug-hunter"}, "overwrite": false});
    let command = Command { stdin: Some(""), ..Command::new(&["agents", "create", "bug-hunter"]) };
    assert_eq!(command.against(vec![creating(expected)]).exit_code, 0);
    for (flags, scope) in [(&["--scope", "project"][..], "project"), (&["--global"], "user")] {
        let arguments = [&["create", "bug-hunter", "--tools", ""], flags].concat();
        let definition = json!({"name": "bug-hunter", "tools": []});
        let expected =
            json!({"template": "blank", "definition": definition, "scope": scope, "overwrite": false});
        assert_eq!(Command::new(&arguments).against(vec![creating(expected)]).exit_code, 0, "{flags:?}");
    }
}

#[test]
fn what_is_missing_or_wrong_is_a_usage_error_before_a_daemon_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, told) in [
        (&["create"][..], "NAME"),
        (&["create", "--template", "debugging"], "NAME"),
        (&["create", "Bug_Hunter"], "small letters"),
        (&["create", "bug-hunter", "--extended"], "--extended"),
        (&["create", "x", "--from", "a.md", "--title", "T"], "--title"),
        (&["create", "x", "--scope", "user", "--global"], "--global"),
        (&["create", "x", "--scope", "builtin"], "builtin"),
        (&["create", "x", "--from", "missing.md"], "missing.md"),
        (&["create", "x", "--from", "-"], "standard input"),
    ] {
        let ran = Command { stdin: Some(""), ..Command::new(arguments) }.run(folder.path());
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(told), "{arguments:?}: {}", ran.stderr);
    }
    // A program is never asked, whoever sits there.
    let ran =
        Command { is_terminal: true, ..Command::new(&["create", "--format", "json"]) }.run(folder.path());
    assert_eq!(ran.exit_code, 2, "{}", ran.stderr);
}

#[test]
fn a_file_is_sent_as_it_is_but_for_a_name_that_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.md");
    let text = "---\nkind: agent\nname: other # one\n---\nYou hunt.\n";
    fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let expected = json!({"text": text, "overwrite": false});
    let command = Command { is_terminal: true, ..Command::new(&["create", "--from", path]) };
    assert_eq!(command.against(vec![creating(expected.clone())]).exit_code, 0);
    let command = Command { stdin: Some(text), ..Command::new(&["create", "--from", "-"]) };
    assert_eq!(command.against(vec![creating(expected)]).exit_code, 0);
    let renamed = "---\nkind: agent\nname: bug-hunter\n---\nYou hunt.\n";
    let expected = json!({"text": renamed, "overwrite": false});
    let command = Command::new(&["create", "bug-hunter", "--from", path]);
    assert_eq!(command.against(vec![creating(expected)]).exit_code, 0);
}

#[test]
fn refusals_say_what_to_do_and_warnings_where() {
    let taken: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        peer.refuse("agents/create", refused("ALREADY_EXISTS", "there is an agent `x`", json!(null)));
        peer.wait_for_hangup();
    });
    check(
        Command { stdin: Some(""), ..Command::new(&["create", "x"]) },
        vec![taken],
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: there is an agent `x`
            hint: choose another name, or give --force, which puts the other one into the trash
        "#]],
    );
    let problem = |severity: &str| {
        json!({"path": "/a/x.md", "line": 3, "column": 8, "severity": severity, "code": "BAD_VALUE",
               "message": "no colour \u{1b}[2J", "fix": "`red`"})
    };
    let details = json!({"problems": [problem("error")]});
    let wrong: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.refuse("agents/create", refused("INVALID_DEFINITION", "the file has errors", details));
        peer.wait_for_hangup();
    });
    check(
        Command { stdin: Some(""), ..Command::new(&["create", "x"]) },
        vec![wrong],
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: /a/x.md:3:8: no colour ^[[2J (`red`)
            error: the file has errors
            hint: fix what is named; nothing was written
        "#]],
    );
    let warned: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("agents/create", written(json!([problem("warning")])));
        peer.wait_for_hangup();
    });
    let ran = Command { stdin: Some(""), ..Command::new(&["create", "x"]) }.against(vec![warned]);
    assert_eq!(ran.stderr, "warning: /a/x.md:3:8: no colour ^[[2J (`red`)\n");
}

fn offers_models(peer: &mut ScriptedPeer) {
    let models = json!({
        "entries": [{"name": "a", "models": [{"model": "a/large", "title": "Large"}, {"model": "a/small"}]}],
        "aliases": [{"name": "fast", "model": "a/small"}], "offline": "offline",
    });
    peer.answer("models/list", models);
}

fn offers_tools(peer: &mut ScriptedPeer) {
    offers_these_tools(peer, &["list_directory", "read_file", "grep", "write_file", "complete_task"]);
}

fn offers_these_tools(peer: &mut ScriptedPeer, names: &[&str]) {
    let tool =
        |name: &str, state: &str| json!({"name": name, "title": "T", "source": "builtin", "state": state});
    let mut tools: Vec<Value> = names.iter().map(|name| tool(name, "available")).collect();
    tools.push(tool("run_shell_command", "excluded"));
    peer.answer("tools/list", json!({"tools": tools}));
}

/// Nothing is asked of servers where none is configured.
fn offers_no_servers(peer: &mut ScriptedPeer) {
    peer.answer("mcp/list", json!({"servers": []}));
}

/// A daemon that offers what there is and is asked for an agent at the end; tells what for.
fn wizard() -> (mpsc::Receiver<Value>, DaemonScript) {
    let (told, asked) = mpsc::channel();
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        offers_models(peer);
        offers_tools(peer);
        offers_no_servers(peer);
        peer.answer("ping", json!({"at": "2025-11-20T11:04:00.000Z"}));
        told.send(creates(peer)).unwrap();
        peer.wait_for_hangup();
    });
    (asked, script)
}

#[test]
fn the_wizard_asks_for_all_of_it_and_each_answer_is_checked() {
    let (asked, script) = wizard();
    let press_after = vec![
        ("debug-analyzer: ", "\r"),
        ("note: it needs one", ""),
        ("debug-analyzer: ", "Bug Hunter\r"),
        ("note: small letters", ""),
        ("debug-analyzer: ", "grep\r"),
        ("note: `grep` is the tool grep", ""),
        ("debug-analyzer: ", "bug-huntre\x7f\x7fer\r"),
        ("title [Bug Hunter]: ", "Hunter of Bugs\r"),
        ("choose it: ", "Finds \u{fc}bel.\r"),
        ("model: ", "small\r"),
        ("scope: ", "\x1b[B\x1b[B\r"),
        ("space ticks", "write \x15 \r"),
        AGREES[0],
        AGREES[1],
        AGREES[2],
    ];
    let command = Command { is_terminal: true, press_after, ..Command::new(&["create"]) };
    let ran = command.against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    let definition = json!({
        "name": "bug-hunter", "title": "Hunter of Bugs", "description": "Finds \u{fc}bel.", "model": "a/small",
        "tools": ["read_file", "grep", "write_file"],
    });
    let expected =
        json!({"template": "blank", "definition": definition, "scope": "user", "overwrite": false});
    assert_eq!(asked.recv().unwrap(), expected);
    assert!(
        !ran.stderr.contains("complete_task") && !ran.stderr.contains("run_shell_command"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.ends_with("subagent edit bug-hunter\n  subagent run bug-hunter -p \"what to do\"\n"));
}

#[test]
fn servers_that_are_configured_are_offered() {
    let (told, asked) = mpsc::channel();
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        offers_models(peer);
        offers_tools(peer);
        let servers = json!([
            {"name": "docs", "state": "ready", "tools": 2},
            {"name": "files", "state": "backoff", "reason": "its program ended with code 1", "tools": 0},
        ]);
        peer.answer("mcp/list", json!({"servers": servers}));
        peer.answer("ping", json!({}));
        told.send(creates(peer)).unwrap();
        peer.wait_for_hangup();
    });
    let press_after = vec![
        ("title [A]: ", "\r"),
        ("choose it: ", "\r"),
        ("model: ", "\r"),
        ("scope: ", "\r"),
        ("tools: ", "\r"),
        ("MCP servers: ", "files \r"),
        AGREES[0],
        AGREES[1],
        AGREES[2],
    ];
    let command = Command { is_terminal: true, press_after, ..Command::new(&["create", "a"]) };
    let ran = command.against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    assert_eq!(asked.recv().unwrap()["definition"]["mcp"], json!({"servers": ["files"]}));
}

#[test]
fn servers_that_the_command_line_names_are_the_agents() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        let created = creates(peer);
        assert_eq!(created["definition"], json!({"name": "a", "mcp": {"servers": ["docs", "files"]}}));
        peer.wait_for_hangup();
    });
    let ran = Command::new(&["create", "a", "--mcp", "docs, files,"]).against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
}

#[test]
fn enter_skips_whatever_need_not_be_said() {
    let (asked, script) = wizard();
    let press_after = vec![
        ("title [Bug Hunter]: ", "\r"),
        ("choose it: ", "\r"),
        ("model: ", "\r"),
        ("scope: ", "\r"),
        ("space ticks", "\r"),
        AGREES[0],
        AGREES[1],
        AGREES[2],
    ];
    let command = Command { is_terminal: true, press_after, ..Command::new(&["create", "bug-hunter"]) };
    assert_eq!(command.against(vec![script]).exit_code, 0);
    // What was ticked is said: the person saw it.
    let definition = json!({"name": "bug-hunter", "tools": ["list_directory", "read_file", "grep"]});
    let expected = json!({"template": "blank", "definition": definition, "overwrite": false});
    assert_eq!(asked.recv().unwrap(), expected);
}

#[test]
fn the_default_tools_are_ticked_and_no_others() {
    let (told, asked) = mpsc::channel();
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        offers_models(peer);
        offers_these_tools(peer, BUILTIN_TOOLS);
        offers_no_servers(peer);
        peer.answer("ping", json!({"at": "2025-11-20T11:04:00.000Z"}));
        told.send(creates(peer)).unwrap();
        peer.wait_for_hangup();
    });
    let press_after = vec![
        ("title [Bug Hunter]: ", "\r"),
        ("choose it: ", "\r"),
        ("model: ", "\r"),
        ("scope: ", "\r"),
        ("space ticks", "\r"),
        AGREES[0],
        AGREES[1],
        AGREES[2],
    ];
    let command = Command { is_terminal: true, press_after, ..Command::new(&["create", "bug-hunter"]) };
    assert_eq!(command.against(vec![script]).exit_code, 0);
    let mut ticked: Vec<String> =
        serde_json::from_value(asked.recv().unwrap()["definition"]["tools"].clone()).unwrap();
    ticked.sort();
    let mut expected: Vec<&str> = default_tools(false).collect();
    expected.sort_unstable();
    assert_eq!(ticked, expected);
}

#[test]
fn a_template_says_what_it_can_do_so_that_is_not_asked() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        peer.answer("ping", json!({}));
        let definition = json!({"name": "bug-hunter", "description": "Hunts."});
        assert_eq!(
            creates(peer),
            json!({"template": "debugging", "definition": definition, "scope": "user", "overwrite": false})
        );
        peer.wait_for_hangup();
    });
    let press_after = vec![
        ("debug-analyzer: ", "bug-hunter\r"),
        ("title [the template's]: ", "\r"),
        ("choose it: ", "Hunts.\r"),
        AGREES[0],
        AGREES[1],
        AGREES[2],
    ];
    let arguments = ["create", "--template", "debugging", "--global"];
    let ran = Command { is_terminal: true, press_after, ..Command::new(&arguments) }.against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
}

#[test]
fn triggers_are_asked_for_until_there_are_no_more() {
    let (told, asked) = mpsc::channel();
    let trial = |peer: &mut ScriptedPeer, findings: Value| {
        let outcome = if findings == json!([]) { "pass" } else { "fail" };
        let checks = json!([
            {"check": "the body is not empty", "outcome": "fail", "findings": ["expression: odd"]},
            {"check": "values are right", "outcome": outcome, "findings": findings},
        ]);
        let params = peer.answer("agents/validate", json!({"agents": [{"checks": checks}], "valid": false}));
        params["text"].as_str().unwrap().lines().nth(4).unwrap().to_owned()
    };
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        let wrong = trial(peer, json!(["expression:5:12: the expression is not closed: `(`"]));
        assert_eq!(wrong, r#"triggers: [{"regex":"\"(fix"}]"#);
        trial(peer, json!([]));
        peer.answer("ping", json!({}));
        told.send(creates(peer)).unwrap();
        peer.wait_for_hangup();
    });
    let press_after = vec![
        ("title", "\r"),
        ("scope: ", "\r"),
        ("memory: ", "\x1b[B\r"),
        ("guard, a command", "~/bin/guard\r"),
        ("bin/guard is not there or cannot be run", ""),
        ("guard of which tools", "Bahs\r"),
        ("note: there is no tool `Bahs`", ""),
        ("guard of which tools", "mcp__board\r"),
        ("note: `mcp__board` is written as mcp__SERVER__TOOL", ""),
        ("guard of which tools", "run-shell-command, Write, mcp__board__.*\r"),
        ("tracing: ", "\x1b[B\r"),
        ("trigger 1, keywords", " bug, stack trace,,\r"),
        ("trigger 1, or", "\"(fix\r"),
        ("note: the expression is not closed: `(`", ""),
        ("trigger 1, or", "fix.*test\r"),
        ("trigger 1, priority", "11\r"),
        ("note: a whole number from 0 to 10", ""),
        ("trigger 1, priority", "10\r"),
        ("trigger 2, keywords", "crash\r"),
        ("trigger 2, or", "\r"),
        ("trigger 2, priority", "\r"),
        ("trigger 3, keywords", "\r"),
        ("trigger 3, or", "\r"),
        AGREES[0],
        AGREES[1],
        AGREES[2],
    ];
    let arguments = ["create", "x", "--extended", "--description", "d", "--template", "testing"];
    let ran = Command { is_terminal: true, press_after, ..Command::new(&arguments) }.against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    let triggers = json!([
        {"keywords": ["bug", "stack trace"], "regex": "fix.*test", "priority": 10},
        {"keywords": ["crash"], "priority": 5},
    ]);
    let definition = asked.recv().unwrap()["definition"].clone();
    assert_eq!(definition["triggers"], triggers);
    assert_eq!(definition["memory"], json!({"include": false}));
    let guard = json!({"matcher": "run_shell_command|write_file|mcp__board__.*", "hooks": [{"type": "command", "command": "~/bin/guard"}]});
    assert_eq!(definition["hooks"], json!({"PreToolUse": [guard]}));
    assert_eq!(definition["tracing"], json!({"content": "redacted"}));
}

#[test]
fn whoever_leaves_has_written_nothing() {
    let hello: fn() -> DaemonScript = || {
        Box::new(|peer| {
            say_hello(peer);
            peer.wait_for_hangup();
        })
    };
    let leave = |press_after, interrupt_after| {
        let command =
            Command { is_terminal: true, press_after, interrupt_after, ..Command::new(&["create"]) };
        let ran = command.against(vec![hello()]);
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (130, ""), "{}", ran.stderr);
        assert!(ran.stderr.ends_with("note: nothing was written\n"), "{}", ran.stderr);
    };
    leave(vec![("debug-analyzer: ", "\x04")], Vec::new());
    leave(vec![("debug-analyzer: ", "a\r"), ("title [A]: ", "\x04")], Vec::new());
    leave(vec![("debug-analyzer: ", "a\r"), ("title [A]: ", "half")], vec!["half"]);
    // The end of the input, where lines are read.
    let command =
        Command { is_terminal: true, is_dumb: true, typed: Some("a\n"), ..Command::new(&["create"]) };
    assert_eq!(command.against(vec![hello()]).exit_code, 130);
}

#[test]
fn a_name_that_is_taken_is_asked_for_again_and_nothing_else() {
    let (told, asked) = mpsc::channel();
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("ping", json!({}));
        peer.refuse("agents/create", refused("ALREADY_EXISTS", "there is an agent `a`", json!(null)));
        peer.answer("ping", json!({}));
        told.send(creates(peer)).unwrap();
        peer.wait_for_hangup();
    });
    let press_after = vec![
        ("debug-analyzer: ", "a\r"),
        ("title", "Kept\r"),
        ("choose it: ", "\r"),
        AGREES[0],
        AGREES[1],
        AGREES[2],
        ("there is an agent `a`", ""),
        ("debug-analyzer: ", "b\r"),
        AGREES[0],
        AGREES[1],
        AGREES[2],
    ];
    let arguments = ["create", "--template", "testing", "--global"];
    let ran = Command { is_terminal: true, press_after, ..Command::new(&arguments) }.against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    assert_eq!(asked.recv().unwrap()["definition"], json!({"name": "b", "title": "Kept"}));
}

#[test]
fn where_the_cursor_cannot_be_moved_lists_have_numbers() {
    let (asked, script) = wizard();
    let typed = "bug-hunter\n\nHunts.\nx y\nown/model\n4\n3\n1 9\n2,write_file\nyes\n";
    let command = Command {
        is_terminal: true,
        is_dumb: true,
        typed: Some(typed),
        clock_step: 1_000,
        ..Command::new(&["create"])
    };
    let ran = command.against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    let definition = json!({
        "name": "bug-hunter", "description": "Hunts.", "model": "own/model", "tools": ["read_file", "write_file"],
    });
    let expected =
        json!({"template": "blank", "definition": definition, "scope": "user", "overwrite": false});
    assert_eq!(asked.recv().unwrap(), expected);
    for shown in [
        "  2  fast  a/small\n",
        "  4  [ ] write_file  T\n",
        "note: one of them only",
        "note: there is no `9`",
    ] {
        assert!(ran.stderr.contains(shown), "{shown}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains('\x1b'), "{}", ran.stderr);
}

#[test]
fn a_daemon_that_cannot_list_keeps_nobody_from_going_on() {
    let (told, asked) = mpsc::channel();
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.refuse("models/list", refused("INTERNAL_ERROR", "no", json!(null)));
        peer.refuse("tools/list", refused("INTERNAL_ERROR", "no", json!(null)));
        peer.refuse("mcp/list", refused("INTERNAL_ERROR", "no", json!(null)));
        peer.answer("ping", json!({}));
        told.send(creates(peer)).unwrap();
        peer.wait_for_hangup();
    });
    let press_after = vec![
        ("title", "\r"),
        ("choose it: ", "\r"),
        ("note: the models cannot be listed", ""),
        ("model: ", "own/model\r"),
        ("scope: ", "\r"),
        ("note: the tools cannot be listed", ""),
        AGREES[0],
        AGREES[1],
        AGREES[2],
    ];
    let command = Command { is_terminal: true, press_after, ..Command::new(&["create", "a"]) };
    let ran = command.against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    assert_eq!(asked.recv().unwrap()["definition"], json!({"name": "a", "model": "own/model"}));
}
