//! Which event is a command that fails? As Claude Code has it: `PostToolUseFailure`, unless its program only says no.

use super::*;

const RUNNER: &str = "---
kind: agent
name: runner
description: Runs.
completion: tool
tools: [run_shell_command]
---
You run.
";

#[tokio::test]
async fn a_command_that_fails_is_a_failure_to_hooks() {
    for (command, event, says) in [
        ("true", "PostToolUse", "stdout"),
        ("echo out; echo err >&2; exit 3", "PostToolUseFailure", "error"),
        ("false", "PostToolUseFailure", "error"),
        ("kill -9 $$", "PostToolUseFailure", "error"),
        ("grep nowhere a.txt", "PostToolUse", "stdout"),
        ("cat a.txt | grep nowhere", "PostToolUse", "stdout"),
        ("grep x nowhere.txt", "PostToolUseFailure", "error"),
        ("test -e nowhere.txt", "PostToolUse", "stdout"),
        ("grep nowhere a.txt; false", "PostToolUseFailure", "error"),
    ] {
        let script = Script::new([
            Reply::calls(&[("run_shell_command", json!({ "command": command }))]),
            Reply::done("ok"),
        ]);
        let house = house(&script, &json!({ "PostToolUse": ["cat > /dev/null"] }))
            .agent("runner", RUNNER)
            .rules("commands", "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"allow\"\n");
        let told = house.dir.path().join("told");
        let keep = format!("tee -a '{}' > /dev/null", told.display());
        let hooks = json!({ "PostToolUse": [group(&keep)], "PostToolUseFailure": [group(&keep)] });
        fs::write(&house.sources.files.user, json!({ "hooks": hooks }).to_string()).unwrap();
        // Codex has one event for both.
        fs::create_dir_all(house.work().join(".codex")).unwrap();
        let keep = format!(
            "cat > /dev/null; printf '%s' '{}'",
            r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"codex heard"}}"#
        );
        let hooks = json!({ "hooks": { "PostToolUse": [group(&keep)] } });
        fs::write(house.work().join(".codex/hooks.json"), hooks.to_string()).unwrap();
        let running = house.boot().await;
        let mut client = running.client();
        let params = json!({ "workspace": running.work() });
        let files = client.call("workspace/open", params).await["workspace"]["files"].clone();
        let files = files.as_array().unwrap().iter();
        let files: Vec<Value> =
            files.map(|it| json!({ "path": it["path"], "digest": it["digest"] })).collect();
        let params = json!({ "workspace": running.work(), "trusted": true, "files": files });
        client.call("workspace/trust", params).await;
        let (run, _) = client.start(&running, "runner", json!({})).await;
        client.ended(&run).await;
        let lines = fs::read_to_string(&told).unwrap();
        let read: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read.len(), 1, "{command}: {read:?}");
        assert_eq!(read[0]["hook_event_name"], event, "{command}");
        match says {
            "error" => {
                let error = read[0]["error"].as_str().unwrap();
                assert!(
                    error.starts_with("Exit code: ") || error.starts_with("Ended by signal"),
                    "{command}: {error}"
                );
                assert_eq!(read[0].get("tool_response"), None, "{command}");
            }
            _ => assert!(read[0]["tool_response"]["stdout"].is_string(), "{command}: {}", read[0]),
        }
        assert!(heard(&script).contains("codex heard"), "{command}: {}", heard(&script));
        running.stop().await;
    }
}

fn group(command: &str) -> Value {
    json!({ "hooks": [{ "type": "command", "command": command }] })
}
