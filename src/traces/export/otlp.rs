//! The JSON of the OpenTelemetry protocol (`opentelemetry.proto.trace.v1.TracesData`): ids in hexadecimal, times in
//! nanoseconds as text.

use protocol::{CallDecision, EventSeq, SpanStatus, TraceContext, TraceSpan};
use serde_json::{Value, json};

use crate::names::{
    ATTRIBUTES, AttributeValue, CONVENTIONS, DECISION_EVENT, span_kind, span_name, status_code,
};

pub(super) const CLOSING: &str = "\n]}]}]}\n";

/// Up to where spans stand.
pub(super) fn opening(version: &str) -> String {
    let schema = format!("https://opentelemetry.io/schemas/{CONVENTIONS}");
    let resource = json!({ "attributes": [
        attribute("service.name", &AttributeValue::Text("subagentd".to_owned())),
        attribute("service.version", &AttributeValue::Text(version.to_owned())),
    ] });
    let scope = json!({ "name": "subagentd", "version": version });
    // Written by hand from here on, since what follows is not known yet.
    format!(
        "{{\"resourceSpans\":[{{\"resource\":{resource},\"schemaUrl\":\"{schema}\",\"scopeSpans\":[{{\"scope\":{scope},\"schemaUrl\":\"{schema}\",\"spans\":["
    )
}

pub(super) fn span(span: &TraceSpan) -> Value {
    let attributes = ATTRIBUTES.iter().filter_map(|(name, get)| Some(attribute(name, &get(span)?)));
    let attributes: Vec<Value> = attributes.collect();
    let mut events: Vec<Value> = span
        .events
        .iter()
        .map(|event| {
            let said = attribute("subagentd.text", &AttributeValue::Text(event.text.clone()));
            let attributes = if event.text.is_empty() { json!([]) } else { json!([said]) };
            json!({ "timeUnixNano": nanos(event.at_us), "name": event.name, "attributes": attributes })
        })
        .collect();
    if let Some(decision) = span.tool.as_ref().and_then(|tool| tool.decision.as_ref()) {
        events.push(decided(decision, decided_us(span, decision)));
    }
    // Of a trace that is not part of another, the span says nothing here.
    let trace = span.traceparent.unwrap_or_else(|| TraceContext::of_run(&span.trace_id, EventSeq(0)));
    let mut told = json!({
        "traceId": trace.trace_digits(),
        "spanId": span.span_id,
        "name": span_name(span),
        "kind": span_kind(span),
        "startTimeUnixNano": nanos(span.start_us),
        "endTimeUnixNano": nanos(span.end_us.unwrap_or(span.start_us)),
        "attributes": attributes,
        "events": events,
        "droppedEventsCount": span.more_events,
        "status": status(span),
    });
    let is_root = span.run.as_ref().is_some_and(|run| run.parent_run_id.is_none());
    let outer = span.traceparent.filter(|_| is_root).map(TraceContext::span_digits);
    let parent = span.parent_span_id.as_ref().map(ToString::to_string).or(outer);
    if let (Some(parent), Some(told)) = (parent, told.as_object_mut()) {
        told.insert("parentSpanId".to_owned(), json!(parent));
    }
    told
}

/// The time it was decided about a call: as it could run; of one that never could, as it ended.
fn decided_us(span: &TraceSpan, decision: &CallDecision) -> i64 {
    let waited = span.tool.as_ref().and_then(|tool| tool.waited_ms).filter(|_| decision.outcome != "deny");
    match waited {
        Some(ms) => span.start_us.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000)),
        None => span.end_us.unwrap_or(span.start_us),
    }
}

/// The event that says who decided about a call.
fn decided(decision: &CallDecision, at_us: i64) -> Value {
    let CallDecision { outcome, source, rule, name, waited_ms, .. } = decision;
    let texts = [
        ("outcome", Some(outcome)),
        ("source", Some(source)),
        ("rule", rule.as_ref()),
        ("name", name.as_ref()),
    ];
    let texts = texts.into_iter().filter_map(|(key, text)| Some((key, AttributeValue::Text(text?.clone()))));
    let waited =
        waited_ms.map(|ms| ("waited_ms", AttributeValue::Number(i64::try_from(ms).unwrap_or(i64::MAX))));
    let attributes =
        texts.chain(waited).map(|(key, value)| attribute(&format!("{DECISION_EVENT}.{key}"), &value));
    let attributes: Vec<Value> = attributes.collect();
    json!({ "timeUnixNano": nanos(at_us), "name": DECISION_EVENT, "attributes": attributes })
}

fn status(span: &TraceSpan) -> Value {
    let code = status_code(span.status);
    match (&span.error, span.status) {
        (Some(error), SpanStatus::Error) => json!({ "code": code, "message": error.message }),
        _ => json!({ "code": code }),
    }
}

fn attribute(name: &str, value: &AttributeValue) -> Value {
    json!({ "key": name, "value": value.to_otlp() })
}

fn nanos(us: i64) -> String {
    i128::from(us).max(0).saturating_mul(1_000).to_string()
}
