//! What is a request in Anthropic's form?

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    super::{
        ModelRequest,
        encoder::{EncodedTools, Form},
        tool_names::WireNames,
    },
    message::{EncodedMessage, WireRole},
};
use crate::protocol::{Message, Sampling, ToolDeclaration};

/// A conversation begins with the user; one that an agent's file begins otherwise gets this in front.
const OPENING: &str = r#"{"type":"text","text":"Begin."}"#;

/// The least budget for thoughts that is taken (<https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking>).
const LEAST_THINKING: u64 = 1_024;

/// Tokens that an answer has beside its thoughts when these have no bound of their own.
const LEAST_ANSWER: u64 = 1_024;

/// What messages are for one model.
pub(in crate::models) struct Messages {
    model: String,
}

impl Messages {
    pub(super) fn new(model: &str) -> Messages {
        Messages { model: model.to_owned() }
    }
}

impl Form for Messages {
    type Encoded = EncodedMessage;

    fn message(
        &self,
        message: &Message,
        before: Option<&EncodedMessage>,
        names: &WireNames,
    ) -> EncodedMessage {
        EncodedMessage::new(message, before, names)
    }

    /// The last one ends what is kept in the provider's cache: tools are the same from turn to turn.
    fn tools(&self, declared: &[ToolDeclaration], names: &WireNames) -> String {
        let mut tools: Vec<Value> = declared
            .iter()
            .map(|tool| {
                json!({
                    "name": names.to_wire(&tool.name),
                    "description": tool.description,
                    "input_schema": of_object(&tool.parameters),
                })
            })
            .collect();
        if let Some(last) = tools.last_mut() {
            last["cache_control"] = json!({ "type": "ephemeral" });
        }
        Value::Array(tools).to_string()
    }

    fn body(
        &self,
        request: &ModelRequest,
        tools: &EncodedTools,
        messages: &[Arc<EncodedMessage>],
    ) -> Vec<u8> {
        // Text, numbers and JSON values cannot fail to be written.
        let mut body = serde_json::to_string(&self.head(request)).unwrap_or_else(|_| "{}".to_owned());
        body.pop();
        push_messages(&mut body, messages);
        if !request.tools.is_empty() {
            body.push_str(",\"tools\":");
            body.push_str(&tools.json);
        }
        body.push('}');
        body.into_bytes()
    }
}

impl Messages {
    fn head<'a>(&'a self, request: &'a ModelRequest) -> Head<'a> {
        let Sampling { temperature, top_p, max_output_tokens, thinking_budget } = request.sampling;
        let most = most_output(&self.model);
        let answer = max_output_tokens.unwrap_or(most).min(most);
        let (thinking, max_tokens) = match thinking_budget {
            None | Some(0) => (None, answer),
            // As much as it likes, but for room to answer.
            Some(..0) => {
                let budget = most.saturating_sub(LEAST_ANSWER).max(LEAST_THINKING);
                (Some(budget), budget + LEAST_ANSWER)
            }
            // Thoughts count as output here, so there must be room for both.
            Some(budget @ 1..) => {
                let budget = u64::try_from(budget).unwrap_or(LEAST_THINKING).max(LEAST_THINKING);
                let budget = budget.min(most.saturating_sub(LEAST_ANSWER).max(LEAST_THINKING));
                (Some(budget), (budget + answer).min(most).max(budget + LEAST_ANSWER))
            }
        };
        let system = system(request);
        Head {
            model: &self.model,
            max_tokens,
            stream: true,
            system: (!system.is_empty()).then_some([System {
                kind: "text",
                text: system,
                cache_control: Cache { kind: "ephemeral" },
            }]),
            // A model that thinks refuses to be told how boldly to choose its words; others are as bold as can be at 1, where
            // other providers go on to 2.
            temperature: temperature.filter(|_| thinking.is_none()).map(|it| it.clamp(0.0, 1.0)),
            top_p: top_p.filter(|_| thinking.is_none()),
            thinking: thinking.map(|budget_tokens| Thinking { kind: "enabled", budget_tokens }),
        }
    }
}

/// With the schema of the reply, where there is one: the API has no place of its own for it.
fn system(request: &ModelRequest) -> String {
    match &request.schema {
        None => request.system.to_string(),
        Some(schema) => {
            let wish =
                format!("Reply with JSON alone, without a fence, that fits this JSON Schema:\n{schema}");
            if request.system.is_empty() { wish } else { format!("{}\n\n{wish}", request.system) }
        }
    }
}

/// A schema without a type is refused.
fn of_object(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.entry("type").or_insert_with(|| json!("object"));
    }
    schema
}

/// What a model of this name puts out at most; more is refused
/// (<https://docs.anthropic.com/en/docs/about-claude/models>).
fn most_output(model: &str) -> u64 {
    let of_family = |families: &[&str]| families.iter().any(|family| model.contains(family));
    if of_family(&["claude-3-opus", "claude-3-sonnet", "claude-3-haiku"]) {
        4_096
    } else if of_family(&["claude-3-5"]) {
        8_192
    } else if of_family(&["opus-4-0", "opus-4-1", "opus-4-2025"]) {
        32_000
    } else if model.starts_with("claude-") {
        64_000
    } else {
        // Somebody else's, behind an address of their own.
        8_192
    }
}

/// `messages`: neighbours of one role are one message, so that roles alternate, and the first is the user's.
fn push_messages(body: &mut String, messages: &[Arc<EncodedMessage>]) {
    let spoken: Vec<&EncodedMessage> =
        messages.iter().map(|message| &**message).filter(|message| !message.blocks().is_empty()).collect();
    // The envelope of a message has fewer than 40 bytes.
    body.reserve(spoken.iter().map(|message| message.blocks().len() + 40).sum());
    body.push_str(",\"messages\":[");
    let mut open: Option<WireRole> = None;
    if spoken.first().is_some_and(|first| first.role == WireRole::Assistant) {
        body.push_str("{\"role\":\"user\",\"content\":[");
        body.push_str(OPENING);
        open = Some(WireRole::User);
    }
    for message in spoken {
        match open {
            Some(role) if role == message.role => body.push(','),
            _ => {
                if open.is_some() {
                    body.push_str("]},");
                }
                body.push_str(match message.role {
                    WireRole::User => "{\"role\":\"user\",\"content\":[",
                    WireRole::Assistant => "{\"role\":\"assistant\",\"content\":[",
                });
                open = Some(message.role);
            }
        }
        body.push_str(message.blocks());
    }
    body.push_str(if open.is_some() { "]}]" } else { "]" });
}

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[System; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
}

#[derive(Serialize)]
struct System {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
    /// Up to here the provider keeps what it read.
    cache_control: Cache,
}

#[derive(Serialize)]
struct Cache {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Thinking {
    #[serde(rename = "type")]
    kind: &'static str,
    budget_tokens: u64,
}

#[cfg(test)]
mod tests;
