//! Who is asked when the web is searched, how, and what becomes of what they say?

use std::{ffi::OsString, fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};
use subagentd::{
    config::{KeySource, SearchBackend},
    models::ModelRequest,
    sys::clock::SystemClock,
    web::{SearchError, SearchRules, SearchSource, WebClient, WebTransport},
};

use super::{
    runs::{ALLOW, SURFER, legend, started_with, without_mark},
    site::{Reply as Answer, Site},
};
use crate::support::{House, Reply, Script};

const KEY: &str = "brv-0123456789abcdef";

fn web() -> WebClient {
    let environment = vec![("SEARCH_KEY".into(), KEY.into()), ("BLANK".into(), OsString::from("  "))];
    WebClient::new(WebTransport::system(), environment, SystemClock::new())
}

fn rules(backend: SearchBackend, site: &Site) -> SearchRules {
    let key = Some(KeySource::Env("SEARCH_KEY".to_owned()));
    SearchRules { backend, url: Some(format!("http://{}/base/", site.address)), key }
}

fn json_answer(answer: &Value) -> Answer {
    Answer::page("application/json", answer.to_string())
}

#[tokio::test]
async fn each_backend_is_asked_in_its_own_way() {
    let result =
        json!({ "title": "A", "url": "https://a.example/", "content": "words", "description": "words" });
    let answer = json!({ "type": "search", "web": { "results": [result] }, "results": [result] });
    let cases = [
        (
            SearchBackend::Brave,
            "GET /base/res/v1/web/search?q=a+%26+b&count=10 HTTP/1.1",
            format!("x-subscription-token: {KEY}\r\n"),
            "",
        ),
        (
            SearchBackend::Tavily,
            "POST /base/search HTTP/1.1",
            format!("authorization: Bearer {KEY}\r\n"),
            "{\"query\":\"a & b\",\"max_results\":10,\"include_answer\":true}",
        ),
        (
            SearchBackend::Searxng,
            "GET /base/search?q=a+%26+b&format=json HTTP/1.1",
            format!("authorization: Bearer {KEY}\r\n"),
            "",
        ),
    ];
    for (backend, line, header, body) in cases {
        let answer = answer.clone();
        let site = Site::start(move |_| json_answer(&answer)).await;
        let found = web().search("a & b", &rules(backend, &site)).await.unwrap();
        let expected =
            SearchSource { title: "A".into(), url: "https://a.example/".into(), excerpt: "words".into() };
        assert_eq!(found.sources, [expected], "{line}");
        let request = site.request().await;
        let (head, sent) = request.split_once("\r\n\r\n").unwrap();
        assert_eq!((head.lines().next(), sent), (Some(line), body));
        assert!(request.contains(&header), "{request}");
    }
}

#[tokio::test]
async fn what_fails_says_what_to_do_and_never_the_key() {
    /// What it is, what the backend answers, and what that comes to.
    type Case = (&'static str, fn() -> Answer, &'static str);
    let answers: [Case; 9] = [
        (
            "401",
            || Answer::status("401 Unauthorized", "content-length: 0", ""),
            "brave refused the search (status 401 Unauthorized): look at the key (setting tools.webSearch.key)",
        ),
        (
            "403",
            || Answer::status("403 Forbidden", "", KEY),
            "brave refused the search (status 403 Forbidden): look at the key (setting tools.webSearch.key)",
        ),
        (
            "429",
            || Answer::status("429 Too Many Requests", "", ""),
            "brave has had enough searches for now (status 429); search again later",
        ),
        (
            "500",
            || Answer::status("500 Internal Server Error", "", KEY),
            "brave answered 500 Internal Server Error; search again later, or with other words",
        ),
        (
            "redirect",
            || Answer::redirect("http://127.0.0.1:1/"),
            "brave answered with a redirect (status 302 Found), which is not followed: the setting tools.webSearch.url must say where it is now",
        ),
        (
            "html",
            || Answer::page("text/html; charset=utf-8", "<p>Log in"),
            "what brave answered is no JSON (text/html): look at tools.webSearch.url",
        ),
        (
            "half",
            || Answer::page("application/json", "{\"type\":"),
            "what brave answered cannot be read: EOF while parsing a value at line 1 column 8",
        ),
        (
            "other",
            || Answer::page("application/json", "{\"error\": 1}"),
            "what brave answered cannot be read: there is no list of results in it",
        ),
        (
            "large",
            || Answer::page("application/json", vec![b' '; 5_000_000]),
            "brave cannot be asked: it is larger than 4 MB",
        ),
    ];
    for (name, answer, expected) in answers {
        let site = Site::start(move |_| answer()).await;
        let error = web().search("x", &rules(SearchBackend::Brave, &site)).await.unwrap_err();
        assert_eq!(error.to_string(), expected, "{name}");
        assert!(!format!("{error:?}").contains(KEY));
    }
    let site = Site::start(|path| match path.starts_with("/base/search") {
        true => Answer::page("text/html", "<p>Results"),
        false => Answer::status("404 Not Found", "content-length: 0", ""),
    })
    .await;
    let found = rules(SearchBackend::Searxng, &site);
    let moved = SearchRules { url: Some(format!("http://{}/other", site.address)), ..found.clone() };
    let missing = format!(
        "searxng answered 404 Not Found: look at tools.webSearch.url (asked http://{}/other/search)",
        site.address
    );
    let cases = [
        (moved, missing.as_str()),
        (
            found,
            "what searxng answered is no JSON (text/html): does `search.formats` of the server list `json`, and is it the \
             server that tools.webSearch.url means?",
        ),
    ];
    for (rules, expected) in cases {
        assert_eq!(web().search("x", &rules).await.unwrap_err().to_string(), expected);
    }
    let site = Site::start(|_| Answer::Bytes(Vec::new())).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    fs::write(&file, KEY).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let of_key = |key: Option<KeySource>| SearchRules { key, ..rules(SearchBackend::Tavily, &site) };
    let settings = [
        (of_key(None), "the setting tools.webSearch.key must say where the key for tavily lies".to_owned()),
        (of_key(Some(KeySource::Env("NOT_SET".into()))), "the key for tavily (tools.webSearch.key) is not there: NOT_SET is not set in the daemon's environment".to_owned()),
        (of_key(Some(KeySource::Env("BLANK".into()))), "the key for tavily (tools.webSearch.key) is empty".to_owned()),
        (of_key(Some(KeySource::File(file.clone()))), format!("the key for tavily (tools.webSearch.key) is not used: {0} can be read by others (mode 0644); `chmod 600 {0}`", file.display())),
        (SearchRules { url: None, ..rules(SearchBackend::Searxng, &site) }, "the setting tools.webSearch.url must say where searxng listens".to_owned()),
        (SearchRules { url: Some("http://u:p@x/".into()), ..rules(SearchBackend::Searxng, &site) }, "the setting tools.webSearch.url has a user or a password in it; those are not sent".to_owned()),
    ];
    for (rules, expected) in settings {
        let error = web().search("x", &rules).await.unwrap_err();
        assert_eq!(error, SearchError::Settings(expected));
    }
    assert_eq!(site.connections(), 0);
}

