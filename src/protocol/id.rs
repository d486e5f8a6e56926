//! Identifiers. Ours are UUIDv7 text; names are what people wrote. Newtypes, so that they cannot be mixed up.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(#[schemars(with = "String")] Arc<str>);

        impl $name {
            /// The identifier as text, as it stands on the wire.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        /// Equal, ordered and hashed as its text, so that a map can be asked by that.
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

ids! {
    /// A session: a workspace and the contexts and runs in it.
    SessionId;
    /// One agent's message history in one session.
    ContextId;
    /// One execution of one agent.
    RunId;
    /// One tool call; always ours, the provider's own id is kept beside it.
    CallId;
    /// One question to a person.
    ConfirmationId;
    /// A client's own stable id, across its reconnects.
    ClientId;
    /// One subscription of one connection.
    SubscriptionId;
    /// One span of a trace: 16 hexadecimal digits, the `seq` of the event that began it.
    SpanId;
    /// One extension, from its installation to its removal.
    ExtensionId;
    /// An agent's name: `[a-z0-9._-]`, at most 64 characters.
    AgentName;
    /// A tool's canonical name, e.g. `read_file`.
    ToolName;
    /// A model as a user names it: `entry/model-id`, an alias, `offline`, `replay:FILE`.
    ModelRef;
}

/// A position in the log: strictly increasing, never reused; 0 stands before the first event.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct EventSeq(pub i64);

impl std::fmt::Display for EventSeq {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
