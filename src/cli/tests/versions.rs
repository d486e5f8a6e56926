//! What does a daemon of another version say? Words, fields and events that we do not know, and less than we do.

use serde_json::{Value, json};

use super::{commands::rows, *};

/// Fields whose values are enums on the wire.
const WORDS: &[&str] = &[
    "state",
    "reason",
    "recoveredFrom",
    "scope",
    "status",
    "outcome",
    "severity",
    "code",
    "role",
    "type",
    "for",
    "disposition",
    "kind",
    "risk",
    "from",
    "to",
    "then",
    "completion",
    "finishReason",
    "activity",
    "origin",
    "decision",
    "tier",
    "by",
    "source",
];

/// The answer of a newer daemon: each enum says something new, each object has more.
fn newer(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(newer).collect(),
        Value::Object(fields) => {
            let change = |(name, value): (&String, &Value)| {
                let is_word = WORDS.contains(&name.as_str()) && value.is_string();
                (name.clone(), if is_word { json!("COMET") } else { newer(value) })
            };
            let mut fields: serde_json::Map<_, _> = fields.iter().map(change).collect();
            fields.insert("comet".into(), json!({"tail": ["long"]}));
            if fields.contains_key("running") {
                fields.insert("COMET".into(), json!(1));
            }
            Value::Object(fields)
        }
        other => other.clone(),
    }
}

/// Fields without which nothing could be shown or decided.
const NEEDED: &[&str] = &[
    "runId",
    "sessionId",
    "contextId",
    "name",
    "agents",
    "runs",
    "sessions",
    "session",
    "settings",
    "queue",
    "hooks",
    "messages",
    "run",
    "daemon",
    "instance",
    "pid",
    "ok",
    "valid",
    "done",
    "reason",
    "lines",
    "last",
    "missed",
    "version",
    "confirmations",
    "confirmation",
    "confirmationId",
    "digest",
    "options",
    "outcome",
    "rules",
    "tools",
    "workspace",
    "files",
    "templates",
    "servers",
    "traces",
    "spans",
    "skills",
    "extensions",
    "folders",
    "effects",
    "runsUnasked",
    "approval",
    "autoApprove",
    "contents",
    "isProgram",
    "roots",
    "trusted",
    "commandOrUrl",
    "variables",
    "description",
    "problems",
    "memoryFiles",
    "memoryImports",
    "gone",
];

/// The answer of an older daemon: nothing but what every version has.
fn older(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(older).collect(),
        Value::Object(fields) => {
            // What is left out of a question bars from allowing it.
            let is_question = fields.contains_key("options");
            let is_needed = |name: &String| is_question || NEEDED.contains(&name.as_str());
            let kept = fields.iter().filter(|(name, _)| is_needed(name));
            let told = |value: &Value| if is_question { value.clone() } else { older(value) };
            kept.map(|(name, value)| (name.clone(), told(value))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn a_newer_daemon_is_shown_word_by_word() {
    for row in rows() {
        if let Some(count) = row.stops_after {
            let ran = Command::new(row.arguments).against(vec![row.script_of(newer, count)]);
            assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""), "{:?}: {}", row.arguments, ran.stderr);
            continue;
        }
        let ran = Command::new(row.arguments).against(vec![row.script(newer)]);
        // The end reason that nobody knows has a code of its own.
        let exit_code = if row.arguments[0] == "wait" { 76 } else { row.exit_code };
        assert_eq!(ran.exit_code, exit_code, "{:?}: {}", row.arguments, ran.stderr);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!told.contains("cannot be read"), "{:?}: {told}", row.arguments);
        assert!(!ran.stdout.is_empty(), "{:?}", row.arguments);
        assert_eq!(told.contains("COMET"), row.shows_words || exit_code == 76, "{:?}: {told}", row.arguments);
    }
}

#[test]
fn an_older_daemon_says_less() {
    for row in rows() {
        let ran = Command::new(row.arguments).against(vec![row.script(older)]);
        assert_eq!(ran.exit_code, row.exit_code, "{:?}: {}", row.arguments, ran.stderr);
    }
}

