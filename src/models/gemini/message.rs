//! What is one message in Gemini's form? Each is encoded once; what the model itself said goes back byte for byte, since
//! signatures are bound to it.

use std::{ops::Range, sync::Arc};

use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{Map, Value, value::RawValue};

use super::super::tool_names::WireNames;
use protocol::{CallId, ContextMessage, MessagePart, MessageRole, ProviderMessage, ToolCall};

/// What Gemini wants in place of a signature on a call that it did not sign
/// (<https://ai.google.dev/gemini-api/docs/thought-signatures>, "FAQs").
const UNSIGNED: &str = "skip_thought_signature_validator";

/// What a model makes of a message whose first call it did not sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnsignedCalls {
    Taken,
    /// Unless the call says that it is unsigned. Others in the same message need no signature.
    Refused,
}

/// The parts of a message as they stand between the brackets of `parts`.
#[derive(Debug)]
pub(crate) struct GeminiEncodedMessage {
    pub role: GeminiRole,
    parts: GeminiParts,
    /// The calls of a model's message, with the names that it wrote: results must repeat them.
    calls: Vec<(CallId, Box<str>)>,
}

/// There are two roles: results of tools come from the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GeminiRole {
    User,
    Model,
}

#[derive(Debug)]
enum GeminiParts {
    Own(Box<str>),
    /// A piece of what the provider said; not copied.
    Verbatim(Arc<RawValue>, Range<usize>),
}

impl GeminiEncodedMessage {
    /// `before` is the message in front of this one.
    pub(super) fn new(
        message: &ContextMessage,
        before: Option<&GeminiEncodedMessage>,
        names: &WireNames,
        unsigned_calls: UnsignedCalls,
    ) -> GeminiEncodedMessage {
        let role = match message.role {
            MessageRole::User | MessageRole::Tool => GeminiRole::User,
            MessageRole::Model => GeminiRole::Model,
        };
        let verbatim =
            message.raw.as_ref().and_then(|raw| GeminiRawMessage::new(message, raw, unsigned_calls));
        if let Some(verbatim) = verbatim {
            let GeminiRawMessage { raw, parts, calls } = verbatim;
            return GeminiEncodedMessage { role, parts: GeminiParts::Verbatim(raw, parts), calls };
        }
        let mut parts = PartList::default();
        let mut calls = Vec::new();
        for part in &message.parts {
            match part {
                MessagePart::ToolCall(call) => {
                    let name = names.to_wire(&call.name);
                    // A signature is for the arguments that were written, not for what stands in a secret's place.
                    let signature = call.signature.clone().filter(|_| !call.redacted);
                    let must_be_signed = calls.is_empty() && unsigned_calls == UnsignedCalls::Refused;
                    let signature = signature.or_else(|| must_be_signed.then(|| UNSIGNED.to_owned()));
                    parts.push(&call_part(call, &name, signature));
                    calls.push((call.call_id.clone(), name.into()));
                }
                MessagePart::ToolResult { call_id, provider_call_id, name, parts: results, is_error } => {
                    let call_name = before.and_then(|before| before.call_name(call_id));
                    let declared = names.to_wire(name);
                    let name = call_name.unwrap_or(&declared);
                    parts.push(&result_part(name, provider_call_id.as_deref(), results, *is_error));
                }
                // Only signed thoughts are the provider's to read again.
                MessagePart::Thought { text, signature } => {
                    if let Some(signature) = signature.clone() {
                        parts.push(&WirePart {
                            text: Some(text),
                            thought: Some(true),
                            thought_signature: Some(signature),
                            ..WirePart::default()
                        });
                    }
                }
                other => parts.push_plain(other),
            }
        }
        // After all results, which must stand first.
        for part in &message.parts {
            if let MessagePart::ToolResult { parts: results, .. } = part {
                results.iter().filter(|it| it.as_text().is_none()).for_each(|it| parts.push_plain(it));
            }
        }
        GeminiEncodedMessage { role, parts: GeminiParts::Own(parts.0.into()), calls }
    }

    /// Joined by commas; empty when nothing is left to say.
    pub(super) fn parts(&self) -> &str {
        match &self.parts {
            GeminiParts::Own(parts) => parts,
            GeminiParts::Verbatim(raw, parts) => &raw.get()[parts.clone()],
        }
    }

    fn call_name(&self, call: &CallId) -> Option<&str> {
        self.calls.iter().find(|(id, _)| id == call).map(|(_, name)| &**name)
    }
}

/// What the provider said itself.
struct GeminiRawMessage {
    raw: Arc<RawValue>,
    parts: Range<usize>,
    calls: Vec<(CallId, Box<str>)>,
}

