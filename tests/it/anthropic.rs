//! Whole runs on Anthropic's messages. The server judges every request.

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
                      tools: [read_file, glob]\nmodel:\n  thinkingBudget: 2000\n---\nYou read.\n";
const TALKER: &str = "---\nkind: agent\nname: talker\ndescription: Talks.\ncompletion: message\ntools: [read_file]\n---\n\
                      You talk.\n";

fn house(server: &ProviderServer) -> House {
    let entry = ProviderSettings {
        base_url: Some(server.base_url()),
        key: Some(KeySource::Env("TEST_KEY".to_owned())),
        ..ProviderSettings::usual(ProviderKind::Anthropic)
    };
    let entries = BTreeMap::from([(
        "mine".to_owned(),
        LayeredSetting { value: Some(entry), origin: SettingLayer::User },
    )]);
    let mut house = House::new().agent("reader", READER).agent("talker", TALKER).file("a.txt", "hello\n");
    house.models = ModelRegistry::configured(&entries, ChildProcesses::default(), |name| {
        (name == "TEST_KEY").then(|| KEY.into())
    });
    house
}

/// A run to its end, with its record, its log, and what was asked.
async fn run(house: House, server: ProviderServer, agent: &str) -> (Value, Vec<Value>, Vec<Value>) {
    let (house, clock) = house.manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, agent, json!({ "model": "mine/claude-haiku-4-5" })).await;
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

/// An answer with these blocks, each as what it begins with and its deltas.
fn blocks(blocks: &[(Value, Vec<Value>)], stop_reason: &str) -> Answer {
    let mut events = vec![json!({ "type": "message_start", "message": { "usage": {
        "input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 70, "output_tokens": 1,
    } } })];
    for (index, (block, deltas)) in blocks.iter().enumerate() {
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.push(json!({ "type": "ping" }));
        events.extend(
            deltas
                .iter()
                .map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop_reason }, "usage": { "output_tokens": 5 } }));
    events.push(json!({ "type": "message_stop" }));
    Answer::chunks(events.iter().map(Value::to_string))
}

fn tool_use(id: &str, name: &str, pieces: &[&str]) -> (Value, Vec<Value>) {
    let delta = |piece: &&str| json!({ "type": "input_json_delta", "partial_json": piece });
    (json!({ "type": "tool_use", "id": id, "name": name, "input": {} }), pieces.iter().map(delta).collect())
}

fn text(text: &str) -> Answer {
    let delta = json!({ "type": "text_delta", "text": text });
    blocks(&[(json!({ "type": "text", "text": "" }), vec![delta])], "end_turn")
}

