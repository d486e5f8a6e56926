//! Laws about runs that answer calls of other runs, that wait, and that are spoken to (spec 03, "Subagent calls",
//! "Steering and cancelling"; 01, `run/start`).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::log::{Event, Log, Run, Violations};

/// A call that a run answers.
struct ChildCall<'log, 'a> {
    parent: &'log Run<'a>,
    /// `executing`, which names the run.
    event: Event<'a>,
    /// What ended it.
    end: Option<Event<'a>>,
    /// The run, if it is there.
    child: Option<&'log Run<'a>>,
    /// The how-manieth call of this agent by the parent that began a run, from 1.
    ordinal: usize,
}

impl<'a> ChildCall<'_, 'a> {
    fn child_id(&self) -> &'a str {
        self.event.text("childRunId")
    }
}

fn child_calls<'log, 'a>(log: &'log Log<'a>) -> Vec<ChildCall<'log, 'a>> {
    let by_id: HashMap<&str, &Run> = log.runs.iter().map(|run| (run.id, run)).collect();
    let mut calls = Vec::new();
    for parent in &log.runs {
        let mut ordinals: HashMap<&str, usize> = HashMap::new();
        for event in parent.of_kind("tool.state").filter(|event| event.data("childRunId").is_string()) {
            let ordinal = ordinals.entry(event.text("name")).or_default();
            *ordinal += 1;
            let is_end = |it: &&Event<'a>| it.ends_call() && it.text("callId") == event.text("callId");
            calls.push(ChildCall {
                parent,
                event: *event,
                end: parent.events.iter().find(is_end).copied(),
                child: by_id.get(event.text("childRunId")).copied(),
                ordinal: *ordinal,
            });
        }
    }
    calls
}

/// What `run.started` says of a run, or the `run.queued` that stands for it until then.
fn start<'a>(run: &Run<'a>) -> &'a Value {
    let first = &run.events[0];
    if first.is("run.queued") { first.data("run") } else { first.outer("data") }
}

/// DESIGN, "Children": that a call is answered by a run and that this run begins is one commit, so nothing of others
/// stands between the two.
pub fn a_child_begins_with_its_call(log: &Log, violations: &mut Violations) {
    let mut answered: HashSet<&str> = HashSet::new();
    for call in child_calls(log) {
        let (event, child_id) = (&call.event, call.child_id());
        if !event.brings_call_to("executing") {
            violations.add(event, format_args!("names run {child_id}, but is not `executing`"));
        }
        if !answered.insert(child_id) {
            violations.add(event, format_args!("run {child_id} answers another call already"));
        }
        let Some(child) = call.child else {
            violations.add(event, format_args!("run {child_id} is to answer the call and is not in the log"));
            continue;
        };
        let first = &child.events[0];
        if first.place() < event.place() {
            violations.add(first, "begins before the call that it answers executes");
            continue;
        }
        let between = &log.events[event.place()..first.place() - 1];
        let is_of_family =
            |it: &&Event| it.run_id() == Some(call.parent.id) || it.outer("parentRunId") == call.parent.id;
        if let Some(stranger) = between.iter().find(|it| !is_of_family(it)) {
            let sentence = format!("stands between a call and the beginning of its run {child_id}");
            violations.add(stranger, sentence);
        }
    }
}

/// 03: a child has `parentRunId`, `parentCallId`, `depth`; each event of it names its parent (01, "Events").
pub fn a_child_names_its_parent(log: &Log, violations: &mut Violations) {
    let calls = child_calls(log);
    let by_child: HashMap<&str, &ChildCall> = calls.iter().map(|call| (call.child_id(), call)).collect();
    for run in &log.runs {
        let (first, start) = (&run.events[0], start(run));
        let depth = start["depth"].as_i64().unwrap_or(0);
        let Some(call) = by_child.get(run.id) else {
            let claims = !first.outer("parentRunId").is_null()
                || !start["parentCallId"].is_null()
                || !start["rootRunId"].is_null()
                || depth != 0;
            if claims {
                violations.add(first, "says that it answers a call, but no call names it");
            }
            continue;
        };
        let parent = call.parent;
        if let Some(event) = run.events.iter().find(|event| event.outer("parentRunId") != parent.id) {
            let named = event.outer("parentRunId");
            violations.add(event, format_args!("names {named} as the parent, which is {}", parent.id));
        }
        let above = self::start(parent);
        let root = above["rootRunId"].as_str().unwrap_or(parent.id);
        let path =
            format!("{}/{}#{}", above["path"].as_str().unwrap_or(""), call.event.text("name"), call.ordinal);
        let expected = [
            ("agent", call.event.data("name").clone()),
            ("parentCallId", call.event.data("callId").clone()),
            ("rootRunId", root.into()),
            ("depth", (above["depth"].as_i64().unwrap_or(0) + 1).into()),
            ("path", path.into()),
        ];
        for (field, expected) in expected {
            if start[field] != expected {
                violations.add(first, format_args!("`{field}` is {}, not {expected}", start[field]));
            }
        }
        if first.outer("sessionId") != parent.events[0].outer("sessionId") {
            violations.add(first, "is in another session than its parent");
        }
    }
}

