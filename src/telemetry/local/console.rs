//! Spans as lines of the daemon's own log.

use std::io;

use protocol::{SessionId, SpanText, TraceBackend, TraceSpan};
use redact::Redactor;
use serde_json::Value;

use super::SpanSink;
use crate::feed::{FedSpan, SpanDestination};

/// Characters of a text in a line: the log is for eyes, `trace show` has the rest.
const TEXT_CHARACTERS: usize = 200;

/// Bytes of a line, about.
const LINE_BYTES: usize = 1_024;

/// Writes a line into the daemon's log for each span that ends.
#[derive(Debug, Default)]
pub struct SpanLog;

/// A span as a line says it.
#[derive(Clone)]
pub(crate) struct LoggedSpan(pub(crate) Box<TraceSpan>);

impl FedSpan for LoggedSpan {
    fn of(span: &TraceSpan, redactor: &Redactor) -> Option<(LoggedSpan, usize)> {
        let mut value: Value = serde_json::to_value(span).ok()?;
        redactor.value(&mut value);
        Some((LoggedSpan(serde_json::from_value(value).ok()?), LINE_BYTES))
    }
}

impl SpanSink for SpanLog {
    type Item = LoggedSpan;

    const DESTINATION: SpanDestination =
        SpanDestination { backend: TraceBackend::Console, place: "console.traces", max_backlog: u64::MAX };

    /// A log cannot take back what it said.
    async fn begin(&mut self) -> io::Result<Vec<SessionId>> {
        Ok(Vec::new())
    }

    async fn write(&mut self, spans: Vec<LoggedSpan>) -> io::Result<()> {
        spans.iter().for_each(|span| log(&span.0));
        Ok(())
    }

    async fn forget(&mut self, _: Vec<SessionId>) -> io::Result<()> {
        Ok(())
    }
}

fn log(span: &TraceSpan) {
    let took = span.end_us.unwrap_or(span.start_us).saturating_sub(span.start_us);
    let decision = span.tool.as_ref().and_then(|tool| tool.decision.as_ref());
    let decision = decision.or(span.confirmation.as_ref().and_then(|asked| asked.decision.as_ref()));
    let call = span.tool.as_ref();
    let changed: Vec<String> = call
        .iter()
        .flat_map(|call| &call.files_changed)
        .map(|file| format!("{} {}", file.path, file.change))
        .collect();
    let said =
        span.hook.as_deref().map(|hook| traces::hook_said(hook, usize::MAX)).filter(|said| !said.is_empty());
    let ended = span.run.as_ref().and_then(|run| run.reason.as_deref());
    let error = span.error.as_ref().map(|error| beginning(&format!("{}: {}", error.kind, error.message)));
    tracing::info!(
        kind = span.kind.as_str(),
        name = beginning(&span.name),
        agent = span.agent.as_ref().map(|agent| agent.as_str()),
        session = span.session_id.as_ref().map(|session| session.as_str()),
        run = span.run_id.as_str(),
        trace = span.trace_id.as_str(),
        span = span.span_id.as_str(),
        parent = span.parent_span_id.as_ref().map(|parent| parent.as_str()),
        ms = u64::try_from(took).unwrap_or_default() / 1_000,
        status = span.status.as_str(),
        input_tokens = span.usage.map(|usage| usage.prompt_tokens),
        output_tokens = span.usage.map(|usage| usage.output_tokens.saturating_add(usage.thought_tokens)),
        cost_usd = span.cost.map(|cost| cost.decimal()),
        decision = decision.map(|decision| decision.outcome.as_str()),
        requested_by = call.and_then(|call| call.requested_by.as_deref()),
        rule = decision.and_then(|decision| decision.rule.as_deref()),
        allowed = decision.map(|decision| beginning(&traces::decided(decision))),
        hook = span.hook.as_ref().map(|hook| hook.hook_id.as_str()),
        call = span.hook.as_ref().and_then(|hook| hook.call_id.as_ref()).map(|call| call.as_str()),
        verdict = said.map(|said| beginning(&said)),
        changed = (!changed.is_empty()).then(|| beginning(&changed.join(", "))),
        ended,
        input = shown(span.input.as_ref()),
        output = shown(span.output.as_ref()),
        error,
        "span"
    );
}

fn shown(text: Option<&SpanText>) -> Option<String> {
    text.map(|text| beginning(&text.text))
}

fn beginning(text: &str) -> String {
    let mut shown: String = text.chars().take(TEXT_CHARACTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
