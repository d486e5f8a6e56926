//! What does a daemon hold at one moment? For tests that look whether it comes back to where it began.

/// The things that live in a daemon at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveCounts {
    pub live_runs: usize,
    pub connections: usize,
    pub tasks: usize,
    pub open_texts: usize,
    /// Slots taken, runs that wait for one, contexts in use.
    pub holdings: (usize, usize, usize),
}
