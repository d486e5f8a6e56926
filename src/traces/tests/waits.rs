//! What does an open run wait for, and where did the time of one go that waited in queues or for a daemon?

use protocol::{MovedAhead, NextHolder, QueuedBehind, SpanKind, TraceFormat, WaitCause};

use super::{documents::document, *};
use crate::{decided, moved_ahead_said, queued_said, standing_said, wait_said};

const BEGUN: &str = r#"
    0 run.started {"agent": "lead", "model": "gemini/flash", "query": "q"}
    0 turn.started {"turn": 1}
    0 model.started {"model": "gemini/flash", "stream": "s1", "attempt": 1}
"#;

fn run(log: &str) -> protocol::RunSpan {
    let spans = spans(log);
    let run = spans.into_iter().find(|span| span.kind == SpanKind::Run && span.run_id.as_str() == "r1");
    *run.unwrap().run.unwrap()
}

fn waits(log: &str) -> WaitCause {
    run(log).waits_for.expect(log)
}

#[test]
fn an_open_run_says_what_it_waits_for() {
    let calls = r#"
        10 model.completed {"model": "gemini/flash", "stream": "s1", "text": "x", "usage": {}, "calls": ["c1"]}
        10 tool.state {"callId": "c1", "to": "validating", "name": "run_shell_command", "arguments": {"command": "make"}}
    "#;
    let runs = r#"
        20 tool.state {"callId": "c1", "from": "validating", "to": "executing", "name": "run_shell_command"}
    "#;
    let asks = r#"
        20 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Run make?", "rule": "r", "reason": "x", "risk": "high", "details": {"type": "exec", "command": "make"}}}
    "#;
    let child = r#"
        10 tool.state {"callId": "c1", "to": "validating", "name": "reader", "arguments": {"prompt": "x"}}
        20 tool.state {"callId": "c1", "from": "validating", "to": "executing", "name": "reader", "childRunId": "r2"}
    "#;
    let hook = r#"
        1020 hook.started {"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "elapsedMs": 1000}
    "#;
    let parked = r#"
        30 run.parked {"reason": "storageFull"}
    "#;
    for (log, expected) in [
        (BEGUN.to_owned(), "waits for gemini/flash, since 0"),
        (format!("{BEGUN}{calls}"), "waits for run_shell_command make, since 10"),
        (format!("{BEGUN}{calls}{runs}"), "waits for run_shell_command make, since 10"),
        (format!("{BEGUN}{calls}{asks}"), "waits for a person's answer to “Run make?”, since 20"),
        (format!("{BEGUN}{child}"), "waits for the agent reader, since 10"),
        (format!("{BEGUN}{calls}{hook}"), "waits for the hook user/PreToolUse/1, since 20"),
        (format!("{BEGUN}{calls}{asks}{parked}"), "is parked: the disk is full, since 30"),
        (QUEUED.to_owned(), "is queued behind other runs of its context, since 0"),
    ] {
        let cause = waits(&log);
        let since = (cause.since.0 - BEGAN_US) / 1_000;
        assert_eq!(format!("{}, since {since}", wait_said(&cause)), expected, "{log}");
    }
    let asked = waits(&format!("{BEGUN}{calls}{asks}"));
    assert_eq!(asked.confirmation_id.as_ref().map(|id| id.as_str()), Some("q1"));
    let told = |cause: WaitCause| wait_said(&cause);
    let cause = |word: &str| WaitCause { waits_for: word.to_owned(), about: None, ..waits(QUEUED) };
    assert_eq!(
        told(WaitCause { ahead: Some(2), ..cause("context") }),
        "is queued behind other runs of its context, 2 of them before it in the queue"
    );
    let behind = |ahead: u64| {
        let about = Some("run r0 of lead".to_owned());
        told(WaitCause { about, ahead: Some(ahead), ..cause("context") })
    };
    let has = "is queued behind run r0 of lead, which has its context";
    assert_eq!(behind(0), has);
    assert_eq!(behind(1), format!("{has}, and 1 before it in the queue"));
    assert_eq!(behind(2), format!("{has}, and 2 before it in the queue"));
    assert_eq!(
        told(WaitCause { ahead: Some(1), ..cause("place") }),
        "is queued for a place among the runs at work, 1 run before it"
    );
    assert_eq!(told(cause("place")), "is queued for a place among the runs at work");
    assert_eq!(told(cause("hooks")), "waits for what hooks say of its prompt");
    assert_eq!(
        told(cause("daemon")),
        "was interrupted: the daemon was started again and has not taken it up yet"
    );
    // That the log tells last of it is no time at which the daemon ended.
    assert_eq!(
        standing_said(&cause("daemon")),
        "was interrupted: the daemon was started again and has not taken it up yet, last heard of at 2025-11-24 16:00:00Z"
    );
    assert_eq!(
        standing_said(&cause("place")),
        "is queued for a place among the runs at work, since 2025-11-24 16:00:00Z"
    );
    // A word of a newer daemon.
    assert_eq!(told(cause("stars")), "waits for stars");
    for (log, words) in [
        (QUEUED, "**lead** is queued behind other runs of its context, since 2025-11-24 16:00:00Z."),
        (BEGUN, "**lead** is still at work."),
    ] {
        let story = document(TraceFormat::Markdown, log);
        assert!(story.contains(words), "{story}");
    }
}

const QUEUED: &str = r#"
    0 run.queued {"for": "context", "run": {"agent": "lead", "model": "m", "prompt": "q", "query": "q"}}
"#;

#[test]
fn what_hooks_took_is_not_told_as_a_queue() {
    let log = r#"
        0 run.queued {"for": "context", "run": {"agent": "lead", "model": "m", "prompt": "q", "query": "q"}}
        100 run.queued {"for": "context", "front": true}
        300 run.queued {"for": "hooks"}
        2300 hook.fired {"firingId": "e", "hookId": "user/UserPromptSubmit/1", "event": "UserPromptSubmit", "source": "user", "outcome": "answered", "durationMs": 1990}
        2300 run.queued {"for": "place"}
        2350 run.started {"agent": "lead", "model": "m", "prompt": "q", "query": "q"}
        2400 run.completed {"reason": "GOAL", "result": "x", "turns": 0, "toolCalls": 0, "activeMs": 50}
    "#;
    let run = run(log);
    assert_eq!((run.queued_ms, run.hooks_ms), (350, 2_000));
    let story = document(TraceFormat::Markdown, log);
    assert!(story.contains("(of it 350 ms in a queue, 2.0 s for hooks about its prompt)"), "{story}");
}

#[test]
fn an_open_run_counts_what_it_has_done_so_far() {
    let log = r#"
        0 run.queued {"for": "place", "run": {"agent": "lead", "model": "m", "prompt": "q", "query": "q"}}
        100 run.started {"agent": "lead", "model": "m", "prompt": "q", "query": "q"}
        100 turn.started {"turn": 1}
        100 model.started {"model": "m", "stream": "s1", "attempt": 1}
        500 model.completed {"model": "m", "stream": "s1", "text": "x", "usage": {}, "calls": ["c1", "c2"]}
        500 tool.state {"callId": "c1", "to": "validating", "name": "read_file", "arguments": {}}
        500 tool.state {"callId": "c2", "to": "validating", "name": "read_file", "arguments": {}}
        500 run.waiting {"waiting": true}
        2500 run.waiting {"waiting": false}
        2600 turn.started {"turn": 2}
    "#;
    let run = run(log);
    assert_eq!((run.turns, run.tool_calls, run.active_ms), (2, 2, 500));
    assert_eq!(run.last_event_at.map(|at| at.0 - BEGAN_US), Some(2_600_000));
    // Whoever waits for an answer is not at work, nor is one that waits in a queue.
    let asked = format!(
        "{log}\n2600 run.waiting {{\"waiting\": true}}\n9000 run.steered {{\"steerId\": \"s\", \"text\": \"go\"}}"
    );
    assert_eq!(self::run(&asked).active_ms, 500);
}

/// The daemon ends while hooks are asked about the prompt: nobody was asked meanwhile, and the one that was cut off is told once.
#[test]
fn a_daemon_that_was_away_is_no_time_of_hooks_or_of_a_queue() {
    let log = r#"
        0 run.queued {"for": "hooks", "run": {"agent": "lead", "model": "m", "query": "q"}}
        1100 hook.started {"firingId": "r1:SubagentStart:", "hookId": "user/SubagentStart/1", "event": "SubagentStart", "source": "user", "elapsedMs": 1000}
        9000 run.resumed {"unclean": true, "awayMs": 7000}
        12000 hook.fired {"firingId": "r1:SubagentStart:", "hookId": "user/SubagentStart/1", "event": "SubagentStart", "source": "user", "outcome": "interrupted", "durationMs": 0}
        12000 run.started {"agent": "lead", "model": "m", "query": "q"}
    "#;
    let told = run(log);
    assert_eq!((told.hooks_ms, told.queued_ms, told.down_ms, told.restarts), (5_000, 0, 7_000, 1));
    let spans = spans(log);
    let hooks: Vec<&TraceSpan> = spans.iter().filter(|span| span.kind == SpanKind::Hook).collect();
    let [hook] = &hooks[..] else { panic!("{hooks:#?}") };
    let ms = |us: i64| (us - BEGAN_US) / 1_000;
    assert_eq!((ms(hook.start_us), ms(hook.end_us.unwrap())), (100, 2_000));
    assert_eq!((hook.status, &hook.error), (SpanStatus::Cancelled, &None));
    let queued = log.replace(r#""for": "hooks""#, r#""for": "place""#);
    assert_eq!((run(&queued).queued_ms, run(&queued).hooks_ms), (5_000, 0));
}

/// Others may have had the context after that one.
#[test]
fn a_queue_is_not_told_as_the_doing_of_one_run() {
    let mut behind = QueuedBehind { run_id: "r0".into(), agent: "lead".into(), then: None, more: 0 };
    let said = "in a queue (behind run r0 of lead, which had its context when it was asked for)";
    assert_eq!(queued_said(Some(&behind)), said);
    assert_eq!(queued_said(None), "in a queue");
    behind.then = Some(NextHolder { run_id: "r7".into(), agent: "other".into() });
    behind.more = 2;
    assert_eq!(
        queued_said(Some(&behind)),
        "in a queue (behind run r0 of lead, which had its context when it was asked for, then run r7 of other and 2 more)"
    );
}

#[test]
fn a_run_that_others_were_moved_ahead_of_says_so() {
    let moved = |run: &str, by: Option<&str>| MovedAhead {
        run_id: run.into(),
        agent: "lead".into(),
        by: by.map(str::to_owned),
        at: Timestamp(BEGAN_US),
    };
    let mut all = vec![moved("r7", Some("bob@pts/2-05d751bc"))];
    assert_eq!(moved_ahead_said(&[]), None);
    let said = "run r7 of lead was moved ahead of it by bob (pts/2) at 2025-11-24 16:00:00Z";
    assert_eq!(moved_ahead_said(&all).unwrap(), said);
    all.push(moved("r8", None));
    assert_eq!(moved_ahead_said(&all).unwrap(), format!("{said}, and 1 more was"));
    let waits = WaitCause {
        waits_for: "context".to_owned(),
        since: Timestamp(BEGAN_US),
        about: Some("run r0 of lead".to_owned()),
        confirmation_id: None,
        ahead: Some(1),
    };
    // It may have been asked for later.
    let said = "is queued behind run r0 of lead, which has its context, and 1 before it in the queue";
    assert_eq!(wait_said(&waits), said);
}

/// How much of the time without a daemon a person took, too, nobody knows.
#[test]
fn the_time_of_people_is_a_lower_bound_where_there_was_no_daemon() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 run.waiting {"waiting": true}
        30000 run.resumed {"unclean": true, "awayMs": 16600}
        30000 run.waiting {"waiting": true}
        39500 run.waiting {"waiting": false}
        39500 run.completed {"reason": "GOAL", "result": "x", "turns": 1, "toolCalls": 0, "activeMs": 0}
    "#;
    let told = run(log);
    assert_eq!((told.waiting_ms, told.waiting_down_ms, told.down_ms), (22_900, 16_600, 16_600));
    let story = document(TraceFormat::Markdown, log);
    assert!(story.contains("(of it at least 22.9 s waiting for people)"), "{story}");
    // The daemon was away while nobody was waited for.
    let apart = log.replacen(
        r#"        0 run.waiting {"waiting": true}
"#,
        "",
        1,
    );
    assert_eq!((run(&apart).waiting_ms, run(&apart).waiting_down_ms), (9_500, 0));
    let story = document(TraceFormat::Markdown, &apart);
    assert!(story.contains("(of it 9.5 s waiting for people)"), "{story}");
}

/// The run is stopped while a person is asked: that is no answer of anybody.
#[test]
fn a_question_that_nobody_answered_says_so() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "a"}}
        0 tool.state {"callId": "c1", "from": "validating", "to": "awaitingApproval", "name": "write_file"}
        0 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Change a?", "rule": "r", "reason": "changes a file", "risk": "low", "details": {"type": "edit"}}}
        3000 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "deny", "by": "system", "message": "the run was stopped", "digest": "d"}
        3000 tool.state {"callId": "c1", "from": "awaitingApproval", "to": "cancelled", "name": "write_file"}
    "#;
    let story = document(TraceFormat::Markdown, log);
    assert!(story.contains("Nobody answered for 3.0 s: the run was stopped.\n"), "{story}");
    assert!(story.contains("calls `write_file`, nobody answered: cancelled after 3.0 s."), "{story}");
    assert!(!story.contains("by the daemon"), "{story}");
}

