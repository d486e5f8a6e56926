//! A trace as a story: who was asked what, what they said, which tools they used, who allowed it, and how it ended.

mod calls;
mod notes;
mod questions;

use std::{fmt::Write as _, time::Duration};

use protocol::{
    CallDecision, HookSpan, RunSpan, SpanError, SpanEvent, SpanKind, SpanStatus, SpanText, TraceSpan, Usage,
    UsdAmount,
};

use self::notes::notes;
use crate::{
    SpanEdge,
    said::{
        GOES_ON, LAST_TURN, WENT_ON, answer_said, asked_about, at_least, confinement_said, interrupted_said,
        is_unanswered, moved_ahead_said, queued_said, rule_said, standing_said, told_said,
    },
    text::{duration as time, line_shown as line, lines_shown as lines, moment, numbered, person},
};

/// The event of a run that goes on.
const RESUMED: &str = "run.resumed";

/// Adds what an edge tells; most say nothing by themselves.
pub(super) fn write(edge: &SpanEdge, out: &mut String) {
    match edge {
        SpanEdge::Began(span) if span.kind == SpanKind::Run => run_began(span, out),
        SpanEdge::Began(span) if span.kind == SpanKind::Turn => {
            heading(out, span, &format!("{}, {}", agent(span), span.name));
        }
        SpanEdge::Began(_) => {}
        SpanEdge::Ended(span) => match span.kind {
            SpanKind::Run => run_ended(span, out),
            SpanKind::Turn => notes(&format!("**{}**, {}:", agent(span), span.name), span, out),
            SpanKind::Llm => request(span, out),
            SpanKind::Tool => calls::ended(span, out),
            SpanKind::Confirmation => questions::over(span, out),
            SpanKind::Compression => compression(span, out),
            SpanKind::Hook => hook(span, out),
            // The call that it is for tells it all.
            SpanKind::Mcp => {}
        },
        SpanEdge::Resumed(span, event, questions) => resumed(span, event, questions, out),
        SpanEdge::Open(span) if span.kind == SpanKind::Run => {
            paragraph(out, &format!("**{}** {}.", agent(span), standing(span)));
            moved_ahead(span, out);
        }
        SpanEdge::Open(span) if span.kind == SpanKind::Confirmation => {
            questions::open(span, out);
        }
        SpanEdge::Open(span) => open(span, out),
    }
}

/// A run that goes on, told where that happened.
fn resumed(span: &TraceSpan, event: &SpanEvent, questions: &[TraceSpan], out: &mut String) {
    questions.iter().for_each(|question| questions::left_open(question, out));
    let (agent, at) = (agent(span), moment(event.at));
    let is_queued = span.run.as_ref().is_some_and(|run| run.waits_for.is_some());
    let told = match (event.text.as_str(), is_queued) {
        ("", false) => format!("**{agent}** goes on, at {at}."),
        ("", true) => format!("**{agent}** goes on waiting in its queue, at {at}."),
        // What had not begun was not interrupted.
        (why, true) => {
            format!("**{agent}** waited in its queue: {}. It goes on waiting, at {at}.", plain(why))
        }
        (why, false) => format!("**{agent}** was interrupted: {}. It goes on, at {at}.", plain(why)),
    };
    paragraph(out, &told);
    if let Some(turn) = span.turn {
        let turn = format!("{}, turn {turn}, after the daemon was started again", self::agent(span));
        heading_of(out, SpanKind::Turn, span.depth, &turn);
    }
}

/// The wait of a run that has not ended, where something else than its spans says it.
fn standing(span: &TraceSpan) -> String {
    let cause = span.run.as_ref().and_then(|run| run.waits_for.as_ref());
    let at_work = ["person", "model", "tool", "agent", "hook"];
    match cause.filter(|cause| !at_work.contains(&cause.waits_for.as_str())) {
        Some(cause) => plain(&standing_said(cause)),
        None => "is still at work".to_owned(),
    }
}

/// Whatever a run does at the end of what was read.
fn open(span: &TraceSpan, out: &mut String) {
    let (who, since) = (agent(span), moment(span.started_at));
    match span.kind {
        SpanKind::Llm => {
            let told = format!("**{who}** waits for {} since {since}.", code(&span.name));
            paragraph(out, &told);
        }
        SpanKind::Tool => calls::open(span, &since, out),
        SpanKind::Hook => {
            let hook = span.hook.as_deref().cloned().unwrap_or_default();
            let (id, name, about) = (code(&hook.hook_id), code(&span.name), of_call(&hook));
            let how = interrupted_said(&hook, span.ended_at);
            let how = how.unwrap_or_else(|| format!("is at work since {since}"));
            paragraph(out, &format!("Hook {id} of {name}{about} {how}."));
        }
        SpanKind::Compression => paragraph(out, &format!("The history is being compressed since {since}.")),
        // What is in it says it.
        SpanKind::Run | SpanKind::Turn | SpanKind::Confirmation | SpanKind::Mcp => {}
    }
}

