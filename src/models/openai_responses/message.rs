//! What is one message in the form of responses? Each is encoded once; what the model itself said goes back byte for byte,
//! since its thoughts are bound to what came after them.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json, value::RawValue};

use super::super::{MediaSupport, tool_names::WireNames};
use protocol::{CallId, ContextMessage, MessagePart, MessageRole, ProviderMessage, ToolCall};

/// The items of a message as they stand between the brackets of `input`: each call and each result is one of its own.
#[derive(Debug)]
pub(crate) struct ResponsesEncodedMessage {
    pub speaks_as_user: bool,
    items: Items,
    /// The calls of a model's message, with the ids that stand in it: results must repeat them.
    calls: Vec<(CallId, Box<str>)>,
}

#[derive(Debug)]
enum Items {
    Own(Box<str>),
    /// A piece of what the provider said; not copied.
    Verbatim(Arc<RawValue>, Range<usize>),
}

impl ResponsesEncodedMessage {
    /// `before` is the message in front of this one.
    pub(super) fn new(
        message: &ContextMessage,
        before: Option<&ResponsesEncodedMessage>,
        names: &WireNames,
        media: MediaSupport,
    ) -> ResponsesEncodedMessage {
        let speaks_as_user = message.role == MessageRole::User;
        if let Some(verbatim) = message.raw.as_ref().and_then(|raw| ResponsesRawMessage::new(message, raw)) {
            let ResponsesRawMessage { raw, items, calls } = verbatim;
            return ResponsesEncodedMessage { speaks_as_user, items: Items::Verbatim(raw, items), calls };
        }
        let (items, calls) = match message.role {
            MessageRole::User => (user(&message.parts, media).into_iter().collect(), Vec::new()),
            MessageRole::Model => assistant(&message.parts, names),
            MessageRole::Tool => (results(&message.parts, before, media), Vec::new()),
        };
        let items: Vec<String> = items.iter().map(Value::to_string).collect();
        ResponsesEncodedMessage { speaks_as_user, items: Items::Own(items.join(",").into()), calls }
    }

    /// Joined by commas; empty when nothing is left to say.
    pub(super) fn items(&self) -> &str {
        match &self.items {
            Items::Own(items) => items,
            Items::Verbatim(raw, range) => &raw.get()[range.clone()],
        }
    }

    fn id_of(&self, call: &CallId) -> Option<&str> {
        self.calls.iter().find(|(id, _)| id == call).map(|(_, wire)| &**wire)
    }
}

/// What the provider said itself.
struct ResponsesRawMessage {
    raw: Arc<RawValue>,
    /// Where its items stand.
    items: Range<usize>,
    calls: Vec<(CallId, Box<str>)>,
}

impl ResponsesRawMessage {
    /// `None` when its calls are not those that were run, or it would be refused.
    fn new(message: &ContextMessage, raw: &ProviderMessage) -> Option<ResponsesRawMessage> {
        #[derive(Deserialize)]
        struct RawOutput<'a> {
            #[serde(borrow)]
            output: &'a RawValue,
        }
        #[derive(Deserialize)]
        struct RawItem {
            #[serde(rename = "type")]
            kind: Box<str>,
            call_id: Option<Box<str>>,
            encrypted_content: Option<Box<str>>,
            /// Where thoughts stand openly, at other servers.
            content: Option<Vec<IgnoredAny>>,
        }
        let text = raw.raw.get();
        let list = serde_json::from_str::<RawOutput<'_>>(text).ok()?.output.get();
        let items: Vec<RawItem> = serde_json::from_str(list).ok()?;
        let is_thought = |item: &RawItem| &*item.kind == "reasoning";
        // A thought that is only named is looked up, and nothing is kept there; one that led to nothing is refused.
        let is_only_named = |item: &RawItem| {
            is_thought(item)
                && item.encrypted_content.is_none()
                && item.content.as_ref().is_none_or(|content| content.is_empty())
        };
        if items.iter().any(is_only_named) || items.last().is_none_or(is_thought) {
            return None;
        }
        let named = items.into_iter().filter(|item| &*item.kind == "function_call").map(|item| item.call_id);
        let named: Vec<Box<str>> = named.collect::<Option<_>>()?;
        let asked = message.parts.iter().filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some(call.call_id.clone()),
            _ => None,
        });
        let asked: Vec<CallId> = asked.collect();
        let is_each_its_own = named.iter().collect::<BTreeSet<_>>().len() == named.len();
        if named.len() != asked.len() || !is_each_its_own || named.iter().any(|id| id.is_empty()) {
            return None;
        }
        // Where the list stands in the text it was borrowed from, without its brackets.
        let begin = list.as_ptr().addr().checked_sub(text.as_ptr().addr())? + 1;
        let end = begin + list.len().checked_sub(2)?;
        let calls = asked.into_iter().zip(named).collect();
        Some(ResponsesRawMessage { raw: Arc::clone(&raw.raw), items: begin..end, calls })
    }
}

