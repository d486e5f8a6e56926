//! What may hooks of the type `mcp_tool` call? What rules let the run call unasked, unless the hook is the person's own.

use super::*;
use crate::mcp::server;

const AGENT: &str = "---
kind: agent
name: worker
description: Works.
tools: [write_file, mcp.mini.*]
mcp: {servers: [mini]}
---
You work.
";

fn rules(decision: &str) -> String {
    format!("{RULES}\n[[rule]]\ntool = \"mcp.mini.*\"\ndecision = \"{decision}\"\n")
}

/// The records of the one hook in the log, which calls a tool of a server that only reads. `of`: whose the hook is.
async fn fired(of: &str, decision: &str) -> Value {
    let calls = json!({ "type": "mcp_tool", "server": "mini", "tool": "echo", "input": { "text": "well" } });
    let hooks = json!({ "PreToolUse": [{ "matcher": "Write", "hooks": [calls] }] });
    let script = Script::new(vec![write("b.txt", "x"), Reply::says("ok")]);
    let mut house = House::new().script(&script).rules("edits", &rules(decision));
    let mut servers = json!({ "mini": server::entry("plain") });
    // What it says of its tools counts.
    servers["mini"]["trust"] = json!(true);
    let agent = match of {
        "agent" => AGENT.replace("---\nYou", &format!("hooks: {hooks}\n---\nYou")),
        _ => AGENT.to_owned(),
    };
    house = house.agent("worker", &agent).settings(&match of {
        "user" => json!({ "mcpServers": servers, "hooks": hooks }),
        _ => json!({ "mcpServers": servers }),
    });
    if of == "project" {
        house = house.file(".claude/settings.json", json!({ "hooks": hooks }).to_string());
    }
    let running = house.boot().await;
    let mut client = running.client();
    answering::trust_all(&mut client, &running).await;
    let headless = json!({ "approval": { "headless": true } });
    let (run, _) = client.start(&running, "worker", headless).await;
    client.ended(&run).await;
    let log = running.log().await;
    let fired: Vec<&Value> = log.iter().filter(|it| it["type"] == "hook.fired").collect();
    assert_eq!(fired.len(), 1, "{of} {decision}: {fired:?}");
    let is_written = house.work().join("b.txt").exists();
    assert_eq!(is_written, fired[0]["data"]["outcome"] == "answered", "{of} {decision}");
    running.stop().await;
    fired[0]["data"].clone()
}

#[tokio::test]
async fn a_hook_of_a_project_or_an_agent_calls_nothing_that_a_person_is_to_be_asked_about() {
    for of in ["project", "agent"] {
        let told = fired(of, "ask").await;
        assert_eq!(told["outcome"], "failed", "{of}: {told}");
        let reason = told["reason"].as_str().unwrap();
        assert!(reason.contains("a person would have to be asked about mcp.mini.echo"), "{of}: {reason}");
        assert_eq!(told["mcpTool"], "mcp.mini.echo");
        assert_eq!(fired(of, "allow").await["outcome"], "answered", "{of}");
    }
}

/// It is the person's own, as a command of theirs is; only what they deny is not called.
#[tokio::test]
async fn a_persons_own_hook_calls_what_they_do_not_deny() {
    let told = fired("user", "ask").await;
    assert_eq!((&told["outcome"], &told["mcpTool"]), (&json!("answered"), &json!("mcp.mini.echo")), "{told}");
    assert_eq!(fired("user", "deny").await["outcome"], "failed");
}
