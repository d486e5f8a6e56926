//! The agent `help` answers from the daemon's own documents, and says so when they do not (spec 02, "Built in").

use serde_json::{Value, json};

use crate::support::{House, Reply, Running, Script};

/// The ends of a run's searches, in order.
async fn searches(running: &Running, run: &str) -> Vec<Value> {
    let log = running.log().await;
    let is_end = |event: &&Value| {
        event["runId"] == run
            && event["activity"] == "TOOL_CALL_END"
            && event["data"]["name"] == "search_docs"
    };
    log.iter().filter(is_end).map(|event| event["data"]["result"].clone()).collect()
}

fn search(query: &str) -> (&'static str, Value) {
    ("search_docs", json!({ "query": query }))
}

#[tokio::test]
async fn a_question_is_answered_with_file_and_heading() {
    let answer = "Put a file into `~/.config/subagentd/agents/` (`docs/agents.md`, \"Writing an agent\").";
    let script = Script::new([
        // One after the other: calls of one turn end in any order.
        Reply::calls(&[search("write own agent file")]),
        Reply::calls(&[search("triggers keywords")]),
        Reply::says(answer),
    ]);
    let running = House::new().script(&script).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "help", json!({ "prompt": "How do I write an agent?" })).await;
    let record = client.ended(&run).await;
    assert_eq!((&record["reason"], &record["result"]), (&json!("GOAL"), &json!(answer)));
    let found = searches(&running, &run).await;
    let sections = found[0]["data"]["sections"].as_array().unwrap();
    let is_place =
        |it: &Value| (&it["file"], &it["heading"]) == (&json!("docs/agents.md"), &json!("Writing an agent"));
    assert!(sections.iter().any(is_place), "{found:#?}");
    let text = found[0]["llmContent"][0]["text"].as_str().unwrap();
    assert!(text.contains("=== docs/agents.md › Writing an agent (line "), "{text}");
    assert!(text.contains("~/.config/subagentd/agents/"), "{text}");
    assert!(
        found[1]["llmContent"][0]["text"].as_str().unwrap().contains("`bug` matches `Bugs`"),
        "{found:#?}"
    );

    // It sees the documents and nothing else, and knows which version they are of.
    let request = &script.requests()[0];
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["search_docs", "complete_task"]);
    assert!(request.system.contains(env!("CARGO_PKG_VERSION")), "{}", request.system);
    running.stop().await;
}

#[tokio::test]
async fn what_the_documents_do_not_say_is_outside() {
    let answer = "This is outside of subagentd's documents. I searched for sourdough and for bread.";
    let script = Script::new([
        Reply::calls(&[search("sourdough starter")]),
        Reply::calls(&[search("bake bread")]),
        Reply::says(answer),
    ]);
    let running = House::new().script(&script).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "help", json!({ "prompt": "How do I bake bread?" })).await;
    assert_eq!(client.ended(&run).await["result"], answer);
    for found in searches(&running, &run).await {
        assert_eq!((&found["data"]["sections"], &found["error"]), (&json!([]), &Value::Null), "{found}");
        let text = found["llmContent"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("Nothing in the documents fits `") && text.contains("outside"), "{text}");
    }
    running.stop().await;
}

#[tokio::test]
async fn nobody_else_gets_the_search_without_naming_it() {
    let named = "---\nkind: agent\nname: named\ndescription: d\ntools: [search_docs, grep]\n---\nDo.\n";
    let running = House::new().agent("named", named).boot().await;
    let mut client = running.client();
    let mut tools = async |agent: &str| {
        let listed = client.call("tools/list", json!({ "agent": agent })).await;
        let names = listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone());
        names.map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(tools("generalist").await.iter().all(|tool| tool != "search_docs"));
    assert!(tools("generalist").await.iter().any(|tool| tool == "help"));
    assert_eq!(tools("help").await, ["search_docs", "complete_task"]);
    assert_eq!(tools("named").await, ["grep", "search_docs", "complete_task"]);
    for (tool, outcome) in [("search_docs", "pass"), ("*_docs", "warn")] {
        let text = format!("---\nkind: agent\nname: x\ndescription: d\ntools: [\"{tool}\"]\n---\nDo.\n");
        let validated = client.call("agents/validate", json!({ "text": text })).await;
        let checks = validated["agents"][0]["checks"].as_array().unwrap();
        let found =
            checks.iter().find(|check| check["check"].as_str().unwrap().contains("every tool")).unwrap();
        assert_eq!(found["outcome"], outcome, "{tool}: {found}");
    }
    running.stop().await;
}