impl GeminiRawMessage {
    /// `None` when its calls are not those that were run, or the model would refuse it.
    fn new(
        message: &ContextMessage,
        raw: &ProviderMessage,
        unsigned_calls: UnsignedCalls,
    ) -> Option<GeminiRawMessage> {
        #[derive(Deserialize)]
        struct RawContent<'a> {
            #[serde(borrow)]
            parts: &'a RawValue,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct RawPart {
            function_call: Option<RawCall>,
            thought_signature: Option<IgnoredAny>,
        }
        #[derive(Deserialize)]
        struct RawCall {
            name: Box<str>,
        }
        let text = raw.raw.get();
        let list = serde_json::from_str::<RawContent<'_>>(text).ok()?.parts.get();
        let parts: Vec<RawPart> = serde_json::from_str(list).ok()?;
        let first_call = parts.iter().find(|part| part.function_call.is_some());
        let is_unsigned = first_call.is_some_and(|call| call.thought_signature.is_none());
        if is_unsigned && unsigned_calls == UnsignedCalls::Refused {
            return None;
        }
        let named = parts.into_iter().filter_map(|part| Some(part.function_call?.name));
        let asked = message.parts.iter().filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some(call.call_id.clone()),
            _ => None,
        });
        let (named, asked): (Vec<Box<str>>, Vec<CallId>) = (named.collect(), asked.collect());
        if named.len() != asked.len() {
            return None;
        }
        // Where the list stands in the text it was borrowed from, without its brackets.
        let begin = list.as_ptr().addr().checked_sub(text.as_ptr().addr())? + 1;
        let end = begin + list.len().checked_sub(2)?;
        Some(GeminiRawMessage {
            raw: Arc::clone(&raw.raw),
            parts: begin..end,
            calls: asked.into_iter().zip(named).collect(),
        })
    }
}

/// Parts that were encoded, with commas between.
#[derive(Default)]
struct PartList(String);

impl PartList {
    fn push(&mut self, part: &WirePart<'_>) {
        // Text, numbers and JSON values: nothing in a part can fail to be written.
        let Ok(part) = serde_json::to_string(part) else { return };
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&part);
    }

    /// Text, pictures, files. Empty text is left out: alone in a message it would be refused.
    fn push_plain(&mut self, part: &MessagePart) {
        match part {
            MessagePart::Text { text } if !text.is_empty() => {
                self.push(&WirePart { text: Some(text), ..WirePart::default() });
            }
            MessagePart::InlineData { mime_type, data } => {
                let mime_type = own_mime(mime_type);
                self.push(&WirePart { inline_data: Some(Blob { mime_type, data }), ..WirePart::default() });
            }
            MessagePart::File { mime_type, uri } => {
                let file = FileData { mime_type, file_uri: uri };
                self.push(&WirePart { file_data: Some(file), ..WirePart::default() });
            }
            _ => (),
        }
    }
}

/// The API names one format differently from the registry (<https://ai.google.dev/gemini-api/docs/audio>).
fn own_mime(mime: &str) -> &str {
    match mime {
        "audio/mpeg" => "audio/mp3",
        other => other,
    }
}

fn call_part<'a>(call: &'a ToolCall, name: &'a str, signature: Option<String>) -> WirePart<'a> {
    let args = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        Value::Null => Value::Object(Map::new()),
        // Arguments are an object here. What else a model gave was refused, and is still to be seen.
        other => Value::Object(Map::from_iter([("arguments".to_owned(), other.clone())])),
    };
    let id = call.provider_call_id.as_deref();
    WirePart {
        function_call: Some(GeminiFunctionCall { id, name, args }),
        thought_signature: signature,
        ..WirePart::default()
    }
}

fn result_part<'a>(
    name: &'a str,
    id: Option<&'a str>,
    results: &[MessagePart],
    is_error: bool,
) -> WirePart<'a> {
    let texts: Vec<&str> = results.iter().filter_map(MessagePart::as_text).collect();
    let text = texts.join("\n");
    let response = match is_error {
        true => GeminiFunctionOutput { output: None, error: Some(text) },
        false => GeminiFunctionOutput { output: Some(text), error: None },
    };
    WirePart { function_response: Some(FunctionResponse { id, name, response }), ..WirePart::default() }
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<GeminiFunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_data: Option<FileData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<String>,
}

#[derive(Serialize)]
struct GeminiFunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: Value,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: GeminiFunctionOutput,
}

#[derive(Serialize)]
struct GeminiFunctionOutput {
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileData<'a> {
    mime_type: &'a str,
    file_uri: &'a str,
}
