//! A question that a person answered with a change, which a hook changed again: does the trace say who made what of it, and who allowed
//! which version?

use protocol::{SpanKind, TraceContent, TraceFormat};

use super::{documents::document, *};
use crate::{changers_said, decided, thin, without_calls};

/// A person edits, a hook changes that, and it is asked again. `END` is what becomes of it.
fn asked_again(end: &str) -> String {
    let began = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "e.rs", "content": "fn e"}}
        10 tool.state {"callId": "c1", "from": "validating", "to": "scheduled", "name": "write_file", "details": {"description": "e.rs", "kind": "edit", "risk": "low", "rule": "builtin:risk=low"}}
        10 tool.state {"callId": "c1", "from": "scheduled", "to": "awaitingApproval", "name": "write_file"}
        10 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Write file: e.rs", "rule": "builtin:risk=low", "reason": "changes a file", "risk": "low", "details": {"type": "edit", "path": "/w/e.rs", "diff": "+fn e"}}}
        3100 hook.fired {"firingId": "r1:PreToolUse:c1:q1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "changed": true, "outcome": "answered", "durationMs": 80, "startedAt": "AT3010"}
        3100 confirmation.revised {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Write file: e.rs", "rule": "builtin:risk=low", "reason": "changes a file; a hook changed that", "risk": "low", "details": {"type": "edit", "path": "/w/e.rs", "diff": "+header mine"}}, "reason": "changedByHook", "difference": "x", "edited": {"path": "e.rs", "content": "mine"}, "arguments": {"path": "e.rs", "content": "header mine"}, "^": {"by": "ada@pts/0-3fa91c02"}}
    "#;
    format!("{began}{end}").replace("AT3010", &Timestamp(BEGAN_US + 3_010_000).to_string())
}

const ALLOWED: &str = r#"
        5100 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "allowOnce", "by": "client", "name": "bob@pts/2-05d751bc", "digest": "d", "difference": "x"}
        5100 tool.state {"callId": "c1", "from": "awaitingApproval", "to": "executing", "name": "write_file", "arguments": {"path": "e.rs", "content": "header mine"}, "details": {"description": "e.rs", "kind": "edit", "risk": "low", "rule": "builtin:risk=low"}}
        5200 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "write_file", "result": {"llmContent": [{"type": "text", "text": "written"}]}}
"#;

const DENIED: &str = r#"
        5100 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "deny", "by": "client", "name": "ada@pts/0-3fa91c02", "message": "no mine", "digest": "d", "difference": "x"}
        5100 tool.state {"callId": "c1", "from": "awaitingApproval", "to": "error", "name": "write_file", "error": {"type": "USER_DENIED", "message": "a person denied the call: no mine"}}
"#;

