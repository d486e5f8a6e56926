//! Can settings be looked at, checked and changed while the daemon runs, and does nothing change that should not?

use std::{fs, path::PathBuf, process::Stdio};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::{
    built,
    process::{Ended, Home, output},
    support::{Client, House, Reply, Running, Script},
};

const READER: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [read_file, grep]\n---\nYou read.\n";

fn house() -> House {
    let hangs = Script::new([Reply::Hangs]);
    House::new()
        .agent("reader", READER)
        .agent("other", &READER.replace("reader", "other"))
        .model("script", &hangs)
}

fn write(house: &House, settings: &Value) {
    fs::write(&house.sources.files.user, settings.to_string()).unwrap();
}

/// As a daemon that was started with these.
fn started_with(house: House, settings: &Value) -> House {
    house.settings(settings)
}

async fn setting(client: &mut Client, key: &str) -> Value {
    client.call("config/get", json!({ "keys": [key] })).await["settings"][0].clone()
}

/// What the first event of each run says about its turns.
async fn max_turns(running: &Running) -> Vec<u64> {
    let log = running.log().await;
    let started = log.iter().filter(|event| event["type"] == "run.started");
    started.map(|event| event["data"]["limits"]["maxTurns"].as_u64().unwrap()).collect()
}

fn changes(log: &[Value]) -> Vec<&Value> {
    log.iter().filter(|event| event["type"] == "config.changed").collect()
}

#[tokio::test]
async fn reloaded_settings_count_for_what_begins_afterwards() {
    let house = started_with(house(), &json!({ "run": { "maxTurns": 7 } }));
    let running = house.boot().await;
    let mut client = running.client();
    client.start(&running, "reader", json!({})).await;
    let hello =
        json!({ "protocolVersion": "2", "client": { "name": "t", "kind": "script" }, "clientId": "me" });
    client.call("initialize", hello).await;

    let settings = json!({ "run": { "maxTurns": 9 }, "tools": { "exclude": ["grep"] }, "agents": { "default": "other" } });
    write(&house, &settings);
    let reloaded = client.call("daemon/reload", json!({})).await;
    assert_eq!(
        (&reloaded["changed"], &reloaded["needsRestart"], &reloaded["problems"]),
        (&json!(["agents.default", "run.maxTurns", "tools.exclude"]), &json!([]), &json!([])),
    );
    client.start(&running, "reader", json!({})).await;
    let started = client.start(&running, "other", json!({ "agent": null })).await;
    let record = client.call("run/get", json!({ "runId": started.0 })).await;
    assert_eq!(record["agent"], "other", "the default agent is the new one");
    assert_eq!(
        max_turns(&running).await,
        [7, 9, 9],
        "a run that had begun was changed, or a new one was not"
    );
    let tools = client.call("tools/list", json!({ "agent": "reader" })).await;
    let is_available = |tool: &Value| tool["name"] == "grep" && tool["state"] == "available";
    assert!(!tools["tools"].as_array().unwrap().iter().any(is_available), "{tools}");

    let log = running.log().await;
    let changed = changes(&log);
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0]["seq"], reloaded["seq"]);
    assert_eq!(changed[0]["by"], "me");
    assert_eq!(changed[0]["data"]["changed"], reloaded["changed"]);
    // The same again changes nothing, and says nothing.
    let again = client.call("daemon/reload", json!({})).await;
    assert_eq!(again, json!({ "changed": [], "needsRestart": [], "problems": [] }));
    assert_eq!(changes(&running.log().await).len(), 1);
    running.stop_unfinished().await;
}

