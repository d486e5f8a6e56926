//! What does a client see of a session that it joins late, leaves and rejoins, or does not read? (Spec 01, "Deltas"
//! and "Delivery"; 11, promises 2 and 7.)

use serde_json::{Value, json};
use subagentd::protocol::FinishReason;
use tokio::time::timeout;

use crate::{
    laws::{self, Attached, Deltas},
    process::{self, Wire, text},
    recording::Recording,
    support::{Client, House, Reply, STUCK, Script},
};

const TALKER: &str = "---
kind: agent
name: talker
description: Talks.
completion: message
tools: [read_file]
---
You talk.
";

/// More than sockets and pipes between daemon and client can hold, so that a client that does not read is behind.
const MORE_THAN_BUFFERS: usize = 2 << 20;

/// What a client puts together from deltas by their offsets, as the protocol tells it to.
fn text_of(envelopes: &[Value]) -> String {
    let mut text = String::new();
    for envelope in envelopes {
        let data = &envelope["data"];
        if envelope["type"] == "signal.snapshot" {
            text = data["openItems"][0]["text"].as_str().unwrap_or_default().to_owned();
        }
        if envelope["type"] == "model.textDelta" {
            let offset = usize::try_from(data["offset"].as_u64().unwrap()).unwrap();
            let more = data["text"].as_str().unwrap();
            assert!(offset <= text.len(), "a gap before {more:?}");
            text.truncate(offset);
            text.push_str(more);
        }
    }
    text
}

/// Envelopes until the text has come as far as `length` bytes.
async fn read_text(client: &mut Client, envelopes: &mut Vec<Value>, length: usize) {
    while text_of(envelopes).len() < length {
        envelopes.push(client.event().await);
    }
}

fn check(attached: Attached, envelopes: &[Value]) {
    let checked = laws::check_subscription(attached, Deltas::Some, envelopes);
    checked.unwrap_or_else(|broken| panic!("{attached:?}: {}", broken.join("\n")));
}

#[tokio::test]
async fn latecomer_and_reconnecting_client_get_the_whole_text() {
    let (streaming, chunks) = Reply::streams();
    let script = Script::new([streaming]);
    let running = House::new().script(&script).agent("talker", TALKER).boot().await;
    let mut first = running.client();
    let (run, session) = first.start(&running, "talker", json!({})).await;
    script.asked().await;
    // Characters of one to four bytes: offsets count bytes, and no piece is cut inside of one.
    let pieces = ["Es ", "läuft", " — ", "数え", "る ", "🦀🦀", " end", "."];
    let whole = pieces.concat();
    let attach = |from: Value| json!({ "sessionId": session, "from": from, "deltas": true });
    let newest = |envelopes: &[Value]| envelopes.iter().rev().find_map(|it| it["seq"].as_i64()).unwrap();

    // From the beginning, and off again after two pieces.
    first.call("session/attach", attach(json!("start"))).await;
    let mut before = Vec::new();
    chunks.send(pieces[0].to_owned()).await.unwrap();
    read_text(&mut first, &mut before, pieces[..1].concat().len()).await;
    chunks.send(pieces[1].to_owned()).await.unwrap();
    read_text(&mut first, &mut before, pieces[..2].concat().len()).await;
    drop(first);
    check(Attached::After(0), &before);

    // Another joins in the middle of the text: what was written so far is in its snapshot.
    chunks.send(pieces[2].to_owned()).await.unwrap();
    let mut late = running.client();
    late.call("session/attach", attach(json!("now"))).await;
    let mut late_saw = vec![late.event().await];
    let snapshot_text = text_of(&late_saw);
    assert!(whole.starts_with(&snapshot_text) && snapshot_text.starts_with("Es läuft"), "{snapshot_text:?}");

    // The first is back, and off again; the open text comes from its beginning.
    let cursor = newest(&before);
    let mut second = running.client();
    second.call("session/attach", attach(json!(cursor))).await;
    chunks.send(pieces[3].to_owned()).await.unwrap();
    chunks.send(pieces[4].to_owned()).await.unwrap();
    let mut between = Vec::new();
    read_text(&mut second, &mut between, pieces[..5].concat().len()).await;
    drop(second);
    check(Attached::After(cursor), &between);
    assert_eq!(text_of(&between), pieces[..5].concat());

    // And back for good.
    let mut third = running.client();
    third.call("session/attach", attach(json!(cursor))).await;
    for piece in &pieces[5..] {
        chunks.send((*piece).to_owned()).await.unwrap();
    }
    drop(chunks);
    let after = third.events_until("run.completed").await;
    late_saw.extend(late.events_until("run.completed").await);
    check(Attached::After(cursor), &after);
    check(Attached::Now, &late_saw);
    assert_eq!(text_of(&after), whole);
    assert_eq!(text_of(&late_saw), whole);

    let log = running.log().await;
    let snapshot = late_saw[0]["data"]["seq"].as_i64().unwrap();
    laws::check_delivery(&log, snapshot, &late_saw).unwrap();
    laws::check_delivery(&log, 0, &[before, between, after].concat()).unwrap();
    assert_eq!(third.ended(&run).await["result"], whole);
    running.stop().await;
}

