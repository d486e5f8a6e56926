//! Calls that hooks want: do others read that the agent asked for none of them?

use protocol::{SpanKind, TraceFormat};

use super::{documents::document, *};

/// A hook that is told of a result wants one more call, which a person is asked about and another hook changes.
const WANTED: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    1 tool.state {"callId": "c1", "to": "executing", "name": "read_file", "arguments": {"path": "a.txt"}}
    2 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "read_file", "result": {"llmContent": [{"type": "text", "text": "half of it"}]}, "awaitsHooks": true}
    3 hook.fired {"firingId": "f", "hookId": "user/AfterTool/1", "event": "PostToolUse", "source": "user", "callId": "c1", "followUp": "c2", "outcome": "answered", "durationMs": 1, "settlesResult": true}
    3 tool.state {"callId": "c2", "to": "validating", "name": "write_file", "arguments": {"path": "b.txt"}}
    4 hook.fired {"firingId": "g", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c2", "changed": true, "outcome": "answered", "durationMs": 1}
    4 tool.state {"callId": "c2", "from": "validating", "to": "executing", "name": "write_file", "arguments": {"path": "c.txt"}}
    5 tool.state {"callId": "c2", "from": "executing", "to": "success", "name": "write_file", "result": {"llmContent": [{"type": "text", "text": "written"}]}}
    6 turn.completed {"turn": 1}
    6 turn.started {"turn": 2}
    6 tool.state {"callId": "c3", "to": "executing", "name": "read_file", "arguments": {"path": "a.txt"}}
"#;

#[test]
fn a_call_that_a_hook_wants_says_which_one_and_after_which_call() {
    let told: Vec<Value> = spans(WANTED)
        .iter()
        .filter(|span| span.kind == SpanKind::Tool)
        .map(|span| {
            let span = serde_json::to_value(span).unwrap();
            let tool = &span["tool"];
            serde_json::json!([tool["callId"], tool["requestedBy"], tool["follows"], tool["followsTool"]])
        })
        .collect();
    assert_eq!(
        Value::from(told),
        serde_json::json!([
            ["c1", null, null, null],
            ["c2", "user/AfterTool/1", "c1", "read_file"],
            ["c3", null, null, null],
        ])
    );
    let story = document(TraceFormat::Markdown, WANTED);
    for words in [
        "**lead** calls `read_file`",
        "The hook `user/AfterTool/1` wants this call after `read_file`, and the agent did not ask for it: `write_file`: done",
        "The hook `user/PreToolUse/1` changed the arguments. The hook `user/AfterTool/1` had asked for:",
        "It wants one more call: what comes of that is read in place of this result.",
        "in place of this result the model reads that of the call write_file b.txt\n",
    ] {
        assert!(story.contains(words), "{words}: {story}");
    }
    assert!(!story.contains("**lead** calls `write_file`"), "{story}");
    // The call is told before the one that follows it, and before what its hook said.
    let places = ["**lead** calls `read_file`", "Hook `user/AfterTool/1`", "wants this call after"];
    let at: Vec<usize> = places.iter().map(|words| story.find(words).unwrap()).collect();
    assert!(at.is_sorted(), "{story}");
    let sent = document(TraceFormat::Otlp, WANTED);
    assert!(
        sent.contains("subagentd.tool.requested_by") && sent.contains("subagentd.tool.follows"),
        "{sent}"
    );
    let drawn = document(TraceFormat::Chrome, WANTED);
    assert!(drawn.contains(r#""requestedBy":"user/AfterTool/1""#), "{drawn}");
}

/// While it is open, too, and about which nobody has decided yet.
#[test]
fn an_open_call_that_a_hook_wants_says_so() {
    let open: String = WANTED.lines().take(7).map(|line| format!("{line}\n")).collect();
    let story = document(TraceFormat::Markdown, &open);
    let words = "The hook `user/AfterTool/1` wants this call after `read_file`, and the agent did not ask for it: `write_file`: not allowed to run yet";
    assert!(story.contains(words), "{story}");
}

/// The run ends before that call begins: what it is about nobody knows.
#[test]
fn a_wanted_call_that_never_began_is_told_without_its_id() {
    let over: String = WANTED.lines().take(6).map(|line| format!("{line}\n")).collect();
    let over = format!(
        "{over}\n4 run.completed {{\"reason\": \"ABORTED\", \"turns\": 1, \"toolCalls\": 1, \"activeMs\": 0}}"
    );
    let story = document(TraceFormat::Markdown, &over);
    let words = "in place of this result the model reads that of the call that the hook wants\n";
    assert!(story.contains(words) && !story.contains("c2"), "{story}");
}
