//! Questions that are asked in place: on a terminal, while a run is followed.

use std::sync::mpsc::{self, Sender};

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

const ID: &str = "019aa1b2-c3d4-7001-8000-000000000001";
const OTHER: &str = "019aa1b2-c3d5-7001-8000-000000000002";
const DIFF: &str = "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n keep\n-old\n+new\n";

/// What every option would be, with a rule where one is written.
fn options() -> Value {
    let rule = |scope: &str| {
        json!({
            "id": "new", "tier": "user", "tool": ["edit_file"], "decision": "allow", "priority": 0,
            "accesses": [{"access": "write", "path": "/w/a.rs"}], scope: if scope == "session" { "s1" } else { "/w" },
        })
    };
    json!([
        {"outcome": "allowOnce", "label": "Allow once"},
        {"outcome": "allowSession", "label": "Allow in this session", "remembers": rule("session")},
        {"outcome": "allowProject", "label": "Allow in this workspace", "remembers": rule("workspace")},
        {"outcome": "modify", "label": "Change it"},
        {"outcome": "deny", "label": "Deny"},
        {"outcome": "cancelRun", "label": "Deny, and cancel the run"},
    ])
}

/// A question, with these fields on top.
pub(super) fn question(fields: Value) -> Value {
    let mut question = json!({
        "confirmationId": ID, "runId": "r1", "sessionId": "s1", "path": ["scout", "writer"],
        "toolCallId": "k1", "tool": "edit_file", "kind": "edit", "risk": "low", "title": "Edit a.rs",
        "rule": "builtin:risk=low", "reason": "edits are asked about", "digest": "sha256:01", "options": options(),
        "details": {"type": "edit", "path": "/w/a.rs", "diff": DIFF, "oldContent": "keep\nold\n", "newContent": "keep\nnew\n"},
        "audience": "all", "onDetached": "wait", "createdAt": "2025-11-20T11:04:00.000Z", "onDeadline": "deny",
        "state": "offered",
    });
    for (key, value) in fields.as_object().unwrap() {
        question[key] = value.clone();
    }
    question
}

pub(super) fn requested(seq: i64, offered: bool, question: &Value) -> Value {
    let mut event = envelope(seq, "confirmation.requested", json!({"confirmation": question}));
    event["offered"] = json!(offered);
    event
}

fn revised(seq: i64, why: &str, question: &Value) -> Value {
    let mut event = envelope(seq, "confirmation.revised", json!({"confirmation": question, "reason": why}));
    event["offered"] = json!(true);
    event
}

pub(super) fn resolved(seq: i64, outcome: &str, name: &str) -> Value {
    let data = json!({
        "confirmationId": ID, "toolCallId": "k1", "outcome": outcome, "by": "client", "name": name,
        "digest": "sha256:01", "at": "2025-11-20T11:04:01.000Z",
    });
    envelope(seq, "confirmation.resolved", data)
}

fn goal() -> Value {
    record(json!({"reason": "GOAL", "result": "done"}))
}

/// The rest of a run whose question is over.
fn ends(seq: i64, tell: &Sender<Value>) {
    tell.send(completed(seq, &goal())).unwrap();
}

/// A connection that brings these events, and then those that are told.
pub(super) fn told(first: Vec<Value>) -> (Sender<Value>, DaemonScript) {
    let (sender, receiver) = mpsc::channel();
    let script: DaemonScript = Box::new(move |peer| {
        peer.answer("session/attach", json!("1"));
        let introduction = peer.introduction.take().expect("whoever can be asked says so");
        assert!(
            introduction["capabilities"]["confirmations"]["kinds"]
                .as_array()
                .unwrap()
                .contains(&json!("edit"))
        );
        for event in first {
            peer.event(event);
        }
        for event in receiver {
            peer.event(event);
        }
        peer.wait_for_hangup();
    });
    (sender, script)
}

/// `run` on a terminal whose daemon sends these events; `play` is what it is asked in between.
fn run_with(
    command: Command,
    first: Vec<Value>,
    play: impl FnOnce(&mut ScriptedPeer, &Sender<Value>) + Send + 'static,
) -> Ran {
    let (tell, events) = told(first);
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        start_run(peer);
        play(peer, &tell);
        drop(tell);
        peer.answer("run/get", goal());
        peer.wait_for_hangup();
    });
    command.against(vec![control, events])
}

