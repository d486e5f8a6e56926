//! How do names and arguments of tools go to hooks and back?

use serde_json::json;

use super::*;
use protocol::{AgentName, CallId, ToolName};

fn call(tool: &str, arguments: Value) -> HookedCall {
    HookedCall {
        call_id: CallId::from("c"),
        tool: ToolName::from(tool),
        mcp: None,
        answered_by: None,
        arguments,
        accesses: Vec::new(),
        page: None,
    }
}

/// What a hook is told of a call, and that it comes back as it was, whether it is left alone or one field is changed.
fn check(contract: HookContract, tool: &str, ours: Value, name: &str, theirs: Value) {
    let call = call(tool, ours);
    let root = Path::new("/w");
    let told = shown(&call, contract, root);
    assert_eq!((told.name.as_str(), &told.arguments), (name, &theirs), "{tool}");
    let back = read_back(&call, contract, root, &told.arguments, false).unwrap();
    assert_eq!(back, call.arguments, "{tool}: unchanged");
    let mut changed = told.arguments;
    changed["extra"] = json!(1);
    let mut expected = call.arguments.clone();
    expected["extra"] = json!(1);
    assert_eq!(
        read_back(&call, contract, root, &changed, false).unwrap(),
        expected,
        "{tool}: one field more"
    );
}

#[test]
fn each_row_of_claude_codes_table_there_and_back() {
    let claude = |tool, ours, name, theirs| check(HookContract::Claude, tool, ours, name, theirs);
    claude(
        "run_shell_command",
        json!({ "command": "ls", "description": "d", "timeoutSeconds": 1.5, "background": true, "directory": "src/../sub" }),
        "Bash",
        json!({ "command": "ls", "description": "d", "timeout": 1500, "run_in_background": true, "directory": "/w/sub" }),
    );
    claude(
        "read_file",
        json!({ "path": "a/b", "offset": 9, "limit": 5 }),
        "Read",
        json!({ "file_path": "/w/a/b", "offset": 10, "limit": 5 }),
    );
    claude(
        "write_file",
        json!({ "path": "/x/a", "content": "c" }),
        "Write",
        json!({ "file_path": "/x/a", "content": "c" }),
    );
    claude(
        "edit_file",
        json!({ "path": "a", "oldString": "o", "newString": "n", "replaceAll": true }),
        "Edit",
        json!({ "file_path": "/w/a", "old_string": "o", "new_string": "n", "replace_all": true }),
    );
    claude(
        "edit_file",
        json!({ "path": "a", "edits": [{ "oldString": "o", "newString": "n" }, { "oldString": "p", "newString": "m" }] }),
        "MultiEdit",
        json!({
            "file_path": "/w/a",
            "edits": [{ "old_string": "o", "new_string": "n" }, { "old_string": "p", "new_string": "m" }],
            "old_string": "o\np",
            "new_string": "n\nm",
        }),
    );
    claude(
        "glob",
        json!({ "pattern": "**/*.rs", "path": "src" }),
        "Glob",
        json!({ "pattern": "**/*.rs", "path": "/w/src" }),
    );
    claude(
        "grep",
        json!({ "pattern": "x", "path": "src", "include": "*.rs", "caseSensitive": true, "context": 2, "before": 1, "after": 3, "maxMatches": 9, "outputMode": "filesWithMatches" }),
        "Grep",
        json!({ "pattern": "x", "path": "/w/src", "glob": "*.rs", "-i": false, "-C": 2, "-B": 1, "-A": 3, "head_limit": 9, "output_mode": "files_with_matches" }),
    );
    claude(
        "grep",
        json!({ "pattern": "x", "caseSensitive": true, "outputMode": "count" }),
        "Grep",
        json!({ "pattern": "x", "-i": false, "output_mode": "count" }),
    );
    claude(
        "grep",
        json!({ "pattern": "x" }),
        "Grep",
        json!({ "pattern": "x", "-i": true, "output_mode": "content" }),
    );
    claude("list_directory", json!({ "path": "." }), "LS", json!({ "path": "/w" }));
    claude("web_search", json!({ "query": "q" }), "WebSearch", json!({ "query": "q" }));
    claude(
        "web_fetch",
        json!({ "prompt": "read https://a.example/x." }),
        "WebFetch",
        json!({ "prompt": "read https://a.example/x.", "url": "https://a.example/x" }),
    );
    claude(
        "web_fetch",
        json!({ "urls": ["https://a.example"] }),
        "WebFetch",
        json!({ "urls": ["https://a.example/"], "url": "https://a.example/", "prompt": "" }),
    );
    claude(
        "web_fetch",
        json!({ "prompt": "see https://EVIL.invalid:443/a/../b" }),
        "WebFetch",
        json!({ "prompt": "see https://EVIL.invalid:443/a/../b", "url": "https://evil.invalid/b" }),
    );
    claude(
        "web_fetch",
        json!({ "prompt": "see HTTPS://A.example/x, https://b.example/y.", "urls": ["https://c.example"] }),
        "WebFetch",
        json!({
            "prompt": "see HTTPS://A.example/x, https://b.example/y.",
            "url": "https://c.example/",
            "urls": ["https://c.example/", "https://a.example/x", "https://b.example/y"]
        }),
    );
    claude(
        "write_todos",
        json!({ "todos": [{ "text": "t", "status": "pending" }] }),
        "TodoWrite",
        json!({ "todos": [{ "content": "t", "status": "pending", "activeForm": "t" }] }),
    );
    claude("ask_user", json!({ "questions": [] }), "AskUserQuestion", json!({ "questions": [] }));
    claude("present_plan", json!({ "plan": "p" }), "ExitPlanMode", json!({ "plan": "p" }));
    claude("shell_output", json!({ "id": "1" }), "BashOutput", json!({ "bash_id": "1" }));
    claude("kill_shell", json!({ "id": "1" }), "KillShell", json!({ "shell_id": "1" }));
    claude(
        "git_commit",
        json!({ "message": "m", "paths": ["src/../a"] }),
        "git_commit",
        json!({ "message": "m", "paths": ["/w/a"] }),
    );
}

