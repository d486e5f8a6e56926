//! Secrets in messages, calls and results.

use std::sync::Arc;

use serde_json::{json, value::RawValue};

use super::{TOKEN, redactor};
use protocol::{
    CallDetails, CallId, CallLocation, ContextMessage, MessagePart, MessageRole, ProviderMessage, Risk,
    RuleOrigin, RuleOriginSource, ToolCall, ToolError, ToolErrorType, ToolKind, ToolName, ToolResult,
};

const MARK: &str = "[redacted:env:SERVICE_TOKEN]";

fn message(parts: Vec<MessagePart>, raw: &str) -> ContextMessage {
    let raw = Arc::from(RawValue::from_string(raw.to_owned()).unwrap());
    ContextMessage {
        role: MessageRole::Model,
        parts,
        raw: Some(ProviderMessage { provider: "p".into(), entry: None, raw }),
    }
}

fn thought(text: &str) -> MessagePart {
    MessagePart::Thought { text: text.to_owned(), signature: Some("c2ln".to_owned()) }
}

fn unsigned(text: &str) -> MessagePart {
    MessagePart::Thought { text: text.to_owned(), signature: None }
}

fn call(arguments: serde_json::Value) -> MessagePart {
    MessagePart::ToolCall(ToolCall {
        call_id: CallId::from("c1"),
        provider_call_id: None,
        name: ToolName::from("run"),
        arguments,
        signature: Some("c2ln".to_owned()),
        redacted: false,
    })
}

#[test]
fn a_message_without_secrets_stays_as_it_is() {
    let parts = vec![MessagePart::text("a"), thought("b"), call(json!({ "c": ["d"] }))];
    let redacted = redactor().message(message(parts.clone(), r#"{"x": "y"}"#));
    assert_eq!(redacted.parts, parts);
    assert_eq!(redacted.raw.unwrap().raw.get(), r#"{"x": "y"}"#);
}

#[test]
fn a_secret_across_neighbouring_texts_is_found_at_every_cut() {
    for cut in 1..TOKEN.len() {
        let (before, after) = TOKEN.split_at(cut);
        let parts = vec![
            MessagePart::text(format!("x {before}")),
            MessagePart::text(format!("{after} y")),
            thought(before),
            thought(after),
            MessagePart::text(before),
        ];
        let redacted = redactor().message(message(parts, "{}"));
        let expected = [
            MessagePart::text(format!("x {MARK}")),
            MessagePart::text(" y"),
            // The signature was made for what is not there any more.
            unsigned(MARK),
            unsigned(""),
            MessagePart::text(before),
        ];
        assert_eq!(redacted.parts, expected, "cut at {cut}");
        assert!(redacted.raw.is_none(), "the provider's form says what the parts said");
    }
}

#[test]
fn arguments_and_results_within_a_message_are_searched() {
    let result = |text: &str| MessagePart::ToolResult {
        call_id: CallId::from("c1"),
        provider_call_id: None,
        name: ToolName::from("run"),
        parts: vec![
            MessagePart::text(text),
            MessagePart::InlineData { mime_type: "image/png".into(), data: TOKEN.into() },
        ],
        is_error: true,
    };
    let parts = vec![call(json!({ "a": [{ "b": TOKEN }] })), result(TOKEN)];
    let redacted = redactor().message(message(parts, "{}"));
    let mut changed = call(json!({ "a": [{ "b": MARK }] }));
    if let MessagePart::ToolCall(call) = &mut changed {
        (call.signature, call.redacted) = (None, true);
    }
    assert_eq!(redacted.parts, [changed, result(MARK)]);
}

#[test]
fn the_providers_form_goes_when_it_holds_a_secret_in_any_writing() {
    let escaped: String = TOKEN.bytes().map(|byte| format!("\\u00{byte:02x}")).collect();
    for raw in [format!("{{\"a\": \"{TOKEN}\"}}"), format!("[\"{escaped}\"]"), format!("{{\"{TOKEN}\": 1}}")]
    {
        let redacted = redactor().message(message(vec![MessagePart::text("a")], &raw));
        assert!(redacted.raw.is_none(), "{raw}");
    }
}

#[test]
fn everything_a_result_says_is_redacted_but_its_bytes() {
    let bytes = MessagePart::InlineData { mime_type: "image/png".into(), data: TOKEN.into() };
    let mut result = ToolResult::failure(ToolErrorType::ExecutionFailed, format!("no: {TOKEN}"));
    result.llm_content.push(bytes.clone());
    result.return_display = Some(format!("**{TOKEN}**"));
    result.data = Some(json!({ "out": [TOKEN] }));
    let mut expected = ToolResult::failure(ToolErrorType::ExecutionFailed, format!("no: {MARK}"));
    expected.llm_content.push(bytes);
    expected.return_display = Some(format!("**{MARK}**"));
    expected.data = Some(json!({ "out": [MARK] }));
    assert_eq!(redactor().tool_result(result), expected);
}

#[test]
fn what_people_are_told_about_a_call_is_redacted() {
    let details = |word: &str| CallDetails {
        title: format!("t {word}"),
        description: format!("d {word}"),
        kind: ToolKind::Execute,
        risk: Risk::High,
        locations: vec![CallLocation { path: format!("/tmp/{word}"), line: Some(3) }],
        rule: None,
        rule_origin: Some(RuleOrigin {
            source: RuleOriginSource::Answer,
            by: Some(format!("b {word}")),
            at: None,
        }),
        extension: None,
    };
    assert_eq!(redactor().call_details(details(TOKEN)), details(MARK));
}

#[test]
fn a_secret_that_names_a_field_is_found_in_the_pointer_to_it() {
    let message = format!("/{}: unknown", TOKEN.replace('/', "~1"));
    let error = ToolError { kind: ToolErrorType::InvalidToolParams, message };
    assert_eq!(redactor().tool_error(error).message, format!("/{MARK}: unknown"));
    let harmless = ToolError { kind: ToolErrorType::InvalidToolParams, message: "/a~1b: unknown".to_owned() };
    assert_eq!(redactor().tool_error(harmless.clone()), harmless);
}
