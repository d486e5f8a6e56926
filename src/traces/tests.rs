//! Do events become the spans that they tell of, whatever the log looks like?
//!
//! Logs are written one event a line: `ms [@run] type {data}`. The run is `r1` where none is named; `^` holds fields of the
//! envelope.

mod asked;
mod asked_again;
mod documents;
mod edited;
mod follow_ups;
mod hooked;
mod kinds;
mod left_open;
mod logs;
mod reasons;
mod results;
mod secrets;
mod sources;
mod told;
mod trace_events;
mod waits;
mod worded;

use expect_test::{Expect, expect};
use protocol::{Envelope, EventHead, EventSeq, SpanStatus, Timestamp, TraceSpan};
use serde_json::Value;

use super::{SpanEdge, SpanFold};

/// When the first event happens, in microseconds.
const BEGAN_US: i64 = 1_764_000_000_000_000;

fn events(log: &str) -> Vec<Envelope> {
    let lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.enumerate().map(|(n, line)| event(n, line)).collect()
}

fn event(n: usize, line: &str) -> Envelope {
    let (words, data) =
        line.split_once('{').map_or((line, "{}".to_owned()), |(words, data)| (words, format!("{{{data}")));
    let mut words = words.split_whitespace();
    let ms: i64 = words.next().unwrap().parse().unwrap();
    let mut kind = words.next().unwrap();
    let mut run = "r1";
    if let Some(named) = kind.strip_prefix('@') {
        (run, kind) = (named, words.next().unwrap());
    }
    let mut data: Value = serde_json::from_str(&data).unwrap_or_else(|error| panic!("{line}: {error}"));
    let outer = data.as_object_mut().unwrap().remove("^").unwrap_or_default();
    let mut head: EventHead = serde_json::from_value(match outer.is_null() {
        true => serde_json::json!({}),
        false => outer,
    })
    .unwrap();
    head.agent.get_or_insert_with(|| "lead".into());
    Envelope {
        seq: Some(EventSeq(i64::try_from(n).unwrap() + 1)),
        prev: None,
        at: Some(Timestamp(BEGAN_US + ms * 1_000)),
        kind: kind.to_owned(),
        session_id: Some("s1".into()),
        run_id: Some(run.into()),
        head,
        offered: None,
        data,
    }
}

fn edges(log: &str) -> Vec<SpanEdge> {
    let mut fold = SpanFold::new();
    let mut edges: Vec<SpanEdge> = events(log).iter().flat_map(|event| fold.apply(event)).collect();
    edges.extend(fold.open().into_iter().map(|span| SpanEdge::Open(Box::new(span))));
    edges
}

/// Those that ended, then those that are open.
fn spans(log: &str) -> Vec<TraceSpan> {
    let told = edges(log).into_iter().filter_map(|edge| match edge {
        SpanEdge::Began(_) | SpanEdge::Resumed(..) => None,
        SpanEdge::Ended(span) | SpanEdge::Open(span) => Some(*span),
    });
    told.collect()
}

/// One span a line: id, parent, kind, name, from when to when in milliseconds, and what is special about it.
fn line(span: &TraceSpan) -> String {
    let short = |id: &str| id.trim_start_matches('0').to_owned();
    let ms = |us: i64| (us - BEGAN_US) / 1_000;
    let parent = span.parent_span_id.as_ref().map_or("-".to_owned(), |id| short(id.as_str()));
    let end = span.end_us.map_or("…".to_owned(), |us| ms(us).to_string());
    let mut line = format!(
        "{} in {parent}: {} {} {}..{end} {}",
        short(span.span_id.as_str()),
        span.kind.as_str(),
        span.name,
        ms(span.start_us),
        span.status.as_str(),
    );
    if let Some(ms) = span.llm.as_ref().and_then(|llm| llm.first_token_ms) {
        line += &format!(" first={ms}");
    }
    if span.lane != 0 {
        line += &format!(" lane={}", span.lane);
    }
    if let Some(error) = &span.error {
        line += &format!(" {}: {}", error.kind, error.message);
    }
    if let Some(usage) = span.usage {
        line += &format!(" {}→{}", usage.prompt_tokens, usage.output_tokens);
    }
    let decision = span.tool.as_ref().and_then(|tool| tool.decision.as_ref());
    let decision = decision.or(span.confirmation.as_ref().and_then(|it| it.decision.as_ref()));
    if let Some(it) = decision {
        let rule = it.rule.as_deref().unwrap_or("-");
        line += &format!(" [{} {} {rule} {:?}]", it.outcome, it.source, it.waited_ms);
    }
    for (what, text) in [("in", &span.input), ("out", &span.output)] {
        if let Some(text) = text {
            line += &format!(" {what}={:?}", text.text);
        }
    }
    for event in &span.events {
        line += &format!(" ({} {})", event.name, event.text);
    }
    line
}

