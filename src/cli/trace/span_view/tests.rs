//! What do rows of spans say?

use serde_json::{Value, json};

use super::*;

fn view(span: Value) -> SpanView {
    serde_json::from_value(span).unwrap()
}

/// A second person's change stands with the others, and one that a hook took back says so.
#[test]
fn all_who_changed_a_call_are_told_and_a_change_that_was_taken_back_is() {
    let call = |input: &str| {
        view(json!({
            "kind": "tool", "name": "write_file", "status": "ok", "endUs": 1, "input": { "text": input }, "tool": {
                "decision": { "outcome": "modify", "source": "client", "name": "bob@pts/2-05d751bc", "version": 2 },
                "askedInput": { "text": "A" }, "changes": [
                    { "source": "client", "name": "ada@pts/0-3fa91c02", "at": "2026-11-26T11:04:01.000Z" },
                    { "source": "hook", "name": "h", "at": "2026-11-26T11:04:01.000Z" },
                    { "source": "client", "name": "bob@pts/2-05d751bc", "at": "2026-11-26T11:04:09.000Z" },
                ],
            },
        }))
    };
    let said = "yes, with a change (version 2 of the question): bob (pts/2); changed by ada (pts/0), then the hook h and then bob (pts/2)";
    assert_eq!(call("C").note().text(), said);
    let back = call("A");
    assert_eq!(back.note().text(), format!("{said}, back to what was asked for"));
    let changed = "ada (pts/0), then the hook h and then bob (pts/2) changed A, back to what was asked for";
    assert_eq!(back.changed().unwrap(), changed);
}

/// The daemon ended while a guard was asked about what a person had made of a call.
#[test]
fn a_guard_of_a_change_says_so_while_it_works_and_where_it_was_cut_off() {
    let hook = |end: Value| {
        view(json!({
            "kind": "hook", "name": "PreToolUse", "status": "cancelled", "endUs": end, "endedAt": "2026-11-26T11:04:01.000Z",
            "hook": { "hookId": "h", "outcome": "interrupted", "edited": true },
        }))
    };
    let about = "asked about the call as a person changed it; ";
    assert_eq!(hook(Value::Null).note().text(), format!("{about}at work"));
    let cut_off = "was interrupted, as the daemon ended; last heard of at 2026-11-26 11:04:01Z";
    assert_eq!(hook(json!(1)).note().text(), format!("{about}{cut_off}"));
}

