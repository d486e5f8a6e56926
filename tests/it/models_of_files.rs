//! A file of another product names a model that only that product knows: its agent runs all the same, and everybody is told.

use serde_json::{Value, json};

use crate::support::{Client, House, Reply, Running, Script};

fn claude(name: &str, model: &str) -> String {
    format!("---\nname: {name}\ndescription: Helps.\ntools: Read\nmodel: {model}\n---\nYou help.\n")
}

fn own(name: &str, model: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: d\nmodel: {model}\ntools: [fable]\ncompletion: tool\n---\nP\n"
    )
}

/// A workspace with agents of another product and one of ours, all acknowledged.
async fn boot(settings: &Value, script: &Script) -> (House, Running, Client) {
    boot_in(House::new().script(script), settings).await
}

async fn boot_in(house: House, settings: &Value) -> (House, Running, Client) {
    let names = [("fable", "fable"), ("short", "Sonnet"), ("known", "script"), ("automatic", "auto")];
    let house = house.settings(settings).agent("ours", &own("ours", "fable"));
    let house = house.file("from/.claude/agents/brought.md", claude("brought", "fable"));
    let house = house.agent("calls", &own("calls", "script"));
    let house = names.iter().fold(house, |house, (name, model)| {
        house.file(&format!(".claude/agents/{name}.md"), claude(name, model))
    });
    let running = house.boot().await;
    let mut client = running.client();
    for (name, _) in names {
        let agent = client.call("agents/get", json!({ "name": name, "workspace": running.work() })).await;
        let seen = json!({ "name": name, "digest": agent["digest"], "workspace": running.work() });
        client.call("agents/acknowledge", seen).await;
    }
    (house, running, client)
}

