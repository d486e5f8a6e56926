//! What a trace is written as.

use protocol::TraceFormat;

use super::*;
use crate::{TraceTimeline, TraceWriter};

pub(super) fn document(format: TraceFormat, log: &str) -> String {
    let writer = TraceWriter::new(format, "0.0.0");
    let mut text = writer.opening();
    let (mut is_first, mut timeline) = (true, TraceTimeline::new());
    for edge in edges(log) {
        let before = text.len();
        writer.write(&edge, timeline.place(&edge), is_first, &mut text);
        is_first &= before == text.len();
    }
    text + writer.closing()
}

#[test]
fn markdown_reads_as_a_story() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/story.md");
    expect_test::expect_file![file].assert_eq(&document(TraceFormat::Markdown, STORY));
}

#[test]
fn words_of_others_stay_words() {
    let log = r##"
        0 run.started {"agent": "lead", "model": "m", "query": "# a\n```\n*b* <script>"}
        1 tool.state {"callId": "c1", "to": "validating", "name": "bash`", "arguments": {"command": "```` x"}}
        2 tool.state {"callId": "c1", "to": "error", "name": "bash`", "error": {"type": "X", "message": "*bold*\n# no heading"}}
        "##;
    expect![[r##"
        # Trace of lead

        2025-11-24 16:00:00Z, run `r1`, model `m`. Asked:

        > # a
        > ```
        > *b* &lt;script>

        **lead** calls bash\`: failed after 1 ms.

        `````json
        {"command":"```` x"}
        `````

        `X`: \*bold\* \# no heading

        **lead** is still at work.

    "##]]
    .assert_eq(&document(TraceFormat::Markdown, log));
}

/// Neither a line of the document nor an order to a terminal, wherever words of others stand.
#[test]
fn nobody_writes_into_the_story_but_the_story() {
    let log = r##"
        0 run.started {"agent": "lead", "model": "m\r# FORGED", "query": "Fine.\r# FORGED\r\r**lead** calls\u2028# FORGED\n<!-- <img src=x> &lt; ![x](http://x)\n> nested -> x"}
        1 tool.state {"callId": "c1", "to": "validating", "name": "b\u001b]0;x\u0007\r# FORGED", "arguments": {"command": "x"}}
        2 tool.state {"callId": "c1", "to": "executing", "name": "b"}
        3 tool.state {"callId": "c1", "to": "success", "name": "b", "result": {"llmContent": [{"type": "text", "text": "a\r```\r# FORGED\u009b2J\u202e"}]}}
        4 run.completed {"reason": "GOAL\u009b", "message": "~~~\r- <b>"}
        "##;
    let story = document(TraceFormat::Markdown, log);
    let is_sign = |it: char| it != '\n' && it.is_control() || matches!(it, '\u{202e}' | '\u{2028}');
    assert!(!story.contains(is_sign), "{story:?}");
    expect![[r##"
        # Trace of lead

        2025-11-24 16:00:00Z, run `r1`, model `m # FORGED`. Asked:

        > Fine.
        > # FORGED
        >
        > **lead** calls
        > # FORGED
        > &lt;!-- &lt;img src=x> &amp;lt; !\[x](http://x)
        > &gt; nested -> x

        **lead** calls `b^[]0;x^G # FORGED`: done after 2 ms.

        ```json
        {"command":"x"}
        ```

        ````text
        a
        ```
        # FORGED<9B>2J<202E>
        ````

        **lead** ended `GOAL<9B>` after 4 ms: 0 turns, 0 calls.

        `GOAL<9B>`: \~\~\~ - \<b\>

    "##]]
    .assert_eq(&story);
}

#[test]
fn json_has_every_span_once() {
    let whole: Value = serde_json::from_str(&document(TraceFormat::Json, STORY)).unwrap();
    let lines = document(TraceFormat::Jsonl, STORY);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(whole["spans"].as_array().unwrap(), &lines);
    assert_eq!(lines.len(), spans(STORY).len());
    for (line, span) in lines.iter().zip(spans(STORY)) {
        assert_eq!(serde_json::from_value::<TraceSpan>(line.clone()).unwrap().span_id, span.span_id);
    }
}

#[test]
fn a_document_without_spans_is_one() {
    for format in [TraceFormat::Json, TraceFormat::Otlp, TraceFormat::Chrome] {
        serde_json::from_str::<Value>(&document(format, "")).unwrap();
    }
}

#[test]
fn opentelemetry_gets_its_own_names() {
    let document: Value = serde_json::from_str(&document(TraceFormat::Otlp, STORY)).unwrap();
    let scope = &document["resourceSpans"][0]["scopeSpans"][0];
    assert_eq!(scope["schemaUrl"], "https://opentelemetry.io/schemas/1.41.1");
    let spans = scope["spans"].as_array().unwrap();
    let text = |span: &Value| {
        let attributes = span["attributes"].as_array().unwrap().iter().map(|it| {
            let value = it["value"].as_object().unwrap().values().next().unwrap();
            format!("  {} = {value}\n", it["key"].as_str().unwrap())
        });
        let events = span["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| format!("  ! {} {}\n", it["name"], it["attributes"]));
        let head = format!("{} {} {} {}\n", span["name"], span["kind"], span["parentSpanId"], span["status"]);
        head + &attributes.chain(events).collect::<String>()
    };
    let shown: String = spans.iter().filter(|span| span["name"] != "turn 1").take(6).map(text).collect();
    expect![[r#"
        "chat gemini/flash" 3 "f4f0e6daf8280334" {"code":2,"message":"503"}
          gen_ai.operation.name = "chat"
          gen_ai.provider.name = "gcp.gemini"
          gen_ai.conversation.id = "s1"
          gen_ai.agent.name = "lead"
          gen_ai.request.model = "gemini/flash"
          gen_ai.usage.input_tokens = "3"
          gen_ai.usage.output_tokens = "0"
          gen_ai.input.messages = "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Mend the docs\"}]}]"
          error.type = "MODEL_FAILED"
          subagentd.span.kind = "llm"
          subagentd.run.id = "r1"
          subagentd.turn = "1"
        "chat gemini/flash" 3 "f4f0e6daf8280334" {"code":1}
          gen_ai.operation.name = "chat"
          gen_ai.provider.name = "gcp.gemini"
          gen_ai.conversation.id = "s1"
          gen_ai.agent.name = "lead"
          gen_ai.request.model = "gemini/flash"
          gen_ai.response.model = "gemini/flash"
          gen_ai.response.finish_reasons = {"values":[{"stringValue":"stop"}]}
          gen_ai.response.time_to_first_chunk = 0.12
          gen_ai.usage.input_tokens = "812"
          gen_ai.usage.output_tokens = "58"
          gen_ai.input.messages = "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Mend the docs\"}]}]"
          gen_ai.output.messages = "[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"I look.\"},{\"type\":\"tool_call\",\"id\":\"c1\",\"name\":\"read_file\",\"arguments\":{\"path\":\"a.md\"}},{\"type\":\"tool_call\",\"id\":\"c2\",\"name\":\"write_file\",\"arguments\":{\"path\":\"a.md\"}},{\"type\":\"tool_call\",\"id\":\"c3\",\"name\":\"run_shell_command\",\"arguments\":{\"command\":\"rm -rf /\"}}],\"finish_reason\":\"tool_call\"}]"
          subagentd.span.kind = "llm"
          subagentd.run.id = "r1"
          subagentd.turn = "1"
          subagentd.cost.usd = "0.0004"
        "execute_tool run_shell_command" 1 "f4f0e6daf8280334" {"code":2,"message":"refused by user:shop.toml:3: no deleting"}
          gen_ai.operation.name = "execute_tool"
          gen_ai.conversation.id = "s1"
          gen_ai.agent.name = "lead"
          gen_ai.tool.name = "run_shell_command"
          gen_ai.tool.call.id = "c3"
          gen_ai.tool.type = "function"
          gen_ai.tool.call.arguments = "{\"command\":\"rm -rf /\"}"
          gen_ai.tool.call.result = "POLICY_DENIED"
          error.type = "POLICY_DENIED"
          subagentd.span.kind = "tool"
          subagentd.run.id = "r1"
          subagentd.turn = "1"
          ! "gen_ai.tool.call.decision" [{"key":"gen_ai.tool.call.decision.outcome","value":{"stringValue":"deny"}},{"key":"gen_ai.tool.call.decision.source","value":{"stringValue":"policy"}},{"key":"gen_ai.tool.call.decision.rule","value":{"stringValue":"user:shop.toml:3"}}]
        "execute_tool read_file" 1 "f4f0e6daf8280334" {"code":1}
          gen_ai.operation.name = "execute_tool"
          gen_ai.conversation.id = "s1"
          gen_ai.agent.name = "lead"
          gen_ai.tool.name = "read_file"
          gen_ai.tool.call.id = "c1"
          gen_ai.tool.type = "function"
          gen_ai.tool.call.arguments = "{\"path\":\"a.md\"}"
          gen_ai.tool.call.result = "a"
          subagentd.span.kind = "tool"
          subagentd.run.id = "r1"
          subagentd.turn = "1"
          subagentd.tool.risk = "safe"
          subagentd.tool.waited_ms = "1"
          ! "gen_ai.tool.call.decision" [{"key":"gen_ai.tool.call.decision.outcome","value":{"stringValue":"allow"}},{"key":"gen_ai.tool.call.decision.source","value":{"stringValue":"policy"}},{"key":"gen_ai.tool.call.decision.rule","value":{"stringValue":"builtin:risk=safe"}}]
        "confirmation Change a.md?" 1 "5e616ac4980f4678" {"code":1}
          gen_ai.conversation.id = "s1"
          gen_ai.agent.name = "lead"
          subagentd.span.kind = "confirmation"
          subagentd.run.id = "r1"
          subagentd.turn = "1"
          subagentd.confirmation.outcome = "allowOnce"
          subagentd.confirmation.source = "client"
          subagentd.confirmation.name = "cli-1"
          subagentd.confirmation.rule = "builtin:risk=low"
          subagentd.confirmation.waited_ms = "3200"
        "execute_tool write_file" 1 "f4f0e6daf8280334" {"code":1}
          gen_ai.operation.name = "execute_tool"
          gen_ai.conversation.id = "s1"
          gen_ai.agent.name = "lead"
          gen_ai.tool.name = "write_file"
          gen_ai.tool.call.id = "c2"
          gen_ai.tool.type = "function"
          gen_ai.tool.call.arguments = "{\"path\":\"a.md\"}"
          gen_ai.tool.call.result = "written"
          subagentd.span.kind = "tool"
          subagentd.run.id = "r1"
          subagentd.turn = "1"
          subagentd.tool.risk = "low"
          subagentd.tool.waited_ms = "3202"
          subagentd.tool.files_changed = {"values":[{"stringValue":"/w/a.md"}]}
          ! "file.changed" [{"key":"subagentd.text","value":{"stringValue":"/w/a.md"}}]
          ! "gen_ai.tool.call.decision" [{"key":"gen_ai.tool.call.decision.outcome","value":{"stringValue":"allowOnce"}},{"key":"gen_ai.tool.call.decision.source","value":{"stringValue":"client"}},{"key":"gen_ai.tool.call.decision.rule","value":{"stringValue":"builtin:risk=low"}},{"key":"gen_ai.tool.call.decision.name","value":{"stringValue":"cli-1"}},{"key":"gen_ai.tool.call.decision.waited_ms","value":{"intValue":"3200"}}]
    "#]].assert_eq(&shown);
    // Of a call that could not run the decision came with its end.
    let is_denied =
        |span: &&Value| span["status"]["message"].as_str().is_some_and(|it| it.starts_with("refused by"));
    let denied = spans.iter().find(is_denied).unwrap();
    assert_eq!(denied["events"][0]["timeUnixNano"], denied["endTimeUnixNano"]);
    for span in spans {
        let digits = |key: &str| span[key].as_str().unwrap().len();
        assert_eq!((digits("traceId"), digits("spanId")), (32, 16));
        let nanos = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        assert!(nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"));
    }
}

/// Two runs of one agent at once are told apart wherever they are named; one that is alone has no number.
#[test]
fn runs_of_one_agent_are_numbered_in_a_story() {
    let below = r#""^": {"parentRunId": "r1", "agent": "helper", "agentPath": ["lead", "helper"]}"#;
    let log = format!(
        r#"
        0 run.started {{"agent": "lead", "model": "m", "query": "q"}}
        1 @r2 run.started {{"agent": "helper", "model": "m", "query": "a", {below}}}
        1 @r3 run.started {{"agent": "helper", "model": "m", "query": "b", {below}}}
        2 @r3 turn.started {{"turn": 1, {below}}}
        3 @r3 run.completed {{"reason": "GOAL", {below}}}
    "#
    );
    let mut fold = SpanFold::numbered([("r2".into(), 1), ("r3".into(), 2)].into());
    let edges: Vec<SpanEdge> = events(&log).iter().flat_map(|event| fold.apply(event)).collect();
    let writer = TraceWriter::new(TraceFormat::Markdown, "0.0.0");
    let (mut story, mut timeline) = (String::new(), TraceTimeline::new());
    edges.iter().for_each(|edge| writer.write(edge, timeline.place(edge), false, &mut story));
    let told: Vec<&str> = story.lines().filter(|line| line.starts_with(['#', '*'])).collect();
    expect![[r#"
        # Trace of lead
        ## helper 1 is called
        ## helper 2 is called
        ### helper 2, turn 1
        **helper 2** ended `GOAL` after 2 ms: 0 turns, 0 calls."#]]
    .assert_eq(&told.join("\n"));
}

/// What a crash cut off stands before it, and what was asked again after it, where it says that it is the second time.
#[test]
fn a_story_has_what_was_asked_again_behind_the_crash() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 model.started {"model": "m", "stream": "s1", "attempt": 1}
        5000 run.resumed {"unclean": true, "awayMs": 1000}
        5000 model.retrying {"stream": "s1", "attempt": 1, "restarted": true, "usageUnknown": true, "discarded": true, "message": "the daemon was restarted"}
        5001 model.started {"model": "m", "stream": "s2", "attempt": 1}
        5500 model.completed {"model": "m", "stream": "s2", "text": "x", "calls": ["c1"], "usage": {}}
        5500 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {}}
        6600 hook.started {"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "elapsedMs": 1000}
        9000 run.resumed {"unclean": true, "awayMs": 1000}
        10100 hook.started {"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "elapsedMs": 1000, "attempt": 2}
        11000 hook.fired {"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "outcome": "answered", "durationMs": 1900, "attempt": 2}
        11000 tool.state {"callId": "c1", "from": "validating", "to": "executing", "name": "write_file"}
        11000 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "write_file", "result": {"llmContent": []}}
    "#;
    let story = document(TraceFormat::Markdown, log);
    let told: Vec<&str> = story.lines().filter(|line| line.starts_with(['#', '*', 'H'])).collect();
    expect![[r#"
        # Trace of lead
        ## lead, turn 1
        **lead** asks `m` · 5.0 s, what it used is not known, cut off.
        **lead** was interrupted: the daemon was away for at most 1.0 s, and had not stopped by itself. It goes on, at 2025-11-24 16:00:05Z.
        ## lead, turn 1, after the daemon was started again
        **lead** asks `m` again, which the end of the daemon had cut off · 499 ms, asks for 1 call:
        Hook `user/PreToolUse/1` of `PreToolUse`, for `write_file` was interrupted, as the daemon ended; last heard of at 2025-11-24 16:00:08Z.
        **lead** was interrupted: the daemon was away for at most 1.0 s, and had not stopped by itself. It goes on, at 2025-11-24 16:00:09Z.
        ## lead, turn 1, after the daemon was started again
        Hook `user/PreToolUse/1` of `PreToolUse`, for `write_file`, asked again (attempt 2), decided nothing (after 1.9 s).
        **lead** calls `write_file`: done after 5.5 s (of it at most 1.0 s without a daemon).
        **lead** is still at work."#]]
    .assert_eq(&told.join("\n"));
}
