//! What holds of hooks in every log? (spec 08, "Hooks", "Durable")

use std::collections::{HashMap, HashSet};

use super::log::{Run, Violations};

/// What was said at a firing stands in one place: nobody is asked again once it is written down.
pub fn are_told_once(run: &Run, violations: &mut Violations) {
    let mut over: HashSet<&str> = HashSet::new();
    let mut now: Option<&str> = None;
    for event in &run.events {
        let firing = event.is("hook.fired").then(|| event.text("firingId"));
        if now.is_some() && firing != now {
            over.extend(now);
        }
        if let Some(firing) = firing.filter(|firing| over.contains(firing)) {
            violations.add(event, format_args!("the firing {firing} is told again"));
        }
        now = firing;
    }
}

/// A guard has had its say before its call runs, and a call that it denied does not run.
pub fn stand_before_what_they_guard(run: &Run, violations: &mut Violations) {
    let mut began: HashSet<&str> = HashSet::new();
    let mut denied: HashMap<&str, bool> = HashMap::new();
    for event in &run.events {
        let call = event.text("callId");
        if event.brings_call_to("executing") {
            began.insert(call);
            if denied.contains_key(call) {
                violations.add(event, format_args!("call {call} runs although a hook denied it"));
            }
        }
        let is_guard = ["PreToolUse", "PermissionRequest"].contains(&event.text("event"));
        let is_async = event.data("async").as_bool() == Some(true);
        if event.is("hook.fired") && is_guard && !is_async {
            if began.contains(call) {
                violations.add(event, format_args!("hooks are asked about call {call}, which runs already"));
            }
            if event.text("decision") == "deny" {
                denied.insert(call, false);
            }
        }
        let is_after = ["PostToolUse", "PostToolUseFailure"].contains(&event.text("event"));
        if event.is("hook.fired") && is_after && !is_async && !began.contains(call) {
            violations
                .add(event, format_args!("hooks are told of the end of call {call}, which never began"));
        }
    }
}
