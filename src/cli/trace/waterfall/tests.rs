//! Are rows drawn where they belong, and can they be read on any terminal?

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;

/// The hook is what is looked for: what it is about gives way first.
#[test]
fn a_row_of_a_hook_has_its_id_whole_before_what_it_is_about() {
    let span = json!({
        "spanId": "1", "kind": "hook", "name": "PostToolUse", "status": "ok", "startUs": 0, "endUs": 1_000, "hook": {
            "hookId": "project/PostToolUse/12", "tool": "write_file", "outcome": "answered",
            "description": "src/a/long/path/of/a/file.rs", "added": "The file is generated: change its template.",
        },
    });
    let spans: Vec<SpanView> = vec![serde_json::from_value(span).unwrap()];
    let drawn = |columns| {
        let stdout = OutputWriter {
            writer: Box::new(std::io::sink()),
            is_terminal: true,
            has_color: false,
            is_live: false,
            width: Some(columns),
            is_for_programs: false,
        };
        let rows = waterfall(&spans, &SpanTree::of(&spans, None, None), (None, 9), (&stdout, 0));
        rows.last().unwrap().text.clone()
    };
    let wide = drawn(100);
    assert!(wide.starts_with("PostToolUse · project/PostToolUse/12 …"), "{wide}");
    let narrow = drawn(60);
    let name = narrow.split("  ").next().unwrap();
    assert!(name.starts_with("PostToolUse · pro") && name.ends_with('…'), "{narrow}");
}

/// Two columns stand beside the rows where it scrolls: the terminal is as wide all the same.
#[test]
fn what_a_narrow_terminal_has_no_room_for_is_told_by_the_terminal() {
    let span =
        json!({ "spanId": "1", "kind": "run", "name": "lead", "status": "ok", "startUs": 0, "endUs": 1_000 });
    let spans: Vec<SpanView> = vec![serde_json::from_value(span).unwrap()];
    for (terminal, margin, has_bars) in
        [(69, 0, false), (70, 0, true), (69, 2, false), (70, 2, true), (71, 2, true)]
    {
        let stdout = OutputWriter {
            writer: Box::new(std::io::sink()),
            is_terminal: true,
            has_color: false,
            is_live: false,
            width: Some(terminal - margin),
            is_for_programs: false,
        };
        let rows = waterfall(&spans, &SpanTree::of(&spans, None, None), (None, 9), (&stdout, margin));
        assert_eq!(rows.last().unwrap().text.contains('█'), has_bars, "{terminal}, {margin}");
    }
}

fn output(width: Option<usize>) -> OutputWriter {
    OutputWriter {
        writer: Box::new(std::io::sink()),
        is_terminal: width.is_some(),
        has_color: false,
        is_live: false,
        width,
        is_for_programs: false,
    }
}

fn check(spans: &Value, columns: Option<usize>, expected: Expect) {
    let spans: Vec<SpanView> = serde_json::from_value(spans.clone()).unwrap();
    let rows = waterfall(&spans, &SpanTree::of(&spans, None, None), (None, 9), (&output(columns), 0));
    expected.assert_eq(&rows.iter().map(|row| format!("{}\n", row.text)).collect::<String>());
}

