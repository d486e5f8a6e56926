//! Results that hooks were asked about: is anybody told more of them than the model read?

use protocol::{SpanKind, TraceFormat};
use serde_json::{Value, json};

use super::{documents::document, *};

/// Four calls whose results hooks are asked about: one is withheld, one replaced, one left as it is, one that failed is withheld; the call
/// of a server's tool among them.
const JUDGED: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    1 tool.state {"callId": "c1", "to": "validating", "name": "read_file", "arguments": {"path": "a"}}
    1 tool.state {"callId": "c1", "from": "validating", "to": "executing", "name": "read_file"}
    2 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "read_file", "awaitsHooks": true, "result": {"llmContent": [{"type": "text", "text": "SECRET 1"}]}}
    5 hook.fired {"firingId": "r1:PostToolUse:c1", "hookId": "user/PostToolUse/1", "event": "PostToolUse", "source": "user", "callId": "c1", "decision": "deny", "reason": "private", "outcome": "answered", "durationMs": 1, "replacement": {"text": "the hook user/PostToolUse/1 withheld the result of this call: private", "withheld": true}}
    5 hook.fired {"firingId": "r1:PostToolUse:c1", "hookId": "user/PostToolUse/2", "event": "PostToolUse", "source": "user", "callId": "c1", "changed": true, "outcome": "answered", "durationMs": 2, "settlesResult": true}
    6 tool.state {"callId": "c2", "to": "validating", "name": "read_file", "arguments": {"path": "b"}}
    6 tool.state {"callId": "c2", "from": "validating", "to": "success", "name": "read_file", "awaitsHooks": true, "result": {"llmContent": [{"type": "text", "text": "SECRET 2"}]}}
    7 hook.fired {"firingId": "r1:PostToolUse:c2", "hookId": "user/PostToolUse/2", "event": "PostToolUse", "source": "user", "callId": "c2", "changed": true, "outcome": "answered", "durationMs": 1, "replacement": {"text": "HIDDEN"}, "settlesResult": true}
    8 tool.state {"callId": "c3", "to": "validating", "name": "read_file", "arguments": {"path": "c"}}
    8 tool.state {"callId": "c3", "from": "validating", "to": "success", "name": "read_file", "awaitsHooks": true, "result": {"llmContent": [{"type": "text", "text": "plain"}]}}
    8 hook.fired {"firingId": "r1:PostToolUse:c3", "hookId": "user/PostToolUse/2", "event": "PostToolUse", "source": "user", "callId": "c3", "outcome": "answered", "durationMs": 1, "settlesResult": true}
    9 tool.state {"callId": "c4", "to": "validating", "name": "mcp.db.query", "arguments": {}}
    9 tool.state {"callId": "c4", "from": "validating", "to": "executing", "name": "mcp.db.query"}
    9 tool.state {"callId": "c4", "from": "executing", "to": "error", "name": "mcp.db.query", "awaitsHooks": true, "error": {"type": "EXECUTION_FAILED", "message": "no row SECRET 4"}, "result": {"llmContent": [{"type": "text", "text": "EXECUTION_FAILED: no row SECRET 4"}]}}
    10 hook.fired {"firingId": "r1:PostToolUseFailure:c4", "hookId": "user/PostToolUseFailure/1", "event": "PostToolUseFailure", "source": "user", "callId": "c4", "decision": "deny", "outcome": "answered", "durationMs": 1, "replacement": {"text": "withheld", "withheld": true}, "settlesResult": true}
    11 turn.completed {"turn": 1}
    11 run.stopping {"reason": "GOAL", "then": "end"}
    11 run.completed {"reason": "GOAL"}
"#;

fn told(span: &TraceSpan) -> Value {
    serde_json::to_value(span).unwrap()
}

