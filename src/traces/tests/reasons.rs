//! Why was a reply cut, what did an answer allow, and what did a hook change?

use protocol::{SpanKind, TraceContent, TraceFormat};

use super::{documents::document, *};
use crate::{OtlpSpan, decided, thin, without_calls};

#[test]
fn a_reply_that_was_cut_for_a_loop_says_which() {
    check(
        r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 model.started {"model": "m", "stream": "s1", "attempt": 1}
        500 model.completed {"model": "m", "stream": "s1", "text": "x", "cut": true, "usageUnknown": true, "calls": [], "usage": {}}
        500 loop.detected {"kind": "text", "message": "the model says again and again: \"x\"", "stops": false}
        500 turn.completed {"turn": 1}
        500 turn.started {"turn": 2}
        500 model.started {"model": "m", "stream": "s2", "attempt": 1}
        900 model.completed {"model": "m", "stream": "s2", "text": "x", "cut": true, "usageUnknown": true, "calls": [], "usage": {}}
        900 loop.detected {"kind": "text", "message": "the model says again and again: \"x\"", "stops": true}
        900 run.stopping {"reason": "LOOP_DETECTED", "then": "end", "message": "the run goes round in circles"}
        900 turn.completed {"turn": 2}
        900 run.completed {"reason": "LOOP_DETECTED", "message": "the run goes round in circles"}
        "#,
        expect![[r#"
            3 in 2: llm m 0..500 error LOOP_DETECTED: the model says again and again: "x" in="q" out="x"
            2 in 1: turn turn 1 0..500 ok (loop.detected the model says again and again: "x")
            8 in 7: llm m 500..900 error LOOP_DETECTED: the model says again and again: "x" out="x"
            7 in 1: turn turn 2 500..900 ok (loop.detected the model says again and again: "x") (run.stopping the run goes round in circles)
            1 in -: run lead 0..900 error LOOP_DETECTED: the run goes round in circles in="q"
        "#]],
    );
}

/// An answer for the session, with the rule that it saved, and one that changed the mode.
const GRANTED: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    1 tool.state {"callId": "c1", "to": "validating", "name": "run_shell_command", "arguments": {"command": "make"}}
    2 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Run make?", "rule": "builtin:risk=high", "reason": "x", "risk": "high", "details": {"type": "exec", "command": "make"}}}
    1002 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "allowSession", "by": "client", "name": "ada@pts/3-3fa91c02", "digest": "d", "allows": "`make` in /w, in this session", "rule": {"id": "remembered:session:019aa1b2", "tier": "user", "tool": ["run_shell_command"], "commandPrefix": ["make"], "session": "s1", "accesses": [{"access": "execute", "command": "make"}], "decision": "allow"}}
    1003 tool.state {"callId": "c1", "from": "validating", "to": "executing", "name": "run_shell_command"}
    1004 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "run_shell_command", "result": {"llmContent": []}}
    1005 tool.state {"callId": "c2", "to": "validating", "name": "write_file", "arguments": {"path": "a"}}
    1006 confirmation.requested {"confirmation": {"confirmationId": "q2", "toolCallId": "c2", "title": "Change a?", "rule": "builtin:risk=low", "reason": "x", "risk": "low", "details": {"type": "edit", "path": "/w/a"}}}
    2006 confirmation.resolved {"confirmationId": "q2", "toolCallId": "c2", "outcome": "allowSession", "by": "client", "name": "ada@pts/3-3fa91c02", "digest": "d", "allows": "edits of files in /w", "mode": "autoEdit"}
"#;

