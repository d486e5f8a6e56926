//! Which model does a run get, and how does it sample? Aliases, and what the user says of others' agents.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use subagentd::{
    config::{DaemonConfig, KeySource, LayeredSetting, ProviderKind, ProviderSettings, SettingLayer},
    models::ModelRegistry,
    protocol::SamplingSettings,
    sys::children::ChildProcesses,
};

use crate::{
    provider_server::{Answer, Asked, KEY, ProviderServer, Wire, call},
    support::{House, Reply, Running, Script},
};

/// Says its temperature itself.
const OWN: &str = "---\nkind: agent\nname: own\ndescription: Has its own.\ncompletion: tool\n\
                   model: {name: quick, temperature: 0.3}\ntools: [read_file, heir]\n---\nYou work.\n";
const PLAIN: &str = "---\nkind: agent\nname: plain\ndescription: Says nothing.\ncompletion: tool\n\
                     tools: [read_file]\n---\nYou work.\n";
/// Inherits the model of whoever calls it.
const HEIR: &str = "---\nkind: agent\nname: heir\ndescription: Inherits.\ncompletion: tool\n\
                    tools: [read_file]\n---\nYou work.\n";

const ALIASES: &str = r#""aliases": {
    "quick": {"model": "script", "temperature": 0.9, "topP": 0.8, "maxOutputTokens": 700, "thinkingBudget": 50},
    "slow": {"model": "script", "temperature": 0.1}
}"#;

fn house(script: &Script, agents: &str) -> House {
    let mut house = House::new().agent("own", OWN).agent("plain", PLAIN).agent("heir", HEIR).script(script);
    let settings = format!("{{\"models\": {{{ALIASES}}}, \"agents\": {{{agents}}}}}");
    std::fs::write(&house.sources.files.user, settings).unwrap();
    let (config, problems) = DaemonConfig::load(&house.sources);
    assert_eq!(problems, []);
    house.config = config;
    house
}

type Fields = (Option<f64>, Option<f64>, Option<u64>, Option<i64>);

/// Temperature, top-p, most tokens and thinking budget of each request.
fn sampled(script: &Script) -> Vec<Fields> {
    let fields = |it: SamplingSettings| (it.temperature, it.top_p, it.max_output_tokens, it.thinking_budget);
    script.requests().into_iter().map(|request| fields(request.sampling)).collect()
}

async fn run(running: &Running, agent: &str, more: Value) -> Value {
    let mut client = running.client();
    let (run, _) = client.start(running, agent, more).await;
    client.ended(&run).await
}

#[tokio::test]
async fn each_field_of_sampling_is_resolved_by_itself() {
    let script = Script::new([Reply::done("ok")]);
    let overrides = r#""overrides": {"own": {"model": {"topP": 0.7}}, "plain": {"model": "slow"}}"#;
    let running = house(&script, overrides).boot().await;
    // The agent's file names the alias and a temperature, the user a share.
    run(&running, "own", json!({ "model": null })).await;
    // The request names the model itself, so there is no alias to ask.
    run(&running, "own", json!({})).await;
    // The user's settings name the alias.
    run(&running, "plain", json!({ "model": null })).await;
    // The request's alias comes before the user's.
    run(&running, "plain", json!({ "model": "quick" })).await;
    assert_eq!(
        sampled(&script),
        [
            (Some(0.3), Some(0.7), Some(700), Some(50)),
            (Some(0.3), Some(0.7), None, None),
            (Some(0.1), None, None, None),
            (Some(0.9), Some(0.8), Some(700), Some(50)),
        ]
    );
    let started: Vec<Value> = running.log().await;
    let models = started.iter().filter(|event| event["type"] == "run.started");
    // The log knows models, not the names that somebody gives them today.
    assert!(models.map(|event| &event["data"]["model"]).all(|model| model == "script"), "{started:?}");
    running.stop().await;
}

#[tokio::test]
async fn whoever_inherits_a_model_inherits_its_alias() {
    let script = Script::new([Reply::calls(&[("heir", json!({ "prompt": "go" }))]), Reply::done("ok")]);
    let heir = Script::new([Reply::done("heir's")]);
    let running = house(&script, "\"overrides\": {}").model("other", &heir).boot().await;
    let record = run(&running, "own", json!({ "model": null })).await;
    assert_eq!(record["reason"], "GOAL", "{record}");
    let sampled = sampled(&script);
    assert!(sampled.contains(&(Some(0.9), Some(0.8), Some(700), Some(50))), "{sampled:?}");
    running.stop().await;
}

