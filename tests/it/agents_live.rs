//! A saved agent is live for the next run, those who follow the log are told, and what has begun keeps what it began with.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Client, House, Reply, Running, Script};

fn agent(name: &str, prompt: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: d\ncompletion: tool\ntools: [read_file]\n---\n{prompt}\n"
    )
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The first of these events after `from`.
async fn changed(client: &mut Client, from: u64) -> Value {
    let asked = json!({ "filter": { "types": ["agents.changed"] }, "from": from, "waitMs": 60_000 });
    let page = client.call("events/list", asked).await;
    page["events"].get(0).unwrap_or_else(|| panic!("nobody was told: {page}")).clone()
}

fn names(event: &Value, list: &str) -> Vec<String> {
    let agents = event["data"][list].as_array().unwrap().iter();
    agents
        .map(|agent| format!("{} {}", agent["name"].as_str().unwrap(), agent["status"].as_str().unwrap()))
        .collect()
}

async fn list(client: &mut Client, running: &Running) -> Vec<String> {
    let listed = client.call("agents/list", json!({ "workspace": running.work() })).await;
    listed["agents"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_saved_agent_is_live_and_told() {
    let script = Script::new([Reply::done("done")]);
    let house = House::new().script(&script).agent("first", &agent("first", "One."));
    let running = house.boot().await;
    let mut client = running.client();
    client.call("agents/list", json!({})).await;
    assert_eq!(list(&mut client, &running).await, ["codebase-investigator", "first", "generalist", "help"]);

    write(&house.dir.path().join("agents/second.md"), &agent("second", "Two."));
    let (run, _) = client.start(&running, "second", json!({})).await;
    assert_eq!(client.ended(&run).await["result"], "done");
    let event = changed(&mut client, 0).await;
    assert_eq!((names(&event, "added"), names(&event, "changed")), (vec!["second ok".to_owned()], vec![]));
    assert_eq!((event["data"].get("workspace"), event.get("by")), (None, None));

    // A place of another product that was not there before, and a folder in the user's.
    write(&running.work().join(".opencode/agents/theirs.md"), &agent("theirs", "Three."));
    let event = changed(&mut client, event["seq"].as_u64().unwrap()).await;
    assert_eq!(names(&event, "added"), ["theirs untrusted"]);
    assert_eq!(event["data"]["workspace"], json!([running.work()]));
    fs::remove_file(house.dir.path().join("agents/second.md")).unwrap();
    let event = changed(&mut client, event["seq"].as_u64().unwrap()).await;
    assert_eq!(names(&event, "removed"), ["second ok"]);
    let (kind, _) = client
        .refused("run/start", json!({ "workspace": running.work(), "agent": "second", "prompt": "p" }))
        .await;
    assert_eq!(kind, "NOT_FOUND");
    running.stop().await;
}

#[tokio::test]
async fn a_run_that_has_begun_keeps_its_agent() {
    let turns = [Reply::calls(&[("read_file", json!({ "path": "a.txt" }))]), Reply::done("done")];
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let script = Script::new([turns[0].clone(), Reply::after(&gate, turns[1].clone())]);
    let house = House::new().script(&script).file("a.txt", "text").agent("me", &agent("me", "Be the first."));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "me", json!({})).await;
    script.asked().await;
    script.asked().await;
    write(&house.dir.path().join("agents/me.md"), &agent("me", "Be the second."));
    let (later, _) = client.start(&running, "me", json!({})).await;
    gate.add_permits(2);
    let (first, second) = (client.ended(&run).await, client.ended(&later).await);
    assert_ne!(first["digest"], second["digest"]);
    let prompts: Vec<bool> =
        script.requests().iter().map(|request| format!("{request:?}").contains("Be the second.")).collect();
    assert_eq!(
        prompts.iter().filter(|is_second| **is_second).count(),
        2,
        "the later run's two turns: {prompts:?}"
    );
    assert_eq!(prompts.len(), 4);
    running.stop().await;
}

#[tokio::test]
async fn agents_are_read_anew_for_whoever_asks() {
    let house = House::new().agent("a", &agent("a", "One."));
    let running = house.boot().await;
    let mut client = running.client();
    client.call("agents/list", json!({})).await;
    let reloaded = client.call("agents/reload", json!({})).await;
    assert_eq!(reloaded, json!({ "added": [], "changed": [], "removed": [] }));
    let all = json!({ "filter": { "types": ["agents.changed"] }, "from": 0 });
    assert_eq!(client.call("events/list", all).await["events"], json!([]), "nothing changed");

    write(
        &house.dir.path().join("settings.json"),
        r#"{ "agents": { "places": { "user": { "own": false } } } }"#,
    );
    client.call("daemon/reload", json!({})).await;
    assert_eq!(list(&mut client, &running).await, ["codebase-investigator", "generalist", "help"]);
    let event = changed(&mut client, 0).await;
    assert_eq!(names(&event, "removed"), ["a ok"]);
    running.stop().await;
}
