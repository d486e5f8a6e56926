//! What does an error of OpenAI's say, or of a server that speaks like it?
//! (<https://platform.openai.com/docs/guides/error-codes>)

use serde::Deserialize;
use serde_json::Value;

use super::super::exchange::Complaint;

/// `error` of a response; some servers put its fields at the top, or a text in its place.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    message: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    /// A word, or a number that is an HTTP status.
    code: Option<Value>,
}

/// The body of a refusal.
pub(in crate::models) fn read(body: &[u8]) -> Option<Complaint> {
    let body: Value = serde_json::from_slice(body).ok()?;
    // Google's server that speaks it puts a list around.
    let body = body.get(0).unwrap_or(&body);
    let says_error = body.get("object").is_some_and(|object| object == "error");
    match body.get("error") {
        Some(error) => Some(of(error)),
        None if says_error => Some(of(body)),
        None => body.get("detail").and_then(Value::as_str).map(told),
    }
}

/// An error as it stands in a response or in a stream.
pub(in crate::models) fn of(error: &Value) -> Complaint {
    if let Some(text) = error.as_str() {
        return told(text);
    }
    let Wire { message, kind, code } = Wire::deserialize(error).unwrap_or_default();
    let status = code.as_ref().and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let status = status.filter(|status| (400..=599).contains(status));
    let code = match code {
        Some(Value::String(word)) => word,
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let kind = kind.unwrap_or_default();
    let is_about_key = code == "invalid_api_key" || kind == "authentication_error";
    let status = status.or_else(|| by_kind(&kind, &code));
    Complaint {
        status,
        kind,
        code,
        message: message.unwrap_or_default(),
        is_about_key,
        ..Complaint::default()
    }
}

fn told(text: &str) -> Complaint {
    Complaint { message: text.to_owned(), ..Complaint::default() }
}

/// The status that an error has as an answer, for streams, where only its name tells.
fn by_kind(kind: &str, code: &str) -> Option<u16> {
    match (kind, code) {
        (_, "rate_limit_exceeded")
        | ("insufficient_quota" | "rate_limit_error" | "requests" | "tokens", _) => Some(429),
        ("invalid_request_error", _) | (_, "context_length_exceeded") => Some(400),
        ("authentication_error", _) => Some(401),
        ("permission_error", _) => Some(403),
        ("not_found_error", _) => Some(404),
        ("server_error" | "api_error", _) | (_, "server_error") => Some(500),
        ("overloaded_error" | "service_unavailable_error", _) => Some(503),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn errors_of_many_servers_are_read() {
        let bodies = [
            r#"{"error":{"message":"Incorrect API key provided: sk-x.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
            r#"{"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
            r#"{"error":{"message":"Provider returned error","code":502}}"#,
            r#"{"error":"model \"x\" not found, try pulling it first"}"#,
            r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","param":null,"code":404}"#,
            r#"{"detail":"Not Found"}"#,
            r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]"#,
            r#"{"error":{"message":"The server had an error","type":"server_error"}}"#,
            r#"{"error":{}}"#,
        ];
        let told: String = bodies
            .iter()
            .map(|body| {
                let Complaint { status, kind, code, message, is_about_key, .. } =
                    read(body.as_bytes()).unwrap();
                format!("{status:?} {kind:?} {code:?} {is_about_key}: {message}\n")
            })
            .collect();
        expect![[r#"
            Some(400) "invalid_request_error" "invalid_api_key" true: Incorrect API key provided: sk-x.
            Some(429) "tokens" "rate_limit_exceeded" false: Rate limit reached
            Some(502) "" "502" false: Provider returned error
            None "" "" false: model "x" not found, try pulling it first
            Some(404) "NotFoundError" "404" false: The model `x` does not exist.
            None "" "" false: Not Found
            Some(400) "" "400" false: API key not valid.
            Some(500) "server_error" "" false: The server had an error
            None "" "" false: 
        "#]]
        .assert_eq(&told);
        for other in ["", "<html>", "[]", "{}", "3", r#"{"detail":[{"loc":[]}]}"#] {
            assert_eq!(read(other.as_bytes()), None, "{other}");
        }
    }
}
