//! A conversation that goes on with another provider's model, from each to each and between two of a kind: thoughts, calls,
//! results and pictures of one are written so that the other takes them. The servers judge every request.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use subagentd::{
    config::{KeySource, LayeredSetting, ProviderKind, ProviderSettings, SettingLayer},
    models::ModelRegistry,
    sys::children::ChildProcesses,
};

use crate::{
    provider_server::{Answer, KEY, ProviderServer},
    support::House,
};

const READER: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\n\
                      tools: [read_file, glob]\n---\nYou read.\n";
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

/// What each run ends with: with the first provider, with the second, and with the first again.
const RUNS: [&str; 3] = ["begin", "across", "return"];

/// As Gemini's newest are named, which take documents and want each call signed; to the others a name is a name.
const FIRST: &str = "first/gemini-3-pro";
const SECOND: &str = "second/gemini-3-pro";

/// A call as a test writes it: name and arguments.
type Call = (&'static str, Value);

fn chunks(chunks: impl IntoIterator<Item = Value>) -> Answer {
    Answer::chunks(chunks.into_iter().map(|chunk| chunk.to_string()))
}

fn gemini(thought: &str, calls: &[Call]) -> Answer {
    let mut parts = vec![json!({ "text": thought, "thought": true }), json!({ "text": "I look." })];
    for (at, (name, args)) in calls.iter().enumerate() {
        parts.push(json!({ "functionCall": { "id": "odd id: é", "name": name, "args": args } }));
        if at == 0 {
            parts.last_mut().unwrap()["thoughtSignature"] = "c2lnbmVk".into();
        }
    }
    Answer::parts(parts.into())
}

fn openai(thought: &str, calls: &[Call]) -> Answer {
    let chunk = |delta: Value, finish: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    let calls = calls.iter().enumerate().map(|(at, (name, arguments))| {
        // Some servers give all calls of all turns one id.
        json!({ "index": at, "id": "same", "type": "function",
                "function": { "name": name, "arguments": arguments.to_string() } })
    });
    let calls: Vec<Value> = calls.collect();
    chunks([
        chunk(json!({ "reasoning_content": thought, "content": "I look." }), Value::Null),
        chunk(json!({ "tool_calls": calls }), "tool_calls".into()),
    ])
}

fn openai_responses(thought: &str, calls: &[Call]) -> Answer {
    let mut items = vec![
        json!({ "type": "reasoning", "id": format!("rs_{thought}"), "encrypted_content": "gAAA",
                "summary": [{ "type": "summary_text", "text": thought }] }),
        json!({ "type": "message", "id": format!("msg_{thought}"), "role": "assistant", "status": "completed",
                "content": [{ "type": "output_text", "text": "I look.", "annotations": [] }] }),
    ];
    for (at, (name, arguments)) in calls.iter().enumerate() {
        // As long as one may be.
        let id = format!("{:_<63}{at}", format!("call_{thought}"));
        items.push(
            json!({ "type": "function_call", "id": format!("fc_{thought}{at}"), "call_id": id, "name": name,
                           "arguments": arguments.to_string(), "status": "completed" }),
        );
    }
    let done = items
        .iter()
        .enumerate()
        .map(|(at, item)| json!({ "type": "response.output_item.done", "output_index": at, "item": item }));
    chunks(done.chain([json!({ "type": "response.completed", "response": {} })]))
}

fn anthropic(thought: &str, calls: &[Call]) -> Answer {
    let mut blocks = vec![
        (
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
            vec![
                json!({ "type": "thinking_delta", "thinking": thought }),
                json!({ "type": "signature_delta", "signature": "c2lnbmVk" }),
            ],
        ),
        (json!({ "type": "text", "text": "I look." }), vec![]),
    ];
    for (at, (name, input)) in calls.iter().enumerate() {
        let id = format!("toolu_{thought}{at}");
        blocks.push((json!({ "type": "tool_use", "id": id, "name": name, "input": input }), vec![]));
    }
    let mut events = Vec::new();
    for (index, (block, deltas)) in blocks.into_iter().enumerate() {
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        for delta in deltas {
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }));
    chunks(events)
}

const KINDS: [ProviderKind; 4] =
    [ProviderKind::Gemini, ProviderKind::OpenAi, ProviderKind::OpenAiResponses, ProviderKind::Anthropic];

fn answer(kind: ProviderKind, thought: &str, calls: &[Call]) -> Answer {
    match kind {
        ProviderKind::Gemini => gemini(thought, calls),
        ProviderKind::OpenAi => openai(thought, calls),
        ProviderKind::OpenAiResponses => openai_responses(thought, calls),
        ProviderKind::Anthropic => anthropic(thought, calls),
    }
}

