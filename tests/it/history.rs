//! Is what clients read as a context's history what the model is asked with?

use std::sync::Arc;

use serde_json::{Value, json};
use subagentd::{
    models::ModelRequest,
    protocol::{Risk, ToolKind},
};
use tokio::sync::Semaphore;

use crate::{
    probe::Probe,
    support::{Client, House, Reply, Script},
};

const PUPIL: &str = "---
kind: agent
name: pupil
description: Learns from examples.
completion: tool
tools: [probe]
initialMessages:
  - role: user
    text: for example?
  - role: model
    text: like this.
---
You learn.
";

/// Role and part, one after the other: how parts are gathered into messages is the providers' wish, and no matter here.
fn sent(request: &ModelRequest) -> Vec<(Value, Value)> {
    let parts = |message: &subagentd::protocol::ContextMessage| {
        let role = json!(message.role);
        message.parts.iter().map(|part| (role.clone(), json!(part))).collect::<Vec<_>>()
    };
    request.messages.iter().flat_map(|message| parts(message)).collect()
}

async fn read(client: &mut Client, session: &str, limit: usize) -> Vec<(Value, Value)> {
    let mut told = Vec::new();
    let mut params = json!({ "sessionId": session, "limit": limit });
    loop {
        let page = client.call("session/history", params.clone()).await;
        for message in page["messages"].as_array().unwrap() {
            let parts = message["parts"].as_array().unwrap();
            told.extend(parts.iter().map(|part| (message["role"].clone(), part.clone())));
        }
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return told,
        }
    }
}

async fn steer(client: &mut Client, run: &str, text: &str) {
    client.call("run/steer", json!({ "runId": run, "text": text })).await;
}

#[tokio::test]
async fn history_is_what_the_model_was_asked_with() {
    let gate = Arc::new(Semaphore::new(0));
    let first = Script::new([Reply::after(&gate, Reply::calls(&[("probe", json!({}))])), Reply::Hangs]);
    let script = Script::new([Reply::calls(&[("probe", json!({}))]), Reply::done("ok")]);
    let (probe, _, _began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let house = House::new().model("first", &first).script(&script).tool(probe).agent("pupil", PUPIL);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "pupil", json!({ "model": "first" })).await;
    first.asked().await;
    steer(&mut client, &run, "taken by a turn").await;
    gate.add_permits(1);
    first.asked().await;
    steer(&mut client, &run, "too late for this run").await;
    let (never, _) =
        client.start(&running, "pupil", json!({ "sessionId": session, "prompt": "never begins" })).await;
    steer(&mut client, &never, "to nobody").await;
    let (second, _) =
        client.start(&running, "pupil", json!({ "sessionId": session, "prompt": "go on" })).await;
    steer(&mut client, &second, "while it waits").await;
    client.call("run/cancel", json!({ "runId": never })).await;
    client.ended(&never).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    assert_eq!(client.ended(&run).await["reason"], "ABORTED");
    assert_eq!(client.ended(&second).await["reason"], "GOAL");
    let (third, _) = client.start(&running, "pupil", json!({ "sessionId": session })).await;
    assert_eq!(client.ended(&third).await["reason"], "GOAL");

    let history = read(&mut client, &session, 1_000).await;
    let requests = [first.requests(), script.requests()].concat();
    assert_eq!(requests.len(), 6);
    for request in &requests {
        let sent = sent(request);
        let told = &history[..sent.len().min(history.len())];
        assert_eq!(told, sent, "of run {:?}", request.ordinal);
    }
    // After the last request came the reply to it and its result.
    assert_eq!(history.len(), sent(requests.last().unwrap()).len() + 2);
    let everything = json!(history).to_string();
    for text in ["taken by a turn", "too late for this run", "while it waits", "for example?"] {
        assert_eq!(everything.matches(text).count(), 1, "{text}: {everything}");
    }
    assert!(!everything.contains("to nobody") && !everything.contains("never begins"), "{everything}");
    for limit in 1..history.len() {
        assert_eq!(read(&mut client, &session, limit).await, history, "{limit} a page");
    }
    // The session says how much there is, and what it came about by.
    let page = client.call("session/history", json!({ "sessionId": session, "limit": 1_000 })).await;
    let got = client.call("session/get", json!({ "sessionId": session })).await;
    let record = client.call("run/get", json!({ "runId": third })).await;
    let context = &got["contexts"][0];
    assert_eq!(context["messages"], page["messages"].as_array().unwrap().len());
    let metadata =
        json!({ "runs": 4, "lastRunId": third, "model": record["model"], "digest": record["digest"] });
    assert_eq!(context["metadata"], metadata, "{got:#}");
    running.stop().await;
}
