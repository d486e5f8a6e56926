//! Tools that clients lend: how they are called and answered, and what becomes of a call whose client hangs, talks nonsense,
//! dies, or comes back (spec 01, `tools/register`, `tools/result`).

use std::time::Duration;

use serde_json::{Value, json};
use subagentd::sys::clock::ManualClock;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
};

use crate::support::{Client, House, Reply, Running, Script};

const CODER: &str = "---\nkind: agent\nname: coder\ndescription: Codes.\ncompletion: tool\n\
                     tools: [diagnostics, read_buffer, rename]\n---\nYou code.\n";

/// A picture of one dot.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

fn house(calls: &[(&str, Value)]) -> (House, Script) {
    let mut replies: Vec<Reply> = calls.iter().map(|call| Reply::calls(std::slice::from_ref(call))).collect();
    replies.push(Reply::done("done"));
    let script = Script::new(replies);
    (House::new().script(&script).agent("coder", CODER), script)
}

fn asks_for_diagnostics() -> (&'static str, Value) {
    ("diagnostics", json!({ "file": "a.rs" }))
}

fn tools() -> Value {
    let file =
        json!({ "type": "object", "properties": { "file": { "type": "string" } }, "required": ["file"] });
    json!([
        { "name": "diagnostics", "description": "Problems of a file.", "parameters": file, "kind": "read", "risk": "safe" },
        { "name": "read_buffer", "title": "Read buffer", "description": "An unsaved buffer.", "parameters": file,
          "kind": "read", "risk": "low", "timeoutMs": 5_000 },
        { "name": "rename", "description": "Renames a symbol.", "parameters": { "type": "object" } },
    ])
}

/// A client that is an editor: it says who it is, follows every session and lends its tools. Answers what waits for it.
async fn editor(running: &Running, on_disconnect: &str) -> (Client, Value) {
    let mut editor = hello(running, "editor").await;
    editor.call("session/attach", json!({ "sessionId": "*" })).await;
    let lent =
        editor.call("tools/register", json!({ "tools": tools(), "onDisconnect": on_disconnect })).await;
    (editor, lent)
}

async fn hello(running: &Running, id: &str) -> Client {
    let mut client = running.client();
    let hello = json!({
        "protocolVersion": "2", "client": { "name": id, "kind": "editor" }, "clientId": id,
        "capabilities": { "tools": true },
    });
    client.call("initialize", hello).await;
    client
}

/// What the editor is asked next.
async fn asked(editor: &mut Client) -> Value {
    editor.events_until("tool.clientCall").await.pop().unwrap()["data"].clone()
}

fn answer(asked: &Value, text: &str) -> Value {
    json!({ "callId": asked["callId"], "content": [{ "type": "text", "text": text }] })
}

/// The ends of calls but `complete_task`.
async fn ends(running: &Running) -> Vec<Value> {
    let log = running.log().await;
    let is_end =
        |event: &&Value| event["activity"] == "TOOL_CALL_END" && event["data"]["name"] != "complete_task";
    log.iter().filter(is_end).cloned().collect()
}

fn kind(end: &Value) -> &str {
    end["data"]["error"]["type"].as_str().unwrap_or("none")
}

fn text(end: &Value) -> &str {
    end["data"]["result"]["llmContent"][0]["text"].as_str().unwrap()
}

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

async fn ended(client: &mut Client, run: &str) -> Value {
    client.until("run/get", json!({ "runId": run }), |got| got["state"] == "ended").await
}

