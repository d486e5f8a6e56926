//! Who sends traces, metrics and the log to collectors, and writes traces to files and the log? A task each, as long as the daemon
//! lives.

use std::sync::Arc;

use super::{
    log_export::LINES,
    metrics_collector::{self, MetricsCollector},
    settings_in_force::SettingsInForce,
};
use sys::tasks::TaskGroup;
use telemetry::{
    ExporterParts, LocalSpanParts, LocalSpans, LogExporter, MetricExporter, MetricReader, SpanFiles, SpanLog,
    TraceExporter,
};

/// The folder of the files of spans, below the daemon's state folder.
pub(super) const SPAN_FILES: &str = "traces";

/// Begins what sends. It goes on until everything ends, which is after the last run.
pub(super) fn begin(state: &Arc<MetricsCollector>, settings: &SettingsInForce, tasks: &TaskGroup) {
    let parts = ExporterParts {
        clock: Arc::clone(&state.life.clock),
        redactor: Arc::clone(&settings.redactor),
        targets: state.telemetry.otlp.targets.subscribe(),
        counts: Arc::clone(&state.telemetry.otlp.counts),
        version: env!("CARGO_PKG_VERSION"),
        instance: state.life.instance.clone(),
        started_at: state.life.started_at,
        stop: state.life.stop.clone(),
    };
    let for_traces = (state.store.clone(), parts.clone());
    let send_traces = move || {
        let (store, parts) = for_traces.clone();
        async move { TraceExporter::new(store, parts).run().await }
    };
    tasks.keep("what sends traces", state.life.stop.clone(), send_traces);
    let for_metrics = parts.clone();
    let read = reader(state);
    let send_metrics = move || {
        let (parts, read) = (for_metrics.clone(), Arc::clone(&read));
        async move { MetricExporter::new(parts, read).run().await }
    };
    tasks.keep("what sends metrics", state.life.stop.clone(), send_metrics);
    let send_logs = move || {
        let parts = parts.clone();
        async move { LogExporter::new(parts, &LINES).run().await }
    };
    tasks.keep("what sends the log", state.life.stop.clone(), send_logs);
    let local = LocalSpanParts {
        store: state.store.clone(),
        clock: Arc::clone(&state.life.clock),
        redactor: Arc::clone(&settings.redactor),
        in_force: state.telemetry.otlp.local.subscribe(),
        stop: state.life.stop.clone(),
    };
    let (for_files, folder) = (local.clone(), settings.state_dir.join(SPAN_FILES));
    let most_bytes = state.telemetry.otlp.most_file_bytes.subscribe();
    let write_files = move || {
        let (parts, files) = (for_files.clone(), SpanFiles::new(folder.clone(), most_bytes.clone()));
        async move { LocalSpans::new(parts, files).run().await }
    };
    tasks.keep("what writes files of traces", state.life.stop.clone(), write_files);
    let write_log = move || {
        let parts = local.clone();
        async move { LocalSpans::new(parts, SpanLog).run().await }
    };
    tasks.keep("what writes traces into the log", state.life.stop.clone(), write_log);
}

/// Holds nothing of a daemon that has gone.
fn reader(state: &Arc<MetricsCollector>) -> MetricReader {
    let state = Arc::downgrade(state);
    Arc::new(move || {
        let state = state.upgrade();
        Box::pin(async move {
            match metrics_collector::samples(&*state?).await {
                Ok(samples) => Some(samples.into_families()),
                Err(error) => {
                    tracing::warn!(%error, "the metrics cannot be read to be sent");
                    None
                }
            }
        })
    })
}
