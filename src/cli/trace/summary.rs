//! What a waterfall has no room for: which run it is, and below it who changed which file, what was used, and what went wrong.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::{
    listing::listed,
    money,
    span_view::{LlmSpanView, SpanView},
    waits::{RESUMED, waits},
};
use crate::{human, safe_text, sureness::Sureness};
use protocol::{SpanError, SpanFileChange, Timestamp, Usage, UsdAmount};

/// Characters of a prompt or result.
const MOST_CHARACTERS: usize = 300;

/// The line of the head that has the prompt begins so.
const ASKED: &str = "asked: ";

/// The event of a run that was moved within its queue.
const QUEUED: &str = "run.queued";

/// The tool whose changes nobody sees.
const COMMAND: &str = "run_shell_command";

/// The question that the run at the root was asked, and the answer.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RunTexts {
    prompt: Option<String>,
    /// The task, where nobody typed a prompt: of a run that an agent called.
    query: Option<String>,
    result: Option<String>,
    partial_result: Option<String>,
}

impl RunTexts {
    fn asked(&self) -> Option<&str> {
        self.prompt.as_deref().or(self.query.as_deref()).filter(|text| !text.trim().is_empty())
    }
}

/// The run at the root: what it is, when it began, who began it, and what it was asked.
pub(super) fn head(spans: &[SpanView], texts: &RunTexts) -> String {
    let Some(root) = spans.iter().filter(|span| span.kind == "run").min_by_key(|span| span.start_us) else {
        return String::new();
    };
    let run = root.run.as_ref();
    let model = run.map(|run| run.model.as_str()).filter(|model| !model.is_empty());
    let model = model.map(|model| format!(" · {model}")).unwrap_or_default();
    let began = root.started_at.map(|at| format!(" · {}", human::moment(at))).unwrap_or_default();
    // Of one that an agent called, that is who said what to do.
    let is_called = run.is_some_and(|run| run.parent_run_id.is_some());
    let by = run.and_then(|run| run.started_by.as_deref()).filter(|_| !is_called);
    let by = by.map(|by| format!(" · by {}", traces::person(by))).unwrap_or_default();
    // Its own trace begins with it; what it was called for stands in the caller's.
    let caller = run.and_then(|run| run.parent_run_id.as_deref()).filter(|_| root.parent_span_id.is_none());
    let caller = caller.map(|caller| format!("called by run {caller}: subagent trace show {caller}\n"));
    let outer = root.traceparent.as_deref().filter(|_| root.parent_span_id.is_none());
    let outer = outer.map(|outer| format!("part of the trace {outer}, which who started it named\n"));
    // Of one that an agent called, its span says it.
    let input = root.input.as_ref().map(|input| input.text.as_str()).filter(|text| !text.is_empty());
    let asked = texts.asked().or(input).map(|prompt| format!("{ASKED}{}\n", first_line(prompt)));
    let line = format!("{} · run {}{model}{began}{by}\n", root.label(), root.run_id);
    let told = run.and_then(|run| run.prompt_sources.as_ref());
    let told = told.map(|told| format!("told: {}\n", traces::told_said(told, str::to_owned)));
    let query = run.and_then(|run| run.query.as_ref()).map(|query| query.text.as_str());
    let query = query.map(|query| format!("read as: {}\n", first_line(query)));
    let told = [caller, outer, asked, query, told].into_iter().flatten().collect::<String>();
    safe_text::lines(&format!("{line}{told}\n"))
}

/// The whole prompt, for the line that has its beginning.
pub(super) fn whole_prompt(line: &str, texts: &RunTexts) -> Vec<String> {
    let prompt = texts.asked().filter(|_| line.starts_with(ASKED));
    let lines = prompt.into_iter().flat_map(str::lines).map(|line| safe_text::line(line, usize::MAX));
    lines.collect()
}

/// The first line of a text that says something; a sign for more.
fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next().unwrap_or_default();
    let cut: String = line.chars().take(MOST_CHARACTERS).collect();
    let is_all = lines.next().is_none() && cut.len() == line.len();
    if is_all { cut } else { format!("{cut} …") }
}

