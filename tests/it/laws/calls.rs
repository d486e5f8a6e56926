//! Laws about tool calls (spec 05, "Scheduler"; 11, promise 4).

use std::collections::{HashMap, HashSet};

use super::log::{Event, Log, Run, Violations};

/// Every change a call may make (05, "Scheduler"). Shortcuts end a call early: bad arguments and refusals in
/// `error`, a stop in `cancelled`.
const CHANGES: &[(&str, &str)] = &[
    ("", "validating"),
    ("validating", "scheduled"),
    ("validating", "error"),
    ("validating", "cancelled"),
    ("scheduled", "awaitingApproval"),
    ("scheduled", "executing"),
    ("scheduled", "error"),
    ("scheduled", "cancelled"),
    ("awaitingApproval", "executing"),
    ("awaitingApproval", "error"),
    ("awaitingApproval", "cancelled"),
    ("executing", "success"),
    ("executing", "error"),
    ("executing", "cancelled"),
];

/// 03, 6: `complete_task` is validated at once and touches nothing, so it may succeed without executing.
const CHANGES_OF_COMPLETE_TASK: &[(&str, &str)] = &[("validating", "success"), ("scheduled", "success")];

/// 05, "Kinds": what changes the world.
const MUTATORS: &[&str] = &["edit", "delete", "move", "execute"];

/// 05: only calls that a model of this run asked for have states, and those that a hook wants made after one of them (08).
pub fn were_asked_for(run: &Run, violations: &mut Violations) {
    let mut asked = HashSet::new();
    for event in &run.events {
        if event.is("model.completed") {
            for call in event.texts("calls") {
                if !asked.insert(call) {
                    violations.add(event, format_args!("call {call} is asked for a second time"));
                }
            }
        }
        if event.is("hook.fired") && !event.text("followUp").is_empty() {
            asked.insert(event.text("followUp"));
        }
        if event.is("tool.state") && !asked.contains(event.text("callId")) {
            violations.add(event, format_args!("call {} was never asked for", event.text("callId")));
        }
    }
}

/// 05, "Scheduler": each change is one of the state machine's, and `from` is the `to` before it.
pub fn follow_the_state_machine(run: &Run, violations: &mut Violations) {
    for (call, states) in run.calls() {
        let mut before = "";
        for event in states {
            let (from, to) = (event.text("from"), event.text("to"));
            if from != before {
                let (from, before) = (or_nothing(from), or_nothing(before));
                violations
                    .add(event, format_args!("call {call} says it comes from {from}, but it was {before}"));
            }
            let is_legal = CHANGES.contains(&(before, to))
                || (is_complete_task(event) && CHANGES_OF_COMPLETE_TASK.contains(&(before, to)));
            if !is_legal {
                violations
                    .add(event, format_args!("call {call} may not go from {} to {to}", or_nothing(before)));
            }
            before = to;
        }
    }
}

/// 01, "Invariants": one end a call.
pub fn end_once(run: &Run, violations: &mut Violations) {
    for (call, states) in run.calls() {
        for again in states.into_iter().filter(|event| event.ends_call()).skip(1) {
            violations.add(again, format_args!("call {call} ends a second time"));
        }
    }
}

/// 11, promise 4: a call begins to execute once. What a restart runs again stays `executing` and has no new event.
pub fn execute_once(run: &Run, violations: &mut Violations) {
    for (call, states) in run.calls() {
        for again in states.into_iter().filter(|event| event.brings_call_to("executing")).skip(1) {
            violations.add(again, format_args!("call {call} executes a second time"));
        }
    }
}

/// 01, "Events": the descriptive fields stand on the first `tool.state`, result or error on the last; an error
/// has its type (05, "Error types").
pub fn say_first_what_they_are_and_last_what_came_of_it(run: &Run, violations: &mut Violations) {
    for (call, states) in run.calls() {
        let first = states[0];
        if first.text("name").is_empty() || first.data("arguments").is_null() {
            violations.add(first, format_args!("call {call} does not say its name and arguments"));
        }
        for event in states.iter().filter(|event| event.text("name") != first.text("name")) {
            violations.add(event, format_args!("call {call} changes its name to {}", event.text("name")));
        }
        for event in states {
            let (result, error) = (event.data("result"), event.data("error"));
            match event.text("to") {
                "success" if result.is_null() || !error.is_null() => {
                    violations
                        .add(event, format_args!("call {call} succeeds, but has no result or an error"));
                }
                "error" if !error["type"].is_string() => {
                    violations.add(event, format_args!("call {call} fails without an error type"));
                }
                "cancelled" if result.is_null() && error.is_null() => {
                    violations
                        .add(event, format_args!("call {call} is cancelled, but has no result or error"));
                }
                "success" | "error" | "cancelled" => (),
                state if !result.is_null() || !error.is_null() => {
                    violations.add(event, format_args!("call {call} has a result while it is {state}"));
                }
                _ => (),
            }
        }
    }
}

