//! Where did time go that no bar tells? What runs and calls waited for, and models until they said something.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use super::{
    listing::{MOST_LINES, listed},
    span_view::{SpanView, told_after},
};
use crate::human;
use protocol::SpanEvent;
use traces::without_daemon;

/// The event of a run that goes on, and how its text begins where there was no daemon meanwhile.
pub(super) const RESUMED: &str = "run.resumed";
const AWAY: &str = "the daemon was away";

/// Nobody asks where a time went that is shorter.
const SHORTEST_WAIT_MS: u64 = 100;

/// Hooks without whose answer no call of a reply runs.
const GUARDS: [&str; 2] = ["PreToolUse", "PermissionRequest"];

struct Wait<'trace> {
    ms: u64,
    line: String,
    /// The call that waited, where the log does not say for what, and the time of its wait in which there was no daemon.
    call: Option<(&'trace SpanView, u64)>,
}

/// All waits, the longest first.
pub(super) fn waits(spans: &[SpanView]) -> String {
    // The first question within each call.
    let mut asked: HashMap<&str, i64> = HashMap::new();
    for span in spans.iter().filter(|span| span.confirmation.is_some() && !is_of_hook(span)) {
        let Some(call) = span.parent_span_id.as_deref() else { continue };
        asked.entry(call).and_modify(|at| *at = span.start_us.min(*at)).or_insert(span.start_us);
    }
    let restarts = restarts(spans);
    let mut waits: Vec<Wait> = spans.iter().flat_map(|span| of_span(span, &asked, &restarts)).collect();
    waits.retain(|wait| SHORTEST_WAIT_MS <= wait.ms);
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.ms));
    let lines = waits.into_iter().enumerate().map(|(at, Wait { line, ms, call })| {
        // Perf: a trace has a hundred thousand spans, and each cause is looked for among all of them.
        let cause = call.filter(|_| at < MOST_LINES).and_then(|call| cause(call, ms, spans));
        format!("{line}{}", cause.map(|cause| format!(", {cause}")).unwrap_or_default())
    });
    listed(&lines.collect::<Vec<_>>(), "wait")
}

/// True of a question that a hook answered, so that no person was asked.
fn is_of_hook(span: &SpanView) -> bool {
    let decision = span.confirmation.as_ref().and_then(|asked| asked.decision.as_ref());
    decision.is_some_and(|decision| decision.source == "hook" && decision.name.is_none())
}

/// The times at which each run was taken up again after there was no daemon.
fn restarts(spans: &[SpanView]) -> HashMap<&str, Vec<i64>> {
    let mut restarts: HashMap<&str, Vec<i64>> = HashMap::new();
    for span in spans {
        let is_restart = |event: &&SpanEvent| event.name == RESUMED && event.text.starts_with(AWAY);
        let at = span.events.iter().filter(is_restart).map(|event| event.at_us);
        let mut at = at.peekable();
        if at.peek().is_some() {
            restarts.entry(&span.run_id).or_default().extend(at);
        }
    }
    restarts
}