#[tokio::test]
async fn a_lent_tool_is_declared_called_and_answered_once() {
    let (house, script) = house(&[asks_for_diagnostics(), ("diagnostics", json!({ "fil": 1 }))]);
    let running = house.boot().await;
    let (mut editor, lent) = editor(&running, "fail").await;
    assert_eq!(lent["tools"], json!(["diagnostics", "read_buffer", "rename"]));
    assert_eq!((&lent["clientId"], &lent["calls"]), (&json!("editor"), &Value::Null));
    let mut client = running.client();
    let listed = client.call("tools/list", json!({ "agent": "coder" })).await;
    let first = &listed["tools"][0];
    assert_eq!(
        (&first["source"], &first["clientId"], &first["state"]),
        (&json!("client"), &json!("editor"), &json!("available"))
    );

    let (run, session) = client.start(&running, "coder", json!({})).await;
    let asked = asked(&mut editor).await;
    let told = json!({
        "callId": asked["callId"], "clientId": "editor", "name": "diagnostics", "arguments": { "file": "a.rs" },
        "onDisconnect": "fail", "timeoutMs": 600_000,
    });
    assert_eq!(asked, told);
    // What somebody else says of it is not heard, nor what fits no answer.
    let mut other = hello(&running, "other").await;
    assert_eq!(other.refused("tools/result", answer(&asked, "lies")).await.0, "FORBIDDEN");
    assert_eq!(client.refused("tools/result", answer(&asked, "lies")).await.0, "NOT_INITIALIZED");
    let answered = editor.call("tools/result", answer(&asked, "a.rs:3: unused")).await;
    let again = editor.call("tools/result", answer(&asked, "a.rs:3: unused")).await;
    assert_eq!((&again["seq"], &again["replayed"]), (&answered["seq"], &json!(true)));
    assert_eq!(editor.refused("tools/result", answer(&asked, "other")).await.0, "IDEMPOTENCY_CONFLICT");
    assert_eq!(client.ended(&run).await["reason"], "GOAL");

    let ends = ends(&running).await;
    assert_eq!((text(&ends[0]), ends[0]["by"].as_str()), ("a.rs:3: unused", Some("editor")));
    assert!(ends[0]["seq"].as_i64().unwrap() <= answered["seq"].as_i64().unwrap());
    assert_eq!(kind(&ends[1]), "INVALID_TOOL_PARAMS");
    let log = running.log().await;
    let told = log.iter().position(|event| event["type"] == "tool.clientCall").unwrap();
    assert_eq!(log[told - 1]["data"]["to"], "executing", "one commit says both");
    assert_eq!(log[told]["sessionId"], session.as_str());
    let requests = script.requests();
    let declared: Vec<&str> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(declared, ["diagnostics", "read_buffer", "rename", "complete_task"]);
    drop((client, editor, other));
    running.stop().await;
}

#[tokio::test]
async fn a_client_that_dies_and_comes_back_is_told_again_when_its_calls_wait() {
    let (house, _) = house(&[asks_for_diagnostics()]);
    let running = house.boot().await;
    let (mut first, _) = editor(&running, "wait").await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "coder", json!({})).await;
    let before = asked(&mut first).await;
    drop(first);
    client.until("client/list", json!({}), |got| got["clients"].as_array().unwrap().is_empty()).await;
    assert_eq!(client.call("run/get", json!({ "runId": run })).await["state"], "running");
    // Another client with tools of these names is not the one that was asked.
    let mut other = hello(&running, "other").await;
    let lent = other.call("tools/register", json!({ "tools": tools() })).await;
    assert_eq!(lent["calls"], Value::Null);
    assert_eq!(other.refused("tools/result", answer(&before, "lies")).await.0, "FORBIDDEN");

    let (mut back, lent) = editor(&running, "wait").await;
    assert_eq!(lent["calls"][0]["callId"], before["callId"]);
    assert_eq!(lent["calls"][0]["arguments"], json!({ "file": "a.rs" }));
    let again = asked(&mut back).await;
    assert_eq!((&again["callId"], &again["redelivered"]), (&before["callId"], &json!(true)));
    back.call("tools/result", answer(&again, "fine")).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(text(&ends(&running).await[0]), "fine");
    drop((client, back, other));
    running.stop().await;
}

