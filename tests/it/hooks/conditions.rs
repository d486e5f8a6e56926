//! Which calls does a guard's `if` mean? The ones that touch what it names, however their arguments are spelled.

use super::*;

/// An agent with every tool that is tried here, and nobody to be asked.
const HANDY: &str = "---
kind: agent
name: worker
description: Works.
completion: tool
tools: [read_file, read_many_files, grep, list_directory, write_file, move_file, save_memory]
---
You work.
";

const ALL_ALLOWED: &str = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n";

/// `.env` and `src/new` as tools take paths that are no text.
const ENV_AS_BYTES: &str = "path-bytes:LmVudg";
const NEW_AS_BYTES: &str = "path-bytes:c3JjL25ldw";

/// What came of one call each, beside this guard: its tool's name, and how it ended.
async fn ends(hook: Value, calls: &[(&str, Value)]) -> (House, Vec<String>) {
    ends_beside(&[hook], calls).await
}

/// The same beside several hooks.
async fn ends_beside(hooks: &[Value], calls: &[(&str, Value)]) -> (House, Vec<String>) {
    let mut replies: Vec<Reply> = calls.iter().map(|call| Reply::calls(std::slice::from_ref(call))).collect();
    replies.push(Reply::done("ok"));
    let script = Script::new(replies);
    let house = house(&script, &json!({})).agent("worker", HANDY).rules("all", ALL_ALLOWED);
    let house = house.file(".env", "KEYWORD=1\n").file("src/a", "KEYWORD=2\n").file("lib/a", "nothing\n");
    std::os::unix::fs::symlink(".env", house.work().join("plain.txt")).unwrap();
    let settings = json!({ "hooks": { "PreToolUse": [{ "hooks": hooks }] } });
    fs::write(&house.sources.files.user, house.own_hooks(&settings).to_string()).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    let log = running.log().await;
    let ended =
        log.iter().filter(|event| event["type"] == "tool.state" && !event["data"]["result"].is_null());
    let ended = ended.map(|event| &event["data"]).filter(|data| data["name"] != "complete_task");
    let ends = ended.map(|data| {
        let denied = data["result"]["error"]["type"] == "HOOK_DENIED"
            || data["result"].to_string().contains("HOOK_DENIED")
            || data["error"].to_string().contains("HOOK_DENIED");
        let end = if denied { "denied" } else { data["to"].as_str().unwrap_or("?") };
        format!("{} {end}", data["name"].as_str().unwrap())
    });
    let ends = ends.collect();
    running.stop().await;
    (house, ends)
}

fn guard(condition: &str) -> Value {
    json!({ "type": "command", "if": condition, "command": "echo no >&2; exit 2" })
}

async fn check_all(condition: &str, end: &str, calls: &[(&str, Value)]) {
    let (_house, found) = ends(guard(condition), calls).await;
    let expected: Vec<String> = calls.iter().map(|(tool, _)| format!("{tool} {end}")).collect();
    assert_eq!(found, expected, "{condition}");
}

/// A folder above the file that a guard keeps is as good as the file.
#[tokio::test]
async fn guard_of_a_file_is_asked_about_each_call_that_reads_it() {
    let calls = [
        ("read_file", json!({ "path": ".env" })),
        ("read_file", json!({ "path": "./src/../.env" })),
        ("grep", json!({ "pattern": "KEYWORD" })),
        ("grep", json!({ "pattern": "KEYWORD", "path": "." })),
        ("grep", json!({ "pattern": "KEYWORD", "path": "./" })),
        ("list_directory", json!({ "path": "." })),
        ("read_many_files", json!({ "include": ["."] })),
    ];
    check_all("Read(.env)", "denied", &calls).await;
    let calls = [
        ("grep", json!({ "pattern": "KEYWORD", "path": "src" })),
        ("read_many_files", json!({ "include": ["src"] })),
        ("list_directory", json!({ "path": "src" })),
    ];
    check_all("Read(src/a)", "denied", &calls).await;
    let others =
        [("grep", json!({ "pattern": "x", "path": "lib" })), ("read_file", json!({ "path": "lib/a" }))];
    check_all("Read(src/a)", "success", &others).await;
}

/// Whatever tool it is that writes.
#[tokio::test]
async fn guard_of_edits_is_asked_about_what_is_remembered() {
    let remembered = [("save_memory", json!({ "fact": "tests run by make", "scope": "project" }))];
    check_all("Edit(AGENTS.md)", "denied", &remembered).await;
    check_all("Edit(src/**)", "success", &remembered).await;
}

