//! The laws themselves: lawful logs pass, and each law catches the log that breaks it.
//!
//! Logs are written one event a line: `[#seq] [@run] type [call from>to] [{data}]`. What is not said is filled in:
//! `seq` counts lines, the run is `r1`, and `tool.state` has what the spec demands of it. In the JSON, null takes a
//! field away and `"^"` holds fields of the envelope.

use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};

use super::{Attached, Deltas, check, check_delivery, check_finished, check_subscription};

/// A run of two turns, in which one call succeeds, one is refused and the model fails once in passing.
const GOOD: &str = r#"
    session.created {"^": {"runId": null}}
    run.started {"completion": "tool"}
    turn.started {"turn": 1}
    model.started {"stream": "s1", "attempt": 1}
    model.retrying {"stream": "s1", "attempt": 2, "usage": {"promptTokens": 3}}
    model.started {"stream": "s2", "attempt": 2}
    thought {"stream": "s2", "text": "hm", "^": {"activity": "THOUGHT_CHUNK", "turn": 1, "promptId": "r1#1"}}
    model.completed {"stream": "s2", "text": "look", "calls": ["c1", "c2"], "usage": {"promptTokens": 7}}
    tool.state c1 >validating
    tool.state c2 >validating
    tool.state c1 validating>scheduled
    tool.state c2 validating>error {"error": {"type": "TOOL_NOT_ALLOWED", "message": "no"}}
    tool.state c1 scheduled>executing
    tool.state c1 executing>success
    turn.completed {"turn": 1, "toolCalls": 2}
    turn.started {"turn": 2}
    model.started {"stream": "s3", "attempt": 1}
    model.completed {"stream": "s3", "text": "", "calls": ["c3"], "usage": {"promptTokens": 9}}
    tool.state c3 >validating {"name": "complete_task"}
    tool.state c3 validating>success {"name": "complete_task"}
    turn.completed {"turn": 2, "toolCalls": 1}
    run.completed {"reason": "GOAL", "turns": 2, "toolCalls": 3, "usage": {"promptTokens": 19}}
"#;

/// A run that is stopped by a limit while it waits for a call, and saved by its grace turn.
const RECOVERED: &str = r#"
    run.started {"completion": "tool"}
    turn.started {"turn": 1}
    model.started {"stream": "s1", "attempt": 1}
    model.completed {"stream": "s1", "calls": ["c1", "c2"]}
    tool.state c1 >validating
    tool.state c1 validating>scheduled {"details": {"kind": "edit"}}
    tool.state c1 scheduled>executing
    tool.state c2 >validating
    tool.state c2 validating>scheduled
    tool.state c2 scheduled>executing
    run.resumed {"unclean": true}
    tool.state c1 executing>error {"error": {"type": "INTERRUPTED", "message": "look"}}
    run.stopping {"reason": "TIMEOUT", "then": "grace"}
    tool.state c2 executing>cancelled
    turn.completed {"turn": 1, "toolCalls": 2}
    turn.started {"turn": 2, "grace": "TIMEOUT"}
    model.started {"stream": "s2", "attempt": 1}
    model.completed {"stream": "s2", "calls": ["c3"]}
    tool.state c3 >validating {"name": "complete_task"}
    tool.state c3 validating>scheduled {"name": "complete_task"}
    tool.state c3 scheduled>executing {"name": "complete_task"}
    tool.state c3 executing>success {"name": "complete_task"}
    turn.completed {"turn": 2, "toolCalls": 1}
    run.completed {"reason": "GOAL", "recovered": true, "recoveredFrom": "TIMEOUT", "turns": 2, "toolCalls": 3}
"#;

/// A run whose limit comes while a neighbour of an accepted `complete_task` runs; the daemon dies meanwhile.
const PENDING: &str = r#"
    run.started {"completion": "tool"}
    turn.started {"turn": 1}
    model.started {"stream": "s1", "attempt": 1}
    model.completed {"stream": "s1", "calls": ["c1", "c2"]}
    tool.state c1 >validating
    tool.state c2 >validating {"name": "complete_task"}
    tool.state c1 validating>scheduled {"details": {"kind": "execute"}}
    tool.state c1 scheduled>executing
    tool.state c2 validating>scheduled {"name": "complete_task"}
    run.stopping {"reason": "TIMEOUT", "then": "grace"}
    run.resumed {"unclean": true}
    tool.state c1 executing>cancelled
    tool.state c2 scheduled>executing {"name": "complete_task"}
    tool.state c2 executing>success {"name": "complete_task"}
    turn.completed {"turn": 1, "toolCalls": 2}
    run.completed {"reason": "GOAL", "turns": 1, "toolCalls": 2}
"#;

/// A run whose driver has a defect. What it had open is committed in one append with its end.
const PANICKED: &str = r#"
    run.started {"completion": "tool"}
    turn.started {"turn": 1}
    model.started {"stream": "s1", "attempt": 1}
    model.completed {"stream": "s1", "calls": ["c1"]}
    tool.state c1 >validating
    tool.state c1 validating>scheduled
    tool.state c1 scheduled>executing
    tool.state c1 executing>error {"error": {"type": "INTERRUPTED", "message": "m"}}
    run.stopping {"reason": "ERROR", "then": "end", "error": {"code": "PANIC", "message": "m"}}
    run.completed {"reason": "ERROR", "error": {"code": "PANIC", "message": "m"}, "turns": 1, "toolCalls": 1}
"#;

/// A run that is cancelled while the model speaks.
const CANCELLED: &str = r#"
    run.started {"completion": "tool"}
    turn.started {"turn": 1}
    model.started {"stream": "s1", "attempt": 1}
    run.stopping {"reason": "ABORTED", "then": "end"}
    model.completed {"stream": "s1", "text": "I wi", "cut": true, "calls": []}
    run.completed {"reason": "ABORTED", "turns": 1, "toolCalls": 0}
"#;

