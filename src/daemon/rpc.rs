//! How do clients talk to the daemon? JSON-RPC 2.0 over a Unix socket, in the framing that a connection's first byte
//! tells, and over TCP when asked for (spec 01, 11).
//!
//! [`MethodHandlers`] takes one handler for each row of [`METHODS`](protocol::METHODS) and becomes a
//! [`MethodTable`]; [`UnixAcceptor`] and [`TcpAcceptor`] accept connections and [`serve_connection`] speaks with one of them. Handlers see
//! typed parameters and a [`RpcCaller`]; framing, batches, limits, cancellation and back-pressure stay in here.
//!
//! This module never knows stores, runs or agents: it is generic over the handlers' context. It is also the
//! only place that names jsonrpsee.

mod api;
mod call;
mod caller;
mod connection;
mod context;
mod conversation;
pub mod docs;
mod errors;
mod exchange;
mod flight;
mod framing;
mod http;
mod listener;
mod mcp_acceptor;
mod message;
mod outgoing;
mod params;
mod subscription;
mod suggest;
mod tcp_gate;
mod wire;

#[cfg(test)]
mod tests;

pub use api::{MethodHandlers, MethodTable, TableMismatch};
pub use caller::{ConnectionLoad, IntroducedClient, PeerCredentials, RpcCaller};
pub use connection::serve_connection;
pub use context::{MetricsAnswer, ServerContext};
pub use errors::internal_error;
pub use listener::{AllowedPeers, BindError, SocketListener, TcpAcceptor, UnixAcceptor, bind};
pub use mcp_acceptor::{ByteStream, HttpReply, McpAcceptor};
pub use subscription::{NotificationSink, PendingSubscription, SubscriberGone};
pub use tcp_gate::TOKEN_FILE;
pub use wire::RpcStream;
