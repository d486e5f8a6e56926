//! What do the events of a response look like? Only the fields that are read.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use protocol::Usage;

#[derive(Deserialize)]
pub(super) struct ResponsesEventKind {
    #[serde(rename = "type")]
    pub kind: String,
}

/// A piece of an item.
#[derive(Deserialize)]
pub(super) struct ResponsesDelta {
    pub output_index: u64,
    pub delta: String,
    #[serde(default)]
    pub summary_index: u64,
    #[serde(default)]
    pub content_index: u64,
}

#[derive(Deserialize)]
pub(super) struct ResponsesCallArguments {
    pub output_index: u64,
    pub arguments: String,
}

#[derive(Deserialize)]
pub(super) struct WithItem {
    pub output_index: u64,
    pub item: Box<RawValue>,
}

#[derive(Deserialize)]
pub(super) struct WithResponse {
    pub response: WireResponse,
}

#[derive(Deserialize)]
pub(super) struct WireResponse {
    pub output: Option<Vec<Box<RawValue>>>,
    pub usage: Option<ResponsesUsage>,
    pub incomplete_details: Option<IncompleteDetails>,
    pub error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct IncompleteDetails {
    pub reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct MessageItem {
    pub content: Option<Vec<WireText>>,
}

#[derive(Deserialize)]
pub(super) struct ReasoningItem {
    pub summary: Option<Vec<WireText>>,
    /// Where thoughts stand openly, at other servers.
    pub content: Option<Vec<WireText>>,
}

#[derive(Deserialize)]
pub(super) struct CallItem {
    pub call_id: Option<String>,
    pub name: Option<String>,
    pub arguments: Option<String>,
}

/// A piece of content, or of a summary.
#[derive(Deserialize)]
pub(super) struct WireText {
    #[serde(rename = "type")]
    pub kind: String,
    pub text: Option<String>,
    pub refusal: Option<String>,
}

impl WireText {
    /// The text, if it is of this kind.
    pub(super) fn of(&self, kind: &str) -> Option<&str> {
        self.text.as_deref().filter(|_| self.kind == kind)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesUsage {
    pub input_tokens: Option<u64>,
    pub input_tokens_details: Option<InputDetails>,
    pub output_tokens: Option<u64>,
    pub output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
pub(super) struct InputDetails {
    pub cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct OutputDetails {
    pub reasoning_tokens: Option<u64>,
}

impl From<ResponsesUsage> for Usage {
    fn from(usage: ResponsesUsage) -> Usage {
        let cached = usage.input_tokens_details.and_then(|details| details.cached_tokens);
        let thought = usage.output_tokens_details.and_then(|details| details.reasoning_tokens).unwrap_or(0);
        Usage {
            prompt_tokens: usage.input_tokens.unwrap_or(0),
            cached_tokens: cached.unwrap_or(0),
            // Here that costs no more than other input.
            cache_write_tokens: 0,
            // Here the thoughts are part of what was put out.
            output_tokens: usage.output_tokens.unwrap_or(0).saturating_sub(thought),
            thought_tokens: thought,
        }
    }
}
