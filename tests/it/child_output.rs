//! Does a client that shows tool calls only see the runs work that answer them, whenever it joined? (Spec 03,
//! "Subagent calls"; 01, "Deltas".)

use std::sync::Arc;

use futures_util::stream::BoxStream;
use serde_json::{Value, json};
use subagentd::{
    models::{LanguageModel, ModelError, ModelEvent, ModelRequest},
    protocol::{FinishReason, Risk, ToolKind},
};
use tokio::time::timeout;

use crate::{
    laws::{self, Attached, Deltas},
    probe::{Probe, ProbeHandle},
    support::{Client, House, Reply, STUCK, Script},
};

const LEAD: &str =
    "---\nkind: agent\nname: lead\ndescription: Leads.\ncompletion: tool\ntools: [reader]\n---\nYou lead.\n";
const READER: &str =
    "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [probe]\n---\nYou read.\n";

/// Two scripts, since runs of one tree share a model: the reader's for the runs below, the lead's for the root.
struct Family {
    lead: Script,
    reader: Script,
}

impl LanguageModel for Family {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let is_below = request.path.contains('/');
        if is_below { self.reader.stream(request) } else { self.lead.stream(request) }
    }
}

fn thinks(thought: &str, calls: &[(&str, Value)]) -> Reply {
    let calls = calls.iter().map(|(name, arguments)| ((*name).to_owned(), arguments.clone())).collect();
    Reply::Says { chunks: Vec::new(), thought: Some(thought.to_owned()), calls, finish: FinishReason::Stop }
}