async fn server(kind: ProviderKind, script: Vec<Answer>) -> (ProviderServer, ProviderSettings) {
    let server = match kind {
        ProviderKind::Gemini => ProviderServer::gemini(script).await,
        ProviderKind::OpenAi => ProviderServer::openai(true, script).await,
        ProviderKind::OpenAiResponses => ProviderServer::openai_responses(script).await,
        ProviderKind::Anthropic => ProviderServer::anthropic(script).await,
    };
    let path = match kind {
        ProviderKind::OpenAi | ProviderKind::OpenAiResponses => "/v1",
        ProviderKind::Gemini | ProviderKind::Anthropic => "",
    };
    let settings = ProviderSettings {
        kind,
        base_url: Some(format!("{}{path}", server.base_url())),
        key: Some(KeySource::Env("TEST_KEY".to_owned())),
        models: Vec::new(),
        sampling: Default::default(),
    };
    (server, settings)
}

/// What a run asks for: a picture and a list at once, something that goes wrong, then its end.
fn script(kind: ProviderKind, run: &str) -> Vec<Answer> {
    let look: [Call; 3] = [
        // A document for whom it can be shown to, else its text.
        ("read_file", json!({ "path": format!("{run}.pdf") })),
        ("read_file", json!({ "path": format!("{run}.png") })),
        ("glob", json!({ "pattern": format!("{run}*") })),
    ];
    let err: [Call; 1] = [("read_file", json!({ "path": format!("{run}.none") }))];
    let done: [Call; 1] = [("complete_task", json!({ "result": run }))];
    vec![
        answer(kind, &format!("{run}1"), &look),
        answer(kind, &format!("{run}2"), &err),
        answer(kind, &format!("{run}3"), &done),
    ]
}

#[tokio::test]
async fn a_conversation_goes_on_with_the_model_of_another_provider_and_back() {
    let directions = KINDS.into_iter().flat_map(|from| KINDS.into_iter().map(move |to| (from, to)));
    // Two servers may speak alike: what one said of its thoughts is none of the other's.
    for (from, to) in directions {
        let direction = format!("{} to {}", from.as_str(), to.as_str());
        let (first, first_settings) =
            server(from, [script(from, RUNS[0]), script(from, RUNS[2])].concat()).await;
        let (second, second_settings) = server(to, script(to, RUNS[1])).await;
        let entries = [("first", first_settings), ("second", second_settings)].map(|(name, settings)| {
            (name.to_owned(), LayeredSetting { value: Some(settings), origin: SettingLayer::User })
        });
        let mut house = House::new().agent("reader", READER);
        house.models =
            ModelRegistry::configured(&BTreeMap::from(entries), ChildProcesses::default(), |name| {
                (name == "TEST_KEY").then(|| KEY.into())
            });
        let picture = STANDARD.decode(PICTURE).unwrap();
        for run in RUNS {
            std::fs::write(house.work().join(format!("{run}.png")), &picture).unwrap();
            std::fs::write(house.work().join(format!("{run}.pdf")), "%PDF-1.4\nstartxref\n0\n%%EOF\n")
                .unwrap();
        }
        let running = house.boot().await;
        let mut client = running.client();
        let mut session = Value::Null;
        for (model, result) in [FIRST, SECOND, FIRST].into_iter().zip(RUNS) {
            let workspace = session.is_null().then(|| running.work());
            let params = json!({ "model": model, "sessionId": session, "workspace": workspace });
            let (run, of) = client.start(&running, "reader", params).await;
            session = of.into();
            let record = client.ended(&run).await;
            let violations = [first.violations(), second.violations()].concat();
            assert!(violations.is_empty(), "{direction}, {result}:\n{}", violations.join("\n"));
            assert_eq!(record["result"], result, "{direction}: {record}");
        }
        drop(client);
        running.stop().await;
        first.assert_content();
        second.assert_content();
        // All that the other said is there: its texts, its calls, and their results with the picture.
        let asked = first.requests().last().unwrap().body.clone();
        let takes_documents = matches!(from, ProviderKind::Gemini | ProviderKind::Anthropic);
        let documents = if takes_documents { 2 } else { 0 };
        for (what, n) in [("I look.", 8), ("across.none", 2), ("iVBORw0KGgo", 3), ("JVBERi0", documents)] {
            assert!(n <= asked.matches(what).count(), "{direction}: {what}: {asked}");
        }
    }
}
