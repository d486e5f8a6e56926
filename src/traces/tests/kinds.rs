//! Hooks, requests to servers, and the calls that a reply asks for.

use protocol::{SpanKind, TraceContent, TraceFormat};

use super::{documents::document, *};
use crate::{TraceTimeline, TraceWriter, thin};

/// Two hooks that were asked at once about a call of a server's tool, one that failed beside the run, and a question of the server.
const HOOKED: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q", "approval": {"initiator": "ada@pts/3-3fa91c02"}}
    0 turn.started {"turn": 1}
    0 model.started {"model": "m", "stream": "s1", "attempt": 1}
    100 model.completed {"model": "m", "stream": "s1", "text": "I ask.", "usage": {}, "calls": ["c1", "c2"]}
    100 thought {"stream": "s1", "subject": "x", "text": "x"}
    100 tool.state {"callId": "c1", "to": "validating", "name": "mcp.docs.search.all", "arguments": {"text": "x"}}
    100 tool.state {"callId": "c2", "to": "validating", "name": "read_file", "arguments": {"path": "a.md"}}
    130 hook.fired {"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "decision": "allow", "outcome": "answered", "durationMs": 25}
    130 hook.fired {"firingId": "f", "hookId": "user/PreToolUse/2", "event": "PreToolUse", "source": "user", "callId": "c1", "decision": "ask", "outcome": "answered", "exitCode": 0, "durationMs": 500, "reason": "who knows", "stderr": "look\n"}
    130 tool.state {"callId": "c1", "from": "validating", "to": "executing", "name": "mcp.docs.search.all"}
    140 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Which?", "rule": "server", "reason": "it asks", "risk": "low", "details": {"type": "question"}}}
    150 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "answer", "by": "client", "name": "ada-3fa91c02"}
    160 tool.state {"callId": "c2", "from": "validating", "to": "error", "name": "read_file", "error": {"type": "FILE_NOT_FOUND", "message": "no a.md"}}
    170 tool.state {"callId": "c1", "from": "executing", "to": "error", "name": "mcp.docs.search.all", "error": {"type": "MCP_ERROR", "message": "it is closed"}}
    170 hook.fired {"firingId": "g", "hookId": "user/PostToolUse/1", "event": "PostToolUse", "source": "user", "callId": "c1", "async": true, "outcome": "timedOut", "durationMs": 5, "reason": "took longer than 5 ms"}
    180 turn.completed {"turn": 1}
    190 run.stopping {"reason": "ABORTED", "message": "wrong turn", "^": {"by": "bob-1"}}
    190 run.completed {"reason": "ABORTED"}
    200 hook.fired {"firingId": "h", "hookId": "user/AfterAgent/1", "event": "AfterAgent", "source": "user", "outcome": "answered", "durationMs": 5}
"#;