/// Names the answers that rules come from which people had remembered.
pub(super) fn name_remembered(spans: &mut [SpanView]) {
    let mut answers: HashMap<String, String> = HashMap::new();
    for span in spans.iter() {
        let Some(asked) = &span.confirmation else { continue };
        if let (Some(id), Some(decision), Some(at)) = (&asked.confirmation_id, &asked.decision, span.ended_at)
        {
            let who = decision.name.as_deref().map_or_else(|| "a person".to_owned(), traces::person);
            answers.insert(id.clone(), format!("remembered from {who}'s answer of {}", human::moment(at)));
        }
    }
    for span in spans.iter_mut() {
        let of_call = span.tool.as_mut().and_then(|tool| tool.decision.as_mut());
        // What logs from before tell of it: no more than what the trace has.
        let of_call = of_call.filter(|decision| decision.origin.is_none());
        let Some(rule) = of_call.and_then(|decision| decision.rule.as_mut()) else { continue };
        let Some(remembered) = rule.strip_prefix("remembered:") else { continue };
        let (scope, id) = remembered.split_once(':').unwrap_or(("", remembered));
        let scope = if scope.is_empty() { String::new() } else { format!(" ({scope})") };
        if let Some(answer) = answers.get(id) {
            *rule = format!("{answer}{scope}");
        }
    }
}

/// Has each hook that changed the arguments of a call say which ones it changed then: the call has that, with the time.
pub(super) fn name_changed_arguments(spans: &mut [SpanView]) {
    let named: Vec<(usize, Vec<String>)> = {
        type Changer<'trace> = (&'trace str, &'trace str, &'trace str);
        let mut changes: HashMap<(Changer<'_>, Timestamp), &[String]> = HashMap::new();
        for span in spans.iter() {
            let call = span.tool.as_ref().and_then(|tool| Some((tool, tool.call_id.as_deref()?)));
            for (call, change) in
                call.iter().flat_map(|(tool, call)| tool.changes.iter().map(|it| (*call, it)))
            {
                changes.insert(((&span.run_id, call, &change.name), change.at), &change.arguments);
            }
        }
        let changers = spans.iter().enumerate().filter_map(|(row, span)| {
            let hook = span.hook.as_ref().filter(|hook| hook.changed)?;
            let key: Changer<'_> = (&span.run_id, hook.call_id.as_ref()?.as_str(), &hook.hook_id);
            Some((row, key, span.ended_at.and_then(|at| changes.get(&(key, at)))))
        });
        let changers: Vec<_> = changers.collect();
        // One change may stand for several rounds of a hook: then none of them is told to have made all of it.
        let joined: HashSet<Changer<'_>> =
            changers.iter().filter(|(.., names)| names.is_none()).map(|(_, key, _)| *key).collect();
        let alone = changers.into_iter().filter(|(_, key, _)| !joined.contains(key));
        alone.filter_map(|(row, _, names)| Some((row, names?.to_vec()))).collect()
    };
    for (row, names) in named {
        if let Some(span) = spans.get_mut(row) {
            span.changed_arguments = names;
        }
    }
}

/// Has each run say how sure it is what it, and the runs below it, used.
pub(super) fn mark_sureness(spans: &mut [SpanView]) {
    let callers: HashMap<&str, &str> = spans
        .iter()
        .filter_map(|span| Some((span.run_id.as_str(), span.run.as_ref()?.parent_run_id.as_deref()?)))
        .collect();
    let above = |is_so: fn(&LlmSpanView) -> bool| {
        let mut marked: HashSet<String> = HashSet::new();
        for span in spans.iter().filter(|span| span.llm.as_ref().is_some_and(is_so)) {
            let mut run = Some(span.run_id.as_str());
            while let Some(of) = run.filter(|of| marked.insert((*of).to_owned())) {
                run = callers.get(of).copied();
            }
        }
        marked
    };
    let (uncounted, estimated) = (above(|llm| llm.usage_unknown), above(|llm| llm.estimated));
    for span in spans.iter_mut().filter(|span| span.kind == "run") {
        span.sureness = Sureness {
            uncounted: u64::from(uncounted.contains(&span.run_id)),
            estimated: u64::from(estimated.contains(&span.run_id)),
        };
    }
}

