//! Laws about questions to people (spec 01, "Invariants"; 03, "The loop", 3; 05, "Scheduler"; 06).

use std::collections::{HashMap, HashSet};

use super::log::{Event, Log, Run, Violations};

/// What a person, or a rule, says with it that the call may run.
const CONSENT: &[&str] = &["allowOnce", "allowSession", "allowProject", "allowUser", "modify", "answer"];

fn asked_by<'a>(event: &Event<'a>) -> &'a str {
    event.data("confirmation")["confirmationId"].as_str().unwrap_or("")
}

/// 01, "Invariants": every question is asked once and ends once, and nothing is said of it before or after.
pub fn are_asked_and_resolved_once(run: &Run, violations: &mut Violations) {
    let mut open: HashMap<&str, bool> = HashMap::new();
    for event in &run.events {
        match event.kind {
            "confirmation.requested" => {
                let before = open.insert(asked_by(event), true);
                if before.is_some() {
                    violations.add(event, format_args!("the question {} is asked again", asked_by(event)));
                }
            }
            "confirmation.revised" => {
                let is_open = open.get(asked_by(event)) == Some(&true);
                if !is_open {
                    violations.add(event, format_args!("the question {} is not open", asked_by(event)));
                }
            }
            "confirmation.resolved" => {
                let id = event.text("confirmationId");
                if open.insert(id, false) != Some(true) {
                    violations.add(event, format_args!("the question {id} is not open, and ends"));
                }
            }
            _ => (),
        }
    }
}

/// 06, "Confirmation": asked in the transaction in which its call begins to wait; 01: over before its run is. What a call asks
/// while it executes (07, elicitation and sampling) is over before the call is.
pub fn wait_with_their_calls(run: &Run, violations: &mut Violations) {
    let mut executing: HashSet<&str> = HashSet::new();
    // By question, the call that asks.
    let mut within: HashMap<&str, &str> = HashMap::new();
    let mut waiting: HashMap<&str, Option<&str>> = HashMap::new();
    for event in &run.events {
        if event.is("tool.state") {
            let call = event.text("callId");
            match event.text("to") {
                "executing" => drop(executing.insert(call)),
                _ => drop(executing.remove(call)),
            }
            if within.values().any(|asks| *asks == call) {
                violations.add(event, format_args!("call {call} ends while what it asks is open"));
            }
        }
        if event.is("confirmation.resolved") && within.remove(event.text("confirmationId")).is_some() {
            continue;
        }
        if event.brings_call_to("awaitingApproval") {
            waiting.insert(event.text("callId"), None);
        } else if event.is("run.stopping") && event.text("then") == "ask" {
            // 03, `onBudget: ask`: the run itself waits, for which no call stands.
            waiting.insert("", None);
        } else if event.is("confirmation.requested") {
            let call = event.data("confirmation")["toolCallId"].as_str().unwrap_or("");
            match waiting.get_mut(call) {
                None if executing.contains(call) => drop(within.insert(asked_by(event), call)),
                Some(question @ None) => *question = Some(asked_by(event)),
                _ => violations
                    .add(event, format_args!("call {call} does not begin to wait with its question")),
            }
        } else if event.is("confirmation.resolved") {
            waiting.remove(event.text("toolCallId"));
        } else if event.is("tool.state") && waiting.contains_key(event.text("callId")) {
            let call = event.text("callId");
            violations.add(event, format_args!("call {call} goes on while its question is open"));
        } else if event.is("run.completed") {
            for call in waiting.keys().chain(within.values()) {
                violations.add(event, format_args!("the question of call {call} is open at the end"));
            }
        }
    }
}