#[test]
fn what_an_answer_allowed_beyond_its_call_is_told_with_it() {
    let spans = spans(GRANTED);
    let question = spans.iter().find(|span| span.kind == SpanKind::Confirmation).unwrap();
    let decision = question.confirmation.as_ref().unwrap().decision.clone().unwrap();
    assert_eq!(decision.allows.as_deref(), Some("`make` in /w, in this session"));
    assert_eq!(
        decision.remembers.as_deref(),
        Some(
            "remembered:session:019aa1b2: run_shell_command · commands make · only what runs make · in session s1"
        )
    );
    assert_eq!(
        decided(&decision),
        "yes, in this session: ada (pts/3), 1.0 s; from now on: `make` in /w, in this session"
    );
    let story = document(TraceFormat::Markdown, GRANTED);
    for words in [
        "Answer: `allowSession` by ada (pts/3) after 1.0 s. From now on it allows: \\`make\\` in /w, in this session.",
        "It saved the rule remembered:session:019aa1b2: run\\_shell\\_command · commands make · only what runs make · in \
         session s1.",
        "From now on it allows: edits of files in /w. The session's mode is autoEdit from then on.",
    ] {
        assert!(story.contains(words), "{words}: {story}");
    }
    let sent = OtlpSpan::of(question).to_json().to_string();
    assert!(sent.contains("subagentd.confirmation.allows") && sent.contains("commands make"), "{sent}");
    // Others read the rule's words only with all texts: they quote the call.
    for content in [TraceContent::Redacted, TraceContent::None] {
        let mut question = question.clone();
        thin(&mut question, content);
        let sent = serde_json::to_string(&question).unwrap();
        assert!(!sent.contains("commands make") && !sent.contains("in /w"), "{content:?}: {sent}");
        assert!(sent.contains("allowSession"), "{sent}");
    }
    let mut question = question.clone();
    without_calls(&mut question);
    assert!(!serde_json::to_string(&question).unwrap().contains("make"), "{question:?}");
}

