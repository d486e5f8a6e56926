//! What is one message in the form of chat completions? Each is encoded once.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::super::{MediaSupport, tool_names::WireNames};
use protocol::{ContextMessage, MessagePart, MessageRole, ToolCall};

/// One message of ours, which may be several here: each result of a tool is one of its own.
#[derive(Debug)]
pub(crate) struct OpenAiEncodedMessage {
    pub speaks_as_user: bool,
    /// Objects with commas between; empty when nothing is left to say.
    pub json: Box<str>,
}

/// Fields of a reply in which thoughts came. A model that thinks between its calls wants to see what it thought; a server
/// that does not know a field never sent it, and is not sent what another did.
pub(super) const THOUGHT_FIELDS: &[&str] = &["reasoning_details", "reasoning_content", "reasoning"];

impl OpenAiEncodedMessage {
    pub(super) fn new(
        message: &ContextMessage,
        names: &WireNames,
        media: MediaSupport,
    ) -> OpenAiEncodedMessage {
        let mut list = Vec::new();
        match message.role {
            MessageRole::User => list.extend(user(&message.parts, media)),
            MessageRole::Model => list.extend(assistant(message, names)),
            MessageRole::Tool => tool(&message.parts, media, &mut list),
        }
        let list: Vec<String> = list.iter().map(Value::to_string).collect();
        OpenAiEncodedMessage {
            speaks_as_user: message.role == MessageRole::User,
            json: list.join(",").into(),
        }
    }
}

fn user(parts: &[MessagePart], media: MediaSupport) -> Option<Value> {
    let content: Vec<Value> = parts.iter().filter_map(|part| content(part, media)).collect();
    match content.as_slice() {
        [] => None,
        // As most servers expect it, and some only know it.
        [one] if one["type"] == "text" => Some(json!({ "role": "user", "content": one["text"] })),
        _ => Some(json!({ "role": "user", "content": content })),
    }
}

/// Text, pictures, sound, documents; what cannot be said in this form is named. Empty text is left out.
fn content(part: &MessagePart, media: MediaSupport) -> Option<Value> {
    Some(match part {
        MessagePart::Text { text } if text.is_empty() => return None,
        MessagePart::Text { text } => json!({ "type": "text", "text": text }),
        MessagePart::InlineData { mime_type, data } if mime_type.starts_with("image/") => {
            json!({ "type": "image_url", "image_url": { "url": format!("data:{mime_type};base64,{data}") } })
        }
        MessagePart::InlineData { mime_type, data } => match mime_type.as_str() {
            "audio/wav" if media.audio => {
                json!({ "type": "input_audio", "input_audio": { "data": data, "format": "wav" } })
            }
            "audio/mpeg" if media.audio => {
                json!({ "type": "input_audio", "input_audio": { "data": data, "format": "mp3" } })
            }
            "application/pdf" if media.pdf => {
                let url = format!("data:application/pdf;base64,{data}");
                json!({ "type": "file", "file": { "filename": "document.pdf", "file_data": url } })
            }
            other => json!({ "type": "text", "text": format!("[{other}, which cannot be shown]") }),
        },
        MessagePart::File { mime_type, uri } if mime_type.starts_with("image/") => {
            json!({ "type": "image_url", "image_url": { "url": uri } })
        }
        MessagePart::File { uri, .. } => json!({ "type": "text", "text": format!("[{uri}]") }),
        MessagePart::Thought { .. } | MessagePart::ToolCall(_) | MessagePart::ToolResult { .. } => {
            return None;
        }
    })
}

fn assistant(message: &ContextMessage, names: &WireNames) -> Option<Value> {
    let text = message.text();
    let calls: Vec<Value> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some(tool_call(call, names)),
            _ => None,
        })
        .collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut fields = Map::new();
    fields.insert("role".to_owned(), json!("assistant"));
    if !text.is_empty() {
        fields.insert("content".to_owned(), json!(text));
    }
    if !calls.is_empty() {
        fields.insert("tool_calls".to_owned(), Value::Array(calls));
        // What was thought before an answer that stands is of no use any more.
        fields.extend(thoughts(message));
    }
    Some(Value::Object(fields))
}

/// What the server said of its thoughts, as it said it.
fn thoughts(message: &ContextMessage) -> Vec<(String, Value)> {
    let Some(Ok(Value::Object(said))) =
        message.raw.as_ref().map(|raw| serde_json::from_str::<Value>(raw.raw.get()))
    else {
        return Vec::new();
    };
    let is_thought = |(name, _): &(String, Value)| THOUGHT_FIELDS.contains(&name.as_str());
    said.into_iter().filter(is_thought).collect()
}

/// Under our own id: a provider's may be missing, or repeated.
fn tool_call(call: &ToolCall, names: &WireNames) -> Value {
    let arguments = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        Value::Null => json!({}),
        // Servers read them as an object; what else a model gave was refused, and is still to be seen.
        other => json!({ "arguments": other }),
    };
    json!({
        "id": call.call_id,
        "type": "function",
        "function": { "name": names.to_wire(&call.name), "arguments": arguments.to_string() },
    })
}

/// Results are texts here; what else there is follows as the user's.
fn tool(parts: &[MessagePart], media: MediaSupport, list: &mut Vec<Value>) {
    let mut others = Vec::new();
    for part in parts {
        let MessagePart::ToolResult { call_id, parts, .. } = part else { continue };
        let texts: Vec<&str> = parts.iter().filter_map(MessagePart::as_text).collect();
        list.push(json!({ "role": "tool", "tool_call_id": call_id, "content": texts.join("\n") }));
        let more = parts.iter().filter(|part| part.as_text().is_none());
        others.extend(more.filter_map(|part| content(part, media)));
    }
    if !others.is_empty() {
        others.insert(0, json!({ "type": "text", "text": "From the results above:" }));
        list.push(json!({ "role": "user", "content": others }));
    }
}

/// A message of the daemon's own.
pub(super) fn plain(role: &str, text: &str) -> String {
    #[derive(Serialize)]
    struct Plain<'a> {
        role: &'a str,
        content: &'a str,
    }
    // Two texts cannot fail to be written; `null` would be refused, not misunderstood.
    serde_json::to_string(&Plain { role, content: text }).unwrap_or_else(|_| "null".to_owned())
}