/// 03: "cancelling a parent cancels its children first, waits for them, and records both"; a call that a run answers
/// ends after that run, and with what it came to.
pub fn a_child_ends_before_its_call(log: &Log, violations: &mut Violations) {
    for call in child_calls(log) {
        let child_id = call.child_id();
        let child_end =
            call.child.and_then(|child| child.of_kind("run.completed").next()).map(|end| (end.place(), end));
        let is_before = |later: &Event| child_end.is_some_and(|(place, _)| place < later.place());
        if let Some(end) = call.parent.of_kind("run.completed").next().filter(|end| !is_before(end)) {
            violations.add(end, format_args!("ends before run {child_id}, which it called"));
        }
        let Some(end) = &call.end else { continue };
        if !is_before(end) {
            violations.add(end, format_args!("ends before run {child_id}, which answers it"));
        } else if let Some((_, child_end)) = child_end {
            let told = &end.data("result")["data"];
            let reason = child_end.text("reason");
            if told["runId"] != child_id || told["reason"] != reason {
                violations.add(end, format_args!("tells {told}, but run {child_id} ended {reason}"));
            }
            if end.brings_call_to("success") != (reason == "GOAL") {
                let to = end.text("to");
                violations.add(end, format_args!("is {to}, but run {child_id} ended {reason}"));
            }
        }
    }
}

/// 01, `run/start`: runs of one agent in one session go one after the other in their context.
pub fn one_run_works_in_a_context(log: &Log, violations: &mut Violations) {
    let mut contexts: HashMap<&str, &str> = HashMap::new();
    let mut holders: HashMap<&str, &str> = HashMap::new();
    for event in &log.events {
        let Some(run) = event.run_id() else { continue };
        if event.is("run.started") && !event.text("contextId").is_empty() {
            let context = event.text("contextId");
            contexts.insert(run, context);
            if let Some(holder) = holders.insert(context, run) {
                violations.add(event, format_args!("begins in the context of run {holder}, which goes on"));
            }
        }
        if event.is("run.completed")
            && let Some(context) = contexts.get(run)
            && holders.get(context) == Some(&run)
        {
            holders.remove(context);
        }
    }
}

/// 03: a run that waits says so, and begins as what it said.
pub fn a_queued_run_begins_as_announced(run: &Run, violations: &mut Violations) {
    let first = &run.events[0];
    let announced = first.data("run");
    if first.is("run.queued") && !announced.is_object() {
        violations.add(first, "a run that is queued does not say what it will be");
    }
    let started = run.of_kind("run.started").next();
    if let Some(started) = started
        && first.is("run.queued")
        && started.outer("data") != announced
    {
        violations.add(started, "begins as something else than what was queued");
    }
    for event in run.of_kind("run.queued").skip(usize::from(first.is("run.queued"))) {
        if !event.data("run").is_null() {
            violations.add(event, "says a second time what the run will be");
        }
        let has_begun = started.is_some_and(|started| started.place() < event.place());
        if has_begun && event.text("for") == "context" {
            violations.add(event, "waits for a context that it works in");
        }
    }
    let begins = ["turn.started", "model.started", "tool.state"];
    let before = run.events.iter().take_while(|event| !event.is("run.started"));
    for event in before.filter(|event| begins.contains(&event.kind)) {
        violations.add(event, format_args!("`{}` of a run that only waits", event.kind));
    }
}

/// 03, "Steering": queued, never lost, in order, taken in at a turn's beginning.
pub fn steers_are_taken_in_once_and_in_order(run: &Run, violations: &mut Violations) {
    // Those that are kept and not taken in yet, with their texts.
    let mut kept: Vec<(&str, &str)> = Vec::new();
    let mut known = HashSet::new();
    // The turn that has just begun, as long as nothing but steers follows.
    let mut beginning: Option<i64> = None;
    for event in &run.events {
        let (id, text) = (event.text("steerId"), event.text("text"));
        match event.kind {
            "run.steered" if event.data("turn").is_null() => {
                if !known.insert(id) {
                    violations.add(event, format_args!("message {id} is kept a second time"));
                }
                kept.push((id, text));
            }
            "run.steered" => {
                if kept.first() == Some(&(id, text)) {
                    kept.remove(0);
                } else {
                    violations.add(event, format_args!("message {id} is not the one whose turn it is"));
                    kept.retain(|(other, _)| *other != id);
                }
                if event.data("turn").as_i64() != beginning {
                    violations.add(event, format_args!("message {id} comes in not where its turn begins"));
                }
            }
            "turn.started" => beginning = event.data("turn").as_i64(),
            // 08: what a hook blocks is not said to the run.
            "hook.fired" if event.text("event") == "UserPromptSubmit" && event.text("decision") == "deny" => {
                kept.retain(|(id, _)| !event.text("firingId").ends_with(id));
            }
            _ => {
                if event.is("model.started")
                    && beginning.is_some()
                    && let Some((id, _)) = kept.first()
                {
                    violations.add(event, format_args!("asks the model without message {id}"));
                }
                beginning = None;
            }
        }
        let is_goal = event.is("run.completed") && event.text("reason") == "GOAL";
        if is_goal && event.data("recovered").as_bool() != Some(true) {
            for (id, _) in kept.drain(..) {
                violations.add(event, format_args!("completes without having taken in message {id}"));
            }
        }
    }
}
