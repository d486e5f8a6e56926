//! Everything that is tested through the daemon's front door, and what no single module can test about itself.

#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod attach;
mod bad_input;
mod child_output;
mod children;
mod companion;
mod companion_newcomer;
mod companion_runs;
mod families;
mod family_commits;
mod family_kills;
mod full_disk;
mod gemini;
mod gemini_server;
mod golden;
mod history;
mod keys;
mod kills;
mod laws;
mod lifetimes;
mod methods;
mod one_at_a_time;
mod presence;
mod probe;
mod process;
mod proto_docs;
mod races;
mod random;
mod rebuild;
mod recording;
mod resuming;
mod runs;
mod secrets;
mod service;
mod sessions;
mod settings;
mod soak;
mod steering;
mod stopping;
mod storage;
mod subscribing;
mod support;
mod tidy;
mod transports;
mod watching;
