//! The JSON of the OpenTelemetry protocol (`opentelemetry.proto.trace.v1.TracesData`): ids in hexadecimal, times in
//! nanoseconds as text.

use protocol::{CallDecision, RunId, SpanStatus, TraceSpan};
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
        let waited = span.tool.as_ref().and_then(|tool| tool.waited_ms).unwrap_or_default();
        let decided_us =
            span.start_us.saturating_add(i64::try_from(waited).unwrap_or(i64::MAX).saturating_mul(1_000));
        events.push(decided(decision, decided_us));
    }
    let mut told = json!({
        "traceId": trace_id(&span.trace_id),
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
    if let (Some(parent), Some(told)) = (&span.parent_span_id, told.as_object_mut()) {
        told.insert("parentSpanId".to_owned(), json!(parent));
    }
    told
}

/// The event that says who decided about a call, at the time when it could run.
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

/// 32 hexadecimal digits: those of the run's id, which is a UUID; of any other a digest.
pub(super) fn trace_id(run: &RunId) -> String {
    let digits: String =
        run.as_str().chars().filter(|it| *it != '-').map(|it| it.to_ascii_lowercase()).collect();
    let is_id = digits.len() == 32
        && digits.chars().all(|it| it.is_ascii_hexdigit())
        && digits.contains(|it| it != '0');
    if is_id { digits } else { format!("{:032x}", fnv(run.as_str().as_bytes())) }
}

/// FNV-1a of 128 bits: no secret hangs on it.
fn fnv(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(BASIS, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_the_digits_of_its_root_run() {
        let id = RunId::from("019aa1b2-c3d4-7001-8000-00000000000A");
        assert_eq!(trace_id(&id), "019aa1b2c3d4700180000000000 0000a".replace(' ', ""));
        for other in ["r1", "", "00000000-0000-0000-0000-000000000000"] {
            let id = trace_id(&RunId::from(other));
            assert!(id.len() == 32 && id.contains(|it| it != '0'), "{other}: {id}");
        }
    }
}
