//! Does what is told at 80 columns fit there, with words whole, and is what matters most still seen?

use expect_test::expect;

use super::*;

/// A terminal of 80 columns on which this is asked, and what the daemon answers.
fn at_80_columns(arguments: &[&str], method: &'static str, answer: Value) -> Ran {
    let script: DaemonScript = Box::new(move |peer| {
        // Who asks how a daemon is starts none, and needs no greeting.
        if !matches!(method, "daemon/status" | "config/get") {
            say_hello(peer);
        }
        peer.answer(method, answer);
        peer.wait_for_hangup();
    });
    let ran = Command { is_terminal: true, columns: 80, ..Command::new(arguments) }.against(vec![script]);
    let too_wide = ran.stdout.lines().find(|line| 80 < crate::width::of(line));
    assert_eq!(too_wide, None, "{}", ran.stdout);
    ran
}

const SESSION: &str = "019aa1b2-c3d4-7001-8000-000000000001";

#[test]
fn a_long_line_of_the_status_is_broken_between_words_and_a_pipe_gets_it_whole() {
    let status = json!({
        "daemon": {"name": "subagentd", "version": env!("CARGO_PKG_VERSION"), "pid": 7},
        "uptimeMs": 1_000, "state": "running", "database": {"path": "/s/log.db", "bytes": 512, "head": 3},
        "counts": {
            "runsEnded": {"GOAL": 9}, "modelRequests": {"count": 28, "failed": 0}, "toolCalls": {"count": 51, "failed": 2},
            "usage": {"promptTokens": 123_456, "cachedTokens": 0, "outputTokens": 2_100, "thoughtTokens": 0},
        },
    });
    let ran = at_80_columns(&["status"], "daemon/status", status);
    let done = ran.stdout.split_once("done").map(|(_, rest)| format!("done{rest}")).unwrap();
    expect![[r#"
        done      9 runs, 28 model requests, 51 tool calls (2 failed), 123.5k tokens →
                  2100 tokens since it started
    "#]]
    .assert_eq(&done);
}

#[test]
fn of_a_folder_that_is_to_be_forgotten_all_is_seen() {
    let folder = "/var/home/somebody/projects/shop";
    let folders = json!({"folders": [{"folder": folder, "lastSessionId": SESSION, "lastAt": "2026-11-21T21:15:51.600Z", "sessions": 0}]});
    let ran = at_80_columns(&["trust", "--folders"], "workedFolders/list", folders);
    expect![[r#"
        FOLDER                            LAST                  SESSION
        /var/home/somebody/projects/shop  2026-11-21 21:15:51Z  019aa1b2-c3d4 (deleted)

        Forget one: subagent trust --forget-folder FOLDER
    "#]]
    .assert_eq(&ran.stdout);
}

#[test]
fn of_a_setting_the_line_in_which_it_was_set_is_seen() {
    let file = "/home/somebody-with-a-long-name/.config/subagentd/settings.json";
    let settings = json!({"settings": [
        {"key": "models.default", "value": "offline", "origin": "user", "file": file, "line": 12, "column": 5},
    ]});
    let ran = at_80_columns(&["config", "get"], "config/get", settings);
    expect![[r#"
        KEY             VALUE      SET BY
        models.default  "offline"  …ith-a-long-name/.config/subagentd/settings.json:12:5
    "#]]
    .assert_eq(&ran.stdout);
}

#[test]
fn of_a_run_the_prompt_is_seen_and_a_typed_result_is_read_as_text() {
    let runs = json!({"runs": [{
        "runId": "019aa1b2-c3d4-7001-8000-000000000001", "agent": "codebase-investigator", "state": "ended", "reason": "GOAL",
        "prompt": "How is a path resolved?", "startedAt": "2026-11-21T21:15:51.600Z", "activeMs": 4_200,
        "result": "{\"Summary\": \"By its parts.\"}",
    }]});
    let ran = at_80_columns(&["runs"], "run/list", runs.clone());
    expect![[r#"
        RUN            AGENT              STATE  STARTED       ACTIVE  PROMPT
        019aa1b2-c3d4  codebase-investi…  GOAL   11-21 21:15Z  4.2 s   How is a path re…
    "#]]
    .assert_eq(&ran.stdout);
    let script = answering("run/list", json!({"active": false, "roots": false, "limit": 20}), runs);
    let ran = Command { is_terminal: true, columns: 140, ..Command::new(&["runs"]) }.against(vec![script]);
    assert!(ran.stdout.contains("How is a path resolved?  By its parts.\n"), "{}", ran.stdout);
}

#[test]
fn names_of_agents_and_models_are_whole_where_usage_is_listed() {
    let amount = json!({"calls": 12, "usage": {"promptTokens": 123_456, "cachedTokens": 1, "outputTokens": 2_100, "thoughtTokens": 7}});
    let mut row = amount.clone();
    (row["agent"], row["model"]) = (json!("codebase-investigator"), json!("gemini-2.5-pro"));
    let used = json!({"total": amount, "byAgentAndModel": [row]});
    let ran = at_80_columns(&["usage", "--session", SESSION], "usage/get", used);
    assert!(ran.stdout.contains("codebase-investigator  gemini-2.5-pro  12 "), "{}", ran.stdout);
}

#[test]
fn nothing_stands_above_the_result_of_a_run_that_was_waited_for() {
    let record =
        json!({"runId": SESSION, "agent": "scout", "state": "ended", "reason": "GOAL", "result": "done"});
    let ran = at_80_columns(&["wait", SESSION], "run/wait", json!({"run": record, "done": true}));
    assert_eq!((&*ran.stdout, &*ran.stderr), ("done\n", ""));
}

#[test]
fn an_agent_of_whom_nobody_has_written_instructions_is_told_to_be_a_skeleton() {
    let path = "/home/somebody/projects/shop/.subagentd/agents/writer.md";
    let written = json!({"name": "writer", "scope": "project", "path": path, "problems": []});
    let create = ["create", "writer", "--description", "Writes.", "--mcp", "words"];
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("agents/create", written);
        peer.wait_for_hangup();
    });
    let ran = Command { stdin: Some(""), ..Command::new(&create) }.against(vec![script]);
    expect![[r#"
        created writer (project): /home/somebody/projects/shop/.subagentd/agents/writer.md
          its instructions are a skeleton; write your own before you run it: subagent edit writer
          subagent run writer -p "what to do"
    "#]]
    .assert_eq(&ran.stdout);
}
