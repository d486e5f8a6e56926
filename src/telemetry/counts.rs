//! How much was sent, and how much was not?

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use protocol::Timestamp;

/// A kind of telemetry: each has a path, a service and a message of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtlpSignal {
    Traces,
    Metrics,
    Logs,
}

impl OtlpSignal {
    pub const ALL: [OtlpSignal; 3] = [OtlpSignal::Traces, OtlpSignal::Metrics, OtlpSignal::Logs];

    pub fn as_str(self) -> &'static str {
        match self {
            OtlpSignal::Traces => "traces",
            OtlpSignal::Metrics => "metrics",
            OtlpSignal::Logs => "logs",
        }
    }
}

/// Counts of what was sent since the daemon started.
#[derive(Debug, Default)]
pub struct OtlpCounts {
    signals: [CountCells; 3],
    /// Events of the log that were not looked at for spans yet.
    backlog: AtomicU64,
}

#[derive(Debug, Default)]
struct CountCells {
    sent: AtomicU64,
    dropped: AtomicU64,
    failures: AtomicU64,
    refusal: Mutex<Option<CollectorRefusal>>,
}

/// The reason why nothing of a signal arrives now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorRefusal {
    /// The problem with the last request, in one line.
    pub problem: String,
    /// The first request since that was not taken.
    pub since: Timestamp,
}

/// Counts of one signal: spans, points of metrics, or lines of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalCounts {
    /// Taken by the collector.
    pub sent: u64,
    /// Given up: too many waited, or the collector refused them.
    pub dropped: u64,
    /// Requests that failed, each time they did.
    pub failures: u64,
}

impl OtlpCounts {
    pub fn of(&self, signal: OtlpSignal) -> SignalCounts {
        let cells = self.cells(signal);
        let read = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        SignalCounts {
            sent: read(&cells.sent),
            dropped: read(&cells.dropped),
            failures: read(&cells.failures),
        }
    }

    pub fn backlog(&self) -> u64 {
        self.backlog.load(Ordering::Relaxed)
    }

    pub(crate) fn waits(&self, events: u64) {
        self.backlog.store(events, Ordering::Relaxed);
    }

    pub(crate) fn sent(&self, signal: OtlpSignal, items: u64) {
        self.cells(signal).sent.fetch_add(items, Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self, signal: OtlpSignal, items: u64) {
        self.cells(signal).dropped.fetch_add(items, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self, signal: OtlpSignal) {
        self.cells(signal).failures.fetch_add(1, Ordering::Relaxed);
    }

    /// The reason why nothing of a signal arrives now; `None` = the last request was taken, or there was none.
    pub fn refusal(&self, signal: OtlpSignal) -> Option<CollectorRefusal> {
        // Nothing is left half done by whoever held it.
        self.cells(signal).refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn is_refused(&self, signal: OtlpSignal, problem: &str, now: Timestamp) {
        let mut refusal = self.cells(signal).refusal.lock().unwrap_or_else(PoisonError::into_inner);
        let since = refusal.as_ref().map_or(now, |refusal| refusal.since);
        *refusal = Some(CollectorRefusal { problem: problem.to_owned(), since });
    }

    pub(crate) fn is_well(&self, signal: OtlpSignal) {
        self.cells(signal).refusal.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn cells(&self, signal: OtlpSignal) -> &CountCells {
        match (signal, &self.signals) {
            (OtlpSignal::Traces, [cells, _, _])
            | (OtlpSignal::Metrics, [_, cells, _])
            | (OtlpSignal::Logs, [_, _, cells]) => cells,
        }
    }
}
