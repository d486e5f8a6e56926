//! Whole runs on OpenAI's responses. The server judges every request.

use std::{collections::BTreeMap, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use expect_test::expect;
use serde_json::{Value, json};
use subagentd::{
    config::{KeySource, LayeredSetting, ProviderKind, ProviderSettings, SettingLayer},
    models::ModelRegistry,
    sys::children::ChildProcesses,
};

use crate::{
    provider_server::{Answer, KEY, ProviderServer},
    support::{House, lines, without_counts},
};

const READER: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\n\
                      tools: [read_file, glob]\nmodel:\n  maxOutputTokens: 5\n---\nYou read.\n";
const TALKER: &str = "---\nkind: agent\nname: talker\ndescription: Talks.\ncompletion: message\ntools: [read_file]\n---\n\
                      You talk.\n";

fn house(server: &ProviderServer) -> House {
    let entry = ProviderSettings {
        kind: ProviderKind::OpenAiResponses,
        base_url: Some(format!("{}/v1", server.base_url())),
        key: Some(KeySource::Env("TEST_KEY".to_owned())),
        models: Vec::new(),
        sampling: Default::default(),
    };
    let entries = BTreeMap::from([(
        "mine".to_owned(),
        LayeredSetting { value: Some(entry), origin: SettingLayer::User },
    )]);
    // Nothing of the folders is told: the input has the history alone.
    let house = House::new().agent("reader", READER).agent("talker", TALKER).file(".gitignore", "*\n");
    let mut house = house.file("a.txt", "hello\n");
    house.models = ModelRegistry::configured(&entries, ChildProcesses::default(), |name| {
        (name == "TEST_KEY").then(|| KEY.into())
    });
    house
}

/// What a run left behind.
struct Ran {
    record: Value,
    log: Vec<Value>,
    asked: Vec<Value>,
    /// How long each wait was before it was asked again, in milliseconds.
    waits: Vec<u128>,
}

/// A run to its end.
async fn run(server: ProviderServer, house: House, agent: &str) -> Ran {
    let (house, clock) = house.manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, agent, json!({ "model": "mine/gpt-x" })).await;
    client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    let mut waits = Vec::new();
    loop {
        let event = client.event().await;
        match event["type"].as_str().unwrap() {
            "model.retrying" => {
                let time = |value: &Value| humantime::parse_rfc3339(value.as_str().unwrap()).unwrap();
                let until = time(&event["data"]["notBefore"]);
                waits.push(until.duration_since(time(&event["at"])).unwrap_or_default().as_millis());
                // Longer than any wait.
                clock.advance(Duration::from_secs(70));
            }
            "run.completed" => break,
            _ => (),
        }
    }
    let record = client.ended(&run).await;
    let log = running.log().await;
    assert!(!serde_json::to_string(&log).unwrap().contains(KEY), "the log shows the key");
    drop(client);
    running.stop().await;
    server.assert_content();
    let asked = server.requests().iter().map(|asked| serde_json::from_str(&asked.body).unwrap()).collect();
    Ran { record, log, asked, waits }
}

/// The run of a script on a house of its own.
async fn run_of(agent: &str, script: impl IntoIterator<Item = Answer>) -> Ran {
    let server = ProviderServer::openai_responses(script).await;
    let house = house(&server);
    run(server, house, agent).await
}

fn usage() -> Value {
    json!({
        "input_tokens": 100, "input_tokens_details": { "cached_tokens": 30 },
        "output_tokens": 27, "output_tokens_details": { "reasoning_tokens": 7 }, "total_tokens": 127,
    })
}