#[test]
fn what_a_hook_changed_of_a_call_is_told_before_and_after() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        1 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "a", "content": "old"}}
        2 hook.fired {"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "changed": true, "outcome": "answered", "durationMs": 1}
        3 tool.state {"callId": "c1", "from": "validating", "to": "executing", "name": "write_file", "arguments": {"path": "a", "content": "new"}}
        4 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "write_file", "result": {"llmContent": []}}
        5 tool.state {"callId": "c2", "to": "validating", "name": "write_file", "arguments": {"path": "./b"}}
        6 tool.state {"callId": "c2", "from": "validating", "to": "executing", "name": "write_file", "arguments": {"path": "b"}}
    "#;
    let spans = spans(log);
    let call = |id: &str| {
        let is_it = |span: &&TraceSpan| span.tool.as_ref().is_some_and(|tool| tool.call_id.as_str() == id);
        spans.iter().find(is_it).unwrap().clone()
    };
    let changed = call("c1");
    let tool = changed.tool.as_ref().unwrap();
    assert_eq!(tool.changed_by, ["user/PreToolUse/1"]);
    assert_eq!(tool.asked_input.as_ref().unwrap().text, r#"{"path":"a","content":"old"}"#);
    assert_eq!(changed.input.as_ref().unwrap().text, r#"{"path":"a","content":"new"}"#);
    // What validation makes canonical is no change of a hook's.
    assert_eq!(call("c2").tool.unwrap().asked_input, None);
    let story = document(TraceFormat::Markdown, log);
    let told = "The hook `user/PreToolUse/1` changed the arguments. The model had asked for:\n\n```json\n{\"path\":\"a\",\"content\":\"old\"}\n```";
    assert!(story.contains(told), "{story}");
    assert_eq!(changed.tool.as_ref().unwrap().changes[0].arguments, ["content"]);
    let mut thinned = changed.clone();
    thin(&mut thinned, TraceContent::Redacted);
    let thinned = thinned.tool.unwrap();
    assert_eq!(thinned.asked_input.unwrap().text, "[28 bytes]");
    // Of a tool that takes any, the names are texts, too.
    assert!(thinned.changes[0].arguments.is_empty());
    let mut thinned = changed;
    thin(&mut thinned, TraceContent::None);
    let thinned = thinned.tool.unwrap();
    assert_eq!((thinned.asked_input, thinned.changes[0].arguments.len()), (None, 0));
}

/// What was refused, taken back by the next hook or came to the same is no change: the model's arguments stand alone.
#[test]
fn a_change_that_never_counted_is_none() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        1 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "a"}}
        2 hook.fired {"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "changed": true, "outcome": "answered", "durationMs": 1}
        2 tool.state {"callId": "c1", "from": "validating", "to": "error", "name": "write_file", "error": {"type": "HOOK_DENIED", "message": "a hook changed the call into one that cannot be made: no path"}}
        3 tool.state {"callId": "c2", "to": "validating", "name": "write_file", "arguments": {"path": "b"}}
        4 hook.fired {"firingId": "g", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c2", "changed": true, "outcome": "answered", "durationMs": 1}
        4 hook.fired {"firingId": "g", "hookId": "user/PreToolUse/2", "event": "PreToolUse", "source": "user", "callId": "c2", "changed": true, "outcome": "answered", "durationMs": 1}
        4 tool.state {"callId": "c2", "from": "validating", "to": "executing", "name": "write_file"}
        4 tool.state {"callId": "c2", "from": "executing", "to": "success", "name": "write_file", "result": {"llmContent": []}}
        5 tool.state {"callId": "c3", "to": "validating", "name": "write_file", "arguments": {"path": "./c"}}
        5 tool.state {"callId": "c3", "from": "validating", "to": "awaitingApproval", "name": "write_file", "arguments": {"path": "c"}}
        5 confirmation.requested {"confirmation": {"confirmationId": "q", "toolCallId": "c3", "title": "Write c", "rule": "r", "reason": "x", "risk": "low", "details": {"type": "edit"}}}
        6 confirmation.resolved {"confirmationId": "q", "toolCallId": "c3", "outcome": "modify", "by": "client", "name": "ada@pts/3-3fa91c02"}
        6 tool.state {"callId": "c3", "from": "awaitingApproval", "to": "executing", "name": "write_file", "arguments": {"path": "c"}}
        7 tool.state {"callId": "c3", "from": "executing", "to": "success", "name": "write_file", "result": {"llmContent": []}}
    "#;
    let calls = spans(log).into_iter().filter_map(|span| span.tool);
    let told: Vec<_> = calls.map(|tool| (tool.call_id, tool.asked_input, tool.changed_by)).collect();
    let same = |call: &str| (call.into(), None, Vec::new());
    assert_eq!(told, [same("c1"), same("c2"), same("c3")]);
    assert!(!document(TraceFormat::Markdown, log).contains("changed the arguments"));
}

/// A backend learns of a run what a person reads of it here.
#[test]
fn a_run_says_to_others_who_started_it_and_where_its_time_went() {
    let log = r#"
        0 run.queued {"for": "place", "run": {"agent": "lead", "model": "m", "query": "q", "approval": {"initiator": "ada@pts/3-3fa91c02"}}}
        100 run.started {"agent": "lead", "model": "m", "query": "q"}
        200 run.waiting {"waiting": true}
        300 run.waiting {"waiting": false}
        400 run.resumed {"unclean": true}
        500 run.stopping {"reason": "ABORTED", "message": "wrong turn", "^": {"by": "bob-1"}}
        500 run.completed {"reason": "ABORTED", "message": "wrong turn"}
    "#;
    let spans = spans(log);
    let sent = OtlpSpan::of(spans.last().unwrap());
    let told: Vec<String> = sent
        .attributes
        .iter()
        .filter(|(name, _)| name.starts_with("subagentd.run."))
        .map(|(name, value)| format!("{name} {}", value.to_otlp()))
        .collect();
    expect![[r#"
        subagentd.run.id {"stringValue":"r1"}
        subagentd.run.reason {"stringValue":"ABORTED"}
        subagentd.run.message {"stringValue":"wrong turn"}
        subagentd.run.started_by {"stringValue":"ada@pts/3-3fa91c02"}
        subagentd.run.stopped_by {"stringValue":"bob-1"}
        subagentd.run.queued_ms {"intValue":"100"}
        subagentd.run.waiting_ms {"intValue":"100"}
        subagentd.run.down_ms {"intValue":"100"}
        subagentd.run.restarts {"intValue":"1"}
        subagentd.run.unclean_restarts {"intValue":"1"}"#]]
    .assert_eq(&told.join("\n"));
}

/// The story of a run whose daemon was killed while its model answered and a command ran.
#[test]
fn a_story_tells_of_a_crash_where_it_happened() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "prompt": "Build it", "query": "Build it"}
        0 turn.started {"turn": 1}
        0 model.started {"model": "m", "stream": "s1", "attempt": 1}
        900 model.completed {"model": "m", "stream": "s1", "text": "I build.", "usage": {}, "calls": ["c1", "c2"]}
        900 tool.state {"callId": "c1", "to": "validating", "name": "read_file", "arguments": {"path": "a"}}
        900 tool.state {"callId": "c2", "to": "validating", "name": "run_shell_command", "arguments": {"command": "make"}}
        901 tool.state {"callId": "c1", "from": "validating", "to": "executing", "name": "read_file", "details": {"description": "a", "kind": "read", "risk": "safe", "rule": "builtin:risk=safe"}}
        902 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "read_file", "result": {"llmContent": [{"type": "text", "text": "a"}]}}
        903 tool.state {"callId": "c2", "from": "validating", "to": "executing", "name": "run_shell_command", "details": {"description": "make", "kind": "execute", "risk": "low", "rule": "user:a.toml:1"}}
        9000 run.resumed {"unclean": true, "awayMs": 7000}
        9001 tool.state {"callId": "c2", "from": "executing", "to": "error", "name": "run_shell_command", "error": {"type": "INTERRUPTED", "message": "the daemon was restarted"}, "result": {"llmContent": [{"type": "text", "text": "INTERRUPTED: the daemon was restarted"}]}}
        9001 turn.completed {"turn": 1}
        9001 turn.started {"turn": 2}
        9001 model.started {"model": "m", "stream": "s2", "attempt": 1}
        20000 run.resumed {"unclean": true, "awayMs": 500}
        20000 model.retrying {"stream": "s2", "attempt": 1, "restarted": true, "usageUnknown": true, "discarded": true, "message": "the daemon was restarted while the model answered"}
        20000 model.started {"model": "m", "stream": "s3", "attempt": 1}
        21000 model.completed {"model": "m", "stream": "s3", "text": "Done.", "finishReason": "stop", "usage": {}, "calls": []}
        21000 turn.completed {"turn": 2}
        21000 run.stopping {"reason": "GOAL", "then": "end", "message": "done"}
        21000 run.completed {"reason": "GOAL", "result": "Done.", "turns": 2, "toolCalls": 2, "activeMs": 2400}
    "#;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crash.md");
    expect_test::expect_file![file].assert_eq(&document(TraceFormat::Markdown, log));
}

/// What stands behind a line break, and how commands were confined as it was answered, narrows a rule as the rest does.
#[test]
fn a_saved_rule_is_told_whole() {
    let log = GRANTED.replace(
        r#""command": "make"}], "decision""#,
        r#""command": "make\nmake install"}], "confinement": {"profile": "workspaceWrite", "network": false}, "decision""#,
    );
    let question = spans(&log).into_iter().find(|span| span.kind == SpanKind::Confirmation).unwrap();
    let decision = question.confirmation.unwrap().decision.unwrap();
    let told = decision.remembers.unwrap();
    let end = "only what runs make ⏎ make install · in session s1";
    assert!(
        told.contains(" · confined to workspaceWrite, without network · ") && told.ends_with(end),
        "{told}"
    );
}
