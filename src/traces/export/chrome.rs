//! Trace events of Chrome ("Trace Event Format"), as Perfetto, speedscope and `chrome://tracing` open them: a process for each
//! trace, a track for each run, and further ones for calls that run at the same time.
//!
//! A span that has ended is one event with its time (`X`): readers that know a beginning and its end by their arguments do
//! not find those together which are told apart, since the arguments are known at the end alone.

use protocol::{SpanKind, TraceSpan};
use serde_json::{Value, json};

use crate::{SpanEdge, SpanPlace, text::numbered};

pub(super) const OPENING: &str = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
pub(super) const CLOSING: &str = "\n]}\n";

/// Readers keep these numbers in 32 bits.
const MOST_NUMBER: i64 = i32::MAX as i64;

/// Characters of a run's id that are shown.
const SHOWN_OF_ID: usize = 13;

pub(super) fn events(edge: &SpanEdge, place: SpanPlace) -> Vec<Value> {
    match edge {
        SpanEdge::Began(span) if place.is_new_track => track_names(span, place),
        // The span that it happened in has a mark for it.
        SpanEdge::Began(_) | SpanEdge::Resumed(..) => Vec::new(),
        SpanEdge::Ended(span) => {
            let (process, track) = (process(span), track(span, place));
            let (from, to) = (place.start_us, place.end_us.unwrap_or(place.start_us));
            // Each where it happened: readers put them in order.
            let marks = span.events.iter().map(|event| {
                json!({
                    "ph": "i", "s": "t", "name": event.name, "cat": "event", "ts": event.at_us.max(from).min(to), "pid": process,
                    "tid": track, "args": { "text": event.text },
                })
            });
            let mut events: Vec<Value> = marks.collect();
            events.push(json!({
                "ph": "X", "name": name(span), "cat": span.kind.as_str(), "ts": from, "dur": to.saturating_sub(from),
                "pid": process, "tid": track, "args": arguments(span),
            }));
            events
        }
        // Readers show that it has no end.
        SpanEdge::Open(span) => vec![json!({
            "ph": "B", "name": name(span), "cat": span.kind.as_str(), "ts": place.start_us, "pid": process(span),
            "tid": track(span, place), "args": arguments(span),
        })],
    }
}

/// The names of a track, as its first span begins.
fn track_names(span: &TraceSpan, place: SpanPlace) -> Vec<Value> {
    let (process, track) = (process(span), track(span, place));
    let mut events = Vec::new();
    let mut told = |what: &str, argument: Value| {
        events.push(json!({ "ph": "M", "name": what, "pid": process, "tid": track, "args": argument }));
    };
    let run = span.run_id.as_str();
    // The beginning of the id tells two runs of an agent apart.
    let run = run.get(..SHOWN_OF_ID).unwrap_or(run);
    if span.kind == SpanKind::Run && span.parent_span_id.is_none() {
        told("process_name", json!({ "name": format!("{} {}", span.name, span.trace_id) }));
    }
    let name = match span.kind {
        SpanKind::Run => format!("{} {run}", numbered(&span.name, span.run_number)),
        kind => {
            let agent = span.agent.as_ref().map(|agent| agent.as_str()).unwrap_or_default();
            let agent = numbered(agent, span.run_number);
            let what = match kind {
                SpanKind::Hook => "hooks".to_owned(),
                SpanKind::Tool if place.track == span.lane => {
                    format!("calls {}", span.lane.saturating_add(1))
                }
                _ => "beside its calls".to_owned(),
            };
            format!("{agent} {run} · {what}")
        }
    };
    told("thread_name", json!({ "name": name }));
    told("thread_sort_index", json!({ "sort_index": sort_index(span) }));
    events
}

fn name(span: &TraceSpan) -> String {
    match span.kind {
        SpanKind::Confirmation => format!("asks: {}", span.name),
        // Readers add up what has the same name.
        _ => span.name.clone(),
    }
}

