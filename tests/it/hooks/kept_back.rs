//! Do a session's history and its traces say what the model read, where hooks kept something from it?

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::*;
use crate::support::Client;

const TOLD: &str = "the first line";

/// All messages of a session, by pages of so many.
async fn history(client: &mut Client, session: &str, limit: usize) -> Vec<Value> {
    let mut told = Vec::new();
    let mut params = json!({ "sessionId": session, "limit": limit });
    loop {
        let page = client.call("session/history", params.clone()).await;
        told.extend(page["messages"].as_array().unwrap().iter().cloned());
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return told,
        }
    }
}

async fn export(client: &mut Client, run: &str, format: &str) -> String {
    let page = client.call("trace/export", json!({ "runId": run, "format": format })).await;
    assert!(page.get("nextCursor").is_none(), "one page is enough");
    page["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_result_that_hooks_replaced_or_withheld_is_told_nowhere_as_read() {
    let both = [("read_file", json!({ "path": "a.txt" })), ("read_file", json!({ "path": "b.txt" }))];
    let script = Script::new(vec![Reply::calls(&both), Reply::done("ok")]);
    let replaces = says(&json!({
        "hookSpecificOutput": { "hookEventName": "PostToolUse", "updatedToolOutput": "a clean text" }
    }));
    let withholds = says(&json!({ "decision": "block", "reason": "it is private" }));
    let hook = format!("if grep -q REPLACE; then {replaces}; else {withholds}; fi");
    let house = house(&script, &json!({ "PostToolUse": [["Read", hook]] }))
        .file("b.txt", "the first line, REPLACE me\n");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    let read = ["a clean text", "withheld the result of this call: it is private"];
    let whole = history(&mut client, &session, 100).await;
    for limit in 1..=whole.len() {
        let told = history(&mut client, &session, limit).await;
        assert_eq!(told, whole, "{limit} a page");
    }
    let told = json!(whole).to_string();
    assert!(!told.contains(TOLD) && read.iter().all(|text| told.contains(text)), "{told}");

    let page = client.call("trace/get", json!({ "runId": run, "limit": 1_000 })).await;
    let spans = page["spans"].as_array().unwrap();
    for kind in ["llm", "tool"] {
        let its = json!(spans.iter().filter(|span| span["kind"] == kind).collect::<Vec<_>>()).to_string();
        assert!(!its.contains(TOLD) && read.iter().all(|text| its.contains(text)), "{its}");
    }
    let story = export(&mut client, &run, "markdown").await;
    assert!(!story.contains(TOLD) && story.contains("It withheld the result of the call."), "{story}");
    assert!(story.contains("read in its place:\n\n> a clean text\n"), "{story}");
    for format in ["json", "jsonl", "otlp", "chrome"] {
        let text = export(&mut client, &run, format).await;
        assert!(!text.contains(TOLD) && read.iter().all(|read| text.contains(read)), "{format}: {text}");
    }
    // The log alone has what the tool gave.
    let log = running.log().await;
    assert!(json!(log).to_string().contains(TOLD));
    running.stop().await;
}

/// An end of the run takes nothing back of what was read before; who wants that too says so.
#[tokio::test]
async fn result_is_withheld_by_a_hook_that_ends_the_run_only_if_it_says_so() {
    for (answer, is_kept) in [
        (json!({ "continue": false, "stopReason": "enough" }), true),
        (
            json!({ "continue": false, "stopReason": "enough", "decision": "block", "reason": "private" }),
            false,
        ),
    ] {
        let read = Reply::calls(&[("read_file", json!({ "path": "a.txt" }))]);
        let script = Script::new(vec![read, Reply::done("ok")]);
        let house = house(&script, &json!({ "PostToolUse": [["Read", says(&answer)]] }));
        let running = house.boot().await;
        let mut client = running.client();
        let (run, session) = client.start(&running, "worker", json!({})).await;
        let end = client.ended(&run).await;
        assert!(end.to_string().contains("HOOK_STOPPED"), "{end}");
        let started = json!({ "sessionId": session });
        let (next, _) = client.start(&running, "worker", started).await;
        client.ended(&next).await;
        let heard = format!("{:?}", script.requests().last().unwrap().messages);
        assert_eq!(heard.contains(TOLD), is_kept, "{answer}: {heard}");
        running.stop().await;
    }
}

#[tokio::test]
async fn a_text_that_a_guard_refused_was_never_said_to_the_agent() {
    let gate = Arc::new(Semaphore::new(0));
    let script = Script::new(vec![Reply::after(&gate, Reply::done("ok"))]);
    let guard = "if grep -q SECRETLY; then echo 'not that' >&2; exit 2; fi";
    let house = house(&script, &json!({ "UserPromptSubmit": [guard] }));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    script.asked().await;
    client.call("run/steer", json!({ "runId": run, "text": "SECRETLY stop" })).await;
    let refused = |page: &Value| {
        let is_refused = |event: &Value| event["type"] == "hook.fired" && event["data"]["decision"] == "deny";
        page["events"].as_array().unwrap().iter().any(is_refused)
    };
    client.until("events/list", json!({ "filter": { "runId": run } }), refused).await;
    gate.add_permits(1);
    client.ended(&run).await;
    let whole = history(&mut client, &session, 100).await;
    for limit in 1..=whole.len() {
        let told = history(&mut client, &session, limit).await;
        assert!(!json!(told).to_string().contains("SECRETLY"), "{limit} a page: {told:#?}");
        assert_eq!(told, whole, "{limit} a page");
    }
    let got = client.call("session/get", json!({ "sessionId": session })).await;
    assert_eq!(got["contexts"][0]["messages"], whole.len(), "{got:#}");
    let story = export(&mut client, &run, "markdown").await;
    assert!(story.contains("a text was not told to the agent, by the hook"), "{story}");
    running.stop().await;
}
