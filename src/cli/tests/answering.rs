//! Questions that are answered from elsewhere: `approvals`, `approve`, `deny`; and what a run says in a pipe.

use serde_json::{Value, json};

use super::{
    asking::{looks_at, question, requested, resolved, responds, told},
    *,
};

const ID: &str = "019aa1b2-c3d4-7001-8000-000000000001";

/// Answers the question, and then what it is asked.
fn desk(question: Value, play: impl FnOnce(&mut ScriptedPeer) + Send + 'static) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        peer.answer("confirmation/get", json!({"confirmation": question}));
        play(peer);
        peer.wait_for_hangup();
    })
}

/// The question is found by the beginning of its id; whether it is answered is for whoever sees it.
fn found_by_its_beginning(play: impl FnOnce(&mut ScriptedPeer) + Send + 'static) -> DaemonScript {
    Box::new(|peer| {
        say_hello(peer);
        let list = json!({"confirmations": [question(json!({}))]});
        assert!(peer.answer("confirmation/list", list).get("resolved").is_none(), "only open ones");
        let params = peer.answer("confirmation/get", json!({"confirmation": question(json!({}))}));
        assert_eq!(params, json!({"confirmationId": ID}));
        play(peer);
        peer.wait_for_hangup();
    })
}

#[test]
fn a_beginning_of_an_id_is_enough_for_whoever_is_shown_and_asked() {
    let answered = |peer: &mut ScriptedPeer| {
        let params = responds(peer, "allowOnce");
        assert_eq!(params, json!({"confirmationId": ID, "digest": "sha256:01", "outcome": "allowOnce"}));
    };
    let command =
        Command { is_terminal: true, press_after: AGREES.to_vec(), ..Command::new(&["approve", "019aa1b2"]) };
    let ran = command.against(vec![found_by_its_beginning(answered)]);
    assert_eq!(
        (ran.exit_code, ran.stdout.as_str()),
        (0, "question 019aa1b2-c3d4: allowed once · Edit a.rs\n")
    );
    let at = |text: &str| ran.stderr.find(text).unwrap_or_else(|| panic!("{text}: {}", ran.stderr));
    assert!(at("│ +new") < at("answer it so?"), "shown before it is asked: {}", ran.stderr);
    // Whoever declines, or typed before it was asked, has allowed nothing.
    for keys in [vec![("n declines › ", "n")], vec![("one moment", "y"), ("n declines › ", "\r")]] {
        let command =
            Command { is_terminal: true, press_after: keys, ..Command::new(&["approve", "019aa1b2"]) };
        let ran = command.against(vec![found_by_its_beginning(|_| {})]);
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    }
    // Nobody can be asked in a pipe, so the whole id has to be given: then it was seen.
    for arguments in [&["approve", "019aa1b2"][..], &["approve", "019aa1b2", "--yes"]] {
        let ran = Command::new(arguments).against(vec![found_by_its_beginning(|_| {})]);
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("subagent approve {ID}")), "{}", ran.stderr);
    }
}

#[test]
fn high_risk_and_what_lasts_is_asked_about_even_with_the_whole_id() {
    let risky = || question(json!({"risk": "high"}));
    for (arguments, asked, words) in [
        (&["approve", ID][..], risky(), "answer it so?"),
        (&["approve", ID, "--always", "project"], question(json!({})), "from now on"),
    ] {
        for agrees in [false, true] {
            let script = desk(asked.clone(), move |peer| {
                if agrees {
                    let answer = json!({"resolution": {"outcome": "allowOnce", "by": "client"}});
                    peer.answer("confirmation/respond", answer);
                }
            });
            let press_after = if agrees { AGREES.to_vec() } else { vec![("n declines › ", "n")] };
            let ran =
                Command { is_terminal: true, press_after, ..Command::new(arguments) }.against(vec![script]);
            assert_eq!(ran.exit_code, u8::from(!agrees), "{arguments:?}: {}", ran.stderr);
            assert!(ran.stderr.contains(words), "{}", ran.stderr);
        }
        // Whoever says so beforehand is not asked again.
        let script = desk(asked, |peer| {
            peer.answer(
                "confirmation/respond",
                json!({"resolution": {"outcome": "allowOnce", "by": "client"}}),
            );
        });
        let arguments = [arguments, &["--yes"]].concat();
        let ran = Command { is_terminal: true, ..Command::new(&arguments) }.against(vec![script]);
        assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    }
}