#[tokio::test]
async fn a_client_that_dies_fails_its_calls_when_it_said_so_and_the_run_goes_on() {
    let (house, script) = house(&[asks_for_diagnostics(), asks_for_diagnostics()]);
    let running = house.boot().await;
    let (mut first, _) = editor(&running, "fail").await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "coder", json!({})).await;
    let before = asked(&mut first).await;
    drop(first);
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let ends = ends(&running).await;
    assert_eq!(kind(&ends[0]), "EXECUTION_FAILED");
    assert!(
        text(&ends[0]).contains("the client editor disconnected before it answered"),
        "{}",
        text(&ends[0])
    );
    // Nobody is there to be asked at all.
    assert_eq!(kind(&ends[1]), "TOOL_NOT_REGISTERED");
    assert!(text(&ends[1]).contains("is not connected any more"), "{}", text(&ends[1]));
    let (mut back, lent) = editor(&running, "fail").await;
    assert_eq!(lent["calls"], Value::Null);
    let (kind, error) = back.refused("tools/result", answer(&before, "late")).await;
    assert_eq!((kind.as_str(), &error["data"]["details"]["state"]), ("GONE", &json!("error")));
    assert_eq!(script.requests().len(), 3);
    drop((client, back));
    running.stop().await;
}

#[tokio::test]
async fn a_client_that_hangs_or_stays_away_is_not_waited_for_without_end() {
    let cases = [
        ("fail", false, 600, "did not answer within 600 s"),
        ("wait", false, 600, "did not answer within 600 s"),
        ("wait", true, 24 * 3_600, "was away for 24 h and did not come back"),
    ];
    for (on_disconnect, dies, seconds, told) in cases {
        let (house, clock) = house(&[asks_for_diagnostics()]).0.manual_clock();
        let running = house.boot().await;
        let (mut lender, _) = editor(&running, on_disconnect).await;
        let (mut client, mut other) = (running.client(), running.client());
        let limits = json!({ "limits": { "maxTimeMs": 100_000_000_000_u64 } });
        let (run, _) = client.start(&running, "coder", limits).await;
        asked(&mut lender).await;
        let lender = Some(lender).filter(|_| !dies);
        if dies {
            client.until("client/list", json!({}), |got| got["clients"].as_array().unwrap().is_empty()).await;
        }
        // Not a moment before.
        client.settle().await;
        clock.advance(Duration::from_secs(seconds - 1));
        client.settle().await;
        assert_eq!(client.call("run/get", json!({ "runId": run })).await["state"], "running", "{told}");
        let step = Duration::from_secs(seconds);
        passing(&clock, &mut other, step, ended(&mut client, &run)).await;
        let ends = ends(&running).await;
        assert_eq!(kind(&ends[0]), "TIMED_OUT", "{told}");
        assert!(text(&ends[0]).contains(told), "{}", text(&ends[0]));
        drop((client, other, lender));
        running.stop().await;
    }
}

#[tokio::test]
async fn nonsense_is_refused_with_every_reason_and_the_call_stays_open() {
    let (house, _) = house(&[asks_for_diagnostics(), asks_for_diagnostics(), asks_for_diagnostics()]);
    let running = house.boot().await;
    let (mut editor, _) = editor(&running, "fail").await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "coder", json!({})).await;
    let first = asked(&mut editor).await;
    let call = &first["callId"];
    let inline = |mime_type: &str, data: &str| {
        let content = [json!({ "type": "inlineData", "mimeType": mime_type, "data": data })];
        json!({ "callId": call, "content": content })
    };
    let bad = [
        json!({ "callId": call }),
        json!({ "callId": call, "content": "text" }),
        json!({ "callId": call, "content": [{ "type": "poem" }] }),
        json!({ "callId": call, "content": [], "error": { "message": "x" } }),
        json!({ "callId": call, "error": { "message": "" } }),
        json!({ "callId": call, "error": { "message": "x" }, "data": 1 }),
        json!({ "callId": call, "content": [], "data": "x".repeat(1 << 20) }),
        inline("image/png", "not base64"),
        inline("image/png", "aGk="),
        // Another picture than it says.
        inline("image/gif", PIXEL),
        inline("picture", PIXEL),
        inline("image/png\r\nx: y", PIXEL),
    ];
    for params in bad {
        assert_eq!(editor.refused("tools/result", params.clone()).await.0, "INVALID_PARAMS", "{params}");
    }
    assert_eq!(
        editor.refused("tools/result", json!({ "callId": "none", "content": [] })).await.0,
        "NOT_FOUND"
    );
    // More than a message may have is refused as a whole; nobody can tell whose answer it was.
    let huge = json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/result", "params": answer(&first, &"x".repeat(50 << 20)) });
    editor.send(&huge.to_string()).await;
    let refused = loop {
        let message = editor.receive().await;
        if message.get("error").is_some() {
            break message;
        }
    };
    assert_eq!(refused["error"]["data"]["kind"], "PAYLOAD_TOO_LARGE");
    assert_eq!(client.call("run/get", json!({ "runId": run })).await["state"], "running");
    editor.call("tools/result", json!({ "callId": call, "error": { "message": "too long to tell" } })).await;
    // What fits a message is cut for the model, and kept whole.
    let second = asked(&mut editor).await;
    editor.call("tools/result", answer(&second, &"y".repeat(3 << 20))).await;
    let third = asked(&mut editor).await;
    let image = json!({ "type": "inlineData", "mimeType": "image/png", "data": PIXEL });
    let page = json!({ "type": "inlineData", "mimeType": "text/html", "data": "PGI+" });
    let answer = json!({ "callId": third["callId"], "content": [image, page], "data": { "n": 1 } });
    editor.call("tools/result", answer).await;
    client.ended(&run).await;
    let ends = ends(&running).await;
    assert_eq!((kind(&ends[0]), text(&ends[0])), ("EXECUTION_FAILED", "EXECUTION_FAILED: too long to tell"));
    assert!(text(&ends[1]).len() < 100_000);
    assert_eq!(ends[1]["data"]["result"]["fullOutput"]["bytes"], 3 << 20);
    assert_eq!(ends[2]["data"]["result"]["llmContent"][0], image);
    // What not every model takes is told of.
    let told = &ends[2]["data"]["result"]["llmContent"][1]["text"];
    assert_eq!(told, "[text/html, 3 bytes; it is not shown]");
    assert_eq!(ends[2]["data"]["result"]["data"], json!({ "n": 1 }));
    drop((client, editor));
    running.stop().await;
}

