//! Whole runs on Gemini's API, through the daemon: what a user with a key relies on. The server judges every request.

use std::{collections::BTreeMap, time::Duration};

use expect_test::expect;
use serde_json::{Value, json};
use subagentd::{
    config::{KeySource, LayeredSetting, ProviderKind, ProviderSettings, SettingLayer},
    models::ModelRegistry,
    sys::{children::ChildProcesses, clock::ManualClock},
};

use tokio::time::timeout;

use crate::{
    provider_server::{Answer, KEY, ProviderServer},
    support::{Client, House, Running, lines},
};

const READER: &str = "---
kind: agent
name: reader
description: Reads.
completion: tool
tools: [read_file, glob]
---
You read.
";

const TALKER: &str = "---
kind: agent
name: talker
description: Talks.
completion: message
tools: [read_file]
---
You talk.
";

const MODEL: &str = "test/gemini-2.5-flash";

fn settings(base_url: String) -> BTreeMap<String, LayeredSetting<Option<ProviderSettings>>> {
    let entry = ProviderSettings {
        base_url: Some(base_url),
        key: Some(KeySource::Env("TEST_KEY".to_owned())),
        ..ProviderSettings::usual(ProviderKind::Gemini)
    };
    BTreeMap::from([("test".to_owned(), LayeredSetting { value: Some(entry), origin: SettingLayer::User })])
}

/// A house whose models come from the server.
fn house(server: &ProviderServer) -> House {
    let mut house = House::new().agent("reader", READER).agent("talker", TALKER).file("a.txt", "hello\n");
    house.models =
        ModelRegistry::configured(&settings(server.base_url()), ChildProcesses::default(), |name| {
            (name == "TEST_KEY").then(|| KEY.into())
        });
    house
}

/// A daemon with one client.
struct Scene {
    server: ProviderServer,
    running: Running,
    client: Client,
    clock: std::sync::Arc<ManualClock>,
}

impl Scene {
    async fn open(script: impl IntoIterator<Item = Answer>) -> Scene {
        let server = ProviderServer::gemini(script).await;
        let (house, clock) = house(&server).manual_clock();
        let running = house.boot().await;
        let client = running.client();
        Scene { server, running, client, clock }
    }

    async fn start(&mut self, agent: &str, more: Value) -> String {
        let mut params = json!({ "model": MODEL });
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        self.client.start(&self.running, agent, params).await.0
    }

    /// Attaches to the newest session, and lets time pass whenever the run waits to ask again, until the run ends.
    /// Answers how long each wait was.
    async fn wait_out(&mut self, session: &str) -> Vec<Duration> {
        self.client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
        let mut waits = Vec::new();
        loop {
            let event = self.client.event().await;
            match event["type"].as_str().unwrap() {
                "model.retrying" => {
                    let wait = until(&event["data"]["notBefore"], &event["at"]);
                    waits.push(wait);
                    self.clock.advance(wait + Duration::from_millis(1));
                }
                "run.completed" => return waits,
                _ => (),
            }
        }
    }

    /// Ends the daemon; all requests must have been good, the script used up, and nothing may show the key.
    async fn close(self) -> Vec<Value> {
        let log = self.running.log().await;
        assert!(!serde_json::to_string(&log).unwrap().contains(KEY), "the log shows the key");
        self.running.stop().await;
        self.server.assert_content();
        log
    }
}

fn until(later: &Value, earlier: &Value) -> Duration {
    let time = |value: &Value| humantime::parse_rfc3339(value.as_str().unwrap()).unwrap();
    time(later).duration_since(time(earlier)).unwrap_or_default()
}

/// The run of a script to its end, with its record and log.
async fn run_of(
    agent: &str,
    more: Value,
    script: impl IntoIterator<Item = Answer>,
) -> (Value, Vec<Value>, Vec<Duration>) {
    let mut scene = Scene::open(script).await;
    let mut params = json!({ "model": MODEL });
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    let (run, session) = scene.client.start(&scene.running, agent, params).await;
    let waits = scene.wait_out(&session).await;
    let record = scene.client.ended(&run).await;
    (record, scene.close().await, waits)
}

