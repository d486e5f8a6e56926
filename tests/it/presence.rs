//! Who is there, and who is told? (Spec 01, "Transports", `client/list`, `signal.presence`.)

use serde_json::{Value, json};

use crate::{
    laws::{self, Attached, Deltas},
    support::{Client, House, Reply, Running, Script},
};

const TALKER: &str =
    "---\nkind: agent\nname: talker\ndescription: Talks.\ncompletion: message\ntools: []\n---\nYou talk.\n";

async fn introduced(running: &Running, name: &str) -> Client {
    let mut client = running.client();
    let me = json!({ "name": name, "version": "2", "kind": "editor" });
    client.call("initialize", json!({ "protocolVersion": "2", "client": me, "clientId": name })).await;
    client
}

async fn session(running: &Running, client: &mut Client) -> String {
    let created = client.call("session/create", json!({ "workspace": running.work() })).await;
    created["sessionId"].as_str().unwrap().to_owned()
}

/// Attaches and reads the snapshot.
async fn attach(client: &mut Client, session: &str, role: &str) -> Value {
    let params = json!({ "sessionId": session, "role": role });
    let subscription = client.call("session/attach", params).await;
    client.events_until("signal.snapshot").await;
    subscription
}

/// Reads signals of presence until one shows these clients in their order: name, presence, roles.
async fn told(client: &mut Client, session: Option<&str>, expected: Value) {
    loop {
        let signal = client.event().await;
        assert_eq!(signal["type"], "signal.presence", "{signal}");
        assert!(signal.get("seq").is_none() && signal["sessionId"] == json!(session), "{signal}");
        let clients = signal["data"]["clients"].as_array().unwrap();
        assert_eq!(signal["data"]["total"], clients.len(), "{signal}");
        let brief = clients.iter().map(|client| {
            let roles = client["attached"].as_array().unwrap().iter().map(|it| it["role"].clone());
            json!([client["clientId"], client["presence"], roles.collect::<Vec<_>>()])
        });
        // Of several changes only what came of them is promised.
        if brief.collect::<Value>() == expected {
            return;
        }
    }
}

#[tokio::test]
async fn those_who_are_attached_hear_who_comes_changes_and_goes() {
    let running = House::new().boot().await;
    let (mut ann, mut bob, mut eve) = (
        introduced(&running, "ann").await,
        introduced(&running, "bob").await,
        introduced(&running, "eve").await,
    );
    let (session, other) = (session(&running, &mut ann).await, session(&running, &mut ann).await);
    attach(&mut ann, &session, "control").await;
    attach(&mut eve, "*", "observe").await;
    told(&mut ann, Some(&session), json!([["ann", "active", ["control"]], ["eve", "active", ["observe"]]]))
        .await;
    let subscription = attach(&mut bob, &session, "observe").await;
    let all = |bob: &str| {
        json!([["ann", "active", ["control"]], ["bob", bob, ["observe"]], ["eve", "active", ["observe"]]])
    };
    told(&mut ann, Some(&session), all("active")).await;
    told(&mut eve, None, all("active")).await;
    let said = bob.call("client/update", json!({ "presence": "away" })).await;
    assert_eq!(said, json!({ "presence": "away", "capabilities": { "deltas": false, "tools": false } }));
    told(&mut ann, Some(&session), all("away")).await;
    told(&mut eve, None, all("away")).await;
    // What concerns another session only is not told.
    attach(&mut bob, &other, "control").await;
    let roles = json!([
        ["ann", "active", ["control"]],
        ["bob", "away", ["observe", "control"]],
        ["eve", "active", ["observe"]]
    ]);
    let by_subscription = json!([
        ["ann", "active", ["control"]],
        ["bob", "away", ["control", "observe"]],
        ["eve", "active", ["observe"]]
    ]);
    let expected = if running_order(&mut ann, "bob").await { roles } else { by_subscription };
    told(&mut eve, None, expected).await;
    bob.call("session/detach", json!({ "subscription": subscription })).await;
    told(&mut ann, Some(&session), json!([["ann", "active", ["control"]], ["eve", "active", ["observe"]]]))
        .await;
    drop(bob);
    told(&mut eve, None, json!([["ann", "active", ["control"]], ["eve", "active", ["observe"]]])).await;
    // It went away without a word, and nobody else is there any more.
    drop(ann);
    told(&mut eve, None, json!([["eve", "active", ["observe"]]])).await;
    let listed = eve.call("client/list", json!({})).await;
    assert_eq!(listed["clients"].as_array().unwrap().len(), 1, "{listed}");
    drop(eve);
    running.stop().await;
}

