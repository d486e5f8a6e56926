//! Every command that shows what a method answers, with such an answer.

use clap::CommandFactory as _;
use serde_json::{Value, json};

use super::{asking::question, *};

/// An answer to `workspace/open`: a folder that brings nothing along, but for these fields.
pub(super) fn opened(fields: Value) -> Value {
    let mut workspace = json!({
        "roots": ["/w"], "problems": [], "memoryFiles": [], "memoryImports": [], "gone": [],
    });
    for (key, value) in fields.as_object().unwrap() {
        workspace[key] = value.clone();
    }
    json!({ "workspace": workspace })
}

/// A command line, and what the daemon is asked and answers.
pub(super) struct Row {
    pub(super) arguments: &'static [&'static str],
    /// Says who it is first.
    pub(super) greets: bool,
    pub(super) answers: Vec<(&'static str, Value)>,
    /// The part of the last answer that `--format json` prints; empty = the whole.
    pub(super) printed: &'static str,
    pub(super) exit_code: u8,
    /// Shows words that are enums on the wire.
    pub(super) shows_words: bool,
    /// Does nothing when it does not know the words: so many answers are asked for then.
    pub(super) stops_after: Option<usize>,
}

impl Row {
    fn new(arguments: &'static [&'static str], method: &'static str, answer: Value) -> Row {
        Row {
            arguments,
            greets: true,
            answers: vec![(method, answer)],
            printed: "",
            exit_code: 0,
            shows_words: true,
            stops_after: None,
        }
    }

    /// Prints a sentence or figures, no words of the answer.
    fn plain(arguments: &'static [&'static str], method: &'static str, answer: Value) -> Row {
        Row { shows_words: false, ..Row::new(arguments, method, answer) }
    }

    /// The daemon that answers so, each answer changed.
    pub(super) fn script(&self, change: fn(&Value) -> Value) -> DaemonScript {
        self.script_of(change, self.answers.len())
    }

    /// The same, of which only the first answers are asked for.
    pub(super) fn script_of(&self, change: fn(&Value) -> Value, count: usize) -> DaemonScript {
        let answers = self.answers.iter().take(count);
        let answers: Vec<_> = answers.map(|(method, answer)| (*method, change(answer))).collect();
        let greets = self.greets;
        Box::new(move |peer| {
            if greets {
                say_hello(peer);
            }
            for (method, answer) in answers {
                peer.answer(method, answer);
            }
        })
    }

    /// What `--format json` prints.
    pub(super) fn json(&self) -> Value {
        let (_, answer) = self.answers.last().unwrap();
        answer.pointer(self.printed).unwrap().clone()
    }
}

fn session() -> Value {
    json!({
        "sessionId": "s1", "roots": ["/w"], "title": "Docs", "agent": "scout", "state": "open",
        "createdAt": "2025-11-20T11:00:00.000Z", "lastActiveAt": "2025-11-20T11:04:05.600Z",
    })
}

fn server() -> Value {
    json!({
        "name": "docs", "state": "ready", "origin": "user", "transport": "http", "tools": 1, "restarts": 0,
        "toolNames": ["mcp.docs.search"], "calls": {"calls": 2, "errors": 0, "p50Ms": 3, "p99Ms": 5},
    })
}

fn context() -> Value {
    json!({
        "contextId": "c1", "sessionId": "s1", "agent": "scout", "parentRunId": "r1",
        "startedAt": "2025-11-20T11:00:00.000Z", "lastActiveAt": "2025-11-20T11:04:05.000Z",
    })
}

fn message() -> Value {
    let result = json!({"type": "toolResult", "callId": "k1", "name": "grep", "isError": true, "parts": []});
    json!({"seq": 1, "runId": "r1", "role": "model", "parts": [{"type": "text", "text": "Here."}, result]})
}

fn agent() -> Value {
    json!({
        "name": "scout", "title": "Scout", "description": "Looks.", "model": "inherit", "scope": "user",
        "status": "ok", "path": "/a/scout.md", "digest": "sha256:00", "inputs": ["prompt"],
        "problems": [{
            "path": "/a/scout.md", "line": 3, "severity": "warning", "code": "UNKNOWN_FIELD", "message": "odd",
        }],
    })
}

