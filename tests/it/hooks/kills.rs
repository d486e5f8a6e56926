//! Is a guard that was asked when the daemon was killed asked again, and one whose word was written down not?
//!
//! `SUBAGENTD_TRIALS=full` kills 200 times instead of 20; `SUBAGENTD_SEED` chooses again what a failure chose.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    kills::{Seed, is_full},
    laws,
    process::{Home, text},
    recording::{Chance, reply, save},
    support::{STUCK, lines},
};

const WRITER: &str = "---
kind: agent
name: writer
description: Writes.
completion: tool
tools: [write_file]
run: { maxTurns: 2000 }
---
You write.
";

/// Turns of a run: many more than are gone through before the last kill.
const TURNS: u64 = 1_000;

/// Says in a ledger that it was asked and by which firing, takes a moment, and refuses what is forbidden. Then what it writes
/// down is lost with the daemon or kept by it.
const GUARD: &str = r#"import json, os, sys, time
asked = json.load(sys.stdin)
ours = asked["subagentd"]
with open(LEDGER, "a") as ledger:
    ledger.write(json.dumps({"firing": ours["firingId"], "attempt": ours["attempt"]}) + "\n")
time.sleep(0.03)
if "forbidden" in json.dumps(asked["tool_input"]):
    print("forbidden", file=sys.stderr)
    sys.exit(2)
"#;

/// Firings in the order in which the guard was asked, with their attempts.
pub(super) fn ledger(path: &Path) -> Vec<(String, u64)> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    whole.map(|it| (text_of(&it, "firing"), it["attempt"].as_u64().unwrap())).collect()
}

fn text_of(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap().to_owned()
}

/// Whether a process runs this script.
pub(super) fn runs(script: &Path) -> bool {
    let name = script.to_string_lossy().into_owned();
    fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(|entry| {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(&name)
    })
}

