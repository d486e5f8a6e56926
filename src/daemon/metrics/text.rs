//! What is measured at one moment, and Prometheus' text format of it, version 0.0.4: in which order, and how labels are written.

use std::{collections::BTreeMap, fmt::Write as _};

use sys::histogram::DurationCounts;
use telemetry::{MetricFamily, MetricKind, MetricSeries, MetricValue};

/// A metric as the catalogue has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MetricDescription {
    pub name: &'static str,
    pub kind: MetricKind,
    /// One line, without a backslash.
    pub help: &'static str,
}

fn word(kind: MetricKind) -> &'static str {
    match kind {
        MetricKind::Gauge => "gauge",
        MetricKind::Counter => "counter",
        MetricKind::Histogram => "histogram",
    }
}

/// Gathers samples in any order, and has them in that of the catalogue.
pub(crate) struct MetricSamples {
    catalogue: &'static [MetricDescription],
    samples: BTreeMap<&'static str, Vec<MetricSeries>>,
}

type Labels<'a> = [(&'static str, &'a str)];

impl MetricSamples {
    pub fn new(catalogue: &'static [MetricDescription]) -> MetricSamples {
        MetricSamples { catalogue, samples: BTreeMap::new() }
    }

    /// A gauge, or a counter.
    pub fn set(&mut self, name: &'static str, labels: &Labels<'_>, value: f64) {
        self.add(name, labels, MetricValue::Number(value));
    }

    pub fn histogram(&mut self, name: &'static str, labels: &Labels<'_>, counts: &DurationCounts) {
        self.add(name, labels, MetricValue::Durations(counts.clone()));
    }

    fn add(&mut self, name: &'static str, labels: &Labels<'_>, value: MetricValue) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.samples.entry(name).or_default().push(MetricSeries { labels, value });
    }

    /// All metrics of the catalogue, also those without samples.
    pub fn into_families(mut self) -> Vec<MetricFamily> {
        let family = |description: &MetricDescription| {
            let MetricDescription { name, kind, help } = *description;
            MetricFamily { name, kind, help, series: self.samples.remove(name).unwrap_or_default() }
        };
        self.catalogue.iter().map(family).collect()
    }

    /// A metric without samples is described all the same, so that whoever looks knows that it is there.
    pub fn into_text(self) -> String {
        let mut text = String::new();
        for MetricFamily { name, kind, help, series } in self.into_families() {
            let _infallible = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {}", word(kind));
            for MetricSeries { labels, value } in &series {
                write(&mut text, name, labels, value);
            }
        }
        text
    }
}

fn write(text: &mut String, name: &str, labels: &[(&'static str, String)], value: &MetricValue) {
    match value {
        MetricValue::Number(value) => {
            let _infallible = writeln!(text, "{name}{} {value}", written(labels, None));
        }
        MetricValue::Durations(DurationCounts { up_to, count, sum_us }) => {
            for (bound_us, count) in up_to {
                let bound = seconds(*bound_us).to_string();
                let _infallible = writeln!(text, "{name}_bucket{} {count}", written(labels, Some(&bound)));
            }
            let _infallible = writeln!(text, "{name}_bucket{} {count}", written(labels, Some("+Inf")));
            let _infallible = writeln!(text, "{name}_sum{} {}", written(labels, None), seconds(*sum_us));
            let _infallible = writeln!(text, "{name}_count{} {count}", written(labels, None));
        }
    }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn written(labels: &[(&'static str, String)], bound: Option<&str>) -> String {
    let labels = labels.iter().map(|(name, value)| (*name, value.as_str()));
    let labels = labels.chain(bound.map(|bound| ("le", bound)));
    let labels: Vec<String> = labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
}

/// Words of others: what would end a label or a line is written as the format has it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CATALOGUE: &[MetricDescription] = &[
        MetricDescription { name: "b_total", kind: MetricKind::Counter, help: "B." },
        MetricDescription { name: "a_seconds", kind: MetricKind::Histogram, help: "A." },
        MetricDescription { name: "c", kind: MetricKind::Gauge, help: "C." },
    ];

    #[test]
    fn text_is_as_the_format_has_it() {
        let mut text = MetricSamples::new(CATALOGUE);
        let counts = DurationCounts { up_to: vec![(500, 1), (2_000_000, 2)], count: 3, sum_us: 7_500_000 };
        text.histogram("a_seconds", &[("tool", "x")], &counts);
        text.set("b_total", &[("model", "a\"b\\c\nd")], 3.0);
        expect_test::expect![[r#"
            # HELP b_total B.
            # TYPE b_total counter
            b_total{model="a\"b\\c\nd"} 3
            # HELP a_seconds A.
            # TYPE a_seconds histogram
            a_seconds_bucket{tool="x",le="0.0005"} 1
            a_seconds_bucket{tool="x",le="2"} 2
            a_seconds_bucket{tool="x",le="+Inf"} 3
            a_seconds_sum{tool="x"} 7.5
            a_seconds_count{tool="x"} 3
            # HELP c C.
            # TYPE c gauge
        "#]]
        .assert_eq(&text.into_text());
    }
}
