//! Where do the daemon's figures come from? What runs have done since it started is counted by following the log, as spans; what
//! there is now is asked for when somebody looks.

use std::{sync::Arc, time::Duration};

use super::metrics::{METRICS, MetricSamples};
use crate::{
    client_connections::ClientConnections, daemon_life::DaemonLife, daemon_services::DaemonServices,
    daemon_telemetry::DaemonTelemetry,
};
use protocol::{EventSeq, RunCounts};
use run::RunExecutor;
use store::{EventStore, LogFilter, StoreError, StoredEvent};
use sys::process;
use telemetry::{OtlpSignal, SignalCounts};
use traces::SpanFold;

/// Between tries to read the log when reading fails.
const READ_RETRY: Duration = Duration::from_secs(1);

/// The areas of the log whose events make the spans that are counted; others are not read. Hooks (`hook.*`) make spans, too, and no metric.
const AREAS: [&str; 6] = ["run.*", "turn.*", "model.*", "tool.state", "context.compressed", "confirmation.*"];

/// The services that figures are of.
#[derive(Clone)]
pub(super) struct MetricsCollector {
    pub life: Arc<DaemonLife>,
    pub store: EventStore,
    executor: RunExecutor,
    clients: Arc<ClientConnections>,
    pub telemetry: Arc<DaemonTelemetry>,
}

impl MetricsCollector {
    pub fn of(services: &DaemonServices) -> MetricsCollector {
        let DaemonServices { life, store, executor, clients, telemetry, .. } = services.clone();
        MetricsCollector { life, store, executor, clients, telemetry }
    }
}

/// Counts what runs do until the daemon stops. Nobody waits for it.
pub(super) async fn follow(state: Arc<MetricsCollector>) {
    let filter = LogFilter { types: areas(), ..LogFilter::default() };
    let mut follower = state.store.follow(filter, state.telemetry.metrics.counted_to());
    let mut fold = loop {
        match with_open_spans(&state.store, state.telemetry.metrics.counted_to()).await {
            Ok(fold) => break fold,
            Err(error) => {
                tracing::warn!(%error, "what is open cannot be read for the metrics; tried again");
                tokio::select! {
                    () = state.life.stop.cancelled() => return,
                    () = state.life.clock.sleep(READ_RETRY) => (),
                }
            }
        }
    };
    loop {
        let events = tokio::select! {
            () = state.life.stop.cancelled() => return,
            events = follower.next() => events,
        };
        let events = match events {
            Ok(events) => events,
            Err(error) => {
                tracing::warn!(%error, "the log cannot be read for the metrics; tried again");
                tokio::select! {
                    () = state.life.stop.cancelled() => return,
                    () = state.life.clock.sleep(READ_RETRY) => continue,
                }
            }
        };
        // Before they are counted: what panics is not counted again.
        state.telemetry.metrics.reaches(follower.position());
        for event in events {
            match event.to_envelope() {
                Ok(envelope) => state.telemetry.metrics.count(&fold.apply(&envelope)),
                Err(error) => tracing::warn!(%error, "an event is left out of the metrics"),
            }
        }
    }
}

/// A fold that knows what is open at a place in the log: which tool a call is for, and how long a person takes to answer a question,
/// counts whichever daemon it began in.
async fn with_open_spans(store: &EventStore, place: EventSeq) -> Result<SpanFold, StoreError> {
    let mut fold = SpanFold::new();
    let read = |event: &StoredEvent| {
        if let Ok(envelope) = event.to_envelope() {
            // What ended by then is not this daemon's to count.
            drop(fold.apply(&envelope));
        }
    };
    store.read_open_runs(place, areas(), read).await?;
    Ok(fold)
}

fn areas() -> Vec<String> {
    AREAS.iter().map(|area| (*area).to_owned()).collect()
}

/// All metrics as of now.
pub(super) async fn samples(state: &MetricsCollector) -> Result<MetricSamples, StoreError> {
    let mut samples = MetricSamples::new(METRICS);
    let version = env!("CARGO_PKG_VERSION");
    samples.set("subagentd_info", &[("version", version), ("id", &state.life.instance)], 1.0);
    samples.set("subagentd_start_time_seconds", &[], state.life.started_at.0 as f64 / 1e6);
    let RunCounts { queued, running, waiting, parked, ended: _ } = state.store.run_counts().await?;
    for (word, count) in [("queued", queued), ("running", running), ("waiting", waiting), ("parked", parked)]
    {
        samples.set("subagentd_runs", &[("state", word)], count as f64);
    }
    let (slots, slot_queue, _) = state.executor.holdings();
    samples.set("subagentd_slots_in_use", &[], slots as f64);
    samples.set("subagentd_slot_queue_length", &[], slot_queue as f64);
    samples.set("subagentd_confirmations_open", &[], state.store.open_confirmations().await? as f64);
    samples.set("subagentd_clients", &[], state.clients.load.connections() as f64);
    samples.set("subagentd_subscriptions", &[], state.clients.load.subscriptions() as f64);
    for (client, lag) in state.clients.places.lags(state.store.head()) {
        samples.set("subagentd_subscription_lag_events", &[("client", &client)], lag as f64);
    }
    samples.set("subagentd_log_head", &[], state.store.head().0 as f64);
    samples.set("subagentd_database_bytes", &[], state.store.bytes().await? as f64);
    samples.set("subagentd_storage_full", &[], f64::from(u8::from(*state.store.fullness().borrow())));
    samples.histogram("subagentd_commit_duration_seconds", &[], &state.store.commit_times());
    for signal in OtlpSignal::ALL {
        let SignalCounts { sent, dropped, failures } = state.telemetry.otlp.counts.of(signal);
        let labels = [("signal", signal.as_str())];
        samples.set("subagentd_otlp_sent_total", &labels, sent as f64);
        samples.set("subagentd_otlp_dropped_total", &labels, dropped as f64);
        samples.set("subagentd_otlp_failures_total", &labels, failures as f64);
    }
    samples.set("subagentd_otlp_backlog_events", &[], state.telemetry.otlp.counts.backlog() as f64);
    if let Some(bytes) = process::rss_bytes() {
        samples.set("process_resident_memory_bytes", &[], bytes as f64);
    }
    state.telemetry.metrics.write(&mut samples);
    Ok(samples)
}
