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
