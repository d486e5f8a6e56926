//! Forty planted secrets are in no output of the daemon at all, whichever way they came in; twenty texts that look a little like
//! secrets are in all of them (spec 10, "Redaction"). The real program: its database and files byte by byte, its log, the events
//! that a client gets, its traces in every format, and what a collector is sent.

use std::fs;

use serde_json::{Value, json};

use super::planted::{ENVIRONMENT, PATTERN, Search, forty, lines};
use crate::{
    mcp::server,
    otlp::receiver::Receiver,
    process::{Home, text},
    recording::Recording,
};

const AGENT: &str = "---\nkind: agent\nname: carrier\ndescription: Carries.\ncompletion: tool\ntools: [read_file, run_shell_command, \"mcp.s.*\"]\nmcp: {servers: [s]}\n---\nYou carry.\n";
const ALLOW: &str = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n";

/// Texts that no redaction may touch.
const ORDINARY: [&str; 20] = [
    "sk-learn and sk-image are libraries",
    "a key of AWS begins with AKIA",
    "tokens of GitHub begin with ghp_ or github_pat_",
    "the bearer of good news",
    "Authorization is the first step",
    "https://example.org/a@b/c",
    "http://localhost:8080/metrics",
    "eyJust kidding about eyJ.words.here",
    "customer cust-1234 called",
    "-----BEGIN of the story-----",
    "api_key = None",
    "apikeys are kept elsewhere",
    "write to user@example.org",
    "xoxo-love from all of us",
    "AIzawa is a family name",
    "npm_config_cache=/var/cache/npm",
    "hf_hub_download is a function",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit 1d5f2c9a7e4b8d3f6a0c9e8b7d6f5a4c3b2e1d0f",
    "id 019aa1b2-c3d4-7001-8000-00000000000a, ya29 is a road",
];

/// The texts that are not there.
fn missing(place: &str, told: &str) -> Vec<String> {
    let is_missing = |words: &&&str| !told.contains(**words);
    ORDINARY.iter().filter(is_missing).map(|words| format!("{place}: {words}")).collect()
}

/// Pieces of five characters, as a model may stream them.
fn pieces(text: &str) -> Vec<Value> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(5).map(|piece| json!({ "text": piece.iter().collect::<String>() })).collect()
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({ "functionCall": { "name": name, "args": arguments } })
}

/// Everything that a model says: in its text, in arguments of calls, and in what they bring back.
fn recording(home: &Home, all: &str, ordinary: &str) -> String {
    let mut first = pieces(&format!("{all}{ordinary}"));
    first.push(call("read_file", &json!({ "path": "all.txt" })));
    first.push(call("run_shell_command", &json!({ "command": "cat all.txt; cat all.txt >&2; exit 3" })));
    first.push(call("mcp.s.echo", &json!({ "text": format!("{all}{ordinary}") })));
    first.push(call("mcp.s.echo", &json!({ "text": all, "more": json!({ "in": all }).to_string() })));
    first.push(call("nothing_like_it", &json!({ all: all })));
    first.extend(forty().iter().map(|secret| call("read_file", &json!({ "path": secret.text }))));
    let last = call("complete_task", &json!({ "result": format!("{all}{ordinary}") }));
    Recording::write_parts(home, "carried", vec![first, vec![last]])
}

/// Hooks that say all of it: to standard error, and as the reason of what they decide.
fn hooks(home: &Home, all: &str) -> Value {
    let answer = home.path("answer.json");
    let decided = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": all,
    }, "systemMessage": all });
    fs::write(&answer, decided.to_string()).unwrap();
    // Outside of the workspace, where nobody has to acknowledge what a hook names.
    let file = home.path("said.txt");
    fs::write(&file, all).unwrap();
    let says = format!("cat > /dev/null; cat {} >&2; cat {}", file.display(), answer.display());
    let fails = format!("cat > /dev/null; cat {} >&2; exit 1", file.display());
    let hook = |matcher: &str, command: &str| json!([{ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] }]);
    json!({ "PreToolUse": hook("run_shell_command", &says), "PostToolUse": hook("mcp.s.echo", &fails) })
}

struct Outputs {
    search: Search,
    missing: Vec<String>,
}

