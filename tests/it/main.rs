//! Everything that is tested through the daemon's front door, and what no single module can test about itself.

#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod laws;
mod probe;
mod proto_docs;
mod runs;
mod support;
mod tidy;
