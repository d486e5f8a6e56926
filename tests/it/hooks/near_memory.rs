//! What becomes of a folder's memory, which a run reads with the result of its first call there, where hooks read or replace that result?

use super::*;

const MEMORY: &str = "about-sub";

/// A run that reads a file below a folder with memory, with these hooks; what its model was told last.
async fn told_with(hooks: Value) -> (String, Vec<Value>) {
    let script = Script::new(vec![read("sub/b.txt"), read("sub/b.txt"), Reply::done("ok")]);
    let house = house(&script, &hooks).file("sub/AGENTS.md", MEMORY).file("sub/b.txt", "b\n");
    let running = house.boot().await;
    let mut client = running.client();
    answering::trust_all(&mut client, &running).await;
    let (run, _) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    let log = running.log().await;
    running.stop().await;
    (format!("{:?}", script.requests().last().unwrap().messages), log)
}

#[tokio::test]
async fn memory_of_a_folder_stays_where_a_hook_replaces_or_withholds_the_result() {
    let replaces = says(&json!({
        "hookSpecificOutput": { "hookEventName": "PostToolUse", "updatedToolOutput": "a clean text" }
    }));
    let withholds = says(&json!({ "decision": "block", "reason": "it is private" }));
    for hook in [replaces, withholds] {
        let (told, log) = told_with(json!({ "PostToolUse": [hook.clone()] })).await;
        assert_eq!(told.matches(MEMORY).count(), 1, "{hook}: {told}");
        let replaced = log.iter().find(|it| !it["data"]["replacement"].is_null()).unwrap();
        assert!(!replaced.to_string().contains(MEMORY), "{replaced}");
    }
}

/// The same where another call takes the result's place.
#[tokio::test]
async fn memory_of_a_folder_stays_where_a_hook_has_another_call_made() {
    let tail = says(&json!({ "hookSpecificOutput": {
        "hookEventName": "AfterTool", "tailToolCallRequest": { "name": "read_file", "args": { "file_path": "a.txt" } },
    } }));
    let (told, _) = told_with(json!({ "AfterTool": [["read_file", tail]] })).await;
    assert_eq!(told.matches(MEMORY).count(), 1, "{told}");
    assert!(told.contains("the first line"), "{told}");
}

/// Hooks are told what the tool says, and not what a folder's memory or another hook adds behind it.
#[tokio::test]
async fn hooks_read_the_tools_own_result() {
    let adds = pre("allow", &json!({ "additionalContext": "a-note" }));
    let seen = "cat >> ../seen; echo >> ../seen";
    let script = Script::new(vec![read("sub/b.txt"), Reply::done("ok")]);
    let hooks = json!({ "PreToolUse": [["Read", adds]], "PostToolUse": [seen], "PostToolBatch": [seen] });
    let house = house(&script, &hooks).file("sub/AGENTS.md", MEMORY).file("sub/b.txt", "b\n");
    let running = house.boot().await;
    let mut client = running.client();
    answering::trust_all(&mut client, &running).await;
    let (run, _) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    running.stop().await;
    let told = format!("{:?}", script.requests().last().unwrap().messages);
    assert!(told.contains(MEMORY) && told.contains("a-note"), "{told}");
    let seen = fs::read_to_string(house.dir.path().join("seen")).unwrap();
    let events: Vec<Value> = seen.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(events.len(), 2, "{seen}");
    assert_eq!(events[0]["tool_response"]["file"]["content"], "b\n", "{seen}");
    assert!(!seen.contains(MEMORY) && !seen.contains("a-note"), "{seen}");
}