/// 01, "activity": the first `tool.state` starts the activity, the last ends it, none between has any.
pub fn mark_their_activity(run: &Run, violations: &mut Violations) {
    for event in run.of_kind("tool.state") {
        let expected = match event {
            _ if event.brings_call_to("validating") => Some("TOOL_CALL_START"),
            _ if event.ends_call() => Some("TOOL_CALL_END"),
            _ => None,
        };
        let activity = event.outer("activity").as_str();
        if activity != expected {
            let (call, to) = (event.text("callId"), event.text("to"));
            let sentence = format!("call {call} to {to} has activity {activity:?} instead of {expected:?}");
            violations.add(event, sentence);
        }
    }
}

/// 03, "A stop ends every open call first": between a stop and its grace turn, or its end, no call begins. (An
/// accepted `complete_task` only ends: a limit that comes meanwhile does not take the result away.)
pub fn none_executes_while_stopping(run: &Run, violations: &mut Violations) {
    let mut is_stopping = false;
    for event in &run.events {
        match event.kind {
            "run.stopping" => is_stopping = true,
            "turn.started" => is_stopping = false,
            "tool.state" if is_stopping && event.brings_call_to("executing") && !is_complete_task(event) => {
                violations.add(event, format_args!("call {} begins after the stop", event.text("callId")));
            }
            _ => (),
        }
    }
}

/// 03, "Grace turn": only `complete_task` is on offer.
pub fn grace_runs_only_complete_task(run: &Run, violations: &mut Violations) {
    let is_grace_turn = |event: &&Event| event.is("turn.started") && !event.data("grace").is_null();
    for event in run.events.iter().skip_while(|event| !is_grace_turn(event)) {
        if event.brings_call_to("executing") && !is_complete_task(event) {
            violations.add(event, format_args!("`{}` runs in the grace turn", event.text("name")));
        }
    }
}

/// 03, 6: the accepted `complete_task` is the last call to end, and the model is not asked again.
pub fn complete_task_ends_last(run: &Run, violations: &mut Violations) {
    let is_accepted = |event: &Event| event.brings_call_to("success") && is_complete_task(event);
    for event in run.events.iter().skip_while(|event| !is_accepted(event)).skip(1) {
        if ["tool.state", "model.started", "turn.started"].contains(&event.kind) {
            violations.add(event, format_args!("`{}` after `complete_task` was accepted", event.kind));
        }
    }
}

/// 11, promise 4: `INTERRUPTED` is for calls that were executing when the daemon died, or when the run's own
/// driver did.
pub fn only_a_restart_interrupts(run: &Run, violations: &mut Violations) {
    let has_panicked = run.of_kind("run.stopping").any(|stop| stop.data("error")["code"] == "PANIC");
    let mut was_executing_at_restart: HashSet<&str> = HashSet::new();
    let mut executing: HashSet<&str> = HashSet::new();
    for event in &run.events {
        let call = event.text("callId");
        if event.is("run.resumed") {
            was_executing_at_restart = executing.clone();
        }
        if event.brings_call_to("executing") {
            executing.insert(call);
        }
        if event.ends_call() {
            executing.remove(call);
            let is_interrupted = event.data("error")["type"] == "INTERRUPTED";
            if is_interrupted && !has_panicked && !was_executing_at_restart.contains(call) {
                violations.add(
                    event,
                    format_args!("call {call} is INTERRUPTED, but no restart found it executing"),
                );
            }
        }
    }
}