fn run(press_after: &[(&'static str, &'static str)]) -> Command {
    Command {
        is_terminal: true,
        press_after: press_after.to_vec(),
        ..Command::new(&["run", "scout", "-p", "q", "--new"])
    }
}

/// It is looked at: fetched, and claimed.
pub(super) fn looks_at(peer: &mut ScriptedPeer, question: &Value) {
    let id = &question["confirmationId"];
    assert_eq!(&peer.answer("confirmation/get", json!({"confirmation": question}))["confirmationId"], id);
    let claim = json!({"confirmationId": id, "claim": {"until": "2025-11-20T11:14:00.000Z"}});
    assert_eq!(&peer.answer("confirmation/claim", claim)["confirmationId"], id);
}

/// It is answered, which is taken; what was said.
pub(super) fn responds(peer: &mut ScriptedPeer, outcome: &str) -> Value {
    let resolution =
        json!({"outcome": outcome, "by": "client", "digest": "d", "at": "2025-11-20T11:04:01.000Z"});
    let answer = json!({"confirmationId": ID, "runId": "r1", "resolution": resolution, "seq": 9});
    let params = peer.answer("confirmation/respond", answer);
    assert_eq!(params["outcome"], outcome);
    params
}

fn refuses(peer: &mut ScriptedPeer, kind: &str, message: &str, details: Value) -> Value {
    let data = json!({"kind": kind, "retryable": false, "details": details, "hint": "look again"});
    peer.refuse("confirmation/respond", json!({"code": -31040, "message": message, "data": data}))
}

/// The prompt, as far as it waits for a key.
pub(super) const CHOOSE: &str = "? more › ";

/// The prompt, as far as it waits for the second key of an answer.
pub(super) const CONFIRM: &str = "goes back › ";

#[test]
fn a_question_is_shown_with_its_diff_and_answered_by_a_key() {
    let ran =
        run_with(run(&[(CHOOSE, "y")]), vec![requested(3, true, &question(json!({})))], |peer, tell| {
            looks_at(peer, &question(json!({})));
            let params = responds(peer, "allowOnce");
            assert_eq!((&params["digest"], &params["confirmationId"]), (&json!("sha256:01"), &json!(ID)));
            tell.send(resolved(4, "allowOnce", "eve")).unwrap();
            ends(5, tell);
        });
    for shown in ["? scout › writer asks · edit_file · risk low\n│ Edit a.rs\n", "│ -old\n│ +new\n"]
    {
        assert!(ran.stderr.contains(shown), "{shown}: {}", ran.stderr);
    }
    // Once it is decided, that is all that is left of it.
    expect![[r#"
        ✓ allowed once by eve · Edit a.rs · 2025-11-20 11:04:01Z
        ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s

    "#]]
    .assert_eq(&left_on_screen(&ran.stderr));
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "done\n"));
    let prompt = "y once · s session · p project · e edit · n deny · c cancel run · ? more › ";
    assert!(ran.drawn.iter().any(|line| line == prompt), "{:?}", ran.drawn);
}

