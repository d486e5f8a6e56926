//! What is a request in Gemini's form?
//!
//! A turn's request is the last turn's and a little more. So what was encoded is kept: a turn copies bytes, and encodes
//! only the messages that are new.

use std::sync::{Arc, Weak};

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    super::{ModelRequest, Purpose, tool_names::WireNames},
    message::{EncodedMessage, UnsignedCalls, WireRole},
};
use crate::protocol::{Message, Sampling, ToolDeclaration};

/// Sets of tools that are kept: those of ordinary turns, and of the grace turn.
const KEPT_TOOLS: usize = 2;
/// A conversation begins with the user; one that an agent's file begins otherwise gets this in front.
const OPENING: &str = r#"{"text":"Begin."}"#;

/// Encodes the requests of one run.
pub(super) struct Encoder {
    can_think: bool,
    unsigned_calls: UnsignedCalls,
    /// Of the last turn, by place. Never longer than that turn's request, and gone with the run.
    messages: Vec<Kept>,
    tools: Vec<Arc<Tools>>,
}

struct Kept {
    /// Which message it is. While this lives, no other message can lie at its place in memory.
    message: Weak<Message>,
    encoded: Arc<EncodedMessage>,
}

struct Tools {
    declared: Arc<[ToolDeclaration]>,
    names: Arc<WireNames>,
    json: String,
}

impl Encoder {
    pub(super) fn new(model: &str) -> Encoder {
        Encoder {
            can_think: can_think(model),
            unsigned_calls: unsigned_calls(model),
            messages: Vec::new(),
            tools: Vec::new(),
        }
    }

    /// The body, and the names by which it calls the tools.
    pub(super) fn encode(&mut self, request: &ModelRequest) -> (Vec<u8>, Arc<WireNames>) {
        let tools = self.tools(&request.tools);
        let messages = match request.purpose {
            Purpose::Turn => self.turn_messages(&request.messages, &tools.names),
            // Asked once; it must not take the place of the run's own.
            Purpose::Utility => self.utility_messages(&request.messages, &tools.names),
        };
        let mut body = String::from("{");
        if !request.system.is_empty() {
            push_json(&mut body, "\"systemInstruction\":{\"parts\":[", &json!({ "text": &*request.system }));
            body.push_str("]},");
        }
        if !request.tools.is_empty() {
            body.push_str("\"tools\":[{\"functionDeclarations\":");
            body.push_str(&tools.json);
            body.push_str("}],");
        }
        let config = self.generation_config(request);
        if config != GenerationConfig::default() {
            push_json(&mut body, "\"generationConfig\":", &config);
            body.push(',');
        }
        push_contents(&mut body, &messages);
        body.push('}');
        (body.into_bytes(), Arc::clone(&tools.names))
    }

    fn tools(&mut self, declared: &Arc<[ToolDeclaration]>) -> Arc<Tools> {
        if let Some(kept) = self.tools.iter().find(|it| Arc::ptr_eq(&it.declared, declared)) {
            return Arc::clone(kept);
        }
        let names = WireNames::new(declared.iter().map(|tool| &tool.name));
        let functions: Vec<Value> = declared
            .iter()
            .map(|tool| {
                json!({
                    "name": names.to_wire(&tool.name),
                    "description": tool.description,
                    "parametersJsonSchema": tool.parameters,
                })
            })
            .collect();
        let json = Value::Array(functions).to_string();
        let tools = Arc::new(Tools { declared: Arc::clone(declared), names: Arc::new(names), json });
        if self.tools.len() == KEPT_TOOLS {
            self.tools.remove(0);
        }
        self.tools.push(Arc::clone(&tools));
        tools
    }

    /// The encoded messages; those that stood at the same place in the last turn are taken from there.
    fn turn_messages(&mut self, messages: &[Arc<Message>], names: &WireNames) -> Vec<Arc<EncodedMessage>> {
        let is_kept =
            |(kept, message): &(&Kept, &Arc<Message>)| kept.message.as_ptr() == Arc::as_ptr(message);
        let n_kept = self.messages.iter().zip(messages).take_while(is_kept).count();
        self.messages.truncate(n_kept);
        for message in &messages[n_kept..] {
            let before = self.messages.last().map(|kept| &*kept.encoded);
            let encoded = Arc::new(EncodedMessage::new(message, before, names, self.unsigned_calls));
            self.messages.push(Kept { message: Arc::downgrade(message), encoded });
        }
        self.messages.iter().map(|kept| Arc::clone(&kept.encoded)).collect()
    }

    fn utility_messages(&self, messages: &[Arc<Message>], names: &WireNames) -> Vec<Arc<EncodedMessage>> {
        let mut encoded: Vec<Arc<EncodedMessage>> = Vec::with_capacity(messages.len());
        for message in messages {
            let before = encoded.last().map(|before| &**before);
            encoded.push(Arc::new(EncodedMessage::new(message, before, names, self.unsigned_calls)));
        }
        encoded
    }

    fn generation_config<'a>(&self, request: &'a ModelRequest) -> GenerationConfig<'a> {
        let Sampling { temperature, top_p, max_output_tokens, thinking_budget } = request.sampling;
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
fn push_contents(body: &mut String, messages: &[Arc<EncodedMessage>]) {
    let spoken: Vec<&EncodedMessage> =
        messages.iter().map(|message| &**message).filter(|message| !message.parts().is_empty()).collect();
    // The envelope of a content has fewer than 32 bytes.
    body.reserve(spoken.iter().map(|message| message.parts().len() + 32).sum());
    body.push_str("\"contents\":[");
    let mut open: Option<WireRole> = None;
    if spoken.first().is_some_and(|first| first.role == WireRole::Model) {
        body.push_str("{\"role\":\"user\",\"parts\":[");
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
                    WireRole::User => "{\"role\":\"user\",\"parts\":[",
                    WireRole::Model => "{\"role\":\"model\",\"parts\":[",
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

/// Whether a model of this name has thoughts to show: from 2.5 on. Others are asked only when a budget is set.
fn can_think(model: &str) -> bool {
    version(model).is_some_and(|version| (2, 5) <= version) && !is_for_pictures_or_speech(model)
}

/// Whether a model of this name takes sound and documents.
pub(super) fn takes_files(model: &str) -> bool {
    model.starts_with("gemini-") && !is_for_pictures_or_speech(model)
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
