//! Requests as they go out.

use expect_test::{Expect, expect};
use serde_json::value::RawValue;

use super::*;
use crate::{RequestPurpose, encoder::RequestEncoder};
use protocol::{
    CallId, MessagePart, MessageRole, ProviderMessage, Risk, SamplingSettings, ToolCall, ToolKind,
};

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

fn body(model: &str, request: &ModelRequest) -> Value {
    let (body, _) = RequestEncoder::new(AnthropicDialect::new(model), "mine").encode(request);
    serde_json::from_slice(&body)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&body)))
}

/// The messages of a request, one a line.
fn check(messages: Vec<ContextMessage>, expected: Expect) {
    let body = body("claude-x", &request(messages));
    let lines: String =
        body["messages"].as_array().unwrap().iter().map(|message| format!("{message}\n")).collect();
    expected.assert_eq(&lines);
}

fn message(role: MessageRole, parts: Vec<MessagePart>) -> ContextMessage {
    ContextMessage { role, parts, raw: None }
}

fn said(provider: &str, raw: &str, parts: Vec<MessagePart>) -> ContextMessage {
    let raw = ProviderMessage {
        provider: provider.into(),
        entry: None,
        raw: Arc::from(RawValue::from_string(raw.to_owned()).unwrap()),
    };
    ContextMessage { raw: Some(raw), ..message(MessageRole::Model, parts) }
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

fn result(id: &str, parts: Vec<MessagePart>, is_error: bool) -> MessagePart {
    MessagePart::ToolResult {
        call_id: CallId::from(id),
        provider_call_id: Some("same".to_owned()),
        name: "read_file".into(),
        parts,
        is_error,
    }
}

fn inline(mime_type: &str) -> MessagePart {
    MessagePart::InlineData { mime_type: mime_type.to_owned(), data: "AAAA".to_owned() }
}

#[test]
fn what_the_provider_said_goes_back_as_it_is_and_results_have_its_ids() {
    let raw = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"I  read."},{"type":"tool_use","id":"toolu_1","name":"read_file","input":{"path": "a"}},{"type":"tool_use","id":"toolu_2","name":"glob","input":{}}]}"#;
    let parts = || vec![call("c1", "read_file", json!({ "path": "a" })), call("c2", "glob", json!({}))];
    let results = || {
        vec![
            result(
                "c1",
                vec![MessagePart::text("one"), inline("image/png"), inline("application/pdf")],
                false,
            ),
            result("c2", vec![], true),
        ]
    };
    check(
        vec![
            ContextMessage::user("read"),
            said("anthropic", raw, parts()),
            message(MessageRole::Tool, results()),
            // Another's, and one whose calls are others than those that were run.
            said("gemini", raw, parts()),
            message(MessageRole::Tool, results()),
            said("anthropic", raw, vec![call("c3", "mcp.git.log", json!("no object"))]),
            message(MessageRole::Tool, vec![result("c3", vec![MessagePart::text("x")], false)]),
        ],
        expect![[r#"
            {"role":"user","content":[{"type":"text","text":"read"}]}
            {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"I  read."},{"type":"tool_use","id":"toolu_1","name":"read_file","input":{"path":"a"}},{"type":"tool_use","id":"toolu_2","name":"glob","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"one"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}]},{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"(nothing)"}],"is_error":true}]}
            {"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"read_file","input":{"path":"a"}},{"type":"tool_use","id":"c2","name":"glob","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"one"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}]},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"(nothing)"}],"is_error":true}]}
            {"role":"assistant","content":[{"type":"tool_use","id":"c3","name":"mcp__git__log","input":{"arguments":"no object"}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":[{"type":"text","text":"x"}]}]}
        "#]],
    );
}

#[test]
fn what_people_give_is_blocks_and_what_cannot_be_said_is_named() {
    check(
        vec![
            message(MessageRole::Model, vec![MessagePart::text("Good day.")]),
            ContextMessage::user("hello"),
            message(
                MessageRole::User,
                vec![
                    MessagePart::text(" "),
                    inline("image/jpeg"),
                    inline("image/bmp"),
                    inline("audio/wav"),
                    MessagePart::File {
                        mime_type: "image/png".into(),
                        uri: "https://a.example/x.png".into(),
                    },
                    MessagePart::File {
                        mime_type: "application/pdf".into(),
                        uri: "https://a.example/x.pdf".into(),
                    },
                    MessagePart::File { mime_type: "text/plain".into(), uri: "https://a.example/x".into() },
                ],
            ),
            message(
                MessageRole::Model,
                vec![MessagePart::Thought { text: "hm".into(), signature: Some("x".into()) }],
            ),
            ContextMessage::user("there?"),
        ],
        expect![[r#"
            {"role":"user","content":[{"type":"text","text":"Begin."}]}
            {"role":"assistant","content":[{"type":"text","text":"Good day."}]}
            {"role":"user","content":[{"type":"text","text":"hello"},{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"AAAA"}},{"type":"text","text":"[image/bmp, which cannot be shown]"},{"type":"text","text":"[audio/wav, which cannot be shown]"},{"type":"image","source":{"type":"url","url":"https://a.example/x.png"}},{"type":"document","source":{"type":"url","url":"https://a.example/x.pdf"}},{"type":"text","text":"[https://a.example/x]"},{"type":"text","text":"there?"}]}
        "#]],
    );
}

#[test]
fn settings_tools_and_what_the_cache_keeps() {
    let tool = |name: &str, parameters: Value| ToolDeclaration {
        name: name.into(),
        title: "Log".to_owned(),
        description: "Shows it.".to_owned(),
        kind: ToolKind::Read,
        risk: Risk::Safe,
        parameters,
    };
    let tools = [tool("mcp.git.log", json!({})), tool("glob", json!({ "type": "object" }))];
    let asked = ModelRequest {
        system: "Be kind.".into(),
        tools: tools.into(),
        sampling: SamplingSettings {
            temperature: Some(1.5),
            top_p: Some(0.9),
            max_output_tokens: Some(100),
            thinking_budget: None,
        },
        schema: Some(Arc::new(json!({ "type": "object" }))),
        ..request(vec![ContextMessage::user("x")])
    };
    expect![[r#"
        {
          "model": "claude-sonnet-4-5",
          "max_tokens": 100,
          "stream": true,
          "system": [
            {
              "type": "text",
              "text": "Be kind.\n\nReply with JSON alone, without a fence, that fits this JSON Schema:\n{\"type\":\"object\"}",
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ],
          "temperature": 1.0,
          "messages": [
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "x"
                }
              ]
            }
          ],
          "tools": [
            {
              "name": "mcp__git__log",
              "description": "Shows it.",
              "input_schema": {
                "type": "object"
              }
            },
            {
              "name": "glob",
              "description": "Shows it.",
              "input_schema": {
                "type": "object"
              },
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ]
        }"#]].assert_eq(&format!("{:#}", body("claude-sonnet-4-5", &asked)));
    let mut told = String::new();
    for (model, most, budget) in [
        ("claude-sonnet-4-5", None, None),
        ("claude-3-5-haiku-latest", None, Some(0)),
        ("claude-3-opus-20240229", Some(10_000), None),
        ("claude-opus-4-1", None, Some(-1)),
        ("claude-sonnet-4-5", Some(2_000), Some(10_000)),
        ("claude-sonnet-4-5", None, Some(5)),
        ("claude-3-5-haiku-latest", Some(100), Some(50_000)),
        ("somebody-elses", None, None),
        ("claude-sonnet-5-5", Some(2_000), Some(2_000)),
        ("claude-opus-5", None, Some(-1)),
        ("claude-opus-5", None, Some(0)),
    ] {
        let sampling = SamplingSettings {
            temperature: Some(0.5),
            max_output_tokens: most,
            thinking_budget: budget,
            ..SamplingSettings::default()
        };
        let body = body(model, &ModelRequest { sampling, ..request(vec![ContextMessage::user("x")]) });
        told.push_str(&format!(
            "{} {} {} {} {}\n",
            body["model"], body["max_tokens"], body["thinking"], body["output_config"], body["temperature"]
        ));
        let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
        assert!(budget < body["max_tokens"].as_u64().unwrap(), "there is room to answer");
    }
    expect![[r#"
        "claude-sonnet-4-5" 64000 null null 0.5
        "claude-3-5-haiku-latest" 8192 null null 0.5
        "claude-3-opus-20240229" 4096 null null 0.5
        "claude-opus-4-1" 32000 {"type":"enabled","budget_tokens":30976} null null
        "claude-sonnet-4-5" 12000 {"type":"enabled","budget_tokens":10000} null null
        "claude-sonnet-4-5" 64000 {"type":"enabled","budget_tokens":1024} null null
        "claude-3-5-haiku-latest" 8192 {"type":"enabled","budget_tokens":7168} null null
        "somebody-elses" 8192 null null 0.5
        "claude-sonnet-5-5" 4000 {"type":"adaptive","display":"summarized"} {"effort":"low"} null
        "claude-opus-5" 64000 {"type":"adaptive","display":"summarized"} null null
        "claude-opus-5" 64000 null {"effort":"low"} null
    "#]]
    .assert_eq(&told);
}

#[test]
fn ids_that_are_refused_do_not_go_back() {
    let raw = |first: &str, second: &str| {
        format!(
            r#"{{"content":[{{"type":"tool_use","id":"{first}","name":"glob","input":{{}}}},{{"type":"tool_use","id":"{second}","name":"glob","input":{{}}}}]}}"#
        )
    };
    let ids = |first: &str, second: &str| {
        let calls = vec![call("c1", "glob", json!({})), call("c2", "glob", json!({}))];
        let results = vec![
            result("c1", vec![MessagePart::text("one")], false),
            result("c2", vec![MessagePart::text("two")], false),
        ];
        let asked = request(vec![
            ContextMessage::user("go"),
            said("anthropic", &raw(first, second), calls),
            message(MessageRole::Tool, results),
        ]);
        let body = body("claude-x", &asked);
        let of = |at: usize, field: &str| {
            let blocks = body["messages"][at]["content"].as_array().unwrap().clone();
            blocks.iter().map(|block| block[field].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of(1, "id"), of(2, "tool_use_id"));
        of(1, "id")
    };
    assert_eq!(ids("toolu_1", "a-B_9"), ["toolu_1", "a-B_9"]);
    for (first, second) in [("same", "same"), ("", "x"), ("x", "call:2"), ("a.b", "x"), ("ä", "x")] {
        assert_eq!(ids(first, second), ["c1", "c2"], "{first:?} {second:?}");
    }
}

#[test]
fn what_is_counted_says_nothing_of_the_answer() {
    let sampling = SamplingSettings {
        temperature: Some(0.5),
        max_output_tokens: Some(9),
        ..SamplingSettings::default()
    };
    let turn = ModelRequest { system: "s".into(), sampling, ..request(vec![ContextMessage::user("q")]) };
    let count = |model: &str, turn: &ModelRequest| {
        let body = RequestEncoder::new(AnthropicDialect::new(model), "mine").encode_count(turn).unwrap();
        String::from_utf8(body).unwrap()
    };
    expect![[r#"{"model":"claude-haiku-4-5","system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}"#]].assert_eq(&count("claude-haiku-4-5", &turn));
    // Thoughts of earlier turns count where thinking is on.
    let sampling = SamplingSettings { thinking_budget: Some(2_000), ..SamplingSettings::default() };
    let turn = ModelRequest { system: "".into(), sampling, ..turn };
    expect![[r#"{"model":"claude-haiku-4-5","thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}"#]].assert_eq(&count("claude-haiku-4-5", &turn));
    expect![[r#"{"model":"claude-opus-4-7","thinking":{"type":"adaptive","display":"summarized"},"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}"#]].assert_eq(&count("claude-opus-4-7", &turn));
    let read = super::super::count::read;
    assert_eq!(read(br#"{"input_tokens":7}"#), Some(7));
    assert_eq!([read(br#"{"input_tokens":-7}"#), read(b"{}"), read(b"<html>")], [None; 3]);
}
