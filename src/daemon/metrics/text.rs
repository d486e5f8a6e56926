//! Prometheus' text format, version 0.0.4: what stands in it, in which order, and how labels are written.

use std::{collections::BTreeMap, fmt::Write as _};

use sys::histogram::DurationCounts;

/// A metric as the catalogue has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MetricDescription {
    pub name: &'static str,
    pub kind: MetricKind,
    /// One line, without a backslash.
    pub help: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Gauge,
    Counter,
    Histogram,
}

impl MetricKind {
    fn as_str(self) -> &'static str {
        match self {
            MetricKind::Gauge => "gauge",
            MetricKind::Counter => "counter",
            MetricKind::Histogram => "histogram",
        }
    }
}

/// Gathers samples in any order and writes them in that of the catalogue.
pub(crate) struct MetricsText {
    catalogue: &'static [MetricDescription],
    samples: BTreeMap<&'static str, String>,
}

type Labels<'a> = [(&'static str, &'a str)];

impl MetricsText {
    pub fn new(catalogue: &'static [MetricDescription]) -> MetricsText {
        MetricsText { catalogue, samples: BTreeMap::new() }
    }

    /// A gauge, or a counter.
    pub fn set(&mut self, name: &'static str, labels: &Labels<'_>, value: f64) {
        let lines = self.samples.entry(name).or_default();
        let _infallible = writeln!(lines, "{name}{} {value}", written(labels, None));
    }

    pub fn histogram(&mut self, name: &'static str, labels: &Labels<'_>, counts: &DurationCounts) {
        let lines = self.samples.entry(name).or_default();
        let DurationCounts { up_to, count, sum_us } = counts;
        for (bound_us, count) in up_to {
            let bound = seconds(*bound_us).to_string();
            let _infallible = writeln!(lines, "{name}_bucket{} {count}", written(labels, Some(&bound)));
        }
        let _infallible = writeln!(lines, "{name}_bucket{} {count}", written(labels, Some("+Inf")));
        let _infallible = writeln!(lines, "{name}_sum{} {}", written(labels, None), seconds(*sum_us));
        let _infallible = writeln!(lines, "{name}_count{} {count}", written(labels, None));
    }

    /// A metric without samples is described all the same, so that whoever looks knows that it is there.
    pub fn into_string(self) -> String {
        let mut text = String::new();
        for MetricDescription { name, kind, help } in self.catalogue {
            let _infallible = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {}", kind.as_str());
            text.push_str(self.samples.get(name).map(String::as_str).unwrap_or_default());
        }
        text
    }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn written(labels: &Labels<'_>, bound: Option<&str>) -> String {
    let labels = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
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
        let mut text = MetricsText::new(CATALOGUE);
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
        .assert_eq(&text.into_string());
    }
}
