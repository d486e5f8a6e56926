//! A reply in the shape of Gemini's `generateContent`, and of the chunks of `streamGenerateContent`.

use std::{borrow::Cow, collections::VecDeque};

use serde_json::{Map, Value, json};

use crate::{ModelReply, ReplyGrounding, ReplyPart, RequestPurpose, gemini::reply::grounding};
use protocol::{FinishReason, Usage};
use redact::Redactor;

/// What makes `replay` ask again.
const MALFORMED: &str = "MALFORMED_RESPONSE";

/// The reason of a refusal whose words begin like another reason.
const REFUSED: &str = "REFUSED";

/// Reasons that mean something else than a refusal.
const OTHER_REASONS: &[&str] = &[
    "",
    "STOP",
    "MAX_TOKENS",
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    MALFORMED,
    "OTHER",
    "FINISH_REASON_UNSPECIFIED",
];

/// The pieces in which a reply came.
#[derive(Debug, Default)]
pub(super) struct ReplyDeltas {
    texts: VecDeque<String>,
    thoughts: VecDeque<String>,
    grounding: ReplyGrounding,
}

/// A reply that could not be used.
pub(super) struct FailedReply<'a> {
    pub message: &'a str,
}

impl ReplyDeltas {
    pub fn text(&mut self, delta: &str) {
        self.texts.push_back(delta.to_owned());
    }

    pub fn thought(&mut self, delta: &str) {
        self.thoughts.push_back(delta.to_owned());
    }

    pub fn grounding(&mut self, more: &ReplyGrounding) {
        self.grounding.absorb(more.clone());
    }
}

/// Which reply it is.
pub(super) struct ReplyPosition<'a> {
    pub purpose: RequestPurpose,
    /// The run's.
    pub path: &'a str,
    pub ordinal: u32,
    /// Tokens that fit the model.
    pub window: u64,
}

/// One line of a recording, with its end.
pub(super) fn line(place: &ReplyPosition, response: &Value) -> Vec<u8> {
    let ReplyPosition { purpose, path, ordinal, window } = *place;
    let method = match purpose {
        RequestPurpose::Turn => "generateContentStream",
        RequestPurpose::Utility => "generateContent",
    };
    let line =
        json!({ "method": method, "path": path, "ordinal": ordinal, "window": window, "response": response });
    format!("{line}\n").into_bytes()
}

/// The line of a count, with its end.
pub(super) fn count_line(path: &str, ordinal: u32, tokens: u64) -> Vec<u8> {
    let response = json!({ "totalTokens": tokens });
    let line = json!({ "method": "countTokens", "path": path, "ordinal": ordinal, "response": response });
    format!("{line}\n").into_bytes()
}

/// A whole reply: as chunks where it was streamed to clients, else at once.
pub(super) fn response(
    purpose: RequestPurpose,
    mut heard: ReplyDeltas,
    reply: &ModelReply,
    redactor: &Redactor,
) -> Value {
    let grounding = std::mem::take(&mut heard.grounding);
    let parts = parts(heard, reply, redactor);
    let (reason, message) = finish(&reply.reason, redactor);
    let mut response = in_shape(purpose, parts, &reason, message, Some(reply.usage));
    // Of a question, which alone is no list of chunks; a turn stands on nothing.
    if let Some(candidate) = response.pointer_mut("/candidates/0").and_then(Value::as_object_mut) {
        candidate.extend(grounding::fields(grounding).map(|(name, mut value)| {
            redactor.value(&mut value);
            (name, value)
        }));
    }
    response
}

/// A reply that could not be used. What there was of it is left out: it may have broken off within a secret.
pub(super) fn failure(purpose: RequestPurpose, failed: FailedReply, redactor: &Redactor) -> Value {
    let message = redactor.text(failed.message).into_owned();
    in_shape(purpose, Vec::new(), MALFORMED, Some(message), None)
}

fn in_shape(
    purpose: RequestPurpose,
    parts: Vec<Value>,
    reason: &str,
    message: Option<String>,
    usage: Option<Usage>,
) -> Value {
    let mut candidate = Map::new();
    candidate.insert("finishReason".to_owned(), reason.into());
    candidate.extend(message.map(|message| ("finishMessage".to_owned(), message.into())));
    candidate.insert("index".to_owned(), 0.into());
    let content = |parts: Vec<Value>| json!({ "role": "model", "parts": parts });
    let chunk = |part| json!({ "candidates": [{ "content": content(vec![part]), "index": 0 }] });
    let last = |candidate: Map<String, Value>| match usage {
        Some(usage) => json!({ "candidates": [candidate], "usageMetadata": metadata(usage) }),
        None => json!({ "candidates": [candidate] }),
    };
    match purpose {
        RequestPurpose::Turn => parts.into_iter().map(chunk).chain([last(candidate)]).collect(),
        RequestPurpose::Utility => {
            candidate.insert("content".to_owned(), content(parts));
            last(candidate)
        }
    }
}

