//! What happened in a turn or a run beside its spans, in words for people.

use std::fmt::Write as _;

use protocol::{SpanEvent, TraceSpan};

use super::{RESUMED, code, moment, paragraph, plain};

/// The events of a span, one a line, below whose they are.
pub(super) fn notes(whose: &str, span: &TraceSpan, out: &mut String) {
    // That it went on is told where that happened.
    let events = span.events.iter().filter(|event| event.name != RESUMED);
    let mut told: Vec<String> = Vec::new();
    let mut before: Option<&SpanEvent> = None;
    for event in events {
        // A run that stops is told once for its last turn, and once for its end.
        let is_again = before.is_some_and(|it| it.name == "run.stopping" && same(it, event));
        if !is_again {
            told.push(format!("- {} {}", moment(event.at), said(event)));
        }
        before = Some(event);
    }
    if span.more_events != 0 {
        told.push(format!("- and {} more", span.more_events));
    }
    if !told.is_empty() {
        paragraph(out, whose);
        let _infallible = write!(out, "{}\n\n", told.join("\n"));
    }
}

fn same(one: &SpanEvent, other: &SpanEvent) -> bool {
    (&one.name, &one.text) == (&other.name, &other.text)
}

/// An event in a sentence.
fn said(event: &SpanEvent) -> String {
    let text = plain(&event.text);
    let sentence = |about: &str| match text.is_empty() {
        true => format!("{about}."),
        false => format!("{about}: {text}"),
    };
    match event.name.as_str() {
        "context.nudged" => nudged(&event.text).to_owned(),
        "turn.started" => {
            let after = event.text.strip_prefix("the last one, after ").map(code);
            let after = after.map(|reason| format!(", after {reason}")).unwrap_or_default();
            format!("This is the last turn{after}: nothing but complete\\_task is there.")
        }
        "run.stopping" => sentence("It is to end"),
        "run.parked" => match event.text.as_str() {
            "storageFull" => "It was parked: the disk was full.".to_owned(),
            "unattended" => "It was parked: nobody was there who could answer its question.".to_owned(),
            _ => sentence("It was parked"),
        },
        "run.queued" => sentence("In its queue"),
        "run.steered" => sentence("Said to it"),
        "run.toolsChanged" => sentence("Its tools changed"),
        "budget.warning" => format!("Most of its budget is used up ({text})."),
        "budget.raised" => sentence("It was given other limits"),
        "route.selected" => sentence("The agent was chosen by routing"),
        "warning" => sentence("Warning"),
        "skill.activated" => sentence("It uses the skill"),
        "memory.saved" => sentence("It remembers"),
        "context.cleared" => sentence("Its history was cleared"),
        "loop.detected" => sentence("It goes round in circles"),
        "model.retrying" => sentence("The model is asked again"),
        "model.fallback" => {
            format!("Another model is asked from here on: {}", code(event.text.trim_start_matches("to ")))
        }
        "model.routed" => sentence("The model was chosen by routing"),
        // In whole words already.
        "hook.fired" => format!("{text}."),
        name => match text.is_empty() {
            true => code(name),
            false => format!("{}: {text}", code(name)),
        },
    }
}

/// The words for a message by which the daemon had the model go on.
fn nudged(because: &str) -> &'static str {
    match because {
        "hook" => "The model was told what a hook had to say, and went on.",
        "loop" => "The model was told that it went round in circles, and went on.",
        "nextSpeaker" => "The model had stopped and had not said all, so it was asked to go on.",
        _ => "The output limit had cut off the answer, so the model was asked to go on.",
    }
}
