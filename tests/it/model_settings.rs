//! Which model does a run get, and how does it sample? Aliases, and what the user says of others' agents.

use serde_json::{Value, json};
use subagentd::{config::Config, protocol::Sampling};

use crate::support::{House, Reply, Running, Script};

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
    let (config, problems) = Config::load(&house.sources);
    assert_eq!(problems, []);
    house.config = config;
    house
}

type Fields = (Option<f64>, Option<f64>, Option<u64>, Option<i64>);

/// Temperature, top-p, most tokens and thinking budget of each request.
fn sampled(script: &Script) -> Vec<Fields> {
    let fields = |it: Sampling| (it.temperature, it.top_p, it.max_output_tokens, it.thinking_budget);
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