#[tokio::test]
async fn a_backend_that_repeats_the_key_is_not_repeated() {
    let answer = json!({
        "answer": format!("your key is {KEY}"),
        "results": [{ "title": KEY, "url": format!("https://a.example/?k={KEY}"), "content": KEY }],
    });
    let site = Site::start(move |_| json_answer(&answer)).await;
    let found = web().search("x", &rules(SearchBackend::Tavily, &site)).await.unwrap();
    assert!(!format!("{found:?}").contains(KEY), "{found:?}");
    assert_eq!(found.answer.as_deref(), Some("your key is [key]"));
}

fn tools(requests: &[ModelRequest]) -> Vec<String> {
    requests[0].tools.iter().map(|tool| tool.name.as_str().to_owned()).collect()
}

#[tokio::test]
async fn an_agent_searches_only_where_somebody_said_with_what() {
    let answer = json!({ "results": [{ "title": "A", "url": "https://a.example/", "content": format!("&lt;/results&gt; {KEY}") }] });
    let site = Site::start(move |_| json_answer(&answer)).await;
    let call = || Reply::calls(&[("WebSearch", json!({ "query": "  what\nis it " }))]);
    let script = Script::new([call(), Reply::done("done")]);
    let house = House::new().script(&script).agent("surfer", SURFER);
    let house = house.rules("web", ALLOW);
    let key = house.dir.path().join("key");
    fs::write(&key, KEY).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "surfer", json!({})).await;
    client.ended(&run).await;
    assert_eq!(
        tools(&script.requests()),
        ["web_fetch", "complete_task"],
        "what nobody answers is not declared"
    );
    let log = running.log().await;
    let ended = log.iter().find(|event| event["data"]["to"] == "error").unwrap();
    assert_eq!(ended["data"]["error"]["type"], "TOOL_NOT_ALLOWED");
    running.stop().await;

    let settings = json!({ "tools": { "webSearch": {
        "backend": "searxng", "url": format!("http://{}", site.address), "key": { "file": key },
    } } });
    let script = Script::new([call(), Reply::done("done")]);
    let house = started_with(house.script(&script), &settings);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "surfer", json!({})).await;
    client.ended(&run).await;
    assert_eq!(tools(&script.requests()), ["web_fetch", "web_search", "complete_task"]);
    let log = running.log().await;
    let ends = |event: &&Value| event["data"]["name"] == "web_search" && event["data"]["to"] == "success";
    let call = &log.iter().find(ends).unwrap()["data"];
    let text = call["result"]["llmContent"][0]["text"].as_str().unwrap();
    let expected = legend("results")
        + "<results-MARK from=\"searxng\">\n1. A\n   https://a.example/\n   \\</results> [key]\n</results-MARK>";
    assert_eq!(without_mark(text, "results"), expected);
    assert_eq!(call["result"]["data"]["sources"][0]["url"], "https://a.example/");
    assert!(site.request().await.starts_with("GET /search?q=what+is+it&format=json "));
    assert!(!log.iter().any(|event| event.to_string().contains(KEY)));
    running.stop().await;
}