/// 06: a call that asked runs only after consent, by whom it may be given, and to what was asked last.
pub fn are_answered_before_their_calls_run(run: &Run, violations: &mut Violations) {
    let mut digests: HashMap<&str, &str> = HashMap::new();
    let mut risks: HashMap<&str, &str> = HashMap::new();
    let mut verdicts: HashMap<&str, (&str, &str)> = HashMap::new();
    for event in &run.events {
        match event.kind {
            "confirmation.requested" | "confirmation.revised" => {
                let subject = event.data("confirmation");
                digests.insert(asked_by(event), subject["digest"].as_str().unwrap_or(""));
                risks.insert(asked_by(event), subject["risk"].as_str().unwrap_or(""));
            }
            "confirmation.resolved" => {
                let (outcome, by) = (event.text("outcome"), event.text("by"));
                verdicts.insert(event.text("toolCallId"), (outcome, by));
                // 08: the person's own hooks may be their delegates, once and never for what is critical.
                let is_delegate = by == "hook"
                    && outcome == "allowOnce"
                    && risks.get(event.text("confirmationId")).is_some_and(|risk| *risk != "critical");
                if CONSENT.contains(&outcome) && by != "client" && !is_delegate {
                    violations.add(event, format_args!("consent is given by {by}, not by a person"));
                }
                // With `modify` the answer was to the question before the change it brought.
                let current = digests.get(event.text("confirmationId"));
                if outcome != "modify" && current.is_some_and(|digest| *digest != event.text("digest")) {
                    violations.add(event, "an older question is answered");
                }
            }
            "tool.state" if event.text("to") == "executing" && event.text("from") == "awaitingApproval" => {
                match verdicts.get(event.text("callId")) {
                    Some((outcome, _)) if CONSENT.contains(outcome) => (),
                    verdict => violations
                        .add(event, format_args!("call {} runs after {verdict:?}", event.text("callId"))),
                }
            }
            _ => (),
        }
    }
}

/// 03, 3: `run.waiting` tells of changes only, and while it holds no model is asked and no time passes.
pub fn stand_still_while_all_wait(run: &Run, violations: &mut Violations) {
    let mut waits = false;
    for event in &run.events {
        match event.kind {
            "run.waiting" => {
                let now = event.data("waiting").as_bool();
                if now == Some(waits) {
                    violations.add(event, format_args!("the run says again that waiting is {waits}"));
                }
                waits = now.unwrap_or(waits);
            }
            // What goes on says anew whether it waits.
            "run.resumed" => waits = false,
            "turn.started" | "turn.completed" | "model.started" if waits => {
                violations.add(event, format_args!("{} while the run waits for a person", event.kind));
            }
            "run.completed" if waits => violations.add(event, "the run ends while it waits for a person"),
            _ => (),
        }
    }
}

/// 07 and 08: an edit about which hooks are asked is of what is asked, there is one at a time, and its call does nothing before it is
/// settled.
pub fn edits_are_settled_before_anything_runs(run: &Run, violations: &mut Violations) {
    let mut digests: HashMap<&str, &str> = HashMap::new();
    // By question, the call that was edited.
    let mut pending: HashMap<&str, &str> = HashMap::new();
    for event in &run.events {
        match event.kind {
            "confirmation.requested" | "confirmation.revised" => {
                let subject = event.data("confirmation");
                digests.insert(asked_by(event), subject["digest"].as_str().unwrap_or(""));
                if event.text("reason") != "deadline" {
                    pending.remove(asked_by(event));
                }
            }
            "confirmation.resolved" => {
                digests.remove(event.text("confirmationId"));
                pending.remove(event.text("confirmationId"));
            }
            "confirmation.edited" => {
                let id = event.text("confirmationId");
                if digests.get(id) != Some(&event.text("digest")) {
                    violations.add(event, format_args!("an edit of {id}, which does not ask that"));
                }
                if pending.insert(id, event.text("toolCallId")).is_some() {
                    violations.add(event, format_args!("a second edit of {id} before the first is settled"));
                }
            }
            "tool.state" if pending.values().any(|call| *call == event.text("callId")) => {
                let call = event.text("callId");
                violations.add(event, format_args!("call {call} goes on before its edit is settled"));
            }
            _ => (),
        }
    }
}

/// 06: a remembered rule stands in the log with the answer that made it, in one transaction: right after its step.
pub fn remembered_rules_have_their_answers(log: &Log, violations: &mut Violations) {
    // Sessions are deleted with their questions; rules stay.
    let asked: HashSet<&str> =
        log.events.iter().filter(|event| event.is("confirmation.requested")).map(asked_by).collect();
    let mut promised: HashMap<&str, &Event> = HashMap::new();
    for event in &log.events {
        if event.is("confirmation.resolved") && CONSENT.contains(&event.text("outcome")) {
            if let Some(rule) = event.data("rule")["id"].as_str() {
                promised.insert(rule, event);
            }
        } else if event.is("policy.changed") {
            for rule in event.data("added").as_array().into_iter().flatten() {
                let id = rule["id"].as_str().unwrap_or("");
                let is_of_this_log = asked.contains(rule["fromConfirmation"].as_str().unwrap_or(""));
                if promised.remove(id).is_none() && is_of_this_log {
                    violations.add(event, format_args!("no answer made the rule {id}"));
                }
            }
        }
    }
    for (rule, event) in promised {
        violations.add(event, format_args!("the rule {rule} was promised and never written"));
    }
}
