//! Laws about a run's beginning, its stops, its grace and its end (spec 03).

use std::collections::BTreeSet;

use serde::Deserialize as _;
use subagentd::protocol::UsdAmount;

use super::log::{Event, Run, Violations};

/// Reasons that are reached by a limit: a stop comes first, and a grace turn may follow.
const LIMITS: &[&str] = &["MAX_TURNS", "TIMEOUT", "ERROR_NO_COMPLETE_TASK_CALL", "BUDGET", "LOOP_DETECTED"];

/// What may end a run over whatever it was about to do.
const CATASTROPHES: &[&str] = &["CRASH_LOOP", "PANIC", "NO_SPACE_LEFT"];

/// 01, "Invariants": a run begins with `run.started` (or is queued before), once.
pub fn begins_once(run: &Run, violations: &mut Violations) {
    let first = &run.events[0];
    if !first.is("run.started") && !first.is("run.queued") {
        violations.add(first, format_args!("`{}` of a run that has not begun", first.kind));
    }
    for again in run.of_kind("run.started").skip(1) {
        violations.add(again, "the run starts a second time");
    }
}

/// 03: one terminal event, and nothing of the run after it.
pub fn ends_once_and_for_good(run: &Run, violations: &mut Violations) {
    let after_end = run.events.iter().skip_while(|event| !event.is("run.completed")).skip(1);
    for event in after_end {
        if event.is("run.completed") {
            violations.add(event, "the run ends a second time");
        } else {
            violations.add(event, format_args!("`{}` after the run's end", event.kind));
        }
    }
}

/// 11, promise 3: every run reaches its terminal event.
pub fn is_over(run: &Run, violations: &mut Violations) {
    if run.of_kind("run.completed").next().is_none() {
        violations.add(&run.events[0], "the run that begins here never ends");
    }
}

/// 03, "A stop ends every open call first": a limit is announced by `run.stopping` with its reason.
pub fn limits_stop_before_they_end(run: &Run, violations: &mut Violations) {
    for end in run.of_kind("run.completed") {
        let reason = end.text("reason");
        let was_announced = run.of_kind("run.stopping").any(|stop| stop.text("reason") == reason);
        if LIMITS.contains(&reason) && !was_announced {
            violations.add(end, format_args!("ends {reason}, which no `run.stopping` announced"));
        }
    }
}

/// 03: after a stop that is followed by the end, nothing begins any more.
pub fn nothing_starts_after_a_final_stop(run: &Run, violations: &mut Violations) {
    let after_stop = run.events.iter().skip_while(|event| !is_stop(event, "end")).skip(1);
    for event in after_stop {
        let starts = ["turn.started", "model.started"].contains(&event.kind) || is_stop(event, "grace");
        if starts {
            violations.add(event, format_args!("`{}` after the final stop", event.kind));
        }
    }
}

/// 03, "Grace turn": once, only after a stop that grants it, for the reason of that stop; and the turn after
/// such a stop is the grace turn.
pub fn grace_comes_once_and_after_a_stop(run: &Run, violations: &mut Violations) {
    let mut granted: Option<&str> = None;
    let mut grants = 0;
    for event in &run.events {
        if is_stop(event, "grace") {
            granted = Some(event.text("reason"));
            grants += 1;
            if grants > 1 {
                violations.add(event, "grants a second grace turn");
            }
        }
        if !event.is("turn.started") {
            continue;
        }
        match (granted.take(), event.data("grace").as_str()) {
            (None, None) => (),
            (None, Some(_)) => violations.add(event, "a grace turn that no stop granted"),
            (Some(reason), None) => {
                violations.add(event, format_args!("an ordinary turn after a stop for {reason}"));
            }
            (Some(reason), Some(grace)) if reason != grace => {
                violations
                    .add(event, format_args!("grace for {grace}, but the run was stopped for {reason}"));
            }
            (Some(_), Some(_)) => (),
        }
    }
}