/// The events of a response that puts these items out, each with the pieces it came in, up to its end.
fn events(items: &[(Value, Vec<Value>)]) -> Vec<Value> {
    let mut events =
        vec![json!({ "type": "response.created", "response": { "id": "resp_1", "output": [] } })];
    for (index, (item, pieces)) in items.iter().enumerate() {
        let mut begun = item.clone();
        for (field, empty) in [("content", json!([])), ("summary", json!([])), ("arguments", json!(""))] {
            if begun.get(field).is_some() {
                begun[field] = empty;
            }
        }
        events.push(json!({ "type": "response.output_item.added", "output_index": index, "item": begun }));
        for piece in pieces {
            let mut piece = piece.clone();
            piece["output_index"] = index.into();
            events.push(piece);
        }
        events.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
    }
    events
}

fn ended(items: &[(Value, Vec<Value>)], kind: &str, details: Value) -> Answer {
    let output: Vec<&Value> = items.iter().map(|(item, _)| item).collect();
    let mut events = events(items);
    events.push(json!({ "type": kind, "response": {
        "id": "resp_1", "output": output, "incomplete_details": details, "usage": usage(),
    } }));
    Answer::chunks(events.iter().map(Value::to_string))
}

fn completed(items: &[(Value, Vec<Value>)]) -> Answer {
    ended(items, "response.completed", Value::Null)
}

fn thought(id: &str, pieces: &[&str]) -> (Value, Vec<Value>) {
    let delta = |piece: &&str| json!({ "type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": piece });
    let summary = json!([{ "type": "summary_text", "text": pieces.concat() }]);
    let item = json!({ "type": "reasoning", "id": id, "encrypted_content": format!("enc-{id}"), "summary": summary });
    (item, pieces.iter().map(delta).collect())
}

fn message(id: &str, pieces: &[&str]) -> (Value, Vec<Value>) {
    let delta =
        |piece: &&str| json!({ "type": "response.output_text.delta", "content_index": 0, "delta": piece });
    let content =
        json!([{ "type": "output_text", "text": pieces.concat(), "annotations": [], "logprobs": [] }]);
    let item = json!({ "type": "message", "id": id, "role": "assistant", "status": "completed", "content": content });
    (item, pieces.iter().map(delta).collect())
}

fn call(id: &str, name: &str, pieces: &[&str]) -> (Value, Vec<Value>) {
    let delta = |piece: &&str| json!({ "type": "response.function_call_arguments.delta", "delta": piece });
    let item = json!({
        "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
        "arguments": pieces.concat(), "status": "completed",
    });
    (item, pieces.iter().map(delta).collect())
}

fn text(text: &str) -> Answer {
    completed(&[message("msg_1", &[text])])
}

