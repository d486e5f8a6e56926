//! How is a reply put together from Gemini's response chunks? The shape is the one of `generateContent` and of
//! each chunk of `streamGenerateContent`; recordings are written in it too (spec 04, "`replay` and recording").

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{PROVIDER, complaint::GoogleError};
use crate::{
    ModelError, ModelEvent, ModelReply, ReplyPart,
    exchange::{ProviderError, ReplyAssembler},
};
use protocol::{FinishReason, ProviderMessage, Usage};

pub(crate) mod grounding;

/// Fields of a part that only say something about its data.
const ABOUT_DATA: &[&str] = &["thought", "thoughtSignature", "partMetadata", "videoMetadata"];

/// The reason why a response ended that came to the limit on output.
const OUT_OF_ROOM: &str = "MAX_TOKENS";

/// Gathers the chunks of one response: each yields its deltas at once, the end yields the whole reply.
#[derive(Debug, Default)]
pub(crate) struct GeminiReply {
    parts: Vec<ReplyPart>,
    /// The same parts as they came, for sending back.
    raw_parts: Vec<Box<RawValue>>,
    usage: Usage,
    finish: Option<Finish>,
    /// The stream may say in its middle that it failed.
    error: Option<ProviderError>,
}

/// The reason why the provider ended the response, in its own words.
#[derive(Debug)]
struct Finish {
    reason: String,
    message: Option<String>,
}

impl ReplyAssembler for GeminiReply {
    fn push(&mut self, chunk: &str) -> Result<Vec<ModelEvent>, serde_json::Error> {
        let chunk: GeminiChunk = serde_json::from_str(chunk)?;
        if let Some(usage) = chunk.usage_metadata {
            self.usage = usage.into();
        }
        if let Some(PromptFeedback { block_reason: Some(reason), block_reason_message }) =
            chunk.prompt_feedback
        {
            self.finish = Some(Finish { reason, message: block_reason_message });
        }
        if let Some(error) = chunk.error {
            self.error = Some(error.into());
        }
        let mut deltas = Vec::new();
        // Only the first candidate: no more than one is ever asked for.
        let Some(candidate) = chunk.candidates.into_iter().next() else { return Ok(deltas) };
        let grounding = grounding::read(candidate.url_context_metadata, candidate.grounding_metadata);
        if !grounding.is_empty() {
            deltas.push(ModelEvent::Grounded(grounding));
        }
        for raw_part in candidate.content.unwrap_or_default().parts {
            let part: ChunkPart = serde_json::from_str(raw_part.get())?;
            let fields: Map<String, Value> = serde_json::from_str(raw_part.get())?;
            deltas.extend(self.push_part(part));
            // A part without any data says nothing, and would be refused when it goes back.
            if fields.keys().any(|name| !ABOUT_DATA.contains(&name.as_str())) {
                self.raw_parts.push(raw_part);
            }
        }
        if let Some(reason) = candidate.finish_reason {
            self.finish = Some(Finish { reason, message: candidate.finish_message });
        }
        Ok(deltas)
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    /// Calls come whole, with the count of what they took.
    fn call_bytes(&self) -> usize {
        0
    }

    fn is_whole(&self) -> bool {
        // Some proxies fill the field in every chunk, with what says nothing.
        let says_nothing = |reason: &str| matches!(reason, "" | "FINISH_REASON_UNSPECIFIED");
        self.finish.as_ref().is_some_and(|finish| !says_nothing(&finish.reason))
    }

    fn take_error(&mut self) -> Option<ProviderError> {
        self.error.take()
    }

    /// A reply that is empty, cut or malformed is worth another try (spec 04, "Retry").
    fn finish(mut self) -> Result<ModelReply, ModelError> {
        let Some(finish) = self.finish.take() else {
            return Err(unusable("the response ended without a finish reason".to_owned()));
        };
        if finish.reason == OUT_OF_ROOM {
            self.drop_cut_call();
        }
        // Sent back, it would be refused for as long as the conversation lasts.
        let is_nameless =
            |part: &ReplyPart| matches!(part, ReplyPart::ToolCall { name, .. } if name.as_str().is_empty());
        if self.parts.iter().any(is_nameless) {
            return Err(unusable("the response is malformed: it calls a function without a name".to_owned()));
        }
        let says_something = self.parts.iter().any(|part| !matches!(part, ReplyPart::Thought { .. }));
        let reason = match finish.reason.as_str() {
            "STOP" if says_something => FinishReason::Stop,
            "STOP" => return Err(unusable("the response is empty".to_owned())),
            OUT_OF_ROOM => FinishReason::Length,
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "MALFORMED_RESPONSE"
            | "OTHER"
            | "FINISH_REASON_UNSPECIFIED" => {
                return Err(unusable(format!("the response is malformed: {}", finish.words())));
            }
            // Everything else withholds the answer: SAFETY, RECITATION, PROHIBITED_CONTENT, BLOCKLIST, SPII,
            // LANGUAGE, and whatever the provider will add.
            _ => FinishReason::Refused { message: finish.words() },
        };
        Ok(ModelReply { raw: raw_message(&self.raw_parts), parts: self.parts, usage: self.usage, reason })
    }
}

impl GeminiReply {
    fn push_part(&mut self, part: ChunkPart) -> Option<ModelEvent> {
        if let Some(call) = part.function_call {
            self.parts.push(ReplyPart::ToolCall {
                provider_call_id: call.id,
                name: call.name.into(),
                arguments: call.args.unwrap_or_else(|| Value::Object(Map::new())),
                signature: part.thought_signature,
            });
            return None;
        }
        let text = part.text?;
        if part.thought {
            self.push_thought(&text, part.thought_signature);
            return (!text.is_empty()).then_some(ModelEvent::ThoughtDelta(text));
        }
        if text.is_empty() {
            return None;
        }
        match self.parts.last_mut() {
            Some(ReplyPart::Text(open)) => open.push_str(&text),
            _ => self.parts.push(ReplyPart::Text(text.clone())),
        }
        Some(ModelEvent::TextDelta(text))
    }

