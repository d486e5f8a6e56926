//! Does a run come out the same where the daemon is killed in the middle of a hook, whatever the event and whatever the hook says?
//!
//! `SUBAGENTD_TRIALS=full` kills in each scene ten times instead of once; `SUBAGENTD_SEED` chooses again what a failure chose.

use std::{fs, time::Duration};

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::{
    kills::{ledger, runs, until},
    told, without_ids,
};
use crate::{
    kills::{Seed, is_full},
    process::{Home, text},
    recording::{Chance, reply, save},
};

/// Scenes that are played at once.
const AT_ONCE: usize = 4;

const WORKER: &str = "---
kind: agent
name: worker
description: Works.
completion: tool
tools: [read_file, write_file]
---
You work.
";

const TALKER: &str = "---
kind: agent
name: talker
description: Talks.
completion: message
tools: []
---
You talk.
";

const RULES: &str = "[[rule]]\ntool = \"write_file\"\ndecision = \"DECISION\"\n";

/// Says in a ledger by which firing it is asked. The first time it takes longer than the daemon lives.
const HOOK: &str = r#"import json, os, sys, time
asked = json.load(sys.stdin)
ours = asked["subagentd"]
with open(LEDGER, "a") as ledger:
    ledger.write(json.dumps({"firing": ours["firingId"], "attempt": ours["attempt"]}) + "\n")
if IS_SLOW and not os.path.exists(BEGUN):
    open(BEGUN, "w").close()
    time.sleep(120)
def special(**fields):
    print(json.dumps({"hookSpecificOutput": {"hookEventName": asked["hook_event_name"], **fields}}))
def says(**fields):
    print(json.dumps(fields))
"#;

struct KillScene {
    name: &'static str,
    event: &'static str,
    /// Lines of Python that answer.
    answer: &'static str,
    agent: &'static str,
    /// The verdict of the rules on what is written.
    rules: &'static str,
    /// What it says counts as much as that it says something.
    guards: bool,
}

impl KillScene {
    fn is_of_model(&self) -> bool {
        ["BeforeModel", "AfterModel", "BeforeToolSelection"].contains(&self.event)
    }
}

const fn scene(name: &'static str, event: &'static str, answer: &'static str) -> KillScene {
    KillScene { name, event, answer, agent: "worker", rules: "allow", guards: true }
}

/// Every kind of answer of the table in the specification, each at an event that takes it.
const SCENES: &[KillScene] = &[
    scene("a prompt is blocked", "UserPromptSubmit", "says(decision='block', reason='not today')"),
    scene("context for a prompt", "UserPromptSubmit", "special(additionalContext='mind the tests')"),
    scene("context for a session", "SessionStart", "print('it is Friday')"),
    scene("a call is blocked", "PreToolUse", "print('not that', file=sys.stderr); sys.exit(2)"),
    scene(
        "a person is asked",
        "PreToolUse",
        "special(permissionDecision='ask', permissionDecisionReason='look')",
    ),
    scene(
        "arguments are rewritten",
        "PreToolUse",
        "special(permissionDecision='allow', updatedInput={'file_path': 'c.txt', 'content': 'other'}) if asked['tool_name'] == 'Write' else None",
    ),
    KillScene {
        rules: "ask",
        ..scene(
            "a question is answered",
            "PermissionRequest",
            "special(decision={'behavior': 'deny', 'message': 'never'})",
        )
    },
    KillScene {
        rules: "deny",
        ..scene("a refused call may be tried again", "PermissionDenied", "special(retry=True)")
    },
    scene("a result gets context", "PostToolUse", "special(additionalContext='and mind this')"),
    scene("a result is another", "PostToolUse", "special(updatedToolOutput='hidden')"),
    scene("a result is withheld", "PostToolUse", "says(decision='block', reason='private')"),
    scene(
        "a call follows",
        "AfterTool",
        "special(tailToolCallRequest={'name': 'write_file', 'args': {'file_path': 'tail.txt', 'content': 'x'}}) if asked['tool_name'] == 'read_file' else None",
    ),
    scene("the run is stopped", "PostToolBatch", "says(**{'continue': False, 'stopReason': 'enough'})"),
    scene(
        "the end is put off",
        "Stop",
        "says(decision='block', reason='go on') if not asked['stop_hook_active'] else None",
    ),
    KillScene {
        agent: "talker",
        ..scene(
            "the hook answers for the model",
            "BeforeModel",
            "special(llm_response={'text': 'said by the hook'})",
        )
    },
    KillScene {
        agent: "talker",
        ..scene("an answer is redacted", "AfterModel", "special(llm_response={'text': 'with [gone] in it'})")
    },
    scene("no tools", "BeforeToolSelection", "special(toolConfig={'mode': 'NONE'})"),
];

