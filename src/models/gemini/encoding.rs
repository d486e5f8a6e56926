//! What is a request in Gemini's form?

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    super::{
        ModelRequest, ProviderTool,
        encoder::{EncodedTools, WireFormat},
        tool_names::WireNames,
    },
    PROVIDER,
    message::{GeminiEncodedMessage, GeminiRole, UnsignedCalls},
};
use protocol::{ContextMessage, SamplingSettings, ToolDeclaration};

/// A conversation begins with the user; one that an agent's file begins otherwise gets this in front.
const OPENING: &str = r#"{"text":"Begin."}"#;

/// What Gemini speaks, with what one model of it is able to.
pub(crate) struct GeminiDialect {
    model: Box<str>,
    can_think: bool,
    unsigned_calls: UnsignedCalls,
}

impl WireFormat for GeminiDialect {
    type Encoded = GeminiEncodedMessage;

    const KIND: &'static str = PROVIDER;

    fn message(
        &self,
        message: &ContextMessage,
        before: Option<&GeminiEncodedMessage>,
        names: &WireNames,
    ) -> GeminiEncodedMessage {
        GeminiEncodedMessage::new(message, before, names, self.unsigned_calls)
    }

    fn tools(&self, declared: &[ToolDeclaration], names: &WireNames) -> String {
        let functions = declared.iter().map(|tool| {
            json!({
                "name": names.to_wire(&tool.name),
                "description": tool.description,
                "parametersJsonSchema": tool.parameters,
            })
        });
        Value::Array(functions.collect()).to_string()
    }

    fn body(
        &self,
        request: &ModelRequest,
        tools: &EncodedTools,
        messages: &[Arc<GeminiEncodedMessage>],
    ) -> Vec<u8> {
        let mut body = String::from("{");
        if !request.system.is_empty() {
            push_json(&mut body, "\"systemInstruction\":{\"parts\":[", &json!({ "text": &*request.system }));
            body.push_str("]},");
        }
        match request.provider_tool {
            // Beside functions of ours, models refuse them.
            Some(ProviderTool::UrlContext) => body.push_str("\"tools\":[{\"urlContext\":{}}],"),
            Some(ProviderTool::Search) => body.push_str("\"tools\":[{\"googleSearch\":{}}],"),
            None if request.tools.is_empty() => (),
            None => {
                body.push_str("\"tools\":[{\"functionDeclarations\":");
                body.push_str(&tools.json);
                body.push_str("}],");
            }
        }
        let config = self.generation_config(request);
        if config != GenerationConfig::default() {
            push_json(&mut body, "\"generationConfig\":", &config);
            body.push(',');
        }
        push_contents(&mut body, messages);
        body.push('}');
        body.into_bytes()
    }

    /// A whole request of a turn, since `contents` alone would be counted without instructions and tools. It names its model
    /// once more (<https://ai.google.dev/api/tokens>).
    fn count_body(
        &self,
        request: &ModelRequest,
        tools: &EncodedTools,
        messages: &[Arc<GeminiEncodedMessage>],
    ) -> Option<Vec<u8>> {
        let turn = self.body(request, tools, messages);
        let mut body = String::from("{\"generateContentRequest\":{");
        push_json(&mut body, "\"model\":", &format!("models/{}", self.model));
        body.push(',');
        let mut body = body.into_bytes();
        // What follows the brace that opens it; it is never empty.
        body.extend_from_slice(&turn[1..]);
        body.push(b'}');
        Some(body)
    }
}

impl GeminiDialect {
    pub(super) fn new(model: &str) -> GeminiDialect {
        GeminiDialect {
            model: model.into(),
            can_think: can_think(model),
            unsigned_calls: unsigned_calls(model),
        }
    }

