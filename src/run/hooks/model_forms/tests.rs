//! What becomes of requests and answers that hooks change?

use std::sync::Arc;

use models::RequestPurpose;
use protocol::{CallId, Usage};

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

#[test]
fn texts_of_a_request_are_changed_where_they_stand() {
    let results = ContextMessage { role: MessageRole::Tool, parts: vec![result("secret")], raw: None };
    let mut asked = request(vec![ContextMessage::user("secret"), results]);
    let mut wanted = shown_request("m", &asked);
    wanted["messages"][1]["content"] = json!("hidden");
    wanted["messages"][2]["content"] = json!("hidden too");
    wanted["config"] = json!({ "temperature": 0.5, "maxOutputTokens": 1_000, "seed": 7 });
    let warnings = changed_request("m", &mut asked, &wanted).unwrap();
    assert_eq!(warnings, ["a hook's `config.seed` of a request has no effect"]);
    let texts: Vec<String> = asked.messages.iter().map(|message| text_of(message)).collect();
    assert_eq!(texts, ["hidden", "hidden too"]);
    assert_eq!((asked.sampling.temperature, asked.sampling.max_output_tokens), (Some(0.5), Some(100)));
}

#[test]
fn a_change_that_cannot_be_made_is_told_and_not_half_made() {
    let both = ContextMessage { role: MessageRole::Tool, parts: vec![result("a"), result("b")], raw: None };
    for (pointer, value) in [
        ("/messages", json!([])),
        ("/messages", json!("all of them")),
        ("/messages/1/content", json!("one")),
        ("/messages/0/role", json!("user")),
        ("/messages/0/content", json!(7)),
        ("/config", json!([])),
        ("/config", json!({ "temperature": "hot" })),
        ("/config", json!({ "maxOutputTokens": 0 })),
    ] {
        let mut asked = request(vec![both.clone()]);
        let mut wanted = shown_request("m", &asked);
        *wanted.pointer_mut(pointer).unwrap() = value;
        assert!(changed_request("m", &mut asked, &wanted).is_err(), "{pointer}");
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
    let reply = ModelReply {
        parts: vec![thought, ReplyPart::Text("a secret".to_owned()), call.clone()],
        raw: None,
        usage: Usage::default(),
        reason: FinishReason::Stop,
    };
    let same = changed_reply(reply.clone(), &shown_reply(&reply)).unwrap();
    assert_eq!(same.parts, reply.parts);
    let mut wanted = shown_reply(&reply);
    wanted["candidates"][0]["content"]["parts"] = json!([{ "text": "nothing" }]);
    let changed = changed_reply(reply.clone(), &wanted).unwrap();
    assert_eq!(changed.parts, [ReplyPart::Text("nothing".to_owned()), call]);
    assert!(changed_reply(reply, &json!({ "candidates": [{ "content": { "parts": [7] } }] })).is_err());
    assert_eq!(stand_in(&json!({ "text": "hello" })).as_deref(), Some("hello"));
    assert_eq!(stand_in(&json!({ "text": " " })), None);
}
