//! Traces that are sent to a collector: a real daemon, and a receiver on this machine's loopback.

#[path = "../../src/telemetry/tests/receiver.rs"]
pub mod receiver;

use std::{collections::BTreeSet, path::Path};

use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};

use self::receiver::{Answer, Receiver};
use crate::{
    process::{Home, Wire},
    support::{Client, House, Reply, Running, Script},
};

const WRITER: &str = "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: [write_file]\n---\nYou write.\n";
const TOKEN: &str = "t0ken-of-the-collector-9f3a";

/// A reply of a model, as a recording has it.
fn recorded(name: &str, arguments: &Value) -> String {
    let call = json!({ "functionCall": { "name": name, "args": arguments } });
    let candidate = json!({ "content": { "role": "model", "parts": [call] }, "finishReason": "STOP" });
    json!({ "method": "generateContentStream", "response": [{ "candidates": [candidate] }] }).to_string()
        + "\n"
}

/// Starts a run that asks whether it may write, and waits until it asks.
async fn asking(home: &Home, wire: &mut Wire) -> String {
    std::fs::write(home.path("config/subagentd/agents/writer.md"), WRITER).unwrap();
    let recording = home.path("recordings/note.jsonl");
    let replies = recorded("write_file", &json!({ "path": "note.txt", "content": "hello\n" }))
        + &recorded("complete_task", &json!({ "result": "wrote a note" }));
    std::fs::write(&recording, replies).unwrap();
    let model = format!("replay:{}", recording.display());
    let params = json!({ "workspace": home.work(), "agent": "writer", "prompt": "write", "model": model });
    let run = wire.call("run/start", params).await.unwrap()["runId"].as_str().unwrap().to_owned();
    let until = json!({ "runId": run, "timeoutMs": 60_000, "until": ["confirmation"] });
    wire.call("run/wait", until).await.unwrap();
    run
}

async fn allow(wire: &mut Wire, run: &str) {
    let until = json!({ "runId": run, "timeoutMs": 60_000, "until": ["confirmation"] });
    let asked = &wire.call("run/wait", until).await.unwrap()["confirmations"][0];
    let answer = json!({
        "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": "allowOnce",
    });
    wire.call("confirmation/respond", answer).await.unwrap();
    assert_eq!(wire.ended(run).await.unwrap()["reason"], "GOAL");
}

/// Trace and span of each, and of which span it is a part.
fn ids(spans: &[Span]) -> BTreeSet<[String; 3]> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    spans.iter().map(|span| [hex(&span.trace_id), hex(&span.span_id), hex(&span.parent_span_id)]).collect()
}

/// The same of a document that is exported.
fn ids_of_export(page: &Value) -> BTreeSet<[String; 3]> {
    assert!(page.get("nextCursor").is_none());
    let document: Value = serde_json::from_str(page["text"].as_str().unwrap()).unwrap();
    let spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().iter();
    let id = |span: &Value, name: &str| span[name].as_str().unwrap_or_default().to_owned();
    spans.map(|span| ["traceId", "spanId", "parentSpanId"].map(|name| id(span, name))).collect()
}

/// The collector is away at first, the daemon is killed in the middle, and the collector comes back behind another protocol.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_daemon_and_a_collector_that_was_away_lose_no_span() {
    let home = Home::new();
    let away = Receiver::grpc([]).await;
    let (url, port) = (away.url(), away.port);
    drop(away);
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20t0ken-of-the-collector-9f3a"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test"),
    ];
    let served = home.start_with(&variables).await;
    let mut wire = home.connect().await;
    let run = asking(&home, &mut wire).await;
    served.kill().await;
    let served = home.start_with(&variables).await;
    let mut wire = home.connect().await;
    allow(&mut wire, &run).await;
    let receiver = Receiver::on(port, true, [Answer::Grpc(14, None), Answer::Vanish].into()).await;
    let page = wire.call("trace/export", json!({ "runId": run, "format": "otlp" })).await.unwrap();
    let expected = ids_of_export(&page);
    let spans = receiver.until(|spans| expected.is_subset(&ids(spans))).await;
    assert_eq!(ids(&spans), expected);
    // A span that came twice is the same one.
    for span in &spans {
        assert!(spans.iter().all(|it| it.span_id != span.span_id || it == span), "{span:?}");
    }
    let request = receiver.received().pop().unwrap();
    assert_eq!(request.header("authorization"), Some("Bearer t0ken-of-the-collector-9f3a"));
    let resource = format!("{:?}", request.traces().resource_spans[0].resource);
    assert!(
        resource.contains("deployment.environment") && resource.contains("service.instance.id"),
        "{resource}"
    );
    served.stop().await;
    assert!(!home.daemon_log().contains(TOKEN), "{}", home.daemon_log());
}

