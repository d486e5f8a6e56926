//! Which figures does the daemon have, and how does Prometheus read them (spec 10, "Metrics")?
//!
//! `metrics/catalogue.rs` has every metric with what it means, `metrics/counts.rs` what is counted span by span,
//! `metrics/text.rs` what was measured and its text. Knows no store and no clock; `metrics_collector.rs` brings what is counted.

mod catalogue;
mod counts;
mod text;

pub(super) use self::{
    catalogue::METRICS,
    counts::{RunMetrics, timed},
    text::MetricSamples,
};
