//! How does a span read that has just ended? As a block of lines: kind, agent and time; below them what it was about.

use std::time::Duration;

use super::{human, safe_text, screen::ProgressScreen, sureness::Sureness, text_color::TextColor, width};
use protocol::{CallDecision, Envelope, SpanKind, SpanStatus, SpanText, TraceSpan, Usage, UsdAmount};
use traces::{
    SpanEdge, SpanFold, answer_said, changers_said, confinement_said, granted, lets_run, output_beside_error,
    person as whom, requested_said, result_said, rule_said, stated_reason, told_said,
};

/// Columns of what a line says it is, with what sets it off.
const LABEL_COLUMNS: usize = 12;

/// Rows of a text that are shown; `subagent trace export` has all that a span keeps.
const ROWS_SHOWN: usize = 8;

/// Characters of one row of a text where no terminal says how wide it is.
const ROW_CHARACTERS: usize = 300;

/// Makes spans of a session's events.
#[derive(Default)]
pub(super) struct EndedSpans(SpanFold);

impl EndedSpans {
    /// The spans that end with this event.
    pub(super) fn of(&mut self, envelope: &Envelope) -> Vec<TraceSpan> {
        let ended = self.0.apply(envelope).into_iter().filter_map(|edge| match edge {
            SpanEdge::Ended(span) => Some(*span),
            SpanEdge::Began(_) | SpanEdge::Open(_) | SpanEdge::Resumed(..) => None,
        });
        ended.collect()
    }
}

/// Shows a span as a block.
pub(super) fn show(span: &TraceSpan, screen: &mut ProgressScreen<'_>) {
    let (ink, sign) = match span.status {
        // It was answered; what it was about does not happen.
        SpanStatus::Ok if is_refused(span) => (TextColor::Yellow, "✗"),
        SpanStatus::Ok => (TextColor::Green, "✓"),
        SpanStatus::Error => (TextColor::Red, "✗"),
        SpanStatus::Cancelled => (TextColor::Yellow, "✗"),
        SpanStatus::Open => (TextColor::Dim, "…"),
    };
    let head = safe_text::line(&headline(span), ROW_CHARACTERS);
    let head = match screen.columns() {
        Some(columns) => width::cut(&head, columns.saturating_sub(2)),
        None => head,
    };
    screen.line(&format!("{} {}", screen.paint(ink, sign), screen.paint(TextColor::Bold, &head)));
    for (label, text) in facts(span) {
        let room = screen.columns().map(|columns| columns.saturating_sub(LABEL_COLUMNS).max(1));
        for (at, row) in rows(&text, room).into_iter().enumerate() {
            let label = width::pad(&format!("  {}", if at == 0 { label } else { "" }), LABEL_COLUMNS);
            screen.line(format!("{}{row}", screen.paint(TextColor::Dim, &label)).trim_end());
        }
    }
}

/// True for a question that a person, or who stood in for one, said no to.
fn is_refused(span: &TraceSpan) -> bool {
    let decision = span.confirmation.as_ref().and_then(|asked| asked.decision.as_ref());
    decision.is_some_and(|decision| !lets_run(decision))
}

/// `tool · reader · 1.2 s`; how long it took is not known of what began before the first event that was read.
fn headline(span: &TraceSpan) -> String {
    let agent = span.agent.as_ref().map_or("-", |agent| agent.as_str());
    let took = span.end_us.unwrap_or(span.start_us).saturating_sub(span.start_us);
    let took = match span.began_before {
        true => "began before".to_owned(),
        false => human::duration(Duration::from_micros(u64::try_from(took).unwrap_or_default())),
    };
    let kind = match span.kind {
        SpanKind::Turn => span.name.as_str(),
        kind => kind.as_str(),
    };
    format!("{kind} · {agent} · {took}")
}

