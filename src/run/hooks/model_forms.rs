//! Requests to models and their answers as hooks read and write them: Gemini CLI's stable form, in which a message is a text.

use models::{ModelReply, ModelRequest, ReplyPart};
use serde_json::{Map, Value, json};

use protocol::{ContextMessage, FinishReason, MessagePart, MessageRole, SamplingSettings};

/// A request. Calls, pictures and thoughts are left out of it.
pub(super) fn shown_request(model: &str, request: &ModelRequest) -> Value {
    let SamplingSettings { temperature, top_p, max_output_tokens, .. } = request.sampling;
    let mut config = Map::new();
    let mut put = |key: &str, value: Option<Value>| config.extend(value.map(|value| (key.to_owned(), value)));
    put("temperature", temperature.map(Value::from));
    put("topP", top_p.map(Value::from));
    put("maxOutputTokens", max_output_tokens.map(Value::from));
    let messages = request.messages.iter().map(|message| {
        let role = if message.role == MessageRole::Model { "model" } else { "user" };
        json!({ "role": role, "content": text_of(message) })
    });
    let system = std::iter::once(json!({ "role": "system", "content": &*request.system }));
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    json!({
        "model": model,
        "messages": system.chain(messages).collect::<Vec<_>>(),
        "config": config,
        "toolConfig": { "mode": "AUTO", "allowedFunctionNames": names },
    })
}

/// An answer.
pub(super) fn shown_reply(reply: &ModelReply) -> Value {
    let texts: Vec<&str> = reply.parts.iter().filter_map(text_part).collect();
    let reason = match reply.reason {
        FinishReason::Stop => "STOP",
        FinishReason::Length => "MAX_TOKENS",
        FinishReason::Refused { .. } => "SAFETY",
    };
    json!({
        "text": texts.concat(),
        "candidates": [{ "content": { "role": "model", "parts": texts }, "finishReason": reason, "index": 0 }],
        "usageMetadata": {
            "promptTokenCount": reply.usage.prompt_tokens,
            "candidatesTokenCount": reply.usage.output_tokens,
            "totalTokenCount": reply.usage.total(),
        },
    })
}

/// The text of an answer that is given in the model's place.
pub(super) fn stand_in(response: &Value) -> Option<String> {
    let texts = texts_of(response)?;
    Some(texts.concat()).filter(|text| !text.trim().is_empty())
}

/// The request as a hook wants it; what of that has no effect is told. Why it cannot be sent like that is an error.
pub(super) fn changed_request(
    model: &str,
    request: &mut ModelRequest,
    changes: &Value,
) -> Result<Vec<String>, String> {
    let shown = shown_request(model, request);
    let differs = |key: &str| changes.get(key).is_some_and(|value| !value.is_null() && *value != shown[key]);
    let mut warnings = Vec::new();
    for key in ["model", "toolConfig"] {
        if differs(key) {
            warnings.push(format!("a hook's change of `{key}` of a request has no effect"));
        }
    }
    if let Some(config) = changes.get("config").filter(|config| !config.is_null()) {
        let config = config.as_object().ok_or("its `config` is no object")?;
        change_sampling(&mut request.sampling, config, &mut warnings)?;
    }
    if differs("messages") {
        let messages = changes["messages"].as_array().ok_or("its `messages` are no list")?;
        change_messages(request, messages, &shown["messages"])?;
    }
    Ok(warnings)
}

fn change_sampling(
    sampling: &mut SamplingSettings,
    config: &Map<String, Value>,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    for (key, value) in config.iter().filter(|(_, value)| !value.is_null()) {
        let wrong = || format!("its `config.{key}` is {value}");
        match key.as_str() {
            "temperature" => sampling.temperature = Some(value.as_f64().ok_or_else(wrong)?),
            "topP" => sampling.top_p = Some(value.as_f64().ok_or_else(wrong)?),
            "maxOutputTokens" => {
                let most = value.as_u64().filter(|most| *most != 0).ok_or_else(wrong)?;
                // Never more than the run may have.
                let may = sampling.max_output_tokens.unwrap_or(u64::MAX);
                sampling.max_output_tokens = Some(most.min(may));
            }
            _ => warnings.push(format!("a hook's `config.{key}` of a request has no effect")),
        }
    }
    Ok(())
}