fn of_span<'trace>(
    span: &'trace SpanView,
    asked: &HashMap<&str, i64>,
    restarts: &HashMap<&str, Vec<i64>>,
) -> Vec<Wait<'trace>> {
    let mut waits = Vec::new();
    if let Some(run) = span.run.as_ref().filter(|run| run.has_waited()) {
        let ms = run.queued_ms + run.waiting_ms + run.parked_ms + run.down_ms;
        let line = format!("{}: {}", span.run_name(), run.note().unwrap_or_default());
        waits.push(Wait { ms, line, call: None });
    }
    let mut tell =
        |ms: Option<u64>, call: Option<(&'trace SpanView, u64)>, line: &dyn Fn(String) -> String| {
            waits.extend(ms.map(|ms| Wait { ms, line: line(said(ms)), call }));
        };
    let place = || span.place();
    let llm = span.llm.as_ref();
    tell(llm.and_then(|llm| llm.first_token_ms), None, &|ms| format!("{}: nothing came for {ms}", place()));
    tell(llm.and_then(|llm| llm.retry_after_ms), None, &|ms| format!("{}: asked again after {ms}", place()));
    // A guard that is asked about what a person made of a call: neither the person's time nor what the call waited for before them.
    if let Some((hook, end)) = span.hook.as_ref().filter(|hook| hook.edited).zip(span.end_us) {
        let ms = u64::try_from(end.saturating_sub(span.start_us).max(0) / 1_000).ok();
        let tool = hook.tool.as_ref().map(|tool| tool.as_str()).unwrap_or("a call");
        let about = hook.description.as_deref().and_then(told_after).unwrap_or_default();
        let id = &hook.hook_id;
        tell(ms, None, &|ms| {
            format!(
                "{}, {tool}{about}: waited {ms} for the hook {id}, asked about the call as a person changed it",
                span.turn_of()
            )
        });
    }
    let Some(tool) = &span.tool else { return waits };
    // How long a person took stands beside the call: here is what it waited for before that.
    let asked_after =
        asked.get(span.span_id.as_str()).map(|at| at.saturating_sub(span.start_us).max(0) / 1_000);
    // What a tool itself asks comes after that.
    let is_before = |ms: &u64| tool.waited_ms.is_none_or(|waited| *ms <= waited);
    let asked_after = asked_after.and_then(|ms| u64::try_from(ms).ok()).filter(is_before);
    let until = if asked_after.is_some() { "a person was asked" } else { "it ran" };
    let waited = asked_after.or(tool.waited_ms);
    // All the time without a daemon that the call has lies within its wait, or that is told alone.
    let waited_until = waited.map(|waited| span.start_us.saturating_add(us(waited)));
    let of_call = |at: &&i64| span.start_us <= **at && span.end_us.is_none_or(|end| **at <= end);
    let restarts = restarts.get(span.run_id.as_str()).into_iter().flatten();
    let last = restarts.filter(of_call).max();
    let is_within = last.zip(waited_until).is_some_and(|(last, until)| *last <= until);
    let (down_meanwhile, down) = if is_within { (tool.down_ms, 0) } else { (0, tool.down_ms) };
    let of_it = without_daemon(down_meanwhile).map(|down| format!(", of which {down},")).unwrap_or_default();
    let call = Some((span, down_meanwhile));
    tell(waited, call, &|ms| format!("{}: waited {ms}{of_it} until {until}", place()));
    let down = Some(down).filter(|ms| *ms != 0);
    tell(down, None, &|ms| format!("{}: for at most {ms} of its time there was no daemon", place()));
    waits
}

