//! What becomes of pages that a model's provider reads itself, and when are they read here all the same?

use std::{collections::BTreeMap, fs, sync::Arc};

use serde_json::{Value, json};
use subagentd::{
    config::{KeySource, LayeredSetting, ProviderKind, ProviderSettings, SettingLayer},
    models::ModelRegistry,
    redact::{Redactor, RedactorParts},
    sys::children::ChildProcesses,
    web::{CertificateAuthorities, WebNetwork, WebTransport},
};

use super::{
    net::Net,
    runs::{ALLOW, SURFER, legend, started_with, without_mark},
    site::{Reply as Page, Site},
};
use crate::{
    provider_server::{Answer, KEY, ProviderServer},
    support::{House, Reply, Running, Script},
};

const URL: &str = "http://a.example/page";
const READ: &str = "URL_RETRIEVAL_STATUS_SUCCESS";
const FAILED: &str = "URL_RETRIEVAL_STATUS_ERROR";
const SECRET: &str = "hunter2-correct-horse-battery-staple";

/// A house whose agent makes this call once, and whose small model is one of the server's.
pub fn house(server: &ProviderServer, net: Net, (tool, arguments): (&str, Value), settings: Value) -> House {
    let script = Script::new([Reply::calls(&[(tool, arguments)]), Reply::done("done")]);
    let entry = ProviderSettings {
        base_url: Some(server.base_url()),
        key: Some(KeySource::Env("TEST_KEY".to_owned())),
        ..ProviderSettings::usual(ProviderKind::Gemini)
    };
    let entries = BTreeMap::from([(
        "test".to_owned(),
        LayeredSetting { value: Some(entry), origin: SettingLayer::User },
    )]);
    let mut house = House::new();
    house.models = ModelRegistry::configured(&entries, ChildProcesses::default(), |name| {
        (name == "TEST_KEY").then(|| KEY.into())
    });
    let environment = [("DB_PASSWORD".to_owned(), SECRET.to_owned())].into_iter();
    house.redactor = Redactor::new(RedactorParts { environment, patterns: Vec::new() });
    house.outside = WebTransport {
        network: Arc::new(net) as Arc<dyn WebNetwork>,
        authorities: CertificateAuthorities::System,
    };
    let house = house.script(&script).agent("surfer", SURFER).rules("web", ALLOW);
    let mut settings = settings;
    settings["models"] = json!({ "small": "test/gemini-2.5-flash" });
    started_with(house, &settings)
}

/// The run's record, its only call, and what was asked for it.
pub async fn run(running: &Running, more: Value) -> (Value, Value, Vec<Value>) {
    let mut params = json!({ "approval": { "headless": true } });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut client = running.client();
    let (run, _) = client.start(running, "surfer", params).await;
    let ended = client.ended(&run).await;
    let log = running.log().await;
    assert!(!format!("{log:?}").contains(KEY), "the log shows the key");
    let of = |kind: &str| -> Vec<Value> {
        let events = log.iter().filter(|it| it["type"] == *kind && it["runId"] == *run);
        events.map(|it| it["data"].clone()).collect()
    };
    let is_call = |data: &Value| data["name"] != "complete_task";
    let call = of("tool.state").into_iter().rfind(is_call).unwrap();
    (ended, call, of("sideCall.completed"))
}

pub fn said(call: &Value) -> &str {
    call["result"]["llmContent"][0]["text"].as_str().unwrap()
}

/// An answer that stands on these visits, and cites the first.
fn answers(text: &str, visits: &[(&str, &str)]) -> Answer {
    let visited: Vec<Value> = visits
        .iter()
        .map(|(url, status)| json!({ "retrievedUrl": url, "urlRetrievalStatus": status }))
        .collect();
    let chunk = json!({
        "candidates": [{
            "content": { "role": "model", "parts": [{ "text": text }] },
            "finishReason": "STOP",
            "urlContextMetadata": { "urlMetadata": visited },
            "groundingMetadata": {
                "groundingChunks": [{ "web": { "uri": visits[0].0, "title": "The page" } }],
                "groundingSupports": [
                    { "segment": { "startIndex": 0, "endIndex": text.len(), "text": text }, "groundingChunkIndices": [0, 7] },
                    { "segment": { "endIndex": 2, "text": "not there" }, "groundingChunkIndices": [0] },
                ],
            },
        }],
        "usageMetadata": { "promptTokenCount": 20, "toolUsePromptTokenCount": 5000, "candidatesTokenCount": 4 },
    });
    Answer::chunks([chunk.to_string()])
}

