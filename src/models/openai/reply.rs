//! How is a reply put together from the chunks of a chat completion? (<https://platform.openai.com/docs/api-reference/chat-streaming>)

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, value::to_raw_value};

use super::{
    super::{
        ModelError, ModelEvent, ModelReply, ReplyPart,
        exchange::{ProviderError, ReplyAssembler, is_cut},
    },
    PROVIDER, complaint,
    message::THOUGHT_FIELDS,
};
use protocol::{FinishReason, ProviderMessage, Usage};

/// Stands in place of a chunk when all have come.
const DONE: &str = "[DONE]";
/// The reason why a reply ended that came to the limit on output.
const OUT_OF_ROOM: &str = "length";

#[derive(Debug, Default)]
pub(crate) struct ChatReply {
    text: String,
    thought: String,
    /// Thoughts as they came, to be sent back: by field.
    raw_thoughts: Map<String, Value>,
    refusal: String,
    calls: Vec<OpenAiToolCall>,
    usage: Usage,
    finish: Option<String>,
    error: Option<ProviderError>,
}

/// A call, whose arguments come in pieces.
#[derive(Debug, Default)]
struct OpenAiToolCall {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

impl ReplyAssembler for ChatReply {
    fn push(&mut self, event: &str) -> Result<Vec<ModelEvent>, serde_json::Error> {
        if event.trim() == DONE {
            return Ok(Vec::new());
        }
        let chunk: OpenAiChunk = serde_json::from_str(event)?;
        if let Some(usage) = chunk.usage {
            self.usage = usage.into();
        }
        if let Some(error) = &chunk.error {
            self.error = Some(complaint::of(error));
        }
        // Only the first choice: no more than one is ever asked for.
        let Some(choice) = chunk.choices.unwrap_or_default().into_iter().next() else {
            return Ok(Vec::new());
        };
        let mut deltas = Vec::new();
        let OpenAiDelta { content, refusal, tool_calls, others } = choice.delta.unwrap_or_default();
        deltas.extend(self.push_thoughts(others));
        if let Some(text) = content.filter(|text| !text.is_empty()) {
            self.text.push_str(&text);
            deltas.push(ModelEvent::TextDelta(text));
        }
        self.refusal.push_str(&refusal.unwrap_or_default());
        tool_calls.unwrap_or_default().into_iter().for_each(|piece| self.push_call(piece));
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(reason);
        }
        Ok(deltas)
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn call_bytes(&self) -> usize {
        self.calls.iter().map(|call| call.arguments.len()).sum()
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    fn take_error(&mut self) -> Option<ProviderError> {
        self.error.take()
    }

    fn finish(mut self) -> Result<ModelReply, ModelError> {
        let unusable = |message: String| Err(ModelError::Unusable { message });
        if self.finish.as_deref() == Some(OUT_OF_ROOM) {
            // Only the last can be cut, and only a whole one counts (spec 03).
            self.calls.pop_if(|call| is_cut(&call.arguments));
        }
        let Some(finish) = &self.finish else {
            return unusable("the response ended without a finish reason".to_owned());
        };
        let says_something = !self.text.is_empty() || !self.calls.is_empty();
        let reason = match finish.as_str() {
            _ if !self.refusal.is_empty() => FinishReason::Refused { message: self.refusal.clone() },
            "content_filter" => FinishReason::Refused { message: "content_filter".to_owned() },
            OUT_OF_ROOM => FinishReason::Length,
            "stop" | "tool_calls" | "function_call" | "end_turn" | "eos" if says_something => {
                FinishReason::Stop
            }
            "stop" | "tool_calls" | "function_call" | "end_turn" | "eos" => {
                return unusable("the response is empty".to_owned());
            }
            other => return unusable(format!("the response is malformed: it ended with {other:?}")),
        };
        // Sent back, it would be refused for as long as the conversation lasts.
        if self.calls.iter().any(|call| call.name.is_empty()) {
            return unusable("the response is malformed: it calls a function without a name".to_owned());
        }
        let raw = self.raw();
        let ChatReply { text, thought, calls, usage, .. } = self;
        let mut parts = Vec::new();
        if !thought.is_empty() {
            parts.push(ReplyPart::Thought { text: thought, signature: None });
        }
        if !text.is_empty() {
            parts.push(ReplyPart::Text(text));
        }
        parts.extend(calls.into_iter().map(|call| ReplyPart::ToolCall {
            provider_call_id: call.id,
            name: call.name.into(),
            arguments: arguments(call.arguments),
            signature: None,
        }));
        Ok(ModelReply { parts, raw, usage, reason })
    }
}

impl ChatReply {
    /// Servers name the field differently, and some fill two with the same.
    fn push_thoughts(&mut self, others: Map<String, Value>) -> Option<ModelEvent> {
        let mut told = None;
        for (name, value) in others {
            if !THOUGHT_FIELDS.contains(&name.as_str()) || value.is_null() {
                continue;
            }
            if let Value::String(text) = &value {
                told.get_or_insert_with(|| text.clone());
            }
            match (self.raw_thoughts.get_mut(&name), value) {
                (Some(Value::String(open)), Value::String(more)) => open.push_str(&more),
                (Some(Value::Array(open)), Value::Array(more)) => open.extend(more),
                (_, value) => drop(self.raw_thoughts.insert(name, value)),
            }
        }
        let text = told.filter(|text| !text.is_empty())?;
        self.thought.push_str(&text);
        Some(ModelEvent::ThoughtDelta(text))
    }

