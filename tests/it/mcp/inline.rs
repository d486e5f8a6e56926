//! Servers that stand in an agent's own file: each of its runs has them for itself (spec 07, "per-agent inline servers").

use serde_json::{Value, json};

use super::{agent, calling, declared, ends, house, kind, run, server, text, warnings};
use crate::support::{Cast, Client, Reply, Running};

/// The lines of an agent with these servers of its own.
fn own(servers: &Value) -> String {
    format!("mcp: {{servers: {servers}}}")
}

/// Names, and whose they are, of servers that are up.
async fn up(client: &mut Client, running: &Running) -> Vec<String> {
    let listed = client.call("mcp/list", json!({ "workspace": running.work() })).await;
    let up = listed["servers"].as_array().unwrap().iter().filter(|it| it["state"] != "idle");
    up.map(|it| format!("{} {} {}", it["name"], it["state"], it["agent"]).replace('"', "")).collect()
}

#[tokio::test]
async fn a_runs_own_server_begins_and_ends_with_it() {
    let script = calling(&[("mcp.mine.waits", json!({}))]);
    let house = house(&script, "plain")
        .agent("user", &agent("user", &own(&json!({ "mine": server::entry("plain") }))));
    let running = house.boot().await;
    let (mut client, mut other) = (running.client(), running.client());
    let (one, _) = client.start(&running, "user", json!({})).await;
    client.call("session/attach", json!({ "sessionId": "*", "from": "start" })).await;
    while client.event().await["data"]["to"] != "executing" {}
    assert_eq!(up(&mut other, &running).await, ["mine ready user"]);
    let names = declared(&script);
    assert!(names.contains(&"mcp.mine.echo".to_owned()), "{names:?}");
    client.call("run/cancel", json!({ "runId": one })).await;
    client.ended(&one).await;
    while !up(&mut other, &running).await.is_empty() {
        other.settle().await;
    }
    loop {
        let log = running.log().await;
        let mut told = log.iter().filter(|event| event["type"] == "mcp.serverState");
        assert!(told.clone().all(|event| event["data"]["agent"] == "user"), "{log:?}");
        if told.next_back().unwrap()["data"]["state"] == "idle" {
            break;
        }
        other.settle().await;
    }
    drop((client, other));
    running.stop().await;
}

#[tokio::test]
async fn each_run_has_its_own_and_those_that_it_calls_do_not_get_it() {
    let below = "---\nkind: agent\nname: below\ndescription: Is called.\ncompletion: tool\ntools: [read_file, \"mcp.*.*\"]\n---\nHelp.\n";
    let above = agent(
        "user",
        &format!("tools: [below, \"mcp.mine.echo\"]\n{}", own(&json!({ "mine": server::entry("plain") }))),
    );
    let cast = Cast::new([
        (
            "user",
            vec![
                Reply::calls(&[("mcp.mine.echo", json!({ "text": "one" }))]),
                Reply::calls(&[("below", json!({ "prompt": "help" }))]),
                Reply::calls(&[("mcp.mine.echo", json!({ "text": "two" }))]),
                Reply::done("done"),
            ],
        ),
        ("user/below", vec![Reply::calls(&[("mcp.mine.echo", json!({ "text": "x" }))]), Reply::done("done")]),
    ]);
    let running = crate::support::House::new()
        .model("script", &cast)
        .agent("user", &above)
        .agent("below", below)
        .rules("all", super::ALLOW)
        .boot()
        .await;
    run(&running).await;
    let ends = ends(&running).await;
    let told: Vec<(&str, &str)> = ends.iter().map(|end| (end["name"].as_str().unwrap(), kind(end))).collect();
    assert_eq!(
        told,
        [
            ("mcp.mine.echo", "none"),
            ("mcp.mine.echo", "TOOL_NOT_REGISTERED"),
            ("below", "none"),
            ("mcp.mine.echo", "none"),
        ]
    );
    running.stop().await;
}

#[tokio::test]
async fn what_keeps_an_agents_own_server_away_is_a_warning() {
    let script =
        calling(&[("mcp.fine.echo", json!({ "text": "here" })), ("mcp.s.echo", json!({ "text": "x" }))]);
    let servers = json!({
        "s": server::entry("plain"), "fine": server::entry("plain"), "banned": server::entry("plain"),
        "gone": server::entry("gone"), "t": null,
    });
    let house = house(&script, "plain").agent("user", &agent("user", &own(&servers))).settings(&json!({
        "mcpServers": { "s": server::entry("plain"), "t": server::entry("plain") },
        "mcp": { "excluded": ["banned"] },
    }));
    let running = house.boot().await;
    run(&running).await;
    let ends = ends(&running).await;
    assert_eq!((text(&ends[0]), kind(&ends[1])), ("here", "TOOL_NOT_REGISTERED"));
    let mut warnings = warnings(&running).await;
    warnings.sort();
    assert_eq!(
        warnings,
        [
            "user: the tools of the MCP server `banned` are not there: it is not used: the setting mcp.excluded has `banned`",
            "user: the tools of the MCP server `gone` are not there: its program ended with code 3; it said: no license \
             found (it is tried again within 1 s)",
            "user: the tools of the MCP server `s` are not there: the settings have a server of this name, too; give the \
             agent's own another one",
        ]
    );
    let names = declared(&script);
    assert!(
        names.contains(&"mcp.t.echo".to_owned()) && !names.contains(&"mcp.s.echo".to_owned()),
        "{names:?}"
    );
    running.stop().await;
}

#[tokio::test]
async fn a_run_that_goes_on_after_a_restart_has_its_own_server_again() {
    let script = calling(&[("mcp.mine.waits", json!({})), ("mcp.mine.echo", json!({ "text": "after" }))]);
    let house = house(&script, "plain")
        .agent("user", &agent("user", &own(&json!([{ "mine": server::entry("plain") }]))));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "user", json!({})).await;
    client.call("session/attach", json!({ "sessionId": "*", "from": "start" })).await;
    while client.event().await["data"]["to"] != "executing" {}
    drop(client);
    running.stop_unfinished().await;
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let ends = ends(&running).await;
    assert_eq!((kind(&ends[0]), text(&ends[1])), ("INTERRUPTED", "after"));
    drop(client);
    running.stop().await;
}
