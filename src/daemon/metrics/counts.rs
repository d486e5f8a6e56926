//! What runs did since the daemon started, counted span by span.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use super::text::MetricSamples;
use protocol::{
    BUILTIN_TOOLS, DaemonCounts, EventSeq, SpanKind, SpanStatus, TimedCount, ToolSpan, TraceSpan, Usage,
    UsdAmount,
};
use sys::histogram::{DurationCounts, DurationHistogram};
use traces::SpanEdge;

/// Series of one metric. Names of models and tools come from others, who can make up any number; what is beyond counts as
/// [`OTHERS`].
const MOST_SERIES: usize = 200;

const OTHERS: &str = "others";

/// Bytes of a label: a name that a model makes up may be as long as what it writes.
const LONGEST_LABEL: usize = 128;

/// The series of all calls of tools that there are not.
const UNKNOWN: &str = "unknown";

/// Bounds in microseconds: from a read of a small file to a command of half an hour.
const BOUNDS_US: &[u64] = &[
    1_000,
    5_000,
    25_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
    1_800_000_000,
];

/// Bounds in microseconds: from a glance to a night.
const ANSWER_BOUNDS_US: &[u64] = &[
    1_000_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
    900_000_000,
    3_600_000_000,
    14_400_000_000,
    43_200_000_000,
];

/// Counts of what runs did since the daemon started.
pub(crate) struct RunMetrics {
    counts: Mutex<SeriesCounts>,
    /// The place in the log up to which it is counted.
    counted_to: AtomicI64,
}

