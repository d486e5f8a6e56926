//! Questions of runs, put to the person of a client that can ask one.

use serde_json::{Value, json};

use super::{Peer, agent, boot, prompt, text};
use crate::support::{Client, House, Reply, Running, Script};

fn asking() -> Value {
    json!({ "elicitation": {} })
}

/// Its agent writes a file, which is asked about.
fn house() -> House {
    let write = Reply::calls(&[("write_file", json!({ "path": "note.txt", "content": "one\n" }))]);
    House::new()
        .script(&Script::new([write, Reply::done("done")]))
        .agent("writer", &agent("writer", "tools: [write_file]"))
        .settings(&json!({ "models": { "default": "script" } }))
}

async fn begin(peer: &mut Peer) -> u64 {
    peer.begin("tools/call", json!({ "name": "writer", "arguments": prompt() })).await
}

/// A question that waits, as others see it.
async fn open_question(other: &mut Client) -> Value {
    let has_one = |answer: &Value| answer["confirmations"].as_array().is_some_and(|it| it.len() == 1);
    other.until("confirmation/list", json!({}), has_one).await["confirmations"][0].clone()
}

async fn outcome(running: &Running) -> String {
    let log = running.log().await;
    let resolved = log.iter().find(|event| event["type"] == "confirmation.resolved").unwrap();
    resolved["data"]["outcome"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_question_becomes_an_elicitation_and_its_answer_counts() {
    let house = house();
    let (running, socket) = boot(&house).await;
    let mut peer = Peer::open(&running, &socket, "", asking()).await;
    let call = begin(&mut peer).await;
    let (id, form) = peer.asked("elicitation/create").await;
    let message = form["message"].as_str().unwrap();
    assert!(
        message.contains("writer asks") && message.contains("note.txt") && message.contains("+one"),
        "{form}"
    );
    let offered = form["requestedSchema"]["properties"]["decision"]["enum"].clone();
    assert!(offered.as_array().unwrap().contains(&json!("allowOnce")), "{form}");
    peer.respond(&id, json!({ "action": "accept", "content": { "decision": "allowOnce" } })).await;
    assert_eq!(text(&peer.answer(call).await["result"]), "done");
    assert_eq!(std::fs::read_to_string(house.work().join("note.txt")).unwrap(), "one\n");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn declining_denies() {
    let house = house();
    let (running, socket) = boot(&house).await;
    let mut peer = Peer::open(&running, &socket, "", asking()).await;
    let call = begin(&mut peer).await;
    let (id, _) = peer.asked("elicitation/create").await;
    peer.respond(&id, json!({ "action": "decline" })).await;
    assert_eq!(text(&peer.answer(call).await["result"]), "done");
    assert_eq!(outcome(&running).await, "deny");
    assert!(!house.work().join("note.txt").exists());
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn what_is_no_clear_answer_leaves_the_question_open_for_others() {
    for said in [
        json!({ "action": "cancel" }),
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": { "decision": "yes" } }),
        json!({ "action": "allowOnce" }),
    ] {
        let house = house();
        let (running, socket) = boot(&house).await;
        let mut other = running.client();
        let mut peer = Peer::open(&running, &socket, "", asking()).await;
        let call = begin(&mut peer).await;
        let (id, _) = peer.asked("elicitation/create").await;
        peer.respond(&id, said.clone()).await;
        peer.call("ping", json!({})).await;
        let question = open_question(&mut other).await;
        assert!(!house.work().join("note.txt").exists(), "{said}");
        let answer = json!({
            "confirmationId": question["confirmationId"], "digest": question["digest"], "outcome": "allowOnce",
        });
        other.call("confirmation/respond", answer).await;
        assert_eq!(text(&peer.answer(call).await["result"]), "done");
        drop(peer);
        running.stop().await;
    }
}

#[tokio::test]
async fn an_elicitation_is_taken_back_when_somebody_else_was_quicker() {
    let (running, socket) = boot(&house()).await;
    let mut other = running.client();
    let mut peer = Peer::open(&running, &socket, "", asking()).await;
    let call = begin(&mut peer).await;
    let (id, _) = peer.asked("elicitation/create").await;
    let question = open_question(&mut other).await;
    let answer = json!({ "confirmationId": question["confirmationId"], "digest": question["digest"], "outcome": "deny" });
    other.call("confirmation/respond", answer).await;
    let taken_back = peer.notification("notifications/cancelled").await;
    assert_eq!(taken_back["requestId"], id);
    // What the person still says means nothing.
    peer.respond(&id, json!({ "action": "accept", "content": { "decision": "allowOnce" } })).await;
    assert_eq!(text(&peer.answer(call).await["result"]), "done");
    assert_eq!(outcome(&running).await, "deny");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_not_asked_and_says_who_can() {
    let (running, socket) = boot(&house()).await;
    let mut other = running.client();
    let mut peer = Peer::open(&running, &socket, "&waitMs=0", json!({})).await;
    let call = begin(&mut peer).await;
    let handle = peer.answer(call).await["result"].clone();
    let question = open_question(&mut other).await;
    assert_eq!(question["state"], "queued", "{question}");
    let run = handle["structuredContent"]["runId"].clone();
    let told = peer.tool("run_wait", json!({ "runId": run, "timeoutMs": 0 })).await;
    assert!(text(&told).contains("subagent approve"), "{told}");
    let answer = json!({ "confirmationId": question["confirmationId"], "digest": question["digest"], "outcome": "allowOnce" });
    other.call("confirmation/respond", answer).await;
    let told = peer.tool("run_wait", json!({ "runId": run, "timeoutMs": 60_000 })).await;
    assert_eq!(text(&told), "done");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn a_question_stays_before_the_person_when_the_call_has_answered_a_handle() {
    let house = house();
    let (running, socket) = boot(&house).await;
    let mut peer = Peer::open(&running, &socket, "&waitMs=0", asking()).await;
    let call = begin(&mut peer).await;
    let handle = peer.answer(call).await["result"].clone();
    let (id, _) = peer.asked("elicitation/create").await;
    peer.respond(&id, json!({ "action": "accept", "content": { "decision": "allowOnce" } })).await;
    let run = handle["structuredContent"]["runId"].clone();
    let told = peer.tool("run_wait", json!({ "runId": run, "timeoutMs": 60_000 })).await;
    assert_eq!(text(&told), "done");
    drop(peer);
    running.stop().await;
}

/// What lasts is one form, and a word in a second one.
#[tokio::test]
async fn consent_that_outlives_the_call_wants_a_second_form() {
    for (typed, is_consent) in [("allow", true), ("y", false)] {
        let house = house();
        let (running, socket) = boot(&house).await;
        let mut other = running.client();
        let mut peer = Peer::open(&running, &socket, "", asking()).await;
        let call = begin(&mut peer).await;
        let (id, form) = peer.asked("elicitation/create").await;
        let offered = form["requestedSchema"]["properties"]["decision"]["enum"].as_array().unwrap().clone();
        assert_eq!(offered[0], "deny", "{form}");
        let decision = offered.iter().find(|it| *it == "allowSession:file").unwrap();
        peer.respond(&id, json!({ "action": "accept", "content": { "decision": decision } })).await;
        let (second, form) = peer.asked("elicitation/create").await;
        assert_ne!(second, id);
        let message = form["message"].as_str().unwrap();
        assert!(message.contains("From now on: ") && message.contains("note.txt"), "{form}");
        assert!(!house.work().join("note.txt").exists());
        peer.respond(&second, json!({ "action": "accept", "content": { "confirm": typed } })).await;
        if !is_consent {
            peer.call("ping", json!({})).await;
            let question = open_question(&mut other).await;
            assert!(!house.work().join("note.txt").exists());
            let deny = json!({ "confirmationId": question["confirmationId"], "digest": question["digest"], "outcome": "deny" });
            other.call("confirmation/respond", deny).await;
        }
        assert_eq!(text(&peer.answer(call).await["result"]), "done");
        assert_eq!(outcome(&running).await, if is_consent { "allowSession" } else { "deny" });
        assert_eq!(house.work().join("note.txt").exists(), is_consent);
        drop(peer);
        running.stop().await;
    }
}
