//! What becomes of a session, of its runs and of what it knew, when it is closed or removed?

use serde_json::{Value, json};
use subagentd::{
    protocol::{EventHead, PrivateEventFields, SessionClosed, SessionId, Timestamp},
    store::NewEvent,
};

use crate::support::{Client, House, Reply, Running, Script};

const READER: &str =
    "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\n---\nYou read.\n";

#[tokio::test]
async fn closing_ends_the_live_and_the_waiting_and_takes_no_more() {
    let script = Script::new([Reply::Hangs]);
    let running = House::new().script(&script).agent("reader", READER).boot().await;
    let mut client = running.client();
    let (live, session) = client.start(&running, "reader", json!({})).await;
    script.asked().await;
    let more = json!({ "sessionId": session, "agent": "reader", "model": "script", "prompt": "next" });
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let started = client.call("run/start", more.clone()).await;
        assert_eq!(started["disposition"], "queued");
        waiting.push(started["runId"].clone());
    }
    let queue = client.call("queue/list", json!({ "sessionId": session })).await["queue"].clone();
    let queued: Vec<Value> = queue.as_array().unwrap().iter().map(|it| it["runId"].clone()).collect();
    assert_eq!(queued, waiting);
    let mut watcher = running.client();
    watcher.call("session/attach", json!({ "sessionId": session })).await;
    assert_eq!(watcher.event().await["data"]["queue"], queue);

    let (kind, _) = client.refused("session/delete", json!({ "sessionId": session })).await;
    assert_eq!(kind, "BUSY");
    client.call("session/close", json!({ "sessionId": session })).await;
    for run in [vec![json!(live)], waiting].concat() {
        let record = client.call("run/get", json!({ "runId": run })).await;
        assert_eq!((&record["state"], &record["reason"]), (&json!("ended"), &json!("ABORTED")));
    }
    let (kind, _) = client.refused("run/start", more).await;
    assert_eq!(kind, "SESSION_CLOSED");
    let got = client.call("session/get", json!({ "sessionId": session })).await;
    assert_eq!(got["session"]["state"], "closed");
    assert_eq!(got["contexts"].as_array().unwrap().len(), 1);
    let history = client.call("session/history", json!({ "sessionId": session })).await;
    assert_eq!(history["messages"][0]["parts"][0]["type"], "text", "it stays readable");
    drop((client, watcher));
    running.stop().await;
}

#[tokio::test]
async fn removed_session_is_gone_also_after_a_restart() {
    let house = House::new().script(&Script::new([Reply::done("ok")])).agent("reader", READER);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, kept) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    let created = json!({ "workspace": running.work(), "ephemeral": true, "idempotencyKey": "one session" });
    let created = client.call("session/create", created).await["sessionId"].clone();
    let in_it = json!({ "sessionId": created, "agent": "reader", "model": "script", "prompt": "p" });
    let run = client.call("run/start", in_it).await["runId"].as_str().unwrap().to_owned();
    client.ended(&run).await;
    client.call("session/close", json!({ "sessionId": created })).await;
    let log = running.log().await;
    let left: Vec<&Value> =
        log.iter().filter(|it| it["sessionId"] == created).map(|it| &it["type"]).collect();
    assert_eq!(left, ["session.deleted"]);
    drop(client);
    running.stop().await;

    let running = house.boot().await;
    let mut client = running.client();
    for method in ["session/get", "session/attach", "session/history", "session/close", "session/delete"] {
        let (kind, _) = client.refused(method, json!({ "sessionId": created })).await;
        assert_eq!(kind, "GONE", "{method}");
    }
    let sessions = client.call("session/list", json!({})).await["sessions"].clone();
    assert_eq!(sessions.as_array().unwrap().len(), 1);
    assert_eq!(sessions[0]["sessionId"], json!(kept));
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn same_key_is_one_run_also_after_a_restart() {
    let house = House::new().script(&Script::new([Reply::done("ok")])).agent("reader", READER);
    let running = house.boot().await;
    let mut client = running.client();
    let params = json!({
        "workspace": running.work(), "agent": "reader", "model": "script", "prompt": "p",
        "idempotencyKey": "only once",
    });
    let first = client.call("run/start", params.clone()).await;
    client.ended(first["runId"].as_str().unwrap()).await;
    let again = client.call("run/start", params.clone()).await;
    let mut replayed = first.clone();
    replayed["replayed"] = json!(true);
    assert_eq!(again, replayed);
    let mut other = params.clone();
    other["prompt"] = json!("q");
    let (kind, error) = client.refused("run/start", other).await;
    assert_eq!(kind, "IDEMPOTENCY_CONFLICT", "{error}");
    drop(client);
    running.stop().await;

    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.call("run/start", params).await, replayed);
    let runs = client.call("run/list", json!({})).await["runs"].clone();
    assert_eq!(runs.as_array().unwrap().len(), 1);
    drop(client);
    running.stop().await;
}