/// What Google found, in an answer that stands on it.
fn found(text: &str, sources: &[(&str, &str)], supports: Value) -> Answer {
    let chunks: Vec<Value> =
        sources.iter().map(|(url, title)| json!({ "web": { "uri": url, "title": title } })).collect();
    let text = json!({ "content": { "parts": [{ "text": text }] } });
    let last = json!({
        "content": { "parts": [] },
        "finishReason": "STOP",
        "groundingMetadata": {
            "groundingChunks": chunks, "groundingSupports": supports, "webSearchQueries": ["q"],
            "searchEntryPoint": { "renderedContent": "<style>x</style>" },
        },
    });
    let usage = json!({ "promptTokenCount": 20, "candidatesTokenCount": 4 });
    Answer::chunks([
        json!({ "candidates": [text] }).to_string(),
        json!({ "candidates": [last], "usageMetadata": usage }).to_string(),
    ])
}

async fn site() -> Site {
    Site::start(|_| Page::page("text/plain", "said here")).await
}

fn net(site: &Site) -> Net {
    Net::new()
        .route("93.184.216.34:80", site.address)
        .name("a.example", &["93.184.216.34"])
        .name("b.example", &["93.184.216.34"])
        .name("inside.example", &["10.0.0.1"])
}

#[tokio::test]
async fn the_model_reads_the_pages_first_where_its_provider_can() {
    let site = site().await;
    let server = ProviderServer::gemini([answers("It is 42, é.", &[(URL, READ)])]).await;
    let arguments = json!({ "urls": [URL], "prompt": format!("What is it? {SECRET}") });
    let house = house(&server, net(&site), ("web_fetch", arguments), json!({}));
    let file = house.work().join("../run.jsonl");
    let running = house.boot().await;
    let (first, call, asked) = run(&running, json!({ "record": file })).await;
    let model = "test/gemini-2.5-flash";
    let expected = |model: &str| {
        format!(
            "{}{model} read the pages. This is what it says of them about the prompt:\n<answer-MARK from=\"{model}\">\n\
             It is 42, é. [1]\n</answer-MARK>\n\nSources:\n1. {URL}",
            legend("answer")
        )
    };
    assert_eq!(without_mark(said(&call), "answer"), expected(model));
    let data = &call["result"]["data"];
    let status = json!([{ "url": URL, "status": "fetched", "finalUrl": URL, "retrieval": READ }]);
    assert_eq!((&data["urls"], &data["answeredBy"]), (&status, &json!(model)));
    assert_eq!(data["citations"], json!([{ "title": "The page", "url": URL }]));
    assert_eq!(site.connections(), 0, "nothing was fetched here");
    // What the pages put into the prompt is paid for, too.
    assert_eq!(asked[0]["usage"]["promptTokens"], 5020, "{asked:?}");
    assert_eq!(first["usage"]["promptTokens"], 5040, "{first}");
    let requests = server.requests();
    let body: Value = serde_json::from_str(&requests[0].body).unwrap();
    assert_eq!(body["tools"], json!([{ "urlContext": {} }]));
    let text = body["contents"][0]["parts"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("What is it? [redacted") && text.ends_with(&format!("The pages:\n- {URL}\n")),
        "{text}"
    );
    assert!(!requests[0].body.contains(SECRET));
    running.stop().await;
    server.assert_content();

    for scheme in ["replay", "replay+strict"] {
        let model = format!("{scheme}:{}", fs::canonicalize(&file).unwrap().display());
        let server = ProviderServer::gemini([]).await;
        let arguments = json!({ "urls": [URL], "prompt": "What is it?" });
        let house = self::house(&server, net(&site), ("web_fetch", arguments), json!({}));
        let running = started_with(house, &json!({ "models": { "small": model } })).boot().await;
        let (played, call, _) = run(&running, json!({ "model": model })).await;
        assert_eq!((&played["reason"], &played["usage"]), (&first["reason"], &first["usage"]), "{played}");
        assert_eq!(without_mark(said(&call), "answer"), expected(&model));
        assert_eq!(site.connections(), 0);
        running.stop().await;
    }
}

