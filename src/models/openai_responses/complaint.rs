//! What does an error of OpenAI's say, as a refusal and within a stream?
//! (<https://platform.openai.com/docs/guides/error-codes>,
//! <https://platform.openai.com/docs/api-reference/responses-streaming/error>)

use serde_json::Value;

use super::super::{exchange::ProviderError, openai};

/// The body of a refusal.
pub(super) fn read(body: &[u8]) -> Option<ProviderError> {
    openai::complaint::read(body).map(whole)
}

/// The event `error`: its fields stand in it, or in an object of its own.
pub(super) fn of_event(event: &Value) -> ProviderError {
    match event.get("error") {
        Some(error) if !error.is_null() => of(error),
        _ => {
            let mut error = event.clone();
            if let Some(fields) = error.as_object_mut() {
                // The event's, not the error's.
                fields.remove("type");
            }
            of(&error)
        }
    }
}

/// `error` of a response that failed.
pub(super) fn of(error: &Value) -> ProviderError {
    whole(openai::complaint::of(error))
}

/// With what only these errors tell.
fn whole(complaint: ProviderError) -> ProviderError {
    let status = complaint.status.or_else(|| by_code(&complaint.code));
    ProviderError { status, ..complaint }
}

/// The status that an error has as an answer; a stream tells its word alone.
fn by_code(code: &str) -> Option<u16> {
    match code {
        "insufficient_quota" => Some(429),
        // The provider's own trouble with what it was to look at; it may go better next time.
        "vector_store_timeout" | "failed_to_download_image" => Some(504),
        // Of a picture or of the words: they will not be better next time.
        _ if code.contains("image") || code == "invalid_prompt" => Some(400),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_of_answers_responses_and_events_are_read() {
        let events = [
            json!({ "type": "error", "code": "server_error", "message": "oops", "param": null }),
            json!({ "type": "error", "error": {
                "type": "invalid_request_error", "code": "context_length_exceeded", "message": "too long" } }),
            json!({ "type": "error", "error": null, "code": null, "message": "no reason" }),
        ];
        let failed = [
            json!({ "code": "rate_limit_exceeded", "message": "Limit 30000. Please try again in 11.054s. Visit us." }),
            json!({ "code": "invalid_prompt", "message": "usage policy" }),
            json!({ "code": "image_parse_error", "message": "no picture" }),
            json!({ "code": "failed_to_download_image", "message": "gone" }),
            json!({ "code": "insufficient_quota", "message": "pay" }),
            json!(null),
        ];
        let bodies = [
            r#"{"error":{"message":"Please try again in 6m0s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
            r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        ];
        let complaints = events.iter().map(of_event).chain(failed.iter().map(of));
        let complaints = complaints.chain(bodies.iter().map(|body| read(body.as_bytes()).unwrap()));
        let told: String = complaints
            .map(|ProviderError { status, kind, code, message, retry_after, is_about_key }| {
                format!("{status:?} {kind:?} {code:?} {retry_after:?} {is_about_key}: {message}\n")
            })
            .collect();
        expect![[r#"
            Some(500) "" "server_error" None false: oops
            Some(400) "invalid_request_error" "context_length_exceeded" None false: too long
            None "" "" None false: no reason
            Some(429) "" "rate_limit_exceeded" Some(11.054s) false: Limit 30000. Please try again in 11.054s. Visit us.
            Some(400) "" "invalid_prompt" None false: usage policy
            Some(400) "" "image_parse_error" None false: no picture
            Some(504) "" "failed_to_download_image" None false: gone
            Some(429) "" "insufficient_quota" None false: pay
            None "" "" None false: 
            Some(429) "tokens" "rate_limit_exceeded" Some(360s) false: Please try again in 6m0s.
            Some(400) "invalid_request_error" "invalid_api_key" None true: Incorrect API key provided
        "#]].assert_eq(&told);
        assert_eq!(read(b"<html>"), None);
    }
}