#[tokio::test]
async fn a_mistake_keeps_its_value_and_is_told_by_whoever_is_asked() {
    let house = started_with(house(), &json!({ "run": { "maxTurns": 7, "maxDepth": 1 } }));
    let running = house.boot().await;
    let mut client = running.client();
    write(&house, &json!({ "run": { "maxTurns": "many", "maxDepth": 2 } }));
    let reloaded = client.call("daemon/reload", json!({})).await;
    assert_eq!(reloaded["changed"], json!(["run.maxDepth"]));
    let problem = &reloaded["problems"][0];
    assert_eq!(
        (&problem["line"], &problem["severity"], &problem["code"]),
        (&json!(1), &json!("error"), &json!("WRONG_TYPE"))
    );
    assert_eq!(setting(&mut client, "run.maxTurns").await["value"], 7);
    assert_eq!(setting(&mut client, "run.maxDepth").await["value"], 2);
    let status = client.call("daemon/status", json!({})).await;
    assert!(status["degraded"][0].as_str().unwrap().contains("`run.maxTurns`"), "{status}");

    // No file at all that could be read: everything stays.
    fs::write(&house.sources.files.user, "{").unwrap();
    let reloaded = client.call("daemon/reload", json!({})).await;
    assert_eq!((&reloaded["changed"], reloaded["problems"].as_array().unwrap().len()), (&json!([]), 1));
    assert_eq!(setting(&mut client, "run.maxDepth").await["value"], 2);

    write(&house, &json!({ "run": { "maxTurns": 7, "maxDepth": 2 } }));
    client.call("daemon/reload", json!({})).await;
    assert_eq!(client.call("daemon/status", json!({})).await["degraded"], json!([]));
    running.stop().await;
}

#[tokio::test]
async fn a_new_pattern_hides_what_runs_are_told_from_then_on() {
    let house = house();
    let running = house.boot().await;
    let mut client = running.client();
    client.start(&running, "reader", json!({ "prompt": "look for cust-111111" })).await;
    write(&house, &json!({ "redaction": { "patterns": ["cust-[0-9]{6}"] } }));
    client.call("daemon/reload", json!({})).await;
    client.start(&running, "reader", json!({ "prompt": "look for cust-222222" })).await;
    let session = json!({ "workspace": running.work(), "title": "of cust-333333" });
    client.call("session/create", session).await;
    let log = Value::from(running.log().await).to_string();
    assert!(log.contains("cust-111111"), "what was there before stays");
    assert!(!log.contains("cust-222222") && !log.contains("cust-333333"), "{log}");
    assert!(log.contains("[redacted:pattern:1]"), "{log}");
    running.stop_unfinished().await;
}

#[tokio::test]
async fn more_room_lets_a_waiting_run_begin() {
    let house = started_with(house(), &json!({ "maxConcurrentRuns": { "session": 1 } }));
    let running = house.boot().await;
    let mut client = running.client();
    let (_, session) = client.start(&running, "reader", json!({})).await;
    let beside = json!({ "sessionId": session, "workspace": null });
    let (waiting, _) = client.start(&running, "other", beside).await;
    let record = client.call("run/get", json!({ "runId": waiting })).await;
    assert_eq!(record["state"], "queued", "{record}");
    write(&house, &json!({ "maxConcurrentRuns": { "session": 2 } }));
    client.call("daemon/reload", json!({})).await;
    client.until("run/get", json!({ "runId": waiting }), |record| record["state"] == "running").await;
    running.stop_unfinished().await;
}

#[tokio::test]
async fn the_status_says_when_no_work_is_taken() {
    let running = house().boot().await;
    let mut client = running.client();
    let state = async |client: &mut Client| client.call("daemon/status", json!({})).await["state"].clone();
    assert_eq!(state(&mut client).await, "running");
    client.call("daemon/drain", json!({ "mode": "finish", "deadlineMs": 0 })).await;
    assert_eq!(state(&mut client).await, "draining");
    client.call("daemon/shutdown", json!({})).await;
    assert_eq!(state(&mut client).await, "stopping");
    running.stop().await;
}

fn settings_of(home: &Home) -> PathBuf {
    home.path("config/subagentd/settings.json")
}