#[tokio::test]
async fn a_cancelled_call_takes_no_answer() {
    let (house, _) = house(&[asks_for_diagnostics()]);
    let running = house.boot().await;
    let (mut editor, _) = editor(&running, "wait").await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "coder", json!({})).await;
    let asked = asked(&mut editor).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    assert_eq!(client.ended(&run).await["reason"], "ABORTED");
    // The client sees by the call's end that nobody waits any more.
    loop {
        let event = editor.event().await;
        if event["type"] == "tool.state"
            && event["data"]["callId"] == asked["callId"]
            && event["data"]["to"] == "cancelled"
        {
            break;
        }
    }
    let (kind, error) = editor.refused("tools/result", answer(&asked, "late")).await;
    assert_eq!((kind.as_str(), &error["data"]["details"]["state"]), ("GONE", &json!("cancelled")));
    assert_eq!(ends(&running).await.len(), 1);
    drop((client, editor));
    running.stop().await;
}

#[tokio::test]
async fn after_a_restart_a_call_waits_for_its_client_or_is_interrupted() {
    for on_disconnect in ["wait", "fail"] {
        let (house, script) = house(&[asks_for_diagnostics()]);
        let running = house.boot().await;
        let (mut first, _) = editor(&running, on_disconnect).await;
        let mut client = running.client();
        let (run, _) = client.start(&running, "coder", json!({})).await;
        let before = asked(&mut first).await;
        drop(client);
        // The client is there until the daemon goes.
        running.stop_unfinished().await;
        drop(first);

        let running = house.boot().await;
        let mut client = running.client();
        if on_disconnect == "wait" {
            let (mut back, lent) = editor(&running, on_disconnect).await;
            assert_eq!(lent["calls"][0]["callId"], before["callId"]);
            let again = asked(&mut back).await;
            assert_eq!((&again["callId"], &again["redelivered"]), (&before["callId"], &json!(true)));
            back.call("tools/result", answer(&again, "fine")).await;
            client.ended(&run).await;
            // The same answer is answered as before, also after the restart of another daemon.
            assert_eq!(back.call("tools/result", answer(&again, "fine")).await["replayed"], true);
        }
        assert_eq!(client.ended(&run).await["reason"], "GOAL");
        let end = &ends(&running).await[0];
        let expected = if on_disconnect == "wait" { "none" } else { "INTERRUPTED" };
        assert_eq!(kind(end), expected);
        // The tools that it was planned with are its own, also when their client is away.
        let declared = script.requests().last().unwrap().tools.len();
        assert_eq!(declared, 4);
        drop(client);
        running.stop().await;
    }
}

