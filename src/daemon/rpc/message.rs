//! What does one line from a client say? Requests, notifications, batches, and what is none of these
//! (JSON-RPC 2.0; spec 01).

use jsonrpsee::types::Id;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use protocol::{ErrorKind, MAX_BATCH, RpcError};

/// How deeply arrays and objects may be nested. Checked before parsing; as deep as our JSON reader goes, and
/// far beyond what any method takes.
const MAX_DEPTH: usize = 128;

/// A request's id, as the client gave it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum WireId {
    /// Only in errors about messages whose id cannot be read.
    Null,
    Number(u64),
    /// jsonrpsee's ids have no sign, so answers to these are readdressed.
    Negative(i64),
    Text(String),
}

impl WireId {
    pub(super) fn for_jsonrpsee(&self) -> Id<'static> {
        match self {
            WireId::Null | WireId::Negative(_) => Id::Null,
            WireId::Number(number) => Id::Number(*number),
            WireId::Text(text) => Id::Str(text.clone().into()),
        }
    }

    /// Puts this id into a response that was made with [`WireId::for_jsonrpsee`].
    pub(super) fn readdress(&self, response: Box<RawValue>) -> Box<RawValue> {
        let WireId::Negative(number) = self else { return response };
        let message = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(response.get());
        let Ok(mut message) = message else { return response };
        message.insert("id".to_owned(), (*number).into());
        to_raw_value(&message).unwrap_or(response)
    }
}

/// A request, or a notification when it has no id.
#[derive(Debug)]
pub(super) struct RpcRequest {
    pub(super) id: Option<WireId>,
    pub(super) method: String,
    pub(super) params: Option<Box<RawValue>>,
}

/// One message of a client.
#[derive(Debug)]
pub(super) enum RpcMessage {
    Request(RpcRequest),
    /// An answer; this daemon asks clients nothing, so there is nothing to do with it.
    Response,
    Invalid {
        id: WireId,
        error: RpcError,
    },
}

/// What a line holds.
#[derive(Debug)]
pub(super) enum RpcLine {
    One(RpcMessage),
    Batch(Vec<RpcMessage>),
}

impl RpcLine {
    fn invalid(kind: ErrorKind, message: impl Into<String>) -> RpcLine {
        RpcLine::One(RpcMessage::invalid(WireId::Null, kind, message))
    }
}

impl RpcMessage {
    fn invalid(id: WireId, kind: ErrorKind, message: impl Into<String>) -> RpcMessage {
        RpcMessage::Invalid { id, error: RpcError::new(kind, message) }
    }
}

/// Reads one line. Whatever it holds, there is an answer to it.
pub(super) fn parse(line: &[u8]) -> RpcLine {
    if is_too_deep(line) {
        return RpcLine::invalid(ErrorKind::ParseError, format!("nested more than {MAX_DEPTH} deep"));
    }
    let line = line.trim_ascii();
    if line.first() != Some(&b'[') {
        return RpcLine::One(parse_message(line));
    }
    let items: Vec<&RawValue> = match serde_json::from_slice(line) {
        Ok(items) => items,
        Err(error) => return RpcLine::invalid(ErrorKind::ParseError, format!("no JSON: {error}")),
    };
    if items.is_empty() {
        return RpcLine::invalid(ErrorKind::InvalidRequest, "an empty batch");
    }
    if items.len() > MAX_BATCH {
        let error = format!("a batch of {} requests; at most {MAX_BATCH} are allowed", items.len());
        return RpcLine::invalid(ErrorKind::LimitExceeded, error);
    }
    RpcLine::Batch(items.into_iter().map(|item| parse_message(item.get().as_bytes())).collect())
}

/// The fields that JSON-RPC knows, unread: each is judged on its own, so that errors name the culprit.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct RawMessage<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Keeps `null` apart from a missing field.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn parse_message(text: &[u8]) -> RpcMessage {
    // Serde would take a list for a request whose fields stand in order.
    if text.first() == Some(&b'[') {
        let error = "no request: a list within a batch";
        return RpcMessage::invalid(WireId::Null, ErrorKind::InvalidRequest, error.to_owned());
    }
    let raw: RawMessage<'_> = match serde_json::from_slice(text) {
        Ok(raw) => raw,
        Err(error) if error.is_data() => {
            return RpcMessage::invalid(
                WireId::Null,
                ErrorKind::InvalidRequest,
                format!("no request: {error}"),
            );
        }
        Err(error) => {
            return RpcMessage::invalid(WireId::Null, ErrorKind::ParseError, format!("no JSON: {error}"));
        }
    };
    let id = match raw.id.map(parse_id) {
        Some(None) => {
            let error = "an id is a string or an integer";
            return RpcMessage::invalid(WireId::Null, ErrorKind::InvalidRequest, error);
        }
        Some(id) => id,
        None => None,
    };
    let invalid = |error: &str| {
        RpcMessage::invalid(id.clone().unwrap_or(WireId::Null), ErrorKind::InvalidRequest, error)
    };
    // `"jsonrpc"` may be missing, since hand-written clients forget it and nothing depends on it.
    if raw.jsonrpc.is_some_and(|version| version.get() != r#""2.0""#) {
        return invalid(r#"jsonrpc must be "2.0""#);
    }
    match raw.method.map(|method| serde_json::from_str::<String>(method.get())) {
        Some(Ok(method)) => {
            RpcMessage::Request(RpcRequest { id, method, params: raw.params.map(RawValue::to_owned) })
        }
        Some(Err(_)) => invalid("method must be a string"),
        None if raw.result.is_some() || raw.error.is_some() => RpcMessage::Response,
        None => invalid("a request needs a method"),
    }
}

fn parse_id(id: &RawValue) -> Option<WireId> {
    match serde_json::from_str(id.get()) {
        Ok(WireId::Null) | Err(_) => None,
        Ok(id) => Some(id),
    }
}

/// True if some value lies deeper than the limit. Reads no more than it must.
fn is_too_deep(text: &[u8]) -> bool {
    let (mut depth, mut in_string) = (0_usize, false);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => {
                bytes.next();
            }
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}
