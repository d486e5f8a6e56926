//! Servers of the Model Context Protocol: how they are configured, started and kept, what their tools are to a run, and what
//! becomes of it all when they misbehave (spec 07, "As a client").

use std::time::Duration;

use serde_json::{Value, json};
use subagentd::{protocol::span_of, sys::clock::ManualClock};

use crate::support::{Client, House, Reply, Running, Script};

mod asking;
mod auth;
mod below_tmp;
mod by_name;
mod given;
pub mod http;
mod inline;
mod issuer;
mod kept;
mod later;
mod of_agents;
pub mod server;
mod soak;
mod trusted;
mod unchanged;
mod writing;

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

/// A house whose agent `user` has all tools of the server `s`, which behaves as `mode` says.
fn house(script: &Script, mode: &str) -> House {
    House::new()
        .script(script)
        .agent("user", &agent("user", "mcp: {servers: [s]}"))
        .rules("all", ALLOW)
        .settings(&json!({ "mcpServers": { "s": server::entry(mode) } }))
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

#[tokio::test]
async fn content_of_every_kind_arrives_and_what_is_too_much_is_cut() {
    let script = calling(&[("mcp.s.kinds", json!({})), ("mcp.s.big", json!({})), ("mcp.s.huge", json!({}))]);
    let running = house(&script, "plain").boot().await;
    run(&running).await;
    let ends = ends(&running).await;
    let parts = ends[0]["result"]["llmContent"].as_array().unwrap();
    let kinds: Vec<&Value> = parts.iter().map(|part| &part["type"]).collect();
    assert_eq!(kinds, ["text", "inlineData", "text", "text", "text"]);
    assert_eq!(parts[3]["text"], "[resource two <note://2>]");
    assert_eq!(parts[4]["text"], "[a part of the kind `hologram`, which nobody here understands]");
    assert_eq!(ends[0]["result"]["data"], json!({ "count": 5 }));
    let big = text(&ends[1]);
    assert!(big.len() < 100_000 && big.contains("52428800"), "{}", &big[big.len().saturating_sub(500)..]);
    assert_eq!(kind(&ends[2]), "MCP_TOOL_ERROR");
    assert!(text(&ends[2]).contains("longer than 80 MiB"), "{}", text(&ends[2]));
    running.stop().await;
}

#[tokio::test]
async fn a_server_that_is_away_costs_a_warning_and_nothing_else() {
    for (mode, why) in
        [("gone", "its program ended with code 3; it said: no license found"), ("mute", "30 s")]
    {
        let script =
            calling(&[("mcp.s.echo", json!({ "text": "x" })), ("mcp.t.echo", json!({ "text": "here" }))]);
        let (house, clock) = house(&script, mode).manual_clock();
        let house = house.agent("user", &agent("user", "mcp: {servers: [s, t, nobody]}")).settings(&json!({
            "mcpServers": { "s": server::entry(mode), "t": server::entry("plain") },
        }));
        let running = house.boot().await;
        let (mut client, mut other) = (running.client(), running.client());
        // Time passes faster than a program begins, so this one is there before.
        let there = json!({ "server": "t", "workspace": running.work() });
        assert_eq!(client.call("mcp/connect", there).await["state"], "ready");
        let starting = client.start(&running, "user", json!({}));
        let step = Duration::from_secs(if mode == "mute" { 5 } else { 0 });
        let (run, _) = passing(&clock, &mut other, step, starting).await;
        let record = client.ended(&run).await;
        assert_eq!(record["reason"], "GOAL");
        let ends = ends(&running).await;
        assert_eq!((kind(&ends[0]), text(&ends[1])), ("TOOL_NOT_REGISTERED", "here"));
        let warnings = warnings(&running).await;
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert_eq!(
            warnings[0],
            "user: the tools of the MCP server `nobody` are not there: no settings name such a server"
        );
        let begins = "user: the tools of the MCP server `s` are not there: ";
        assert!(warnings[1].starts_with(begins) && warnings[1].contains(why), "{warnings:?}");
        drop((client, other));
        running.stop().await;
    }
}

#[tokio::test]
async fn noise_on_both_outputs_harms_nobody() {
    let script = calling(&[("mcp.s.echo", json!({ "text": "through it all" }))]);
    let running = house(&script, "noise").boot().await;
    run(&running).await;
    assert_eq!(text(&ends(&running).await[0]), "through it all");
    let mut client = running.client();
    let status = client.call("mcp/status", json!({ "workspace": running.work(), "server": "s" })).await;
    let status = &status["servers"][0];
    assert_eq!((&status["state"], &status["calls"]["calls"]), (&json!("ready"), &json!(1)));
    let stderr = status["stderr"].as_str().unwrap();
    assert!(
        stderr.len() <= 16 << 10 && stderr.ends_with("line 49999 of what nobody wants to read"),
        "{stderr}"
    );
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_fails_that_call_and_is_started_again() {
    let calls = [("mcp.s.dies", json!({})), ("mcp.s.echo", json!({ "text": "too soon" }))];
    let script = calling(&calls);
    let (house, clock) = house(&script, "plain").manual_clock();
    let running = house.boot().await;
    run(&running).await;
    let first = ends(&running).await;
    assert_eq!(kind(&first[0]), "MCP_TOOL_ERROR");
    assert!(text(&first[0]).contains("ended while it was at this call"), "{}", text(&first[0]));
    // It waits for its next try, or its end is not noticed yet; either way the model reads what is so.
    assert_eq!(kind(&first[1]), "MCP_TOOL_ERROR");
    let mut client = running.client();
    let asked = json!({ "workspace": running.work(), "server": "s" });
    let away = client.until("mcp/status", asked.clone(), |it| it["servers"][0]["state"] == "backoff").await;
    assert_eq!(away["servers"][0]["reason"], "its program ended with code 9; it said: out of memory");
    clock.advance(Duration::from_secs(1));
    let back = client.until("mcp/status", asked, |it| it["servers"][0]["state"] == "ready").await;
    assert_eq!(back["servers"][0]["restarts"], 1);
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_call_has_its_time_again_with_each_word_of_progress_and_is_taken_back_when_it_is_stopped() {
    let script = calling(&[("mcp.s.waits", json!({})), ("mcp.s.works", json!({}))]);
    let (house, clock) = house(&script, "plain").manual_clock();
    let mut entry = server::entry("plain");
    entry["timeout"] = 20_000.into();
    let house = house.settings(&json!({ "mcpServers": { "s": entry } }));
    let running = house.boot().await;
    let (mut client, mut other) = (running.client(), running.client());
    let (run, _) = client.start(&running, "user", json!({})).await;
    client.call("session/attach", json!({ "sessionId": "*", "from": "start", "deltas": true })).await;
    // The first call says nothing, so it ends by the time it has; the second goes on for as long as it is wanted.
    let timed_out = async {
        loop {
            let event = client.event().await;
            if event["activity"] == "TOOL_CALL_END" {
                return event["data"].clone();
            }
        }
    };
    let end = passing(&clock, &mut other, Duration::from_secs(5), timed_out).await;
    assert_eq!(kind(&end), "MCP_TOOL_ERROR");
    assert!(text(&end).contains("did not answer within 20 s"), "{}", text(&end));
    // Only a call that the server has is taken back from it.
    let heard = async { while client.event().await["type"] != "signal.progress" {} };
    passing(&clock, &mut other, Duration::from_millis(100), heard).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    let asked = json!({ "workspace": running.work(), "server": "s" });
    other
        .until("mcp/status", asked, |it| {
            it["servers"][0]["stderr"].as_str().is_some_and(|it| it.matches("cancelled").count() == 2)
        })
        .await;
    let record = passing(&clock, &mut other, Duration::from_millis(100), client.ended(&run)).await;
    assert_eq!(record["reason"], "ABORTED");
    drop((client, other));
    running.stop().await;
}

#[tokio::test]
async fn tools_that_a_server_tells_later_are_there_for_the_next_run() {
    let script = calling(&[("mcp.s.grow", json!({})), ("mcp.s.grown", json!({}))]);
    let (house, clock) = house(&script, "plain").manual_clock();
    let running = house.boot().await;
    run(&running).await;
    assert_eq!(kind(&ends(&running).await[1]), "TOOL_NOT_REGISTERED", "a run keeps what it began with");
    let (mut client, mut other) = (running.client(), running.client());
    let asked = json!({ "workspace": running.work(), "server": "s" });
    let grown = client.until("mcp/status", asked, |it| it["servers"][0]["tools"] == 13);
    passing(&clock, &mut other, Duration::from_millis(100), grown).await;
    script.replace([Reply::calls(&[("mcp.s.grown", json!({}))]), Reply::done("done")]);
    run(&running).await;
    assert_eq!(text(&ends(&running).await[2]), "done");
    let changed = running.log().await.iter().filter(|event| event["type"] == "mcp.toolsChanged").count();
    assert_eq!(changed, 2, "two notices in a row are one");
    drop((client, other));
    running.stop().await;
}

#[tokio::test]
async fn a_server_that_says_for_ever_that_its_tools_changed_fills_no_log_and_is_stopped_when_nobody_uses_it()
{
    let script = calling(&[("mcp.s.echo", json!({ "text": "one" }))]);
    let (house, clock) = house(&script, "restless").manual_clock();
    let house = house.settings(&json!({
        "mcpServers": { "s": server::entry("restless") }, "mcp": { "idleTimeoutMs": 50_000 },
    }));
    let running = house.boot().await;
    run(&running).await;
    assert_eq!(text(&ends(&running).await[0]), "one");
    let (mut client, mut other) = (running.client(), running.client());
    let asked = json!({ "workspace": running.work(), "server": "s" });
    let idle = client.until("mcp/status", asked, |it| it["servers"][0]["state"] == "idle");
    passing(&clock, &mut other, Duration::from_millis(200), idle).await;
    let log = running.log().await;
    let told = |kind: &str| log.iter().filter(|event| event["type"] == kind).count();
    assert_eq!(told("mcp.toolsChanged"), 1);
    // On its way, there, and gone.
    assert!(told("mcp.serverState") <= 4, "{} events", told("mcp.serverState"));
    drop((client, other));
    running.stop().await;
}

#[tokio::test]
async fn odd_tools_get_names_and_lists_are_followed_to_their_end() {
    for (mode, expected) in [
        (
            "odd",
            &[
                "mcp.s.broken",
                "mcp.s.broken2",
                "mcp.s.far",
                "mcp.s.mcp_other_tool",
                "mcp.s.with_dots_and_blanks",
            ][..],
        ),
        ("pages", &["mcp.s.t0", "mcp.s.t1", "mcp.s.t2", "mcp.s.t3", "mcp.s.t4", "mcp.s.t5"]),
    ] {
        let script = calling(&[]);
        let running = house(&script, mode).boot().await;
        run(&running).await;
        let mut names = declared(&script);
        names.retain(|name| name.len() < 100);
        assert_eq!(names, expected);
        assert_eq!(warnings(&running).await, [""; 0]);
        running.stop().await;
    }
    let script = calling(&[]);
    let running = house(&script, "endless").boot().await;
    run(&running).await;
    assert!(warnings(&running).await[0].contains("what it listed has no end"));
    running.stop().await;
}

#[tokio::test]
async fn a_program_gets_its_own_variables_and_none_of_the_daemons_secrets() {
    let script = calling(&[("mcp.s.environment", json!({}))]);
    let mut house = house(&script, "plain");
    house.sources.environment =
        [("PATH", "/usr/bin:/bin"), ("MY_TOKEN", "t0ken-of-mine"), ("OTHER_SECRET", "x")]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec();
    let mut entry = server::entry("plain");
    entry["env"]["TOKEN"] = "<${MY_TOKEN}${NOT_SET:-!}>".into();
    let house = house.settings(&json!({ "mcpServers": { "s": entry } }));
    let running = house.boot().await;
    run(&running).await;
    let ends = ends(&running).await;
    let told = text(&ends[0]);
    // It has it; what is called a key is hidden from everybody else.
    assert!(told.contains("TOKEN=[redacted") && !told.contains("t0ken-of-mine"), "{told}");
    assert!(!told.contains("MY_TOKEN") && !told.contains("OTHER_SECRET"), "{told}");
    let work = running.work().canonicalize().unwrap();
    assert!(told.contains("in ") && !told.ends_with(&format!("in {}", work.display())), "{told}");
    // Nor does it when the workspace is trusted: what a user's own program loads from its folder is no agent's to write.
    let mut client = running.client();
    trusted::trust(&mut client, &running).await;
    client.call("mcp/restart", json!({ "workspace": running.work(), "server": "s" })).await;
    run(&running).await;
    let ends = self::ends(&running).await;
    assert!(!text(&ends[1]).ends_with(&format!("in {}", work.display())), "{}", text(&ends[1]));
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_missing_variable_keeps_that_server_away_and_no_other() {
    let script = calling(&[("mcp.t.echo", json!({ "text": "here" }))]);
    let mut entry = server::entry("plain");
    entry["env"]["TOKEN"] = "${SURELY_NOT_SET_ANYWHERE}".into();
    let house = house(&script, "plain")
        .agent("user", &agent("user", "tools: [\"mcp.*.*\"]"))
        .settings(&json!({ "mcpServers": { "s": entry, "t": server::entry("plain") } }));
    let running = house.boot().await;
    run(&running).await;
    assert_eq!(text(&ends(&running).await[0]), "here");
    let warnings = warnings(&running).await;
    assert!(
        warnings.len() == 1 && warnings[0].contains("SURELY_NOT_SET_ANYWHERE is not set"),
        "{warnings:?}"
    );
    let mut client = running.client();
    let listed = client.call("mcp/list", json!({ "workspace": running.work() })).await;
    let states: Vec<&Value> = listed["servers"].as_array().unwrap().iter().map(|it| &it["state"]).collect();
    assert_eq!(states, ["failed", "ready"]);
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn servers_that_no_agent_uses_cost_no_process() {
    let script = calling(&[]);
    let mut servers: serde_json::Map<String, Value> =
        (0..20).map(|number| (format!("s{number}"), server::entry("plain"))).collect();
    // But for one that is to be there from the beginning.
    servers["s3"]["autoStart"] = true.into();
    let house = house(&script, "plain")
        .agent("user", &agent("user", "tools: [read_file, \"mcp.s7.*\"]"))
        .settings(&json!({ "mcpServers": servers }));
    let running = house.boot().await;
    run(&running).await;
    let mut client = running.client();
    let listed = client.call("mcp/list", json!({ "workspace": running.work() })).await;
    let ready = listed["servers"].as_array().unwrap().iter().filter(|it| it["state"] != "idle");
    assert_eq!(ready.map(|it| it["name"].as_str().unwrap()).collect::<Vec<_>>(), ["s3", "s7"]);
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_server_that_nobody_uses_is_stopped_and_started_again() {
    let script = calling(&[("mcp.s.echo", json!({ "text": "one" }))]);
    let (house, clock) = house(&script, "plain").manual_clock();
    let house = house.settings(&json!({
        "mcpServers": { "s": server::entry("plain") }, "mcp": { "idleTimeoutMs": 50_000 },
    }));
    let running = house.boot().await;
    run(&running).await;
    let mut client = running.client();
    let asked = json!({ "workspace": running.work(), "server": "s" });
    let pid = client.call("mcp/status", asked.clone()).await["servers"][0]["pid"].as_u64().unwrap();
    clock.advance(Duration::from_secs(49));
    client.settle().await;
    assert_eq!(client.call("mcp/status", asked.clone()).await["servers"][0]["pid"], pid);
    let mut other = running.client();
    let idle = client.until("mcp/status", asked, |it| it["servers"][0]["state"] == "idle");
    passing(&clock, &mut other, Duration::from_secs(1), idle).await;
    script.replace([Reply::calls(&[("mcp.s.echo", json!({ "text": "two" }))]), Reply::done("done")]);
    run(&running).await;
    assert_eq!(text(&ends(&running).await[1]), "two");
    drop((client, other));
    running.stop().await;
}

#[tokio::test]
async fn rules_hold_for_tools_of_servers_and_lists_choose_among_them() {
    let script = calling(&[("mcp.s.echo", json!({ "text": "x" })), ("mcp.s.grow", json!({}))]);
    let mut entry = server::entry("plain");
    entry["includeTools"] = json!(["echo", "f*", "grow"]);
    entry["excludeTools"] = json!(["fails"]);
    entry["trust"] = true.into();
    let house = house(&script, "plain")
        .agent("user", &agent("user", "tools: {allow: [mcp__s__*], deny: [mcp.s.grow]}"))
        .rules("all", "[[rule]]\ntool = \"mcp.s.*\"\ndecision = \"deny\"\n")
        .settings(&json!({ "mcpServers": { "s": entry } }));
    let running = house.boot().await;
    run(&running).await;
    assert_eq!(declared(&script), ["mcp.s.echo"]);
    let ends = ends(&running).await;
    assert_eq!((kind(&ends[0]), kind(&ends[1])), ("POLICY_DENIED", "TOOL_NOT_ALLOWED"));
    let mut client = running.client();
    let listed = client.call("tools/list", json!({ "workspace": running.work(), "agent": "user" })).await;
    let echo = &listed["tools"].as_array().unwrap().iter().find(|it| it["name"] == "mcp.s.echo").unwrap();
    assert_eq!(
        [&echo["source"], &echo["kind"], &echo["risk"], &echo["title"]],
        [&json!("mcp"), &json!("read"), &json!("safe"), &json!("Echo (s MCP)")]
    );
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_server_is_switched_off_and_blocked_by_hand_and_by_settings() {
    let script = calling(&[]);
    let house = house(&script, "plain").settings(&json!({
        "mcpServers": { "a": server::entry("plain"), "b": server::entry("plain"), "c": server::entry("plain") },
        "mcp": { "allowed": ["a", "b*"], "excluded": ["b"] },
    }));
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.call("mcp/connect", json!({ "server": "a" })).await["state"], "ready");
    client.call("mcp/setEnabled", json!({ "server": "a", "enabled": false })).await;
    let states = async |client: &mut Client| {
        let listed = client.call("mcp/list", json!({})).await;
        let states = listed["servers"].as_array().unwrap().iter().map(|it| it["state"].clone());
        states.collect::<Vec<_>>()
    };
    assert_eq!(states(&mut client).await, ["disabled", "blocked", "blocked"]);
    drop(client);
    running.stop().await;
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(
        states(&mut client).await,
        ["disabled", "blocked", "blocked"],
        "the next daemon knows it, too"
    );
    client.call("mcp/setEnabled", json!({ "server": "a", "enabled": true })).await;
    assert_eq!(states(&mut client).await, ["idle", "blocked", "blocked"]);
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_projects_server_needs_a_person_who_has_read_its_settings() {
    let script = calling(&[]);
    let settings = json!({ "mcpServers": { "p": server::entry("plain") } });
    let house = house(&script, "plain")
        .agent("user", &agent("user", "mcp: {servers: [p]}"))
        .file(".subagentd/settings.json", settings.to_string());
    let running = house.boot().await;
    run(&running).await;
    assert!(declared(&script).is_empty());
    assert!(warnings(&running).await[0].contains("no person has acknowledged"));
    let mut client = running.client();
    let work = running.work().to_owned();
    let listed = client.call("mcp/list", json!({ "workspace": work })).await;
    assert_eq!(listed["servers"][0]["state"], "untrusted");
    let opened = client.call("workspace/open", json!({ "workspace": work })).await;
    let files: Vec<Value> = opened["workspace"]["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| json!({ "path": file["path"], "digest": file["digest"] }))
        .collect();
    client.call("workspace/trust", json!({ "workspace": work, "trusted": true, "files": files })).await;
    script.replace([Reply::calls(&[("mcp.p.echo", json!({ "text": "read" }))]), Reply::done("done")]);
    run(&running).await;
    assert_eq!(text(&ends(&running).await[0]), "read");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_server_over_http_gets_its_headers_and_may_be_killed_in_a_call() {
    let mut far = http::Server::start().await;
    let script = calling(&[("mcp.far.echo", json!({})), ("mcp.far.waits", json!({}))]);
    let (mut house, clock) = house(&script, "plain").manual_clock();
    house.sources.environment = vec![("DOCS_TOKEN".into(), "t0ken-of-docs".into())];
    let entry = json!({ "url": far.url, "headers": { "Authorization": "Bearer ${DOCS_TOKEN}" } });
    let house = house
        .agent("user", &agent("user", "mcp: {servers: [far]}"))
        .settings(&json!({ "mcpServers": { "far": entry } }));
    let running = house.boot().await;
    let (mut client, mut other) = (running.client(), running.client());
    // Time passes faster than a connection breaks: the run has enough of it, and is waited for again when a wait is over.
    let (run, _) = client.start(&running, "user", json!({ "limits": { "maxTimeMs": 36_000_000 } })).await;
    far.waited_for.notified().await;
    far.kill().await;
    let is_over = |waited: &Value| waited["done"] == true;
    let waiting = client.until("run/wait", json!({ "runId": run, "timeoutMs": 60_000 }), is_over);
    let waited = passing(&clock, &mut other, Duration::from_secs(1), waiting).await;
    assert_eq!(waited["run"]["reason"], "GOAL");
    let ends = ends(&running).await;
    assert_eq!(text(&ends[0]), "from afar");
    assert_eq!(kind(&ends[1]), "MCP_TOOL_ERROR");
    let heads = far.heads.lock().unwrap().clone();
    assert!(heads.iter().all(|head| head.contains("authorization: bearer t0ken-of-docs")), "{heads:?}");
    drop((client, other));
    running.stop().await;
}

#[tokio::test]
async fn a_server_over_http_that_misbehaves_costs_its_call_and_nothing_else() {
    let elsewhere = http::Server::start().await;
    let far = http::Server::moving_to(&elsewhere.url).await;
    let bad = ["huge", "endless", "moves", "hangs_up", "hangs_up_midway", "floods"];
    let names: Vec<String> = bad.iter().map(|name| format!("mcp.far.{name}")).collect();
    let calls: Vec<(&str, Value)> = names.iter().map(|name| (name.as_str(), json!({}))).collect();
    let script = calling(&calls);
    let entry =
        json!({ "url": far.url, "headers": { "Authorization": "Bearer t0ken-of-far" }, "timeout": 20_000 });
    let (house, clock) = house(&script, "plain")
        .agent("user", &agent("user", "mcp: {servers: [far, near]}"))
        .settings(&json!({ "mcpServers": { "far": entry, "near": server::entry("plain") } }))
        .manual_clock();
    let running = house.boot().await;
    let (mut client, mut other) = (running.client(), running.client());
    for name in ["far", "near"] {
        let params = json!({ "server": name, "workspace": running.work() });
        assert_eq!(client.call("mcp/connect", params).await["state"], "ready");
    }
    let (run, _) = client.start(&running, "user", json!({ "limits": { "maxTimeMs": 36_000_000 } })).await;
    let record = passing(&clock, &mut other, Duration::from_millis(100), client.ended(&run)).await;
    assert_eq!(record["reason"], "GOAL");
    let before = ends(&running).await;
    let told: Vec<&str> = before.iter().map(kind).collect();
    assert_eq!(told, ["MCP_TOOL_ERROR"; 6], "{before:?}");
    // Where it says that it is now hears nothing, least of all the token.
    assert!(elsewhere.heads.lock().unwrap().is_empty());
    // It goes on with whoever behaves, and with what is much, but not too much.
    let calls = [
        ("mcp.far.echo", json!({})),
        ("mcp.near.echo", json!({ "text": "here" })),
        ("mcp.far.big", json!({})),
    ];
    let replies = calls.iter().map(|call| Reply::calls(std::slice::from_ref(call)));
    script.replace(replies.chain([Reply::done("done")]).collect::<Vec<_>>());
    assert_eq!(self::run(&running).await["reason"], "GOAL");
    let after = ends(&running).await.split_off(6);
    assert_eq!(after.iter().map(kind).collect::<Vec<_>>(), ["none"; 3], "{after:?}");
    assert_eq!((text(&after[0]), text(&after[1])), ("from afar", "here"));
    assert!(text(&after[2]).len() < 100_000);
    drop((client, other));
    running.stop().await;
}

#[tokio::test]
async fn a_server_is_told_of_the_span_of_its_call() {
    let script = calling(&[("mcp.s.span", json!({}))]);
    let running = house(&script, "traced").boot().await;
    let record = run(&running).await;
    let end = ends(&running).await.remove(0);
    let log = running.log().await;
    let began =
        log.iter().find(|event| event["type"] == "tool.state" && event["data"]["callId"] == end["callId"]);
    let trace = record["runId"].as_str().unwrap().replace('-', "");
    let began = began.unwrap()["seq"].as_u64().unwrap();
    let span = span_of(&record["runId"].as_str().unwrap().into(), began);
    let span = format!("00-{trace}-{span:016x}-01");
    assert_eq!(text(&end), span);
    running.stop().await;
}
