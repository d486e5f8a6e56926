//! What is a request in Anthropic's form?

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    super::{
        ModelRequest,
        encoder::{EncodedTools, WireFormat},
        tool_names::WireNames,
    },
    PROVIDER,
    generation::{AnthropicSettings, ThinkingMode, taken},
    message::{AnthropicEncodedMessage, AnthropicRole},
};
use protocol::{ContextMessage, ToolDeclaration};

/// A conversation begins with the user; one that an agent's file begins otherwise gets this in front.
const OPENING: &str = r#"{"type":"text","text":"Begin."}"#;

/// What messages are for one model.
pub(crate) struct AnthropicDialect {
    model: String,
}

impl AnthropicDialect {
    pub(super) fn new(model: &str) -> AnthropicDialect {
        AnthropicDialect { model: model.to_owned() }
    }
}

impl WireFormat for AnthropicDialect {
    type Encoded = AnthropicEncodedMessage;

    const KIND: &'static str = PROVIDER;

    fn message(
        &self,
        message: &ContextMessage,
        before: Option<&AnthropicEncodedMessage>,
        names: &WireNames,
    ) -> AnthropicEncodedMessage {
        AnthropicEncodedMessage::new(message, before, names)
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
        messages: &[Arc<AnthropicEncodedMessage>],
    ) -> Vec<u8> {
        body(&self.head(request), request, tools, messages)
    }

    /// Nothing that says how to answer: such settings are refused here, but for those of thoughts.
    fn count_body(
        &self,
        request: &ModelRequest,
        tools: &EncodedTools,
        messages: &[Arc<AnthropicEncodedMessage>],
    ) -> Option<Vec<u8>> {
        let AnthropicRequestHead { model, system, thinking, .. } = self.head(request);
        let head = AnthropicRequestHead {
            model,
            max_tokens: None,
            stream: None,
            system,
            temperature: None,
            top_p: None,
            thinking,
            output_config: None,
        };
        Some(body(&head, request, tools, messages))
    }
}

impl AnthropicDialect {
    fn head<'a>(&'a self, request: &'a ModelRequest) -> AnthropicRequestHead<'a> {
        let AnthropicSettings { max_tokens, temperature, top_p, thoughts } =
            taken(&self.model, &request.sampling, request.room);
        let system = system(request);
        AnthropicRequestHead {
            model: &self.model,
            max_tokens: Some(max_tokens),
            stream: Some(true),
            system: (!system.is_empty()).then_some([System {
                kind: "text",
                text: system,
                cache_control: AnthropicCacheControl { kind: "ephemeral" },
            }]),
            temperature,
            top_p,
            thinking: match thoughts {
                ThinkingMode::Unsaid | ThinkingMode::Least => None,
                ThinkingMode::Budget(budget_tokens) => Some(AnthropicThinking::Enabled { budget_tokens }),
                ThinkingMode::Adaptive(_) => Some(AnthropicThinking::Adaptive { display: "summarized" }),
            },
            output_config: match thoughts {
                ThinkingMode::Adaptive(Some(effort)) => Some(OutputConfig { effort }),
                ThinkingMode::Least => Some(OutputConfig { effort: "low" }),
                _ => None,
            },
        }
    }
}

fn body(
    head: &AnthropicRequestHead,
    request: &ModelRequest,
    tools: &EncodedTools,
    messages: &[Arc<AnthropicEncodedMessage>],
) -> Vec<u8> {
    // Text, numbers and JSON values cannot fail to be written.
    let mut body = serde_json::to_string(head).unwrap_or_else(|_| "{}".to_owned());
    body.pop();
    push_messages(&mut body, messages);
    if !request.tools.is_empty() {
        body.push_str(",\"tools\":");
        body.push_str(&tools.json);
    }
    body.push('}');
    body.into_bytes()
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

/// `messages`: neighbours of one role are one message, so that roles alternate, and the first is the user's.
fn push_messages(body: &mut String, messages: &[Arc<AnthropicEncodedMessage>]) {
    let spoken: Vec<&AnthropicEncodedMessage> =
        messages.iter().map(|message| &**message).filter(|message| !message.blocks().is_empty()).collect();
    // The envelope of a message has fewer than 40 bytes.
    body.reserve(spoken.iter().map(|message| message.blocks().len() + 40).sum());
    body.push_str(",\"messages\":[");
    let mut open: Option<AnthropicRole> = None;
    if spoken.first().is_some_and(|first| first.role == AnthropicRole::Assistant) {
        body.push_str("{\"role\":\"user\",\"content\":[");
        body.push_str(OPENING);
        open = Some(AnthropicRole::User);
    }
    for message in spoken {
        match open {
            Some(role) if role == message.role => body.push(','),
            _ => {
                if open.is_some() {
                    body.push_str("]},");
                }
                body.push_str(match message.role {
                    AnthropicRole::User => "{\"role\":\"user\",\"content\":[",
                    AnthropicRole::Assistant => "{\"role\":\"assistant\",\"content\":[",
                });
                open = Some(message.role);
            }
        }
        body.push_str(message.blocks());
    }
    body.push_str(if open.is_some() { "]}]" } else { "]" });
}

#[derive(Serialize)]
struct AnthropicRequestHead<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[System; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<AnthropicThinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
}

#[derive(Serialize)]
struct System {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
    /// Up to here the provider keeps what it read.
    cache_control: AnthropicCacheControl,
}

#[derive(Serialize)]
struct AnthropicCacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicThinking {
    Enabled {
        budget_tokens: u64,
    },
    /// These keep their thoughts to themselves unless they are asked to show them.
    Adaptive {
        display: &'static str,
    },
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[cfg(test)]
mod tests;