#[test]
fn each_key_is_its_own_outcome_and_no_other_key_is_one() {
    let cases = [
        (&[(CHOOSE, "y")][..], "allowOnce"),
        (&[(CHOOSE, "s"), (CONFIRM, "\n")], "allowSession"),
        (&[(CHOOSE, "p"), (CONFIRM, "\n")], "allowProject"),
        (&[(CHOOSE, "c"), (CONFIRM, "\n")], "cancelRun"),
        (&[(CHOOSE, "n"), ("why not?", "\n")], "deny"),
        // Another key goes back.
        (&[(CHOOSE, "s"), (CONFIRM, "\x1b"), (CHOOSE, "p"), (CONFIRM, "x"), (CHOOSE, "y")], "allowOnce"),
    ];
    for (keys, outcome) in cases {
        run_with(run(keys), vec![requested(3, true, &question(json!({})))], move |peer, tell| {
            looks_at(peer, &question(json!({})));
            assert!(responds(peer, outcome).get("message").is_none());
            tell.send(resolved(4, outcome, "eve")).unwrap();
            ends(5, tell);
        });
    }
    // What is no key of a choice decides nothing, nor do the parts of an arrow; Esc goes back.
    let keys = [
        (CHOOSE, "uaYN\n \x1b[A\x1bOy\x1byqn"),
        (CHOOSE, "n"),
        ("why not?", "no\x1b"),
        (CHOOSE, "n"),
        ("Esc goes back", "too\x7f\x15bad ünd"),
        ("bad ünd", "\n"),
    ];
    let ran = run_with(run(&keys), vec![requested(3, true, &question(json!({})))], |peer, tell| {
        looks_at(peer, &question(json!({})));
        assert_eq!(responds(peer, "deny")["message"], "bad ünd");
        tell.send(resolved(4, "deny", "eve")).unwrap();
        ends(5, tell);
    });
    assert!(ran.stderr.contains("✗ denied by eve · Edit a.rs"), "{}", ran.stderr);
}

#[test]
fn what_a_newer_daemon_offers_is_never_consent() {
    let details = json!({"type": "comet", "tail": "\u{1b}[2Jlong"});
    let options = json!([
        {"outcome": "allowForever", "label": "Allow for ever"},
        {"outcome": "modify", "label": "Change it"},
    ]);
    let question = question(json!({"details": details, "options": options, "risk": "COMET"}));
    let keys = [
        (CHOOSE, "y"),
        (CHOOSE, "s"),
        (CHOOSE, "e"),
        (CHOOSE, "?"),
        ("goes back › ", "y"),
        (CHOOSE, "n"),
        ("why not?", "\n"),
    ];
    let shown = question.clone();
    let ran = run_with(run(&keys), vec![requested(3, true, &question)], move |peer, tell| {
        looks_at(peer, &shown);
        responds(peer, "deny");
        tell.send(resolved(4, "deny", "eve")).unwrap();
        ends(5, tell);
    });
    for shown in [
        "│   \"tail\": \"\\u001b[2Jlong\"",
        "-  Allow for ever (`allowForever` is for a newer `subagent`)",
        "n  Deny",
    ] {
        assert!(ran.stderr.contains(shown), "{shown}: {}", ran.stderr);
    }
}

#[test]
fn an_unknown_resolution_is_no_consent_either() {
    let ran = run_with(run(&[]), vec![requested(3, true, &question(json!({})))], |peer, tell| {
        looks_at(peer, &question(json!({})));
        tell.send(resolved(4, "allowForever", "eve")).unwrap();
        ends(5, tell);
    });
    assert!(ran.stderr.contains("✗ answered `allowForever` by eve · Edit a.rs"), "{}", ran.stderr);
}

#[test]
fn a_question_that_somebody_else_answers_is_taken_away() {
    let ran = run_with(run(&[]), vec![requested(3, true, &question(json!({})))], |peer, tell| {
        looks_at(peer, &question(json!({})));
        let claim = json!({"confirmationId": ID, "claim": {"clientId": "c9", "name": "phone", "until": "2025-11-20T11:05:00.000Z"}});
        tell.send(json!({"type": "signal.claim", "sessionId": "s1", "data": claim})).unwrap();
        tell.send(resolved(4, "allowOnce", "bob-1")).unwrap();
        ends(5, tell);
    });
    assert!(ran.stderr.contains("phone reads this question, too"), "{}", ran.stderr);
    assert!(ran.stderr.contains("✓ allowed once by bob-1 · Edit a.rs"), "{}", ran.stderr);
    assert_eq!(ran.exit_code, 0);
}

