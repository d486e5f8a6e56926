//! Messages between a run and a model, neutral to any provider (spec 04, "History").

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{CallId, ToolName};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MessageRole {
    User,
    Model,
    /// Results of tool calls; stands right after the model message that asked for them.
    Tool,
}

/// One message of a context.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextMessage {
    pub role: MessageRole,
    pub parts: Vec<MessagePart>,
    /// The same in one provider's own form, verbatim. Sent back when the provider's entry is the same, since
    /// signatures are bound to it; never rewritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<ProviderMessage>,
}

impl ContextMessage {
    pub fn user(text: impl Into<String>) -> ContextMessage {
        ContextMessage { role: MessageRole::User, parts: vec![MessagePart::text(text)], raw: None }
    }

    /// The text parts, joined; thoughts are not text.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(MessagePart::as_text).collect()
    }
}

/// What a provider said, byte for byte.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderMessage {
    /// The provider's kind, e.g. `gemini`.
    pub provider: Arc<str>,
    /// Its entry in the settings: others of the kind may be somebody else. `None` = it was said before this was kept, or by a
    /// recording; then all of the kind count as the one who said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Arc<str>>,
    pub raw: Arc<RawValue>,
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum MessagePart {
    Text {
        text: String,
    },
    /// The model's reasoning. `signature` is opaque and goes back unchanged.
    Thought {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    ToolCall(ToolCall),
    ToolResult {
        call_id: CallId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_call_id: Option<String>,
        name: ToolName,
        parts: Vec<MessagePart>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// Bytes in base64.
    InlineData {
        mime_type: String,
        data: String,
    },
    /// A file the provider fetches itself.
    File {
        mime_type: String,
        uri: String,
    },
}

impl MessagePart {
    pub fn text(text: impl Into<String>) -> MessagePart {
        MessagePart::Text { text: text.into() }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            MessagePart::Text { text } => Some(text),
            _ => None,
        }
    }
}

/// A model's wish to use a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub call_id: CallId,
    /// The provider's own id; may be missing or repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_call_id: Option<String>,
    /// As the model wrote it; the registry maps aliases.
    pub name: ToolName,
    /// As the model wrote them, but for secrets.
    pub arguments: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The arguments held a secret. What stands in its place is not what the model meant, so the call cannot be
    /// prepared from here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// Tokens of one model call, or of many added up (spec 04).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// All tokens of the request, cached ones included.
    pub prompt_tokens: u64,
    /// Of these, served from the provider's cache.
    pub cached_tokens: u64,
    /// Of the others, put into the provider's cache, where that has a price of its own; left out when there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Tokens of the reply, thoughts not included.
    pub output_tokens: u64,
    pub thought_tokens: u64,
}

impl Usage {
    /// Prompt, output and thoughts together: what a token budget counts.
    pub fn total(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.output_tokens).saturating_add(self.thought_tokens)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.thought_tokens = self.thought_tokens.saturating_add(other.thought_tokens);
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The reason why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FinishReason {
    /// It had said what it wanted, or wants tool results.
    Stop,
    /// The output limit was reached.
    Length,
    /// The provider withheld the answer; `message` is the provider's.
    Refused { message: String },
}