fn metadata(usage: Usage) -> Value {
    let mut metadata = json!({
        "promptTokenCount": usage.prompt_tokens,
        "cachedContentTokenCount": usage.cached_tokens,
        "candidatesTokenCount": usage.output_tokens,
        "thoughtsTokenCount": usage.thought_tokens,
        "totalTokenCount": usage.total(),
    });
    // No field of Gemini's, which has no such thing.
    if usage.cache_write_tokens != 0 {
        metadata["cacheWriteTokenCount"] = usage.cache_write_tokens.into();
    }
    metadata
}

/// The reply's parts in their order, texts and thoughts in the pieces in which they came.
fn parts(mut heard: ReplyDeltas, reply: &ModelReply, redactor: &Redactor) -> Vec<Value> {
    let texts = reply.parts.iter().filter_map(|part| match part {
        ReplyPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let thoughts = reply.parts.iter().filter_map(|part| match part {
        ReplyPart::Thought { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let mut hidden_text = hidden(texts, redactor);
    let mut hidden_thought = hidden(thoughts, redactor);
    let (hides_text, hides_thought) = (hidden_text.is_some(), hidden_thought.is_some());
    let mut parts = Vec::new();
    for part in &reply.parts {
        match part {
            // With a secret in it, the whole stands where the first piece stood: a secret may go across pieces.
            ReplyPart::Text(_) if hides_text => parts.extend(hidden_text.take().map(text_part)),
            ReplyPart::Text(text) => parts.extend(pieces(&mut heard.texts, text).map(text_part)),
            // Signatures were made for what is not there any more.
            ReplyPart::Thought { .. } if hides_thought => {
                parts.extend(hidden_thought.take().map(thought_part));
            }
            ReplyPart::Thought { text, signature } => {
                let first = parts.len();
                parts.extend(pieces(&mut heard.thoughts, text).map(thought_part));
                sign(&mut parts, first, signature.as_deref(), redactor);
            }
            ReplyPart::ToolCall { provider_call_id, name, arguments, signature } => {
                parts.push(call_part(provider_call_id.as_deref(), name.as_str(), arguments, redactor));
                let at = parts.len() - 1;
                sign(&mut parts, at, signature.as_deref(), redactor);
            }
        }
    }
    parts
}

fn text_part(text: String) -> Value {
    json!({ "text": text })
}

fn thought_part(text: String) -> Value {
    json!({ "text": text, "thought": true })
}

fn call_part(id: Option<&str>, name: &str, arguments: &Value, redactor: &Redactor) -> Value {
    let mut arguments = arguments.clone();
    redactor.value(&mut arguments);
    let mut call = Map::new();
    call.extend(id.map(|id| ("id".to_owned(), redactor.text(id).into())));
    call.insert("name".to_owned(), redactor.text(name).into());
    call.insert("args".to_owned(), arguments);
    json!({ "functionCall": call })
}

/// A signature closes the last piece of what it is about. One that holds a secret goes as a whole.
fn sign(parts: &mut Vec<Value>, first: usize, signature: Option<&str>, redactor: &Redactor) {
    let Some(signature) = signature.filter(|it| matches!(redactor.text(it), Cow::Borrowed(_))) else {
        return;
    };
    if parts.len() == first {
        // A thought of which the provider shows nothing.
        parts.push(thought_part(String::new()));
    }
    if let Some(Value::Object(part)) = parts.last_mut() {
        part.insert("thoughtSignature".to_owned(), signature.into());
    }
}

/// All of it without its secrets; `None` when there are none.
fn hidden<'a>(texts: impl Iterator<Item = &'a str>, redactor: &Redactor) -> Option<String> {
    let whole: String = texts.collect();
    match redactor.text(&whole) {
        Cow::Borrowed(_) => None,
        Cow::Owned(hidden) => Some(hidden),
    }
}

/// The next pieces, as far as they are the text of one part; what came in no pieces, or in others, is one.
fn pieces(heard: &mut VecDeque<String>, text: &str) -> impl Iterator<Item = String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        match heard.pop_front() {
            Some(piece) if rest.starts_with(&piece) => {
                rest = &rest[piece.len()..];
                pieces.push(piece);
            }
            // A piece that reaches into the next part.
            Some(piece) if piece.starts_with(rest) => {
                heard.push_front(piece[rest.len()..].to_owned());
                pieces.push(std::mem::take(&mut rest).to_owned());
            }
            _ => pieces.push(std::mem::take(&mut rest).to_owned()),
        }
    }
    pieces.into_iter().filter(|piece| !piece.is_empty())
}

/// Gemini's words for why the reply ended, such that they are read as the same again.
fn finish(reason: &FinishReason, redactor: &Redactor) -> (String, Option<String>) {
    match reason {
        FinishReason::Stop => ("STOP".to_owned(), None),
        FinishReason::Length => ("MAX_TOKENS".to_owned(), None),
        FinishReason::Refused { message: words } => {
            let words = redactor.text(words);
            let (reason, message) = match words.split_once(": ") {
                Some((reason, message)) => (reason, Some(message)),
                None => (&*words, None),
            };
            match OTHER_REASONS.contains(&reason) {
                true => (REFUSED.to_owned(), Some(words.into_owned())),
                false => (reason.to_owned(), message.map(str::to_owned)),
            }
        }
    }
}