#[test]
fn a_result_that_hooks_kept_from_the_model_is_told_to_nobody() {
    let all = edges(JUDGED);
    for edge in &all {
        let span = told(edge.span()).to_string();
        assert!(!span.contains("SECRET"), "{span}");
    }
    let calls: Vec<Value> =
        spans(JUDGED).iter().filter(|span| span.kind == SpanKind::Tool).map(told).collect();
    let of = |call: &Value| {
        json!([
            call["endUs"].as_i64().unwrap() - BEGAN_US,
            call["output"]["text"],
            call["tool"]["resultChangedBy"],
            call["tool"]["resultWithheld"],
            call["error"]["message"],
        ])
    };
    assert_eq!(
        calls.iter().map(of).collect::<Vec<_>>(),
        [
            json!([
                2_000,
                "the hook user/PostToolUse/1 withheld the result of this call: private",
                "user/PostToolUse/1",
                true,
                null
            ]),
            json!([7_000 - 1_000, "HIDDEN", "user/PostToolUse/2", null, null]),
            json!([8_000, "plain", null, null, null]),
            json!([9_000, "withheld", "user/PostToolUseFailure/1", true, "what it said was kept back"]),
        ]
    );
    for format in
        [TraceFormat::Json, TraceFormat::Jsonl, TraceFormat::Markdown, TraceFormat::Otlp, TraceFormat::Chrome]
    {
        let text = document(format, JUDGED);
        assert!(!text.contains("SECRET") && text.contains("HIDDEN"), "{format:?}: {text}");
    }
    let story = document(TraceFormat::Markdown, JUDGED);
    let read = "In place of what it gave (another result was read, by the hook user/PostToolUse/2):\n\n```text\nHIDDEN\n```";
    assert!(story.contains(read), "{story}");
    // The call is told before those who were asked about it.
    let at = |words: &str| story.find(words).unwrap();
    assert!(at("calls `read_file`") < at("Hook `user/PostToolUse/1`"), "{story}");
    hold(&spans(JUDGED));
}

/// A command that failed has its code for an error, which is no word of its own.
#[test]
fn the_code_of_a_command_is_told_though_its_output_was_withheld() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        1 tool.state {"callId": "c1", "to": "executing", "name": "run_shell_command", "arguments": {}}
        2 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "run_shell_command", "awaitsHooks": true, "result": {"llmContent": [{"type": "text", "text": "SECRET"}], "data": {"exitCode": 3}}}
        3 hook.fired {"firingId": "f", "hookId": "user/PostToolUseFailure/1", "event": "PostToolUseFailure", "source": "user", "callId": "c1", "decision": "deny", "outcome": "answered", "durationMs": 1, "replacement": {"text": "withheld", "withheld": true}, "settlesResult": true}
    "#;
    let call = spans(log).iter().find(|span| span.kind == SpanKind::Tool).map(told).unwrap();
    assert_eq!(
        (&call["output"]["text"], &call["error"]["message"]),
        (&json!("withheld"), &json!("exit code 3"))
    );
}

/// While hooks are asked, and where the run ends before they have answered, nobody knows whether the model may read it.
#[test]
fn a_result_is_not_told_before_hooks_have_answered() {
    let log = |end: &str| {
        format!(
            r#"
            0 run.started {{"agent": "lead", "model": "m", "query": "q"}}
            0 turn.started {{"turn": 1}}
            1 tool.state {{"callId": "c1", "to": "executing", "name": "read_file", "arguments": {{}}}}
            2 tool.state {{"callId": "c1", "from": "executing", "to": "success", "name": "read_file", "awaitsHooks": true, "result": {{"llmContent": [{{"type": "text", "text": "SECRET"}}]}}}}
            1500 hook.started {{"firingId": "r1:PostToolUse:c1", "hookId": "user/PostToolUse/1", "event": "PostToolUse", "source": "user", "callId": "c1", "elapsedMs": 1000}}
            {end}
            "#
        )
    };
    let call = |end: &str| {
        let spans = spans(&log(end));
        hold(&spans);
        spans.iter().find(|span| span.kind == SpanKind::Tool).map(told).unwrap()
    };
    let open = call("");
    assert_eq!((&open["output"], &open["status"]), (&Value::Null, &json!("ok")), "{open}");
    let stopped = call(
        "2000 run.stopping {\"reason\": \"ABORTED\", \"then\": \"end\"}\n2000 turn.completed {\"turn\": 1}\n2000 run.completed {\"reason\": \"ABORTED\"}",
    );
    assert_eq!(stopped["tool"]["resultWithheld"], true, "{stopped}");
    assert!(!stopped.to_string().contains("SECRET"), "{stopped}");
    // The hook is gone, and the run goes on: the model reads it.
    let gone =
        call("2000 run.resumed {}\n2001 turn.completed {\"turn\": 1}\n2001 turn.started {\"turn\": 2}");
    assert_eq!((&gone["output"]["text"], &gone["tool"]["resultWithheld"]), (&json!("SECRET"), &Value::Null));
}