async fn listed(client: &mut Client, running: &Running, name: &str) -> Value {
    let list = client.call("agents/list", json!({ "workspace": running.work() })).await;
    list["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == name).unwrap().clone()
}

/// The messages of a run's warnings, and its model.
async fn told(running: &Running, run: &str) -> (String, Value) {
    let log = running.log().await;
    let of_run = || log.iter().filter(|event| event["runId"] == run);
    let warnings = of_run().filter(|event| event["type"] == "warning");
    let warnings: Vec<&str> = warnings.map(|event| event["data"]["message"].as_str().unwrap()).collect();
    let started = of_run().find(|event| event["type"] == "run.started").unwrap();
    (warnings.join("\n"), started["data"]["model"].clone())
}

#[tokio::test]
async fn it_runs_with_the_default_and_says_so() {
    let script =
        Script::new([Reply::done("done"), Reply::done("done"), Reply::done("done"), Reply::done("done")]);
    let (_house, running, mut client) = boot(&json!({ "models": { "default": "script" } }), &script).await;
    let agent = listed(&mut client, &running, "fable").await;
    assert_eq!((&agent["status"], &agent["model"]), (&json!("unresolved"), &json!("fable")));
    let problem = &agent["problems"][0];
    assert_eq!((&problem["code"], &problem["severity"]), (&json!("UNKNOWN_MODEL"), &json!("warning")));
    let message = problem["message"].as_str().unwrap();
    assert!(
        message.contains("the default `script`, or the model of an agent that calls it, answers instead"),
        "{message}"
    );
    assert!(message.contains("models.aliases.fable.model"), "{message}");
    let got = client.call("agents/get", json!({ "name": "fable", "workspace": running.work() })).await;
    assert_eq!(got["status"], "unresolved");
    let checked =
        client.call("agents/validate", json!({ "name": "fable", "workspace": running.work() })).await;
    let checks = checked["agents"][0]["checks"].as_array().unwrap();
    let model = checks.iter().find(|check| check["check"] == "the model is known").unwrap();
    assert_eq!((&model["outcome"], &checked["valid"]), (&json!("warn"), &json!(true)));
    assert_eq!(model["findings"], json!([message]));

    // A short name that is known and has no key is told by the run.
    assert_eq!(listed(&mut client, &running, "short").await["status"], "ok");
    for (name, wanted) in [("fable", "`model: fable`"), ("short", "`model: Sonnet`"), ("known", "")] {
        let (run, _) = client.start(&running, name, json!({ "model": null })).await;
        client.ended(&run).await;
        let (warnings, model) = told(&running, &run).await;
        assert_eq!(model, "script", "{name}");
        assert_eq!(warnings.contains("answers instead"), !wanted.is_empty(), "{name}: {warnings}");
        assert!(warnings.contains(wanted), "{name}: {warnings}");
    }
    // So it is with one that was brought in.
    let brought = json!({ "paths": [running.work().join("from")], "scope": "user" });
    let brought = client.call("agents/import", brought).await;
    let problem = &brought["files"][0]["problems"][0];
    assert_eq!(
        (&brought["files"][0]["outcome"], &problem["code"]),
        (&json!("written"), &json!("UNKNOWN_MODEL"))
    );
    assert_eq!(listed(&mut client, &running, "brought").await["status"], "unresolved");
    let (run, _) = client.start(&running, "brought", json!({ "model": null })).await;
    client.ended(&run).await;
    assert!(told(&running, &run).await.0.contains("`model: fable`"));
    // What a person asks for, and what stands in an agent of ours, is meant as it is written.
    let asked = json!({ "workspace": running.work(), "agent": "fable", "model": "fable", "prompt": "p" });
    assert_eq!(client.refused("run/start", asked).await.0, "NO_MODEL");
    let ours = json!({ "workspace": running.work(), "agent": "ours", "prompt": "p" });
    assert_eq!(client.refused("run/start", ours).await.0, "NO_MODEL");
    running.stop().await;
}

#[tokio::test]
async fn what_the_settings_say_it_means_is_meant() {
    let settings = json!({
        "models": { "default": "script", "aliases": { "fable": { "model": "script" } } },
        "agents": { "overrides": { "short": { "model": "nowhere/x" } } },
    });
    let script = Script::new([Reply::done("done")]);
    let (_house, running, mut client) = boot(&settings, &script).await;
    assert_eq!(listed(&mut client, &running, "fable").await["status"], "ok");
    let (run, _) = client.start(&running, "fable", json!({ "model": null })).await;
    client.ended(&run).await;
    assert_eq!(told(&running, &run).await, (String::new(), json!("script")));
    // A model of the user's own words is not replaced.
    let short = json!({ "workspace": running.work(), "agent": "short", "prompt": "p" });
    assert_eq!(client.refused("run/start", short).await.0, "NO_MODEL");
    running.stop().await;
}

#[tokio::test]
async fn what_an_alias_means_is_never_replaced() {
    let settings =
        json!({ "models": { "default": "script", "aliases": { "sonnet": { "model": "nowhere/x" } } } });
    // Were it passed over, there would be a model by the name that is usual elsewhere.
    let script = Script::new([Reply::done("done")]);
    let house = House::new().script(&script).model("anthropic/claude-sonnet-4-5", &script);
    let (_house, running, mut client) = boot_in(house, &settings).await;
    let short = json!({ "workspace": running.work(), "agent": "short", "prompt": "p" });
    let (kind, error) = client.refused("run/start", short).await;
    assert_eq!(kind, "NO_MODEL");
    assert!(error["message"].as_str().unwrap().contains("nowhere"), "{error}");
    running.stop().await;
}

#[tokio::test]
async fn without_a_default_the_caller_s_model_answers_and_else_none() {
    let calls = Reply::calls(&[("fable", json!({ "prompt": "help" }))]);
    let script = Script::new([calls, Reply::done("helped"), Reply::done("done")]);
    let (_house, running, mut client) = boot(&json!({}), &script).await;
    let alone = json!({ "workspace": running.work(), "agent": "fable", "prompt": "p" });
    let (kind, error) = client.refused("run/start", alone).await;
    assert_eq!(kind, "NO_MODEL");
    assert!(error["message"].as_str().unwrap().contains("`fable`"), "{error}");
    let (run, _) = client.start(&running, "calls", json!({ "model": null })).await;
    client.ended(&run).await;
    let log = running.log().await;
    let is_below = |event: &&Value| event["type"] == "run.started" && event["data"]["agent"] == "fable";
    let below = log.iter().find(is_below).unwrap()["runId"].as_str().unwrap().to_owned();
    let (warnings, model) = told(&running, &below).await;
    assert_eq!(model, "script");
    assert!(warnings.contains("`script` answers instead"), "{warnings}");
    running.stop().await;
}