fn user(parts: &[MessagePart], media: MediaSupport) -> Option<Value> {
    let content: Vec<Value> = parts.iter().filter_map(|part| content(part, media)).collect();
    (!content.is_empty()).then(|| json!({ "type": "message", "role": "user", "content": content }))
}

/// Text and calls, without ids of items. Thoughts of another provider, or without what they led to, mean nothing here.
fn assistant(parts: &[MessagePart], names: &WireNames) -> (Vec<Value>, Vec<(CallId, Box<str>)>) {
    let mut items = Vec::new();
    let mut calls = Vec::new();
    for part in parts {
        match part {
            MessagePart::Text { text } if !text.is_empty() => items.push(json!({
                "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }],
            })),
            MessagePart::ToolCall(call) => {
                items.push(function_call(call, names));
                calls.push((call.call_id.clone(), call.call_id.as_str().into()));
            }
            _ => {}
        }
    }
    (items, calls)
}

/// Under our own id: another provider's may be missing, repeated, or too long.
fn function_call(call: &ToolCall, names: &WireNames) -> Value {
    let arguments = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        Value::Null => json!({}),
        // They are read as an object. What else a model gave was refused, and is still to be seen.
        other => json!({ "arguments": other }),
    };
    json!({
        "type": "function_call",
        "call_id": call.call_id,
        "name": names.to_wire(&call.name),
        "arguments": arguments.to_string(),
    })
}

fn results(
    parts: &[MessagePart],
    before: Option<&ResponsesEncodedMessage>,
    media: MediaSupport,
) -> Vec<Value> {
    let results = parts.iter().filter_map(|part| {
        let MessagePart::ToolResult { call_id, parts, .. } = part else { return None };
        let id = before.and_then(|before| before.id_of(call_id)).unwrap_or(call_id.as_str());
        Some(json!({ "type": "function_call_output", "call_id": id, "output": output(parts, media) }))
    });
    results.collect()
}

/// A text where text is all there is: every server knows it.
fn output(parts: &[MessagePart], media: MediaSupport) -> Value {
    let texts: Option<Vec<&str>> = parts.iter().map(MessagePart::as_text).collect();
    match texts {
        Some(texts) => texts.join("\n").into(),
        None => Value::Array(parts.iter().filter_map(|part| content(part, media)).collect()),
    }
}

/// Text, pictures, documents; what cannot be said in this form is named. Empty text is left out.
fn content(part: &MessagePart, media: MediaSupport) -> Option<Value> {
    let text = |text: String| json!({ "type": "input_text", "text": text });
    let picture = |url: &str| json!({ "type": "input_image", "image_url": url, "detail": "auto" });
    Some(match part {
        MessagePart::Text { text } if text.is_empty() => return None,
        MessagePart::Text { text } => json!({ "type": "input_text", "text": text }),
        MessagePart::InlineData { mime_type, data } => match mime_type.as_str() {
            "image/jpeg" | "image/png" | "image/gif" | "image/webp" => {
                picture(&format!("data:{mime_type};base64,{data}"))
            }
            "application/pdf" if media.pdf => {
                let url = format!("data:application/pdf;base64,{data}");
                json!({ "type": "input_file", "filename": "document.pdf", "file_data": url })
            }
            other => text(format!("[{other}, which cannot be shown]")),
        },
        MessagePart::File { mime_type, uri } => match mime_type.as_str() {
            "application/pdf" if media.pdf => json!({ "type": "input_file", "file_url": uri }),
            image if image.starts_with("image/") => picture(uri),
            _ => text(format!("[{uri}]")),
        },
        MessagePart::Thought { .. } | MessagePart::ToolCall(_) | MessagePart::ToolResult { .. } => {
            return None;
        }
    })
}
