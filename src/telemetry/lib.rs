//! What does somebody else's observability learn of this daemon? Traces, metrics and logs, sent by the OpenTelemetry protocol to
//! the collector that settings or OpenTelemetry's own variables name (spec 10, "OTLP"); nothing where they name none.
//!
//! The log is the queue: [`TraceExporter`] follows it from a place that the database keeps, so what a collector missed while it, or
//! the daemon, was away comes later. Spans are derived from events and so are their ids: what is sent twice is the same span. Nobody
//! waits for any of this, and each request has a deadline, a bound on its answer, and follows no redirect. Metrics and logs are of
//! the moment: what cannot be sent is gone. [`LocalSpans`] takes the same spans to files, or into the daemon's log.

mod collector;
mod counts;
mod exporter;
mod feed;
mod local;
mod logs;
mod messages;
mod metrics;
mod sender;
mod targets;
mod traced;

pub use collector::{DeliveryError, OtlpCollector};
pub use counts::{CollectorRefusal, OtlpCounts, OtlpSignal, SignalCounts};
pub use exporter::{ExporterParts, TraceExporter};
pub use local::{LocalSpanParts, LocalSpans, LocalTracing, SpanFiles, SpanLog};
pub use logs::{LogEntry, LogExporter, LogQueue, LogSeverity};
pub use metrics::{MetricExporter, MetricFamily, MetricKind, MetricReader, MetricSeries, MetricValue};
pub use targets::{OtlpTarget, OtlpTargets, targets};

/// A daemon that stops sends what it has in so much time; the next one sends the rest.
pub(crate) const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(2);

#[cfg(test)]
mod tests;