fn traced() -> Value {
    json!({
        "traceId": "r1", "sessionId": "s1", "agent": "scout", "model": "offline", "state": "ended", "reason": "GOAL",
        "startedAt": "2025-11-20T11:04:00.000Z", "endedAt": "2025-11-20T11:04:05.600Z", "runs": 1, "turns": 2,
        "toolCalls": 3, "usage": {"promptTokens": 9, "cachedTokens": 0, "outputTokens": 1, "thoughtTokens": 0},
    })
}

fn span() -> Value {
    json!({
        "traceId": "r1", "spanId": "0000000000000001", "kind": "run", "name": "scout", "runId": "r1", "agent": "scout",
        "depth": 0, "startedAt": "2025-11-20T11:04:00.000Z", "startUs": 1, "endUs": 9, "status": "error",
        "run": {"model": "offline", "reason": "TIMEOUT", "turns": 2, "toolCalls": 3, "activeMs": 1},
    })
}

fn shown_agent() -> Value {
    let mut agent = agent();
    agent["prompt"] = json!("You look.");
    agent["query"] = json!("${prompt}");
    agent["inputSpecs"] = json!([{"name": "prompt", "required": true, "schema": {"type": "string"}}]);
    agent["tools"] = json!(["grep"]);
    agent
}

fn written() -> Value {
    json!({"name": "scout", "scope": "user", "path": "/a/scout.md", "digest": "sha256:00", "seq": 3})
}

fn trigger() -> Value {
    json!({"intent": "debug", "keywords": ["bug"], "priority": 5})
}

fn validated() -> Value {
    let checks = json!([
        {"check": "types are right", "outcome": "pass"},
        {"check": "every field is known", "outcome": "warn", "findings": ["3: odd"]},
    ]);
    json!({"valid": true, "agents": [{"name": "scout", "path": "/a/scout.md", "checks": checks}]})
}

fn status() -> Value {
    json!({
        // No process has this id, so nobody waits for its end.
        "daemon": {"name": "subagentd", "version": env!("CARGO_PKG_VERSION"), "pid": 4_194_305, "instance": "i1",
                   "logId": "l1", "startedAt": "2025-11-20T11:00:00.000Z"},
        "uptimeMs": 1000, "runs": {"queued": 0, "running": 1, "waiting": 0, "parked": 0, "ended": 2},
        "clients": 1, "subscriptions": 0, "database": {"path": "/s/db", "bytes": 10, "head": 3},
        "mcpServers": [{"name": "docs", "workspace": ["/w"], "state": "ready"}], "degraded": [],
    })
}

fn asked() -> (&'static str, Value) {
    ("confirmation/get", json!({"confirmation": question(json!({}))}))
}

fn responded(outcome: &str) -> Value {
    let resolution =
        json!({"outcome": outcome, "by": "client", "digest": "d", "at": "2025-11-20T11:04:00.000Z"});
    json!({"confirmationId": "q1", "runId": "r1", "resolution": resolution, "seq": 9})
}

fn rule() -> Value {
    json!({"id": "x", "tier": "user", "tool": ["edit_file"], "decision": "allow", "priority": 0})
}

fn hook() -> Value {
    json!({
        "id": "h", "event": "PreToolUse", "source": "user", "file": "/c/settings.json", "line": 3, "matcher": "Bash",
        "type": "command", "runs": "./guard.sh", "onFailure": "block", "timeoutSeconds": 600.0, "state": "on",
        "last": {"at": "2025-11-20T11:04:00.000Z", "outcome": "answered", "decision": "deny"},
    })
}

fn queued() -> Value {
    json!({"queue": [{
        "runId": "r1", "sessionId": "s1", "agent": "scout", "for": "context", "prompt": "Where?",
        "query": "Look for: Where?", "queuedAt": "2025-11-20T11:04:00.000Z",
    }]})
}

