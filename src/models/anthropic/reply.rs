//! How is a reply put together from Anthropic's events? (<https://docs.anthropic.com/en/docs/build-with-claude/streaming>)

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json, value::to_raw_value};

use super::{
    super::{
        ModelError, ModelEvent, ModelReply, ReplyPart,
        exchange::{ProviderError, ReplyAssembler, is_cut},
    },
    PROVIDER,
    complaint::WireError,
};
use protocol::{FinishReason, ProviderMessage, Usage};

/// The reason why a message ended that came to the limit on output, or to the end of the model's window.
const OUT_OF_ROOM: [&str; 2] = ["max_tokens", "model_context_window_exceeded"];

#[derive(Debug, Default)]
pub(crate) struct MessageReply {
    blocks: Vec<AnthropicContentBlock>,
    usage: AnthropicUsage,
    stop_reason: Option<String>,
    error: Option<ProviderError>,
}

/// A block of content. What it began with, and what came since in pieces.
#[derive(Debug)]
struct AnthropicContentBlock {
    index: u64,
    /// As it will go back: fields that are not known here are kept.
    fields: Map<String, Value>,
    text: String,
    thinking: String,
    signature: String,
    input: String,
}

impl ReplyAssembler for MessageReply {
    fn push(&mut self, event: &str) -> Result<Vec<ModelEvent>, serde_json::Error> {
        let event: AnthropicStreamEvent = serde_json::from_str(event)?;
        Ok(match event {
            AnthropicStreamEvent::MessageStart { message } => {
                self.usage.take(message.usage);
                Vec::new()
            }
            AnthropicStreamEvent::ContentBlockStart { index, content_block } => {
                let mut block = AnthropicContentBlock::new(index, content_block);
                let begun = block.begun();
                self.blocks.push(block);
                begun
            }
            AnthropicStreamEvent::ContentBlockDelta { index, delta } => {
                let block = self.blocks.iter_mut().rfind(|block| block.index == index);
                block.map(|block| block.add(delta)).into_iter().flatten().collect()
            }
            AnthropicStreamEvent::MessageDelta { delta, usage } => {
                self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
                self.usage.take(usage);
                Vec::new()
            }
            AnthropicStreamEvent::Error { error } => {
                self.error = Some(error.into());
                Vec::new()
            }
            AnthropicStreamEvent::Other => Vec::new(),
        })
    }

    fn usage(&self) -> Usage {
        self.usage.into()
    }

    fn call_bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.input.len()).sum()
    }

    fn is_whole(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn take_error(&mut self) -> Option<ProviderError> {
        self.error.take()
    }

    fn finish(mut self) -> Result<ModelReply, ModelError> {
        let unusable = |message: String| Err(ModelError::Unusable { message });
        let Some(stop_reason) = self.stop_reason.clone() else {
            return unusable("the response ended without a stop reason".to_owned());
        };
        if OUT_OF_ROOM.contains(&stop_reason.as_str()) {
            // Only the last can be cut, and only a whole call counts (spec 03).
            self.blocks.pop_if(|block| block.is_cut_call());
        }
        let usage = self.usage.into();
        let parts: Vec<ReplyPart> = self.blocks.iter().filter_map(AnthropicContentBlock::part).collect();
        let says_something = parts.iter().any(|part| !matches!(part, ReplyPart::Thought { .. }));
        let reason = match stop_reason.as_str() {
            "end_turn" | "tool_use" | "stop_sequence" if says_something => FinishReason::Stop,
            "end_turn" | "tool_use" | "stop_sequence" => {
                return unusable("the response is empty".to_owned());
            }
            reason if OUT_OF_ROOM.contains(&reason) => FinishReason::Length,
            "refusal" => FinishReason::Refused { message: "refusal".to_owned() },
            other => return unusable(format!("the response is malformed: it stopped for {other:?}")),
        };
        // Sent back, these would be refused for as long as the conversation lasts.
        if self.blocks.iter().any(|block| block.kind().is_empty()) {
            return unusable("the response is malformed: it has a block without a type".to_owned());
        }
        if parts
            .iter()
            .any(|part| matches!(part, ReplyPart::ToolCall { name, .. } if name.as_str().is_empty()))
        {
            return unusable("the response is malformed: it calls a tool without a name".to_owned());
        }
        let content: Vec<Value> = self.blocks.into_iter().filter_map(AnthropicContentBlock::whole).collect();
        // JSON that was read cannot fail to be written; `None` would only cost the verbatim form.
        let raw = to_raw_value(&json!({ "role": "assistant", "content": content })).ok();
        // A message that ends with a thought is refused.
        let is_thought = |block: &Value| block["type"] == "thinking" || block["type"] == "redacted_thinking";
        let raw = raw.filter(|_| content.last().is_some_and(|last| !is_thought(last)));
        let raw =
            raw.map(|raw| ProviderMessage { provider: PROVIDER.into(), entry: None, raw: Arc::from(raw) });
        Ok(ModelReply { parts, raw, usage, reason })
    }
}

impl AnthropicContentBlock {
    fn new(index: u64, fields: Map<String, Value>) -> AnthropicContentBlock {
        let (text, thinking, signature, input) = Default::default();
        AnthropicContentBlock { index, fields, text, thinking, signature, input }
    }