#[test]
fn a_question_that_is_over_says_who_ended_it_and_when() {
    let over = || {
        let resolution = json!({
            "outcome": "deny", "by": "client", "name": "eve@pts/3-0123abcd", "message": "no",
            "at": "2025-11-20T11:05:00.000Z",
        });
        question(json!({"state": "resolved", "resolution": resolution}))
    };
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("confirmation/list", json!({"confirmations": []}));
        let params = peer.answer("confirmation/list", json!({"confirmations": [over()]}));
        assert_eq!(params["resolved"], true, "a short id is looked for among those that are over, too");
        peer.answer("confirmation/get", json!({"confirmation": over()}));
        peer.wait_for_hangup();
    });
    let ran = Command::new(&["approve", "019aa1b2"]).against(vec![script]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("is over: denied by eve (pts/3): no, 2025-11-20"), "{}", ran.stderr);
}

#[test]
fn an_answer_after_somebody_elses_says_who_was_quicker_where_and_when() {
    for (name, told) in [
        (
            "ada@pts/3-0123abcd",
            "is over: denied by you in another terminal (pts/3): no, 2025-11-20 11:05:00Z",
        ),
        ("eve@pts/3-0123abcd", "is over: denied by eve (pts/3): no, 2025-11-20 11:05:00Z"),
    ] {
        let resolution = json!({
            "outcome": "deny", "by": "client", "name": name, "message": "no", "at": "2025-11-20T11:05:00.000Z",
        });
        let over = question(json!({"state": "resolved", "resolution": resolution}));
        let was_over: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            peer.answer("confirmation/get", json!({"confirmation": over}));
            peer.wait_for_hangup();
        });
        // Or it came while this one was on its way.
        let came_over = desk(question(json!({})), move |peer| {
            let details = json!({"resolution": resolution});
            let data =
                json!({"kind": "CONFIRMATION_ALREADY_RESOLVED", "retryable": false, "details": details});
            peer.refuse(
                "confirmation/respond",
                json!({"code": -31041, "message": "it is over", "data": data}),
            );
        });
        for script in [was_over, came_over] {
            let ran = Command::new(&["approve", ID]).against(vec![script]);
            assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""));
            assert!(ran.stderr.contains(told), "{}", ran.stderr);
        }
    }
}

