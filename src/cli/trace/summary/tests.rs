//! What stands above and below a waterfall?

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

fn spent(prompt: u64, output: u64, cost: &str) -> Value {
    json!({ "usage": { "promptTokens": prompt, "outputTokens": output }, "cost": { "amount": cost, "currency": "USD" } })
}

fn trace(requests: &[(&str, Value)], run: Value) -> Vec<SpanView> {
    let span = |kind: &str, name: &str, more: &Value| {
        let mut span = json!({ "kind": kind, "name": name, "runId": "r1", "agent": "lead", "endUs": 1 });
        span.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(span).unwrap()
    };
    let mut run = run;
    run["run"] = json!({ "model": "dear" });
    let requests = requests.iter().map(|(model, spent)| span("llm", model, spent));
    requests.chain([span("run", "lead", &run)]).collect()
}

/// A run without a person, say.
#[test]
fn a_question_that_nobody_answered_says_so() {
    let span = json!({
        "kind": "confirmation", "name": "Run command", "status": "cancelled", "endUs": 1, "confirmation": {
            "callId": "c1", "confirmationId": "q", "asks": "exec", "rule": "builtin:risk=high",
            "decision": { "outcome": "deny", "source": "system", "message": "nobody is there" },
        },
    });
    let span: SpanView = serde_json::from_value(span).unwrap();
    assert_eq!(span.note().text(), "nobody answered: nobody is there; asked by builtin:risk=high");
}

/// The time in its row is none of the hook's own.
#[test]
fn a_hook_that_the_end_of_the_daemon_cut_off_says_when_it_was_heard_of() {
    let span = json!({
        "kind": "hook", "name": "PreToolUse", "status": "cancelled", "startUs": 0, "endUs": 1_000_000,
        "endedAt": "2026-11-26T11:04:01.000Z", "hook": { "hookId": "user/PreToolUse/1", "outcome": "interrupted" },
    });
    let span: SpanView = serde_json::from_value(span).unwrap();
    let said = "was interrupted, as the daemon ended; last heard of at 2026-11-26 11:04:01Z";
    assert_eq!(span.note().text(), said);
}

/// The words are those of the question about it.
#[test]
fn a_call_that_a_hook_wants_is_none_of_the_agents() {
    let span = json!({
        "kind": "tool", "name": "write_file", "status": "ok", "endUs": 1, "tool": {
            "callId": "c2", "requestedBy": "user/AfterTool/1", "follows": "c1", "followsTool": "read_file",
            "decision": { "outcome": "allow", "source": "policy", "rule": "builtin:risk=low" },
        },
    });
    let span: SpanView = serde_json::from_value(span).unwrap();
    let said = "yes: builtin:risk=low; the hook user/AfterTool/1 wants this call after read_file, and the agent did not ask for it";
    assert_eq!(span.note().text(), said);
    let hook = json!({
        "kind": "hook", "name": "PostToolUse", "status": "ok", "endUs": 1,
        "hook": { "hookId": "user/AfterTool/1", "followUp": "c2", "outcome": "answered" },
    });
    let hook: SpanView = serde_json::from_value(hook).unwrap();
    assert_eq!(hook.note().text(), "wants one more call in place of this result");
}

/// The call says which arguments a hook changed, and when.
#[test]
fn a_hook_that_changed_a_call_says_what_it_changed_then() {
    let change =
        |at: &str, names: Value| json!({ "source": "hook", "name": "h", "at": at, "arguments": names });
    let (first, second) = ("2026-11-26T11:04:00.000Z", "2026-11-26T11:04:09.000Z");
    let call = |changes: Value| {
        json!({
            "spanId": "1", "kind": "tool", "name": "write_file", "runId": "r", "status": "ok", "endUs": 9,
            "tool": { "callId": "c", "changes": changes },
        })
    };
    let hook = |at: &str| {
        json!({
            "spanId": "2", "kind": "hook", "name": "PreToolUse", "runId": "r", "status": "ok", "endUs": 5, "endedAt": at,
            "hook": { "hookId": "h", "callId": "c", "outcome": "answered", "changed": true, "decision": "ask", "reason": "I changed it" },
        })
    };
    let said = |changes: Value| {
        let spans = [call(changes), hook(first), hook(second)];
        let mut spans: Vec<SpanView> = spans.map(|span| serde_json::from_value(span).unwrap()).into();
        name_changed_arguments(&mut spans);
        [1, 2].map(|row: usize| spans[row].note().text().to_owned())
    };
    assert_eq!(
        said(json!([change(first, json!(["content"])), change(second, json!(["path", "content"]))])),
        ["ask: I changed it; changed content", "ask: I changed it; changed path, content"]
    );
    // Two rounds of which the call tells as one.
    let words = "ask: I changed it; changed it";
    assert_eq!(said(json!([change(first, json!(["content", "path"]))])), [words, words]);
}

/// A run that an agent called was asked something, too: its record has no prompt.
#[test]
fn a_called_run_says_what_it_was_asked() {
    let run = json!({
        "spanId": "1", "kind": "run", "name": "helper", "runId": "r2", "status": "ok", "endUs": 9,
        "input": { "text": "Look at a.rs" }, "run": { "parentRunId": "r1" },
    });
    let told = head(&[serde_json::from_value(run).unwrap()], &RunTexts::default());
    assert!(told.contains("asked: Look at a.rs\n"), "{told}");
}

