//! Laws about turns: asking the model, and the transcript that comes of it (spec 03, 04).

use std::collections::HashSet;

use super::log::{Event, Run, Violations};

/// 03, "The loop": turns are numbered from 1, one after the other; only a stop leaves one uncompleted.
pub fn are_numbered_and_paired(run: &Run, violations: &mut Violations) {
    let mut last = 0;
    // The turn that goes on, and whether a stop has cut it.
    let mut open: Option<(i64, bool)> = None;
    for event in &run.events {
        let turn = event.number("turn");
        match event.kind {
            "turn.started" => {
                if turn != last + 1 {
                    violations.add(event, format_args!("turn {turn} after turn {last}"));
                }
                if let Some((unfinished, false)) = open {
                    violations
                        .add(event, format_args!("turn {turn} begins before turn {unfinished} is over"));
                }
                (last, open) = (turn, Some((turn, false)));
            }
            "turn.completed" => {
                if open.is_none_or(|(number, _)| number != turn) {
                    violations.add(event, format_args!("turn {turn} is completed, but it is not going on"));
                }
                open = None;
            }
            "run.stopping" => open = open.map(|(number, _)| (number, true)),
            "model.started" if open.is_none() => violations.add(event, "the model is asked outside a turn"),
            "run.completed" => {
                let was_cut = ["ABORTED", "ERROR"].contains(&event.text("reason"));
                if let Some((unfinished, false)) = open
                    && !was_cut
                {
                    violations.add(event, format_args!("the run ends before turn {unfinished} is completed"));
                }
            }
            _ => (),
        }
    }
}

/// 01, "Events": `model.started` is answered by one `model.completed` or `model.retrying` of its stream, or cut
/// by a stop or the run's end.
pub fn every_ask_has_one_answer(run: &Run, violations: &mut Violations) {
    let mut open: Option<&str> = None;
    let mut was_stopped = false;
    for event in &run.events {
        let stream = event.text("stream");
        match event.kind {
            "model.started" => {
                if let Some(unanswered) = open.filter(|_| !was_stopped) {
                    violations.add(event, format_args!("asks again, but {unanswered} was never answered"));
                }
                (open, was_stopped) = (Some(stream), false);
            }
            "model.completed" | "model.retrying" => {
                if open != Some(stream) {
                    violations.add(event, format_args!("`{}` of {stream}, which is not open", event.kind));
                }
                open = None;
            }
            "turn.completed" => {
                if let Some(unanswered) = open.filter(|_| !was_stopped) {
                    violations
                        .add(event, format_args!("the turn is over, but {unanswered} was never answered"));
                }
            }
            "run.stopping" => was_stopped = true,
            _ => (),
        }
    }
}

/// 04, "Retry": attempts are numbered from 1 within a turn, and `model.retrying` names the next.
pub fn attempts_count_up(run: &Run, violations: &mut Violations) {
    // The attempt that must come next; `None` = free, after an answer that the turn continues.
    let mut next = Some(1);
    let mut last = 0;
    for event in &run.events {
        let attempt = event.number("attempt");
        match event.kind {
            "turn.started" => (next, last) = (Some(1), 0),
            "model.retrying" => {
                if attempt != last + 1 {
                    violations.add(event, format_args!("announces attempt {attempt} after attempt {last}"));
                }
                next = Some(last + 1);
            }
            "model.completed" => next = None,
            "model.started" => {
                if let Some(expected) = next.filter(|expected| *expected != attempt) {
                    violations.add(event, format_args!("attempt {attempt} where {expected} was due"));
                }
                last = attempt;
            }
            _ => (),
        }
    }
}

/// 01, "Events": a thought is of a stream that this run's model opened.
pub fn thoughts_belong_to_an_ask(run: &Run, violations: &mut Violations) {
    let mut streams = HashSet::new();
    for event in &run.events {
        let stream = event.text("stream");
        if event.is("model.started") {
            streams.insert(stream);
        }
        if event.is("thought") && !streams.contains(stream) {
            violations.add(event, format_args!("a thought of {stream}, which was never opened"));
        }
    }
}

/// 03, 5 and 04, "History": every call that the model asked for has ended before the model is asked again, before
/// its turn is completed, and before the run ends.
pub fn the_transcript_is_well_formed(run: &Run, violations: &mut Violations) {
    let mut open: Vec<&str> = Vec::new();
    for event in &run.events {
        if event.is("model.completed") {
            open.extend(event.texts("calls"));
        }
        open.extend(Some(event.text("followUp")).filter(|call| event.is("hook.fired") && !call.is_empty()));
        if event.ends_call() {
            open.retain(|call| *call != event.text("callId"));
        }
        let needs_results = ["model.started", "turn.completed", "run.completed"].contains(&event.kind);
        if needs_results {
            for call in open.drain(..) {
                violations.add(event, format_args!("`{}`, but call {call} has not ended", event.kind));
            }
        }
    }
}

/// 03: `turn.completed` counts the calls of its turn.
pub fn the_turn_counts_its_calls(run: &Run, violations: &mut Violations) {
    let mut asked = 0;
    for event in &run.events {
        match event.kind {
            "turn.started" => asked = 0,
            "model.completed" => asked += event.texts("calls").count() as i64,
            "hook.fired" => asked += i64::from(!event.text("followUp").is_empty()),
            "turn.completed" if event.number("toolCalls") != asked => {
                let counted = event.number("toolCalls");
                violations.add(event, format_args!("`toolCalls` is {counted}, the model asked for {asked}"));
            }
            _ => (),
        }
    }
}

/// 03, 5: `promptId` is `<runId>#<turn>`; 01: the envelope's turn is the turn that goes on.
pub fn prompt_ids_name_run_and_turn(run: &Run, violations: &mut Violations) {
    let mut current = None;
    for event in &run.events {
        if event.is("turn.started") {
            current = event.data("turn").as_i64();
        }
        let turn = event.outer("turn").as_i64();
        if turn.is_some() && turn != current {
            let turn = event.outer("turn");
            violations.add(event, format_args!("says turn {turn}, the run is in {current:?}"));
        }
        if let Some(prompt_id) = event.outer("promptId").as_str() {
            check_prompt_id(run, event, prompt_id, violations);
        }
    }
}

fn check_prompt_id(run: &Run, event: &Event, prompt_id: &str, violations: &mut Violations) {
    let expected = format!("{}#{}", run.id, event.outer("turn"));
    if prompt_id != expected {
        violations.add(event, format_args!("`promptId` is {prompt_id}, not {expected}"));
    }
}
