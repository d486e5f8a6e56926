//! Runs that call runs, in a daemon that can be killed: what such tests share.
//!
//! The daemon is this test program itself, started anew as a process of its own, so that it may have tools that tell
//! what they did while the product's binaries have no switch for tests.

mod agents;
mod beside;
mod daemon;
mod effects;
mod tools;

pub use agents::{Family, Shape, call};
pub use beside::Beside;
pub use daemon::ProbeDaemon;
pub use effects::Effects;
