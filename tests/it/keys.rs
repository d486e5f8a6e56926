//! Requests with an `idempotencyKey`: their effect once, their answer as often as they are asked (spec 01, "Methods";
//! spec 11, promise 1).

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::{Client, House, Reply, Running, Script};

const WORKER: &str = "---
kind: agent
name: worker
description: Works.
completion: tool
tools: []
---
You work.
";

fn house(script: &Script) -> House {
    House::new().script(script).agent("worker", WORKER)
}

fn start(running: &Running, key: &str) -> Value {
    json!({
        "workspace": running.work(), "agent": "worker", "model": "script", "prompt": "once",
        "idempotencyKey": key,
    })
}

/// The answer without what tells a repeat from the first.
fn plain(answer: &Value) -> Value {
    let mut answer = answer.clone();
    answer.as_object_mut().unwrap().remove("replayed");
    answer
}

async fn n_runs(client: &mut Client) -> usize {
    client.call("run/list", json!({})).await["runs"].as_array().unwrap().len()
}

/// Sends all before it reads any answer; the answers by the order of sending.
async fn at_once(client: &mut Client, n: usize, method: &str, params: &Value) -> Vec<Value> {
    for id in 0..n {
        let request = json!({ "jsonrpc": "2.0", "id": format!("r{id}"), "method": method, "params": params });
        client.send(&request.to_string()).await;
    }
    let mut answers = Vec::new();
    while answers.len() < n {
        let message = client.receive().await;
        assert!(message.get("error").is_none(), "{message}");
        answers.push(message["result"].clone());
    }
    answers
}

#[tokio::test]
async fn same_request_starts_one_run_at_once_later_and_after_a_restart() {
    let gate = Arc::new(Semaphore::new(0));
    let script = Script::new([Reply::after(&gate, Reply::done("ok"))]);
    let house = house(&script);
    let running = house.boot().await;
    let (mut one, mut two) = (running.client(), running.client());
    let params = start(&running, "key-00001");
    let (of_one, of_two) = tokio::join!(
        at_once(&mut one, 10, "run/start", &params),
        at_once(&mut two, 10, "run/start", &params),
    );
    let answers: Vec<Value> = of_one.into_iter().chain(of_two).collect();
    assert_eq!(answers.iter().filter(|it| it["replayed"] == true).count(), 19);
    let first = plain(&answers[0]);
    for answer in &answers {
        assert_eq!(plain(answer), first);
    }
    assert_eq!(n_runs(&mut one).await, 1);
    // The fields' order means nothing.
    let mut turned = serde_json::Map::new();
    for (name, value) in params.as_object().unwrap().iter().rev() {
        turned.insert(name.clone(), value.clone());
    }
    let later = one.call("run/start", turned.into()).await;
    assert_eq!((plain(&later), &later["replayed"]), (first.clone(), &json!(true)));
    running.stop_unfinished().await;

    let running = house.boot().await;
    let mut client = running.client();
    let again = client.call("run/start", params.clone()).await;
    assert_eq!((plain(&again), &again["replayed"]), (first.clone(), &json!(true)));
    gate.add_permits(1);
    assert_eq!(client.ended(first["runId"].as_str().unwrap()).await["reason"], "GOAL");
    // Also when the run is over.
    let again = client.call("run/start", params).await;
    assert_eq!(plain(&again), first);
    assert_eq!(n_runs(&mut client).await, 1);
    running.stop().await;
}

#[tokio::test]
async fn key_of_another_request_is_a_conflict() {
    let gate = Arc::new(Semaphore::new(0));
    let script = Script::new([Reply::after(&gate, Reply::done("ok"))]);
    let house = house(&script);
    let running = house.boot().await;
    let mut client = running.client();
    let params = start(&running, "key-00001");
    let run = client.call("run/start", params.clone()).await["runId"].clone();
    let mut others = vec![("run/start", params.clone()), ("run/start", params.clone())];
    others[0].1["prompt"] = json!("twice");
    others[1].1["limits"] = json!({ "maxTurns": 3 });
    others.push(("session/create", json!({ "workspace": running.work(), "idempotencyKey": "key-00001" })));
    others.push(("run/steer", json!({ "runId": run, "text": "x", "idempotencyKey": "key-00001" })));
    for (method, params) in &others {
        let (kind, error) = client.refused(method, params.clone()).await;
        assert_eq!(kind, "IDEMPOTENCY_CONFLICT", "{method}: {error}");
    }
    gate.add_permits(1);
    client.ended(run.as_str().unwrap()).await;
    running.stop().await;

    let running = house.boot().await;
    let mut client = running.client();
    for (method, params) in &others {
        let (kind, error) = client.refused(method, params.clone()).await;
        assert_eq!(kind, "IDEMPOTENCY_CONFLICT", "{method}, after a restart: {error}");
    }
    assert_eq!(n_runs(&mut client).await, 1);
    running.stop().await;
}

