//! Runs, through the wire: what a person who starts one relies on.

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};
use subagentd::{
    models::ModelError,
    protocol::{FinishReason, MessagePart, MessageRole, Risk, RunErrorCode, ToolKind},
};
use tokio::time::timeout;

use crate::{
    probe::Probe,
    support::{House, Reply, STUCK, Script, lines},
};

const READER: &str = "---
kind: agent
name: reader
description: Reads.
completion: tool
tools: [read_file, grep, probe, writer]
---
You read.
";

const TYPED: &str = "---
kind: agent
name: typed
description: Answers in a shape.
output:
  name: verdict
  schema:
    type: object
    properties: { score: { type: number }, why: { type: string } }
    required: [score, why]
---
You judge.
";

/// The events of a run as text, without what differs from run to run.
fn story(log: &[Value]) -> String {
    let is_noise = |event: &&Value| {
        let to = event["data"]["to"].as_str();
        event["type"] == "tool.state" && matches!(to, Some("validating" | "scheduled"))
    };
    let log: Vec<Value> = log.iter().filter(|event| !is_noise(event)).cloned().collect();
    lines(&log)
}

#[tokio::test]
async fn agent_reads_is_refused_what_it_may_not_use_and_goes_on() {
    let script = Script::new([
        Reply::calls(&[
            ("read_file", json!({ "path": "a.txt" })),
            ("grep", json!({ "pattern": "hel+o" })),
            ("glob", json!({ "pattern": "*" })),
            ("no_such_tool", json!({})),
        ]),
        Reply::done("finished"),
    ]);
    let house = House::new().script(&script).agent("reader", READER).file("a.txt", "hello\n");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    let record = client.ended(&run).await;
    assert_eq!((record["reason"].as_str(), record["result"].as_str()), (Some("GOAL"), Some("finished")));
    expect![[r#"
        session.created
        run.started
        warning message="reader: `probe` matches no tool"
        warning message="reader: `writer` matches no tool"
        turn.started turn=1
        model.started
        model.completed text=""
        tool.state name="read_file" to="executing"
        tool.state name="grep" to="executing"
        tool.state name="glob" to="error" result="TOOL_NOT_ALLOWED: `glob` is not allowed in this run; allowed" error=TOOL_NOT_ALLOWED
        tool.state name="no_such_tool" to="error" result="TOOL_NOT_REGISTERED: there is no tool `no_such_tool`; allowe" error=TOOL_NOT_REGISTERED
        tool.state name="read_file" to="success" result="hello\n"
        tool.state name="grep" to="success" result="1 matching line in 1 file.\n\na.txt\n1: hello"
        turn.completed turn=1
        turn.started turn=2
        model.started
        model.completed text=""
        tool.state name="complete_task" to="executing"
        tool.state name="complete_task" to="success" result="accepted"
        turn.completed turn=2
        run.completed reason="GOAL" result="finished"
    "#]].assert_eq(&story(&running.log().await));

    // The model saw every result, in the order of its calls, and which tools it may use.
    let requests = script.requests();
    let results = requests[1].messages.last().unwrap();
    assert_eq!(results.role, MessageRole::Tool);
    let names: Vec<&str> = results
        .parts
        .iter()
        .map(|part| match part {
            MessagePart::ToolResult { name, .. } => name.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["read_file", "grep", "glob", "no_such_tool"]);
    let declared: Vec<&str> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(declared, ["read_file", "grep", "complete_task"]);
    running.stop().await;
}

const PLANNER: &str = "---
kind: agent
name: planner
description: Plans.
completion: tool
tools: [read_file, write_todos]
---
You plan.
";

#[tokio::test]
async fn plan_is_an_event_right_before_its_call_ends_and_events_carry_canonical_arguments() {
    let written = json!({ "todos": [
        { "content": "look", "status": "in-progress" }, { "description": "mend", "status": "pending" },
    ] });
    let script = Script::new([
        Reply::calls(&[
            ("TodoWrite", written.clone()),
            ("Read", json!({ "file_path": "a.txt", "limit": 1.0 })),
            ("write_todos", json!({ "todos": [{ "text": 1 }] })),
        ]),
        Reply::done("finished"),
    ]);
    let house = House::new().script(&script).agent("planner", PLANNER).file("a.txt", "hello\n");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "planner", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");

    let log = running.log().await;
    let at = log.iter().position(|event| event["type"] == "todos.updated").unwrap();
    let todos = json!([{ "text": "look", "status": "in_progress" }, { "text": "mend", "status": "pending" }]);
    assert_eq!(log[at]["data"]["todos"], todos);
    let end = &log[at + 1]["data"];
    assert_eq!((&end["name"], &end["to"]), (&json!("write_todos"), &json!("success")));
    assert_eq!(end["callId"], log[at]["data"]["callId"]);
    assert!(end["result"].get("effects").is_none(), "{end}");
    // The refused call has changed nothing.
    assert_eq!(log.iter().filter(|event| event["type"] == "todos.updated").count(), 1);

    let scheduled = |name: &str| {
        let of_call = |event: &&Value| event["data"]["name"] == name && event["data"]["to"] == "scheduled";
        log.iter().find(of_call).unwrap()["data"]["arguments"].clone()
    };
    assert_eq!(scheduled("write_todos"), json!({ "todos": todos }));
    assert_eq!(scheduled("read_file"), json!({ "limit": 1, "path": "a.txt" }));
    let history = &script.requests()[1].messages;
    let calls = history.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        MessagePart::ToolCall(call) => Some(call.arguments.clone()),
        _ => None,
    });
    let first: Vec<Value> = calls.take(2).collect();
    assert_eq!(first, [written, json!({ "file_path": "a.txt", "limit": 1.0 })]);
    running.stop().await;
}

#[tokio::test]
async fn largest_image_reaches_the_model_and_every_client() {
    // With the beginning and the end of a PNG.
    let mut picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    picture.resize(3_932_160 - 12, 0);
    picture.extend(b"\0\0\0\0IEND\xaeB`\x82");
    // Several in one turn are one append.
    let calls = vec![("read_file", json!({ "path": "a.png" })); 2];
    let script = Script::new([Reply::calls(&calls), Reply::done("seen")]);
    let house = House::new().script(&script).agent("planner", PLANNER).file("a.png", &picture);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "planner", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");

    let requests = script.requests();
    let sent = requests[1].messages.last().unwrap().parts.iter().filter_map(|part| match part {
        MessagePart::ToolResult { parts, .. } => Some(parts),
        _ => None,
    });
    let image_of = |part: &MessagePart| match part {
        MessagePart::InlineData { mime_type, data } => (mime_type.clone(), data.len()),
        other => panic!("{other:?}"),
    };
    let images: Vec<_> = sent.map(|parts| image_of(&parts[1])).collect();
    assert_eq!(images, vec![("image/png".to_owned(), 5 << 20); 2]);

    let is_image = |event: &&Value| event["data"]["result"]["llmContent"][1]["data"].is_string();
    client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    let followed = client.events_until("run.completed").await;
    assert_eq!(followed.iter().filter(is_image).count(), 2);
    // Page by page, since each of them is larger than a page.
    let (mut after, mut listed) = (json!(0), 0);
    loop {
        let params = json!({ "filter": { "sessionId": session }, "from": after });
        let page = client.call("events/list", params).await;
        let events = page["events"].as_array().unwrap();
        let Some(last) = events.last() else { break };
        listed += events.iter().filter(is_image).count();
        after = last["seq"].clone();
    }
    assert_eq!(listed, 2);
    running.stop().await;
}

#[tokio::test]
async fn typed_result_is_checked_and_every_violation_is_told() {
    let script = Script::new([
        Reply::calls(&[("complete_task", json!({ "verdict": { "score": "high" } }))]),
        Reply::calls(&[("complete_task", json!({ "verdict": { "score": 3, "why": "because" } }))]),
    ]);
    let running = House::new().script(&script).agent("typed", TYPED).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "typed", json!({})).await;
    let record = client.ended(&run).await;
    assert_eq!(record["output"], json!({ "score": 3, "why": "because" }));
    assert_eq!(record["reason"], "GOAL");
    let told = format!("{:?}", script.requests()[1].messages.last().unwrap());
    assert!(told.contains("/verdict/score") && told.contains("why"), "{told}");
    running.stop().await;
}

