//! What is a request in the form of responses?

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    super::{
        MediaSupport, ModelRequest,
        encoder::{EncodedTools, WireFormat},
        openai::{effort, thinks},
        tool_names::WireNames,
    },
    PROVIDER,
    message::ResponsesEncodedMessage,
};
use protocol::{ContextMessage, SamplingSettings, ToolDeclaration};

/// Templates of many models that other servers run want the user first; a conversation that an agent's file begins
/// otherwise gets this in front.
const OPENING: &str = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"Begin."}]}"#;

/// Thoughts come in a form that can go back, since nothing is kept there.
const ENCRYPTED_THOUGHTS: [&str; 1] = ["reasoning.encrypted_content"];

/// Fewer tokens for an answer are refused.
const LEAST_OUTPUT: u64 = 16;

/// What responses are for one model.
pub(crate) struct ResponsesDialect {
    model: String,
    /// OpenAI listens, not somebody who speaks alike.
    is_own: bool,
    /// What the model takes. A conversation that another model began may have more.
    media: MediaSupport,
}

impl ResponsesDialect {
    pub(super) fn new(model: &str, is_own: bool, media: MediaSupport) -> ResponsesDialect {
        ResponsesDialect { model: model.to_owned(), is_own, media }
    }
}

impl WireFormat for ResponsesDialect {
    type Encoded = ResponsesEncodedMessage;

    const KIND: &'static str = PROVIDER;

    fn message(
        &self,
        message: &ContextMessage,
        before: Option<&ResponsesEncodedMessage>,
        names: &WireNames,
    ) -> ResponsesEncodedMessage {
        ResponsesEncodedMessage::new(message, before, names, self.media)
    }

    fn tools(&self, declared: &[ToolDeclaration], names: &WireNames) -> String {
        let functions = declared.iter().map(|tool| {
            json!({
                "type": "function",
                "name": names.to_wire(&tool.name),
                "description": tool.description,
                "parameters": tool.parameters,
                // Where nothing is said they are strict here, and a strict schema may have no optional fields.
                "strict": false,
            })
        });
        Value::Array(functions.collect()).to_string()
    }

    fn body(
        &self,
        request: &ModelRequest,
        tools: &EncodedTools,
        messages: &[Arc<ResponsesEncodedMessage>],
    ) -> Vec<u8> {
        // Text, numbers and JSON values cannot fail to be written.
        let mut body = serde_json::to_string(&self.head(request)).unwrap_or_else(|_| "{}".to_owned());
        body.pop();
        let spoken: Vec<&ResponsesEncodedMessage> =
            messages.iter().map(|message| &**message).filter(|message| !message.items().is_empty()).collect();
        body.reserve(spoken.iter().map(|message| message.items().len() + 1).sum());
        body.push_str(",\"input\":[");
        let opening = spoken.first().is_some_and(|first| !first.speaks_as_user).then_some(OPENING);
        let mut is_first = true;
        for items in opening.into_iter().chain(spoken.iter().map(|message| message.items())) {
            if !std::mem::take(&mut is_first) {
                body.push(',');
            }
            body.push_str(items);
        }
        body.push(']');
        if !request.tools.is_empty() {
            body.push_str(",\"tools\":");
            body.push_str(&tools.json);
        }
        body.push('}');
        body.into_bytes()
    }
}

impl ResponsesDialect {
    fn head<'a>(&'a self, request: &'a ModelRequest) -> ResponsesRequestHead<'a> {
        let SamplingSettings { temperature, top_p, max_output_tokens, thinking_budget } = request.sampling;
        let thinks = thinks(&self.model);
        ResponsesRequestHead {
            model: &self.model,
            stream: true,
            store: false,
            // OpenAI refuses to be asked for thoughts of a model that has none; others have models of any name.
            include: (thinks || !self.is_own).then_some(ENCRYPTED_THOUGHTS),
            instructions: Some(&*request.system).filter(|system| !system.is_empty()),
            // Refused by models that think, also where somebody else passes on what is asked: an agent's file is for any model.
            temperature: temperature.filter(|_| !thinks),
            top_p: top_p.filter(|_| !thinks),
            max_output_tokens: max_output_tokens.map(|it| it.max(LEAST_OUTPUT)),
            // Without `summary`: OpenAI refuses it to whom it has not verified.
            reasoning: thinking_budget
                .filter(|_| thinks && self.is_own)
                .map(|budget| Reasoning { effort: effort(budget) }),
            text: request.schema.as_deref().map(|schema| ResponsesTextFormat {
                format: ResponsesJsonSchema { kind: "json_schema", name: "reply", schema, strict: false },
            }),
        }
    }
}

#[derive(Serialize)]
struct ResponsesRequestHead<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<ResponsesTextFormat<'a>>,
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
}

#[derive(Serialize)]
struct ResponsesTextFormat<'a> {
    format: ResponsesJsonSchema<'a>,
}

#[derive(Serialize)]
struct ResponsesJsonSchema<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    schema: &'a Value,
    strict: bool,
}

#[cfg(test)]
mod tests;
