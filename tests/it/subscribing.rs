//! What does a reader of the log rely on: filters, places to begin, consumers? (Spec 01, "Events" and "Delivery"; 11,
//! promise 2.)

use serde_json::{Value, json};
use subagentd::protocol::FinishReason;

use crate::{
    laws::{self, Attached, Deltas},
    process::{self, text},
    recording::{Chance, Recording},
    support::{Cast, Client, House, Reply, Running, Script},
};

/// An agent's file.
fn agent(name: &str, tools: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: Does {name} things.\ncompletion: tool\ntools: [{tools}]\n\
         ---\nYou are {name}.\n"
    )
}

fn call(agent: &str) -> Reply {
    Reply::calls(&[(agent, json!({ "prompt": "go" }))])
}

/// A lead that calls a worker that calls a helper, one after the other, when the gates let them.
fn families(cast: &Cast) -> House {
    House::new()
        .model("script", cast)
        .agent("lead", &agent("lead", "worker"))
        .agent("worker", &agent("worker", "helper"))
        .agent("helper", &agent("helper", "read_file"))
}

fn seqs(envelopes: &[Value]) -> Vec<i64> {
    envelopes.iter().filter_map(|envelope| envelope["seq"].as_i64()).collect()
}

fn check(after: i64, deltas: Deltas, envelopes: &[Value]) {
    let checked = laws::check_subscription(Attached::After(after), deltas, envelopes);
    checked.unwrap_or_else(|broken| panic!("{}", broken.join("\n")));
}

/// No cursor is gone for a session that is: whoever names the type of what is left of it learns what was missed.
#[tokio::test]
async fn behind_a_cursor_a_deleted_session_says_how_far_its_events_went() {
    let script = Script::new([Reply::done("ok")]);
    let running = House::new().script(&script).agent("talker", &agent("talker", "")).boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "talker", json!({})).await;
    client.ended(&run).await;
    let log = running.log().await;
    let last = log.iter().rev().find(|it| it["sessionId"] == json!(session)).unwrap()["seq"].clone();
    client.call("session/delete", json!({ "sessionId": session })).await;
    for types in [json!(["run.completed", "session.deleted"]), json!([])] {
        let received = caught_up(&running, json!({ "types": types, "from": 1 })).await;
        let told: Vec<&Value> = received.iter().filter(|it| it["type"] == "session.deleted").collect();
        assert_eq!((told.len(), &told[0]["data"]["lastSeq"]), (1, &last), "{received:?}");
    }
    let received = caught_up(&running, json!({ "types": ["run.completed"], "from": 1 })).await;
    assert_eq!(received.len(), 1, "nothing but where it stands: {received:?}");
    running.stop().await;
}

/// What a client of its own is sent, until `signal.caughtUp`.
async fn caught_up(running: &Running, params: Value) -> Vec<Value> {
    let mut client = running.client();
    client.call("events/subscribe", params).await;
    client.events_until("signal.caughtUp").await
}

/// The log, as it matches.
fn matching(log: &[Value], matches: impl Fn(&Value) -> bool) -> Vec<Value> {
    log.iter().filter(|event| matches(event)).cloned().collect()
}

/// Envelopes up to and with the end of this run.
async fn until_end(client: &mut Client, run: &str) -> Vec<Value> {
    let mut envelopes = Vec::new();
    loop {
        let envelope = client.event().await;
        let is_end = envelope["type"] == "run.completed" && envelope["runId"] == run;
        envelopes.push(envelope);
        if is_end {
            return envelopes;
        }
    }
}

