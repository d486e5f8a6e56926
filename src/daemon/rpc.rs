//! How do clients talk to the daemon? JSON-RPC 2.0 over a Unix socket, in the framing that a connection's first byte
//! tells, and over TCP when asked for (spec 01, 11).
//!
//! [`Api`] takes one handler for each row of [`METHODS`](crate::protocol::METHODS) and becomes a
//! [`MethodTable`]; [`UnixDoor`] and [`TcpDoor`] accept connections and [`serve_connection`] speaks with one of them. Handlers see
//! typed parameters and a [`Caller`]; framing, batches, limits, cancellation and back-pressure stay in here.
//!
//! This module never knows stores, runs or agents: it is generic over the handlers' context. It is also the
//! only place that names jsonrpsee.

mod api;
mod call;
mod caller;
mod connection;
pub mod docs;
mod errors;
mod exchange;
mod flight;
mod framing;
mod http;
mod listener;
mod message;
mod outgoing;
mod params;
mod subscription;
mod suggest;
mod wire;

#[cfg(test)]
mod tests;

pub use api::{Api, MethodTable, TableMismatch};
pub use caller::{Caller, Introduction, Load, PeerInfo};
pub use connection::{Reception, serve_connection};
pub use errors::internal_error;
pub use http::{McpDoor, Plain, Reply};
pub use listener::{BindError, Listener, Peers, TcpDoor, UnixDoor, bind};
pub use subscription::{Feed, Gone, Sink};
pub use wire::Wire;