/// Whether the client's first attachment is listed first, as its roles were given.
async fn running_order(client: &mut Client, of: &str) -> bool {
    let listed = client.call("client/list", json!({})).await;
    let clients = listed["clients"].as_array().unwrap();
    let attached = &clients.iter().find(|it| it["clientId"] == of).unwrap()["attached"];
    attached[0]["role"] == "observe"
}

#[tokio::test]
async fn list_has_every_connection_that_said_who_it_is_or_is_attached() {
    let running = House::new().boot().await;
    let mut stranger = running.client();
    assert_eq!(stranger.call("client/list", json!({})).await, json!({ "clients": [] }));
    let (kind, error) = stranger.refused("client/update", json!({ "presence": "idle" })).await;
    assert_eq!(kind, "NOT_INITIALIZED", "{error}");
    let session = session(&running, &mut stranger).await;
    attach(&mut stranger, &session, "observe").await;
    let mut twice = introduced(&running, "twice").await;
    let _again = introduced(&running, "twice").await;
    let kinds = json!({ "confirmations": { "kinds": ["edit", "of-tomorrow"] }, "tools": true });
    twice.call("client/update", json!({ "capabilities": kinds })).await;
    // Read in pieces: each connection once, the oldest first.
    let (mut clients, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut params = json!({ "limit": 2 });
        if cursor.is_string() {
            params["cursor"] = cursor;
        }
        let listed = twice.call("client/list", params).await;
        clients.extend(listed["clients"].as_array().unwrap().clone());
        cursor = listed["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let brief: Vec<Value> = clients
        .iter()
        .map(|it| {
            json!([it["clientId"], it["client"]["kind"], it["attached"][0]["sessionId"], it["transport"]])
        })
        .collect();
    assert_eq!(
        json!(brief),
        json!([
            [null, null, session, "lines"],
            ["twice", "editor", null, "lines"],
            ["twice", "editor", null, "lines"]
        ])
    );
    assert_eq!(clients[1]["capabilities"]["confirmations"]["kinds"], json!(["edit", "of-tomorrow"]));
    assert_eq!(clients[1]["capabilities"]["tools"], true);
    assert!(clients.windows(2).all(|pair| pair[0]["connection"].as_u64() < pair[1]["connection"].as_u64()));
    drop((stranger, twice));
    running.stop().await;
}

#[tokio::test]
async fn attached_to_every_session_is_to_see_those_that_come_later_and_their_texts_whole() {
    let (streaming, chunks) = Reply::streams();
    let script = Script::new([streaming]);
    let (before, written) = Reply::streams();
    let first = Script::new([before]);
    let house = House::new().script(&script).model("first", &first).agent("talker", TALKER);
    let running = house.boot().await;
    let mut client = running.client();
    let (early, early_session) = client.start(&running, "talker", json!({ "model": "first" })).await;
    first.asked().await;
    written.send("was ".to_owned()).await.unwrap();
    let mut watcher = running.client();
    watcher.call("session/attach", json!({ "sessionId": "*", "deltas": true })).await;
    let mut received = vec![watcher.event().await];
    let data = &received[0]["data"];
    assert_eq!(
        (&data["runs"][0]["runId"], &data["sessions"][0]["sessionId"]),
        (&json!(early), &json!(early_session))
    );
    let (run, session) = client.start(&running, "talker", json!({})).await;
    script.asked().await;
    for piece in ["Es ", "läuft ", "🦀"] {
        chunks.send(piece.to_owned()).await.unwrap();
        received.extend(watcher.events_until("model.textDelta").await);
    }
    written.send("there".to_owned()).await.unwrap();
    drop((chunks, written));
    client.ended(&run).await;
    client.ended(&early).await;
    while received.iter().filter(|event| event["type"] == "run.completed").count() < 2 {
        received.push(watcher.event().await);
    }
    laws::check_subscription(Attached::Now, Deltas::Some, &received)
        .unwrap_or_else(|broken| panic!("{}", broken.join("\n")));
    let log = running.log().await;
    laws::check_delivery(&log, received[0]["data"]["seq"].as_i64().unwrap(), &received).unwrap();
    let created = received.iter().find(|event| event["type"] == "session.created").unwrap();
    assert_eq!(created["sessionId"], *session);
    for delta in received.iter().filter(|event| event["type"] == "model.textDelta") {
        let home = if delta["runId"] == *early { &early_session } else { &session };
        assert_eq!(delta["sessionId"], **home, "{delta}");
    }
    // With nothing alive there is nothing to show, however long the history.
    let mut late = running.client();
    late.call("session/attach", json!({ "sessionId": "*" })).await;
    let snapshot = late.event().await;
    assert_eq!(snapshot["data"]["runs"], json!([]), "{snapshot}");
    running.stop().await;
}