#[tokio::test]
async fn every_filter_has_its_part_of_the_log_and_a_whole_chain() {
    let cast = Cast::new([
        ("lead", vec![call("worker"), Reply::done("led")]),
        ("lead/worker", vec![call("helper"), Reply::done("worked")]),
        ("lead/worker/helper", vec![Reply::done("helped")]),
        ("worker", vec![Reply::done("alone")]),
    ]);
    let running = families(&cast).boot().await;
    let mut client = running.client();
    let (lead, session) = client.start(&running, "lead", json!({})).await;
    client.ended(&lead).await;
    let (alone, other) = client.start(&running, "worker", json!({})).await;
    client.ended(&alone).await;
    client.settle().await;
    let log = running.log().await;
    let run_of = |agent: &str| {
        let is_its = |event: &&Value| event["type"] == "run.started" && event["agent"] == agent;
        log.iter().find(is_its).unwrap()["runId"].as_str().unwrap().to_owned()
    };
    let (worker, helper) = (run_of("worker"), run_of("helper"));
    let is_of = |event: &Value, runs: &[&String]| runs.iter().any(|run| event["runId"] == run.as_str());
    type Matches<'a> = Box<dyn Fn(&Value) -> bool + 'a>;
    let cases: Vec<(Value, Matches)> = vec![
        (json!({}), Box::new(|_| true)),
        (json!({ "sessionIds": [session] }), Box::new(|it| it["sessionId"] == *session)),
        (json!({ "sessionIds": [session, other] }), Box::new(|it| it["sessionId"].is_string())),
        (json!({ "runIds": [lead] }), Box::new(|it| is_of(it, &[&lead, &worker, &helper]))),
        (json!({ "runIds": [lead], "exact": true }), Box::new(|it| is_of(it, &[&lead]))),
        (json!({ "runIds": [worker, alone] }), Box::new(|it| is_of(it, &[&worker, &helper, &alone]))),
        (json!({ "runIds": [worker, alone], "exact": true }), Box::new(|it| is_of(it, &[&worker, &alone]))),
        (json!({ "runIds": [lead], "sessionIds": [other] }), Box::new(|_| false)),
        (
            json!({ "types": ["run.*", "session.created"] }),
            Box::new(|it| {
                let kind = it["type"].as_str().unwrap();
                kind.starts_with("run.") || kind == "session.created"
            }),
        ),
        (
            json!({ "runIds": [lead], "types": ["run.completed"] }),
            Box::new(|it| it["type"] == "run.completed" && is_of(it, &[&lead, &worker, &helper])),
        ),
    ];
    let middle = log.len() as i64 / 2;
    for (filter, matches) in &cases {
        for after in [0, middle, log.len() as i64] {
            let mut params = filter.clone();
            params["from"] = json!(after);
            let received = caught_up(&running, params.clone()).await;
            check(after, Deltas::Off, &received);
            let expected = matching(&log, matches);
            laws::check_delivery(&expected, after, &received)
                .unwrap_or_else(|broken| panic!("{params}: {}", broken.join("\n")));
            assert_eq!(received.last().unwrap()["data"]["head"], log.len(), "{params}");
            let page =
                client.call("events/list", json!({ "filter": filter, "from": after, "limit": 1_000 })).await;
            assert_eq!(seqs(page["events"].as_array().unwrap()), seqs(&received), "{params}");
        }
    }
    running.stop().await;
}

#[tokio::test]
async fn runs_that_begin_later_below_a_run_are_followed_with_their_texts() {
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let says = |text: &str, calls: Vec<(String, Value)>| Reply::Says {
        chunks: vec![text.to_owned()],
        thought: None,
        calls,
        finish: FinishReason::Stop,
    };
    let work = vec![("worker".to_owned(), json!({ "prompt": "go" }))];
    let done = |text: &str| vec![("complete_task".to_owned(), json!({ "result": text }))];
    let cast = Cast::new([
        ("lead", vec![Reply::after(&gate, says("I ask", work)), says("I end", done("led"))]),
        ("lead/worker", vec![says("I work — ä", done("worked"))]),
        ("worker", vec![says("nobody's", done("alone"))]),
    ]);
    let running = families(&cast).boot().await;
    let mut client = running.client();
    let (lead, session) = client.start(&running, "lead", json!({})).await;
    // Everything of the family; the ends alone; the run itself; one that has only the texts.
    let mut watchers = Vec::new();
    let texts = json!({ "types": ["model.textDelta"], "deltas": true });
    let ends = json!({ "types": ["run.completed"] });
    for more in [json!({ "deltas": true }), ends, json!({ "exact": true }), texts] {
        let mut watcher = running.client();
        let mut params = json!({ "runIds": [lead], "from": "now" });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        watcher.call("events/subscribe", params).await;
        let head = watcher.events_until("signal.caughtUp").await.pop().unwrap()["data"]["head"].clone();
        watchers.push((watcher, head.as_i64().unwrap()));
    }
    // Of the same session, and no relation.
    let (alone, _) =
        client.start(&running, "worker", json!({ "sessionId": session, "workspace": null })).await;
    client.ended(&alone).await;
    gate.add_permits(1);
    client.ended(&lead).await;
    let log = running.log().await;
    let is_family = |event: &Value| {
        event["runId"].is_string() && event["runId"] != *alone && event["sessionId"] == *session
    };
    let whole = |log: &[Value]| -> Vec<String> {
        let ends = log.iter().filter(|event| event["type"] == "model.completed" && is_family(event));
        ends.map(|event| event["data"]["text"].as_str().unwrap().to_owned()).collect()
    };
    let (mut only_texts, _) = watchers.pop().unwrap();
    let cases: [fn(&Value) -> bool; 3] =
        [|_| true, |it| it["type"] == "run.completed", |it| it["parentRunId"].is_null()];
    for (at, ((mut watcher, head), matches)) in watchers.into_iter().zip(cases).enumerate() {
        let received = until_end(&mut watcher, &lead).await;
        check(head, if at == 0 { Deltas::Some } else { Deltas::Off }, &received);
        let expected = matching(&log, |event| is_family(event) && matches(event));
        laws::check_delivery(&expected, head, &received)
            .unwrap_or_else(|broken| panic!("{at}: {}", broken.join("\n")));
    }
    let expected = whole(&log);
    assert_eq!(expected, ["I ask", "I work — ä", "I end"]);
    let mut streams: Vec<(Value, String)> = Vec::new();
    while streams.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>() != expected {
        let delta = only_texts.event().await;
        assert_eq!(delta["type"], "model.textDelta", "{delta}");
        let (stream, offset, text) =
            (&delta["data"]["stream"], &delta["data"]["offset"], delta["data"]["text"].as_str());
        if streams.last().is_none_or(|(last, _)| last != stream) {
            streams.push((stream.clone(), String::new()));
        }
        let (_, so_far) = streams.last_mut().unwrap();
        assert_eq!(*offset, so_far.len(), "{delta}");
        so_far.push_str(text.unwrap());
    }
    running.stop().await;
}