/// 03: a failed grace turn keeps the reason of the stop that granted it; a cancel stays a cancel.
pub fn the_stop_decides_the_reason(run: &Run, violations: &mut Violations) {
    // What a person is asked about is no end yet.
    let stops: Vec<&Event> = run.of_kind("run.stopping").filter(|stop| !is_stop(stop, "ask")).collect();
    let Some(decisive) = stops.iter().find(|stop| is_stop(stop, "grace")).or(stops.last()) else { return };
    let was_cancelled = stops.iter().any(|stop| stop.text("reason") == "ABORTED");
    for end in run.of_kind("run.completed") {
        let reason = end.text("reason");
        let code = end.data("error")["code"].as_str().unwrap_or("");
        let is_allowed = match reason {
            "ABORTED" => true,
            "ERROR" if CATASTROPHES.contains(&code) => true,
            _ if was_cancelled => false,
            "GOAL" => true,
            _ => reason == decisive.text("reason"),
        };
        if !is_allowed {
            let expected = if was_cancelled { "ABORTED" } else { decisive.text("reason") };
            violations.add(end, format_args!("ends {reason}, but the run was stopped for {expected}"));
        }
    }
}

/// 03, "Grace turn": success in it is `GOAL` with `recovered` and `recoveredFrom`; nothing else is.
pub fn recovered_says_from_what(run: &Run, violations: &mut Violations) {
    let grace = run.of_kind("turn.started").find_map(|turn| turn.data("grace").as_str());
    for end in run.of_kind("run.completed") {
        let is_recovery = end.text("reason") == "GOAL" && grace.is_some();
        let recovered = end.data("recovered").as_bool().unwrap_or(false);
        let recovered_from = end.data("recoveredFrom").as_str();
        if recovered != is_recovery {
            violations.add(end, format_args!("`recovered` is {recovered}, the log says {is_recovery}"));
        }
        if recovered_from != grace.filter(|_| is_recovery) {
            let from = recovered_from.unwrap_or("missing");
            violations.add(end, format_args!("`recoveredFrom` is {from}, the grace turn was for {grace:?}"));
        }
    }
}

/// 03, "Terminal reasons": `ERROR` has a code and a message, the others have no error.
pub fn errors_have_a_code_and_others_none(run: &Run, violations: &mut Violations) {
    for end in run.of_kind("run.completed") {
        let error = end.data("error");
        let has_code = error["code"].is_string() && error["message"].is_string();
        match end.text("reason") {
            "ERROR" if !has_code => violations.add(end, "ends ERROR without a code and a message"),
            "ERROR" => (),
            reason if !error.is_null() => violations.add(end, format_args!("ends {reason} with an error")),
            _ => (),
        }
    }
}

/// 03, 6–7: under `completion: tool` only an accepted `complete_task` makes a `GOAL`, and it does nothing else
/// than that.
pub fn goal_is_earned(run: &Run, violations: &mut Violations) {
    let by_tool = run.of_kind("run.started").any(|start| start.text("completion") == "tool");
    let accepted = run
        .events
        .iter()
        .filter(|event| event.brings_call_to("success") && event.text("name") == "complete_task")
        .collect::<Vec<_>>();
    for again in accepted.iter().skip(1) {
        violations.add(again, "a second `complete_task` is accepted");
    }
    for end in run.of_kind("run.completed") {
        let is_goal = end.text("reason") == "GOAL";
        if is_goal && by_tool && accepted.is_empty() {
            violations.add(end, "ends GOAL, but no `complete_task` was accepted");
        }
        if !is_goal && !accepted.is_empty() {
            let reason = end.text("reason");
            violations.add(end, format_args!("ends {reason}, but `complete_task` was accepted"));
        }
    }
}

/// 03, "Nothing is wasted": the record's counts are the log's.
pub fn the_record_counts_what_the_log_shows(run: &Run, violations: &mut Violations) {
    let turns = run.of_kind("turn.started").count() as i64;
    let calls = run.calls().len() as i64;
    for end in run.of_kind("run.completed") {
        for (field, shown) in [("turns", turns), ("toolCalls", calls)] {
            let counted = end.number(field);
            if counted != shown {
                violations.add(end, format_args!("`{field}` is {counted}, the log shows {shown}"));
            }
        }
        let is_other = |event: &&Event| {
            let (before, after) = (event.text("before"), event.text("after"));
            event.text("change") != "modified" || before.is_empty() || before != after
        };
        let changed = run.of_kind("file.changed").filter(is_other);
        let shown: BTreeSet<&str> = changed.map(|event| event.text("path")).collect();
        let counted: BTreeSet<&str> = end.texts("filesChanged").collect();
        if counted != shown {
            violations.add(end, format_args!("`filesChanged` is {counted:?}, the log shows {shown:?}"));
        }
        // Calls of the daemon's own, such as a summary, count as well.
        for field in ["promptTokens", "cachedTokens", "cacheWriteTokens", "outputTokens", "thoughtTokens"] {
            let in_usage = |event: &Event| event.data("usage")[field].as_i64().unwrap_or(0);
            let (counted, shown) = (in_usage(end), asked(run).map(in_usage).sum::<i64>());
            if counted != shown {
                violations.add(end, format_args!("`usage.{field}` is {counted}, the log shows {shown}"));
            }
        }
    }
}

