//! Which models are there, and does one answer? `models/list` and `models/test`, against servers that judge what they are
//! asked.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use subagentd::{
    config::{DaemonConfig, KeySource, LayeredSetting, ProviderKind, ProviderSettings, SettingLayer},
    models::ModelRegistry,
    sys::children::ChildProcesses,
};

use crate::{
    provider_server::{Answer, KEY, ProviderServer},
    support::{Client, House},
};

type Entries<'a> = &'a [(&'a str, ProviderKind, &'a ProviderServer)];

/// A house that knows these providers; OpenAI's kind listens below `/v1`.
fn house(entries: Entries<'_>, settings: Value) -> House {
    let entry = |(name, kind, server): &(&str, ProviderKind, &ProviderServer)| {
        let path = if *kind == ProviderKind::OpenAi { "/v1" } else { "" };
        let entry = ProviderSettings {
            base_url: Some(format!("{}{path}", server.base_url())),
            key: Some(KeySource::Env("TEST_KEY".to_owned())),
            ..ProviderSettings::usual(*kind)
        };
        ((*name).to_owned(), LayeredSetting { value: Some(entry), origin: SettingLayer::User })
    };
    let entries: BTreeMap<_, _> = entries.iter().map(entry).collect();
    let mut house = House::new();
    std::fs::write(&house.sources.files.user, json!({ "models": settings }).to_string()).unwrap();
    let (config, problems) = DaemonConfig::load(&house.sources);
    assert_eq!(problems, []);
    house.config = config;
    house.models = ModelRegistry::configured(&entries, ChildProcesses::default(), |name| {
        (name == "TEST_KEY").then(|| KEY.into())
    });
    house
}

/// What is told of an entry: model, window and who says so; the problem.
fn told(answer: &Value, entry: &str) -> (Vec<Value>, Value) {
    let entries = answer["entries"].as_array().unwrap();
    let entry = entries.iter().find(|it| it["name"] == entry).unwrap_or_else(|| panic!("{entry}: {answer}"));
    let models = entry["models"].as_array().unwrap().iter();
    let models = models.map(|it| json!([it["model"], it["window"], it["windowFrom"]])).collect();
    (models, entry["problem"].clone())
}

async fn list(client: &mut Client, params: Value) -> Value {
    client.call("models/list", params).await
}

#[tokio::test]
async fn each_kind_tells_its_models_page_by_page_and_their_windows_count() {
    let gemini = ProviderServer::gemini([
        Answer::json(json!({
            "models": [
                { "name": "models/g-2", "displayName": "G 2", "inputTokenLimit": 1000, "supportedGenerationMethods": ["generateContent"] },
                { "name": "models/embedder", "inputTokenLimit": 5, "supportedGenerationMethods": ["embedContent"] },
                { "name": "models/no name", "inputTokenLimit": 5 },
            ],
            "nextPageToken": "second page&more",
        })),
        Answer::json(json!({ "models": [{ "name": "models/g-1", "inputTokenLimit": 0 }] })),
    ])
    .await;
    let openai = ProviderServer::openai(
        true,
        [Answer::json(json!({
            "object": "list",
            "data": [
                { "id": "vllm/x", "object": "model", "max_model_len": 4096 },
                { "id": "router", "context_length": 9000, "name": "Router" },
                { "id": "plain" },
            ],
        }))],
    )
    .await;
    let page = |ids: &[&str], more: bool| {
        let data: Vec<Value> =
            ids.iter().map(|id| json!({ "type": "model", "id": id, "display_name": id })).collect();
        Answer::json(
            json!({ "data": data, "has_more": more, "first_id": ids[0], "last_id": ids[ids.len() - 1] }),
        )
    };
    let anthropic =
        ProviderServer::anthropic([page(&["claude-b", "claude-a"], true), page(&["claude-c"], false)]).await;
    let entries: Entries<'_> = &[
        ("g", ProviderKind::Gemini, &gemini),
        ("o", ProviderKind::OpenAi, &openai),
        ("a", ProviderKind::Anthropic, &anthropic),
    ];
    let settings = json!({
        "contextWindow": { "o/router": 7 }, "default": "quick", "small": "g/g-1",
        "aliases": { "quick": { "model": "g/g-2" } },
    });
    let running = house(entries, settings).boot().await;
    let mut client = running.client();
    let answer = list(&mut client, json!({})).await;
    assert_eq!(
        told(&answer, "g"),
        (vec![json!(["g/g-1", 128_000, "assumed"]), json!(["g/g-2", 1000, "provider"])], Value::Null)
    );
    assert_eq!(
        told(&answer, "o").0,
        [
            json!(["o/plain", 128_000, "assumed"]),
            json!(["o/router", 7, "settings"]),
            json!(["o/vllm/x", 4096, "provider"]),
        ]
    );
    let of_anthropic = told(&answer, "a").0;
    let names: Vec<&Value> = of_anthropic.iter().map(|model| &model[0]).collect();
    assert_eq!(names, ["a/claude-a", "a/claude-b", "a/claude-c"]);
    // Without a key nobody is asked.
    assert!(told(&answer, "gemini").1.as_str().unwrap().contains("GEMINI_API_KEY"), "{answer}");
    assert_eq!(answer["entries"][0]["key"], json!({ "state": "found", "from": "the variable TEST_KEY" }));
    assert_eq!(answer["aliases"], json!([{ "name": "quick", "model": "g/g-2" }]));
    assert_eq!(
        (&answer["default"], &answer["small"], &answer["offline"]),
        (&json!("quick"), &json!("g/g-1"), &json!("offline"))
    );
    assert!(!answer.to_string().contains(KEY));
    for server in [&gemini, &openai, &anthropic] {
        server.assert_content();
    }
    running.stop().await;
}

