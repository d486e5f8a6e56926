//! What is one message in Anthropic's form? Each is encoded once; what the model itself said goes back byte for byte, since
//! signatures of thoughts are bound to it.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::super::tool_names::WireNames;
use protocol::{CallId, ContextMessage, MessagePart, MessageRole, ProviderMessage, ToolCall};

/// The blocks of a message as they stand between the brackets of `content`.
#[derive(Debug)]
pub(crate) struct AnthropicEncodedMessage {
    pub role: AnthropicRole,
    blocks: Blocks,
    /// The calls of a model's message, with the ids that stand in it: results must repeat them.
    calls: Vec<(CallId, Box<str>)>,
}

/// There are two roles: results of tools come from the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnthropicRole {
    User,
    Assistant,
}

#[derive(Debug)]
enum Blocks {
    Own(Box<str>),
    /// A piece of what the provider said; not copied.
    Verbatim(Arc<RawValue>, Range<usize>),
}

impl AnthropicEncodedMessage {
    /// `before` is the message in front of this one.
    pub(super) fn new(
        message: &ContextMessage,
        before: Option<&AnthropicEncodedMessage>,
        names: &WireNames,
    ) -> AnthropicEncodedMessage {
        let role = match message.role {
            MessageRole::User | MessageRole::Tool => AnthropicRole::User,
            MessageRole::Model => AnthropicRole::Assistant,
        };
        if let Some(verbatim) = message.raw.as_ref().and_then(|raw| AnthropicRawMessage::new(message, raw)) {
            let AnthropicRawMessage { raw, blocks, calls } = verbatim;
            return AnthropicEncodedMessage { role, blocks: Blocks::Verbatim(raw, blocks), calls };
        }
        let mut blocks = Vec::new();
        let mut calls = Vec::new();
        for part in &message.parts {
            match part {
                MessagePart::ToolCall(call) => {
                    blocks.push(tool_use(call, names));
                    calls.push((call.call_id.clone(), call.call_id.as_str().into()));
                }
                MessagePart::ToolResult { call_id, parts, is_error, .. } => {
                    let id = before.and_then(|before| before.id_of(call_id)).unwrap_or(call_id.as_str());
                    blocks.push(tool_result(id, parts, *is_error));
                }
                // Without the signature that it came with, a thought is refused.
                other => blocks.extend(block(other)),
            }
        }
        let blocks: Vec<String> = blocks.iter().map(Value::to_string).collect();
        AnthropicEncodedMessage { role, blocks: Blocks::Own(blocks.join(",").into()), calls }
    }

    /// Joined by commas; empty when nothing is left to say.
    pub(super) fn blocks(&self) -> &str {
        match &self.blocks {
            Blocks::Own(blocks) => blocks,
            Blocks::Verbatim(raw, range) => &raw.get()[range.clone()],
        }
    }

    fn id_of(&self, call: &CallId) -> Option<&str> {
        self.calls.iter().find(|(id, _)| id == call).map(|(_, wire)| &**wire)
    }
}

/// What the provider said itself.
struct AnthropicRawMessage {
    raw: Arc<RawValue>,
    /// Where its blocks stand.
    blocks: Range<usize>,
    calls: Vec<(CallId, Box<str>)>,
}

impl AnthropicRawMessage {
    /// `None` when its calls are not those that were run, or their ids would be refused.
    fn new(message: &ContextMessage, raw: &ProviderMessage) -> Option<AnthropicRawMessage> {
        #[derive(Deserialize)]
        struct RawMessage<'a> {
            #[serde(borrow)]
            content: &'a RawValue,
        }
        #[derive(Deserialize)]
        struct RawBlock {
            #[serde(rename = "type")]
            kind: Box<str>,
            id: Option<Box<str>>,
        }
        let text = raw.raw.get();
        let list = serde_json::from_str::<RawMessage<'_>>(text).ok()?.content.get();
        let blocks: Vec<RawBlock> = serde_json::from_str(list).ok()?;
        let named = blocks.into_iter().filter(|block| &*block.kind == "tool_use").map(|block| block.id);
        let named: Vec<Box<str>> = named.collect::<Option<_>>()?;
        let asked = message.parts.iter().filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some(call.call_id.clone()),
            _ => None,
        });
        let asked: Vec<CallId> = asked.collect();
        let is_each_its_own = named.iter().collect::<BTreeSet<_>>().len() == named.len();
        if named.len() != asked.len() || !is_each_its_own || !named.iter().all(|id| is_id(id)) {
            return None;
        }
        // Where the list stands in the text it was borrowed from, without its brackets.
        let begin = list.as_ptr().addr().checked_sub(text.as_ptr().addr())? + 1;
        let end = begin + list.len().checked_sub(2)?;
        let calls = asked.into_iter().zip(named).collect();
        Some(AnthropicRawMessage { raw: Arc::clone(&raw.raw), blocks: begin..end, calls })
    }
}

/// What a call may be called by; servers that only speak alike give other ids, which theirs alone take.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"_-".contains(&letter))
}

/// Text, pictures, documents; what cannot be said in this form is named. Blank text is refused, so it is left out.
fn block(part: &MessagePart) -> Option<Value> {
    Some(match part {
        MessagePart::Text { text } if text.trim().is_empty() => return None,
        MessagePart::Text { text } => json!({ "type": "text", "text": text }),
        MessagePart::InlineData { mime_type, data } => {
            let source = json!({ "type": "base64", "media_type": mime_type, "data": data });
            match mime_type.as_str() {
                "image/jpeg" | "image/png" | "image/gif" | "image/webp" => {
                    json!({ "type": "image", "source": source })
                }
                "application/pdf" => json!({ "type": "document", "source": source }),
                other => json!({ "type": "text", "text": format!("[{other}, which cannot be shown]") }),
            }
        }
        MessagePart::File { mime_type, uri } => {
            let source = json!({ "type": "url", "url": uri });
            match mime_type.as_str() {
                "application/pdf" => json!({ "type": "document", "source": source }),
                mime if mime.starts_with("image/") => json!({ "type": "image", "source": source }),
                _ => json!({ "type": "text", "text": format!("[{uri}]") }),
            }
        }
        MessagePart::Thought { .. } | MessagePart::ToolCall(_) | MessagePart::ToolResult { .. } => {
            return None;
        }
    })
}

/// Under our own id: another provider's may be missing, repeated, or have letters that are refused.
fn tool_use(call: &ToolCall, names: &WireNames) -> Value {
    let input = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        Value::Null => json!({}),
        // It is an object here. What else a model gave was refused, and is still to be seen.
        other => json!({ "arguments": other }),
    };
    json!({ "type": "tool_use", "id": call.call_id, "name": names.to_wire(&call.name), "input": input })
}

fn tool_result(id: &str, parts: &[MessagePart], is_error: bool) -> Value {
    let mut content: Vec<Value> = parts.iter().filter_map(block).collect();
    // An error without words is refused.
    if content.is_empty() {
        content.push(json!({ "type": "text", "text": "(nothing)" }));
    }
    let mut result = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    if is_error {
        result["is_error"] = json!(true);
    }
    result
}
