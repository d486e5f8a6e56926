//! What does each method promise? One row a method: a success, what is refused and why, the same call again, and
//! the same call after a restart.
//!
//! A method of the table without its row fails the first test here: without it, it is not registered.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use subagentd::{
    config::DaemonConfig,
    protocol::{EventHead, METHODS, PolicyChanged, PrivateEventFields, Timestamp, is_subscription},
    store::NewEvent,
};

use crate::{
    mcp::server,
    proto_docs::examples,
    support::{Client, House, Reply, Running, Script},
};

/// What holds for one method.
struct Row {
    method: &'static str,
    /// Calls that succeed.
    good: &'static [fn(&Facts) -> Value],
    /// Calls that are refused.
    bad: &'static [fn(&Facts) -> Value],
    /// What of a result stands in the golden text; the promises see all of it.
    brief: fn(&Value) -> Value,
    /// The first result, and that of the same call right after it.
    again: fn(&Value, &Value),
    /// The first result, and that of the same call after stop and boot.
    restarted: fn(&Value, &Value),
    golden: Expect,
}

/// What calls can be about.
struct Facts {
    work: String,
    /// A run that has ended, and its session.
    run: String,
    session: String,
    /// A run whose model never answers, and its session.
    live: String,
    live_session: String,
    /// A run that waits for the live one; only for methods about queues.
    queued: String,
    /// Of the project's agent `local`.
    local_digest: String,
    /// Of the first client; it does not outlive its connection.
    subscription: String,
    /// A run that writes a file, and its session: it asks, is parked where it asks, or has written; only for methods
    /// about that. And what it asks.
    asking: String,
    asking_session: String,
    question: String,
    digest: String,
    /// A call in `session` whose output was cut; only for methods about that.
    call: String,
    /// A server of the user's own that was started; only for methods about programs.
    program: String,
    /// The digest of an extension, which is installed; only for methods about them.
    extension: String,
}

const READER: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [read_file]\n---\nYou read.\n";

/// A hook of the user's settings, and its id.
const HOUSE_HOOK: &str = "user/PreToolUse/149a35d0";
const HOUSE_HOOK_COMMAND: &str = "if grep -q 'rm x'; then echo 'no rm here' >&2; exit 2; fi";