struct SeriesCounts {
    runs_ended: BTreeMap<String, u64>,
    /// Requests by model and status.
    model_requests: BTreeMap<(String, &'static str), u64>,
    models: BTreeMap<String, ModelCounts>,
    /// Calls by tool and status.
    tool_calls: BTreeMap<(String, &'static str), u64>,
    tools: BTreeMap<String, DurationHistogram>,
    /// Questions by outcome and source.
    confirmations: BTreeMap<(String, String), u64>,
    answers: DurationHistogram,
    /// All requests and calls together.
    requests: TotalCount,
    calls: TotalCount,
}

/// Things of all kinds together.
struct TotalCount {
    count: u64,
    failed: u64,
    duration: DurationHistogram,
}

impl TotalCount {
    fn new() -> TotalCount {
        TotalCount { count: 0, failed: 0, duration: DurationHistogram::new(BOUNDS_US) }
    }

    fn add(&mut self, status: SpanStatus) {
        self.count += 1;
        self.failed += u64::from(status == SpanStatus::Error);
    }

    fn timed(&self) -> TimedCount {
        TimedCount { count: self.count, ..timed(&self.duration.counts(), self.failed) }
    }
}

/// A histogram in short.
pub(crate) fn timed(counts: &DurationCounts, failed: u64) -> TimedCount {
    let share =
        |share| counts.share_within(share).map(|it| u64::try_from(it.as_micros()).unwrap_or(u64::MAX));
    TimedCount { count: counts.count, failed, p50_us: share(0.5), p99_us: share(0.99) }
}

struct ModelCounts {
    duration: DurationHistogram,
    first_token: DurationHistogram,
    usage: Usage,
    cost: UsdAmount,
}

impl Default for ModelCounts {
    fn default() -> ModelCounts {
        let (duration, first_token) = (DurationHistogram::new(BOUNDS_US), DurationHistogram::new(BOUNDS_US));
        ModelCounts { duration, first_token, usage: Usage::default(), cost: UsdAmount::ZERO }
    }
}

impl RunMetrics {
    /// Counts nothing yet; what comes after this place is to be counted.
    pub fn after(seq: EventSeq) -> RunMetrics {
        let counts = SeriesCounts {
            runs_ended: BTreeMap::new(),
            model_requests: BTreeMap::new(),
            models: BTreeMap::new(),
            tool_calls: BTreeMap::new(),
            tools: BTreeMap::new(),
            confirmations: BTreeMap::new(),
            answers: DurationHistogram::new(ANSWER_BOUNDS_US),
            requests: TotalCount::new(),
            calls: TotalCount::new(),
        };
        RunMetrics { counts: Mutex::new(counts), counted_to: AtomicI64::new(seq.0) }
    }

    pub fn counted_to(&self) -> EventSeq {
        EventSeq(self.counted_to.load(Ordering::Relaxed))
    }

    pub fn reaches(&self, seq: EventSeq) {
        self.counted_to.store(seq.0, Ordering::Relaxed);
    }

    pub fn summary(&self) -> DaemonCounts {
        let counts = self.lock();
        let (mut usage, mut cost) = (Usage::default(), UsdAmount::ZERO);
        for of_model in counts.models.values() {
            usage += of_model.usage;
            cost += of_model.cost;
        }
        DaemonCounts {
            runs_ended: counts.runs_ended.clone(),
            model_requests: counts.requests.timed(),
            tool_calls: counts.calls.timed(),
            answers: timed(&counts.answers.counts(), 0),
            usage,
            cost,
            ..DaemonCounts::default()
        }
    }

    /// Counts the spans that ended.
    pub fn count(&self, edges: &[SpanEdge]) {
        let mut counts = self.lock();
        for edge in edges {
            if let SpanEdge::Ended(span) = edge {
                counts.add(span);
            }
        }
    }

    pub fn write(&self, text: &mut MetricSamples) {
        let counts = self.lock();
        for (reason, count) in &counts.runs_ended {
            text.set("subagentd_runs_ended_total", &[("reason", reason)], *count as f64);
        }
        for ((model, status), count) in &counts.model_requests {
            let labels = [("model", model.as_str()), ("status", status)];
            text.set("subagentd_model_requests_total", &labels, *count as f64);
        }
        for (model, of_model) in &counts.models {
            let ModelCounts { duration, first_token, usage, cost } = of_model;
            let labels = [("model", model.as_str())];
            text.histogram("subagentd_model_request_duration_seconds", &labels, &duration.counts());
            text.histogram("subagentd_model_first_token_seconds", &labels, &first_token.counts());
            let kinds = [
                ("input", usage.prompt_tokens),
                ("cached", usage.cached_tokens),
                ("cache_write", usage.cache_write_tokens),
                ("output", usage.output_tokens),
                ("thought", usage.thought_tokens),
            ];
            for (kind, tokens) in kinds {
                text.set("subagentd_tokens_total", &[("model", model), ("kind", kind)], tokens as f64);
            }
            text.set("subagentd_cost_usd_total", &labels, cost.nanos() as f64 / 1e9);
        }
        for ((tool, status), count) in &counts.tool_calls {
            let labels = [("tool", tool.as_str()), ("status", status)];
            text.set("subagentd_tool_calls_total", &labels, *count as f64);
        }
        for (tool, duration) in &counts.tools {
            let labels = [("tool", tool.as_str())];
            text.histogram("subagentd_tool_call_duration_seconds", &labels, &duration.counts());
        }
        for ((outcome, source), count) in &counts.confirmations {
            let labels = [("outcome", outcome.as_str()), ("source", source.as_str())];
            text.set("subagentd_confirmations_total", &labels, *count as f64);
        }
        text.histogram("subagentd_confirmation_answer_seconds", &[], &counts.answers.counts());
    }

    fn lock(&self) -> MutexGuard<'_, SeriesCounts> {
        // Nothing in here panics half-way, so a poisoned lock guards whole counts.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeriesCounts {
    /// The name under which a call counts: of tools that there are. A call of one that there is not was never judged, and so is of no kind.
    fn series_of(&self, tool: &ToolSpan) -> String {
        let name = tool.tool.as_str();
        let is_known = tool.kind.is_some()
            || BUILTIN_TOOLS.contains(&name)
            || self.tool_calls.keys().any(|(known, _)| *known == label(name));
        label(if is_known { name } else { UNKNOWN })
    }

    fn add(&mut self, span: &TraceSpan) {
        let status = span.status.as_str();
        match span.kind {
            SpanKind::Run => {
                let reason =
                    span.run.as_ref().and_then(|run| run.reason.as_deref()).map(label).unwrap_or_default();
                *series(&mut self.runs_ended, reason, OTHERS.to_owned()) += 1;
            }
            SpanKind::Llm => {
                let model = span.llm.as_ref().map(|llm| label(&llm.model)).unwrap_or_default();
                let others = || (OTHERS.to_owned(), status);
                *series(&mut self.model_requests, (model.clone(), status), others()) += 1;
                self.requests.add(span.status);
                let of_model = series(&mut self.models, model, OTHERS.to_owned());
                // Of one that is told only when its call ends nobody knows how long it took.
                if let Some(took) = took(span).filter(|took| !took.is_zero()) {
                    of_model.duration.count(took);
                    self.requests.duration.count(took);
                }
                if let Some(ms) = span.llm.as_ref().and_then(|llm| llm.first_token_ms) {
                    of_model.first_token.count(Duration::from_millis(ms));
                }
                of_model.usage += span.usage.unwrap_or_default();
                of_model.cost += span.cost.unwrap_or(UsdAmount::ZERO);
            }
            SpanKind::Tool => {
                let Some(tool) = span.tool.as_deref() else { return };
                let name = self.series_of(tool);
                let others = || (OTHERS.to_owned(), status);
                *series(&mut self.tool_calls, (name.clone(), status), others()) += 1;
                self.calls.add(span.status);
                // One that never ran took no time.
                if let (Some(whole), Some(waited)) = (took(span), tool.waited_ms) {
                    // Nor does one run while there is no daemon.
                    let stood_still = Duration::from_millis(waited.saturating_add(tool.down_ms));
                    let ran = whole.saturating_sub(stood_still);
                    series_by(&mut self.tools, name, OTHERS.to_owned(), || DurationHistogram::new(BOUNDS_US))
                        .count(ran);
                    self.calls.duration.count(ran);
                }
            }
            SpanKind::Confirmation => {
                let decision = span.confirmation.as_ref().and_then(|asked| asked.decision.clone());
                let decision = decision.unwrap_or_default();
                let others = (OTHERS.to_owned(), OTHERS.to_owned());
                let is_of_a_person = decision.source == "client";
                let key = (label(&decision.outcome), label(&decision.source));
                // One that is asked again is not over.
                if !matches!(decision.outcome.as_str(), "edited" | "stale") {
                    *series(&mut self.confirmations, key, others) += 1;
                }
                if let (true, Some(ms)) = (is_of_a_person, decision.waited_ms) {
                    self.answers.count(Duration::from_millis(ms));
                }
            }
            SpanKind::Turn | SpanKind::Compression | SpanKind::Hook | SpanKind::Mcp => {}
        }
    }
}

/// A name as a label.
fn label(name: &str) -> String {
    match name.len() <= LONGEST_LABEL {
        true => name.to_owned(),
        false => format!("{}…", &name[..name.floor_char_boundary(LONGEST_LABEL - '…'.len_utf8())]),
    }
}

fn took(span: &TraceSpan) -> Option<Duration> {
    let us = span.end_us?.saturating_sub(span.start_us);
    Some(Duration::from_micros(u64::try_from(us).ok()?))
}

fn series<K: Ord, V: Default>(series: &mut BTreeMap<K, V>, key: K, others: K) -> &mut V {
    series_by(series, key, others, V::default)
}

/// The series of a key; of one that there is no room for, that of all others.
fn series_by<K: Ord, V>(series: &mut BTreeMap<K, V>, key: K, others: K, make: fn() -> V) -> &mut V {
    let has_room = series.len() < MOST_SERIES || series.contains_key(&key);
    series.entry(if has_room { key } else { others }).or_insert_with(make)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model makes up names, long ones too, and calls what there is.
    #[test]
    fn made_up_names_of_tools_are_one_series_and_no_label_is_long() {
        let mut counts = RunMetrics::after(EventSeq(0));
        let call = |name: String, kind: Option<&str>| ToolSpan {
            call_id: "c".into(),
            tool: name.as_str().into(),
            server: None,
            description: None,
            kind: kind.map(str::to_owned),
            risk: None,
            decision: None,
            requested_by: None,
            follows: None,
            follows_tool: None,
            asked_input: None,
            changed_by: Vec::new(),
            changes: Vec::new(),
            result_changed_by: None,
            result_withheld: false,
            waited_ms: None,
            down_ms: 0,
            child_run_id: None,
            files_changed: Vec::new(),
        };
        let counts = counts.counts.get_mut().unwrap();
        for n in 0..2 * MOST_SERIES {
            assert_eq!(counts.series_of(&call(format!("made-up-{n}"), None)), UNKNOWN);
        }
        assert_eq!(counts.series_of(&call("read_file".to_owned(), None)), "read_file");
        let long = counts.series_of(&call("ü".repeat(60_000), Some("read")));
        assert!(long.len() <= LONGEST_LABEL && long.ends_with('…'), "{long}");
        counts.tool_calls.insert(("mcp.x.y".to_owned(), SpanStatus::Ok.as_str()), 1);
        assert_eq!(counts.series_of(&call("mcp.x.y".to_owned(), None)), "mcp.x.y");
    }

    #[test]
    fn names_of_others_make_no_more_series_than_there_is_room_for() {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for n in 0..3 * MOST_SERIES {
            *series(&mut counts, format!("tool{n}"), OTHERS.to_owned()) += 1;
            *series(&mut counts, "tool0".to_owned(), OTHERS.to_owned()) += 1;
        }
        assert_eq!(counts.len(), MOST_SERIES + 1);
        assert_eq!(counts["tool0"], 3 * MOST_SERIES as u64 + 1);
        assert_eq!(counts[OTHERS], 2 * MOST_SERIES as u64);
    }
}
