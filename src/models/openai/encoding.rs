//! What is a request in the form of chat completions?

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    super::{
        MediaSupport, ModelRequest,
        encoder::{EncodedTools, WireFormat},
        tool_names::WireNames,
    },
    PROVIDER,
    message::{OpenAiEncodedMessage, plain},
};
use protocol::{ContextMessage, SamplingSettings, ToolDeclaration};

/// Many models' templates want the user first; a conversation that an agent's file begins otherwise gets this in front.
const OPENING: &str = "Begin.";

/// What chat completions are for one model.
pub(crate) struct ChatCompletionsDialect {
    model: String,
    /// OpenAI listens, not somebody who speaks alike.
    is_own: bool,
    /// What the model takes. A conversation that another model began may have more.
    media: MediaSupport,
}

impl ChatCompletionsDialect {
    pub(super) fn new(model: &str, is_own: bool, media: MediaSupport) -> ChatCompletionsDialect {
        ChatCompletionsDialect { model: model.to_owned(), is_own, media }
    }
}

impl WireFormat for ChatCompletionsDialect {
    type Encoded = OpenAiEncodedMessage;

    const KIND: &'static str = PROVIDER;

    fn message(
        &self,
        message: &ContextMessage,
        _: Option<&OpenAiEncodedMessage>,
        names: &WireNames,
    ) -> OpenAiEncodedMessage {
        OpenAiEncodedMessage::new(message, names, self.media)
    }

    fn tools(&self, declared: &[ToolDeclaration], names: &WireNames) -> String {
        let functions = declared.iter().map(|tool| {
            json!({
                "type": "function",
                "function": {
                    "name": names.to_wire(&tool.name),
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            })
        });
        Value::Array(functions.collect()).to_string()
    }

    fn body(
        &self,
        request: &ModelRequest,
        tools: &EncodedTools,
        messages: &[Arc<OpenAiEncodedMessage>],
    ) -> Vec<u8> {
        // Text, numbers and JSON values cannot fail to be written.
        let mut body = serde_json::to_string(&self.head(request)).unwrap_or_else(|_| "{}".to_owned());
        body.pop();
        body.reserve(messages.iter().map(|message| message.json.len() + 1).sum());
        body.push_str(",\"messages\":[");
        let spoken: Vec<&OpenAiEncodedMessage> =
            messages.iter().map(|message| &**message).filter(|message| !message.json.is_empty()).collect();
        let mut is_first = true;
        let mut push = |json: &str| {
            if !std::mem::take(&mut is_first) {
                body.push(',');
            }
            body.push_str(json);
        };
        if !request.system.is_empty() {
            push(&plain("system", &request.system));
        }
        if spoken.first().is_some_and(|first| !first.speaks_as_user) {
            push(&plain("user", OPENING));
        }
        spoken.iter().for_each(|message| push(&message.json));
        body.push(']');
        if !request.tools.is_empty() {
            body.push_str(",\"tools\":");
            body.push_str(&tools.json);
        }
        body.push('}');
        body.into_bytes()
    }
}

impl ChatCompletionsDialect {
    fn head<'a>(&'a self, request: &'a ModelRequest) -> OpenAiRequestHead<'a> {
        let SamplingSettings { temperature, top_p, max_output_tokens, thinking_budget } = request.sampling;
        let thinks = thinks(&self.model);
        // OpenAI's models that think know only the newer name; other servers may know only the older one.
        let (max_completion_tokens, max_tokens) = match self.is_own {
            true => (max_output_tokens, None),
            false => (None, max_output_tokens),
        };
        OpenAiRequestHead {
            model: &self.model,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            // Refused by models that think, also where somebody else passes on what is asked: an agent's file is for any model.
            temperature: temperature.filter(|_| !thinks),
            top_p: top_p.filter(|_| !thinks),
            max_completion_tokens,
            max_tokens,
            reasoning_effort: thinking_budget.filter(|_| thinks && self.is_own).map(effort),
            response_format: request.schema.as_deref().map(|schema| ResponseFormat {
                kind: "json_schema",
                json_schema: OpenAiJsonSchema { name: "reply", schema },
            }),
        }
    }
}

/// True if OpenAI's model of this name can be told how much to think, but not how to choose its words
/// (<https://platform.openai.com/docs/guides/reasoning>).
pub(crate) fn thinks(model: &str) -> bool {
    // Routers put the maker in front: `openai/gpt-5`.
    let model = model.rsplit('/').next().unwrap_or(model);
    ["o1", "o3", "o4", "gpt-5"].iter().any(|family| model.starts_with(family)) && !model.contains("chat")
}

/// A budget of tokens in OpenAI's words.
pub(crate) fn effort(budget: i64) -> &'static str {
    match budget {
        // The least that all of them know; none of them can be kept from thinking.
        0..=4_096 => "low",
        4_097..=16_384 => "medium",
        // -1 = as much as it likes.
        _ => "high",
    }
}

#[derive(Serialize)]
struct OpenAiRequestHead<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: OpenAiJsonSchema<'a>,
}

#[derive(Serialize)]
struct OpenAiJsonSchema<'a> {
    name: &'static str,
    schema: &'a Value,
}

#[cfg(test)]
mod tests;
