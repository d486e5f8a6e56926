//! What does Gemini answer that is asked to count? (<https://ai.google.dev/api/tokens>)

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiTokenCount {
    total_tokens: u64,
}

/// The number; `None` = it is no such answer.
pub(crate) fn read(answer: &[u8]) -> Option<u64> {
    serde_json::from_slice::<GeminiTokenCount>(answer).ok().map(|count| count.total_tokens)
}