fn house(settings: &Value) -> House {
    House::new()
        .script(&Script::new([Reply::calls(&[("read_file", json!({ "path": "a.md" }))]), Reply::done("read")]))
        .agent("reader", "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [read_file]\n---\nRead.\n")
        .file("a.md", "fine\n")
        .settings(settings)
}

fn settings(receiver: &Receiver, more: &Value) -> Value {
    let mut otlp = json!({ "endpoint": receiver.url(), "signals": ["traces"] });
    otlp.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "tracing": { "otlp": otlp } })
}

async fn reload(running: &Running, client: &mut Client, path: &Path, settings: &Value) {
    std::fs::write(path, settings.to_string()).unwrap();
    let reloaded = client.call("daemon/reload", json!({})).await;
    assert_eq!(reloaded["problems"], json!([]), "{reloaded}");
    let _stays = running;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_run_waits_for_a_collector_that_is_silent_and_settings_say_where_spans_go() {
    let silent = Receiver::http([Answer::Silence, Answer::Silence]).await;
    let token = json!({ "headers": { "authorization": format!("Bearer {TOKEN}") }, "protocol": "http/json" });
    let house = house(&settings(&silent, &token));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let first = &silent.requests(1).await[0];
    assert_eq!((first.path.as_str(), first.header("content-type")), ("/v1/traces", Some("application/json")));
    assert_eq!(first.header("authorization"), Some(&*format!("Bearer {TOKEN}")));
    // Who reads the settings does not see the token.
    let shown = client.call("config/get", json!({ "keys": ["tracing.otlp.headers"] })).await;
    assert!(!shown.to_string().contains(TOKEN) && shown.to_string().contains("(hidden)"), "{shown}");
    // Somewhere else from now on, with what the first one never took.
    let receiver = Receiver::http([]).await;
    let user = house.sources.files.user.clone();
    reload(&running, &mut client, &user, &settings(&receiver, &json!({}))).await;
    let page = client.call("trace/export", json!({ "runId": run, "format": "otlp" })).await;
    let expected = ids_of_export(&page);
    let spans = receiver.until(|spans| expected.is_subset(&ids(spans))).await;
    assert_eq!((ids(&spans), spans.len()), (expected.clone(), expected.len()));
    // And nowhere.
    reload(&running, &mut client, &user, &json!({})).await;
    let requests = receiver.received().len();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    running.stop().await;
    assert_eq!(receiver.received().len(), requests);
}

/// What an agent's file and the settings keep back is kept back from the collector, and from nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_keeps_its_texts_back_and_settings_keep_all_of_it() {
    let receiver = Receiver::http([]).await;
    let json = json!({ "protocol": "http/json" });
    let quiet = "---\nkind: agent\nname: quiet\ndescription: Reads.\ncompletion: tool\ntools: [read_file]\ntracing: { content: none }\n---\nRead.\n";
    let house = house(&settings(&receiver, &json)).agent("quiet", quiet);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "quiet", json!({ "prompt": "a-prompt-that-stays" })).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let page = client.call("trace/export", json!({ "runId": run, "format": "otlp" })).await;
    assert!(page.to_string().contains("a-prompt-that-stays"), "{page}");
    let expected = ids_of_export(&page);
    receiver.until(|spans| expected.is_subset(&ids(spans))).await;
    for received in receiver.received() {
        let body = String::from_utf8(received.body).unwrap();
        assert!(!body.contains("a-prompt-that-stays") && !body.contains("a.md"), "{body}");
    }
    let mut nowhere = settings(&receiver, &json);
    nowhere["tracing"]["backend"] = json!(["sqlite"]);
    reload(&running, &mut client, &house.sources.files.user.clone(), &nowhere).await;
    let (run, _) = client.start(&running, "reader", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    running.stop().await;
    assert_eq!(ids(&receiver.spans()), expected);
}