/// The answers that a run's tokens and money went into, and the attempts that failed on the way.
fn asked<'a>(run: &'a Run) -> impl Iterator<Item = &'a Event<'a>> {
    ["model.completed", "sideCall.completed", "model.retrying"].into_iter().flat_map(|kind| run.of_kind(kind))
}

/// 04, "Usage and cost": what a run costs is what its answers cost.
pub fn costs_add_up(run: &Run, violations: &mut Violations) {
    for end in run.of_kind("run.completed") {
        let cost = |event: &Event<'_>| Option::<UsdAmount>::deserialize(event.data("cost"));
        let shown = asked(run).map(cost).collect::<Result<Vec<_>, _>>();
        let (Ok(shown), Ok(counted)) = (shown, cost(end)) else {
            violations.add(end, format_args!("a `cost` is no amount of money"));
            continue;
        };
        let shown: UsdAmount = shown.into_iter().flatten().sum();
        let counted = counted.unwrap_or_default();
        if counted != shown {
            violations.add(end, format_args!("`cost` is {counted}, the log shows {shown}"));
        }
    }
}

/// 04: what comes before a model is asked is over before it is, and each ends in its own way.
pub fn a_side_call_is_over_before_the_run_goes_on(run: &Run, violations: &mut Violations) {
    let mut open: Option<&str> = None;
    for event in &run.events {
        let ends = match event.kind {
            "sideCall.completed" => matches!(open, Some("loopCheck" | "nextSpeaker")),
            "model.routed" => open == Some("routing"),
            "context.compressed" => open == Some("compression"),
            "run.stopping" | "run.completed" => true,
            _ => false,
        };
        if ends {
            open = None;
        }
        if let Some(purpose) = open
            && ["model.started", "sideCall.started", "turn.completed"].contains(&event.kind)
        {
            violations.add(event, format_args!("`{}` while {purpose} goes on", event.kind));
        }
        if event.is("sideCall.started") {
            open = Some(event.text("purpose"));
        }
    }
}

/// 04, "Loop detection": the model is told once, then the run stops. 01: a budget is warned of once.
pub fn circles_and_budgets_are_told_once(run: &Run, violations: &mut Violations) {
    for (n, found) in run.of_kind("loop.detected").enumerate() {
        let stops = found.data("stops").as_bool() == Some(true);
        if stops != (n == 1) {
            violations.add(found, format_args!("finding {} with `stops` {stops}", n + 1));
        }
    }
    let mut warned = BTreeSet::new();
    for event in &run.events {
        if event.is("budget.warning") && !warned.insert(event.text("kind").to_owned()) {
            violations.add(event, "a second warning of one budget");
        } else if event.is("budget.raised") {
            // Of another one people are warned anew.
            let raised = event.data("limits");
            warned.retain(|kind| match kind.as_str() {
                "tokens" => raised["maxTokens"].is_null(),
                _ => raised["maxCost"].is_null(),
            });
        }
    }
}

/// 03, `onBudget: ask`: after such a stop no model is asked before a person has given the run more, or it gets its last turn;
/// nobody else gives it more; 06: nothing is ever allowed by time.
pub fn budgets_are_raised_by_people(run: &Run, violations: &mut Violations) {
    let mut is_asking = false;
    let mut answered: Option<&Event> = None;
    for event in &run.events {
        match event.kind {
            "run.stopping" => is_asking = is_stop(event, "ask"),
            "confirmation.resolved" if event.text("toolCallId").is_empty() => answered = Some(event),
            "budget.raised" => {
                let consent = answered.take().filter(|answer| {
                    ["allowOnce", "modify"].contains(&answer.text("outcome")) && answer.text("by") == "client"
                });
                if !is_asking || consent.is_none() {
                    violations.add(event, "more is given that no person allowed");
                }
                is_asking = false;
            }
            "turn.started" | "model.started" | "sideCall.started" if is_asking => {
                violations.add(event, format_args!("`{}` although the budget is used up", event.kind));
            }
            _ => (),
        }
    }
}

fn is_stop(event: &Event, then: &str) -> bool {
    event.is("run.stopping") && event.text("then") == then
}