/// A script that looks where a path begins would pass over `..`, whichever field it stands in.
#[test]
fn paths_in_fields_of_ours_are_told_without_dots() {
    for contract in [HookContract::Claude, HookContract::Codex, HookContract::Gemini] {
        check(
            contract,
            "move_file",
            json!({ "from": "src/../secrets/k", "to": "./a//b" }),
            "move_file",
            json!({ "from": "/w/secrets/k", "to": "/w/a/b" }),
        );
        check(
            contract,
            "read_many_files",
            json!({ "include": ["src/../secrets/*", "a/b"], "exclude": ["*.lock"] }),
            "read_many_files",
            json!({ "include": ["/w/secrets/*", "/w/a/b"], "exclude": ["*.lock"] }),
        );
        check(
            contract,
            "delete_file",
            json!({ "path": "src/../secrets/k" }),
            "delete_file",
            json!({ "path": "/w/secrets/k" }),
        );
    }
}

#[test]
fn each_row_of_gemini_clis_table_there_and_back() {
    let gemini = |tool, ours, name, theirs| check(HookContract::Gemini, tool, ours, name, theirs);
    gemini(
        "run_shell_command",
        json!({ "command": "ls", "directory": "src/../sub" }),
        "run_shell_command",
        json!({ "command": "ls", "dir_path": "/w/sub" }),
    );
    gemini(
        "read_file",
        json!({ "path": "a", "offset": 3 }),
        "read_file",
        json!({ "file_path": "/w/a", "offset": 3 }),
    );
    gemini(
        "write_file",
        json!({ "path": "a", "content": "" }),
        "write_file",
        json!({ "file_path": "/w/a", "content": "" }),
    );
    gemini("edit_file", json!({ "path": "a" }), "replace", json!({ "file_path": "/w/a" }));
    gemini(
        "glob",
        json!({ "pattern": "*", "path": "a" }),
        "glob",
        json!({ "pattern": "*", "dir_path": "/w/a" }),
    );
    gemini(
        "grep",
        json!({ "pattern": "x", "path": "a" }),
        "grep_search",
        json!({ "pattern": "x", "dir_path": "/w/a" }),
    );
    gemini("list_directory", json!({ "path": "a" }), "list_directory", json!({ "dir_path": "/w/a" }));
    gemini("web_search", json!({ "query": "q" }), "google_web_search", json!({ "query": "q" }));
    gemini("web_fetch", json!({ "prompt": "p" }), "web_fetch", json!({ "prompt": "p" }));
    gemini("ask_user", json!({ "questions": [] }), "ask_user", json!({ "questions": [] }));
    gemini("save_memory", json!({ "fact": "f" }), "save_memory", json!({ "fact": "f" }));
    gemini("read_many_files", json!({ "include": ["*"] }), "read_many_files", json!({ "include": ["/w/*"] }));
    gemini(
        "write_todos",
        json!({ "todos": [{ "text": "t", "status": "pending" }] }),
        "write_todos",
        json!({ "todos": [{ "content": "t", "status": "pending", "activeForm": "t" }] }),
    );
}