/// Waits until something is so.
pub(super) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(STUCK, waiting).await.unwrap_or_else(|_| panic!("never so: {what}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_of_a_guard_the_daemon_asks_it_again_and_skips_none() {
    let n_kills = if is_full() { 200 } else { 20 };
    let seed = Seed::new();
    let mut chance = Chance::new(seed.0);
    let home = Home::new();
    let (script, record) = (home.path("guard.py"), home.path("ledger.jsonl"));
    fs::write(&script, GUARD.replace("LEDGER", &format!("{:?}", record.to_string_lossy()))).unwrap();
    fs::write(home.path("config/subagentd/agents/writer.md"), WRITER).unwrap();
    fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
    fs::write(
        home.path("config/subagentd/policies/all.toml"),
        "[[rule]]\ntool = \"write_file\"\ndecision = \"allow\"\n",
    )
    .unwrap();
    let command = format!("python3 {}", script.display());
    let hooks = json!({ "PreToolUse": [{ "hooks": [{ "type": "command", "command": command }] }] });
    fs::write(home.path("config/subagentd/settings.json"), json!({ "hooks": hooks }).to_string()).unwrap();
    let call = |name: String| {
        let args = json!({ "path": name, "content": "x" });
        json!({ "functionCall": { "name": "write_file", "args": args } })
    };
    let mut turns: Vec<Value> = (0..TURNS)
        .map(|turn| reply(vec![call(format!("fine-{turn}")), call(format!("forbidden-{turn}"))], turn))
        .collect();
    let done = json!({ "functionCall": { "name": "complete_task", "args": { "result": "all" } } });
    turns.push(reply(vec![done], 1));
    let model = save(&home, "writing", &turns);
    let start = json!({ "workspace": home.work(), "agent": "writer", "model": model, "prompt": "write" });

    let mut run: Option<String> = None;
    // How much of the ledger each life of the daemon found.
    let mut found = vec![0];
    let mut begun = 0;
    for n in 0..n_kills {
        let served = home.start().await;
        let mut wire = home.connect().await;
        let is_over = match &run {
            Some(run) => wire.call("run/get", json!({ "runId": run })).await.unwrap()["state"] == "ended",
            None => true,
        };
        if is_over {
            begun += 1;
            run = Some(text(&wire.call("run/start", start.clone()).await.unwrap(), "runId").to_owned());
        }
        let before = ledger(&record).len();
        // Two calls a turn are asked about at once. A run under which three daemons in a row died without its getting further ends
        // with CRASH_LOOP, as it should: every second life at least has a verdict written down.
        let more = if n % 2 == 0 { 1 } else { 3 + usize::try_from(chance.below(4)).unwrap() };
        until("the guard is asked", || before + more <= ledger(&record).len()).await;
        tokio::time::sleep(Duration::from_micros(chance.below(45_000))).await;
        served.kill().await;
        drop(wire);
        until("the guards of a killed daemon are gone", || !runs(&script)).await;
        found.push(ledger(&record).len());
    }
    let served = home.start().await;
    let mut wire = home.connect().await;
    wire.call("run/cancel", json!({ "runId": run.unwrap() })).await.unwrap();
    let listed = wire.log(json!({}), 0).await.unwrap();
    for started in listed.iter().filter(|event| event["type"] == "run.started") {
        wire.ended(text(started, "runId")).await.unwrap();
    }
    let log = wire.log(json!({}), 0).await.unwrap();
    drop(wire);
    served.stop().await;

    let mut violations = laws::check_finished(&log).err().unwrap_or_default();
    // No call ran of which the guard had not said so before.
    let mut verdicts: BTreeMap<&str, &Value> = BTreeMap::new();
    let mut firings = BTreeSet::new();
    for event in &log {
        let data = &event["data"];
        match event["type"].as_str().unwrap() {
            "hook.fired" => {
                if !firings.insert(text_of(data, "firingId")) {
                    violations.push(format!("a verdict was written down twice: {data}"));
                }
                verdicts.insert(text(data, "callId"), data);
            }
            "tool.state" if data["to"] == "executing" && data["name"] == "write_file" => {
                match verdicts.get(text(data, "callId")) {
                    Some(verdict) if verdict["decision"] != "deny" && verdict["outcome"] == "answered" => (),
                    verdict => violations.push(format!("a call ran by {verdict:?}: {data}")),
                }
            }
            _ => (),
        }
    }
    let forbidden = fs::read_dir(home.work()).unwrap().filter_map(Result::ok);
    let forbidden = forbidden.filter(|it| it.file_name().to_string_lossy().starts_with("forbidden")).count();
    if forbidden != 0 {
        violations.push(format!("{forbidden} forbidden files"));
    }
    // What was written down when a daemon began, it asked nobody again.
    let asked = ledger(&record);
    let lives: Vec<&Value> = log.iter().filter(|event| event["type"] == "run.resumed").collect();
    let mut again = 0;
    for (life, from) in found.iter().enumerate().skip(1) {
        let until = found.get(life + 1).copied().unwrap_or(asked.len());
        let Some(resumed) = lives.get(life - 1) else { continue };
        let committed: BTreeSet<String> = log
            .iter()
            .filter(|event| event["type"] == "hook.fired" && event["seq"].as_i64() < resumed["seq"].as_i64())
            .map(|event| text_of(&event["data"], "firingId"))
            .collect();
        for (firing, attempt) in &asked[*from..until] {
            if begun == 1 && committed.contains(firing) {
                violations.push(format!("{firing} was asked again after its verdict was written down"));
            }
            again += u32::from(*attempt != 1);
        }
    }
    eprintln!(
        "{n_kills} kills; {} questions to the guard, {again} of them again; {} verdicts; {} resumes; {} runs; {} violations; \
         SUBAGENTD_SEED={}",
        asked.len(),
        firings.len(),
        lives.len(),
        begun,
        violations.len(),
        seed.0,
    );
    assert!(violations.is_empty(), "{}\n{}\n{}", violations.join("\n"), home.daemon_log(), lines(&log));
    // The kills hit guards that were at work: else all of the above says nothing.
    assert!(1 < again, "no guard was asked when a daemon died");
}