/// A run that calls two others, one of which has to wait for a place and calls a third; another run waits behind it in
/// its context, and something is said to it.
const FAMILY: &str = r#"
    run.started {"agent": "lead", "path": "lead#1", "contextId": "x1"}
    turn.started {"turn": 1}
    model.started {"stream": "s1", "attempt": 1}
    @q run.queued {"for": "context", "run": {"agent": "lead", "path": "lead#1", "contextId": "x1"}}
    model.completed {"stream": "s1", "calls": ["c1", "c2"]}
    tool.state c1 >validating {"name": "w"}
    tool.state c2 >validating {"name": "w"}
    tool.state c1 validating>scheduled {"name": "w"}
    tool.state c1 scheduled>executing {"name": "w", "childRunId": "a"}
    tool.state c2 validating>scheduled {"name": "w"}
    tool.state c2 scheduled>executing {"name": "w", "childRunId": "b"}
    @a run.started {"agent": "w", "path": "lead#1/w#1", "depth": 1, "parentCallId": "c1", "rootRunId": "r1", "contextId": "x2", "^": {"parentRunId": "r1"}}
    @a turn.started {"turn": 1, "^": {"parentRunId": "r1"}}
    @a model.started {"stream": "s2", "attempt": 1, "^": {"parentRunId": "r1"}}
    @b run.queued {"for": "place", "run": {"agent": "w", "path": "lead#1/w#2", "depth": 1, "parentCallId": "c2", "rootRunId": "r1", "contextId": "x3"}, "^": {"parentRunId": "r1"}}
    run.steered {"steerId": "m1", "text": "Faster."}
    run.steered {"steerId": "m2", "text": "Better."}
    @a model.completed {"stream": "s2", "calls": ["c3"], "^": {"parentRunId": "r1"}}
    @a tool.state c3 >validating {"name": "complete_task", "^": {"parentRunId": "r1"}}
    @a tool.state c3 validating>success {"name": "complete_task", "^": {"parentRunId": "r1"}}
    @a turn.completed {"turn": 1, "toolCalls": 1, "^": {"parentRunId": "r1"}}
    @a run.completed {"reason": "GOAL", "turns": 1, "toolCalls": 1, "^": {"parentRunId": "r1"}}
    @b run.started {"agent": "w", "path": "lead#1/w#2", "depth": 1, "parentCallId": "c2", "rootRunId": "r1", "contextId": "x3", "^": {"parentRunId": "r1"}}
    @b turn.started {"turn": 1, "^": {"parentRunId": "r1"}}
    @b model.started {"stream": "s3", "attempt": 1, "^": {"parentRunId": "r1"}}
    tool.state c1 executing>success {"name": "w", "result": {"data": {"runId": "a", "reason": "GOAL"}}}
    @b model.completed {"stream": "s3", "calls": ["c4"], "^": {"parentRunId": "r1"}}
    @b tool.state c4 >validating {"name": "v", "^": {"parentRunId": "r1"}}
    @b tool.state c4 validating>scheduled {"name": "v", "^": {"parentRunId": "r1"}}
    @b tool.state c4 scheduled>executing {"name": "v", "childRunId": "c", "^": {"parentRunId": "r1"}}
    @c run.started {"agent": "v", "path": "lead#1/w#2/v#1", "depth": 2, "parentCallId": "c4", "rootRunId": "r1", "contextId": "x4", "^": {"parentRunId": "b"}}
    @c run.stopping {"reason": "ABORTED", "then": "end", "^": {"parentRunId": "b"}}
    @c run.completed {"reason": "ABORTED", "turns": 0, "toolCalls": 0, "^": {"parentRunId": "b"}}
    @b tool.state c4 executing>cancelled {"name": "v", "result": {"data": {"runId": "c", "reason": "ABORTED"}}, "^": {"parentRunId": "r1"}}
    @b run.stopping {"reason": "ABORTED", "then": "end", "^": {"parentRunId": "r1"}}
    @b run.completed {"reason": "ABORTED", "turns": 1, "toolCalls": 1, "^": {"parentRunId": "r1"}}
    tool.state c2 executing>cancelled {"name": "w", "result": {"data": {"runId": "b", "reason": "ABORTED"}}}
    turn.completed {"turn": 1, "toolCalls": 2}
    turn.started {"turn": 2}
    run.steered {"steerId": "m1", "text": "Faster.", "turn": 2}
    run.steered {"steerId": "m2", "text": "Better.", "turn": 2}
    model.started {"stream": "s4", "attempt": 1}
    run.stopping {"reason": "ABORTED", "then": "end"}
    run.completed {"reason": "ABORTED", "turns": 2, "toolCalls": 2}
    @q run.queued {"for": "place"}
    @q run.started {"agent": "lead", "path": "lead#1", "contextId": "x1"}
    @q run.completed {"reason": "ABORTED", "turns": 0, "toolCalls": 0}
"#;

/// Three calls are asked about: one is allowed for the session after it was changed on disk, one denied, one nobody
/// answers before the run is cancelled.
const QUESTIONS: &str = r#"
    run.started {"completion": "tool"}
    turn.started {"turn": 1}
    model.started {"stream": "s1", "attempt": 1}
    model.completed {"stream": "s1", "calls": ["c1", "c2", "c3"]}
    tool.state c1 >validating
    tool.state c2 >validating
    tool.state c3 >validating
    tool.state c1 validating>scheduled {"details": {"kind": "edit"}}
    tool.state c1 scheduled>awaitingApproval
    confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "digest": "d1"}}
    tool.state c2 validating>scheduled
    tool.state c2 scheduled>awaitingApproval
    confirmation.requested {"confirmation": {"confirmationId": "q2", "toolCallId": "c2", "digest": "d1"}}
    tool.state c3 validating>scheduled
    tool.state c3 scheduled>awaitingApproval
    confirmation.requested {"confirmation": {"confirmationId": "q3", "toolCallId": "c3", "digest": "d1"}}
    run.waiting {"waiting": true}
    run.resumed {"unclean": true}
    run.waiting {"waiting": true}
    confirmation.revised {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "digest": "d2"}}
    confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "allowSession", "by": "client", "digest": "d2", "rule": {"id": "u1"}}
    tool.state c1 awaitingApproval>executing
    run.waiting {"waiting": false}
    policy.changed {"added": [{"id": "u1", "fromConfirmation": "q1"}], "^": {"runId": null}}
    confirmation.resolved {"confirmationId": "q2", "toolCallId": "c2", "outcome": "deny", "by": "client", "digest": "d1"}
    tool.state c2 awaitingApproval>error {"error": {"type": "USER_DENIED", "message": "no"}}
    file.changed {"callId": "c1", "path": "/w/a", "change": "modified", "undoId": "u"}
    tool.state c1 executing>success
    run.waiting {"waiting": true}
    run.stopping {"reason": "ABORTED", "then": "end"}
    confirmation.resolved {"confirmationId": "q3", "toolCallId": "c3", "outcome": "deny", "by": "system", "digest": "d1"}
    tool.state c3 awaitingApproval>cancelled
    run.waiting {"waiting": false}
    turn.completed {"turn": 1, "toolCalls": 3}
    run.completed {"reason": "ABORTED", "turns": 1, "toolCalls": 3, "filesChanged": ["/w/a"]}
"#;

#[test]
fn every_lost_event_of_a_question_is_noticed() {
    let whole = log(QUESTIONS);
    for lost in 0..whole.len() {
        let kind = whole[lost]["type"].as_str().unwrap();
        let mut log = whole.clone();
        log.remove(lost);
        // A revision that is lost is an answer to something else; a resumption says nothing of questions.
        let is_proof =
            kind.starts_with("confirmation.") || ["policy.changed", "file.changed"].contains(&kind);
        if is_proof {
            assert!(check_finished(&log).is_err(), "nobody misses {}", whole[lost]);
        }
    }
}

fn caught_asking(from: &str, to: &str, expected: Expect) {
    let text = QUESTIONS.replacen(from, to, 1);
    assert_ne!(text, QUESTIONS, "nothing was changed");
    expected.assert_eq(&check(&log(&text)).unwrap_err().join("\n"));
}