/// A hook that was at work and of which no answer is told, since another one's was enough: it lasted until then, and not to the end of
/// the turn.
#[test]
fn a_hook_without_an_answer_is_over_when_its_firing_is() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        1 tool.state {"callId": "c1", "to": "executing", "name": "read_file", "arguments": {}}
        2 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "read_file", "awaitsHooks": true, "result": {"llmContent": []}}
        1500 hook.started {"firingId": "r1:PostToolUse:c1", "hookId": "user/PostToolUse/1", "event": "PostToolUse", "source": "user", "callId": "c1", "elapsedMs": 1000}
        1500 hook.started {"firingId": "r1:PostToolUse:c1", "hookId": "user/PostToolUse/3", "event": "PostToolUse", "source": "user", "callId": "c1", "async": true, "elapsedMs": 1000}
        2000 hook.fired {"firingId": "r1:PostToolUse:c1", "hookId": "user/PostToolUse/2", "event": "PostToolUse", "source": "user", "callId": "c1", "outcome": "answered", "durationMs": 1, "settlesResult": true}
        9000 turn.completed {"turn": 1}
    "#;
    let spans = spans(log);
    hold(&spans);
    let ended = |id: &str| {
        let hook =
            spans.iter().find(|span| span.hook.as_ref().is_some_and(|hook| hook.hook_id == id)).unwrap();
        (hook.status.as_str(), hook.end_us.map(|us| (us - BEGAN_US) / 1_000))
    };
    assert_eq!(ended("user/PostToolUse/1"), ("cancelled", Some(2_000)));
    // One that goes on beside the run does.
    assert_eq!(ended("user/PostToolUse/3"), ("open", None));
}

/// Where calls are not sent, nobody's words about them are, however they came into the span of a turn or a run.
#[test]
fn spans_without_calls_have_no_words_about_them() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        1 tool.state {"callId": "c1", "to": "validating", "name": "run_shell_command", "arguments": {"command": "rm QUOTED"}}
        1 warning {"message": "the hook user/PreToolUse/1 says: rm QUOTED"}
        1 memory.saved {"fact": "QUOTED"}
        2 confirmation.requested {"confirmation": {"confirmationId": "q", "toolCallId": "c1", "title": "Run rm QUOTED", "rule": "r", "reason": "QUOTED", "risk": "high", "details": {"type": "exec", "command": "rm QUOTED"}}}
        3 confirmation.resolved {"confirmationId": "q", "toolCallId": "c1", "outcome": "deny", "by": "client", "name": "ada", "message": "not QUOTED"}
        4 sideCall.completed {"purpose": "hook", "model": "small", "text": "{\"ok\": false, \"reason\": \"QUOTED\"}", "usage": {}}
        4 sideCall.completed {"purpose": "webFetch", "callId": "c1", "model": "small", "text": "QUOTED", "usage": {}}
        5 run.stopping {"reason": "ERROR", "then": "end", "message": "the hook user/PreToolUse/1 stopped the run: QUOTED", "error": {"code": "HOOK_STOPPED"}}
        6 run.completed {"reason": "ERROR", "message": "the hook user/PreToolUse/1 stopped the run: QUOTED", "error": {"code": "HOOK_STOPPED", "message": "the hook user/PreToolUse/1 stopped the run: QUOTED"}}
    "#;
    let mut n_told = 0;
    for mut span in spans(log).into_iter().filter(|span| span.kind != SpanKind::Tool) {
        crate::without_calls(&mut span);
        let left = told(&span).to_string();
        assert!(!left.contains("QUOTED"), "{left}");
        n_told += 1;
    }
    assert_eq!(n_told, 5);
}

