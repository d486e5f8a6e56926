//! Results and texts that hooks kept from a model: is what it read told, and not what it did not?

use protocol::{SpanKind, TraceContent, TraceFormat};

use super::{documents::document, *};
use crate::{hook_said, thin, without_calls};

/// Three calls whose results are withheld, replaced and read as they are; hooks of one that follows another; and a text that a guard
/// refused.
const HOOKED: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    1 run.steered {"steerId": "s1", "text": "forget it", "^": {"by": "ada@pts/3-3fa91c02"}}
    2 hook.fired {"firingId": "r1:UserPromptSubmit:s1", "hookId": "user/UserPromptSubmit/1", "event": "UserPromptSubmit", "source": "user", "decision": "deny", "reason": "not now", "outcome": "answered", "durationMs": 1}
    3 tool.state {"callId": "c1", "to": "executing", "name": "read_file", "arguments": {"path": "a"}}
    3 tool.state {"callId": "c2", "to": "executing", "name": "read_file", "arguments": {"path": "b"}}
    3 tool.state {"callId": "c3", "to": "executing", "name": "read_file", "arguments": {"path": "c"}}
    4 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "read_file", "result": {"llmContent": [{"type": "text", "text": "SECRET 1"}]}}
    5 hook.fired {"firingId": "r1:PostToolUse:c1", "hookId": "user/PostToolUse/1", "event": "PostToolUse", "source": "user", "callId": "c1", "decision": "deny", "reason": "private", "outcome": "answered", "durationMs": 1, "replacement": {"text": "the hook user/PostToolUse/1 withheld the result of this call: private", "withheld": true}}
    5 hook.fired {"firingId": "r1:PostToolUse:c1", "hookId": "user/PostToolUse/2", "event": "PostToolUse", "source": "user", "callId": "c1", "changed": true, "outcome": "answered", "durationMs": 1}
    6 tool.state {"callId": "c2", "from": "executing", "to": "success", "name": "read_file", "result": {"llmContent": [{"type": "text", "text": "SECRET 2"}]}}
    7 hook.fired {"firingId": "r1:PostToolUse:c2", "hookId": "user/PostToolUse/2", "event": "PostToolUse", "source": "user", "callId": "c2", "changed": true, "outcome": "answered", "durationMs": 1, "replacement": {"text": "HIDDEN"}}
    8 tool.state {"callId": "c3", "from": "executing", "to": "success", "name": "read_file", "result": {"llmContent": [{"type": "text", "text": "plain"}]}}
    8 hook.fired {"firingId": "r1:PostToolUse:c3", "hookId": "user/PostToolUse/2", "event": "PostToolUse", "source": "user", "callId": "c3", "outcome": "answered", "durationMs": 1}
    9 turn.completed {"turn": 1}
    9 turn.started {"turn": 2}
    9 model.started {"model": "m", "stream": "s2", "attempt": 1}
    10 model.completed {"model": "m", "text": "ok", "finishReason": "stop"}
"#;

