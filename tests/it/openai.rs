//! Whole runs on OpenAI's chat completions, and on servers that speak them without being OpenAI. The server judges every
//! request.

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
                      tools: [read_file, glob]\n---\nYou read.\n";
const TALKER: &str = "---\nkind: agent\nname: talker\ndescription: Talks.\ncompletion: message\ntools: [read_file]\n---\n\
                      You talk.\n";

fn house(server: &ProviderServer, key: Option<KeySource>) -> House {
    let entry = ProviderSettings {
        base_url: Some(format!("{}/v1", server.base_url())),
        key,
        models: vec!["local-*".to_owned()],
        ..ProviderSettings::usual(ProviderKind::OpenAi)
    };
    let entries = BTreeMap::from([(
        "mine".to_owned(),
        LayeredSetting { value: Some(entry), origin: SettingLayer::User },
    )]);
    let mut house = House::new().agent("reader", READER).agent("talker", TALKER).file("a.txt", "hello\n");
    house.models = ModelRegistry::configured(&entries, ChildProcesses::default(), |name| {
        // The second is for OpenAI itself: a server of one's own must never see it.
        matches!(name, "TEST_KEY" | "OPENAI_API_KEY").then(|| KEY.into())
    });
    house
}

fn with_key() -> Option<KeySource> {
    Some(KeySource::Env("TEST_KEY".to_owned()))
}