/// While hooks are asked about what eve made of the call, no other answer counts: none is asked for.
#[test]
fn a_question_that_somebody_else_answered_with_a_change_waits_for_what_hooks_say() {
    let (eve, read) = (
        json!({"clientId": "eve@pts/3-0123abcd", "until": "2025-11-20T11:14:00.000Z", "answered": true}),
        json!({"clientId": "eve@pts/3-0123abcd", "until": "2025-11-20T11:14:00.000Z"}),
    );
    let claims = move |claim: &Value| json!({"type": "signal.claim", "sessionId": "s1", "data": {"confirmationId": ID, "claim": claim}});
    let ran =
        run_with(run(&[(CHOOSE, "y")]), vec![requested(3, true, &question(json!({})))], move |peer, tell| {
            let answered = question(json!({"state": "claimed", "claim": eve}));
            let asked = peer.answer("confirmation/get", json!({"confirmation": answered}));
            assert_eq!(asked["confirmationId"], ID);
            // A hook refused the change, so that it is as open as before.
            tell.send(claims(&read)).unwrap();
            looks_at(peer, &question(json!({})));
            responds(peer, "allowOnce");
            tell.send(resolved(4, "allowOnce", "eve")).unwrap();
            ends(5, tell);
        });
    let told = "answered with a change by eve (pts/3); hooks are asked about it, and no other answer counts meanwhile: Edit a.rs";
    assert_eq!(ran.stderr.matches(told).count(), 1, "{}", ran.stderr);
    let eve =
        json!({"clientId": "eve@pts/3-0123abcd", "until": "2025-11-20T11:14:00.000Z", "answered": true});
    let ran = run_with(run(&[]), vec![requested(3, true, &question(json!({})))], move |peer, tell| {
        looks_at(peer, &question(json!({})));
        tell.send(claims(&eve)).unwrap();
        let again = question(json!({"digest": "sha256:02"}));
        let mut event = revised(4, "changedByHook", &again);
        event["by"] = json!("eve@pts/3-0123abcd");
        tell.send(event).unwrap();
        looks_at(peer, &again);
        tell.send(claims(&Value::Null)).unwrap();
        tell.send(resolved(5, "allowOnce", "bob-1")).unwrap();
        ends(6, tell);
    });
    let changed = "~ a hook changed what eve (pts/3) had made of it, so it is asked again: Edit a.rs";
    for told in [told, changed] {
        assert_eq!(ran.stderr.matches(told).count(), 1, "{told}: {}", ran.stderr);
    }
}

