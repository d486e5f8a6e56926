//! Servers of the Model Context Protocol: how they are configured, started and kept, what their tools are to a run, and what
//! becomes of it all when they misbehave (spec 07, "As a client").

use std::{fs, time::Duration};

use serde_json::{Value, json};
use subagentd::{config::Config, sys::clock::ManualClock};

use crate::support::{Client, House, Reply, Running, Script};

mod server;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n";

/// An agent with these lines in its front matter.
fn agent(name: &str, lines: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: Uses servers.\ncompletion: tool\n{lines}\n---\nYou use tools.\n"
    )
}

fn calling(calls: &[(&str, Value)]) -> Script {
    let mut replies: Vec<Reply> = calls.iter().map(|call| Reply::calls(std::slice::from_ref(call))).collect();
    replies.push(Reply::done("done"));
    Script::new(replies)
}

trait Served {
    fn settings(self, settings: Value) -> Self;
}

impl Served for House {
    fn settings(mut self, settings: Value) -> House {
        fs::write(&self.sources.files.user, settings.to_string()).unwrap();
        let (config, problems) = Config::load(&self.sources);
        assert_eq!(problems, []);
        self.config = config;
        self
    }
}

/// A house whose agent `user` has all tools of the server `s`, which behaves as `mode` says.
fn house(script: &Script, mode: &str) -> House {
    House::new()
        .script(script)
        .agent("user", &agent("user", "mcp: {servers: [s]}"))
        .rules("all", ALLOW)
        .settings(json!({ "mcpServers": { "s": server::entry(mode) } }))
}

/// The ends of calls but `complete_task`.
async fn ends(running: &Running) -> Vec<Value> {
    let log = running.log().await;
    let is_end =
        |event: &&Value| event["activity"] == "TOOL_CALL_END" && event["data"]["name"] != "complete_task";
    log.iter().filter(is_end).map(|event| event["data"].clone()).collect()
}

fn text(end: &Value) -> &str {
    end["result"]["llmContent"][0]["text"].as_str().unwrap()
}

fn kind(end: &Value) -> &str {
    end["error"]["type"].as_str().unwrap_or("none")
}

async fn warnings(running: &Running) -> Vec<String> {
    let log = running.log().await;
    let warnings = log.iter().filter(|event| event["type"] == "warning");
    warnings.map(|event| event["data"]["message"].as_str().unwrap().to_owned()).collect()
}

/// Names of the tools that the last request to the model declared.
fn declared(script: &Script) -> Vec<String> {
    let requests = script.requests();
    let names = requests.last().unwrap().tools.iter().map(|tool| tool.name.as_str().to_owned());
    names.filter(|name| name.starts_with("mcp.")).collect()
}

/// Lets time pass until there is an answer.
async fn passing<T>(
    clock: &ManualClock,
    other: &mut Client,
    step: Duration,
    answer: impl Future<Output = T>,
) -> T {
    let mut answer = std::pin::pin!(answer);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            () = other.settle() => clock.advance(step),
        }
    }
}

/// Runs the agent `user` to its end.
async fn run(running: &Running) -> Value {
    let mut client = running.client();
    let (run, _) = client.start(running, "user", json!({})).await;
    client.ended(&run).await
}

#[tokio::test]
async fn a_server_is_started_when_it_is_needed_and_its_tools_are_called() {
    let calls = [
        ("mcp.s.echo", json!({ "text": "hello" })),
        ("mcp__s__echo", json!({ "text": "by its other name" })),
        ("mcp.s.echo", json!({ "txt": 1 })),
        ("mcp.s.fails", json!({})),
        ("mcp.s.refuses", json!({})),
        ("mcp.s.nonsense", json!({})),
        ("mcp.s.gone", json!({})),
    ];
    let script = calling(&calls);
    let running = house(&script, "plain").boot().await;
    let record = run(&running).await;
    assert_eq!(record["reason"], "GOAL");
    let ends = ends(&running).await;
    let told: Vec<(&str, &str)> = ends.iter().map(|end| (kind(end), text(end))).collect();
    assert_eq!(told[..2], [("none", "hello"), ("none", "by its other name")],);
    assert_eq!(told[2].0, "INVALID_TOOL_PARAMS");
    assert_eq!(
        told[3..6],
        [
            ("MCP_TOOL_ERROR", "no such page"),
            (
                "MCP_TOOL_ERROR",
                "MCP_TOOL_ERROR: the MCP server s refused the call: not like that (code -32602)"
            ),
            ("MCP_TOOL_ERROR", "[Error: could not parse tool response]"),
        ]
    );
    assert_eq!(told[6].0, "TOOL_NOT_REGISTERED");
    let first = &ends[0];
    assert_eq!(first["name"], "mcp.s.echo");
    let log = running.log().await;
    let states: Vec<&str> = log
        .iter()
        .filter(|event| event["type"] == "mcp.serverState")
        .map(|event| event["data"]["state"].as_str().unwrap())
        .collect();
    assert!(states.ends_with(&["ready"]), "{states:?}");
    let changed = log.iter().find(|event| event["type"] == "mcp.toolsChanged").unwrap();
    assert_eq!(changed["data"]["tools"].as_array().unwrap().len(), 12);
    assert_eq!(warnings(&running).await, [""; 0]);
    running.stop().await;
}
