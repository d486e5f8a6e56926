//! `subagent trace`, and `run --trace`.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

const RUN: &str = "019aa1b2-c3d4-7001-8000-00000000000a";

fn span(
    id: &str,
    parent: Option<&str>,
    kind: &str,
    name: &str,
    times: (i64, Option<i64>),
    more: Value,
) -> Value {
    let (start, end) = times;
    let mut span = json!({
        "traceId": RUN, "spanId": id, "kind": kind, "name": name, "runId": RUN, "agent": "lead", "depth": 0,
        "startedAt": "2025-11-20T11:04:00.000Z", "startUs": start * 1_000, "status": "ok",
    });
    match end {
        Some(end) => span["endUs"] = json!(end * 1_000),
        None => span["status"] = json!("open"),
    }
    if let Some(parent) = parent {
        span["parentSpanId"] = json!(parent);
    }
    for (key, value) in more.as_object().unwrap() {
        span[key] = value.clone();
    }
    span
}

/// In the order in which they ended.
fn spans() -> Vec<Value> {
    let used = |prompt: u64, cost: &str| {
        json!({
            "usage": {"promptTokens": prompt, "cachedTokens": 0, "outputTokens": 58, "thoughtTokens": 0},
            "cost": {"amount": cost, "currency": "USD"},
        })
    };
    let decided = |outcome: &str, source: &str, more: Value| {
        let mut decision = json!({"outcome": outcome, "source": source});
        for (key, value) in more.as_object().unwrap() {
            decision[key] = value.clone();
        }
        decision
    };
    let allowed = decided("allow", "policy", json!({"rule": "builtin:risk=safe"}));
    let asked = decided("allowOnce", "client", json!({"name": "cli-ada", "waitedMs": 2_600}));
    let call = |tool: &str, description: &str, decision: &Value| json!({"tool": {"callId": "k", "tool": tool, "description": description, "decision": decision}});
    let question = json!({"confirmation": {
        "confirmationId": "q", "callId": "k", "asks": "edit", "rule": "builtin:risk=low", "reason": "x",
        "risk": "low", "decision": asked,
    }});
    let mut failed = call(
        "run_shell_command",
        "make\u{1b}[2J",
        &decided("deny", "policy", json!({"rule": "user:shop.toml:3"})),
    );
    failed["error"] = json!({"type": "POLICY_DENIED", "message": "user:shop.toml:3 forbids\nit"});
    failed["status"] = json!("error");
    let mut whole = used(1_624_000, "0.0192");
    let below = used(1_000, "0.0008");
    whole["run"] = json!({
        "model": "gemini/flash", "reason": "GOAL", "childUsage": below["usage"], "childCost": below["cost"],
    });
    vec![
        span("03", Some("02"), "llm", "gemini/flash", (0, Some(2_400)), used(812, "0.0004")),
        span(
            "04",
            Some("02"),
            "tool",
            "read_file",
            (2_400, Some(2_403)),
            call("read_file", "src/a.rs", &allowed),
        ),
        span("07", Some("02"), "tool", "run_shell_command", (2_400, Some(2_400)), failed),
        span("06", Some("05"), "confirmation", "Change src/a.rs?", (2_400, Some(5_000)), question),
        span(
            "05",
            Some("02"),
            "tool",
            "write_file",
            (2_400, Some(5_100)),
            call("write_file", "src/a.rs", &asked),
        ),
        span("02", Some("01"), "turn", "turn 1", (0, Some(5_100)), json!({"turn": 1})),
        span(
            "09",
            Some("08"),
            "llm",
            "gemini/flash",
            (5_100, None),
            json!({"llm": {"model": "m", "attempt": 2}}),
        ),
        span("01", None, "run", "lead", (0, Some(12_300)), whole),
        span("08", Some("01"), "turn", "turn 2", (5_100, None), json!({"turn": 2})),
    ]
}

