//! What becomes of requests and answers that hooks change?

use std::sync::Arc;

use models::RequestPurpose;
use protocol::{CallId, Usage};
use redact::RedactorParts;

use super::*;

fn request(messages: Vec<ContextMessage>) -> ModelRequest {
    ModelRequest {
        purpose: RequestPurpose::Turn,
        system: "You work.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::default(),
        sampling: SamplingSettings { max_output_tokens: Some(100), ..SamplingSettings::default() },
        schema: None,
        provider_tool: None,
        ordinal: 0,
        others: 0,
        path: "a#1".into(),
        tree_ordinal: 0,
        room: None,
    }
}

fn result(text: &str) -> MessagePart {
    MessagePart::ToolResult {
        call_id: CallId::from("c"),
        provider_call_id: None,
        name: "read_file".into(),
        parts: vec![MessagePart::text(text)],
        is_error: false,
    }
}

const SECRET: &str = "q9Zk3mVw7LxT2bRc8NhY";

fn redactor() -> Redactor {
    let environment = [("BOARD_TOKEN".to_owned(), SECRET.to_owned())].into_iter();
    Redactor::new(RedactorParts { environment, patterns: Vec::new() })
}

fn texts_of(request: &ModelRequest) -> Vec<String> {
    let of_message = |message: &Arc<ContextMessage>| {
        text_places(message).into_iter().map(|place| text_at(message, place)).collect::<Vec<_>>()
    };
    request.messages.iter().flat_map(of_message).collect()
}

fn reply(parts: Vec<ReplyPart>) -> ModelReply {
    ModelReply { parts, raw: None, usage: Usage::default(), reason: FinishReason::Stop }
}

#[test]
fn texts_of_a_request_are_changed_where_they_stand() {
    let results = ContextMessage { role: MessageRole::Tool, parts: vec![result("secret")], raw: None };
    let mut asked = request(vec![ContextMessage::user("secret"), results]);
    let mut wanted = shown_request("m", &asked);
    wanted["messages"][1]["content"] = json!("hidden");
    wanted["messages"][2]["content"] = json!("hidden too");
    wanted["config"] = json!({ "temperature": 0.5, "maxOutputTokens": 1_000, "seed": 7 });
    let warnings = changed_request("m", &mut asked, &wanted, &Redactor::none()).unwrap();
    assert_eq!(warnings, ["a hook's `config.seed` of a request has no effect"]);
    assert_eq!(texts_of(&asked), ["hidden", "hidden too"]);
    assert_eq!((asked.sampling.temperature, asked.sampling.max_output_tokens), (Some(0.5), Some(100)));
}

#[test]
fn each_of_several_results_is_a_text_of_its_own() {
    let parts = vec![result("one"), result("a secret"), MessagePart::text("said meanwhile")];
    let mut asked = request(vec![ContextMessage { role: MessageRole::Tool, parts, raw: None }]);
    let mut wanted = shown_request("m", &asked);
    let shown: Vec<&Value> = wanted["messages"].as_array().unwrap().iter().map(|it| &it["content"]).collect();
    assert_eq!(shown, ["You work.", "said meanwhile", "one", "a secret"]);
    wanted["messages"][1]["content"] = json!("said");
    wanted["messages"][3]["content"] = json!("hidden");
    changed_request("m", &mut asked, &wanted, &Redactor::none()).unwrap();
    assert_eq!(asked.messages[0].parts, [result("one"), result("hidden"), MessagePart::text("said")]);
}

#[test]
fn secrets_that_a_hook_puts_in_are_hidden() {
    let redactor = redactor();
    let mut asked = request(vec![ContextMessage::user("hi")]);
    let mut wanted = shown_request("m", &asked);
    for at in 0..2 {
        wanted["messages"][at]["content"] = json!(format!("hi {SECRET}"));
    }
    changed_request("m", &mut asked, &wanted, &redactor).unwrap();
    assert!(!asked.system.contains(SECRET), "{}", asked.system);
    let texts = texts_of(&asked);
    assert!(texts[0].starts_with("hi ") && !texts[0].contains(SECRET), "{texts:?}");

    let said = reply(vec![ReplyPart::Text("a".to_owned()), ReplyPart::Text("b".to_owned())]);
    let (begin, end) = SECRET.split_at(9);
    let changed =
        changed_reply(said, &json!({ "candidates": [{ "content": { "parts": [begin, end] } }] }), &redactor);
    let changed = changed.unwrap();
    let text: String = changed.parts.iter().filter_map(text_part).collect();
    assert!(!text.is_empty() && !text.contains(SECRET), "{text}");
    let text = stand_in(&json!({ "text": SECRET }), &redactor).unwrap();
    assert!(!text.contains(SECRET), "{text}");
}