fn check(log: &str, expected: Expect) {
    let spans = spans(log);
    hold(&spans);
    expected.assert_eq(&spans.iter().map(|span| line(span) + "\n").collect::<String>());
}

/// What holds for the spans of every log.
fn hold(spans: &[TraceSpan]) {
    for span in spans {
        assert_eq!(span.end_us.is_none(), span.status == SpanStatus::Open, "{}", line(span));
        assert!(span.end_us.is_none_or(|end| span.start_us <= end), "{}", line(span));
        let parent = span.parent_span_id.as_ref().and_then(|id| spans.iter().find(|it| it.span_id == *id));
        let Some(parent) = parent else { continue };
        assert!(parent.start_us <= span.start_us, "{} begins before {}", line(span), line(parent));
        let is_within = match (span.end_us, parent.end_us) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(end), Some(parents)) => end <= parents,
        };
        assert!(is_within, "{} ends after {}", line(span), line(parent));
    }
}

/// A run that thinks, reads, asks a person about a change, is denied one call, and is done.
const STORY: &str = r#"
    0 run.queued {"for": "place", "run": {"agent": "lead", "model": "gemini/flash", "prompt": "Mend the docs", "query": "Mend the docs"}}
    40 run.started {"agent": "lead", "model": "gemini/flash", "prompt": "Mend the docs", "query": "Mend the docs"}
    40 turn.started {"turn": 1}
    40 model.started {"model": "gemini/flash", "stream": "s1", "attempt": 1}
    240 model.retrying {"stream": "s1", "attempt": 2, "message": "503", "usage": {"promptTokens": 3}}
    300 model.started {"model": "gemini/flash", "stream": "s2", "attempt": 2}
    900 model.completed {"model": "gemini/flash", "stream": "s2", "text": "I look.", "finishReason": "stop", "firstTokenMs": 120, "usage": {"promptTokens": 812, "outputTokens": 58}, "cost": {"amount": "0.0004", "currency": "USD"}, "calls": ["c1", "c2", "c3"]}
    900 tool.state {"callId": "c1", "to": "validating", "name": "read_file", "arguments": {"path": "a.md"}}
    900 tool.state {"callId": "c2", "to": "validating", "name": "write_file", "arguments": {"path": "a.md"}}
    900 tool.state {"callId": "c3", "to": "validating", "name": "run_shell_command", "arguments": {"command": "rm -rf /"}}
    901 tool.state {"callId": "c1", "from": "validating", "to": "scheduled", "name": "read_file", "details": {"description": "a.md", "kind": "read", "risk": "safe", "rule": "builtin:risk=safe"}}
    901 tool.state {"callId": "c2", "from": "validating", "to": "scheduled", "name": "write_file", "details": {"description": "a.md", "kind": "edit", "risk": "low", "rule": "builtin:risk=low"}}
    901 tool.state {"callId": "c3", "from": "validating", "to": "error", "name": "run_shell_command", "error": {"type": "POLICY_DENIED", "message": "refused by user:shop.toml:3: no deleting"}, "deniedBy": "user:shop.toml:3", "result": {"llmContent": [{"type": "text", "text": "POLICY_DENIED"}]}}
    901 tool.state {"callId": "c1", "from": "scheduled", "to": "executing", "name": "read_file"}
    902 tool.state {"callId": "c2", "from": "scheduled", "to": "awaitingApproval", "name": "write_file"}
    902 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c2", "title": "Change a.md?", "rule": "builtin:risk=low", "reason": "changes a file", "risk": "low", "details": {"type": "edit", "path": "/w/a.md", "diff": "-a\n+b\n"}}}
    905 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "read_file", "result": {"llmContent": [{"type": "text", "text": "a"}]}}
    905 run.waiting {"waiting": true}
    4102 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c2", "outcome": "allowOnce", "by": "client", "name": "cli-1", "message": "go on", "digest": "d"}
    4102 run.waiting {"waiting": false}
    4102 tool.state {"callId": "c2", "from": "awaitingApproval", "to": "executing", "name": "write_file"}
    4110 file.changed {"callId": "c2", "path": "/w/a.md", "change": "modified", "undoId": "u1"}
    4110 tool.state {"callId": "c2", "from": "executing", "to": "success", "name": "write_file", "result": {"llmContent": [{"type": "text", "text": "written"}]}}
    4110 turn.completed {"turn": 1, "toolCalls": 3}
    4110 turn.started {"turn": 2}
    4110 model.started {"model": "gemini/flash", "stream": "s3", "attempt": 1}
    4600 model.completed {"model": "gemini/flash", "stream": "s3", "text": "", "finishReason": "stop", "usage": {"promptTokens": 900, "outputTokens": 9}, "calls": ["c4"]}
    4600 tool.state {"callId": "c4", "to": "validating", "name": "complete_task", "arguments": {"result": "Done."}}
    4601 tool.state {"callId": "c4", "from": "validating", "to": "success", "name": "complete_task", "result": {"llmContent": [{"type": "text", "text": "ok"}]}}
    4601 turn.completed {"turn": 2, "toolCalls": 1}
    4601 run.stopping {"reason": "GOAL", "then": "end", "message": "done"}
    4601 run.completed {"reason": "GOAL", "result": "Done.", "usage": {"promptTokens": 1715, "outputTokens": 67}, "turns": 2, "toolCalls": 4, "filesChanged": ["/w/a.md"], "activeMs": 1400}