    /// Pieces belong together by their index. Some servers give none, or the same to all: then a new id is a new call.
    fn push_call(&mut self, piece: CallPiece) {
        let CallPiece { index, id, function } = piece;
        let Function { name, arguments } = function.unwrap_or_default();
        let id = id.filter(|id| !id.is_empty());
        let name = name.filter(|name| !name.is_empty());
        let is_of = |call: &OpenAiToolCall| match index {
            Some(_) => call.index == index,
            None => id.is_none() && name.is_none(),
        };
        let begins_another =
            |call: &OpenAiToolCall| id.is_some() && call.id.is_some() && call.id != id && name.is_some();
        match self.calls.last_mut().filter(|call| is_of(call) && !begins_another(call)) {
            Some(open) => open.add(id, name, arguments),
            // Pieces of one that is not the last.
            None => match self
                .calls
                .iter_mut()
                .rfind(|call| index.is_some() && is_of(call) && !begins_another(call))
            {
                Some(open) => open.add(id, name, arguments),
                None => {
                    let mut call = OpenAiToolCall { index, ..OpenAiToolCall::default() };
                    call.add(id, name, arguments);
                    self.calls.push(call);
                }
            },
        }
    }

    /// What must go back as it came.
    fn raw(&self) -> Option<ProviderMessage> {
        if self.raw_thoughts.is_empty() {
            return None;
        }
        // JSON that was read cannot fail to be written; without it only the thoughts are lost to the model.
        let raw = to_raw_value(&self.raw_thoughts).ok()?;
        Some(ProviderMessage { provider: PROVIDER.into(), entry: None, raw: Arc::from(raw) })
    }
}

impl OpenAiToolCall {
    fn add(&mut self, id: Option<String>, name: Option<String>, arguments: Option<Value>) {
        if self.id.is_none() {
            self.id = id;
        }
        // Most give it whole and once; those that give it in pieces give each once.
        if let Some(name) = name.filter(|name| *name != self.name) {
            self.name.push_str(&name);
        }
        match arguments {
            Some(Value::String(piece)) => self.arguments.push_str(&piece),
            Some(Value::Null) | None => {}
            // Some servers give the object itself.
            Some(whole) => self.arguments = whole.to_string(),
        }
    }
}

/// What is no JSON stays a text, which no tool takes: the model is told.
fn arguments(text: String) -> Value {
    match text.trim() {
        "" => Value::Object(Map::new()),
        _ => serde_json::from_str(&text).unwrap_or(Value::String(text)),
    }
}

#[derive(Deserialize)]
struct OpenAiChunk {
    choices: Option<Vec<OpenAiChoice>>,
    usage: Option<OpenAiUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct OpenAiChoice {
    delta: Option<OpenAiDelta>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct OpenAiDelta {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Default, Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OpenAiUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Default, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl From<OpenAiUsage> for Usage {
    fn from(usage: OpenAiUsage) -> Usage {
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        let thought =
            usage.completion_tokens_details.and_then(|details| details.reasoning_tokens).unwrap_or(0);
        Usage {
            prompt_tokens: usage.prompt_tokens.unwrap_or(0),
            cached_tokens: cached.unwrap_or(0),
            // Here that costs no more than other input.
            cache_write_tokens: 0,
            // Here the thoughts are part of what was put out.
            output_tokens: usage.completion_tokens.unwrap_or(0).saturating_sub(thought),
            thought_tokens: thought,
        }
    }
}

#[cfg(test)]
mod tests;
