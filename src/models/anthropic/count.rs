//! What does Anthropic answer that is asked to count? (<https://docs.anthropic.com/en/api/messages-count-tokens>)

use serde::Deserialize;

#[derive(Deserialize)]
struct AnthropicTokenCount {
    input_tokens: u64,
}

/// The number; `None` = it is no such answer.
pub(super) fn read(answer: &[u8]) -> Option<u64> {
    serde_json::from_slice::<AnthropicTokenCount>(answer).ok().map(|count| count.input_tokens)
}
