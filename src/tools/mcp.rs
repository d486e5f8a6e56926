//! Tools of servers that speak the Model Context Protocol: which servers there are, how they are started and kept, and how
//! their tools are called (spec 07, "As a client").
//!
//! A server belongs to a workspace and is shared by all its runs ([`McpHub`]). It is started when somebody first needs it,
//! kept by one task (`server`), and stopped when nobody used it for long. What it lists becomes data of the runs that are
//! planned with it; what it answers is read piece by piece, since nobody here knows who wrote it. A server that is away costs
//! its own tools and a warning.

mod asking;
mod auth;
mod call;
mod connecting;
mod connection;
mod content;
mod elicitation;
mod fields;
mod keys;
mod launch;
mod lines;
mod listing;
mod origin;
mod rules;
mod sampling;
mod server;
mod servers;
mod words;

pub use asking::McpCaller;
pub use auth::{LoginEnd, LoginRequest, OAuthSessions};
pub use call::tools;
pub use connection::{McpListKind, McpRequestError, RequestBounds};
pub use content::{named, parts, result};
pub use origin::{ExtensionServerOrigin, ServerOrigin};
pub use rules::ServerRules;
pub use server::{McpServerInstance, ReadyServer, ServerLease, ServerRecord, ServerState, ToolCallTally};
pub use servers::{
    ExtensionCheck, ExtensionServer, McpHub, RunServers, ServerChange, ServerLookup, ServerSnapshot,
};
pub use words::{TextSanitizer, plain};