#[tokio::test]
async fn what_a_consumer_acknowledged_does_not_come_again_and_all_else_does() {
    let script = Script::new([Reply::done("found")]);
    let house = House::new().script(&script).agent("reader", &agent("reader", "read_file"));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    client.settle().await;
    let subscribe = |from: Value| json!({ "from": from, "consumer": "index" });

    // A new name begins at the start when it is to go on from where it stands, which is said.
    let mut first = running.client();
    let subscription = first.call("events/subscribe", subscribe(json!("consumer"))).await;
    let received = first.events_until("signal.caughtUp").await;
    check(0, Deltas::Off, &received);
    assert_eq!(received.last().unwrap()["data"]["newConsumer"], true);
    let log = running.log().await;
    assert_eq!(seqs(&received), seqs(&log));
    let ack = |subscription: &Value, seq: i64| json!({ "subscription": subscription, "seq": seq });
    assert_eq!(first.call("events/ack", ack(&subscription, 4)).await, json!({ "seq": 4 }));
    // Never back, and never beyond what was told.
    assert_eq!(first.call("events/ack", ack(&subscription, 2)).await, json!({ "seq": 4 }));
    let head = log.len() as i64;
    let (kind, error) = first.refused("events/ack", ack(&subscription, head + 1)).await;
    assert_eq!(
        (kind.as_str(), &error["data"]["details"]["violations"][0]["pointer"]),
        ("INVALID_PARAMS", &json!("/seq"))
    );
    // Nobody acknowledges for somebody else, or without a consumer.
    let (kind, _) = client.refused("events/ack", ack(&subscription, 4)).await;
    assert_eq!(kind, "NOT_FOUND");
    let without = first.call("events/subscribe", json!({ "from": "now" })).await;
    assert_eq!(first.refused("events/ack", ack(&without, 1)).await.0, "INVALID_PARAMS");
    drop(first);

    // Back, on another connection: everything after it, once. What is not acknowledged now comes again after a restart.
    let mut second = running.client();
    second.call("events/subscribe", subscribe(json!("consumer"))).await;
    let received = second.events_until("signal.caughtUp").await;
    check(4, Deltas::Off, &received);
    assert_eq!(seqs(&received), (5..=head).collect::<Vec<_>>());
    assert!(received.last().unwrap()["data"].get("newConsumer").is_none());
    // A place that is named does not move it.
    let mut third = running.client();
    third.call("events/subscribe", subscribe(json!("start"))).await;
    assert_eq!(seqs(&third.events_until("signal.caughtUp").await), seqs(&log));
    // An attachment can have one, too; a new name stands where its first subscription begins.
    let attach = |from: &str| json!({ "sessionId": "*", "from": from, "consumer": "desk" });
    let attached = third.call("session/attach", attach("now")).await;
    let snapshot = third.events_until("signal.snapshot").await.pop().unwrap();
    assert_eq!(third.call("events/ack", ack(&attached, 1)).await["seq"], snapshot["data"]["seq"]);
    drop((client, second, third));
    running.stop().await;

    let running = house.boot().await;
    let received = caught_up(&running, subscribe(json!("consumer"))).await;
    check(4, Deltas::Off, &received);
    laws::check_delivery(&running.log().await, 4, &received).unwrap();
    let mut client = running.client();
    client.call("session/attach", attach("consumer")).await;
    let received = client.events_until("signal.caughtUp").await;
    assert_eq!(seqs(&received), (head + 1..=running.log().await.len() as i64).collect::<Vec<_>>());
    drop(client);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_is_acknowledged_also_when_the_daemon_is_killed() {
    /// Kills that find a run at work. On a busy machine a run may be over before its kill comes, so as many are tried as it takes.
    const HITS: usize = 3;
    const MOST_KILLS: usize = 24;
    let home = process::Home::new();
    for file in 0..crate::recording::FILES {
        std::fs::write(home.work().join(format!("src/{file}.txt")), "a line\n").unwrap();
    }
    let recording = Recording::write(&home, "short", 40, &mut Chance::new(7));
    let params =
        json!({ "workspace": home.work(), "agent": "reader", "prompt": "x", "model": recording.model });
    let subscribe = json!({ "from": "consumer", "consumer": "index" });
    let resumed = |log: &[Value]| log.iter().filter(|event| text(event, "type") == "run.resumed").count();
    let (mut acknowledged, mut kept) = (0, Vec::new());
    for _ in 0..MOST_KILLS {
        let served = home.start().await;
        let mut wire = home.connect().await;
        let hits = resumed(&wire.log(json!({}), 0).await.unwrap());
        if HITS <= hits {
            drop(wire);
            served.stop().await;
            break;
        }
        wire.call("run/start", params.clone()).await.unwrap();
        let subscription = wire.call("events/subscribe", subscribe.clone()).await.unwrap();
        let mut unacknowledged = Vec::new();
        for n in 0..25 {
            let event = wire.event().await.unwrap();
            let Some(seq) = event["seq"].as_i64() else { continue };
            unacknowledged.push(event);
            if n % 4 == 3 {
                let ack = json!({ "subscription": subscription, "seq": seq });
                assert_eq!(wire.call("events/ack", ack).await.unwrap()["seq"], seq);
                acknowledged = seq;
                kept.append(&mut unacknowledged);
            }
        }
        served.kill().await;
    }
    let served = home.start().await;
    let mut wire = home.connect().await;
    wire.call("events/subscribe", subscribe).await.unwrap();
    let rest = wire.events_until("signal.caughtUp").await.unwrap();
    check(acknowledged, Deltas::Off, &rest);
    // What was kept by acknowledging and what came after the last kill is the log, each event once.
    kept.extend(rest.into_iter().filter(|event| event["seq"].is_i64()));
    let head = kept.last().unwrap()["seq"].as_i64().unwrap();
    let mut log = wire.log(json!({}), 0).await.unwrap();
    log.retain(|event| event["seq"].as_i64() <= Some(head));
    laws::check_delivery(&log, 0, &kept).unwrap_or_else(|broken| panic!("{}", broken.join("\n")));
    assert!(HITS <= resumed(&log), "no kill hit a run");
    drop(wire);
    served.stop().await;
}

#[tokio::test]
async fn place_outside_of_the_log_is_told_or_answered_with_a_snapshot() {
    let (streaming, chunks) = Reply::streams();
    let script = Script::new([streaming]);
    let talker = "---\nkind: agent\nname: talker\ndescription: d\ncompletion: message\ntools: []\n---\nx\n";
    let running = House::new().script(&script).agent("talker", talker).boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "talker", json!({})).await;
    script.asked().await;
    chunks.send("so far".to_owned()).await.unwrap();
    let log = running.log().await;
    let head = log.len() as i64;
    let info = client.call("daemon/status", json!({})).await["daemon"].clone();
    let (beyond, ours, others) = (json!(head + 1), json!(info["logId"]), json!("another"));
    for (method, scope) in
        [("events/subscribe", json!({})), ("session/attach", json!({ "sessionId": session }))]
    {
        let params = |from: &Value, log_id: &Value| {
            let mut params = scope.clone();
            params["from"] = from.clone();
            params["logId"] = log_id.clone();
            params
        };
        for (from, log_id) in [(&beyond, &ours), (&json!(-1), &ours), (&json!(1), &others)] {
            let (kind, error) = client.refused(method, params(from, log_id)).await;
            assert_eq!(kind, "CURSOR_GONE", "{error}");
            let details = json!({ "oldest": 1, "head": head, "logId": ours });
            assert_eq!(error["data"]["details"], details);
        }
        let mut own = running.client();
        own.call(method, params(&json!(head), &ours)).await;
        let received = own.events_until("signal.caughtUp").await;
        assert_eq!(received.len(), 1, "{received:?}");
    }
    // The snapshot is of what the filter names, and the texts go on from it.
    let cases = [
        (json!({ "sessionIds": [session] }), true, true),
        (json!({ "runIds": [run] }), false, true),
        (json!({}), false, true),
        (json!({ "sessionIds": [session], "runIds": [run], "exact": true }), false, true),
    ];
    let mut watchers = Vec::new();
    for (filter, is_of_one, has_run) in cases {
        let mut params = filter.clone();
        let more = json!({ "from": beyond, "onGone": "snapshot", "deltas": true });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut watcher = running.client();
        watcher.call("events/subscribe", params).await;
        let snapshot = watcher.event().await;
        let data = &snapshot["data"];
        assert_eq!(
            (&snapshot["type"], &data["seq"]),
            (&json!("signal.snapshot"), &json!(head)),
            "{snapshot}"
        );
        assert_eq!(data["session"].is_object(), is_of_one, "{filter}: {snapshot}");
        assert_eq!(data["sessions"].is_array(), !is_of_one, "{filter}: {snapshot}");
        assert_eq!(data["runs"][0]["runId"] == *run, has_run, "{filter}: {snapshot}");
        assert_eq!(data["openItems"].as_array().unwrap().len(), 1, "{filter}: {snapshot}");
        watchers.push((watcher, vec![snapshot]));
    }
    chunks.send(", and the rest".to_owned()).await.unwrap();
    drop(chunks);
    for (mut watcher, mut received) in watchers {
        received.extend(watcher.events_until("run.completed").await);
        laws::check_subscription(Attached::Now, Deltas::Some, &received).unwrap();
        let completed = received.iter().find(|event| event["type"] == "model.completed").unwrap();
        assert_eq!(completed["data"]["text"], "so far, and the rest");
    }
    client.ended(&run).await;
    running.stop().await;
}

