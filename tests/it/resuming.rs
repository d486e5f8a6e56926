//! Taking up what another daemon left: nobody waits for what is slow about it, and what cannot be taken up now is tried
//! again while the daemon lives (spec 11, promises 3 and 6).

use std::{collections::BTreeMap, path::Path, time::Duration};

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};
use subagentd::{
    config::{KeySource, LayeredSetting, ProviderKind, ProviderSettings, SettingLayer},
    models::ModelRegistry,
    sys::{children::ChildProcesses, clock::ManualClock},
};

use crate::{
    laws,
    provider_server::{Answer, KEY, ProviderServer},
    support::{Cast, Client, House, Reply, Running, Script, lines},
};

fn agent(name: &str, tools: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: Does {name} things.\ncompletion: tool\ntools: [{tools}]\n---\nYou are {name}.\n"
    )
}

/// The provider `test`, whose key lies there.
fn models(server: &ProviderServer, key: KeySource) -> ModelRegistry {
    let entry = ProviderSettings {
        base_url: Some(server.base_url()),
        key: Some(key),
        ..ProviderSettings::usual(ProviderKind::Gemini)
    };
    let entries = BTreeMap::from([(
        "test".to_owned(),
        LayeredSetting { value: Some(entry), origin: SettingLayer::User },
    )]);
    ModelRegistry::configured(&entries, ChildProcesses::default(), |name| {
        (name == "TEST_KEY").then(|| KEY.into())
    })
}

/// Runs a statement on the database of a daemon that is down.
async fn tamper(house: &House, statement: &str) {
    let path = house.dir.path().join("state/subagentd.db");
    let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// What makes an event of the run unreadable, and readable again.
fn damage(run: &str) -> (String, String) {
    let event = format!("where run_id = '{run}' and type = 'model.started'");
    let damage = format!("update events set body = 'damaged' || body {event}");
    let repair = format!("update events set body = substr(body, 8) {event} and body like 'damaged%'");
    (damage, repair)
}

/// Waits until status speaks of the run, or does no more.
async fn degraded(client: &mut Client, run: &str, is_degraded: bool) -> String {
    let speaks = |status: &Value| status["degraded"].to_string().contains(run) == is_degraded;
    client.until("daemon/status", json!({}), speaks).await["degraded"].to_string()
}

/// Lets time pass until `params` are answered as `is_so` wants it.
async fn passing(
    client: &mut Client,
    clock: &ManualClock,
    (method, params): (&str, Value),
    is_so: impl Fn(&Value) -> bool,
) -> Value {
    let is_so = |result: &Value| {
        clock.advance(Duration::from_secs(1));
        is_so(result)
    };
    client.until(method, params, is_so).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_take_long_hold_up_only_the_runs_that_need_them_and_are_fetched_once() {
    let half = json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "It" }] } }] });
    let stalls = || Answer::chunks([half.to_string()]).then_stall();
    let server = ProviderServer::gemini([
        stalls(),
        stalls(),
        Answer::done("with the key"),
        Answer::done("with the key"),
    ])
    .await;
    let script = Script::new([Reply::Hangs]);
    let mut house = House::new().agent("reader", &agent("reader", "read_file"));
    house.models = models(&server, KeySource::Env("TEST_KEY".to_owned()));
    house = house.script(&script);
    let running = house.boot().await;
    let mut client = running.client();
    let model = json!({ "model": "test/gemini-2.5-flash" });
    let (first, _) = client.start(&running, "reader", model.clone()).await;
    server.asked(1).await;
    let (second, _) = client.start(&running, "reader", model.clone()).await;
    server.asked(2).await;
    let (other, _) = client.start(&running, "reader", json!({})).await;
    script.asked().await;
    drop(client);
    running.stop_unfinished().await;

    // The command writes down that it was run, and waits for somebody to say the key.
    let fifo = house.dir.path().join("key");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let count = house.dir.path().join("count");
    let command = format!("echo run >> {}; cat {}", count.display(), fifo.display());
    house.models = models(&server, KeySource::Command(["sh", "-c", &command].map(str::to_owned).into()));
    script.replace([Reply::done("without a key")]);
    house = house.script(&script);
    let running = house.boot().await;
    let mut client = running.client();
    // Answered while the command waits, which it does until the end of this.
    assert_eq!(client.ended(&other).await["result"], "without a key");
    assert_eq!(client.call("run/get", json!({ "runId": first })).await["state"], "running");
    // Until then its trace says that nobody goes on with it yet, though the log says no more than before.
    let page = client.call("trace/get", json!({ "runId": first })).await;
    let waits = page["spans"].as_array().unwrap().iter().find_map(|span| span["run"].get("waitsFor"));
    assert_eq!(waits.map(|waits| &waits["for"]), Some(&json!("daemon")), "{page}");
    let story = client.call("trace/export", json!({ "runId": first, "format": "markdown" })).await;
    let words = "**reader** was interrupted: the daemon was started again and has not taken it up yet, last heard of at ";
    assert!(story["text"].as_str().unwrap().contains(words), "{story}");
    let status = client.call("daemon/status", json!({})).await;
    assert_eq!(status["degraded"], json!([]), "a key that is being fetched is no failure");
    say(&fifo, KEY).await;
    for run in [&first, &second] {
        assert_eq!(client.ended(run).await["result"], "with the key");
    }
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "run\n");
    drop(client);
    running.stop().await;
    server.assert_content();
}