#[tokio::test]
async fn key_has_8_to_128_characters() {
    let script = Script::new([Reply::done("ok")]);
    let running = house(&script).boot().await;
    let mut client = running.client();
    for key in ["", "1234567", &"k".repeat(129)] {
        for method in ["run/start", "session/create", "run/steer"] {
            let mut params = start(&running, key);
            if method == "run/steer" {
                params = json!({ "runId": "x", "text": "x", "idempotencyKey": key });
            }
            let (kind, error) = client.refused(method, params).await;
            assert_eq!(kind, "INVALID_PARAMS", "{method} {key:?}: {error}");
            assert!(error["data"]["details"].to_string().contains("/idempotencyKey"), "{error}");
        }
    }
    // Characters, not bytes.
    for key in ["12345678", &"k".repeat(128), &"é".repeat(128), &"é".repeat(8)] {
        let started = client.call("run/start", start(&running, key)).await;
        client.ended(started["runId"].as_str().unwrap()).await;
    }
    assert_eq!(n_runs(&mut client).await, 4);
    running.stop().await;
}

#[tokio::test]
async fn request_that_was_refused_leaves_its_key_free() {
    let script = Script::new([Reply::done("ok")]);
    let running = house(&script).boot().await;
    let mut client = running.client();
    let mut params = start(&running, "key-00001");
    params["agent"] = json!("nobody");
    assert_eq!(client.refused("run/start", params.clone()).await.0, "NOT_FOUND");
    // Twins of one that is refused are refused alike.
    for id in 0..3 {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "run/start", "params": params });
        client.send(&request.to_string()).await;
    }
    for _ in 0..3 {
        assert_eq!(client.receive().await["error"]["data"]["kind"], "NOT_FOUND");
    }
    let started = client.call("run/start", start(&running, "key-00001")).await;
    assert_eq!(started.get("replayed"), None, "{started}");
    client.ended(started["runId"].as_str().unwrap()).await;
    let steer = json!({ "runId": started["runId"], "text": "x", "idempotencyKey": "key-00002" });
    assert_eq!(client.refused("run/steer", steer).await.0, "RUN_NOT_ACTIVE");
    let started = client.call("run/start", start(&running, "key-00002")).await;
    client.ended(started["runId"].as_str().unwrap()).await;
    running.stop().await;
}

#[tokio::test]
async fn message_with_a_key_is_said_once() {
    let gate = Arc::new(Semaphore::new(0));
    let script = Script::new([Reply::after(&gate, Reply::done("unaware")), Reply::done("ok")]);
    let house = house(&script);
    let running = house.boot().await;
    let (mut one, mut two) = (running.client(), running.client());
    let (run, _) = one.start(&running, "worker", json!({})).await;
    script.asked().await;
    let steer = json!({ "runId": run, "text": "only once", "idempotencyKey": "steer-001" });
    let (of_one, of_two) =
        tokio::join!(at_once(&mut one, 10, "run/steer", &steer), at_once(&mut two, 10, "run/steer", &steer),);
    let answers: Vec<Value> = of_one.into_iter().chain(of_two).collect();
    assert_eq!(answers.iter().filter(|it| it["replayed"] == true).count(), 19);
    assert!(answers.iter().all(|it| plain(it) == plain(&answers[0])), "{answers:?}");
    let mut other = steer.clone();
    other["text"] = json!("something else");
    assert_eq!(one.refused("run/steer", other).await.0, "IDEMPOTENCY_CONFLICT");
    running.stop_unfinished().await;

    let running = house.boot().await;
    let mut client = running.client();
    let again = client.call("run/steer", steer.clone()).await;
    assert_eq!((plain(&again), &again["replayed"]), (plain(&answers[0]), &json!(true)));
    gate.add_permits(1);
    assert_eq!(client.ended(&run).await["result"], "ok");
    // The same answer also when the run takes no messages any more.
    assert_eq!(plain(&client.call("run/steer", steer).await), plain(&answers[0]));
    let log = running.log().await;
    let kept = |it: &&Value| it["type"] == "run.steered" && it["data"].get("turn").is_none();
    let kept: Vec<&Value> = log.iter().filter(kept).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0]["seq"], answers[0]["seq"]);
    running.stop().await;
}

