//! The daemon's figures, sent again and again: all of them each time, so that one that was not taken is made good by the next.

use std::{future::pending, pin::Pin, sync::Arc};

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    metrics::v1::{
        AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
        ResourceMetrics, ScopeMetrics, Sum, metric, number_data_point,
    },
};
use sys::histogram::DurationCounts;

use crate::{
    ExporterParts, LAST_WORDS, OtlpSignal, OtlpTargets,
    messages::{self, nanos, scope, text},
    sender::BatchFate,
};

/// A way to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Gauge,
    Counter,
    /// Durations by upper bounds.
    Histogram,
}

/// A metric with all its series.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricFamily {
    pub name: &'static str,
    pub help: &'static str,
    pub kind: MetricKind,
    pub series: Vec<MetricSeries>,
}

/// One series of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSeries {
    pub labels: Vec<(&'static str, String)>,
    pub value: MetricValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    Number(f64),
    Durations(DurationCounts),
}

/// Reads all metrics as of now; `None` = they cannot be read at the moment.
pub type MetricReader =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Option<Vec<MetricFamily>>> + Send>> + Send + Sync>;

/// Sends metrics as long as the daemon lives, and once more when it stops.
pub struct MetricExporter {
    parts: ExporterParts,
    read: MetricReader,
}

impl MetricExporter {
    pub fn new(parts: ExporterParts, read: MetricReader) -> MetricExporter {
        MetricExporter { parts, read }
    }

    /// Until the daemon stops. Nobody waits for it.
    pub async fn run(&self) {
        let mut targets = self.parts.targets.clone();
        loop {
            let in_force = Arc::clone(&targets.borrow_and_update());
            tokio::select! {
                () = self.parts.stop.cancelled() => {
                    // On the system's clock, as all of a stop.
                    let _nobody_waits = tokio::time::timeout(LAST_WORDS, self.send_once(&in_force)).await;
                    return;
                }
                changed = targets.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = self.send_always(&in_force) => {}
            }
        }
    }

    async fn send_always(&self, targets: &OtlpTargets) {
        let Some(target) = &targets.metrics else { return pending().await };
        let mut sender = self.parts.sender(target, OtlpSignal::Metrics);
        loop {
            self.parts.clock.sleep(targets.metric_interval).await;
            if let Some((points, request)) = self.request(targets).await {
                let body = messages::encoded(&request, sender.protocol());
                if let BatchFate::Again(pause) = sender.attempt(points, body).await {
                    // The next one has all that this one had. One who asks for patience gets it.
                    sender.gave_up();
                    self.parts.clock.sleep(pause.saturating_sub(targets.metric_interval)).await;
                }
            }
        }
    }

    async fn send_once(&self, targets: &OtlpTargets) {
        let Some(target) = &targets.metrics else { return };
        let mut sender = self.parts.sender(target, OtlpSignal::Metrics);
        if let Some((points, request)) = self.request(targets).await {
            let body = messages::encoded(&request, sender.protocol());
            let _the_last = sender.attempt(points, body).await;
        }
    }

    async fn request(&self, targets: &OtlpTargets) -> Option<(usize, ExportMetricsServiceRequest)> {
        let families = (self.read)().await?;
        let points = families.iter().map(|family| family.series.len()).sum();
        let (from, now) = (nanos(self.parts.started_at.0), nanos(self.parts.clock.now().0));
        let metrics = families.into_iter().filter(|family| !family.series.is_empty());
        let metrics = metrics.map(|family| metric(family, from, now)).collect();
        let of_scope =
            ScopeMetrics { scope: Some(scope(self.parts.version)), metrics, ..ScopeMetrics::default() };
        let of_resource = ResourceMetrics {
            resource: Some(self.parts.resource(targets).message()),
            scope_metrics: vec![of_scope],
            ..ResourceMetrics::default()
        };
        Some((points, ExportMetricsServiceRequest { resource_metrics: vec![of_resource] }))
    }
}

fn metric(family: MetricFamily, from: u64, now: u64) -> Metric {
    let MetricFamily { name, help, kind, series } = family;
    let (mut numbers, mut histograms) = (Vec::new(), Vec::new());
    for MetricSeries { labels, value } in series {
        let attributes = labels.iter().map(|(name, value)| text(name, value)).collect();
        match value {
            MetricValue::Number(number) => numbers.push(NumberDataPoint {
                attributes,
                // What is as of now began at no time.
                start_time_unix_nano: if kind == MetricKind::Gauge { 0 } else { from },
                time_unix_nano: now,
                value: Some(number_data_point::Value::AsDouble(number)),
                ..NumberDataPoint::default()
            }),
            MetricValue::Durations(counts) => histograms.push(HistogramDataPoint {
                attributes,
                start_time_unix_nano: from,
                time_unix_nano: now,
                count: counts.count,
                sum: Some(seconds(counts.sum_us)),
                bucket_counts: buckets(&counts),
                explicit_bounds: counts.up_to.iter().map(|(bound, _)| seconds(*bound)).collect(),
                ..HistogramDataPoint::default()
            }),
        }
    }
    let temporality = i32::from(AggregationTemporality::Cumulative);
    let data = match kind {
        MetricKind::Gauge => metric::Data::Gauge(Gauge { data_points: numbers }),
        MetricKind::Counter => metric::Data::Sum(Sum {
            data_points: numbers,
            aggregation_temporality: temporality,
            is_monotonic: true,
        }),
        MetricKind::Histogram => metric::Data::Histogram(Histogram {
            data_points: histograms,
            aggregation_temporality: temporality,
        }),
    };
    Metric {
        name: name.to_owned(),
        description: help.to_owned(),
        unit: unit(name).to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

/// Counts of each bucket by itself, and of what is beyond the last: ours are of all up to a bound.
fn buckets(counts: &DurationCounts) -> Vec<u64> {
    let up_to = counts.up_to.iter().map(|(_, count)| *count).chain([counts.count]);
    let mut before = 0;
    up_to
        .map(|count| {
            let of_bucket = count.saturating_sub(before);
            before = count.max(before);
            of_bucket
        })
        .collect()
}

/// Reads the unit from the name's end, as Prometheus has it.
fn unit(name: &str) -> &'static str {
    match name.trim_end_matches("_total").rsplit('_').next() {
        Some("seconds") => "s",
        Some("bytes") => "By",
        _ => "1",
    }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}