/// Writes to a pipe once somebody reads it.
async fn say(fifo: &Path, text: &'static str) {
    let fifo = fifo.to_owned();
    tokio::task::spawn_blocking(move || std::fs::write(fifo, text)).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_run_that_cannot_be_read_goes_on_as_soon_as_it_can() {
    let script = Script::new([Reply::Hangs]);
    let (house, clock) =
        House::new().agent("reader", &agent("reader", "read_file")).script(&script).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "reader", json!({})).await;
    script.asked().await;
    drop(client);
    running.stop_unfinished().await;

    let (damage, repair) = damage(&run);
    tamper(&house, &damage).await;
    script.replace([Reply::done("read at last")]);
    let running = house.boot().await;
    let mut client = running.client();
    let said = degraded(&mut client, &run, true).await;
    assert!(said.contains("tried again"), "{said}");
    // Its context stays its own meanwhile.
    let (later, _) =
        client.start(&running, "reader", json!({ "sessionId": session, "workspace": null })).await;
    assert_eq!(client.call("run/get", json!({ "runId": later })).await["state"], "queued");
    let (kind, _) = client.refused("run/cancel", json!({ "runId": run })).await;
    assert_eq!(kind, "STORAGE_ERROR", "it is not stopped, and nobody says so");
    running.tamper(&repair).await;
    passing(&mut client, &clock, ("run/get", json!({ "runId": run })), |it| it["state"] == "ended").await;
    assert_eq!(client.ended(&run).await["result"], "read at last");
    assert_eq!(client.ended(&later).await["result"], "read at last");
    degraded(&mut client, &run, false).await;
    assert_eq!(running.daemon.census().holdings, (0, 0, 0));
    drop(client);
    running.stop().await;
}

/// A parent with a child that cannot be read back, in a daemon that was just started.
async fn stranded_child(house: &House, cast: &Cast) -> (Running, Client, String, String) {
    let running = house.boot().await;
    let mut client = running.client();
    let (parent, _) = client.start(&running, "lead", json!({})).await;
    cast.asked("lead/worker").await;
    let listed = client.call("run/list", json!({ "parentRunId": parent })).await;
    let child = listed["runs"][0]["runId"].as_str().unwrap().to_owned();
    drop(client);
    running.stop_unfinished().await;
    tamper(house, &damage(&child).0).await;
    let running = house.boot().await;
    let mut client = running.client();
    degraded(&mut client, &child, true).await;
    (running, client, parent, child)
}

fn family(cast: &Cast) -> (House, std::sync::Arc<ManualClock>) {
    House::new()
        .model("script", cast)
        .agent("lead", &agent("lead", "worker"))
        .agent("worker", &agent("worker", "read_file"))
        .manual_clock()
}

fn family_cast(worker: Reply) -> Cast {
    let asks = Reply::calls(&[("worker", json!({ "prompt": "go" }))]);
    Cast::new([("lead", vec![asks, Reply::done("both")]), ("lead/worker", vec![worker])])
}

#[tokio::test]
async fn a_child_that_cannot_be_read_answers_its_parent_once_it_can() {
    let cast = family_cast(Reply::Hangs);
    let (house, clock) = family(&cast);
    let (running, mut client, parent, child) = stranded_child(&house, &cast).await;
    cast.replace("lead/worker", [Reply::done("mine")]);
    running.tamper(&damage(&child).1).await;
    passing(&mut client, &clock, ("run/get", json!({ "runId": parent })), |it| it["state"] == "ended").await;
    assert_eq!(client.ended(&child).await["result"], "mine");
    assert_eq!(client.ended(&parent).await["result"], "both");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_stop_waits_a_moment_for_a_child_that_cannot_be_read() {
    let cast = family_cast(Reply::Hangs);
    let (house, clock) = family(&cast);
    let (running, mut client, parent, child) = stranded_child(&house, &cast).await;
    client.call("run/cancel", json!({ "runId": parent })).await;
    client.settle().await;
    running.tamper(&damage(&child).1).await;
    // One try is due by now; a clock that ran on meanwhile would let the stop give up before that is through.
    clock.advance(Duration::from_secs(1));
    degraded(&mut client, &child, false).await;
    passing(&mut client, &clock, ("run/get", json!({ "runId": parent })), |it| it["state"] == "ended").await;
    assert_eq!(client.ended(&parent).await["reason"], "ABORTED");
    assert_eq!(client.ended(&child).await["reason"], "ABORTED");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_child_that_could_not_be_read_when_its_parent_was_stopped_is_stopped_later() {
    let cast = family_cast(Reply::Hangs);
    let (house, clock) = family(&cast);
    let (running, mut client, parent, child) = stranded_child(&house, &cast).await;
    client.call("run/cancel", json!({ "runId": parent })).await;
    passing(&mut client, &clock, ("run/get", json!({ "runId": parent })), |it| it["state"] == "ended").await;
    assert_eq!(client.ended(&parent).await["reason"], "ABORTED");
    assert_eq!(client.call("run/get", json!({ "runId": child })).await["state"], "running");
    running.tamper(&damage(&child).1).await;
    passing(&mut client, &clock, ("run/get", json!({ "runId": child })), |it| it["state"] == "ended").await;
    assert_eq!(client.ended(&child).await["reason"], "ABORTED");
    let log = running.log().await;
    let of_parent: Vec<Value> = log.iter().filter(|event| event["runId"] == parent).cloned().collect();
    let told = lines(&of_parent);
    assert!(told.contains("error=INTERRUPTED"), "{told}");
    assert_eq!(running.daemon.census().live_runs, 0);
    // The parent has ended before its child, for once, and nothing else is amiss.
    let broken = laws::check_finished(&log).unwrap_err();
    assert!(broken.iter().all(|it| it.contains("ends before run")), "{broken:?}");
    drop(client);
    assert!(running.daemon.stop().await);
}
