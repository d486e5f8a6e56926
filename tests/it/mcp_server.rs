//! Agents as tools of other programs, by the Model Context Protocol (spec 07, "As a server").

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use self::peer::Peer;
use crate::support::{House, Reply, Running, Script};

mod asking;
mod bridge;
mod hostile;
mod http;
mod peer;

/// A tool's arguments that say what to do.
fn prompt() -> Value {
    json!({ "prompt": "do it" })
}

/// A call that is over at once.
fn looking() -> Reply {
    Reply::calls(&[("list_directory", json!({ "path": "." }))])
}

fn agent(name: &str, lines: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: Does things.\ncompletion: tool\n{lines}\n---\nYou do things.\n"
    )
}

const TYPED: &str = "inputs:
  topic: { type: string, description: What about, required: true }
  depth: { type: integer, required: true }
output:
  name: verdict
  schema:
    type: object
    properties: { score: { type: number } }
    required: [score]
";

fn house(script: &Script) -> House {
    House::new()
        .script(script)
        .agent("worker", &agent("worker", ""))
        .agent("judge", &agent("judge", TYPED))
        .agent("secret", &agent("secret", "hidden: true"))
        .agent("broken", "---\nkind: agent\nname: broken\nrun: 3\n---\n")
        .settings(&json!({ "models": { "default": "script" } }))
}

