//! Which sessions are kept, what do limits never touch, and does their room come back? (spec 10, "Retention")

use std::{fs, time::Duration};

use serde_json::{Value, json};

use crate::support::{Client, House, Reply, Running, Script};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

const READER: &str =
    "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\n---\nYou read.\n";

const WRITER: &str = "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: [write_file]\n---\nYou write.\n";

fn house(script: &Script) -> House {
    House::new().script(script).agent("reader", READER).agent("writer", WRITER)
}

/// A session in which a run has ended.
async fn ended(client: &mut Client, running: &Running) -> String {
    let (run, session) = client.start(running, "reader", json!({})).await;
    client.ended(&run).await;
    session
}

/// A session in which a run asks, and one in which a model does not answer.
async fn busy(client: &mut Client, running: &Running, script: &Script) -> [String; 2] {
    let call = ("write_file", json!({ "path": "a.txt", "content": "a" }));
    script.replace([Reply::calls(&[call]), Reply::Hangs]);
    let (_, asking) = client.start(running, "writer", json!({})).await;
    client
        .until("confirmation/list", json!({}), |it| it["confirmations"].as_array().unwrap().len() == 1)
        .await;
    let (_, thinking) = client.start(running, "reader", json!({})).await;
    script.asked().await;
    [asking, thinking]
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
async fn what_is_too_old_goes_by_itself_and_nothing_that_lives() {
    let script = Script::new([Reply::done("ok")]);
    let (house, clock) = house(&script).settings(&json!({ "retention": { "maxAgeDays": 7 } })).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let old = ended(&mut client, &running).await;
    let watched = ended(&mut client, &running).await;
    let [asking, thinking] = busy(&mut client, &running, &script).await;
    let mut watcher = running.client();
    watcher.call("session/attach", json!({ "sessionId": watched })).await;
    clock.advance(6 * DAY);
    client.settle().await;
    assert_eq!(sessions(&mut client).await.len(), 4);
    script.replace([Reply::done("ok")]);
    let young = ended(&mut client, &running).await;
    clock.advance(2 * DAY);
    // It may have looked just before, and would look again in an hour.
    client.call("daemon/reload", json!({})).await;
    let mut left = [watched.clone(), asking, thinking, young];
    left.sort();
    client
        .until("session/list", json!({}), |list| {
            let ids = list["sessions"].as_array().unwrap().iter();
            let mut ids: Vec<String> = ids.map(|it| it["sessionId"].as_str().unwrap().to_owned()).collect();
            ids.sort();
            ids == left
        })
        .await;
    let log = running.log().await;
    let of_old: Vec<&Value> = log.iter().filter(|it| it["sessionId"] == json!(old)).collect();
    assert_eq!(of_old.len(), 1);
    assert_eq!(
        (&of_old[0]["type"], &of_old[0]["data"]["pruned"]),
        (&json!("session.deleted"), &json!("age"))
    );
    // Once nobody looks at it any more.
    drop(watcher);
    client.until("daemon/status", json!({}), |status| status["clients"] == 1).await;
    client.call("daemon/reload", json!({})).await;
    client.until("session/list", json!({}), |list| list["sessions"].as_array().unwrap().len() == 3).await;
    drop(client);
    running.stop_unfinished().await;
}

#[tokio::test]
async fn what_would_go_is_said_first_and_the_oldest_goes_first() {
    let script = Script::new([Reply::done("ok")]);
    let (house, clock) = house(&script).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(ended(&mut client, &running).await);
        clock.advance(Duration::from_secs(60));
    }
    // Without limits nothing goes.
    let result = client.call("daemon/gc", json!({})).await;
    assert_eq!((&result["sessions"], &result["limits"]), (&json!([]), &json!({})));
    assert_eq!(sessions(&mut client).await.len(), 4);

    // All are attached, so that the daemon does not do it by itself before it was asked what it would do.
    let mut watchers = Vec::new();
    for session in &all {
        let mut watcher = running.client();
        watcher.call("session/attach", json!({ "sessionId": session })).await;
        watchers.push(watcher);
    }
    limit(&house, &mut client, json!({ "maxSessions": 2 })).await;
    let planned = client.call("daemon/gc", json!({ "dryRun": true })).await;
    assert_eq!((&planned["attached"], &planned["sessions"]), (&json!(4), &json!([])));
    drop(watchers.drain(1..));
    client.until("daemon/status", json!({}), |status| status["clients"] == 2).await;
    let planned = client.call("daemon/gc", json!({ "dryRun": true })).await;
    let done = client.call("daemon/gc", json!({})).await;
    let ids = |result: &Value| -> Vec<Value> {
        result["sessions"].as_array().unwrap().iter().map(|it| it["sessionId"].clone()).collect()
    };
    assert_eq!(ids(&planned), ids(&done));
    assert_eq!(ids(&done), [json!(all[1]), json!(all[2])]);
    assert_eq!(done["sessions"][0]["reason"], "count");
    assert!(
        0 < done["sessions"][0]["events"].as_u64().unwrap()
            && 0 < done["sessions"][0]["bytes"].as_u64().unwrap()
    );
    assert_eq!(done["attached"], 1);
    assert_eq!(sessions(&mut client).await, [all[3].clone(), all[0].clone()]);
    let (kind, _) = client.refused("session/get", json!({ "sessionId": all[1] })).await;
    assert_eq!(kind, "GONE");
    drop((client, watchers));
    running.stop().await;
}

#[tokio::test]
async fn room_is_given_back_until_the_rest_fits() {
    let long = "x".repeat(700_000);
    let script = Script::new([Reply::done(&long)]);
    let house = house(&script);
    let running = house.boot().await;
    let mut client = running.client();
    let mut all = Vec::new();
    for _ in 0..6 {
        all.push(ended(&mut client, &running).await);
    }
    let before = client.call("daemon/gc", json!({ "dryRun": true })).await;
    let used = before["usedBytes"].as_u64().unwrap();
    assert!(4_000_000 < used, "{before}");
    limit(&house, &mut client, json!({ "maxBytes": used / 2 })).await;
    let result = client.call("daemon/gc", json!({})).await;
    let left = sessions(&mut client).await;
    assert!((1..=3).contains(&left.len()) && left.contains(&all[5]) && !left.contains(&all[0]), "{left:?}");
    assert!(result["usedBytes"].as_u64().unwrap() <= used / 2, "{result}");
    // The daemon may have given it back before it was asked.
    let file = result["fileBytes"].as_u64().unwrap();
    assert!(file < before["fileBytes"].as_u64().unwrap() - 1_000_000, "{before} {result}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn limits_that_make_no_sense_are_refused() {
    let script = Script::new([Reply::done("ok")]);
    let house = house(&script);
    let running = house.boot().await;
    let mut client = running.client();
    let kept = ended(&mut client, &running).await;
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
