//! Refusals of every kind, as Google and what stands between send them.

use std::sync::Arc;

use expect_test::{Expect, expect};
use reqwest::{Url, header::HeaderName};

use super::{super::ProviderDialect as _, *};
use crate::{
    gemini::{GeminiDialect, complaint::GoogleError},
    http::HttpClients,
    key::{ApiKey, KeyPlace},
};
use sys::children::ChildProcesses;

fn endpoint() -> ModelEndpoint {
    let url = Url::parse("http://127.0.0.1:1/v1beta/models/m:streamGenerateContent").unwrap();
    ModelEndpoint {
        http: HttpClients::default().client(&url).unwrap(),
        url,
        headers: HeaderMap::new(),
        key: ApiKey::new("AIza-secret"),
        key_place: KeyPlace {
            entry: "mine".to_owned(),
            source: None,
            variable: "GEMINI_API_KEY",
            environment: Arc::new(|_| None),
            children: ChildProcesses::default(),
            secrets: redact::KnownSecrets::default(),
        },
    }
}

fn told(status: u16, headers: &[(&'static str, &str)], body: &str) -> String {
    let headers = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
    let status = StatusCode::from_u16(status).unwrap();
    {
        let error = GeminiDialect::complaint(body.as_bytes());
        kind_of(classify(&endpoint(), status, &headers.collect(), body.as_bytes(), error.as_ref()))
    }
}

fn kind_of(error: ModelError) -> String {
    match error {
        ModelError::Passing { message, retry_after_ms } => {
            format!("passing, wait {retry_after_ms:?}: {message}\n")
        }
        ModelError::TooLong { message } => format!("too long: {message}\n"),
        ModelError::Unusable { message } => format!("unusable: {message}\n"),
        ModelError::Final { code, message } => format!("final {code:?}: {message}\n"),
    }
}

fn check(cases: &[(u16, &str)], expected: Expect) {
    let told: String = cases.iter().map(|(status, body)| told(*status, &[], body)).collect();
    expected.assert_eq(&told);
}

#[test]
fn final_refusals_carry_the_providers_words() {
    check(
        &[
            (
                400,
                r#"{"error":{"code":400,"message":"Please ensure that\n  the number is equal.","status":"INVALID_ARGUMENT"}}"#,
            ),
            (404, r#"[{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}]"#),
            (
                400,
                r#"{"error":{"code":400,"message":"API key not valid: AIza-secret","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}"#,
            ),
            (401, "{}"),
            (403, r#"{"error":{"code":403,"message":"no permission","status":"PERMISSION_DENIED"}}"#),
            (302, ""),
            (413, "too large"),
            (418, r#"{"error":{"code":418}}"#),
        ],
        expect![[r#"
            final ModelFailed: the provider answered 400 Bad Request: Please ensure that the number is equal. (INVALID_ARGUMENT)
            final ModelFailed: the provider answered 404 Not Found: models/x is not found (NOT_FOUND)
            final ProviderAuth: the provider answered 400 Bad Request: API key not valid: [key] (INVALID_ARGUMENT) (provider entry `mine`, key from the variable GEMINI_API_KEY)
            final ProviderAuth: the provider answered 401 Unauthorized: {} (provider entry `mine`, key from the variable GEMINI_API_KEY)
            final ProviderAuth: the provider answered 403 Forbidden: no permission (PERMISSION_DENIED) (provider entry `mine`, key from the variable GEMINI_API_KEY)
            final ModelFailed: the provider answered 302 Found; redirects are not followed, since the key would travel on: set `baseUrl`
            too long: the provider answered 413 Payload Too Large: too large
            final ModelFailed: the provider answered 418 I'm a teapot: 418
        "#]],
    );
}

#[test]
fn passing_refusals_are_short_and_readable() {
    let long = format!("{{\"error\":{{\"message\":\"{}\"}}}}", "x ".repeat(2_000));
    check(
        &[
            (500, r#"{"error":{"code":500,"message":"An internal error has occurred","status":"INTERNAL"}}"#),
            (
                502,
                "<!DOCTYPE html>\n<html><head><TITLE class=a>\n502 Bad\nGateway</title></head><body>secret stack</body>",
            ),
            (502, "<html>no title</html>"),
            (503, ""),
            (504, "upstream\u{7} timed out\nAIza-secret"),
            (408, r#"{"error": "a text"}"#),
        ],
        expect![[r#"
            passing, wait None: the provider answered 500 Internal Server Error: An internal error has occurred (INTERNAL)
            passing, wait None: the provider answered 502 Bad Gateway
            passing, wait None: the provider answered 502 Bad Gateway
            passing, wait None: the provider answered 503 Service Unavailable
            passing, wait None: the provider answered 504 Gateway Timeout: upstream timed out [key]
            passing, wait None: the provider answered 408 Request Timeout: {"error": "a text"}
        "#]],
    );
    assert!(told(503, &[], &long).chars().count() < MAX_WORDS_CHARS + 100);
}

#[test]
fn a_request_that_is_too_long_is_known_by_the_words_of_each_provider() {
    let too_long = [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "Your input exceeds the context window of this model.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or \
         `max_tokens` and try again",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    ];
    for words in too_long {
        let body = serde_json::json!({ "error": { "code": 400, "message": words } }).to_string();
        assert!(told(400, &[], &body).starts_with("too long: "), "{words}");
        // So many at once may be fewer in a while.
        assert!(told(429, &[], &body).starts_with("passing, "), "{words}");
    }
}

#[test]
fn every_form_of_a_hint_is_read() {
    let info = r#"{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3.5s"},{"retryDelay":"junk"},{"retryDelay":"-1s"}]}}"#;
    let date = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");
    type Case<'a> = (&'a [(&'static str, &'a str)], &'a str, Option<u64>);
    let cases: &[Case<'_>] = &[
        (&[], "", None),
        (&[("retry-after", "7")], "", Some(7_000)),
        (&[("retry-after", " 0.25 ")], "", Some(250)),
        (&[("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"), date], "", Some(30_000)),
        (&[("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT"), date], "", Some(0)),
        (&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")], "", Some(0)),
        (&[("retry-after-ms", "1500"), ("retry-after", "2")], "", Some(1_500)),
        (&[("retry-after-ms", "soon"), ("retry-after", "2")], "", Some(2_000)),
        (&[("retry-after-ms", "-1")], "", None),
        (&[("retry-after", "soon")], "", None),
        (&[("retry-after", "-5")], "", None),
        (&[("retry-after", "1e300")], "", None),
        (&[], info, Some(3_500)),
        (&[("retry-after", "2")], info, Some(3_500)),
        (&[("retry-after", "9")], info, Some(9_000)),
    ];
    for (headers, body, expected) in cases {
        let told = told(429, headers, body);
        assert!(told.starts_with(&format!("passing, wait {expected:?}: ")), "{headers:?}: {told}");
    }
}

#[test]
fn an_error_within_a_stream_is_as_final_as_the_same_answer() {
    let errors = [
        r#"{"code":400,"message":"Bad.","status":"INVALID_ARGUMENT"}"#,
        r#"{"code":400,"message":"API key AIza-secret","details":[{"reason":"API_KEY_INVALID"}]}"#,
        r#"{"code":401,"message":"Who?"}"#,
        r#"{"code":403,"message":"Not you.","status":"PERMISSION_DENIED"}"#,
        r#"{"code":404,"message":"Gone."}"#,
        // Numbers of gRPC, or none: the name says it.
        r#"{"code":3,"message":"Bad.","status":"INVALID_ARGUMENT"}"#,
        r#"{"message":"Not you.","status":"PERMISSION_DENIED"}"#,
        r#"{"message":"Key.","status":"FAILED_PRECONDITION","details":[{"reason":"API_KEY_INVALID"}]}"#,
        r#"{"code":429,"message":"Slow.","details":[{"retryDelay":"3s"}]}"#,
        r#"{"code":408}"#,
        r#"{"code":499,"status":"CANCELLED"}"#,
        r#"{"code":503,"message":"Overloaded.","status":"UNAVAILABLE"}"#,
        r#"{"code":14,"message":"Overloaded.","status":"UNAVAILABLE"}"#,
        r#"{"message":"Oops."}"#,
        r#"{"code":302,"status":"NEW_NAME"}"#,
        "{}",
    ];
    let told: String = errors
        .map(|error| {
            kind_of(in_stream(&endpoint(), &serde_json::from_str::<GoogleError>(error).unwrap().into()))
        })
        .concat();
    expect![[r#"
        final ModelFailed: the provider failed in the middle of the response: Bad. (INVALID_ARGUMENT)
        final ProviderAuth: the provider failed in the middle of the response: API key [key] (provider entry `mine`, key from the variable GEMINI_API_KEY)
        final ProviderAuth: the provider failed in the middle of the response: Who? (provider entry `mine`, key from the variable GEMINI_API_KEY)
        final ProviderAuth: the provider failed in the middle of the response: Not you. (PERMISSION_DENIED) (provider entry `mine`, key from the variable GEMINI_API_KEY)
        final ModelFailed: the provider failed in the middle of the response: Gone.
        final ModelFailed: the provider failed in the middle of the response: Bad. (INVALID_ARGUMENT)
        final ProviderAuth: the provider failed in the middle of the response: Not you. (PERMISSION_DENIED) (provider entry `mine`, key from the variable GEMINI_API_KEY)
        final ProviderAuth: the provider failed in the middle of the response: Key. (FAILED_PRECONDITION) (provider entry `mine`, key from the variable GEMINI_API_KEY)
        passing, wait Some(3000): the provider failed in the middle of the response: Slow.
        passing, wait None: the provider failed in the middle of the response: 408
        passing, wait None: the provider failed in the middle of the response: 499
        passing, wait None: the provider failed in the middle of the response: Overloaded. (UNAVAILABLE)
        passing, wait None: the provider failed in the middle of the response: Overloaded. (UNAVAILABLE)
        passing, wait None: the provider failed in the middle of the response: Oops.
        passing, wait None: the provider failed in the middle of the response: 302
        passing, wait None: the provider failed in the middle of the response: no reason given
    "#]].assert_eq(&told);
}