/// A run to its end, with its record, its log, and what was asked.
async fn run(
    house: House,
    server: ProviderServer,
    agent: &str,
    model: &str,
) -> (Value, Vec<Value>, Vec<Value>) {
    let (house, clock) = house.manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, agent, json!({ "model": model })).await;
    client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    loop {
        let event = client.event().await;
        match event["type"].as_str().unwrap() {
            // Longer than any wait.
            "model.retrying" => clock.advance(Duration::from_secs(60)),
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
    (record, log, asked)
}

fn chunk(delta: Value, finish: Option<&str>) -> String {
    json!({ "id": "x", "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
        .to_string()
}

fn usage(prompt: u64, cached: u64, completion: u64, reasoning: u64) -> String {
    json!({ "choices": [], "usage": {
        "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
        "prompt_tokens_details": { "cached_tokens": cached },
        "completion_tokens_details": { "reasoning_tokens": reasoning },
    } })
    .to_string()
}

fn answer(deltas: impl IntoIterator<Item = Value>, finish: &str) -> Answer {
    let chunks = deltas.into_iter().map(|delta| chunk(delta, None));
    Answer::chunks(chunks.chain([chunk(json!({}), Some(finish)), usage(10, 0, 5, 0), "[DONE]".to_owned()]))
}

fn call(name: &str, arguments: Value) -> Answer {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    answer(
        [json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function", "function": function }] })],
        "tool_calls",
    )
}

fn done() -> Answer {
    call("complete_task", json!({ "result": "finished" }))
}

fn text(text: &str) -> Answer {
    answer([json!({ "content": text })], "stop")
}

#[tokio::test]
async fn thoughts_text_and_parallel_calls_come_in_cut_anywhere_and_go_back_whole() {
    let piece = |index: u32, id: Option<&str>, name: Option<&str>, arguments: &str| json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let first = || {
        Answer::chunks([
            chunk(json!({ "role": "assistant", "content": "", "reasoning_content": "**Plan** é" }), None),
            chunk(json!({ "content": "I read " }), None),
            chunk(json!({ "content": "twice." }), None),
            // Four at once, all with one id.
            chunk(
                json!({ "tool_calls": [piece(0, Some("same"), Some("read_file"), ""), piece(1, Some("same"), Some("glob"), "{\"pattern\":\"*.no")] }),
                None,
            ),
            chunk(
                json!({ "tool_calls": [piece(0, None, None, "{\"file_path\":\"a.txt\",\"limit\":2.0}"), piece(1, None, None, "ne\"}")] }),
                None,
            ),
            chunk(
                json!({ "tool_calls": [piece(2, Some("same"), Some("nothing like that"), "{}"), piece(3, Some("same"), Some("read_file"), "{\"path\": ")] }),
                None,
            ),
            chunk(json!({}), Some("tool_calls")),
            usage(100, 30, 27, 7),
            "[DONE]".to_owned(),
        ])
    };
    let mut told = Vec::new();
    for piece in [1, 7, usize::MAX] {
        let server = ProviderServer::openai(true, [first().pieces_of(piece), done()]).await;
        let house = house(&server, with_key());
        let (record, log, asked) = run(house, server, "reader", "mine/gpt-x").await;
        assert_eq!((record["reason"].as_str(), record["result"].as_str()), (Some("GOAL"), Some("finished")));
        assert_eq!(
            record["usage"],
            json!({ "promptTokens": 110, "cachedTokens": 30, "outputTokens": 25, "thoughtTokens": 7 })
        );
        let messages = asked[1]["messages"].as_array().unwrap();
        let back = messages.iter().find(|message| message["role"] == "assistant").unwrap();
        assert_eq!(
            (&back["content"], &back["reasoning_content"]),
            (&json!("I read twice."), &json!("**Plan** é"))
        );
        assert_eq!(messages.iter().filter(|message| message["role"] == "tool").count(), 4);
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
        thought text="**Plan** é"
        model.completed text="I read twice."
        model.completed text=""
        tool.state name="complete_task" to="success" result="accepted"
        tool.state name="glob" to="success" result="No file matches *.none.\n[this pattern means files directly t"
        tool.state name="nothing like that" to="error" result="TOOL_NOT_REGISTERED: there is no tool `nothing like that`; a" error=TOOL_NOT_REGISTERED
        tool.state name="read_file" to="error" result="INVALID_TOOL_PARAMS: \"{\\\"path\\\": \" is not of type \"object\"" error=INVALID_TOOL_PARAMS
        tool.state name="read_file" to="success" result="hello\n"
    "#]].assert_eq(&told[0]);
}

#[tokio::test]
async fn a_picture_goes_to_the_model_behind_the_results() {
    let picture =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";
    let server =
        ProviderServer::openai(true, [call("read_file", json!({ "path": "dot.png" })), done()]).await;
    let house = house(&server, with_key());
    std::fs::write(house.work().join("dot.png"), STANDARD.decode(picture).unwrap()).unwrap();
    let (record, _, asked) = run(house, server, "reader", "mine/gpt-x").await;
    assert_eq!(record["reason"], "GOAL");
    let messages = asked[1]["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    assert_eq!(last["role"], "user");
    let url = last["content"][1]["image_url"]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/png;base64,iVBOR"), "{url}");
}

#[tokio::test]
async fn a_server_of_ones_own_wants_no_key_and_is_sent_none() {
    let server = ProviderServer::openai(false, [text("Hello.")]).await;
    let house = house(&server, None);
    let (record, _, asked) = run(house, server, "talker", "local-qwen").await;
    assert_eq!((record["reason"].as_str(), record["result"].as_str()), (Some("GOAL"), Some("Hello.")));
    assert_eq!((&record["model"], &asked[0]["model"]), (&json!("mine/local-qwen"), &json!("local-qwen")));
}

#[tokio::test]
async fn whatever_goes_wrong_passes_or_is_told() {
    let error = |status: u16, message: &str, kind: &str| {
        let error = json!({ "error": { "message": message, "type": kind, "param": null, "code": null } });
        Answer::status(status, error.to_string()).header("content-type", "application/json")
    };
    let half = || answer([json!({ "content": "Hal" }), json!({ "content": "f an é" })], "stop");
    let passing = [
        ("429 with a hint", error(429, "slow", "requests").header("retry-after", "7")),
        ("408", error(408, "slow", "x")),
        ("409 is none of ours but", error(500, "oops", "server_error")),
        ("502 of a proxy", Answer::status(502, "<html><title>Bad gateway</title></html>")),
        ("529", error(529, "overloaded", "overloaded_error")),
        (
            "an error in the stream",
            Answer::chunks([json!({ "error": { "message": "x", "type": "server_error" } }).to_string()]),
        ),
        ("the end before its reason", Answer::chunks([chunk(json!({ "content": "x" }), None)])),
        ("cut in a letter", half().first_bytes(260).then_cut()),
        ("empty choices alone", Answer::chunks([usage(1, 0, 0, 0), "[DONE]".to_owned()])),
        ("nothing said", answer([], "stop")),
    ];
    for (name, answer) in passing {
        let server = ProviderServer::openai(true, [answer, text("Well.")]).await;
        let house = house(&server, with_key());
        let (record, log, _) = run(house, server, "talker", "mine/m").await;
        assert_eq!(record["result"], "Well.", "{name}: {record}");
        assert_eq!(log.iter().filter(|event| event["type"] == "model.retrying").count(), 1, "{name}");
    }
    let mut told = String::new();
    let last = [
        error(400, "Unsupported value: 'temperature'", "invalid_request_error"),
        error(401, &format!("Incorrect API key provided: {KEY}."), "invalid_request_error"),
        error(403, "not here", "x"),
        error(404, "The model `m` does not exist", "invalid_request_error"),
        error(413, "too large", "x"),
        Answer::status(404, r#"{"error":"model \"m\" not found, try pulling it first"}"#),
        answer([json!({ "content": "x" })], "content_filter"),
        answer([json!({ "refusal": "I will not." })], "stop"),
    ];
    for answer in last {
        let server = ProviderServer::openai(true, [answer]).await;
        let house = house(&server, with_key());
        let (record, _, _) = run(house, server, "talker", "mine/m").await;
        told.push_str(&format!(
            "{} {}\n",
            record["error"]["code"],
            without_counts(&record["error"]["message"])
        ));
    }
    expect![[r#"
        "MODEL_FAILED" "the provider answered 400 Bad Request: Unsupported value: 'temperature' (invalid_request_error)"
        "PROVIDER_AUTH" "the provider answered 401 Unauthorized: Incorrect API key provided: [key]. (invalid_request_error) (provider entry `mine`, key from the variable TEST_KEY)"
        "PROVIDER_AUTH" "the provider answered 403 Forbidden: not here (x) (provider entry `mine`, key from the variable TEST_KEY)"
        "MODEL_FAILED" "the provider answered 404 Not Found: The model `m` does not exist (invalid_request_error)"
        "CONTEXT_OVERFLOW" "the provider answered 413 Payload Too Large: too large (x)"
        "MODEL_FAILED" "the provider answered 404 Not Found: model \"m\" not found, try pulling it first"
        "MODEL_FAILED" "the model refused to answer: content_filter"
        "MODEL_FAILED" "the model refused to answer: I will not."
    "#]].assert_eq(&told);
    // All was said before the connection broke.
    let server = ProviderServer::openai(true, [text("Whole.").then_cut()]).await;
    let house = house(&server, with_key());
    assert_eq!(run(house, server, "talker", "mine/m").await.0["result"], "Whole.");
}

#[tokio::test]
async fn a_server_that_counts_nothing_is_estimated_so_that_limits_hold() {
    let mut n = 0;
    let uncounted = move |_: &_| {
        n += 1;
        let arguments = json!({ "path": "a.txt", "offset": n }).to_string();
        let function = json!({ "name": "read_file", "arguments": arguments });
        let call = json!({ "index": 0, "id": format!("call_{n}"), "type": "function", "function": function });
        let chunks = [chunk(json!({ "tool_calls": [call] }), None), chunk(json!({}), Some("tool_calls"))];
        Answer::chunks(chunks.into_iter().chain(["[DONE]".to_owned()]))
    };
    let server = ProviderServer::openai_thinking(uncounted).await;
    let mut house = house(&server, with_key());
    house.config.run.max_tokens.value = Some(3_000);
    let (record, log, asked) = run(house, server, "reader", "mine/local-1").await;
    assert_eq!(record["reason"], "BUDGET", "{record}");
    assert!((2..20).contains(&asked.len()), "{}", asked.len());
    let counted = log.iter().filter(|event| event["type"] == "model.completed");
    let counted: Vec<&Value> = counted.map(|event| &event["data"]).collect();
    assert!(counted.iter().all(|data| data["estimated"] == true), "{counted:?}");
    assert!(3_000 <= record["usage"]["promptTokens"].as_u64().unwrap(), "{record}");

    // What is asked beside the turns costs as well.
    let mut n = 0;
    let uncounted = move |_: &_| {
        n += 1;
        let said =
            if n == 1 { "It is blue." } else { r#"{"reasoning": "It is done.", "next_speaker": "user"}"# };
        let chunks = [chunk(json!({ "content": said }), None), chunk(json!({}), Some("stop"))];
        Answer::chunks(chunks.into_iter().chain(["[DONE]".to_owned()]))
    };
    let server = ProviderServer::openai_thinking(uncounted).await;
    let mut house = self::house(&server, with_key());
    house.config.models.small.value = Some("mine/local-1".into());
    house.config.next_speaker_check.value = true;
    let (record, log, asked) = run(house, server, "talker", "mine/local-1").await;
    assert_eq!((record["reason"].as_str(), asked.len()), (Some("GOAL"), 2), "{record}");
    let completed = log.iter().find(|event| event["type"] == "sideCall.completed").unwrap();
    assert_eq!(completed["data"]["estimated"], true, "{completed}");
    assert!(50 < completed["data"]["usage"]["promptTokens"].as_u64().unwrap(), "{completed}");
}
