//! Can every lawful log be read as spans? (Spec 10.) The one law that knows code of ours: what makes spans of events.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use subagentd::{
    protocol::{Envelope, SpanKind, SpanStatus, TraceSpan},
    traces::{SpanEdge, SpanFold},
};

/// What is wrong with the spans of a log: each begins and ends once, within its parent; what is open belongs to a run that is.
pub fn check(events: &[Value]) -> Vec<String> {
    let mut fold = SpanFold::new();
    let (mut wrong, mut began, mut ended) = (Vec::new(), HashSet::new(), Vec::new());
    for event in events {
        let Ok(envelope) = serde_json::from_value::<Envelope>(event.clone()) else { continue };
        for edge in fold.apply(&envelope) {
            match edge {
                SpanEdge::Began(span) if !began.insert(span.span_id.clone()) => {
                    wrong.push(format!("span {} begins twice", told(&span)));
                }
                SpanEdge::Began(_) | SpanEdge::Resumed(..) => {}
                SpanEdge::Ended(span) | SpanEdge::Open(span) => ended.push(*span),
            }
        }
    }
    let open = fold.open();
    let mut seen = HashSet::new();
    for span in ended.iter().chain(&open) {
        if !began.contains(&span.span_id) || !seen.insert(&span.span_id) {
            wrong.push(format!("span {} never began, or is told twice", told(span)));
        }
    }
    for span in &ended {
        if span.status == SpanStatus::Open || span.end_us.is_none_or(|end| end < span.start_us) {
            wrong.push(format!("span {} ended and has no end after its start", told(span)));
        }
    }
    let spans: HashMap<_, _> = ended.iter().chain(&open).map(|span| (&span.span_id, span)).collect();
    for span in spans.values() {
        let Some(parent) = &span.parent_span_id else { continue };
        match spans.get(parent) {
            None => wrong.push(format!("span {} lies within one that is not there", told(span))),
            Some(parent) if !lies_within(span, parent) => {
                wrong.push(format!("span {} does not lie within {}", told(span), told(parent)));
            }
            Some(_) => {}
        }
    }
    wrong.extend(counts(events, &ended));
    wrong
}

/// As many spans of each kind as the log has of what they are about.
fn counts(events: &[Value], ended: &[TraceSpan]) -> Vec<String> {
    let count = |is_it: &dyn Fn(&Value) -> bool| events.iter().filter(|event| is_it(event)).count();
    let is_call_end = |event: &Value| {
        event["type"] == "tool.state"
            && matches!(event["data"]["to"].as_str(), Some("success" | "error" | "cancelled"))
    };
    // A question that is asked again about something else is one more.
    let ends_a_version = |event: &Value| match event["type"].as_str() {
        Some("confirmation.resolved") => true,
        Some("confirmation.revised") => {
            matches!(
                event["data"]["reason"].as_str(),
                Some("changedByHook" | "askedByHook" | "changed" | "editDropped")
            )
        }
        _ => false,
    };
    let told = [
        (SpanKind::Run, count(&|event| event["type"] == "run.completed")),
        (SpanKind::Tool, count(&is_call_end)),
        (SpanKind::Confirmation, count(&ends_a_version)),
    ];
    let differ = told.into_iter().filter_map(|(kind, expected)| {
        let found = ended.iter().filter(|span| span.kind == kind).count();
        (found != expected)
            .then(|| format!("{found} spans of the kind {kind:?} ended, and {expected} in the log"))
    });
    differ.collect()
}

fn lies_within(span: &TraceSpan, parent: &TraceSpan) -> bool {
    let ends_within = match (span.end_us, parent.end_us) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(end), Some(of_parent)) => end <= of_parent,
    };
    parent.start_us <= span.start_us && ends_within
}

fn told(span: &TraceSpan) -> String {
    format!("{} ({} {})", span.span_id, span.kind.as_str(), span.name)
}