/// The lines that a span's block has below its head, each with its label.
fn facts(span: &TraceSpan) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    match span.kind {
        SpanKind::Run => {
            let run = span.run.as_deref().cloned().unwrap_or_default();
            if !run.model.is_empty() {
                facts.push(("model", run.model));
            }
            let own = Sureness { estimated: run.estimated_requests, uncounted: run.uncounted_requests };
            let below =
                Sureness { estimated: run.child_estimated_requests, uncounted: run.child_uncounted_requests };
            facts.extend(tokens(span, own));
            facts.extend(with_below(span, (run.child_usage, run.child_cost), (own, below)));
            facts.extend(run.prompt_sources.map(|told| ("told", told_said(&told, str::to_owned))));
            facts.extend(run.started_by.map(|by| ("by", whom(&by))));
            let caller = run.parent_run_id.map(|caller| format!("run {caller}"));
            facts.extend(caller.map(|caller| ("called by", caller)));
            let by = run.stopped_by.map(|by| format!(" by {}", whom(&by))).unwrap_or_default();
            let why = run.message.filter(|_| run.reason.as_deref() == Some("ABORTED"));
            let why = why.as_deref().map(stated_reason).filter(|why| !why.is_empty());
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            facts.extend(run.reason.map(|reason| ("ended", format!("{reason}{by}{why}"))));
            facts.extend(text("input", span.input.as_ref()));
            facts.extend(text("read as", run.query.as_ref()));
            if !run.files_changed.is_empty() {
                facts.push(("changed", run.files_changed.join("\n")));
            }
            facts.extend(text("output", span.output.as_ref()));
        }
        SpanKind::Llm => {
            let llm = span.llm.as_deref().cloned().unwrap_or_default();
            let purpose = match (llm.hook_id, llm.purpose) {
                (Some(hook), _) => format!(", asked by the hook {hook}"),
                (None, Some(purpose)) => format!(" for {purpose}"),
                (None, None) => String::new(),
            };
            let first = llm.first_token_ms.map(|ms| human::duration(Duration::from_millis(ms)));
            let first = first.map(|first| format!(" · first token after {first}")).unwrap_or_default();
            facts.push(("model", format!("{}{purpose}{first}", span.name)));
            let sure =
                Sureness { estimated: u64::from(llm.estimated), uncounted: u64::from(llm.usage_unknown) };
            facts.extend(tokens(span, sure));
            facts.extend(text("output", span.output.as_ref()));
            if llm.calls != 0 {
                facts.push(("asks for", human::count(llm.calls, "call")));
            }
        }
        SpanKind::Tool => {
            facts.push(("tool", span.name.clone()));
            let wanted = span.tool.as_deref().and_then(|tool| {
                requested_said(tool.requested_by.as_deref(), tool.follows_tool.as_ref().map(|it| it.as_str()))
            });
            facts.extend(wanted.map(|wanted| ("wanted", wanted)));
            let down = span.tool.as_ref().map(|tool| tool.down_ms).filter(|down| *down != 0);
            let down = down.map(|down| human::duration(Duration::from_millis(down)));
            facts.extend(down.map(|down| ("away", format!("the daemon, for at most {down} of this time"))));
            let decision = span.tool.as_ref().and_then(|tool| tool.decision.as_ref());
            facts.extend(decision.map(|decision| ("decision", who(decision))));
            facts.extend(text("input", span.input.as_ref()));
            if let Some(tool) = span.tool.as_deref().filter(|tool| tool.asked_input.is_some()) {
                let who = changers_said(&tool.changes, &tool.changed_by, str::to_owned, str::to_owned);
                facts.push(("arguments", format!("changed by {who}")));
                facts.extend(text("before", tool.asked_input.as_ref()));
            }
            let files = span.tool.iter().flat_map(|tool| &tool.files_changed);
            let files: Vec<String> = files.map(|file| format!("{} {}", file.path, file.change)).collect();
            if !files.is_empty() {
                facts.push(("changed", files.join("\n")));
            }
            let read = span
                .tool
                .as_ref()
                .and_then(|tool| result_said(tool.result_changed_by.as_deref(), tool.result_withheld));
            facts.extend(read.map(|read| ("hook", read)));
            facts.extend(text("output", output_beside_error(span).as_ref()));
        }
        SpanKind::Confirmation => {
            let asked = span.confirmation.as_deref();
            let version = asked.and_then(|asked| asked.version);
            let again = version.map(|version| format!(" (asked again, version {version})"));
            facts.push(("asks", format!("{}{}", span.name, again.unwrap_or_default())));
            let edited = asked.and_then(|asked| asked.edited_input.as_ref());
            // What was asked about is told with what became of it.
            facts
                .extend(text("about", span.input.as_ref().filter(|_| version.is_some() || edited.is_some())));
            facts.extend(asked.map(|asked| ("because", format!("{}: {}", asked.rule, asked.reason))));
            let decision = asked.and_then(|asked| asked.decision.as_ref());
            facts
                .extend(decision.map(|it| ("answer", answer(&CallDecision { version: None, ..it.clone() }))));
            facts.extend(text("edited", edited));
            facts.extend(decision.into_iter().flat_map(granted).map(|line| ("", line)));
        }
        SpanKind::Compression => {
            if let Some(told) = span.compression.as_deref() {
                facts.extend(told.status.clone().map(|status| ("status", status)));
                if told.status.is_some() {
                    facts.push(("tokens", human::change_of_tokens(told.tokens_before, told.tokens_after)));
                }
            }
        }
        SpanKind::Hook => {
            let hook = span.hook.as_deref().cloned().unwrap_or_default();
            let beside = if hook.is_async { " · beside the run" } else { "" };
            let attempt = hook.attempt.map(|attempt| format!(" · attempt {attempt}")).unwrap_or_default();
            facts.push(("hook", format!("{} · {}{attempt}{beside}", span.name, hook.hook_id)));
            let description = hook.description.map(|it| format!(" {it}")).unwrap_or_default();
            facts.extend(hook.tool.map(|tool| ("call", format!("{tool}{description}"))));
            let changed = if hook.changed { "changed what it was shown" } else { "" };
            let said = [hook.decision.as_deref().unwrap_or_default(), changed];
            let said: Vec<&str> = said.into_iter().filter(|it| !it.is_empty()).collect();
            if !said.is_empty() {
                facts.push(("verdict", said.join(", ")));
            }
            facts.extend(hook.reason.filter(|_| span.error.is_none()).map(|reason| ("because", reason)));
            facts.extend(hook.added.map(|added| ("adds", added)));
            facts.extend(hook.message.map(|message| ("message", message)));
            facts.extend(hook.confinement.map(|it| ("sandbox", confinement_said(&it))));
            facts.extend(text("stderr", span.output.as_ref()));
        }
        SpanKind::Mcp => {
            let server = span.mcp.as_ref().map(|request| request.server.as_str()).unwrap_or_default();
            facts.push(("request", format!("{} · server {server}", span.name)));
        }
        SpanKind::Turn => {}
    }
    facts.extend(span.error.as_ref().map(|error| ("error", format!("{}: {}", error.kind, error.message))));
    facts
}