#[tokio::test]
async fn the_user_limits_agents_and_their_tools() {
    let script = Script::new([Reply::calls(&[("read_file", json!({ "path": "a.txt" }))]), Reply::done("ok")]);
    let overrides = r#""overrides": {"plain": {"run": {"maxTurns": 7}, "tools": {"allow": ["glob"]}}}"#;
    let house = house(&script, overrides).file("a.txt", "hello");
    let running = house.boot().await;
    run(&running, "plain", json!({})).await;
    let declared: Vec<String> = script.requests()[0].tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(declared, ["glob", "complete_task"]);
    let log = running.log().await;
    let started = log.iter().find(|event| event["type"] == "run.started").unwrap();
    assert_eq!(started["data"]["limits"]["maxTurns"], 7);
    let tools = running.client().call("tools/list", json!({ "agent": "plain" })).await;
    let state = |name: &str| {
        let tools = tools["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).map(|tool| tool["state"].clone())
    };
    assert_eq!((state("glob"), state("read_file")), (Some(json!("available")), None));
    // Read anew, it counts for what begins then.
    std::fs::write(&house.sources.files.user, "{}").unwrap();
    let reloaded = running.client().call("daemon/reload", json!({})).await;
    assert_eq!(reloaded["changed"], json!(["models.aliases", "agents.overrides"]));
    run(&running, "plain", json!({})).await;
    assert_eq!(script.requests().last().unwrap().tools[0].name.to_string(), "read_file");
    let params = json!({ "workspace": running.work(), "agent": "plain", "model": "quick", "prompt": "x" });
    let refused = running.client().refused("run/start", params).await;
    assert_eq!(refused.0, "NO_MODEL");
    running.stop().await;
}

/// Aliases of one server's models, which differ in how they sample.
const SERVED: &str = r#""aliases": {
    "first": {"model": "mine/m-first", "temperature": 0.9, "topP": 0.8},
    "second": {"model": "mine/m-second", "topP": 0.5},
    "small": {"model": "mine/m-small", "temperature": 0.1},
    "brief": {"model": "mine/m-brief", "temperature": 0.2}
}"#;
const SURE: &str = "---\nkind: agent\nname: sure\ndescription: Says its temperature.\ncompletion: message\n\
                    model: {temperature: 0.3}\ntools: [read_file, heir]\n---\nYou work.\n";
const SNAPSHOT: &str = "<state_snapshot>\n<overall_goal>g</overall_goal>\n<key_knowledge>k</key_knowledge>\n\
                        <file_system_state>CWD: /</file_system_state>\n<recent_actions>a</recent_actions>\n\
                        <current_plan>1. [TODO] p</current_plan>\n</state_snapshot>";
const ROUTED: &str = r#"{"reasoning": "It takes thought.", "model": "strong"}"#;

/// A house whose models are those of the server, whose entry says a share of its own and how long answers may be.
fn served(server: &ProviderServer, roles: &str) -> House {
    let sampling =
        SamplingSettings { top_p: Some(0.6), max_output_tokens: Some(700), ..SamplingSettings::default() };
    let entry = ProviderSettings {
        base_url: Some(format!("{}/v1", server.base_url())),
        key: Some(KeySource::Env("TEST_KEY".to_owned())),
        sampling,
        ..ProviderSettings::usual(ProviderKind::OpenAi)
    };
    let entries = BTreeMap::from([(
        "mine".to_owned(),
        LayeredSetting { value: Some(entry), origin: SettingLayer::User },
    )]);
    let mut house = House::new().agent("sure", SURE).agent("heir", HEIR);
    std::fs::write(&house.sources.files.user, format!("{{\"models\": {{{SERVED}, {roles}}}}}")).unwrap();
    let (config, problems) = DaemonConfig::load(&house.sources);
    assert_eq!(problems, []);
    house.config = config;
    house.models = ModelRegistry::configured(&entries, ChildProcesses::default(), |name| {
        (name == "TEST_KEY").then(|| KEY.into())
    });
    house
}

fn body(asked: &Asked) -> Value {
    serde_json::from_str(&asked.body).unwrap()
}