#[tokio::test]
async fn deleted_session_leaves_its_end_to_those_who_followed_it() {
    let script = Script::new([Reply::done("found")]);
    let running = House::new().script(&script).agent("reader", &agent("reader", "read_file")).boot().await;
    let mut client = running.client();
    let (gone, session) = client.start(&running, "reader", json!({})).await;
    client.ended(&gone).await;
    let (run, stays) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    client.settle().await;
    let cursor = running.log().await.len() as i64 / 4;
    let both = json!({ "sessionIds": [session, stays], "from": cursor });
    let mut watcher = running.client();
    watcher.call("events/subscribe", both.clone()).await;
    watcher.events_until("signal.caughtUp").await;
    client.call("session/delete", json!({ "sessionId": session })).await;
    let deleted = watcher.event().await;
    assert_eq!((&deleted["type"], &deleted["sessionId"]), (&json!("session.deleted"), &json!(session)));
    // The cursor stands where nothing is any more, and is good for what is left.
    let received = caught_up(&running, both).await;
    check(cursor, Deltas::Off, &received);
    let left: Vec<Value> =
        running.log().await.into_iter().filter(|event| event["seq"].as_i64() > Some(cursor)).collect();
    assert_eq!(seqs(&received), seqs(&left));
    assert_eq!(left.last().unwrap()["type"], "session.deleted");
    assert_eq!(
        client.refused("events/subscribe", json!({ "runIds": [gone], "from": 0 })).await.0,
        "NOT_FOUND"
    );
    running.stop().await;
}

#[tokio::test]
async fn unsubscribed_is_silent_and_makes_room() {
    let running = House::new().boot().await;
    let mut client = running.client();
    let mut subscriptions = Vec::new();
    for _ in 0..64 {
        subscriptions.push(client.call("events/subscribe", json!({ "from": "now" })).await);
    }
    let (kind, error) = client.refused("events/subscribe", json!({ "from": "now" })).await;
    assert_eq!(kind, "LIMIT_EXCEEDED");
    assert!(error["data"]["hint"].as_str().unwrap().contains("events/unsubscribe"), "{error}");
    for subscription in subscriptions.drain(1..) {
        let ended = client.call("events/unsubscribe", json!({ "subscription": subscription })).await;
        assert_eq!(ended, json!({ "unsubscribed": true }));
    }
    for _ in 0..64 {
        assert_eq!(client.event().await["type"], "signal.caughtUp");
    }
    client.call("session/create", json!({ "workspace": running.work() })).await;
    // One of them is left to say so, once.
    assert_eq!(client.event().await["type"], "session.created");
    client.settle().await;
    client.call("events/subscribe", json!({ "from": "now" })).await;
    assert_eq!(client.event().await["type"], "signal.caughtUp");
    running.stop().await;
}