/// A hook is told when it has answered, so its number is higher than those of the requests that it made.
#[test]
fn a_request_of_a_hook_stands_below_the_hook() {
    let span = |id: &str, parent: Option<&str>, kind: &str, name: &str, more: Value| {
        let mut span = json!({
            "spanId": id, "parentSpanId": parent, "kind": kind, "name": name, "status": "ok", "startUs": 0, "endUs": 1_000,
        });
        span.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        span
    };
    let hook = |id: &str| json!({ "hook": { "hookId": id, "outcome": "answered", "decision": "allow" } });
    let asked = |id: &str| json!({ "llm": { "model": "small", "purpose": "hook", "hookId": id } });
    let spans = json!([
        span("3", Some("2"), "tool", "write_file", json!({ "tool": { "callId": "c1" } })),
        span("4", Some("6"), "llm", "small", asked("user/PreToolUse/1")),
        span("5", Some("7"), "llm", "small", asked("user/PreToolUse/2")),
        span("6", Some("3"), "hook", "PreToolUse", hook("user/PreToolUse/1")),
        span("7", Some("3"), "hook", "PreToolUse", hook("user/PreToolUse/2")),
        span("2", Some("1"), "turn", "turn 1", json!({})),
        span("1", None, "run", "lead", json!({})),
    ]);
    check(
        &spans,
        None,
        expect![[r#"
            lead                                  +0 ms  1 ms
              turn 1                              +0 ms  1 ms
                write_file                        +0 ms  1 ms
                  PreToolUse · user/PreToolUse/1  +0 ms  1 ms      allow
                    small · hook                  +0 ms  1 ms
                  PreToolUse · user/PreToolUse/2  +0 ms  1 ms      allow
                    small · hook                  +0 ms  1 ms
        "#]],
    );
    let told: Vec<SpanView> = serde_json::from_value(spans).unwrap();
    assert_eq!(told[1].in_a_line(), "-, small, asked by the hook user/PreToolUse/1");
}

/// Whatever a log says, nothing of it vanishes.
#[test]
fn spans_that_lie_within_each_other_and_those_without_their_parent_are_shown() {
    let span = |id: &str, parent: &str| json!({ "spanId": id, "parentSpanId": parent, "kind": "turn", "name": id, "startUs": 0, "status": "ok" });
    check(
        &json!([span("1", "2"), span("2", "3"), span("3", "1"), span("4", "4"), span("5", "9")]),
        None,
        expect![[r#"
            3      +0 ms  …
              2    +0 ms  …
                1  +0 ms  …
            4      +0 ms  …
            5      +0 ms  …
        "#]],
    );
}

/// Ada edits, a hook changes that, and bob allows it: who allowed which version is what people look for.
#[test]
fn who_allowed_which_version_is_on_a_narrow_screen() {
    let question = |id: &str, more: Value| {
        let mut asked =
            json!({ "callId": "c1", "confirmationId": "q", "asks": "edit", "rule": "builtin:risk=low" });
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({
            "spanId": id, "parentSpanId": "2", "kind": "confirmation", "name": "Write file: slow.txt, new file, +1 line",
            "status": "ok", "startUs": 1_000, "endUs": 5_000, "confirmation": asked,
        })
    };
    let ada =
        json!({ "outcome": "edited", "source": "client", "name": "ada@pts/0-3fa91c02", "waitedMs": 5_400 });
    let bob = json!({ "outcome": "allowOnce", "source": "client", "name": "bob@pts/2-05d751bc", "waitedMs": 2_000, "version": 2 });
    let call = |id: &str, decision: &Value| {
        json!({
            "spanId": id, "parentSpanId": "1", "kind": "tool", "name": "write_file", "status": "ok", "startUs": 0, "endUs": 9_000,
            "tool": { "callId": "c1", "description": "slow.txt", "decision": decision, "changes": [
                { "source": "client", "name": "ada@pts/0-3fa91c02", "at": "2026-11-26T11:04:01.000Z" },
                { "source": "hook", "name": "user/PreToolUse/1", "at": "2026-11-26T11:04:01.000Z" },
            ] },
        })
    };
    let hook = json!({
        "spanId": "4", "parentSpanId": "2", "kind": "hook", "name": "PreToolUse", "status": "ok", "startUs": 5_000, "endUs": 6_000,
        "hook": { "hookId": "user/PreToolUse/1", "outcome": "answered", "changed": true, "edited": true },
    });
    let (mut changed, mut denied, session) = (
        bob.clone(),
        bob.clone(),
        json!({
            "outcome": "allowSession", "source": "client", "name": "bob@pts/2-05d751bc", "waitedMs": 2_000,
        }),
    );
    (changed["outcome"], denied["outcome"]) = (json!("modify"), json!("deny"));
    let remembered = json!({ "outcome": "allow", "source": "policy", "rule": "remembered:session:1", "origin": {
        "source": "answer", "by": "bob@pts/2-05d751bc", "at": "2026-11-26T11:04:01.000Z",
    } });
    let spans = json!([
        { "spanId": "1", "kind": "run", "name": "fixer", "status": "ok", "startUs": 0, "endUs": 9_000 },
        call("2", &bob),
        question("3", json!({ "decision": ada })),
        hook,
        question("5", json!({ "version": 2, "decision": bob })),
        call("6", &changed),
        call("7", &denied),
        call("8", &session),
        call("9", &remembered),
    ]);
    check(
        &spans,
        Some(100),
        expect![[r#"
            SPAN                                  WHEN        TIME  TOKENS  ALLOWED, ENDED
            fixer                                 ██████████  9 ms
              write_file slow.txt                 ██████████  9 ms          yes (v2): bob (pts/2), 2.0 s; chang…
                ? Write file: slow.txt, new fil…   ████       4 ms          edited by ada (pts/0) after 5.4 s; …
                ? Write file: slow.… · version 2   ████       4 ms          asked by builtin:risk=low
                PreToolUse · user/PreToolUse/1         █      1 ms          asked about the call as a person ch…
              write_file slow.txt                 ██████████  9 ms          yes (v2): bob (pts/2), with a chang…
              write_file slow.txt                 ██████████  9 ms          no (v2): bob (pts/2), 2.0 s; change…
              write_file slow.txt                 ██████████  9 ms          yes: bob (pts/2), in this session, …
              write_file slow.txt                 ██████████  9 ms          yes: remembered: bob (pts/2)'s answ…
        "#]],
    );
    check(
        &spans,
        Some(80),
        expect![[r#"
            SPAN                                WHEN      TIME  TOKENS  ALLOWED, ENDED
            fixer                               ████████  9 ms
              write_file slow.txt               ████████  9 ms          yes (v2): bob (pts/…
                ? Write file: slow.txt, new f…  ████      4 ms          edited by ada (pts/…
                ? Write file: slo… · version 2  ████      4 ms          asked by builtin:ri…
                PreToolUse · user/PreToolUse/1      █     1 ms          asked about the cal…
              write_file slow.txt               ████████  9 ms          yes (v2): bob (pts/…
              write_file slow.txt               ████████  9 ms          no (v2): bob (pts/2…
              write_file slow.txt               ████████  9 ms          yes: bob (pts/2), i…
              write_file slow.txt               ████████  9 ms          yes: remembered: bo…
        "#]],
    );
    check(
        &spans,
        Some(60),
        expect![[r#"
            SPAN                              TIME  ALLOWED, ENDED
            fixer                             9 ms
              write_file slow.txt             9 ms  yes (v2): bob (pts/…
                ? Write file: slow.txt, new…  4 ms  edited by ada (pts/…
                ? Write file: s… · version 2  4 ms  asked by builtin:ri…
                PreToolUse · user/PreToolUs…  1 ms  asked about the cal…
              write_file slow.txt             9 ms  yes (v2): bob (pts/…
              write_file slow.txt             9 ms  no (v2): bob (pts/2…
              write_file slow.txt             9 ms  yes: bob (pts/2), i…
              write_file slow.txt             9 ms  yes: remembered: bo…
        "#]],
    );
}
