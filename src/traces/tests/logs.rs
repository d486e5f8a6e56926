//! Logs of subagents, of killed daemons, of clocks that were set, and such that nobody should have written.

use super::*;

#[test]
fn a_child_run_lies_within_the_call_that_it_answers() {
    check(
        r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 tool.state {"callId": "c1", "to": "validating", "name": "reader", "arguments": {}}
        0 tool.state {"callId": "c2", "to": "validating", "name": "reader", "arguments": {}}
        1 tool.state {"callId": "c1", "to": "executing", "name": "reader", "childRunId": "r2"}
        1 @r2 run.started {"agent": "reader", "model": "m", "query": "a", "parentCallId": "c1", "rootRunId": "r1", "^": {"parentRunId": "r1", "agent": "reader", "agentPath": ["lead", "reader"]}}
        1 tool.state {"callId": "c2", "to": "executing", "name": "reader", "childRunId": "r3"}
        1 @r3 run.started {"agent": "reader", "model": "m", "query": "b", "parentCallId": "c2", "rootRunId": "r1", "^": {"parentRunId": "r1", "agent": "reader", "agentPath": ["lead", "reader"]}}
        7 @r3 run.completed {"reason": "MAX_TURNS", "message": "too many turns", "^": {"parentRunId": "r1", "agent": "reader"}}
        7 tool.state {"callId": "c2", "from": "executing", "to": "error", "name": "reader", "error": {"type": "EXECUTION_FAILED", "message": "MAX_TURNS"}}
        9 @r2 run.completed {"reason": "GOAL", "result": "found", "^": {"parentRunId": "r1", "agent": "reader"}}
        9 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "reader", "result": {"llmContent": [{"text": "found"}]}}
        9 run.completed {"reason": "GOAL", "result": "ok"}
        "#,
        expect![[r#"
            8 in 4: run reader 1..7 error MAX_TURNS: too many turns in="b"
            4 in 2: tool reader 0..7 error lane=1 EXECUTION_FAILED: MAX_TURNS in="{}"
            6 in 3: run reader 1..9 ok in="a" out="found"
            3 in 2: tool reader 0..9 ok in="{}" out="found"
            2 in 1: turn turn 1 0..9 ok
            1 in -: run lead 0..9 ok in="q" out="ok"
        "#]],
    );
}

#[test]
fn a_killed_daemon_leaves_spans_that_are_cut_off_and_a_run_that_goes_on() {
    check(
        r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 model.started {"model": "m", "stream": "s1", "attempt": 1}
        60000 run.resumed {"unclean": true}
        60000 model.retrying {"stream": "s1", "attempt": 1, "restarted": true, "usageUnknown": true, "discarded": true, "message": "the daemon was restarted"}
        60001 model.started {"model": "m", "stream": "s2", "attempt": 1}
        60500 model.completed {"model": "m", "stream": "s2", "text": "x", "calls": ["c1"], "usage": {}}
        60500 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {}}
        60501 tool.state {"callId": "c1", "from": "validating", "to": "executing", "name": "write_file"}
        90000 run.resumed {"unclean": true}
        90000 tool.state {"callId": "c1", "from": "executing", "to": "error", "name": "write_file", "error": {"type": "INTERRUPTED", "message": "the daemon was restarted"}}
        "#,
        expect![[r#"
            3 in 2: llm m 0..60000 cancelled in="q"
            6 in 2: llm m 60001..60500 ok 0→0 in="q" out="x"
            8 in 2: tool write_file 60500..90000 error INTERRUPTED: the daemon was restarted in="{}"
            1 in -: run lead 0..… open in="q"
            2 in 1: turn turn 1 0..… open (run.resumed the daemon was away for at most 1 min 0 s, and had not stopped by itself) (model.retrying the daemon was restarted) (run.resumed the daemon was away for at most 29.5 s, and had not stopped by itself)
        "#]],
    );
}

#[test]
fn a_reply_that_was_cut_failed_or_was_stopped_as_the_log_tells_next() {
    check(
        r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 model.started {"model": "m", "stream": "s1", "attempt": 1}
        20 model.retrying {"stream": "s1", "attempt": 1, "message": "503", "notBefore": "2025-11-24T16:00:02.020Z"}
        2020 model.started {"model": "m", "stream": "s2", "attempt": 2}
        2500 model.completed {"model": "m", "stream": "s2", "text": "x", "cut": true, "usageUnknown": true, "calls": [], "usage": {}}
        2600 run.stopping {"reason": "ERROR", "message": "the provider answered 400", "error": {"code": "PROVIDER_ERROR"}}
        2600 turn.completed {"turn": 1}
        2600 run.completed {"reason": "ERROR", "error": {"code": "PROVIDER_ERROR", "message": "the provider answered 400"}}
        "#,
        expect![[r#"
            3 in 2: llm m 0..20 error MODEL_FAILED: 503 in="q"
            5 in 2: llm m 2020..2500 error PROVIDER_ERROR: the provider answered 400 in="q" out="x"
            2 in 1: turn turn 1 0..2600 error PROVIDER_ERROR: the provider answered 400 (model.retrying 503) (run.stopping the provider answered 400)
            1 in -: run lead 0..2600 error PROVIDER_ERROR: the provider answered 400 in="q"
        "#]],
    );
    check(
        r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 model.started {"model": "m", "stream": "s1", "attempt": 1}
        500 model.completed {"model": "m", "stream": "s1", "text": "x", "cut": true, "usageUnknown": true, "calls": [], "usage": {}}
        600 run.stopping {"reason": "ABORTED", "message": "cancelled"}
        600 turn.completed {"turn": 1}
        600 run.completed {"reason": "ABORTED"}
        "#,
        expect![[r#"
            3 in 2: llm m 0..500 cancelled in="q" out="x"
            2 in 1: turn turn 1 0..600 cancelled (run.stopping cancelled)
            1 in -: run lead 0..600 cancelled in="q"
        "#]],
    );
    let again = spans(
        r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 model.started {"model": "m", "stream": "s1", "attempt": 1}
        20 model.retrying {"stream": "s1", "attempt": 1, "message": "503", "notBefore": "2025-11-24T16:00:02.020Z"}
        30 tool.state {"callId": "c", "to": "validating", "name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}
        30 tool.state {"callId": "c", "from": "validating", "to": "error", "name": "write_file", "error": {"type": "POLICY_DENIED", "message": "no"}, "deniedBy": "user:a.toml:1"}
        "#,
    );
    assert_eq!(again[0].llm.as_ref().unwrap().retry_after_ms, Some(2_000));
    // Nobody described it, since it was denied before.
    assert_eq!(again[1].tool.as_ref().unwrap().description.as_deref(), Some("a.txt"));
}

#[test]
fn a_clock_that_was_set_back_changes_no_duration() {
    check(
        r#"
        3600000 run.started {"agent": "lead", "model": "m", "query": "q"}
        3600000 turn.started {"turn": 1}
        3600000 model.started {"model": "m", "stream": "s1", "attempt": 1}
        1000 model.completed {"model": "m", "stream": "s1", "text": "x", "calls": [], "usage": {}}
        2000 turn.completed {"turn": 1}
        2500 run.completed {"reason": "GOAL"}
        "#,
        expect![[r#"
            3 in 2: llm m 3600000..3600000 ok 0→0 in="q" out="x"
            2 in 1: turn turn 1 3600000..3601000 ok
            1 in -: run lead 3600000..3601500 ok in="q"
        "#]],
    );
}

#[test]
fn what_the_daemon_asks_beside_the_turns_has_spans_of_its_own() {
    check(
        r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        1 sideCall.started {"purpose": "routing", "model": "small"}
        5 sideCall.completed {"purpose": "routing", "model": "small", "usage": {"promptTokens": 7}, "text": "strong"}
        5 model.routed {"model": "strong", "by": "classifier", "reason": "hard"}
        6 turn.started {"turn": 1}
        6 sideCall.started {"purpose": "compression", "model": "small"}
        10 sideCall.completed {"purpose": "compression", "model": "small", "usage": {"promptTokens": 70}, "text": "short"}
        20 sideCall.completed {"purpose": "compression", "model": "small", "usage": {"promptTokens": 71}, "error": "no answer"}
        20 context.compressed {"status": "COMPRESSION_FAILED_EMPTY_SUMMARY", "epoch": 1, "tokensBefore": 900, "tokensAfter": 900, "message": "it is empty"}
        21 model.started {"model": "strong", "stream": "s1", "attempt": 1}
        30 model.completed {"model": "strong", "stream": "s1", "text": "x", "calls": ["c1"], "usage": {}, "finishReason": {"refused": {"message": "no"}}}
        30 tool.state {"callId": "c1", "to": "validating", "name": "web_fetch", "arguments": {"prompt": "p"}}
        31 tool.state {"callId": "c1", "to": "executing", "name": "web_fetch"}
        40 sideCall.completed {"purpose": "webFetch", "callId": "c1", "model": "small", "usage": {"promptTokens": 5}, "text": "page"}
        40 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "web_fetch", "result": {"llmContent": [{"text": "page"}, {"mimeType": "image/png", "data": "x"}], "fullOutput": {"totalBytes": 99}}}
        40 run.stopping {"reason": "TIMEOUT", "then": "end", "message": "the time is over"}
        41 run.completed {"reason": "TIMEOUT", "message": "the time is over"}
        "#,
        expect![[r#"
            2 in 1: llm small 1..5 ok 7→0 out="strong"
            7 in 6: llm small 6..10 ok 70→0 out="short"
            8 in 6: llm small 10..20 error MODEL_FAILED: no answer 71→0 (sideCall.completed no answer)
            6 in 5: compression compression 6..20 error COMPRESSION_FAILED_EMPTY_SUMMARY: it is empty
            a in 5: llm strong 21..30 ok 0→0 in="q" out="x"
            e in c: llm small 40..40 ok 5→0 out="page"
            c in 5: tool web_fetch 30..40 ok in="{\"prompt\":\"p\"}" out="page\n[image/png]"
            5 in 1: turn turn 1 6..41 cancelled (run.stopping the time is over)
            1 in -: run lead 0..41 error TIMEOUT: the time is over in="q" (model.routed strong)
        "#]],
    );
}

#[test]
fn what_ends_with_its_run_or_call_is_cut_off() {
    check(
        r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 tool.state {"callId": "c1", "to": "validating", "name": "ask_user", "arguments": {}}
        1 tool.state {"callId": "c1", "to": "executing", "name": "ask_user"}
        1 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Which?", "rule": "r", "reason": "x", "risk": "safe", "details": {"type": "question", "questions": [{"question": "Which?"}]}}}
        2 confirmation.revised {"confirmation": {"confirmationId": "q1"}, "reason": "deadline"}
        3 tool.state {"callId": "c1", "from": "executing", "to": "cancelled", "name": "ask_user", "result": {"llmContent": []}}
        3 confirmation.requested {"confirmation": {"confirmationId": "q2", "title": "More?", "rule": "budget", "reason": "used up", "risk": "low", "details": {"type": "budget"}}}
        4 tool.state {"callId": "c2", "to": "validating", "name": "mcp.docs.search", "arguments": {}}
        5 run.completed {"reason": "ABORTED"}
        "#,
        expect![[r#"
            5 in 3: confirmation Which? 1..3 cancelled in="Which?" (confirmation.revised deadline)
            3 in 2: tool ask_user 0..3 cancelled in="{}"
            8 in 2: confirmation More? 3..5 cancelled
            9 in 2: tool mcp.docs.search 4..5 cancelled in="{}"
            2 in 1: turn turn 1 0..5 cancelled
            1 in -: run lead 0..5 cancelled in="q"
        "#]],
    );
}

#[test]
fn a_run_whose_beginning_was_not_read_begins_with_what_was() {
    let log = r#"
        5 @r7 model.completed {"model": "m", "stream": "s", "text": "x", "calls": [], "usage": {}, "^": {"parentRunId": "r1"}}
        6 @r7 run.completed {"reason": "GOAL"}
        7 @r7 file.restored {"path": "/a"}
        "#;
    check(
        log,
        expect![[r##"
            1 in 8000000000000001: llm m 5..5 ok 0→0 out="x"
            8000000000000001 in -: run lead 5..6 ok
        "##]],
    );
    assert!(spans(log).last().unwrap().began_before);
}

#[test]
fn calls_whose_beginning_was_not_read_say_so() {
    let log = r#"
        5 @r7 tool.state {"callId": "c1", "from": "scheduled", "to": "executing", "name": "read_file"}
        6 @r7 tool.state {"callId": "c2", "to": "validating", "name": "read_file", "arguments": {}}
        7 @r7 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "read_file"}
        8 @r7 tool.state {"callId": "c2", "from": "validating", "to": "success", "name": "read_file"}
        "#;
    let began_before: Vec<bool> = spans(log).iter().map(|span| span.began_before).collect();
    assert_eq!(began_before, [true, false, true]);
}

#[test]
fn a_command_that_ends_badly_is_no_success_and_lanes_are_given_back() {
    check(
        r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 tool.state {"callId": "c1", "to": "validating", "name": "run_shell_command"}
        0 tool.state {"callId": "c2", "to": "validating", "name": "run_shell_command"}
        0 tool.state {"callId": "c3", "to": "validating", "name": "shell_output"}
        1 tool.state {"callId": "c1", "to": "success", "name": "run_shell_command", "result": {"llmContent": [{"text": "Exit code: 3\nno"}], "data": {"exitCode": 3}}}
        2 tool.state {"callId": "c4", "to": "validating", "name": "run_shell_command"}
        2 tool.state {"callId": "c5", "to": "validating", "name": "run_shell_command"}
        3 tool.state {"callId": "c2", "to": "success", "name": "run_shell_command", "result": {"data": {"exitCode": null, "signal": "SIGKILL"}}}
        4 tool.state {"callId": "c3", "to": "success", "name": "shell_output", "result": {"data": {"exitCode": 1}}}
        5 tool.state {"callId": "c4", "to": "success", "name": "run_shell_command", "result": {"data": {"exitCode": 0}}}
        6 tool.state {"callId": "c5", "to": "success", "name": "run_shell_command"}
        "#,
        expect![[r#"
            2 in 1: tool run_shell_command 0..1 error EXECUTION_FAILED: exit code 3 out="Exit code: 3\nno"
            3 in 1: tool run_shell_command 0..3 error lane=1 EXECUTION_FAILED: ended by SIGKILL
            4 in 1: tool shell_output 0..4 ok lane=2
            6 in 1: tool run_shell_command 2..5 ok
            7 in 1: tool run_shell_command 2..6 ok lane=3
            1 in -: run lead 0..… open in="q"
        "#]],
    );
}

#[test]
fn the_turn_of_a_run_that_is_cancelled_is_cancelled() {
    check(
        r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        1 sideCall.started {"purpose": "compression", "model": "small"}
        2 run.stopping {"reason": "ABORTED", "then": "end", "message": "cancelled"}
        3 turn.completed {"turn": 1, "toolCalls": 0}
        3 run.completed {"reason": "ABORTED"}
        "#,
        expect![[r#"
            3 in 2: compression compression 1..3 cancelled
            2 in 1: turn turn 1 0..3 cancelled (run.stopping cancelled)
            1 in -: run lead 0..3 cancelled in="q"
        "#]],
    );
}

#[test]
fn a_run_below_one_that_is_gone_keeps_its_trace_and_lies_in_nothing() {
    let log = r#"
        5 @r7 run.started {"agent": "reader", "model": "m", "query": "q", "parentCallId": "c1", "rootRunId": "r1", "^": {"parentRunId": "r1", "agent": "reader", "agentPath": ["lead", "reader"]}}
        6 @r7 run.completed {"reason": "GOAL", "^": {"parentRunId": "r1", "agent": "reader"}}
        "#;
    let spans = spans(log);
    let [run] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((run.trace_id.as_str(), run.parent_span_id.as_ref(), run.depth), ("r1", None, 1));
    let told = run.run.as_ref().unwrap();
    let caller = (told.parent_run_id.as_ref(), told.parent_call_id.as_ref());
    assert_eq!(caller, (Some(&"r1".into()), Some(&"c1".into())));
}

/// Any event may be missing, come twice, or say nothing or nonsense.
#[test]
fn no_log_makes_it_panic_and_spans_always_lie_within_each_other() {
    let whole = events(STORY);
    let nonsense = [
        Value::Null,
        serde_json::json!([1, 2]),
        serde_json::json!({"callId": 7, "to": {}, "confirmation": "q", "usage": [], "turn": -3, "arguments": null}),
    ];
    for at in 0..whole.len() {
        for what in 0..nonsense.len() + 3 {
            let mut log = whole.clone();
            match what {
                0 => drop(log.remove(at)),
                1 => log.insert(at, whole[at].clone()),
                2 => log[at].at = Some(Timestamp(if at % 2 == 0 { i64::MIN } else { i64::MAX })),
                n => log[at].data = nonsense[n - 3].clone(),
            }
            let mut fold = SpanFold::new();
            let edges: Vec<SpanEdge> = log.iter().flat_map(|event| fold.apply(event)).collect();
            let ended = edges.into_iter().filter_map(|edge| match edge {
                SpanEdge::Ended(span) => Some(*span),
                _ => None,
            });
            let spans: Vec<TraceSpan> = ended.chain(fold.open()).collect();
            if what != 1 {
                hold(&spans);
            }
        }
    }
}

#[test]
fn it_holds_no_more_than_what_is_open() {
    let mut log = String::from("0 run.started {\"agent\": \"lead\"}\n");
    for n in 0..200 {
        log += &format!("{n} run.steered {{\"steerId\": \"a\", \"text\": \"faster {n}\"}}\n");
    }
    let spans = spans(&log);
    assert_eq!((spans[0].events.len(), spans[0].more_events), (64, 136));
    let mut fold = SpanFold::new();
    events(STORY).iter().for_each(|event| drop(fold.apply(event)));
    assert_eq!(format!("{:?}", fold.open()), "[]");
}

/// A call that another run answers was at work as long as that one was, whichever of both is taken up first.
#[test]
fn what_a_run_below_did_was_no_time_without_a_daemon() {
    let below = r#""^": {"parentRunId": "r1", "agent": "reader", "agentPath": ["lead", "reader"]}"#;
    let began = format!(
        r#"
        0 run.started {{"agent": "lead", "model": "m", "query": "q"}}
        0 turn.started {{"turn": 1}}
        0 tool.state {{"callId": "c1", "to": "validating", "name": "reader", "arguments": {{}}}}
        1 tool.state {{"callId": "c1", "to": "executing", "name": "reader", "childRunId": "r2"}}
        1 @r2 run.started {{"agent": "reader", "model": "m", "query": "a", "parentCallId": "c1", {below}}}
        1 @r2 turn.started {{"turn": 1, {below}}}
        5000 @r2 turn.completed {{"turn": 1, {below}}}
        "#
    );
    let (lead, reader) =
        (r#"run.resumed {"unclean": true}"#, format!(r#"@r2 run.resumed {{"unclean": true, {below}}}"#));
    let went_on = format!("65100 @r2 turn.started {{\"turn\": 2, {below}}}");
    for taken_up in
        [format!("65000 {lead}\n65000 {reader}"), format!("65000 {reader}\n{went_on}\n65200 {lead}")]
    {
        let again = taken_up.replace("65", "135").replace("\"turn\": 2", "\"turn\": 3");
        let ended = format!(
            "140000 @r2 run.completed {{\"reason\": \"GOAL\", {below}}}\n140000 run.completed {{\"reason\": \"GOAL\"}}"
        );
        let log =
            format!("{began}{taken_up}\n75000 @r2 turn.completed {{\"turn\": 2, {below}}}\n{again}\n{ended}");
        let spans = spans(&log);
        let of =
            |id: &str| spans.iter().find(|span| span.run_id.as_str() == id && span.run.is_some()).unwrap();
        let (lead, reader) = (of("r1").run.as_ref().unwrap(), of("r2").run.as_ref().unwrap());
        assert_eq!((lead.down_ms, lead.restarts, lead.unclean_restarts), (120_000, 2, 2), "{log}");
        assert_eq!((reader.down_ms, reader.restarts), (120_000, 2), "{log}");
        let call = spans.iter().find_map(|span| span.tool.as_ref()).unwrap();
        assert_eq!(call.down_ms, 120_000, "{log}");
    }
}

/// Two runs that say that they lie below each other.
#[test]
fn runs_in_a_circle_end() {
    let above = |parent: &str| format!(r#""^": {{"parentRunId": "{parent}", "agent": "lead"}}"#);
    let log = format!(
        "0 run.started {{\"agent\": \"lead\", {}}}\n1 @r2 run.started {{\"agent\": \"lead\", {}}}\n2 turn.started {{\"turn\": 1, {}}}",
        above("r2"),
        above("r1"),
        above("r2"),
    );
    assert_eq!(spans(&log).len(), 3);
}

/// A run that gave its place away waits for another one, and the park takes over from a person's time.
#[test]
fn waits_end_with_what_follows_them() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        1000 run.waiting {"waiting": true}
        2000 run.parked {"reason": "nobody is here"}
        9000 run.resumed {}
        10000 run.waiting {"waiting": true}
        11000 run.resumed {"unclean": true}
        12000 run.queued {"place": 2}
        12500 run.queued {"place": 1}
        13000 model.started {"model": "m", "stream": "s", "attempt": 1}
        20000 model.completed {"model": "m", "stream": "s", "text": "x", "calls": []}
        20000 run.completed {"reason": "GOAL"}
    "#;
    let run = spans(log).into_iter().find_map(|span| span.run).unwrap();
    // Of the second wait nobody knows when the daemon went away: at the earliest when it began.
    assert_eq!((run.waiting_ms, run.parked_ms, run.queued_ms), (1_000, 7_000, 1_000));
}
