//! Requests to models and their answers as hooks read and write them: Gemini CLI's stable form, in which a message is a text.

use models::{ModelReply, ModelRequest, ReplyPart};
use serde_json::{Map, Value, json};

use protocol::{ContextMessage, FinishReason, MessagePart, MessageRole, SamplingSettings};
use redact::Redactor;

/// A request. Calls, pictures and thoughts are left out of it. Each result of a message with several is a message of its own.
pub(super) fn shown_request(model: &str, request: &ModelRequest) -> Value {
    let SamplingSettings { temperature, top_p, max_output_tokens, .. } = request.sampling;
    let mut config = Map::new();
    let mut put = |key: &str, value: Option<Value>| config.extend(value.map(|value| (key.to_owned(), value)));
    put("temperature", temperature.map(Value::from));
    put("topP", top_p.map(Value::from));
    put("maxOutputTokens", max_output_tokens.map(Value::from));
    let messages = request.messages.iter().flat_map(|message| {
        let role = if message.role == MessageRole::Model { "model" } else { "user" };
        let shown = move |place| json!({ "role": role, "content": text_at(message, place) });
        text_places(message).into_iter().map(shown)
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
pub(super) fn stand_in(response: &Value, redactor: &Redactor) -> Result<String, String> {
    let texts = wanted_texts(response, "")?.unwrap_or_default();
    let text = redactor.owned(texts.concat());
    if text.trim().is_empty() { Err("it has no text".to_owned()) } else { Ok(text) }
}

/// The request as a hook wants it, without secrets in what it put in; what of that has no effect is told. Why it cannot be
/// sent like that is an error.
pub(super) fn changed_request(
    model: &str,
    request: &mut ModelRequest,
    changes: &Value,
    redactor: &Redactor,
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
        change_messages(request, messages, &shown["messages"], redactor)?;
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
fn change_messages(
    request: &mut ModelRequest,
    wanted: &[Value],
    shown: &Value,
    redactor: &Redactor,
) -> Result<(), String> {
    let shown = shown.as_array().map_or(&[][..], Vec::as_slice);
    if shown.len() != wanted.len() {
        return Err(format!("it has {} messages in place of {}", wanted.len(), shown.len()));
    }
    let in_message = |(at, message)| text_places(message).into_iter().map(move |place| Some((at, place)));
    let messages = request.messages.iter().map(|message| &**message).enumerate();
    let places: Vec<Option<(usize, FormText)>> =
        std::iter::once(None).chain(messages.flat_map(in_message)).collect();
    for (at, ((was, wanted), place)) in shown.iter().zip(wanted).zip(places).enumerate() {
        if was == wanted {
            continue;
        }
        if wanted["role"] != was["role"] {
            return Err(format!("its message {at} has another role"));
        }
        let text = content_text(&wanted["content"]).ok_or_else(|| format!("its message {at} is no text"))?;
        let text = redactor.owned(text);
        match place {
            None => request.system = text.into(),
            Some((message, place)) => {
                request.messages[message] = with_text(&request.messages[message], place, text).into();
            }
        }
    }
    Ok(())
}

/// The part of a message that hooks read as one text.
#[derive(Clone, Copy)]
enum FormText {
    /// All that it says itself.
    Own,
    /// One of its results, counted from 0.
    Result(usize),
}

/// Every text of a message that hooks read; at least one.
fn text_places(message: &ContextMessage) -> Vec<FormText> {
    let n_results = message.parts.iter().filter(|part| is_result(part)).count();
    let has_own = n_results == 0 || message.parts.iter().any(|part| part.as_text().is_some());
    has_own.then_some(FormText::Own).into_iter().chain((0..n_results).map(FormText::Result)).collect()
}

fn is_result(part: &MessagePart) -> bool {
    matches!(part, MessagePart::ToolResult { .. })
}

fn text_at(message: &ContextMessage, place: FormText) -> String {
    let parts = match place {
        FormText::Own => Some(&message.parts),
        FormText::Result(nth) => match message.parts.iter().filter(|part| is_result(part)).nth(nth) {
            Some(MessagePart::ToolResult { parts, .. }) => Some(parts),
            _ => None,
        },
    };
    parts.into_iter().flatten().filter_map(MessagePart::as_text).collect()
}

/// The message with another text in one place.
fn with_text(message: &ContextMessage, place: FormText, text: String) -> ContextMessage {
    let mut parts = message.parts.clone();
    let place = match place {
        FormText::Own => Some(&mut parts),
        FormText::Result(nth) => match parts.iter_mut().filter(|part| is_result(part)).nth(nth) {
            Some(MessagePart::ToolResult { parts, .. }) => Some(parts),
            _ => None,
        },
    };
    if let Some(parts) = place {
        let first = parts.iter().position(|part| part.as_text().is_some()).unwrap_or(0);
        parts.retain(|part| part.as_text().is_none());
        parts.insert(first, MessagePart::text(text));
    }
    // What its provider said once is not what is sent now.
    ContextMessage { parts, raw: None, ..message.clone() }
}

/// The answer as a hook wants it, without secrets. Its thoughts go, since they may say what the text does not any more; its
/// calls stay.
pub(super) fn changed_reply(
    reply: ModelReply,
    response: &Value,
    redactor: &Redactor,
) -> Result<ModelReply, String> {
    let was: Vec<&str> = reply.parts.iter().filter_map(text_part).collect();
    let Some(mut texts) = wanted_texts(response, &was.concat())? else { return Ok(reply) };
    let n_texts = was.len();
    let joined = texts.concat();
    if redactor.finds_in(&joined) {
        // A secret may go across the border of two texts.
        texts = vec![redactor.owned(joined)];
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

/// The texts that a hook wants of an answer in which it read `was`, if others. They stand twice in it, in `text` and in the
/// first candidate: the one that the hook changed counts.
fn wanted_texts(response: &Value, was: &str) -> Result<Option<Vec<String>>, String> {
    let given = |key: &str| response.get(key).filter(|value| !value.is_null());
    let text = match given("text") {
        None => None,
        Some(text) => Some(vec![content_text(text).ok_or("its `text` is no text")?]),
    };
    let candidate = match given("candidates").map(|it| it.pointer("/0/content/parts")) {
        None => None,
        Some(parts) => {
            let texts = parts.and_then(Value::as_array);
            let texts = texts.and_then(|parts| parts.iter().map(content_text).collect());
            Some(texts.ok_or("its `candidates` have no text")?)
        }
    };
    let is_given = text.is_some() || candidate.is_some();
    let changed = |texts: &Vec<String>| texts.concat() != was;
    match (text.filter(changed), candidate.filter(changed)) {
        (Some(text), Some(candidate)) if text.concat() != candidate.concat() => {
            Err("its `text` and its `candidates` say different things".to_owned())
        }
        (_, Some(texts)) | (Some(texts), None) => Ok(Some(texts)),
        (None, None) if is_given => Ok(None),
        (None, None) => Err("what it puts in its place has no text".to_owned()),
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