/// A lead that calls a reader, which thinks, waits in a probe, thinks, waits, thinks and is done.
fn house() -> (House, ProbeHandle, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let (probe, handle, began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let waits = [("probe", json!({ "do": "wait" }))];
    let reader = Script::new([
        thinks("**Look** at the door.", &waits),
        thinks("**Öffne** sie.", &waits),
        thinks("That was 簡単\nNothing more.", &[("complete_task", json!({ "result": "open" }))]),
    ]);
    let lead = Script::new([
        thinks("I ask.", &[("reader", json!({ "prompt": "open it" }))]),
        Reply::done("it is open"),
    ]);
    let mut house = House::new().agent("lead", LEAD).agent("reader", READER).tool(probe);
    house.models = house.models.with_model("script", Arc::new(Family { lead, reader }));
    (house, handle, began)
}

const WHOLE: &str = "Look\nÖffne\nThat was 簡単\n";

/// What a client puts together for the one call that is answered by a run.
fn output_of(envelopes: &[Value]) -> String {
    let mut output = String::new();
    for envelope in envelopes {
        let data = &envelope["data"];
        if envelope["type"] == "signal.snapshot" {
            let items = data["openItems"].as_array().unwrap();
            let item = items.iter().find(|item| item["callId"].is_string());
            output = item.map(|item| item["text"].as_str().unwrap().to_owned()).unwrap_or_default();
        }
        if envelope["type"] == "tool.output" {
            output.truncate(usize::try_from(data["offset"].as_u64().unwrap()).unwrap());
            output.push_str(data["text"].as_str().unwrap());
        }
    }
    output
}

async fn read_output(client: &mut Client, envelopes: &mut Vec<Value>, wanted: &str) {
    while output_of(envelopes) != wanted {
        envelopes.push(client.event().await);
    }
}

async fn read_to_end(client: &mut Client, envelopes: &mut Vec<Value>, run: &str) {
    while !envelopes.iter().any(|it| it["type"] == "run.completed" && it["runId"] == run) {
        envelopes.push(client.event().await);
    }
}

fn check(attached: Attached, envelopes: &[Value]) {
    let checked = laws::check_subscription(attached, Deltas::Some, envelopes);
    checked.unwrap_or_else(|broken| panic!("{attached:?}: {}", broken.join("\n")));
}

fn attach(session: &str, from: Value) -> Value {
    json!({ "sessionId": session, "from": from, "deltas": true })
}

fn newest(envelopes: &[Value]) -> i64 {
    envelopes.iter().rev().find_map(|it| it["seq"].as_i64()).unwrap()
}

#[tokio::test]
async fn latecomers_and_those_who_come_back_after_a_restart_get_the_whole_output() {
    let (house, handle, mut began) = house();
    let running = house.boot().await;
    let mut first = running.client();
    let (run, session) = first.start(&running, "lead", json!({})).await;
    first.call("session/attach", attach(&session, json!("start"))).await;
    let mut before = Vec::new();
    read_output(&mut first, &mut before, "Look\n").await;
    timeout(STUCK, began.recv()).await.unwrap();

    // Another joins in the middle: its snapshot has what there is, and under which call.
    let mut late = running.client();
    late.call("session/attach", attach(&session, json!("now"))).await;
    let mut late_saw = vec![late.event().await];
    assert_eq!(output_of(&late_saw), "Look\n");
    let calls = &late_saw[0]["data"]["openCalls"];
    let items = &late_saw[0]["data"]["openItems"];
    assert_eq!((&items[0]["callId"], &items[0]["runId"]), (&calls[0]["callId"], &json!(run)), "{items}");

    handle.release.add_permits(1);
    timeout(STUCK, began.recv()).await.unwrap();
    read_output(&mut first, &mut before, "Look\nÖffne\n").await;
    read_output(&mut late, &mut late_saw, "Look\nÖffne\n").await;
    check(Attached::After(0), &before);
    check(Attached::Now, &late_saw);
    drop((first, late));
    running.stop_unfinished().await;

    // The next process takes both runs up, and the same text comes out again.
    let running = house.boot().await;
    timeout(STUCK, began.recv()).await.unwrap();
    let cursor = newest(&before);
    let mut again = running.client();
    again.call("session/attach", attach(&session, json!(cursor))).await;
    let mut after = Vec::new();
    read_output(&mut again, &mut after, "Look\nÖffne\n").await;
    let mut latest = running.client();
    latest.call("session/attach", attach(&session, json!("now"))).await;
    let mut latest_saw = vec![latest.event().await];
    assert_eq!(output_of(&latest_saw), "Look\nÖffne\n");

    handle.release.add_permits(1);
    read_to_end(&mut again, &mut after, &run).await;
    read_to_end(&mut latest, &mut latest_saw, &run).await;
    check(Attached::After(cursor), &after);
    check(Attached::Now, &latest_saw);
    let log = running.log().await;
    laws::check_delivery(&log, 0, &[before, after.clone()].concat()).unwrap();
    let end = log.iter().find(|event| event["data"]["output"].is_string()).expect("no event has the output");
    assert_eq!((&end["data"]["to"], &end["data"]["output"]), (&json!("success"), &json!(WHOLE)));
    // The lead was asked again after the call's end was absorbed.
    let call = end["data"]["callId"].as_str().unwrap();
    assert!(running.daemon.store().live().get(call).is_none(), "the text is still open");
    assert_eq!(output_of(&after), WHOLE);
    assert_eq!(output_of(&latest_saw), WHOLE);

    // Who reads about it when all is over gets it the same way, and who wants no deltas gets none.
    let mut reader = running.client();
    reader.call("session/attach", attach(&session, json!("start"))).await;
    let mut read = Vec::new();
    read_to_end(&mut reader, &mut read, &run).await;
    check(Attached::After(0), &read);
    assert_eq!(output_of(&read), WHOLE);
    let mut plain = running.client();
    plain.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    let mut facts = Vec::new();
    read_to_end(&mut plain, &mut facts, &run).await;
    assert_eq!(laws::check_subscription(Attached::After(0), Deltas::Off, &facts), Ok(()));
    running.stop().await;
}

#[tokio::test]
async fn a_stopped_call_keeps_what_it_has_put_out() {
    let (house, _handle, mut began) = house();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "lead", json!({})).await;
    client.call("session/attach", attach(&session, json!("start"))).await;
    let mut saw = Vec::new();
    read_output(&mut client, &mut saw, "Look\n").await;
    timeout(STUCK, began.recv()).await.unwrap();
    let mut canceller = running.client();
    canceller.call("run/cancel", json!({ "runId": run })).await;
    read_to_end(&mut client, &mut saw, &run).await;
    check(Attached::After(0), &saw);
    let end = saw.iter().find(|event| event["data"]["output"].is_string()).expect("no event has the output");
    assert_eq!((&end["data"]["to"], &end["data"]["output"]), (&json!("cancelled"), &json!("Look\n")));
    running.stop().await;
}
