//! Spans as the OpenTelemetry protocol has them (`opentelemetry.proto.trace.v1`), and its JSON: ids in hexadecimal, times in
//! nanoseconds as text.

use protocol::{CallDecision, EventSeq, RunId, SpanId, SpanStatus, TraceContext, TraceSpan, span_of};
use serde_json::{Value, json};

use crate::names::{
    ATTRIBUTES, AttributeValue, CONVENTIONS, DECISION_EVENT, span_kind, span_name, status_code,
};

pub(super) const CLOSING: &str = "\n]}]}]}\n";

/// A span in the protocol's terms, before it is written as JSON or in another way.
#[derive(Debug, Clone, PartialEq)]
pub struct OtlpSpan {
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// 16 hexadecimal digits, as those of the parent.
    pub span_id: String,
    pub parent_span_id: Option<String>,
    pub name: String,
    /// 1 within the process, 3 a request to somebody else.
    pub kind: u8,
    /// Microseconds since 1970, as all times here.
    pub start_us: i64,
    pub end_us: i64,
    pub attributes: Vec<(String, AttributeValue)>,
    pub events: Vec<OtlpEvent>,
    pub dropped_events: u64,
    /// 0 not said, 1 well, 2 an error.
    pub status_code: u8,
    /// The message of an error.
    pub status_message: Option<String>,
}

/// Something that happened during a span.
#[derive(Debug, Clone, PartialEq)]
pub struct OtlpEvent {
    pub name: String,
    pub at_us: i64,
    pub attributes: Vec<(String, AttributeValue)>,
}

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

impl OtlpSpan {
    pub fn of(span: &TraceSpan) -> OtlpSpan {
        let attributes = ATTRIBUTES.iter().filter_map(|(name, get)| Some(((*name).to_owned(), get(span)?)));
        let mut events: Vec<OtlpEvent> = span
            .events
            .iter()
            .map(|event| {
                let said = ("subagentd.text".to_owned(), AttributeValue::Text(event.text.clone()));
                let attributes = if event.text.is_empty() { Vec::new() } else { vec![said] };
                OtlpEvent { name: event.name.clone(), at_us: event.at_us, attributes }
            })
            .collect();
        if let Some(decision) = span.tool.as_ref().and_then(|tool| tool.decision.as_ref()) {
            events.push(decided(decision, decided_us(span, decision)));
        }
        // Of a trace that is not part of another, the span says nothing here.
        let trace = span.traceparent.unwrap_or_else(|| TraceContext::of_run(&span.trace_id, EventSeq(0)));
        let is_root = span.run.as_ref().is_some_and(|run| run.parent_run_id.is_none());
        let outer = span.traceparent.filter(|_| is_root).map(TraceContext::span_digits);
        let error = span.error.as_ref().filter(|_| span.status == SpanStatus::Error);
        OtlpSpan {
            trace_id: trace.trace_digits(),
            span_id: digits(&span.trace_id, &span.span_id),
            parent_span_id: span.parent_span_id.as_ref().map(|it| digits(&span.trace_id, it)).or(outer),
            name: span_name(span),
            kind: span_kind(span),
            start_us: span.start_us,
            end_us: span.end_us.unwrap_or(span.start_us),
            attributes: attributes.collect(),
            events,
            dropped_events: span.more_events,
            status_code: status_code(span.status),
            status_message: error.map(|error| error.message.clone()),
        }
    }

    /// All texts that others wrote, for whoever hides something in them.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let of_events = self.events.iter_mut().flat_map(|event| event.attributes.iter_mut());
        let values = self.attributes.iter_mut().chain(of_events).flat_map(|(_, value)| value.texts_mut());
        [&mut self.name].into_iter().chain(self.status_message.as_mut()).chain(values)
    }

    pub(crate) fn to_json(&self) -> Value {
        let events: Vec<Value> = self
            .events
            .iter()
            .map(|event| {
                let attributes = attributes(&event.attributes);
                json!({ "timeUnixNano": nanos(event.at_us), "name": event.name, "attributes": attributes })
            })
            .collect();
        let status = match &self.status_message {
            Some(message) => json!({ "code": self.status_code, "message": message }),
            None => json!({ "code": self.status_code }),
        };
        let mut told = json!({
            "traceId": self.trace_id,
            "spanId": self.span_id,
            "name": self.name,
            "kind": self.kind,
            "startTimeUnixNano": nanos(self.start_us),
            "endTimeUnixNano": nanos(self.end_us),
            "attributes": attributes(&self.attributes),
            "events": events,
            "droppedEventsCount": self.dropped_events,
            "status": status,
        });
        if let (Some(parent), Some(told)) = (&self.parent_span_id, told.as_object_mut()) {
            told.insert("parentSpanId".to_owned(), json!(parent));
        }
        told
    }
}

/// The digits that others know a span by.
fn digits(root: &RunId, span: &SpanId) -> String {
    // Each that a fold makes is a number.
    let event = u64::from_str_radix(span.as_str(), 16).unwrap_or_default();
    format!("{:016x}", span_of(root, event))
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
fn decided(decision: &CallDecision, at_us: i64) -> OtlpEvent {
    let CallDecision { outcome, source, rule, origin, name, waited_ms, .. } = decision;
    let origin_at = origin.as_ref().and_then(|origin| Some(origin.at?.to_string()));
    let origin_source = origin.as_ref().map(|origin| origin.source.as_str().to_owned());
    let texts = [
        ("outcome", Some(outcome)),
        ("source", Some(source)),
        ("rule", rule.as_ref()),
        ("origin", origin_source.as_ref()),
        ("origin_name", origin.as_ref().and_then(|origin| origin.by.as_ref())),
        ("origin_time", origin_at.as_ref()),
        ("name", name.as_ref()),
    ];
    let texts = texts.into_iter().filter_map(|(key, text)| Some((key, AttributeValue::Text(text?.clone()))));
    let waited =
        waited_ms.map(|ms| ("waited_ms", AttributeValue::Number(i64::try_from(ms).unwrap_or(i64::MAX))));
    let version =
        decision.version.map(|it| ("version", AttributeValue::Number(i64::try_from(it).unwrap_or(i64::MAX))));
    let attributes =
        texts.chain(waited).chain(version).map(|(key, value)| (format!("{DECISION_EVENT}.{key}"), value));
    OtlpEvent { name: DECISION_EVENT.to_owned(), at_us, attributes: attributes.collect() }
}

fn attributes(attributes: &[(String, AttributeValue)]) -> Vec<Value> {
    attributes.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(name: &str, value: &AttributeValue) -> Value {
    json!({ "key": name, "value": value.to_otlp() })
}

fn nanos(us: i64) -> String {
    i128::from(us).max(0).saturating_mul(1_000).to_string()
}
