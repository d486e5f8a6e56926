//! Traces that go on beyond the daemon: a client names a span, the run lies in it, and commands are told of theirs.

use std::collections::HashSet;

use serde_json::{Value, json};
use subagentd::protocol::span_of;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    time::timeout,
};

use crate::support::{Cast, Client, House, Reply, Running, STUCK};

const LEAD: &str = "---\nkind: agent\nname: lead\ndescription: Leads.\ncompletion: tool\ntools: [run_shell_command, worker]\n---\nYou lead.\n";
const WORKER: &str = "---\nkind: agent\nname: worker\ndescription: Works.\ncompletion: tool\ntools: [run_shell_command]\n---\nYou work.\n";
const ALLOW: &str = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n";

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn named() -> String {
    format!("00-{TRACE}-{SPAN}-01")
}

/// Says its span, has another run say its own, and is done.
fn house() -> House {
    let says = || ("run_shell_command", json!({ "command": "echo \"span=$TRACEPARENT\"" }));
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[says(), ("worker", json!({ "prompt": "say it" }))]), Reply::done("x")]),
        ("lead/worker", vec![Reply::calls(&[says()]), Reply::done("y")]),
    ]);
    House::new().model("script", &cast).agent("lead", LEAD).agent("worker", WORKER).rules("all", ALLOW)
}

async fn spans(client: &mut Client, run: &str) -> Vec<Value> {
    let page = client.call("trace/get", json!({ "runId": run, "limit": 1_000 })).await;
    page["spans"].as_array().unwrap().clone()
}

/// The spans of commands, each with what the command said of its own.
fn said(spans: &[Value]) -> Vec<(&Value, &str)> {
    let commands = spans.iter().filter(|span| span["name"] == "run_shell_command");
    let said = commands.map(|span| {
        let text = span["output"]["text"].as_str().unwrap();
        (span, text.split("span=").nth(1).unwrap_or_default().split_whitespace().next().unwrap_or_default())
    });
    said.collect()
}

/// The digits that others know a span by.
fn for_others(root: &str, span: &Value) -> String {
    let event = u64::from_str_radix(span["spanId"].as_str().unwrap(), 16).unwrap();
    format!("{:016x}", span_of(&root.into(), event))
}

async fn exported(client: &mut Client, run: &str) -> Vec<Value> {
    let page = client.call("trace/export", json!({ "runId": run, "format": "otlp" })).await;
    let document: Value = serde_json::from_str(page["text"].as_str().unwrap()).unwrap();
    document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

async fn warnings(running: &Running) -> Vec<String> {
    let log = running.log().await;
    let warnings = log.iter().filter(|event| event["type"] == "warning");
    warnings.map(|event| event["data"]["message"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_lies_in_the_span_that_its_client_names_and_commands_in_theirs() {
    let running = house().boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({ "traceparent": named() })).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let spans = spans(&mut client, &run).await;
    assert!(spans.iter().all(|span| span["traceparent"] == json!(named())), "{spans:#?}");
    let said = said(&spans);
    assert_eq!(said.len(), 2);
    for (span, told) in said {
        assert_eq!(told, format!("00-{TRACE}-{}-01", for_others(&run, span)), "{span}");
    }
    let exported = exported(&mut client, &run).await;
    let expected: HashSet<String> = spans.iter().map(|span| for_others(&run, span)).collect();
    let ids = exported.iter().map(|span| span["spanId"].as_str().unwrap().to_owned());
    assert_eq!(ids.collect::<HashSet<String>>(), expected);
    assert!(exported.iter().all(|span| span["traceId"] == TRACE), "{exported:#?}");
    let outer: Vec<&Value> = exported.iter().filter(|span| span["parentSpanId"] == SPAN).collect();
    let [root] = outer[..] else { panic!("{outer:#?}") };
    assert_eq!(root["name"], "invoke_agent lead");
    assert!(exported.iter().all(|span| span["parentSpanId"].is_string()));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_name_or_with_nonsense_for_one_a_run_has_a_trace_of_its_own() {
    let running = house().boot().await;
    let mut client = running.client();
    let (quiet, _) = client.start(&running, "lead", json!({})).await;
    client.ended(&quiet).await;
    assert_eq!(warnings(&running).await, [""; 0]);
    let trace = quiet.replace('-', "");
    for (span, told) in said(&spans(&mut client, &quiet).await) {
        assert_eq!(told, format!("00-{trace}-{}-01", for_others(&quiet, span)));
    }
    for nonsense in ["", "00-1-2-3", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "x\n"] {
        let before = warnings(&running).await.len();
        let (run, _) = client.start(&running, "lead", json!({ "traceparent": nonsense })).await;
        let warnings = warnings(&running).await;
        assert_eq!(warnings.len(), before + 1, "{nonsense:?}: {warnings:?}");
        assert!(warnings.last().unwrap().contains("not a traceparent"), "{warnings:?}");
        client.ended(&run).await;
        let spans = spans(&mut client, &run).await;
        assert!(spans.iter().all(|span| span.get("traceparent").is_none()), "{nonsense:?}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn by_http_a_header_names_the_span_and_the_parameter_goes_before_it() {
    let running = house().boot().await;
    let socket = running.listen().await;
    let mut client = running.client();
    let other = named().replace(SPAN, "1111111111111111");
    for (parameter, expected) in [(None, named()), (Some(other.clone()), other)] {
        let mut params =
            json!({ "workspace": running.work(), "agent": "lead", "model": "script", "prompt": "say it" });
        if let Some(parameter) = parameter {
            params["traceparent"] = json!(parameter);
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "run/start", "params": params }).to_string();
        let mut stream = UnixStream::connect(&socket).await.unwrap();
        let request = format!(
            "POST /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             traceparent: {}\r\nContent-Length: {}\r\n\r\n{body}",
            named(),
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        timeout(STUCK, stream.read_to_string(&mut answer)).await.expect("no end").unwrap();
        let answer: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        let run = answer["result"]["runId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        client.ended(&run).await;
        let spans = spans(&mut client, &run).await;
        assert!(spans.iter().all(|span| span["traceparent"] == json!(expected)), "{spans:#?}");
    }
    running.stop().await;
}
