//! Requests as they go out.

use expect_test::{Expect, expect};
use serde_json::value::RawValue;

use super::*;
use crate::{RequestPurpose, encoder::RequestEncoder};
use protocol::{CallId, MessagePart, MessageRole, ProviderMessage, Risk, ToolCall, ToolKind};

fn request(messages: Vec<ContextMessage>) -> ModelRequest {
    ModelRequest {
        purpose: RequestPurpose::Turn,
        system: "".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: [].into(),
        sampling: SamplingSettings::default(),
        schema: None,
        provider_tool: None,
        ordinal: 0,
        others: 0,
        path: "".into(),
        tree_ordinal: 0,
        room: None,
    }
}

const ALL: MediaSupport = MediaSupport { audio: true, pdf: true };

fn body(form: ChatCompletionsDialect, request: &ModelRequest) -> Value {
    let (body, _) = RequestEncoder::new(form, "mine").encode(request);
    serde_json::from_slice(&body)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&body)))
}

/// The messages of a request, one a line.
fn check(messages: Vec<ContextMessage>, expected: Expect) {
    let body = body(ChatCompletionsDialect::new("m", false, ALL), &request(messages));
    let lines: String =
        body["messages"].as_array().unwrap().iter().map(|message| format!("{message}\n")).collect();
    expected.assert_eq(&lines);
}

fn message(role: MessageRole, parts: Vec<MessagePart>) -> ContextMessage {
    ContextMessage { role, parts, raw: None }
}

fn call(id: &str, name: &str, arguments: Value) -> MessagePart {
    MessagePart::ToolCall(ToolCall {
        call_id: CallId::from(id),
        provider_call_id: Some("same".to_owned()),
        name: name.into(),
        arguments,
        signature: None,
        redacted: false,
    })
}

fn result(id: &str, parts: Vec<MessagePart>) -> MessagePart {
    MessagePart::ToolResult {
        call_id: CallId::from(id),
        provider_call_id: Some("same".to_owned()),
        name: "read_file".into(),
        parts,
        is_error: false,
    }
}

fn inline(mime_type: &str) -> MessagePart {
    MessagePart::InlineData { mime_type: mime_type.to_owned(), data: "AAAA".to_owned() }
}

