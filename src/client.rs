//! How a program talks to the daemon: reach it, call it, follow it across restarts.
//!
//! Blocking and single-threaded on purpose: a caller waits in one place, with a timeout, and a signal wakes it.
//! Hides framing, ids, reconnecting and starting the daemon. Knows the protocol's vocabulary and nothing of the
//! daemon's inside, of commands or of rendering.

mod connection;
mod dialer;
mod error;
#[cfg(test)]
pub(crate) mod fake_daemon;
mod follow;
mod place;
mod starter;
mod stopwatch;
mod wire;

use std::path::Path;

pub use connection::{Arrival, CALL_PATIENCE, Client, Pending, Subscription};
pub use dialer::Dialer;
pub use error::{CallError, ConnectError, FollowError, Refusal};
pub use follow::{Follow, Followed, RECONNECT_BOUND, Step};
pub use place::{default_socket, state_folder};
pub use starter::{READY_PATIENCE, Starter};
pub use stopwatch::Stopwatch;
pub use wire::MAX_INCOMING_BYTES;

/// Connects to the daemon that listens on `socket`; never starts one.
pub fn connect(socket: &Path) -> Result<Client, ConnectError> {
    Client::connect(socket)
}

#[cfg(test)]
mod tests;
