//! Parameters and results: the connection, and who is at the other end.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{AttachRole, DaemonInfo, default_page, given, is_default};
use crate::{ClientId, SessionId, SubscriptionId, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// `"2"`.
    pub protocol_version: String,
    pub client: ClientInfo,
    /// The client's own stable id. Missing = its name and a number, which are another client's the next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", length(min = 1, max = 128))]
    pub client_id: Option<ClientId>,
    /// What the client can do. Missing = nothing of it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub capabilities: ClientCapabilities,
    /// Whether somebody is at the client. Missing = `active`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub presence: Presence,
    /// Unknown parameter fields are errors instead of being ignored and reported.
    #[serde(default)]
    pub strict: bool,
}

/// Shown to other clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    #[schemars(length(max = 200))]
    pub name: String,
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub version: String,
    pub kind: ClientKind,
}

/// What kind of program a client is. Open: one that is not known here is kept and shown as it was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClientKind {
    Editor,
    Cli,
    Phone,
    Bot,
    Bridge,
    Script,
    #[serde(untagged)]
    Other(String),
}

impl JsonSchema for ClientKind {
    fn schema_name() -> Cow<'static, str> {
        "ClientKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": 64,
            "description": "What kind of program a client is: `editor`, `cli`, `phone`, `bot`, `bridge`, `script`, or \
                            another word, which is kept and shown as it was said.",
        })
    }
}

/// What a client can do for others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientCapabilities {
    /// It can put questions to a person. Missing = it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmations: Option<ConfirmationCapability>,
    /// It shows text while it is being written.
    pub deltas: bool,
    /// It lends tools of its own.
    pub tools: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfirmationCapability {
    /// The kinds of questions it can show; missing = all. Open: kinds that are not known here are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)))]
    pub kinds: Option<Vec<String>>,
}

/// Whether somebody is at a client, as the client says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Presence {
    #[default]
    Active,
    Idle,
    Away,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    pub protocol_version: String,
    pub daemon: DaemonInfo,
    pub client_id: ClientId,
    #[serde(default)]
    pub capabilities: DaemonCapabilities,
    pub limits: WireLimits,
    /// The methods this daemon answers.
    pub methods: Vec<String>,
}

/// Which of the capabilities of clients this daemon makes use of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonCapabilities {
    /// It puts questions to clients.
    pub confirmations: bool,
    /// It sends text while it is being written.
    pub deltas: bool,
    /// Agents can use tools that clients lend.
    pub tools: bool,
    /// It tells clients of each other.
    pub presence: bool,
}

/// What a connection may do; more is answered by an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WireLimits {
    pub max_message_bytes: usize,
    pub max_in_flight: usize,
    pub max_subscriptions: usize,
    pub max_batch: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PingResult {
    pub at: Timestamp,
}

/// A field that is missing stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientUpdateParams {
    /// In place of those that were said before, as a whole; `null` = none any more.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Option<ClientCapabilities>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientUpdateResult {
    /// As they are now.
    pub capabilities: ClientCapabilities,
    pub presence: Presence,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientListParams {
    /// As `nextCursor` said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Missing = 100.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(default = "default_page")]
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientListResult {
    /// The one that has been there longest first.
    pub clients: Vec<ClientSummary>,
    /// There is more; give it as `cursor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A connection whose client said `initialize` or is attached to something. A client with several connections is there
/// several times, with the same `clientId`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientSummary {
    /// Counts from 1 since the daemon's start.
    pub connection: u64,
    /// Missing, like `client` and `presence`, when it said no `initialize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<ClientId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientInfo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    pub capabilities: ClientCapabilities,
    /// What it is attached to by `session/attach`.
    pub attached: Vec<ClientAttachment>,
    pub transport: ConnectionTransport,
    /// The user it runs as.
    pub uid: u32,
    /// When it was first heard of.
    pub connected_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientAttachment {
    pub subscription: SubscriptionId,
    /// `"*"` = every session.
    pub session_id: SessionId,
    pub role: AttachRole,
}

/// How a connection's messages are framed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConnectionTransport {
    /// One JSON value a line.
    #[default]
    Lines,
    /// With `Content-Length` headers, as language servers do.
    ContentLength,
    WebSocket,
    Http,
}
