//! What becomes of calls that run elsewhere, in a client or in a command of the workspace's, when the daemon is killed? (Spec
//! 01, `tools/register`; spec 05, "Discovery by command".)

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    laws,
    process::{Home, Wire, text},
    recording::Recording,
    support::{STUCK, lines},
};

const ALLOW: &str = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n";

fn home(tools: &str) -> Home {
    let home = Home::new();
    let agent = format!(
        "---\nkind: agent\nname: user\ndescription: Uses tools.\ncompletion: tool\ntools: [{tools}]\n---\nYou use tools.\n"
    );
    fs::write(home.path("config/subagentd/agents/user.md"), agent).unwrap();
    fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
    fs::write(home.path("config/subagentd/policies/all.toml"), ALLOW).unwrap();
    home
}

fn call(name: &str, arguments: Value) -> Vec<Value> {
    vec![json!({ "functionCall": { "name": name, "args": arguments } })]
}

/// What the daemon asks this client next.
async fn asked(wire: &mut Wire) -> Value {
    wire.events_until("tool.clientCall").await.unwrap().pop().unwrap()["data"].clone()
}

/// An editor that lends `diagnostics`. Answers it, and which calls wait for it.
async fn editor(home: &Home) -> (Wire, Value) {
    let mut wire = Wire::connect(&home.socket()).await.unwrap();
    let hello = json!({
        "protocolVersion": "2", "client": { "name": "editor", "kind": "editor" }, "clientId": "editor",
        "capabilities": { "tools": true },
    });
    wire.call("initialize", hello).await.unwrap();
    wire.call("session/attach", json!({ "sessionId": "*", "from": "now" })).await.unwrap();
    let tool = json!({
        "name": "diagnostics", "description": "Problems.", "parameters": { "type": "object" }, "kind": "read", "risk": "safe",
    });
    let lent = wire.call("tools/register", json!({ "tools": [tool], "onDisconnect": "wait" })).await.unwrap();
    (wire, lent)
}

/// The ends of the run's calls of this tool, of a log that keeps the laws.
async fn ends(wire: &mut Wire, run: &str, tool: &str) -> Vec<Value> {
    let log = wire.log(json!({ "runId": run }), 0).await.unwrap();
    laws::check_finished(&log).unwrap_or_else(|broken| panic!("{}\n{}", broken.join("\n"), lines(&log)));
    let is_end = |event: &&Value| event["activity"] == "TOOL_CALL_END" && event["data"]["name"] == tool;
    log.iter().filter(is_end).map(|event| event["data"].clone()).collect()
}

#[tokio::test]
async fn a_client_is_asked_again_by_the_next_daemon_and_its_answer_counts_once() {
    let home = home("diagnostics");
    let served = home.start().await;
    let (mut lender, _) = editor(&home).await;
    let turns = vec![call("diagnostics", json!({})), call("complete_task", json!({ "result": "done" }))];
    let model = Recording::write_parts(&home, "asks", turns);
    let params = json!({ "workspace": home.work(), "agent": "user", "model": model, "prompt": "look" });
    let started = lender.call("run/start", params).await.unwrap();
    let run = text(&started, "runId").to_owned();
    let before = asked(&mut lender).await;
    served.kill().await;

    let served = home.start().await;
    let (mut lender, lent) = editor(&home).await;
    assert_eq!(lent["calls"][0]["callId"], before["callId"], "it is told what waits for it");
    let again = asked(&mut lender).await;
    assert_eq!((&again["callId"], &again["redelivered"]), (&before["callId"], &json!(true)));
    let answer = json!({ "callId": again["callId"], "content": [{ "type": "text", "text": "fine" }] });
    lender.call("tools/result", answer.clone()).await.unwrap();
    assert_eq!(lender.ended(&run).await.unwrap()["reason"], "GOAL");
    // Nobody knows whether an answer arrived when the daemon dies right behind it.
    served.kill().await;

    let served = home.start().await;
    let (mut lender, lent) = editor(&home).await;
    assert_eq!(lent.get("calls"), None, "nothing waits any more");
    assert_eq!(lender.call("tools/result", answer).await.unwrap()["replayed"], true);
    let ends = ends(&mut lender, &run, "diagnostics").await;
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0]["result"]["llmContent"][0]["text"], "fine");
    drop(lender);
    served.stop().await;
}

#[tokio::test]
async fn a_run_keeps_its_discovered_tools_and_runs_no_call_twice() {
    let home = home("\"discovered_*\"");
    let program = |name: &str, body: &str| {
        let path = home.work().join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("tell", "echo '[{\"name\": \"hangs\"}, {\"name\": \"works\"}]'");
    // Its standard output is the daemon's to read, so what it did stands in a file.
    program("call", "case $1 in hangs) echo begun >> begun; sleep 1000 ;; works) echo worked ;; esac");
    let settings = json!({ "tools": { "discoveryCommand": "./tell", "callCommand": "./call" } });
    fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();

    let served = home.start().await;
    let mut wire = home.connect().await;
    let opened = wire.call("workspace/open", json!({ "workspace": home.work() })).await.unwrap();
    let files = opened["workspace"]["files"].as_array().cloned().unwrap_or_default();
    let files: Vec<Value> =
        files.iter().map(|file| json!({ "path": file["path"], "digest": file["digest"] })).collect();
    let trust = json!({ "workspace": home.work(), "trusted": true, "files": files });
    wire.call("workspace/trust", trust).await.unwrap();
    let turns = vec![
        call("discovered_hangs", json!({})),
        call("discovered_works", json!({})),
        call("complete_task", json!({ "result": "done" })),
    ];
    let model = Recording::write_parts(&home, "calls", turns);
    wire.call("session/attach", json!({ "sessionId": "*", "from": "now" })).await.unwrap();
    let params = json!({ "workspace": home.work(), "agent": "user", "model": model, "prompt": "work" });
    let started = wire.call("run/start", params).await.unwrap();
    let run = text(&started, "runId").to_owned();
    let begun = home.work().join("begun");
    let is_begun = async {
        // The shell makes the file before it writes to it.
        while fs::read_to_string(&begun).unwrap_or_default() != "begun\n" {
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, is_begun).await.unwrap();
    served.kill().await;
    // What tells of tools fails from now on: the run has those it was planned with.
    program("tell", "exit 1");

    let served = home.start().await;
    let mut wire = home.connect().await;
    assert_eq!(wire.ended(&run).await.unwrap()["reason"], "GOAL");
    let hung = ends(&mut wire, &run, "discovered_hangs").await;
    assert_eq!((hung.len(), &hung[0]["error"]["type"]), (1, &json!("INTERRUPTED")), "{hung:?}");
    assert_eq!(fs::read_to_string(&begun).unwrap(), "begun\n", "it was begun once");
    let worked = ends(&mut wire, &run, "discovered_works").await;
    assert_eq!(worked[0]["result"]["llmContent"][0]["text"], "worked\n", "{worked:?}");
    drop(wire);
    served.stop().await;
}
