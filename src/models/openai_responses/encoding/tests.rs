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

const WITH_PDF: MediaSupport = MediaSupport { audio: false, pdf: true };

fn text(form: ResponsesDialect, request: &ModelRequest) -> String {
    String::from_utf8(RequestEncoder::new(form, "mine").encode(request).0).unwrap()
}

/// The items of a request byte for byte, one a line.
fn check(messages: Vec<ContextMessage>, expected: Expect) {
    #[derive(serde::Deserialize)]
    struct Body {
        input: Vec<Box<RawValue>>,
    }
    let body = text(ResponsesDialect::new("m", false, WITH_PDF), &request(messages));
    let Body { input } = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
    let lines: String = input.iter().map(|item| format!("{item}\n")).collect();
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

const SAID: &str = r#"{"output":[{"type":"reasoning","id":"rs_1", "summary":[],"encrypted_content":"gAAA"},{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I  read.","annotations":[]}]},{"id":"fc_1","type":"function_call","call_id":"call_1","name":"read_file","arguments":"{\"path\": \"a\"}"},{"id":"fc_2","type":"function_call","call_id":"call_2","name":"glob","arguments":"{}"}]}"#;

#[test]
fn what_the_provider_said_goes_back_as_it_is_and_results_have_its_ids() {
    let parts = || {
        vec![
            MessagePart::Thought { text: "hm".into(), signature: None },
            MessagePart::text("I  read."),
            call("c1", "read_file", json!({ "path": "a" })),
            call("c2", "glob", json!({})),
        ]
    };
    let results = || {
        message(MessageRole::Tool, vec![result("c1", vec![MessagePart::text("one")]), result("c2", vec![])])
    };
    check(
        vec![ContextMessage::user("read"), said("openai-responses", SAID, parts()), results()],
        expect![[r#"
        {"type":"message","role":"user","content":[{"type":"input_text","text":"read"}]}
        {"type":"reasoning","id":"rs_1", "summary":[],"encrypted_content":"gAAA"}
        {"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I  read.","annotations":[]}]}
        {"id":"fc_1","type":"function_call","call_id":"call_1","name":"read_file","arguments":"{\"path\": \"a\"}"}
        {"id":"fc_2","type":"function_call","call_id":"call_2","name":"glob","arguments":"{}"}
        {"type":"function_call_output","call_id":"call_1","output":"one"}
        {"type":"function_call_output","call_id":"call_2","output":""}
    "#]],
    );
    // What is not its own, or would be refused, is said anew, with ids of our own and without thoughts.
    let doubled = SAID.replace("call_2", "call_1");
    let named_only =
        SAID.replace(r#""encrypted_content":"gAAA""#, r#""encrypted_content":null,"content":[]"#);
    let anonymous = SAID.replace(r#""call_id":"call_2""#, r#""call_id":"""#);
    let one_call =
        SAID.replace(r#""type":"function_call","call_id":"call_2""#, r#""type":"other","call_id":"x""#);
    let thought_last = SAID.replace("]}]}", r#"]},{"type":"reasoning","encrypted_content":"x"}]}"#);
    let thought_last = thought_last.replace(
        r#""arguments":"{}"}]}"#,
        r#""arguments":"{}"},{"type":"reasoning","encrypted_content":"x"}]}"#,
    );
    let others = [
        ("openai", SAID),
        ("openai-responses", doubled.as_str()),
        ("openai-responses", named_only.as_str()),
        ("openai-responses", anonymous.as_str()),
        ("openai-responses", one_call.as_str()),
        ("openai-responses", thought_last.as_str()),
        ("openai-responses", r#"{"output":[]}"#),
        ("openai-responses", r#"{"output":[{}]}"#),
        ("openai-responses", "{}"),
    ];
    let anew = |provider: &str, raw: &str| {
        text(
            ResponsesDialect::new("m", false, WITH_PDF),
            &request(vec![ContextMessage::user("read"), said(provider, raw, parts()), results()]),
        )
    };
    let expected = anew("gemini", r#"{"parts":[]}"#);
    for (provider, raw) in others {
        assert_eq!(anew(provider, raw), expected, "{provider} {raw}");
    }
    check(
        vec![ContextMessage::user("read"), said("anthropic", SAID, parts()), results()],
        expect![[r#"
        {"type":"message","role":"user","content":[{"type":"input_text","text":"read"}]}
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I  read."}]}
        {"type":"function_call","call_id":"c1","name":"read_file","arguments":"{\"path\":\"a\"}"}
        {"type":"function_call","call_id":"c2","name":"glob","arguments":"{}"}
        {"type":"function_call_output","call_id":"c1","output":"one"}
        {"type":"function_call_output","call_id":"c2","output":""}
    "#]],
    );
    // Thoughts that stand openly go back to the server that lets them stand so.
    let open = r#"{"output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}],"summary":[]},{"type":"function_call","call_id":"x1","name":"glob","arguments":"{}"}]}"#;
    check(
        vec![
            said("openai-responses", open, vec![call("c1", "glob", json!({}))]),
            message(MessageRole::Tool, vec![result("c1", vec![MessagePart::text("x")])]),
        ],
        expect![[r#"
            {"type":"message","role":"user","content":[{"type":"input_text","text":"Begin."}]}
            {"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}],"summary":[]}
            {"type":"function_call","call_id":"x1","name":"glob","arguments":"{}"}
            {"type":"function_call_output","call_id":"x1","output":"x"}
        "#]],
    );
}

#[test]
fn calls_and_results_without_a_form_of_their_own_go_by_our_ids() {
    check(
        vec![
            ContextMessage::user("read"),
            message(
                MessageRole::Model,
                vec![
                    MessagePart::text("I read."),
                    call("c1", "read_file", json!({ "path": "a" })),
                    MessagePart::text(""),
                    call("c2", "mcp.git.log", Value::Null),
                    call("c3", "glob", json!("no object")),
                ],
            ),
            message(
                MessageRole::Tool,
                vec![
                    result(
                        "c1",
                        vec![MessagePart::text("one"), inline("image/png"), inline("application/pdf")],
                    ),
                    result("c2", vec![]),
                    result("c3", vec![MessagePart::text("no"), MessagePart::text("never")]),
                ],
            ),
            message(
                MessageRole::Model,
                vec![MessagePart::Thought { text: "hm".into(), signature: Some("x".into()) }],
            ),
            ContextMessage::user("thanks"),
        ],
        expect![[r#"
            {"type":"message","role":"user","content":[{"type":"input_text","text":"read"}]}
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I read."}]}
            {"type":"function_call","call_id":"c1","name":"read_file","arguments":"{\"path\":\"a\"}"}
            {"type":"function_call","call_id":"c2","name":"mcp__git__log","arguments":"{}"}
            {"type":"function_call","call_id":"c3","name":"glob","arguments":"{\"arguments\":\"no object\"}"}
            {"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"one"},{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"},{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,AAAA"}]}
            {"type":"function_call_output","call_id":"c2","output":""}
            {"type":"function_call_output","call_id":"c3","output":"no\nnever"}
            {"type":"message","role":"user","content":[{"type":"input_text","text":"thanks"}]}
        "#]],
    );
}

#[test]
fn what_people_give_is_content_and_what_cannot_be_said_is_named() {
    check(
        vec![
            message(MessageRole::Model, vec![MessagePart::text("Good day.")]),
            ContextMessage::user("hello"),
            message(MessageRole::User, vec![MessagePart::text("")]),
            message(
                MessageRole::User,
                vec![
                    MessagePart::text("look"),
                    inline("image/jpeg"),
                    inline("image/bmp"),
                    inline("audio/wav"),
                    inline("application/pdf"),
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
        ],
        expect![[r#"
            {"type":"message","role":"user","content":[{"type":"input_text","text":"Begin."}]}
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Good day."}]}
            {"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}
            {"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/jpeg;base64,AAAA","detail":"auto"},{"type":"input_text","text":"[image/bmp, which cannot be shown]"},{"type":"input_text","text":"[audio/wav, which cannot be shown]"},{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,AAAA"},{"type":"input_image","image_url":"https://a.example/x.png","detail":"auto"},{"type":"input_file","file_url":"https://a.example/x.pdf"},{"type":"input_text","text":"[https://a.example/x]"}]}
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
    let asked = ModelRequest {
        system: "Be kind.".into(),
        tools: [tool].into(),
        sampling,
        schema: Some(Arc::new(json!({ "type": "object" }))),
        ..request(vec![ContextMessage::user("x")])
    };
    let told: String = [("gpt-5", true), ("gpt-4o", true), ("qwen3", false)]
        .map(|(model, is_own)| format!("{}\n", text(ResponsesDialect::new(model, is_own, WITH_PDF), &asked)))
        .concat();
    expect![[r#"
        {"model":"gpt-5","stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"Be kind.","max_output_tokens":100,"reasoning":{"effort":"medium"},"text":{"format":{"type":"json_schema","name":"reply","schema":{"type":"object"},"strict":false}},"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}],"tools":[{"type":"function","name":"mcp__git__log","description":"Shows it.","parameters":{"type":"object"},"strict":false}]}
        {"model":"gpt-4o","stream":true,"store":false,"instructions":"Be kind.","temperature":0.5,"top_p":0.9,"max_output_tokens":100,"text":{"format":{"type":"json_schema","name":"reply","schema":{"type":"object"},"strict":false}},"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}],"tools":[{"type":"function","name":"mcp__git__log","description":"Shows it.","parameters":{"type":"object"},"strict":false}]}
        {"model":"qwen3","stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"Be kind.","temperature":0.5,"top_p":0.9,"max_output_tokens":100,"text":{"format":{"type":"json_schema","name":"reply","schema":{"type":"object"},"strict":false}},"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}],"tools":[{"type":"function","name":"mcp__git__log","description":"Shows it.","parameters":{"type":"object"},"strict":false}]}
    "#]].assert_eq(&told);
    let least = SamplingSettings { max_output_tokens: Some(1), ..SamplingSettings::default() };
    let plain = ModelRequest { sampling: least, ..request(vec![ContextMessage::user("x")]) };
    expect![[r#"{"model":"gpt-4o","stream":true,"store":false,"max_output_tokens":16,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}"#]].assert_eq(&text(ResponsesDialect::new("gpt-4o", true, WITH_PDF), &plain));
}

#[test]
fn a_document_that_the_model_does_not_take_is_named() {
    let parts = || {
        let file =
            MessagePart::File { mime_type: "application/pdf".into(), uri: "https://a.example/x.pdf".into() };
        vec![inline("image/png"), inline("application/pdf"), file]
    };
    let asked = request(vec![
        message(MessageRole::User, parts()),
        message(MessageRole::Model, vec![call("c1", "read_file", json!({}))]),
        message(MessageRole::Tool, vec![result("c1", parts())]),
    ]);
    let body: Value =
        serde_json::from_str(&text(ResponsesDialect::new("m", false, MediaSupport::default()), &asked))
            .unwrap();
    for content in [&body["input"][0]["content"], &body["input"][2]["output"]] {
        let told: Vec<&str> = content
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part["text"].as_str().unwrap_or("a picture"))
            .collect();
        assert_eq!(
            told,
            ["a picture", "[application/pdf, which cannot be shown]", "[https://a.example/x.pdf]"]
        );
    }
}