"#;

#[test]
fn a_run_becomes_spans_with_who_allowed_what() {
    check(
        STORY,
        expect![[r#"
            4 in 3: llm gemini/flash 40..240 error MODEL_FAILED: 503 3→0 in="Mend the docs"
            6 in 3: llm gemini/flash 300..900 ok first=120 812→58 in="Mend the docs" out="I look."
            a in 3: tool run_shell_command 900..901 error lane=2 POLICY_DENIED: refused by user:shop.toml:3: no deleting [deny policy user:shop.toml:3 None] in="{\"command\":\"rm -rf /\"}" out="POLICY_DENIED"
            8 in 3: tool read_file 900..905 ok [allow policy builtin:risk=safe None] in="{\"path\":\"a.md\"}" out="a"
            10 in 9: confirmation Change a.md? 902..4102 ok lane=1 [allowOnce client builtin:risk=low Some(3200)] in="-a\n+b\n" out="allowOnce"
            9 in 3: tool write_file 900..4110 ok lane=1 [allowOnce client builtin:risk=low Some(3200)] in="{\"path\":\"a.md\"}" out="written" (file.changed /w/a.md)
            3 in 1: turn turn 1 40..4110 ok (model.retrying 503)
            1a in 19: llm gemini/flash 4110..4600 ok 900→9
            1c in 19: tool complete_task 4600..4601 ok in="{\"result\":\"Done.\"}" out="ok"
            19 in 1: turn turn 2 4110..4601 ok
            1 in -: run lead 0..4601 ok 1715→67 in="Mend the docs" out="Done."
        "#]],
    );
    let spans = spans(STORY);
    let run = spans.last().unwrap().run.as_ref().unwrap();
    assert_eq!((run.queued_ms, run.waiting_ms, run.turns), (40, 3_197, 2));
    let write =
        spans.iter().find_map(|span| span.tool.as_ref().filter(|it| it.tool.as_str() == "write_file"));
    let write = write.unwrap();
    assert_eq!(write.waited_ms, Some(3_202));
    assert_eq!(write.files_changed[0].path, "/w/a.md");
}
