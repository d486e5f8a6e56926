//! Runs of one context go one after the other, whatever ends or holds up the one before: a panic, a restart, a full
//! house (spec 01, `run/start`).

use serde_json::{Value, json};

use crate::support::{House, Reply, Running, Script};

const TALKER: &str = "---
kind: agent
name: talker
description: Talks.
completion: message
tools: []
---
You talk.
";

fn seq_of(log: &[Value], kind: &str, run: &str) -> i64 {
    let event = log.iter().find(|event| event["type"] == kind && event["runId"] == run);
    event.unwrap_or_else(|| panic!("{run} has no {kind}"))["seq"].as_i64().unwrap()
}

/// Of each pair, the first has ended before the second began.
async fn assert_in_order(running: &Running, runs: &[&str]) {
    let log = running.log().await;
    for pair in runs.windows(2) {
        let (end, begin) = (seq_of(&log, "run.completed", pair[0]), seq_of(&log, "run.started", pair[1]));
        assert!(end < begin, "{} ended with {end}, {} began with {begin}", pair[0], pair[1]);
    }
}

#[tokio::test]
async fn a_run_whose_driver_panics_leaves_its_context_with_its_last_event() {
    let panics = Script::new([Reply::Panics]);
    let talks = Script::new([Reply::says("fine")]);
    let mut house = House::new().agent("talker", TALKER).script(&talks);
    house.models = house.models.with_model("panics", std::sync::Arc::new(panics.clone()));
    let running = house.boot().await;
    let mut client = running.client();
    for _ in 0..20 {
        let (first, session) = client.start(&running, "talker", json!({ "model": "panics" })).await;
        let place = json!({ "sessionId": session, "workspace": null });
        let (second, _) = client.start(&running, "talker", place).await;
        assert_eq!(client.ended(&first).await["error"]["code"], "PANIC");
        assert_eq!(client.ended(&second).await["result"], "fine");
        assert_in_order(&running, &[&first, &second]).await;
    }
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_run_that_had_its_turn_keeps_it_over_a_restart() {
    // One place for runs at work, and another agent has it.
    let hangs = Script::new([Reply::Hangs]);
    let (first, writes) = Reply::streams();
    let talks = Script::new([first]);
    let other = TALKER.replace("talker", "other");
    let mut house = House::new().agent("talker", TALKER).agent("other", &other).script(&talks);
    house.models = house.models.with_model("hangs", std::sync::Arc::new(hangs.clone()));
    house.config.max_concurrent_runs.session.value = 1;
    let running = house.boot().await;
    let mut client = running.client();
    let (one, session) = client.start(&running, "talker", json!({})).await;
    talks.asked().await;
    let place = |more: Value| {
        let mut place = json!({ "sessionId": session, "workspace": null });
        place.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        place
    };
    let (holder, _) = client.start(&running, "other", place(json!({ "model": "hangs" }))).await;
    let (two, _) = client.start(&running, "talker", place(json!({}))).await;
    let (three, _) = client.start(&running, "talker", place(json!({}))).await;
    drop(writes);
    client.ended(&one).await;
    // The second has the context now, and waits for a place; the third is put before all that wait for the context.
    hangs.asked().await;
    while !running.log().await.iter().any(|event| {
        event["runId"] == two.as_str() && event["type"] == "run.queued" && event["data"]["for"] == "place"
    }) {
        tokio::task::yield_now().await;
    }
    client.call("queue/promote", json!({ "runId": three })).await;
    drop(client);
    running.stop_unfinished().await;

    talks.replace([Reply::says("fine")]);
    let running = house.boot().await;
    let mut client = running.client();
    client.call("run/cancel", json!({ "runId": holder })).await;
    client.ended(&two).await;
    client.ended(&three).await;
    assert_in_order(&running, &[&one, &two, &three]).await;
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn an_interrupt_stops_whoever_works_and_comes_next() {
    let (first, _never) = Reply::streams();
    let script = Script::new([first]);
    let running = House::new().agent("talker", TALKER).script(&script).boot().await;
    let mut client = running.client();
    let (one, session) = client.start(&running, "talker", json!({})).await;
    script.asked().await;
    script.replace([Reply::says("fine")]);
    let place = |if_busy: &str| json!({ "sessionId": session, "workspace": null, "ifBusy": if_busy });
    let (two, _) = client.start(&running, "talker", place("queue")).await;
    let (three, _) = client.start(&running, "talker", place("interrupt")).await;
    assert_eq!(client.ended(&one).await["reason"], "ABORTED");
    client.ended(&two).await;
    client.ended(&three).await;
    assert_in_order(&running, &[&one, &three, &two]).await;
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn so_many_runs_wait_for_a_context_and_no_more() {
    let script = Script::new([Reply::Hangs]);
    let running = House::new().agent("talker", TALKER).script(&script).boot().await;
    let mut client = running.client();
    let (_, session) = client.start(&running, "talker", json!({})).await;
    let params = json!({ "sessionId": session, "agent": "talker", "model": "script", "prompt": "x" });
    for _ in 0..256 {
        client.call("run/start", params.clone()).await;
    }
    let (kind, _) = client.refused("run/start", params).await;
    assert_eq!(kind, "LIMIT_EXCEEDED");
    client.call("session/close", json!({ "sessionId": session })).await;
    let (kind, _) = client
        .refused(
            "run/start",
            json!({ "sessionId": session, "agent": "talker", "model": "script", "prompt": "x" }),
        )
        .await;
    assert_eq!(kind, "SESSION_CLOSED");
    drop(client);
    running.stop().await;
}