/// The second way to write a path is none around a guard.
#[tokio::test]
async fn guard_of_a_file_is_asked_about_a_path_in_bytes() {
    let calls = [
        ("read_file", json!({ "path": ENV_AS_BYTES })),
        ("grep", json!({ "pattern": "KEYWORD", "path": ENV_AS_BYTES })),
        ("read_many_files", json!({ "include": [ENV_AS_BYTES] })),
    ];
    check_all("Read(.env)", "denied", &calls).await;
    let calls = [
        ("write_file", json!({ "path": NEW_AS_BYTES, "content": "x" })),
        // What a run moves it has read.
        ("read_file", json!({ "path": "lib/a" })),
        ("move_file", json!({ "from": "lib/a", "to": NEW_AS_BYTES })),
    ];
    let (_house, found) = ends(guard("Edit(src/**)"), &calls).await;
    assert_eq!(found, ["write_file denied", "read_file success", "move_file denied"]);
}

/// Another hook's change is prepared before the guard is asked: it is no way around it either.
#[tokio::test]
async fn guard_of_a_file_is_asked_about_what_another_hook_made_of_the_call() {
    for changed in [json!(".env"), json!("plain.txt"), json!(ENV_AS_BYTES), json!("src/../plain.txt")] {
        let answer = json!({
            "hookSpecificOutput": { "hookEventName": "PreToolUse", "updatedInput": { "file_path": changed } },
        });
        let changes = json!({ "type": "command", "command": format!("echo '{answer}'") });
        let calls = [("read_file", json!({ "path": "lib/a" }))];
        let (_house, found) = ends_beside(&[changes, guard("Read(.env)")], &calls).await;
        assert_eq!(found, ["read_file denied"], "{changed}");
    }
}

/// A guard is not asked about what a changed call does not touch, though no argument of it is a path.
#[tokio::test]
async fn guard_of_a_file_is_not_asked_about_another_that_a_changed_call_touches() {
    let answer = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "updatedInput": { "fact": "tests run by just", "scope": "project" },
    } });
    let changes = json!({ "type": "command", "command": format!("echo '{answer}'") });
    let remembered = [("save_memory", json!({ "fact": "tests run by make", "scope": "project" }))];
    for (condition, end) in [("Edit(src/**)", "success"), ("Edit(AGENTS.md)", "denied")] {
        let (_house, found) = ends_beside(&[changes.clone(), guard(condition)], &remembered).await;
        assert_eq!(found, [format!("save_memory {end}")], "{condition}");
    }
}

/// It reads the path that bytes mean in the second round as in the first.
#[tokio::test]
async fn hook_reads_the_path_that_bytes_mean_where_another_hook_wrote_them() {
    let answer = json!({
        "hookSpecificOutput": { "hookEventName": "PreToolUse", "updatedInput": { "file_path": ENV_AS_BYTES } },
    });
    let hooks = [
        json!({ "type": "command", "command": format!("echo '{answer}'") }),
        json!({ "type": "command", "command": "cat >> ../told.jsonl; echo >> ../told.jsonl" }),
    ];
    let (house, _) = ends_beside(&hooks, &[("read_file", json!({ "path": "lib/a" }))]).await;
    let told = fs::read_to_string(house.work().join("../told.jsonl")).unwrap();
    let lines: Vec<&str> = told.lines().filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(lines.len(), 2, "{told}");
    let changed: Value = serde_json::from_str(lines[1]).unwrap();
    assert!(changed["tool_input"]["file_path"].as_str().unwrap().ends_with("/.env"), "{changed}");
}

/// A script that refuses by name reads the name.
#[tokio::test]
async fn hook_reads_the_path_that_bytes_mean() {
    let hook = json!({ "type": "command", "command": "cat >> ../told.jsonl; echo >> ../told.jsonl" });
    let calls = [
        ("read_file", json!({ "path": ENV_AS_BYTES })),
        ("write_file", json!({ "path": NEW_AS_BYTES, "content": "x" })),
        ("grep", json!({ "pattern": "KEYWORD", "path": ENV_AS_BYTES })),
        ("read_many_files", json!({ "include": [ENV_AS_BYTES] })),
        ("move_file", json!({ "from": NEW_AS_BYTES, "to": "src/moved" })),
    ];
    let (house, _) = ends(hook, &calls).await;
    let told = fs::read_to_string(house.work().join("../told.jsonl")).unwrap();
    let inputs: Vec<String> = told
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["tool_input"].to_string())
        .collect();
    assert_eq!(inputs.len(), calls.len(), "{told}");
    for (input, name) in inputs.iter().zip(["/.env\"", "/src/new\"", "/.env\"", "/.env\"", "/src/new\""]) {
        assert!(input.contains(name) && !input.contains("path-bytes"), "{input}");
    }
}
