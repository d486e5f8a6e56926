//! How a program talks to the daemon: reach it, call it, follow it across restarts.
//!
//! Blocking and single-threaded on purpose: a caller waits in one place, with a timeout, and a signal wakes it.
//! Hides framing, ids, reconnecting and starting the daemon. Knows the protocol's vocabulary and nothing of the
//! daemon's inside, of commands or of rendering.

mod connection;
mod dialer;
mod error;
#[cfg(any(test, feature = "fake-daemon"))]
pub mod fake_daemon;
mod follow;
mod place;
mod starter;
mod stopwatch;
mod wire;

use std::path::Path;

pub use connection::{CALL_PATIENCE, NextEvent, PendingCall, RpcClient, Subscription};
pub use dialer::DaemonDialer;
pub use error::{CallError, ConnectError, ErrorReply, FollowError};
pub use follow::{FollowStep, FollowedEvent, RECONNECT_BOUND, SessionFollower};
pub use place::{default_socket, state_folder};
pub use starter::{DaemonStarter, READY_PATIENCE};
pub use stopwatch::MonotonicStopwatch;
pub use wire::MAX_INCOMING_BYTES;

/// Connects to the daemon that listens on `socket`; never starts one.
pub fn connect(socket: &Path) -> Result<RpcClient, ConnectError> {
    RpcClient::connect(socket)
}

#[cfg(test)]
mod tests;