/// Ada edits, a hook changes that, and bob allows it: three rows, in their order.
#[test]
fn a_call_that_was_edited_and_asked_about_again_says_who_did_what() {
    let asked = |version: Option<u64>, decision: Value| {
        view(json!({
            "kind": "confirmation", "name": "Write file: e.rs", "status": "ok", "endUs": 1, "confirmation": {
                "callId": "c1", "confirmationId": "q", "asks": "edit", "rule": "builtin:risk=low", "version": version,
                "decision": decision, "editedInput": version.is_none().then(|| json!({ "text": "{\"content\":\"mine\"}" })),
            },
        }))
    };
    let ada =
        json!({ "outcome": "edited", "source": "client", "name": "ada@pts/0-3fa91c02", "waitedMs": 3_000 });
    let bob = json!({ "outcome": "allowOnce", "source": "client", "name": "bob@pts/2-05d751bc", "waitedMs": 2_000, "version": 2 });
    let first = asked(None, ada);
    assert_eq!(first.label(), "? Write file: e.rs");
    assert_eq!(first.note().text(), "edited by ada (pts/0) after 3.0 s; asked by builtin:risk=low");
    assert_eq!(first.beside(), [r#"changed into {"content":"mine"}"#]);
    let second = asked(Some(2), bob.clone());
    assert_eq!(second.label(), "? Write file: e.rs · version 2");
    assert_eq!(second.note().text(), "asked by builtin:risk=low");
    let call = |decision: &Value| {
        view(json!({
            "kind": "tool", "name": "write_file", "status": "ok", "endUs": 1, "input": { "text": "C" }, "tool": {
                "decision": decision, "askedInput": { "text": "A" }, "changes": [
                    { "source": "client", "name": "ada@pts/0-3fa91c02", "at": "2026-11-26T11:04:01.000Z" },
                    { "source": "hook", "name": "user/PreToolUse/1", "at": "2026-11-26T11:04:01.000Z" },
                ],
            },
        }))
    };
    let allowed = call(&bob);
    let said = "yes (version 2 of the question): bob (pts/2), 2.0 s; changed by ada (pts/0) and then the hook user/PreToolUse/1";
    assert_eq!(allowed.note().text(), said);
    assert_eq!(allowed.changed().unwrap(), "ada (pts/0) and then the hook user/PreToolUse/1 changed A → C");
    let mut denied = bob;
    denied["outcome"] = json!("deny");
    assert!(
        call(&denied)
            .note()
            .text()
            .starts_with("no (version 2 of the question): bob (pts/2), 2.0 s; changed by ada")
    );
}

/// A reply that the output limit cut off is no whole one, and of one that was cancelled nobody knows what it cost.
#[test]
fn a_reply_says_why_it_is_no_whole_one_and_what_is_not_known_of_its_cost() {
    let llm = |reason: Value, status: &str, usage: Value| {
        view(json!({
            "kind": "llm", "name": "m", "status": status, "endUs": 1, "usage": usage, "cost": { "amount": "0", "currency": "USD" },
            "llm": { "finishReason": reason },
        }))
    };
    let unknown = json!({ "kind": "llm", "name": "m", "status": "cancelled", "endUs": 1, "llm": { "usageUnknown": true } });
    let some = json!({ "promptTokens": 10, "outputTokens": 2 });
    for (reason, said) in [
        (json!("length"), "cut off by the output limit"),
        (json!("refused"), "withheld by the provider"),
        (json!("stop"), ""),
        (Value::Null, ""),
    ] {
        assert_eq!(llm(reason, "ok", some.clone()).note().text(), said);
    }
    let cancelled = view(unknown);
    assert_eq!(cancelled.note().text(), "cancelled");
    assert_eq!(cancelled.spent(), (String::new(), "?".to_owned()));
    // A free model.
    assert_eq!(llm(json!("stop"), "ok", some.clone()).spent().1, "$0");
    let estimated = json!({
        "kind": "llm", "name": "m", "status": "cancelled", "endUs": 1, "usage": some, "cost": { "amount": "0.5", "currency": "USD" },
        "llm": { "estimated": true },
    });
    assert_eq!(view(estimated).spent(), ("~10 → 2".to_owned(), "~$0.5".to_owned()));
    let run = view(
        json!({ "kind": "run", "status": "cancelled", "endUs": 1, "cost": { "amount": "0", "currency": "USD" } }),
    );
    assert_eq!(run.spent(), (String::new(), String::new()));
}

#[test]
fn what_a_person_answered_stands_below_and_who_cancelled_the_run_beside_the_call() {
    let asked = |decision: Value| {
        view(json!({
            "kind": "tool", "name": "ask_user", "status": "ok", "endUs": 1, "agent": "lead", "turn": 1,
            "output": { "text": "The user answered:\n- Which colour?\n  blue\n- Which size?\n  2" },
            "tool": { "decision": decision },
        }))
    };
    let person =
        json!({ "outcome": "answer", "source": "client", "name": "dave-197c3e28", "waitedMs": 2_200 });
    let answered = asked(person.clone());
    assert_eq!(answered.note().text(), "answered: dave, 2.2 s");
    let said = "The user answered: Which colour? blue Which size? 2";
    assert_eq!(answered.answered().unwrap(), said);
    assert_eq!(answered.beside(), [said]);
    let mut cancelled = person;
    cancelled["outcome"] = json!("cancelRun");
    assert_eq!(asked(cancelled).note().text(), "no, and the run was cancelled: dave, 2.2 s");
}
