//! What does this daemon count of runs, and where else is that told?

use super::{
    metrics::{RunMetrics, timed},
    otlp::SpanExport,
    subscription_places::SubscriptionPlaces,
    trace_reader::TraceReader,
};
use protocol::{DaemonCounts, EventSeq};
use run::RunExecutor;
use store::EventStore;

/// Traces, metrics, and their way to a collector.
pub(super) struct DaemonTelemetry {
    /// Counts of what runs did since the daemon started.
    pub metrics: RunMetrics,
    /// Traces that clients read page by page.
    pub traces: TraceReader,
    /// Traces, metrics and the log on their way to a collector.
    pub otlp: SpanExport,
}

impl DaemonTelemetry {
    /// What is counted from this event on.
    pub fn new(counted_from: EventSeq, otlp: SpanExport) -> DaemonTelemetry {
        DaemonTelemetry { metrics: RunMetrics::after(counted_from), traces: TraceReader::default(), otlp }
    }

    /// The metrics in short.
    pub fn counts(
        &self,
        store: &EventStore,
        executor: &RunExecutor,
        places: &SubscriptionPlaces,
    ) -> DaemonCounts {
        let (_, slot_queue, _) = executor.holdings();
        let lags = places.lags(store.head());
        DaemonCounts {
            slot_queue: u64::try_from(slot_queue).unwrap_or(u64::MAX),
            commits: timed(&store.commit_times(), 0),
            max_lag: lags.into_values().max().unwrap_or_default(),
            ..self.metrics.summary()
        }
    }
}