/// Texts of messages are changed in their places, since calls and their results must stand where they are.
fn change_messages(request: &mut ModelRequest, wanted: &[Value], shown: &Value) -> Result<(), String> {
    let shown = shown.as_array().map_or(&[][..], Vec::as_slice);
    if shown.len() != wanted.len() {
        return Err(format!("it has {} messages in place of {}", wanted.len(), shown.len()));
    }
    for (at, (was, wanted)) in shown.iter().zip(wanted).enumerate() {
        if was == wanted {
            continue;
        }
        if wanted["role"] != was["role"] {
            return Err(format!("its message {at} has another role"));
        }
        let text = content_text(&wanted["content"]).ok_or_else(|| format!("its message {at} is no text"))?;
        match at.checked_sub(1) {
            None => request.system = text.into(),
            Some(at) => {
                let message = with_text(&request.messages[at], text)
                    .ok_or_else(|| format!("its message {} stands for several results", at + 1))?;
                request.messages[at] = message.into();
            }
        }
    }
    Ok(())
}

/// The message with another text; `None` = nobody can tell where that belongs.
fn with_text(message: &ContextMessage, text: String) -> Option<ContextMessage> {
    let is_of_tool = |part: &MessagePart| matches!(part, MessagePart::ToolResult { .. });
    let mut parts = message.parts.clone();
    if parts.iter().any(is_of_tool) {
        let mut results = parts.iter_mut().filter(|part| is_of_tool(part));
        let MessagePart::ToolResult { parts: said, .. } = results.next()? else { return None };
        said.retain(|part| part.as_text().is_none());
        said.insert(0, MessagePart::text(text));
        if results.next().is_some() || message.parts.iter().any(|part| part.as_text().is_some()) {
            return None;
        }
    } else {
        let first = parts.iter().position(|part| part.as_text().is_some()).unwrap_or(0);
        parts.retain(|part| part.as_text().is_none());
        parts.insert(first.min(parts.len()), MessagePart::text(text));
    }
    // What its provider said once is not what is sent now.
    Some(ContextMessage { parts, raw: None, ..message.clone() })
}

fn text_of(message: &ContextMessage) -> String {
    let text = |part: &MessagePart| match part {
        MessagePart::ToolResult { parts, .. } => {
            parts.iter().filter_map(MessagePart::as_text).collect::<Vec<_>>().concat()
        }
        other => other.as_text().unwrap_or_default().to_owned(),
    };
    message.parts.iter().map(text).collect()
}

/// The answer as a hook wants it. Its thoughts go, since they may say what the text does not any more; its calls stay.
pub(super) fn changed_reply(reply: ModelReply, response: &Value) -> Result<ModelReply, String> {
    let texts = texts_of(response).ok_or("what it puts in its place has no text")?;
    let n_texts = reply.parts.iter().filter_map(text_part).count();
    let was: Vec<&str> = reply.parts.iter().filter_map(text_part).collect();
    if texts == was {
        return Ok(reply);
    }
    let is_in_place = texts.len() == n_texts;
    let mut texts = texts.into_iter();
    let mut parts = Vec::with_capacity(reply.parts.len());
    for part in reply.parts {
        match part {
            ReplyPart::Thought { .. } => (),
            ReplyPart::Text(_) if is_in_place => parts.extend(texts.next().map(ReplyPart::Text)),
            ReplyPart::Text(_) => {
                let rest: String = texts.by_ref().collect();
                parts.extend((!rest.is_empty()).then_some(ReplyPart::Text(rest)));
            }
            call @ ReplyPart::ToolCall { .. } => parts.push(call),
        }
    }
    let rest: String = texts.collect();
    if !rest.is_empty() {
        parts.insert(0, ReplyPart::Text(rest));
    }
    Ok(ModelReply { parts, raw: None, ..reply })
}

fn text_part(part: &ReplyPart) -> Option<&str> {
    match part {
        ReplyPart::Text(text) => Some(text),
        _ => None,
    }
}

/// The texts of an answer's first candidate, else its `text`.
fn texts_of(response: &Value) -> Option<Vec<String>> {
    match response.pointer("/candidates/0/content/parts") {
        Some(Value::Array(parts)) => parts.iter().map(content_text).collect(),
        Some(_) => None,
        None => response.get("text").and_then(content_text).map(|text| vec![text]),
    }
}

/// A text, a part that has one, or several of them.
fn content_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts.iter().map(content_text).collect(),
        Value::Object(part) => part.get("text").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
