//! `subagent run`, watched from a terminal, from a pipe and by a program.

use std::sync::mpsc;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use protocol::RunEndReason;

fn call(seq: i64, call_id: &str, name: &str, to: &str, more: Value) -> Value {
    let mut data = json!({"callId": call_id, "name": name, "to": to});
    for (key, value) in more.as_object().unwrap() {
        data[key] = value.clone();
    }
    envelope(seq, "tool.state", data)
}

fn details(description: &str) -> Value {
    json!({"details": {
        "title": "T", "description": description, "kind": "read", "risk": "safe", "locations": [],
    }})
}

fn delta(stream: &str, offset: u64, text: &str) -> Value {
    json!({
        "type": "model.textDelta", "sessionId": "s1", "runId": "r1", "agent": "scout", "agentPath": ["scout"],
        "data": {"stream": stream, "afterSeq": 5, "offset": offset, "text": text},
    })
}

fn model_completed(seq: i64, stream: &str, text: &str, calls: &[&str]) -> Value {
    let usage = json!({"promptTokens": 1, "cachedTokens": 0, "outputTokens": 1, "thoughtTokens": 0});
    let data = json!({
        "stream": stream, "model": "offline", "text": text, "finishReason": "stop", "usage": usage,
        "calls": calls,
    });
    envelope(seq, "model.completed", data)
}

/// A run that thinks, reads two files at once, fails once, speaks, and completes.
fn eventful_run(record: &Value) -> Vec<Value> {
    let started = json!({
        "agent": "scout", "title": "Scout", "digest": "sha256:00", "model": "offline", "contextId": "c1",
        "query": "q", "inputs": {}, "limits": {"maxTurns": 30, "graceMs": 60000}, "completion": "tool",
        "depth": 0,
    });
    let error = json!({"error": {"type": "FILE_NOT_FOUND", "message": "no such file: b.rs"}});
    vec![
        envelope(1, "session.created", json!({"roots": ["/w"]})),
        envelope(2, "run.started", started),
        envelope(3, "turn.started", json!({"turn": 1})),
        envelope(4, "model.started", json!({"model": "offline", "stream": "a", "attempt": 1})),
        envelope(5, "thought", json!({"stream": "a", "subject": "Where to look", "text": "…"})),
        delta("a", 0, "Let me "),
        delta("a", 4, "me look."),
        model_completed(6, "a", "Let me look.", &["k1", "k2", "k3"]),
        call(7, "k1", "read_file", "scheduled", details("a.rs")),
        call(8, "k2", "read_file", "scheduled", json!({"arguments": {"path": "b.rs"}})),
        call(9, "k1", "read_file", "executing", json!({})),
        call(10, "k2", "read_file", "executing", json!({})),
        call(12, "k1", "read_file", "success", json!({"result": {"llmContent": []}})),
        call(25, "k2", "read_file", "error", error),
        envelope(26, "news.of.tomorrow", json!({})),
        call(27, "k3", "complete_task", "executing", json!({})),
        call(28, "k3", "complete_task", "success", json!({})),
        completed(29, record),
    ]
    .into_iter()
    .scan(0, |last, mut event| {
        if let Some(seq) = event["seq"].as_i64() {
            event["prev"] = json!(std::mem::replace(last, seq));
        }
        Some(event)
    })
    .collect()
}

fn goal() -> Value {
    record(json!({"reason": "GOAL", "result": "It is in a.rs:3."}))
}

fn check(command: Command, record: Value, expected: Expect) {
    let ran = command.against(vec![control(record.clone()), events(eventful_run(&record))]);
    let Ran { exit_code, stdout, stderr, .. } = ran;
    expected.assert_eq(&format!("exit {exit_code}\n--- stdout\n{stdout}--- stderr\n{stderr}"));
}