/// A person's change of a call is told as a hook's is.
#[test]
fn what_a_person_changed_of_a_call_is_told_before_and_after() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        1 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "x", "content": "MODEL"}}
        1 hook.fired {"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "changed": true, "outcome": "answered", "durationMs": 1}
        1 tool.state {"callId": "c1", "from": "validating", "to": "scheduled", "name": "write_file", "arguments": {"path": "x", "content": "HOOK"}}
        2 tool.state {"callId": "c1", "from": "scheduled", "to": "awaitingApproval", "name": "write_file"}
        2 confirmation.requested {"confirmation": {"confirmationId": "q", "toolCallId": "c1", "title": "Write x", "rule": "r", "reason": "x", "risk": "low", "details": {"type": "edit"}}}
        3 confirmation.revised {"confirmation": {"confirmationId": "q"}, "reason": "modified"}
        3 confirmation.resolved {"confirmationId": "q", "toolCallId": "c1", "outcome": "modify", "by": "client", "name": "ada@pts/3-3fa91c02"}
        3 tool.state {"callId": "c1", "from": "awaitingApproval", "to": "executing", "name": "write_file", "arguments": {"path": "y", "content": "PERSON"}}
        4 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "write_file", "result": {"llmContent": []}}
    "#;
    let call = spans(log).into_iter().find(|span| span.kind == SpanKind::Tool).unwrap();
    let told = told(&call);
    assert_eq!(told["tool"]["changedBy"], json!(["user/PreToolUse/1", "ada@pts/3-3fa91c02"]));
    assert_eq!(told["tool"]["askedInput"]["text"], r#"{"path":"x","content":"MODEL"}"#);
    assert_eq!(told["input"]["text"], r#"{"path":"y","content":"PERSON"}"#);
    let story = document(TraceFormat::Markdown, log);
    let words = "The hook `user/PreToolUse/1` and then ada (pts/3) changed the arguments. The model had asked for:\n\n```json\n{\"path\":\"x\",\"content\":\"MODEL\"}";
    assert!(story.contains(words), "{story}");
    let sent = document(TraceFormat::Otlp, log);
    assert!(sent.contains("subagentd.tool.asked_arguments") && sent.contains("MODEL"), "{sent}");
    // One that comes to the same call changes nothing.
    let same = log.replace(r#", "arguments": {"path": "y", "content": "PERSON"}"#, "");
    let call = spans(&same).into_iter().find(|span| span.kind == SpanKind::Tool).unwrap();
    assert_eq!(serde_json::to_value(&call).unwrap()["tool"]["changedBy"], json!(["user/PreToolUse/1"]));
}

/// In the last turn everything but handing in is refused, whatever the agent may use.
#[test]
fn a_refusal_in_the_last_turn_says_that_it_was_the_last() {
    let log = |grace: &str| {
        format!(
            r#"
            0 run.started {{"agent": "lead", "model": "m", "query": "q"}}
            0 turn.started {{"turn": 2{grace}}}
            1 tool.state {{"callId": "c1", "to": "validating", "name": "helper", "arguments": {{}}}}
            2 tool.state {{"callId": "c1", "from": "validating", "to": "error", "name": "helper", "error": {{"type": "TOOL_NOT_ALLOWED", "message": "helper is not available now; only complete_task is"}}}}
            "#
        )
    };
    let said = |grace: &str| {
        let call = spans(&log(grace)).into_iter().find(|span| span.kind == SpanKind::Tool).unwrap();
        crate::decided(&call.tool.unwrap().decision.unwrap())
    };
    assert_eq!(said(""), "no: the agent's definition");
    assert_eq!(said(r#", "grace": "MAX_TURNS""#), "no: the last turn, in which only complete_task is there");
    let story = document(TraceFormat::Markdown, &log(r#", "grace": "MAX_TURNS""#));
    assert!(story.contains("denied by the last turn, in which only complete\\_task is there"), "{story}");
}

/// Who set the mode that refuses a call is told as of one that allows it.
#[test]
fn a_mode_that_refuses_a_call_says_whose_word_it_is() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        1 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {}}
        2 tool.state {"callId": "c1", "from": "validating", "to": "error", "name": "write_file", "error": {"type": "POLICY_DENIED", "message": "refused by mode:plan: nothing is changed"}, "deniedBy": "mode:plan", "deniedOrigin": {"source": "session", "by": "fay-3fa91c02", "at": "2026-11-26T11:04:00.000Z"}}
    "#;
    let call = spans(log).into_iter().find(|span| span.kind == SpanKind::Tool).unwrap();
    assert_eq!(
        crate::decided(&call.tool.unwrap().decision.unwrap()),
        "no: mode:plan, as fay set the session's mode at 2026-11-26 11:04:00Z"
    );
}

/// Whether a hook could do all that its person can is part of what it did.
#[test]
fn a_hook_says_where_it_ran_and_why() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        1 hook.fired {"firingId": "f", "hookId": "user/Stop/1", "event": "Stop", "source": "user", "outcome": "failed", "reason": "ended with code 1", "durationMs": 1, "confinement": {"confined": true, "reason": "its command names tools/QUOTED.sh"}}
    "#;
    let hook = spans(log).into_iter().find(|span| span.kind == SpanKind::Hook).unwrap();
    let confinement = json!({ "confined": true, "reason": "its command names tools/QUOTED.sh" });
    assert_eq!(told(&hook)["hook"]["confinement"], confinement);
    let story = document(TraceFormat::Markdown, log);
    assert!(story.contains("It ran in a sandbox: its command names tools/QUOTED.sh."), "{story}");
    let sent = document(TraceFormat::Otlp, log);
    assert!(sent.contains("subagentd.hook.confinement"), "{sent}");
    // The reason quotes the command: it goes as all texts do.
    for content in [protocol::TraceContent::Redacted, protocol::TraceContent::None] {
        let mut hook = hook.clone();
        crate::thin(&mut hook, content);
        let left = told(&hook);
        assert!(!left.to_string().contains("QUOTED"), "{left}");
        assert_eq!(left["hook"]["confinement"]["confined"], true);
    }
}