pub(super) fn rows() -> Vec<Row> {
    let ended = record(json!({
        "reason": "GOAL", "result": "Here.", "recovered": true, "recoveredFrom": "TIMEOUT", "prompt": "Where?",
    }));
    let run = |seq: Value| json!({"runId": "r1", "seq": seq});
    let started = json!({
        "disposition": "queued", "runId": "r1", "sessionId": "s1", "agent": "scout", "seq": 2,
    });
    let models = || {
        json!({
            "entries": [{
                "name": "a", "kind": "gemini", "key": {"state": "found"},
                "models": [{"model": "a/m", "window": 9, "windowFrom": "provider"}],
            }],
            "aliases": [], "offline": "offline",
        })
    };
    vec![
        Row::new(&["list"], "agents/list", json!({"agents": [agent()]})),
        Row::new(&["show", "scout"], "agents/get", shown_agent()),
        Row::new(&["create", "scout", "--description", "Looks."], "agents/create", written()),
        Row::new(
            &["delete", "scout", "--yes"],
            "agents/delete",
            json!({"name": "scout", "scope": "user", "path": "/a/scout.md", "trash": "/t/1.md", "cleared": 0, "busy": 0}),
        ),
        Row::new(
            &["import", "/a/scout.md"],
            "agents/import",
            json!({"files": [{
                "source": "/a/scout.md", "format": "claude", "state": "ok", "name": "scout", "outcome": "written",
                "path": "/b/scout.md",
            }]}),
        ),
        Row::plain(
            &["export", "scout"],
            "agents/export",
            json!({"files": [{"name": "scout", "fileName": "scout.md", "text": "---\n", "lost": ["its triggers"]}]}),
        ),
        Row::plain(
            &["templates"],
            "agents/templates",
            json!({"templates": [{"name": "blank", "title": "Blank", "text": "---\n"}]}),
        ),
        Row::plain(
            &["route", "There is a bug"],
            "agents/route",
            json!({"agent": "scout", "trigger": trigger(), "matched": ["bug"]}),
        ),
        Row::plain(
            &["prompt", "scout"],
            "prompt/render",
            json!({"agent": "scout", "text": "You look.\n", "parts": [{"name": "body", "source": "the agent's own text", "tokens": 3}], "tokens": 3}),
        ),
        Row::new(
            &["memory", "files"],
            "memory/files",
            json!({"files": [{"path": "/w/AGENTS.md", "state": "used", "tokens": 3, "bytes": 9}], "userFile": "/h/AGENTS.md"}),
        ),
        Row::plain(
            &["memory", "show"],
            "memory/files",
            json!({"files": [{"path": "/w/AGENTS.md", "state": "used", "text": "Tabs.\n"}], "userFile": "/h/AGENTS.md"}),
        ),
        Row::new(&["validate", "scout"], "agents/validate", validated()),
        Row::plain(&["validate", "--all"], "agents/validate", validated()),
        Row::new(&["runs"], "run/list", json!({"runs": [ended.clone()]})),
        Row::new(&["sessions"], "session/list", json!({"sessions": [session()]})),
        Row::new(
            &["sessions", "show", "s1"],
            "session/get",
            json!({"session": session(), "contexts": [context()]}),
        ),
        Row::new(
            &["sessions", "history", "s1"],
            "session/history",
            json!({"agent": "scout", "messages": [message()]}),
        ),
        Row::new(
            &["sessions", "compact", "s1"],
            "session/compact",
            json!({"sessionId": "s1", "contexts": [{
                "agent": "scout", "contextId": "c1", "runId": "r2", "epoch": 1, "status": "COMPRESSED",
                "tokensBefore": 900, "tokensAfter": 80,
            }]}),
        ),
        Row::plain(
            &["sessions", "clear", "s1"],
            "session/clear",
            json!({"sessionId": "s1", "contexts": [{"agent": "scout", "contextId": "c1", "runId": "r2", "epoch": 1}]}),
        ),
        Row::plain(
            &["usage", "--session", "s1"],
            "usage/get",
            json!({
                "total": {"calls": 1, "usage": {}}, "byModel": [], "byAgent": [],
                "byAgentAndModel": [{"agent": "scout", "model": "a/m", "calls": 1, "usage": {}}],
            }),
        ),
        Row::plain(
            &["sessions", "mode", "s1", "plan"],
            "session/update",
            json!({"sessionId": "s1", "seq": 3}),
        ),
        Row::plain(&["sessions", "close", "s1"], "session/close", json!({"sessionId": "s1", "seq": 3})),
        Row::plain(
            &["sessions", "delete", "s1", "--yes"],
            "session/delete",
            json!({"sessionId": "s1", "seq": 3, "events": 2}),
        ),
        Row::plain(
            &["gc", "--yes"],
            "daemon/gc",
            json!({"limits": {"maxAgeDays": 90}, "sessions": [], "usedBytes": 1024, "fileBytes": 4096}),
        ),
        Row::new(&["queue", "list"], "queue/list", queued()),
        Row::plain(&["queue", "remove", "r1"], "queue/remove", run(json!(3))),
        Row::plain(&["queue", "promote", "r1"], "queue/promote", run(json!(3))),
        Row {
            printed: "/run",
            shows_words: false,
            ..Row::new(&["wait", "r1"], "run/wait", json!({"run": ended.clone(), "done": true}))
        },
        Row::new(&["cancel", "r1"], "run/cancel", json!({"run": ended, "seq": null})),
        Row::plain(&["steer", "r1", "left"], "run/steer", run(json!(3))),
        Row::plain(&["unpark", "r1"], "run/unpark", run(json!(3))),
        Row::new(&["approvals"], "confirmation/list", json!({"confirmations": [question(json!({}))]})),
        Row {
            answers: vec![asked(), ("confirmation/respond", responded("allowOnce"))],
            stops_after: Some(1),
            ..Row::new(&["approve", "q1"], "", json!({}))
        },
        Row {
            answers: vec![asked(), ("confirmation/respond", responded("deny"))],
            ..Row::new(&["deny", "q1"], "", json!({}))
        },
        Row::new(&["policy", "list"], "policy/list", json!({"rules": [rule()], "problems": []})),
        Row::new(
            &["policy", "check", "edit_file"],
            "policy/check",
            json!({
                "decision": "ask", "rule": "builtin:risk=low", "reason": "edits are asked about", "tool": "edit_file",
                "kind": "edit", "risk": "low", "description": "a.rs", "accesses": [],
            }),
        ),
        Row::plain(&["policy", "remove", "x"], "policy/remove", json!({"ruleId": "x", "seq": 3})),
        Row::new(&["hooks", "list"], "hooks/list", json!({"hooks": [hook()]})),
        Row::plain(&["hooks", "enable", "h"], "hooks/setEnabled", json!({"id": "h", "enabled": true})),
        Row::plain(&["hooks", "disable", "h"], "hooks/setEnabled", json!({"id": "h", "enabled": false})),
        Row::new(
            &["hooks", "test", "h", "command=ls"],
            "hooks/test",
            json!({
                "id": "h", "event": "PreToolUse", "wouldFire": true, "input": {"tool_name": "Bash"}, "stdout": "", "durationMs": 3,
                "exitCode": 2, "outcome": "answered", "decision": "deny", "reason": "no", "summary": "It blocks the call.",
            }),
        ),
        Row::new(&["mcp", "list"], "mcp/status", json!({"servers": [server()]})),
        Row::new(&["mcp", "status", "docs"], "mcp/status", json!({"servers": [server()]})),
        Row::plain(&["mcp", "tools"], "mcp/status", json!({"servers": [server()]})),
        Row::new(&["mcp", "connect", "docs"], "mcp/connect", server()),
        Row::new(&["mcp", "disconnect", "docs"], "mcp/disconnect", server()),
        Row::new(&["mcp", "restart", "docs"], "mcp/restart", server()),
        Row::plain(
            &["mcp", "add", "docs", "--url", "http://127.0.0.1:9/", "--header", "A: ${A}"],
            "mcp/add",
            json!({"name": "docs", "scope": "user", "path": "/c/settings.json", "seq": 3}),
        ),
        Row::plain(
            &["mcp", "remove", "docs"],
            "mcp/remove",
            json!({"name": "docs", "scope": "user", "path": "/c/settings.json", "seq": 3}),
        ),
        Row {
            answers: vec![
                (
                    "mcp/login",
                    json!({"server": "docs", "state": "waiting", "url": "https://auth.example.com/"}),
                ),
                ("mcp/login", json!({"server": "docs", "state": "done"})),
            ],
            ..Row::new(&["mcp", "login", "docs"], "mcp/login", json!({}))
        },
        Row::plain(
            &["mcp", "logout", "docs"],
            "mcp/logout",
            json!({"server": "docs", "wasSignedIn": true, "revoked": false}),
        ),
        Row::plain(&["mcp", "enable", "docs"], "mcp/setEnabled", json!({"server": "docs", "enabled": true})),
        Row::plain(
            &["mcp", "disable", "docs"],
            "mcp/setEnabled",
            json!({"server": "docs", "enabled": false}),
        ),
        Row::new(
            &["skills", "list"],
            "skills/list",
            json!({"skills": [{
                "name": "pdf", "description": "Fills forms.", "folder": "/h/.agents/skills/pdf", "scope": "user",
                "state": "ready",
            }]}),
        ),
        Row::new(
            &["skills", "show", "pdf"],
            "skills/get",
            json!({
                "skill": {
                    "name": "pdf", "description": "Fills forms.", "folder": "/h/.agents/skills/pdf",
                    "scope": "user", "state": "changed",
                },
                "body": "Read the form first.", "files": ["a.py"], "fileCount": 3,
            }),
        ),
        Row::plain(
            &["skills", "validate", "/h/pdf"],
            "skills/validate",
            json!({"path": "/h/pdf/SKILL.md", "valid": true, "problems": []}),
        ),
        Row::plain(
            &["skills", "disable", "pdf"],
            "skills/setEnabled",
            json!({"name": "pdf", "enabled": false, "path": "/c/settings.json", "seq": 3}),
        ),
        Row::plain(
            &["skills", "enable", "pdf"],
            "skills/setEnabled",
            json!({"name": "pdf", "enabled": true, "path": "/c/settings.json"}),
        ),
        Row::new(
            &["extensions", "list"],
            "extension/list",
            json!({"extensions": [{
                "id": "e", "name": "acme.tools", "version": "1.2.0", "description": "Deploys.", "source": "/s/acme",
                "digest": "sha256:11", "enabled": true, "state": "changed", "fault": "is not what was installed",
                "skillCount": 2, "serverCount": 1,
            }]}),
        ),
        Row::new(
            &["extensions", "show", "acme.tools"],
            "extension/get",
            json!({
                "extension": {
                    "id": "e", "name": "acme.tools", "source": "/s/acme", "digest": "sha256:11", "enabled": true,
                    "state": "enabled", "skillCount": 1, "serverCount": 1,
                },
                "contents": {
                    "skills": [{"name": "deploy", "description": "Deploys."}],
                    "servers": [{"name": "board", "isProgram": true, "commandOrUrl": "./bin/board", "variables": ["A=b"]}],
                },
                "folder": "/d/plugins/acme.tools", "dataFolder": "/d/plugin-data/acme.tools",
            }),
        ),
        Row::plain(
            &["extensions", "install", "/s/acme", "--digest", "sha256:11"],
            "extension/install",
            json!({
                "outcome": "installed", "fileCount": 3, "contents": {"skills": [], "servers": []}, "seq": 3,
                "extension": {"id": "e", "name": "acme.tools", "source": "/s/acme", "digest": "sha256:11", "enabled": true},
            }),
        ),
        Row::plain(
            &["extensions", "enable", "acme.tools"],
            "extension/enable",
            json!({"extension": {"name": "acme.tools", "state": "enabled"}, "seq": 3}),
        ),
        Row::plain(
            &["extensions", "disable", "acme.tools"],
            "extension/disable",
            json!({"extension": {"name": "acme.tools", "state": "disabled"}, "seq": 3}),
        ),
        Row::plain(
            &["extensions", "remove", "acme.tools", "--yes"],
            "extension/remove",
            json!({"name": "acme.tools", "seq": 3}),
        ),
        Row::plain(
            &["undo", "--session", "s1"],
            "session/undo",
            json!({"sessionId": "s1", "restored": [], "notRestorable": []}),
        ),
        Row::plain(
            &["tools", "call", "grep", "--args", "pattern=x", "--session", "s1"],
            "tools/call",
            json!({
                "callId": "k1", "runId": "r1", "seq": 3,
                "result": {"llmContent": [{"type": "text", "text": "1 match"}]},
            }),
        ),
        Row::new(
            &["tools", "list"],
            "tools/list",
            json!({
                "tools": [{
                    "name": "grep", "title": "Search", "description": "d", "kind": "search", "risk": "safe",
                    "parameters": {}, "source": "builtin", "state": "available",
                }],
            }),
        ),
        Row { greets: false, ..Row::plain(&["models"], "models/list", models()) },
        Row { greets: false, ..Row::plain(&["models", "list"], "models/list", models()) },
        Row {
            greets: false,
            ..Row::plain(
                &["models", "test", "m"],
                "models/test",
                json!({
                    "model": "a/m", "reachable": true, "latencyMs": 12, "firstTokenMs": 5, "toolCalls": true,
                    "usage": {}, "window": 9, "windowFrom": "table", "cost": { "amount": "0.5", "currency": "USD" },
                }),
            )
        },
        Row::plain(
            &["tools", "output", "k1"],
            "tools/output",
            json!({"callId": "k1", "sessionId": "s1", "text": "one\ntwo", "bytes": 7, "totalBytes": 7}),
        ),
        Row {
            answers: vec![
                ("workspace/open", opened(json!({"trusted": false, "files": []}))),
                ("workspace/trust", json!({"workspace": {"roots": ["/w"], "trusted": true}, "seq": 3})),
            ],
            ..Row::plain(&["trust", "--yes"], "", json!({}))
        },
        Row::plain(
            &["trust", "--folders"],
            "workedFolders/list",
            json!({"folders": [{"folder": "/w", "sessions": 1}]}),
        ),
        Row::new(&["run", "scout", "-p", "q", "--detach"], "run/start", started.clone()),
        Row::new(&["There is a bug", "--detach"], "run/start", {
            let mut started = started;
            started["routed"] = json!({"agent": "scout", "trigger": trigger(), "matched": ["bug"]});
            started
        }),
        Row::new(&["trace", "list"], "trace/list", json!({"traces": [traced()]})),
        Row::new(&["trace", "show", "r1"], "trace/get", json!({"traceId": "r1", "spans": [span()]})),
        Row { greets: false, ..Row::new(&["status"], "daemon/status", status()) },
        Row {
            greets: false,
            answers: vec![("daemon/status", status()), ("daemon/shutdown", json!({"suspendedRuns": 1}))],
            ..Row::plain(&["stop"], "", json!({}))
        },
        Row {
            greets: false,
            ..Row::new(
                &["config", "get"],
                "config/get",
                json!({"settings": [{"key": "run.maxTurns", "value": 9, "origin": "default"}]}),
            )
        },
        Row {
            greets: false,
            ..Row::plain(
                &["reload"],
                "daemon/reload",
                json!({"changed": ["run.maxTurns"], "policies": ["/a.toml"], "needsRestart": [], "problems": []}),
            )
        },
        Row {
            greets: false,
            ..Row::new(
                &["doctor"],
                "daemon/doctor",
                json!({"checks": [{"name": "model", "state": "warning", "message": "none", "hint": "name one"}], "ok": true}),
            )
        },
        Row {
            greets: false,
            ..Row::plain(&["logs"], "daemon/logs", json!({"lines": ["one"], "last": 1, "missed": 0}))
        },
    ]
}