#[test]
fn in_a_pipe_stdout_has_the_result_alone() {
    check(
        Command::new(&["run", "scout", "-p", "q"]),
        goal(),
        expect![[r#"
            exit 0
            --- stdout
            It is in a.rs:3.
            --- stderr
            ▶ scout · offline · run r1
            · Where to look
            Let me look.
            ● read_file a.rs
            ● read_file b.rs
            ✓ read_file a.rs · 300 ms
            ✗ read_file b.rs · 1.5 s · FILE_NOT_FOUND: no such file: b.rs
            ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
        "#]],
    );
}

#[test]
fn on_a_narrow_terminal_a_call_keeps_to_one_row_with_its_time_and_words_stay_whole() {
    let details = json!({"details": {"description": "grep /(?:fn|struct|enum|trait|union)/ in files below src whose names end in rs"}});
    // The place that is searched stays in sight.
    let pattern = format!("/(?i:path)|(?i:resolv){}/ in src/tools/workspace.rs", "|(?i:more)".repeat(9));
    let pattern = json!({"details": {"description": pattern}});
    let warning = "the context window of a-model is not known; 128000 tokens are assumed; set the real number in the settings";
    let list = vec![
        call(3, "k1", "grep", "executing", details),
        envelope(4, "warning", json!({"message": warning})),
        call(5, "k1", "grep", "success", json!({"result": {"llmContent": []}})),
        call(6, "k2", "grep", "executing", pattern),
        call(7, "k2", "grep", "success", json!({"result": {"llmContent": []}})),
        completed(8, &goal()),
    ];
    let command =
        Command { is_terminal: true, columns: 60, ..Command::new(&["run", "scout", "-p", "q", "--new"]) };
    let ran = command.against(vec![control(goal()), events(list)]);
    expect![[r#"
        ! the context window of a-model is not known; 128000 tokens
          are assumed; set the real number in the settings
        ✓ grep /(?:fn|struct|enum|trait|union)/ in files … · 200 ms
        ✓ grep /(?i:path)|(?i:r…/ in src/tools/workspace.rs · 100 ms
        ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2
          s

    "#]]
    .assert_eq(&ran.stderr);
    let too_wide = |row: &&str| 60 < row.chars().count();
    assert_eq!(ran.stderr.lines().find(too_wide), None);
    assert_eq!(ran.drawn.iter().map(String::as_str).find(too_wide), None);
}

#[test]
fn a_typed_result_is_read_as_text_on_a_terminal_and_stays_json_for_programs() {
    let report = json!({
        "SummaryOfFindings": "It is in one place.\n\nNothing else writes it.",
        "RelevantLocations": [{"FilePath": "src/a.rs", "line": 3, "Reasoning": "Writes it.", "KeySymbols": ["a", "b"]}],
    });
    let ended = || record(json!({"reason": "GOAL", "result": format!("{report:#}")}));
    let ran = |command: Command| {
        command.against(vec![control(ended()), events(vec![completed(3, &ended())])]).stdout
    };
    let run = ["run", "scout", "-p", "q", "--new"];
    let on_terminal = ran(Command { is_terminal: true, ..Command::new(&run) });
    expect![[r#"
        Summary of findings
        It is in one place.

        Nothing else writes it.

        Relevant locations
          - src/a.rs:3
            Reasoning: Writes it.
            Key symbols: a, b
    "#]]
    .assert_eq(&on_terminal);
    assert_eq!(ran(Command::new(&run)), format!("{report:#}\n"));
    let json =
        Command { is_terminal: true, ..Command::new(&[&run[..], &["--output-format", "json"]].concat()) };
    let printed: Value = serde_json::from_str(&ran(json)).unwrap();
    assert_eq!(printed["result"], format!("{report:#}"));
}

#[test]
fn on_a_terminal_text_streams_without_repeats_and_calls_are_one_line() {
    let command = Command { is_terminal: true, ..Command::new(&["run", "scout", "-p", "q", "--new"]) };
    check(
        command,
        goal(),
        expect![[r#"
            exit 0
            --- stdout
            It is in a.rs:3.
            --- stderr
            ▶ scout · offline · run r1
            · Where to look
            Let me look.
            ✓ read_file a.rs · 300 ms
            ✗ read_file b.rs · 1.5 s · FILE_NOT_FOUND: no such file: b.rs
            ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s

        "#]],
    );
}

#[test]
fn json_is_the_record() {
    check(
        Command::new(&["run", "scout", "-p", "q", "--output-format", "json"]),
        goal(),
        expect![[r#"
            exit 0
            --- stdout
            {
              "runId": "r1",
              "sessionId": "s1",
              "contextId": "c1",
              "agent": "scout",
              "digest": "sha256:00",
              "model": "offline",
              "state": "ended",
              "usage": {
                "promptTokens": 1200,
                "cachedTokens": 0,
                "outputTokens": 34,
                "thoughtTokens": 0
              },
              "turns": 2,
              "toolCalls": 3,
              "filesChanged": [],
              "startedAt": "2025-11-20T11:04:00.100Z",
              "endedAt": "2025-11-20T11:04:04.300Z",
              "activeMs": 4200,
              "reason": "GOAL",
              "result": "It is in a.rs:3."
            }
            --- stderr
        "#]],
    );
}

#[test]
fn stream_json_is_every_envelope_and_the_record_last() {
    let record = goal();
    let sent = eventful_run(&record);
    let command = Command::new(&["run", "scout", "-p", "q", "--output-format", "stream-json"]);
    let ran = command.against(vec![control(record.clone()), events(sent.clone())]);
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected: Vec<Value> = sent.into_iter().chain([record]).collect();
    assert_eq!((lines, ran.stderr.as_str(), ran.exit_code), (expected, "", 0));
}

#[test]
fn every_reason_has_its_exit_code_and_tells_what_to_do() {
    let reasons = [
        RunEndReason::Goal,
        RunEndReason::MaxTurns,
        RunEndReason::Timeout,
        RunEndReason::ErrorNoCompleteTaskCall,
        RunEndReason::Budget,
        RunEndReason::Guardrail,
        RunEndReason::LoopDetected,
        RunEndReason::Unattended,
        RunEndReason::Aborted,
        RunEndReason::Error,
    ];
    let mut table = String::new();
    for reason in reasons.iter().map(|reason| reason.as_str()).chain(["BORED"]) {
        let mut fields = json!({"reason": reason, "partialResult": "half"});
        if reason == "ERROR" {
            fields["error"] = json!({"code": "PROVIDER_AUTH", "message": "the key is refused"});
        }
        let record = record(fields);
        let stopping = json!({"reason": reason, "then": "end", "message": "it was stopped"});
        let sent = vec![envelope(1, "run.stopping", stopping), completed(2, &record)];
        let ran = Command::new(&["run", "scout", "-p", "q"]).against(vec![control(record), events(sent)]);
        assert_eq!(ran.stdout, "half\n");
        let messages = ran.stderr.split_once('\n').unwrap().1;
        table.push_str(&format!("{}\n{messages}", ran.exit_code));
    }
    expect![[r#"
        0
        3
        error: the run ended MAX_TURNS: it was stopped
        hint: allow more with --max-turns N, or ask for less at a time
        4
        error: the run ended TIMEOUT: it was stopped
        hint: allow more with --timeout MINUTES, or ask for less at a time
        5
        error: the run ended ERROR_NO_COMPLETE_TASK_CALL: it was stopped
        hint: the model stopped without completing; try again, or another --model
        6
        error: the run ended BUDGET: it was stopped
        hint: raise `run.maxTokens` or `run.maxCostUsd`, whichever was used up, or ask for less at a time
        7
        error: the run ended GUARDRAIL: it was stopped
        hint: a guardrail of the agent refused; its file says which
        8
        error: the run ended LOOP_DETECTED: it was stopped
        hint: put the question another way, or try another --model
        9
        error: the run ended UNATTENDED: it was stopped
        hint: it had a question and nobody was there; run it on a terminal, or with --on-detached wait
        130
        error: the run ended ABORTED: it was stopped
        hint: it was cancelled; the same command starts it anew
        1
        error: the run ended ERROR PROVIDER_AUTH: the key is refused
        hint: check the provider's key, or try `--model offline`, which needs none
        76
        error: the run ended BORED: it was stopped
        hint: this daemon is newer than `subagent`; its documentation knows more
    "#]]
    .assert_eq(&table);
}

#[test]
fn a_message_that_is_the_result_is_not_printed_twice_on_a_terminal() {
    let record = record(json!({"reason": "GOAL", "result": "Hello there."}));
    let sent = vec![model_completed(1, "a", "Hello there.", &[]), completed(2, &record)];
    let command = Command { is_terminal: true, ..Command::new(&["run", "scout", "-p", "q", "--new"]) };
    let ran = command.against(vec![control(record), events(sent)]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.matches("Hello there.").count()), ("", 1));
}

#[test]
fn nothing_that_agents_say_steers_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{9b}2J\r\u{202e}x";
    let mut record = record(json!({"reason": "ERROR", "partialResult": evil}));
    record["error"] = json!({"code": "MODEL_FAILED", "message": evil});
    let error = json!({"error": {"type": "UNKNOWN", "message": evil}});
    let sent = vec![
        envelope(1, "thought", json!({"stream": "a", "subject": evil, "text": evil})),
        delta("a", 0, evil),
        model_completed(2, "a", &format!("{evil}{evil}"), &["k1"]),
        call(3, "k1", evil, "scheduled", details(evil)),
        call(4, "k1", evil, "error", error),
        envelope(5, "warning", json!({"message": evil})),
        completed(6, &record),
    ];
    for format in ["text", "json", "stream-json"] {
        let arguments = ["run", "scout", "-p", "q", "--new", "--output-format", format];
        let command = Command { is_terminal: true, ..Command::new(&arguments) };
        let ran = command.against(vec![control(record.clone()), events(sent.clone())]);
        for text in [ran.stdout, ran.stderr] {
            let bad =
                text.chars().find(|c| (c.is_control() && !matches!(c, '\n' | '\t')) || *c == '\u{202e}');
            assert_eq!(bad, None, "{format}: {text:?}");
        }
    }
}

#[test]
fn what_was_typed_is_what_is_asked_for() {
    let (sender, receiver) = mpsc::channel();
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        sender.send(start_run(peer)).unwrap();
        peer.wait_for_hangup();
    });
    let arguments = [
        "run",
        "scout",
        "--input",
        "depth=3",
        "--input",
        "why=just because",
        "--model",
        "offline",
        "--max-turns",
        "5",
        "--timeout",
        "0.5",
        "--workspace",
        ".",
        "--detach",
    ];
    let command = Command { stdin: Some("look around\n\n"), ..Command::new(&arguments) };
    let ran = command.against(vec![script]);
    let mut params = receiver.recv().unwrap();
    assert!(params["workspace"].take().is_string());
    let key = params["idempotencyKey"].take();
    assert!(key.as_str().is_some_and(|key| (8..=128).contains(&key.len())), "{key}");
    let expected = json!({
        "workspace": null, "agent": "scout", "prompt": "look around",
        "inputs": {"depth": 3, "why": "just because"},
        "limits": {"maxTurns": 5, "maxTimeMs": 30000}, "model": "offline", "ifBusy": "queue",
        "idempotencyKey": null,
    });
    assert_eq!(params, expected);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "r1\n"));
    assert!(ran.stderr.contains("subagent attach r1"), "{}", ran.stderr);
}

#[test]
fn a_refused_start_tells_what_and_what_to_do() {
    let refuse = |error: Value| {
        let script: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            peer.refuse("run/start", error);
        });
        let ran = Command::new(&["run", "scout", "-p", "q"]).against(vec![script]);
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""));
        ran.stderr
    };
    let violations = json!([{"pointer": "/depth", "message": "3 is not of type string"}]);
    let told = [
        json!({"code": -31027, "message": "no model is configured", "data": {"kind": "NO_MODEL", "retryable": false}}),
        json!({"code": -31010, "message": "no agent `scout`", "data":
            {"kind": "NOT_FOUND", "retryable": false, "details": {"didYouMean": "scouts"}}}),
        json!({"code": -31022, "message": "bad inputs", "data":
            {"kind": "INVALID_INPUT", "retryable": false, "details": violations, "hint": "mend depth"}}),
        json!({"code": -31004, "message": "/tool: there is no tool `Reed`", "data": {"kind": "INVALID_PARAMS", "retryable": false,
            "details": {"violations": [{"pointer": "/tool", "message": "there is no tool `Reed`"}]}}}),
        json!({"code": -31999, "message": "sorry", "data": {"kind": "TOO_BLUE"}}),
    ]
    .map(refuse)
    .concat();
    expect![[r#"
        error: no model is configured
        hint: name one with --model; `--model offline` needs no key
        error: no agent `scout`
        hint: did you mean `scouts`?
        error: bad inputs
          /depth: 3 is not of type string
        hint: mend depth
        error: /tool: there is no tool `Reed`
        hint: fix the value above; `subagent COMMAND --help` lists what is allowed
        error: sorry
        hint: this daemon is newer than `subagent`; its documentation knows more
    "#]]
    .assert_eq(&told);
}

/// The end of a command: what it was told by, and a word that stands in it.
fn command_ended(seq: i64, call_id: &str, command: &str, data: Value, text: &str) -> [Value; 2] {
    let result = json!({"llmContent": [{"type": "text", "text": text}], "data": data});
    [
        call(seq, call_id, "run_shell_command", "executing", details(command)),
        call(seq + 1, call_id, "run_shell_command", "success", json!({"result": result})),
    ]
}

#[test]
fn a_command_that_fails_gets_no_tick_and_says_what_it_said_last() {
    let record = goal();
    let note = "[The command ran in a sandbox (bubblewrap): only the workspace and $TMPDIR can be written.]";
    let long = "x".repeat(100);
    let ends = [
        command_ended(2, "k1", "true", json!({"exitCode": 0, "signal": null}), "much\nof it"),
        command_ended(
            4,
            "k2",
            "cargo test",
            json!({"exitCode": 101, "signal": null}),
            &format!("Exit code: 101\n1\n2\n3\nstderr:\n4\n{long}\n\u{1b}[2Jlast\n"),
        ),
        command_ended(
            6,
            "k3",
            "spin",
            json!({"exitCode": null, "signal": "9 (KILL)"}),
            "Ended by signal 9 (KILL)\n(no output)\n",
        ),
        command_ended(
            8,
            "k4",
            "touch a; ls",
            json!({"exitCode": 0, "signal": null}),
            &format!("b\nstderr:\ntouch: Read-only file system\n{note}"),
        ),
    ];
    let started = json!({"agent": "scout", "model": "offline", "path": ""});
    let sent = [envelope(1, "run.started", started)].into_iter().chain(ends.into_iter().flatten());
    let sent = sent.chain([completed(10, &record)]).collect();
    let command =
        Command { is_terminal: true, columns: 80, ..Command::new(&["run", "scout", "-p", "q", "--new"]) };
    let ran = command.against(vec![control(record), events(sent)]);
    expect![[r#"
        ▶ scout · offline · run r1
        ✓ run_shell_command true · 100 ms
        ✗ run_shell_command cargo test · exit code 101 · 100 ms
            2
            3
            4
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
            ^[[2Jlast
        ✗ run_shell_command spin · signal 9 (KILL) · 100 ms
        ✓ run_shell_command touch a; ls · 100 ms
            ! the sandbox may have refused it something; see `sandbox` in the settings
        ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s

    "#]]
    .assert_eq(&ran.stderr);
}

/// What to do stands at the end of an error.
#[test]
fn an_error_is_shown_whole_up_to_four_hundred_characters() {
    let record = goal();
    let whole = format!("{}the end", "long ".repeat(78));
    let failed = |seq: i64, message: &str| {
        let error = json!({"error": {"type": "WEB_FETCH_PROCESSING_ERROR", "message": message}});
        [
            call(seq, &format!("k{seq}"), "web_fetch", "executing", details(&"http://a.example/".repeat(6))),
            call(seq + 1, &format!("k{seq}"), "web_fetch", "error", error),
        ]
    };
    let started = json!({"agent": "scout", "model": "offline", "path": ""});
    let sent = [envelope(1, "run.started", started)].into_iter().chain(failed(2, &whole));
    let sent = sent.chain(failed(4, &format!("{whole} and more"))).chain([completed(6, &record)]).collect();
    let ran =
        Command::new(&["run", "scout", "-p", "q", "--new"]).against(vec![control(record), events(sent)]);
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with('✗')).collect();
    assert!(errors[0].ends_with(&format!("WEB_FETCH_PROCESSING_ERROR: {whole}")), "{errors:?}");
    assert!(errors[1].ends_with(&format!("WEB_FETCH_PROCESSING_ERROR: {whole} an…")), "{errors:?}");
}

#[test]
fn a_tool_that_calls_itself_by_its_name_is_named_once() {
    let ended = record(json!({"reason": "GOAL", "result": "done"}));
    let told = vec![
        envelope(1, "session.created", json!({"roots": ["/w"]})),
        call(2, "k1", "diagnostics", "scheduled", details("diagnostics a.rs")),
        call(3, "k1", "diagnostics", "executing", json!({})),
        call(4, "k1", "diagnostics", "success", json!({"result": {"llmContent": []}})),
        // Another word that only begins so.
        call(5, "k2", "grep", "scheduled", details("grepping a.rs")),
        call(6, "k2", "grep", "executing", json!({})),
        call(7, "k2", "grep", "success", json!({"result": {"llmContent": []}})),
        completed(8, &ended),
    ];
    let ran = Command::new(&["run", "scout", "-p", "q"]).against(vec![control(ended), events(told)]);
    assert!(ran.stderr.contains("diagnostics a.rs") && ran.stderr.contains("grep grepping a.rs"), "{ran:?}");
    assert!(!ran.stderr.contains("diagnostics diagnostics"), "{}", ran.stderr);
}

#[test]
fn what_a_run_takes_care_of_is_told() {
    let record = record(json!({
        "reason": "LOOP_DETECTED", "message": "the run goes round in circles: the same", "partialResult": "half",
        "cost": {"amount": "0.0021", "currency": "USD"}, "childCost": {"amount": "0.04", "currency": "USD"},
        "childUnpricedTokens": 12,
    }));
    let compressed = |status: &str, message: Value| {
        json!({
            "status": status, "epoch": 1, "forced": false, "tokensBefore": 41_347, "tokensAfter": 2_809,
            "messagesBefore": 9, "messagesAfter": 3, "outputsCut": 4, "message": message,
        })
    };
    let money = |amount: &str| json!({"amount": amount, "currency": "USD"});
    let told = [
        ("run.started", json!({"agent": "scout", "model": "local/a", "path": ""})),
        ("sideCall.started", json!({"purpose": "routing", "model": "local/s"})),
        ("run.toolsChanged", json!({"added": ["mcp.s.b"], "removed": ["mcp.s.a"], "changed": ["mcp.s.c"]})),
        ("model.routed", json!({"model": "local/a", "by": "default", "reason": "the answer is empty"})),
        ("model.routed", json!({"model": "local/b", "by": "classifier", "reason": "it is hard"})),
        ("context.compressed", compressed("COMPRESSED", Value::Null)),
        ("context.compressed", compressed("NOOP", Value::Null)),
        ("context.compressed", compressed("COMPRESSION_FAILED_EMPTY_SUMMARY", json!("nobody listens"))),
        ("context.cleared", json!({"epoch": 2})),
        ("model.fallback", json!({"from": "local/b", "to": "other/c", "message": "no quota"})),
        ("budget.warning", json!({"kind": "tokens", "used": 812, "limit": 1_000})),
        ("budget.warning", json!({"kind": "cost", "used": money("0.08"), "limit": money("0.1")})),
        ("budget.raised", json!({"limits": {"maxTokens": 2_000, "maxCost": money("0.2")}})),
        ("budget.warning", json!({"kind": "patience", "used": {"sighs": 3}, "limit": "four"})),
        ("loop.detected", json!({"kind": "calls", "message": "the same, five times", "stops": false})),
        ("loop.detected", json!({"kind": "calls", "message": "the same", "stops": true})),
        ("run.stopping", json!({"reason": "LOOP_DETECTED", "then": "grace", "message": "circles: the same"})),
    ];
    let n_told = i64::try_from(told.len()).unwrap();
    let sent = (1..).zip(told).map(|(seq, (kind, data))| envelope(seq, kind, data));
    let sent = sent.chain([completed(n_told + 1, &record)]).collect();
    let ran =
        Command::new(&["run", "scout", "-p", "q", "--new"]).against(vec![control(record), events(sent)]);
    expect![[r#"
        ▶ scout · local/a · run r1
        · other tools from now on: +mcp.s.b -mcp.s.a ~mcp.s.c
        ! local/a serves: the answer is empty
        · local/b serves: it is hard
        · the context was shortened: 41.3k tokens → 2809 tokens
        ! the context could not be shortened: nobody listens
        · the context begins anew
        ! other/c takes over from local/b
        ! 812 tokens of 1000 are used up
        ! $0.08 of $0.1 are used up
        · the budget was raised to 2000 tokens and $0.2
        ! little is left of a budget
        ! the same, five times; it is told so
        ! circles: the same; one last turn to finish
        ■ scout · LOOP_DETECTED · 2 turns · 3 tool calls · 1234 tokens · >$0.0421 · 4.2 s
        error: the run ended LOOP_DETECTED: the run goes round in circles: the same
        hint: put the question another way, or try another --model
    "#]]
    .assert_eq(&ran.stderr);
}