#[tokio::test]
async fn a_tool_that_is_not_lent_any_more_is_an_error_and_no_hang() {
    let (house, _) = house(&[asks_for_diagnostics(), asks_for_diagnostics(), asks_for_diagnostics()]);
    let running = house.boot().await;
    let (mut editor, _) = editor(&running, "wait").await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "coder", json!({})).await;
    let first = asked(&mut editor).await;
    // Lent again by the same connection: the call goes on, and nobody is told twice.
    editor.call("tools/register", json!({ "tools": tools(), "onDisconnect": "wait" })).await;
    editor.call("tools/result", answer(&first, "fine")).await;
    asked(&mut editor).await;
    editor.call("tools/register", json!({ "tools": [tools()[1]] })).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let ends = ends(&running).await;
    assert_eq!(
        ends.iter().map(kind).collect::<Vec<_>>(),
        ["none", "TOOL_NOT_REGISTERED", "TOOL_NOT_REGISTERED"]
    );
    let told = running.log().await.iter().filter(|event| event["type"] == "tool.clientCall").count();
    assert_eq!(told, 2);
    drop((client, editor));
    running.stop().await;
}

#[tokio::test]
async fn what_may_be_lent_is_checked_and_every_violation_is_told() {
    let (house, _) = house(&[]);
    let running = house.boot().await;
    let mut editor = hello(&running, "editor").await;
    let tool = |name: &str| json!({ "name": name, "description": "x", "parameters": {} });
    let with = |key: &str, value: Value| {
        let mut tool = tool("fine");
        tool[key] = value;
        tool
    };
    let bad = json!([
        tool("read_file"), tool("bash"), tool("ReadFileTool"), tool("complete_task"), tool("discovered_x"),
        tool("mcp.a.b"), tool("web-search"), tool("1st"), tool("a b"), tool(""), tool(&"x".repeat(65)),
        tool("twice-1"), tool("twice_1"),
        with("description", json!(" ")), with("parameters", json!([])),
        { "name": "a", "description": "x", "parameters": { "type": "odd" } },
        { "name": "b", "description": "x", "parameters": {}, "kind": "edit", "risk": "low" },
        { "name": "c", "description": "x", "parameters": {}, "risk": "safe" },
        { "name": "d", "description": "x", "parameters": {}, "kind": "edit", "risk": "high" },
    ]);
    let (kind, error) = editor.refused("tools/register", json!({ "tools": bad })).await;
    assert_eq!(kind, "INVALID_PARAMS");
    let violations = error["data"]["details"]["violations"].as_array().unwrap();
    let at: Vec<&str> = violations.iter().map(|it| it["pointer"].as_str().unwrap()).collect();
    assert_eq!(
        at,
        [
            "/tools/0/name",
            "/tools/1/name",
            "/tools/2/name",
            "/tools/3/name",
            "/tools/4/name",
            "/tools/5/name",
            "/tools/6/name",
            "/tools/7/name",
            "/tools/8/name",
            "/tools/9/name",
            "/tools/10/name",
            "/tools/12/name",
            "/tools/13/description",
            "/tools/14/name",
            "/tools/14/parameters",
            "/tools/15/parameters",
            "/tools/16/risk",
            "/tools/17/risk",
        ]
    );
    // Rules and models take these for one of the daemon's own, or of another source.
    for name in [
        "Read_File",
        "Complete-Task",
        "discovered-x",
        "Discovered_x",
        "handoff-to-a",
        "mcp-x",
        "MCP_x",
        "recall_memory",
        "get-state",
        "present_plan",
    ] {
        let (_, error) = editor.refused("tools/register", json!({ "tools": [tool(name)] })).await;
        assert_eq!(error["data"]["details"]["violations"][0]["pointer"], "/tools/0/name", "{name}");
    }
    assert_eq!(
        editor.refused("tools/register", json!({ "tools": [], "sessionId": "none" })).await.0,
        "NOT_FOUND"
    );
    let many: Vec<Value> = (0..101).map(|n| tool(&format!("t{n}"))).collect();
    assert_eq!(editor.refused("tools/register", json!({ "tools": many })).await.0, "INVALID_PARAMS");
    let long = json!([{ "name": "long", "description": "x".repeat(2 << 20), "parameters": {} }]);
    assert_eq!(editor.refused("tools/register", json!({ "tools": long })).await.0, "INVALID_PARAMS");
    let mut stranger = running.client();
    assert_eq!(stranger.refused("tools/register", json!({ "tools": tools() })).await.0, "NOT_INITIALIZED");
    // Nothing of it was taken.
    let listed = stranger.call("tools/list", json!({})).await;
    assert!(!listed.to_string().contains("\"client\""), "{listed}");
    drop((editor, stranger));
    running.stop().await;
}

