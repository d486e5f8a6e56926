//! Requests as they go out, and what is kept between them.

use expect_test::{Expect, expect};
use serde_json::value::RawValue;

use super::*;
use crate::{RequestPurpose, encoder::RequestEncoder};
use protocol::{CallId, MessagePart, MessageRole, ProviderMessage, Risk, ToolCall, ToolKind};

fn encoder_of(model: &str) -> RequestEncoder<GeminiDialect> {
    RequestEncoder::new(GeminiDialect::new(model), "mine")
}

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

fn body(encoder: &mut RequestEncoder<GeminiDialect>, request: &ModelRequest) -> String {
    let (body, _) = encoder.encode(request);
    let body = String::from_utf8(body).unwrap();
    serde_json::from_str::<Value>(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
    body
}

/// The contents of a request with these messages, one a line.
fn check(messages: Vec<ContextMessage>, expected: Expect) {
    check_for("m", messages, expected);
}

fn check_for(model: &str, messages: Vec<ContextMessage>, expected: Expect) {
    let body = body(&mut encoder_of(model), &request(messages));
    let lines = body.replace("{\"role\"", "\n{\"role\"");
    expected.assert_eq(&format!("{lines}\n"));
}

fn model(parts: Vec<MessagePart>, raw: Option<(&str, &str)>) -> ContextMessage {
    let raw = raw.map(|(provider, raw)| ProviderMessage {
        provider: provider.into(),
        entry: None,
        raw: Arc::from(RawValue::from_string(raw.to_owned()).unwrap()),
    });
    ContextMessage { role: MessageRole::Model, parts, raw }
}

fn call(
    id: &str,
    provider_call_id: Option<&str>,
    name: &str,
    arguments: Value,
    signature: Option<&str>,
) -> MessagePart {
    MessagePart::ToolCall(ToolCall {
        call_id: CallId::from(id),
        provider_call_id: provider_call_id.map(str::to_owned),
        name: name.into(),
        arguments,
        signature: signature.map(str::to_owned),
        redacted: false,
    })
}

fn result(
    id: &str,
    provider_call_id: Option<&str>,
    name: &str,
    parts: Vec<MessagePart>,
    is_error: bool,
) -> MessagePart {
    let provider_call_id = provider_call_id.map(str::to_owned);
    MessagePart::ToolResult {
        call_id: CallId::from(id),
        provider_call_id,
        name: name.into(),
        parts,
        is_error,
    }
}

fn tool(parts: Vec<MessagePart>) -> ContextMessage {
    ContextMessage { role: MessageRole::Tool, parts, raw: None }
}

fn picture() -> MessagePart {
    MessagePart::InlineData { mime_type: "image/png".to_owned(), data: "iVBO".to_owned() }
}

#[test]
fn what_the_model_said_goes_back_byte_for_byte_and_results_repeat_its_names() {
    let raw = r#"{"role":"model","parts":[{"text":"hm","thought":true},{ "functionCall":{"args":{"n":1.50},"name":"ReadFile","id":"7"},"thoughtSignature":"c2ln"},{"functionCall":{"id":"7","name":"glob"}}]}"#;
    let calls = vec![
        MessagePart::Thought { text: "hm".to_owned(), signature: None },
        call("a", Some("7"), "read_file", json!({ "n": 1.5 }), Some("c2ln")),
        call("b", Some("7"), "glob", json!({}), None),
    ];
    check(
        vec![
            ContextMessage::user("go"),
            model(calls, Some(("gemini", raw))),
            tool(vec![
                result(
                    "a",
                    Some("7"),
                    "read_file",
                    vec![MessagePart::text("one"), picture(), MessagePart::text("two")],
                    false,
                ),
                result("b", Some("7"), "glob", vec![MessagePart::text("NO: \"x\"")], true),
            ]),
            ContextMessage::user("and on"),
        ],
        expect![[r#"
            {"contents":[
            {"role":"user","parts":[{"text":"go"}]},
            {"role":"model","parts":[{"text":"hm","thought":true},{ "functionCall":{"args":{"n":1.50},"name":"ReadFile","id":"7"},"thoughtSignature":"c2ln"},{"functionCall":{"id":"7","name":"glob"}}]},
            {"role":"user","parts":[{"functionResponse":{"id":"7","name":"ReadFile","response":{"output":"one\ntwo"}}},{"functionResponse":{"id":"7","name":"glob","response":{"error":"NO: \"x\""}}},{"inlineData":{"mimeType":"image/png","data":"iVBO"}},{"text":"and on"}]}]}
        "#]],
    );
}

#[test]
fn without_the_providers_own_form_messages_are_built_from_their_parts() {
    let calls = || {
        vec![
            MessagePart::Thought { text: "unsigned".to_owned(), signature: None },
            MessagePart::Thought { text: "signed".to_owned(), signature: Some("c2ln".to_owned()) },
            MessagePart::text("I look."),
            call("a", None, "mcp.git.log", json!({ "n": 1 }), Some("eA==")),
            call("b", None, "glob", json!([1]), None),
            call("c", None, "glob", Value::Null, None),
        ]
    };
    let results = || {
        let results = ["a", "b", "c"].map(|id| result(id, None, "whatever", Vec::new(), false));
        tool(results.into())
    };
    let pictures = ContextMessage {
        role: MessageRole::User,
        parts: vec![
            MessagePart::text(""),
            picture(),
            MessagePart::File { mime_type: "application/pdf".to_owned(), uri: "gs://x".to_owned() },
        ],
        raw: None,
    };
    check(
        vec![pictures, model(calls(), None), results()],
        expect![[r#"
        {"contents":[
        {"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"iVBO"}},{"fileData":{"mimeType":"application/pdf","fileUri":"gs://x"}}]},
        {"role":"model","parts":[{"text":"signed","thought":true,"thoughtSignature":"c2ln"},{"text":"I look."},{"functionCall":{"name":"mcp__git__log","args":{"n":1}},"thoughtSignature":"eA=="},{"functionCall":{"name":"glob","args":{"arguments":[1]}}},{"functionCall":{"name":"glob","args":{}}}]},
        {"role":"user","parts":[{"functionResponse":{"name":"mcp__git__log","response":{"output":""}}},{"functionResponse":{"name":"glob","response":{"output":""}}},{"functionResponse":{"name":"glob","response":{"output":""}}}]}]}
    "#]],
    );
    // Another provider's signatures are not Gemini's.
    let foreign = model(calls(), Some(("anthropic", "{}")));
    check(
        vec![ContextMessage::user("go"), foreign, results()],
        expect![[r#"
        {"contents":[
        {"role":"user","parts":[{"text":"go"}]},
        {"role":"model","parts":[{"text":"I look."},{"functionCall":{"name":"mcp__git__log","args":{"n":1}}},{"functionCall":{"name":"glob","args":{"arguments":[1]}}},{"functionCall":{"name":"glob","args":{}}}]},
        {"role":"user","parts":[{"functionResponse":{"name":"mcp__git__log","response":{"output":""}}},{"functionResponse":{"name":"glob","response":{"output":""}}},{"functionResponse":{"name":"glob","response":{"output":""}}}]}]}
    "#]],
    );
    // Calls that were withheld, say, make the verbatim form one that does not match.
    let raw = r#"{"role":"model","parts":[{"functionCall":{"name":"x"}}]}"#;
    check(
        vec![ContextMessage::user("go"), model(vec![MessagePart::text("no")], Some(("gemini", raw)))],
        expect![[r#"
        {"contents":[
        {"role":"user","parts":[{"text":"go"}]},
        {"role":"model","parts":[{"text":"no"}]}]}
    "#]],
    );
}

fn redacted(part: MessagePart) -> MessagePart {
    let MessagePart::ToolCall(call) = part else { panic!("no call") };
    MessagePart::ToolCall(ToolCall { redacted: true, ..call })
}

/// A signature is for the arguments that the model wrote.
#[test]
fn a_redacted_call_leaves_its_signature_behind() {
    let calls = || {
        vec![
            redacted(call("a", None, "t", json!({ "key": "[redacted:env:X]" }), Some("YQ=="))),
            call("b", None, "t", json!({}), Some("Yg==")),
            redacted(call("c", None, "t", json!({ "key": "[redacted:env:X]" }), Some("Yw=="))),
        ]
    };
    let messages = || vec![ContextMessage::user("go"), model(calls(), None)];
    check_for(
        "gemini-2.5-flash",
        messages(),
        expect![[r#"
        {"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"contents":[
        {"role":"user","parts":[{"text":"go"}]},
        {"role":"model","parts":[{"functionCall":{"name":"t","args":{"key":"[redacted:env:X]"}}},{"functionCall":{"name":"t","args":{}},"thoughtSignature":"Yg=="},{"functionCall":{"name":"t","args":{"key":"[redacted:env:X]"}}}]}]}
    "#]],
    );
    check_for(
        "gemini-3-pro-preview",
        messages(),
        expect![[r#"
        {"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"contents":[
        {"role":"user","parts":[{"text":"go"}]},
        {"role":"model","parts":[{"functionCall":{"name":"t","args":{"key":"[redacted:env:X]"}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"t","args":{}},"thoughtSignature":"Yg=="},{"functionCall":{"name":"t","args":{"key":"[redacted:env:X]"}}}]}]}
    "#]],
    );
}

/// Gemini 3 refuses a message whose first call is unsigned.
#[test]
fn calls_that_gemini_did_not_sign_say_so_where_a_signature_is_demanded() {
    let calls =
        || vec![call("a", None, "t", json!({}), Some("other")), call("b", None, "t", json!({}), None)];
    let raw = r#"{"role":"model","parts":[{"text":"I","thoughtSignature":"eA=="},{"functionCall":{"name":"t"}},{"functionCall":{"name":"t"}}]}"#;
    let signed = r#"{"role":"model","parts":[{"functionCall":{"name":"t"},"thoughtSignature":"eA=="},{"functionCall":{"name":"t"}}]}"#;
    let messages = vec![
        ContextMessage::user("go"),
        model(calls(), Some(("anthropic", "{}"))),
        ContextMessage::user("unsigned by an older one"),
        model(
            vec![call("c", None, "t", json!({}), None), call("d", None, "t", json!({}), None)],
            Some(("gemini", raw)),
        ),
        ContextMessage::user("signed"),
        model(calls(), Some(("gemini", signed))),
        ContextMessage::user("nothing to sign"),
        model(vec![MessagePart::text("I think.")], None),
    ];
    check_for(
        "gemini-3-pro-preview",
        messages.clone(),
        expect![[r#"
        {"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"contents":[
        {"role":"user","parts":[{"text":"go"}]},
        {"role":"model","parts":[{"functionCall":{"name":"t","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"t","args":{}}}]},
        {"role":"user","parts":[{"text":"unsigned by an older one"}]},
        {"role":"model","parts":[{"functionCall":{"name":"t","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"t","args":{}}}]},
        {"role":"user","parts":[{"text":"signed"}]},
        {"role":"model","parts":[{"functionCall":{"name":"t"},"thoughtSignature":"eA=="},{"functionCall":{"name":"t"}}]},
        {"role":"user","parts":[{"text":"nothing to sign"}]},
        {"role":"model","parts":[{"text":"I think."}]}]}
    "#]],
    );
    check_for(
        "gemini-2.5-pro",
        messages,
        expect![[r#"
        {"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"contents":[
        {"role":"user","parts":[{"text":"go"}]},
        {"role":"model","parts":[{"functionCall":{"name":"t","args":{}}},{"functionCall":{"name":"t","args":{}}}]},
        {"role":"user","parts":[{"text":"unsigned by an older one"}]},
        {"role":"model","parts":[{"text":"I","thoughtSignature":"eA=="},{"functionCall":{"name":"t"}},{"functionCall":{"name":"t"}}]},
        {"role":"user","parts":[{"text":"signed"}]},
        {"role":"model","parts":[{"functionCall":{"name":"t"},"thoughtSignature":"eA=="},{"functionCall":{"name":"t"}}]},
        {"role":"user","parts":[{"text":"nothing to sign"}]},
        {"role":"model","parts":[{"text":"I think."}]}]}
    "#]],
    );
}

#[test]
fn signatures_are_demanded_from_gemini_3_on() {
    let cases = [
        ("gemini-3-pro-preview", true),
        ("gemini-3.1-flash", true),
        ("gemini-10", true),
        // Names for whatever is the newest.
        ("gemini-flash-latest", true),
        ("gemini-2.5-flash", false),
        ("gemini-robotics-er-1.5-preview", false),
        ("gemma-3", false),
    ];
    for (model, expected) in cases {
        let messages =
            vec![ContextMessage::user("go"), self::model(vec![call("a", None, "t", json!({}), None)], None)];
        let body = body(&mut encoder_of(model), &request(messages));
        assert_eq!(body.contains("skip_thought_signature_validator"), expected, "{model}");
    }
}

#[test]
fn roles_alternate_and_the_user_begins_whatever_the_history_is() {
    check(
        vec![
            model(vec![MessagePart::text("Hello.")], None),
            ContextMessage::user("a"),
            model(vec![MessagePart::Thought { text: "cut".to_owned(), signature: None }], None),
            ContextMessage::user("b"),
            model(vec![MessagePart::text("c")], None),
            model(
                vec![MessagePart::text("d")],
                Some(("gemini", r#"{"role":"model","parts":[{"text":"d"}, {"text":"e"}]}"#)),
            ),
            ContextMessage { role: MessageRole::User, parts: vec![MessagePart::text("")], raw: None },
        ],
        expect![[r#"
            {"contents":[
            {"role":"user","parts":[{"text":"Begin."}]},
            {"role":"model","parts":[{"text":"Hello."}]},
            {"role":"user","parts":[{"text":"a"},{"text":"b"}]},
            {"role":"model","parts":[{"text":"c"},{"text":"d"}, {"text":"e"}]}]}
        "#]],
    );
    check(
        Vec::new(),
        expect![[r#"
        {"contents":[]}
    "#]],
    );
}

#[test]
fn the_rest_of_a_request_says_what_was_asked_for() {
    let declaration = ToolDeclaration {
        name: "mcp.git.log".into(),
        title: "Log".to_owned(),
        description: "Reads the log.".to_owned(),
        kind: ToolKind::Read,
        risk: Risk::Safe,
        parameters: json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
    };
    let mut request = request(vec![ContextMessage::user("go")]);
    request.system = "Be \"brief\".".into();
    request.tools = [declaration].into();
    request.sampling = SamplingSettings {
        temperature: Some(0.5),
        top_p: Some(0.9),
        max_output_tokens: Some(100),
        thinking_budget: Some(-1),
    };
    request.schema = Some(Arc::new(json!({ "type": "object" })));
    request.purpose = RequestPurpose::Utility;
    let told = body(&mut encoder_of("m"), &request);
    expect![[r#"
        {"systemInstruction":{"parts":[{"text":"Be \"brief\"."}]},
        "tools":[{"functionDeclarations":[{"name":"mcp__git__log",
        "description":"Reads the log.",
        "parametersJsonSchema":{"type":"object",
        "properties":{"n":{"type":"integer"}}}}]}],
        "generationConfig":{"temperature":0.5,
        "topP":0.9,
        "maxOutputTokens":100,
        "thinkingConfig":{"includeThoughts":true,
        "thinkingBudget":-1},
        "responseMimeType":"application/json",
        "responseJsonSchema":{"type":"object"}},
        "contents":[{"role":"user",
        "parts":[{"text":"go"}]}]}"#]]
    .assert_eq(&told.replace(",\"", ",\n\""));
}

#[test]
fn only_models_that_think_are_asked_for_thoughts() {
    let cases = [
        ("gemini-2.5-flash", true),
        ("gemini-3-pro-preview", true),
        ("gemini-10.1", true),
        ("gemini-2.0-flash", false),
        ("gemini-1.5-pro", false),
        ("gemini-2.5-flash-image", false),
        ("gemma-3", false),
        ("gemini-flash-latest", false),
    ];
    for (model, expected) in cases {
        assert_eq!(can_think(model), expected, "{model}");
    }
    let mut request = request(vec![ContextMessage::user("go")]);
    let asked = |request: &ModelRequest, model: &str| body(&mut encoder_of(model), request);
    assert!(asked(&request, "gemini-2.5-pro").contains(r#""thinkingConfig":{"includeThoughts":true}"#));
    assert!(!asked(&request, "gemini-2.0-flash").contains("generationConfig"));
    request.sampling.thinking_budget = Some(0);
    let off = r#""thinkingConfig":{"includeThoughts":false,"thinkingBudget":0}"#;
    assert!(asked(&request, "gemini-2.5-pro").contains(off));
}

/// A turn of a long run: what the model said, the results, and each encoded once.
#[test]
fn a_late_turn_encodes_only_what_is_new() {
    let mut encoder = encoder_of("gemini-2.5-pro");
    let mut request = request(vec![ContextMessage::user("go")]);
    let encoded = |encoder: &RequestEncoder<GeminiDialect>| -> Vec<*const GeminiEncodedMessage> {
        encoder.kept().iter().map(Arc::as_ptr).collect()
    };
    let mut before = Vec::new();
    for turn in 0..200 {
        let whole = body(&mut encoder, &request);
        let now = encoded(&encoder);
        assert_eq!(now.len(), request.messages.len());
        assert_eq!(now[..before.len()], before[..], "turn {turn} encoded an old message again");
        before = now;
        if turn % 50 == 0 {
            assert_eq!(whole, body(&mut encoder_of("gemini-2.5-pro"), &request));
        }
        let raw = format!(
            r#"{{"role":"model","parts":[{{"functionCall":{{"name":"t","args":{{"n":{turn}}}}}}}]}}"#
        );
        let id = turn.to_string();
        let calls = vec![call(&id, None, "t", json!({ "n": turn }), None)];
        request.messages.push(Arc::new(model(calls, Some(("gemini", &raw)))));
        request.messages.push(Arc::new(tool(vec![result(
            &id,
            None,
            "t",
            vec![MessagePart::text("x".repeat(200))],
            false,
        )])));
    }
}

#[test]
fn a_message_that_was_changed_is_encoded_anew_and_a_utility_call_disturbs_nothing() {
    let mut encoder = encoder_of("m");
    let mut turn = request(vec![
        ContextMessage::user("a"),
        model(vec![MessagePart::text("b")], None),
        ContextMessage::user("c"),
    ]);
    body(&mut encoder, &turn);
    let utility =
        ModelRequest { purpose: RequestPurpose::Utility, ..request(vec![ContextMessage::user("classify")]) };
    assert!(body(&mut encoder, &utility).contains("classify"));
    assert_eq!(encoder.kept().len(), 3);
    // As the transcript does when it joins: in place, or as a copy when somebody holds the old one.
    for text in ["d", "e"] {
        let _held = (text == "e").then(|| Arc::clone(&turn.messages[2]));
        Arc::make_mut(&mut turn.messages[2]).parts.push(MessagePart::text(text));
        let expected = body(&mut encoder_of("m"), &turn);
        assert_eq!(body(&mut encoder, &turn), expected);
    }
}

#[test]
fn what_google_does_is_declared_alone_and_only_of_models_that_have_it() {
    let asked = |provider_tool| {
        let request = ModelRequest {
            purpose: RequestPurpose::Utility,
            provider_tool: Some(provider_tool),
            ..request(vec![ContextMessage::user("q")])
        };
        body(&mut encoder_of("m"), &request)
    };
    assert!(asked(ProviderTool::UrlContext).contains(r#""tools":[{"urlContext":{}}],"#));
    assert!(asked(ProviderTool::Search).contains(r#""tools":[{"googleSearch":{}}],"#));
    let all = &[ProviderTool::UrlContext, ProviderTool::Search][..];
    let cases = [
        ("gemini-2.5-flash", all),
        ("gemini-3-pro-preview", all),
        ("gemini-flash-latest", all),
        ("gemini-2.0-flash", &[ProviderTool::Search]),
        ("gemini-1.5-pro", &[]),
        ("gemini-2.5-flash-image", &[]),
        ("gemma-3-27b-it", &[]),
    ];
    for (model, expected) in cases {
        assert_eq!(provider_tools(model), expected, "{model}");
    }
}

#[test]
fn what_is_counted_is_a_whole_request_that_names_its_model() {
    let mut encoder = encoder_of("gemini-2.5-pro");
    let turn = ModelRequest { system: "s".into(), ..request(vec![ContextMessage::user("q")]) };
    let asked = String::from_utf8(encoder.encode_count(&turn).unwrap()).unwrap();
    expect![[r#"{"generateContentRequest":{"model":"models/gemini-2.5-pro","systemInstruction":{"parts":[{"text":"s"}]},"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"contents":[{"role":"user","parts":[{"text":"q"}]}]}}"#]].assert_eq(&asked);
    assert!(encoder.kept().is_empty(), "what is counted takes the place of no turn");
    let read = super::super::count::read;
    assert_eq!(read(br#"{"totalTokens":7,"promptTokensDetails":[]}"#), Some(7));
    assert_eq!([read(br#"{"totalTokens":"7"}"#), read(b"{}"), read(b"<html>")], [None; 3]);
}
