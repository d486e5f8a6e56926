//! Which sessions are kept, what do limits never touch, and does their room come back? (spec 10, "Retention")

use std::{fs, time::Duration};

use serde_json::{Value, json};

use crate::support::{Client, House, Reply, Running, Script};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

const READER: &str =
    "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\n---\nYou read.\n";

fn house(script: &Script) -> House {
    House::new().script(script).agent("reader", READER)
}

/// Sessions of clients that have left: in each a run has ended.
async fn ended<const N: usize>(running: &Running) -> [String; N] {
    let before = running.client().call("daemon/status", json!({})).await["clients"].clone();
    let mut worker = running.client();
    let mut all = Vec::new();
    for _ in 0..N {
        let (run, session) = worker.start(running, "reader", json!({})).await;
        worker.ended(&run).await;
        all.push(session);
    }
    drop(worker);
    running.client().until("daemon/status", json!({}), |status| status["clients"] == before).await;
    all.try_into().unwrap()
}

/// The session of a client that has left, in which a model does not answer.
async fn busy(running: &Running, script: &Script) -> String {
    let mut worker = running.client();
    script.replace([Reply::Hangs]);
    let (_, thinking) = worker.start(running, "reader", json!({})).await;
    script.asked().await;
    script.replace([Reply::done("ok")]);
    thinking
}

async fn sessions(client: &mut Client) -> Vec<String> {
    let list = client.call("session/list", json!({})).await;
    let ids = list["sessions"].as_array().unwrap().iter();
    ids.map(|it| it["sessionId"].as_str().unwrap().to_owned()).collect()
}

async fn limit(house: &House, client: &mut Client, retention: Value) {
    fs::write(&house.sources.files.user, json!({ "retention": retention }).to_string()).unwrap();
    assert_eq!(client.call("daemon/reload", json!({})).await["problems"], json!([]));
}