struct PlayedScene {
    told: String,
    log: Vec<Value>,
    /// Firings and attempts, as the hook was asked.
    asked: Vec<(String, u64)>,
    files: Vec<String>,
}

async fn play(scene: &KillScene, delay: Option<Duration>) -> PlayedScene {
    let home = Home::new();
    let (script, record, begun) = (home.path("hook.py"), home.path("ledger.jsonl"), home.path("begun"));
    let python = |path: &std::path::Path| format!("{:?}", path.to_string_lossy());
    let code = HOOK
        .replace("LEDGER", &python(&record))
        .replace("BEGUN", &python(&begun))
        .replace("IS_SLOW", if delay.is_some() { "True" } else { "False" });
    fs::write(&script, format!("{code}{}\n", scene.answer)).unwrap();
    let agents = home.path("config/subagentd/agents");
    fs::write(agents.join("worker.md"), WORKER).unwrap();
    fs::write(agents.join("talker.md"), TALKER).unwrap();
    fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
    fs::write(home.path("config/subagentd/policies/all.toml"), RULES.replace("DECISION", scene.rules))
        .unwrap();
    let command = format!("python3 {}", script.display());
    // A guard is asked again; who guards nothing is told once at most.
    let mut hook = json!({ "type": "command", "command": command });
    if scene.guards {
        hook["onFailure"] = json!("block");
    }
    let hooks = json!({ scene.event: [{ "hooks": [hook] }] });
    fs::write(home.path("config/subagentd/settings.json"), json!({ "hooks": hooks }).to_string()).unwrap();
    fs::write(home.work().join("in.txt"), "alpha\n").unwrap();
    let call = |name: &str, args: Value| json!({ "functionCall": { "name": name, "args": args } });
    let turns = match scene.agent {
        "talker" => vec![reply(vec![json!({ "text": "with a SECRET in it" })], 1)],
        _ => vec![
            reply(vec![call("read_file", json!({ "path": "in.txt" }))], 1),
            reply(vec![call("write_file", json!({ "path": "out.txt", "content": "x" }))], 2),
            reply(vec![call("complete_task", json!({ "result": "all" }))], 3),
            reply(vec![call("complete_task", json!({ "result": "all the same" }))], 4),
        ],
    };
    let start = json!({
        "workspace": home.work(), "agent": scene.agent, "model": save(&home, "played", &turns), "prompt": "go",
        "approval": { "headless": true },
    });
    let mut served = home.start().await;
    let mut wire = home.connect().await;
    let run = text(&wire.call("run/start", start).await.unwrap(), "runId").to_owned();
    if let Some(delay) = delay {
        until("the hook is asked", || begun.exists()).await;
        tokio::time::sleep(delay).await;
        served.kill().await;
        drop(wire);
        until("the hook of a killed daemon is gone", || !runs(&script)).await;
        served = home.start().await;
        wire = home.connect().await;
    }
    wire.ended(&run).await.unwrap();
    let log = wire.log(json!({ "runId": run }), 0).await.unwrap();
    drop(wire);
    served.stop().await;
    let told = without_ids(&told(&log)).replace(&*home.path("").to_string_lossy(), "HOME/");
    let mut files: Vec<String> = fs::read_dir(home.work())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    files.sort();
    PlayedScene { told, log, asked: ledger(&record), files }
}