/// The call that a hook was about.
fn of_call(hook: &HookSpan) -> String {
    let Some(tool) = &hook.tool else { return String::new() };
    let description = hook.description.as_deref().map(|text| format!(" {}", plain(text)));
    let attempt = hook.attempt.map(|attempt| format!("asked again (attempt {attempt})"));
    let again: Vec<String> = asked_about(hook).map(str::to_owned).into_iter().chain(attempt).collect();
    let again = if again.is_empty() { String::new() } else { format!(", {},", again.join(", ")) };
    format!(", for {}{}{again}", code(tool.as_str()), description.unwrap_or_default())
}

fn run_began(span: &TraceSpan, out: &mut String) {
    let title = match &span.parent_span_id {
        None => format!("Trace of {}", agent(span)),
        Some(_) => format!("{} is called", agent(span)),
    };
    heading(out, span, &title);
    let model = span.run.as_ref().map(|run| run.model.as_str()).filter(|model| !model.is_empty());
    let model = model.map(|model| format!(", model {}", code(model))).unwrap_or_default();
    // Whoever started the run at the root did not say what an agent below it is asked.
    let is_called = span.run.as_ref().is_some_and(|run| run.parent_run_id.is_some());
    let by = span.run.as_ref().and_then(|run| run.started_by.as_ref()).filter(|_| !is_called);
    let by = by.map(|by| format!(", started by {}", plain(&person(by)))).unwrap_or_default();
    // A story that begins with a run that another one called: what came before is told in that one's.
    let caller = span.run.as_ref().and_then(|run| run.parent_run_id.as_ref());
    let caller = caller.filter(|_| span.parent_span_id.is_none());
    let caller =
        caller.map(|caller| format!(", called by run {}", code(caller.as_str()))).unwrap_or_default();
    let asked = if is_called { "Asked by the agent that called it" } else { "Asked" };
    paragraph(
        out,
        &format!(
            "{}, run {}{model}{by}{caller}. {asked}:",
            moment(span.started_at),
            code(span.run_id.as_str())
        ),
    );
    quote(span.input.as_ref(), out);
    if let Some(query) = span.run.as_ref().and_then(|run| run.query.as_ref()) {
        paragraph(out, "Its model reads that, by the template of the agent's file, as:");
        quote(Some(query), out);
    }
    if let Some(told) = span.run.as_ref().and_then(|run| run.prompt_sources.as_ref()) {
        paragraph(out, &format!("Told before that: {}.", told_said(told, code)));
    }
}

