//! Do hooks that change one call come to the same, whenever the daemon dies while they are asked?

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};

use super::kills::{runs, until};
use crate::{
    kills::Seed,
    laws,
    process::{Home, text},
    recording::{Chance, reply, save},
    support::lines,
};

const WRITER: &str = "---
kind: agent
name: writer
description: Writes.
completion: tool
tools: [write_file]
run: { maxTurns: 200 }
---
You write.
";

/// Writes of the run, one a turn.
const WRITES: u64 = 8;

const KILLS: u64 = 6;

/// Adds its line once, as long as there is none, and takes a moment for it.
const ADDS: &str = r#"import json, sys, time
asked = json.load(sys.stdin)["tool_input"]
time.sleep(0.05)
if LINE not in asked["content"]:
    asked["content"] += LINE
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": asked}}))
"#;

/// Writes down what it was asked about.
const GUARD: &str = r#"import json, sys
asked = json.load(sys.stdin)["tool_input"]
with open(LEDGER, "a") as ledger:
    ledger.write(json.dumps(asked["content"]) + "\n")
"#;

fn seen(ledger: &Path) -> Vec<String> {
    let text = fs::read_to_string(ledger).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_of_changers_that_agree_the_daemon_comes_to_the_same() {
    let seed = Seed::new();
    let mut chance = Chance::new(seed.0);
    let home = Home::new();
    let ledger = home.path("ledger.jsonl");
    let script = |name: &str, text: &str, word: &str, value: &str| {
        fs::write(home.path(name), text.replace(word, &format!("{value:?}"))).unwrap();
        json!({ "type": "command", "command": format!("python3 {}", home.path(name).display()) })
    };
    let hooks = [
        script("head.py", ADDS, "LINE", " head"),
        script("one.py", ADDS, "LINE", " one"),
        script("two.py", ADDS, "LINE", " two"),
        script("guard.py", GUARD, "LEDGER", ledger.to_str().unwrap()),
    ];
    fs::write(home.path("config/subagentd/agents/writer.md"), WRITER).unwrap();
    fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
    let rules = "[[rule]]\ntool = \"write_file\"\ndecision = \"allow\"\n";
    fs::write(home.path("config/subagentd/policies/all.toml"), rules).unwrap();
    let settings = json!({ "hooks": { "PreToolUse": [{ "hooks": hooks }] } });
    fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
    let call = |name: &str, args: Value| json!({ "functionCall": { "name": name, "args": args } });
    let write = |turn: u64| {
        let args = json!({ "path": format!("file-{turn}"), "content": format!("{turn}") });
        reply(vec![call("write_file", args)], turn + 1)
    };
    let mut turns: Vec<Value> = (0..WRITES).map(write).collect();
    turns.push(reply(vec![call("complete_task", json!({ "result": "all" }))], 1));
    let model = save(&home, "writing", &turns);
    let mut run: Option<String> = None;
    for n in 0..KILLS {
        let served = home.start().await;
        let mut wire = home.connect().await;
        if run.is_none() {
            let start =
                json!({ "workspace": home.work(), "agent": "writer", "model": model, "prompt": "write" });
            run = Some(text(&wire.call("run/start", start).await.unwrap(), "runId").to_owned());
        }
        // Every second life gets something done: a run under which daemons die again and again is ended.
        let before = seen(&ledger).len();
        let more = if n % 2 == 0 { 1 } else { 3 };
        until("the guard is asked", || before + more <= seen(&ledger).len()).await;
        tokio::time::sleep(Duration::from_micros(chance.below(200_000))).await;
        served.kill().await;
        drop(wire);
        let scripts = ["head.py", "one.py", "two.py", "guard.py"].map(|name| home.path(name));
        until("the hooks of a killed daemon are gone", || !scripts.iter().any(|it| runs(it))).await;
    }
    let served = home.start().await;
    let mut wire = home.connect().await;
    wire.ended(&run.unwrap()).await.unwrap();
    let log = wire.log(json!({}), 0).await.unwrap();
    drop(wire);
    served.stop().await;
    if let Err(violations) = laws::check_finished(&log) {
        panic!("{}\n{}", violations.join("\n"), lines(&log));
    }
    let judged = seen(&ledger);
    for turn in 0..WRITES {
        let written = fs::read_to_string(home.work().join(format!("file-{turn}"))).unwrap();
        assert_eq!(written, format!("{turn} two one head"), "SUBAGENTD_SEED={}\n{}", seed.0, lines(&log));
        assert!(judged.contains(&written), "the guard has not judged what ran: {written}");
    }
}
