//! Trace events of Chrome ("Trace Event Format"), as Perfetto and `chrome://tracing` open them: a process for each trace, a
//! track for each run, and further ones for calls that run at the same time.
//!
//! Beginnings and ends stand in the order of the log, so that spans which begin at the same microsecond lie within each
//! other all the same.

use protocol::{SpanKind, TraceSpan};
use serde_json::{Value, json};

use crate::SpanEdge;

pub(super) const OPENING: &str = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
pub(super) const CLOSING: &str = "\n]}\n";

/// Readers keep these numbers in 32 bits.
const MOST_NUMBER: i64 = i32::MAX as i64;

pub(super) fn events(edge: &SpanEdge) -> Vec<Value> {
    match edge {
        SpanEdge::Began(span) => began(span),
        SpanEdge::Ended(span) => vec![json!({
            "ph": "E", "name": name(span), "cat": span.kind.as_str(), "ts": span.end_us.unwrap_or(span.start_us), "pid": process(span), "tid": track(span),
            "args": arguments(span),
        })],
        // It has a beginning, and readers show that it has no end.
        SpanEdge::Open(_) => Vec::new(),
    }
}

fn began(span: &TraceSpan) -> Vec<Value> {
    let (process, track) = (process(span), track(span));
    let mut events = Vec::new();
    let mut named = |what: &str, name: String| {
        events
            .push(json!({ "ph": "M", "name": what, "pid": process, "tid": track, "args": { "name": name } }));
    };
    if span.kind == SpanKind::Run {
        if span.parent_span_id.is_none() {
            named("process_name", format!("{} {}", span.name, span.trace_id));
        }
        named("thread_name", format!("{} {}", span.name, span.run_id));
    } else if span.kind == SpanKind::Tool && span.lane != 0 {
        let agent = span.agent.as_ref().map(|agent| agent.as_str()).unwrap_or_default();
        named("thread_name", format!("{agent} {} · calls {}", span.run_id, span.lane + 1));
    }
    events.push(json!({
        "ph": "B", "name": name(span), "cat": span.kind.as_str(), "ts": span.start_us, "pid": process, "tid": track,
    }));
    events
}

/// The name of a span, at its beginning and at its end: some readers find the beginning of an end by it.
fn name(span: &TraceSpan) -> String {
    match span.kind {
        SpanKind::Confirmation => format!("asks: {}", span.name),
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
    tell("model", span.llm.as_ref().map(|llm| json!(llm.model)));
    tell("reason", span.run.as_ref().and_then(|run| run.reason.as_ref()).map(|it| json!(it)));
    let of_call = span.tool.as_ref().and_then(|tool| tool.decision.as_ref());
    let of_question = span.confirmation.as_ref().and_then(|it| it.decision.as_ref());
    tell("decision", of_call.or(of_question).map(|decision| json!(decision)));
    told
}

fn process(span: &TraceSpan) -> i64 {
    hash(span.trace_id.as_str())
}

/// The track of the run; calls that run at the same time have one of their own each.
fn track(span: &TraceSpan) -> i64 {
    match span.lane {
        0 => hash(span.run_id.as_str()),
        lane => hash(&format!("{}/{lane}", span.run_id)),
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