#[tokio::test]
async fn question_that_nobody_can_be_asked_is_a_denial_that_says_so() {
    let (writer, _, _) = Probe::new("writer", ToolKind::Edit, Risk::Low);
    let script = Script::new([Reply::calls(&[("writer", json!({}))]), Reply::done("ok")]);
    let house = House::new().script(&script).agent("reader", READER).tool(writer);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({ "approval": { "headless": true } })).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let told = format!("{:?}", script.requests()[1].messages.last().unwrap());
    assert!(told.contains("NO_CLIENT"), "{told}");
    running.stop().await;
}

#[tokio::test]
async fn no_tool_runs_before_its_executing_is_committed() {
    let (probe, handle, _began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let calls = vec![("probe", json!({})); 5];
    let script = Script::new([Reply::calls(&calls), Reply::done("ok")]);
    let running = House::new().script(&script).agent("reader", READER).tool(probe).boot().await;
    assert!(handle.store.set(running.daemon.store().clone()).is_ok());
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    let log = running.log().await;
    let ended = |event: &&Value| event["data"]["name"] == "probe" && event["data"]["to"] == "success";
    assert_eq!(log.iter().filter(ended).count(), 5, "{}", lines(&log));
    running.stop().await;
}

#[tokio::test]
async fn cancel_stops_a_running_tool_first_and_keeps_what_there_is() {
    let (probe, _, mut began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let first = Reply::Says {
        chunks: vec!["so ".to_owned(), "far".to_owned()],
        thought: None,
        calls: vec![("probe".to_owned(), json!({ "do": "wait" })), ("probe".to_owned(), json!({}))],
        finish: FinishReason::Stop,
    };
    let script = Script::new([first]);
    let running = House::new().script(&script).agent("reader", READER).tool(probe).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    timeout(STUCK, began.recv()).await.unwrap();
    let cancelled = client.call("run/cancel", json!({ "runId": run, "reason": "enough" })).await;
    assert!(cancelled["seq"].is_i64(), "{cancelled}");
    let record = client.ended(&run).await;
    assert_eq!(record["reason"], "ABORTED");
    assert_eq!(record["partialResult"], "so far");
    let again = client.call("run/cancel", json!({ "runId": run })).await;
    assert_eq!((&again["run"]["reason"], again.get("seq")), (&json!("ABORTED"), None));
    running.stop().await;
}

#[tokio::test]
async fn tool_that_ignores_the_stop_is_dropped_after_two_seconds() {
    let (probe, _, mut began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let script = Script::new([Reply::calls(&[("probe", json!({ "do": "ignoreCancel" }))])]);
    let (house, clock) = House::new().script(&script).agent("reader", READER).tool(probe).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "reader", json!({})).await;
    timeout(STUCK, began.recv()).await.unwrap();
    client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    client.events_until("run.stopping").await;
    clock.advance(Duration::from_secs(2));
    assert_eq!(client.ended(&run).await["reason"], "ABORTED");
    running.stop().await;
}

#[tokio::test]
async fn time_limit_keeps_the_text_and_grants_a_grace_turn_with_complete_task_alone() {
    let (streaming, chunks) = Reply::streams();
    let script = Script::new([streaming, Reply::done("saved")]);
    let (house, clock) = House::new().script(&script).agent("reader", READER).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let limits = json!({ "limits": { "maxTimeMs": 5_000 } });
    let (run, session) = client.start(&running, "reader", limits).await;
    client.call("session/attach", json!({ "sessionId": session, "from": "start", "deltas": true })).await;
    chunks.send("half a sen".to_owned()).await.unwrap();
    client.events_until("model.textDelta").await;
    // The cut reply is no whole one, so the model is asked for the same ordinal again: let it be the next.
    script.skip();
    clock.advance(Duration::from_secs(5));
    let record = client.ended(&run).await;
    assert_eq!(record["reason"], "GOAL");
    assert_eq!(record["recoveredFrom"], "TIMEOUT");
    assert_eq!(record["activeMs"], 5_000);
    let request = script.requests().pop().unwrap();
    let declared: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(declared, ["complete_task"]);
    let texts: Vec<String> = request.messages.iter().map(|message| message.text()).collect();
    assert!(texts[1] == "half a sen" && texts[2].contains("time limit"), "{texts:?}");
    running.stop().await;
}

#[tokio::test]
async fn failing_model_is_asked_again_after_a_while_and_clients_are_told() {
    let passing = ModelError::Passing { message: "overloaded".to_owned(), retry_after_ms: Some(9_000) };
    let script = Script::new([Reply::Fails(passing)]);
    let (house, clock) = House::new().script(&script).agent("reader", READER).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "reader", json!({})).await;
    client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    let events = client.events_until("model.retrying").await;
    assert_eq!(events.last().unwrap()["activity"], "ERROR");
    script.replace([Reply::done("at last")]);
    clock.advance(Duration::from_secs(30));
    assert_eq!(client.ended(&run).await["result"], "at last");
    running.stop().await;
}

#[tokio::test]
async fn final_failure_ends_the_run_with_the_providers_words() {
    let refused = ModelError::Final { code: RunErrorCode::ProviderAuth, message: "key expired".to_owned() };
    let script = Script::new([Reply::Fails(refused)]);
    let running = House::new().script(&script).agent("reader", READER).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    let record = client.ended(&run).await;
    assert_eq!(record["reason"], "ERROR");
    assert_eq!(record["error"], json!({ "code": "PROVIDER_AUTH", "message": "key expired" }));
    running.stop().await;
}

#[tokio::test]
async fn panic_of_a_tool_ends_the_call_and_panic_of_a_model_ends_the_run() {
    let (probe, _, _began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let script = Script::new([Reply::calls(&[("probe", json!({ "do": "panic" }))]), Reply::Panics]);
    let running = House::new().script(&script).agent("reader", READER).tool(probe).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    let record = client.ended(&run).await;
    assert_eq!(record["error"]["code"], "PANIC", "{record}");
    let log = running.log().await;
    assert!(lines(&log).contains("error=UNHANDLED_EXCEPTION"), "{}", lines(&log));
    // The daemon lives.
    client.call("ping", json!({})).await;
    running.stop().await;
}

#[tokio::test]
async fn run_goes_on_after_a_restart_and_a_mutator_is_not_run_again() {
    // Both kinds of call are open when the daemon stops; only policy-free kinds can run, so the mutator is safe by
    // risk and unsafe to repeat by kind.
    let (reader, handle, mut read) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let (writer, _, mut written) = Probe::new("writer", ToolKind::Edit, Risk::Safe);
    let wait = |path: &str| json!({ "do": "wait", "path": path });
    let calls = [("probe", wait("/a")), ("writer", wait("/b"))];
    let script = Script::new([Reply::calls(&calls), Reply::done("ok")]);
    let house = House::new().script(&script).agent("reader", READER).tool(reader).tool(writer);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    timeout(STUCK, read.recv()).await.unwrap();
    timeout(STUCK, written.recv()).await.unwrap();
    drop(client);
    running.stop_unfinished().await;

    handle.release.add_permits(1);
    let running = house.boot().await;
    let mut client = running.client();
    let record = client.ended(&run).await;
    assert_eq!((record["reason"].as_str(), record["turns"].as_u64()), (Some("GOAL"), Some(2)));
    timeout(STUCK, read.recv()).await.unwrap();
    assert!(written.try_recv().is_err(), "the mutator ran twice");
    let told = format!("{:?}", script.requests().last().unwrap().messages.last().unwrap());
    assert!(told.contains("INTERRUPTED") && told.contains("waited"), "{told}");
    running.stop().await;
}

#[tokio::test]
async fn run_whose_workspace_is_gone_after_a_restart_ends_and_says_so() {
    let script = Script::new([Reply::Hangs]);
    let house = House::new().script(&script).agent("reader", READER);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    script.asked().await;
    drop(client);
    running.stop_unfinished().await;
    std::fs::remove_dir_all(house.work()).unwrap();
    let running = house.boot().await;
    let record = running.client().ended(&run).await;
    assert_eq!(record["error"]["code"], "WORKSPACE_GONE", "{record}");
    running.stop().await;
}

#[tokio::test]
async fn twenty_reads_at_once_come_back_in_order() {
    let calls: Vec<(String, Value)> =
        (0..20).map(|n| ("read_file".to_owned(), json!({ "path": format!("{n}.txt") }))).collect();
    let first = Reply::Says { chunks: vec![], thought: None, calls, finish: FinishReason::Stop };
    let script = Script::new([first, Reply::done("ok")]);
    let mut house = House::new().script(&script).agent("reader", READER);
    for n in 0..20 {
        house = house.file(&format!("{n}.txt"), format!("content {n}\n"));
    }
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    let results = script.requests()[1].messages.last().unwrap().clone();
    for (n, part) in results.parts.iter().enumerate() {
        assert!(format!("{part:?}").contains(&format!("content {n}\\n")), "{part:?}");
    }
    assert_eq!(results.parts.len(), 20);
    running.stop().await;
}

#[tokio::test]
async fn refused_requests_start_nothing_and_say_what_to_do() {
    let script = Script::new([Reply::done("x")]);
    let house = House::new()
        .script(&script)
        .agent("reader", READER)
        .agent("broken", "---\nname: broken\nkind: agent\nrun: { maxTurns: many }\n---\nx\n")
        .agent("guarded", &READER.replace("reader", "guarded").replace("kind: agent", "kind: agent\nguardrails: [{check: x}]"))
        .agent("keeper", &READER.replace("reader", "keeper").replace("kind: agent", "kind: agent\nmemory: {scope: user}"))
        .agent(
            "greedy",
            "---\nkind: agent\nname: greedy\ndescription: d\ninputs: { a: {type: integer}, b: {type: string} }\nquery: \"${a} ${b}\"\n---\nx\n",
        );
    let running = house.boot().await;
    let work = running.work().to_owned();
    let fifo = work.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut client = running.client();
    let base = json!({ "workspace": work, "agent": "reader", "prompt": "x", "model": "script" });
    let with = |changes: Value| {
        let mut params = base.clone();
        for (key, value) in changes.as_object().unwrap() {
            params[key] = value.clone();
        }
        params
    };
    let cases = [
        (with(json!({ "agent": "raeder" })), "NOT_FOUND", "reader"),
        (with(json!({ "agent": "broken" })), "INVALID_DEFINITION", "maxTurns"),
        // What its file promises would not be held to.
        (with(json!({ "agent": "guarded" })), "AGENT_NOT_READY", "`guardrails`"),
        (with(json!({ "agent": "keeper" })), "AGENT_NOT_READY", "`memory`"),
        (
            with(json!({ "agent": null, "definition": {
                "kind": "agent", "name": "inline", "description": "d", "prompt": "Do it.", "handoffs": ["reader"],
            }})),
            "AGENT_NOT_READY",
            "`handoffs`",
        ),
        (with(json!({ "model": "gpt-nothing" })), "NO_MODEL", "--model offline"),
        (with(json!({ "model": null })), "NO_MODEL", "--model offline"),
        (with(json!({ "model": "replay:some/file" })), "INVALID_PARAMS", "absolute"),
        // Opening it would wait for a writer that never comes.
        (with(json!({ "model": format!("replay:{}", fifo.display()) })), "INVALID_PARAMS", "regular file"),
        (with(json!({ "workspace": "relative/path" })), "INVALID_PARAMS", "absolute"),
        (with(json!({ "workspace": "/no/such/folder" })), "INVALID_PARAMS", "/no/such/folder"),
        (
            with(json!({ "agent": "greedy", "prompt": null, "inputs": { "a": "one", "c": 1 } })),
            "INVALID_INPUT",
            "/b",
        ),
        (with(json!({ "agent": 7, "limits": { "maxTurns": "x" } })), "INVALID_PARAMS", "/limits/maxTurns"),
    ];
    for (params, kind, word) in cases {
        let (told, error) = client.refused("run/start", params).await;
        assert_eq!(told, kind, "{error}");
        assert!(error.to_string().contains(word), "{word} is not in {error}");
    }
    assert!(running.log().await.is_empty(), "something was written");
    running.stop().await;
}

#[tokio::test]
async fn what_does_not_exist_or_would_not_be_held_to_is_not_valid() {
    let script = Script::new([Reply::done("x")]);
    let house = House::new().script(&script);
    let running = house.boot().await;
    let mut client = running.client();
    for (field, valid, word) in [
        ("model: script", true, ""),
        ("guardrails: []\nhandoffs: []\nmemory: false", true, ""),
        ("tracing: {sampling: 1}", true, "no effect"),
        ("guardrails: [{check: x}]", false, "`guardrails`"),
        ("handoffs: [reader]", false, "`handoffs`"),
        ("memory: true", false, "`memory`"),
        ("graph: {nodes: []}", false, "`graph`"),
        ("tools: [read_fil]", false, "read_file"),
        ("tools: [mcp.nowhere.look]", false, "mcp.nowhere.look"),
        ("model: llama-9", false, "llama-9"),
        ("mcp: {servers: [nowhere]}", false, "nowhere"),
    ] {
        let text = format!("---\nkind: agent\nname: a-try\ndescription: d\n{field}\n---\nDo it.\n");
        let answer = client.call("agents/validate", json!({ "text": text })).await;
        assert_eq!(answer["valid"], valid, "{field}: {answer:#}");
        assert!(answer.to_string().contains(word), "{field}: {answer:#}");
    }
    running.stop().await;
}

#[tokio::test]
async fn project_agents_are_listed_untrusted_and_refused() {
    let script = Script::new([Reply::done("x")]);
    let house =
        House::new().script(&script).file(".subagentd/agents/local.md", READER.replace("reader", "local"));
    let running = house.boot().await;
    let mut client = running.client();
    let listed = client.call("agents/list", json!({ "workspace": running.work() })).await;
    let local = listed["agents"].as_array().unwrap().iter().find(|it| it["name"] == "local").unwrap();
    assert_eq!((&local["status"], &local["scope"]), (&json!("untrusted"), &json!("project")));
    let params = json!({ "workspace": running.work(), "agent": "local", "prompt": "x", "model": "script" });
    let (kind, error) = client.refused("run/start", params).await;
    assert_eq!(kind, "WORKSPACE_NOT_TRUSTED");
    assert_eq!(error["data"]["details"]["digest"], local["digest"]);
    running.stop().await;
}

#[tokio::test]
async fn tool_that_the_settings_exclude_is_not_declared_and_is_listed_with_its_rule() {
    let script = Script::new([Reply::calls(&[("grep", json!({ "pattern": "x" }))]), Reply::done("ok")]);
    let mut house = House::new().script(&script).agent("reader", READER);
    house.config.tools.exclude.value = vec!["search_file_content".into()];
    let running = house.boot().await;
    let mut client = running.client();
    let listed = client.call("tools/list", json!({ "agent": "reader" })).await;
    let tools = listed["tools"].as_array().unwrap().iter();
    let (excluded, available): (Vec<&Value>, Vec<&Value>) =
        tools.partition(|tool| tool["state"] == "excluded");
    let names =
        |tools: &[&Value]| tools.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&available), ["read_file", "complete_task"]);
    assert_eq!(names(&excluded), ["grep"], "an alias excludes too");
    assert_eq!(excluded[0]["rule"], "`search_file_content` in the setting tools.exclude");
    let (run, _) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    assert!(!script.requests()[0].tools.iter().any(|tool| tool.name.as_str() == "grep"));
    let told = format!("{:?}", script.requests()[1].messages.last().unwrap());
    assert!(told.contains("TOOL_NOT_ALLOWED"), "{told}");
    running.stop().await;
}