/// The result, files, tokens and cost, waits, and errors: each a few lines.
pub(super) fn below(spans: &[SpanView], texts: &RunTexts) -> String {
    let parts =
        [result(texts), files(spans), answers(spans), said(spans), used(spans), waits(spans), errors(spans)];
    parts.into_iter().filter(|part| !part.is_empty()).map(|part| format!("\n{part}")).collect()
}

fn result(texts: &RunTexts) -> String {
    let told = [("result", &texts.result), ("it had said", &texts.partial_result)];
    let told = told.into_iter().find_map(|(what, text)| Some((what, text.as_deref()?)));
    told.map(|(what, text)| safe_text::lines(&format!("{what}: {}\n", first_line(text)))).unwrap_or_default()
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
        let by = format!("{}, {}", span.turn_of(), span.name);
        let line = |file: &SpanFileChange| {
            let undone = traces::undone_said(file).map(|undone| format!("; {undone}")).unwrap_or_default();
            format!("{} {}: {by}{undone}", file.path, file.change)
        };
        lines.extend(tool.files_changed.iter().map(line));
    }
    let mut text = listed(&lines, "change");
    if commands != 0 {
        let ran = human::count(commands, "command");
        text.push_str(&format!("{ran} ran; which files commands changed is not known\n"));
    }
    text
}

/// Answers that allowed more than their calls, and calls that hooks changed.
fn answers(spans: &[SpanView]) -> String {
    let granted = |span: &SpanView| {
        let decision = span.confirmation.as_ref()?.decision.as_ref()?;
        let lines = traces::granted(decision);
        (!lines.is_empty()).then(|| format!("{}: {}", span.place(), lines.join(" ")))
    };
    let changed = |span: &SpanView| Some(format!("{}: {}", span.place(), span.changed()?));
    let told = |span: &SpanView| Some(format!("{}: {}", span.place(), span.answered()?));
    let granted = listed(&spans.iter().filter_map(granted).collect::<Vec<_>>(), "answer");
    let told = listed(&spans.iter().filter_map(told).collect::<Vec<_>>(), "answered question");
    format!(
        "{granted}{told}{}",
        listed(&spans.iter().filter_map(changed).collect::<Vec<_>>(), "changed call")
    )
}

/// Everything that was said to a run while it worked, and what people were warned of.
fn said(spans: &[SpanView]) -> String {
    let line = |span: &SpanView, name: &str, text: &str| {
        let what = match name {
            "warning" => "warning: ",
            "run.steered" => "said to it: ",
            QUEUED => "in its queue: ",
            "skill.activated" => "skill: ",
            "memory.saved" => "remembers: ",
            "loop.detected" => "it goes round in circles: ",
            _ => "",
        };
        format!("{}: {what}{text}", span.turn_of())
    };
    let of_span = |span: &SpanView| {
        // What goes on after a restart says its waits.
        let events = span.events.iter().filter(|event| event.name != RESUMED);
        let lines = events.map(|event| {
            // How long others went first is told by when that was.
            let at = (event.name == QUEUED).then(|| format!(" at {}", human::moment(event.at)));
            line(span, &event.name, &format!("{}{}", event.text, at.unwrap_or_default()))
        });
        lines.collect::<Vec<_>>()
    };
    listed(&spans.iter().flat_map(of_span).collect::<Vec<_>>(), "word")
}