/// A daemon that gives the spans in two pages.
fn two_pages(brief: bool) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        let (first, second) = (spans()[..4].to_vec(), spans()[4..].to_vec());
        let mut params = json!({"runId": RUN, "limit": 1_000});
        if brief {
            params["brief"] = json!(true);
        }
        assert_eq!(
            peer.answer("trace/get", json!({"traceId": RUN, "spans": first, "nextCursor": "9.4"})),
            params
        );
        if brief {
            peer.answer(
                "run/get",
                json!({"prompt": "Mend src/a.rs\nand \u{1b}[2Jall of it", "result": "It is mended."}),
            );
        }
        params["cursor"] = json!("9.4");
        assert_eq!(peer.answer("trace/get", json!({"traceId": RUN, "spans": second})), params);
        peer.wait_for_hangup();
    })
}

#[test]
fn a_trace_is_a_waterfall_that_fits_the_terminal() {
    let command = Command { is_terminal: true, columns: 100, ..Command::new(&["trace", "show", RUN]) };
    check(
        command,
        vec![two_pages(true)],
        expect![[r#"
            exit 0
            --- stdout
            lead · run 019aa1b2-c3d4-7001-8000-00000000000a · gemini/flash · 2025-11-20 11:04:00Z
            asked: Mend src/a.rs …

            SPAN                             WHEN        TIME    COST     ALLOWED, ENDED
            lead                             ██████████  12.3 s  $0.02    GOAL
              turn 1                         ████        5.1 s
                gemini/flash                 █           2.4 s   $0.0004
                read_file src/a.rs            █          3 ms             yes: builtin:risk=safe
                write_file src/a.rs           ███        2.7 s            yes: cli-ada, 2.6 s
                  ? Change src/a.rs?          ███        2.6 s            asked by builtin:risk=low
                run_shell_command make^[[2J   █          0 ms             no: user:shop.toml:3
              turn 2                             ░░░░░░  …                open
                gemini/flash · attempt 2         ░░░░░░  …                open

            result: It is mended.

            1624000 → 58 tokens, $0.0192

            ✗ lead, run_shell_command make^[[2J: POLICY_DENIED: user:shop.toml:3 forbids it
            --- stderr
        "#]],
    );
    let command = Command { is_terminal: true, columns: 80, ..Command::new(&["trace", "show", RUN]) };
    check(
        command,
        vec![two_pages(true)],
        expect![[r#"
            exit 0
            --- stdout
            lead · run 019aa1b2-c3d4-7001-8000-00000000000a · gemini/flash · 2025-11-20
            11:04:00Z
            asked: Mend src/a.rs …

            SPAN                        WHEN      TIME    COST     ALLOWED, ENDED
            lead                        ████████  12.3 s  $0.02    GOAL
              turn 1                    ███       5.1 s
                gemini/flash            █         2.4 s   $0.0004
                read_file src/a.rs       █        3 ms             yes: builtin:risk=safe
                write_file src/a.rs      ██       2.7 s            yes: cli-ada, 2.6 s
                  ? Change src/a.rs?     ██       2.6 s            asked by builtin:risk=low
                run_shell_command mak…   █        0 ms             no: user:shop.toml:3
              turn 2                       ░░░░░  …                open
                gemini/flash · attemp…     ░░░░░  …                open

            in full:
            lead, run_shell_command make^[[2J: no: user:shop.toml:3
            lead, gemini/flash · attempt 2: open

            result: It is mended.

            1624000 → 58 tokens, $0.0192

            ✗ lead, run_shell_command make^[[2J: POLICY_DENIED: user:shop.toml:3 forbids it
            --- stderr
        "#]],
    );
    let command = Command { is_terminal: true, columns: 120, ..Command::new(&["trace", "show", RUN]) };
    check(
        command,
        vec![two_pages(true)],
        expect![[r#"
            exit 0
            --- stdout
            lead · run 019aa1b2-c3d4-7001-8000-00000000000a · gemini/flash · 2025-11-20 11:04:00Z
            asked: Mend src/a.rs …

            SPAN                             WHEN                      TIME    TOKENS         COST     ALLOWED, ENDED
            lead                             ████████████████████████  12.3 s  1625.0k → 116  $0.02    GOAL
              turn 1                         █████████                 5.1 s
                gemini/flash                 ████                      2.4 s   812 → 58       $0.0004
                read_file src/a.rs               █                     3 ms                            yes: builtin:risk=safe
                write_file src/a.rs              █████                 2.7 s                           yes: cli-ada, 2.6 s
                  ? Change src/a.rs?             █████                 2.6 s                           asked by builtin:risk=low
                run_shell_command make^[[2J      █                     0 ms                            no: user:shop.toml:3
              turn 2                                  ░░░░░░░░░░░░░░░  …                               open
                gemini/flash · attempt 2              ░░░░░░░░░░░░░░░  …                               open

            result: It is mended.

            1624000 → 58 tokens, $0.0192

            ✗ lead, run_shell_command make^[[2J: POLICY_DENIED: user:shop.toml:3 forbids it
            --- stderr
        "#]],
    );
    for columns in [40, 60, 80, 200] {
        let command = Command { is_terminal: true, columns, ..Command::new(&["trace", "show", RUN]) };
        let ran = command.against(vec![two_pages(true)]);
        // Which run it is and what it was asked, the waterfall, its result, what was used, and the error whole.
        let lines: Vec<&str> = ran.stdout.lines().collect();
        let table = &lines[3..3 + spans().len() + 1];
        let most = table.iter().copied().map(super::super::width::of).max().unwrap();
        assert!(most <= columns, "{most} of {columns}\n{}", ran.stdout);
        // Whatever has no room in its row stands below the waterfall.
        for (name, note) in [
            ("gemini/flash · attempt 2", "open"),
            ("read_file src/a.rs", "yes: builtin:risk=safe"),
            ("write_file src/a.rs", "yes: cli-ada, 2.6 s"),
            ("? Change src/a.rs?", "asked by builtin:risk=low"),
        ] {
            // Below it a line may go on in the next row.
            let is_told = |line: &&str| line.contains(name) && line.contains(note);
            let below = lines[3 + table.len()..].join(" ");
            assert!(
                table.iter().any(is_told) || below.contains(name) && below.contains(note),
                "{name}, {note} at {columns}\n{}",
                ran.stdout
            );
        }
        assert_eq!(lines.contains(&"in full:"), columns < 200, "{columns}\n{}", ran.stdout);
    }
}

#[test]
fn in_a_pipe_a_trace_has_starts_in_place_of_bars_and_deep_spans_are_counted() {
    check(
        Command::new(&["trace", "show", RUN]),
        vec![two_pages(true)],
        expect![[r#"
            exit 0
            --- stdout
            lead · run 019aa1b2-c3d4-7001-8000-00000000000a · gemini/flash · 2025-11-20 11:04:00Z
            asked: Mend src/a.rs …

            lead                             +0 ms   12.3 s  1625.0k → 116  $0.02    GOAL
              turn 1                         +0 ms   5.1 s
                gemini/flash                 +0 ms   2.4 s   812 → 58       $0.0004
                read_file src/a.rs           +2.4 s  3 ms                            yes: builtin:risk=safe
                write_file src/a.rs          +2.4 s  2.7 s                           yes: cli-ada, 2.6 s
                  ? Change src/a.rs?         +2.4 s  2.6 s                           asked by builtin:risk=low
                run_shell_command make^[[2J  +2.4 s  0 ms                            no: user:shop.toml:3
              turn 2                         +5.1 s  …                               open
                gemini/flash · attempt 2     +5.1 s  …                               open

            result: It is mended.

            1624000 → 58 tokens, $0.0192

            ✗ lead, run_shell_command make^[[2J: POLICY_DENIED: user:shop.toml:3 forbids it
            --- stderr
        "#]],
    );
    check(
        Command::new(&["trace", "show", RUN, "--depth", "2"]),
        vec![two_pages(true)],
        expect![[r#"
            exit 0
            --- stdout
            lead · run 019aa1b2-c3d4-7001-8000-00000000000a · gemini/flash · 2025-11-20 11:04:00Z
            asked: Mend src/a.rs …

            lead           +0 ms   12.3 s  1625.0k → 116  $0.02  GOAL
              turn 1 (+5)  +0 ms   5.1 s
              turn 2 (+1)  +5.1 s  …                             open

            result: It is mended.

            1624000 → 58 tokens, $0.0192

            ✗ lead, run_shell_command make^[[2J: POLICY_DENIED: user:shop.toml:3 forbids it
            --- stderr
        "#]],
    );
    let ran = Command::new(&["trace", "show", RUN, "--format", "json"]).against(vec![two_pages(false)]);
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(printed, json!({"traceId": RUN, "spans": spans()}));
    // A run that goes on lasts up to now, and says what it waits for.
    let live = json!({"traceId": RUN, "now": "2025-11-20T11:04:10.000Z", "spans": [
        {"traceId": RUN, "spanId": "0000000000000001", "kind": "run", "name": "lead", "runId": RUN, "status": "open",
         "startUs": 1_763_636_640_000_000_i64, "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
         "run": {"parentRunId": "r0", "queuedMs": 4_000, "hooksMs": 2_000, "restarts": 1, "uncleanRestarts": 1,
                 "waitsFor": {"for": "person", "since": "2025-11-20T11:04:07.000Z", "about": "Change a.rs?", "confirmationId": "q1"}}},
        {"traceId": RUN, "spanId": "0000000000000008", "parentSpanId": "0000000000000001", "kind": "run", "name": "reader",
         "runId": "r3", "agent": "reader", "status": "cancelled", "startUs": 1_763_636_641_000_000_i64,
         "endUs": 1_763_636_642_000_000_i64,
         "run": {"reason": "ABORTED", "stoppedBy": "ada@pts/3-3fa91c02", "message": "wrong turn"}},
        {"traceId": RUN, "spanId": "0000000000000009", "parentSpanId": "0000000000000001", "kind": "confirmation",
         "name": "Run make?", "runId": RUN, "agent": "lead", "status": "ok", "startUs": 1_763_636_641_000_000_i64,
         "endUs": 1_763_636_642_000_000_i64,
         "confirmation": {"confirmationId": "q0", "callId": "c0", "asks": "exec", "rule": "r", "decision": {
             "outcome": "allowSession", "source": "client", "allows": "`make`, in this session",
             "remembers": "remembered:session:1: run_shell_command · commands make"}}},
        {"traceId": RUN, "spanId": "000000000000000a", "parentSpanId": "0000000000000001", "kind": "tool",
         "name": "write_file", "runId": RUN, "agent": "lead", "status": "ok", "startUs": 1_763_636_641_000_000_i64,
         "endUs": 1_763_636_642_000_000_i64, "input": {"text": "{\"path\":\"b\"}"},
         "tool": {"changedBy": ["user/PreToolUse/1"], "askedInput": {"text": "{\"path\":\"a\"}"}}},
        {"traceId": RUN, "spanId": "0000000000000003", "parentSpanId": "0000000000000001", "kind": "hook",
         "name": "PostToolUse", "runId": RUN, "status": "open", "startUs": 1_763_636_648_000_000_i64,
         "hook": {"hookId": "user/PostToolUse/1", "tool": "run_shell_command", "description": "make\nall", "attempt": 2}},
        {"traceId": RUN, "spanId": "0000000000000006", "parentSpanId": "0000000000000001", "kind": "hook",
         "name": "PostToolBatch", "runId": RUN, "status": "ok", "startUs": 1_763_636_646_000_000_i64,
         "endUs": 1_763_636_646_100_000_i64,
         "hook": {"hookId": "h", "outcome": "answered", "changed": true, "added": "the template\nfirst", "message": format!("look{}", " twice".repeat(200))}},
        {"traceId": RUN, "spanId": "0000000000000004", "parentSpanId": "0000000000000001", "kind": "llm",
         "name": "m", "runId": RUN, "agent": "lead", "turn": 2, "status": "ok", "startUs": 1_763_636_641_000_000_i64,
         "endUs": 1_763_636_645_000_000_i64, "llm": {"firstTokenMs": 3_000, "retryAfterMs": 1_999}},
        {"traceId": RUN, "spanId": "0000000000000007", "parentSpanId": "0000000000000006", "kind": "hook",
         "name": "PreToolUse", "runId": RUN, "agent": "lead", "status": "ok", "startUs": 1_763_636_641_000_000_i64,
         "endUs": 1_763_636_641_520_000_i64, "hook": {"hookId": "user/PreToolUse/1", "tool": "write_file"}},
        {"traceId": RUN, "spanId": "0000000000000005", "parentSpanId": "0000000000000001", "kind": "tool",
         "name": "run_shell_command", "runId": RUN, "agent": "lead", "status": "ok", "startUs": 1_763_636_641_000_000_i64,
         "endUs": 1_763_636_645_000_000_i64, "tool": {"description": "sleep 3\nlong", "waitedMs": 524, "downMs": 2_000}},
        {"traceId": RUN, "spanId": "0000000000000002", "parentSpanId": "0000000000000001", "kind": "confirmation",
         "name": "Change a.rs?", "runId": RUN, "status": "open", "startUs": 1_763_636_647_000_000_i64,
         "confirmation": {"confirmationId": "q1", "callId": "c", "asks": "edit", "rule": "builtin:risk=low"}},
    ]});
    let answering_live: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("trace/get", live);
        peer.answer("run/get", json!({"prompt": "Mend it"}));
        peer.wait_for_hangup();
    });
    let command = Command { is_terminal: true, columns: 260, ..Command::new(&["trace", "show", RUN]) };
    let ran = command.against(vec![answering_live]);
    for words in [
        "called by run r0: subagent trace show r0",
        "changed it; added: the template first; told people: look twice",
        "part of the trace 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "waits for a person's answer to “Change a.rs?”, since 2025-11-20 11:04:07Z",
        "2.0 s for hooks about its prompt",
        "ABORTED by ada (pts/3): wrong turn",
        "From now on it allows: `make`, in this session. It saved the rule remembered:session:1: run_shell_command · commands make.",
        "changed by the hook user/PreToolUse/1",
        "lead, write_file: the hook user/PreToolUse/1 changed {\"path\":\"a\"} → {\"path\":\"b\"}",
        "10.0 s…",
        "3.0 s…",
        "subagent approve q1",
        "4.0 s in a queue",
        "the daemon was away 1 time",
        "PostToolUse · user/PostToolUse/1 · attempt 2 for run_shell_command make · all",
        "at work",
        "2.0 s…",
        "lead, turn 2, m: nothing came for 3.0 s",
        "at most 0 ms, and had not stopped by itself",
        "lead, run_shell_command sleep 3 · long: waited 524 ms until it ran, for the hook user/PreToolUse/1 about write_file",
        "lead, turn 2, m: asked again after 2.0 s",
        "lead, run_shell_command sleep 3 · long: for at most 2.0 s of its time there was no daemon",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains(&" twice".repeat(30)), "{}", ran.stdout);
}

#[test]
fn traces_are_a_table() {
    let usage = json!({"promptTokens": 12_000, "cachedTokens": 0, "outputTokens": 9, "thoughtTokens": 1});
    let listed = json!({"traces": [
        {
            "traceId": RUN, "sessionId": "s1", "agent": "lead", "model": "m", "state": "ended", "reason": "GOAL",
            "prompt": "Mend the \u{1b}docs\nnow", "askedAt": "2025-11-20T11:03:59.000Z", "startedAt": "2025-11-20T11:04:00.000Z",
            "endedAt": "2025-11-20T11:05:37.300Z", "runs": 2, "turns": 4, "toolCalls": 6, "usage": usage,
            "cost": {"amount": "0.0192", "currency": "USD"},
        },
        {"traceId": "r2", "agent": "scout", "state": "dreaming", "runs": 1},
        {"traceId": "r3", "agent": "lead", "state": "queued", "runs": 1, "askedAt": "2025-11-20T11:05:00.000Z"},
    ], "now": "2025-11-20T11:06:01.500Z", "nextCursor": "7"});
    let params = json!({"limit": 20});
    check(
        Command::new(&["trace", "list"]),
        vec![answering("trace/list", params.clone(), listed.clone())],
        expect![[r#"
            exit 0
            --- stdout
            019aa1b2-c3d4  lead   GOAL      2025-11-20 11:03Z  1 min 38 s  12.0k → 10  $0.0192  Mend the ^[docs
            r2             scout  dreaming  -                  -           -           -        -
            r3             lead   queued    2025-11-20 11:05Z  1 min 2 s…  -           -        -
            --- stderr
            note: there are more: raise --limit, or go on with --cursor 7
        "#]],
    );
    for (columns, words) in [
        (80, ["019aa1b2-c3d4", "ASKED", "$0.0192"]),
        // What it cost and when that was gives way to what it was.
        (50, ["019aa1b2-c3d4", "1 min 38 s", "Mend"]),
    ] {
        let command = Command { is_terminal: true, columns, ..Command::new(&["trace", "list"]) };
        let ran = command.against(vec![answering("trace/list", params.clone(), listed.clone())]);
        let most = ran.stdout.lines().map(super::super::width::of).max().unwrap();
        let has_all = words.iter().all(|word| ran.stdout.contains(word));
        assert!(most <= columns && has_all, "{columns}: {}", ran.stdout);
    }
    let params = json!({"active": true, "agent": "lead", "limit": 2});
    let ran = Command::new(&["trace", "list", "--active", "--agent", "lead", "-n", "2", "--format", "json"])
        .against(vec![answering("trace/list", params, listed.clone())]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), listed);
}

/// A daemon that gives a document in two pieces.
fn two_pieces(format: &'static str, pieces: [&'static str; 2]) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        let [first, second] = pieces;
        let page = json!({"mediaType": "text/plain", "text": first, "nextCursor": "9.4"});
        assert_eq!(peer.answer("trace/export", page), json!({"runId": RUN, "format": format}));
        let asked = peer.answer("trace/export", json!({"mediaType": "text/plain", "text": second}));
        assert_eq!(asked["cursor"], "9.4");
        peer.wait_for_hangup();
    })
}

#[test]
fn a_document_is_written_piece_by_piece() {
    let ran = Command::new(&["trace", "export", RUN, "--format", "markdown"])
        .against(vec![two_pieces("markdown", ["# A\u{1b}\n", "b\n"])]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "# A\u{1b}\nb\n"));
    let command =
        Command { is_terminal: true, ..Command::new(&["trace", "export", RUN, "--format", "markdown"]) };
    let ran = command.against(vec![two_pieces("markdown", ["# A\u{1b}\n", "b\n"])]);
    assert_eq!(ran.stdout, "# A^[\nb\n");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.json");
    let file = file.to_str().unwrap();
    let arguments = ["trace", "export", RUN, "-o", file];
    let ran = Command::new(&arguments).against(vec![two_pieces("json", ["{", "}\n"])]);
    assert_eq!((ran.stdout.as_str(), std::fs::read_to_string(file).unwrap().as_str()), ("", "{}\n"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let first = json!({"mediaType": "text/plain", "text": "x"});
    let ran = Command::new(&arguments).against(vec![answering(
        "trace/export",
        json!({"runId": RUN, "format": "json"}),
        first,
    )]);
    assert_eq!(ran.exit_code, 1);
    assert!(ran.stderr.contains("is there already") && std::fs::read_to_string(file).unwrap() == "{}\n");
    // Cut off in the middle: what was there stays, and nothing else does.
    let cut: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        let page = json!({"mediaType": "text/plain", "text": "half", "nextCursor": "9.4"});
        peer.answer("trace/export", page);
    });
    let ran = Command::new(&["trace", "export", RUN, "-o", file, "--force"]).against(vec![cut]);
    assert_ne!(ran.exit_code, 0);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{}\n");
    let ran = Command::new(&["trace", "export", RUN, "-o", file, "--force"])
        .against(vec![two_pieces("json", ["[", "]\n"])]);
    assert_eq!((ran.exit_code, std::fs::read_to_string(file).unwrap().as_str()), (0, "[]\n"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A run that thinks, reads, and is done.
fn short_run(record: &Value) -> Vec<Value> {
    let usage = json!({"promptTokens": 812, "cachedTokens": 0, "outputTokens": 58, "thoughtTokens": 0});
    let call = |seq: i64, to: &str, more: Value| {
        let mut data = json!({"callId": "k1", "name": "read_file", "to": to});
        for (key, value) in more.as_object().unwrap() {
            data[key] = value.clone();
        }
        envelope(seq, "tool.state", data)
    };
    let details = json!({
        "title": "T", "description": "a.rs", "kind": "read", "risk": "safe", "locations": [],
        "rule": "builtin:risk=safe",
    });
    let text = json!({"llmContent": [{"type": "text", "text": "fn a() {\n\tb\u{1b}[2J\n}\n"}]});
    let said = json!({
        "stream": "a", "model": "offline", "text": "Let me look.", "finishReason": "stop", "usage": usage,
        "firstTokenMs": 40,
        "cost": {"amount": "0.0004", "currency": "USD"}, "calls": ["k1"],
    });
    let events = vec![
        envelope(
            1,
            "run.started",
            json!({"agent": "scout", "model": "offline", "query": "q", "prompt": "q"}),
        ),
        envelope(2, "turn.started", json!({"turn": 1})),
        envelope(3, "model.started", json!({"model": "offline", "stream": "a", "attempt": 1})),
        envelope(4, "model.completed", said),
        call(5, "validating", json!({"arguments": {"path": "a.rs"}})),
        call(6, "scheduled", json!({"details": details})),
        call(7, "executing", json!({})),
        call(8, "success", json!({"result": text})),
        envelope(9, "turn.completed", json!({"turn": 1})),
        completed(10, record),
    ];
    let linked = events.into_iter().scan(0, |last, mut event| {
        if let Some(seq) = event["seq"].as_i64() {
            event["prev"] = json!(std::mem::replace(last, seq));
        }
        Some(event)
    });
    linked.collect()
}

#[test]
fn run_prints_a_block_for_each_span_and_then_the_result() {
    let goal = record(json!({"reason": "GOAL", "result": "It is in a.rs."}));
    let scripts = || vec![control(goal.clone()), events(short_run(&goal))];
    check(
        Command::new(&["run", "scout", "-p", "q", "--trace"]),
        scripts(),
        expect![[r#"
            exit 0
            --- stdout
            It is in a.rs.
            --- stderr
            ✓ llm · scout · 100 ms
              model     offline · first token after 40 ms
              tokens    812 → 58 · $0.0004
              output    Let me look.
              asks for  1 call
            ✓ tool · scout · 300 ms
              tool      read_file
              decision  allowed by builtin:risk=safe
              input     {"path":"a.rs"}
              output    fn a() {
                            b^[[2J
                        }
            ✓ turn 1 · scout · 700 ms
            ✓ run · scout · 900 ms
              model     offline
              tokens    1200 → 34
              ended     GOAL
              input     q
              output    It is in a.rs.
        "#]],
    );
    let command = Command {
        is_terminal: true,
        columns: 40,
        ..Command::new(&["run", "scout", "--new", "-p", "q", "--trace"])
    };
    let ran = command.against(scripts());
    assert!(ran.stderr.lines().all(|line| super::super::width::of(line) <= 40), "{}", ran.stderr);
}

#[test]
fn a_run_is_followed_from_its_beginning_to_its_end() {
    let goal = record(json!({"reason": "GOAL", "result": "It is in a.rs."}));
    let script = |goal: &Value| -> Vec<DaemonScript> {
        let answer = goal.clone();
        let control: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            peer.answer("run/get", answer);
            peer.answer("events/list", json!({"events": [{"seq": 1}], "head": 10}));
            peer.wait_for_hangup();
        });
        vec![control, events(short_run(goal))]
    };
    let ran = Command::new(&["trace", "tail", RUN, "--format", "json"]).against(script(&goal));
    let kinds: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!((ran.exit_code, kinds), (0, ["llm", "tool", "turn", "run"].map(str::to_owned).to_vec()));
    let ran = Command::new(&["trace", "tail", RUN]).against(script(&goal));
    assert!(ran.stdout.starts_with("✓ llm · scout"), "{}", ran.stdout);
}

#[test]
fn of_what_began_before_no_time_is_told() {
    let goal = record(json!({"reason": "GOAL", "result": "It is in a.rs."}));
    let answer = goal.clone();
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("run/get", answer);
        peer.answer("events/list", json!({"events": [{"seq": 3}], "head": 10}));
        peer.wait_for_hangup();
    });
    let late = short_run(&goal).split_off(2);
    let ran = Command::new(&["trace", "tail", RUN]).against(vec![control, events(late)]);
    assert!(ran.stdout.contains("✓ run · scout · began before\n"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_trace_that_nothing_would_show_is_refused() {
    for more in [&["--detach"][..], &["--output-format", "stream-json"]] {
        let ran = Command::new(&[&["run", "scout", "-p", "q", "--trace"][..], more].concat()).against(vec![]);
        assert_eq!(ran.exit_code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("--trace does not go with"), "{}", ran.stderr);
    }
}