#[test]
fn what_is_decided_is_shown_first() {
    let script = desk(question(json!({})), |peer| {
        responds(peer, "allowOnce");
    });
    check(
        Command::new(&["approve", ID]),
        vec![script],
        expect_test::expect![[r#"
            exit 0
            --- stdout
            question 019aa1b2-c3d4: allowed once · Edit a.rs
            --- stderr
            ? scout › writer asks · edit_file · risk low
            │ Edit a.rs
            │ asked because edits are asked about (builtin:risk=low)
            │ /w/a.rs
            │ --- a/a.rs
            │ +++ b/a.rs
            │ @@ -1,2 +1,2 @@
            │  keep
            │ -old
            │ +new
        "#]],
    );
}

#[test]
fn always_says_where_and_a_message_says_why() {
    for (place, outcome) in [("session", "allowSession"), ("project", "allowProject")] {
        let script = desk(question(json!({})), move |peer| {
            responds(peer, outcome);
        });
        assert_eq!(Command::new(&["approve", "q1", "--always", place]).against(vec![script]).exit_code, 0);
    }
    let script = desk(question(json!({})), |peer| {
        assert_eq!(responds(peer, "deny")["message"], "not there");
    });
    assert_eq!(Command::new(&["deny", "q1", "-m", "not there"]).against(vec![script]).exit_code, 0);
    let script = desk(question(json!({})), |peer| {
        let params = responds(peer, "allowOnce");
        // Which question it is, and how it was asked, is bound to the token: saying so again is refused.
        assert_eq!(
            (&params["token"], params.get("confirmationId"), params.get("digest")),
            (&json!("t0k3n"), None, None)
        );
    });
    assert_eq!(Command::new(&["approve", "--token", "t0k3n"]).against(vec![script]).exit_code, 0);
}

#[test]
fn what_is_not_offered_is_not_sent() {
    let only_unknown = json!([{"outcome": "allowForever", "label": "For ever"}]);
    let cases: [(&[&str], Value); 3] = [
        // The question offers no `allowUser`.
        (&["approve", "q1", "--always", "user"], question(json!({}))),
        (&["approve", "q1"], question(json!({"options": only_unknown}))),
        (&["approve", "q1", "--answer", "x"], question(json!({}))),
    ];
    for (arguments, question) in cases {
        let ran = Command::new(arguments).against(vec![desk(question, |_| {})]);
        assert!(ran.exit_code != 0 && ran.stdout.is_empty(), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("hint: "), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn an_agents_question_needs_an_answer_each() {
    let questions = json!([{"question": "Which?", "options": ["left", "right"]}, {"question": "Why?"}]);
    let asked = || {
        let options = json!([{"outcome": "answer", "label": "Answer"}]);
        question(json!({"details": {"type": "question", "questions": questions}, "options": options}))
    };
    let script = desk(asked(), |peer| {
        assert_eq!(responds(peer, "answer")["answers"], json!(["right", "so"]));
    });
    let arguments = ["approve", "q1", "--answer", "2", "--answer", "so"];
    assert_eq!(Command::new(&arguments).against(vec![script]).exit_code, 0);
    for arguments in [&["approve", "q1"][..], &["approve", "q1", "--answer", "9", "--answer", "x"]] {
        let ran = Command::new(arguments).against(vec![desk(asked(), |_| {})]);
        assert_eq!(ran.exit_code, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("Which?"), "the question is shown: {}", ran.stderr);
    }
}

#[test]
fn fields_of_a_form_are_read_as_what_they_are_and_may_be_left_out() {
    let questions = json!([
        {"question": "Age", "kind": "integer", "optional": true},
        {"question": "Height", "kind": "number", "default": "1.5"},
        {"question": "Sure?", "kind": "boolean", "options": ["yes", "no"], "closed": true},
        {"question": "Ways", "options": ["air", "sea"], "closed": true, "multiSelect": true, "optional": true},
        {"question": "Colour", "options": ["red", "blue"], "closed": true},
    ]);
    let asked = || {
        let options = json!([{"outcome": "answer", "label": "Answer"}]);
        question(json!({"details": {"type": "question", "questions": questions}, "options": options}))
    };
    let approve = |answers: [&'static str; 5]| {
        let mut arguments = vec!["approve", "q1"];
        arguments.extend(answers.into_iter().flat_map(|answer| ["--answer", answer]));
        arguments
    };
    let script = desk(asked(), |peer| {
        assert_eq!(responds(peer, "answer")["answers"], json!(["36", "", "no", ["air", "sea"], "red"]));
    });
    assert_eq!(Command::new(&approve(["36", "", "2", "1,2", "1"])).against(vec![script]).exit_code, 0);
    let script = desk(asked(), |peer| {
        assert_eq!(responds(peer, "answer")["answers"], json!(["", "2", "true", [], "blue"]));
    });
    assert_eq!(Command::new(&approve(["", "2", "true", "", "blue"])).against(vec![script]).exit_code, 0);
    for (answers, why) in [
        (["old", "2", "yes", "1", "1"], "a whole number is needed"),
        (["1", "tall", "yes", "1", "1"], "a number is needed"),
        (["1", "2", "perhaps", "1", "1"], "yes or no is needed"),
        (["1", "2", "yes", "1", "green"], "only one of the options"),
        (["1", "2", "", "1", "1"], "nothing in it"),
    ] {
        let ran = Command::new(&approve(answers)).against(vec![desk(asked(), |_| {})]);
        assert_eq!(ran.exit_code, 2, "{answers:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{answers:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("may be left out") && ran.stderr.contains("nothing means: 1.5"));
    }
}

#[test]
fn a_call_of_a_servers_tool_is_shown_with_server_and_arguments() {
    let details = json!({"type": "mcp", "server": "github", "tool": "create_issue", "arguments": {"title": "It \u{1b}[2Jfails"}});
    let script = desk(question(json!({"details": details})), |peer| {
        responds(peer, "allowOnce");
    });
    let ran = Command::new(&["approve", "q1"]).against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("create_issue of the MCP server github"), "{}", ran.stderr);
    assert!(ran.stderr.contains("\"title\": \"It \\u001b[2Jfails\""), "{}", ran.stderr);
}

#[test]
fn a_stale_or_late_answer_fails_and_says_so() {
    for (kind, hint) in [
        ("CONFIRMATION_STALE", "nothing was decided"),
        ("CONFIRMATION_ALREADY_RESOLVED", "nothing is left to answer"),
    ] {
        let script = desk(question(json!({})), move |peer| {
            let data = json!({"kind": kind, "retryable": false});
            peer.refuse("confirmation/respond", json!({"code": -31040, "message": "no", "data": data}));
        });
        let ran = Command::new(&["approve", "q1"]).against(vec![script]);
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""));
        assert!(ran.stderr.contains(hint), "{}", ran.stderr);
    }
}

#[test]
fn open_questions_are_a_table() {
    let claim = json!({"name": "phone", "until": "2025-11-20T11:05:00.000Z"});
    let list = json!({"nextCursor": "c2", "confirmations": [
        question(json!({"title": "Edit \u{1b}[2Ja.rs"})),
        question(json!({"confirmationId": "q2", "state": "claimed", "claim": claim, "risk": "high"})),
    ]});
    check(
        Command::new(&["approvals", "--session", "s1", "-n", "2"]),
        vec![answering("confirmation/list", json!({"sessionId": "s1", "limit": 2}), list)],
        expect_test::expect![[r#"
            exit 0
            --- stdout
            019aa1b2-c3d4  2025-11-20 11:04:00Z  scout › writer  edit_file  low   offered           Edit ^[[2Ja.rs
            q2             2025-11-20 11:04:00Z  scout › writer  edit_file  high  claimed by phone  Edit a.rs
            --- stderr
            note: there are more: raise --limit, or go on with --cursor c2
        "#]],
    );
    let none = answering("confirmation/list", json!({"limit": 20}), json!({"confirmations": []}));
    assert_eq!(Command::new(&["approvals"]).against(vec![none]).stdout, "no open questions\n");
}

/// The snapshot of whoever watches all sessions.
fn snapshot() -> Value {
    let mut open = question(json!({}));
    open["offered"] = json!(true);
    let data = json!({"seq": 7, "runs": [record(json!({"state": "running"}))], "openItems": [], "openConfirmations": [open]});
    json!({"type": "signal.snapshot", "data": data})
}

#[test]
fn whoever_watches_on_a_terminal_is_asked_in_place() {
    let (tell, events) = told(vec![snapshot()]);
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        looks_at(peer, &question(json!({})));
        responds(peer, "allowOnce");
        tell.send(resolved(8, "allowOnce", "eve")).unwrap();
    });
    let command = Command {
        is_terminal: true,
        press_after: vec![("? more › ", "y")],
        interrupt_after: vec!["allowed once"],
        ..Command::new(&["approvals", "--watch"])
    };
    let ran = command.against(vec![control, events]);
    assert_eq!(ran.exit_code, 130);
    assert!(ran.stderr.contains("✓ allowed once by eve · Edit a.rs"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("running"), "runs are for `attach`: {}", ran.stderr);
}

#[test]
fn whoever_watches_in_a_pipe_gets_a_line_each_and_a_program_the_events() {
    let stream = || -> DaemonScript {
        Box::new(|peer| {
            assert_eq!(peer.answer("session/attach", json!("1"))["sessionId"], "*");
            assert!(peer.introduction.is_none(), "nobody can be asked here");
            peer.event(snapshot());
            peer.event(envelope(8, "turn.started", json!({"turn": 1})));
            let mut event = resolved(9, "deny", "bob-1");
            event["prev"] = json!(8);
            peer.event(event);
            peer.wait_for_hangup();
        })
    };
    let control = || -> DaemonScript { Box::new(say_hello) };
    let command = Command { interrupt_after: vec!["denied"], ..Command::new(&["approvals", "--watch"]) };
    let ran = command.against(vec![control(), stream()]);
    let line = "`subagent approve 019aa1b2-c3d4` or `deny 019aa1b2-c3d4`: Edit a.rs (risk low)";
    assert!(ran.stderr.contains(line) && ran.stderr.contains("✗ denied by bob-1"), "{}", ran.stderr);

    let arguments = ["approvals", "--watch", "--format", "json"];
    let command = Command { interrupt_after_stdout: true, ..Command::new(&arguments) };
    let ran = command.against(vec![control(), stream()]);
    let first: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!((&first["type"], ran.stderr.as_str()), (&json!("signal.snapshot"), ""));
}

#[test]
fn a_run_in_a_pipe_says_where_to_answer_and_is_nobody_who_can_be_asked() {
    let goal = record(json!({"reason": "UNATTENDED"}));
    let sent = vec![
        requested(3, false, &question(json!({}))),
        envelope(4, "run.waiting", json!({"waiting": true})),
        resolved(5, "deny", "bob-1"),
        completed(6, &goal),
    ];
    let ran = Command::new(&["run", "scout", "-p", "q"]).against(vec![control(goal), events(sent)]);
    expect_test::expect![[r#"
        ? `subagent approve 019aa1b2-c3d4` or `deny 019aa1b2-c3d4`: Edit a.rs (risk low)
        … waits for an answer; its time limit is paused until then
        ✗ denied by bob-1 · Edit a.rs · 2025-11-20 11:04:01Z
        ■ scout · UNATTENDED · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
        error: the run ended UNATTENDED
        hint: it had a question and nobody was there; run it on a terminal, or with --on-detached wait
    "#]]
    .assert_eq(&ran.stderr);
    assert_eq!(ran.exit_code, 9);
}

#[test]
fn what_the_flags_say_about_questions_is_sent() {
    let sent = |arguments: &[&str]| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let script: DaemonScript = Box::new(move |peer| {
            // With --headless nobody sits here, terminal or not.
            let hello = peer.answer("initialize", json!({"daemon": {"version": "0"}}));
            assert!(hello.get("capabilities").is_none(), "{hello}");
            sender.send(start_run(peer)).unwrap();
            peer.wait_for_hangup();
        });
        let run = ["run", "scout", "-p", "q", "--new", "--detach"];
        let command = Command { is_terminal: true, ..Command::new(&[&run, arguments].concat()) };
        command.against(vec![script]);
        receiver.recv().unwrap()["approval"].take()
    };
    assert_eq!(sent(&[]), Value::Null);
    // One that is followed on a terminal, too.
    let goal = record(json!({"reason": "GOAL", "result": "done"}));
    let (ended, last) = (goal.clone(), completed(2, &goal));
    let control: DaemonScript = Box::new(move |peer| {
        assert!(peer.answer("initialize", json!({"daemon": {"version": "0"}})).get("capabilities").is_none());
        assert_eq!(start_run(peer)["approval"], json!({"headless": true}));
        peer.answer("run/get", ended);
    });
    let follows: DaemonScript = Box::new(move |peer| {
        peer.answer("session/attach", json!("1"));
        assert!(peer.introduction.is_none());
        peer.event(last);
        peer.wait_for_hangup();
    });
    let run = ["run", "scout", "-p", "q", "--new", "--headless"];
    let command = Command { is_terminal: true, ..Command::new(&run) };
    assert_eq!(command.against(vec![control, follows]).exit_code, 0);
    assert_eq!(sent(&["--headless"]), json!({"headless": true}));
    let all = ["--approve", "low,medium", "--approve", "high", "--mode", "autoEdit", "--on-detached", "fail"];
    let expected =
        json!({"mode": "autoEdit", "autoApprove": ["low", "medium", "high"], "onDetached": "fail"});
    assert_eq!(sent(&all), expected);
    let folder = tempfile::tempdir().unwrap();
    let refused = Command::new(&["run", "scout", "--approve", "critical"]).run(folder.path());
    assert_eq!(refused.exit_code, 2, "critical is never approved beforehand");
}

#[test]
fn a_run_that_is_waited_for_and_asks_is_told_of_once() {
    let waiting = json!({"run": record(json!({"state": "waiting"})), "done": false, "confirmations": [question(json!({}))]});
    let done = json!({"run": record(json!({"reason": "GOAL", "result": "done"})), "done": true});
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("run/wait", waiting.clone());
        peer.answer("run/wait", waiting);
        peer.answer("run/wait", done);
    });
    let ran = Command::new(&["wait", "r1"]).against(vec![script]);
    assert_eq!((ran.exit_code, ran.stderr.matches("waits for an answer").count()), (0, 1), "{}", ran.stderr);
}