/// 11, promise 4: a mutating call that a restart finds executing ends `error INTERRUPTED`, or `cancelled` when it
/// was being stopped; it is not run again.
pub fn a_mutator_is_never_rerun(run: &Run, violations: &mut Violations) {
    let mut kinds: HashMap<&str, &str> = HashMap::new();
    let mut executing: HashSet<&str> = HashSet::new();
    let mut cut: HashSet<&str> = HashSet::new();
    let mut was_stopped = false;
    let mut is_parked = false;
    for event in &run.events {
        let call = event.text("callId");
        was_stopped |= event.is("run.stopping");
        // A run that is unparked may have been in the hands of one daemon all the time: then its call was not cut.
        let was_parked = std::mem::replace(&mut is_parked, event.is("run.parked"));
        if let Some(kind) = event.data("details")["kind"].as_str() {
            kinds.insert(call, kind);
        }
        if event.is("run.resumed") && !was_parked {
            let is_mutator = |call: &&str| kinds.get(call).is_some_and(|kind| MUTATORS.contains(kind));
            cut.extend(executing.iter().copied().filter(is_mutator));
        }
        if event.brings_call_to("executing") {
            executing.insert(call);
        }
        if event.ends_call() {
            executing.remove(call);
            let is_interrupted = event.data("error")["type"] == "INTERRUPTED";
            let is_given_up = is_interrupted || (was_stopped && event.brings_call_to("cancelled"));
            if cut.contains(call) && !is_given_up {
                let sentence = "changes things and was cut by a restart; it may only end INTERRUPTED";
                violations.add(event, format_args!("call {call} {sentence}"));
            }
        }
    }
}

fn is_complete_task(event: &Event) -> bool {
    event.text("name") == "complete_task"
}

fn or_nothing(state: &str) -> &str {
    if state.is_empty() { "nothing" } else { state }
}

/// 03, "Subagent calls": the subjects of a run's thoughts are the output of the call that it answers, a line each. 01:
/// what is cut off says so, with the total and the way to the whole.
pub fn put_out_what_their_runs_think(log: &Log, violations: &mut Violations) {
    for (_, states) in log.runs.iter().flat_map(Run::calls) {
        let Some(child) = states.iter().find_map(|state| state.data("childRunId").as_str()) else { continue };
        let Some(end) = states.iter().find(|state| state.ends_call()) else { continue };
        let thoughts = log.runs.iter().filter(|run| run.id == child).flat_map(|run| run.of_kind("thought"));
        let subjects: Vec<&str> =
            thoughts.map(|thought| thought.text("subject")).filter(|subject| !subject.is_empty()).collect();
        let whole: String = subjects.iter().map(|subject| format!("{subject}\n")).collect();
        let output = end.text("output");
        let (shown, mark) = output.trim_end_matches('\n').rsplit_once('\n').unwrap_or(("", output));
        let is_marked = mark.contains(&subjects.len().to_string()) && mark.contains(child);
        let is_marked_as_cut = is_marked && whole.starts_with(shown);
        if output != whole && !is_marked_as_cut {
            violations.add(end, format_args!("put out {output:?}, but {child} thought {whole:?}"));
        }
    }
}

/// 05, "Undo": a file changes while its call executes, and never by a call that only reads.
pub fn change_files_while_they_execute(run: &Run, violations: &mut Violations) {
    let mut executing = HashSet::new();
    for event in &run.events {
        if event.brings_call_to("executing") {
            executing.insert(event.text("callId"));
        } else if event.ends_call() {
            executing.remove(event.text("callId"));
        } else if event.is("file.changed") && !executing.contains(event.text("callId")) {
            let call = event.text("callId");
            violations.add(event, format_args!("call {call} changes a file and does not execute"));
        }
    }
}

/// 05, `web_fetch`: what a tool asks a model is told with its call, which is still open then.
pub fn ask_models_while_they_execute(run: &Run, violations: &mut Violations) {
    let mut executing = HashSet::new();
    for event in &run.events {
        if event.brings_call_to("executing") {
            executing.insert(event.text("callId"));
        } else if event.ends_call() {
            executing.remove(event.text("callId"));
        } else if event.is("sideCall.completed") && event.data("callId").is_string() {
            let call = event.text("callId");
            if !executing.contains(call) {
                violations.add(event, format_args!("call {call} asked a model and does not execute"));
            }
        }
    }
}
