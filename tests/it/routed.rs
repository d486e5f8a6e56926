//! A prompt that names no agent goes to the one whose trigger fits, and everybody is told why.

use std::fs;

use serde_json::{Value, json};
use subagentd::{
    config::DaemonConfig,
    redact::{Redactor, RedactorParts},
};

use crate::support::{House, Reply, Running, Script};

fn agent(name: &str, triggers: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: d\ncompletion: tool\ntools: [read_file]\ntriggers: {triggers}\n---\n\
         You are {name}.\n"
    )
}

fn house(replies: usize) -> House {
    let script = Script::new((0..replies).map(|_| Reply::done("done")).collect::<Vec<_>>());
    House::new()
        .script(&script)
        .agent(
            "debug-analyzer",
            &agent("debug-analyzer", "[{intent: debug, keywords: [bug, crash], priority: 10}]"),
        )
        .agent("tester", &agent("tester", "[{regex: 'fix.*test', priority: 8}, {keywords: [login]}]"))
}

async fn started(running: &Running, params: Value) -> Value {
    let mut client = running.client();
    let mut asked = json!({ "workspace": running.work(), "model": "script" });
    asked.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
    let answer = client.request("run/start", asked).await;
    let Some(started) = answer.get("result") else { return answer["error"]["data"].clone() };
    client.ended(started["runId"].as_str().unwrap()).await;
    started.clone()
}

#[tokio::test]
async fn a_prompt_goes_to_the_agent_whose_trigger_fits() {
    let running = house(4).boot().await;
    let mut client = running.client();
    let prompt = "There's a bug in the login flow";
    let answer = started(&running, json!({ "agent": "auto", "prompt": prompt })).await;
    assert_eq!(answer["agent"], "debug-analyzer");
    let routed = json!({
        "agent": "debug-analyzer",
        "trigger": { "intent": "debug", "keywords": ["bug", "crash"], "priority": 10 },
        "matched": ["bug"],
        "runnersUp": [{ "agent": "tester", "trigger": { "keywords": ["login"], "priority": 0 }, "matched": ["login"] }],
    });
    assert_eq!(answer["routed"], routed);
    // The log says the same before the run's first event, and the dry run says it again.
    let session = &answer["sessionId"];
    let events =
        client.call("events/list", json!({ "filter": { "sessionIds": [session] }, "from": 0 })).await;
    let events = events["events"].as_array().unwrap();
    assert_eq!(events[1]["type"], "route.selected");
    let mut said = events[1]["data"].clone();
    assert_eq!(said.as_object_mut().unwrap().remove("runId"), Some(answer["runId"].clone()));
    assert_eq!((said, &events[2]["type"]), (routed.clone(), &json!("run.started")));
    let dry = client.call("agents/route", json!({ "prompt": prompt, "workspace": running.work() })).await;
    assert_eq!(dry, routed);

    // Whoever names an agent gets it, and nobody is told of a route.
    let named = started(&running, json!({ "agent": "tester", "prompt": prompt })).await;
    assert_eq!((&named["agent"], named.get("routed")), (&json!("tester"), None));
    // A prompt for nobody goes to the usual agent, of the session or of all.
    let usual = started(&running, json!({ "agent": "auto", "prompt": "Say hello" })).await;
    assert_eq!(usual["agent"], "generalist");
    assert_eq!(usual["routed"], json!({ "agent": "generalist" }));
    let session = client
        .call("session/create", json!({ "workspace": running.work(), "agent": "tester" }))
        .await["sessionId"]
        .clone();
    let params = json!({ "prompt": "Say hello", "sessionId": session });
    assert_eq!(client.call("agents/route", params).await["agent"], "tester");
    running.stop().await;
}

#[tokio::test]
async fn prompts_are_not_routed_where_the_settings_say_so() {
    let mut house = house(1);
    fs::write(&house.sources.files.user, json!({ "agents": { "autoRoute": false } }).to_string()).unwrap();
    let (config, problems) = DaemonConfig::load(&house.sources);
    assert_eq!(problems, []);
    house.config = config;
    let running = house.boot().await;
    let answer = started(&running, json!({ "agent": "auto", "prompt": "There's a bug" })).await;
    assert_eq!(answer["routed"], json!({ "agent": "generalist" }));
    running.stop().await;
}

#[tokio::test]
async fn what_was_found_in_a_prompt_tells_no_secret() {
    const SECRET: &str = "hush-4711-abcdefghijkl";
    let mut house = house(1).agent("keys", &agent("keys", "[{regex: 'is hush.{8}|is .{4}', priority: 99}]"));
    let environment = [("MY_API_KEY".to_owned(), SECRET.to_owned())].into_iter();
    house.redactor = Redactor::new(RedactorParts { environment, patterns: Vec::new() });
    let running = house.boot().await;
    let prompt = format!("Is {SECRET} good?");
    let answer = started(&running, json!({ "agent": "auto", "prompt": prompt })).await;
    let dry = running.client().call("agents/route", json!({ "prompt": prompt })).await;
    for said in [answer, dry] {
        assert_eq!((&said["agent"], said.to_string().contains("hush-")), (&json!("keys"), false), "{said}");
    }
    running.stop().await;
}

#[tokio::test]
async fn an_agent_may_be_given_with_the_run() {
    let running = house(1).boot().await;
    let mut client = running.client();
    let definition = json!({
        "name": "tester", "description": "Of this run alone.", "tools": { "allow": ["grep"] }, "prompt": "You are ${role}.",
        "inputs": { "role": { "type": "string", "default": "here once" } }, "query": "Go.", "completion": "tool",
    });
    let answer = started(&running, json!({ "definition": definition })).await;
    let run = client.call("run/get", json!({ "runId": answer["runId"] })).await;
    assert_eq!((&run["agent"], &run["result"]), (&json!("tester"), &json!("done")));
    for (params, expected) in [
        (json!({ "definition": definition, "agent": "tester" }), "INVALID_PARAMS"),
        (json!({ "definition": { "name": "x", "tools": 5 } }), "INVALID_DEFINITION"),
        (json!({ "definition": {} }), "INVALID_DEFINITION"),
        (json!({ "agent": "auto" }), "INVALID_PARAMS"),
    ] {
        let refused = started(&running, params.clone()).await;
        assert_eq!(refused["kind"], expected, "{params}: {refused}");
    }
    running.stop().await;
}