#[test]
fn consent_is_a_persons_and_to_what_was_asked() {
    let allowed = r#""outcome": "allowSession", "by": "client", "digest": "d2""#;
    for by in ["policy", "deadline", "system"] {
        let other = format!(r#""outcome": "allowSession", "by": "{by}", "digest": "d2""#);
        let text = QUESTIONS.replacen(allowed, &other, 1);
        let told = check(&log(&text)).unwrap_err().join("\n");
        assert!(told.contains("not by a person"), "{told}");
    }
    caught_asking(
        allowed,
        r#""outcome": "allowSession", "by": "client", "digest": "d1""#,
        expect!["seq 21, run r1: an older question is answered"],
    );
    caught_asking(
        allowed,
        r#""outcome": "deny", "by": "client", "digest": "d2""#,
        expect![[r#"
        seq 22, run r1: call c1 runs after Some(("deny", "client"))
        seq 24: no answer made the rule u1"#]],
    );
}

#[test]
fn questions_begin_and_end_once() {
    let denied = r#"confirmation.resolved {"confirmationId": "q2""#;
    caught_asking(
        denied,
        r#"confirmation.resolved {"confirmationId": "q1""#,
        expect![[r#"
        seq 25, run r1: the question q1 is not open, and ends
        seq 25, run r1: an older question is answered"#]],
    );
    caught_asking(
        "tool.state c2 scheduled>awaitingApproval",
        "thought {}",
        expect![[r#"
        seq 12, run r1: a thought of , which was never opened
        seq 13, run r1: call c2 does not begin to wait with its question
        seq 26, run r1: call c2 says it comes from awaitingApproval, but it was scheduled"#]],
    );
}

#[test]
fn edits_are_of_what_is_asked_and_settled_once() {
    let edit =
        r#"confirmation.edited {"confirmationId": "q2", "toolCallId": "c2", "digest": "d1", "edited": {}}"#;
    let denied = r#"confirmation.resolved {"confirmationId": "q2""#;
    let lawful = QUESTIONS.replacen(denied, &format!("{edit}\n{denied}"), 1);
    assert_eq!(check(&log(&lawful)), Ok(()));
    caught_asking(
        denied,
        &format!("{edit}\n{edit}\n{denied}"),
        expect!["seq 26, run r1: a second edit of q2 before the first is settled"],
    );
    caught_asking(
        denied,
        &format!("{}\n{denied}", edit.replace("d1", "d2")),
        expect!["seq 25, run r1: an edit of q2, which does not ask that"],
    );
    let edit = edit.replace('2', "1").replace("d1", "d2");
    let text = QUESTIONS.replacen("tool.state c1 awaitingApproval>executing", "", 1).replacen(
        r#"confirmation.resolved {"confirmationId": "q1""#,
        &format!("{edit}\ntool.state c1 awaitingApproval>executing\nconfirmation.resolved {{\"confirmationId\": \"q1\""),
        1,
    );
    let told = check(&log(&text)).unwrap_err().join("\n");
    assert!(told.contains("call c1 goes on before its edit is settled"), "{told}");
}

#[test]
fn waiting_is_said_when_it_changes_and_nothing_goes_on_meanwhile() {
    caught_asking(
        r#"run.waiting {"waiting": false}"#,
        r#"run.waiting {"waiting": true}"#,
        expect![[r#"
        seq 23, run r1: the run says again that waiting is true
        seq 29, run r1: the run says again that waiting is true"#]],
    );
    caught_asking(
        "run.resumed {\"unclean\": true}",
        "turn.completed {\"turn\": 1, \"toolCalls\": 3}",
        expect![[r#"
            seq 18, run r1: `turn.completed`, but call c1 has not ended
            seq 18, run r1: `turn.completed`, but call c2 has not ended
            seq 18, run r1: `turn.completed`, but call c3 has not ended
            seq 18, run r1: turn.completed while the run waits for a person
            seq 19, run r1: the run says again that waiting is true
            seq 34, run r1: turn 1 is completed, but it is not going on"#]],
    );
}

#[test]
fn rules_and_files_are_what_the_log_shows() {
    caught_asking(
        r#"{"added": [{"id": "u1""#,
        r#"{"added": [{"id": "u2""#,
        expect![[r#"
        seq 21, run r1: the rule u1 was promised and never written
        seq 24: no answer made the rule u2"#]],
    );
    caught_asking(
        r#""filesChanged": ["/w/a"]"#,
        r#""filesChanged": []"#,
        expect![[r#"seq 35, run r1: `filesChanged` is {}, the log shows {"/w/a"}"#]],
    );
    caught_asking(
        r#"file.changed {"callId": "c1""#,
        r#"file.changed {"callId": "c2""#,
        expect!["seq 27, run r1: call c2 changes a file and does not execute"],
    );
    caught_asking(
        r#"file.changed {"callId": "c1""#,
        "sideCall.completed {\"callId\": \"c2\"}\nfile.changed {\"callId\": \"c1\"",
        expect!["seq 27, run r1: call c2 asked a model and does not execute"],
    );
}

#[test]
fn lawful_logs_pass() {
    for text in [GOOD, RECOVERED, PENDING, PANICKED, CANCELLED, FAMILY, QUESTIONS] {
        assert_eq!(check(&log(text)), Ok(()), "{text}");
        assert_eq!(check_finished(&log(text)), Ok(()), "{text}");
    }
}

/// Whatever was committed when the daemon died is lawful as far as it goes.
#[test]
fn every_beginning_of_a_lawful_log_passes_but_is_not_finished() {
    for text in [GOOD, RECOVERED, PENDING, CANCELLED] {
        let log = log(text);
        for end in 1..log.len() {
            assert_eq!(check(&log[..end]), Ok(()), "up to {}", log[end - 1]);
        }
        assert!(check_finished(&log[..log.len() - 1]).is_err());
    }
}

/// Leaving out any single event of these kinds is noticed: each one is somebody's proof.
#[test]
fn every_lost_event_is_noticed() {
    let proofs = ["run.started", "turn.started", "model.", "tool.state", "run.completed"];
    for text in [GOOD, RECOVERED] {
        let whole = log(text);
        let first_stop =
            whole.iter().position(|event| event["type"] == "run.stopping").unwrap_or(whole.len());
        for lost in 0..whole.len() {
            let kind = whole[lost]["type"].as_str().unwrap();
            let mut log = whole.clone();
            log.remove(lost);
            // A stop may cut a turn short.
            let is_proof = proofs.iter().any(|proof| kind.starts_with(proof))
                || (kind == "turn.completed" && lost < first_stop);
            if is_proof {
                assert!(check_finished(&log).is_err(), "nobody misses {}", whole[lost]);
            }
        }
    }
}

#[test]
fn every_event_that_is_written_twice_is_noticed() {
    for text in [GOOD, RECOVERED] {
        let whole = log(text);
        for twice in 0..whole.len() {
            let mut log = whole.clone();
            log.insert(twice, whole[twice].clone());
            for (at, event) in log.iter_mut().enumerate() {
                event["seq"] = json!(at + 1);
            }
            let may_repeat = ["session.created", "thought", "run.resumed"];
            if !may_repeat.contains(&whole[twice]["type"].as_str().unwrap()) {
                assert!(check_finished(&log).is_err(), "nobody minds a second {}", whole[twice]);
            }
        }
    }
}

/// Where the laws about calls begin: the model is asked as stream `s1`.
const ASKED: &str = r#"
    run.started {}
    turn.started {"turn": 1}
    model.started {"stream": "s1", "attempt": 1}
"#;

/// [`FAMILY`] with something else in the place of its only `from`.
fn caught_in_family(from: &str, to: &str, expected: Expect) {
    assert_eq!(FAMILY.matches(from).count(), 1, "{from}");
    let sentences = check_finished(&log(&FAMILY.replace(from, to))).expect_err("a law is broken");
    expected.assert_eq(&sentences.join("\n"));
}

/// But for `run.queued`: that a run had to wait, nobody else tells.
#[test]
fn every_lost_event_of_a_family_is_noticed() {
    let whole = log(FAMILY);
    let first_cut = whole.iter().position(|event| event["type"] == "run.stopping").unwrap();
    for lost in (0..first_cut).filter(|at| whole[*at]["type"] != "run.queued") {
        let mut log = whole.clone();
        log.remove(lost);
        assert!(check_finished(&log).is_err(), "nobody misses {}", whole[lost]);
    }
}

#[test]
fn a_child_begins_with_its_call() {
    caught_in_family(
        "\"childRunId\": \"b\"",
        "\"childRunId\": \"z\"",
        expect![[r#"
        seq 11, run r1: run z is to answer the call and is not in the log
        seq 15, run b: says that it answers a call, but no call names it
        seq 37, run r1: ends before run z, which answers it
        seq 44, run r1: ends before run z, which it called"#]],
    );
    caught_in_family(
        "\"childRunId\": \"b\"",
        "\"childRunId\": \"a\"",
        expect![[r#"
        seq 11, run r1: run a answers another call already
        seq 12, run a: `parentCallId` is "c1", not "c2"
        seq 12, run a: `path` is "lead#1/w#1", not "lead#1/w#2"
        seq 15, run b: says that it answers a call, but no call names it
        seq 37, run r1: tells {"runId":"b","reason":"ABORTED"}, but run a ended GOAL
        seq 37, run r1: is cancelled, but run a ended GOAL"#]],
    );
    caught_in_family(
        "    @a turn.started",
        "    @x run.started {}\n    @x run.completed {\"reason\": \"ABORTED\", \"turns\": 0, \"toolCalls\": 0}\n    @a turn.started",
        expect!["seq 13, run x: stands between a call and the beginning of its run b"],
    );
    caught_in_family(
        "    tool.state c2 validating>scheduled",
        "    @b warning {\"^\": {\"parentRunId\": \"r1\"}}\n    tool.state c2 validating>scheduled",
        expect![[r#"
            seq 10, run b: begins before the call that it answers executes
            seq 10, run b: `agent` is null, not "w"
            seq 10, run b: `parentCallId` is null, not "c2"
            seq 10, run b: `rootRunId` is null, not "r1"
            seq 10, run b: `depth` is null, not 1
            seq 10, run b: `path` is null, not "lead#1/w#2"
            seq 10, run b: `warning` of a run that has not begun
            seq 16, run b: says a second time what the run will be
            seq 32, run c: `rootRunId` is "r1", not "b"
            seq 32, run c: `depth` is 2, not 1
            seq 32, run c: `path` is "lead#1/w#2/v#1", not "/v#1""#]],
    );
}

#[test]
fn a_child_names_its_parent() {
    caught_in_family("\"depth\": 2", "\"depth\": 1", expect!["seq 31, run c: `depth` is 1, not 2"]);
    caught_in_family(
        "w#2/v#1",
        "w#1/v#1",
        expect![[r#"seq 31, run c: `path` is "lead#1/w#1/v#1", not "lead#1/w#2/v#1""#]],
    );
    caught_in_family(
        "\"parentCallId\": \"c4\", \"rootRunId\": \"r1\"",
        "\"parentCallId\": \"c1\"",
        expect![[r#"
            seq 31, run c: `parentCallId` is "c1", not "c4"
            seq 31, run c: `rootRunId` is null, not "r1""#]],
    );
    caught_in_family(
        "@a turn.completed {\"turn\": 1, \"toolCalls\": 1, \"^\": {\"parentRunId\": \"r1\"}}",
        "@a turn.completed {\"turn\": 1, \"toolCalls\": 1}",
        expect!["seq 21, run a: names null as the parent, which is r1"],
    );
    caught(
        r#"run.started {"depth": 1}"#,
        expect!["seq 1, run r1: says that it answers a call, but no call names it"],
    );
}

#[test]
fn a_child_ends_before_its_call() {
    caught_in_family(
        "    @c run.completed {\"reason\": \"ABORTED\", \"turns\": 0, \"toolCalls\": 0, \"^\": {\"parentRunId\": \"b\"}}\n",
        "",
        expect![[r#"
            seq 31, run c: the run that begins here never ends
            seq 33, run b: ends before run c, which answers it
            seq 35, run b: ends before run c, which it called"#]],
    );
    caught_in_family(
        "\"data\": {\"runId\": \"a\", \"reason\": \"GOAL\"}",
        "\"data\": {\"runId\": \"a\", \"reason\": \"ERROR\"}",
        expect![[r#"seq 26, run r1: tells {"runId":"a","reason":"ERROR"}, but run a ended GOAL"#]],
    );
    caught_in_family(
        "tool.state c1 executing>success",
        "tool.state c1 executing>error",
        expect!["seq 26, run r1: is error, but run a ended GOAL"],
    );
}

#[test]
fn a_queued_run_begins_as_announced_and_alone() {
    caught_in_family(
        "@q run.started {\"agent\": \"lead\"",
        "@q run.started {\"agent\": \"other\"",
        expect!["seq 46, run q: begins as something else than what was queued"],
    );
    caught_in_family(
        "@q run.queued {\"for\": \"place\"}",
        "@q turn.started {\"turn\": 1}",
        expect![[r#"
        seq 45, run q: `turn.started` of a run that only waits
        seq 47, run q: `turns` is 0, the log shows 1"#]],
    );
    caught_in_family(
        "    run.steered {\"steerId\": \"m1\", \"text\": \"Faster.\"}",
        "    @y run.started {\"contextId\": \"x1\"}\n    @y run.queued {\"for\": \"context\", \"run\": {}}\n    @y run.completed {\"reason\": \"ABORTED\", \"turns\": 0, \"toolCalls\": 0}\n    run.steered {\"steerId\": \"m1\", \"text\": \"Faster.\"}",
        expect![[r#"
            seq 16, run y: begins in the context of run r1, which goes on
            seq 17, run y: says a second time what the run will be
            seq 17, run y: waits for a context that it works in"#]],
    );
}

#[test]
fn steers_are_taken_in_once_and_in_order() {
    caught(
        r#"
        run.started {}
        run.steered {"steerId": "m1", "text": "a"}
        run.steered {"steerId": "m2", "text": "b"}
        run.steered {"steerId": "m2", "text": "b"}
        run.steered {"steerId": "m3", "text": "c"}
        turn.started {"turn": 1}
        run.steered {"steerId": "m2", "text": "b", "turn": 1}
        run.steered {"steerId": "m1", "text": "z", "turn": 1}
        model.started {"stream": "s1", "attempt": 1}
        run.steered {"steerId": "m3", "text": "c", "turn": 1}
        "#,
        expect![[r#"
            seq 4, run r1: message m2 is kept a second time
            seq 7, run r1: message m2 is not the one whose turn it is
            seq 8, run r1: message m1 is not the one whose turn it is
            seq 9, run r1: asks the model without message m3
            seq 10, run r1: message m3 comes in not where its turn begins"#]],
    );
    caught(
        r#"
        run.started {}
        run.steered {"steerId": "m1", "text": "a"}
        run.completed {"reason": "GOAL", "turns": 0, "toolCalls": 0}
        "#,
        expect!["seq 3, run r1: completes without having taken in message m1"],
    );
}

fn caught_in_turn(text: &str, expected: Expect) {
    caught(&format!("{ASKED}{text}"), expected);
}

fn caught(text: &str, expected: Expect) {
    let sentences = check(&log(text)).expect_err("a law is broken");
    expected.assert_eq(&sentences.join("\n"));
}

#[test]
fn log_laws() {
    caught(
        r#"signal.lag {}"#,
        expect![[r#"
        seq 1, run r1: `signal.lag` is no fact and cannot stand in the log
        seq 1, run r1: `signal.lag` of a run that has not begun"#]],
    );
    caught(
        r#"
        run.started {}
        #1 turn.started {"turn": 1}
        "#,
        expect!["seq 1, run r1: stands after seq 1; `seq` must rise"],
    );
    caught(
        r#"
        run.started {}
        turn.started {"turn": 1}
        model.started {"stream": "s1", "attempt": 1}
        model.retrying {"stream": "s1", "attempt": 2}
        model.started {"stream": "s1", "attempt": 2}
        "#,
        expect!["seq 5, run r1: stream `s1` is not new; deltas could not be told apart"],
    );
    caught(
        r#"
        run.started {}
        turn.started {"turn": 1}
        model.started {"stream": "s1", "attempt": 1}
        model.completed {"stream": "s1", "calls": ["c1"]}
        tool.state c1 >validating
        @r2 run.started {}
        @r2 tool.state c1 >validating
        "#,
        expect![[r#"
            seq 7, run r2: call c1 is of run r1
            seq 7, run r2: call c1 was never asked for"#]],
    );
    caught(
        r#"
        run.started {}
        turn.started {"turn": 1, "^": {"sessionId": "other"}}
        "#,
        expect![[r#"seq 2, run r1: is in session "other", its run is in "s""#]],
    );
}

#[test]
fn a_run_begins_once() {
    caught(
        r#"turn.started {"turn": 1}"#,
        expect![[r#"
            seq 1, run r1: `turn.started` of a run that has not begun
            seq 1, run r1: `turn.started` of a run that only waits"#]],
    );
    caught(
        r#"
        run.started {}
        run.started {}
        "#,
        expect!["seq 2, run r1: the run starts a second time"],
    );
}

#[test]
fn a_run_ends_once_and_for_good() {
    caught(
        r#"
        run.started {}
        run.completed {"reason": "ABORTED"}
        context.nudged {}
        run.completed {"reason": "ABORTED"}
        "#,
        expect![[r#"
            seq 3, run r1: `context.nudged` after the run's end
            seq 4, run r1: the run ends a second time"#]],
    );
    let unfinished = check_finished(&log(r#"run.started {}"#)).unwrap_err();
    expect!["seq 1, run r1: the run that begins here never ends"].assert_eq(&unfinished.join("\n"));
}

#[test]
fn a_limit_stops_before_it_ends() {
    caught(
        r#"
        run.started {}
        run.completed {"reason": "MAX_TURNS"}
        "#,
        expect!["seq 2, run r1: ends MAX_TURNS, which no `run.stopping` announced"],
    );
}

#[test]
fn nothing_starts_after_a_final_stop() {
    caught(
        r#"
        run.started {}
        run.stopping {"reason": "ABORTED", "then": "end"}
        turn.started {"turn": 1}
        model.started {"stream": "s1", "attempt": 1}
        "#,
        expect![[r#"
            seq 3, run r1: `turn.started` after the final stop
            seq 4, run r1: `model.started` after the final stop"#]],
    );
}

#[test]
fn grace_comes_once_and_after_a_stop() {
    caught(
        r#"
        run.started {}
        turn.started {"turn": 1, "grace": "TIMEOUT"}
        "#,
        expect!["seq 2, run r1: a grace turn that no stop granted"],
    );
    caught(
        r#"
        run.started {}
        run.stopping {"reason": "TIMEOUT", "then": "grace"}
        turn.started {"turn": 1}
        "#,
        expect!["seq 3, run r1: an ordinary turn after a stop for TIMEOUT"],
    );
    caught(
        r#"
        run.started {}
        run.stopping {"reason": "TIMEOUT", "then": "grace"}
        turn.started {"turn": 1, "grace": "BUDGET"}
        run.stopping {"reason": "TIMEOUT", "then": "grace"}
        "#,
        expect![[r#"
            seq 3, run r1: grace for BUDGET, but the run was stopped for TIMEOUT
            seq 4, run r1: grants a second grace turn"#]],
    );
}

#[test]
fn the_stop_decides_the_reason() {
    caught(
        r#"
        run.started {}
        run.stopping {"reason": "MAX_TURNS", "then": "grace"}
        turn.started {"turn": 1, "grace": "MAX_TURNS"}
        run.stopping {"reason": "TIMEOUT", "then": "end"}
        run.completed {"reason": "TIMEOUT", "turns": 1}
        "#,
        expect!["seq 5, run r1: ends TIMEOUT, but the run was stopped for MAX_TURNS"],
    );
    caught(
        r#"
        run.started {}
        run.stopping {"reason": "ABORTED", "then": "end"}
        run.completed {"reason": "GOAL"}
        "#,
        expect!["seq 3, run r1: ends GOAL, but the run was stopped for ABORTED"],
    );
}

#[test]
fn recovered_says_from_what() {
    caught(
        r#"
        run.started {}
        run.completed {"reason": "GOAL", "recovered": true}
        "#,
        expect!["seq 2, run r1: `recovered` is true, the log says false"],
    );
    caught(
        r#"
        run.started {}
        run.stopping {"reason": "TIMEOUT", "then": "grace"}
        turn.started {"turn": 1, "grace": "TIMEOUT"}
        run.stopping {"reason": "TIMEOUT", "then": "end"}
        run.completed {"reason": "TIMEOUT", "recoveredFrom": "TIMEOUT", "turns": 1}
        "#,
        expect![[r#"seq 5, run r1: `recoveredFrom` is TIMEOUT, the grace turn was for Some("TIMEOUT")"#]],
    );
}

#[test]
fn errors_have_a_code_and_others_none() {
    caught(
        r#"
        run.started {}
        run.completed {"reason": "ERROR"}
        @r2 run.started {}
        @r2 run.completed {"reason": "ABORTED", "error": {"code": "PANIC", "message": "m"}}
        "#,
        expect![[r#"
            seq 2, run r1: ends ERROR without a code and a message
            seq 4, run r2: ends ABORTED with an error"#]],
    );
}

#[test]
fn goal_is_earned() {
    caught(
        r#"
        run.started {"completion": "tool"}
        run.completed {"reason": "GOAL"}
        "#,
        expect!["seq 2, run r1: ends GOAL, but no `complete_task` was accepted"],
    );
    caught(
        r#"
        run.started {"completion": "tool"}
        turn.started {"turn": 1}
        model.started {"stream": "s1", "attempt": 1}
        model.completed {"stream": "s1", "calls": ["c1", "c2"]}
        tool.state c1 >validating {"name": "complete_task"}
        tool.state c2 >validating {"name": "complete_task"}
        tool.state c1 validating>success {"name": "complete_task"}
        tool.state c2 validating>success {"name": "complete_task"}
        run.completed {"reason": "ABORTED", "turns": 1, "toolCalls": 2}
        "#,
        expect![[r#"
            seq 8, run r1: a second `complete_task` is accepted
            seq 8, run r1: `tool.state` after `complete_task` was accepted
            seq 9, run r1: ends ABORTED, but `complete_task` was accepted"#]],
    );
}

#[test]
fn the_record_counts_what_the_log_shows() {
    caught(
        r#"
        run.started {}
        turn.started {"turn": 1}
        model.started {"stream": "s1", "attempt": 1}
        model.retrying {"stream": "s1", "attempt": 2, "usage": {"outputTokens": 2}}
        model.started {"stream": "s2", "attempt": 2}
        model.completed {"stream": "s2", "calls": [], "usage": {"outputTokens": 3}}
        turn.completed {"turn": 1, "toolCalls": 0}
        run.completed {"reason": "ABORTED", "turns": 2, "toolCalls": 1, "usage": {"outputTokens": 4}}
        "#,
        expect![[r#"
            seq 8, run r1: `turns` is 2, the log shows 1
            seq 8, run r1: `toolCalls` is 1, the log shows 0
            seq 8, run r1: `usage.outputTokens` is 4, the log shows 5"#]],
    );
}

#[test]
fn turns_are_numbered_and_paired() {
    caught(
        r#"
        run.started {}
        turn.started {"turn": 2}
        turn.started {"turn": 3}
        turn.completed {"turn": 2}
        model.started {"stream": "s1", "attempt": 1}
        "#,
        expect![[r#"
            seq 2, run r1: turn 2 after turn 0
            seq 3, run r1: turn 3 begins before turn 2 is over
            seq 4, run r1: turn 2 is completed, but it is not going on
            seq 5, run r1: the model is asked outside a turn"#]],
    );
    caught(
        r#"
        run.started {}
        turn.started {"turn": 1}
        run.completed {"reason": "GOAL", "turns": 1}
        "#,
        expect!["seq 3, run r1: the run ends before turn 1 is completed"],
    );
}

#[test]
fn every_ask_has_one_answer() {
    caught(
        r#"
        run.started {}
        turn.started {"turn": 1}
        model.started {"stream": "s1", "attempt": 1}
        model.started {"stream": "s2", "attempt": 1}
        model.completed {"stream": "s1"}
        turn.completed {"turn": 1}
        "#,
        expect![[r#"
            seq 4, run r1: asks again, but s1 was never answered
            seq 5, run r1: `model.completed` of s1, which is not open"#]],
    );
    caught(
        r#"
        run.started {}
        turn.started {"turn": 1}
        model.started {"stream": "s1", "attempt": 1}
        turn.completed {"turn": 1}
        "#,
        expect!["seq 4, run r1: the turn is over, but s1 was never answered"],
    );
}

#[test]
fn attempts_count_up() {
    caught(
        r#"
        run.started {}
        turn.started {"turn": 1}
        model.started {"stream": "s1", "attempt": 2}
        model.retrying {"stream": "s1", "attempt": 2}
        model.started {"stream": "s2", "attempt": 1}
        "#,
        expect![[r#"
            seq 3, run r1: attempt 2 where 1 was due
            seq 4, run r1: announces attempt 2 after attempt 2
            seq 5, run r1: attempt 1 where 3 was due"#]],
    );
}

#[test]
fn thoughts_belong_to_an_ask() {
    caught(
        r#"
        run.started {}
        thought {"stream": "s9", "text": "hm"}
        "#,
        expect!["seq 2, run r1: a thought of s9, which was never opened"],
    );
}

#[test]
fn the_transcript_is_well_formed() {
    caught(
        r#"
        run.started {}
        turn.started {"turn": 1}
        model.started {"stream": "s1", "attempt": 1}
        model.completed {"stream": "s1", "calls": ["c1", "c2"]}
        tool.state c1 >validating
        turn.completed {"turn": 1, "toolCalls": 2}
        "#,
        expect![[r#"
            seq 6, run r1: `turn.completed`, but call c1 has not ended
            seq 6, run r1: `turn.completed`, but call c2 has not ended"#]],
    );
    caught_in_turn(
        r#"
        model.completed {"stream": "s1", "calls": ["c1"]}
        tool.state c1 >validating
        run.completed {"reason": "ABORTED", "turns": 1, "toolCalls": 1}
        "#,
        expect!["seq 6, run r1: `run.completed`, but call c1 has not ended"],
    );
}

#[test]
fn the_turn_counts_its_calls() {
    caught(
        r#"
        run.started {}
        turn.started {"turn": 1}
        turn.completed {"turn": 1, "toolCalls": 1}
        "#,
        expect!["seq 3, run r1: `toolCalls` is 1, the model asked for 0"],
    );
}

#[test]
fn prompt_ids_name_run_and_turn() {
    caught(
        r#"
        run.started {}
        turn.started {"turn": 1, "^": {"turn": 1, "promptId": "r2#1"}}
        context.nudged {"^": {"turn": 2}}
        "#,
        expect![[r#"
            seq 2, run r1: `promptId` is r2#1, not r1#1
            seq 3, run r1: says turn 2, the run is in Some(1)"#]],
    );
}

#[test]
fn calls_were_asked_for() {
    caught(
        r#"
        run.started {}
        tool.state c1 >validating
        "#,
        expect!["seq 2, run r1: call c1 was never asked for"],
    );
}

#[test]
fn calls_follow_the_state_machine() {
    caught_in_turn(
        r#"
        model.completed {"stream": "s1", "calls": ["c1", "c2", "c3"]}
        tool.state c1 >validating
        tool.state c1 validating>executing
        tool.state c2 >validating
        tool.state c2 scheduled>executing
        tool.state c3 >scheduled
        "#,
        expect![[r#"
            seq 6, run r1: call c1 may not go from validating to executing
            seq 8, run r1: call c2 says it comes from scheduled, but it was validating
            seq 8, run r1: call c2 may not go from validating to executing
            seq 9, run r1: call c3 may not go from nothing to scheduled"#]],
    );
}

#[test]
fn only_complete_task_succeeds_without_executing() {
    caught_in_turn(
        r#"
        model.completed {"stream": "s1", "calls": ["c1"]}
        tool.state c1 >validating
        tool.state c1 validating>scheduled
        tool.state c1 scheduled>success
        "#,
        expect!["seq 7, run r1: call c1 may not go from scheduled to success"],
    );
}

#[test]
fn a_call_ends_and_executes_once() {
    caught_in_turn(
        r#"
        model.completed {"stream": "s1", "calls": ["c1"]}
        tool.state c1 >validating
        tool.state c1 validating>scheduled
        tool.state c1 scheduled>executing
        tool.state c1 executing>success
        tool.state c1 success>executing
        tool.state c1 executing>cancelled
        "#,
        expect![[r#"
            seq 9, run r1: call c1 may not go from success to executing
            seq 9, run r1: call c1 executes a second time
            seq 10, run r1: call c1 ends a second time"#]],
    );
}

#[test]
fn calls_say_first_what_they_are_and_last_what_came_of_it() {
    caught_in_turn(
        r#"
        model.completed {"stream": "s1", "calls": ["c1", "c2"]}
        tool.state c1 >validating {"arguments": null}
        tool.state c1 validating>scheduled {"name": "grep", "result": {}}
        tool.state c1 scheduled>executing
        tool.state c1 executing>success {"result": null}
        tool.state c2 >validating
        tool.state c2 validating>error {"error": {"message": "no type"}}
        "#,
        expect![[r#"
            seq 5, run r1: call c1 does not say its name and arguments
            seq 6, run r1: call c1 changes its name to grep
            seq 6, run r1: call c1 has a result while it is scheduled
            seq 8, run r1: call c1 succeeds, but has no result or an error
            seq 10, run r1: call c2 fails without an error type"#]],
    );
}

#[test]
fn calls_mark_their_activity() {
    caught_in_turn(
        r#"
        model.completed {"stream": "s1", "calls": ["c1"]}
        tool.state c1 >validating {"^": {"activity": null}}
        tool.state c1 validating>scheduled {"^": {"activity": "ERROR"}}
        "#,
        expect![[r#"
            seq 5, run r1: call c1 to validating has activity None instead of Some("TOOL_CALL_START")
            seq 6, run r1: call c1 to scheduled has activity Some("ERROR") instead of None"#]],
    );
}

#[test]
fn none_executes_while_stopping() {
    caught_in_turn(
        r#"
        model.completed {"stream": "s1", "calls": ["c1"]}
        tool.state c1 >validating
        tool.state c1 validating>scheduled
        run.stopping {"reason": "TIMEOUT", "then": "grace"}
        tool.state c1 scheduled>executing
        "#,
        expect!["seq 8, run r1: call c1 begins after the stop"],
    );
}

#[test]
fn grace_runs_only_complete_task() {
    caught(
        r#"
        run.started {}
        run.stopping {"reason": "TIMEOUT", "then": "grace"}
        turn.started {"turn": 1, "grace": "TIMEOUT"}
        model.started {"stream": "s1", "attempt": 1}
        model.completed {"stream": "s1", "calls": ["c1"]}
        tool.state c1 >validating
        tool.state c1 validating>scheduled
        tool.state c1 scheduled>executing
        "#,
        expect!["seq 8, run r1: `read_file` runs in the grace turn"],
    );
}

#[test]
fn complete_task_ends_last() {
    caught_in_turn(
        r#"
        model.completed {"stream": "s1", "calls": ["c1", "c2"]}
        tool.state c1 >validating
        tool.state c2 >validating {"name": "complete_task"}
        tool.state c2 validating>success {"name": "complete_task"}
        tool.state c1 validating>cancelled
        "#,
        expect!["seq 8, run r1: `tool.state` after `complete_task` was accepted"],
    );
}

#[test]
fn only_a_restart_interrupts() {
    caught_in_turn(
        r#"
        model.completed {"stream": "s1", "calls": ["c1"]}
        run.resumed {"unclean": true}
        tool.state c1 >validating
        tool.state c1 validating>scheduled
        tool.state c1 scheduled>executing
        tool.state c1 executing>error {"error": {"type": "INTERRUPTED", "message": "m"}}
        "#,
        expect!["seq 9, run r1: call c1 is INTERRUPTED, but no restart found it executing"],
    );
}

#[test]
fn a_mutator_is_never_rerun() {
    caught_in_turn(
        r#"
        model.completed {"stream": "s1", "calls": ["c1"]}
        tool.state c1 >validating
        tool.state c1 validating>scheduled {"details": {"kind": "execute"}}
        tool.state c1 scheduled>executing
        run.resumed {"unclean": true}
        tool.state c1 executing>success
        "#,
        expect![
            "seq 9, run r1: call c1 changes things and was cut by a restart; it may only end INTERRUPTED"
        ],
    );
}

/// What a subscriber from the start receives of a run whose second text it sees being written.
const RECEIVED: &str = r#"
    #3 run.started {"^": {"prev": 0}}
    #5 turn.started {"turn": 1, "^": {"prev": 3}}
    #6 model.started {"stream": "s0", "attempt": 1, "^": {"prev": 5}}
    #7 model.retrying {"stream": "s0", "attempt": 2, "^": {"prev": 6}}
    #0 signal.caughtUp {"head": 7}
    #8 model.started {"stream": "s1", "attempt": 2, "^": {"prev": 7}}
    #0 model.thoughtDelta {"stream": "s1", "afterSeq": 8, "offset": 0, "text": "hm"}
    #0 model.textDelta {"stream": "s1", "afterSeq": 8, "offset": 0, "text": "I lo"}
    #0 model.textDelta {"stream": "s1", "afterSeq": 8, "offset": 2, "text": "look: ä"}
    #9 thought {"stream": "s1", "text": "hm", "^": {"prev": 8}}
    #10 model.completed {"stream": "s1", "text": "I look: ä", "calls": [], "^": {"prev": 9}}
    #11 turn.completed {"turn": 1, "toolCalls": 0, "^": {"prev": 10}}
"#;

/// The same run, joined in the middle of the text.
const JOINED: &str = r#"
    #0 signal.snapshot {"seq": 8, "openItems": [
        {"runId": "r1", "stream": "s1", "afterSeq": 8, "text": "I l", "thought": "hm"}]}
    #0 model.textDelta {"stream": "s1", "afterSeq": 8, "offset": 3, "text": "ook: ä"}
    #9 thought {"stream": "s1", "text": "hm", "^": {"prev": 8}}
    #10 model.completed {"stream": "s1", "text": "I look: ä", "calls": [], "^": {"prev": 9}}
    #11 turn.completed {"turn": 1, "toolCalls": 0, "^": {"prev": 10}}
"#;

#[test]
fn lawful_subscriptions_pass() {
    assert_eq!(check_subscription(Attached::After(0), Deltas::Every, &log(RECEIVED)), Ok(()));
    assert_eq!(check_subscription(Attached::Now, Deltas::Every, &log(JOINED)), Ok(()));
    let without_deltas: Vec<Value> = log(RECEIVED)
        .into_iter()
        .filter(|envelope| !envelope["type"].as_str().unwrap().ends_with("Delta"))
        .collect();
    assert_eq!(check_subscription(Attached::After(0), Deltas::Off, &without_deltas), Ok(()));
    assert!(check_subscription(Attached::After(0), Deltas::Every, &without_deltas).is_err());
}

#[test]
fn a_lost_notification_is_noticed() {
    for (attached, text) in [(Attached::After(0), RECEIVED), (Attached::Now, JOINED)] {
        let whole = log(text);
        for lost in 0..whole.len() - 1 {
            let mut received = whole.clone();
            received.remove(lost);
            let is_missed = check_subscription(attached, Deltas::Every, &received).is_err();
            assert!(is_missed || whole[lost]["type"] == "signal.caughtUp", "nobody misses {}", whole[lost]);
        }
    }
}

fn caught_in(attached: Attached, deltas: Deltas, text: &str, expected: Expect) {
    let sentences = check_subscription(attached, deltas, &log(text)).expect_err("a law is broken");
    expected.assert_eq(&sentences.join("\n"));
}

#[test]
fn the_prev_chain_is_whole() {
    caught_in(
        Attached::After(4),
        Deltas::Off,
        r#"
        #5 context.nudged {"^": {"prev": 3}}
        #7 context.nudged {"^": {"prev": 6}}
        #7 context.nudged {"^": {"prev": 7}}
        #8 context.nudged {}
        "#,
        expect![[r#"
            seq 5, run r1: `prev` is 3, the last was 4
            seq 7, run r1: `prev` is 6, the last was 5
            seq 7, run r1: stands after seq 7; `seq` must rise
            seq 8, run r1: `prev` is missing, the last was 7"#]],
    );
    caught_in(
        Attached::Now,
        Deltas::Off,
        r#"
        #0 signal.snapshot {"seq": 8, "openItems": []}
        #10 context.nudged {"^": {"prev": 9}}
        "#,
        expect!["seq 10, run r1: `prev` is 9, the last was 8"],
    );
}

#[test]
fn signals_stand_where_they_belong() {
    caught_in(
        Attached::Now,
        Deltas::Off,
        r#"
        #1 context.nudged {"^": {"prev": 0}}
        #0 signal.snapshot {"seq": 1}
        #0 context.nudged {}
        "#,
        expect![[r#"
            seq 1, run r1: `context.nudged` comes before the snapshot
            notification 2, run r1: a snapshot that nobody asked for
            notification 3, run r1: `context.nudged` has seq null"#]],
    );
    caught_in(
        Attached::After(0),
        Deltas::Off,
        r#"
        #0 signal.caughtUp {"head": 2}
        #1 context.nudged {"^": {"prev": 0}}
        #0 signal.caughtUp {"head": 2}
        #2 signal.lag {"^": {"prev": 1}}
        "#,
        expect![[r#"
            seq 1, run r1: comes after `signal.caughtUp` said 2
            notification 3, run r1: catches up a second time
            seq 2, run r1: comes after `signal.caughtUp` said 2
            seq 2, run r1: `signal.lag` has seq 2"#]],
    );
}

#[test]
fn deltas_are_contiguous_and_agree() {
    caught_in(
        Attached::Now,
        Deltas::Some,
        r#"
        #0 signal.snapshot {"seq": 1, "openItems": []}
        #2 model.started {"stream": "s1", "^": {"prev": 1}}
        #0 model.textDelta {"stream": "s1", "afterSeq": 2, "offset": 0, "text": "abc"}
        #0 model.textDelta {"stream": "s1", "afterSeq": 2, "offset": 4, "text": "e"}
        #0 model.textDelta {"stream": "s1", "afterSeq": 2, "offset": 1, "text": "xcd"}
        #0 model.textDelta {"stream": "s1", "afterSeq": 1, "offset": 3, "text": "d"}
        #0 model.textDelta {"stream": "s7", "afterSeq": 7, "offset": 0, "text": "?"}
        #3 model.completed {"stream": "s1", "text": "abc", "^": {"prev": 2}}
        #0 model.textDelta {"stream": "s1", "afterSeq": 2, "offset": 4, "text": "e"}
        "#,
        expect![[r#"
            notification 4, run r1: a delta of s1 begins at byte 4, received were 3
            notification 5, run r1: a delta of s1 says something else at byte 1 than was received
            notification 6, run r1: a delta of s1 after 1, but seq 2 opened it
            notification 7, run r1: a delta of s7 before seq 7, which opens it
            notification 7, run r1: a delta of s7, which neither snapshot nor event opened
            seq 3, run r1: the text of s1 is "abc", received was "abcd"
            notification 9, run r1: a delta of s1 after its end"#]],
    );
    caught_in(
        Attached::After(2),
        Deltas::Off,
        r#"#0 model.textDelta {"stream": "s1", "afterSeq": 2, "offset": 0, "text": "abc"}"#,
        expect!["notification 1, run r1: a delta of s1, which nobody asked for"],
    );
}

#[test]
fn thoughts_that_were_shown_are_kept() {
    caught_in(
        Attached::After(1),
        Deltas::Some,
        r#"
        #2 model.started {"stream": "s1", "^": {"prev": 1}}
        #0 model.thoughtDelta {"stream": "s1", "afterSeq": 2, "offset": 0, "text": "hm, so"}
        #3 thought {"stream": "s1", "text": "hm", "^": {"prev": 2}}
        #4 model.completed {"stream": "s1", "text": "", "^": {"prev": 3}}
        #5 turn.completed {"^": {"prev": 4}}
        #6 model.started {"stream": "s2", "^": {"prev": 5}}
        #0 model.thoughtDelta {"stream": "s2", "afterSeq": 6, "offset": 0, "text": "hm, so"}
        #7 thought {"stream": "s2", "text": "oh", "^": {"prev": 6}}
        "#,
        expect![[r#"
            seq 5, run r1: thoughts of s1 were shown, but no event keeps them
            seq 7, run r1: the thought of s2 is "oh", received was "hm, so""#]],
    );
}

#[test]
fn a_snapshot_begins_what_the_end_completes() {
    caught_in(
        Attached::Now,
        Deltas::Off,
        r#"
        #0 signal.snapshot {"seq": 2, "openItems": [{"runId": "r1", "stream": "s1", "afterSeq": 2, "text": "abc"}]}
        #3 model.completed {"stream": "s1", "text": "abd", "^": {"prev": 2}}
        "#,
        expect![[r#"seq 3, run r1: the text of s1 is "abd", the snapshot had "abc""#]],
    );
}

/// A call that a run answers, watched from its beginning.
const ANSWERED: &str = r#"
    #0 signal.snapshot {"seq": 1, "openItems": []}
    #2 tool.state c1 scheduled>executing {"childRunId": "r2", "^": {"prev": 1}}
    #0 tool.output {"callId": "c1", "afterSeq": 2, "offset": 0, "text": "look\n"}
    #3 tool.state c2 scheduled>executing {"^": {"prev": 2}}
    #4 tool.state c2 executing>success {"^": {"prev": 3}}
    #0 tool.output {"callId": "c1", "afterSeq": 2, "offset": 5, "text": "ä\n"}
    #5 tool.state c1 executing>success {"output": "look\nä\n", "^": {"prev": 4}}
    #6 turn.completed {"turn": 1, "toolCalls": 2, "^": {"prev": 5}}
"#;

/// The same call, joined in the middle.
const ANSWERED_LATE: &str = r#"
    #0 signal.snapshot {"seq": 3, "openItems": [
        {"runId": "r1", "stream": "c1", "callId": "c1", "afterSeq": 2, "text": "look\n", "thought": ""}]}
    #4 tool.state c2 executing>success {"^": {"prev": 3}}
    #0 tool.output {"callId": "c1", "afterSeq": 2, "offset": 5, "text": "ä\n"}
    #5 tool.state c1 executing>success {"output": "look\nä\n", "^": {"prev": 4}}
    #6 turn.completed {"turn": 1, "toolCalls": 2, "^": {"prev": 5}}
"#;

#[test]
fn the_output_of_a_call_is_the_sum_of_its_deltas() {
    for text in [ANSWERED, ANSWERED_LATE] {
        let whole = log(text);
        assert_eq!(check_subscription(Attached::Now, Deltas::Every, &whole), Ok(()));
        for lost in 0..whole.len() - 1 {
            let mut received = whole.clone();
            received.remove(lost);
            let checked = check_subscription(Attached::Now, Deltas::Every, &received);
            assert!(checked.is_err(), "nobody misses {}", whole[lost]);
        }
    }
    caught_in(
        Attached::Now,
        Deltas::Every,
        r#"
        #0 signal.snapshot {"seq": 1, "openItems": []}
        #2 tool.state c1 scheduled>executing {"childRunId": "r2", "^": {"prev": 1}}
        #0 tool.output {"callId": "c1", "afterSeq": 1, "offset": 0, "text": "look\n"}
        #0 tool.output {"callId": "c9", "afterSeq": 2, "offset": 0, "text": "?"}
        #3 tool.state c1 executing>cancelled {"output": "look\nagain\n", "^": {"prev": 2}}
        #0 tool.output {"callId": "c1", "afterSeq": 2, "offset": 5, "text": "again\n"}
        "#,
        expect![[r#"
            notification 3, run r1: a delta of c1 after 1, but seq 2 opened it
            notification 4, run r1: a delta of c9, which neither snapshot nor event opened
            seq 3, run r1: the text of c1 is "look\nagain\n", received was "look\n"
            notification 6, run r1: a delta of c1 after its end"#]],
    );
    caught_in(
        Attached::After(1),
        Deltas::Off,
        r#"#0 tool.output {"callId": "c1", "afterSeq": 1, "offset": 0, "text": "look\n"}"#,
        expect!["notification 1, run r1: a delta of c1, which nobody asked for"],
    );
}

#[test]
fn calls_put_out_what_their_runs_think() {
    let told = |output: &str| {
        let text = r#"
            session.created {"^": {"runId": null}}
            run.started {"completion": "tool"}
            turn.started {"turn": 1}
            model.started {"stream": "s1", "attempt": 1}
            thought {"stream": "s1", "subject": "mine", "text": "mine"}
            model.completed {"stream": "s1", "calls": ["c1"]}
            tool.state c1 >validating
            tool.state c1 validating>scheduled
            tool.state c1 scheduled>executing {"childRunId": "r2"}
            @r2 run.started {"completion": "tool", "parentCallId": "c1", "^": {"parentRunId": "r1"}}
            @r2 turn.started {"turn": 1}
            @r2 model.started {"stream": "s2", "attempt": 1}
            @r2 thought {"stream": "s2", "subject": "look", "text": "look"}
            @r2 model.completed {"stream": "s2", "calls": []}
            @r2 turn.completed {"turn": 1, "toolCalls": 0}
            @r2 turn.started {"turn": 2}
            @r2 model.started {"stream": "s3", "attempt": 1}
            @r2 thought {"stream": "s3", "subject": "", "text": " "}
            @r2 thought {"stream": "s3", "subject": "open", "text": "open"}
            tool.state c1 executing>success {"output": "OUTPUT"}
        "#;
        let broken = check(&log(&text.replace("OUTPUT", output))).err().unwrap_or_default();
        let is_about = |sentence: &String| sentence.contains(" put out ");
        broken.into_iter().filter(is_about).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(told(r"look\nopen\n"), "");
    assert_eq!(told(r"look\n[… 1 of 2 thoughts left out; run r2 has them …]\n"), "");
    expect![[r#"seq 20, run r1: put out "mine\nlook\nopen\n", but r2 thought "look\nopen\n""#]]
        .assert_eq(&told(r"mine\nlook\nopen\n"));
    expect![[r#"seq 20, run r1: put out "look\n", but r2 thought "look\nopen\n""#]]
        .assert_eq(&told(r"look\n"));
    expect![[r#"seq 20, run r1: put out "", but r2 thought "look\nopen\n""#]].assert_eq(&told(""));
}

#[test]
fn every_event_is_delivered_once() {
    let log = log(GOOD);
    assert_eq!(check_delivery(&log, 0, &log), Ok(()));
    assert_eq!(check_delivery(&log, 5, &log[5..]), Ok(()));

    let mut received = log[5..].to_vec();
    received[3]["data"]["callId"] = json!("c9");
    received.remove(1);
    received.insert(4, received[3].clone());
    received.pop();
    let sentences = check_delivery(&log[..20], 5, &received).unwrap_err();
    expect![[r#"
        seq 9, run r1: `tool.state` differs from the log
        seq 10, run r1: comes after seq 10
        seq 7, run r1: `thought` was never delivered
        seq 21, run r1: `turn.completed` is not in the log"#]]
    .assert_eq(&sentences.join("\n"));
}

/// Reads the notation of this file.
fn log(text: &str) -> Vec<Value> {
    let mut envelopes: Vec<Value> = Vec::new();
    for event in events(text) {
        let seq = envelopes.len() as i64 + 1;
        envelopes.push(envelope(&event, seq));
    }
    envelopes
}

/// One event a line; a line that begins with a brace belongs to the one before.
fn events(text: &str) -> Vec<String> {
    let mut events: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match events.last_mut() {
            Some(event) if line.starts_with('{') => event.push_str(line),
            _ => events.push(line.to_owned()),
        }
    }
    events
}

fn envelope(event: &str, seq: i64) -> Value {
    let (words, json) = event.split_at(event.find('{').unwrap_or(event.len()));
    let mut words = words.split_whitespace().peekable();
    let seq = words.next_if(|word| word.starts_with('#')).map_or(seq, |word| word[1..].parse().unwrap());
    let run = words.next_if(|word| word.starts_with('@')).map_or("r1", |word| &word[1..]);
    let kind = words.next().unwrap();

    let mut envelope = json!({"seq": seq, "type": kind, "sessionId": "s", "runId": run});
    if seq == 0 {
        envelope["seq"] = Value::Null;
    }
    let mut data = Map::new();
    if kind == "tool.state" {
        let call = words.next().unwrap();
        let (from, to) = words.next().unwrap().split_once('>').unwrap();
        data = state(call, from, to);
        if ["success", "error", "cancelled"].contains(&to) {
            envelope["activity"] = json!("TOOL_CALL_END");
        } else if to == "validating" {
            envelope["activity"] = json!("TOOL_CALL_START");
        }
    }
    if !json.is_empty() {
        data.extend(serde_json::from_str::<Map<String, Value>>(json).unwrap());
    }
    if let Some(Value::Object(outer)) = data.remove("^") {
        envelope.as_object_mut().unwrap().extend(outer);
    }
    envelope["data"] = Value::Object(data);
    envelope
}

/// What the spec demands of a `tool.state`.
fn state(call: &str, from: &str, to: &str) -> Map<String, Value> {
    let mut data = json!({"callId": call, "name": "read_file", "to": to});
    if from.is_empty() {
        data["arguments"] = json!({});
    } else {
        data["from"] = json!(from);
    }
    match to {
        "success" => data["result"] = json!({"llmContent": []}),
        "error" => data["error"] = json!({"type": "UNKNOWN", "message": "m"}),
        "cancelled" => data["error"] = json!({"type": "CANCELLED", "message": "m"}),
        _ => (),
    }
    data.as_object().unwrap().clone()
}