/// Tokens and cost in all, and by agent and model where there are several.
fn used(spans: &[SpanView]) -> String {
    let mut all = Spent::default();
    let mut agents: Vec<((&str, &str), Spent)> = Vec::new();
    let mut requests: HashMap<&str, Vec<&SpanView>> = HashMap::new();
    for span in spans.iter().filter(|span| span.kind == "llm") {
        requests.entry(&span.run_id).or_default().push(span);
    }
    let mut is_open = false;
    for span in spans.iter().filter(|span| span.kind == "run") {
        // A run asks several models: for hooks, compressions, and where one fails.
        let own = requests.get(span.run_id.as_str()).into_iter().flatten();
        let mut parts: Vec<(&str, Usage, Option<UsdAmount>, Sureness)> =
            own.filter_map(|it| Some((it.name.as_str(), it.usage?, it.cost, it.sureness()))).collect();
        let mut sum = Usage::default();
        parts.iter().for_each(|(_, usage, ..)| sum += *usage);
        if let Some(usage) = span.usage.filter(|usage| *usage != sum) {
            // Not all of its requests are told, so only the run says what it used.
            let model = span.run.as_ref().map(|run| run.model.as_str()).unwrap_or_default();
            parts = vec![(model, usage, span.cost, span.sureness)];
        }
        is_open |= span.end_us.is_none();
        for (model, usage, cost, sure) in parts.into_iter().filter(|(_, usage, ..)| usage.total() != 0) {
            all.add(usage, cost, sure);
            let name = (span.agent.as_deref().unwrap_or("-"), model);
            match agents.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => sum.add(usage, cost, sure),
                None => {
                    let mut sum = Spent::default();
                    sum.add(usage, cost, sure);
                    agents.push((name, sum));
                }
            }
        }
    }
    let is_uncounted = spans.iter().any(|span| span.llm.as_ref().is_some_and(|llm| llm.usage_unknown));
    all.is_part |= is_uncounted;
    if all.usage.total() == 0 {
        let unknown = "what was used is not known: a request was cut off before the provider had said it\n";
        return if all.is_part { unknown.to_owned() } else { String::new() };
    }
    let how = if all.sureness.estimated != 0 { ", some of it estimated (~)" } else { "" };
    let uncounted = if is_uncounted { ", and more that nobody counted (>)" } else { "" };
    let mut text = format!("{}{}{how}{uncounted}\n", all.line(), if is_open { ", so far" } else { "" });
    if 1 < agents.len() {
        let lines: Vec<String> = agents
            .iter()
            .map(|((agent, model), sum)| format!("  {agent}, {model}: {}", sum.line()))
            .collect();
        text.push_str(&listed(&lines, "agent"));
    }
    safe_text::lines(&text)
}

/// Tokens, and what they cost.
#[derive(Default)]
struct Spent {
    usage: Usage,
    cost: Option<UsdAmount>,
    /// Some have no known price.
    is_part: bool,
    sureness: Sureness,
}

impl Spent {
    fn add(&mut self, usage: Usage, cost: Option<UsdAmount>, sure: Sureness) {
        self.sureness = self.sureness.with(sure);
        self.usage += usage;
        self.cost = [self.cost, cost].into_iter().flatten().reduce(|one, more| one + more);
        self.is_part |= usage.total() != 0 && cost.is_none() || sure.uncounted != 0;
    }

    /// `12600 (500 cached) → 950 (50 thought) tokens, $0.0462`
    fn line(&self) -> String {
        let beside = |count: u64, what: &str| match count {
            0 => String::new(),
            count => format!(" ({count} {what})"),
        };
        let all = self.usage;
        let out = all.output_tokens.saturating_add(all.thought_tokens);
        let cost = match money(self.cost, self.is_part, self.sureness) {
            Some(cost) if cost == "?" => ", cost not known".to_owned(),
            Some(cost) => format!(", {cost}"),
            None => String::new(),
        };
        let about = Sureness { uncounted: 0, ..self.sureness }.mark("", false);
        format!(
            "{about}{}{} → {out}{} tokens{cost}",
            all.prompt_tokens,
            beside(all.cached_tokens, "cached"),
            beside(all.thought_tokens, "thought"),
        )
    }
}

/// True if its error stands below the waterfall: a run tells again what failed in it, a request to a server what the call does.
pub(super) fn tells_error(span: &SpanView) -> bool {
    span.error.is_some() && !matches!(span.kind.as_str(), "run" | "mcp")
}

/// Errors whole, since a row has no room for them.
fn errors(spans: &[SpanView]) -> String {
    let failed = spans.iter().filter(|span| tells_error(span));
    let failed = failed.filter_map(|span| Some((span, span.error.as_ref()?)));
    let line = |(span, error): (&SpanView, &SpanError)| {
        let place = if span.agent.is_some() { span.place() } else { span.label_alone() };
        format!("✗ {place}: {}: {}", error.kind, error.message)
    };
    listed(&failed.map(line).collect::<Vec<_>>(), "error")
}

#[cfg(test)]
mod tests;
