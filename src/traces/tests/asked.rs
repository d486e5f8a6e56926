//! Requests to models that hooks and tools make, and those that nobody answers: when were they, within what, and how did they end?

use protocol::{SpanKind, TraceFormat};

use super::{documents::document, *};

/// Times of an event, as the log has them.
fn at(ms: i64) -> String {
    Timestamp(BEGAN_US + ms * 1_000).to_string()
}

/// A guard asks a model twice, and takes less than a second; another takes longer, and the daemon tells that it is at work; a tool asks
/// one, too.
#[test]
fn a_request_of_a_hook_lies_within_the_hook_at_its_own_time() {
    let log = format!(
        r#"
        0 run.started {{"agent": "lead", "model": "m", "query": "q"}}
        0 turn.started {{"turn": 1}}
        0 tool.state {{"callId": "c1", "to": "validating", "name": "write_file", "arguments": {{}}}}
        900 sideCall.completed {{"purpose": "hook", "model": "small", "text": "no", "usage": {{"promptTokens": 5}}, "firingId": "f", "hookId": "user/PreToolUse/1", "askedAt": "{}", "durationMs": 300}}
        900 sideCall.completed {{"purpose": "hook", "model": "small", "text": "yes", "usage": {{"promptTokens": 7}}, "firingId": "f", "hookId": "user/PreToolUse/1", "askedAt": "{}", "durationMs": 200}}
        900 hook.fired {{"firingId": "f", "hookId": "user/PreToolUse/2", "event": "PreToolUse", "source": "user", "callId": "c1", "outcome": "answered", "durationMs": 100, "startedAt": "{}"}}
        900 hook.fired {{"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "outcome": "answered", "durationMs": 700, "startedAt": "{}"}}
        950 tool.state {{"callId": "c1", "from": "validating", "to": "executing", "name": "write_file"}}
        1900 sideCall.completed {{"purpose": "webFetch", "callId": "c1", "model": "small", "text": "page", "usage": {{}}, "askedAt": "{}", "durationMs": 500}}
        1900 tool.state {{"callId": "c1", "from": "executing", "to": "success", "name": "write_file"}}
        3000 hook.started {{"firingId": "g", "hookId": "user/Stop/1", "event": "Stop", "source": "user", "elapsedMs": 1000}}
        4000 sideCall.completed {{"purpose": "hook", "model": "small", "text": "ok", "usage": {{}}, "firingId": "g", "hookId": "user/Stop/1", "askedAt": "{}", "durationMs": 1900}}
        4000 hook.fired {{"firingId": "g", "hookId": "user/Stop/1", "event": "Stop", "source": "user", "outcome": "answered", "durationMs": 1950, "startedAt": "{}"}}
        5000 turn.completed {{"turn": 1}}
        "#,
        at(150),
        at(500),
        at(100),
        at(100),
        at(1_000),
        at(2_050),
        at(2_000),
    );
    check(
        &log,
        expect![[r#"
            6 in 3: hook PreToolUse 100..200 ok lane=65536
            4 in 7: llm small 150..450 ok lane=65537 5→0 out="no"
            5 in 7: llm small 500..700 ok lane=65537 7→0 out="yes"
            7 in 3: hook PreToolUse 100..800 ok lane=65537
            9 in 3: llm small 1000..1500 ok 0→0 out="page"
            3 in 2: tool write_file 0..1900 ok in="{}"
            c in b: llm small 2050..3950 ok lane=65536 0→0 out="ok"
            b in 2: hook Stop 2000..3950 ok lane=65536
            2 in 1: turn turn 1 0..5000 ok
            1 in -: run lead 0..… open in="q"
        "#]],
    );
    let asked = spans(&log).into_iter().filter_map(|span| Some(span.llm?.hook_id));
    let (guard, stop) = (Some("user/PreToolUse/1".to_owned()), Some("user/Stop/1".to_owned()));
    assert_eq!(asked.collect::<Vec<_>>(), [guard.clone(), guard, None, stop]);
    let story = document(TraceFormat::Markdown, &log);
    let told: Vec<&str> = story.lines().filter(|line| line.contains(" asks ")).collect();
    assert_eq!(
        told,
        [
            "The hook `user/PreToolUse/1` asks `small` · 300 ms, 5 → 0 tokens:",
            "The hook `user/PreToolUse/1` asks `small` · 200 ms, 7 → 0 tokens:",
            "**lead** asks `small` for `webFetch` · 500 ms:",
            "The hook `user/Stop/1` asks `small` · 1.9 s:",
        ]
    );
}

/// A hook's times are told in whole milliseconds, so what it asked last may begin after its end.
#[test]
fn a_request_that_begins_after_the_rounded_end_of_its_hook_lies_within_the_hook() {
    let log = format!(
        r#"
        0 run.started {{"agent": "lead", "model": "m", "query": "q"}}
        0 turn.started {{"turn": 1}}
        0 tool.state {{"callId": "c1", "to": "validating", "name": "write_file", "arguments": {{}}}}
        900 sideCall.completed {{"purpose": "hook", "model": "small", "text": "no", "usage": {{}}, "firingId": "f", "hookId": "user/PreToolUse/1", "askedAt": "{}", "durationMs": 0}}
        900 hook.fired {{"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "outcome": "answered", "durationMs": 0, "startedAt": "{}"}}
        950 tool.state {{"callId": "c1", "from": "validating", "to": "cancelled", "name": "write_file"}}
        5000 turn.completed {{"turn": 1}}
        "#,
        at(151),
        at(150),
    );
    let spans = spans(&log);
    let hook = spans.iter().find(|span| span.kind == SpanKind::Hook).unwrap();
    let request = spans.iter().find(|span| span.llm.is_some()).unwrap();
    assert_eq!(request.parent_span_id.as_ref(), Some(&hook.span_id));
    hold(&spans);
}

/// A hook that is cut off has asked all the same.
#[test]
fn a_request_of_a_hook_that_never_answered_is_told() {
    let log = format!(
        r#"
        0 run.started {{"agent": "lead", "model": "m", "query": "q"}}
        0 turn.started {{"turn": 1}}
        900 sideCall.completed {{"purpose": "hook", "model": "small", "text": "", "usage": {{"promptTokens": 5}}, "firingId": "f", "hookId": "user/Stop/1", "askedAt": "{}", "durationMs": 300}}
        950 turn.completed {{"turn": 1}}
        950 run.completed {{"reason": "GOAL"}}
        "#,
        at(150)
    );
    let request = spans(&log).into_iter().find(|span| span.llm.is_some()).unwrap();
    assert_eq!((request.start_us - BEGAN_US, request.end_us.unwrap() - BEGAN_US), (150_000, 450_000));
    hold(&spans(&log));
}

/// There is no request after that of the last turn; what went wrong with it is told all the same.
#[test]
fn a_request_that_fails_in_the_last_turn_is_an_error_with_its_words() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 3, "grace": "ERROR_NO_COMPLETE_TASK_CALL"}
        0 model.started {"model": "m", "stream": "s1", "attempt": 1}
        10 model.completed {"model": "m", "text": "", "cut": true, "finishReason": null, "usage": {}, "calls": [], "error": "the recording has run out"}
        11 turn.completed {"turn": 3}
        11 run.completed {"reason": "ERROR_NO_COMPLETE_TASK_CALL", "message": "no result; in its last turn the model failed: the recording has run out"}
    "#;
    check(
        log,
        expect![[r#"
            3 in 2: llm m 0..10 error MODEL_FAILED: the recording has run out 0→0 in="q"
            2 in 1: turn turn 3 0..11 error MODEL_FAILED: the recording has run out (turn.started the last one, after ERROR_NO_COMPLETE_TASK_CALL)
            1 in -: run lead 0..11 error ERROR_NO_COMPLETE_TASK_CALL: no result; in its last turn the model failed: the recording has run out in="q"
        "#]],
    );
    let story = document(TraceFormat::Markdown, log);
    assert!(story.contains("`MODEL_FAILED`: the recording has run out"), "{story}");
}