/// An ephemeral session with a run in it, closed but not removed: as it stands when the daemon died in between.
async fn half_closed(running: &Running, client: &mut Client) -> Value {
    let created = json!({ "workspace": running.work(), "ephemeral": true });
    let session = client.call("session/create", created).await["sessionId"].clone();
    let in_it = json!({ "sessionId": session, "agent": "reader", "model": "script", "prompt": "p" });
    let run = client.call("run/start", in_it).await["runId"].as_str().unwrap().to_owned();
    client.ended(&run).await;
    let closed = NewEvent {
        at: Timestamp(1_700_000_000_000_000),
        session: Some(SessionId::from(session.as_str().unwrap())),
        run: None,
        context: None,
        head: EventHead::default(),
        body: SessionClosed {}.into(),
        private: PrivateEventFields::default(),
    };
    running.daemon.store().append(vec![closed]).await.unwrap();
    session
}

#[tokio::test]
async fn closing_again_removes_an_ephemeral_session_whose_removal_was_cut_off() {
    let house = House::new().script(&Script::new([Reply::done("ok")])).agent("reader", READER);
    let running = house.boot().await;
    let mut client = running.client();
    let session = half_closed(&running, &mut client).await;
    let closed = client.call("session/close", json!({ "sessionId": session })).await;
    let log = running.log().await;
    let left: Vec<&Value> = log.iter().filter(|it| it["sessionId"] == session).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!((&left[0]["type"], &left[0]["seq"]), (&json!("session.deleted"), &closed["seq"]));
    running.stop().await;
}

#[tokio::test]
async fn start_removes_ephemeral_sessions_whose_removal_was_cut_off_and_no_others() {
    let house = House::new().script(&Script::new([Reply::done("ok")])).agent("reader", READER);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, kept) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    client.call("session/close", json!({ "sessionId": kept })).await;
    let open = json!({ "workspace": running.work(), "ephemeral": true });
    let open = client.call("session/create", open).await["sessionId"].clone();
    let removed = [half_closed(&running, &mut client).await, half_closed(&running, &mut client).await];
    drop(client);
    running.stop().await;

    let running = house.boot().await;
    let mut client = running.client();
    for session in &removed {
        let (kind, _) = client.refused("session/get", json!({ "sessionId": session })).await;
        assert_eq!(kind, "GONE");
    }
    for session in [&json!(kept), &open] {
        client.call("session/get", json!({ "sessionId": session })).await;
    }
    assert_eq!(client.call("run/list", json!({})).await["runs"].as_array().unwrap().len(), 1);
    running.stop().await;
}

#[tokio::test]
async fn same_key_is_one_run_also_after_its_session_was_removed() {
    let script = Script::new([Reply::done("ok")]);
    let running = House::new().script(&script).agent("reader", READER).boot().await;
    let mut client = running.client();
    let params = json!({
        "workspace": running.work(), "agent": "reader", "model": "script", "prompt": "p",
        "idempotencyKey": "only once",
    });
    let first = client.call("run/start", params.clone()).await;
    client.ended(first["runId"].as_str().unwrap()).await;
    client.call("session/delete", json!({ "sessionId": first["sessionId"] })).await;
    let again = client.call("run/start", params).await;
    assert_eq!((&again["replayed"], &again["runId"]), (&json!(true), &first["runId"]));
    assert_eq!(script.requests().len(), 1);
    running.stop().await;
}