/// `812 → 58 · $0.0004`
fn tokens(span: &TraceSpan, sure: Sureness) -> Option<(&'static str, String)> {
    let usage = span.usage.or_else(|| (sure.uncounted != 0).then(Usage::default))?;
    Some(("tokens", marked_tokens(usage, span.cost, sure)))
}

fn marked_tokens(usage: Usage, cost: Option<UsdAmount>, sure: Sureness) -> String {
    let out = usage.output_tokens.saturating_add(usage.thought_tokens);
    let is_nothing = usage.total() == 0;
    let used = sure.mark(&format!("{} → {out}", usage.prompt_tokens), is_nothing);
    let cost = cost.filter(|_| sure.uncounted == 0 || !is_nothing);
    let cost = cost.map(|cost| format!(" · {}", sure.mark(&cost.to_string(), false))).unwrap_or_default();
    format!("{used}{cost}")
}

/// The same with what the runs below it used, where there are some.
fn with_below(
    span: &TraceSpan,
    (below, cost_below): (Option<Usage>, Option<UsdAmount>),
    (own, sure_below): (Sureness, Sureness),
) -> Option<(&'static str, String)> {
    let below = match below.filter(|below| below.total() != 0) {
        Some(below) => below,
        None if sure_below.uncounted != 0 => Usage::default(),
        None => return None,
    };
    let mut all = span.usage.unwrap_or_default();
    all += below;
    let cost = [span.cost, cost_below].into_iter().flatten().reduce(|one, more| one + more);
    Some(("", format!("{} with the runs below", marked_tokens(all, cost, own.with(sure_below)))))
}

fn text(label: &'static str, text: Option<&SpanText>) -> Option<(&'static str, String)> {
    let text = text?;
    let rest = text.bytes.map(|bytes| format!("\n… of {}", human::bytes(bytes))).unwrap_or_default();
    Some((label, format!("{}{rest}", text.text)))
}

/// The words for who let a call run, or did not.
fn who(decision: &CallDecision) -> String {
    let CallDecision { outcome, source, .. } = decision;
    let by_rule = rule_said(decision).map(|rule| format!(" by {rule}")).unwrap_or_default();
    match (source.as_str(), outcome.as_str()) {
        ("policy", "allow") => format!("allowed{by_rule}"),
        ("policy", _) => format!("denied{by_rule}"),
        ("agent", _) => "denied by the agent's definition".to_owned(),
        ("grace", _) => format!("denied: {}", decision.message.as_deref().unwrap_or("it was the last turn")),
        _ => answer(decision),
    }
}

/// `allowOnce by cli after 3.2 s: "go on"`
fn answer(decision: &CallDecision) -> String {
    let said = decision.message.as_ref().map(|said| match decision.outcome.as_str() {
        // The words for why it was over, not those of the person.
        "edited" => format!(": {said}"),
        _ => format!(": \"{said}\""),
    });
    format!("{}{}", answer_said(decision, str::to_owned, str::to_owned), said.unwrap_or_default())
}

/// A text of others in harmless rows, the first of them.
fn rows(text: &str, room: Option<usize>) -> Vec<String> {
    let rows = safe_text::rows(text.trim_end()).flat_map(|row| match room {
        Some(room) => width::wrap(&row, room),
        None => vec![row.chars().take(ROW_CHARACTERS).collect()],
    });
    let mut rows: Vec<String> = rows.take(ROWS_SHOWN.saturating_add(1)).collect();
    if ROWS_SHOWN < rows.len() {
        rows.truncate(ROWS_SHOWN.saturating_sub(1));
        rows.push("…".to_owned());
    }
    if rows.is_empty() { vec![String::new()] } else { rows }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Blocks have no tree: which hook asked stands in the block.
    #[test]
    fn a_request_of_a_hook_names_the_hook() {
        let span = json!({
            "traceId": "r1", "spanId": "1", "kind": "llm", "name": "small", "runId": "r1", "agent": "lead", "depth": 0, "lane": 0,
            "startedAt": "2026-11-26T11:04:00.000Z", "startUs": 0, "status": "ok",
            "llm": { "model": "small", "purpose": "hook", "hookId": "user/PreToolUse/1" },
        });
        let span: TraceSpan = serde_json::from_value(span).unwrap();
        assert_eq!(facts(&span), [("model", "small, asked by the hook user/PreToolUse/1".to_owned())]);
    }
}