#[test]
fn runs_of_one_agent_are_told_apart_in_rows_and_lists() {
    let events =
        json!([{ "name": "warning", "at": "2026-11-26T11:04:00.000Z", "atUs": 1, "text": "it is slow" }]);
    let span = |kind: &str, name: &str| -> SpanView {
        let span = json!({
            "kind": kind, "name": name, "agent": "helper", "runNumber": 2, "turn": (kind != "run").then_some(1), "endUs": 1,
            "events": events, "tool": { "filesChanged": [{ "path": "a.rs", "change": "modified", "undoId": "u" }] },
        });
        serde_json::from_value(span).unwrap()
    };
    assert_eq!(
        (span("run", "helper").label(), span("turn", "turn 1").label()),
        ("helper 2".into(), "turn 1".into())
    );
    let call = [span("tool", "write_file")];
    assert_eq!(said(&call), "helper 2, turn 1: warning: it is slow\n");
    assert_eq!(files(&call), "a.rs modified: helper 2, turn 1, write_file\n");
    assert_eq!(call[0].place(), "helper 2, turn 1, write_file");
}

#[test]
fn what_was_said_to_a_run_and_warned_of_is_told_below() {
    let span = json!({
        "kind": "turn", "name": "turn 1", "agent": "lead", "turn": 1, "endUs": 1, "events": [
            { "name": "run.steered", "at": "2026-11-26T11:04:00.000Z", "atUs": 1, "text": "ada (pts/3): leave the tests out" },
            { "name": "warning", "at": "2026-11-26T11:04:00.000Z", "atUs": 1, "text": "`@docs/missing.md` names no file" },
            { "name": "loop.detected", "at": "2026-11-26T11:04:00.000Z", "atUs": 1, "text": "`read_file` again and again" },
        ],
    });
    expect![[r#"
        lead, turn 1: said to it: ada (pts/3): leave the tests out
        lead, turn 1: warning: `@docs/missing.md` names no file
        lead, turn 1: it goes round in circles: `read_file` again and again
    "#]]
    .assert_eq(&said(&[serde_json::from_value(span).unwrap()]));
}

/// A hook or a compression asks another model than the run does.
#[test]
fn each_model_is_told_with_what_it_used_itself() {
    let requests = [
        ("dear", spent(200, 10, "0.02")),
        ("small", spent(1_000, 8, "0.001")),
        ("dear", spent(1, 1, "0.001")),
    ];
    let spans = trace(&requests, spent(1_201, 19, "0.022"));
    expect![[r#"
        1201 → 19 tokens, $0.022
        lead, dear: 201 → 11 tokens, $0.021
        lead, small: 1000 → 8 tokens, $0.001
    "#]]
    .assert_eq(&used(&spans));
    // Where requests are missing the run says what it used, and nobody knows by which models.
    let spans = trace(&requests[..1], spent(1_201, 19, "0.022"));
    expect![[r#"
        1201 → 19 tokens, $0.022
    "#]]
    .assert_eq(&used(&spans));
}

#[test]
fn a_change_that_was_undone_says_so_beside_its_call() {
    let span = json!({
        "kind": "tool", "name": "write_file", "agent": "lead", "turn": 1, "endUs": 1, "tool": { "filesChanged": [
            { "path": "a.rs", "change": "created", "undoId": "u1", "undone": { "at": "2026-11-26T11:04:00.000Z", "by": "dave@pts/2-197c3e28" } },
            { "path": "b.rs", "change": "modified", "undoId": "u2", "undone": { "at": "2026-11-26T11:04:00.000Z", "forced": true } },
        ] },
    });
    expect![[r#"
        a.rs created: lead, turn 1, write_file; undone by dave (pts/2) at 2026-11-26 11:04:00Z
        b.rs modified: lead, turn 1, write_file; undone at 2026-11-26 11:04:00Z, over what somebody had changed since
    "#]]
    .assert_eq(&files(&[serde_json::from_value(span).unwrap()]));
}

/// A part of it, and of whoever called it, is not known.
#[test]
fn run_whose_request_was_cut_off_does_not_say_that_this_was_free() {
    let span = |value: Value| -> SpanView { serde_json::from_value(value).unwrap() };
    let some = json!({ "promptTokens": 10, "outputTokens": 2 });
    let price = json!({ "amount": "0.5", "currency": "USD" });
    let mut spans = vec![
        span(
            json!({ "kind": "run", "runId": "r1", "agent": "lead", "endUs": 1, "run": {}, "usage": some, "cost": price }),
        ),
        span(
            json!({ "kind": "llm", "name": "m", "runId": "r1", "endUs": 1, "usage": some, "cost": price, "llm": {} }),
        ),
        span(json!({ "kind": "run", "runId": "r2", "endUs": 1, "run": { "parentRunId": "r1" } })),
        span(
            json!({ "kind": "llm", "name": "m", "runId": "r2", "endUs": 1, "llm": { "usageUnknown": true } }),
        ),
        span(
            json!({ "kind": "run", "runId": "r3", "endUs": 1, "run": { "parentRunId": "r1" }, "usage": some, "cost": price }),
        ),
    ];
    mark_sureness(&mut spans);
    let costs: Vec<String> = spans.iter().map(|span| span.spent().1).collect();
    assert_eq!(costs, [">$0.5", "$0.5", "?", "?", "$0.5"]);
    assert_eq!(used(&spans[..2]), "10 → 2 tokens, $0.5\n");
    let guessed = json!({ "kind": "llm", "name": "m", "runId": "r3", "endUs": 1, "usage": some, "cost": price, "llm": { "estimated": true } });
    spans.push(span(guessed));
    assert_eq!(used(&spans[4..]), "~10 → 2 tokens, ~$0.5, some of it estimated (~)\n");
    assert!(used(&spans[..4]).contains("10 → 2 tokens, >$0.5"), "{}", used(&spans[..4]));
    let only = "what was used is not known: a request was cut off before the provider had said it\n";
    assert_eq!(used(&spans[2..4]), only);
}
