//! Clients that do not keep to the protocol: nothing they say costs anybody else anything.

use serde_json::{Value, json};

use super::{Peer, boot, house, prompt, text};
use crate::support::{Reply, Script};

#[tokio::test]
async fn what_is_no_message_is_not_answered_and_harms_nobody() {
    let (running, socket) = boot(&house(&Script::new([Reply::done("done")]))).await;
    let mut peer = Peer::open(&running, &socket, "", json!({})).await;
    for garbage in ["{", "\u{0}\u{1}\u{2}", "null", "[]", "[1, 2]", "{\"jsonrpc\": \"2.0\"}", "\"text\""] {
        peer.send(garbage).await;
    }
    // Longer than any message may be.
    peer.send(&format!("{{\"jsonrpc\": \"2.0\", \"x\": \"{}\"}}", "x".repeat(50 << 20))).await;
    let unknown = peer.request("resources/list", json!({})).await;
    assert!(unknown["result"]["resources"].is_array() || unknown["error"]["code"] == -32601, "{unknown}");
    let unknown = peer.request("no/such", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    let wrong = peer.request("tools/call", json!({ "arguments": 3 })).await;
    assert!(wrong.get("error").is_some(), "{wrong}");
    assert_eq!(text(&peer.tool("worker", prompt()).await), "done");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn nothing_is_done_before_a_client_says_who_it_is() {
    let (running, socket) = boot(&house(&Script::new([Reply::done("done")]))).await;
    let work = running.work().to_str().unwrap().to_owned();
    let mut peer = Peer::connect(&socket, &format!("workspace={work}")).await;
    let refused = peer.request("tools/call", json!({ "name": "worker", "arguments": prompt() })).await;
    assert!(refused.get("error").is_some(), "{refused}");
    peer.initialize(json!({})).await;
    let again = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" },
    });
    let again = peer.request("initialize", again).await;
    assert!(again.get("error").is_some(), "{again}");
    let runs = running.client().call("run/list", json!({})).await;
    assert_eq!(runs["runs"], json!([]));
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn a_newer_version_is_answered_with_the_newest_that_is_spoken() {
    let (running, socket) = boot(&house(&Script::new([Reply::done("done")]))).await;
    let mut peer = Peer::connect(&socket, "workspace=/").await;
    let params = json!({
        "protocolVersion": "2099-01-01", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" },
    });
    let answer = peer.request("initialize", params).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn of_hundreds_of_calls_at_once_some_are_refused_and_the_others_run() {
    let script = Script::new([Reply::Hangs]);
    let (running, socket) = boot(&house(&script)).await;
    let mut other = running.client();
    let mut peer = Peer::open(&running, &socket, "", json!({})).await;
    let mut calls = Vec::new();
    for _ in 0..400 {
        calls.push(peer.begin("tools/call", json!({ "name": "worker", "arguments": prompt() })).await);
    }
    let is_refused = |message: &Value| message["error"]["data"]["kind"] == "OVERLOADED";
    for _ in 0..400 - 32 {
        peer.hear(is_refused).await;
    }
    // Whoever asks for less is still heard.
    peer.call("tools/list", json!({})).await;
    let has_all = |answer: &Value| answer["runs"].as_array().is_some_and(|runs| runs.len() == 32);
    let live = other.until("run/list", json!({ "active": true }), has_all).await;
    for run in live["runs"].as_array().unwrap() {
        other.call("run/cancel", json!({ "runId": run["runId"] })).await;
    }
    for run in live["runs"].as_array().unwrap() {
        other.ended(run["runId"].as_str().unwrap()).await;
    }
    drop(peer);
    running.stop().await;
}
