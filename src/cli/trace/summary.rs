//! What a waterfall has no room for: which run it is, and below it who changed which file, what was used, and what went wrong.

use std::collections::HashMap;

use super::{money, span_view::SpanView};
use crate::{human, safe_text};
use protocol::{SpanError, Usage, UsdAmount};

/// Lines of one kind below a waterfall; more than that nobody reads there.
const MOST_LINES: usize = 10;

/// The tool whose changes nobody sees.
const COMMAND: &str = "run_shell_command";

/// The run at the root: what it is, when it began, and who began it.
pub(super) fn head(spans: &[SpanView]) -> String {
    let Some(root) = spans.iter().filter(|span| span.kind == "run").min_by_key(|span| span.start_us) else {
        return String::new();
    };
    let run = root.run.as_ref();
    let model = run.map(|run| run.model.as_str()).filter(|model| !model.is_empty());
    let model = model.map(|model| format!(" · {model}")).unwrap_or_default();
    let began = root.started_at.map(|at| format!(" · {}", human::moment(at))).unwrap_or_default();
    let by = run.and_then(|run| run.started_by.as_deref());
    let by = by.map(|by| format!(" · by {}", traces::person(by))).unwrap_or_default();
    safe_text::lines(&format!("{} · run {}{model}{began}{by}\n\n", root.name, root.run_id))
}

/// Names the answers that rules come from which people had remembered.
pub(super) fn name_remembered(spans: &mut [SpanView]) {
    let mut answers: HashMap<String, String> = HashMap::new();
    for span in spans.iter() {
        let Some(asked) = &span.confirmation else { continue };
        if let (Some(id), Some(decision), Some(at)) = (&asked.confirmation_id, &asked.decision, span.ended_at)
        {
            let who = decision.name.as_deref().map_or_else(|| "a person".to_owned(), traces::person);
            let moment = human::moment(at);
            let time = moment.split(' ').nth(1).unwrap_or(&moment).to_owned();
            answers.insert(id.clone(), format!("{who}'s answer of {time}"));
        }
    }
    for span in spans.iter_mut() {
        let of_call = span.tool.as_mut().and_then(|tool| tool.decision.as_mut());
        let Some(rule) = of_call.and_then(|decision| decision.rule.as_mut()) else { continue };
        let Some(remembered) = rule.strip_prefix("remembered:") else { continue };
        let (scope, id) = remembered.split_once(':').unwrap_or(("", remembered));
        let scope = if scope.is_empty() { String::new() } else { format!(" ({scope})") };
        if let Some(answer) = answers.get(id) {
            *rule = format!("{answer}{scope}");
        }
    }
}

/// Files, tokens and cost, and errors: each a few lines.
pub(super) fn below(spans: &[SpanView]) -> String {
    let parts = [files(spans), used(spans), errors(spans)];
    parts.into_iter().filter(|part| !part.is_empty()).map(|part| format!("\n{part}")).collect()
}

/// Changed files, each with the call that changed it.
fn files(spans: &[SpanView]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut commands: u64 = 0;
    for span in spans {
        let Some(tool) = &span.tool else { continue };
        if span.name == COMMAND && tool.waited_ms.is_some() {
            commands += 1;
        }
        let turn = span.turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
        let by = format!("{}{turn}, {}", span.agent.as_deref().unwrap_or("-"), span.name);
        lines.extend(tool.files_changed.iter().map(|file| format!("{} {}: {by}", file.path, file.change)));
    }
    let mut text = listed(&lines, "change");
    if commands != 0 {
        let ran = human::count(commands, "command");
        text.push_str(&format!("{ran} ran; which files commands changed is not known\n"));
    }
    text
}

/// Tokens and cost in all, and by agent where there are several.
fn used(spans: &[SpanView]) -> String {
    let mut all = Usage::default();
    let mut cost: Option<UsdAmount> = None;
    let mut is_part = false;
    let mut agents: Vec<(&str, Option<UsdAmount>)> = Vec::new();
    for span in spans.iter().filter(|span| span.kind == "run") {
        let Some(usage) = span.usage else { continue };
        all += usage;
        cost = [cost, span.cost].into_iter().flatten().reduce(|one, more| one + more);
        is_part |= usage.total() != 0 && span.cost.is_none();
        let name = span.agent.as_deref().unwrap_or("-");
        match agents.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum = [*sum, span.cost].into_iter().flatten().reduce(|one, more| one + more),
            None => agents.push((name, span.cost)),
        }
    }
    // Of a run that is still at work its own requests say it.
    if all.total() == 0 {
        return String::new();
    }
    let beside = |count: u64, what: &str| match count {
        0 => String::new(),
        count => format!(" ({count} {what})"),
    };
    let out = all.output_tokens.saturating_add(all.thought_tokens);
    let tokens = format!(
        "{}{} → {out}{} tokens",
        all.prompt_tokens,
        beside(all.cached_tokens, "cached"),
        beside(all.thought_tokens, "thought"),
    );
    let cost = match money(cost, is_part) {
        Some(cost) if cost == "?" => ", cost not known".to_owned(),
        Some(cost) => format!(", {cost}"),
        None => String::new(),
    };
    let each = agents.iter().filter_map(|(name, cost)| Some(format!("{name} {}", (*cost)?)));
    let each: Vec<String> = each.take(MOST_LINES).collect();
    let each =
        if 1 < agents.len() && !each.is_empty() { format!(": {}", each.join(", ")) } else { String::new() };
    safe_text::lines(&format!("{tokens}{cost}{each}\n"))
}

/// Errors whole, since a row has no room for them.
fn errors(spans: &[SpanView]) -> String {
    // A run tells again what failed in it, a request to a server what the call does.
    let failed = spans.iter().filter(|span| !matches!(span.kind.as_str(), "run" | "mcp"));
    let failed = failed.filter_map(|span| Some((span, span.error.as_ref()?)));
    let line = |(span, error): (&SpanView, &SpanError)| {
        let agent = span.agent.as_deref().map(|agent| format!("{agent}, ")).unwrap_or_default();
        format!("✗ {agent}{}: {}: {}", span.label(), error.kind, error.message)
    };
    listed(&failed.map(line).collect::<Vec<_>>(), "error")
}

/// The first lines, and how many more there are.
fn listed(lines: &[String], noun: &str) -> String {
    let shown = lines.iter().take(MOST_LINES);
    let mut text: String = shown.map(|line| format!("{}\n", safe_text::line(line, usize::MAX))).collect();
    if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more != 0) {
        text.push_str(&format!("and {} more\n", human::count(more as u64, noun)));
    }
    text
}