    /// Thoughts come in pieces; a signature closes the piece it came on.
    fn push_thought(&mut self, text: &str, signature: Option<String>) {
        match self.parts.last_mut() {
            Some(ReplyPart::Thought { text: open, signature: open_signature @ None }) => {
                open.push_str(text);
                *open_signature = signature;
            }
            _ => self.parts.push(ReplyPart::Thought { text: text.to_owned(), signature }),
        }
    }

    /// Only a whole call counts (spec 03). Gemini gives calls whole, at most without arguments; who speaks alike may not.
    fn drop_cut_call(&mut self) {
        let is_cut = |part: &mut ReplyPart| match part {
            ReplyPart::ToolCall { arguments, .. } => !arguments.is_object(),
            _ => false,
        };
        if self.parts.pop_if(is_cut).is_none() {
            return;
        }
        let is_call = |raw: &RawValue| {
            serde_json::from_str::<ChunkPart>(raw.get()).is_ok_and(|part| part.function_call.is_some())
        };
        if let Some(last) = self.raw_parts.iter().rposition(|raw| is_call(raw)) {
            self.raw_parts.remove(last);
        }
    }
}

impl Finish {
    fn words(&self) -> String {
        match &self.message {
            Some(message) => format!("{}: {message}", self.reason),
            None => self.reason.clone(),
        }
    }
}

fn unusable(message: String) -> ModelError {
    ModelError::Unusable { message }
}

/// The model's content with every part byte for byte: signatures are bound to the parts they came on.
fn raw_message(raw_parts: &[Box<RawValue>]) -> Option<ProviderMessage> {
    let parts: Vec<&str> = raw_parts.iter().map(|part| part.get()).collect();
    let content = format!(r#"{{"role":"model","parts":[{}]}}"#, parts.join(","));
    // Each part was parsed as JSON, so their list is JSON; `None` would only cost the verbatim form.
    let raw = RawValue::from_string(content).ok()?;
    Some(ProviderMessage { provider: PROVIDER.into(), entry: None, raw: Arc::from(raw) })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiChunk {
    #[serde(default)]
    candidates: Vec<GeminiCandidate>,
    usage_metadata: Option<UsageMetadata>,
    prompt_feedback: Option<PromptFeedback>,
    error: Option<GoogleError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiCandidate {
    content: Option<GeminiContent>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
    url_context_metadata: Option<Value>,
    grounding_metadata: Option<Value>,
}

#[derive(Default, Deserialize)]
struct GeminiContent {
    #[serde(default)]
    parts: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChunkPart {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<GeminiReplyCall>,
}

#[derive(Deserialize)]
struct GeminiReplyCall {
    id: Option<String>,
    name: String,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UsageMetadata {
    prompt_token_count: u64,
    cached_content_token_count: u64,
    /// Not Gemini's: recordings have it of others.
    cache_write_token_count: u64,
    candidates_token_count: u64,
    /// What pages and searches put into the prompt, which is not in its count.
    tool_use_prompt_token_count: u64,
    thoughts_token_count: u64,
}

impl From<UsageMetadata> for Usage {
    fn from(usage: UsageMetadata) -> Usage {
        Usage {
            prompt_tokens: usage.prompt_token_count.saturating_add(usage.tool_use_prompt_token_count),
            cached_tokens: usage.cached_content_token_count,
            cache_write_tokens: usage.cache_write_token_count,
            output_tokens: usage.candidates_token_count,
            thought_tokens: usage.thoughts_token_count,
        }
    }
}

#[cfg(test)]
mod tests;