fn told(story: &str) -> String {
    let told = story.lines().filter(|line| line.starts_with(['*', 'H', 'A', '+', '{', 'a']));
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_version_of_a_question_is_told_with_what_its_answer_did() {
    let log = asked_again(ALLOWED);
    check(
        &log,
        expect![[r#"
        6 in 3: confirmation Write file: e.rs 10..3010 ok [edited client builtin:risk=low Some(3000)] in="+fn e" out="edited"
        7 in 3: hook PreToolUse 3010..3090 ok lane=65536
        8 in 3: confirmation Write file: e.rs 3100..5100 ok [allowOnce client builtin:risk=low Some(2000)] in="+header mine" out="allowOnce"
        3 in 2: tool write_file 0..5200 ok [allowOnce client builtin:risk=low Some(2000)] in="{\"path\":\"e.rs\",\"content\":\"header mine\"}" out="written"
        1 in -: run lead 0..… open in="q"
        2 in 1: turn turn 1 0..… open
    "#]],
    );
    expect![[r#"
        **lead** asks: Write file: e.rs (`builtin:risk=low`: changes a file)
        +fn e
        Answer: edited by ada (pts/0) after 3.0 s. A hook changed what came of it, so it was asked again.
        {"path":"e.rs","content":"mine"}
        Hook `user/PreToolUse/1` of `PreToolUse`, for `write_file` e.rs, asked about the call as a person changed it, answered (after 80 ms). It changed what it was shown.
        **lead** asks again (version 2): Write file: e.rs (`builtin:risk=low`: changes a file; a hook changed that)
        +header mine
        Answer: `allowOnce` by bob (pts/2) after 2.0 s.
        **lead** calls `write_file`, risk low, `allowOnce` (version 2 of the question) by bob (pts/2): done after 5.2 s.
        {"path":"e.rs","content":"header mine"}
        ada (pts/0) and then the hook `user/PreToolUse/1` changed the arguments. The model had asked for:
        {"path":"e.rs","content":"fn e"}
        **lead** is still at work."#]].assert_eq(&told(&document(TraceFormat::Markdown, &log)));
}

#[test]
fn a_call_says_who_changed_it_in_order_and_who_allowed_which_version() {
    let spans = spans(&asked_again(ALLOWED));
    let call = spans.iter().find_map(|span| span.tool.as_deref()).unwrap();
    let changes: Vec<(&str, &str, i64, &[String])> = call
        .changes
        .iter()
        .map(|it| {
            (it.source.as_str(), it.name.as_str(), (it.at.0 - BEGAN_US) / 1_000, it.arguments.as_slice())
        })
        .collect();
    let content = ["content".to_owned()];
    assert_eq!(
        changes,
        [
            ("client", "ada@pts/0-3fa91c02", 3_010, content.as_slice()),
            ("hook", "user/PreToolUse/1", 3_090, content.as_slice()),
        ]
    );
    let who = changers_said(&call.changes, &call.changed_by, str::to_owned, str::to_owned);
    assert_eq!(who, "ada (pts/0) and then the hook user/PreToolUse/1");
    assert_eq!(call.asked_input.as_ref().unwrap().text, r#"{"path":"e.rs","content":"fn e"}"#);
    let said = decided(call.decision.as_ref().unwrap());
    assert_eq!(said, "yes (version 2 of the question): bob (pts/2), 2.0 s");
    for format in [TraceFormat::Json, TraceFormat::Jsonl, TraceFormat::Otlp, TraceFormat::Chrome] {
        let text = document(format, &asked_again(ALLOWED));
        assert!(
            text.contains("edited") && text.contains("mine") && text.contains("bob@pts/2"),
            "{format:?}: {text}"
        );
    }
}

/// The version that was denied, not the one that the model had asked for.
#[test]
fn a_denial_names_the_version_that_was_denied() {
    let log = asked_again(DENIED);
    let spans = spans(&log);
    let call = spans.iter().find(|span| span.kind == SpanKind::Tool).unwrap();
    assert_eq!(call.input.as_ref().unwrap().text, r#"{"path":"e.rs","content":"header mine"}"#);
    let tool = call.tool.as_deref().unwrap();
    let said = decided(tool.decision.as_ref().unwrap());
    assert_eq!(said, "no (version 2 of the question): ada (pts/0), 2.0 s");
    expect![[r#"
        **lead** asks: Write file: e.rs (`builtin:risk=low`: changes a file)
        +fn e
        Answer: edited by ada (pts/0) after 3.0 s. A hook changed what came of it, so it was asked again.
        {"path":"e.rs","content":"mine"}
        Hook `user/PreToolUse/1` of `PreToolUse`, for `write_file` e.rs, asked about the call as a person changed it, answered (after 80 ms). It changed what it was shown.
        **lead** asks again (version 2): Write file: e.rs (`builtin:risk=low`: changes a file; a hook changed that)
        +header mine
        Answer: `deny` by ada (pts/0) after 2.0 s. “no mine”
        **lead** calls `write_file`, risk low, `deny` (version 2 of the question) by ada (pts/0): failed after 5.1 s.
        {"path":"e.rs","content":"header mine"}
        ada (pts/0) and then the hook `user/PreToolUse/1` changed the arguments. The model had asked for:
        {"path":"e.rs","content":"fn e"}
        **lead** is still at work."#]].assert_eq(&told(&document(TraceFormat::Markdown, &log)));
}

/// The newest version counts.
#[test]
fn an_open_question_is_told_as_it_is_asked_now() {
    let log = asked_again("");
    let spans = spans(&log);
    let open = |kind: SpanKind| spans.iter().find(|span| span.kind == kind && span.end_us.is_none()).unwrap();
    let question = open(SpanKind::Confirmation);
    assert_eq!(question.input.as_ref().unwrap().text, "+header mine");
    assert_eq!(question.confirmation.as_ref().unwrap().version, Some(2));
    assert_eq!(
        open(SpanKind::Tool).input.as_ref().unwrap().text,
        r#"{"path":"e.rs","content":"header mine"}"#
    );
    let waits = open(SpanKind::Run).run.as_ref().unwrap().waits_for.clone().unwrap();
    assert_eq!((waits.since.0 - BEGAN_US) / 1_000, 3_100);
    expect![[r#"
        **lead** asks: Write file: e.rs (`builtin:risk=low`: changes a file)
        +fn e
        Answer: edited by ada (pts/0) after 3.0 s. A hook changed what came of it, so it was asked again.
        {"path":"e.rs","content":"mine"}
        Hook `user/PreToolUse/1` of `PreToolUse`, for `write_file` e.rs, asked about the call as a person changed it, answered (after 80 ms). It changed what it was shown.
        **lead** is still at work.
        **lead** calls `write_file`: not allowed to run yet, since 2025-11-24 16:00:00Z.
        {"path":"e.rs","content":"header mine"}
        **lead** waits for an answer (version 2): Write file: e.rs
        +header mine"#]].assert_eq(&told(&document(TraceFormat::Markdown, &log)));
}

/// Logs of earlier versions do not say what the person made of it.
#[test]
fn a_log_of_an_earlier_version_says_who_changed_the_call() {
    let log = asked_again(ALLOWED).replace(
        r#", "edited": {"path": "e.rs", "content": "mine"}, "arguments": {"path": "e.rs", "content": "header mine"}"#,
        "",
    );
    assert!(!log.contains("edited"));
    let spans = spans(&log);
    let call = spans.iter().find_map(|span| span.tool.as_deref()).unwrap();
    assert_eq!(call.changed_by, ["ada@pts/0-3fa91c02", "user/PreToolUse/1"]);
    assert_eq!(call.asked_input.as_ref().unwrap().text, r#"{"path":"e.rs","content":"fn e"}"#);
}

/// Nobody changed it: what it would touch did, and it was asked anew.
#[test]
fn a_question_about_something_else_by_now_is_asked_again() {
    let log = asked_again(ALLOWED).replace("changedByHook", "changed");
    let spans = spans(&log);
    let asked: Vec<_> = spans.iter().filter_map(|span| span.confirmation.as_deref()).collect();
    let outcomes: Vec<_> =
        asked.iter().map(|asked| asked.decision.as_ref().unwrap().outcome.as_str()).collect();
    assert_eq!(outcomes, ["stale", "allowOnce"]);
    let story = document(TraceFormat::Markdown, &log);
    assert!(story.contains("ada (pts/0) answered after 3.0 s, when what the call would touch had changed, so it was asked again."), "{story}");
}

/// Others read a person's edit as they do the call.
#[test]
fn an_edit_keeps_to_what_others_may_read() {
    let question =
        || spans(&asked_again(ALLOWED)).into_iter().find(|span| span.kind == SpanKind::Confirmation).unwrap();
    assert!(question().confirmation.unwrap().edited_input.unwrap().text.contains("mine"));
    for content in [TraceContent::Redacted, TraceContent::None] {
        let mut question = question();
        thin(&mut question, content);
        assert!(!serde_json::to_string(&question).unwrap().contains("mine"), "{question:?}");
    }
    let mut question = question();
    without_calls(&mut question);
    assert!(!serde_json::to_string(&question).unwrap().contains("mine"), "{question:?}");
}
