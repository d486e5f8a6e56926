//! Request errors: stable kinds, their codes, and what a client gets to read (spec 01, "Errors").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

macro_rules! error_kinds {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal, $text:literal, retryable: $retryable:literal;)+) => {
        /// The stable name of an error; programs look at this, never at the message.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum ErrorKind { $($(#[doc = $doc])+ #[serde(rename = $text)] $name),+ }

        impl ErrorKind {
            /// Every kind, in the order of its code.
            pub const ALL: &[ErrorKind] = &[$(ErrorKind::$name),+];

            /// JSON-RPC's own codes mean what JSON-RPC says; ours lie below −31000. Never reused.
            pub fn code(self) -> i32 {
                match self { $(ErrorKind::$name => $code),+ }
            }

            /// The spelling on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(ErrorKind::$name => $text),+ }
            }

            /// True if the same request can succeed later without being changed.
            pub fn is_retryable(self) -> bool {
                match self { $(ErrorKind::$name => $retryable),+ }
            }

            /// What it means, for the docs.
            pub fn doc(self) -> &'static str {
                match self { $(ErrorKind::$name => concat!($($doc),+)),+ }
            }
        }
    };
}

error_kinds! {
    /// The message is no JSON.
    ParseError = -32700, "PARSE_ERROR", retryable: false;
    /// The message is JSON, but no JSON-RPC request.
    InvalidRequest = -32600, "INVALID_REQUEST", retryable: false;
    /// There is no such method; `didYouMean` in `details` names the nearest.
    MethodNotFound = -32601, "METHOD_NOT_FOUND", retryable: false;
    /// The parameters break the method's schema; `details` lists every violation with its JSON pointer.
    InvalidParams = -32602, "INVALID_PARAMS", retryable: false;
    /// A defect of the daemon; `details` has the id under which its log tells more.
    InternalError = -32603, "INTERNAL_ERROR", retryable: false;
    /// Cancelled by `$/cancelRequest`: it is not answered. Only a run that `tools/call` had begun goes on.
    RequestCancelled = -32800, "REQUEST_CANCELLED", retryable: true;
    /// The connection must say `initialize` first.
    NotInitialized = -31001, "NOT_INITIALIZED", retryable: false;
    /// A token is missing or wrong.
    Unauthorized = -31002, "UNAUTHORIZED", retryable: false;
    /// This peer may not talk to the daemon, or may not do this.
    Forbidden = -31003, "FORBIDDEN", retryable: false;
    /// The protocol version is not spoken here; `details` lists those that are.
    UnsupportedVersion = -31004, "UNSUPPORTED_VERSION", retryable: false;
    /// Too much at once; try again later.
    Overloaded = -31005, "OVERLOADED", retryable: true;
    /// The daemon is stopping.
    ShuttingDown = -31006, "SHUTTING_DOWN", retryable: true;
    /// The message, or its answer, is larger than allowed.
    PayloadTooLarge = -31007, "PAYLOAD_TOO_LARGE", retryable: false;
    /// Requests come too fast.
    RateLimited = -31008, "RATE_LIMITED", retryable: true;
    /// A limit of this connection is reached, e.g. its subscriptions.
    LimitExceeded = -31009, "LIMIT_EXCEEDED", retryable: false;
    /// Nothing has this id or name.
    NotFound = -31010, "NOT_FOUND", retryable: false;
    /// It existed and was removed.
    Gone = -31011, "GONE", retryable: false;
    /// Something of this name exists.
    AlreadyExists = -31012, "ALREADY_EXISTS", retryable: false;
    /// It was changed meanwhile.
    Conflict = -31013, "CONFLICT", retryable: false;
    /// The idempotency key was used with other parameters.
    IdempotencyConflict = -31014, "IDEMPOTENCY_CONFLICT", retryable: false;
    /// The cursor lies outside of the log; `details` has `oldest`, `head` and `logId`.
    CursorGone = -31015, "CURSOR_GONE", retryable: false;
    /// A file was changed meanwhile.
    FileConflict = -31016, "FILE_CONFLICT", retryable: false;
    /// The disk is full; nothing was written.
    StorageFull = -31017, "STORAGE_FULL", retryable: true;
    /// The database failed; nothing was written.
    StorageError = -31018, "STORAGE_ERROR", retryable: true;
    /// The agent comes from a workspace that nobody has trusted; `details` has the digest.
    WorkspaceNotTrusted = -31019, "WORKSPACE_NOT_TRUSTED", retryable: false;
    /// The agent cannot be started as it is.
    AgentNotReady = -31020, "AGENT_NOT_READY", retryable: false;
    /// The definition has errors; `details` lists them.
    InvalidDefinition = -31021, "INVALID_DEFINITION", retryable: false;
    /// The inputs break the agent's input schema; `details` lists every violation.
    InvalidInput = -31022, "INVALID_INPUT", retryable: false;
    /// A template names a value that nobody gave; `details` has the missing and the known names.
    MissingTemplateInput = -31023, "MISSING_TEMPLATE_INPUT", retryable: false;
    /// The session is closed.
    SessionClosed = -31024, "SESSION_CLOSED", retryable: false;
    /// The run has ended.
    RunNotActive = -31025, "RUN_NOT_ACTIVE", retryable: false;
    /// This agent's context has a live run already.
    Busy = -31026, "BUSY", retryable: true;
    /// No model is configured; `hint` names the ways out.
    NoModel = -31027, "NO_MODEL", retryable: false;
    /// The provider refuses the key.
    ProviderAuth = -31028, "PROVIDER_AUTH", retryable: false;
    /// The provider's quota is used up.
    ProviderLimit = -31029, "PROVIDER_LIMIT", retryable: true;
    /// The provider failed.
    ProviderError = -31030, "PROVIDER_ERROR", retryable: true;
    /// Somebody has answered already.
    ConfirmationAlreadyResolved = -31031, "CONFIRMATION_ALREADY_RESOLVED", retryable: false;
    /// The question changed meanwhile.
    ConfirmationStale = -31032, "CONFIRMATION_STALE", retryable: false;
    /// The outcome was not among the options.
    OutcomeNotOffered = -31033, "OUTCOME_NOT_OFFERED", retryable: false;
}

/// A request error, as it stands in a response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RpcError {
    pub code: i32,
    /// One line: what happened.
    pub message: String,
    pub data: ErrorData,
}

/// The part of an error that programs read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    pub kind: ErrorKind,
    /// True if the same request can succeed later.
    pub retryable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// One line: what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl RpcError {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> RpcError {
        let data = ErrorData {
            kind,
            retryable: kind.is_retryable(),
            retry_after_ms: None,
            details: None,
            hint: None,
        };
        RpcError { code: kind.code(), message: message.into(), data }
    }

    #[must_use]
    pub fn with_details(mut self, details: Value) -> RpcError {
        self.data.details = Some(details);
        self
    }

    /// How many milliseconds to wait before asking again.
    #[must_use]
    pub fn with_retry_after(mut self, ms: u64) -> RpcError {
        self.data.retry_after_ms = Some(ms);
        self
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> RpcError {
        self.data.hint = Some(hint.into());
        self
    }
}

/// One broken rule of a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaViolation {
    /// JSON pointer to the offending value; empty = the whole.
    pub pointer: String,
    pub message: String,
}