#[tokio::test]
async fn a_schema_that_would_take_for_ever_is_an_error_and_nobody_waits() {
    let (house, _) = house(&[asks_for_diagnostics()]);
    let running = house.boot().await;
    let mut editor = hello(&running, "editor").await;
    // Each part holds the next one twice: 60 of them are more steps than anybody can wait for.
    let part = |n: usize| json!({ "allOf": vec![json!({ "$ref": format!("#/$defs/d{}", n + 1) }); 2] });
    let mut parts: serde_json::Map<String, Value> = (0..60).map(|n| (format!("d{n}"), part(n))).collect();
    parts.insert("d60".to_owned(), json!({}));
    let schema = json!({ "type": "object", "$defs": parts, "$ref": "#/$defs/d0" });
    let tool = json!({ "name": "diagnostics", "description": "x", "parameters": schema });
    editor.call("tools/register", json!({ "tools": [tool] })).await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "coder", json!({})).await;
    client.ended(&run).await;
    let end = &ends(&running).await[0];
    assert_eq!(
        (kind(end), text(end)),
        (
            "INVALID_TOOL_PARAMS",
            "INVALID_TOOL_PARAMS: the tool's schema makes these arguments too much work to check; give simpler ones"
        )
    );
    drop((client, editor));
    running.stop().await;
}

#[tokio::test]
async fn over_http_nothing_can_be_lent() {
    let (house, _) = house(&[]);
    let running = house.boot().await;
    let socket = running.listen().await;
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/register", "params": { "tools": tools() } })
            .to_string();
    let request = format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("NOT_INITIALIZED") && answer.contains("cannot be lent over HTTP"), "{answer}");
    running.stop().await;
}

#[tokio::test]
async fn a_mutator_asks_like_any_call_of_its_risk_and_is_told_only_then() {
    let (house, _) = house(&[("rename", json!({ "from": "a", "to": "b" }))]);
    let running = house.boot().await;
    let (mut editor, _) = editor(&running, "fail").await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "coder", json!({})).await;
    let waits = |listed: &Value| listed["confirmations"].as_array().is_some_and(|it| !it.is_empty());
    let listed = client.until("confirmation/list", json!({}), waits).await;
    let question = &listed["confirmations"][0];
    assert_eq!((&question["kind"], &question["risk"]), (&json!("other"), &json!("medium")));
    let prompt = question["details"]["prompt"].as_str().unwrap();
    assert_eq!(prompt, "`rename` of the client editor\n{\n  \"from\": \"a\",\n  \"to\": \"b\"\n}");
    let told = |log: &[Value]| log.iter().filter(|event| event["type"] == "tool.clientCall").count();
    assert_eq!(told(&running.log().await), 0);
    let allow = json!({ "confirmationId": question["confirmationId"], "digest": question["digest"], "outcome": "allowOnce" });
    client.call("confirmation/respond", allow).await;
    let asked = asked(&mut editor).await;
    editor.call("tools/result", answer(&asked, "renamed")).await;
    client.ended(&run).await;
    assert_eq!(told(&running.log().await), 1);
    let undone =
        client.call("session/undo", json!({ "sessionId": session, "toCallId": asked["callId"] })).await;
    assert_eq!(undone["notRestorable"][0]["tool"], "rename", "{undone}");
    drop((client, editor));
    running.stop().await;
}