fn tool(seq: i64, to: &str) -> Value {
    let details = json!({
        "title": "T", "description": "a.rs", "kind": "read", "risk": "safe", "locations": [],
    });
    let error = json!({"type": "FILE_NOT_FOUND", "message": "no such file"});
    let data = json!({"callId": "k1", "name": "read_file", "from": "validating", "to": to, "details": details,
                      "error": error});
    envelope(seq, "tool.state", data)
}

/// Events with words of enums in all places, as envelopes.
fn sent() -> Vec<Value> {
    let started = json!({"agent": "scout", "model": "offline", "completion": "tool", "depth": 0});
    let stopping = json!({"reason": "TIMEOUT", "then": "grace", "message": "the time is over"});
    let parked = json!({"reason": "storageFull"});
    let replied = json!({"stream": "a", "text": "Let me look.", "finishReason": "stop", "calls": ["k1"]});
    vec![
        envelope(1, "run.queued", json!({"for": "place"})),
        envelope(2, "run.started", started),
        envelope(3, "comet.seen", json!({"state": "bright"})),
        envelope(4, "model.completed", replied),
        tool(5, "executing"),
        tool(6, "error"),
        envelope(7, "run.parked", parked),
        envelope(8, "run.stopping", stopping),
        completed(9, &record(json!({"reason": "ABORTED", "partialResult": "half"}))),
    ]
}

fn follow(change: fn(&Value) -> Value) -> Ran {
    let keep_type = move |event: Value| {
        let mut changed = change(&event);
        changed["type"] = event["type"].clone();
        changed["activity"] = json!("STARGAZING");
        changed
    };
    let ended = change(&record(json!({"reason": "ABORTED", "partialResult": "half"})));
    let sent = sent().into_iter().map(keep_type).collect();
    Command::new(&["run", "scout", "-p", "q"]).against(vec![control(ended), events(sent)])
}

#[test]
fn events_of_a_newer_daemon_are_shown_as_far_as_they_are_understood() {
    let ran = follow(newer);
    expect_test::expect![[r#"
        … scout waits for: COMET
        ▶ scout · offline · run r1
        Let me look.
        ● read_file a.rs · COMET
        ● read_file a.rs · COMET
        ! the run holds still: COMET
        ■ scout · COMET · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
        error: the run ended COMET: the time is over
        hint: this daemon is newer than `subagent`; its documentation knows more
    "#]]
    .assert_eq(&ran.stderr);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (76, "half\n"));
    // The same events, understood.
    let ran = follow(Value::clone);
    expect_test::expect![[r#"
        … scout waits for a place among the runs at work
        ▶ scout · offline · run r1
        Let me look.
        ● read_file a.rs
        ✗ read_file a.rs · 100 ms · FILE_NOT_FOUND: no such file
        ! the disk is full; the run holds still until there is room
        ! the time is over; one last turn to finish
        ■ scout · ABORTED · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
        error: the run ended ABORTED: the time is over
        hint: it was cancelled; the same command starts it anew
    "#]]
    .assert_eq(&ran.stderr);
    assert_eq!(ran.exit_code, 130);
}

#[test]
fn a_snapshot_of_a_newer_daemon_is_shown() {
    let live = newer(&record(json!({"state": "running"})));
    let snapshot = newer(&json!({
        "seq": 7, "session": {"sessionId": "s1", "roots": ["/w"], "state": "open"}, "runs": [live],
        "openItems": [{"runId": "r1", "stream": "a"}],
        "openCalls": [{"runId": "r1", "callId": "k1", "name": "grep", "state": "executing",
                       "details": {"description": "x", "kind": "search", "risk": "safe"}}],
        "queue": [{"runId": "r1", "agent": "scout", "query": "then", "for": "context"}],
    }));
    let ended = newer(&record(json!({"reason": "GOAL", "result": "done"})));
    let sent =
        vec![json!({"type": "signal.snapshot", "sessionId": "s1", "data": snapshot}), completed(8, &ended)];
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("run/get", live);
        peer.answer("run/get", ended);
    });
    let ran = Command::new(&["attach", "r1"]).against(vec![control, events(sent)]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (76, "done\n"), "{}", ran.stderr);
    for shown in
        ["session s1 in /w", "▶ scout · COMET", "● scout · grep x", "… scout waits for its turn: then"]
    {
        assert!(ran.stderr.contains(shown), "{shown}: {}", ran.stderr);
    }
}
