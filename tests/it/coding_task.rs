//! A day's work from end to end, with the real programs and a recorded model: read, edit with a person's consent, run the
//! tests, commit; then undo.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{
    process::{Home, output, text},
    recording::Recording,
};

const CODER: &str = "---\nkind: agent\nname: coder\ndescription: Mends code.\ncompletion: tool\n\
                     tools: [read_file, edit_file, run_shell_command, git_commit]\n---\nYou mend code.\n";
/// The owner lets the tests be run; everything else is asked.
const TESTS_RUN: &str =
    "[[rule]]\ntool = \"run_shell_command\"\ncommandPrefix = \"sh test.sh\"\ndecision = \"allow\"\n";
const WRONG: &str = "double() {\n  echo $(($1 + $1 + 1))\n}\n";
const RIGHT: &str = "double() {\n  echo $(($1 + $1))\n}\n";
const TEST: &str = ". ./double.sh\n[ \"$(double 2)\" = 4 ] && echo passed || { echo \"double 2 is $(double 2)\"; exit 1; }\n";

fn git(home: &Home, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .current_dir(home.work())
        .args(arguments)
        .env("HOME", home.path(""))
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bug_is_mended_tested_committed_and_the_edit_taken_back() {
    let home = Home::new();
    fs::write(home.path("config/subagentd/agents/coder.md"), CODER).unwrap();
    fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
    fs::write(home.path("config/subagentd/policies/tests.toml"), TESTS_RUN).unwrap();
    fs::write(home.work().join("double.sh"), WRONG).unwrap();
    fs::write(home.work().join("test.sh"), TEST).unwrap();
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "Ada"],
        &["config", "user.email", "ada@example.com"],
        &["add", "."],
        &["commit", "-q", "-m", "It doubles"],
    ] {
        git(&home, arguments);
    }
    let call = |name: &str, args: Value| vec![json!({ "functionCall": { "name": name, "args": args } })];
    let turns = vec![
        call("run_shell_command", json!({ "command": "sh test.sh" })),
        call("read_file", json!({ "path": "double.sh" })),
        call("edit_file", json!({ "path": "double.sh", "oldString": "$1 + $1 + 1", "newString": "$1 + $1" })),
        call("run_shell_command", json!({ "command": "sh test.sh" })),
        call("git_commit", json!({ "message": "Double without one more", "paths": ["double.sh"] })),
        call("complete_task", json!({ "result": "mended" })),
    ];
    let model = Recording::write_parts(&home, "mends", turns);
    let served = home.start().await;
    let mut wire = home.connect().await;
    let start =
        json!({ "workspace": home.work(), "agent": "coder", "model": model, "prompt": "The test fails." });
    let started = wire.call("run/start", start).await.unwrap();
    let run = text(&started, "runId").to_owned();
    let mut asked = Vec::new();
    loop {
        let waits = json!({ "runId": run, "timeoutMs": 60_000, "until": ["ended", "confirmation"] });
        let waited = wire.call("run/wait", waits).await.unwrap();
        if waited["done"] == true {
            assert_eq!(waited["run"]["reason"], "GOAL", "{waited}");
            break;
        }
        let listed = wire.call("confirmation/list", json!({})).await.unwrap();
        let Some(question) = listed["confirmations"].as_array().unwrap().first().cloned() else { continue };
        asked.push(text(&question, "tool").to_owned());
        let id = text(&question, "confirmationId");
        let approved = output(&mut home.companion(&["approve", id])).await;
        assert_eq!(approved.code, Some(0), "{}{}", approved.stdout, approved.stderr);
        let shown = if asked.len() == 1 {
            "-  echo $(($1 + $1 + 1))"
        } else {
            "git commit --only -m 'Double without one more'"
        };
        assert!(format!("{}{}", approved.stdout, approved.stderr).contains(shown), "{}", approved.stdout);
    }
    assert_eq!(asked, ["edit_file", "git_commit"]);
    let filter = json!({ "filter": { "runIds": [run] }, "from": 0, "limit": 1000 });
    let listed = wire.call("events/list", filter).await.unwrap();
    let is_end = |event: &&Value| event["activity"] == "TOOL_CALL_END";
    let ends: Vec<&Value> = listed["events"].as_array().unwrap().iter().filter(is_end).collect();
    let told = |at: usize| ends[at]["data"]["result"]["llmContent"][0]["text"].as_str().unwrap();
    assert_eq!(told(0), "Exit code: 1\ndouble 2 is 5\n");
    assert_eq!(told(3), "passed\n");
    assert!(told(4).contains("Double without one more\nAda <ada@example.com>"), "{}", told(4));
    assert_eq!(git(&home, &["log", "--format=%s"]), "Double without one more\nIt doubles\n");
    assert_eq!(git(&home, &["status", "--porcelain"]), "");
    assert_eq!(fs::read_to_string(home.work().join("double.sh")).unwrap(), RIGHT);

    // Back to before the first change; the commit is told of as what stays.
    let edit = text(&ends[2]["data"], "callId");
    let undone = output(&mut home.companion(&["undo", "--to", edit])).await;
    assert_eq!(undone.code, Some(0), "{}{}", undone.stdout, undone.stderr);
    assert_eq!(fs::read_to_string(home.work().join("double.sh")).unwrap(), WRONG);
    assert!(
        format!("{}{}", undone.stdout, undone.stderr).contains("git_commit"),
        "{}{}",
        undone.stdout,
        undone.stderr
    );
    assert_eq!(git(&home, &["log", "--format=%s"]), "Double without one more\nIt doubles\n");
    served.stop().await;
}
