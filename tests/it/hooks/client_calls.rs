//! What does a client read of its own call (`tools/call`), where hooks had their say on the result?

use super::*;

/// The answer that the client gets, with these hooks.
async fn called(hooks: Value, tool: &str, arguments: Value) -> Value {
    let house = house(&Script::new(Vec::new()), &hooks)
        .rules("commands", "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"allow\"\n");
    let running = house.boot().await;
    let mut client = running.client();
    let created = client.call("session/create", json!({ "workspace": running.work() })).await;
    let params = json!({ "sessionId": created["sessionId"], "tool": tool, "arguments": arguments });
    let answer = client.call("tools/call", params).await;
    running.stop().await;
    answer["result"].clone()
}

fn replacing(event: &str) -> String {
    says(&json!({ "hookSpecificOutput": { "hookEventName": event, "updatedToolOutput": "a clean text" } }))
}

#[tokio::test]
async fn a_client_reads_what_hooks_left_of_its_calls_result() {
    let withholds = says(&json!({ "decision": "block", "reason": "it is private" }));
    for (hook, expected) in [(replacing("PostToolUse"), "a clean text"), (withholds, "it is private")] {
        let result = called(json!({ "PostToolUse": [hook] }), "read_file", json!({ "path": "a.txt" })).await;
        assert!(!result.to_string().contains("the first line"), "{result}");
        assert!(result["llmContent"].to_string().contains(expected), "{result}");
        assert!(result["data"].is_null() && result["returnDisplay"].is_null(), "{result}");
    }
}

#[tokio::test]
async fn a_client_reads_nothing_of_a_failure_that_a_hook_replaced() {
    let failing = json!({ "command": "cat a.txt; exit 3" });
    let hooks = json!({ "PostToolUseFailure": [replacing("PostToolUseFailure")] });
    let result = called(hooks, "run_shell_command", failing).await;
    assert!(!result.to_string().contains("the first line"), "{result}");
    assert!(result["llmContent"].to_string().contains("a clean text"), "{result}");
}

/// Text that is only added stands behind the result, which is whole.
#[tokio::test]
async fn a_client_reads_what_a_hook_adds_behind_its_calls_result() {
    let adds =
        json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse", "additionalContext": "a note" } });
    let result =
        called(json!({ "PostToolUse": [says(&adds)] }), "read_file", json!({ "path": "a.txt" })).await;
    let said = result["llmContent"].to_string();
    assert!(said.contains("the first line") && said.contains("a note"), "{result}");
    let plain = called(json!({}), "read_file", json!({ "path": "a.txt" })).await;
    assert_eq!(result["data"].is_null(), plain["data"].is_null());
}

/// A call that a hook wants next is made where it is of the client's tool; of another one the log says why not.
#[tokio::test]
async fn a_client_reads_what_came_of_the_call_that_a_hook_wanted_next() {
    let wants = |name: &str| {
        let next = json!({ "name": name, "args": { "file_path": "b.txt" } });
        says(&json!({ "hookSpecificOutput": { "hookEventName": "AfterTool", "tailToolCallRequest": next } }))
    };
    for (name, expected, warning) in [
        ("read_file", "the second file", None),
        (
            "write_file",
            "the first line",
            Some("wants `write_file` called, and no call is made: after a client's own call"),
        ),
    ] {
        let house = house(&Script::new(Vec::new()), &json!({})).file("b.txt", "the second file\n");
        // In a file of its own: a command that names a file of the workspace would be one that runs it.
        let program = house.dir.path().join("hook.sh");
        fs::write(&program, wants(name)).unwrap();
        let hook = json!({ "type": "command", "command": format!("sh '{}'", program.display()) });
        let house = house.settings(&json!({ "hooks": { "AfterTool": [{ "hooks": [hook] }] } }));
        let running = house.boot().await;
        let mut client = running.client();
        let created = client.call("session/create", json!({ "workspace": running.work() })).await;
        let params = json!({ "sessionId": created["sessionId"], "tool": "read_file", "arguments": { "path": "a.txt" } });
        let answer = client.call("tools/call", params).await;
        assert!(answer["result"]["llmContent"].to_string().contains(expected), "{name}: {answer}");
        let log = running.log().await;
        let warned =
            log.iter().filter(|it| it["type"] == "warning").map(|it| it["data"]["message"].as_str().unwrap());
        let warned: Vec<&str> = warned.filter(|it| it.contains("call")).collect();
        assert_eq!(warned.len(), usize::from(warning.is_some()), "{warned:?}");
        assert!(warned.iter().all(|it| it.contains(warning.unwrap())), "{warned:?}");
        running.stop().await;
    }
}
