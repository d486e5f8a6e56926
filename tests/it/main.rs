//! Everything that is tested through the daemon's front door, and what no single module can test about itself.

#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod attach;
mod companion;
mod kills;
mod laws;
mod lifetimes;
mod probe;
mod process;
mod proto_docs;
mod recording;
mod runs;
mod support;
mod tidy;