/// Nobody can answer while there is no daemon: that time is told beside the person's.
#[test]
fn a_question_says_how_long_there_was_no_daemon_that_could_take_an_answer() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 turn.started {"turn": 1}
        0 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "a"}}
        0 tool.state {"callId": "c1", "from": "validating", "to": "awaitingApproval", "name": "write_file"}
        0 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Change a?", "rule": "r", "reason": "changes a file", "risk": "low", "details": {"type": "edit"}}}
        30000 run.resumed {"unclean": true, "awayMs": 16600}
        39500 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "allowOnce", "by": "client", "name": "ada@pts/3-3fa91c02", "digest": "d"}
        39500 tool.state {"callId": "c1", "from": "awaitingApproval", "to": "executing", "name": "write_file"}
    "#;
    let asked = spans(log).into_iter().find_map(|span| span.confirmation).unwrap();
    assert_eq!(asked.down_ms, 16_600);
    let said = "yes: ada (pts/3), 39.5 s, of which at most 16.6 s without a daemon";
    assert_eq!(decided(asked.decision.as_ref().unwrap()), said);
    let story = document(TraceFormat::Markdown, log);
    let answer = "Answer: `allowOnce` by ada (pts/3) after 39.5 s, of which at most 16.6 s without a daemon.";
    assert!(story.contains(answer), "{story}");
}