fn done() -> Answer {
    completed(&[call("call_done", "complete_task", &[r#"{"result": "finished"}"#])])
}

#[tokio::test]
async fn thoughts_text_and_parallel_calls_come_in_cut_anywhere_and_go_back_as_they_were() {
    let first = || {
        completed(&[
            thought("rs_1", &["**Plan** ", "é"]),
            message("msg_0", &["I read ", "twice."]),
            call("call_1", "read_file", &["", "{\"file_path\":\"a.t", "xt\",\"limit\":2.0}"]),
            thought("rs_2", &["more"]),
            call("call_2", "glob", &["{\"pattern\": \"*.none\"}"]),
            call("call_3", "nothing_like_that", &["{", "}"]),
            call("call_4", "read_file", &["{\"path\": \"a.txt\", \"offset\": \"no\"}"]),
        ])
    };
    let mut told = Vec::new();
    for piece in [1, 7, usize::MAX] {
        let Ran { record, log, asked, .. } = run_of("reader", [first().pieces_of(piece), done()]).await;
        assert_eq!((record["reason"].as_str(), record["result"].as_str()), (Some("GOAL"), Some("finished")));
        assert_eq!(
            record["usage"],
            json!({ "promptTokens": 200, "cachedTokens": 60, "outputTokens": 40, "thoughtTokens": 14 })
        );
        assert_eq!(
            (&asked[0]["max_output_tokens"], asked[0]["instructions"].is_string()),
            (&json!(16), true)
        );
        let back: Vec<String> = asked[1]["input"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| {
                format!("{} {}", item["type"].as_str().unwrap(), item["call_id"].as_str().unwrap_or_default())
            })
            .collect();
        assert_eq!(
            back,
            [
                "message ",
                "reasoning ",
                "message ",
                "function_call call_1",
                "reasoning ",
                "function_call call_2",
                "function_call call_3",
                "function_call call_4",
                "function_call_output call_1",
                "function_call_output call_2",
                "function_call_output call_3",
                "function_call_output call_4",
            ]
        );
        let is_said = |event: &&Value| event["type"] == "model.completed" || event["type"] == "thought";
        let is_end = |event: &&Value| matches!(event["data"]["to"].as_str(), Some("success" | "error"));
        let said: Vec<Value> = log.iter().filter(is_said).cloned().collect();
        let ends: Vec<Value> = log.iter().filter(is_end).cloned().collect();
        let mut ends: Vec<String> = lines(&ends).lines().map(str::to_owned).collect();
        // Which of two reads is faster does not matter.
        ends.sort_unstable();
        told.push(format!("{}{}\n", lines(&said), ends.join("\n")));
    }
    assert!(told.iter().all(|it| *it == told[0]), "{told:?}");
    expect![[r#"
        thought text="**Plan** émore"
        model.completed text="I read twice."
        model.completed text=""
        tool.state name="complete_task" to="success" result="accepted"
        tool.state name="glob" to="success" result="No file matches *.none.\n[this pattern means files directly t"
        tool.state name="nothing_like_that" to="error" result="TOOL_NOT_REGISTERED: there is no tool `nothing_like_that`; a" error=TOOL_NOT_REGISTERED
        tool.state name="read_file" to="error" result="INVALID_TOOL_PARAMS: /offset: \"no\" is not of type \"integer\"" error=INVALID_TOOL_PARAMS
        tool.state name="read_file" to="success" result="hello\n"
    "#]].assert_eq(&told[0]);
}

#[tokio::test]
async fn arguments_that_are_no_object_are_answered_and_go_back_so_that_they_can_be_read() {
    // Without ids of items: the judge would want those as they were.
    let broken = |id: &str, arguments: &str| {
        let (mut item, pieces) = call(id, "read_file", &[arguments]);
        item.as_object_mut().unwrap().remove("id");
        (item, pieces)
    };
    let first = completed(&[broken("call_1", "{\"path\": "), broken("call_2", "[1]")]);
    let Ran { record, log, asked, .. } = run_of("reader", [first, done()]).await;
    assert_eq!(record["reason"], "GOAL");
    assert_eq!(log.iter().filter(|event| event["data"]["to"] == "error").count(), 2, "{}", lines(&log));
    assert_eq!(asked[1]["input"][1]["arguments"], r#"{"arguments":"{\"path\": "}"#);
    assert_eq!(asked[1]["input"][2]["arguments"], r#"{"arguments":[1]}"#);
}

#[tokio::test]
async fn calls_under_one_id_are_told_apart() {
    let first = completed(&[
        thought("rs_1", &["hm"]),
        call("same", "glob", &["{\"pattern\":\"*\"}"]),
        call("same", "read_file", &["{\"path\":\"a.txt\"}"]),
    ]);
    let Ran { record, asked, .. } = run_of("reader", [first, done()]).await;
    assert_eq!(record["reason"], "GOAL");
    assert_eq!(asked[1]["input"].as_array().unwrap().len(), 5, "{}", asked[1]["input"]);
}

#[tokio::test]
async fn a_picture_goes_to_the_model_within_the_result() {
    let picture =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";
    let calls = [call("call_1", "read_file", &[r#"{"path": "dot.png"}"#])];
    let server = ProviderServer::openai_responses([completed(&calls), done()]).await;
    let house = house(&server);
    std::fs::write(house.work().join("dot.png"), STANDARD.decode(picture).unwrap()).unwrap();
    let Ran { record, asked, .. } = run(server, house, "reader").await;
    assert_eq!(record["reason"], "GOAL");
    let output = &asked[1]["input"][2]["output"];
    assert_eq!(output[0]["type"], "input_text");
    let url = output[1]["image_url"].as_str().unwrap();
    assert!(url.starts_with("data:image/png;base64,iVBOR"), "{url}");
}

#[tokio::test]
async fn an_answer_cut_by_the_output_limit_is_continued_once() {
    let cut = |items: &[(Value, Vec<Value>)]| {
        ended(items, "response.incomplete", json!({ "reason": "max_output_tokens" }))
    };
    // Thoughts alone, text alone, both.
    let halves: [&[(Value, Vec<Value>)]; 3] = [
        &[thought("rs_1", &["hm"])],
        &[message("msg_7", &["It is"])],
        &[thought("rs_1", &["hm"]), message("msg_7", &["It is"])],
    ];
    for half in halves {
        let Ran { record, .. } = run_of("talker", [cut(half), text(" so.")]).await;
        assert_eq!(record["reason"], "GOAL", "{record}");
    }
    let half = [message("msg_7", &["It is"])];
    let Ran { record, .. } = run_of("talker", [cut(&half), cut(&half)]).await;
    assert_eq!(record["error"]["code"], "MODEL_FAILED");
}

fn error(status: u16, message: &str, kind: &str, code: Value) -> Answer {
    let error = json!({ "error": { "message": message, "type": kind, "param": null, "code": code } });
    Answer::status(status, error.to_string()).header("content-type", "application/json")
}

/// A response that breaks off with this event.
fn then(event: Value) -> Answer {
    let mut events = events(&[message("msg_1", &["Half"])]);
    events.push(event);
    Answer::chunks(events.iter().map(Value::to_string))
}

#[tokio::test]
async fn whatever_passes_is_asked_again() {
    let failed = |code: &str| json!({ "type": "response.failed", "response": { "error": { "code": code, "message": "x" } } });
    let passing = [
        ("408", error(408, "slow", "x", Value::Null)),
        ("500", error(500, "oops", "server_error", Value::Null)),
        ("502 of a proxy", Answer::status(502, "<html><title>Bad gateway</title></html>")),
        ("503", error(503, "overloaded", "service_unavailable_error", Value::Null)),
        ("a failure in the stream", then(failed("server_error"))),
        (
            "a failure without a reason",
            then(json!({ "type": "response.failed", "response": { "error": null } })),
        ),
        ("an error in the stream", then(json!({ "type": "error", "code": "server_error", "message": "x" }))),
        (
            "an error within one",
            then(json!({ "type": "error", "error": { "type": "server_error", "message": "x" } })),
        ),
        ("the end before its reason", then(json!({ "type": "response.in_progress" }))),
        ("cut in a letter", text("Half an é").first_bytes(300).then_cut()),
        ("nothing said", completed(&[])),
        ("only thoughts", completed(&[thought("rs_1", &["hm"])])),
        ("a call of nothing", completed(&[call("call_1", "", &["{}"])])),
        ("no event", Answer::stream("")),
    ];
    for (name, answer) in passing {
        let Ran { record, waits, .. } = run_of("talker", [answer, text("Well.")]).await;
        assert_eq!(record["result"], "Well.", "{name}: {record}");
        assert_eq!(waits.len(), 1, "{name}");
    }
    // All was said before the connection broke.
    let Ran { record, waits, .. } = run_of("talker", [text("Whole.").then_cut()]).await;
    assert_eq!((record["result"].as_str(), waits.len()), (Some("Whole."), 0));
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_kept_to() {
    let limited = |message: &str| error(429, message, "tokens", json!("rate_limit_exceeded"));
    let failed = json!({ "type": "response.failed", "response": { "error": {
        "code": "rate_limit_exceeded", "message": "Limit 30000. Please try again in 41.5s. Visit us." } } });
    let cases = [
        (limited("slow").header("retry-after", "47"), 47_000),
        (limited("slow").header("retry-after", "43.5"), 43_500),
        (
            limited("slow")
                .header("date", "Sun, 22 Nov 2026 10:00:00 GMT")
                .header("retry-after", "Sun, 22 Nov 2026 10:01:01 GMT"),
            61_000,
        ),
        (limited("slow").header("retry-after-ms", "44100").header("retry-after", "44"), 44_100),
        (limited("Please try again in 1m2s."), 62_000),
        (limited("Please try again in 1s.").header("retry-after", "45"), 45_000),
        (then(failed), 41_500),
    ];
    for (answer, expected) in cases {
        let shown = format!("{answer:?}");
        let Ran { record, waits, .. } = run_of("talker", [answer, text("Well.")]).await;
        assert_eq!(
            (record["result"].as_str(), waits.as_slice()),
            (Some("Well."), &[expected][..]),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn what_does_not_pass_is_told() {
    let failed = |code: &str, message: &str| {
        then(
            json!({ "type": "response.failed", "response": { "error": { "code": code, "message": message } } }),
        )
    };
    let refusal = (
        json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [{ "type": "refusal", "refusal": "I will not." }] }),
        vec![json!({ "type": "response.refusal.delta", "content_index": 0, "delta": "I will not." })],
    );
    let filtered = ended(
        &[message("msg_1", &["x"]), call("call_1", "read_file", &["{}"])],
        "response.incomplete",
        json!({ "reason": "content_filter" }),
    );
    let cases = [
        error(
            400,
            "Unsupported parameter: 'temperature'",
            "invalid_request_error",
            json!("unsupported_parameter"),
        ),
        error(
            401,
            &format!("Incorrect API key provided: {KEY}."),
            "invalid_request_error",
            json!("invalid_api_key"),
        ),
        error(403, "not here", "x", Value::Null),
        error(404, "The model `m` does not exist", "invalid_request_error", json!("model_not_found")),
        error(413, "too large", "x", Value::Null),
        failed("invalid_prompt", "usage policy"),
        failed("image_parse_error", "no picture"),
        then(
            json!({ "type": "error", "error": { "type": "invalid_request_error", "code": "context_length_exceeded", "message": "too long" } }),
        ),
        filtered,
        completed(&[refusal]),
    ];
    let mut told = String::new();
    for answer in cases {
        let Ran { record, .. } = run_of("talker", [answer]).await;
        told.push_str(&format!(
            "{} {}\n",
            record["error"]["code"],
            without_counts(&record["error"]["message"])
        ));
    }
    expect![[r#"
        "MODEL_FAILED" "the provider answered 400 Bad Request: Unsupported parameter: 'temperature' (invalid_request_error)"
        "PROVIDER_AUTH" "the provider answered 401 Unauthorized: Incorrect API key provided: [key]. (invalid_request_error) (provider entry `mine`, key from the variable TEST_KEY)"
        "PROVIDER_AUTH" "the provider answered 403 Forbidden: not here (x) (provider entry `mine`, key from the variable TEST_KEY)"
        "MODEL_FAILED" "the provider answered 404 Not Found: The model `m` does not exist (invalid_request_error)"
        "CONTEXT_OVERFLOW" "the provider answered 413 Payload Too Large: too large (x)"
        "MODEL_FAILED" "the provider failed in the middle of the response: usage policy"
        "MODEL_FAILED" "the provider failed in the middle of the response: no picture"
        "CONTEXT_OVERFLOW" "the provider failed in the middle of the response: too long (invalid_request_error)"
        "MODEL_FAILED" "the model refused to answer: content_filter"
        "MODEL_FAILED" "the model refused to answer: I will not."
    "#]].assert_eq(&told);
}