#[test]
fn hooks_and_requests_to_servers_are_spans_of_their_own() {
    check(
        HOOKED,
        expect![[r#"
        3 in 2: llm m 0..100 ok 0→0 in="q" out="I ask."
        8 in 6: hook PreToolUse 105..130 ok lane=65536
        9 in 6: hook PreToolUse 100..130 ok lane=65537 out="look\n"
        b in a: confirmation Which? 140..150 ok [answer client server Some(10)] out="answer"
        7 in 2: tool read_file 100..160 error lane=1 FILE_NOT_FOUND: no a.md in="{\"path\":\"a.md\"}"
        a in 6: mcp tools/call search.all 130..170 error MCP_ERROR: it is closed
        6 in 2: tool mcp.docs.search.all 100..170 error MCP_ERROR: it is closed in="{\"text\":\"x\"}"
        f in 2: hook PostToolUse 165..170 error lane=65536 HOOK_TIMED_OUT: took longer than 5 ms
        2 in 1: turn turn 1 0..180 ok
        1 in -: run lead 0..190 cancelled in="q" (run.stopping wrong turn)
    "#]],
    );
    let spans = spans(HOOKED);
    let run = spans.last().unwrap().run.as_ref().unwrap();
    assert_eq!(
        (run.started_by.as_deref(), run.stopped_by.as_deref()),
        (Some("ada@pts/3-3fa91c02"), Some("bob-1"))
    );
    let request = spans.iter().find(|span| span.kind == SpanKind::Mcp).unwrap();
    let told = request.mcp.as_ref().unwrap();
    assert_eq!((&*told.server, &*told.method, &*told.tool), ("docs", "tools/call", "search.all"));
    let question = spans.iter().find(|span| span.kind == SpanKind::Confirmation).unwrap();
    assert_eq!(question.parent_span_id.as_ref(), Some(&request.span_id));
}

#[test]
fn a_reply_tells_which_calls_it_asks_for_and_ends_before_they_begin() {
    let edges = edges(HOOKED);
    let place = |is_it: &dyn Fn(&SpanEdge) -> bool| edges.iter().position(is_it).unwrap();
    let ended = place(&|edge| matches!(edge, SpanEdge::Ended(span) if span.kind == SpanKind::Llm));
    let began = place(&|edge| matches!(edge, SpanEdge::Began(span) if span.kind == SpanKind::Tool));
    assert!(ended < began, "{edges:#?}");
    let mut llm = edges[ended].span().clone();
    let requested = |llm: &TraceSpan| -> Vec<(String, Option<String>)> {
        let requested = &llm.llm.as_ref().unwrap().requested;
        requested.iter().map(|call| (call.tool.to_string(), call.arguments.clone())).collect()
    };
    let of = |tool: &str, text: Option<&str>| (tool.to_owned(), text.map(str::to_owned));
    assert_eq!(
        requested(&llm),
        [of("mcp.docs.search.all", Some(r#"{"text":"x"}"#)), of("read_file", Some(r#"{"path":"a.md"}"#))]
    );
    let mut timeline = TraceTimeline::new();
    let places: Vec<_> = edges.iter().map(|edge| timeline.place(edge)).collect();
    let mut document = String::new();
    TraceWriter::new(TraceFormat::Otlp, "1").write(&edges[ended], places[ended], true, &mut document);
    for words in [
        "tool_call",
        "read_file",
        "I ask.",
        "\\\"finish_reason\\\":\\\"tool_call\\\"",
        "gen_ai.input.messages",
    ] {
        assert!(document.contains(words), "{words}: {document}");
    }
    thin(&mut llm, TraceContent::Redacted);
    // A model can ask for what there is not, in its own words.
    assert_eq!(requested(&llm), [of("tool", None), of("tool", None)]);
}

/// A log that was cut behind the reply, and a reply whose calls are never told of.
#[test]
fn a_reply_ends_where_it_ended_though_its_calls_are_not_told() {
    check(
        r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 model.started {"model": "m", "stream": "s1", "attempt": 1}
        10 model.completed {"model": "m", "stream": "s1", "text": "x", "usage": {}, "calls": ["c1"]}
        50 turn.started {"turn": 2}
        60 model.started {"model": "m", "stream": "s2", "attempt": 1}
        70 model.completed {"model": "m", "stream": "s2", "text": "y", "usage": {}, "calls": ["c2"]}
        "#,
        expect![[r#"
            2 in 1: llm m 0..10 ok 0→0 in="q" out="x"
            1 in -: run lead 0..… open in="q"
            4 in 1: turn turn 2 50..… open
            5 in 4: llm m 60..… open 0→0 out="y"
        "#]],
    );
}

/// The log says who refused: the model reads why, and so do people.
#[test]
fn a_call_that_a_hook_refused_says_so_in_every_form() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        10 tool.state {"callId": "c1", "to": "validating", "name": "run_shell_command", "arguments": {"command": "rm -rf /"}}
        20 tool.state {"callId": "c1", "from": "validating", "to": "error", "name": "run_shell_command", "error": {"type": "HOOK_DENIED", "message": "the hook user/PreToolUse/1 refused the call: no"}, "result": {"llmContent": [{"type": "text", "text": "HOOK_DENIED"}]}}
    "#;
    let spans = spans(log);
    let call = spans.iter().find(|span| span.kind == SpanKind::Tool).unwrap();
    let decision = call.tool.as_ref().unwrap().decision.as_ref().unwrap();
    assert_eq!((&*decision.outcome, &*decision.source), ("deny", "hook"));
    let told = |format| document(format, log);
    assert!(told(TraceFormat::Otlp).contains("gen_ai.tool.call.decision"));
    let story = told(TraceFormat::Markdown);
    assert!(story.contains("`deny` by a hook"), "{story}");
}

/// A guard that thinks for six seconds beside one that has answered, and one beside the run; the daemon is killed, and asks again.
const SLOW_HOOKS: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    0 tool.state {"callId": "c1", "to": "validating", "name": "run_shell_command", "arguments": {"command": "make"}}
    1100 hook.started {"firingId": "r1:PreToolUse:c1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "elapsedMs": 1000}
    1100 hook.started {"firingId": "r1:PreToolUse:c1", "hookId": "user/PreToolUse/2", "event": "PreToolUse", "source": "user", "callId": "c1", "async": true, "elapsedMs": 1000}
    9000 run.resumed {"unclean": true}
    10100 hook.started {"firingId": "r1:PreToolUse:c1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "attempt": 2, "elapsedMs": 1000}
    10100 hook.started {"firingId": "r1:PreToolUse:c1", "hookId": "user/PreToolUse/2", "event": "PreToolUse", "source": "user", "callId": "c1", "async": true, "attempt": 2, "elapsedMs": 1000}
    15500 hook.fired {"firingId": "r1:PreToolUse:c1", "hookId": "user/PreToolUse/0", "event": "PreToolUse", "source": "user", "callId": "c1", "attempt": 2, "outcome": "answered", "durationMs": 10}
    15500 hook.fired {"firingId": "r1:PreToolUse:c1", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "attempt": 2, "decision": "allow", "outcome": "answered", "durationMs": 6000}
    15500 tool.state {"callId": "c1", "from": "validating", "to": "executing", "name": "run_shell_command", "details": {"description": "make", "kind": "execute", "risk": "high"}}
    16000 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "run_shell_command", "result": {"llmContent": []}}
    17500 hook.started {"firingId": "r1:PostToolUse:c1", "hookId": "user/PostToolUse/1", "event": "PostToolUse", "source": "user", "callId": "c1", "elapsedMs": 1000}
    18000 hook.fired {"firingId": "r1:PreToolUse:c1:user/PreToolUse/2", "hookId": "user/PreToolUse/2", "event": "PreToolUse", "source": "user", "callId": "c1", "async": true, "attempt": 2, "outcome": "failed", "durationMs": 8900, "reason": "exit code 1"}
"#;

#[test]
fn a_hook_at_work_is_seen_and_what_became_of_it() {
    check(
        SLOW_HOOKS,
        expect![[r#"
            4 in 3: hook PreToolUse 100..1100 cancelled lane=65536
            5 in 1: hook PreToolUse 100..1100 cancelled lane=65537
            9 in 3: hook PreToolUse 15490..15500 ok lane=65538
            7 in 3: hook PreToolUse 9100..15100 ok lane=65536
            3 in 2: tool run_shell_command 0..16000 ok in="{\"command\":\"make\"}"
            8 in 1: hook PreToolUse 9100..18000 error lane=65537 HOOK_FAILED: exit code 1
            1 in -: run lead 0..… open in="q"
            2 in 1: turn turn 1 0..… open (run.resumed the daemon was away for at most 7.9 s, and had not stopped by itself)
            d in 2: hook PostToolUse 16500..… open lane=65536
        "#]],
    );
    let spans = spans(SLOW_HOOKS);
    let told: Vec<Option<&str>> = spans
        .iter()
        .filter(|span| span.kind == SpanKind::Hook)
        .map(|span| span.hook.as_ref().unwrap().tool.as_ref().map(|tool| tool.as_str()))
        .collect();
    assert!(told.iter().all(|tool| *tool == Some("run_shell_command")), "{told:?}");
    let story = document(TraceFormat::Markdown, SLOW_HOOKS);
    for words in [
        "`run_shell_command`, risk high: done after 16.0 s (of it at most 7.9 s without a daemon).",
        "Hook `user/PreToolUse/1` of `PreToolUse`, for `run_shell_command` make was interrupted, as the daemon ended; last heard of at 2025-11-24 16:00:01Z.",
        "Hook `user/PostToolUse/1` of `PostToolUse`, for `run_shell_command` make is at work since",
    ] {
        assert!(story.contains(words), "{words}:\n{story}");
    }
}

/// The end of a run that is still at work says what it does.
#[test]
fn a_story_of_a_run_at_work_says_what_it_waits_for() {
    let story = |log: &str| document(TraceFormat::Markdown, log);
    let thinking = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 model.started {"model": "m", "stream": "s1", "attempt": 1}
    "#;
    assert!(
        story(thinking).ends_with("**lead** waits for `m` since 2025-11-24 16:00:00Z.\n\n"),
        "{}",
        story(thinking)
    );
    let working = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 tool.state {"callId": "c1", "to": "validating", "name": "run_shell_command", "arguments": {"command": "sleep 4"}}
        10 tool.state {"callId": "c1", "from": "validating", "to": "executing", "name": "run_shell_command"}
        10 tool.state {"callId": "c2", "to": "validating", "name": "read_file", "arguments": {"path": "a"}}
    "#;
    for words in
        ["calls `run_shell_command`: at work, since", "sleep 4", "`read_file`: not allowed to run yet, since"]
    {
        assert!(story(working).contains(words), "{words}:\n{}", story(working));
    }
}

/// A guard that is asked twice within a firing, since another changed what it saw; and a run that held still meanwhile.
#[test]
fn a_guard_that_is_asked_again_within_a_firing_and_a_parked_run_cut_off_nothing() {
    check(
        r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 tool.state {"callId": "c1", "to": "validating", "name": "edit_file", "arguments": {}}
        1000 hook.started {"firingId": "f", "hookId": "h", "event": "PreToolUse", "callId": "c1", "elapsedMs": 1000}
        1500 run.parked {"reason": "storageFull"}
        1800 run.resumed {"unclean": false}
        5000 hook.started {"firingId": "f", "hookId": "h", "event": "PreToolUse", "callId": "c1", "elapsedMs": 1000}
        7000 hook.fired {"firingId": "f", "hookId": "h", "event": "PreToolUse", "callId": "c1", "outcome": "answered", "durationMs": 3000}
        7000 hook.fired {"firingId": "f", "hookId": "h", "event": "PreToolUse", "callId": "c1", "outcome": "answered", "durationMs": 2500}
        "#,
        expect![[r#"
            3 in 2: hook PreToolUse 0..3000 ok lane=65536
            6 in 2: hook PreToolUse 4000..6500 ok lane=65537
            1 in -: run lead 0..… open in="q" (run.parked storageFull) (run.resumed )
            2 in 1: tool edit_file 0..… open in="{}"
        "#]],
    );
}

/// Each request tells what is new with it, also when it is asked again; what the daemon asks by itself tells nothing.
#[test]
fn a_request_brings_what_its_model_has_not_read() {
    let long = "x".repeat(5_000);
    let log = format!(
        r#"
        0 run.started {{"agent": "lead", "model": "m", "query": "q"}}
        0 turn.started {{"turn": 1}}
        0 model.started {{"model": "m", "stream": "s1", "attempt": 1}}
        1 model.retrying {{"stream": "s1", "attempt": 2, "message": "503"}}
        2 model.started {{"model": "m", "stream": "s2", "attempt": 2}}
        3 model.completed {{"model": "m", "stream": "s2", "text": "x", "calls": ["c1", "c2"]}}
        3 tool.state {{"callId": "c1", "to": "validating", "name": "read_file", "arguments": {{}}}}
        3 tool.state {{"callId": "c2", "to": "error", "name": "write_file", "arguments": {{}}, "error": {{"type": "X", "message": "no"}}, "result": {{"llmContent": [{{"type": "text", "text": "X: no"}}]}}}}
        4 run.steered {{"steerId": "a", "text": "faster"}}
        5 tool.state {{"callId": "c1", "to": "success", "name": "read_file", "result": {{"llmContent": [{{"type": "text", "text": "{long}"}}]}}}}
        5 turn.completed {{"turn": 1}}
        5 turn.started {{"turn": 2}}
        5 run.steered {{"steerId": "a", "text": "faster", "turn": 2}}
        5 run.steered {{"steerId": "b", "text": "please", "turn": 2}}
        5 model.started {{"model": "m", "stream": "s3", "attempt": 1}}
        6 model.fallback {{"from": "m", "to": "n", "message": "away"}}
        6 model.started {{"model": "n", "stream": "s4", "attempt": 1}}
        7 model.completed {{"model": "n", "stream": "s4", "text": "y", "calls": []}}
        7 turn.completed {{"turn": 2}}
        7 turn.started {{"turn": 3}}
        7 model.started {{"model": "n", "stream": "s5", "attempt": 1}}
        8 model.completed {{"model": "n", "stream": "s5", "text": "z", "calls": []}}
        8 run.completed {{"reason": "GOAL"}}
        "#
    );
    let requests: Vec<TraceSpan> =
        spans(&log).into_iter().filter(|span| span.kind == SpanKind::Llm).collect();
    let shown = requests.iter().map(|span| {
        let answered = span.llm.as_ref().unwrap().answered.iter().map(|call| {
            let result = call.result.as_ref().unwrap();
            format!("{} {} {} {:?}", call.call_id, call.tool, result.text.len(), result.bytes)
        });
        let said = span.input.as_ref().map_or("-", |said| &said.text);
        format!("{}: {said:?} {:?}\n", span.name, answered.collect::<Vec<_>>())
    });
    expect![[r#"
        m: "q" []
        m: "q" []
        m: "faster\n\nplease" ["c2 write_file 5 None", "c1 read_file 4096 Some(5000)"]
        n: "faster\n\nplease" ["c2 write_file 5 None", "c1 read_file 4096 Some(5000)"]
        n: "-" []
    "#]]
    .assert_eq(&shown.collect::<String>());
    // To others it is the input of the request: what tools returned goes before what a person says.
    let attribute = |span: &TraceSpan| {
        let (_, get) =
            crate::names::ATTRIBUTES.iter().find(|(name, _)| *name == "gen_ai.input.messages").unwrap();
        get(span).map(|value| match value {
            crate::AttributeValue::Text(text) => serde_json::from_str::<Value>(&text).unwrap(),
            other => panic!("{other:?}"),
        })
    };
    let messages = attribute(&requests[3]).unwrap();
    assert_eq!((&messages[0]["role"], &messages[1]["role"]), (&"tool".into(), &"user".into()), "{messages}");
    assert_eq!(
        messages[0]["parts"][0],
        serde_json::json!({"type": "tool_call_response", "id": "c2", "response": "X: no"})
    );
    assert_eq!(messages[1]["parts"][0]["content"], "faster\n\nplease");
    assert_eq!(attribute(&requests[4]), None);
    let mut sent = requests[3].clone();
    thin(&mut sent, TraceContent::None);
    assert_eq!(attribute(&sent), None);
    assert_eq!(sent.llm.unwrap().answered.len(), 2);
}

/// What a hook says beside an error is part of the story, whatever became of the call.
#[test]
fn a_story_has_what_hooks_add_to_calls_that_did_not_run() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        1 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "a"}}
        2 tool.state {"callId": "c1", "to": "error", "name": "write_file", "error": {"type": "POLICY_DENIED", "message": "refused by user:a.toml:1"}, "result": {"llmContent": [{"type": "text", "text": "POLICY_DENIED: refused by user:a.toml:1"}, {"type": "text", "text": "The hook user/PreToolUse/1 adds:\nguard looked"}]}}
        3 tool.state {"callId": "c2", "to": "validating", "name": "write_file", "arguments": {"path": "b"}}
        4 tool.state {"callId": "c2", "to": "error", "name": "write_file", "error": {"type": "POLICY_DENIED", "message": "refused by user:a.toml:1"}, "result": {"llmContent": [{"type": "text", "text": "POLICY_DENIED: refused by user:a.toml:1"}]}}
    "#;
    let story = document(TraceFormat::Markdown, log);
    assert_eq!(story.matches("guard looked").count(), 1, "{story}");
    assert_eq!(story.matches("refused by").count(), 2, "{story}");
    assert!(story.contains("```text\nThe hook user/PreToolUse/1 adds:\nguard looked\n```"), "{story}");
}

/// Tokens that are part of others are told beside them.
#[test]
fn a_story_tells_cached_and_thought_tokens() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        1 model.started {"model": "m", "stream": "s1", "attempt": 1}
        2 model.completed {"model": "m", "stream": "s1", "text": "x", "usage": {"promptTokens": 800, "cachedTokens": 500, "outputTokens": 40, "thoughtTokens": 18}}
    "#;
    let story = document(TraceFormat::Markdown, log);
    assert!(story.contains(", 800 (500 cached) → 58 (18 thought) tokens"), "{story}");
}

/// The log does not have what a hook puts in the place of a result, so no request claims that its model read the result.
#[test]
fn a_result_that_a_hook_replaces_is_none_that_a_model_read() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        1 model.started {"model": "m", "stream": "s1", "attempt": 1}
        2 model.completed {"model": "m", "stream": "s1", "text": "", "calls": ["c1", "c2", "c3"]}
        2 tool.state {"callId": "c1", "to": "validating", "name": "read_file", "arguments": {}}
        2 tool.state {"callId": "c2", "to": "validating", "name": "read_file", "arguments": {}}
        2 tool.state {"callId": "c3", "to": "validating", "name": "read_file", "arguments": {}}
        3 tool.state {"callId": "c1", "to": "success", "name": "read_file", "result": {"llmContent": [{"type": "text", "text": "Ada Lovelace"}]}}
        3 tool.state {"callId": "c2", "to": "success", "name": "read_file", "result": {"llmContent": [{"type": "text", "text": "half of it"}]}}
        3 tool.state {"callId": "c3", "to": "success", "name": "read_file", "result": {"llmContent": [{"type": "text", "text": "as it is"}]}}
        4 hook.fired {"firingId": "f", "hookId": "h", "event": "PostToolUse", "callId": "c1", "changed": true, "outcome": "answered", "durationMs": 1}
        4 hook.fired {"firingId": "g", "hookId": "h", "event": "PostToolUse", "callId": "c2", "followUp": "c4", "outcome": "answered", "durationMs": 1}
        4 hook.fired {"firingId": "i", "hookId": "h", "event": "PostToolUse", "callId": "c3", "outcome": "answered", "durationMs": 1}
        5 tool.state {"callId": "c4", "to": "validating", "name": "read_file", "arguments": {}}
        6 tool.state {"callId": "c4", "to": "success", "name": "read_file", "result": {"llmContent": [{"type": "text", "text": "all of it"}]}}
        6 turn.completed {"turn": 1}
        6 turn.started {"turn": 2}
        6 model.started {"model": "m", "stream": "s2", "attempt": 1}
        7 model.completed {"model": "m", "stream": "s2", "text": "y", "calls": []}
        7 run.completed {"reason": "GOAL"}
    "#;
    let requests = spans(log).into_iter().filter(|span| span.kind == SpanKind::Llm);
    let last = requests.last().unwrap().llm.unwrap();
    let read = last
        .answered
        .iter()
        .map(|call| (call.call_id.as_str(), call.result.as_ref().map(|result| result.text.as_str())));
    let expected = [("c1", None), ("c2", Some("all of it")), ("c3", Some("as it is"))];
    assert_eq!(read.collect::<Vec<_>>(), expected);
}