async fn carry(is_hidden: bool) -> Outputs {
    let secrets = forty();
    let (all, ordinary) = (lines(forty()), format!("{}\n", ORDINARY.join("\n")));
    let home = Home::new();
    let receiver = Receiver::http([]).await;
    let settings = json!({
        "redaction": { "patterns": if is_hidden { vec![PATTERN] } else { vec![] } },
        "tracing": {
            "backend": ["otlp", "file", "console"],
            "otlp": { "endpoint": receiver.url(), "protocol": "http/json", "signals": ["traces", "logs"] },
        },
        "sandbox": { "environment": ["SERVICE_TOKEN"] },
        "mcpServers": { "s": server::entry("plain") },
        "hooks": hooks(&home, &all),
    });
    fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
    fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
    fs::write(home.path("config/subagentd/policies/all.toml"), ALLOW).unwrap();
    fs::write(home.path("config/subagentd/agents/carrier.md"), AGENT).unwrap();
    fs::write(home.work().join("all.txt"), format!("{all}{ordinary}")).unwrap();
    let recording = recording(&home, &all, &ordinary);
    let mut variables: Vec<(&str, &str)> = if is_hidden { ENVIRONMENT.to_vec() } else { Vec::new() };
    variables.push(("RUST_LOG", "info"));
    let served = home.start_with(&variables).await;
    let mut wire = home.connect().await;
    let mut search = Search::of(&secrets);
    let created = json!({ "workspace": home.work(), "title": all });
    let session = wire.call("session/create", created).await.unwrap();
    let session = text(&session, "sessionId").to_owned();
    let open = json!({ "path": home.work().join("all.txt"), "active": true, "selectedText": format!("{all}{ordinary}") });
    let shown = json!({ "sessionId": session, "openFiles": [open], "trusted": true });
    wire.call("ide/contextUpdate", shown).await.unwrap();
    let params = json!({
        "sessionId": session, "agent": "carrier", "model": recording, "prompt": format!("{all}{ordinary}"),
    });
    let run = text(&wire.call("run/start", params).await.unwrap(), "runId").to_owned();
    let attach = json!({ "sessionId": session, "from": "start", "deltas": true });
    wire.call("session/attach", attach).await.unwrap();
    for envelope in wire.events_until("run.completed").await.unwrap() {
        search.look_at(envelope["type"].as_str().unwrap(), &envelope);
    }
    let record = wire.ended(&run).await.unwrap();
    assert_eq!(record["reason"], "GOAL", "{record}");
    search.look_at("run/get", &record);
    let mut missing = missing("the run's result", text(&record, "result"));
    let events = wire.log(json!({ "sessionId": session }), 1).await.unwrap();
    let kinds = ["hook.fired", "ide.contextShared", "tool.state", "model.completed", "mcp.serverState"];
    for kind in kinds {
        let is_told = |event: &Value| event["type"] == kind;
        assert!(kind == "mcp.serverState" || events.iter().any(is_told), "no {kind}");
    }
    search.look_at("events/list", &json!(events));
    let get = json!({ "runId": run, "limit": 1_000 });
    let spans = wire.call("trace/get", get).await.unwrap();
    search.look_at("trace/get", &spans);
    let mut kinds: Vec<&str> =
        spans["spans"].as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["hook", "llm", "mcp", "run", "tool", "turn"]);
    for format in ["json", "jsonl", "otlp", "chrome", "markdown"] {
        let mut document = String::new();
        let mut params = json!({ "runId": run, "format": format });
        loop {
            let page = wire.call("trace/export", params.clone()).await.unwrap();
            document.push_str(text(&page, "text"));
            match page.get("nextCursor") {
                Some(cursor) => params["cursor"] = cursor.clone(),
                None => break,
            }
        }
        search.look(&format!("trace/export {format}"), document.as_bytes());
        if matches!(format, "json" | "jsonl" | "otlp") {
            missing.extend(self::missing(&format!("trace/export {format}"), &document));
        }
    }
    for (method, params) in [
        ("session/history", json!({ "sessionId": session, "agent": "carrier", "limit": 1_000 })),
        ("session/get", json!({ "sessionId": session })),
        ("daemon/status", json!({})),
        ("daemon/logs", json!({ "lines": 4_096 })),
        ("trace/list", json!({})),
    ] {
        let answer = wire.call(method, params).await.unwrap();
        search.look_at(method, &answer);
    }
    let n_spans = spans["spans"].as_array().unwrap().len();
    receiver.until(|spans| spans.len() == n_spans).await;
    // Everything else is looked at when nobody writes any more.
    let log = home.state_dir().join("subagentd.db-wal");
    search.look("the database's log", &fs::read(&log).unwrap_or_default());
    drop(wire);
    served.stop().await;
    for request in receiver.received() {
        search.look(&format!("OTLP {}", request.path), &request.body);
    }
    let sent: String =
        receiver.received().iter().map(|it| String::from_utf8_lossy(&it.body).into_owned()).collect();
    missing.extend(self::missing("OTLP", &sent));
    let log = home.daemon_log();
    assert!(log.contains("kind=\"mcp\""), "no spans in the log: {log}");
    let ids = format!("run{{session={session} run={run} agent=carrier}}:turn{{prompt=\"{run}#1\"}}");
    // That commands do not get the variable.
    assert!(!is_hidden || log.contains(&ids), "no line within the run has its ids: {log}");
    search.look("stderr", log.as_bytes());
    // The last connection brought everything into the database itself.
    search.look_into(&home.state_dir());
    let mut of_file = String::new();
    for day in fs::read_dir(home.state_dir().join("traces")).unwrap() {
        for file in fs::read_dir(day.unwrap().path()).unwrap() {
            of_file.push_str(&fs::read_to_string(file.unwrap().path()).unwrap());
        }
    }
    assert_eq!(of_file.lines().count(), n_spans, "the file has other spans than the trace");
    missing.extend(self::missing("the file of spans", &of_file));
    Outputs { search, missing }
}

#[tokio::test(flavor = "multi_thread")]
async fn forty_secrets_are_in_no_output_and_twenty_ordinary_texts_are_in_all() {
    let outputs = carry(true).await;
    outputs.search.assert_clean();
    assert_eq!(outputs.missing, [""; 0]);
}

/// The search can fail: what the daemon was not told to be secret is found in its outputs.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_daemon_was_not_told_to_be_secret_is_in_its_outputs() {
    let found = carry(false).await.search.names();
    for name in ["SERVICE_TOKEN", "PASSPHRASE", "LINES_KEY", "DATABASE_URL", "QUERY_PASSWORD", "pattern"] {
        assert!(found.contains(name), "{name}: {found:?}");
    }
    for name in ["gitlab", "anthropic", "redis-password", "api-key-header"] {
        assert!(!found.contains(name), "{name}: {found:?}");
    }
}