#[test]
fn a_question_that_changes_is_shown_anew_and_the_new_one_is_answered() {
    let other = question(json!({"digest": "sha256:02", "title": "Edit a.rs anew"}));
    let event = revised(4, "changed", &other);
    let ran = run_with(
        run(&[("Edit a.rs anew\n│ ", ""), (CHOOSE, "y")]),
        vec![requested(3, true, &question(json!({})))],
        move |peer, tell| {
            looks_at(peer, &question(json!({})));
            // Only its deadline moved: it stays as it is.
            tell.send(revised(4, "deadline", &question(json!({})))).unwrap();
            let mut event = event;
            event["seq"] = json!(5);
            event["prev"] = json!(4);
            tell.send(event).unwrap();
            looks_at(peer, &other);
            assert_eq!(responds(peer, "allowOnce")["digest"], "sha256:02");
            tell.send(resolved(6, "allowOnce", "eve")).unwrap();
            ends(7, tell);
        },
    );
    assert!(ran.stderr.contains("~ what it would touch changed meanwhile: Edit a.rs anew"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("+new").count(), 2, "{}", ran.stderr);
}

#[test]
fn an_answer_that_does_not_count_is_told_and_asked_for_again() {
    let keys = [(CHOOSE, "y"), (CHOOSE, "s"), (CONFIRM, "\n"), (CHOOSE, "y"), (CHOOSE, "y")];
    let ran = run_with(run(&keys), vec![requested(3, true, &question(json!({})))], |peer, tell| {
        looks_at(peer, &question(json!({})));
        refuses(peer, "CONFIRMATION_STALE", "stale", json!({}));
        looks_at(peer, &question(json!({"digest": "sha256:02"})));
        refuses(peer, "OUTCOME_NOT_OFFERED", "not offered", json!([]));
        looks_at(peer, &question(json!({"digest": "sha256:03"})));
        refuses(peer, "INTERNAL_ERROR", "it broke", json!({}));
        let resolution = json!({"outcome": "deny", "by": "client", "name": "bob-1", "message": "no"});
        let params =
            refuses(peer, "CONFIRMATION_ALREADY_RESOLVED", "late", json!({"resolution": resolution}));
        assert_eq!(params["digest"], "sha256:03");
        tell.send(resolved(4, "deny", "bob-1")).unwrap();
        ends(5, tell);
    });
    for told in [
        "! the question changed while you read it; your answer was not taken",
        "! this answer is not offered any more",
        "! it broke",
        "! your answer came too late: denied by bob-1: no",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert_eq!(ran.exit_code, 0);
}

/// The edit is in the question as it is asked now.
#[test]
fn an_edit_that_a_hook_changes_again_is_told_to_be_taken() {
    let ran = run_with(
        run(&[(CHOOSE, "y"), (CHOOSE, "y")]),
        vec![requested(3, true, &question(json!({})))],
        |peer, tell| {
            looks_at(peer, &question(json!({})));
            refuses(peer, "CONFIRMATION_STALE", "taken", json!({"edited": true}));
            let again = question(json!({"digest": "sha256:02"}));
            tell.send(revised(4, "changedByHook", &again)).unwrap();
            looks_at(peer, &again);
            responds(peer, "allowOnce");
            tell.send(resolved(5, "allowOnce", "bob-1")).unwrap();
            ends(6, tell);
        },
    );
    assert!(
        ran.stderr.contains("! your edit was taken; a hook changed it, so it is asked again"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("your answer was not taken"), "{}", ran.stderr);
}

/// The edit is named, not the call that the model had asked for.
#[test]
fn an_edit_that_a_hook_refuses_is_named_as_it_was_refused() {
    let call = |seq: i64, data: Value| envelope(seq, "tool.state", data);
    let began = call(
        2,
        json!({"callId": "k1", "to": "validating", "name": "run_shell_command", "arguments": {"command": "echo one"}}),
    );
    let ran = run_with(
        run(&[(CHOOSE, "y")]),
        vec![began, requested(3, true, &question(json!({})))],
        move |peer, tell| {
            looks_at(peer, &question(json!({})));
            responds(peer, "allowOnce");
            let mut refused = resolved(4, "deny", "bob-1");
            refused["data"]["by"] = json!("hook");
            refused["data"]["edited"] = json!({"command": "rm b.txt"});
            tell.send(refused).unwrap();
            let error = json!({"type": "HOOK_DENIED", "message": "rm is for people"});
            tell.send(call(
                5,
                json!({"callId": "k1", "to": "error", "name": "run_shell_command", "error": error}),
            ))
            .unwrap();
            ends(6, tell);
        },
    );
    assert!(
        ran.stderr.contains("denied by a hook · Edit a.rs, changed by bob-1 into rm b.txt"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("✗ run_shell_command rm b.txt"), "{}", ran.stderr);
}

#[test]
fn the_end_of_the_input_decides_nothing() {
    let ran =
        run_with(run(&[(CHOOSE, "\x04")]), vec![requested(3, true, &question(json!({})))], |peer, tell| {
            looks_at(peer, &question(json!({})));
            peer.answer("confirmation/release", json!({"confirmationId": ID, "released": true}));
            // It is put away: being offered again is no reason to come back, being changed is.
            let mut again = question(json!({}));
            again["offered"] = json!(true);
            tell.send(json!({"type": "signal.confirmation", "sessionId": "s1", "data": again})).unwrap();
            tell.send(revised(4, "modified", &question(json!({})))).unwrap();
            looks_at(peer, &question(json!({})));
            tell.send(resolved(5, "deny", "bob-1")).unwrap();
            ends(6, tell);
        });
    assert!(ran.stderr.contains("left open; `subagent approve 019aa1b2-c3d4` or `deny`"), "{}", ran.stderr);
}

#[test]
fn ctrl_c_cancels_the_run_and_decides_nothing() {
    let command = Command { interrupt_after: vec!["? more"], ..run(&[]) };
    let ran = run_with(command, vec![requested(3, true, &question(json!({})))], |peer, tell| {
        looks_at(peer, &question(json!({})));
        peer.answer("run/cancel", json!({"run": record(json!({"state": "running"})), "seq": 4}));
        let mut event = resolved(4, "deny", "");
        event["data"]["by"] = json!("system");
        event["data"]["message"] = json!("the run was cancelled");
        tell.send(event).unwrap();
        ends(5, tell);
    });
    assert!(
        ran.stderr.contains("✗ denied without a person: the run was cancelled · Edit a.rs"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_is_asked_elsewhere_is_told_and_not_asked_until_it_is_offered_here() {
    let ran =
        run_with(run(&[(CHOOSE, "y")]), vec![requested(3, false, &question(json!({})))], |peer, tell| {
            let mut offered = question(json!({}));
            offered["offered"] = json!(true);
            tell.send(json!({"type": "signal.confirmation", "sessionId": "s1", "data": offered})).unwrap();
            looks_at(peer, &question(json!({})));
            responds(peer, "allowOnce");
            tell.send(resolved(4, "allowOnce", "eve")).unwrap();
            ends(5, tell);
        });
    let line =
        "? asked elsewhere; `subagent approve 019aa1b2-c3d4` or `deny 019aa1b2-c3d4`: Edit a.rs (risk low)";
    assert!(ran.stderr.contains(line), "{}", ran.stderr);
}

#[test]
fn several_questions_come_one_after_the_other() {
    let second = question(json!({"confirmationId": OTHER, "title": "Edit b.rs"}));
    let first = vec![requested(3, true, &question(json!({}))), requested(4, true, &second)];
    // What is typed beyond the first question is not for the second.
    let ran = run_with(
        run(&[(CHOOSE, "yyy"), (CHOOSE, "y"), (CHOOSE, "n"), ("why not?", "\n")]),
        first,
        move |peer, tell| {
            looks_at(peer, &question(json!({})));
            responds(peer, "allowOnce");
            looks_at(peer, &second);
            assert_eq!(responds(peer, "deny")["confirmationId"], OTHER);
            tell.send(resolved(5, "allowOnce", "eve")).unwrap();
            ends(6, tell);
        },
    );
    assert!(ran.stderr.contains("? scout › writer asks · edit_file · risk low · 1 of 2"), "{}", ran.stderr);
}

#[test]
fn the_fields_of_a_form_are_answered_one_after_the_other() {
    let questions = json!([
        {"question": "Age (a whole number)", "kind": "integer", "optional": true},
        {"question": "Sure?", "kind": "boolean", "options": ["yes", "no"], "closed": true},
    ]);
    let options = json!([{"outcome": "answer", "label": "Answer"}, {"outcome": "deny", "label": "Decline"}]);
    let asked =
        question(json!({"details": {"type": "question", "questions": questions}, "options": options}));
    let first = vec![requested(3, true, &asked)];
    let ran = run_with(
        run(&[("just Enter", "\n"), ("2 of 2: a number", "2"), ("› 2", "\n")]),
        first,
        move |peer, tell| {
            looks_at(peer, &asked);
            assert_eq!(responds(peer, "answer")["answers"], json!(["", "no"]));
            tell.send(resolved(4, "answer", "eve")).unwrap();
            ends(5, tell);
        },
    );
    assert!(ran.stderr.contains("may be left out"), "{}", ran.stderr);
}

#[test]
fn an_edit_is_sent_as_the_content_that_the_person_left() {
    let command = Command {
        editor: Some("printf more >>".into()),
        ..run(&[
            (CHOOSE, "e"),
            (CONFIRM, "\n"),
            ("e edit on · n deny · c cancel run · ? more › ", "e"),
            (CONFIRM, "\n"),
        ])
    };
    let ran = run_with(command, vec![requested(3, true, &question(json!({})))], |peer, tell| {
        looks_at(peer, &question(json!({})));
        let violations = json!([{"pointer": "/content", "message": "is no Rust"}]);
        assert_eq!(
            refuses(peer, "INVALID_PARAMS", "it does not fit", violations)["content"],
            "keep\nnew\nmore"
        );
        // Nothing of the work is lost.
        let params = responds(peer, "modify");
        assert_eq!(params["content"], "keep\nnew\nmoremore");
        tell.send(resolved(4, "modify", "eve")).unwrap();
        ends(5, tell);
    });
    for told in [
        "! /content: is no Rust",
        "! what you edited was not taken; `e` goes on with it",
        "✓ allowed with changes by eve",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    // Hooks may take long: nothing is left to press meanwhile.
    let sent = ran.drawn.iter().filter(|line| line.contains("sent; hooks are asked about it first"));
    assert_eq!(sent.count(), 2, "{:?}", ran.drawn);
}

#[test]
fn a_command_is_edited_like_a_file_and_the_end_of_its_last_line_is_the_editors() {
    let details = json!({
        "type": "exec", "command": "rm -r build", "directory": "/w", "rootCommands": ["rm"], "parsed": ["rm -r build"],
        "reasons": ["it removes a folder"], "sandbox": "bubblewrap (workspaceWrite, no network)",
    });
    let asked = question(json!({"tool": "run_shell_command", "title": "rm -r build", "details": details}));
    // One that knows the file's kind by its name.
    let editor = "f() { case \"$1\" in *-command.sh) echo 'rm -r out' > \"$1\";; esac; }; f";
    let command = Command { editor: Some(editor.into()), ..run(&[(CHOOSE, "e"), (CONFIRM, "\n")]) };
    let shown = asked.clone();
    let ran = run_with(command, vec![requested(3, true, &asked)], move |peer, tell| {
        looks_at(peer, &shown);
        let params = responds(peer, "modify");
        assert_eq!((&params["content"], params.get("arguments")), (&json!("rm -r out"), None));
        tell.send(resolved(4, "modify", "eve")).unwrap();
        ends(5, tell);
    });
    assert!(
        ran.stderr.contains("│ rm -r build\n│ ! it removes a folder\n│ in /w · sandbox: bubblewrap"),
        "{}",
        ran.stderr
    );
    assert!(ran.drawn.iter().any(|line| line.contains("e edit · n deny")), "{:?}", ran.drawn);
    // An editor that only ends the last line has changed nothing.
    let command = Command { editor: Some("echo >>".into()), ..run(&[(CHOOSE, "e"), (CHOOSE, "\x04")]) };
    let shown = asked.clone();
    let ran = run_with(command, vec![requested(3, true, &asked)], move |peer, tell| {
        looks_at(peer, &shown);
        peer.answer("confirmation/release", json!({"confirmationId": ID, "released": true}));
        ends(4, tell);
    });
    assert!(ran.stderr.contains("! nothing was changed; nothing was sent"), "{}", ran.stderr);
}

#[test]
fn an_editor_that_changes_nothing_or_fails_sends_nothing() {
    for (editor, told) in
        [("true", "! nothing was changed; nothing was sent"), ("false", "! false ended with exit status: 1")]
    {
        let command = Command { editor: Some(editor.into()), ..run(&[(CHOOSE, "e"), (CHOOSE, "\x04")]) };
        let ran = run_with(command, vec![requested(3, true, &question(json!({})))], |peer, tell| {
            looks_at(peer, &question(json!({})));
            peer.answer("confirmation/release", json!({"confirmationId": ID, "released": true}));
            ends(4, tell);
        });
        assert!(ran.stderr.contains(told), "{editor}: {}", ran.stderr);
    }
}

#[test]
fn what_an_agent_asks_is_answered_by_numbers_or_words() {
    let questions = json!([
        {"question": "Which way?", "options": ["left", "right"]},
        {"question": "Which \u{1b}[31mcolours?", "options": ["red", "green", "blue"], "multiSelect": true},
        {"question": "Why?"},
    ]);
    let options =
        json!([{"outcome": "answer", "label": "Answer"}, {"outcome": "deny", "label": "Do not answer"}]);
    let details = json!({"type": "question", "questions": questions});
    let question = question(json!({"details": details, "options": options, "tool": "ask_user"}));
    let keys = [
        ("1 of 3: a number, or your own words; Esc to deny or cancel › ", "7"),
        ("› 7", "\n"),
        ("there is no option 7", "\x7f2"),
        ("› 2", "\n"),
        ("2 of 3: numbers", "1,3"),
        ("› 1,3", "\n"),
        ("3 of 3: your answer", "because of ü"),
        ("of ü", "\n"),
    ];
    let shown = question.clone();
    let ran = run_with(run(&keys), vec![requested(3, true, &question)], move |peer, tell| {
        looks_at(peer, &shown);
        let params = responds(peer, "answer");
        assert_eq!(params["answers"], json!(["right", ["red", "blue"], "because of ü"]));
        tell.send(resolved(4, "answer", "eve")).unwrap();
        ends(5, tell);
    });
    assert!(
        ran.stderr.contains("│   2 right") && ran.stderr.contains("Which ^[[31mcolours?"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("✓ answered by eve"), "{}", ran.stderr);
}

#[test]
fn what_was_answered_before_escape_is_there_when_one_comes_back() {
    let questions = json!([
        {"question": "Which way?", "options": ["left", "right"]},
        {"question": "Which colours?", "options": ["red", "green", "blue"], "multiSelect": true},
        {"question": "Why?"},
    ]);
    let options =
        json!([{"outcome": "answer", "label": "Answer"}, {"outcome": "deny", "label": "Do not answer"}]);
    let details = json!({"type": "question", "questions": questions});
    let question = question(json!({"details": details, "options": options, "tool": "ask_user"}));
    let keys = [
        ("1 of 3: a number", "2"),
        ("› 2", "\n"),
        ("2 of 3: numbers", "1"),
        ("› 1", "\x1b"),
        (CHOOSE, "a"),
        ("answered: right", ""),
        ("cancel › 1", ",3"),
        ("› 1,3", "\n"),
        ("answered: right · red, blue", ""),
        ("3 of 3: your answer", "ok"),
        ("› ok", "\n"),
    ];
    let shown = question.clone();
    let ran = run_with(run(&keys), vec![requested(3, true, &question)], move |peer, tell| {
        looks_at(peer, &shown);
        assert_eq!(responds(peer, "answer")["answers"], json!(["right", ["red", "blue"], "ok"]));
        tell.send(resolved(4, "answer", "eve")).unwrap();
        ends(5, tell);
    });
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
}

#[test]
fn whoever_decided_here_is_you_on_every_connection() {
    let (tell, events) = told(vec![requested(3, true, &question(json!({})))]);
    let control: DaemonScript = Box::new(move |peer| {
        let hello = peer.answer("initialize", json!({"daemon": {"version": env!("CARGO_PKG_VERSION")}}));
        let me = hello["clientId"].as_str().unwrap().to_owned();
        assert!(me.starts_with("ada-") && hello["capabilities"]["confirmations"].is_object(), "{hello}");
        start_run(peer);
        looks_at(peer, &question(json!({})));
        responds(peer, "allowSession");
        let mut event = resolved(4, "allowSession", &me);
        event["data"]["rule"] = options()[1]["remembers"].clone();
        tell.send(event).unwrap();
        ends(5, &tell);
        drop(tell);
        peer.answer("run/get", goal());
    });
    let ran = run(&[(CHOOSE, "s"), (CONFIRM, "\n")]).against(vec![control, events]);
    let line = "✓ allowed in this session by you · from now on: edit_file · only what writes /w/a.rs · in session s1 · Edit a.rs";
    assert!(ran.stderr.contains(line), "{}", ran.stderr);
}

#[test]
fn an_answer_outlives_a_restart_of_the_daemon() {
    let (tell, events) = told(vec![requested(3, true, &question(json!({})))]);
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        start_run(peer);
        looks_at(peer, &question(json!({})));
        // The answer gets lost: whether it was taken is unknown.
        peer.hang_up_on("confirmation/respond");
    });
    let again: DaemonScript = Box::new(move |peer| {
        assert_eq!(responds(peer, "allowOnce")["digest"], "sha256:01");
        assert!(peer.introduction.is_some(), "it is the same client, so the daemon gives it the same answer");
        tell.send(resolved(4, "allowOnce", "eve")).unwrap();
        ends(5, &tell);
        drop(tell);
        peer.answer("run/get", goal());
    });
    let ran = run(&[(CHOOSE, "y")]).against(vec![control, events, again]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
}