/// A daemon with these agents, and the path of its socket.
async fn boot(house: &House) -> (Running, PathBuf) {
    let running = house.boot().await;
    let socket = running.listen().await;
    (running, socket)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

#[tokio::test]
async fn each_agent_that_can_be_started_is_a_tool_with_its_schemas() {
    let (running, socket) = boot(&house(&Script::new([Reply::done("done")]))).await;
    let mut peer = Peer::open(&running, &socket, "", json!({})).await;
    let tools = peer.call("tools/list", json!({})).await["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    for name in ["worker", "judge", "run_status", "run_wait", "run_cancel"] {
        assert!(names.contains(&name), "{name} is missing: {names:?}");
    }
    assert!(!names.contains(&"secret") && !names.contains(&"broken"), "{names:?}");
    let tool = |name: &str| tools.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone();
    let worker = tool("worker");
    assert_eq!(worker["description"], "Does things.");
    assert_eq!(worker["inputSchema"]["required"], json!(["prompt"]));
    assert_eq!(worker["outputSchema"]["properties"]["result"], json!({ "type": "string" }));
    let judge = tool("judge");
    assert_eq!(judge["inputSchema"]["required"], json!(["topic", "depth"]));
    assert_eq!(judge["inputSchema"]["properties"]["topic"]["description"], "What about");
    assert_eq!(judge["outputSchema"]["properties"]["result"]["required"], json!(["score"]));
    assert_eq!(tool("run_wait")["annotations"]["readOnlyHint"], true);
    assert!(worker["annotations"]["readOnlyHint"].is_null(), "{worker}");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn a_call_answers_the_result_of_its_run_which_others_see() {
    let script = Script::new([Reply::done("all is well")]);
    let (running, socket) = boot(&house(&script)).await;
    let mut peer = Peer::open(&running, &socket, "", json!({})).await;
    let result = peer.tool("worker", prompt()).await;
    assert_eq!((text(&result), &result["isError"]), ("all is well", &json!(false)));
    let told = &result["structuredContent"];
    assert_eq!(
        (&told["status"], &told["reason"], &told["result"]),
        (&json!("ended"), &json!("GOAL"), &json!("all is well"))
    );
    let run = running.client().call("run/get", json!({ "runId": told["runId"] })).await;
    assert_eq!((&run["agent"], &run["sessionId"]), (&json!("worker"), &told["sessionId"]));
    // As whoever asked by the protocol, not as nobody.
    let clients = running.client().call("client/list", json!({})).await["clients"].clone();
    let named = clients
        .as_array()
        .unwrap()
        .iter()
        .any(|it| it["client"]["name"] == "tester" && it["client"]["kind"] == "bridge");
    assert!(named, "{clients}");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn a_typed_result_is_structured_as_it_was_promised() {
    let script = Script::new([Reply::calls(&[("complete_task", json!({ "verdict": { "score": 7 } }))])]);
    let (running, socket) = boot(&house(&script)).await;
    let mut peer = Peer::open(&running, &socket, "", json!({})).await;
    let result = peer.tool("judge", json!({ "topic": "tea", "depth": 2 })).await;
    assert_eq!(result["structuredContent"]["result"], json!({ "score": 7 }), "{result}");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn a_run_that_fails_is_an_error_that_says_why() {
    let (running, socket) = boot(&house(&Script::new([Reply::says("just words")]))).await;
    let mut peer = Peer::open(&running, &socket, "", json!({})).await;
    let result = peer.tool("worker", prompt()).await;
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result).contains("ERROR_NO_COMPLETE_TASK_CALL"), "{result}");
    assert_eq!(result["structuredContent"]["reason"], "ERROR_NO_COMPLETE_TASK_CALL");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn everything_that_is_wrong_with_arguments_is_told_at_once() {
    let (running, socket) = boot(&house(&Script::new([Reply::done("done")]))).await;
    let mut peer = Peer::open(&running, &socket, "", json!({})).await;
    let result = peer.tool("judge", json!({ "depth": "deep", "tpic": "tea" })).await;
    assert_eq!(result["isError"], true);
    for part in ["topic", "depth", "tpic"] {
        assert!(text(&result).contains(part), "{part}: {result}");
    }
    let result = peer.tool("run_wait", json!({ "timeoutMs": "long" })).await;
    assert!(text(&result).contains("/runId") && text(&result).contains("/timeoutMs"), "{result}");
    let result = peer.tool("run_status", json!({ "runId": "none" })).await;
    assert!(text(&result).contains("NOT_FOUND"), "{result}");
    let refused = peer.request("tools/call", json!({ "name": "workr", "arguments": {} })).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("did you mean worker"), "{refused}");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn a_long_run_answers_a_handle_with_which_it_is_waited_for() {
    let (gate, end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let script = Script::new([Reply::after(&gate, looking()), Reply::after(&end, Reply::done("late"))]);
    let (house, clock) = house(&script).manual_clock();
    let (running, socket) = boot(&house).await;
    let mut peer = Peer::open(&running, &socket, "&waitMs=5000", json!({})).await;
    let params = json!({ "name": "worker", "arguments": prompt(), "_meta": { "progressToken": 1 } });
    let call = peer.begin("tools/call", params).await;
    // It is followed, and then it is waited for.
    peer.notification("notifications/progress").await;
    gate.add_permits(1);
    peer.notification("notifications/progress").await;
    clock.advance(Duration::from_secs(5));
    let result = peer.answer(call).await["result"].clone();
    let run = result["structuredContent"]["runId"].clone();
    assert_eq!(
        (&result["structuredContent"]["status"], &result["isError"]),
        (&json!("running"), &json!(false))
    );
    assert!(text(&result).contains("run_wait") && text(&result).contains(run.as_str().unwrap()), "{result}");
    let status = peer.tool("run_status", json!({})).await;
    assert_eq!(status["structuredContent"]["runs"][0]["runId"], run, "{status}");
    // It was asked for no time at all.
    let waited = peer.tool("run_wait", json!({ "runId": run, "timeoutMs": 0 })).await;
    assert_eq!(waited["structuredContent"]["status"], "running", "{waited}");
    let call = peer.begin("tools/call", json!({ "name": "run_wait", "arguments": { "runId": run } })).await;
    end.add_permits(1);
    let waited = peer.answer(call).await["result"].clone();
    assert_eq!((text(&waited), &waited["structuredContent"]["result"]), ("late", &json!("late")));
    let status = peer.tool("run_status", json!({ "runId": run })).await;
    assert_eq!(status["structuredContent"]["runs"][0]["status"], "ended", "{status}");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn progress_tells_what_the_run_does_and_always_grows() {
    let (gate, end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let script = Script::new([Reply::after(&gate, looking()), Reply::after(&end, Reply::done("done"))]);
    let (running, socket) = boot(&house(&script)).await;
    let mut peer = Peer::open(&running, &socket, "", json!({})).await;
    let params = json!({ "name": "worker", "arguments": prompt(), "_meta": { "progressToken": "p" } });
    let call = peer.begin("tools/call", params).await;
    gate.add_permits(1);
    let mut seen = Vec::new();
    // The newest wins, so the last one of a pause is seen for sure: the turn that stays open.
    while !seen.iter().any(|(_, words): &(f64, String)| words == "turn 2") {
        let told = peer.notification("notifications/progress").await;
        assert_eq!(told["progressToken"], "p");
        seen.push((told["progress"].as_f64().unwrap(), told["message"].as_str().unwrap().to_owned()));
    }
    assert!(seen[0].1.contains("of worker"), "{seen:?}");
    assert!(seen.is_sorted_by(|a, b| a.0 < b.0), "{seen:?}");
    end.add_permits(1);
    assert_eq!(text(&peer.answer(call).await["result"]), "done");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn cancelling_the_request_cancels_the_run_and_nothing_else_does() {
    let script = Script::new([Reply::Hangs]);
    let (running, socket) = boot(&house(&script)).await;
    let mut other = running.client();
    let mut peer = Peer::open(&running, &socket, "", json!({})).await;
    let call = peer.begin("tools/call", json!({ "name": "worker", "arguments": prompt() })).await;
    script.asked().await;
    let run = peer.only_run(&mut other).await;
    // Waiting is given up; the run is not.
    let wait = peer.begin("tools/call", json!({ "name": "run_wait", "arguments": { "runId": run } })).await;
    peer.notify("notifications/cancelled", json!({ "requestId": wait })).await;
    peer.call("ping", json!({})).await;
    assert_eq!(other.call("run/get", json!({ "runId": run })).await["state"], "running");
    peer.notify("notifications/cancelled", json!({ "requestId": call, "reason": "enough" })).await;
    let ended = other.ended(&run).await;
    assert_eq!(ended["reason"], "ABORTED", "{ended}");

    peer.begin("tools/call", json!({ "name": "worker", "arguments": prompt() })).await;
    script.asked().await;
    let run = peer.only_run(&mut other).await;
    // Who leaves leaves the run to others.
    drop(peer);
    let mut peer = Peer::open(&running, &socket, "", json!({})).await;
    assert_eq!(other.call("run/get", json!({ "runId": run })).await["state"], "running");
    let cancelled = peer.tool("run_cancel", json!({ "runId": run, "reason": "enough" })).await;
    assert_eq!(
        (&cancelled["structuredContent"]["reason"], &cancelled["isError"]),
        (&json!("ABORTED"), &json!(false))
    );
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn a_client_learns_that_other_agents_are_there() {
    let house = house(&Script::new([Reply::done("done")]));
    let (running, socket) = boot(&house).await;
    let mut peer = Peer::open(&running, &socket, "", json!({})).await;
    let file = house.dir.path().join("agents/new.md");
    std::fs::write(file, agent("new", "")).unwrap();
    peer.notification("notifications/tools/list_changed").await;
    let tools = peer.call("tools/list", json!({})).await["tools"].clone();
    assert!(tools.as_array().unwrap().iter().any(|it| it["name"] == "new"), "{tools}");
    drop(peer);
    running.stop().await;
}

#[tokio::test]
async fn a_session_leaves_nothing_behind() {
    let (running, socket) = boot(&house(&Script::new([Reply::done("done")]))).await;
    let mut other = running.client();
    other.call("ping", json!({})).await;
    // Twice: what the daemon does when it starts may end during the first time, and not hide then what a session leaves.
    for _ in 0..2 {
        let before = running.daemon.census();
        for _ in 0..3 {
            let mut peer = Peer::open(&running, &socket, "", json!({})).await;
            peer.tool("worker", prompt()).await;
        }
        loop {
            let now = running.daemon.census();
            if now.connections <= before.connections && now.tasks <= before.tasks {
                break;
            }
            other.call("ping", json!({})).await;
        }
    }
    running.stop().await;
}

#[tokio::test]
async fn a_run_lies_in_the_span_that_the_request_names() {
    let script = Script::new([Reply::done("done")]);
    let (running, socket) = boot(&house(&script)).await;
    let mut peer = Peer::open(&running, &socket, "", json!({})).await;
    let named = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let params = json!({ "name": "worker", "arguments": prompt(), "_meta": { "traceparent": named } });
    let call = peer.begin("tools/call", params).await;
    assert_eq!(text(&peer.answer(call).await["result"]), "done");
    let log = running.log().await;
    let started = log.iter().find(|event| event["type"] == "run.started").unwrap();
    assert_eq!(started["data"]["traceparent"], named);
    drop(peer);
    running.stop().await;
}