    fn generation_config<'a>(&self, request: &'a ModelRequest) -> GenerationConfig<'a> {
        let SamplingSettings { temperature, top_p, max_output_tokens, thinking_budget } = request.sampling;
        // Models that cannot think refuse to be asked about it.
        let asks_for_thoughts = self.can_think || thinking_budget.is_some();
        let thinking = asks_for_thoughts
            .then(|| ThinkingConfig { include_thoughts: thinking_budget != Some(0), thinking_budget });
        let schema = request.schema.as_deref();
        GenerationConfig {
            temperature,
            top_p,
            max_output_tokens,
            thinking_config: thinking,
            response_mime_type: schema.map(|_| "application/json"),
            response_json_schema: schema,
        }
    }
}

/// `contents`: neighbours of one role are one content, so that roles alternate, and the first is the user's.
fn push_contents(body: &mut String, messages: &[Arc<GeminiEncodedMessage>]) {
    let spoken: Vec<&GeminiEncodedMessage> =
        messages.iter().map(|message| &**message).filter(|message| !message.parts().is_empty()).collect();
    // The envelope of a content has fewer than 32 bytes.
    body.reserve(spoken.iter().map(|message| message.parts().len() + 32).sum());
    body.push_str("\"contents\":[");
    let mut open: Option<GeminiRole> = None;
    if spoken.first().is_some_and(|first| first.role == GeminiRole::Model) {
        body.push_str("{\"role\":\"user\",\"parts\":[");
        body.push_str(OPENING);
        open = Some(GeminiRole::User);
    }
    for message in spoken {
        match open {
            Some(role) if role == message.role => body.push(','),
            _ => {
                if open.is_some() {
                    body.push_str("]},");
                }
                body.push_str(match message.role {
                    GeminiRole::User => "{\"role\":\"user\",\"parts\":[",
                    GeminiRole::Model => "{\"role\":\"model\",\"parts\":[",
                });
                open = Some(message.role);
            }
        }
        body.push_str(message.parts());
    }
    body.push_str(if open.is_some() { "]}]" } else { "]" });
}

fn push_json(body: &mut String, key: &str, value: &impl Serialize) {
    body.push_str(key);
    // Text, numbers and JSON values cannot fail to be written; `null` would be refused, not misunderstood.
    body.push_str(&serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()));
}

/// True if a model of this name has thoughts to show: from 2.5 on. Others are asked only when a budget is set.
fn can_think(model: &str) -> bool {
    version(model).is_some_and(|version| (2, 5) <= version) && !is_for_pictures_or_speech(model)
}

/// True if a model of this name takes sound and documents: those that put out pictures or speech, and what else is served
/// here, promise nothing (<https://ai.google.dev/gemini-api/docs/models>).
pub(super) fn takes_files(model: &str) -> bool {
    model.starts_with("gemini-") && !is_for_pictures_or_speech(model)
}

/// What Google does for a model of this name while it answers
/// (<https://ai.google.dev/gemini-api/docs/url-context>, <https://ai.google.dev/gemini-api/docs/google-search>). Older models
/// search by another name.
pub(super) fn provider_tools(model: &str) -> &'static [ProviderTool] {
    let is_latest = model.starts_with("gemini-") && model.ends_with("-latest");
    match version(model) {
        _ if is_for_pictures_or_speech(model) => &[],
        Some(version) if version < (2, 0) => &[],
        Some(version) if version < (2, 5) => &[ProviderTool::Search],
        None if !is_latest => &[],
        _ => &[ProviderTool::UrlContext, ProviderTool::Search],
    }
}

fn is_for_pictures_or_speech(model: &str) -> bool {
    ["image", "tts", "audio"].iter().any(|kind| model.contains(kind))
}

/// From 3 on, calls without a signature are refused; the names for the newest model mean such a one. Older models
/// ask for none, so nothing is put in its place.
fn unsigned_calls(model: &str) -> UnsignedCalls {
    let is_newest = model.starts_with("gemini-") && model.ends_with("-latest");
    match version(model).map_or(is_newest, |version| (3, 0) <= version) {
        true => UnsignedCalls::Refused,
        false => UnsignedCalls::Taken,
    }
}

/// As in `gemini-2.5-flash`.
fn version(model: &str) -> Option<(u32, u32)> {
    let version = model.strip_prefix("gemini-")?.split('-').next()?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[derive(Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
}

#[derive(PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<i64>,
}

#[cfg(test)]
mod tests;
