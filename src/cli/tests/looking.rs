//! `sessions` and what is in one.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

const SESSION: &str = "019aa1b2-c3d4-7001-8000-00000000000a";

fn session(more: Value) -> Value {
    let mut session = json!({
        "sessionId": SESSION, "roots": ["/w"], "state": "open", "createdAt": "2025-11-20T11:00:00.000Z",
        "lastActiveAt": "2025-11-20T11:04:05.600Z",
    });
    for (key, value) in more.as_object().unwrap() {
        session[key] = value.clone();
    }
    session
}

fn sessions() -> Value {
    json!({"sessions": [
        session(json!({"title": "Mend the \u{1b}[2Jdocs", "agent": "scout"})),
        session(json!({"sessionId": "s2", "roots": ["/a", "/b"], "state": "dreaming", "ephemeral": true})),
    ]})
}

#[test]
fn sessions_are_a_table() {
    let params = json!({"limit": 20});
    check(
        Command::new(&["sessions"]),
        vec![answering("session/list", params, sessions())],
        expect![[r#"
        exit 0
        --- stdout
        019aa1b2-c3d4  open                 2025-11-20 11:04:05Z  scout  Mend the ^[[2Jdocs · /w
        s2             dreaming, ephemeral  2025-11-20 11:04:05Z  -      /a, /b
        --- stderr
    "#]],
    );
    let params = json!({"workspace": "/w", "state": "open", "query": "docs", "cursor": "c1", "limit": 2});
    let arguments =
        ["sessions", "--open", "--workspace", "/w", "--query", "docs", "--cursor", "c1", "--limit", "2"];
    let command = Command { is_terminal: true, ..Command::new(&arguments) };
    check(
        command,
        vec![answering("session/list", params, sessions())],
        expect![[r#"
        exit 0
        --- stdout
        SESSION        STATE                LAST ACTIVE           AGENT  TITLE AND FOLDERS
        019aa1b2-c3d4  open                 2025-11-20 11:04:05Z  scout  Mend the ^[[2Jdocs · /w
        s2             dreaming, ephemeral  2025-11-20 11:04:05Z  -      /a, /b
        --- stderr
    "#]],
    );
    let ran = Command::new(&["sessions", "--format", "json"]).against(vec![answering(
        "session/list",
        json!({"limit": 20}),
        sessions(),
    )]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), sessions());
}

#[test]
fn a_session_is_shown_with_its_contexts() {
    let context = |id: &str, agent: &str| {
        json!({
            "contextId": id, "sessionId": SESSION, "agent": agent, "startedAt": "2025-11-20T11:00:00.000Z",
            "lastActiveAt": "2025-11-20T11:04:05.000Z",
        })
    };
    let mut called = context("x2", "reader");
    (called["epoch"], called["tokens"]) = (json!(2), json!(12_345));
    called["parentRunId"] = json!("r1");
    let answer =
        json!({"session": session(json!({"title": "Docs"})), "contexts": [context("x1", "scout"), called]});
    let params = json!({"sessionId": SESSION});
    check(
        Command::new(&["sessions", "show", SESSION]),
        vec![answering("session/get", params.clone(), answer.clone())],
        expect![[r#"
            exit 0
            --- stdout
            session      019aa1b2-c3d4-7001-8000-00000000000a
            title        Docs
            state        open
            folders      /w
            created      2025-11-20 11:00:00Z
            last active  2025-11-20 11:04:05Z

            contexts
            x1  scout   2025-11-20 11:00:00Z  2025-11-20 11:04:05Z  -
            x2  reader  2025-11-20 11:00:00Z  2025-11-20 11:04:05Z  12.3k tokens, shortened or cleared 2 times  called by run r1
            --- stderr
        "#]],
    );
    let ran = Command::new(&["sessions", "show", SESSION, "--format", "json"]).against(vec![answering(
        "session/get",
        params,
        answer.clone(),
    )]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), answer);
}

fn message(run: &str, role: &str, parts: Value) -> Value {
    json!({"seq": 1, "runId": run, "role": role, "parts": parts})
}

#[test]
fn a_history_is_shown_page_by_page() {
    let first = json!({"agent": "scout", "nextCursor": "p2", "messages": [
        message("r1", "user", json!([{"type": "text", "text": "Where?\u{1b}[2J\nAnd why?\n"}])),
        message("r1", "model", json!([
            {"type": "thought", "text": "Look\nthere"},
            {"type": "text", "text": "I look."},
            {"type": "toolCall", "callId": "k1", "name": "grep", "arguments": {"pattern": "error"}},
        ])),
        message("r1", "tool", json!([
            {"type": "toolResult", "callId": "k1", "name": "grep", "parts": [{"type": "text", "text": "a.rs:3"}]},
            {"type": "toolResult", "callId": "k2", "name": "grep", "isError": true, "parts": []},
            {"type": "toolResult", "callId": "k3", "name": "run_shell_command",
             "parts": [{"type": "text", "text": "A person changed the call."}, {"type": "text", "text": "Exit code: 2\n1\nstderr:\n2\n3\n4\n5\n\u{1b}6\n"}]},
            {"type": "toolResult", "callId": "k4", "name": "run_shell_command",
             "parts": [{"type": "text", "text": "all\nwell\n"}]},
            {"type": "toolResult", "callId": "k5", "name": "run_shell_command", "isError": true,
             "parts": [{"type": "text", "text": "TIMED_OUT: it took too long\nhalf\n"}]},
            {"type": "toolResult", "callId": "k6", "name": "read_file",
             "parts": [{"type": "text", "text": "Exit code: 3\nin a file"}]},
        ])),
    ]});
    let second = json!({"agent": "scout", "messages": [
        message("r2", "oracle", json!([
            {"type": "inlineData", "mimeType": "image/png", "data": "AA=="}, {"type": "smell"},
        ])),
    ]});
    let page = first.clone();
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        let params = peer.answer("session/history", first);
        assert_eq!(params, json!({"sessionId": SESSION, "agent": "scout", "limit": 100}));
        assert_eq!(peer.answer("session/history", second)["cursor"], "p2");
        peer.wait_for_hangup();
    });
    let arguments = ["sessions", "history", SESSION, "--agent", "scout"];
    check(
        Command::new(&arguments),
        vec![script],
        expect![[r#"
            exit 0
            --- stdout
            ── run r1
            user:
              Where?^[[2J
              And why?
            model:
              · Look there
              I look.
              ● grep {"pattern":"error"}
            tool:
              ✓ grep a.rs:3
              ✗ grep
              ✗ run_shell_command · exit code 2
                2
                3
                4
                5
                ^[6
              ✓ run_shell_command all well
              ✗ run_shell_command TIMED_OUT: it took too long half
              ✓ read_file Exit code: 3 in a file
            ── run r2
            oracle:
              [image/png]
              [smell]
            --- stderr
        "#]],
    );
    let params = json!({"sessionId": SESSION, "limit": 3});
    let ran = Command::new(&["sessions", "history", SESSION, "-n", "3", "--format", "json"])
        .against(vec![answering("session/history", params, page.clone())]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), page);
}

#[test]
fn a_history_shows_where_its_model_reads_something_else() {
    let said = |seq: i64, run: &str| {
        let mut message = message(run, "user", json!([{"type": "text", "text": "Go on."}]));
        message["seq"] = json!(seq);
        message
    };
    let change = |seq: i64, kind: &str, more: Value| {
        let mut change = json!({"seq": seq, "kind": kind, "runId": "r2", "at": "2025-11-20T11:00:00.000Z"});
        change.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        change
    };
    let counts =
        |status: &str| json!({"status": status, "tokensBefore": 12_345, "tokensAfter": 2_100, "epoch": 1});
    let mut failed = counts("COMPRESSION_FAILED_EMPTY_SUMMARY");
    failed["message"] = json!("it said \u{1b}nothing");
    let changes = [
        change(3, "compressed", counts("COMPRESSED")),
        change(5, "cleared", json!({"epoch": 2})),
        change(6, "compressed", failed),
    ];
    let page = json!({"agent": "scout", "messages": [said(1, "r1"), said(4, "r3")], "changes": changes});
    let params = json!({"sessionId": SESSION, "limit": 100});
    check(
        Command::new(&["sessions", "history", SESSION]),
        vec![answering("session/history", params, page)],
        expect![[r#"
            exit 0
            --- stdout
            ── run r1
            user:
              Go on.
            ── context compressed: COMPRESSED · 12.3k tokens → 2100 tokens
            ── run r3
            user:
              Go on.
            ── context cleared
            ── context compressed: COMPRESSION_FAILED_EMPTY_SUMMARY · 12.3k tokens → 2100 tokens: it said ^[nothing
            --- stderr
        "#]],
    );
}

#[test]
fn contexts_are_compacted_and_cleared() {
    let compacted = |status: Value| {
        json!({"sessionId": SESSION, "contexts": [{
            "agent": "scout", "contextId": "x1", "runId": "r2", "epoch": 1, "status": status,
            "tokensBefore": 12_345, "tokensAfter": 2_100,
        }]})
    };
    let mut ended = compacted(Value::Null);
    ended["contexts"][0]["message"] = json!("cancelled");
    let failed = "COMPRESSION_FAILED_INFLATED_TOKEN_COUNT";
    let cleared = json!({"sessionId": SESSION, "contexts": [
        {"agent": "scout", "contextId": "x1", "runId": "r2", "epoch": 1},
        {"agent": "reader", "contextId": "x2", "runId": "r3", "epoch": 3},
    ]});
    let cases = [
        ("compact", "session/compact", compacted(json!("COMPRESSED"))),
        ("compact", "session/compact", compacted(json!("NOOP"))),
        ("compact", "session/compact", compacted(json!(failed))),
        ("compact", "session/compact", ended),
        ("clear", "session/clear", cleared),
    ];
    let mut told = String::new();
    for (verb, method, answer) in cases {
        let params = json!({"sessionId": SESSION, "agent": "scout"});
        let ran = Command::new(&["session", verb, SESSION, "--agent", "scout"])
            .against(vec![answering(method, params, answer)]);
        assert_eq!(ran.stderr, "");
        told.push_str(&format!("{} {}", ran.exit_code, ran.stdout));
    }
    expect![[r#"
        0 scout: COMPRESSED · 12.3k tokens → 2100 tokens
        0 scout: NOOP · 12.3k tokens → 2100 tokens
        1 scout: COMPRESSION_FAILED_INFLATED_TOKEN_COUNT · 12.3k tokens → 2100 tokens
        1 scout: not compressed · 12.3k tokens → 2100 tokens: cancelled
        0 scout: the context begins anew
        reader: the context begins anew
    "#]]
    .assert_eq(&told);
}

#[test]
fn usage_is_a_table_that_says_what_is_not_known() {
    let row = |agent: &str, model: &str, more: Value| {
        let mut row = json!({
            "agent": agent, "model": model, "calls": 2,
            "usage": {"promptTokens": 3_000, "cachedTokens": 0, "outputTokens": 200, "thoughtTokens": 0},
        });
        row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        row
    };
    let cost = json!({"amount": "0.0192", "currency": "USD"});
    let partly = json!({"cost": cost, "unpricedTokens": 3_200, "estimatedCalls": 2, "calls": 4});
    let answer = json!({
        "since": "2025-11-20T11:04:00.000Z",
        "total": row("", "", partly),
        "byModel": [], "byAgent": [],
        "byAgentAndModel": [
            row("lead", "gemini/pro", json!({"cost": cost})),
            row("scout\u{1b}", "local/a", json!({"unpricedTokens": 3_200, "estimatedCalls": 2})),
        ],
        "unpricedModels": ["local/a"],
    });
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("ping", json!({"at": "2025-11-21T11:04:05.600Z"}));
        assert_eq!(peer.answer("usage/get", answer), json!({"since": "2025-11-20T11:04:05.600Z"}));
        peer.wait_for_hangup();
    });
    check(
        Command::new(&["usage"]),
        vec![script],
        expect![[r#"
            exit 0
            --- stdout
            lead     gemini/pro  2  3000   0  200   0  $0.0192
            scout^[  local/a     2  ~3000  0  ~200  0  ?
            total                4  ~3000  0  ~200  0  >~$0.0192
            --- stderr
            note: from 2025-11-20 11:04:00Z on
            note: ~ tokens are estimated: the providers of 2 calls did not count them
            note: what 3200 tokens of local/a cost is not known: `models.prices` has no price
        "#]],
    );
    let nothing =
        json!({"total": {"calls": 0, "usage": {}}, "byModel": [], "byAgent": [], "byAgentAndModel": []});
    for (flag, id, params) in [
        ("--session", SESSION, json!({"sessionId": SESSION})),
        ("--run", SESSION, json!({"runId": SESSION})),
        ("--since", "2025-11-20", json!({"since": "2025-11-20T00:00:00.000Z"})),
    ] {
        let ran =
            Command::new(&["usage", flag, id]).against(vec![answering("usage/get", params, nothing.clone())]);
        assert_eq!(
            (ran.exit_code, ran.stdout.as_str()),
            (0, "no request to a model has been counted\n"),
            "{flag}: {}",
            ran.stderr
        );
    }
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["usage", "--since", "yesterday"][..], &["usage", "--run", "r1", "--session", "s1"]] {
        assert_eq!(Command::new(arguments).run(folder.path()).exit_code, 2, "{arguments:?}");
    }
}

#[test]
fn sessions_are_closed_and_deleted() {
    let params = || json!({"sessionId": SESSION});
    let answers = [
        ("close", "session/close", json!({"sessionId": SESSION, "seq": 9})),
        ("close", "session/close", json!({"sessionId": SESSION})),
        ("delete", "session/delete", json!({"sessionId": SESSION, "seq": 9, "events": 1})),
    ];
    let mut told = String::new();
    for (verb, method, answer) in answers {
        let mut arguments = vec!["sessions", verb, SESSION];
        arguments.extend((verb == "delete").then_some("--yes"));
        let ran = Command::new(&arguments).against(vec![answering(method, params(), answer)]);
        assert_eq!((ran.exit_code, ran.stderr.as_str()), (0, ""));
        told.push_str(&ran.stdout);
    }
    let refusing: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        let data = json!({"kind": "CONFLICT", "retryable": false, "hint": "cancel its runs first"});
        peer.refuse("session/delete", json!({"code": -31013, "message": "a run of it lives", "data": data}));
        peer.wait_for_hangup();
    });
    let ran = Command::new(&["sessions", "delete", SESSION, "--yes"]).against(vec![refusing]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""));
    told.push_str(&ran.stderr);
    expect![[r#"
        closed session 019aa1b2-c3d4-7001-8000-00000000000a
        session 019aa1b2-c3d4-7001-8000-00000000000a was closed before
        deleted session 019aa1b2-c3d4-7001-8000-00000000000a with its 1 event
        error: a run of it lives
        hint: cancel its runs first
    "#]]
    .assert_eq(&told);
}

/// A daemon that is asked what is in the session, and deletes it once somebody agreed.
fn deleting(live: Value, agrees: bool) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        let context = |id: &str, runs: u64, messages: u64| {
            json!({"contextId": id, "sessionId": SESSION, "agent": "scout", "messages": messages, "metadata": {
                "runs": runs, "lastRunId": "r1", "model": "offline", "digest": "sha256:00"}})
        };
        let session = json!({
            "sessionId": SESSION, "roots": ["/w"], "state": "open", "title": "Where is it?\u{1b}", "agent": "scout",
        });
        peer.answer(
            "session/get",
            json!({"session": session, "contexts": [context("c1", 2, 9), context("c2", 1, 3)]}),
        );
        let asked = peer.answer("run/list", json!({"runs": live}));
        assert_eq!((&asked["sessionId"], &asked["active"]), (&json!(SESSION), &json!(true)));
        if agrees {
            peer.answer("ping", json!({}));
            let params =
                peer.answer("session/delete", json!({"sessionId": SESSION, "seq": 9, "events": 175}));
            assert_eq!(params, json!({"sessionId": SESSION}));
        }
        peer.wait_for_hangup();
    })
}

#[test]
fn a_session_is_deleted_once_somebody_said_so() {
    let at_a_terminal = |press_after| Command {
        is_terminal: true,
        press_after,
        ..Command::new(&["sessions", "delete", SESSION])
    };
    check(
        at_a_terminal(AGREES.to_vec()),
        vec![deleting(json!([]), true)],
        expect![[r#"
        exit 0
        --- stdout
        deleted session 019aa1b2-c3d4-7001-8000-00000000000a with its 175 events
        --- stderr
        Delete session 019aa1b2-c3d4 (Where is it?^[ · scout · /w), with its runs and 12 messages? It cannot be restored.
        yes
    "#]],
    );
    let ran = at_a_terminal(vec![("n declines › ", "n")]).against(vec![deleting(json!([]), false)]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("nothing was changed"), "{}", ran.stderr);
    check(
        at_a_terminal(Vec::new()),
        vec![deleting(json!([{"runId": "r7", "agent": "scout", "state": "running"}]), false)],
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: session 019aa1b2-c3d4 has a live run, so it is not deleted: r7 (scout)
            hint: `subagent sessions close 019aa1b2-c3d4` ends its runs; then delete it
        "#]],
    );
    let folder = tempfile::tempdir().unwrap();
    let ran =
        Command { stdin: Some("y\n"), ..Command::new(&["sessions", "delete", SESSION]) }.run(folder.path());
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains(&format!("subagent sessions delete {SESSION} --yes")), "{}", ran.stderr);
}

#[test]
fn what_limits_do_not_keep_is_said_and_removed() {
    let session = |reason: &str| {
        json!({"sessionId": SESSION, "title": "Where is it?\nSay it.", "lastActiveAt": "2026-08-02T10:00:00.000Z",
               "events": 214, "bytes": 180_224, "reason": reason})
    };
    let answers = [
        (
            &["gc", "--dry-run"][..],
            true,
            json!({"limits": {}, "sessions": [], "usedBytes": 1024, "fileBytes": 4096}),
        ),
        (
            &["gc", "--dry-run"],
            true,
            json!({"limits": {"maxAgeDays": 90, "maxSessions": 5}, "sessions": [session("age"), session("count"), session("new")],
                   "more": 2, "attached": 1, "usedBytes": 1_048_576, "fileBytes": 4_194_304}),
        ),
        (
            &["gc", "--yes"],
            false,
            json!({"limits": {"maxBytes": 2_097_152}, "sessions": [session("bytes")], "usedBytes": 1_048_576,
                   "fileBytes": 2_097_152, "givenBackBytes": 2_097_152}),
        ),
        (
            &["gc", "--yes"],
            false,
            json!({"limits": {"maxBytes": 2_097_152}, "sessions": [], "usedBytes": 1, "fileBytes": 2, "rewrittenAtNextStart": true}),
        ),
    ];
    let mut told = String::new();
    for (arguments, dry_run, answer) in answers {
        let params = json!({"dryRun": dry_run});
        let ran = Command::new(arguments).against(vec![answering("daemon/gc", params, answer)]);
        assert_eq!((ran.exit_code, ran.stderr.as_str()), (0, ""));
        told.push_str(&ran.stdout);
        told.push('\n');
    }
    expect![[r#"
        no limits are set, so no session is removed; say in your settings how long they are kept, e.g. {"retention": {"maxAgeDays": 90}}
        used: 1.0 KiB; the database's file: 4.0 KiB

        019aa1b2-c3d4-7001-8000-00000000000a  2026-08-02 10:00:00Z  214  176.0 KiB  too old   Where is it?
        019aa1b2-c3d4-7001-8000-00000000000a  2026-08-02 10:00:00Z  214  176.0 KiB  too many  Where is it?
        019aa1b2-c3d4-7001-8000-00000000000a  2026-08-02 10:00:00Z  214  176.0 KiB  -         Where is it?
        and 2 sessions more
        5 sessions would be removed (retention.maxAgeDays 90, retention.maxSessions 5)
        kept beyond the limits, since somebody is attached: 1 session
        used: 1.0 MiB; the database's file: 4.0 MiB

        019aa1b2-c3d4-7001-8000-00000000000a  2026-08-02 10:00:00Z  214  176.0 KiB  no room  Where is it?
        removed 1 session (retention.maxBytes 2097152)
        used: 1.0 MiB; the database's file: 2.0 MiB; 2.0 MiB went back to the disk

        nothing to remove (retention.maxBytes 2097152)
        used: 1 B; the database's file: 2 B
        an older version made the file, so it cannot become smaller yet: the next start of the daemon rewrites it

    "#]]
    .assert_eq(&told);
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(&["gc"]).run(folder.path());
    assert_eq!(ran.exit_code, 2);
    assert!(ran.stderr.contains("--yes is not given") && ran.stderr.contains("--dry-run"), "{}", ran.stderr);
}

/// What to do stands at the end of an error, so that must be there; of what a call found, the beginning is enough.
#[test]
fn a_history_shows_errors_whole() {
    let error = format!("WEB_FETCH_PROCESSING_ERROR: {}the end", "long ".repeat(78));
    let result = |is_error: bool| {
        json!({"type": "toolResult", "callId": "k", "name": "web_fetch", "isError": is_error,
               "parts": [{"type": "text", "text": error}]})
    };
    let page =
        json!({"agent": "scout", "messages": [message("r1", "tool", json!([result(true), result(false)]))]});
    let params = json!({"sessionId": SESSION, "agent": "scout", "limit": 100});
    let ran = Command::new(&["sessions", "history", SESSION, "--agent", "scout"]).against(vec![answering(
        "session/history",
        params,
        page,
    )]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[2], format!("  ✗ web_fetch {error}"));
    assert!(lines[3].ends_with('…') && lines[3].chars().count() < 220, "{}", lines[3]);
}

#[test]
fn removing_many_sessions_is_waited_for_as_long_as_the_person_does() {
    let note = "note: waiting for the daemon, which looks at all sessions; Ctrl-C ends the wait";
    let silent: DaemonScript = Box::new(|peer| {
        assert_eq!(peer.leave_unanswered("daemon/gc"), json!({"dryRun": false}));
        peer.wait_for_hangup();
    });
    let command =
        Command { silence: Duration::ZERO, interrupt_after: vec![note], ..Command::new(&["gc", "--yes"]) };
    let ran = command.against(vec![silent]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (130, ""));
    assert_eq!(ran.stderr.matches(note).count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("the daemon goes on removing sessions"), "{}", ran.stderr);
}