/// Several at once with keys of their own, into one run and one commit.
#[tokio::test]
async fn messages_with_keys_of_their_own_answer_with_their_own_event() {
    let gate = Arc::new(Semaphore::new(0));
    let script = Script::new([Reply::after(&gate, Reply::done("unaware")), Reply::done("ok")]);
    let running = house(&script).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    script.asked().await;
    let steer = |n: usize| json!({ "runId": run, "text": format!("m{n}"), "idempotencyKey": format!("steer-{n:04}") });
    for n in 0..10 {
        let request = json!({ "jsonrpc": "2.0", "id": n, "method": "run/steer", "params": steer(n) });
        client.send(&request.to_string()).await;
    }
    let mut first = vec![Value::Null; 10];
    for _ in 0..10 {
        let answer = client.receive().await;
        first[usize::try_from(answer["id"].as_u64().unwrap()).unwrap()] = answer["result"].clone();
    }
    gate.add_permits(1);
    assert_eq!(client.ended(&run).await["result"], "ok");
    let log = running.log().await;
    for (n, answer) in first.iter().enumerate() {
        let event = log.iter().find(|it| it["seq"] == answer["seq"]).unwrap();
        assert_eq!(
            (&event["type"], &event["data"]["text"]),
            (&json!("run.steered"), &json!(format!("m{n}")))
        );
        assert_eq!(plain(&client.call("run/steer", steer(n)).await), *answer);
    }
    running.stop().await;
}

#[tokio::test]
async fn start_that_was_queued_or_steered_is_answered_as_that_again() {
    let gate = Arc::new(Semaphore::new(0));
    let script = Script::new([Reply::after(&gate, Reply::done("unaware")), Reply::done("ok")]);
    let running = house(&script).boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    script.asked().await;
    for (if_busy, key) in [("queue", "key-queue"), ("steer", "key-steer")] {
        let params = json!({
            "sessionId": session, "agent": "worker", "model": "script", "prompt": "x", "ifBusy": if_busy,
            "idempotencyKey": key,
        });
        let first = client.call("run/start", params.clone()).await;
        let again = client.call("run/start", params).await;
        assert_eq!((plain(&again), &again["replayed"]), (first.clone(), &json!(true)));
        assert_eq!(first["disposition"], if if_busy == "queue" { "queued" } else { "steered" });
    }
    assert_eq!(n_runs(&mut client).await, 2);
    gate.add_permits(2);
    client.ended(&run).await;
    let none = |it: &Value| it["runs"].as_array().unwrap().is_empty();
    client.until("run/list", json!({ "active": true }), none).await;
    running.stop().await;
}

#[tokio::test]
async fn session_with_a_key_is_created_once() {
    let script = Script::new([Reply::done("ok")]);
    let house = house(&script);
    let running = house.boot().await;
    let mut client = running.client();
    let params = json!({ "workspace": running.work(), "title": "mine", "idempotencyKey": "session-1" });
    let answers = at_once(&mut client, 10, "session/create", &params).await;
    assert_eq!(answers.iter().filter(|it| it["replayed"] == true).count(), 9);
    assert!(answers.iter().all(|it| plain(it) == plain(&answers[0])), "{answers:?}");
    running.stop().await;
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(plain(&client.call("session/create", params).await), plain(&answers[0]));
    let listed = client.call("session/list", json!({})).await;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    running.stop().await;
}

/// A client that hangs up has asked all the same.
#[tokio::test]
async fn effect_does_not_need_its_caller() {
    let script = Script::new([Reply::done("ok")]);
    let running = house(&script).boot().await;
    let mut gone = running.client();
    let params = start(&running, "key-00001");
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "run/start", "params": params });
    gone.send(&request.to_string()).await;
    gone.receive().await;
    gone.send(&request.to_string()).await;
    drop(gone);
    let mut client = running.client();
    let answer = client.call("run/start", params).await;
    assert_eq!(answer["replayed"], true);
    client.ended(answer["runId"].as_str().unwrap()).await;
    assert_eq!(n_runs(&mut client).await, 1);
    running.stop().await;
}