/// The model of each request, its temperature, its share and how long its answer may be.
fn asked_with(server: &ProviderServer) -> Vec<String> {
    let told = |asked: &Asked| {
        let body = body(asked);
        let model = body["model"].as_str().unwrap().to_owned();
        format!("{model} {} {} {}", body["temperature"], body["top_p"], body["max_tokens"])
    };
    server.requests().iter().map(told).collect()
}

fn out_of_quota() -> Answer {
    Wire::OpenAi.refuses(429, "No quota is left.").header("retry-after", "4000")
}

#[tokio::test]
async fn every_model_of_a_run_samples_as_its_own_alias_and_entry_say() {
    let server = ProviderServer::openai_thinking(|asked| match body(asked)["model"].as_str().unwrap() {
        "m-first" => out_of_quota(),
        "m-small" => Wire::OpenAi.text(ROUTED),
        "m-brief" => Wire::OpenAi.text(SNAPSHOT),
        _ => Wire::OpenAi.text("It is so."),
    })
    .await;
    let roles = r#""default": "first", "small": "small", "compression": "brief", "fallback": ["second"],
                   "auto": {"fast": "first", "strong": "second"}"#;
    let running = served(&server, roles).boot().await;
    run(&running, "sure", json!({ "model": "first" })).await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "sure", json!({ "model": "auto" })).await;
    client.ended(&run).await;
    client.call("session/compact", json!({ "sessionId": session })).await;
    assert_eq!(
        asked_with(&server),
        [
            // The agent's temperature holds for each model of its turns, and for no other.
            "m-first 0.3 0.8 700",
            "m-second 0.3 0.5 700",
            "m-small 0.1 0.6 700",
            "m-second 0.3 0.5 700",
            // What summarises, and looks at it again.
            "m-brief 0.2 0.6 700",
            "m-brief 0.2 0.6 700",
        ]
    );
    drop(client);
    running.stop().await;
    server.assert_content();
}

#[tokio::test]
async fn a_context_that_is_compacted_by_its_own_model_keeps_that_ones_alias() {
    let server = ProviderServer::openai_thinking(|asked| match asked.body.contains("<state_snapshot>") {
        true => Wire::OpenAi.text(SNAPSHOT),
        false => Wire::OpenAi.text("It is so."),
    })
    .await;
    let running = served(&server, r#""default": "first""#).boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "sure", json!({ "model": null })).await;
    client.ended(&run).await;
    client.call("session/compact", json!({ "sessionId": session })).await;
    let expected = ["m-first 0.3 0.8 700", "m-first 0.9 0.8 700", "m-first 0.9 0.8 700"];
    assert_eq!(asked_with(&server), expected);
    drop(client);
    running.stop().await;
    server.assert_content();
}

#[tokio::test]
async fn models_sample_as_before_after_a_restart() {
    let mut counted: HashMap<String, u32> = HashMap::new();
    let server = ProviderServer::openai_thinking(move |asked| {
        let model = body(asked)["model"].as_str().unwrap().to_owned();
        let n = counted.entry(model.clone()).and_modify(|n| *n += 1).or_insert(1);
        match (model.as_str(), *n) {
            (_, 1) => Wire::OpenAi.text("Never read.").first_bytes(0).then_stall(),
            ("m-first", 2) => Wire::OpenAi.calls([call("call_1", "heir", &json!({ "prompt": "go" }))]),
            // Whom it called.
            ("m-first", 3) => Wire::OpenAi.done(),
            ("m-first", _) => out_of_quota(),
            _ => Wire::OpenAi.text("It is so."),
        }
    })
    .await;
    let house = served(&server, r#""default": "first", "fallback": ["second"]"#);
    let mut running = house.boot().await;
    let (run, _) = running.client().start(&running, "sure", json!({ "model": null })).await;
    // While the first model is asked, and while the one is that took over.
    for n_asked in [1, 5] {
        server.asked(n_asked).await;
        running.stop_unfinished().await;
        running = house.boot().await;
    }
    let record = running.client().ended(&run).await;
    assert_eq!(record["reason"], "GOAL", "{record}");
    assert_eq!(
        asked_with(&server),
        [
            "m-first 0.3 0.8 700",
            "m-first 0.3 0.8 700",
            // It inherits the model with its alias, and says nothing itself.
            "m-first 0.9 0.8 700",
            "m-first 0.3 0.8 700",
            "m-second 0.3 0.5 700",
            "m-second 0.3 0.5 700",
        ]
    );
    running.stop().await;
    server.assert_content();
}
