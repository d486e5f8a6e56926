//! What does somebody who watches or steers a run rely on, where timing is against them?

use std::time::Duration;

use serde_json::json;
use subagentd::protocol::{FinishReason, Risk, ToolKind};
use tokio::time::timeout;

use crate::{
    laws::{self, Attached, Deltas},
    probe::Probe,
    support::{House, Reply, STUCK, Script},
};

const READER: &str =
    "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [probe]\n---\nYou read.\n";

#[tokio::test]
async fn caught_up_does_not_speak_of_events_that_are_still_to_come() {
    let (probe, handle, mut began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    // Longer than what the daemon holds for a client that does not read.
    let long = |action: &str| Reply::Says {
        chunks: vec!["x".repeat(2 << 20)],
        thought: None,
        calls: vec![("probe".to_owned(), json!({ "do": action }))],
        finish: FinishReason::Stop,
    };
    let script = Script::new([long("answer"), long("wait"), Reply::done("found")]);
    let mut house = House::new().script(&script).agent("reader", READER).tool(probe);
    // It says the same letter again and again.
    house.config.loop_detection.text.value = false;
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "reader", json!({})).await;
    timeout(STUCK, began.recv()).await.unwrap();
    timeout(STUCK, began.recv()).await.unwrap();

    let mut slow = running.client();
    slow.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    let mut received = vec![slow.event().await];
    // What there is now is on its way and stuck; meanwhile more happens.
    handle.release.add_permits(1);
    client.ended(&run).await;
    received.extend(slow.events_until("run.completed").await);
    laws::check_subscription(Attached::After(0), Deltas::Off, &received).unwrap();
    running.stop().await;
}

#[tokio::test]
async fn a_cancel_is_answered_when_the_end_is_durable_also_of_a_run_that_fails_just_then() {
    let script = Script::new([Reply::Panics]);
    let running = House::new().script(&script).agent("reader", READER).boot().await;
    let mut client = running.client();
    for _ in 0..20 {
        let (run, _) = client.start(&running, "reader", json!({})).await;
        script.asked().await;
        let cancelled = client.call("run/cancel", json!({ "runId": run })).await;
        assert_eq!(cancelled["run"]["state"], "ended", "{cancelled}");
    }
    running.stop().await;
}

#[tokio::test]
async fn what_a_model_said_is_not_said_again_by_a_call_that_had_no_time_to_speak() {
    let (streaming, chunks) = Reply::streams();
    let script = Script::new([streaming, Reply::Hangs]);
    let (house, clock) = House::new().script(&script).agent("reader", READER).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let limits = json!({ "limits": { "maxTimeMs": 5_000, "graceMs": 0 } });
    let (run, session) = client.start(&running, "reader", limits).await;
    client.call("session/attach", json!({ "sessionId": session, "from": "start", "deltas": true })).await;
    chunks.send("said once".to_owned()).await.unwrap();
    client.events_until("model.textDelta").await;
    // The answer ends, without a result, and the time of the run and of its grace turn with it: one step.
    drop(chunks);
    clock.advance(Duration::from_secs(5));
    client.ended(&run).await;
    let texts = json!({ "filter": { "types": ["model.completed"] } });
    let texts = client.call("events/list", texts).await;
    let texts: Vec<_> =
        texts["events"].as_array().unwrap().iter().map(|event| &event["data"]["text"]).collect();
    assert_eq!(texts, ["said once", ""]);
    running.stop().await;
}

#[tokio::test]
async fn deltas_add_up_for_a_client_that_reads_late() {
    let (streaming, chunks) = Reply::streams();
    let script = Script::new([streaming, Reply::done("found")]);
    let mut house = House::new().script(&script).agent("reader", READER);
    // It says the same letters again and again.
    house.config.loop_detection.text.value = false;
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "reader", json!({})).await;
    let mut late = running.client();
    late.call("session/attach", json!({ "sessionId": session, "from": "start", "deltas": true })).await;
    chunks.send("first ".to_owned()).await.unwrap();
    let mut received = late.events_until("model.textDelta").await;
    // More than the daemon holds for somebody who does not read; the end comes while he does not.
    for n in 0..5 {
        chunks.send(format!("{n} ä ").repeat(200_000)).await.unwrap();
    }
    drop(chunks);
    client.ended(&run).await;
    received.extend(late.events_until("run.completed").await);
    laws::check_subscription(Attached::After(0), Deltas::Some, &received).map_err(|it| it.len()).unwrap();
    running.stop().await;
}
