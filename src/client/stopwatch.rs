//! How long has this taken? The client's only reading of a clock.

use std::time::{Duration, Instant};

/// Measures from its making; never jumps.
#[derive(Debug, Clone, Copy)]
pub struct MonotonicStopwatch {
    started: Instant,
}

impl MonotonicStopwatch {
    /// Begins to measure.
    #[allow(clippy::disallowed_methods, reason = "the client is built without `sys`; this is its one clock")]
    pub fn start() -> MonotonicStopwatch {
        MonotonicStopwatch { started: Instant::now() }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// What is left of `patience`; `None` when it is used up.
    pub fn left_of(&self, patience: Duration) -> Option<Duration> {
        patience.checked_sub(self.elapsed()).filter(|left| !left.is_zero())
    }
}