#[tokio::test]
async fn a_list_is_kept_for_a_while_and_asked_for_anew_on_request() {
    let page = |window: u64| Answer::json(json!({ "data": [{ "id": "m", "context_length": window }] }));
    let server = ProviderServer::openai(true, [page(1), page(2), page(3)]).await;
    let entries: Entries<'_> = &[("o", ProviderKind::OpenAi, &server)];
    let (house, clock) = house(entries, json!({})).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let mut window = async |refresh: bool| {
        let answer = client.call("models/list", json!({ "entry": "o", "refresh": refresh })).await;
        told(&answer, "o").0[0][1].clone()
    };
    assert_eq!(window(false).await, 1);
    assert_eq!(window(false).await, 1);
    assert_eq!(window(true).await, 2);
    clock.advance(Duration::from_secs(9 * 60));
    assert_eq!(window(false).await, 2);
    clock.advance(Duration::from_secs(2 * 60));
    assert_eq!(window(false).await, 3);
    server.assert_content();
    running.stop().await;
}

#[tokio::test]
async fn what_one_provider_does_not_tell_costs_the_others_nothing() {
    let refusal =
        json!({ "error": { "message": format!("bad key {KEY}"), "type": "invalid_request_error" } });
    let refusing = ProviderServer::openai(true, [Answer::status(401, refusal.to_string())]).await;
    let page = "<html><head><title>Bad gateway</title></head></html>";
    let html = ProviderServer::openai(true, [Answer::status(502, page)]).await;
    let page_200 = ProviderServer::openai(true, [Answer::status(200, page)]).await;
    let huge = ProviderServer::openai(true, [Answer::status(200, vec![b' '; (8 << 20) + 1])]).await;
    let cut = ProviderServer::openai(true, [Answer::json(json!({ "data": [] })).then_cut()]).await;
    let endless = (0..10).map(|at| {
        Answer::json(
            json!({ "models": [{ "name": format!("models/m{at}") }], "nextPageToken": format!("p{at}") }),
        )
    });
    let endless = ProviderServer::gemini(endless).await;
    let circle = |_| Answer::json(json!({ "models": [{ "name": "models/m" }], "nextPageToken": "again" }));
    let circling = ProviderServer::gemini((0..2).map(circle)).await;
    let slow = ProviderServer::openai(true, [Answer::json(json!({})).first_bytes(1).then_stall()]).await;
    let entries: Entries<'_> = &[
        ("refusing", ProviderKind::OpenAi, &refusing),
        ("html", ProviderKind::OpenAi, &html),
        ("page", ProviderKind::OpenAi, &page_200),
        ("huge", ProviderKind::OpenAi, &huge),
        ("cut", ProviderKind::OpenAi, &cut),
        ("endless", ProviderKind::Gemini, &endless),
        ("circling", ProviderKind::Gemini, &circling),
        ("slow", ProviderKind::OpenAi, &slow),
    ];
    let (house, clock) = house(entries, json!({})).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    for (entry, expected) in [
        ("refusing", "the provider answered 401 Unauthorized: bad key [key]"),
        ("html", "the provider answered 502 Bad Gateway"),
        ("page", "what came is no list of models"),
        ("huge", "the list of models is longer than 8 MiB"),
        ("cut", "the connection to 127.0.0.1 broke"),
        ("gemini", "there is no key: GEMINI_API_KEY is not set"),
    ] {
        let answer = list(&mut client, json!({ "entry": entry })).await;
        let problem = told(&answer, entry).1;
        assert!(problem.as_str().unwrap().starts_with(expected), "{entry}: {problem}");
        assert!(!answer.to_string().contains(KEY), "{answer}");
    }
    let answer = list(&mut client, json!({ "entry": "endless" })).await;
    assert_eq!((told(&answer, "endless").0.len(), &answer["entries"][0]["truncated"]), (10, &json!(true)));
    let answer = list(&mut client, json!({ "entry": "circling" })).await;
    assert_eq!((told(&answer, "circling").0.len(), &answer["entries"][0]["truncated"]), (1, &Value::Null));
    // The time of one entry is over, and it says so.
    let mut other = running.client();
    let params = json!({ "entry": "slow" });
    let (answer, ()) = tokio::join!(list(&mut other, params), async {
        slow.asked(1).await;
        clock.advance(Duration::from_secs(5));
    });
    let problem = told(&answer, "slow").1;
    assert_eq!(problem, "it did not tell its models within 5 s");
    assert_eq!(answer["entries"][0]["kind"], "openai");
    slow.hung_up(1).await;
    let (kind, error) = client.refused("models/list", json!({ "entry": "slwo" })).await;
    assert_eq!((kind.as_str(), &error["data"]["details"]["didYouMean"]), ("NOT_FOUND", &json!("slow")));
    running.stop().await;
}