fn done() -> Answer {
    blocks(&[tool_use("toolu_done", "complete_task", &[r#"{"result": "finished"}"#])], "tool_use")
}

#[tokio::test]
async fn thoughts_text_and_parallel_calls_come_in_cut_anywhere_and_go_back_signed() {
    let first = || {
        let thought = |text: &str| json!({ "type": "thinking_delta", "thinking": text });
        let said = |text: &str| json!({ "type": "text_delta", "text": text });
        let signature = json!({ "type": "signature_delta", "signature": "c2lnbmVk" });
        blocks(
            &[
                (
                    json!({ "type": "thinking", "thinking": "", "signature": "" }),
                    vec![thought("**Plan** "), thought("é"), signature],
                ),
                (json!({ "type": "redacted_thinking", "data": "b3BhcXVl" }), vec![]),
                (json!({ "type": "text", "text": "" }), vec![said("I read "), said("twice.")]),
                tool_use("toolu_1", "read_file", &["", "{\"file_path\":\"a.t", "xt\",\"limit\":2.0}"]),
                tool_use("toolu_2", "glob", &["{\"pattern\": \"*.none\"}"]),
                tool_use("toolu_3", "nothing_like_that", &[]),
                tool_use("toolu_4", "read_file", &["{\"path\": "]),
            ],
            "tool_use",
        )
    };
    let mut told = Vec::new();
    for piece in [1, 7, usize::MAX] {
        let server = ProviderServer::anthropic([first().pieces_of(piece), done()]).await;
        let house = house(&server);
        let (record, log, asked) = run(house, server, "reader").await;
        assert_eq!((record["reason"].as_str(), record["result"].as_str()), (Some("GOAL"), Some("finished")));
        assert_eq!(
            record["usage"],
            json!({
                "promptTokens": 200, "cachedTokens": 140, "cacheWriteTokens": 40, "outputTokens": 10,
                "thoughtTokens": 0,
            })
        );
        let back = &asked[1]["messages"][1]["content"];
        let kinds: Vec<&str> =
            back.as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect();
        assert_eq!(
            kinds,
            ["thinking", "redacted_thinking", "text", "tool_use", "tool_use", "tool_use", "tool_use"]
        );
        assert_eq!(asked[0]["thinking"]["budget_tokens"], 2_000);
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
        tool.state name="nothing_like_that" to="error" result="TOOL_NOT_REGISTERED: there is no tool `nothing_like_that`; a" error=TOOL_NOT_REGISTERED
        tool.state name="read_file" to="error" result="INVALID_TOOL_PARAMS: \"{\\\"path\\\": \" is not of type \"object\"" error=INVALID_TOOL_PARAMS
        tool.state name="read_file" to="success" result="hello\n"
    "#]].assert_eq(&told[0]);
}

#[tokio::test]
async fn pictures_and_documents_go_to_the_model_within_the_result() {
    let picture =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";
    let calls = [
        tool_use("toolu_1", "read_file", &[r#"{"path": "dot.png"}"#]),
        tool_use("toolu_2", "read_file", &[r#"{"path": "page.pdf"}"#]),
    ];
    let server = ProviderServer::anthropic([blocks(&calls, "tool_use"), done()]).await;
    let house = house(&server).file("page.pdf", "%PDF-1.4\nstartxref\n0\n%%EOF\n");
    std::fs::write(house.work().join("dot.png"), STANDARD.decode(picture).unwrap()).unwrap();
    let (record, _, asked) = run(house, server, "reader").await;
    assert_eq!(record["reason"], "GOAL");
    let results = &asked[1]["messages"][2]["content"];
    assert_eq!(results[0]["content"][1]["source"]["media_type"], "image/png");
    assert_eq!(results[1]["content"][1]["type"], "document");
}

#[tokio::test]
async fn whatever_goes_wrong_passes_or_is_told() {
    let error = |status: u16, kind: &str, message: &str| {
        let error = json!({ "type": "error", "error": { "type": kind, "message": message } });
        Answer::status(status, error.to_string()).header("content-type", "application/json")
    };
    let overloaded =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let passing = [
        ("429 with a hint", error(429, "rate_limit_error", "slow").header("retry-after", "7")),
        ("408", error(408, "x", "slow")),
        ("500", error(500, "api_error", "oops")),
        ("502 of a proxy", Answer::status(502, "<html><title>Bad gateway</title></html>")),
        ("529", error(529, "overloaded_error", "Overloaded")),
        ("an error in the stream", Answer::chunks([overloaded.to_string()])),
        ("cut in a letter", text("Half an é").first_bytes(420).then_cut()),
        ("the end before its reason", text("Half").first_bytes(460)),
        ("nothing said", blocks(&[], "end_turn")),
    ];
    for (name, answer) in passing {
        let server = ProviderServer::anthropic([answer, text("Well.")]).await;
        let house = house(&server);
        let (record, log, _) = run(house, server, "talker").await;
        assert_eq!(record["result"], "Well.", "{name}: {record}");
        assert_eq!(log.iter().filter(|event| event["type"] == "model.retrying").count(), 1, "{name}");
    }
    let mut told = String::new();
    let last = [
        error(400, "invalid_request_error", "max_tokens: too large"),
        error(401, "authentication_error", &format!("invalid x-api-key {KEY}")),
        error(403, "permission_error", "not here"),
        error(404, "not_found_error", "model: claude-x"),
        error(413, "request_too_large", "too large"),
        blocks(&[(json!({ "type": "text", "text": "x" }), vec![])], "refusal"),
    ];
    for answer in last {
        let server = ProviderServer::anthropic([answer]).await;
        let house = house(&server);
        let (record, _, _) = run(house, server, "talker").await;
        told.push_str(&format!(
            "{} {}\n",
            record["error"]["code"],
            without_counts(&record["error"]["message"])
        ));
    }
    expect![[r#"
        "MODEL_FAILED" "the provider answered 400 Bad Request: max_tokens: too large (invalid_request_error)"
        "PROVIDER_AUTH" "the provider answered 401 Unauthorized: invalid x-api-key [key] (authentication_error) (provider entry `mine`, key from the variable TEST_KEY)"
        "PROVIDER_AUTH" "the provider answered 403 Forbidden: not here (permission_error) (provider entry `mine`, key from the variable TEST_KEY)"
        "MODEL_FAILED" "the provider answered 404 Not Found: model: claude-x (not_found_error)"
        "CONTEXT_OVERFLOW" "the provider answered 413 Payload Too Large: too large (request_too_large)"
        "MODEL_FAILED" "the model refused to answer: refusal"
    "#]].assert_eq(&told);
    // All was said before the connection broke.
    let server = ProviderServer::anthropic([text("Whole.").then_cut()]).await;
    let house = house(&server);
    assert_eq!(run(house, server, "talker").await.0["result"], "Whole.");
}

#[tokio::test]
async fn an_answer_may_be_no_longer_than_what_the_request_leaves_of_the_window() {
    let server = ProviderServer::anthropic([done()]).await;
    let long = "word ".repeat(4_000);
    let mut house =
        house(&server).agent("worker", &format!("{}\n{long}\n", READER.replace("reader", "worker")));
    house.config.models.context_window.value.insert("claude-*".to_owned(), 10_000);
    let (record, _, asked) = run(house, server, "worker").await;
    assert_eq!(record["reason"], "GOAL", "{record}");
    let most = asked[0]["max_tokens"].as_u64().unwrap();
    // Four letters are about a token.
    assert!((2_048..5_000).contains(&most), "{most}");
    assert!(asked[0]["thinking"]["budget_tokens"].as_u64().unwrap() < most);
}