    fn kind(&self) -> &str {
        self.fields.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    /// What it began with already; most begin empty.
    fn begun(&mut self) -> Vec<ModelEvent> {
        let take = |name: &str| match self.fields.get(name) {
            Some(Value::String(text)) => text.clone(),
            _ => String::new(),
        };
        let (text, thinking, signature) = (take("text"), take("thinking"), take("signature"));
        let deltas = [
            AnthropicBlockDelta::Text { text },
            AnthropicBlockDelta::Thinking { thinking },
            AnthropicBlockDelta::Signature { signature },
        ];
        deltas.into_iter().filter_map(|delta| self.add(delta)).collect()
    }

    fn add(&mut self, delta: AnthropicBlockDelta) -> Option<ModelEvent> {
        match delta {
            AnthropicBlockDelta::Text { text } => {
                self.text.push_str(&text);
                (!text.is_empty()).then_some(ModelEvent::TextDelta(text))
            }
            AnthropicBlockDelta::Thinking { thinking } => {
                self.thinking.push_str(&thinking);
                (!thinking.is_empty()).then_some(ModelEvent::ThoughtDelta(thinking))
            }
            AnthropicBlockDelta::Signature { signature } => {
                self.signature.push_str(&signature);
                None
            }
            AnthropicBlockDelta::InputJson { partial_json } => {
                self.input.push_str(&partial_json);
                None
            }
            AnthropicBlockDelta::Other => None,
        }
    }

    fn part(&self) -> Option<ReplyPart> {
        let word = |name: &str| self.fields.get(name).and_then(Value::as_str).map(str::to_owned);
        match self.kind() {
            "text" => (!self.text.is_empty()).then(|| ReplyPart::Text(self.text.clone())),
            "thinking" => {
                let signature = Some(self.signature.clone()).filter(|it| !it.is_empty());
                Some(ReplyPart::Thought { text: self.thinking.clone(), signature })
            }
            "tool_use" => Some(ReplyPart::ToolCall {
                provider_call_id: word("id"),
                name: word("name").unwrap_or_default().into(),
                arguments: self.arguments(),
                signature: None,
            }),
            _ => None,
        }
    }

    /// Servers that give the arguments at once give them with the beginning.
    fn is_cut_call(&self) -> bool {
        let has_begun_whole =
            self.fields.get("input").and_then(Value::as_object).is_some_and(|it| !it.is_empty());
        self.kind() == "tool_use" && is_cut(&self.input) && !(self.input.is_empty() && has_begun_whole)
    }

    /// What is no JSON stays a text, which no tool takes: the model is told.
    fn arguments(&self) -> Value {
        match self.input.trim() {
            "" => self.fields.get("input").cloned().unwrap_or_else(|| json!({})),
            _ => serde_json::from_str(&self.input).unwrap_or_else(|_| Value::String(self.input.clone())),
        }
    }

    /// As it goes back. A call whose arguments are no object cannot, nor can blank text, nor a thought that was cut off
    /// before it was signed.
    fn whole(mut self) -> Option<Value> {
        match self.kind() {
            "text" if self.text.trim().is_empty() => return None,
            "text" => drop(self.fields.insert("text".to_owned(), json!(self.text))),
            "thinking" if self.signature.is_empty() => return None,
            "thinking" => {
                self.fields.insert("thinking".to_owned(), json!(self.thinking));
                self.fields.insert("signature".to_owned(), json!(self.signature));
            }
            "tool_use" => {
                let input = match self.arguments() {
                    object @ Value::Object(_) => object,
                    other => json!({ "arguments": other }),
                };
                self.fields.insert("input".to_owned(), input);
            }
            _ => {}
        }
        Some(Value::Object(self.fields))
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicStreamEvent {
    MessageStart {
        message: AnthropicMessageStart,
    },
    ContentBlockStart {
        index: u64,
        content_block: Map<String, Value>,
    },
    ContentBlockDelta {
        index: u64,
        delta: AnthropicBlockDelta,
    },
    MessageDelta {
        delta: MessageDelta,
        #[serde(default)]
        usage: AnthropicUsage,
    },
    Error {
        error: WireError,
    },
    /// `ping`, `content_block_stop`, `message_stop`, and what the provider will add.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct AnthropicMessageStart {
    #[serde(default)]
    usage: AnthropicUsage,
}

#[derive(Deserialize)]
struct MessageDelta {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum AnthropicBlockDelta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    /// Citations, and what the provider will add.
    #[serde(other)]
    Other,
}

/// Counts are cumulative: a later one replaces an earlier one, and one that is missing leaves it.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct AnthropicUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl AnthropicUsage {
    fn take(&mut self, newer: AnthropicUsage) {
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.cache_creation_input_tokens =
            newer.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = newer.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
    }
}

impl From<AnthropicUsage> for Usage {
    fn from(usage: AnthropicUsage) -> Usage {
        let [input, created, read, output] = [
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
            usage.output_tokens,
        ]
        .map(Option::unwrap_or_default);
        Usage {
            // Here what came from the cache, or went into it, is not part of the input.
            prompt_tokens: input.saturating_add(created).saturating_add(read),
            cached_tokens: read,
            cache_write_tokens: created,
            // Thoughts are among these; how many is not told.
            output_tokens: output,
            thought_tokens: 0,
        }
    }
}

#[cfg(test)]
mod tests;
