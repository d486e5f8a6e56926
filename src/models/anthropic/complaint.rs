//! What does an error of Anthropic's say? (<https://docs.anthropic.com/en/api/errors>)

use serde::Deserialize;

use super::super::exchange::ProviderError;

/// `{"type": "error", "error": {…}}`, as a refusal's body and as an event.
#[derive(Debug, Deserialize)]
struct AnthropicErrorBody {
    error: WireError,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireError {
    #[serde(rename = "type")]
    kind: String,
    message: String,
}

pub(super) fn read(body: &[u8]) -> Option<ProviderError> {
    let AnthropicErrorBody { error } = serde_json::from_slice(body).ok()?;
    Some(error.into())
}

impl From<WireError> for ProviderError {
    fn from(WireError { kind, message }: WireError) -> ProviderError {
        let status = by_kind(&kind);
        let is_about_key = kind == "authentication_error";
        ProviderError { status, kind, message, is_about_key, ..ProviderError::default() }
    }
}

/// The status that an error has as an answer; in a stream only its name tells.
fn by_kind(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_and_others_are_not() {
        let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#;
        let expected = ProviderError {
            status: Some(529),
            kind: "overloaded_error".to_owned(),
            message: "Overloaded".to_owned(),
            ..ProviderError::default()
        };
        assert_eq!(read(body.as_bytes()), Some(expected));
        let body =
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
        let key = read(body.as_bytes()).unwrap();
        assert!(key.is_about_key && key.status == Some(401));
        assert_eq!(read(br#"{"error":{"type":"new_error"}}"#).unwrap().status, None);
        for other in ["", "{}", "<html>", r#"{"error":"text"}"#, "[]"] {
            assert_eq!(read(other.as_bytes()), None, "{other}");
        }
    }
}