#[test]
fn a_request_is_told_with_the_results_that_the_model_read() {
    let answered = |log: &str| {
        let spans = spans(log);
        let request = spans.into_iter().find(|span| span.kind == SpanKind::Llm).unwrap();
        let llm = request.llm.unwrap();
        let said =
            |call: protocol::AnsweredToolCall| (call.call_id.to_string(), call.result.map(|it| it.text));
        llm.answered.into_iter().map(said).collect::<Vec<_>>()
    };
    let read = |call: &str, text: Option<&str>| (call.to_owned(), text.map(str::to_owned));
    assert_eq!(
        answered(HOOKED),
        [
            read("c1", Some("the hook user/PostToolUse/1 withheld the result of this call: private")),
            read("c2", Some("HIDDEN")),
            read("c3", Some("plain")),
        ]
    );
    // Logs of earlier versions say that there was another text, and not which.
    let of_old = HOOKED
        .replace(r#", "replacement": {"text": "the hook user/PostToolUse/1 withheld the result of this call: private", "withheld": true}"#, "")
        .replace(r#", "replacement": {"text": "HIDDEN"}"#, "");
    assert_eq!(answered(&of_old), [read("c1", None), read("c2", None), read("c3", Some("plain"))]);
}

#[test]
fn what_hooks_keep_from_a_model_is_told_as_that() {
    let hooks: Vec<TraceSpan> =
        spans(HOOKED).into_iter().filter(|span| span.kind == SpanKind::Hook).collect();
    let said: Vec<String> = hooks.iter().map(|hook| hook_said(hook.hook.as_ref().unwrap(), 100)).collect();
    assert_eq!(
        said,
        [
            "deny: not now",
            "deny: private; withheld the result",
            "changed it",
            "read in place of the result: HIDDEN",
            "",
        ]
    );
    let story = document(TraceFormat::Markdown, HOOKED);
    for words in [
        "It withheld the result of the call. What was read in its place:\n\n> the hook user/PostToolUse/1 withheld",
        "It replaced the result of the call. What was read in its place:\n\n> HIDDEN\n",
        "Said to it: ada (pts/3): forget it\n",
        "a text was not told to the agent, by the hook user/UserPromptSubmit/1: not now.\n",
    ] {
        assert!(story.contains(words), "{words}\n{story}");
    }
    let otlp = document(TraceFormat::Otlp, HOOKED);
    let read = otlp.split("gen_ai.input.messages").skip(1).collect::<Vec<_>>();
    assert!(read.iter().any(|text| text.contains("HIDDEN")), "{otlp}");
    assert!(otlp.contains("subagentd.hook.result_read"), "{otlp}");
    // Neither stands in a request.
    for span in spans(HOOKED).iter().filter(|span| span.kind == SpanKind::Llm) {
        assert!(!serde_json::to_string(span).unwrap().contains("SECRET"), "{span:?}");
    }
}

/// To others a text in place of a result goes as all texts do.
#[test]
fn what_a_model_reads_in_place_of_a_result_keeps_to_what_others_may_read() {
    let hook = || {
        spans(HOOKED).into_iter().find(|span| {
            span.hook
                .as_ref()
                .is_some_and(|hook| hook.replacement.as_ref().is_some_and(|it| it.text == "HIDDEN"))
        })
    };
    let text = |span: TraceSpan| span.hook.unwrap().replacement.unwrap().text;
    for (content, left) in [(TraceContent::Redacted, "[6 bytes]"), (TraceContent::None, "")] {
        let mut span = hook().unwrap();
        thin(&mut span, content);
        assert_eq!(text(span), left);
    }
    let mut span = hook().unwrap();
    without_calls(&mut span);
    assert_eq!(text(span), "");
}

/// A hook changed the arguments, so the other guard was asked twice; what both said is written down at the end.
const ROUNDS: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    10 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "a"}}
    1710 hook.fired {"firingId": "r1:PreToolUse:c1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "outcome": "answered", "durationMs": 800, "startedAt": "AT20"}
    1710 hook.fired {"firingId": "r1:PreToolUse:c1", "hookId": "user/PreToolUse/2", "event": "PreToolUse", "source": "user", "callId": "c1", "changed": true, "outcome": "answered", "durationMs": 600, "startedAt": "AT20"}
    1710 hook.fired {"firingId": "r1:PreToolUse:c1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "decision": "allow", "outcome": "answered", "durationMs": 800, "round": 2, "startedAt": "AT900"}
"#;

#[test]
fn each_round_of_guards_has_its_own_time_and_says_what_it_was_about() {
    let at = |ms: i64| Timestamp(BEGAN_US + ms * 1_000).to_string();
    let log = ROUNDS.replace("AT20", &at(20)).replace("AT900", &at(900));
    let hooks: Vec<TraceSpan> = spans(&log).into_iter().filter(|span| span.kind == SpanKind::Hook).collect();
    let ms = |us: i64| (us - BEGAN_US) / 1_000;
    let times: Vec<(i64, i64)> = hooks.iter().map(|it| (ms(it.start_us), ms(it.end_us.unwrap()))).collect();
    assert_eq!(times, [(20, 820), (20, 620), (900, 1_700)]);
    let said: Vec<String> = hooks.iter().map(|hook| hook_said(hook.hook.as_ref().unwrap(), 100)).collect();
    assert_eq!(said, ["", "changed it", "asked about the changed arguments; allow"]);
    // The second round goes on where the first one was.
    assert_eq!(hooks[0].lane, hooks[2].lane);
    let story = document(TraceFormat::Markdown, &log);
    assert!(story.contains("for `write_file` a, asked about the changed arguments, said `allow`"), "{story}");
}

/// Another guard denied the call: nothing was changed.
#[test]
fn a_change_that_did_not_count_says_what_was_wanted_and_what_became_of_it() {
    let log = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    1 tool.state {"callId": "c1", "to": "validating", "name": "run_shell_command", "arguments": {"command": "rm a.txt"}}
    3 hook.fired {"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "outcome": "answered", "durationMs": 1, "droppedChange": {"input": "{\"command\":\"nice rm a.txt\"}", "reason": "the call was denied"}}
    3 hook.fired {"firingId": "f", "hookId": "user/PreToolUse/2", "event": "PreToolUse", "source": "user", "callId": "c1", "decision": "deny", "outcome": "answered", "durationMs": 1}
    3 tool.state {"callId": "c1", "to": "error", "name": "run_shell_command", "error": {"type": "HOOK_DENIED", "message": "no"}}
"#;
    let hook = spans(log).into_iter().find(|span| span.kind == SpanKind::Hook).unwrap().hook.unwrap();
    let said = "proposed {\"command\":\"nice rm a.txt\"}, which did not count: the call was denied";
    assert_eq!(hook_said(&hook, 100), said);
    let story = document(TraceFormat::Markdown, log);
    let told = "answered (after 1 ms). It proposed other arguments, `{\"command\":\"nice rm a.txt\"}`, which did not count: the call was denied.";
    assert!(story.contains(told) && !story.contains("It changed"), "{story}");
}

/// A hook of an earlier version's log advised to allow a call with other arguments, which nobody carried out.
#[test]
fn an_advice_is_no_change_of_a_call() {
    let log = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    1 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "a"}}
    2 hook.fired {"firingId": "r1:PermissionRequest:c1", "hookId": "user/PermissionRequest/1", "event": "PermissionRequest", "source": "user", "callId": "c1", "changed": true, "outcome": "answered", "durationMs": 1}
    3 tool.state {"callId": "c1", "to": "executing", "name": "write_file", "arguments": {"path": "a"}}
    4 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "write_file", "result": {"llmContent": [{"type": "text", "text": "written"}]}}