#[test]
fn calls_and_results_go_by_ids_of_our_own() {
    check(
        vec![
            ContextMessage::user("read"),
            message(
                MessageRole::Model,
                vec![
                    MessagePart::text("I read."),
                    call("c1", "read_file", json!({ "path": "a" })),
                    call("c2", "mcp.git.log", Value::Null),
                    call("c3", "glob", json!("no object")),
                ],
            ),
            message(
                MessageRole::Tool,
                vec![
                    result(
                        "c1",
                        vec![MessagePart::text("one"), inline("image/png"), MessagePart::text("two")],
                    ),
                    result("c2", vec![]),
                    result("c3", vec![MessagePart::text("no")]),
                ],
            ),
            message(MessageRole::Model, vec![call("c4", "glob", json!({}))]),
            message(
                MessageRole::Model,
                vec![MessagePart::Thought { text: "hm".into(), signature: None }, MessagePart::text("")],
            ),
            ContextMessage::user("thanks"),
        ],
        expect![[r#"
            {"role":"user","content":"read"}
            {"role":"assistant","content":"I read.","tool_calls":[{"id":"c1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}},{"id":"c2","type":"function","function":{"name":"mcp__git__log","arguments":"{}"}},{"id":"c3","type":"function","function":{"name":"glob","arguments":"{\"arguments\":\"no object\"}"}}]}
            {"role":"tool","tool_call_id":"c1","content":"one\ntwo"}
            {"role":"tool","tool_call_id":"c2","content":""}
            {"role":"tool","tool_call_id":"c3","content":"no"}
            {"role":"user","content":[{"type":"text","text":"From the results above:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
            {"role":"assistant","tool_calls":[{"id":"c4","type":"function","function":{"name":"glob","arguments":"{}"}}]}
            {"role":"user","content":"thanks"}
        "#]],
    );
}

#[test]
fn what_people_give_is_text_or_parts_and_what_cannot_be_said_is_named() {
    check(
        vec![
            message(MessageRole::Model, vec![MessagePart::text("Good day.")]),
            ContextMessage::user("hello"),
            message(MessageRole::User, vec![]),
            message(
                MessageRole::User,
                vec![
                    MessagePart::text(""),
                    MessagePart::text("look"),
                    inline("image/jpeg"),
                    inline("audio/wav"),
                    inline("audio/mpeg"),
                    inline("audio/ogg"),
                    inline("application/pdf"),
                    MessagePart::File {
                        mime_type: "image/png".into(),
                        uri: "https://a.example/x.png".into(),
                    },
                    MessagePart::File { mime_type: "text/plain".into(), uri: "https://a.example/x".into() },
                ],
            ),
        ],
        expect![[r#"
            {"role":"user","content":"Begin."}
            {"role":"assistant","content":"Good day."}
            {"role":"user","content":"hello"}
            {"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,AAAA"}},{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},{"type":"input_audio","input_audio":{"data":"AAAA","format":"mp3"}},{"type":"text","text":"[audio/ogg, which cannot be shown]"},{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,AAAA"}},{"type":"image_url","image_url":{"url":"https://a.example/x.png"}},{"type":"text","text":"[https://a.example/x]"}]}
        "#]],
    );
}

#[test]
fn thoughts_go_back_with_calls_to_the_server_that_had_them() {
    let said = |provider: &str, entry: Option<&str>, parts: Vec<MessagePart>| ContextMessage {
        raw: Some(ProviderMessage {
            provider: provider.into(),
            entry: entry.map(Into::into),
            raw: Arc::from(
                RawValue::from_string(
                    r#"{"reasoning_content":"hm","reasoning_details":[{"type":"x","data":1.0}],"other":1}"#
                        .to_owned(),
                )
                .unwrap(),
            ),
        }),
        ..message(MessageRole::Model, parts)
    };
    check(
        vec![
            ContextMessage::user("go"),
            said("openai", Some("mine"), vec![call("c1", "glob", json!({}))]),
            said("gemini", Some("mine"), vec![call("c2", "glob", json!({}))]),
            said("openai", Some("other"), vec![call("c3", "glob", json!({}))]),
            // Of before entries were kept.
            said("openai", None, vec![call("c4", "glob", json!({}))]),
            said("openai", Some("mine"), vec![MessagePart::text("done")]),
        ],
        expect![[r#"
            {"role":"user","content":"go"}
            {"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"glob","arguments":"{}"}}],"reasoning_content":"hm","reasoning_details":[{"type":"x","data":1.0}]}
            {"role":"assistant","tool_calls":[{"id":"c2","type":"function","function":{"name":"glob","arguments":"{}"}}]}
            {"role":"assistant","tool_calls":[{"id":"c3","type":"function","function":{"name":"glob","arguments":"{}"}}]}
            {"role":"assistant","tool_calls":[{"id":"c4","type":"function","function":{"name":"glob","arguments":"{}"}}],"reasoning_content":"hm","reasoning_details":[{"type":"x","data":1.0}]}
            {"role":"assistant","content":"done"}
        "#]],
    );
}

#[test]
fn settings_stand_under_the_names_that_the_server_knows() {
    let tool = ToolDeclaration {
        name: "mcp.git.log".into(),
        title: "Log".to_owned(),
        description: "Shows it.".to_owned(),
        kind: ToolKind::Read,
        risk: Risk::Safe,
        parameters: json!({ "type": "object" }),
    };
    let sampling = SamplingSettings {
        temperature: Some(0.5),
        top_p: Some(0.9),
        max_output_tokens: Some(100),
        thinking_budget: Some(10_000),
    };
    let schema = Some(Arc::new(json!({ "type": "object" })));
    let asked = ModelRequest {
        system: "Be kind.".into(),
        tools: [tool].into(),
        sampling,
        schema,
        ..request(vec![ContextMessage::user("x")])
    };
    let told: String = [("gpt-5", true), ("gpt-4o", true), ("qwen3", false), ("openai/o4-mini", false)]
        .map(|(model, is_own)| format!("{}\n", body(ChatCompletionsDialect::new(model, is_own, ALL), &asked)))
        .concat();
    expect![[r#"
        {"model":"gpt-5","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":100,"reasoning_effort":"medium","response_format":{"type":"json_schema","json_schema":{"name":"reply","schema":{"type":"object"}}},"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"mcp__git__log","description":"Shows it.","parameters":{"type":"object"}}}]}
        {"model":"gpt-4o","stream":true,"stream_options":{"include_usage":true},"temperature":0.5,"top_p":0.9,"max_completion_tokens":100,"response_format":{"type":"json_schema","json_schema":{"name":"reply","schema":{"type":"object"}}},"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"mcp__git__log","description":"Shows it.","parameters":{"type":"object"}}}]}
        {"model":"qwen3","stream":true,"stream_options":{"include_usage":true},"temperature":0.5,"top_p":0.9,"max_tokens":100,"response_format":{"type":"json_schema","json_schema":{"name":"reply","schema":{"type":"object"}}},"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"mcp__git__log","description":"Shows it.","parameters":{"type":"object"}}}]}
        {"model":"openai/o4-mini","stream":true,"stream_options":{"include_usage":true},"max_tokens":100,"response_format":{"type":"json_schema","json_schema":{"name":"reply","schema":{"type":"object"}}},"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"mcp__git__log","description":"Shows it.","parameters":{"type":"object"}}}]}
    "#]].assert_eq(&told);
    let plain = body(ChatCompletionsDialect::new("m", true, ALL), &request(vec![ContextMessage::user("x")]));
    let fields: Vec<&str> = plain.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["model", "stream", "stream_options", "messages"]);
}

#[test]
fn what_the_model_does_not_take_is_named() {
    let parts = ["image/png", "audio/wav", "audio/mpeg", "application/pdf"].map(inline).to_vec();
    let asked = request(vec![
        message(MessageRole::User, parts.clone()),
        message(MessageRole::Model, vec![call("c1", "read_file", json!({}))]),
        message(MessageRole::Tool, vec![result("c1", parts)]),
    ]);
    let body = body(ChatCompletionsDialect::new("m", false, MediaSupport::default()), &asked);
    for at in [0, 3] {
        let content: Vec<&Value> = body["messages"][at]["content"].as_array().unwrap().iter().collect();
        let words: Vec<&str> = content.iter().filter_map(|part| part["text"].as_str()).collect();
        let named =
            ["audio/wav", "audio/mpeg", "application/pdf"].map(|it| format!("[{it}, which cannot be shown]"));
        assert!(words.ends_with(&named.each_ref().map(String::as_str)), "{words:?}");
        assert_eq!(content.iter().filter(|part| part["type"] == "image_url").count(), 1);
    }
}