/// What a program says, with the home's path taken out.
async fn check(home: &Home, program: &str, arguments: &[&str], expected: Expect) {
    let mut command = home.command(built::program(program));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ended { code, stdout, stderr } = output(&mut command).await;
    let told =
        format!("exit {code:?}\n{stdout}---\n{stderr}").replace(home.path("").to_str().unwrap(), "<home>/");
    // Another file may lie there on the machine that tests.
    let told = told.lines().filter(|line| !line.contains(": /etc/subagentd/"));
    expected.assert_eq(&told.map(|line| format!("{}\n", line.trim_end())).collect::<String>());
}

const DAEMON: &str = "subagentd";
const COMPANION: &str = "subagent";

#[tokio::test]
async fn checking_tells_every_mistake_with_its_place_and_starts_nothing() {
    let home = Home::new();
    check(
        &home,
        DAEMON,
        &["--check-config"],
        expect![[r#"
        exit Some(0)
        not there: <home>/config/subagentd/settings.json
        not there: <home>/config/subagentd/policies
        0 errors, 0 warnings
        ---
    "#]],
    )
    .await;
    fs::write(
        settings_of(&home),
        "{\n  // soon\n  \"$schema\": \"settings.schema.json\",\n  \"run\": {\"maxTurns\": 0, \"maxTurn\": 5},\n  \
         \"redaction\": {\"patterns\": [\"(\"]},\n}\n",
    )
    .unwrap();
    let flags = ["--check-config", "--set", "run.maxDepth=99", "--set", "colour=blue"];
    check(&home, DAEMON, &flags, expect![[r#"
        exit Some(1)
        error: <home>/config/subagentd/settings.json:4:23: `run.maxTurns`: expected a whole number of at least 1, found 0
        warning: <home>/config/subagentd/settings.json:4:26: there is no setting `run.maxTurn` in this version; it has no effect (did you mean `run.maxTurns`?)
        error: <home>/config/subagentd/settings.json:5:30: `redaction.patterns`: an element is no regular expression: unclosed group
        error: --set run.maxDepth: `run.maxDepth`: expected a whole number from 0 to 16, found 99
        error: --set colour: there is no setting `colour`
        read: <home>/config/subagentd/settings.json
        not there: <home>/config/subagentd/policies
        4 errors, 1 warning
        ---
        Error: the settings have 4 errors
    "#]]).await;
    assert!(!home.state_dir().exists() && !home.socket().exists(), "something was started");
    // What is to be hidden is open, and so nothing starts.
    check(&home, DAEMON, &[], expect![[r#"
        exit Some(1)
        ---
        Error: the settings have mistakes that leave open what must not be shown, so nothing is started:
          <home>/config/subagentd/settings.json:4:23: `run.maxTurns`: expected a whole number of at least 1, found 0
          <home>/config/subagentd/settings.json:5:30: `redaction.patterns`: an element is no regular expression: unclosed group
        fix them; `subagentd --check-config` checks them
    "#]]).await;
    fs::write(settings_of(&home), "{").unwrap();
    check(
        &home,
        DAEMON,
        &[],
        expect![[r#"
        exit Some(1)
        ---
        Error: the settings have mistakes that leave open what must not be shown, so nothing is started:
          <home>/config/subagentd/settings.json:1:1: is not JSON with comments: Unterminated object (until this file is mended, no prompt and no tool call is accepted, because nobody can tell which hooks it has)
        fix them; `subagentd --check-config` checks them
    "#]],
    )
    .await;
    fs::write(settings_of(&home), "{\"redaction\": 1}").unwrap();
    check(
        &home,
        DAEMON,
        &[],
        expect![[r#"
        exit Some(1)
        ---
        Error: the settings have mistakes that leave open what must not be shown, so nothing is started:
          <home>/config/subagentd/settings.json:1:15: `redaction`: expected an object, found 1
        fix them; `subagentd --check-config` checks them
    "#]],
    )
    .await;
    assert!(!home.state_dir().exists() && !home.socket().exists(), "something was started");
    fs::write(
        settings_of(&home),
        "{\n  \"run\": {\"maxTurns\": 0, \"maxTurn\": 5},\n  \"redaction\": {\"patterns\": [\"x+\"]},\n}\n",
    )
    .unwrap();
    // With a daemon that runs and holds the lock.
    let served = home.start().await;
    check(&home, DAEMON, &["--check-config"], expect![[r#"
        exit Some(1)
        error: <home>/config/subagentd/settings.json:2:23: `run.ma[redacted:pattern:1]Turns`: e[redacted:pattern:1]pected a whole number of at least 1, found 0
        warning: <home>/config/subagentd/settings.json:2:26: there is no setting `run.ma[redacted:pattern:1]Turn` in this version; it has no effect (did you mean `run.ma[redacted:pattern:1]Turns`?)
        read: <home>/config/subagentd/settings.json
        not there: <home>/config/subagentd/policies
        1 error, 1 warning
        ---
        Error: the settings have 1 error
    "#]]).await;
    served.stop().await;
    check(
        &home,
        DAEMON,
        &["--set", "run.maxDepth=99"],
        expect![[r#"
        exit Some(1)
        ---
        Error: --set run.maxDepth: `run.maxDepth`: expected a whole number from 0 to 16, found 99
    "#]],
    )
    .await;
}

#[tokio::test]
async fn settings_are_shown_with_their_places_and_without_secrets() {
    let home = Home::new();
    let settings = json!({
        "models": { "default": "hunter2hunter2" },
        "run": { "maxTurns": 1, "maxTimeMinutes": 2.5 },
        "providers": { "work": { "kind": "gemini", "key": { "command": ["pass", "show", "hunter3"] } } },
    });
    fs::write(settings_of(&home), format!("{settings:#}")).unwrap();
    let variables =
        [("MY_TOKEN", "hunter2hunter2"), ("SUBAGENTD_RUN_MAX_TURNS", "7"), ("SUBAGENTD_RUN_MAXDEPTH", "1")];
    let served = home.start_with(&variables).await;
    check(&home, COMPANION, &["config", "get"], expect![[r#"
        exit Some(0)
        models.default                        "[redacted:env:MY_TOKEN]"                         <home>/config/subagentd/settings.json:3:16
        models.small                          null                                              default
        models.compression                    null                                              default
        models.fallback                       []                                                default
        models.auto.fast                      null                                              default
        models.auto.strong                    null                                              default
        models.aliases                        {}                                                default
        models.contextWindow                  {}                                                default
        models.prices                         {}                                                default
        compression.enabled                   true                                              default
        compression.threshold                 0.5                                               default
        loopDetection.calls                   true                                              default
        loopDetection.text                    true                                              default
        loopDetection.judge                   true                                              default
        nextSpeakerCheck                      false                                             default
        agents.overrides                      {}                                                default
        agents.default                        "generalist"                                      default
        agents.autoRoute                      true                                              default
        agents.defaultScope                   "project"                                         default
        skills.disabled                       []                                                default
        run.maxTurns                          7                                                 $SUBAGENTD_RUN_MAX_TURNS
        run.maxTimeMinutes                    2.5                                               <home>/config/subagentd/settings.json:7:23
        run.maxTokens                         null                                              default
        run.maxCostUsd                        null                                              default
        run.onBudget                          "end"                                             default
        run.maxContextTokens                  null                                              default
        run.graceSeconds                      60                                                default
        run.maxDepth                          4                                                 default
        maxConcurrentRuns.session             8                                                 default
        maxConcurrentRuns.daemon              256                                               default
        tools.exclude                         []                                                default
        tools.discoveryCommand                null                                              default
        tools.callCommand                     null                                              default
        tools.output.maxChars                 40000                                             default
        tools.shell.inactivityMs              300000                                            default
        tools.shell.timeoutMs                 1800000                                           default
        tools.webFetch.allowHosts             []                                                default
        tools.webSearch.backend               null                                              default
        tools.webSearch.url                   null                                              default
        tools.webSearch.key                   null                                              default
        sandbox.required                      false                                             default
        sandbox.profile                       "workspaceWrite"                                  default
        sandbox.network                       false                                             default
        sandbox.environment                   []                                                default
        sandbox.sockets                       []                                                default
        sandbox.limits.cpuSeconds             3600                                              default
        sandbox.limits.memoryMb               8192                                              default
        sandbox.limits.processes              1024                                              default
        sandbox.limits.openFiles              8192                                              default
        sandbox.limits.outputMb               4096                                              default
        shutdown.graceSeconds                 10                                                default
        access.allowUids                      []                                                default
        redaction.patterns                    []                                                default
        approval.mode                         "default"                                         default
        approval.allowYolo                    false                                             default
        approval.hooksMayApprove              false                                             default
        approval.audience                     "all"                                             default
        approval.onDetached                   null                                              default
        approval.deadlineMs                   null                                              default
        approval.onDeadline                   "deny"                                            default
        approval.notifyAfterMs                60000                                             default
        approval.notifyCommand                []                                                default
        approval.webhook.url                  null                                              default
        approval.webhook.secret               null                                              default
        mcpServers                            {}                                                default
        mcp.allowed                           null                                              default
        mcp.excluded                          []                                                default
        mcp.idleTimeoutMs                     600000                                            default
        agents.places.project.own             true                                              default
        agents.places.project.gemini          true                                              default
        agents.places.project.claude          true                                              default
        agents.places.project.opencode        true                                              default
        agents.places.user.own                true                                              default
        agents.places.user.gemini             true                                              default
        agents.places.user.claude             true                                              default
        agents.places.user.opencode           true                                              default
        agents.places.builtIn                 true                                              default
        prompt.modules.preamble               true                                              default
        prompt.modules.coreMandates           true                                              default
        prompt.modules.agents                 true                                              default
        prompt.modules.primaryWorkflows       true                                              default
        prompt.modules.operationalGuidelines  true                                              default
        prompt.modules.sandbox                true                                              default
        prompt.modules.git                    true                                              default
        prompt.modules.finalReminder          true                                              default
        prompt.systemFile                     false                                             default
        prompt.shellOutputEconomy             false                                             default
        memory.files                          ["AGENTS.md","GEMINI.md","CLAUDE.md"]             default
        memory.perFolder                      "first"                                           default
        memory.userFiles                      []                                                default
        retention.maxAgeDays                  null                                              default
        retention.maxSessions                 null                                              default
        retention.maxBytes                    null                                              default
        tracing.enabled                       true                                              default
        tracing.backend                       ["sqlite","otlp"]                                 default
        tracing.events                        null                                              default
        tracing.sampleRate                    1                                                 default
        tracing.content                       "full"                                            default
        tracing.file.maxBytes                 1073741824                                        default
        tracing.otlp.endpoint                 null                                              default
        tracing.otlp.protocol                 null                                              default
        tracing.otlp.headers                  {}                                                default
        tracing.otlp.timeoutMs                null                                              default
        tracing.otlp.compression              null                                              default
        tracing.otlp.signals                  ["traces","metrics","logs"]                       default
        tracing.otlp.maxBacklog               1000000                                           default
        hooks.places                          []                                                default
        hooks.environment                     []                                                default
        hooks.httpEnv                         []                                                default
        disableAllHooks                       false                                             default
        providers.work                        {"kind":"gemini","key":{"command":["pass","…"]}}  <home>/config/subagentd/settings.json:10:13
        ---
    "#]]).await;
    check(
        &home,
        COMPANION,
        &["config", "get", "providers", "run.maxTurns", "--format", "json"],
        expect![[r#"
            exit Some(0)
            {
              "settings": [
                {
                  "key": "run.maxTurns",
                  "value": 7,
                  "origin": "environment",
                  "variable": "SUBAGENTD_RUN_MAX_TURNS"
                },
                {
                  "key": "providers.work",
                  "value": {
                    "kind": "gemini",
                    "key": {
                      "command": [
                        "pass",
                        "…"
                      ]
                    }
                  },
                  "origin": "user",
                  "file": "<home>/config/subagentd/settings.json",
                  "line": 10,
                  "column": 13
                }
              ]
            }
            ---
        "#]],
    )
    .await;
    check(
        &home,
        COMPANION,
        &["config", "get", "run.maxTurn"],
        expect![[r#"
        exit Some(1)
        ---
        error: there is no setting `run.maxTurn`
        hint: did you mean `run.maxTurns`?
    "#]],
    )
    .await;
    let status = output(&mut home.companion(&["status"])).await;
    assert!(status.stdout.contains("did you mean `SUBAGENTD_RUN_MAX_DEPTH`?"), "{}", status.stdout);
    served.stop().await;
    check(
        &home,
        COMPANION,
        &["config", "get"],
        expect![[r#"
        exit Some(69)
        ---
        error: no daemon is running (socket <home>/run/subagentd/subagentd.sock)
        hint: `subagent run` starts one, or run `subagentd`
    "#]],
    )
    .await;
}

#[tokio::test]
async fn the_companion_has_settings_read_anew_and_tells_what_came_of_it() {
    let home = Home::new();
    let served = home.start().await;
    let settings = settings_of(&home);
    check(
        &home,
        COMPANION,
        &["reload"],
        expect![[r#"
            exit Some(0)
            reloaded; no setting and no rule changed (hooks, agents and skills are read without a reload)
            ---
        "#]],
    )
    .await;
    fs::write(&settings, r#"{"run": {"maxTurns": 3}, "access": {"allowUids": [7]}}"#).unwrap();
    check(
        &home,
        COMPANION,
        &["reload"],
        expect![[r#"
        exit Some(0)
        changed: run.maxTurns, access.allowUids
        (hooks, agents and skills are read without a reload)
        ---
    "#]],
    )
    .await;
    fs::write(&settings, r#"{"run": {"maxTurns": 3}, "access": {"allowUids": 7}, "colour": 1}"#).unwrap();
    check(&home, COMPANION, &["reload"], expect![[r#"
        exit Some(1)
        errors were found; no setting and no rule changed (hooks, agents and skills are read without a reload)
        ---
        error: <home>/config/subagentd/settings.json:1:50: `access.allowUids`: expected a list of numeric user ids, e.g. [1000], found 7
        warning: <home>/config/subagentd/settings.json:1:54: there is no setting `colour` in this version; it has no effect
        hint: a mistaken setting keeps the value it had, a mistaken rule asks or denies; fix it and reload again
    "#]]).await;
    served.stop().await;
    check(
        &home,
        COMPANION,
        &["reload"],
        expect![[r#"
        exit Some(69)
        ---
        error: no daemon is running (socket <home>/run/subagentd/subagentd.sock)
        hint: `subagent run` starts one, or run `subagentd`
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_hangup_has_settings_read_anew_and_the_log_says_so() {
    let home = Home::new();
    let served = home.start().await;
    let mut wire = home.connect().await;
    fs::write(settings_of(&home), r#"{"providers": {"work": {"kind": "gemini"}}}"#).unwrap();
    served.hang_up();
    let asked = json!({ "filter": { "types": ["config.changed"] }, "from": 0, "waitMs": 60_000 });
    let page = wire.call("events/list", asked).await.unwrap();
    assert_eq!(page["events"][0]["data"], json!({ "changed": ["providers.work"], "needsRestart": [] }));
    assert_eq!(page["events"][0].get("by"), None, "nobody asked");
    served.stop().await;
}

#[tokio::test]
async fn a_new_pattern_hides_what_is_logged_from_then_on() {
    let home = Home::new();
    // The log names the file with a mistake.
    let folder = home.path("cust-123456");
    fs::create_dir_all(folder.join("subagentd")).unwrap();
    let settings = folder.join("subagentd/settings.json");
    fs::write(&settings, r#"{"colour": 1}"#).unwrap();
    let served = home.start_with(&[("XDG_CONFIG_HOME", folder.to_str().unwrap())]).await;
    let before = home.daemon_log();
    assert!(before.contains("cust-123456/subagentd/settings.json:1:2"), "{before}");
    fs::write(&settings, r#"{"colour": 1, "redaction": {"patterns": ["cust-[0-9]{6}"]}}"#).unwrap();
    home.connect().await.call("daemon/reload", json!({})).await.unwrap();
    let log = home.daemon_log();
    let after = log.strip_prefix(&before).unwrap();
    assert!(after.contains("[redacted:pattern:1]/subagentd/settings.json:1:2"), "{after}");
    assert!(!after.contains("cust-123456"), "{after}");
    served.stop().await;
}

#[tokio::test]
async fn how_much_is_logged_can_be_changed() {
    let home = Home::new();
    let served = home.start_with(&[("RUST_LOG", "verbose")]).await;
    let mut wire = home.connect().await;
    let mut level =
        async |level: &str| wire.call("daemon/setLogLevel", json!({ "level": level })).await.unwrap();
    assert_eq!(level("off").await, json!({ "level": "off", "before": "info" }));
    // Told, and not logged.
    let mut other = home.connect().await;
    other.call("daemon/reload", json!({})).await.unwrap();
    assert_eq!(level("warn,subagentd=info").await["before"], "off");
    let logs = async |wire: &mut crate::process::Wire| {
        wire.call("daemon/logs", json!({ "after": 0 })).await.unwrap()["lines"].to_string()
    };
    let quiet = logs(&mut other).await;
    assert!(quiet.contains("RUST_LOG has no effect: `verbose` is no level"), "{quiet}");
    assert!(!quiet.contains("read anew"), "{quiet}");
    other.call("daemon/reload", json!({})).await.unwrap();
    assert!(logs(&mut other).await.contains("read anew"));
    served.stop().await;
}

#[tokio::test]
async fn shells_get_their_completions_without_a_daemon_or_a_home() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let mut command = tokio::process::Command::new(built::companion());
        command.env_clear().args(["completions", shell]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let Ended { code, stdout, stderr } = output(&mut command).await;
        assert_eq!((code, &*stderr), (Some(0), ""), "{shell}");
        for word in ["subagent", "reload", "sessions", "--no-spawn"] {
            // Some write options without their dashes.
            assert!(stdout.contains(word.trim_start_matches('-')), "{shell}: {word}");
        }
    }
}

#[tokio::test]
async fn bash_completes_names_of_agents_and_inserts_no_dash() {
    let source = format!("source <('{}' completions bash)", built::companion());
    let listing = r#"subagent() { [[ "$*" == "--no-spawn list" ]] && printf 'Yours\n  scout  ok\n    why\n\n  reader  ok\n'; }"#;
    let completed = |typed: &str, last: &str, before: &str, place: usize| {
        format!(
            "COMP_WORDS=({typed}); COMP_CWORD={place}; _subagent_with_agents subagent '{last}' {before}; echo \"${{COMPREPLY[*]}}\"\n"
        )
    };
    let tried = [
        completed("subagent run ''", "", "run", 2),
        completed("subagent run sc", "sc", "run", 2),
        completed("subagent tr", "tr", "subagent", 1),
        completed("subagent runs --act", "--act", "runs", 2),
        completed("subagent runs ''", "", "runs", 2),
    ];
    let mut bash = tokio::process::Command::new("bash");
    bash.args(["--norc", "--noprofile", "-c", &format!("{source}\n{listing}\n{}", tried.concat())]);
    bash.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ended { code, stdout, stderr } = output(&mut bash).await;
    let expected = "scout reader\nscout\ntrust trace\n--active\n\n";
    assert_eq!((code, &*stdout, &*stderr), (Some(0), expected, ""));
}