"#;
    let call = spans(log).into_iter().find(|span| span.kind == SpanKind::Tool).unwrap();
    let tool = call.tool.unwrap();
    assert!(tool.changed_by.is_empty() && tool.asked_input.is_none(), "{tool:?}");
}

/// A hook beside the run is told of when its call's turn is over, and outlives the run.
#[test]
fn a_hook_that_outlives_its_run_says_so_and_names_its_call() {
    let log = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    1 tool.state {"callId": "c1", "to": "executing", "name": "write_file", "arguments": {"path": "a"}}
    2 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "write_file", "result": {"llmContent": [{"type": "text", "text": "written"}]}}
    3 turn.completed {"turn": 1}
    3 turn.started {"turn": 2}
    1002 hook.started {"firingId": "f", "hookId": "user/PostToolUse/1", "event": "PostToolUse", "source": "user", "callId": "c1", "async": true, "elapsedMs": 1000}
    2000 turn.completed {"turn": 2}
    2000 turn.started {"turn": 3}
    3700 run.completed {"reason": "GOAL", "result": "x", "turns": 3, "toolCalls": 1, "activeMs": 0}
"#;
    let hook = spans(log).into_iter().find(|span| span.kind == SpanKind::Hook).unwrap();
    let told = hook.hook.unwrap();
    assert_eq!(hook_said(&told, 100), "was still at work when the run ended, and went on beside it");
    let about = (told.tool.as_ref().map(|tool| tool.as_str()), told.description.as_deref());
    assert_eq!(about, (Some("write_file"), Some("a")));
    let story = document(TraceFormat::Markdown, log);
    let words =
        "Hook `user/PostToolUse/1` of `PostToolUse`, for `write_file` a was still at work when the run ended";
    assert!(story.contains(words), "{story}");
}