/// The facts that are shown of a span when it is clicked on.
fn arguments(span: &TraceSpan) -> Value {
    let mut told = json!({ "status": span.status, "spanId": span.span_id, "runId": span.run_id });
    let Some(map) = told.as_object_mut() else { return told };
    let mut tell = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            map.insert(key.to_owned(), value);
        }
    };
    tell("error", span.error.as_ref().map(|error| json!(format!("{}: {}", error.kind, error.message))));
    tell("input", span.input.as_ref().map(|it| json!(it.text)));
    tell("output", span.output.as_ref().map(|it| json!(it.text)));
    tell("inputTokens", span.usage.map(|usage| json!(usage.prompt_tokens)));
    tell(
        "outputTokens",
        span.usage.map(|usage| json!(usage.output_tokens.saturating_add(usage.thought_tokens))),
    );
    tell("costUsd", span.cost.map(|cost| json!(cost.decimal())));
    tell("cachedTokens", count(span.usage.map(|usage| usage.cached_tokens)));
    tell("thoughtTokens", count(span.usage.map(|usage| usage.thought_tokens)));
    if let Some(llm) = &span.llm {
        tell("model", Some(json!(llm.model)));
        tell("hookId", llm.hook_id.as_ref().map(|it| json!(it)));
        tell("attempt", llm.attempt.filter(|attempt| 1 < *attempt).map(|it| json!(it)));
        tell("firstTokenMs", llm.first_token_ms.map(|ms| json!(ms)));
        tell("estimated", llm.estimated.then(|| json!(true)));
        tell("usageUnknown", llm.usage_unknown.then(|| json!(true)));
        tell("retryAfterMs", llm.retry_after_ms.map(|ms| json!(ms)));
    }
    if let Some(run) = &span.run {
        tell("told", run.prompt_sources.as_ref().map(|told| json!(told)));
        tell("reason", run.reason.as_ref().map(|it| json!(it)));
        tell("startedBy", run.started_by.as_ref().map(|it| json!(it)));
        tell("stoppedBy", run.stopped_by.as_ref().map(|it| json!(it)));
        tell("queuedMs", count(Some(run.queued_ms)));
        tell("hooksMs", count(Some(run.hooks_ms)));
        tell("waitsFor", run.waits_for.as_ref().map(|cause| json!(cause)));
        tell("message", run.message.as_ref().map(|it| json!(it)));
        tell("waitingMs", count(Some(run.waiting_ms)));
        tell("parkedMs", count(Some(run.parked_ms)));
        tell("downMs", count(Some(run.down_ms)));
        tell("restarts", count(Some(run.restarts)));
        tell("uncleanRestarts", count(Some(run.unclean_restarts)));
        tell("unpricedTokens", count(Some(run.unpriced_tokens)));
        tell("childUnpricedTokens", count(Some(run.child_unpriced_tokens)));
        tell("estimatedRequests", count(Some(run.estimated_requests)));
        tell("uncountedRequests", count(Some(run.uncounted_requests)));
        tell("childEstimatedRequests", count(Some(run.child_estimated_requests)));
        tell("childUncountedRequests", count(Some(run.child_uncounted_requests)));
        tell("childTokens", count(run.child_usage.map(|usage| usage.total())));
        tell("childCostUsd", run.child_cost.map(|cost| json!(cost.decimal())));
    }
    if let Some(tool) = &span.tool {
        tell("requestedBy", tool.requested_by.as_ref().map(|it| json!(it)));
        tell("follows", tool.follows.as_ref().map(|it| json!(it)));
        tell("askedInput", tool.asked_input.as_ref().map(|it| json!(it.text)));
        tell("changedBy", (!tool.changed_by.is_empty()).then(|| json!(tool.changed_by)));
        tell("changes", (!tool.changes.is_empty()).then(|| json!(tool.changes)));
        tell("resultChangedBy", tool.result_changed_by.as_ref().map(|it| json!(it)));
        tell("resultWithheld", tool.result_withheld.then(|| json!(true)));
        tell("about", tool.description.as_ref().map(|it| json!(it)));
        tell("waitedMs", count(tool.waited_ms));
        tell("downMs", count(Some(tool.down_ms)));
        let files: Vec<String> =
            tool.files_changed.iter().map(|file| format!("{} {}", file.path, file.change)).collect();
        tell("filesChanged", (!files.is_empty()).then(|| json!(files)));
    }
    if let Some(asked) = &span.confirmation {
        tell("rule", Some(json!(asked.rule)));
        tell("because", Some(json!(asked.reason)));
        tell("version", asked.version.map(|version| json!(version)));
        tell("editedInput", asked.edited_input.as_ref().map(|it| json!(it.text)));
    }
    tell("hook", span.hook.as_ref().map(|hook| json!(hook)));
    tell("server", span.mcp.as_ref().map(|request| json!(request.server)));
    let of_call = span.tool.as_ref().and_then(|tool| tool.decision.as_ref());
    let of_question = span.confirmation.as_ref().and_then(|it| it.decision.as_ref());
    tell("decision", of_call.or(of_question).map(|decision| json!(decision)));
    told
}

/// Nothing where there is none.
fn count(count: Option<u64>) -> Option<Value> {
    count.filter(|count| *count != 0).map(|count| json!(count))
}

fn process(span: &TraceSpan) -> i64 {
    hash(span.trace_id.as_str())
}

/// The place of a track: in the order in which they began, callers above those they call.
fn sort_index(span: &TraceSpan) -> i64 {
    i64::from_str_radix(span.span_id.as_str(), 16).unwrap_or_default() % MOST_NUMBER
}

/// The track of the run; calls that run at the same time have one of their own each.
fn track(span: &TraceSpan, place: SpanPlace) -> i64 {
    match place.track {
        0 => hash(span.run_id.as_str()),
        track => hash(&format!("{}/{track}", span.run_id)),
    }
}

/// A number for an id, the same on every page of a document.
fn hash(id: &str) -> i64 {
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let folded = (hash >> 32) ^ (hash & 0xffff_ffff);
    i64::try_from(folded).unwrap_or_default() % MOST_NUMBER
}
