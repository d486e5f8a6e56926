//! What does an error of OpenAI's say, or of a server that speaks like it?
//! (<https://platform.openai.com/docs/guides/error-codes>)

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::super::exchange::ProviderError;

/// What stands in front of the wait that a refusal asks for, e.g. `Please try again in 11.054s.`
const WAIT: &str = "try again in ";

/// `error` of a response; some servers put its fields at the top, or a text in its place.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenAiErrorBody {
    message: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    /// A word, or a number that is an HTTP status.
    code: Option<Value>,
}

/// The body of a refusal.
pub(crate) fn read(body: &[u8]) -> Option<ProviderError> {
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
pub(crate) fn of(error: &Value) -> ProviderError {
    if let Some(text) = error.as_str() {
        return told(text);
    }
    let OpenAiErrorBody { message, kind, code } = OpenAiErrorBody::deserialize(error).unwrap_or_default();
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
    let message = message.unwrap_or_default();
    ProviderError { status, kind, code, retry_after: told_wait(&message), message, is_about_key }
}

fn told(text: &str) -> ProviderError {
    ProviderError { message: text.to_owned(), retry_after: told_wait(text), ..ProviderError::default() }
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

/// The wait that stands in the words: in a stream there is no other place for it.
fn told_wait(message: &str) -> Option<Duration> {
    let (_, told) = message.split_once(WAIT)?;
    let told = told.split(char::is_whitespace).next()?.trim_end_matches(['.', ',']);
    let mut wait = None;
    let mut rest = told;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))?;
        let (number, behind) = rest.split_at(digits);
        let letters = behind.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(letters);
        let in_seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            _ => return None,
        };
        let piece = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * in_seconds).ok()?;
        wait = Some(wait.unwrap_or(Duration::ZERO).saturating_add(piece));
        rest = behind;
    }
    wait
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
                let ProviderError { status, kind, code, message, is_about_key, .. } =
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

    #[test]
    fn a_wait_is_read_from_the_words() {
        let cases = [
            ("Please try again in 20s. Visit", Some(20_000)),
            ("Please try again in 28ms.", Some(28)),
            ("Please try again in 1.5s", Some(1_500)),
            ("Please try again in 1h2m3s.", Some(3_723_000)),
            ("Please try again in a while.", None),
            ("Please try again in 5.", None),
            ("Please try again in 5 days.", None),
            ("Please try again in .", None),
            ("Please try again in 1e400s.", None),
            ("slow down", None),
        ];
        for (message, expected) in cases {
            assert_eq!(told_wait(message), expected.map(Duration::from_millis), "{message}");
        }
        // No number is too great to be read.
        assert_eq!(told_wait(&format!("try again in {}s", "9".repeat(400))), None);
        assert_eq!(told_wait("try again in 18000000000000000000h"), None);
    }
}