fn run_ended(span: &TraceSpan, out: &mut String) {
    let run = span.run.as_deref().cloned().unwrap_or_default();
    let reason = run.reason.as_deref().unwrap_or("ended");
    let mut told = format!("**{}** ended {} after {}", agent(span), code(reason), duration(span));
    let queued = plain(&queued_said(run.queued_behind.as_ref()));
    let waits = [
        (run.queued_ms, "", queued.as_str()),
        (run.hooks_ms, "", "for hooks about its prompt"),
        (run.waiting_ms, at_least(run.waiting_down_ms), "waiting for people"),
        (run.parked_ms, "", "parked"),
    ];
    let waits = waits.iter().filter(|(ms, ..)| *ms != 0);
    let waits: Vec<String> = waits.map(|(ms, least, how)| format!("{least}{} {how}", millis(*ms))).collect();
    if !waits.is_empty() {
        let _infallible = write!(told, " (of it {})", waits.join(", "));
    }
    if run.restarts != 0 {
        let most = millis(run.down_ms);
        let _infallible =
            write!(told, ", taken up again {} (without a daemon for at most {most})", times(run.restarts));
    }
    if let Some(by) = &run.stopped_by {
        let _infallible = write!(told, ", stopped by {}", plain(&person(by)));
    }
    let (turns, calls) = (counted(run.turns, "turn"), counted(run.tool_calls, "call"));
    let _infallible = write!(told, ": {turns}, {calls}{}", spent(span));
    if run.child_usage.is_some_and(|usage| usage.total() != 0) {
        let below = used(run.child_usage, run.child_cost);
        let _infallible = write!(told, "; the runs below it{}", below.replacen(',', "", 1));
    }
    for (unpriced, whose) in [(run.unpriced_tokens, ""), (run.child_unpriced_tokens, " of the runs below it")]
    {
        if unpriced != 0 {
            let tokens = counted(unpriced, "token");
            let _infallible = write!(told, "; what {tokens}{whose} cost is not known");
        }
    }
    for (estimated, whose) in
        [(run.estimated_requests, ""), (run.child_estimated_requests, " of the runs below it")]
    {
        if estimated != 0 {
            let requests = counted(estimated, "request");
            let _infallible = write!(told, "; what {requests}{whose} used is estimated");
        }
    }
    for (uncounted, whose) in
        [(run.uncounted_requests, ""), (run.child_uncounted_requests, " of the runs below it")]
    {
        if uncounted != 0 {
            let requests = counted(uncounted, "request");
            let (were, they) = if uncounted == 1 { ("was", "it") } else { ("were", "they") };
            let _infallible =
                write!(told, "; {requests}{whose} {were} cut off, and what {they} used is not known");
        }
    }
    told.push('.');
    paragraph(out, &told);
    moved_ahead(span, out);
    if let Some(error) = &span.error {
        failed(error, out);
    }
    if let (Some(message), None) = (&run.message, &span.error) {
        paragraph(out, &plain(message));
    }
    if let Some(told) = files(&run) {
        paragraph(out, &told);
    }
    if span.output.is_some() {
        paragraph(out, if span.status == SpanStatus::Ok { "Result:" } else { "It had said:" });
    }
    quote(span.output.as_ref(), out);
    notes(&format!("Of **{}**:", agent(span)), span, out);
}

/// The runs that were moved ahead of it.
fn moved_ahead(span: &TraceSpan, out: &mut String) {
    let moved = span.run.as_ref().and_then(|run| moved_ahead_said(&run.moved_ahead));
    if let Some(moved) = moved {
        paragraph(out, &format!("In its queue, {}.", plain(&moved)));
    }
}

/// The files that a run changed itself, and what is not known of others.
fn files(run: &RunSpan) -> Option<String> {
    let own: Vec<String> = run.files_changed.iter().map(|path| code(path)).collect();
    let own = (!own.is_empty()).then(|| format!("Files changed by its own file tools: {}.", own.join(", ")));
    let below = (run.called_runs != 0).then(|| {
        let what = if own.is_some() { "Files" } else { "It changed no files by its own file tools. Files" };
        format!("{what} that the agents it called changed are listed at theirs.")
    });
    let commands = (run.commands != 0).then(|| {
        format!("{} ran; which files commands changed is not known.", counted(run.commands, "command"))
    });
    let told: Vec<String> = [own, below, commands].into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(" "))
}

fn request(span: &TraceSpan, out: &mut String) {
    let llm = span.llm.as_deref().cloned().unwrap_or_default();
    let purpose = llm.purpose.filter(|_| llm.hook_id.is_none());
    let purpose = purpose.map(|purpose| format!(" for {}", code(&purpose))).unwrap_or_default();
    let calls = match llm.calls {
        0 => String::new(),
        1 => ", asks for 1 call".to_owned(),
        calls => format!(", asks for {calls} calls"),
    };
    let cut = if llm.cut || span.status == SpanStatus::Cancelled { ", cut off" } else { "" };
    let said = if span.output.is_some() { ":" } else { "." };
    let (name, took) = (code(&span.name), duration(span));
    let attempt = llm.attempt.filter(|attempt| 1 < *attempt);
    let attempt = attempt.map(|attempt| format!(" (attempt {attempt})")).unwrap_or_default();
    let who = match &llm.hook_id {
        Some(hook) => format!("The hook {}", code(hook)),
        None => format!("**{}**", agent(span)),
    };
    let cut_off = llm.repeated_after_restart.then_some(" again, which the end of the daemon had cut off");
    let again = cut_off.unwrap_or_default();
    let told =
        format!("{who} asks {name}{purpose}{attempt}{again} · {took}{}{calls}{cut}{said}", spent(span));
    paragraph(out, &told);
    quote(span.output.as_ref(), out);
    if let Some(error) = &span.error {
        failed(error, out);
    }
    if let Some(wait) = llm.retry_after_ms.filter(|wait| *wait != 0) {
        paragraph(out, &format!("Asked again after {}.", millis(wait)));
    }
}

