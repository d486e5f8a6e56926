//! Everything that is tested through the daemon's front door, and what no single module can test about itself.

#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod bad_input;
mod golden;
mod laws;
mod methods;
mod probe;
mod proto_docs;
mod random;
mod rebuild;
mod runs;
mod support;
mod tidy;
mod watching;