fn rows() -> Vec<Row> {
    vec![
        Row {
            method: "initialize",
            good: &[
                |_| json!({ "protocolVersion": "2", "client": { "name": "t", "kind": "script" }, "clientId": "me" }),
            ],
            bad: &[
                |_| {
                    json!({
                        "protocolVersion": 1, "client": { "kind": 1 }, "clientId": "", "strict": "very",
                        "presence": "asleep", "capabilities": { "tools": 1 },
                    })
                },
                |_| json!({ "protocolVersion": "0", "client": { "name": "t", "kind": "script" } }),
            ],
            brief: |result| without(result, &["/methods"]),
            again: same,
            restarted: |first, again| {
                let daemon = |result: &Value, key: &str| result["daemon"][key].clone();
                assert_eq!(daemon(first, "logId"), daemon(again, "logId"));
                assert_ne!(daemon(first, "instance"), daemon(again, "instance"));
                let names: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
                assert_eq!(again["methods"], json!(names));
            },
            golden: expect![[r#"
                INVALID_PARAMS
                  /protocolVersion: value is not of type "string"
                  /client/name: is required
                  /client/kind: value is not of type "string"
                  /clientId: value is shorter than 1 character
                  /strict: value is not of type "boolean"
                  /presence: value is not one of "active", "idle", "away"
                  /capabilities/tools: value is not of type "boolean"
                UNSUPPORTED_VERSION: protocol version 0 is not spoken here
                {"protocolVersion":"2","daemon":{"name":"subagentd","version":"<version>","pid":"<pid>","instance":"<id 1>","logId":"<id 2>","startedAt":"<startedAt>"},"clientId":"me","capabilities":{"confirmations":true,"deltas":true,"tools":true,"presence":true},"limits":{"maxMessageBytes":4194304,"maxInFlight":1000,"maxSubscriptions":64,"maxBatch":100}}
            "#]],
        },
        Row {
            method: "client/update",
            good: &[
                |_| json!({ "presence": "away" }),
                |_| json!({ "capabilities": { "confirmations": { "kinds": ["edit", "of-tomorrow"] } } }),
                |_| json!({ "capabilities": null }),
                |_| json!({}),
            ],
            bad: &[
                |_| json!({ "presence": "asleep", "capabilities": { "deltas": "yes", "confirmations": { "kinds": "all" } } }),
                |_| json!({ "capabilities": { "confirmations": { "kinds": [""] } } }),
            ],
            brief: whole,
            again: same,
            // What was said of a connection went with it.
            restarted: |_, again| assert_eq!(again["kind"], "NOT_INITIALIZED"),
            golden: expect![[r#"
                INVALID_PARAMS
                  /presence: value is not one of "active", "idle", "away"
                  /capabilities: value is not of type "boolean"; or value is not of types "null", "array"
                INVALID_PARAMS
                  /capabilities: value is shorter than 1 character
                {"capabilities":{"deltas":false,"tools":false},"presence":"away"}
                {"capabilities":{"confirmations":{"kinds":["edit","of-tomorrow"]},"deltas":false,"tools":false},"presence":"away"}
                {"capabilities":{"deltas":false,"tools":false},"presence":"away"}
                {"capabilities":{"deltas":false,"tools":false},"presence":"away"}
            "#]],
        },
        Row {
            method: "client/list",
            good: &[|_| json!({}), |_| json!({ "limit": 1 }), |_| json!({ "cursor": "1000000" })],
            bad: &[
                |_| json!({ "limit": 0, "cursor": 1 }),
                |_| json!({ "limit": 1_001 }),
                |_| json!({ "cursor": "x" }),
            ],
            brief: whole,
            again: same,
            restarted: |first, again| {
                // Connections are told apart anew, and attach to nothing by themselves.
                let attached = |result: &Value| result["clients"][0]["attached"].as_array().map(Vec::len);
                assert_eq!((attached(again), attached(first).is_none_or(|it| it == 1)), (None, true));
            },
            golden: expect![[r#"
                INVALID_PARAMS
                  /limit: value is less than the minimum of 1
                  /cursor: value is not of types "null", "string"
                INVALID_PARAMS
                  /limit: value is greater than the maximum of 1000
                INVALID_PARAMS
                  /cursor: was not made by this list; give a `nextCursor`, or none
                {"clients":[{"connection":1,"clientId":"me","client":{"name":"t","version":"<version>","kind":"toaster"},"presence":"idle","capabilities":{"deltas":false,"tools":false},"attached":[{"subscription":"<id 1>","sessionId":"<id 2>","role":"control"}],"transport":"lines","uid":"<uid>","connectedAt":"<connectedAt>"}]}
                {"clients":[{"connection":1,"clientId":"me","client":{"name":"t","version":"<version>","kind":"toaster"},"presence":"idle","capabilities":{"deltas":false,"tools":false},"attached":[{"subscription":"<id 1>","sessionId":"<id 2>","role":"control"}],"transport":"lines","uid":"<uid>","connectedAt":"<connectedAt>"}]}
                {"clients":[]}
            "#]],
        },
        Row {
            method: "ping",
            good: &[|_| json!({})],
            bad: &[|_| json!([1])],
            brief: whole,
            again: |first, again| assert!(first["at"].as_str() <= again["at"].as_str()),
            restarted: |first, again| assert!(first["at"].as_str() <= again["at"].as_str()),
            golden: expect![[r#"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                {"at":"<at>"}
            "#]],
        },
        Row {
            method: "rpc/discover",
            good: &[|_| json!({})],
            bad: &[|_| json!([])],
            brief: |result| json!({ "openrpc": result["openrpc"], "info": result["info"]["title"] }),
            again: same,
            restarted: |first, again| {
                same(first, again);
                let documented = again["methods"].as_array().unwrap().iter().map(|method| &method["name"]);
                assert!(documented.eq(METHODS.iter().map(|method| method.name)), "{again}");
            },
            golden: expect![[r#"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                {"openrpc":"1.3.2","info":"subagentd"}
            "#]],
        },
        Row {
            method: "daemon/status",
            good: &[|_| json!({})],
            bad: &[|_| json!("now")],
            // What is counted follows the log; `metrics.rs` says what.
            brief: |result| {
                let mut told = result.clone();
                told["counts"] = result["counts"].as_object().unwrap().keys().cloned().collect();
                told
            },
            again: |first, again| {
                same_but(&["/uptimeMs", "/rssBytes", "/database/bytes", "/counts"], first, again);
            },
            restarted: |first, again| {
                assert_eq!(first["runs"], again["runs"], "a live run is still live, an ended one ended");
                assert_eq!(first["daemon"]["logId"], again["daemon"]["logId"]);
                assert!(first["database"]["head"].as_i64() <= again["database"]["head"].as_i64());
            },
            golden: expect![[r#"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                {"daemon":{"name":"subagentd","version":"<version>","pid":"<pid>","instance":"<id 1>","logId":"<id 2>","startedAt":"<startedAt>"},"state":"running","uptimeMs":"<uptimeMs>","runs":{"queued":0,"running":1,"waiting":0,"parked":0,"ended":1},"openConfirmations":0,"clients":1,"subscriptions":1,"database":{"path":"<home>/state/subagentd.db","bytes":"<bytes>","head":"<head>","storageFull":false},"rssBytes":"<rssBytes>","sandbox":{"mechanism":"<mechanism>","profile":"workspaceWrite","network":false},"counts":["runsEnded","slotQueue","modelRequests","toolCalls","answers","commits","usage","cost","maxLag"],"degraded":[]}
            "#]],
        },
        Row {
            method: "daemon/doctor",
            good: &[|_| json!({})],
            bad: &[|_| json!("all")],
            // How much room there is on this machine's disk is another question.
            brief: |result| {
                let checks = result["checks"].as_array().unwrap().iter();
                checks.filter(|it| it["name"] != "disk").map(|it| json!([it["name"], it["state"]])).collect()
            },
            again: |first, again| assert_eq!(first["checks"][0], again["checks"][0]),
            restarted: |first, again| assert_eq!(first["checks"][0], again["checks"][0]),
            golden: expect![[r#"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                [["database","ok"],["settings","ok"],["projects","ok"],["agents","failed"],["agentFolders","ok"],["model","warning"],["token","ok"],["sandbox","ok"],["workspaces","ok"],["hooks","ok"],["skills","ok"],["discovery","ok"],["webSearch","ok"],["programs","ok"],["extensions","ok"],["callers","warning"],["service","ok"],["tasks","ok"]]
            "#]],
        },
        Row {
            method: "daemon/shutdown",
            good: &[|_| json!({})],
            bad: &[|_| json!([true])],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                {"suspendedRuns":1}
            "#]],
        },
        Row {
            method: "daemon/drain",
            good: &[|_| json!({ "mode": "finish", "deadlineMs": 0 })],
            bad: &[|_| json!({ "mode": "now", "deadlineMs": 600_001 }), |_| json!({})],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /mode: "finish" was expected; or "park" was expected; or "cancel" was expected
                  /deadlineMs: value is greater than the maximum of 600000
                INVALID_PARAMS
                  /mode: is required
                  /deadlineMs: is required
                {"drained":false,"liveRuns":1,"suspendedRuns":0}
            "#]],
        },
        Row {
            method: "daemon/logs",
            good: &[
                |_| json!({ "after": 0, "limit": 1_000 }),
                |_| json!({ "after": 1_000_000_000, "waitMs": 0 }),
            ],
            bad: &[|_| json!({ "after": -1, "limit": 0, "waitMs": 60_001 }), |_| json!({ "limit": 1_001 })],
            brief: |result| json!([result["lines"].is_array(), result["missed"]]),
            again: grows,
            restarted: grows,
            golden: expect![[r#"
                INVALID_PARAMS
                  /after: value is less than the minimum of 0
                  /limit: value is less than the minimum of 1
                  /waitMs: value is greater than the maximum of 60000
                INVALID_PARAMS
                  /limit: value is greater than the maximum of 1000
                [true,0]
                [true,0]
            "#]],
        },
        Row {
            method: "daemon/gc",
            good: &[|_| json!({ "dryRun": true }), |_| json!({})],
            bad: &[|_| json!({ "dryRun": "yes" }), |_| json!([true])],
            brief: |result| {
                json!([
                    result["dryRun"],
                    result["limits"],
                    result["sessions"],
                    0 < result["usedBytes"].as_u64().unwrap()
                ])
            },
            again: |first, again| assert_eq!(first["sessions"], again["sessions"]),
            restarted: |first, again| assert_eq!(first["sessions"], again["sessions"]),
            golden: expect![[r#"
                INVALID_PARAMS
                  /dryRun: value is not of type "boolean"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                [true,{},[],true]
                [null,{},[],true]
            "#]],
        },
        Row {
            method: "daemon/reload",
            good: &[|_| json!({})],
            bad: &[|_| json!([1])],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                {"changed":[],"needsRestart":[],"problems":[]}
            "#]],
        },
        Row {
            method: "daemon/setLogLevel",
            good: &[|_| json!({ "level": "debug" })],
            bad: &[|_| json!({}), |_| json!({ "level": "" }), |_| json!({ "level": "loud" })],
            brief: |result| result["level"].clone(),
            // The log is that of this process, whichever daemon in it is asked.
            again: |first, again| assert_eq!(again["before"], first["level"]),
            restarted: |first, again| assert_eq!(again["before"], first["level"]),
            golden: expect![[r#"
                INVALID_PARAMS
                  /level: is required
                INVALID_PARAMS
                  /level: value is shorter than 1 character
                INVALID_PARAMS
                  /level: `loud` is no level: expected off, error, warn, info, debug, trace, or directives like `info,subagentd_run=debug`
                "debug"
            "#]],
        },
        Row {
            method: "config/get",
            good: &[|_| json!({ "keys": ["run.maxTurns", "shutdown"] }), |_| json!({})],
            bad: &[
                |_| json!({ "keys": "run" }),
                |_| json!({ "keys": ["run", "run.maxTurn"] }),
                |_| json!({ "keys": [""] }),
            ],
            brief: |result| {
                let settings = result["settings"].as_array().unwrap().iter();
                settings.map(|it| json!([it["key"], it["value"], it["origin"], it["flag"]])).collect()
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /keys: value is not of types "null", "array"
                NOT_FOUND: there is no setting `run.maxTurn`
                NOT_FOUND: there is no setting ``
                [["run.maxTurns",30,"default",null],["shutdown.graceSeconds",0,"flag","--set shutdown.graceSeconds"]]
                [["models.default",null,"default",null],["models.small",null,"default",null],["models.compression",null,"default",null],["models.fallback",[],"default",null],["models.auto.fast",null,"default",null],["models.auto.strong",null,"default",null],["models.aliases",{},"default",null],["models.contextWindow",{},"default",null],["models.prices",{},"default",null],["compression.enabled",true,"default",null],["compression.threshold",0.5,"default",null],["loopDetection.calls",true,"default",null],["loopDetection.text",true,"default",null],["loopDetection.judge",true,"default",null],["nextSpeakerCheck",false,"default",null],["agents.overrides",{},"default",null],["agents.default","generalist","default",null],["agents.autoRoute",true,"default",null],["agents.defaultScope","project","default",null],["skills.disabled",[],"default",null],["run.maxTurns",30,"default",null],["run.maxTimeMinutes",10,"default",null],["run.maxTokens",null,"default",null],["run.maxCostUsd",null,"default",null],["run.onBudget","end","default",null],["run.maxContextTokens",null,"default",null],["run.graceSeconds",60,"default",null],["run.maxDepth",4,"default",null],["maxConcurrentRuns.session",8,"default",null],["maxConcurrentRuns.daemon",256,"default",null],["tools.exclude",[],"default",null],["tools.discoveryCommand",null,"default",null],["tools.callCommand",null,"default",null],["tools.output.maxChars",40000,"default",null],["tools.shell.inactivityMs",300000,"default",null],["tools.shell.timeoutMs",1800000,"default",null],["tools.webFetch.allowHosts",[],"default",null],["tools.webSearch.backend",null,"default",null],["tools.webSearch.url",null,"default",null],["tools.webSearch.key",null,"default",null],["sandbox.required",false,"default",null],["sandbox.profile","workspaceWrite","default",null],["sandbox.network",false,"default",null],["sandbox.environment",[],"default",null],["sandbox.sockets",[],"default",null],["sandbox.limits.cpuSeconds",3600,"default",null],["sandbox.limits.memoryMb",8192,"default",null],["sandbox.limits.processes",1024,"default",null],["sandbox.limits.openFiles",8192,"default",null],["sandbox.limits.outputMb",4096,"default",null],["shutdown.graceSeconds",0,"flag","--set shutdown.graceSeconds"],["access.allowUids",[],"default",null],["redaction.patterns",[],"default",null],["approval.mode","default","default",null],["approval.allowYolo",false,"default",null],["approval.hooksMayApprove",false,"default",null],["approval.audience","all","default",null],["approval.onDetached",null,"default",null],["approval.deadlineMs",null,"default",null],["approval.onDeadline","deny","default",null],["approval.notifyAfterMs",60000,"default",null],["approval.notifyCommand",[],"default",null],["approval.webhook.url",null,"default",null],["approval.webhook.secret",null,"default",null],["mcpServers",{"docs":{"command":"<program>","args":["--exact","mcp::server::is_a_server_when_it_is_told_to_be","--nocapture"],"env":{"MCP_TEST_SERVER":"(hidden)"}},"off":{"url":"http://127.0.0.1:9/mcp","disabled":true}},"user",null],["mcp.allowed",null,"default",null],["mcp.excluded",[],"default",null],["mcp.idleTimeoutMs",600000,"default",null],["agents.places.project.own",true,"default",null],["agents.places.project.gemini",true,"default",null],["agents.places.project.claude",true,"default",null],["agents.places.project.opencode",true,"default",null],["agents.places.user.own",true,"default",null],["agents.places.user.gemini",true,"default",null],["agents.places.user.claude",true,"default",null],["agents.places.user.opencode",true,"default",null],["agents.places.builtIn",true,"default",null],["prompt.modules.preamble",true,"default",null],["prompt.modules.coreMandates",true,"default",null],["prompt.modules.agents",true,"default",null],["prompt.modules.primaryWorkflows",true,"default",null],["prompt.modules.operationalGuidelines",true,"default",null],["prompt.modules.sandbox",true,"default",null],["prompt.modules.git",true,"default",null],["prompt.modules.finalReminder",true,"default",null],["prompt.systemFile",false,"default",null],["prompt.shellOutputEconomy",false,"default",null],["memory.files",["AGENTS.md","GEMINI.md","CLAUDE.md"],"default",null],["memory.perFolder","first","default",null],["memory.userFiles",[],"default",null],["retention.maxAgeDays",null,"default",null],["retention.maxSessions",null,"default",null],["retention.maxBytes",null,"default",null],["tracing.enabled",true,"default",null],["tracing.backend",["sqlite","otlp"],"default",null],["tracing.events",null,"default",null],["tracing.sampleRate",1,"default",null],["tracing.content","full","default",null],["tracing.file.maxBytes",1073741824,"default",null],["tracing.otlp.endpoint",null,"default",null],["tracing.otlp.protocol",null,"default",null],["tracing.otlp.headers",{},"default",null],["tracing.otlp.timeoutMs",null,"default",null],["tracing.otlp.compression",null,"default",null],["tracing.otlp.signals",["traces","metrics","logs"],"default",null],["tracing.otlp.maxBacklog",1000000,"default",null],["hooks.places",[],"default",null],["hooks.environment",[],"default",null],["hooks.httpEnv",[],"default",null],["disableAllHooks",false,"default",null],["providers",{},"default",null]]
            "#]],
        },
        Row {
            method: "usage/get",
            good: &[
                |facts| json!({ "runId": facts.run }),
                |facts| json!({ "sessionId": facts.session }),
                |_| json!({ "since": "2020-01-01T12:30:59.999Z" }),
                |_| json!({ "since": "2999-01-01T00:00:00.000Z" }),
            ],
            bad: &[
                |_| json!({}),
                |_| json!({ "sessionId": 1, "runId": [], "since": 7 }),
                |_| json!({ "since": "yesterday" }),
                |facts| json!({ "sessionId": facts.session, "runId": facts.run, "since": "2020-01-01T00:00:00.000Z" }),
                |_| json!({ "runId": "no-such-run" }),
                |_| json!({ "sessionId": "no-such-session" }),
            ],
            brief: whole,
            again: same,
            // What lives is asked again by the next daemon, and has used nothing yet.
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  : one of runId, sessionId and since is required
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                  /runId: value is not of type "string"
                  /since: value is not of type "string"
                INVALID_PARAMS
                  : a moment is written like "2026-11-21T21:15:51.464Z": timestamp format is invalid
                INVALID_PARAMS
                  /runId: only one of runId, sessionId and since may be given
                  /sessionId: only one of runId, sessionId and since may be given
                  /since: only one of runId, sessionId and since may be given
                NOT_FOUND: there is no run no-such-run
                NOT_FOUND: there is no session no-such-session
                {"total":{"calls":1,"usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15},"byModel":[{"model":"script","calls":1,"usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15}],"byAgent":[{"agent":"reader","calls":1,"usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15}],"byAgentAndModel":[{"agent":"reader","model":"script","calls":1,"usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15}],"unpricedModels":["script"]}
                {"total":{"calls":1,"usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15},"byModel":[{"model":"script","calls":1,"usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15}],"byAgent":[{"agent":"reader","calls":1,"usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15}],"byAgentAndModel":[{"agent":"reader","model":"script","calls":1,"usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15}],"unpricedModels":["script"]}
                {"since":"2020-01-01T12:30:00.000Z","total":{"calls":1,"usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15},"byModel":[{"model":"script","calls":1,"usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15}],"byAgent":[{"agent":"reader","calls":1,"usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15}],"byAgentAndModel":[{"agent":"reader","model":"script","calls":1,"usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15}],"unpricedModels":["script"]}
                {"since":"2999-01-01T00:00:00.000Z","total":{"calls":0,"usage":{"promptTokens":0,"cachedTokens":0,"outputTokens":0,"thoughtTokens":0}},"byModel":[],"byAgent":[],"byAgentAndModel":[]}
            "#]],
        },
        Row {
            method: "models/list",
            good: &[|_| json!({}), |_| json!({ "entry": "openai", "refresh": true })],
            bad: &[|_| json!({ "entry": 7, "refresh": "yes" }), |_| json!({ "entry": "gemni" })],
            brief: |result| {
                let entries = result["entries"].as_array().unwrap().iter();
                entries.map(|it| json!([it["name"], it["kind"], it["key"]["state"], it["problem"]])).collect()
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /entry: value is not of types "null", "string"
                  /refresh: value is not of type "boolean"
                NOT_FOUND: no provider's entry is called `gemni`
                [["anthropic","anthropic","missing","there is no key: ANTHROPIC_API_KEY is not set in the daemon's environment"],["gemini","gemini","missing","there is no key: GEMINI_API_KEY is not set in the daemon's environment"],["openai","openai","missing","there is no key: OPENAI_API_KEY is not set in the daemon's environment"],["openai-responses","openai-responses","missing","there is no key: OPENAI_API_KEY is not set in the daemon's environment"]]
                [["openai","openai","missing","there is no key: OPENAI_API_KEY is not set in the daemon's environment"]]
            "#]],
        },
        Row {
            method: "models/test",
            good: &[|_| json!({ "model": "offline" }), |_| json!({ "model": "script" })],
            bad: &[
                |_| json!({}),
                |_| json!({ "model": "" }),
                |_| json!({ "model": "llama-5" }),
                |_| json!({ "model": "gemini/gemini-2.5-pro" }),
            ],
            brief: |result| {
                json!([result["model"], result["reachable"], result["toolCalls"], result["problem"]])
            },
            again: |first, again| assert_eq!(first["reachable"], again["reachable"]),
            restarted: |first, again| assert_eq!(first["reachable"], again["reachable"]),
            golden: expect![[r#"
                INVALID_PARAMS
                  /model: is required
                NO_MODEL: no model is named `` here
                NO_MODEL: no model is named `llama-5` here
                NO_MODEL: there is no key for `gemini/gemini-2.5-pro`: GEMINI_API_KEY is not set in the daemon's environment
                ["offline",true,false,null]
                ["script",true,false,null]
            "#]],
        },
        Row {
            method: "mcp/list",
            good: &[|_| json!({}), |facts| json!({ "workspace": facts.work })],
            bad: &[|_| json!({ "workspace": 1 }), |_| json!({ "workspace": "work" })],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: value is not of type "string"; or value is not of type "object"
                INVALID_PARAMS
                  /workspace: must be absolute
                {"servers":[{"name":"docs","state":"idle","origin":"user","transport":"stdio","tools":0},{"name":"off","state":"disabled","reason":"its entry says `disabled`","tools":0}]}
                {"servers":[{"name":"docs","state":"idle","origin":"user","transport":"stdio","tools":0},{"name":"off","state":"disabled","reason":"its entry says `disabled`","tools":0}]}
            "#]],
        },
        Row {
            method: "mcp/status",
            good: &[|_| json!({}), |facts| json!({ "workspace": facts.work, "server": "off" })],
            bad: &[|_| json!({ "workspace": 1, "server": 2 }), |_| json!({ "server": "dcos" })],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: value is not of type "string"; or value is not of type "object"
                  /server: value is not of types "null", "string"
                NOT_FOUND: no settings name a server `dcos`
                {"servers":[{"name":"docs","state":"idle","origin":"user","transport":"stdio","tools":0,"restarts":0,"calls":{"calls":0,"errors":0}},{"name":"off","state":"disabled","reason":"its entry says `disabled`","tools":0,"restarts":0,"calls":{"calls":0,"errors":0}}]}
                {"servers":[{"name":"off","state":"disabled","reason":"its entry says `disabled`","tools":0,"restarts":0,"calls":{"calls":0,"errors":0}}]}
            "#]],
        },
        Row {
            method: "mcp/connect",
            good: &[
                |facts| json!({ "server": "docs", "workspace": facts.work }),
                |_| json!({ "server": "off" }),
            ],
            bad: &[|_| json!({ "workspace": 1 }), |_| json!({ "server": "dcos" })],
            brief: |result| without(result, &["/pid", "/stderr", "/toolNames"]),
            again: |first, again| assert_eq!(first["pid"], again["pid"], "it is the same program"),
            restarted: |first, again| assert_eq!(first["state"], again["state"]),
            golden: expect![[r#"
                INVALID_PARAMS
                  /server: is required
                  /workspace: value is not of type "string"; or value is not of type "object"
                NOT_FOUND: no settings name a server `dcos`
                {"name":"docs","state":"ready","origin":"user","transport":"stdio","tools":12,"server":"of-the-tests 1.2","calls":{"calls":0,"errors":0},"restarts":0}
                {"name":"off","state":"disabled","reason":"its entry says `disabled`","tools":0,"restarts":0,"calls":{"calls":0,"errors":0}}
            "#]],
        },
        Row {
            method: "mcp/disconnect",
            good: &[
                |facts| json!({ "server": "docs", "workspace": facts.work }),
                |_| json!({ "server": "off" }),
            ],
            bad: &[|_| json!({ "workspace": 1 }), |_| json!({ "server": "dcos" })],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /server: is required
                  /workspace: value is not of type "string"; or value is not of type "object"
                NOT_FOUND: no settings name a server `dcos`
                {"name":"docs","state":"idle","origin":"user","transport":"stdio","tools":0,"restarts":0,"calls":{"calls":0,"errors":0}}
                {"name":"off","state":"disabled","reason":"its entry says `disabled`","tools":0,"restarts":0,"calls":{"calls":0,"errors":0}}
            "#]],
        },
        Row {
            method: "mcp/restart",
            good: &[|facts| json!({ "server": "docs", "workspace": facts.work })],
            bad: &[|_| json!({ "workspace": 1 }), |_| json!({ "server": "dcos" })],
            brief: |result| without(result, &["/pid", "/stderr", "/toolNames"]),
            again: |first, again| assert_ne!(first["pid"], again["pid"], "it is another program"),
            restarted: |first, again| assert_eq!(first["state"], again["state"]),
            golden: expect![[r#"
                INVALID_PARAMS
                  /server: is required
                  /workspace: value is not of type "string"; or value is not of type "object"
                NOT_FOUND: no settings name a server `dcos`
                {"name":"docs","state":"ready","origin":"user","transport":"stdio","tools":12,"server":"of-the-tests 1.2","calls":{"calls":0,"errors":0},"restarts":0}
            "#]],
        },
        Row {
            method: "mcp/setEnabled",
            good: &[
                |_| json!({ "server": "docs", "enabled": false }),
                |_| json!({ "server": "docs", "enabled": true }),
                |_| json!({ "server": "gone", "enabled": true }),
            ],
            bad: &[
                |_| json!({ "server": 1, "enabled": "no" }),
                |_| json!({ "server": "gone", "enabled": false }),
            ],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /server: value is not of type "string"
                  /enabled: value is not of type "boolean"
                NOT_FOUND: no settings name a server `gone`
                {"server":"docs","enabled":false}
                {"server":"docs","enabled":true}
                {"server":"gone","enabled":true}
            "#]],
        },
        Row {
            method: "mcp/add",
            good: &[
                |_| json!({ "name": "new", "server": { "command": "true", "env": { "LEVEL": "debug" } } }),
                |facts| {
                    let server = json!({ "url": "http://127.0.0.1:9/mcp", "colour": "red" });
                    json!({ "name": "own", "server": server, "scope": "project", "workspace": facts.work })
                },
            ],
            bad: &[
                |_| json!({ "name": 1, "server": [], "scope": "moon", "force": "very" }),
                |_| {
                    let server = json!({ "command": "a", "url": "b", "timeout": 0, "trust": 1 });
                    json!({ "name": "a b", "server": server, "scope": "project" })
                },
                |_| json!({ "name": "off", "server": { "command": "true" } }),
            ],
            brief: |result| without(result, &["/path", "/seq"]),
            again: |first, again| same_but(&["/seq", "/warnings"], first, again),
            restarted: |first, again| assert_eq!(first["path"], again["path"]),
            golden: expect![[r#"
                INVALID_PARAMS
                  /name: value is not of type "string"
                  /server: value is not of type "object"
                  /scope: value is not one of "user", "project"
                  /force: value is not of type "boolean"
                INVALID_PARAMS
                  /name: a server's name is 1 to 40 letters, digits, `-` or `_`, the latter neither twice in a row nor at an end, since its tools are named `mcp.<server>.<tool>` or `mcp__<server>__<tool>`
                  /server/url: a server has a `command` or a `url`, not both
                  /server/timeout: expected a whole number of milliseconds from 1 to a day
                  /server/trust: expected true or false
                  /workspace: must name the workspace whose settings are meant
                ALREADY_EXISTS: <home>/settings.json has another server `off`; nothing was written
                {"name":"new","scope":"user"}
                {"name":"own","scope":"project","warnings":["`colour` is no field of a server; it has no effect","no person has acknowledged the workspace's settings as they are, so it is not used yet: `subagent trust`"]}
            "#]],
        },
        Row {
            method: "mcp/remove",
            good: &[|_| json!({ "name": "off" })],
            bad: &[
                |_| json!({ "name": 1, "scope": "moon" }),
                |_| json!({ "name": "dcos" }),
                |_| json!({ "name": "docs", "scope": "project" }),
            ],
            brief: |result| without(result, &["/path", "/seq"]),
            again: |_, again| assert_eq!(again["kind"], "NOT_FOUND"),
            restarted: |_, again| assert_eq!(again["kind"], "NOT_FOUND"),
            golden: expect![[r#"
                INVALID_PARAMS
                  /name: value is not of type "string"
                  /scope: value is not one of "user", "project"
                NOT_FOUND: <home>/settings.json names no server `dcos`
                INVALID_PARAMS
                  /workspace: must name the workspace whose settings are meant
                {"name":"off","scope":"user"}
            "#]],
        },
        Row {
            method: "mcp/login",
            good: &[],
            bad: &[
                |_| json!({ "server": 1, "waitMs": "long" }),
                |_| json!({ "server": "dcos" }),
                |_| json!({ "server": "off" }),
                |facts| json!({ "server": "docs", "workspace": facts.work }),
            ],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /server: value is not of type "string"
                  /waitMs: value is not of types "null", "integer"
                NOT_FOUND: no settings name a server `dcos`
                CONFLICT: cannot sign in to off: it is not used: its entry says `disabled`
                CONFLICT: cannot sign in to docs: it is a local program, which has no sign-in
            "#]],
        },
        Row {
            method: "mcp/logout",
            good: &[],
            bad: &[
                |_| json!({ "server": 1 }),
                |_| json!({ "server": "dcos" }),
                |facts| json!({ "server": "docs", "workspace": facts.work }),
            ],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /server: value is not of type "string"
                NOT_FOUND: no settings name a server `dcos`
                CONFLICT: cannot sign in to docs: it is a local program, which has no sign-in
            "#]],
        },
        Row {
            method: "mcp/prompts",
            good: &[
                |_| json!({ "server": "docs" }),
                |_| json!({ "server": "docs", "prompt": "greet", "arguments": { "who": "Ada" } }),
            ],
            bad: &[
                |_| json!({ "prompt": 1, "arguments": 2 }),
                |_| json!({ "server": "dcos" }),
                |_| json!({ "server": "off" }),
            ],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /server: is required
                  /prompt: value is not of types "null", "string"
                  /arguments: value is not of type "object"
                NOT_FOUND: no settings name a server `dcos`
                CONFLICT: the server off is away: it is not used: its entry says `disabled`
                {"prompts":[{"name":"greet","description":"Greets.","arguments":[{"name":"who","required":true}]}]}
                {"parts":[{"type":"text","text":"Greet Ada."}]}
            "#]],
        },
        Row {
            method: "mcp/resources",
            good: &[|_| json!({ "server": "docs" })],
            bad: &[
                |_| json!({ "server": 1 }),
                |_| json!({ "server": "dcos" }),
                |_| json!({ "server": "off" }),
            ],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /server: value is not of type "string"
                NOT_FOUND: no settings name a server `dcos`
                CONFLICT: the server off is away: it is not used: its entry says `disabled`
                {"resources":[{"uri":"note://1","name":"one","mimeType":"text/plain"}]}
            "#]],
        },
        Row {
            method: "mcp/readResource",
            good: &[|_| json!({ "server": "docs", "uri": "note://1" })],
            bad: &[|_| json!({ "server": 1, "uri": "" }), |_| json!({ "server": "off", "uri": "note://1" })],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /server: value is not of type "string"
                  /uri: value is shorter than 1 character
                CONFLICT: the server off is away: it is not used: its entry says `disabled`
                {"parts":[{"type":"text","text":"what is noted"}]}
            "#]],
        },
        Row {
            method: "mcp/template",
            good: &[|_| json!({}), |facts| json!({ "path": format!("{}/words.py", facts.work) })],
            bad: &[|_| json!([1]), |_| json!({ "path": "words.py" }), |facts| json!({ "path": facts.work })],
            brief: |result| without(result, &["/text", "/file", "/entry", "/path"]),
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                INVALID_PARAMS
                  /path: must be the absolute path of a file
                CONFLICT: <home>/work: `work` is a folder, not a file
                {"name":"mine"}
                {"name":"words"}
            "#]],
        },
        Row {
            method: "agents/list",
            good: &[
                |_| json!({}),
                |facts| json!({ "workspace": facts.work, "includeHidden": true, "includeInvalid": true }),
            ],
            bad: &[
                |_| json!({ "workspace": 7, "includeInvalid": "yes", "includeHidden": 1 }),
                |_| json!({ "workspace": { "roots": ["relative"] } }),
            ],
            brief: |result| {
                let agents = result["agents"].as_array().unwrap().iter();
                agents.map(|agent| json!([agent["name"], agent["scope"], agent["status"]])).collect()
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: value is not of type "string"; or value is not of type "object"
                  /includeInvalid: value is not of type "boolean"
                  /includeHidden: value is not of type "boolean"
                INVALID_PARAMS
                  /workspace: must be absolute
                [["codebase-investigator","builtin","ok"],["generalist","builtin","ok"],["help","builtin","ok"],["reader","user","ok"],["writer","user","ok"]]
                [["broken","user","invalid"],["codebase-investigator","builtin","ok"],["generalist","builtin","ok"],["help","builtin","ok"],["local","project","untrusted"],["reader","user","ok"],["writer","user","ok"]]
            "#]],
        },
        Row {
            method: "agents/get",
            good: &[
                |_| json!({ "name": "reader" }),
                |_| json!({ "name": "codebase_investigator", "scope": "builtin" }),
                |facts| json!({ "name": "local", "workspace": facts.work }),
                |_| json!({ "name": "broken" }),
            ],
            bad: &[
                |_| json!({ "name": 1, "scope": "nowhere" }),
                |_| json!({ "name": "raeder" }),
                |_| json!({ "name": "reader", "scope": "project" }),
            ],
            brief: |result| {
                json!([
                    result["name"],
                    result["scope"],
                    result["status"],
                    result["tools"],
                    result["inputSpecs"][0]["name"]
                ])
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /name: value is not of type "string"
                  /scope: value is not one of "builtin", "user", "project"
                NOT_FOUND: there is no agent raeder
                NOT_FOUND: there is no agent reader in this place
                ["reader","user","ok",["read_file","complete_task"],"prompt"]
                ["codebase-investigator","builtin","ok",["list_directory","read_file","glob","grep","complete_task"],"objective"]
                ["local","project","untrusted",["read_file","complete_task"],"prompt"]
                ["broken","user","invalid",null,null]
            "#]],
        },
        Row {
            method: "agents/create",
            good: &[
                |_| {
                    let fields = json!({ "name": "asked", "description": "d", "prompt": "You answer." });
                    json!({ "definition": fields, "scope": "user" })
                },
                |facts| {
                    let fields = json!({ "name": "made", "description": "Made here." });
                    json!({ "template": "blank", "definition": fields, "workspace": facts.work })
                },
                |_| {
                    let text = READER.replace("reader", "keyed");
                    json!({ "text": text, "scope": "user", "idempotencyKey": "create-keyed" })
                },
                |_| {
                    let text = READER.replace("You read.", "You read well.");
                    json!({ "text": text, "scope": "user", "overwrite": true })
                },
            ],
            bad: &[
                |_| {
                    json!({
                        "template": 1, "definition": [], "text": 2, "scope": "here", "workspace": 3,
                        "overwrite": "yes", "idempotencyKey": "short",
                    })
                },
                |_| json!({}),
                |_| json!({ "text": READER, "template": "blank", "scope": "builtin" }),
                |_| json!({ "definition": { "prompt": "p" }, "scope": "project" }),
                |_| json!({ "template": "blnak", "definition": { "name": "x" }, "scope": "user" }),
                |_| json!({ "text": READER, "scope": "user", "workspace": "work" }),
                |_| json!({ "text": READER.replace("You read.", "Other words."), "scope": "user" }),
                |_| json!({ "text": READER.replace("name: reader", "name: The Reader"), "scope": "user" }),
                |_| json!({ "text": "---\nkind: agent\nname: read_file\nrun: 3\n---\n", "scope": "user" }),
            ],
            brief: |result| without(result, &["/digest"]),
            again: says_what_it_said,
            restarted: says_what_it_said,
            golden: expect![[r#"
                INVALID_PARAMS
                  /template: value is not of types "null", "string"
                  /definition: value is not of types "null", "object"
                  /text: value is not of types "null", "string"
                  /scope: value is not one of "builtin", "user", "project"
                  /workspace: value is not of type "string"; or value is not of type "object"
                  /overwrite: value is not of type "boolean"
                  /idempotencyKey: value is shorter than 8 characters
                INVALID_PARAMS
                  /workspace: must name the workspace, since `project` is the usual scope (setting `agents.defaultScope`); or name the scope `user`
                  : one of `text`, `template` and `definition` says what the file is to say
                INVALID_PARAMS
                  /scope: built-in agents come with the daemon; name `user` or `project`
                  /text: not beside `template` or `definition`: it is the whole file
                INVALID_PARAMS
                  /workspace: must name the workspace that the file goes to
                  /definition/name: is missing: what is the agent called?
                NOT_FOUND: there is no template `blnak` (did you mean `blank`?); there are `debugging`, `code-review`, `documentation`, `testing`, `security`, `blank`
                INVALID_PARAMS
                  /workspace: must be absolute
                ALREADY_EXISTS: there is an agent reader already: <home>/agents/reader.md; nothing was written
                INVALID_DEFINITION: nothing was written: line 3, column 7: `name`: "The Reader" is no name for an agent: it has small letters, digits and single dashes between them, begins with a letter, and is no longer than 64 characters
                INVALID_DEFINITION: nothing was written: line 3, column 7: `name`: "read_file" is no name for an agent: it has small letters, digits and single dashes between them, begins with a letter, and is no longer than 64 characters; line 4, column 6: `run`: expected a map with `maxTurns`, `maxTimeMinutes`, `maxTokens`, `graceSeconds`, `maxCostUsd`, `onBudget`, `maxContextTokens` or `maxDepth`, found the number 3
                {"name":"asked","scope":"user","path":"<home>/agents/asked.md","seq":"<seq>"}
                {"name":"made","scope":"project","path":"<home>/work/.subagentd/agents/made.md","seq":"<seq>"}
                {"name":"keyed","scope":"user","path":"<home>/agents/keyed.md","seq":"<seq>"}
                {"name":"reader","scope":"user","path":"<home>/agents/reader.md","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "agents/update",
            good: &[
                |_| json!({ "name": "reader", "definition": { "title": "Reads", "tools": ["grep"] } }),
                |facts| {
                    let text = READER.replace("reader", "local").replace("You read.", "You read well.");
                    json!({ "name": "local", "text": text, "workspace": facts.work, "digest": facts.local_digest, "idempotencyKey": "update-local" })
                },
                |_| json!({ "name": "broken", "text": READER.replace("reader", "broken"), "scope": "user" }),
            ],
            bad: &[
                |_| json!({ "name": 1, "scope": 2, "workspace": 3, "text": 4, "definition": 5, "digest": 6 }),
                |_| json!({ "name": "reader" }),
                |_| json!({ "name": "reader", "text": READER, "definition": {} }),
                |_| json!({ "name": "raeder", "text": READER }),
                |_| json!({ "name": "generalist", "definition": { "title": "G" } }),
                |_| {
                    let text = READER.replace("You read.", "You read well.");
                    json!({ "name": "reader", "text": text, "digest": "sha256:00" })
                },
                |_| json!({ "name": "reader", "text": READER.replace("name: reader", "name: other") }),
                |_| json!({ "name": "reader", "definition": { "run": { "maxTurns": "many" } } }),
                |_| json!({ "name": "reader", "text": "no front matter" }),
            ],
            brief: |result| without(result, &["/digest"]),
            again: says_what_it_said,
            restarted: says_what_it_said,
            golden: expect![[r#"
                INVALID_PARAMS
                  /name: value is not of type "string"
                  /scope: value is not of type "string"; or value is not one of "builtin", "user", "project"
                  /workspace: value is not of type "string"; or value is not of type "object"
                  /text: value is not of types "null", "string"
                  /definition: value is not of types "null", "object"
                  /digest: value is not of types "null", "string"
                INVALID_PARAMS
                  : one of `text` and `definition` says what is to change
                INVALID_PARAMS
                  /text: not beside `definition`: it is the whole file
                NOT_FOUND: there is no agent raeder
                CONFLICT: generalist comes with the daemon and lies in no file
                CONFLICT: <home>/agents/reader.md is not what it was when you read it; nothing was written
                INVALID_DEFINITION: the file would be of the agent other then, not of reader; nothing was written
                INVALID_DEFINITION: nothing was written: line 6, column 13: `run.maxTurns`: expected a whole number from 1 to 4294967295, found the text "many"
                INVALID_DEFINITION: nothing was written: line 1, column 1: has no front matter: the first line must be `---`
                {"name":"reader","scope":"user","path":"<home>/agents/reader.md","seq":"<seq>"}
                {"name":"local","scope":"project","path":"<home>/work/.subagentd/agents/local.md","seq":"<seq>"}
                {"name":"broken","scope":"user","path":"<home>/agents/broken.md","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "agents/delete",
            good: &[
                |_| json!({ "name": "writer", "idempotencyKey": "delete-writer" }),
                |facts| json!({ "name": "local", "workspace": facts.work, "contexts": "delete" }),
            ],
            bad: &[
                |_| json!({ "name": 1, "scope": "all", "workspace": 2, "contexts": "burn" }),
                |_| json!({ "name": "wirter" }),
                |_| json!({ "name": "writer", "scope": "project" }),
                |_| json!({ "name": "generalist" }),
            ],
            brief: |result| without(result, &["/trash"]),
            again: is_gone_or_replayed,
            restarted: is_gone_or_replayed,
            golden: expect![[r#"
                INVALID_PARAMS
                  /name: value is not of type "string"
                  /scope: value is not one of "builtin", "user", "project"
                  /workspace: value is not of type "string"; or value is not of type "object"
                  /contexts: "keep" was expected; or "delete" was expected
                NOT_FOUND: there is no agent wirter
                NOT_FOUND: there is no agent writer in this place
                CONFLICT: generalist comes with the daemon and lies in no file
                {"name":"writer","scope":"user","path":"<home>/agents/writer.md","seq":"<seq>","cleared":0,"busy":0}
                {"name":"local","scope":"project","path":"<home>/work/.subagentd/agents/local.md","seq":"<seq>","cleared":0,"busy":0}
            "#]],
        },
        Row {
            method: "agents/templates",
            good: &[|_| json!({})],
            bad: &[|_| json!([])],
            brief: |result| {
                let templates = result["templates"].as_array().unwrap().iter();
                json!([templates.map(|it| it["name"].clone()).collect::<Vec<_>>(), result.get("problems")])
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                [["debugging","code-review","documentation","testing","security","blank"],null]
            "#]],
        },
        Row {
            method: "agents/import",
            good: &[
                |facts| json!({ "paths": [facts.foreign()], "scope": "user", "dryRun": true }),
                |facts| json!({ "paths": [facts.foreign()], "scope": "user", "idempotencyKey": "import-them" }),
                |facts| json!({ "paths": [facts.foreign()], "workspace": facts.work, "onConflict": "namespace" }),
            ],
            bad: &[
                |_| json!({ "paths": "all", "format": "cursor", "onConflict": "fight", "dryRun": 1 }),
                |_| json!({ "paths": [], "scope": "builtin" }),
                |_| json!({ "paths": ["here.md", "/there.md"] }),
                |_| json!({ "paths": ["/there.md"], "url": "ftp://example.com", "digest": "sha256:0", "scope": "user" }),
                |_| json!({ "url": "git+file:///there", "scope": "user" }),
            ],
            brief: |result| {
                let files = result["files"].as_array().unwrap().iter();
                let briefly = |file: &Value| {
                    let problems = file["problems"].as_array().map_or(0, Vec::len);
                    json!([
                        file["name"],
                        file["format"],
                        file["state"],
                        file["outcome"],
                        file["path"],
                        problems
                    ])
                };
                json!([files.map(briefly).collect::<Vec<_>>(), result.get("problems")])
            },
            again: is_imported_already,
            restarted: is_imported_already,
            golden: expect![[r#"
                INVALID_PARAMS
                  /paths: value is not of type "array"
                  /format: "own" was expected; or "claude" was expected; or "gemini" was expected; or "opencode" was expected
                  /onConflict: "skip" was expected; or "replace" was expected; or "namespace" was expected
                  /dryRun: value is not of type "boolean"
                INVALID_PARAMS
                  /scope: built-in agents come with the daemon; name `user` or `project`
                  /paths: names no file and no folder
                INVALID_PARAMS
                  /workspace: must name the workspace, since `project` is the usual scope (setting `agents.defaultScope`); or name the scope `user`
                  /paths: must be absolute, since the daemon does not know your working directory: here.md
                INVALID_PARAMS
                  /paths: stand beside a `url`; ask for each by itself
                  /digest: must be `sha256:` and 64 hexadecimal digits
                  /url: begins with `ftp:`; https, ssh, file and git@HOST:PATH can be fetched
                INVALID_PARAMS
                  /digest: must be named: your own agents are started without a question, so first look at what comes (`dryRun`), and name the `origin.digest` of what you have read
                [[["none","claude","rejected","rejected",null,1],["reader","own","ok","unchanged","<home>/agents/reader.md",0],["theirs","claude","repaired","written","<home>/agents/theirs.md",1]],null]
                [[["none","claude","rejected","rejected",null,1],["reader","own","ok","unchanged","<home>/agents/reader.md",0],["theirs","claude","repaired","written","<home>/agents/theirs.md",1]],null]
                [[["none","claude","rejected","rejected",null,1],["reader","own","ok","written","<home>/work/.subagentd/agents/reader.md",0],["theirs","claude","repaired","written","<home>/work/.subagentd/agents/theirs.md",1]],null]
            "#]],
        },
        Row {
            method: "agents/export",
            good: &[
                |_| json!({ "names": ["reader"] }),
                |facts| json!({ "names": ["codebase-investigator", "local"], "format": "claude", "workspace": facts.work }),
            ],
            bad: &[
                |_| json!({ "names": "reader", "format": "cursor" }),
                |_| json!({ "names": ["raeder"] }),
                |_| json!({ "names": ["raeder", "reader", "broken"] }),
            ],
            brief: |result| {
                let files = result["files"].as_array().unwrap().iter();
                files.map(|file| json!([file["name"], file["fileName"], file["lost"]])).collect()
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /names: value is not of type "array"
                  /format: "own" was expected; or "claude" was expected; or "gemini" was expected; or "opencode" was expected
                NOT_FOUND: there is no agent raeder
                NOT_FOUND: there is no agent raeder; broken has errors and cannot be written out: <home>/agents/broken.md:5:18: `run.maxTurns`: expected a whole number from 1 to 4294967295, found the text "many"
                [["reader","reader.md",null]]
                [["codebase-investigator","codebase-investigator.md",["`model.temperature` and other sampling settings","`run.maxTimeMinutes`","`version`","`completion`","`inputs`","`output`: the result is a text there","`query`","what the prompt has filled in: `${workspace}`"]],["local","local.md",["`completion`"]]]
            "#]],
        },
        Row {
            method: "agents/validate",
            good: &[
                |_| json!({ "name": "reader" }),
                |_| json!({ "text": "---\nname: x\ntools: [raed_file]\n---\n", "path": "draft.md" }),
                |_| json!({ "all": true }),
            ],
            bad: &[
                |_| json!({}),
                |_| json!({ "name": "reader", "all": true }),
                |_| json!({ "name": "raeder" }),
            ],
            brief: verdicts,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  : exactly one of `name`, `text` and `all` says what to validate
                INVALID_PARAMS
                  : exactly one of `name`, `text` and `all` says what to validate
                NOT_FOUND: there is no agent raeder
                [true,[["reader",[]]]]
                [false,[["x",[["required fields are present","fail"]]]]]
                [false,[["broken",[["types are right","fail"]]],["codebase-investigator",[]],["generalist",[]],["help",[]],["reader",[]],["writer",[]]]]
            "#]],
        },
        Row {
            method: "agents/acknowledge",
            good: &[
                |facts| json!({ "name": "local", "digest": facts.local_digest, "workspace": facts.work }),
            ],
            bad: &[
                |_| json!({ "name": 1, "digest": 2, "workspace": 3 }),
                |facts| json!({ "name": "reader", "digest": facts.local_digest, "workspace": facts.work }),
                |facts| json!({ "name": "local", "digest": "sha256:00", "workspace": facts.work }),
                |facts| json!({ "name": "local", "digest": facts.local_digest, "workspace": "work" }),
                |_| json!({ "name": "local", "digest": "sha256:00", "workspace": "/no/such/folder" }),
            ],
            brief: whole,
            again: is_later,
            restarted: is_later,
            golden: expect![[r#"
                INVALID_PARAMS
                  /name: value is not of type "string"
                  /digest: value is not of type "string"
                  /workspace: value is not of type "string"; or value is not of type "object"
                NOT_FOUND: this workspace has no agent reader of its own
                CONFLICT: local is not what it was when you read it; nothing was recorded
                INVALID_PARAMS
                  /workspace: must be absolute
                INVALID_PARAMS
                  /workspace: /no/such/folder is not a folder, or its name is not UTF-8
                {"name":"local","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "agents/route",
            good: &[
                |facts| json!({ "prompt": "There's a bug", "workspace": facts.work }),
                |facts| json!({ "prompt": "There's a bug", "sessionId": facts.session }),
            ],
            bad: &[
                |_| json!({ "prompt": 1, "workspace": "work", "sessionId": 2 }),
                |_| json!({}),
                |facts| json!({ "prompt": "x", "workspace": facts.work, "sessionId": facts.session }),
                |_| json!({ "prompt": "x", "sessionId": "0190a000-0000-7000-8000-000000000000" }),
            ],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /prompt: value is not of type "string"
                  /sessionId: value is not of type "string"
                INVALID_PARAMS
                  /prompt: is required
                INVALID_PARAMS
                  /workspace: not beside `sessionId`, which has one of its own
                NOT_FOUND: there is no session <id 1>
                {"agent":"generalist"}
                {"agent":"generalist"}
            "#]],
        },
        Row {
            method: "agents/reload",
            good: &[|_| json!({}), |facts| json!({ "workspace": facts.work })],
            bad: &[|_| json!({ "workspace": 7 }), |_| json!({ "workspace": "work" })],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: value is not of type "string"; or value is not of type "object"
                INVALID_PARAMS
                  /workspace: must be absolute
                {"added":[],"changed":[],"removed":[]}
                {"added":[],"changed":[],"removed":[]}
            "#]],
        },
        Row {
            method: "prompt/render",
            good: &[
                |_| json!({ "agent": "reader" }),
                |facts| json!({ "agent": "reader", "sessionId": facts.session, "headless": true }),
                |facts| json!({ "agent": "generalist", "workspace": facts.work, "model": "script", "withSystemFile": true }),
            ],
            bad: &[
                |_| json!({ "agent": 1, "headless": "yes", "withSystemFile": 1, "model": 2, "sessionId": 3, "workspace": 4 }),
                |_| json!({}),
                |_| json!({ "agent": "nobody" }),
                |_| json!({ "agent": "reader", "workspace": "relative" }),
                |facts| json!({ "agent": "reader", "sessionId": facts.session, "workspace": "/" }),
                |_| json!({ "agent": "reader", "sessionId": "nowhere" }),
            ],
            brief: |result| {
                let parts = result["parts"].as_array().unwrap().iter();
                json!([
                    result["agent"],
                    result["systemFile"].is_string(),
                    parts.map(|it| it["name"].clone()).collect::<Value>()
                ])
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /agent: value is not of type "string"
                  /headless: value is not of type "boolean"
                  /withSystemFile: value is not of type "boolean"
                  /model: value is not of type "string"
                  /sessionId: value is not of type "string"
                  /workspace: value is not of type "string"; or value is not of type "object"
                INVALID_PARAMS
                  /agent: is required
                NOT_FOUND: there is no agent nobody
                INVALID_PARAMS
                  /workspace: must be absolute
                INVALID_PARAMS
                  /workspace: is not that of the session
                NOT_FOUND: there is no session nowhere
                ["reader",false,["body","environment","skill"]]
                ["reader",false,["body","environment","folders","skill","frame"]]
                ["generalist",true,["preamble","coreMandates","agents","primaryWorkflows","operationalGuidelines","sandbox","git","finalReminder","environment","folders","skill","frame"]]
            "#]],
        },
        Row {
            method: "memory/files",
            good: &[|_| json!({}), |facts| json!({ "workspace": facts.work, "withText": true })],
            bad: &[|_| json!({ "workspace": 1, "withText": "yes" }), |_| json!({ "workspace": "relative" })],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: value is not of type "string"; or value is not of type "object"
                  /withText: value is not of type "boolean"
                INVALID_PARAMS
                  /workspace: must be absolute
                {"files":[],"userFile":"<home>/config/AGENTS.md"}
                {"files":[],"userFile":"<home>/config/AGENTS.md","projectFile":"<home>/work/AGENTS.md"}
            "#]],
        },
        Row {
            method: "skills/list",
            good: &[|_| json!({}), |facts| json!({ "workspace": facts.work })],
            bad: &[|_| json!({ "workspace": 1 }), |_| json!({ "workspace": "work" })],
            brief: |result| without(result, &["/skills/0/folder"]),
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: value is not of type "string"; or value is not of type "object"
                INVALID_PARAMS
                  /workspace: must be absolute
                {"skills":[{"name":"forms","description":"Fills forms.","onlyByName":true,"scope":"user","state":"ready"}]}
                {"skills":[{"name":"forms","description":"Fills forms.","onlyByName":true,"scope":"user","state":"ready"}]}
            "#]],
        },
        Row {
            method: "skills/get",
            good: &[
                |_| json!({ "name": "forms" }),
                |facts| json!({ "name": "forms", "workspace": facts.work }),
            ],
            bad: &[
                |_| json!({ "name": 1, "workspace": 1 }),
                |_| json!({}),
                |_| json!({ "folder": "forms" }),
                |_| json!({ "name": "from" }),
                |_| json!({ "folder": "/none" }),
            ],
            brief: |result| without(result, &["/skill/folder"]),
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /name: value is not of types "null", "string"
                  /workspace: value is not of type "string"; or value is not of type "object"
                INVALID_PARAMS
                  /name: name a skill, or the folder of one
                INVALID_PARAMS
                  /folder: must be absolute
                NOT_FOUND: there is no skill `from` here
                NOT_FOUND: no skill was found in /none
                {"skill":{"name":"forms","description":"Fills forms.","onlyByName":true,"scope":"user","state":"ready"},"body":"Fill them.","files":[],"fileCount":0}
                {"skill":{"name":"forms","description":"Fills forms.","onlyByName":true,"scope":"user","state":"ready"},"body":"Fill them.","files":[],"fileCount":0}
            "#]],
        },
        Row {
            method: "skills/validate",
            good: &[
                |facts| json!({ "path": format!("{}/none", facts.work) }),
                |facts| json!({ "path": facts.work }),
            ],
            bad: &[|_| json!({ "path": 1 }), |_| json!({ "path": "forms" })],
            brief: |result| without(result, &["/path", "/problems/0/path"]),
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /path: value is not of type "string"
                INVALID_PARAMS
                  /path: must be absolute
                {"problems":[{"message":"is not there","severity":"error","code":"UNREADABLE"}],"valid":false}
                {"problems":[{"message":"has no file `SKILL.md`","severity":"error","code":"UNREADABLE"}],"valid":false}
            "#]],
        },
        Row {
            method: "skills/setEnabled",
            good: &[
                |_| json!({ "name": "forms", "enabled": false }),
                |_| json!({ "name": "forms", "enabled": true }),
            ],
            bad: &[
                |_| json!({ "name": 1, "enabled": "no" }),
                |_| json!({ "name": " ", "enabled": true }),
                |_| json!({ "name": "from", "enabled": false }),
                |_| json!({ "name": "gone", "enabled": true }),
            ],
            brief: |result| without(result, &["/path", "/seq"]),
            again: |first, again| same_but(&["/seq"], first, again),
            restarted: |first, again| same_but(&["/seq"], first, again),
            golden: expect![[r#"
                INVALID_PARAMS
                  /name: value is not of type "string"
                  /enabled: value is not of type "boolean"
                INVALID_PARAMS
                  /name: must be a name of 1 to 64 characters
                NOT_FOUND: there is no skill `from` here
                NOT_FOUND: there is no skill `gone` here
                {"name":"forms","enabled":false}
                {"name":"forms","enabled":true}
            "#]],
        },
        Row {
            method: "extension/list",
            good: &[|_| json!({})],
            bad: &[|_| json!([1])],
            brief: |result| {
                let extensions = result["extensions"].as_array().unwrap().iter();
                extensions
                    .map(|it| json!([it["name"], it["state"], it["skillCount"], it["serverCount"]]))
                    .collect()
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                [["acme.tools","enabled",1,1]]
            "#]],
        },
        Row {
            method: "extension/get",
            good: &[|_| json!({ "name": "acme.tools" })],
            bad: &[
                |_| json!({ "name": 1 }),
                |_| json!({}),
                |_| json!({ "name": "acme.tool" }),
                |_| json!({ "name": "../up" }),
            ],
            brief: |result| json!([result["extension"]["state"], result["contents"]]),
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /name: value is not of type "string"
                INVALID_PARAMS
                  /name: is required
                NOT_FOUND: there is no extension `acme.tool`
                NOT_FOUND: there is no extension `../up`
                ["enabled",{"skills":[{"name":"deploy","description":"Deploys."}],"servers":[{"name":"board","isProgram":false,"commandOrUrl":"http://127.0.0.1:9/mcp","variables":["X-Tenant=t"]}],"author":"Ada"}]
            "#]],
        },
        Row {
            method: "extension/install",
            good: &[
                |facts| json!({ "source": facts.extension_source(), "dryRun": true }),
                |facts| json!({ "source": facts.extension_source(), "digest": facts.extension }),
            ],
            bad: &[
                |_| json!({ "source": 1, "digest": 2, "dryRun": "yes" }),
                |_| json!({ "source": "acme", "dryRun": true }),
                |facts| json!({ "source": facts.extension_source() }),
                |facts| json!({ "source": facts.extension_source(), "digest": "sha256:00" }),
                |facts| json!({ "source": facts.work, "dryRun": true }),
                |_| json!({ "source": "https://example.com/plugin.json", "dryRun": true }),
                |_| json!({ "source": "http://example.com/acme.git", "dryRun": true }),
            ],
            brief: |result| {
                json!([
                    result["outcome"],
                    result["extension"]["name"],
                    result["contents"],
                    result["fileCount"]
                ])
            },
            again: |first, again| {
                assert_eq!(first["extension"]["digest"], again["extension"]["digest"]);
                assert!(again["seq"].is_null(), "{again}");
            },
            restarted: |_, again| assert_eq!(again["outcome"], "unchanged"),
            golden: expect![[r#"
                INVALID_PARAMS
                  /source: value is not of type "string"
                  /digest: value is not of types "null", "string"
                  /dryRun: value is not of type "boolean"
                INVALID_PARAMS
                  /source: must be an absolute path, or the URL of a repository
                INVALID_PARAMS
                  /digest: must be named: first look at what would be installed (`dryRun`), and name the digest of what you have seen
                CONFLICT: acme.tools is not what it was when you looked at it; nothing was installed
                INVALID_DEFINITION: <home>/work has no plugin.json at its top; nothing was installed
                INVALID_PARAMS
                  /source: must be a repository's URL: one that ends in .git, or that begins with git+https://
                INVALID_PARAMS
                  /source: is not protected on its way, so anybody there could change what comes; name it with https
                ["installed","acme.tools",{"skills":[{"name":"deploy","description":"Deploys."}],"servers":[{"name":"board","isProgram":false,"commandOrUrl":"http://127.0.0.1:9/mcp","variables":["X-Tenant=t"]}],"author":"Ada"},3]
                ["installed","acme.tools",{"skills":[{"name":"deploy","description":"Deploys."}],"servers":[{"name":"board","isProgram":false,"commandOrUrl":"http://127.0.0.1:9/mcp","variables":["X-Tenant=t"]}],"author":"Ada"},3]
            "#]],
        },
        Row {
            method: "extension/enable",
            good: &[|_| json!({ "name": "acme.tools" })],
            bad: &[|_| json!({ "name": 1 }), |_| json!({ "name": "acme.tool" })],
            brief: |result| json!([result["extension"]["state"], result["seq"].is_i64()]),
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /name: value is not of type "string"
                NOT_FOUND: there is no extension `acme.tool`
                ["enabled",false]
            "#]],
        },
        Row {
            method: "extension/disable",
            good: &[|_| json!({ "name": "acme.tools" })],
            bad: &[|_| json!({ "name": 1 }), |_| json!({ "name": "acme.tool" })],
            brief: |result| json!([result["extension"]["state"], result["seq"].is_i64()]),
            again: |first, again| same_but(&["/seq"], first, again),
            restarted: |first, again| same_but(&["/seq"], first, again),
            golden: expect![[r#"
                INVALID_PARAMS
                  /name: value is not of type "string"
                NOT_FOUND: there is no extension `acme.tool`
                ["disabled",true]
            "#]],
        },
        Row {
            method: "extension/remove",
            good: &[|_| json!({ "name": "acme.tools" })],
            bad: &[|_| json!({ "name": 1 }), |_| json!({ "name": "acme.tool" })],
            brief: whole,
            again: |_, again| assert_eq!(again["kind"], "NOT_FOUND"),
            restarted: |_, again| assert_eq!(again["kind"], "NOT_FOUND"),
            golden: expect![[r#"
                INVALID_PARAMS
                  /name: value is not of type "string"
                NOT_FOUND: there is no extension `acme.tool`
                {"name":"acme.tools","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "ide/contextUpdate",
            good: &[
                |facts| {
                    json!({
                        "sessionId": facts.session, "trusted": true,
                        "openFiles": [{ "path": format!("{}/a.rs", facts.work), "active": true, "cursor": { "line": 1, "character": 2 } }, { "path": "/etc/passwd" }],
                    })
                },
                |facts| json!({ "sessionId": facts.session, "openFiles": [{ "path": format!("{}/a.rs", facts.work) }] }),
            ],
            bad: &[
                |_| json!({ "sessionId": 1, "openFiles": {}, "trusted": "yes" }),
                |facts| json!({ "sessionId": facts.session, "openFiles": [{ "path": 1, "active": 1, "cursor": { "line": -1 }, "selectedText": [] }] }),
                |_| json!({ "sessionId": "no-such-session" }),
            ],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                  /openFiles: value is not of type "array"
                  /trusted: value is not of type "boolean"
                INVALID_PARAMS
                  /openFiles/0/path: value is not of type "string"
                  /openFiles/0/active: value is not of type "boolean"
                  /openFiles/0/cursor: "character" is required; or value is less than the minimum of 0
                  /openFiles/0/selectedText: value is not of types "null", "string"
                NOT_FOUND: there is no session no-such-session
                {"files":1,"omitted":[{"path":"/etc/passwd","reason":"it lies outside of the session's roots"}]}
                {"files":0,"omitted":[{"reason":"the editor does not trust the workspace (`trusted`), so nothing of it is told"}]}
            "#]],
        },
        Row {
            method: "tools/list",
            good: &[
                |_| json!({}),
                |_| json!({ "agent": "reader" }),
                |facts| json!({ "sessionId": facts.session }),
                |facts| json!({ "workspace": facts.work, "agent": "reader" }),
            ],
            bad: &[
                |_| json!({ "agent": ["reader"], "sessionId": 1, "workspace": 2 }),
                |_| json!({ "agent": "raeder" }),
                |_| json!({ "agent": "broken" }),
                |_| json!({ "sessionId": "none" }),
                |_| json!({ "workspace": "work" }),
                |facts| json!({ "sessionId": facts.session, "workspace": "/" }),
            ],
            brief: |result| {
                let line = |tool: &Value| {
                    [&tool["name"], &tool["source"], &tool["state"]].map(|it| it.as_str().unwrap().to_owned())
                };
                result["tools"].as_array().unwrap().iter().map(|tool| line(tool).join(" ")).collect()
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /agent: value is not of type "string"
                  /sessionId: value is not of type "string"
                  /workspace: value is not of type "string"; or value is not of type "object"
                NOT_FOUND: there is no agent raeder
                INVALID_DEFINITION: broken cannot be used: <home>/agents/broken.md:5:18: `run.maxTurns`: expected a whole number from 1 to 4294967295, found the text "many"
                NOT_FOUND: there is no session none
                INVALID_PARAMS
                  /workspace: must be absolute
                INVALID_PARAMS
                  /workspace: is not that of the session
                ["list_directory builtin available","read_file builtin available","read_many_files builtin available","glob builtin available","grep builtin available","write_file builtin available","edit_file builtin available","delete_file builtin available","move_file builtin available","run_shell_command builtin available","shell_output builtin available","kill_shell builtin available","git_commit builtin available","web_fetch builtin available","web_search builtin excluded","save_memory builtin available","write_todos builtin available","ask_user builtin available","search_docs builtin available","codebase-investigator agent available","generalist agent available","help agent available","reader agent available","writer agent available"]
                ["read_file builtin available","complete_task builtin available"]
                ["list_directory builtin available","read_file builtin available","read_many_files builtin available","glob builtin available","grep builtin available","write_file builtin available","edit_file builtin available","delete_file builtin available","move_file builtin available","run_shell_command builtin available","shell_output builtin available","kill_shell builtin available","git_commit builtin available","web_fetch builtin available","web_search builtin excluded","save_memory builtin available","write_todos builtin available","ask_user builtin available","search_docs builtin available","codebase-investigator agent available","generalist agent available","help agent available","reader agent available","writer agent available"]
                ["read_file builtin available","complete_task builtin available"]
            "#]],
        },
        Row {
            method: "tools/call",
            good: &[
                |facts| json!({ "sessionId": facts.session, "tool": "ls", "arguments": { "path": "." } }),
                |facts| json!({ "sessionId": facts.session, "tool": "read_file", "arguments": { "path": "nowhere" } }),
            ],
            bad: &[
                |_| json!({ "sessionId": 1, "tool": 2 }),
                |_| json!({ "sessionId": "no-such-session", "tool": "ls", "arguments": {} }),
            ],
            brief: |result| json!([result["result"]["error"]["type"], result["seq"].is_i64()]),
            again: |first, again| {
                assert_ne!((&first["callId"], &first["runId"]), (&again["callId"], &again["runId"]));
                assert_eq!(first["result"]["error"], again["result"]["error"]);
            },
            restarted: |first, again| assert_eq!(first["result"]["error"], again["result"]["error"]),
            golden: expect![[r#"
                INVALID_PARAMS
                  /arguments: is required
                  /sessionId: value is not of type "string"
                  /tool: value is not of type "string"
                NOT_FOUND: there is no session no-such-session
                [null,true]
                ["FILE_NOT_FOUND",true]
            "#]],
        },
        Row {
            method: "tools/register",
            good: &[
                |_| json!({ "tools": [lent_tool()], "onDisconnect": "wait" }),
                |facts| json!({ "sessionId": facts.session, "tools": [] }),
            ],
            bad: &[
                |_| json!({ "sessionId": 1, "onDisconnect": "hope" }),
                |_| json!({ "tools": [{ "name": "x", "kind": "verb", "risk": 1, "timeoutMs": 5 }] }),
                |_| json!({ "tools": [{ "name": "bash", "description": "", "parameters": [], "risk": "safe" }] }),
                |_| json!({ "tools": [], "sessionId": "no-such-session" }),
            ],
            brief: whole,
            again: same,
            // What a connection lends ends with it.
            restarted: |_, again| assert_eq!(again["kind"], "NOT_INITIALIZED"),
            golden: expect![[r#"
                INVALID_PARAMS
                  /tools: is required
                  /sessionId: value is not of type "string"
                  /onDisconnect: "wait" was expected; or "fail" was expected
                INVALID_PARAMS
                  /tools/0/description: is required
                  /tools/0/parameters: is required
                  /tools/0/kind: value is not one of "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"
                  /tools/0/risk: value is not of type "string"; or value is not one of "safe", "low", "medium", "high", "critical"
                  /tools/0/timeoutMs: value is less than the minimum of 1000
                INVALID_PARAMS
                  /tools/0/name: is a name of a tool of the daemon's own
                  /tools/0/description: is blank: a model would not know when to call it
                  /tools/0/parameters: is no JSON Schema (2020-12) of an object
                  /tools/0/risk: only tools of the kinds `read` and `search` may be `safe` or `low`
                NOT_FOUND: there is no session no-such-session
                {"clientId":"me","tools":["lent"]}
                {"clientId":"me","tools":[]}
            "#]],
        },
        Row {
            method: "tools/result",
            good: &[|facts| json!({ "callId": facts.call, "content": [{ "type": "text", "text": "fine" }] })],
            bad: &[
                |_| json!({ "callId": 1, "content": [{ "type": "text" }], "error": {} }),
                |facts| json!({ "callId": facts.call }),
                |facts| json!({ "callId": facts.call, "content": [], "error": { "message": "x" } }),
                |_| json!({ "callId": "no-such-call", "content": [] }),
            ],
            brief: whole,
            again: |first, again| {
                assert_eq!((&first["seq"], &again["replayed"]), (&again["seq"], &json!(true)));
            },
            restarted: |_, again| assert_eq!(again["kind"], "NOT_INITIALIZED"),
            golden: expect![[r#"
                INVALID_PARAMS
                  /callId: value is not of type "string"
                  /content/0: "text" is required; or "mimeType" is required; or "data" is required; or "inlineData" was expected
                  /error: "message" is required
                INVALID_PARAMS
                  /content: needed, or `error`
                INVALID_PARAMS
                  /error: is not given beside `content`
                NOT_FOUND: no client was told of a call no-such-call
                {"callId":"<id 1>","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "tools/output",
            good: &[
                |facts| json!({ "callId": facts.call }),
                |facts| json!({ "callId": facts.call, "sessionId": facts.session, "stream": "result", "from": 49_990 }),
            ],
            bad: &[
                |_| json!({ "callId": 1, "sessionId": 2, "stream": "stderr", "from": -1 }),
                |_| json!({ "callId": "no-such-call" }),
                |facts| json!({ "callId": facts.call, "sessionId": facts.live_session }),
                |facts| json!({ "callId": facts.call, "from": 1_000_000 }),
            ],
            brief: |result| {
                json!([result["text"].as_str().unwrap().len(), result["next"], result["totalBytes"]])
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /callId: value is not of type "string"
                  /sessionId: value is not of type "string"
                  /stream: "result" was expected
                  /from: value is less than the minimum of 0
                NOT_FOUND: no whole output of call no-such-call is kept
                NOT_FOUND: call <id 1> is of another session
                INVALID_PARAMS
                  /from: the output has 52933 bytes
                [52933,null,52933]
                [2943,null,52933]
            "#]],
        },
        Row {
            method: "policy/list",
            good: &[|_| json!({}), |facts| json!({ "workspace": facts.work })],
            bad: &[|_| json!({ "workspace": 7 }), |_| json!({ "workspace": "relative" })],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: value is not of type "string"; or value is not of type "object"
                INVALID_PARAMS
                  /workspace: must be absolute
                {"rules":[{"id":"user:house.toml:1","tier":"user","tool":["probe"],"decision":"ask","priority":0}],"problems":[]}
                {"rules":[{"id":"user:house.toml:1","tier":"user","tool":["probe"],"decision":"ask","priority":0}],"problems":[]}
            "#]],
        },
        Row {
            method: "policy/check",
            good: &[
                |facts| {
                    json!({
                        "tool": "Read", "arguments": { "file_path": ".subagentd/agents/local.md" },
                        "agent": "reader", "workspace": facts.work,
                    })
                },
                |facts| {
                    json!({
                        "tool": "glob", "arguments": { "pattern": "*" }, "agent": "generalist",
                        "sessionId": facts.session,
                    })
                },
            ],
            bad: &[
                |_| json!({ "tool": 1, "agent": 2, "sessionId": 3 }),
                |_| json!({ "tool": "glob", "arguments": {} }),
                |facts| json!({ "tool": "glob", "arguments": {}, "sessionId": facts.session, "workspace": "/" }),
                |facts| json!({ "tool": "grep", "arguments": {}, "agent": "reader", "workspace": facts.work }),
                |facts| json!({ "tool": "graep", "arguments": {}, "agent": "reader", "workspace": facts.work }),
                |facts| {
                    json!({
                        "tool": "read_file", "arguments": { "path": 7, "limit": "all", "colour": 1 },
                        "agent": "reader", "workspace": facts.work,
                    })
                },
                |facts| {
                    json!({
                        "tool": "read_file", "arguments": { "path": "/etc/passwd" }, "agent": "reader",
                        "workspace": facts.work,
                    })
                },
                |facts| json!({ "tool": "glob", "arguments": {}, "agent": "raeder", "workspace": facts.work }),
                |facts| json!({ "tool": "glob", "arguments": {}, "agent": "local", "workspace": facts.work }),
                |_| json!({ "tool": "glob", "arguments": {}, "sessionId": "no-such-session" }),
            ],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /arguments: is required
                  /tool: value is not of type "string"
                  /agent: value is not of type "string"
                  /sessionId: value is not of type "string"
                INVALID_PARAMS
                  /workspace: needed without sessionId
                INVALID_PARAMS
                  /workspace: is not that of the session
                INVALID_PARAMS
                  /tool: `grep` is not allowed in this run; allowed are read_file, complete_task
                INVALID_PARAMS
                  /tool: there is no tool `graep`; allowed are read_file, complete_task
                INVALID_PARAMS
                  /arguments/path: 7 is not of type "string"
                  /arguments/limit: "all" is not of type "integer"
                  /arguments/colour: unknown argument
                INVALID_PARAMS
                  /arguments: `/etc/passwd` is not a path inside of the workspace: the workspace is `<home>/work`
                NOT_FOUND: there is no agent raeder
                WORKSPACE_NOT_TRUSTED: local comes from <home>/work/.subagentd/agents/local.md, a file of the workspace: nobody has acknowledged it yet
                NOT_FOUND: there is no session no-such-session
                {"decision":"allow","rule":"builtin:risk=safe","reason":"`read_file`: safe calls may run","tool":"read_file","kind":"read","risk":"safe","description":".subagentd/agents/local.md","accesses":[{"access":"read","path":"<home>/work/.subagentd/agents/local.md"}]}
                {"decision":"allow","rule":"builtin:risk=safe","reason":"`glob`: safe calls may run","tool":"glob","kind":"search","risk":"safe","description":"*","accesses":[{"access":"read","path":"<home>/work"}]}
            "#]],
        },
        Row {
            method: "policy/remove",
            good: &[|_| json!({ "ruleId": "remembered-1" })],
            bad: &[
                |_| json!({ "ruleId": 1 }),
                |_| json!({ "ruleId": "user:house.toml:1" }),
                |_| json!({ "ruleId": "nothing" }),
            ],
            brief: whole,
            again: |_, again| assert_eq!(again["kind"], "NOT_FOUND"),
            restarted: |_, again| assert_eq!(again["kind"], "NOT_FOUND"),
            golden: expect![[r#"
                INVALID_PARAMS
                  /ruleId: value is not of type "string"
                NOT_FOUND: the rule user:house.toml:1 stands in a file; only remembered rules are removed
                NOT_FOUND: there is no remembered rule nothing
                {"ruleId":"remembered-1","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "hooks/list",
            good: &[|_| json!({}), |facts| json!({ "workspace": facts.work })],
            bad: &[|_| json!({ "workspace": 7 }), |_| json!({ "workspace": "relative" })],
            brief: |result| {
                let hooks = result["hooks"].as_array().unwrap().iter();
                hooks
                    .map(|hook| json!([hook["id"], hook["state"], hook["onFailure"], hook["line"]]))
                    .collect()
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: value is not of type "string"; or value is not of type "object"
                INVALID_PARAMS
                  /workspace: must be absolute
                [["user/PreToolUse/149a35d0","on","block",1]]
                [["user/PreToolUse/149a35d0","on","block",1]]
            "#]],
        },
        Row {
            method: "hooks/setEnabled",
            good: &[
                |_| json!({ "id": HOUSE_HOOK, "enabled": false }),
                |facts| json!({ "id": HOUSE_HOOK, "enabled": true, "workspace": facts.work }),
            ],
            bad: &[
                |_| json!({ "id": 1, "enabled": "yes", "workspace": 7 }),
                |_| json!({}),
                |_| json!({ "id": "user/Stop/00000000", "enabled": false }),
                |_| json!({ "id": "user/Stop/00000000", "enabled": true }),
            ],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /id: value is not of type "string"
                  /enabled: value is not of type "boolean"
                  /workspace: value is not of type "string"; or value is not of type "object"
                INVALID_PARAMS
                  /id: is required
                  /enabled: is required
                NOT_FOUND: there is no hook user/Stop/00000000 here
                NOT_FOUND: there is no hook user/Stop/00000000 here
                {"id":"user/PreToolUse/149a35d0","enabled":false}
                {"id":"user/PreToolUse/149a35d0","enabled":true}
            "#]],
        },
        Row {
            method: "hooks/test",
            good: &[
                |facts| json!({ "id": HOUSE_HOOK, "workspace": facts.work }),
                |facts| json!({ "id": HOUSE_HOOK, "workspace": facts.work, "tool": "Bash", "input": { "command": "rm x" } }),
            ],
            bad: &[
                |_| json!({ "id": 1, "workspace": 2, "tool": 3, "input": 4 }),
                |_| json!({}),
                |facts| json!({ "id": "user/PreToolUse/00000000", "workspace": facts.work }),
                |_| json!({ "id": HOUSE_HOOK, "workspace": "relative" }),
            ],
            brief: |result| {
                json!([
                    result["wouldFire"],
                    result["outcome"],
                    result["decision"],
                    result["reason"],
                    result["summary"]
                ])
            },
            again: |first, second| {
                for field in ["wouldFire", "outcome", "decision", "reason", "summary", "stdout"] {
                    assert_eq!(first[field], second[field]);
                }
            },
            restarted: |first, second| assert_eq!(first["summary"], second["summary"]),
            golden: expect![[r#"
                INVALID_PARAMS
                  /id: value is not of type "string"
                  /workspace: value is not of type "string"; or value is not of type "object"
                  /tool: value is not of types "null", "string"
                  /input: value is not of types "null", "object"
                INVALID_PARAMS
                  /id: is required
                  /workspace: is required
                NOT_FOUND: there is no hook user/PreToolUse/00000000 here
                INVALID_PARAMS
                  /workspace: must be absolute
                [true,"answered",null,null,"It says nothing, and changes nothing."]
                [true,"answered","deny","no rm here","It blocks the call."]
            "#]],
        },
        Row {
            method: "workspace/open",
            good: &[|facts| json!({ "workspace": facts.work })],
            bad: &[
                |_| json!({}),
                |_| json!({ "workspace": "relative" }),
                |facts| json!({ "workspace": format!("{}/gone", facts.work) }),
                |facts| json!({ "workspace": { "roots": [facts.work, "/dev/null"] } }),
            ],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: is required
                INVALID_PARAMS
                  /workspace: must be absolute
                INVALID_PARAMS
                  /workspace: <home>/work/gone is not a folder, or its name is not UTF-8
                INVALID_PARAMS
                  /workspace: /dev/null is not a folder, or its name is not UTF-8
                {"workspace":{"roots":["<home>/work"],"trusted":false,"files":[{"path":".subagentd/agents/local.md","kind":"agent","digest":"<digest>","acknowledged":false,"effects":["the agent `local` may be started","it may use `read_file`"],"runsUnasked":[]}],"problems":[],"memoryFiles":[],"memoryImports":[],"gone":[]}}
            "#]],
        },
        Row {
            method: "workspace/list",
            good: &[|_| json!({})],
            bad: &[|_| json!([1])],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                {"workspaces":[]}
            "#]],
        },
        Row {
            method: "workspace/trust",
            good: &[
                |facts| json!({ "workspace": facts.work, "trusted": false }),
                |facts| {
                    let local = json!({ "path": ".subagentd/agents/local.md", "digest": facts.local_digest });
                    json!({ "workspace": facts.work, "trusted": true, "files": [local] })
                },
            ],
            bad: &[
                |_| json!({ "workspace": 1, "trusted": "yes", "files": [{ "path": 1 }] }),
                |facts| json!({ "workspace": facts.work, "trusted": true }),
                |facts| {
                    let local = json!({ "path": ".subagentd/agents/local.md", "digest": facts.local_digest });
                    json!({ "workspace": facts.work, "trusted": false, "files": [local] })
                },
                |facts| {
                    let changed = json!({ "path": ".subagentd/agents/local.md", "digest": "sha256:00" });
                    let gone = json!({ "path": "../a", "digest": facts.local_digest });
                    json!({ "workspace": facts.work, "trusted": true, "files": [changed, gone] })
                },
                |_| json!({ "workspace": "/no/such/folder", "trusted": false }),
            ],
            brief: whole,
            again: |first, again| same_but(&["/seq", "/workspace/files"], first, again),
            restarted: |first, again| same_but(&["/seq", "/workspace/files"], first, again),
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: value is not of type "string"; or value is not of type "object"
                  /trusted: value is not of type "boolean"
                  /files/0/digest: is required
                  /files/0/path: value is not of type "string"
                INVALID_PARAMS
                  /files: name the files that were read, each with its digest, as `workspace/open` tells them
                INVALID_PARAMS
                  /files: are not named to take trust back: all that was acknowledged is forgotten
                CONFLICT: changed since it was read, or not there: .subagentd/agents/local.md, ../a; nothing was recorded
                INVALID_PARAMS
                  /workspace: /no/such/folder is not a folder, or its name is not UTF-8
                {"workspace":{"roots":["<home>/work"],"trusted":false,"files":[{"path":".subagentd/agents/local.md","kind":"agent","digest":"<digest>","acknowledged":false,"effects":["the agent `local` may be started","it may use `read_file`"],"runsUnasked":[]}],"problems":[],"memoryFiles":[],"memoryImports":[],"gone":[]},"seq":"<seq>"}
                {"workspace":{"roots":["<home>/work"],"trusted":true,"files":[{"path":".subagentd/agents/local.md","kind":"agent","digest":"<digest>","acknowledged":true,"effects":["the agent `local` may be started","it may use `read_file`"],"runsUnasked":[]}],"problems":[],"memoryFiles":[],"memoryImports":[],"gone":[]},"seq":"<seq>"}
            "#]],
        },
        Row {
            method: "programs/list",
            good: &[|_| json!({})],
            bad: &[|_| json!([1])],
            brief: |result| {
                let programs = result["programs"].as_array().unwrap().iter();
                programs.map(|it| json!([it["source"], it["name"], it["files"], it["changed"]])).collect()
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                [["mcpServer","docs",[],false]]
            "#]],
        },
        Row {
            method: "programs/acknowledge",
            good: &[|facts| json!({ "id": facts.program, "files": [] })],
            bad: &[
                |_| json!({ "id": 1, "files": [{ "path": 1 }] }),
                |facts| json!({ "id": facts.program }),
                |_| json!({ "id": "sha256:00", "files": [] }),
                |facts| {
                    let more = json!({ "path": "/no/such/file", "digest": facts.local_digest });
                    json!({ "id": facts.program, "files": [more] })
                },
            ],
            brief: |result| without(result, &["/program/id"]),
            again: is_later,
            restarted: is_later,
            golden: expect![[r#"
                INVALID_PARAMS
                  /id: value is not of type "string"
                  /files/0/digest: is required
                  /files/0/path: value is not of type "string"
                INVALID_PARAMS
                  /files: is required
                NOT_FOUND: the settings name no program with the id sha256:00
                CONFLICT: docs is not what it was when you looked at it; nothing was recorded
                {"program":{"changed":false,"source":"mcpServer","name":"docs","workspace":["<home>/work"],"files":[]},"seq":"<seq>"}
            "#]],
        },
        Row {
            method: "workedFolders/list",
            good: &[|_| json!({})],
            bad: &[|_| json!([1])],
            brief: |result| {
                let folders = result["folders"].as_array().unwrap().iter();
                folders
                    .map(|it| json!([it["folder"], it["lastSessionId"].is_string(), it["sessions"]]))
                    .collect()
            },
            again: same,
            // A run that went on may have ended meanwhile.
            restarted: |first, again| {
                assert_eq!(first["folders"][0]["folder"], again["folders"][0]["folder"])
            },
            golden: expect![[r#"
                INVALID_PARAMS
                  : parameters are given by name, as an object
                [["<home>/work",true,2]]
            "#]],
        },
        Row {
            method: "workedFolders/forget",
            good: &[|_| json!({ "folder": "/no/such/folder" })],
            bad: &[
                |_| json!({}),
                |_| json!({ "folder": "code/shop" }),
                |facts| json!({ "folder": facts.work }),
            ],
            brief: Value::clone,
            again: |first, again| assert_eq!(first["forgotten"], again["forgotten"]),
            restarted: |first, again| assert_eq!(first["forgotten"], again["forgotten"]),
            golden: expect![[r#"
                INVALID_PARAMS
                  /folder: is required
                INVALID_PARAMS
                  /folder: must be an absolute path: the daemon does not know your working directory
                CONFLICT: agents work in <home>/work: session <id 1> is there, so it cannot be forgotten
                {"folder":"/no/such/folder","forgotten":false,"seq":"<seq>"}
            "#]],
        },
        Row {
            method: "run/start",
            good: &[
                |facts| json!({ "workspace": facts.work, "agent": "reader", "prompt": "p", "model": "script" }),
            ],
            bad: &[
                |_| {
                    json!({
                        "workspace": [], "agent": 1, "prompt": 2, "inputs": 3, "model": 4,
                        "limits": { "maxTurns": 0, "maxTimeMs": -1, "maxTokens": "many", "graceMs": 0.5 },
                    })
                },
                |_| json!({}),
                |facts| json!({ "workspace": facts.work, "agent": "raeder", "prompt": "p", "model": "script" }),
                |facts| json!({ "workspace": facts.work, "agent": "reader", "prompt": "p" }),
                |facts| json!({ "workspace": facts.work, "agent": "local", "prompt": "p", "model": "script" }),
                |facts| {
                    json!({
                        "workspace": facts.work, "agent": "reader", "prompt": "p", "model": "script",
                        "record": "run.jsonl",
                    })
                },
                // What holds an agent back is never dropped, strict or not.
                |facts| {
                    json!({
                        "workspace": facts.work, "agent": "reader", "prompt": "p", "model": "script",
                        "limits": { "maxCostUsd": 1 }, "approval": { "readonly": true }, "max_turns": 3,
                    })
                },
            ],
            brief: whole,
            again: is_another_run,
            restarted: is_another_run,
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: value is not of type "string"; or value is not of type "object"
                  /agent: value is not of type "string"
                  /prompt: value is not of types "null", "string"
                  /inputs: value is not of type "object"
                  /model: value is not of type "string"
                  /limits/maxTurns: value is less than the minimum of 1
                  /limits/maxTimeMs: value is less than the minimum of 1
                  /limits/maxTokens: value is not of types "null", "integer"
                  /limits/graceMs: value is not of types "null", "integer"
                INVALID_PARAMS
                  /workspace: needed without sessionId
                NOT_FOUND: there is no agent raeder
                NO_MODEL: no model is configured: neither the request nor the agent nor the settings name one
                WORKSPACE_NOT_TRUSTED: local comes from <home>/work/.subagentd/agents/local.md, a file of the workspace: nobody has acknowledged it yet
                INVALID_PARAMS
                  /record: is not an absolute path; the daemon does not know your working directory
                INVALID_PARAMS
                  /limits/maxCostUsd: unknown field; did you mean `maxCost`? `limits` has `maxTurns`, `maxTimeMs`, `maxTokens`, `maxCost`, `onBudget`, `graceMs`, `maxDepth`
                  /approval/readonly: unknown field; `approval` has `headless`, `mode`, `autoApprove`, `audience`, `onDetached`, `deadlineMs`, `onDeadline`
                  /max_turns: unknown field; did you mean `maxTurns` in `limits`?
                {"disposition":"started","runId":"<id 1>","sessionId":"<id 2>","agent":"reader","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "run/get",
            good: &[|facts| json!({ "runId": facts.run })],
            bad: &[|_| json!({ "runId": 7 }), |_| json!({}), |_| json!({ "runId": "no-such-run" })],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /runId: value is not of type "string"
                INVALID_PARAMS
                  /runId: is required
                NOT_FOUND: there is no run no-such-run
                {"runId":"<id 1>","sessionId":"<id 2>","contextId":"<id 3>","depth":0,"agent":"reader","digest":"<digest>","model":"script","prompt":"do it","state":"ended","reason":"GOAL","result":"found","usage":{"promptTokens":10,"cachedTokens":0,"outputTokens":5,"thoughtTokens":0},"unpricedTokens":15,"turns":1,"toolCalls":1,"filesChanged":[],"startedAt":"<startedAt>","endedAt":"<endedAt>","activeMs":"<activeMs>"}
            "#]],
        },
        Row {
            method: "run/list",
            good: &[
                |facts| json!({ "sessionId": facts.session }),
                |_| json!({ "active": true, "roots": true }),
                |_| json!({ "limit": 1 }),
                |facts| json!({ "parentRunId": facts.run, "agent": "reader", "state": "ended" }),
            ],
            bad: &[
                |_| json!({ "sessionId": 1, "state": "tired", "active": "yes", "limit": 0, "cursor": 7 }),
                |_| json!({ "cursor": "yesterday" }),
                |_| json!({ "sessionId": "no-such-session" }),
                |_| json!({ "parentRunId": "no-such-run" }),
            ],
            brief: |result| {
                let runs = result["runs"].as_array().unwrap().iter();
                let brief = runs.map(|run| json!([run["agent"], run["state"], run["reason"]]));
                json!([brief.collect::<Value>(), result["nextCursor"].is_string()])
            },
            again: |first, again| assert_eq!(ids_of(first, "runs", "runId"), ids_of(again, "runs", "runId")),
            restarted: |first, again| {
                assert_eq!(ids_of(first, "runs", "runId"), ids_of(again, "runs", "runId"))
            },
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                  /state: value is not one of "queued", "running", "waiting", "parked", "ended"
                  /active: value is not of type "boolean"
                  /limit: value is less than the minimum of 1
                  /cursor: value is not of types "null", "string"
                INVALID_PARAMS: this cursor was not made by this list
                NOT_FOUND: there is no session no-such-session
                NOT_FOUND: there is no run no-such-run
                [[["reader","ended","GOAL"]],false]
                [[["reader","running",null]],false]
                [[["reader","running",null]],true]
                [[],false]
            "#]],
        },
        Row {
            method: "run/wait",
            good: &[
                |facts| json!({ "runId": facts.run, "timeoutMs": 600_000 }),
                |facts| json!({ "runId": facts.live, "timeoutMs": 0 }),
            ],
            bad: &[
                |_| json!({ "runId": true, "timeoutMs": -1 }),
                |facts| json!({ "runId": facts.live, "timeoutMs": 600_001 }),
                |_| json!({ "runId": "no-such-run", "timeoutMs": 1 }),
            ],
            brief: |result| json!([result["done"], result["run"]["state"], result["run"]["result"]]),
            again: |first, again| same_but(&["/run/activeMs"], first, again),
            restarted: |first, again| same_but(&["/run/activeMs"], first, again),
            golden: expect![[r#"
                INVALID_PARAMS
                  /runId: value is not of type "string"
                  /timeoutMs: value is less than the minimum of 0
                INVALID_PARAMS
                  /timeoutMs: value is greater than the maximum of 600000
                NOT_FOUND: there is no run no-such-run
                [true,"ended","found"]
                [false,"running",null]
            "#]],
        },
        Row {
            method: "run/cancel",
            good: &[
                |facts| json!({ "runId": facts.live, "reason": "enough" }),
                |facts| json!({ "runId": facts.run }),
            ],
            bad: &[|_| json!({ "runId": null, "reason": 7 }), |_| json!({ "runId": "no-such-run" })],
            brief: |result| {
                json!([result["run"]["state"], result["run"]["reason"], result.get("seq").is_some()])
            },
            again: caused_nothing,
            restarted: caused_nothing,
            golden: expect![[r#"
                INVALID_PARAMS
                  /runId: value is not of type "string"
                  /reason: value is not of types "null", "string"
                NOT_FOUND: there is no run no-such-run
                ["ended","ABORTED",true]
                ["ended","GOAL",false]
            "#]],
        },
        Row {
            method: "run/steer",
            good: &[|facts| json!({ "runId": facts.live, "text": "go on" })],
            bad: &[
                |_| json!({ "runId": 1, "text": "", "idempotencyKey": "short" }),
                |facts| json!({ "runId": facts.live, "text": " " }),
                |facts| json!({ "runId": facts.run, "text": "too late" }),
                |_| json!({ "runId": "no-such-run", "text": "x" }),
            ],
            brief: whole,
            again: is_later,
            restarted: is_later,
            golden: expect![[r#"
                INVALID_PARAMS
                  /runId: value is not of type "string"
                  /text: value is shorter than 1 character
                  /idempotencyKey: value is shorter than 8 characters
                INVALID_PARAMS: /text: there is nothing in it
                RUN_NOT_ACTIVE: run <id 1> has ended: GOAL
                NOT_FOUND: there is no run no-such-run
                {"runId":"<id 2>","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "queue/list",
            good: &[|_| json!({}), |facts| json!({ "sessionId": facts.session })],
            bad: &[|_| json!({ "sessionId": [] }), |_| json!({ "sessionId": "no-such-session" })],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                NOT_FOUND: there is no session no-such-session
                {"queue":[{"runId":"<id 1>","sessionId":"<id 2>","agent":"reader","for":"context","query":"do it","prompt":"do it","queuedAt":"<queuedAt>"}]}
                {"queue":[]}
            "#]],
        },
        Row {
            method: "queue/remove",
            good: &[|facts| json!({ "runId": facts.queued })],
            bad: &[
                |_| json!({ "runId": 1 }),
                |facts| json!({ "runId": facts.live }),
                |facts| json!({ "runId": facts.run }),
                |_| json!({ "runId": "no-such-run" }),
            ],
            brief: whole,
            again: |_, again| assert_eq!(again["kind"], "CONFLICT"),
            // A new process finds nobody there, and parks it again as soon as it has looked.
            restarted: |first, again| {
                assert!(again["kind"] == "CONFLICT" || again["runId"] == first["runId"], "{again}");
            },
            golden: expect![[r#"
                INVALID_PARAMS
                  /runId: value is not of type "string"
                CONFLICT: run <id 1> waits in no queue: it is running
                CONFLICT: run <id 2> waits in no queue: it has ended GOAL
                NOT_FOUND: there is no run no-such-run
                {"runId":"<id 3>","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "queue/promote",
            good: &[|facts| json!({ "runId": facts.queued })],
            bad: &[
                |_| json!({ "runId": 1 }),
                |facts| json!({ "runId": facts.live }),
                |_| json!({ "runId": "no-such-run" }),
            ],
            brief: whole,
            again: is_later,
            restarted: is_later,
            golden: expect![[r#"
                INVALID_PARAMS
                  /runId: value is not of type "string"
                CONFLICT: run <id 1> waits in no queue: it is running
                NOT_FOUND: there is no run no-such-run
                {"runId":"<id 2>","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "run/unpark",
            good: &[|facts| json!({ "runId": facts.asking })],
            bad: &[
                |_| json!({ "runId": 1 }),
                |_| json!({ "runId": "no-such-run" }),
                |facts| json!({ "runId": facts.run }),
            ],
            brief: whole,
            // It is not parked any more.
            again: |_, again| assert_eq!(again["kind"], "CONFLICT"),
            // A new process finds nobody there, and parks it again as soon as it has looked.
            restarted: |first, again| {
                assert!(again["kind"] == "CONFLICT" || again["runId"] == first["runId"], "{again}");
            },
            golden: expect![[r#"
                INVALID_PARAMS
                  /runId: value is not of type "string"
                NOT_FOUND: there is no run no-such-run
                CONFLICT: run <id 1> is not parked: it is ended
                {"runId":"<id 2>","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "confirmation/list",
            good: &[
                |_| json!({}),
                |facts| json!({ "sessionId": facts.session, "runId": facts.run, "resolved": true }),
            ],
            bad: &[
                |_| json!({ "sessionId": [], "runId": 1, "resolved": "all", "limit": 0 }),
                |_| json!({ "limit": 1_001 }),
                |_| json!({ "sessionId": "no-such-session" }),
                |_| json!({ "runId": "no-such-run" }),
            ],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                  /runId: value is not of type "string"
                  /resolved: value is not of type "boolean"
                  /limit: value is less than the minimum of 1
                INVALID_PARAMS
                  /limit: value is greater than the maximum of 1000
                NOT_FOUND: there is no session no-such-session
                NOT_FOUND: there is no run no-such-run
                {"confirmations":[{"confirmationId":"<id 1>","runId":"<id 2>","sessionId":"<id 3>","path":["writer"],"toolCallId":"<id 4>","tool":"write_file","kind":"edit","risk":"low","title":"Write file: notes.txt, new, +1 -0 lines","rule":"builtin:risk=low","reason":"`write_file`: calls of low risk need a person's consent","details":{"type":"edit","path":"<home>/work/notes.txt","diff":"--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1 @@\n+to be kept\n","newContent":"to be kept\n"},"digest":"<digest>","options":[{"outcome":"allowOnce","label":"Allow this once"},{"outcome":"allowSession","grant":"file","label":"Allow in this session","allows":"allow edits of <home>/work/notes.txt, until this session ends","remembers":{"id":"remembered:session:<id 1>","tier":"user","tool":["edit_file","write_file"],"kind":"edit","risk":"low","session":"<id 3>","accesses":[{"access":"write","path":"<home>/work/notes.txt"}],"decision":"allow","priority":0,"fromConfirmation":"<id 1>"}},{"outcome":"allowSession","grant":"edits","label":"Allow all edits in this session","allows":"allow edits of risk low in this workspace without asking, until this session ends or its mode is changed"},{"outcome":"allowProject","grant":"file","label":"Always allow in this workspace","allows":"allow edits of <home>/work/notes.txt, from now on in <home>/work","remembers":{"id":"remembered:project:<id 1>","tier":"user","tool":["edit_file","write_file"],"kind":"edit","risk":"low","workspace":"<home>/work","accesses":[{"access":"write","path":"<home>/work/notes.txt"}],"decision":"allow","priority":0,"fromConfirmation":"<id 1>"}},{"outcome":"allowUser","grant":"file","label":"Always allow","allows":"allow edits of <home>/work/notes.txt, from now on, everywhere","remembers":{"id":"remembered:user:<id 1>","tier":"user","tool":["edit_file","write_file"],"kind":"edit","risk":"low","accesses":[{"access":"write","path":"<home>/work/notes.txt"}],"decision":"allow","priority":0,"fromConfirmation":"<id 1>"}},{"outcome":"modify","label":"Change it, then allow"},{"outcome":"deny","label":"Deny"},{"outcome":"cancelRun","label":"Cancel the run"}],"audience":"all","onDetached":"wait","createdAt":"<createdAt>","onDeadline":"deny","roots":["<home>/work"],"state":"queued"}]}
                {"confirmations":[]}
            "#]],
        },
        Row {
            method: "confirmation/get",
            good: &[|facts| json!({ "confirmationId": facts.question })],
            bad: &[
                |_| json!({}),
                |_| json!({ "confirmationId": "no-such-question" }),
                |_| json!({ "token": "x" }),
            ],
            brief: |result| {
                let it = &result["confirmation"];
                json!([
                    it["state"],
                    it["tool"],
                    it["risk"],
                    it["rule"],
                    it["details"]["type"],
                    it["options"].as_array().unwrap().len()
                ])
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /confirmationId: needed without a token
                NOT_FOUND: there is no question no-such-question
                FORBIDDEN: the token is not one of this daemon's
                ["queued","write_file","low","builtin:risk=low","edit",8]
            "#]],
        },
        Row {
            method: "confirmation/claim",
            good: &[|facts| json!({ "confirmationId": facts.question, "durationMs": 600_000 })],
            bad: &[|_| json!({ "durationMs": 0 }), |_| json!({ "confirmationId": "no-such-question" })],
            brief: |result| json!(result["claim"].is_object()),
            again: |first, again| assert_eq!(first["confirmationId"], again["confirmationId"]),
            restarted: |first, again| assert_eq!(first["confirmationId"], again["confirmationId"]),
            golden: expect![[r#"
                INVALID_PARAMS
                  /confirmationId: is required
                  /durationMs: value is less than the minimum of 1
                NOT_FOUND: there is no question no-such-question
                true
            "#]],
        },
        Row {
            method: "confirmation/release",
            good: &[|facts| json!({ "confirmationId": facts.question })],
            bad: &[|_| json!({}), |_| json!({ "confirmationId": "no-such-question" })],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /confirmationId: is required
                NOT_FOUND: there is no question no-such-question
                {"confirmationId":"<id 1>","released":false}
            "#]],
        },
        Row {
            method: "confirmation/respond",
            good: &[
                |facts| json!({ "confirmationId": facts.question, "digest": facts.digest, "outcome": "allowOnce" }),
            ],
            bad: &[
                |_| json!({ "outcome": "sure" }),
                |facts| json!({ "confirmationId": facts.question, "digest": "sha256:00", "outcome": "allowOnce" }),
                |facts| json!({ "confirmationId": facts.question, "digest": facts.digest, "outcome": "answer" }),
                |facts| json!({ "confirmationId": facts.question, "digest": facts.digest, "outcome": "modify" }),
                |_| json!({ "confirmationId": "no-such-question", "digest": "d", "outcome": "deny" }),
            ],
            brief: |result| {
                let it = &result["resolution"];
                json!([it["outcome"], it["by"], result["seq"].is_i64()])
            },
            // Whoever says the same again gets the first answer back.
            again: |first, again| {
                assert_eq!(again["replayed"], true);
                same_but(&["/replayed"], first, again);
            },
            restarted: |first, again| {
                assert_eq!(again["replayed"], true);
                same_but(&["/replayed"], first, again);
            },
            golden: expect![[r#"
                INVALID_PARAMS
                  /outcome: "allowOnce" was expected; or "allowSession" was expected; or "allowProject" was expected; or "allowUser" was expected; or "modify" was expected; or "answer" was expected; or "deny" was expected; or "cancelRun" was expected
                CONFIRMATION_STALE: the question has changed since it was shown
                INVALID_PARAMS
                  /answers: needed with `answer`: one a question, in order
                INVALID_PARAMS
                  /arguments: with `modify`, `arguments` or `content` is needed; to a question about a budget, `limits`
                NOT_FOUND: there is no question no-such-question
                ["allowOnce","client",true]
            "#]],
        },
        Row {
            method: "session/create",
            good: &[
                |facts| json!({ "workspace": facts.work }),
                |facts| json!({ "workspace": facts.work, "agent": "reader", "title": "t", "ephemeral": true, "idempotencyKey": "the same one" }),
            ],
            bad: &[
                |_| json!({ "workspace": 1, "agent": 2, "title": 3, "ephemeral": 4, "idempotencyKey": "short" }),
                |_| json!({ "workspace": "/no/such/folder" }),
                |facts| json!({ "workspace": facts.work, "agent": "raeder" }),
            ],
            brief: whole,
            again: is_another_session_without_a_key,
            restarted: is_another_session_without_a_key,
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: value is not of type "string"; or value is not of type "object"
                  /agent: value is not of type "string"
                  /title: value is not of types "null", "string"
                  /ephemeral: value is not of type "boolean"
                  /idempotencyKey: value is shorter than 8 characters
                INVALID_PARAMS: /no/such/folder: there is no such folder
                NOT_FOUND: there is no agent raeder
                {"sessionId":"<id 1>","seq":"<seq>"}
                {"sessionId":"<id 2>","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "session/list",
            good: &[
                |_| json!({}),
                |facts| json!({ "workspace": facts.work, "state": "open", "query": "WORK", "limit": 1 }),
                |_| json!({ "query": "nowhere" }),
            ],
            bad: &[
                |_| json!({ "workspace": "relative" }),
                |_| json!({ "state": "ajar", "limit": 1_001, "cursor": 1 }),
                |_| json!({ "cursor": "x" }),
            ],
            brief: |result| {
                json!([result["sessions"].as_array().unwrap().len(), result["nextCursor"].is_string()])
            },
            again: |first, again| {
                assert_eq!(ids_of(first, "sessions", "sessionId"), ids_of(again, "sessions", "sessionId"))
            },
            restarted: |first, again| {
                assert_eq!(ids_of(first, "sessions", "sessionId"), ids_of(again, "sessions", "sessionId"))
            },
            golden: expect![[r#"
                INVALID_PARAMS
                  /workspace: must be absolute
                INVALID_PARAMS
                  /state: value is not one of "open", "closed"
                  /limit: value is greater than the maximum of 1000
                  /cursor: value is not of types "null", "string"
                INVALID_PARAMS: this cursor was not made by this list
                [2,false]
                [1,true]
                [0,false]
            "#]],
        },
        Row {
            method: "session/get",
            good: &[|facts| json!({ "sessionId": facts.session })],
            bad: &[|_| json!({ "sessionId": 7 }), |_| json!({ "sessionId": "no-such-session" })],
            brief: whole,
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                NOT_FOUND: there is no session no-such-session
                {"session":{"sessionId":"<id 1>","roots":["<home>/work"],"state":"open","mode":"default","createdAt":"<createdAt>","lastActiveAt":"<lastActiveAt>"},"contexts":[{"contextId":"<id 2>","sessionId":"<id 1>","agent":"reader","startedAt":"<startedAt>","lastActiveAt":"<lastActiveAt>","epoch":0,"tokens":10,"messages":3,"metadata":{"runs":1,"lastRunId":"<id 3>","model":"script","digest":"<digest>"}}]}
            "#]],
        },
        Row {
            method: "session/history",
            good: &[
                |facts| json!({ "sessionId": facts.session }),
                |facts| json!({ "sessionId": facts.session, "agent": "reader", "limit": 1 }),
                |facts| json!({ "sessionId": facts.session, "runId": facts.run, "limit": 1 }),
            ],
            bad: &[
                |_| json!({ "sessionId": 7, "agent": 8, "limit": 0 }),
                |_| json!({ "sessionId": "no-such-session" }),
                |facts| json!({ "sessionId": facts.session, "agent": "nobody" }),
                |facts| json!({ "sessionId": facts.session, "runId": "no-such-run" }),
                |facts| json!({ "sessionId": facts.session, "agent": "reader", "runId": facts.run }),
                |facts| json!({ "sessionId": facts.session, "cursor": "x" }),
            ],
            brief: |result| {
                let messages = result["messages"].as_array().unwrap().iter();
                let brief = messages.map(|it| json!([it["role"], it["parts"][0]["type"]]));
                json!([result["agent"], brief.collect::<Value>(), result["nextCursor"].is_string()])
            },
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                  /agent: value is not of type "string"
                  /limit: value is less than the minimum of 1
                NOT_FOUND: there is no session no-such-session
                NOT_FOUND: nobody has no history in session <id 1>
                NOT_FOUND: there is no run no-such-run
                INVALID_PARAMS
                  /agent: the run says whose context is meant
                INVALID_PARAMS: this cursor was not made by this list
                ["reader",[["user","text"],["model","toolCall"],["tool","toolResult"]],false]
                ["reader",[["user","text"]],true]
                ["reader",[["user","text"]],true]
            "#]],
        },
        Row {
            method: "session/compact",
            good: &[
                |facts| json!({ "sessionId": facts.session }),
                |facts| json!({ "sessionId": facts.session, "agent": "reader" }),
            ],
            bad: &[
                |_| json!({ "sessionId": 1, "agent": 2 }),
                |_| json!({ "sessionId": "no-such-session" }),
                |facts| json!({ "sessionId": facts.session, "agent": "nobody" }),
            ],
            brief: |result| {
                let contexts = result["contexts"].as_array().unwrap().iter();
                contexts.map(|it| json!([it["agent"], it["status"], it["epoch"]])).collect()
            },
            again: |first, again| assert_eq!(again["contexts"][0]["epoch"], first["contexts"][0]["epoch"]),
            restarted: |first, again| {
                assert_eq!(again["contexts"][0]["epoch"], first["contexts"][0]["epoch"])
            },
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                  /agent: value is not of type "string"
                NOT_FOUND: there is no session no-such-session
                NOT_FOUND: there is no history of nobody in session <id 1>
                [["reader","NOOP",0]]
                [["reader","NOOP",0]]
            "#]],
        },
        Row {
            method: "session/clear",
            good: &[
                |facts| json!({ "sessionId": facts.session }),
                |facts| json!({ "sessionId": facts.session, "agent": "reader" }),
            ],
            bad: &[
                |_| json!({ "sessionId": 1, "agent": 2 }),
                |_| json!({ "sessionId": "no-such-session" }),
                |facts| json!({ "sessionId": facts.session, "agent": "nobody" }),
            ],
            brief: |result| {
                let contexts = result["contexts"].as_array().unwrap().iter();
                contexts.map(|it| json!([it["agent"], it["epoch"]])).collect()
            },
            again: |first, again| {
                let epoch = |result: &Value| result["contexts"][0]["epoch"].as_u64().unwrap();
                assert!(epoch(first) < epoch(again));
            },
            restarted: |first, again| {
                let epoch = |result: &Value| result["contexts"][0]["epoch"].as_u64().unwrap();
                assert!(epoch(first) < epoch(again));
            },
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                  /agent: value is not of type "string"
                NOT_FOUND: there is no session no-such-session
                NOT_FOUND: there is no history of nobody in session <id 1>
                [["reader",1]]
                [["reader",2]]
            "#]],
        },
        Row {
            method: "session/update",
            good: &[
                |facts| json!({ "sessionId": facts.session, "title": "new", "agent": "reader" }),
                |facts| json!({ "sessionId": facts.session }),
            ],
            bad: &[
                |_| json!({ "sessionId": 7, "title": 8 }),
                |_| json!({ "sessionId": "no-such-session" }),
                |facts| json!({ "sessionId": facts.session, "agent": "raeder" }),
            ],
            brief: whole,
            again: changes_nothing_more,
            restarted: changes_nothing_more,
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                  /title: value is not of types "null", "string"
                NOT_FOUND: there is no session no-such-session
                NOT_FOUND: there is no agent raeder
                {"sessionId":"<id 1>","seq":"<seq>"}
                {"sessionId":"<id 1>"}
            "#]],
        },
        Row {
            method: "session/close",
            good: &[
                |facts| json!({ "sessionId": facts.session }),
                |facts| json!({ "sessionId": facts.live_session }),
            ],
            bad: &[|_| json!({ "sessionId": 7 }), |_| json!({ "sessionId": "no-such-session" })],
            brief: whole,
            again: changes_nothing_more,
            restarted: changes_nothing_more,
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                NOT_FOUND: there is no session no-such-session
                {"sessionId":"<id 1>","seq":"<seq>"}
                {"sessionId":"<id 2>","seq":"<seq>"}
            "#]],
        },
        Row {
            method: "session/delete",
            good: &[|facts| json!({ "sessionId": facts.session })],
            bad: &[
                |_| json!({ "sessionId": 7 }),
                |_| json!({ "sessionId": "no-such-session" }),
                |facts| json!({ "sessionId": facts.live_session }),
            ],
            brief: whole,
            again: |_, again| assert_eq!(again["kind"], "GONE"),
            restarted: |_, again| assert_eq!(again["kind"], "GONE"),
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                NOT_FOUND: there is no session no-such-session
                BUSY: session <id 1> has live runs: 1
                {"sessionId":"<id 2>","seq":"<seq>","events":11}
            "#]],
        },
        Row {
            method: "session/attach",
            good: &[
                |facts| json!({ "sessionId": facts.session, "deltas": true }),
                |facts| json!({ "sessionId": facts.session, "from": "start" }),
                |facts| json!({ "sessionId": facts.session, "from": 2 }),
                |_| json!({ "sessionId": "*", "role": "observe" }),
                |facts| json!({ "sessionId": facts.session, "from": 1_000_000, "onGone": "snapshot" }),
                |facts| json!({ "sessionId": facts.session, "from": "consumer", "consumer": "reader" }),
            ],
            bad: &[
                |_| json!({ "sessionId": 7, "from": "yesterday", "deltas": "some", "role": "judge" }),
                |facts| json!({ "sessionId": facts.session, "from": "consumer" }),
                |facts| json!({ "sessionId": facts.session, "from": 1, "logId": "another" }),
                |_| json!({ "sessionId": "no-such-session" }),
                |facts| json!({ "sessionId": facts.session, "from": 1_000_000 }),
                |facts| json!({ "sessionId": facts.session, "from": -1 }),
            ],
            brief: |result| without(&result["first"], &["/data/runs", "/data/session", "/data/sessions"]),
            again: is_another_subscription_of_the_same,
            restarted: is_another_subscription_of_the_same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                  /from: value is not of type "integer"; or "now" was expected; or "start" was expected; or "consumer" was expected
                  /deltas: value is not of type "boolean"
                  /role: "control" was expected; or "observe" was expected
                INVALID_PARAMS
                  /consumer: needed with `from: "consumer"`
                CURSOR_GONE: the cursor 1 is of another log; the newest event of this one is 15
                NOT_FOUND: there is no session no-such-session
                CURSOR_GONE: the log has no event 1000000; its newest is 15
                CURSOR_GONE: the log has no event -1; its newest is 15
                {"at":"<at>","type":"signal.snapshot","sessionId":"<id 1>","data":{"seq":"<seq>","openConfirmations":[],"queue":[],"openItems":[],"openCalls":[]}}
                {"seq":"<seq>","prev":"<prev>","at":"<at>","type":"session.created","sessionId":"<id 1>","data":{"roots":["<home>/work"],"modeOfSettings":true}}
                {"seq":"<seq>","prev":"<prev>","at":"<at>","type":"turn.started","sessionId":"<id 1>","runId":"<id 2>","agent":"reader","agentPath":["reader"],"turn":1,"promptId":"<id 2>#1","data":{"turn":1}}
                {"at":"<at>","type":"signal.snapshot","data":{"seq":"<seq>","openConfirmations":[],"queue":[],"openItems":[{"runId":"<id 3>","stream":"<id 3>#1.1","afterSeq":"<afterSeq>","text":"","thought":""}],"openCalls":[]}}
                {"at":"<at>","type":"signal.snapshot","sessionId":"<id 1>","data":{"seq":"<seq>","openConfirmations":[],"queue":[],"openItems":[],"openCalls":[]}}
                {"seq":"<seq>","prev":"<prev>","at":"<at>","type":"session.created","sessionId":"<id 1>","data":{"roots":["<home>/work"],"modeOfSettings":true}}
            "#]],
        },
        Row {
            method: "session/detach",
            good: &[|facts| json!({ "subscription": facts.subscription })],
            bad: &[|_| json!({ "subscription": 7 }), |_| json!({})],
            brief: whole,
            again: |_, again| assert_eq!(again["detached"], false),
            restarted: |_, again| assert_eq!(again["detached"], false),
            golden: expect![[r#"
                INVALID_PARAMS
                  /subscription: value is not of type "string"
                INVALID_PARAMS
                  /subscription: is required
                {"detached":true}
            "#]],
        },
        Row {
            method: "session/undo",
            good: &[|facts| json!({ "sessionId": facts.asking_session, "lastTurn": true })],
            bad: &[
                |_| json!({ "sessionId": 1, "force": "yes" }),
                |facts| json!({ "sessionId": facts.session }),
                |facts| json!({ "sessionId": facts.session, "toCallId": "no-such-call" }),
                |_| json!({ "sessionId": "no-such-session", "lastTurn": true }),
            ],
            brief: |result| json!([result["restored"].as_array().unwrap().len(), result["seq"].is_i64()]),
            // There is nothing more to undo.
            again: |_, again| assert_eq!(again["restored"], json!([])),
            restarted: |_, again| assert_eq!(again["restored"], json!([])),
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                  /force: value is not of type "boolean"
                INVALID_PARAMS
                  /toCallId: one of `toCallId` and `lastTurn` is needed, not both
                NOT_FOUND: the session has no call no-such-call
                NOT_FOUND: there is no session no-such-session
                [1,true]
            "#]],
        },
        Row {
            method: "events/subscribe",
            good: &[
                |facts| json!({ "sessionIds": [facts.session], "types": ["run.*"], "from": "start" }),
                |facts| json!({ "runIds": [facts.run], "from": 2, "deltas": true }),
                |_| json!({ "from": "now" }),
                |facts| json!({ "sessionIds": [facts.session], "from": 1_000_000, "onGone": "snapshot" }),
                |_| json!({ "types": ["session.*"], "from": "consumer", "consumer": "reader" }),
            ],
            bad: &[
                |_| {
                    json!({
                        "sessionIds": "all", "runIds": [1], "exact": 1, "types": ["run/*"], "from": "yesterday",
                        "consumer": "", "onGone": "cry", "deltas": "some",
                    })
                },
                |_| json!({}),
                |_| json!({ "sessionIds": ["no-such-session"], "from": "start" }),
                |_| json!({ "runIds": ["no-such-run"], "from": "start" }),
                |_| json!({ "from": 1_000_000 }),
                |_| json!({ "from": 1, "logId": "another" }),
                |_| json!({ "from": "consumer" }),
            ],
            brief: |result| without(&result["first"], &["/data/runs", "/data/session", "/data/sessions"]),
            again: is_another_subscription_of_the_same,
            restarted: is_another_subscription_of_the_same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionIds: value is not of type "array"
                  /runIds/0: value is not of type "string"
                  /exact: value is not of type "boolean"
                  /types/0: value does not match "^[A-Za-z.]*\*?$"
                  /from: value is not of type "integer"; or "now" was expected; or "start" was expected; or "consumer" was expected
                  /consumer: value is shorter than 1 character
                  /onGone: "error" was expected; or "snapshot" was expected
                  /deltas: value is not of type "boolean"
                INVALID_PARAMS
                  /from: is required
                NOT_FOUND: there is no session no-such-session
                NOT_FOUND: there is no run no-such-run
                CURSOR_GONE: the log has no event 1000000; its newest is 15
                CURSOR_GONE: the cursor 1 is of another log; the newest event of this one is 15
                INVALID_PARAMS
                  /consumer: needed with `from: "consumer"`
                {"seq":"<seq>","prev":"<prev>","at":"<at>","type":"run.started","sessionId":"<id 1>","runId":"<id 2>","agent":"reader","agentPath":["reader"],"data":{"agent":"reader","title":"Reader","digest":"<digest>","model":"script","contextId":"<id 3>","query":"do it","prompt":"do it","inputs":{"prompt":"do it"},"limits":{"maxTurns":30,"maxTimeMs":600000,"graceMs":60000,"maxDepth":4},"completion":"tool","depth":0,"path":"reader#1","contextWindow":1073741824,"safeguards":{"compressAt":"<compressAt>","loopCalls":true,"loopText":true,"loopJudge":true,"nextSpeaker":false},"promptSources":{"systemPrompt":{"source":"agent","bytes":"<bytes>","digest":"<digest>"}}}}
                {"seq":"<seq>","prev":"<prev>","at":"<at>","type":"turn.started","sessionId":"<id 1>","runId":"<id 2>","agent":"reader","agentPath":["reader"],"turn":1,"promptId":"<id 2>#1","data":{"turn":1}}
                {"at":"<at>","type":"signal.caughtUp","data":{"head":"<head>"}}
                {"at":"<at>","type":"signal.snapshot","sessionId":"<id 1>","data":{"seq":"<seq>","openConfirmations":[],"queue":[],"openItems":[],"openCalls":[]}}
                {"seq":"<seq>","prev":"<prev>","at":"<at>","type":"session.created","sessionId":"<id 1>","data":{"roots":["<home>/work"],"modeOfSettings":true}}
            "#]],
        },
        Row {
            method: "events/unsubscribe",
            good: &[|facts| json!({ "subscription": facts.subscription })],
            bad: &[|_| json!({ "subscription": 7 }), |_| json!({})],
            brief: whole,
            again: |_, again| assert_eq!(again["unsubscribed"], false),
            restarted: |_, again| assert_eq!(again["unsubscribed"], false),
            golden: expect![[r#"
                INVALID_PARAMS
                  /subscription: value is not of type "string"
                INVALID_PARAMS
                  /subscription: is required
                {"unsubscribed":true}
            "#]],
        },
        Row {
            method: "events/ack",
            good: &[
                |facts| json!({ "subscription": facts.subscription, "seq": 3 }),
                // Never back.
                |facts| json!({ "subscription": facts.subscription, "seq": 1 }),
            ],
            bad: &[
                |_| json!({ "subscription": 7, "seq": "x" }),
                |_| json!({ "subscription": "no-such-subscription", "seq": 1 }),
                |facts| json!({ "subscription": facts.subscription, "seq": 1_000_000 }),
            ],
            brief: whole,
            again: same,
            // The subscription is gone; what its consumer acknowledged is not.
            restarted: |_, again| assert_eq!(again["kind"], "NOT_FOUND"),
            golden: expect![[r#"
                INVALID_PARAMS
                  /subscription: value is not of type "string"
                  /seq: value is not of type "integer"
                NOT_FOUND: this connection has no subscription no-such-subscription
                INVALID_PARAMS
                  /seq: 1000000 is beyond 15, the last place that this subscription told of
                {"seq":"<seq>"}
                {"seq":"<seq>"}
            "#]],
        },
        Row {
            method: "events/list",
            good: &[
                |facts| json!({ "filter": { "runId": facts.run }, "limit": 1_000, "waitMs": 60_000 }),
                |_| json!({ "from": 1, "limit": 2 }),
                |facts| json!({ "filter": { "sessionId": facts.session, "types": ["run.completed"] } }),
                |facts| json!({ "filter": { "sessionIds": [facts.session, facts.live_session], "types": ["turn.*"] } }),
                |facts| json!({ "filter": { "runIds": [facts.run], "types": ["run.*"] }, "from": 2 }),
            ],
            bad: &[
                |_| {
                    json!({
                        "filter": { "types": "tool.state", "runId": 1 }, "from": "x", "limit": 0, "waitMs": 60_001,
                        "logId": 1,
                    })
                },
                |_| json!({ "limit": 1_001 }),
                |_| json!({ "from": 1_000_000 }),
                |_| json!({ "from": 1, "logId": "another" }),
                |_| json!({ "filter": { "runId": "r", "runIds": ["r"] } }),
                |_| json!({ "filter": { "types": ["run.*.completed"], "exact": 1 } }),
            ],
            brief: |result| {
                result["events"].as_array().unwrap().iter().map(|event| event["type"].clone()).collect()
            },
            again: |first, again| same_but(&["/head"], first, again),
            restarted: |first, again| same_but(&["/head"], first, again),
            golden: expect![[r#"
                INVALID_PARAMS
                  /filter/types: value is not of type "array"
                  /filter/runId: value is not of type "string"
                  /from: value is not of type "integer"
                  /limit: value is less than the minimum of 1
                  /waitMs: value is greater than the maximum of 60000
                  /logId: value is not of types "null", "string"
                INVALID_PARAMS
                  /limit: value is greater than the maximum of 1000
                CURSOR_GONE: the log has no event 1000000; its newest is 15
                CURSOR_GONE: the cursor 1 is of another log; the newest event of this one is 15
                INVALID_PARAMS
                  /filter/runId: not together with `runIds`
                INVALID_PARAMS
                  /filter/types/0: value does not match "^[A-Za-z.]*\*?$"
                  /filter/exact: value is not of type "boolean"
                ["run.started","turn.started","model.started","model.completed","tool.state","tool.state","tool.state","tool.state","turn.completed","run.completed"]
                ["run.started","turn.started"]
                ["run.completed"]
                ["turn.started","turn.completed","turn.started"]
                ["run.completed"]
            "#]],
        },
        Row {
            method: "trace/list",
            good: &[
                |facts| json!({ "sessionId": facts.session }),
                |_| json!({ "active": true, "limit": 1 }),
                |_| json!({ "agent": "nobody" }),
            ],
            bad: &[
                |_| json!({ "sessionId": 1, "agent": 2, "active": "yes", "cursor": 3, "limit": 0 }),
                |_| json!({ "cursor": "x" }),
                |_| json!({ "sessionId": "no-such-session" }),
            ],
            brief: |result| {
                let line = |trace: &Value| {
                    let tokens = &trace["usage"]["promptTokens"];
                    json!([trace["agent"], trace["state"], trace["runs"], trace["turns"], tokens])
                };
                result["traces"].as_array().unwrap().iter().map(line).collect()
            },
            again: |first, again| same_but(&["/now"], first, again),
            restarted: |first, again| same_but(&["/now"], first, again),
            golden: expect![[r#"
                INVALID_PARAMS
                  /sessionId: value is not of type "string"
                  /agent: value is not of type "string"
                  /active: value is not of type "boolean"
                  /cursor: value is not of types "null", "string"
                  /limit: value is less than the minimum of 1
                INVALID_PARAMS: this cursor was not made by this list
                NOT_FOUND: there is no session no-such-session
                [["reader","ended",1,1,10]]
                [["reader","running",1,1,0]]
                []
            "#]],
        },
        Row {
            method: "trace/get",
            good: &[
                |facts| json!({ "runId": facts.run }),
                |facts| json!({ "runId": facts.run, "limit": 1, "brief": true }),
            ],
            bad: &[
                |_| json!({}),
                |_| json!({ "runId": 1, "brief": "yes", "cursor": 2, "limit": 1_001 }),
                |facts| json!({ "runId": facts.run, "cursor": "x" }),
                |_| json!({ "runId": "no-such-run" }),
            ],
            brief: |result| {
                let line = |span: &Value| {
                    json!([span["kind"], span["name"], span["status"], span["output"]["text"]])
                };
                result["spans"].as_array().unwrap().iter().map(line).collect()
            },
            again: |first, again| same_but(&["/nextCursor", "/now"], first, again),
            restarted: |first, again| same_but(&["/nextCursor", "/now"], first, again),
            golden: expect![[r#"
                INVALID_PARAMS
                  /runId: is required
                INVALID_PARAMS
                  /runId: value is not of type "string"
                  /brief: value is not of type "boolean"
                  /cursor: value is not of types "null", "string"
                  /limit: value is greater than the maximum of 1000
                INVALID_PARAMS: this cursor was not made by this list
                NOT_FOUND: there is no run no-such-run
                [["llm","script","ok",null],["tool","complete_task","ok","accepted"],["turn","turn 1","ok",null],["run","reader","ok","found"]]
                [["llm","script","ok",null]]
            "#]],
        },
        Row {
            method: "trace/export",
            good: &[
                |facts| json!({ "runId": facts.run, "format": "jsonl" }),
                |facts| json!({ "sessionId": facts.session, "format": "otlp" }),
                |facts| json!({ "runId": facts.run, "format": "markdown" }),
            ],
            bad: &[
                |facts| json!({ "runId": facts.run }),
                |_| json!({ "format": "json" }),
                |facts| json!({ "runId": facts.run, "sessionId": facts.session, "format": "json" }),
                |_| json!({ "runId": 1, "sessionId": 2, "format": "xml", "cursor": 3 }),
                |_| json!({ "sessionId": "no-such-session", "format": "json" }),
                |facts| json!({ "runId": facts.run, "format": "json", "cursor": "1" }),
            ],
            brief: |result| json!([result["mediaType"], result["text"].as_str().unwrap().lines().count()]),
            again: same,
            restarted: same,
            golden: expect![[r#"
                INVALID_PARAMS
                  /format: is required
                INVALID_PARAMS
                  : one of runId and sessionId is required
                INVALID_PARAMS
                  /sessionId: only one of runId and sessionId may be given
                INVALID_PARAMS
                  /runId: value is not of type "string"
                  /sessionId: value is not of type "string"
                  /format: "json" was expected; or "jsonl" was expected; or "otlp" was expected; or "chrome" was expected; or "markdown" was expected
                  /cursor: value is not of types "null", "string"
                NOT_FOUND: there is no session no-such-session
                INVALID_PARAMS: this cursor was not made by this list
                ["application/jsonl",4]
                ["application/json",6]
                ["text/markdown",18]
            "#]],
        },
    ]
}

#[test]
fn every_method_has_its_row() {
    let named: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
    let rows: Vec<&str> = rows().iter().map(|row| row.method).collect();
    assert_eq!(rows, named, "a row here for every method of the table, in its order");
}

#[tokio::test]
async fn every_method_keeps_its_promises() {
    for row in rows() {
        keeps_its_promises(row).await;
    }
}

async fn keeps_its_promises(row: Row) {
    let Row { method, good, bad, brief, again, restarted, golden } = row;
    let house = house();
    let running = house.boot().await;
    let mut client = running.client();
    let facts = Facts::prepare(&running, &mut client, method).await;
    let mut story = Story::new(&house);
    let mut first = Vec::new();
    for refused in bad {
        let (kind, error) = client.refused(method, refused(&facts)).await;
        story.refusal(&kind, &error);
    }
    if method == "daemon/shutdown" {
        // Asked twice at once, since whoever runs the daemon stops it then.
        let call =
            |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": good[0](&facts) });
        client.send(&json!([call(1), call(2)]).to_string()).await;
        let answers = client.receive().await;
        first.push(answers[0]["result"].clone());
        again(&first[0], &answers[1]["result"]);
        story.result(brief(&first[0]));
        running.daemon.asked_to_stop().await;
    } else {
        for call in good {
            first.push(answer(&running, &mut client, method, call(&facts)).await);
        }
        for (call, first) in good.iter().zip(&first) {
            story.result(brief(first));
            again(first, &answer(&running, &mut client, method, call(&facts)).await);
        }
        client.call("ping", json!({})).await;
    }
    // What stands here for a subscription is more than its answer.
    if !is_subscription(method) {
        examples::says_what_a_daemon_says(method, &first);
    }
    drop(client);
    running.stop_unfinished().await;

    let running = house.boot().await;
    let mut client = running.client();
    for (call, first) in good.iter().zip(&first) {
        restarted(first, &answer(&running, &mut client, method, call(&facts)).await);
    }
    drop(client);
    running.stop_unfinished().await;
    golden.assert_eq(&story.told);
}

fn house() -> House {
    let mut house = House::new()
        .script(&Script::new([Reply::done("found")]))
        .agent("reader", READER)
        .agent("writer", &READER.replace("reader", "writer").replace("read_file", "write_file"))
        .agent("broken", "---\nkind: agent\nname: broken\ndescription: d\nrun: { maxTurns: many }\n---\nx\n")
        .file(".subagentd/agents/local.md", READER.replace("reader", "local"))
        .file("brought/theirs.md", "---\nname: theirs\ndescription: Helps: much.\ntools: Read\n---\nHelp.\n")
        .file("brought/reader.md", READER)
        .file("brought/none.md", "no agent\n")
        .rules("house", "[[rule]]\ntool = \"probe\"\ndecision = \"ask\"\n");
    let skill = house.dir.path().join("skills/forms");
    std::fs::create_dir_all(&skill).unwrap();
    // Models are not told of it, so that it changes no other row.
    let text =
        "---\nname: forms\ndescription: Fills forms.\ndisable-model-invocation: true\n---\nFill them.\n";
    std::fs::write(skill.join("SKILL.md"), text).unwrap();
    let off = json!({ "url": "http://127.0.0.1:9/mcp", "disabled": true });
    let hook = json!({ "type": "command", "command": HOUSE_HOOK_COMMAND });
    let servers = json!({
        "mcpServers": { "docs": server::entry("plain"), "off": off },
        "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [hook] }] },
    });
    std::fs::write(&house.sources.files.user, servers.to_string()).unwrap();
    (house.config, _) = DaemonConfig::load(&house.sources);
    let written = json!({ "path": "notes.txt", "content": "to be kept\n" });
    let writes = Script::new([Reply::calls(&[("write_file", written)]), Reply::done("written")]);
    house.models = house.models.with_model("writes", std::sync::Arc::new(writes));
    let hangs = Script::new([Reply::Hangs]);
    house.models = house.models.with_model("hangs", std::sync::Arc::new(hangs));
    house
}

impl Facts {
    /// A folder with agents of other products in it.
    fn foreign(&self) -> String {
        format!("{}/brought", self.work)
    }

    async fn prepare(running: &Running, client: &mut Client, method: &str) -> Facts {
        let (run, session) = client.start(running, "reader", json!({})).await;
        client.ended(&run).await;
        let (live, live_session) = client.start(running, "reader", json!({ "model": "hangs" })).await;
        let queued = match method.starts_with("queue/") {
            true => {
                let place = json!({ "sessionId": live_session, "workspace": null });
                client.start(running, "reader", place).await.0
            }
            false => String::new(),
        };
        let attached = match method {
            "events/ack" => {
                let params = json!({ "from": "start", "consumer": "reader" });
                let attached = client.call("events/subscribe", params).await;
                client.events_until("signal.caughtUp").await;
                attached
            }
            _ => {
                let attached = client.call("session/attach", json!({ "sessionId": session })).await;
                client.events_until("signal.snapshot").await;
                attached
            }
        };
        if method.starts_with("client/") || ["tools/register", "tools/result"].contains(&method) {
            let me = json!({ "name": "t", "version": "1", "kind": "toaster" });
            let hello = json!({ "protocolVersion": "2", "client": me, "clientId": "me", "presence": "idle" });
            client.call("initialize", hello).await;
        }
        let work = running.work().to_str().unwrap().to_owned();
        let subscription = attached.as_str().unwrap().to_owned();
        let local = json!({ "name": "local", "workspace": work });
        let local_digest = client.call("agents/get", local).await["digest"].as_str().unwrap().to_owned();
        let call = match method {
            "tools/output" => long_output(running, client, &session).await,
            "tools/result" => client_call(running, client, &session).await,
            _ => String::new(),
        };
        let mut program = String::new();
        if method.starts_with("programs/") {
            client.call("mcp/connect", json!({ "workspace": work, "server": "docs" })).await;
            let listed = client.call("programs/list", json!({})).await;
            program = listed["programs"][0]["id"].as_str().unwrap().to_owned();
        }
        let extension = match method.starts_with("extension/") {
            true => extension(client, &work, method).await,
            false => String::new(),
        };
        if method == "policy/remove" {
            remember(running).await;
        }
        let (mut question, mut digest) = (String::new(), String::new());
        let approval = match method {
            "run/unpark" => Some(json!({ "headless": true, "onDetached": "park" })),
            "session/undo" => Some(json!({ "autoApprove": ["low"] })),
            _ if method.starts_with("confirmation/") => Some(json!({})),
            _ => None,
        };
        let (mut asking, mut asking_session) = (String::new(), String::new());
        if let Some(approval) = approval {
            let params = json!({ "model": "writes", "approval": approval });
            (asking, asking_session) = client.start(running, "writer", params).await;
            if method == "session/undo" {
                client.ended(&asking).await;
            } else {
                let until = json!({ "runId": asking, "timeoutMs": 60_000, "until": ["confirmation"] });
                let waited = client.call("run/wait", until).await;
                let asked = &waited["confirmations"][0];
                question = asked["confirmationId"].as_str().unwrap().to_owned();
                digest = asked["digest"].as_str().unwrap().to_owned();
            }
            if method == "run/unpark" {
                let filter = json!({ "runId": asking, "types": ["run.parked"] });
                let parked = client.call("events/list", json!({ "filter": filter, "waitMs": 60_000 })).await;
                assert_eq!(parked["events"][0]["data"]["reason"], "unattended", "{parked}");
            }
        }
        Facts {
            local_digest,
            work,
            run,
            session,
            live,
            live_session,
            queued,
            subscription,
            asking,
            asking_session,
            question,
            digest,
            call,
            program,
            extension,
        }
    }

    /// The folder of an extension.
    fn extension_source(&self) -> String {
        format!("{}/acme", self.work)
    }
}

/// Makes an extension in the workspace, and installs it unless that is what the method does; answers its digest.
async fn extension(client: &mut Client, work: &str, method: &str) -> String {
    let schema = |kind: &str| format!("https://agent-plugins.org/schemas/1.0.0/{kind}.schema.json");
    let manifest = json!({ "$schema": schema("plugin"), "name": "acme.tools", "version": "1.0.0", "author": { "name": "Ada" } });
    let entry =
        json!({ "type": "streamable-http", "url": "http://127.0.0.1:9/mcp", "headers": { "X-Tenant": "t" } });
    let servers = json!({ "$schema": schema("mcp"), "mcpServers": { "board": entry } });
    let skill = "---\nname: deploy\ndescription: Deploys.\n---\nDeploy.\n".to_owned();
    for (path, text) in [
        ("plugin.json", manifest.to_string()),
        ("mcp.json", servers.to_string()),
        ("skills/deploy/SKILL.md", skill),
    ] {
        let path = std::path::Path::new(work).join("acme").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut params = json!({ "source": format!("{work}/acme"), "dryRun": true });
    let looked = client.call("extension/install", params.clone()).await;
    let digest = looked["extension"]["digest"].as_str().unwrap().to_owned();
    if method != "extension/install" {
        params = json!({ "source": params["source"], "digest": digest });
        client.call("extension/install", params).await;
    }
    digest
}

/// A call whose output is longer than a model gets, and kept.
async fn long_output(running: &Running, client: &mut Client, session: &str) -> String {
    std::fs::write(running.work().join("long.txt"), "a line that is found\n".repeat(2_000)).unwrap();
    let arguments = json!({ "pattern": "found", "maxMatches": 2_000 });
    let params = json!({ "sessionId": session, "tool": "grep", "arguments": arguments });
    let called = client.call("tools/call", params).await;
    assert_eq!(called["result"]["fullOutput"]["totalBytes"].as_u64().map(|bytes| bytes > 50_000), Some(true));
    called["callId"].as_str().unwrap().to_owned()
}

fn lent_tool() -> Value {
    json!({ "name": "lent", "description": "Lent.", "parameters": {}, "kind": "read", "risk": "safe" })
}

/// A call that waits for the client.
async fn client_call(running: &Running, client: &mut Client, session: &str) -> String {
    client.call("tools/register", json!({ "tools": [lent_tool()], "onDisconnect": "wait" })).await;
    let mut caller = running.client();
    let params = json!({ "sessionId": session, "tool": "lent", "arguments": {} });
    let request = json!({ "jsonrpc": "2.0", "id": "calls", "method": "tools/call", "params": params });
    caller.send(&request.to_string()).await;
    let filter = json!({ "types": ["tool.clientCall"] });
    let told = client.call("events/list", json!({ "filter": filter, "waitMs": 60_000 })).await;
    told["events"][0]["data"]["callId"].as_str().unwrap().to_owned()
}

/// As an answer to a question would have it: a rule that lets the probe be called.
async fn remember(running: &Running) {
    let rule = json!({
        "id": "remembered-1", "tier": "user", "tool": ["probe"], "accesses": [{ "access": "nothing" }],
        "decision": "allow", "createdBy": "me", "fromConfirmation": "c1",
    });
    let changed = json!({ "added": [rule] });
    let changed: PolicyChanged = serde_json::from_value(changed).unwrap();
    let event = NewEvent {
        at: Timestamp(1),
        session: None,
        run: None,
        context: None,
        head: EventHead::default(),
        body: changed.into(),
        private: PrivateEventFields::default(),
    };
    running.daemon.store().append(vec![event]).await.unwrap();
}

/// The result; with a subscription also what comes first on it.
async fn answer(running: &Running, client: &mut Client, method: &str, params: Value) -> Value {
    if [
        "agents/delete",
        "mcp/remove",
        "session/delete",
        "queue/remove",
        "client/update",
        "events/ack",
        "extension/remove",
        "policy/remove",
        "run/unpark",
        "tools/register",
        "tools/result",
    ]
    .contains(&method)
    {
        // Only once is there something to remove, and a connection ends with its daemon.
        let response = client.request(method, params).await;
        return response.get("result").unwrap_or(&response["error"]["data"]).clone();
    }
    if !is_subscription(method) {
        return client.call(method, params).await;
    }
    // On a connection of its own, since it goes on sending.
    let mut own = running.client();
    let subscription = own.call(method, params).await;
    json!({ "subscription": subscription, "first": own.event().await })
}

fn whole(result: &Value) -> Value {
    result.clone()
}

fn without(result: &Value, pointers: &[&str]) -> Value {
    let mut result = result.clone();
    for pointer in pointers {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        if let Some(Value::Object(parent)) = result.pointer_mut(parent) {
            parent.remove(field);
        }
    }
    result
}

fn same(first: &Value, again: &Value) {
    assert_eq!(first, again);
}

fn same_but(pointers: &[&str], first: &Value, again: &Value) {
    assert_eq!(without(first, pointers), without(again, pointers));
}

/// Without a key, who asks twice gets two.
fn is_another_run(first: &Value, again: &Value) {
    assert_ne!(first["runId"], again["runId"]);
    assert_ne!(first["sessionId"], again["sessionId"]);
    assert!(first["seq"].as_i64() < again["seq"].as_i64());
    same_but(&["/runId", "/sessionId", "/seq"], first, again);
}

fn is_later(first: &Value, again: &Value) {
    assert!(first["seq"].as_i64() < again["seq"].as_i64(), "{first} {again}");
    same_but(&["/seq"], first, again);
}

/// Each agent with the checks that it does not pass.
fn verdicts(result: &Value) -> Value {
    let agents = result["agents"].as_array().unwrap().iter().map(|agent| {
        let checks = agent["checks"].as_array().unwrap().iter();
        let failed = checks.filter(|check| check["outcome"] != "pass");
        let failed = failed.map(|check| json!([check["check"], check["outcome"]]));
        json!([agent["name"], failed.collect::<Vec<_>>()])
    });
    json!([result["valid"], agents.collect::<Vec<_>>()])
}

/// The file says it already, or the answer was kept.
fn says_what_it_said(first: &Value, again: &Value) {
    same_but(&["/seq", "/replayed"], first, again);
    assert!(again.get("seq").is_none() || again["replayed"] == true, "{again}");
}

fn is_gone_or_replayed(first: &Value, again: &Value) {
    match again["replayed"] == true {
        true => same_but(&["/replayed"], first, again),
        false => assert_eq!(again["kind"], "NOT_FOUND", "{again}"),
    }
}

/// Nothing is written twice.
fn is_imported_already(first: &Value, again: &Value) {
    if again["replayed"] == true {
        return same_but(&["/replayed"], first, again);
    }
    assert_eq!(again.get("seq"), None);
    let outcomes = |result: &Value| -> Vec<Value> {
        result["files"].as_array().unwrap().iter().map(|file| file["outcome"].clone()).collect()
    };
    let is_settled = |outcome: &Value| ["unchanged", "rejected", "skipped"].iter().any(|it| outcome == it);
    assert!(outcomes(again).iter().all(is_settled), "{again}");
}

fn caused_nothing(first: &Value, again: &Value) {
    assert_eq!(again.get("seq"), None);
    assert_eq!(first["run"], again["run"]);
}

fn is_another_subscription_of_the_same(first: &Value, again: &Value) {
    assert_ne!(first["subscription"], again["subscription"]);
    // A snapshot is as of its moment.
    let mut moving = vec!["/first/at", "/first/data/seq", "/first/data/head", "/subscription"];
    if first["first"]["type"] == "signal.snapshot" && first["first"]["sessionId"].is_null() {
        // What lives goes on meanwhile.
        moving.extend(["/first/data/runs", "/first/data/openItems"]);
    }
    same_but(&moving, first, again);
}

/// Others write to the log of this process too.
fn grows(first: &Value, again: &Value) {
    assert!(first["last"].as_u64() <= again["last"].as_u64(), "{first} {again}");
}

/// The ids in a list.
fn ids_of<'a>(result: &'a Value, list: &str, id: &str) -> Vec<&'a str> {
    result[list].as_array().unwrap().iter().map(|item| item[id].as_str().unwrap()).collect()
}

fn is_another_session_without_a_key(first: &Value, again: &Value) {
    if again["replayed"] == true {
        same_but(&["/replayed"], first, again);
    } else {
        assert_ne!(first["sessionId"], again["sessionId"]);
    }
}

fn changes_nothing_more(first: &Value, again: &Value) {
    assert_eq!(again.get("seq"), None);
    assert_eq!(first["sessionId"], again["sessionId"]);
}

/// What was answered, without what differs from run to run.
struct Story {
    home: String,
    ids: BTreeMap<String, usize>,
    told: String,
}

impl Story {
    fn new(house: &House) -> Story {
        let home = house.dir.path().to_str().unwrap().to_owned();
        Story { home, ids: BTreeMap::new(), told: String::new() }
    }

    fn result(&mut self, result: Value) {
        let line = self.stable(&hide(result).to_string());
        self.told.push_str(&format!("{line}\n"));
    }

    fn refusal(&mut self, kind: &str, error: &Value) {
        let violations = error["data"]["details"]["violations"].as_array();
        match violations {
            None => {
                let line = self.stable(&format!("{kind}: {}", error["message"].as_str().unwrap()));
                self.told.push_str(&format!("{line}\n"));
            }
            Some(violations) => {
                self.told.push_str(&format!("{kind}\n"));
                for violation in violations {
                    let (pointer, message) = (&violation["pointer"], &violation["message"]);
                    let line = format!("  {}: {}", pointer.as_str().unwrap(), message.as_str().unwrap());
                    let line = self.stable(&line);
                    self.told.push_str(&format!("{line}\n"));
                }
            }
        }
    }

    /// Ids become numbers in the order in which they are first met, so that equal ones are seen to be equal.
    fn stable(&mut self, text: &str) -> String {
        let program = std::env::current_exe().unwrap();
        let text = text.replace(&self.home, "<home>").replace(program.to_str().unwrap(), "<program>");
        let mut stable = String::new();
        let mut rest = text.as_str();
        while let Some(next) = rest.chars().next() {
            if let Some(id) = rest.get(..36).filter(|it| is_uuid(it)) {
                let number = self.ids.len() + 1;
                let number = *self.ids.entry(id.to_owned()).or_insert(number);
                stable.push_str(&format!("<id {number}>"));
                rest = &rest[36..];
            } else {
                stable.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
        stable
    }
}

fn is_uuid(text: &str) -> bool {
    text.chars().enumerate().all(|(at, letter)| match at {
        8 | 13 | 18 | 23 => letter == '-',
        _ => letter.is_ascii_hexdigit(),
    })
}

/// Replaces times, sizes, places in the log and what depends on the build by the names of their fields.
fn hide(value: Value) -> Value {
    const HIDDEN: &[&str] = &[
        "pid",
        "version",
        "digest",
        "uptimeMs",
        "rssBytes",
        "mechanism",
        "bytes",
        "activeMs",
        "seq",
        "prev",
        "head",
        "afterSeq",
        "uid",
    ];
    match value {
        Value::Object(fields) => {
            let hide = |(key, value): (String, Value)| {
                let is_time = key == "at" || key.ends_with("At");
                let is_hidden = is_time || HIDDEN.contains(&key.as_str());
                let value = if is_hidden { json!(format!("<{key}>")) } else { hide(value) };
                (key, value)
            };
            Value::Object(fields.into_iter().map(hide).collect())
        }
        Value::Array(items) => items.into_iter().map(hide).collect(),
        other => other,
    }
}