fn compression(span: &TraceSpan, out: &mut String) {
    let told = span.compression.as_deref().cloned().unwrap_or_default();
    let status = told.status.unwrap_or_else(|| "nothing came of it".to_owned());
    let counts = format!("{} → {} tokens", told.tokens_before, told.tokens_after);
    paragraph(out, &format!("The history is compressed: {}, {counts}, {}.", code(&status), duration(span)));
}

fn hook(span: &TraceSpan, out: &mut String) {
    let told = span.hook.as_deref().cloned().unwrap_or_default();
    let reason = told.reason.as_ref().filter(|_| span.error.is_none());
    let reason = reason.map(|reason| format!(": {}", plain(reason))).unwrap_or_default();
    let said = match (&told.decision, &span.error) {
        _ if span.status == SpanStatus::Cancelled => "was cut off".to_owned(),
        _ if told.outcome == GOES_ON => WENT_ON.to_owned(),
        (_, Some(_)) => "failed".to_owned(),
        (Some(decision), None) => format!("said {}{reason}", code(decision)),
        // What it added or changed is what it has to say.
        (None, None)
            if told.changed
                || told.dropped_change.is_some()
                || told.added.is_some()
                || told.message.is_some()
                || told.replacement.is_some()
                || told.follow_up.is_some() =>
        {
            format!("answered{reason}")
        }
        (None, None) => format!("decided nothing{reason}"),
    };
    let (name, id, about, took) = (code(&span.name), code(&told.hook_id), of_call(&told), duration(span));
    let changed =
        (told.changed && told.replacement.is_none()).then(|| "It changed what it was shown.".to_owned());
    let dropped = told.dropped_change.as_ref().map(|it| {
        let (input, reason) = (code(&it.input), plain(&it.reason));
        format!("It proposed other arguments, {input}, which did not count: {reason}.")
    });
    let wants = told.follow_up.as_ref();
    let wants = wants
        .map(|_| "It wants one more call: what comes of that is read in place of this result.".to_owned());
    let message = told.message.as_ref().map(|message| format!("It told people: “{}”.", plain(message)));
    let added = told.added.as_ref().map(|_| "It added for the model:".to_owned());
    let ran = told.confinement.as_ref().map(|it| format!("It {}.", plain(&confinement_said(it))));
    let more = [changed, dropped, wants, message, ran, added].into_iter().flatten();
    let more: String = more.map(|more| format!(" {more}")).collect();
    // How long it had worked by then nobody knows.
    let cut_off = interrupted_said(&told, span.ended_at).filter(|_| span.status == SpanStatus::Cancelled);
    let how = cut_off.unwrap_or_else(|| format!("{said} (after {took})"));
    paragraph(out, &format!("Hook {id} of {name}{about} {how}.{more}"));
    if let Some(added) = told.added {
        quote(Some(&SpanText { text: added, bytes: None }), out);
    }
    if let Some(replacement) = told.replacement {
        let how = if replacement.withheld { "withheld" } else { "replaced" };
        paragraph(out, &format!("It {how} the result of the call. What was read in its place:"));
        quote(Some(&SpanText { text: replacement.text, bytes: replacement.bytes }), out);
    }
    if let Some(error) = &span.error {
        failed(error, out);
    }
}

/// The words for who let a call run, or did not.
fn decided(decision: &CallDecision) -> String {
    let rule = match &decision.origin {
        Some(_) => rule_said(decision).map(|rule| format!(" by {}", plain(&rule))),
        None => decision.rule.as_ref().map(|rule| format!(" by {}", code(rule))),
    };
    let rule = rule.unwrap_or_default();
    match decision.source.as_str() {
        "policy" if decision.outcome == "allow" => format!("allowed{rule}"),
        "policy" => format!("denied{rule}"),
        "agent" => "denied by the agent's definition".to_owned(),
        "grace" => format!("denied by {}", plain(LAST_TURN)),
        _ if is_unanswered(decision) => "nobody answered".to_owned(),
        // How long it took stands with the question.
        _ => answer_said(&CallDecision { waited_ms: None, ..decision.clone() }, code, plain),
    }
}

fn failed(error: &SpanError, out: &mut String) {
    paragraph(out, &format!("{}: {}", code(&error.kind), plain(&error.message)));
}

/// `, 812 (500 cached) → 58 (20 thought) tokens, $0.0004`.
fn spent(span: &TraceSpan) -> String {
    let is_unknown = span.llm.as_ref().is_some_and(|llm| llm.usage_unknown);
    let unknown = match (is_unknown, span.usage) {
        (true, Some(_)) => ", and more that is not known",
        (true, None) => ", what it used is not known",
        (false, _) => "",
    };
    let is_estimate = span.llm.as_ref().is_some_and(|llm| llm.estimated);
    let estimated = if is_estimate { " (some of it estimated)" } else { "" };
    format!("{}{estimated}{unknown}", used(span.usage, span.cost))
}