#[test]
fn the_text_of_an_answer_that_a_hook_changed_is_the_one_that_counts() {
    let said = || reply(vec![ReplyPart::Text("the secret".to_owned())]);
    let parts_of = |wanted: &Value| changed_reply(said(), wanted, &Redactor::none()).map(|it| it.parts);
    let hidden = [ReplyPart::Text("hidden".to_owned())];
    let copy = shown_reply(&said());
    let change = |pointers: &[(&str, &str)]| {
        let mut wanted = copy.clone();
        for (pointer, text) in pointers {
            *wanted.pointer_mut(pointer).unwrap() = json!(text);
        }
        wanted
    };
    let (text, part) = ("/text", "/candidates/0/content/parts/0");
    assert_eq!(parts_of(&copy).unwrap(), said().parts);
    assert_eq!(parts_of(&change(&[(text, "hidden")])).unwrap(), hidden);
    assert_eq!(parts_of(&change(&[(part, "hidden")])).unwrap(), hidden);
    assert_eq!(parts_of(&change(&[(text, "hidden"), (part, "hidden")])).unwrap(), hidden);
    assert_eq!(parts_of(&json!({ "text": "hidden" })).unwrap(), hidden);
    let why = parts_of(&change(&[(text, "hidden"), (part, "gone")])).unwrap_err();
    assert_eq!(why, "its `text` and its `candidates` say different things");
    let mut emptied = copy.clone();
    emptied["candidates"] = json!([]);
    assert!(parts_of(&emptied).is_err());
    assert!(parts_of(&json!({})).is_err());
}

#[test]
fn a_change_that_cannot_be_made_is_told_and_not_half_made() {
    let both = ContextMessage { role: MessageRole::Tool, parts: vec![result("a"), result("b")], raw: None };
    for (pointer, value) in [
        ("/messages", json!([])),
        ("/messages", json!("all of them")),
        ("/messages/2/role", json!("model")),
        ("/messages/0/role", json!("user")),
        ("/messages/0/content", json!(7)),
        ("/config", json!([])),
        ("/config", json!({ "temperature": "hot" })),
        ("/config", json!({ "maxOutputTokens": 0 })),
    ] {
        let mut asked = request(vec![both.clone()]);
        let mut wanted = shown_request("m", &asked);
        *wanted.pointer_mut(pointer).unwrap() = value;
        assert!(changed_request("m", &mut asked, &wanted, &Redactor::none()).is_err(), "{pointer}");
    }
}

#[test]
fn an_answer_keeps_its_calls_and_loses_its_thoughts_when_it_is_changed() {
    let call = ReplyPart::ToolCall {
        provider_call_id: None,
        name: "read_file".into(),
        arguments: json!({}),
        signature: None,
    };
    let thought = ReplyPart::Thought { text: "the secret".to_owned(), signature: None };
    let reply = reply(vec![thought, ReplyPart::Text("a secret".to_owned()), call.clone()]);
    let none = Redactor::none();
    let same = changed_reply(reply.clone(), &shown_reply(&reply), &none).unwrap();
    assert_eq!(same.parts, reply.parts);
    let mut wanted = shown_reply(&reply);
    wanted["candidates"][0]["content"]["parts"] = json!([{ "text": "nothing" }]);
    let changed = changed_reply(reply.clone(), &wanted, &none).unwrap();
    assert_eq!(changed.parts, [ReplyPart::Text("nothing".to_owned()), call]);
    let faulty = json!({ "candidates": [{ "content": { "parts": [7] } }] });
    assert!(changed_reply(reply, &faulty, &none).is_err());
    assert_eq!(stand_in(&json!({ "text": "hello" }), &none).as_deref(), Ok("hello"));
    assert!(stand_in(&json!({ "text": " " }), &none).is_err());
    assert!(
        stand_in(&json!({ "text": "a", "candidates": [{ "content": { "parts": ["b"] } }] }), &none).is_err()
    );
}