/// The thing that went on in the same turn while a call waited: a guard, which is asked about all calls of a reply before one runs, or
/// another call. Nothing where that is not most of the wait.
fn cause((call, down_ms): (&SpanView, u64), waited_ms: u64, spans: &[SpanView]) -> Option<String> {
    let waited_us = us(waited_ms);
    let (from, to) = (call.start_us, call.start_us.saturating_add(waited_us));
    let overlap = |start: i64, end: i64| end.min(to).saturating_sub(start.max(from)).max(0);
    let is_beside = |span: &&SpanView| {
        span.run_id == call.run_id && span.turn == call.turn && span.span_id != call.span_id
    };
    // A guard may be asked several times, and is one cause.
    let mut guards: BTreeMap<String, i64> = BTreeMap::new();
    for span in spans.iter().filter(is_beside) {
        let is_guard = GUARDS.contains(&span.name.as_str());
        if let Some(hook) = span.hook.as_ref().filter(|_| is_guard) {
            let own = span.parent_span_id.as_deref() == Some(call.span_id.as_str());
            let which = hook.description.as_deref().and_then(told_after).unwrap_or_default();
            let about = hook.tool.as_ref().filter(|_| !own).map(|tool| format!(" about {tool}{which}"));
            let cause = format!("for the hook {}{}", hook.hook_id, about.unwrap_or_default());
            *guards.entry(cause).or_default() += overlap(span.start_us, span.end_us.unwrap_or(to));
        }
    }
    let calls = spans.iter().filter(is_beside).filter_map(|span| {
        let end = span.end_us.unwrap_or(to);
        let ran_at = span.start_us.saturating_add(us(span.tool.as_ref()?.waited_ms?));
        Some((overlap(ran_at, end), format!("while {} was at work", span.label())))
    });
    // Another call of the reply may wait for a person meanwhile: what comes after it waits for that, too.
    let people = spans.iter().filter(is_beside).filter_map(|span| {
        let about = span.confirmation.as_ref()?.call_id.as_deref()?;
        let call_id =
            |span: &&SpanView| span.tool.as_ref().and_then(|tool| tool.call_id.as_deref()) == Some(about);
        let asked = spans.iter().filter(is_beside).find(call_id)?;
        let took = overlap(span.start_us, span.end_us.unwrap_or(to));
        Some((took, format!("while a person was asked about {}", asked.label())))
    });
    let took = guards.into_iter().map(|(cause, took)| (took, cause)).chain(people).chain(calls);
    let (longest, cause) = took.max_by_key(|(took, _)| *took)?;
    // While there was no daemon it waited for that.
    let asked_us = waited_us.saturating_sub(us(down_ms));
    let part = if longest < asked_us / 10 * 9 { "most of it " } else { "" };
    (asked_us / 2 < longest).then(|| format!("{part}{cause}"))
}

fn us(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000)
}