fn messages(log: &[Value], kind: &str) -> Vec<String> {
    let events = log.iter().filter(|event| event["type"] == kind);
    events.map(|event| event["data"]["message"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn thoughts_text_and_parallel_calls_come_in_and_go_back_signed() {
    let first = [
        r#"{"candidates":[{"content":{"parts":[{"text":"**Plan** é","thought":true}],"role":"model"}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"I read ","thoughtSignature":"dGV4dA=="}],"role":"model"}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"twice."},{ "functionCall":{"args":{"file_path": "a.txt","limit":2.0},"name":"read_file","id":"same"},"thoughtSignature":"c2lnbmVk"},{"functionCall":{"name":"glob","args":{"pattern":"*.none"},"id":"same"}},{"functionCall":{"name":"no such tool!"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":30,"candidatesTokenCount":20,"thoughtsTokenCount":7}}"#,
    ];
    let mut told = Vec::new();
    for piece in [1, 7, usize::MAX] {
        let script = [Answer::chunks(first).pieces_of(piece), Answer::done("finished")];
        let (record, log, _) = run_of("reader", json!({}), script).await;
        assert_eq!((record["reason"].as_str(), record["result"].as_str()), (Some("GOAL"), Some("finished")));
        assert_eq!(
            record["usage"],
            json!({ "promptTokens": 110, "cachedTokens": 30, "outputTokens": 25, "thoughtTokens": 7 })
        );
        let is_said = |event: &&Value| event["type"] == "model.completed" || event["type"] == "thought";
        let is_end = |event: &&Value| matches!(event["data"]["to"].as_str(), Some("success" | "error"));
        let said: Vec<Value> = log.iter().filter(is_said).cloned().collect();
        let ends: Vec<Value> = log.iter().filter(is_end).cloned().collect();
        // Which of two reads is faster does not matter.
        let mut ends: Vec<String> = lines(&ends).lines().map(str::to_owned).collect();
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
        tool.state name="no such tool!" to="error" result="TOOL_NOT_REGISTERED: there is no tool `no such tool!`; allow" error=TOOL_NOT_REGISTERED
        tool.state name="read_file" to="success" result="hello\n"
    "#]].assert_eq(&told[0]);
}

#[tokio::test]
async fn a_conversation_ends_with_its_text() {
    let chunks = [
        r#"{"candidates":[{"content":{"parts":[{"text":"Hello "}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"world."}]},"finishReason":"STOP"}]}"#,
    ];
    // As some proxies end it: without the blank line after the last event.
    let mut body = chunks.map(|chunk| format!(": ping\n\ndata: {chunk}")).join("\n\n");
    body.push('\n');
    let (record, _, _) = run_of("talker", json!({}), [Answer::stream(body)]).await;
    assert_eq!((record["reason"].as_str(), record["result"].as_str()), (Some("GOAL"), Some("Hello world.")));
}

#[tokio::test]
async fn arguments_that_are_no_object_are_answered_and_the_run_goes_on() {
    let odd = json!([
        { "functionCall": { "name": "read_file", "args": "a.txt" } },
        { "functionCall": { "name": "read_file", "args": [1] } },
        { "functionCall": { "name": "read_file" } },
        { "functionCall": { "name": "complete_task", "args": { "result": 5 } } },
    ]);
    let (record, log, _) = run_of("reader", json!({}), [Answer::parts(odd), Answer::done("ok")]).await;
    assert_eq!(record["reason"], "GOAL");
    let failed = log.iter().filter(|event| event["data"]["to"] == "error").count();
    assert_eq!(failed, 4, "{}", lines(&log));
}

#[tokio::test]
async fn a_limit_leads_to_a_well_formed_grace_turn() {
    let script = [
        Answer::call("read_file", json!({ "path": "a.txt" })),
        Answer::parts(
            json!([{ "text": "I " }, { "functionCall": { "name": "complete_task", "args": { "result": "part" } } }]),
        ),
    ];
    let (record, _, _) = run_of("reader", json!({ "limits": { "maxTurns": 1 } }), script).await;
    assert_eq!(
        (record["reason"].as_str(), record["recoveredFrom"].as_str()),
        (Some("GOAL"), Some("MAX_TURNS"))
    );
    // Text without a call is a stop, too.
    let script = [Answer::parts(json!([{ "text": "Done, I think." }])), Answer::done("really")];
    let (record, _, _) = run_of("reader", json!({}), script).await;
    assert_eq!(record["recoveredFrom"], "ERROR_NO_COMPLETE_TASK_CALL");
}

#[tokio::test]
async fn a_run_out_of_time_is_asked_once_more() {
    let half = r#"{"candidates":[{"content":{"parts":[{"text":"Half an "},{"text":"th","thought":true}]}}]}"#;
    let mut scene = Scene::open([Answer::chunks([half]).then_stall(), Answer::done("in time")]).await;
    let run = scene.start("reader", json!({ "limits": { "maxTimeMs": 60_000 } })).await;
    scene.server.asked(1).await;
    // Whatever of the half was read by now: the next request is judged either way.
    scene.clock.advance(Duration::from_secs(61));
    let record = scene.client.ended(&run).await;
    assert_eq!(
        (record["reason"].as_str(), record["recoveredFrom"].as_str()),
        (Some("GOAL"), Some("TIMEOUT"))
    );
    scene.server.hung_up(1).await;
    scene.close().await;
}

#[tokio::test]
async fn an_answer_cut_by_the_output_limit_is_continued_once() {
    let cut = || Answer::finished(json!([{ "text": "It is" }]), "MAX_TOKENS");
    let (record, _, _) =
        run_of("talker", json!({}), [cut(), Answer::parts(json!([{ "text": " so." }]))]).await;
    assert_eq!(record["reason"], "GOAL");
    let (record, _, _) = run_of("talker", json!({}), [cut(), cut()]).await;
    assert_eq!(record["error"]["code"], "MODEL_FAILED");
    // Thoughts alone used up the limit.
    let thoughts = Answer::finished(json!([{ "text": "hm", "thought": true }]), "MAX_TOKENS");
    let (record, _, _) =
        run_of("talker", json!({}), [thoughts, Answer::parts(json!([{ "text": "So." }]))]).await;
    assert_eq!(record["reason"], "GOAL");
}

#[tokio::test]
async fn a_withheld_answer_ends_the_run_with_the_providers_words() {
    let blocked = r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#;
    let calls =
        json!([{ "text": "I" }, { "functionCall": { "name": "read_file", "args": { "path": "a.txt" } } }]);
    let cases = [
        (Answer::finished(calls, "SAFETY"), "the model refused to answer: SAFETY"),
        (Answer::chunks([blocked]), "the model refused to answer: PROHIBITED_CONTENT"),
    ];
    for (answer, expected) in cases {
        let (record, _, _) = run_of("reader", json!({}), [answer]).await;
        assert_eq!(record["error"], json!({ "code": "MODEL_FAILED", "message": expected }));
    }
}

#[tokio::test]
async fn refusals_that_stay_end_the_run_at_once() {
    let invalid =
        json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID" }]);
    // As the stream's own last word.
    let within = |code: u16, status: &str, details: Value| {
        let text = r#"{"candidates":[{"content":{"parts":[{"text":"Well, "}]}}]}"#.to_owned();
        let error = json!({ "code": code, "message": "no", "status": status, "details": details });
        Answer::chunks([text, json!({ "error": error }).to_string()])
    };
    let cases = [
        within(400, "INVALID_ARGUMENT", json!([])),
        within(400, "INVALID_ARGUMENT", invalid.clone()),
        within(403, "PERMISSION_DENIED", json!([])),
        within(404, "NOT_FOUND", json!([])),
        Answer::error(400, "INVALID_ARGUMENT", "contents.parts must not be empty", json!([])),
        Answer::error(400, "INVALID_ARGUMENT", &format!("API key not valid: {KEY}"), invalid),
        Answer::error(401, "UNAUTHENTICATED", "who?", json!([])),
        Answer::error(403, "PERMISSION_DENIED", "not you", json!([])),
        Answer::error(404, "NOT_FOUND", "models/gemini-9 is not found", json!([])),
        Answer::status(302, "").header("location", "http://127.0.0.1:1/elsewhere"),
    ];
    let mut told = String::new();
    for answer in cases {
        let (record, _, _) = run_of("reader", json!({}), [answer]).await;
        told.push_str(&format!("{}\n", record["error"]));
    }
    expect![[r#"
        {"code":"MODEL_FAILED","message":"the provider failed in the middle of the response: no (INVALID_ARGUMENT)"}
        {"code":"PROVIDER_AUTH","message":"the provider failed in the middle of the response: no (INVALID_ARGUMENT) (provider entry `test`, key from the variable TEST_KEY)"}
        {"code":"PROVIDER_AUTH","message":"the provider failed in the middle of the response: no (PERMISSION_DENIED) (provider entry `test`, key from the variable TEST_KEY)"}
        {"code":"MODEL_FAILED","message":"the provider failed in the middle of the response: no (NOT_FOUND)"}
        {"code":"MODEL_FAILED","message":"the provider answered 400 Bad Request: contents.parts must not be empty (INVALID_ARGUMENT)"}
        {"code":"PROVIDER_AUTH","message":"the provider answered 400 Bad Request: API key not valid: [key] (INVALID_ARGUMENT) (provider entry `test`, key from the variable TEST_KEY)"}
        {"code":"PROVIDER_AUTH","message":"the provider answered 401 Unauthorized: who? (UNAUTHENTICATED) (provider entry `test`, key from the variable TEST_KEY)"}
        {"code":"PROVIDER_AUTH","message":"the provider answered 403 Forbidden: not you (PERMISSION_DENIED) (provider entry `test`, key from the variable TEST_KEY)"}
        {"code":"MODEL_FAILED","message":"the provider answered 404 Not Found: models/gemini-9 is not found (NOT_FOUND)"}
        {"code":"MODEL_FAILED","message":"the provider answered 302 Found; redirects are not followed, since the key would travel on: set `baseUrl`"}
    "#]].assert_eq(&told);
}

#[tokio::test]
async fn passing_refusals_are_asked_again_when_the_provider_says() {
    let delay = json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "40.5s" }]);
    let page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
    let script = [
        Answer::error(429, "RESOURCE_EXHAUSTED", "slow down", delay),
        Answer::status(502, page).header("content-type", "text/html"),
        Answer::error(503, "UNAVAILABLE", "overloaded", json!([])).header("retry-after", "50"),
        Answer::error(500, "INTERNAL", "oops", json!([])),
        Answer::done("at last"),
    ];
    let (record, log, waits) = run_of("reader", json!({}), script).await;
    assert_eq!(record["result"], "at last");
    assert_eq!(
        messages(&log, "model.retrying"),
        [
            "the provider answered 429 Too Many Requests: slow down (RESOURCE_EXHAUSTED)",
            "the provider answered 502 Bad Gateway",
            "the provider answered 503 Service Unavailable: overloaded (UNAVAILABLE)",
            "the provider answered 500 Internal Server Error: oops (INTERNAL)",
        ]
    );
    assert_eq!((waits[0], waits[2]), (Duration::from_millis(40_500), Duration::from_secs(50)));
    assert!(waits[1] <= Duration::from_secs(2) && waits[3] <= Duration::from_secs(8), "{waits:?}");
}

#[tokio::test]
async fn five_tries_are_all_and_three_when_the_replies_are_no_use() {
    let down = || Answer::status(503, "down");
    let (record, _, waits) = run_of("reader", json!({}), [down(), down(), down(), down(), down()]).await;
    assert_eq!(
        record["error"]["message"],
        "the provider answered 503 Service Unavailable: down (after 5 tries)"
    );
    assert_eq!(waits.len(), 4);
    let empty = || Answer::parts(json!([]));
    let (record, _, waits) = run_of("reader", json!({}), [empty(), empty(), empty()]).await;
    assert_eq!(record["error"]["message"], "the response is empty (after 3 tries)");
    assert_eq!(waits.len(), 2);
}

#[tokio::test]
async fn a_wait_that_the_run_has_no_time_for_is_not_begun() {
    let hint = |seconds: u32| Answer::status(429, "quota").header("retry-after", &seconds.to_string());
    let limits = json!({ "limits": { "maxTimeMs": 60_000 } });
    let (record, log, _) = run_of("reader", limits, [hint(90), Answer::done("what I have")]).await;
    assert_eq!(
        (record["result"].as_str(), record["recoveredFrom"].as_str()),
        (Some("what I have"), Some("TIMEOUT"))
    );
    assert_eq!(
        messages(&log, "run.stopping"),
        [
            "the provider answered 429 Too Many Requests: quota (asking again in 90.0 s would be after the run's time limit)"
        ]
    );
    // No quota for the day: nobody waits for that.
    let (record, _, _) = run_of("reader", json!({}), [hint(40_000)]).await;
    assert_eq!(
        record["error"]["message"],
        "the provider answered 429 Too Many Requests: quota (the provider asks to wait 40000 s)"
    );
}

#[tokio::test]
async fn whatever_breaks_a_response_it_is_asked_for_again() {
    let text = r#"{"candidates":[{"content":{"parts":[{"text":"größe"}]}}]}"#;
    let whole = format!("data: {text}\n\n");
    let inside_character = whole.find('ö').unwrap() + 1;
    let error = r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#;
    let malformed = r#"{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#;
    let broken = [
        ("early end", Answer::chunks([text])),
        ("nothing", Answer::stream("")),
        ("empty candidate", Answer::chunks([r#"{"candidates":[{}]}"#])),
        ("malformed call", Answer::chunks([malformed])),
        ("inside a character, cleanly", Answer::stream(whole.clone()).first_bytes(inside_character)),
        ("inside a character", Answer::stream(whole.clone()).first_bytes(inside_character).then_cut()),
        ("cut", Answer::chunks([text]).then_cut()),
        ("inside an event", Answer::stream(whole.clone()).first_bytes(20)),
        ("garbage", Answer::stream("data: <html>\n\n")),
        ("no UTF-8", Answer::stream(*b"data: \xff\xfe\n\n")),
        ("no events", Answer::stream("<html></html>")),
        ("an error within", Answer::chunks([text, error])),
    ];
    let mut told = String::new();
    for (name, answer) in broken {
        let (record, log, _) = run_of("reader", json!({}), [answer, Answer::done("whole")]).await;
        assert_eq!(record["result"], "whole", "{name}");
        let retrying: Vec<&Value> = log.iter().filter(|event| event["type"] == "model.retrying").collect();
        assert_eq!(retrying.len(), 1, "{name}");
        told.push_str(&format!("{name}: {}\n", retrying[0]["data"]["message"].as_str().unwrap()));
    }
    expect![[r#"
        early end: the response ended without a finish reason
        nothing: the response has no events; it is text/event-stream
        empty candidate: the response ended without a finish reason
        malformed call: the response is malformed: MALFORMED_FUNCTION_CALL
        inside a character, cleanly: the response is cut or broken: an event of the stream is not UTF-8
        inside a character: the connection to 127.0.0.1 broke in the middle of the response: unexpected EOF during chunk size line
        cut: the connection to 127.0.0.1 broke in the middle of the response: unexpected EOF during chunk size line
        inside an event: the response has an event that is not Gemini's: EOF while parsing a value at line 1 column 14
        garbage: the response has an event that is not Gemini's: expected value at line 1 column 1
        no UTF-8: the response is cut or broken: an event of the stream is not UTF-8
        no events: the response has no events; it is text/event-stream
        an error within: the provider failed in the middle of the response: The model is overloaded. (UNAVAILABLE)
    "#]].assert_eq(&told);
}

#[tokio::test]
async fn silence_is_given_up_after_two_minutes() {
    let text = r#"{"candidates":[{"content":{"parts":[{"text":"Well, "}]}}]}"#;
    let mut scene = Scene::open([Answer::chunks([text]).then_stall(), Answer::done("awake")]).await;
    let params = json!({ "model": MODEL, "limits": { "maxTimeMs": 86_400_000 } });
    let (run, session) = scene.client.start(&scene.running, "reader", params).await;
    scene
        .client
        .call("session/attach", json!({ "sessionId": session, "from": "start", "deltas": true }))
        .await;
    scene.client.events_until("model.textDelta").await;
    // The text has come; that the run waits for more is not to be seen from here, so time passes until it has.
    while timeout(Duration::from_millis(20), scene.server.hung_up(1)).await.is_err() {
        scene.clock.advance(Duration::from_secs(121));
    }
    let event = scene.client.events_until("model.retrying").await.pop().unwrap();
    assert_eq!(event["data"]["message"], "the model was silent for 120 s");
    assert_eq!(event["data"]["discarded"], true);
    scene.clock.advance(Duration::from_secs(31));
    assert_eq!(scene.client.ended(&run).await["result"], "awake");
    scene.close().await;
}

/// Proxies keep connections open. The reply is there and was paid for.
#[tokio::test]
async fn a_whole_reply_counts_although_its_stream_stays_open() {
    let call = json!({ "functionCall": { "name": "complete_task", "args": { "result": "whole" } } });
    let finish =
        json!({ "candidates": [{ "content": { "parts": [call] }, "finishReason": "STOP" }] }).to_string();
    // Some send the count by itself.
    let usage = json!({ "usageMetadata": { "promptTokenCount": 7, "candidatesTokenCount": 3 } }).to_string();
    let mut scene = Scene::open([Answer::chunks([finish, usage]).then_stall()]).await;
    // The clock stands still, so that no run gives up for silence.
    let run = scene.start("reader", json!({})).await;
    let record = scene.client.ended(&run).await;
    assert_eq!((record["reason"].as_str(), record["result"].as_str()), (Some("GOAL"), Some("whole")));
    assert_eq!(record["usage"]["promptTokens"], 7);
    scene.server.hung_up(1).await;
    let log = scene.close().await;
    assert!(messages(&log, "model.retrying").is_empty());
}

#[tokio::test]
async fn a_cancel_drops_the_connection() {
    let text = r#"{"candidates":[{"content":{"parts":[{"text":"Well, "}]}}]}"#;
    for answer in [Answer::chunks([text]).then_stall(), Answer::stream("").then_stall()] {
        let mut scene = Scene::open([answer]).await;
        let run = scene.start("reader", json!({})).await;
        scene.server.asked(1).await;
        scene.client.call("run/cancel", json!({ "runId": run })).await;
        scene.server.hung_up(1).await;
        assert_eq!(scene.client.ended(&run).await["reason"], "ABORTED");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_provider_that_is_down_is_told_by_its_address() {
    // Bound and dropped: nobody listens there.
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let (mut house, clock) = House::new().agent("reader", READER).manual_clock();
    house.models = ModelRegistry::configured(
        &settings(format!("http://127.0.0.1:{port}")),
        ChildProcesses::default(),
        |_| Some(KEY.into()),
    );
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "reader", json!({ "model": MODEL })).await;
    client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    for _ in 0..4 {
        let event = client.events_until("model.retrying").await.pop().unwrap();
        assert_eq!(event["data"]["message"], "127.0.0.1 cannot be reached: Connection refused");
        clock.advance(Duration::from_secs(31));
    }
    assert_eq!(client.ended(&run).await["error"]["code"], "MODEL_FAILED");
    running.stop().await;
}

#[tokio::test]
async fn without_a_key_nothing_starts_and_the_ways_out_are_named() {
    let mut house = House::new().agent("reader", READER);
    house.models = ModelRegistry::configured(&BTreeMap::new(), ChildProcesses::default(), |_| None);
    let running = house.boot().await;
    let mut client = running.client();
    for model in ["gemini/gemini-2.5-flash", "gemini-2.5-flash"] {
        let params = json!({ "workspace": running.work(), "agent": "reader", "model": model, "prompt": "x" });
        let (kind, error) = client.refused("run/start", params).await;
        assert_eq!(kind, "NO_MODEL");
        let hint = error["data"]["hint"].as_str().unwrap();
        assert!(hint.contains("GEMINI_API_KEY") && hint.contains("--model offline"), "{hint}");
    }
    running.stop().await;
}

/// The wire's own length: a long run's turn is not slower for its history.
#[tokio::test]
async fn a_long_run_stays_well_formed() {
    const TURNS: usize = 60;
    let read = |n: usize| {
        let path = json!({ "path": "a.txt", "offset": null, "limit": n + 1 });
        Answer::parts(json!([{ "text": format!("Turn {n}."), "thoughtSignature": "eA==" },
            { "functionCall": { "name": "read_file", "args": path, "id": format!("id-{n}") } }]))
    };
    let script = (0..TURNS).map(read).chain([Answer::done("read it all")]);
    let (record, _, _) = run_of("reader", json!({ "limits": { "maxTurns": TURNS + 1 } }), script).await;
    assert_eq!((record["reason"].as_str(), record["turns"].as_u64()), (Some("GOAL"), Some(TURNS as u64 + 1)));
}

#[tokio::test]
async fn a_run_waits_for_the_start_that_has_its_key_again_and_can_be_cancelled_meanwhile() {
    let half = json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "It" }] } }] });
    let stalls = || Answer::chunks([half.to_string()]).then_stall();
    let server = ProviderServer::gemini([stalls(), stalls(), Answer::done("after all")]).await;
    let mut house = house(&server);
    let with_key = house.models.clone();
    let running = house.boot().await;
    let mut client = running.client();
    let (kept, _) = client.start(&running, "reader", json!({ "model": MODEL })).await;
    server.asked(1).await;
    let (given_up, session) = client.start(&running, "talker", json!({ "model": MODEL })).await;
    server.asked(2).await;
    drop(client);
    running.stop_unfinished().await;

    house.models =
        ModelRegistry::configured(&settings(server.base_url()), ChildProcesses::default(), |_| None);
    let running = house.boot().await;
    let mut client = running.client();
    let says = |status: &Value| {
        let degraded = status["degraded"].to_string();
        degraded.contains(&kept) && degraded.contains("TEST_KEY")
    };
    client.until("daemon/status", json!({}), says).await;
    assert_eq!(client.call("run/get", json!({ "runId": kept })).await["state"], "running");
    let cancelled = client.call("run/cancel", json!({ "runId": given_up })).await;
    assert_eq!(cancelled["run"]["reason"], "ABORTED");
    let closed = client.call("session/close", json!({ "sessionId": session })).await;
    assert!(closed["seq"].is_i64(), "nothing of the cancelled run is left: {closed}");
    drop(client);
    running.stop_unfinished().await;

    house.models = with_key;
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.ended(&kept).await["result"], "after all");
    drop(client);
    running.stop().await;
    server.assert_content();
}