fn used(usage: Option<Usage>, cost: Option<UsdAmount>) -> String {
    let beside = |count: u64, what: &str| match count {
        0 => String::new(),
        count => format!(" ({count} {what})"),
    };
    let tokens = usage.filter(|usage| usage.total() != 0).map(|usage| {
        let (cached, thought) =
            (beside(usage.cached_tokens, "cached"), beside(usage.thought_tokens, "thought"));
        let out = usage.output_tokens.saturating_add(usage.thought_tokens);
        format!(", {}{cached} → {out}{thought} tokens", usage.prompt_tokens)
    });
    let cost = cost.map(|cost| format!(", {cost}"));
    format!("{}{}", tokens.unwrap_or_default(), cost.unwrap_or_default())
}

fn agent(span: &TraceSpan) -> String {
    plain(&numbered(span.agent.as_ref().map_or("the run", |agent| agent.as_str()), span.run_number))
}

/// Below the heading of the run that called it, as far as there are headings.
fn heading(out: &mut String, span: &TraceSpan, title: &str) {
    heading_of(out, span.kind, span.depth, title);
}

fn heading_of(out: &mut String, kind: SpanKind, depth: u32, title: &str) {
    let depth = usize::try_from(depth).unwrap_or(usize::MAX);
    let level = depth.saturating_add(if kind == SpanKind::Turn { 2 } else { 1 }).min(6);
    let _infallible = write!(out, "{} {title}\n\n", "#".repeat(level));
}

fn paragraph(out: &mut String, text: &str) {
    let _infallible = write!(out, "{text}\n\n");
}

/// Words of others as a quotation: mark-up in them stays mark-up, but nothing of it leaves the quotation or is HTML.
fn quote(text: Option<&SpanText>, out: &mut String) {
    let Some(text) = text else { return };
    for line in lines(&text.text) {
        let line = unquoted(&line);
        let _infallible = writeln!(out, "{}", format!("> {line}").trim_end());
    }
    out.push('\n');
    rest(text, out);
}

/// A line without HTML, further quotations, and pictures that whoever reads it would fetch.
fn unquoted(line: &str) -> String {
    let safe = line.replace('&', "&amp;").replace('<', "&lt;").replace("![", "!\\[");
    let words = safe.trim_start_matches([' ', '\t', '>']);
    let start = safe.len() - words.len();
    format!("{}{words}", safe[..start].replace('>', "&gt;"))
}

/// A text between fences that it cannot end itself.
fn block(language: &str, text: Option<&SpanText>, out: &mut String) {
    let Some(text) = text else { return };
    let longest = text.text.split(|it| it != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    let shown = lines(&text.text).join("\n");
    let _infallible = write!(out, "{fence}{language}\n{}\n{fence}\n\n", shown.trim_end_matches('\n'));
    rest(text, out);
}

fn rest(text: &SpanText, out: &mut String) {
    if let Some(bytes) = text.bytes {
        paragraph(out, &format!("(the beginning of {bytes} bytes)"));
    }
}

/// Words of others in a line, so that they are no mark-up.
fn plain(text: &str) -> String {
    let text = line(text.trim());
    let mut safe = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        let is_markup =
            matches!(character, '*' | '`' | '[' | ']' | '<' | '>' | '#' | '|' | '\\' | '_' | '&' | '~');
        // Items of lists, where a line begins.
        let begins = at == 0 && matches!(character, '-' | '+' | '=');
        let numbers = at != 0 && matches!(character, '.' | ')') && is_number(&text[..at]);
        if is_markup || begins || numbers {
            safe.push('\\');
        }
        safe.push(character);
    }
    safe
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A word between backticks; one with backticks in it as a plain one.
fn code(text: &str) -> String {
    let word = line(text);
    if word.is_empty() || word.contains('`') { plain(&word) } else { format!("`{word}`") }
}

fn duration(span: &TraceSpan) -> String {
    // Only the end of it was read.
    if span.began_before {
        return "an unknown time".to_owned();
    }
    let us = span.end_us.unwrap_or(span.start_us).saturating_sub(span.start_us);
    time(Duration::from_micros(u64::try_from(us).unwrap_or_default()))
}

fn millis(ms: u64) -> String {
    time(Duration::from_millis(ms))
}

/// `1 turn`, `3 turns`.
fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