#[tokio::test]
async fn a_page_that_the_provider_could_not_read_is_named() {
    let site = site().await;
    let other = "http://b.example/other";
    let answer = answers("It is 42.", &[(URL, READ), (other, "URL_RETRIEVAL_STATUS_PAYWALL")]);
    let server = ProviderServer::gemini([answer]).await;
    let arguments = json!({ "prompt": format!("Compare {URL} and {other}") });
    let running = house(&server, net(&site), ("web_fetch", arguments), json!({})).boot().await;
    let (_, call, _) = run(&running, json!({})).await;
    let missing = format!(
        "Not fetched:\n- {other}: test/gemini-2.5-flash could not read it (URL_RETRIEVAL_STATUS_PAYWALL)\n\n\
         Sources:\n1. {URL}"
    );
    assert!(said(&call).ends_with(&missing), "{call}");
    let states = call["result"]["data"]["urls"].as_array().unwrap().iter().map(|it| it["status"].clone());
    assert_eq!(states.collect::<Vec<_>>(), ["fetched", "failed"]);
    assert_eq!(site.connections(), 0);
    running.stop().await;
    server.assert_content();
}

/// Every page failed there, the call did, or the model went where nobody said it may.
#[tokio::test]
async fn what_nothing_came_of_there_is_fetched_here() {
    let site = site().await;
    let cases = [
        answers("I could not.", &[(URL, FAILED)]),
        Answer::status(
            400,
            r#"{"error":{"code":400,"message":"no URL context","status":"INVALID_ARGUMENT"}}"#,
        ),
        answers("It is 42.", &[(URL, READ), ("http://elsewhere.example/", READ)]),
        answers("It is 42.", &[(URL, READ), ("http://a.example/secret", READ)]),
        Answer::chunks([
            r#"{"candidates":[{"content":{"parts":[{"text":"I know it."}]},"finishReason":"STOP"}]}"#,
        ]),
    ];
    for (n, answer) in cases.into_iter().enumerate() {
        let server = ProviderServer::gemini([answer]).await;
        let arguments = json!({ "urls": [URL], "prompt": "What is it?" });
        // Of a.example, one page alone is allowed.
        let rules = "[[rule]]\ntool = \"web_fetch\"\nargsPattern = 'a\\.example/page'\ndecision = \"allow\"\n\
                     priority = 500\n[[rule]]\ntool = \"web_fetch\"\ndecision = \"deny\"\npriority = 400\n";
        let house = house(&server, net(&site), ("web_fetch", arguments), json!({})).rules("narrow", rules);
        let running = house.boot().await;
        let (_, call, asked) = run(&running, json!({})).await;
        // What the model said, not "42": the marks around a page are of random digits.
        let invented = ["It is 42.", "I could not.", "I know it."];
        assert!(
            said(&call).contains("said here") && !invented.iter().any(|it| said(&call).contains(it)),
            "{n}: {call}"
        );
        assert_eq!((asked.len(), site.connections()), (1, n + 1), "{n}");
        running.stop().await;
        server.assert_content();
    }
}

#[tokio::test]
async fn pages_that_are_not_everybodys_never_leave() {
    let site = site().await;
    let opened = json!({ "tools": { "webFetch": { "allowHosts": ["a.example"] } } });
    let cases = [
        // Without a question there is nothing to answer.
        (json!({ "urls": [URL] }), json!({})),
        (json!({ "urls": [URL], "prompt": "What?" }), opened),
        (json!({ "urls": [URL, "http://inside.example/"], "prompt": "What?" }), json!({})),
        (json!({ "urls": [URL, "http://nowhere.example/"], "prompt": "What?" }), json!({})),
        (json!({ "urls": [URL, "http://10.0.0.1/"], "prompt": "What?" }), json!({})),
        (json!({ "urls": [format!("{URL}?key={SECRET}")], "prompt": "What?" }), json!({})),
    ];
    for (arguments, settings) in cases {
        let server = ProviderServer::gemini([]).await;
        let running = house(&server, net(&site), ("web_fetch", arguments.clone()), settings).boot().await;
        let (_, call, asked) = run(&running, json!({})).await;
        assert!(said(&call).contains("said here") && asked.is_empty(), "{arguments}: {call}");
        assert_eq!(server.requests().len(), 0);
        running.stop().await;
    }
}