/// Commands that are no row, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    ("attach", "shows events: see `following.rs`, and `versions.rs` for those of other daemons"),
    ("completions", "asks nobody"),
    ("edit", "opens an editor: see `editing.rs`"),
    ("mcp template", "prints a text as it is"),
    ("memory add", "is `tools call` of one tool"),
    ("memory edit", "opens an editor"),
    ("rpc", "prints any answer as it is"),
    ("trace export", "prints a document as it is: see `tracing.rs`"),
    ("trace tail", "shows events: see `tracing.rs`"),
];

#[test]
fn every_command_is_a_row() {
    fn leaves(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        // The verbs under `agents` are the same commands.
        let verbs: Vec<_> = command.get_subcommands().filter(|verb| verb.get_name() != "agents").collect();
        // `sessions` is a command and has verbs.
        if verbs.is_empty() || command.get_arguments().any(|argument| argument.get_id() == "format") {
            found.push(path.to_owned());
        }
        for verb in verbs {
            leaves(verb, format!("{path} {}", verb.get_name()).trim(), found);
        }
    }
    let mut commands = Vec::new();
    leaves(&crate::CliArguments::command(), "", &mut commands);
    let rows = rows();
    let is_row = |command: &String| {
        let words: Vec<&str> = command.split(' ').collect();
        rows.iter().any(|row| row.arguments.starts_with(&words))
    };
    let missing: Vec<&String> = commands
        .iter()
        .filter(|command| !is_row(command) && ELSEWHERE.iter().all(|(name, _)| name != command))
        .collect();
    assert_eq!(missing, [] as [&String; 0], "give each a row, or say why it needs none");
    assert!(commands.len() > 15, "{commands:?}");
}