#[test]
fn what_a_hook_changes_is_read_in_our_words() {
    let root = Path::new("/w");
    let back =
        |call: &HookedCall, contract, given: Value, merges| read_back(call, contract, root, &given, merges);
    let shell = call("run_shell_command", json!({ "command": "rm x", "pty": true }));
    assert_eq!(
        back(&shell, HookContract::Claude, json!({ "command": "rm -i x", "timeout": 2000 }), false),
        Ok(json!({ "command": "rm -i x", "timeoutSeconds": 2 }))
    );
    // Gemini CLI's are put over what there is.
    assert_eq!(
        back(&shell, HookContract::Gemini, json!({ "command": "ls" }), true),
        Ok(json!({ "command": "ls", "pty": true }))
    );
    let fetch = call("web_fetch", json!({ "prompt": "read http://a.example" }));
    assert_eq!(
        back(
            &fetch,
            HookContract::Claude,
            json!({ "url": "https://a.example", "prompt": "read http://a.example" }),
            false
        ),
        Ok(json!({ "prompt": "read https://a.example", "urls": ["https://a.example"] }))
    );
    let agent = HookedCall {
        answered_by: Some(AgentName::from("helper")),
        ..call("helper", json!({ "query": "do it" }))
    };
    let told = shown(&agent, HookContract::Claude, root);
    assert_eq!(told.name, "Agent");
    assert_eq!(told.arguments["prompt"], json!("do it"));
    let mut changed = told.arguments;
    changed["prompt"] = json!("do it well");
    let of_one = json!({ "path": "src/../a", "edits": [{ "oldString": "o", "newString": "n" }] });
    let told = shown(&call("edit_file", of_one.clone()), HookContract::Claude, root);
    assert_eq!(told.name, "Edit");
    assert_eq!(told.arguments, json!({ "file_path": "/w/a", "old_string": "o", "new_string": "n" }));
    let as_told = back(&call("edit_file", of_one.clone()), HookContract::Claude, told.arguments, false);
    assert_eq!(as_told, Ok(of_one), "what is as it was told stays as the model wrote it");
    let edit = call(
        "edit_file",
        json!({ "path": "a", "edits": [{ "oldString": "o", "newString": "n", "replaceAll": true }] }),
    );
    let given = json!({ "file_path": "/w/a", "old_string": "o", "new_string": "m", "replace_all": true });
    let wanted = json!({ "path": "a", "oldString": "o", "newString": "m", "replaceAll": true });
    assert_eq!(back(&edit, HookContract::Claude, given, false), Ok(wanted.clone()));
    assert_eq!(back(&edit, HookContract::Gemini, json!({ "new_string": "m" }), true), Ok(wanted));
    assert_eq!(back(&agent, HookContract::Claude, changed, false), Ok(json!({ "query": "do it well" })));
    let server =
        HookedCall { mcp: Some(("s".to_owned(), "t".to_owned())), ..call("mcp.s.t", json!({ "a": 1 })) };
    assert_eq!(shown(&server, HookContract::Claude, root).name, "mcp__s__t");
    assert_eq!(back(&server, HookContract::Claude, json!({ "a": 2 }), false), Ok(json!({ "a": 2 })));
    assert!(back(&shell, HookContract::Claude, json!("ls"), false).is_err());
}