/// What is not as it must be.
async fn interrupted(scene: &KillScene, delay: Duration) -> Vec<String> {
    let (plain, killed) = tokio::join!(play(scene, None), play(scene, Some(delay)));
    let mut wrong = Vec::new();
    if plain.told != killed.told || plain.files != killed.files {
        wrong.push(format!(
            "without a kill:\n{}{:?}\nwith one:\n{}{:?}",
            plain.told, plain.files, killed.told, killed.files
        ));
    }
    match &killed.asked[..] {
        // A request that is made anew is another one.
        [(first, 1), (second, 1), ..] if scene.is_of_model() && first != second => {}
        [(first, 1), (second, 2), rest @ ..]
            if first == second && rest.iter().all(|(_, attempt)| *attempt == 1) => {}
        asked => wrong.push(format!("the hook was asked so: {asked:?}")),
    }
    if plain.asked.len() + 1 != killed.asked.len() {
        wrong.push(format!(
            "asked {} times without a kill, {} with one",
            plain.asked.len(),
            killed.asked.len()
        ));
    }
    let mut firings: Vec<&str> = killed
        .log
        .iter()
        .filter(|event| event["type"] == "hook.fired")
        .map(|event| text(&event["data"], "firingId"))
        .collect();
    let n_fired = firings.len();
    firings.sort_unstable();
    firings.dedup();
    if firings.len() != n_fired || n_fired == 0 {
        wrong.push(format!("{n_fired} verdicts of {} firings", firings.len()));
    }
    wrong.into_iter().map(|why| format!("{} ({}, {delay:?}): {why}", scene.name, scene.event)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_of_any_hook_a_run_comes_out_the_same() {
    let n_rounds = if is_full() { 10 } else { 1 };
    let seed = Seed::new();
    let mut chance = Chance::new(seed.0);
    let rounds: Vec<(&KillScene, Duration)> = (0..n_rounds)
        .flat_map(|_| SCENES)
        .map(|scene| (scene, Duration::from_micros(chance.below(30_000))))
        .collect();
    let n_kills = rounds.len();
    let wrong: Vec<Vec<String>> = stream::iter(rounds)
        .map(|(scene, delay)| interrupted(scene, delay))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let wrong = wrong.concat();
    eprintln!(
        "{n_kills} kills in {} scenes; {} violations; SUBAGENTD_SEED={}",
        SCENES.len(),
        wrong.len(),
        seed.0
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Who guards nothing is told once at most, and the log says that nobody knows whether it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_it_tells_somebody_the_daemon_tells_them_once() {
    for (event, answer) in [
        ("PostToolBatch", "special(additionalContext='seen')"),
        ("PostToolUse", "special(additionalContext='seen')"),
        ("Stop", "special(additionalContext='seen')"),
    ] {
        let watcher = KillScene { guards: false, ..scene("a watcher", event, answer) };
        let killed = play(&watcher, Some(Duration::ZERO)).await;
        let mut asked: Vec<&str> = killed.asked.iter().map(|(firing, _)| firing.as_str()).collect();
        let n_asked = asked.len();
        asked.dedup();
        assert_eq!(asked.len(), n_asked, "{event}: {:?}", killed.asked);
        // One that takes long is told of before it has ended, too.
        let of_first = |it: &&Value| it["type"] == "hook.fired" && it["data"]["firingId"] == asked[0];
        let fired: Vec<&Value> = killed.log.iter().filter(of_first).collect();
        assert!(fired.len() == 1 && fired[0]["data"]["outcome"] == "interrupted", "{event}: {fired:?}");
    }
}
