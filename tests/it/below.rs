//! What may an agent do that another calls? No more than its caller (spec 11, "What a tool may do"; 06, "Policy").

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Cast, House, Reply};

const CALLS: &str = "[[rule]]\ntool = \"kid\"\ndecision = \"allow\"\n";

/// A lead that has its kid touch a file; whether it is there in the end, and what the kid's call came to.
async fn touched(lead: &str, kid: &str, approval: Value) -> (bool, String) {
    let agent = |name: &str, tools: &str, more: &str| {
        format!(
            "---\nkind: agent\nname: {name}\ndescription: Works.\ncompletion: tool\ntools: [{tools}]\n{more}---\nYou work.\n"
        )
    };
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[("kid", json!({ "prompt": "go" }))]), Reply::done("done")]),
        (
            "lead/kid",
            vec![
                Reply::calls(&[("run_shell_command", json!({ "command": "touch made" }))]),
                Reply::done("done"),
            ],
        ),
    ]);
    let house = House::new()
        .model("script", &cast)
        .agent("lead", &agent("lead", "kid", lead))
        .agent("kid", &agent("kid", "run_shell_command", kid))
        .rules("calls", CALLS);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({ "approval": approval })).await;
    client.ended(&run).await;
    let log = running.log().await;
    let end = log
        .iter()
        .find(|event| event["activity"] == "TOOL_CALL_END" && event["data"]["name"] == "run_shell_command");
    let end = end.map(|event| event["data"].to_string()).unwrap_or_default();
    let is_there = fs::exists(Path::new(&house.work()).join("made")).unwrap();
    drop(client);
    running.stop().await;
    (is_there, end)
}

#[tokio::test]
async fn an_agent_that_is_called_is_confined_as_closely_as_its_caller() {
    let consent = json!({ "autoApprove": ["medium"], "headless": true });
    let (is_there, end) = touched("sandbox: readOnly\n", "", consent.clone()).await;
    assert!(!is_there && end.contains("Read-only file system") || end.contains("Permission denied"), "{end}");
    let (is_there, end) = touched("sandbox: readOnly\n", "sandbox: workspaceWrite\n", consent.clone()).await;
    assert!(!is_there, "{end}");
    let (is_there, end) = touched("", "sandbox: readOnly\n", consent.clone()).await;
    assert!(!is_there, "{end}");
    let (is_there, end) = touched("", "", consent).await;
    assert!(is_there, "{end}");
}

#[tokio::test]
async fn an_agent_that_is_called_is_let_do_no_more_unasked_than_its_caller() {
    let own = "approval: { autoApprove: [medium] }\n";
    let headless = json!({ "headless": true });
    let (is_there, end) = touched("", own, headless.clone()).await;
    assert!(!is_there && end.contains("NO_CLIENT"), "{end}");
    let (is_there, end) = touched(own, "", headless.clone()).await;
    assert!(!is_there && end.contains("NO_CLIENT"), "{end}");
    let (is_there, end) = touched(own, own, headless).await;
    assert!(is_there, "{end}");
    let (is_there, end) = touched("", own, json!({ "autoApprove": ["medium"], "headless": true })).await;
    assert!(is_there, "{end}");
}

/// What a caller keeps from collectors and files is in what it tells the agents that it calls.
#[tokio::test]
async fn of_an_agent_that_is_called_nobody_is_told_more_than_of_its_caller() {
    let lead = "tracing: { content: none, events: [tool], sampleRate: 0.5 }\n";
    let kid = "tracing: { content: redacted, events: [llm, tool], backend: [otlp, file], sampleRate: 0.9 }\n";
    let narrower = json!({ "backends": ["otlp"], "events": ["tool"], "content": "none", "sampleRate": 0.5 });
    assert_eq!(tracing_below(lead, kid).await, narrower);
    assert_eq!(tracing_below(lead, "").await, narrower);
    assert_eq!(
        tracing_below("tracing: { enabled: false }\n", "tracing: { enabled: true }\n").await["backends"],
        json!([])
    );
    assert_eq!(tracing_below("", "tracing: { content: none }\n").await["content"], "none");
    // As ever where nobody says anything.
    assert_eq!(tracing_below("", "").await, Value::Null);
}

/// Who is told of the spans of an agent that another calls, by these lines of their files.
async fn tracing_below(lead: &str, kid: &str) -> Value {
    let agent = |name: &str, tools: &str, more: &str| {
        format!(
            "---\nkind: agent\nname: {name}\ndescription: Works.\ncompletion: tool\ntools: [{tools}]\n{more}---\nYou work.\n"
        )
    };
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[("kid", json!({ "prompt": "go" }))]), Reply::done("done")]),
        ("lead/kid", vec![Reply::done("done")]),
    ]);
    let house = House::new()
        .model("script", &cast)
        .agent("lead", &agent("lead", "kid", lead))
        .agent("kid", &agent("kid", "read_file", kid))
        .rules("calls", CALLS);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({})).await;
    client.ended(&run).await;
    let log = running.log().await;
    let of_kid = log.iter().find(|event| event["type"] == "run.started" && event["data"]["agent"] == "kid");
    let tracing = of_kid.map(|event| event["data"]["tracing"].clone()).unwrap_or_default();
    drop(client);
    running.stop().await;
    tracing
}