#[tokio::test]
async fn what_is_too_old_goes_by_itself_but_nothing_that_somebody_has_open() {
    let script = Script::new([Reply::done("ok")]);
    let (house, clock) =
        house(&script).settings(&json!({ "retention": { "maxAgeDays": 30 } })).manual_clock();
    let running = house.boot().await;
    let [old, attached] = ended(&running).await;
    let mut client = running.client();
    client.call("session/attach", json!({ "sessionId": attached })).await;
    // Whoever worked in it last has it open, also without being attached.
    let (run, typing) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    clock.advance(40 * DAY);
    let [young] = ended(&running).await;
    let mut left = [attached, typing, young];
    left.sort();
    // It looks each hour; nothing but `old` is too old for 20 days more.
    let mut asking = running.client();
    let mut hours = 0;
    let mut is_left = |list: &Value| {
        let ids = list["sessions"].as_array().unwrap().iter();
        let mut ids: Vec<String> = ids.map(|it| it["sessionId"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        if hours < 400 {
            hours += 1;
            clock.advance(Duration::from_secs(60 * 60));
        }
        ids == left
    };
    loop {
        let list = asking.call("session/list", json!({})).await;
        if is_left(&list) {
            break;
        }
    }
    let log = running.log().await;
    let of_old: Vec<&Value> = log.iter().filter(|it| it["sessionId"] == json!(old)).collect();
    assert_eq!(of_old.len(), 1);
    assert_eq!(
        (&of_old[0]["type"], &of_old[0]["data"]["pruned"]),
        (&json!("session.deleted"), &json!("age"))
    );
    drop((client, asking));
    running.stop().await;
}

/// A clock that is wrong costs nobody their history, and one that stays so is believed.
#[tokio::test]
async fn a_clock_that_jumped_makes_nothing_old_before_it_has_stayed_so() {
    let script = Script::new([Reply::done("ok")]);
    let (house, clock) =
        house(&script).settings(&json!({ "retention": { "maxAgeDays": 30 } })).manual_clock();
    let running = house.boot().await;
    let [_old] = ended(&running).await;
    let mut client = running.client();
    // In which nothing is written by the wrong clock.
    let planned = client.call("daemon/gc", json!({ "dryRun": true })).await;
    assert!(planned.get("clockAheadMs").is_none(), "{planned}");
    clock.jump(100 * DAY);
    let hour = Duration::from_secs(60 * 60);
    // The look that finds it counts nothing.
    for _ in 0..24 {
        clock.advance(hour);
        let planned = client.call("daemon/gc", json!({})).await;
        assert_eq!(planned["sessions"], json!([]), "{planned}");
        let ahead = Duration::from_millis(planned["clockAheadMs"].as_u64().unwrap());
        assert_eq!(ahead, 100 * DAY);
    }
    assert_eq!(sessions(&mut client).await.len(), 1);
    // By whoever looks first: each hour somebody does.
    clock.advance(hour);
    let done = client.call("daemon/gc", json!({})).await;
    assert!(done.get("clockAheadMs").is_none(), "{done}");
    client.until("session/list", json!({}), |list| list["sessions"] == json!([])).await;
    let log = running.log().await;
    assert_eq!(log.iter().find(|it| it["type"] == "session.deleted").unwrap()["data"]["pruned"], "age");
    drop(client);
    running.stop().await;
}

/// A daemon that a command starts ends after minutes; the next one goes on from what it has seen.
#[tokio::test]
async fn limits_hold_also_where_no_daemon_lives_for_an_hour() {
    let script = Script::new([Reply::done("ok")]);
    let (house, clock) = house(&script).settings(&json!({ "retention": { "maxAgeDays": 1 } })).manual_clock();
    let running = house.boot().await;
    let [_old] = ended(&running).await;
    running.stop().await;
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let mut daemons = 0;
    loop {
        clock.advance(minutes(9 * 60));
        let running = house.boot().await;
        let mut client = running.client();
        let is_gone = sessions(&mut client).await.is_empty();
        // What is due is done at some time within this.
        for _ in 0..50 {
            clock.advance(minutes(1));
            client.call("daemon/status", json!({})).await;
        }
        drop(client);
        running.stop().await;
        if is_gone {
            break;
        }
        daemons += 1;
        assert!(daemons < 40, "nothing grows old");
    }
    assert!(1 < daemons, "limits that were set less than an hour before had an effect");
}

#[tokio::test]
async fn what_would_go_is_said_first_the_oldest_goes_first_and_nothing_that_lives() {
    let script = Script::new([Reply::done("ok")]);
    let house = house(&script);
    let running = house.boot().await;
    let thinking = busy(&running, &script).await;
    let all: [String; 4] = ended(&running).await;
    let mut client = running.client();
    // Without limits nothing goes.
    let result = client.call("daemon/gc", json!({})).await;
    assert_eq!((&result["sessions"], &result["limits"]), (&json!([]), &json!({})));
    assert_eq!(sessions(&mut client).await.len(), 5);
    client.call("session/attach", json!({ "sessionId": all[0] })).await;
    limit(&house, &mut client, json!({ "maxSessions": 2 })).await;
    let planned = client.call("daemon/gc", json!({ "dryRun": true })).await;
    assert_eq!(sessions(&mut client).await.len(), 5);
    let done = client.call("daemon/gc", json!({})).await;
    let ids = |result: &Value| -> Vec<Value> {
        result["sessions"].as_array().unwrap().iter().map(|it| it["sessionId"].clone()).collect()
    };
    assert_eq!(ids(&planned), ids(&done));
    assert_eq!(ids(&done), [json!(all[1]), json!(all[2]), json!(all[3])]);
    assert_eq!((&done["sessions"][0]["reason"], &done["attached"]), (&json!("count"), &json!(1)));
    let (events, bytes) = (&done["sessions"][0]["events"], &done["sessions"][0]["bytes"]);
    assert!(0 < events.as_u64().unwrap() && 0 < bytes.as_u64().unwrap());
    let mut left = sessions(&mut client).await;
    left.sort();
    let mut stay = [all[0].clone(), thinking];
    stay.sort();
    assert_eq!(left, stay);
    let (kind, _) = client.refused("session/get", json!({ "sessionId": all[1] })).await;
    assert_eq!(kind, "GONE");
    drop(client);
    running.stop_unfinished().await;
}

#[tokio::test]
async fn room_is_given_back_until_the_rest_fits() {
    let long = "x".repeat(700_000);
    let script = Script::new([Reply::done(&long)]);
    let house = house(&script);
    let running = house.boot().await;
    let all: [String; 6] = ended(&running).await;
    let mut client = running.client();
    let before = client.call("daemon/gc", json!({ "dryRun": true })).await;
    let used = before["usedBytes"].as_u64().unwrap();
    assert!(4_000_000 < used, "{before}");
    limit(&house, &mut client, json!({ "maxBytes": used / 2 })).await;
    let result = client.call("daemon/gc", json!({})).await;
    let left = sessions(&mut client).await;
    assert!((1..=3).contains(&left.len()) && left.contains(&all[5]) && !left.contains(&all[0]), "{left:?}");
    assert!(result["usedBytes"].as_u64().unwrap() <= used / 2, "{result}");
    assert!(1_000_000 < result["givenBackBytes"].as_u64().unwrap(), "{before} {result}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn limits_that_make_no_sense_are_refused() {
    let script = Script::new([Reply::done("ok")]);
    let house = house(&script);
    let running = house.boot().await;
    let [kept] = ended(&running).await;
    let mut client = running.client();
    for retention in [
        json!({ "maxAgeDays": 0 }),
        json!({ "maxAgeDays": -1 }),
        json!({ "maxAgeDays": 1e9 }),
        json!({ "maxSessions": 0 }),
        json!({ "maxBytes": 100 }),
        json!({ "maxBytes": "1 GB" }),
    ] {
        fs::write(&house.sources.files.user, json!({ "retention": retention }).to_string()).unwrap();
        let reloaded = client.call("daemon/reload", json!({})).await;
        assert_eq!(reloaded["problems"].as_array().unwrap().len(), 1, "{retention}: {reloaded}");
    }
    let result = client.call("daemon/gc", json!({})).await;
    assert_eq!((&result["sessions"], &result["limits"]), (&json!([]), &json!({})));
    assert_eq!(sessions(&mut client).await, [kept]);
    drop(client);
    running.stop().await;
}
