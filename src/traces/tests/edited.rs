//! A call that a person changed: do the guards that are asked about the change stand after the answer, and with what was changed?

use protocol::{SpanKind, TraceFormat};

use super::{documents::document, *};
use crate::{decided, hook_said};

/// A guard is asked, then a person, who changes the command, then the guard about that. `END` is what becomes of it.
fn edited(end: &str) -> String {
    let at = |ms: i64| Timestamp(BEGAN_US + ms * 1_000).to_string();
    let began = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 tool.state {"callId": "c1", "to": "validating", "name": "run_shell_command", "arguments": {"command": "git log"}}
        10 hook.fired {"firingId": "r1:PreToolUse:c1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "outcome": "answered", "durationMs": 5, "startedAt": "AT4"}
        10 tool.state {"callId": "c1", "from": "validating", "to": "scheduled", "name": "run_shell_command", "details": {"description": "git log", "kind": "execute", "risk": "low", "rule": "builtin:risk=low"}}
        10 tool.state {"callId": "c1", "from": "scheduled", "to": "awaitingApproval", "name": "run_shell_command"}
        10 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Run command: git log", "rule": "builtin:risk=low", "reason": "runs a command", "risk": "low", "details": {"type": "exec", "command": "git log"}}}
    "#;
    format!("{began}{end}").replace("AT4", &at(4)).replace("AT3010", &at(3_010))
}

const ALLOWED: &str = r#"
        3100 hook.fired {"firingId": "r1:PreToolUse:c1:q1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "decision": "allow", "outcome": "answered", "durationMs": 80, "startedAt": "AT3010"}
        3100 confirmation.revised {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Run command: git status", "details": {"type": "exec", "command": "git status"}}, "reason": "modified"}
        3100 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "modify", "by": "client", "name": "ada@pts/3-3fa91c02", "digest": "d", "difference": "x"}
        3100 tool.state {"callId": "c1", "from": "awaitingApproval", "to": "executing", "name": "run_shell_command", "arguments": {"command": "git status"}, "details": {"description": "git status", "kind": "execute", "risk": "low", "rule": "builtin:risk=low"}}
        3200 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "run_shell_command", "result": {"llmContent": [{"type": "text", "text": "clean"}], "data": {"exitCode": 0}}}
"#;

#[test]
fn guards_of_a_changed_call_stand_after_the_answer_and_with_the_change() {
    let log = edited(ALLOWED);
    check(
        &log,
        expect![[r#"
            4 in 3: hook PreToolUse 4..9 ok lane=65536
            7 in 3: confirmation Run command: git log 10..3010 ok [modify client builtin:risk=low Some(3000)] in="git log" out="modify" (confirmation.revised modified)
            8 in 3: hook PreToolUse 3010..3090 ok lane=65536
            3 in 2: tool run_shell_command 0..3200 ok [modify client builtin:risk=low Some(3000)] in="{\"command\":\"git status\"}" out="clean"
            1 in -: run lead 0..… open in="q"
            2 in 1: turn turn 1 0..… open
        "#]],
    );
    let spans = spans(&log);
    let hooks: Vec<_> = spans.iter().filter_map(|span| span.hook.as_deref()).collect();
    let about: Vec<_> = hooks.iter().map(|hook| (hook.edited, hook.description.as_deref())).collect();
    assert_eq!(about, [(false, Some("git log")), (true, Some("git status"))]);
    assert_eq!(hook_said(hooks[1], 100), "asked about the call as a person changed it; allow");
    let call = spans.iter().find_map(|span| span.tool.as_deref()).unwrap();
    assert_eq!(decided(call.decision.as_ref().unwrap()), "yes, with a change: ada (pts/3), 3.0 s");
    let story = document(TraceFormat::Markdown, &log);
    let told: Vec<&str> = story.lines().filter(|line| line.starts_with(['*', 'H', 'A'])).collect();
    expect![[r#"
        Hook `user/PreToolUse/1` of `PreToolUse`, for `run_shell_command` git log decided nothing (after 5 ms).
        **lead** asks: Run command: git log (`builtin:risk=low`: runs a command)
        Answer: allowed with a change by ada (pts/3) after 3.0 s.
        Hook `user/PreToolUse/1` of `PreToolUse`, for `run_shell_command` git status, asked about the call as a person changed it, said `allow` (after 80 ms).
        **lead** calls `run_shell_command`, risk low, allowed with a change by ada (pts/3): done after 3.2 s.
        **lead** is still at work."#]]
    .assert_eq(&told.join("\n"));
}

/// A guard refuses what the person made of it: the person did not deny it.
#[test]
fn a_change_that_a_guard_refuses_is_refused_by_the_guard() {
    let log = edited(
        r#"
        3100 hook.fired {"firingId": "r1:PreToolUse:c1:q1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "decision": "deny", "reason": "no", "outcome": "answered", "durationMs": 80, "startedAt": "AT3010"}
        3100 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "deny", "by": "hook", "name": "ada@pts/3-3fa91c02", "message": "the hook user/PreToolUse/1 refused the call: no", "digest": "d", "edited": {"command": "git push"}}
        3100 tool.state {"callId": "c1", "from": "awaitingApproval", "to": "error", "name": "run_shell_command", "error": {"type": "HOOK_DENIED", "message": "the hook user/PreToolUse/1 refused the call: no"}}
    "#,
    );
    let spans = spans(&log);
    let kinds: Vec<SpanKind> = spans.iter().map(|span| span.kind).collect();
    assert_eq!(kinds[..4], [SpanKind::Hook, SpanKind::Confirmation, SpanKind::Hook, SpanKind::Tool]);
    let hook = spans[2].hook.as_deref().unwrap();
    assert_eq!((hook.edited, hook.description.as_deref()), (true, Some("git push")));
    let story = document(TraceFormat::Markdown, &log);
    let answer = "Answer: changed by ada (pts/3) after 3.0 s, and then denied: “the hook user/PreToolUse/1 refused the call: no”\n";
    assert!(story.contains(answer), "{story}");
    assert!(story.contains("{\"command\":\"git push\"}"), "{story}");
    let call = spans[3].tool.as_deref().unwrap();
    // It is named as it was refused.
    assert_eq!(spans[3].input.as_ref().unwrap().text, r#"{"command":"git push"}"#);
    assert_eq!(call.asked_input.as_ref().unwrap().text, r#"{"command":"git log"}"#);
    assert_eq!((call.description.as_deref(), call.changed_by.len()), (Some("git push"), 1));
    let call = call.decision.as_ref().unwrap();
    let said = "no, with a change by ada (pts/3): the hook user/PreToolUse/1 refused the call: no, 3.0 s";
    assert_eq!(decided(call), said);
}

/// A guard takes 12 s for what a person made of a call, and after that the person is asked again.
const GUARDED: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    0 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "a.rs"}}
    0 tool.state {"callId": "c1", "from": "validating", "to": "awaitingApproval", "name": "write_file"}
    0 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Write file: a.rs", "rule": "r", "reason": "x", "risk": "low", "details": {"type": "edit"}}}
    0 run.waiting {"waiting": true}
    9000 hook.started {"firingId": "r1:PreToolUse:c1:q1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "elapsedMs": 1000}
"#;
const CHANGED_AGAIN: &str = r#"
    20000 hook.fired {"firingId": "r1:PreToolUse:c1:q1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "changed": true, "outcome": "answered", "durationMs": 12000, "startedAt": "AT8000"}
    20000 confirmation.revised {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Write file: a.rs", "rule": "r", "reason": "x", "risk": "low", "details": {"type": "edit"}}, "reason": "changedByHook", "edited": {"path": "b.rs"}, "arguments": {"path": "c.rs"}, "^": {"by": "ada@pts/3-3fa91c02"}}
    25000 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "allowOnce", "by": "client", "name": "ada@pts/3-3fa91c02", "digest": "d"}
    25000 run.waiting {"waiting": false}
    25000 tool.state {"callId": "c1", "from": "awaitingApproval", "to": "executing", "name": "write_file"}
    25000 run.completed {"reason": "GOAL", "result": "x", "turns": 1, "toolCalls": 1, "activeMs": 0}
"#;

fn guarded(end: &str) -> Vec<TraceSpan> {
    let at = |ms: i64| Timestamp(BEGAN_US + ms * 1_000).to_string();
    spans(&format!("{GUARDED}{end}").replace("AT8000", &at(8_000)).replace("AT19200", &at(19_200)))
}

fn waits_of_people(spans: &[TraceSpan]) -> (u64, u64, Vec<(Option<u64>, u64)>) {
    let run = spans.iter().find_map(|span| span.run.as_deref()).unwrap();
    let asked = spans.iter().filter_map(|span| span.confirmation.as_deref()?.decision.as_ref());
    let asked = asked.map(|decision| (decision.waited_ms, decision.down_ms)).collect();
    (run.waiting_ms, run.waiting_down_ms, asked)
}

#[test]
fn the_time_of_a_guard_of_a_change_is_none_of_the_persons() {
    let told = guarded(CHANGED_AGAIN);
    assert_eq!(waits_of_people(&told), (13_000, 0, vec![(Some(8_000), 0), (Some(5_000), 0)]));
}

/// The guard is asked anew by the next daemon; the person had answered before.
#[test]
fn a_daemon_that_ends_while_a_guard_of_a_change_works_makes_no_person_slower() {
    let again = r#"
        19000 run.resumed {"unclean": true, "awayMs": 9000}
        19000 run.waiting {"waiting": true}
        20000 hook.fired {"firingId": "r1:PreToolUse:c1:q1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "changed": true, "outcome": "answered", "durationMs": 800, "attempt": 2, "startedAt": "AT19200"}
    "#;
    let ended = &CHANGED_AGAIN[CHANGED_AGAIN.find("    20000 confirmation").unwrap()..];
    let told = guarded(&format!("{again}{ended}"));
    assert_eq!(waits_of_people(&told), (13_200, 0, vec![(Some(8_000), 0), (Some(5_000), 0)]));
    let cut_off = told.iter().find_map(|span| span.hook.as_deref()).unwrap();
    assert_eq!((cut_off.outcome.as_str(), cut_off.edited), ("interrupted", true));
    // The answer was lost with the daemon, and came once more.
    let lost = r#"
        19000 run.resumed {"unclean": true, "awayMs": 9000}
        19000 run.waiting {"waiting": true}
        25000 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "allowOnce", "by": "client", "name": "ada@pts/3-3fa91c02", "digest": "d"}
        25000 run.completed {"reason": "GOAL", "result": "x", "turns": 1, "toolCalls": 1, "activeMs": 0}
    "#;
    assert_eq!(waits_of_people(&guarded(lost)), (14_000, 0, vec![(Some(25_000), 9_000)]));
}

#[test]
fn a_run_waits_for_the_guard_of_a_change_and_not_for_the_person_who_made_it() {
    let told = guarded("");
    let run = told.iter().find_map(|span| span.run.as_deref()).unwrap();
    let waits = run.waits_for.as_ref().unwrap();
    let said = "waits for the hook user/PreToolUse/1, asked about the call as a person changed it";
    assert_eq!((crate::wait_said(waits).as_str(), run.waiting_ms), (said, 8_000));
    let asked = told.iter().find(|span| span.kind == SpanKind::Confirmation).unwrap();
    let decision = asked.confirmation.as_deref().unwrap().decision.as_ref().unwrap();
    assert_eq!(
        (asked.status, decision.outcome.as_str(), decision.waited_ms),
        (SpanStatus::Open, "edited", Some(8_000))
    );
}

/// A guard takes back what a person made of a call.
#[test]
fn a_change_that_is_taken_back_is_told_as_that() {
    let at = Timestamp(BEGAN_US + 8_000_000).to_string();
    let log = format!("{GUARDED}{}", CHANGED_AGAIN.replace("c.rs", "a.rs")).replace("AT8000", &at);
    let story = document(TraceFormat::Markdown, &log);
    let said = "ada (pts/3) and then the hook `user/PreToolUse/1` changed the arguments, back to what was asked for.\n";
    assert!(story.contains(said), "{story}");
    assert!(!story.contains("The model had asked for"), "{story}");
}

/// The same where the log has what the person made of the call.
const LOGGED: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    0 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "a.rs"}}
    0 tool.state {"callId": "c1", "from": "validating", "to": "awaitingApproval", "name": "write_file"}
    0 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Write file: a.rs", "rule": "r", "reason": "x", "risk": "low", "details": {"type": "edit"}}}
    0 run.waiting {"waiting": true}
    5600 confirmation.edited {"confirmationId": "q1", "toolCallId": "c1", "digest": "d", "edited": {"path": "b.rs"}, "name": "ada@pts/0-3fa91c02", "^": {"by": "ada@pts/0-3fa91c02"}}
    6700 hook.started {"firingId": "r1:PreToolUse:c1:q1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "elapsedMs": 1000}
"#;

const LOGGED_CANCEL: &str = r#"
    7800 run.stopping {"reason": "ABORTED", "then": "end", "message": "cancelled", "^": {"by": "bob"}}
    7800 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "deny", "by": "system", "message": "the run was stopped", "digest": "d"}
    7800 run.waiting {"waiting": false}
    7800 tool.state {"callId": "c1", "from": "awaitingApproval", "to": "cancelled", "name": "write_file"}
    7800 turn.completed {"turn": 1, "toolCalls": 1}
    7800 run.completed {"reason": "ABORTED", "turns": 1, "toolCalls": 1, "activeMs": 0}
"#;

const LOGGED_RESTART: &str = r#"
    19000 run.resumed {"unclean": true, "awayMs": 9000}
    19000 run.waiting {"waiting": true}
"#;

const LOGGED_ALLOWED: &str = r#"
    20000 confirmation.revised {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Write file: b.rs", "details": {"type": "edit"}}, "reason": "modified", "^": {"by": "ada@pts/0-3fa91c02"}}
    20000 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "modify", "by": "client", "name": "ada@pts/0-3fa91c02", "digest": "d", "difference": "x"}
    20000 run.waiting {"waiting": false}
    20000 tool.state {"callId": "c1", "from": "awaitingApproval", "to": "executing", "name": "write_file", "arguments": {"path": "b.rs"}}
    20000 run.completed {"reason": "GOAL", "result": "x", "turns": 1, "toolCalls": 1, "activeMs": 0}
"#;

fn decision_of(spans: &[TraceSpan]) -> protocol::CallDecision {
    spans.iter().find_map(|span| span.confirmation.as_deref()?.decision.clone()).unwrap()
}

#[test]
fn a_logged_change_is_told_by_name_while_hooks_look_at_it() {
    let told = spans(LOGGED);
    let asked = told.iter().find_map(|span| span.confirmation.as_deref()).unwrap();
    assert_eq!(asked.edited_input.as_ref().unwrap().text, r#"{"path":"b.rs"}"#);
    let said = crate::answer_said(&decision_of(&told), str::to_owned, str::to_owned);
    assert_eq!(said, "edited by ada (pts/0) after 5.6 s");
    let run = told.iter().find_map(|span| span.run.as_deref()).unwrap();
    assert_eq!(run.waiting_ms, 5_600);
    let story = document(TraceFormat::Markdown, LOGGED);
    assert!(
        story.contains("Answer: edited by ada (pts/0) after 5.6 s. Hooks are asked about that.\n"),
        "{story}"
    );
}

#[test]
fn a_run_that_is_stopped_while_hooks_look_at_a_change_does_not_say_that_nobody_answered() {
    let log = format!("{LOGGED}{LOGGED_CANCEL}");
    let told = spans(&log);
    assert_eq!(waits_of_people(&told), (5_600, 0, vec![(Some(5_600), 0)]));
    let said = decided(&decision_of(&told));
    assert_eq!(said, "edited: ada (pts/0), 5.6 s, before hooks had answered: the run was stopped");
    let call = told.iter().find_map(|span| span.tool.as_deref()).unwrap();
    assert_eq!(decided(call.decision.as_ref().unwrap()), "no: the run was stopped");
    let story = document(TraceFormat::Markdown, &log);
    let answer =
        "Answer: edited by ada (pts/0) after 5.6 s, before hooks had answered: the run was stopped.\n";
    assert!(story.contains(answer), "{story}");
    assert!(!story.contains("Nobody answered"), "{story}");
}

#[test]
fn a_logged_change_is_no_slower_by_a_restart_and_is_told_where_it_was_made() {
    let log = format!("{LOGGED}{LOGGED_RESTART}{LOGGED_ALLOWED}");
    let told = spans(&log);
    assert_eq!(waits_of_people(&told), (5_600, 0, vec![(Some(5_600), 0)]));
    let story = document(TraceFormat::Markdown, &log);
    let before = "Answer: edited by ada (pts/0) after 5.6 s. Hooks had not answered when the daemon ended.\n";
    assert!(story.contains(before), "{story}");
    assert!(!story.contains("Nobody had answered"), "{story}");
    let after = "**lead** goes on with the answer after the daemon was started again: Write file: a.rs\n";
    assert!(story.contains(after), "{story}");
    assert!(story.contains("Answer: allowed with a change by ada (pts/0) after 5.6 s."), "{story}");
}

/// Hooks look at what a person made of a call of a run below.
const BELOW: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    0 tool.state {"callId": "c0", "to": "executing", "name": "helper", "childRunId": "r2"}
    0 @r2 run.started {"agent": "helper", "model": "m", "query": "q", "parentCallId": "c0", "rootRunId": "r1", "^": {"parentRunId": "r1", "agent": "helper"}}
    0 @r2 turn.started {"turn": 1, "^": {"parentRunId": "r1", "agent": "helper"}}
    1000 @r2 tool.state {"callId": "c1", "to": "awaitingApproval", "name": "write_file", "arguments": {"path": "a.rs"}, "^": {"parentRunId": "r1", "agent": "helper"}}
    1000 @r2 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Write file: a.rs", "rule": "r", "reason": "x", "risk": "low", "details": {"type": "edit"}}, "^": {"parentRunId": "r1", "agent": "helper"}}
    1000 @r2 run.waiting {"waiting": true, "^": {"parentRunId": "r1", "agent": "helper"}}
    1000 run.waiting {"waiting": true}
    3000 @r2 confirmation.edited {"confirmationId": "q1", "toolCallId": "c1", "digest": "d", "edited": {"path": "b.rs"}, "name": "ada", "^": {"parentRunId": "r1", "agent": "helper", "by": "ada"}}
    4000 @r2 hook.started {"firingId": "r2:PreToolUse:c1:q1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "elapsedMs": 1000, "^": {"parentRunId": "r1", "agent": "helper"}}
"#;
const BELOW_ALLOWED: &str = r#"
    9000 @r2 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "modify", "by": "client", "name": "ada", "digest": "d", "^": {"parentRunId": "r1", "agent": "helper"}}
    9000 @r2 tool.state {"callId": "c1", "from": "awaitingApproval", "to": "executing", "name": "write_file", "arguments": {"path": "b.rs"}, "^": {"parentRunId": "r1", "agent": "helper"}}
    9000 @r2 run.waiting {"waiting": false, "^": {"parentRunId": "r1", "agent": "helper"}}
    9000 run.waiting {"waiting": false}
    9500 @r2 model.started {"^": {"parentRunId": "r1", "agent": "helper"}}
"#;

#[test]
fn time_of_a_guard_is_nobodys_in_the_runs_above_either() {
    let times = |log: &str| {
        let told = spans(log);
        let runs = told.iter().filter_map(|span| span.run.as_deref());
        runs.map(|run| (run.waiting_ms, run.active_ms)).collect::<Vec<_>>()
    };
    // While the guard is at work neither a person is waited for nor does a run anything.
    assert_eq!(times(BELOW), [(2_000, 1_000), (2_000, 1_000)]);
    assert_eq!(times(&format!("{BELOW}{BELOW_ALLOWED}")), [(2_000, 1_500), (2_000, 1_500)]);
    let told = spans(BELOW);
    let words: Vec<&str> = told
        .iter()
        .filter_map(|span| Some(span.run.as_deref()?.waits_for.as_ref()?.waits_for.as_str()))
        .collect();
    assert_eq!(words, ["agent", "hook"]);
}

/// Nothing comes of a change, and nothing of the next one.
#[test]
fn a_change_of_which_nothing_came_says_why() {
    let revised = |at: u64, reason: &str| {
        format!(
            r#"{at} confirmation.revised {{"confirmation": {{"confirmationId": "q1", "toolCallId": "c1", "title": "Write file: a.rs", "rule": "r", "reason": "{reason}", "risk": "low", "details": {{"type": "edit"}}}}, "reason": "editDropped", "edited": {{"path": "b.rs"}}, "^": {{"by": "ada"}}}}"#
        )
    };
    let edited = r#"10000 confirmation.edited {"confirmationId": "q1", "toolCallId": "c1", "digest": "d", "edited": {"path": "c.rs"}, "name": "bob", "^": {"by": "bob"}}"#;
    let (first, second) = (revised(9_000, "x; the file changed"), revised(12_000, "x; a rule forbids it"));
    let told = spans(&format!("{LOGGED}{first}\n{edited}\n{second}"));
    let asked =
        told.iter().filter_map(|span| span.confirmation.as_deref()?.decision.as_ref()?.message.as_deref());
    assert_eq!(asked.collect::<Vec<_>>(), ["the file changed", "a rule forbids it"]);
    // A hook that was asked about it more than once is told in one breath.
    let fired = r#"8000 hook.fired {"firingId": "r1:PreToolUse:c1:q1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "attempt": 2, "decision": "allow", "outcome": "answered", "durationMs": 80, "startedAt": "AT7900"}"#;
    let fired = fired.replace("AT7900", &Timestamp(BEGAN_US + 7_900_000).to_string());
    let story = document(TraceFormat::Markdown, &format!("{LOGGED}{fired}\n{first}"));
    assert!(
        story.contains(", asked about the call as a person changed it, asked again (attempt 2), said"),
        "{story}"
    );
}