#[tokio::test]
async fn a_search_is_answered_by_a_model_that_google_searches_for() {
    let said_of = |text: &str, at: Value| json!({ "segment": { "endIndex": text.len(), "text": text }, "groundingChunkIndices": at });
    let text = "Rust 1.90 is out.\u{202e} It is <b>new</b>.";
    let supports = json!([said_of("Rust 1.90 is out.", json!([2, 0]))]);
    let sources = [
        ("https://a.example/r", "a.example"),
        ("javascript:alert(1)", "no page"),
        ("https://b.example/\u{202e}", "b\n.example"),
    ];
    let server = ProviderServer::gemini([found(text, &sources, supports)]).await;
    let arguments = json!({ "query": format!("newest  rust {SECRET}") });
    let settings = json!({ "tools": { "webSearch": { "backend": "gemini" } } });
    let house = house(&server, Net::new(), ("google_web_search", arguments), settings);
    let file = house.work().join("../run.jsonl");
    let running = house.boot().await;
    let (first, call, asked) = run(&running, json!({ "record": file })).await;
    let expected = format!(
        "{}<results-MARK from=\"gemini\">\nAnswer of gemini: Rust 1.90 is out. [3][1] It is <b>new</b>.\n\n\
         1. a.example\n   https://a.example/r\n3. b .example\n   https://b.example/\n</results-MARK>",
        legend("results")
    );
    assert_eq!(without_mark(said(&call), "results"), expected);
    let data = &call["result"]["data"];
    assert_eq!((&data["backend"], &data["answeredBy"]), (&json!("gemini"), &json!("test/gemini-2.5-flash")));
    assert_eq!(data["sources"].as_array().unwrap().len(), 2);
    assert_eq!((&asked[0]["purpose"], &asked[0]["callId"]), (&json!("webSearch"), &call["callId"]));
    assert_eq!(first["usage"]["promptTokens"], 40, "{first}");
    let body: Value = serde_json::from_str(&server.requests()[0].body).unwrap();
    assert_eq!(body["tools"], json!([{ "googleSearch": {} }]));
    assert_eq!(body["contents"][0]["parts"][0]["text"], "newest rust [redacted:env:DB_PASSWORD]");
    running.stop().await;
    server.assert_content();

    let model = format!("replay:{}", fs::canonicalize(&file).unwrap().display());
    let house = House::new().agent("surfer", SURFER).rules("web", ALLOW);
    let settings = json!({ "tools": { "webSearch": { "backend": "gemini" } }, "models": { "small": model } });
    let running = started_with(house, &settings).boot().await;
    let (played, call, _) = run(&running, json!({ "model": model })).await;
    assert_eq!((&played["reason"], &played["usage"]), (&first["reason"], &first["usage"]), "{played}");
    assert_eq!(without_mark(said(&call), "results"), expected);
    running.stop().await;
}

#[tokio::test]
async fn a_search_that_no_model_can_answer_says_why() {
    let settings = json!({ "tools": { "webSearch": { "backend": "gemini" } } });
    let query = || ("web_search", json!({ "query": "rust" }));
    let refusal = r#"{"error":{"code":400,"message":"no grounding here","status":"INVALID_ARGUMENT"}}"#;
    let server = ProviderServer::gemini([Answer::status(400, refusal)]).await;
    let running = house(&server, Net::new(), query(), settings.clone()).boot().await;
    let (_, call, asked) = run(&running, json!({})).await;
    assert_eq!((&call["error"]["type"], asked.len()), (&json!("WEB_SEARCH_FAILED"), 1));
    assert!(said(&call).contains("no grounding here"), "{call}");
    running.stop().await;

    let none = house(&ProviderServer::gemini([]).await, Net::new(), query(), settings.clone());
    let running = started_with(none, &settings).boot().await;
    let (_, call, asked) = run(&running, json!({})).await;
    let why = "neither the small model nor the run's is a Gemini model that can do this";
    assert!(said(&call).contains(why) && asked.is_empty(), "{call}");
    running.stop().await;
}
