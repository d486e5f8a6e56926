//! What becomes of a setting that was meant to keep something back, and is misspelled? Nothing leaves the machine, and each run says so.

use std::fs;

use serde_json::{Value, json};
use subagentd::config::DaemonConfig;

use crate::{
    support::{Client, House, Reply, Running, Script},
    trust::trust,
};

const WORKER: &str = "---\nkind: agent\nname: worker\ndescription: Works.\ncompletion: tool\ntools: [read_file]\n---\nYou work.\n";

fn house() -> House {
    let script = Script::new([Reply::done("a"), Reply::done("b"), Reply::done("c")]);
    House::new().agent("worker", WORKER).script(&script)
}

fn write(house: &House, settings: &Value) {
    fs::write(&house.sources.files.user, settings.to_string()).unwrap();
}

/// The warnings of one run, and the places to which its spans go.
async fn run(running: &Running, client: &mut Client) -> (Vec<String>, Value) {
    let (run, _) = client.start(running, "worker", json!({})).await;
    client.ended(&run).await;
    let log = running.log().await;
    let of_run = |kind: &'static str| {
        let run = run.clone();
        log.iter().filter(move |event| event["type"] == kind && event["runId"] == run.as_str())
    };
    let warnings = of_run("warning").map(|event| event["data"]["message"].as_str().unwrap().to_owned());
    let started = of_run("run.started").next().unwrap();
    // Missing where nobody says anything of it.
    let backends = match &started["data"]["tracing"] {
        Value::Null => json!(["otlp"]),
        said => said["backends"].clone(),
    };
    (warnings.collect(), backends)
}

async fn reload(house: &House, client: &mut Client, settings: &Value) {
    write(house, settings);
    client.call("daemon/reload", json!({})).await;
}

#[tokio::test]
async fn misspelled_tracing_sends_nothing_and_each_run_says_so() {
    let house = house();
    let running = house.boot().await;
    let mut client = running.client();
    let misspelled = json!({ "tracing": { "backend": ["file"], "contnet": "none" } });
    reload(&house, &mut client, &misspelled).await;
    for _ in 0..2 {
        let (warnings, backends) = run(&running, &mut client).await;
        assert_eq!(backends, json!([]), "spans of it go somewhere");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        for part in [
            "settings.json:1:",
            "`tracing.contnet`",
            "nothing of runs leaves",
            "did you mean `tracing.content`?",
        ] {
            assert!(warnings[0].contains(part), "{part}: {warnings:?}");
        }
    }
    let doctor = client.call("daemon/doctor", json!({})).await;
    let settings =
        doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "settings").unwrap();
    assert!(settings["message"].as_str().unwrap().contains("nothing of runs leaves"), "{settings}");

    reload(&house, &mut client, &json!({ "tracing": { "backend": ["file"], "content": "none" } })).await;
    assert_eq!(run(&running, &mut client).await, (vec![], json!(["file"])));
    running.stop().await;
}

/// At a start nobody knows what it was before. Later it keeps what it was.
#[tokio::test]
async fn mistaken_tracing_sends_nothing_from_the_start() {
    let mut house = house();
    write(&house, &json!({ "tracing": { "backend": ["file"], "content": "nothing" } }));
    house.config = DaemonConfig::load(&house.sources).0;
    let running = house.boot().await;
    let mut client = running.client();
    let (warnings, backends) = run(&running, &mut client).await;
    assert_eq!(backends, json!([]));
    assert!(warnings.len() == 1 && warnings[0].contains("`tracing.content`"), "{warnings:?}");
    reload(&house, &mut client, &json!({ "tracing": { "backend": ["file"], "content": "none" } })).await;
    assert_eq!(run(&running, &mut client).await, (vec![], json!(["file"])));
    reload(&house, &mut client, &json!({ "tracing": { "backend": ["file"], "content": "nothing" } })).await;
    assert_eq!(run(&running, &mut client).await, (vec![], json!(["file"])), "it keeps what it was");
    running.stop().await;
}

#[tokio::test]
async fn other_settings_that_hold_agents_to_less_are_told_too() {
    let house = house();
    let running = house.boot().await;
    let mut client = running.client();
    for (settings, named) in [
        (json!({ "sandbx": { "network": false } }), "`sandbx`"),
        (json!({ "run": { "maxCots": 1 } }), "`run.maxCots`"),
        (json!({ "tools": { "exclud": ["web_fetch"] } }), "`tools.exclud`"),
    ] {
        reload(&house, &mut client, &settings).await;
        let (warnings, backends) = run(&running, &mut client).await;
        assert_eq!(backends, json!(["otlp"]), "{settings}");
        assert!(warnings.len() == 1 && warnings[0].contains(named), "{warnings:?}");
    }
    running.stop().await;
}

/// Only people say what leaves their machine; who wrote it into a project hears that it does nothing.
#[tokio::test]
async fn run_says_what_a_project_cannot_keep_back() {
    let house = house().file(".subagentd/settings.json", "{ \"tracing\": { \"content\": \"none\" } }\n");
    let running = house.boot().await;
    let mut client = running.client();
    trust(&mut client, running.work()).await;
    let (warnings, backends) = run(&running, &mut client).await;
    assert_eq!(backends, json!(["otlp"]));
    let told = warnings.iter().find(|told| told.contains(".subagentd/settings.json:1:"));
    let told = told.unwrap_or_else(|| panic!("{warnings:?}"));
    assert!(told.contains("`tracing`: a project may not set this; it has no effect"), "{told}");
    running.stop().await;
}