#[tokio::test]
async fn a_model_that_is_tested_is_asked_once_for_a_call() {
    let server = ProviderServer::gemini([
        Answer::call("report_ready", json!({ "ready": true })),
        Answer::parts(json!([{ "text": "I am ready." }])),
        Answer::error(503, "UNAVAILABLE", &format!("busy {KEY}"), json!([])),
        Answer::chunks([r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"I"}]},"index":0}]}"#])
            .then_stall(),
    ])
    .await;
    let entries: Entries<'_> = &[("g", ProviderKind::Gemini, &server)];
    let settings = json!({
        "aliases": { "quick": { "model": "g/m", "temperature": 0.5 } },
        "prices": { "g/m": { "inputPerMillion": 2, "outputPerMillion": 4 } },
    });
    let (house, clock) = house(entries, settings).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let test = json!({ "model": "quick" });
    let answer = client.call("models/test", test.clone()).await;
    assert_eq!(
        answer,
        json!({
            "model": "g/m", "reachable": true, "latencyMs": 0, "firstTokenMs": 0, "toolCalls": true,
            "usage": { "promptTokens": 10, "cachedTokens": 0, "outputTokens": 5, "thoughtTokens": 0 },
            "window": 128_000, "windowFrom": "assumed", "cost": { "amount": "0.00004", "currency": "USD" },
        })
    );
    let asked: Value = serde_json::from_str(&server.requests()[0].body).unwrap();
    assert_eq!(asked["generationConfig"]["temperature"], 0.5);
    let answer = client.call("models/test", json!({ "model": "g/unpriced" })).await;
    assert_eq!(
        (&answer["reachable"], &answer["toolCalls"], &answer["cost"]),
        (&json!(true), &json!(false), &Value::Null)
    );
    let answer = client.call("models/test", test.clone()).await;
    assert_eq!(
        (&answer["reachable"], &answer["firstTokenMs"], &answer["cost"]),
        (&json!(false), &Value::Null, &Value::Null)
    );
    assert_eq!(answer["problem"], "the provider answered 503 Service Unavailable: busy [key] (UNAVAILABLE)");
    let mut other = running.client();
    let (answer, ()) = tokio::join!(other.call("models/test", test), async {
        server.asked(4).await;
        clock.advance(Duration::from_secs(30));
    });
    assert_eq!((&answer["reachable"], &answer["latencyMs"]), (&json!(false), &json!(30_000)));
    assert_eq!(answer["problem"], "it did not answer within 30 s");
    server.hung_up(1).await;
    server.assert_content();
    for (model, kind) in
        [("llama-5", "NO_MODEL"), ("gemini-2.5-pro", "NO_MODEL"), ("replay:/none", "INVALID_PARAMS")]
    {
        assert_eq!(client.refused("models/test", json!({ "model": model })).await.0, kind, "{model}");
    }
    running.stop().await;
}