fn said(ms: u64) -> String {
    human::duration(Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The daemon ends while a guard is at work: the wait says how much of it that is, and the time is not told again beside it.
    #[test]
    fn a_wait_across_a_restart_says_how_long_there_was_no_daemon() {
        let call = |waited: u64| {
            let spans = json!([
                { "spanId": "1", "kind": "tool", "name": "sort", "agent": "lead", "turn": 1, "runId": "r", "startUs": 0, "endUs": 60_000_000,
                  "tool": { "callId": "c", "waitedMs": waited, "downMs": 22_800 } },
                { "spanId": "2", "parentSpanId": "1", "kind": "hook", "name": "PreToolUse", "turn": 1, "runId": "r", "startUs": 0,
                  "endUs": 1_000, "hook": { "hookId": "user/PreToolUse/1", "tool": "sort" } },
                { "spanId": "3", "parentSpanId": "1", "kind": "hook", "name": "PreToolUse", "turn": 1, "runId": "r", "startUs": 23_900_000,
                  "endUs": 48_900_000, "hook": { "hookId": "user/PreToolUse/1", "tool": "sort" } },
                { "spanId": "4", "kind": "turn", "name": "turn 1", "turn": 1, "runId": "r", "startUs": 0, "endUs": 60_000_000,
                  "events": [{ "name": "run.resumed", "at": "2025-11-20T11:04:07.000Z", "atUs": 23_000_000,
                               "text": "the daemon was away for at most 22.8 s, and had not stopped by itself" }] },
            ]);
            let spans: Vec<SpanView> = serde_json::from_value(spans).unwrap();
            waits(&spans)
        };
        let told = "lead, turn 1, sort: waited 48.9 s, of which at most 22.8 s without a daemon, until it ran, for the hook user/PreToolUse/1\n";
        assert_eq!(call(48_900), told);
        // It ran before the daemon ended.
        let told = "lead, turn 1, sort: for at most 22.8 s of its time there was no daemon\nlead, turn 1, sort: waited 100 ms until it ran\n";
        assert_eq!(call(100), told);
    }

    /// The last call of a reply waits for those before it, also while a person is asked about one of them.
    #[test]
    fn a_call_that_waited_for_a_person_about_another_says_so() {
        let spans = json!([
            { "spanId": "1", "kind": "tool", "name": "run_shell_command", "agent": "lead", "turn": 1, "startUs": 0, "endUs": 4_100_000,
              "tool": { "callId": "c1", "description": "false", "waitedMs": 4_000 } },
            { "spanId": "2", "parentSpanId": "1", "kind": "confirmation", "name": "Run?", "turn": 1, "startUs": 50_000,
              "endUs": 4_000_000, "confirmation": { "callId": "c1" } },
            { "spanId": "3", "kind": "tool", "name": "complete_task", "agent": "lead", "turn": 1, "startUs": 0, "endUs": 4_101_000,
              "tool": { "callId": "c2", "waitedMs": 4_100 } },
        ]);
        let spans: Vec<SpanView> = serde_json::from_value(spans).unwrap();
        let told = "lead, turn 1, complete_task: waited 4.1 s until it ran, while a person was asked about run_shell_command false\n";
        assert_eq!(waits(&spans), told);
    }

    /// A guard that is asked about what a person made of a call is waited for beside the person.
    #[test]
    fn a_guard_of_a_change_is_among_the_waits() {
        let spans = json!([
            { "spanId": "2", "parentSpanId": "1", "kind": "hook", "name": "PreToolUse", "agent": "lead", "turn": 1, "startUs": 8_000_000,
              "endUs": 20_400_000,
              "hook": { "hookId": "user/PreToolUse/1", "tool": "write_file", "description": "a.rs", "edited": true } },
        ]);
        let spans: Vec<SpanView> = serde_json::from_value(spans).unwrap();
        let told = "lead, turn 1, write_file a.rs: waited 12.4 s for the hook user/PreToolUse/1, asked about the call as a person changed it\n";
        assert_eq!(waits(&spans), told);
    }

    /// A hook answered in place of a person, and another call's guard took most of the time.
    #[test]
    fn a_call_whose_question_a_hook_answered_waited_until_it_ran() {
        let spans = json!([
            { "spanId": "1", "kind": "tool", "name": "write_file", "agent": "lead", "turn": 1, "startUs": 0, "endUs": 2_100_000,
              "tool": { "callId": "c", "description": "a.rs", "waitedMs": 2_000 } },
            { "spanId": "2", "parentSpanId": "9", "kind": "hook", "name": "PreToolUse", "turn": 1, "startUs": 0, "endUs": 1_950_000,
              "hook": { "hookId": "user/PreToolUse/1", "tool": "write_file", "description": "b.rs" } },
            { "spanId": "3", "parentSpanId": "1", "kind": "confirmation", "name": "Write?", "turn": 1, "startUs": 1_000_000,
              "endUs": 1_000_000, "confirmation": { "callId": "c", "decision": { "outcome": "allowOnce", "source": "hook" } } },
        ]);
        let spans: Vec<SpanView> = serde_json::from_value(spans).unwrap();
        let told = "lead, turn 1, write_file a.rs: waited 2.0 s until it ran, for the hook user/PreToolUse/1 about write_file b.rs\n";
        assert_eq!(waits(&spans), told);
    }

    /// A guard took a second, and then had a person asked, who took another: the person's time stands beside the call.
    #[test]
    fn a_call_that_a_person_was_asked_about_says_what_it_waited_for_before_that() {
        let spans = json!([
            { "spanId": "1", "kind": "tool", "name": "write_file", "agent": "lead", "turn": 1, "startUs": 0, "endUs": 2_100_000,
              "tool": { "callId": "c", "waitedMs": 2_000 } },
            { "spanId": "2", "parentSpanId": "1", "kind": "hook", "name": "PreToolUse", "turn": 1, "startUs": 0, "endUs": 990_000,
              "hook": { "hookId": "user/PreToolUse/1", "tool": "write_file", "decision": "ask" } },
            { "spanId": "3", "parentSpanId": "1", "kind": "confirmation", "name": "Write?", "turn": 1, "startUs": 1_000_000,
              "endUs": 2_000_000, "confirmation": { "callId": "c" } },
        ]);
        let spans: Vec<SpanView> = serde_json::from_value(spans).unwrap();
        let told = "lead, turn 1, write_file: waited 1.0 s until a person was asked, for the hook user/PreToolUse/1\n";
        assert_eq!(waits(&spans), told);
    }
}