#[tokio::test]
async fn what_is_lent_to_one_session_is_for_that_alone() {
    let (house, _) = house(&[]);
    let running = house.boot().await;
    let mut editor = hello(&running, "editor").await;
    let session = |created: Value| created["sessionId"].as_str().unwrap().to_owned();
    let own = session(editor.call("session/create", json!({ "workspace": running.work() })).await);
    let other = session(editor.call("session/create", json!({ "workspace": running.work() })).await);
    editor.call("tools/register", json!({ "sessionId": own, "tools": tools() })).await;
    for (params, expected) in [
        (json!({ "agent": "coder", "sessionId": own }), 4),
        (json!({ "agent": "coder", "sessionId": other }), 1),
        (json!({ "agent": "coder" }), 1),
    ] {
        let listed = editor.call("tools/list", params.clone()).await;
        assert_eq!(listed["tools"].as_array().unwrap().len(), expected, "{params}: {listed}");
    }
    editor.call("session/close", json!({ "sessionId": own })).await;
    assert_eq!(
        editor.refused("tools/register", json!({ "sessionId": own, "tools": [] })).await.0,
        "SESSION_CLOSED"
    );
    drop(editor);
    running.stop().await;
}

#[tokio::test]
async fn whoever_only_looks_on_at_a_session_lends_it_nothing() {
    let (house, _) = house(&[]);
    let running = house.boot().await;
    let mut owner = running.client();
    let created = owner.call("session/create", json!({ "workspace": running.work() })).await;
    let session = created["sessionId"].as_str().unwrap().to_owned();
    let lent = json!({ "tools": tools() });
    for scope in [session.as_str(), "*"] {
        let mut viewer = hello(&running, "viewer").await;
        viewer.call("session/attach", json!({ "sessionId": scope, "role": "observe" })).await;
        for params in [lent.clone(), json!({ "sessionId": session, "tools": tools() })] {
            assert_eq!(
                viewer.refused("tools/register", params.clone()).await.0,
                "FORBIDDEN",
                "{scope} {params}"
            );
        }
    }
    // Nor what it lent to all before it looked on.
    let mut viewer = hello(&running, "viewer").await;
    viewer.call("tools/register", lent.clone()).await;
    let of_session = json!({ "agent": "coder", "sessionId": session });
    let count = |listed: Value| listed["tools"].as_array().unwrap().len();
    assert_eq!(count(owner.call("tools/list", of_session.clone()).await), 4);
    viewer.call("session/attach", json!({ "sessionId": session, "role": "observe" })).await;
    assert_eq!(count(owner.call("tools/list", of_session.clone()).await), 1);
    // Whoever can be asked there lends, too.
    viewer.call("session/attach", json!({ "sessionId": session, "role": "control" })).await;
    viewer.call("tools/register", lent).await;
    assert_eq!(count(owner.call("tools/list", of_session).await), 4);
    drop((owner, viewer));
    running.stop().await;
}

/// A call that waits for it ends, and it answers none any more.
#[tokio::test]
async fn a_client_that_comes_to_look_on_only_ends_what_it_was_called_for() {
    for on_disconnect in ["wait", "fail"] {
        let (house, _) = house(&[asks_for_diagnostics()]);
        let running = house.boot().await;
        let mut owner = running.client();
        owner.call("session/attach", json!({ "sessionId": "*" })).await;
        let mut editor = hello(&running, "editor").await;
        editor.call("tools/register", json!({ "tools": tools(), "onDisconnect": on_disconnect })).await;
        let (run, session) = owner.start(&running, "coder", json!({})).await;
        let asked = owner.events_until("tool.clientCall").await.pop().unwrap()["data"].clone();
        editor.call("session/attach", json!({ "sessionId": session, "role": "observe" })).await;
        ended(&mut owner, &run).await;
        let end = ends(&running).await.pop().unwrap();
        assert_eq!(kind(&end), "TOOL_NOT_REGISTERED", "{on_disconnect}: {end}");
        assert_eq!(editor.refused("tools/result", answer(&asked, "late")).await.0, "FORBIDDEN");
        drop((owner, editor));
        running.stop().await;
    }
}
