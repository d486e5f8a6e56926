//! The field `tracing`: who else is told of the spans of its runs, and what of them? (spec 10)

use super::super::{
    fields::{self, KnownFields},
    findings::FileFindings,
    yaml::YamlContent,
};
use protocol::{
    AgentTracing,
    FileProblemCode::{BadValue, UnknownField, WrongType},
    TraceBackend, TraceContent, TracedEvents,
};

pub(super) const TRACING_FIELDS: &[&str] = &["enabled", "events", "backend", "sampleRate", "content"];

pub(super) const BACKENDS: &[(&str, Option<TraceBackend>)] = &[
    ("sqlite", Some(TraceBackend::Sqlite)),
    ("otlp", Some(TraceBackend::Otlp)),
    ("console", Some(TraceBackend::Console)),
    ("file", Some(TraceBackend::File)),
];

pub(super) const CONTENTS: &[(&str, TraceContent)] =
    &[("full", TraceContent::Full), ("redacted", TraceContent::Redacted), ("none", TraceContent::None)];

/// Kinds of spans; `None` = there are none of the kind in this version.
pub(super) const EVENTS: &[(&str, Option<TracedEvents>)] = &[
    ("llm", Some(TracedEvents::Llm)),
    ("tool", Some(TracedEvents::Tool)),
    ("handoff", None),
    ("guardrail", None),
];

/// The words that mean something in this version.
pub(super) fn known<T>(choices: &[(&'static str, Option<T>)]) -> Vec<&'static str> {
    choices.iter().filter(|(_, choice)| choice.is_some()).map(|(word, _)| *word).collect()
}

pub(super) fn read(fields: &KnownFields<'_>, findings: &mut FileFindings) -> AgentTracing {
    let Some(node) = fields.get("tracing") else { return AgentTracing::default() };
    let Some(fields) = KnownFields::open(node, "tracing", TRACING_FIELDS, findings) else {
        return AgentTracing::default();
    };
    let sample_rate =
        fields.number("sampleRate", "a number from 0 to 1", |rate| (0.0..=1.0).contains(&rate), findings);
    AgentTracing {
        enabled: fields.flag("enabled", findings),
        events: words(&fields, "events", EVENTS, findings),
        backend: words(&fields, "backend", BACKENDS, findings),
        sample_rate,
        content: fields.one_of("content", CONTENTS, findings),
    }
}

/// Words in a list, or one alone; each once. One that means nothing yet is told and left out.
fn words<T: Copy + PartialEq>(
    fields: &KnownFields<'_>,
    name: &str,
    choices: &'static [(&'static str, Option<T>)],
    findings: &mut FileFindings,
) -> Option<Vec<T>> {
    let node = fields.get(name)?;
    let path = fields.path(name);
    let expected = format!("a list of {}", fields::listed(&known(choices)));
    let nodes = match &node.content {
        YamlContent::List(nodes) => nodes.iter().collect(),
        YamlContent::Scalar { .. } => vec![node],
        YamlContent::Map(_) => {
            findings.expected(node, &path, WrongType, &expected);
            return None;
        }
    };
    let mut chosen = Vec::new();
    for node in nodes {
        let word = node.as_raw_text();
        match word.and_then(|text| choices.iter().find(|(word, _)| *word == text.trim())) {
            Some((_, Some(choice))) if chosen.contains(choice) => {}
            Some((_, Some(choice))) => chosen.push(*choice),
            Some((word, None)) => {
                let message = format!("`{path}`: `{word}` has no effect in this version");
                findings.warning(Some(node.mark), UnknownField, message, None);
            }
            None => {
                let code = if word.is_some() { BadValue } else { WrongType };
                findings.expected(node, &path, code, &expected);
            }
        }
    }
    Some(chosen)
}