#[tokio::test]
async fn caught_up_tells_how_far_the_client_has_got_not_the_log() {
    // More in one turn than fits between daemon and client, so that the log grows while it is being sent.
    let calls = vec![("read_file".to_owned(), json!({ "path": "big.txt" })); 40];
    let reads = Reply::Says { chunks: vec![], thought: None, calls, finish: FinishReason::Stop };
    let (streaming, chunks) = Reply::streams();
    let script = Script::new([reads, streaming]);
    let big = "ü".repeat(1_000) + "\n";
    let house = House::new().script(&script).agent("talker", TALKER).file("big.txt", big.repeat(35));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "talker", json!({})).await;
    script.asked().await;
    script.asked().await;
    let bytes: usize = running.log().await.iter().map(|event| event.to_string().len()).sum();
    assert!(bytes > MORE_THAN_BUFFERS, "{bytes} bytes fit between daemon and client");

    let mut late = running.client();
    late.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    let mut saw = vec![late.event().await];
    chunks.send("done".to_owned()).await.unwrap();
    drop(chunks);
    client.ended(&run).await;
    saw.extend(late.events_until("run.completed").await);
    check(Attached::After(0), &saw);
    assert!(saw.iter().any(|event| event["type"] == "signal.caughtUp"), "nobody said so");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_that_never_reads_harms_nobody_and_misses_nothing() {
    let home = process::Home::new();
    let big: String =
        (0..700).map(|n| format!("{n}: as long as a line of text is, more or less\n")).collect();
    std::fs::write(home.work().join("big.txt"), &big).unwrap();
    let recording = Recording::write_reads(&home, "reads", 120, "big.txt");
    let served = home.start().await;
    let mut wire = home.connect().await;
    let params =
        json!({ "workspace": home.work(), "agent": "reader", "prompt": "x", "model": recording.model });
    let started = wire.call("run/start", params).await.unwrap();
    let (run, session) = (text(&started, "runId"), text(&started, "sessionId"));
    let attach = json!({ "sessionId": session, "from": "start", "deltas": true });
    let mut slow = home.connect().await;
    slow.call("session/attach", attach.clone()).await.unwrap();
    let mut quick = home.connect().await;
    quick.call("session/attach", attach).await.unwrap();

    let quick_saw = quick.events_until("run.completed").await.unwrap();
    let record = wire.ended(run).await.unwrap();
    assert_eq!(
        (&record["reason"], &record["result"]),
        (&json!("GOAL"), &json!(recording.result)),
        "{record}"
    );
    let log = wire.log(json!({}), 0).await.unwrap();
    let bytes: usize = log.iter().map(|event| event.to_string().len()).sum();
    assert!(bytes > MORE_THAN_BUFFERS, "{bytes} bytes fit between daemon and client");
    let status = wire.call("daemon/status", json!({})).await.unwrap();
    assert_eq!(status["subscriptions"], 2, "{status}");

    let slow_saw = timeout(STUCK, slow.events_until("run.completed")).await.unwrap().unwrap();
    for saw in [&quick_saw, &slow_saw] {
        check(Attached::After(0), saw);
        laws::check_delivery(&log, 0, saw).unwrap_or_else(|broken| panic!("{}", broken.join("\n")));
    }
    drop::<[Wire; 3]>([wire, slow, quick]);
    served.stop().await;
}
