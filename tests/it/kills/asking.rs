//! What becomes of open questions, and of calls that change files, when the daemon is killed? (Spec 06, "Routing" 7;
//! spec 11, promise 3.)

use std::{collections::BTreeMap, fs, time::Duration};

use serde_json::{Value, json};

use super::{Seed, is_full, of_type};
use crate::{
    laws,
    process::{Home, Wire, text},
    recording::{Chance, Recording},
    support::lines,
};

const WRITER: &str = "---
kind: agent
name: writer
description: Writes.
completion: tool
tools: [write_file, edit_file]
---
You write.
";

/// Edits go without asking, so that they run while writing asks.
const EDITS_RUN: &str = "[[rule]]\ntool = \"edit_file\"\ndecision = \"allow\"\n";

/// What an edit finds once in a file, and leaves behind: done twice, it would be `@begin--`.
const BEFORE: &str = "@begin\n";
const AFTER: &str = "@begin-\n";
/// Bytes of an edited file, so that writing it takes longer than it takes to kill.
const BYTES: usize = 1 << 20;
/// Longest pause before the kill, in microseconds: about as long as an edit takes.
const PAUSE_US: u64 = 60_000;

/// Two runs: the first call of each is answered, then there are five questions and two edits.
struct Scene<'home> {
    home: &'home Home,
    trial: u64,
    filling: String,
}

impl Scene<'_> {
    fn path(&self, name: &str) -> std::path::PathBuf {
        self.home.work().join(format!("trial-{}", self.trial)).join(name)
    }

    async fn start(&self, wire: &mut Wire, name: &str, questions: u64) -> (String, String) {
        let edited = self.path(&format!("{name}-edited"));
        fs::create_dir_all(edited.parent().unwrap()).unwrap();
        fs::write(&edited, format!("{BEFORE}{}", self.filling)).unwrap();
        let write = |file: String| {
            json!({ "functionCall": { "name": "write_file", "args": {
            "path": self.path(&file), "content": format!("content of {file}\n"),
        } } })
        };
        let mut calls: Vec<Value> = (0..questions).map(|n| write(format!("{name}-{n}"))).collect();
        calls.push(json!({ "functionCall": { "name": "edit_file", "args": {
            "path": edited, "oldString": BEFORE, "newString": AFTER,
        } } }));
        let done = json!({ "functionCall": { "name": "complete_task", "args": { "result": name } } });
        let turns = vec![vec![write(format!("{name}-first"))], calls, vec![done]];
        let model = Recording::write_parts(self.home, &format!("{name}-{}", self.trial), turns);
        let params =
            json!({ "workspace": self.home.work(), "agent": "writer", "model": model, "prompt": "write" });
        let started = wire.call("run/start", params).await.unwrap();
        (text(&started, "runId").to_owned(), text(&started, "sessionId").to_owned())
    }
}

/// What is asked, by id.
async fn open(wire: &mut Wire) -> BTreeMap<String, Value> {
    let listed = wire.call("confirmation/list", json!({})).await.unwrap();
    let questions = listed["confirmations"].as_array().unwrap().iter();
    questions.map(|it| (text(it, "confirmationId").to_owned(), it.clone())).collect()
}

async fn allow(wire: &mut Wire, question: &Value) -> Value {
    let answer = json!({
        "confirmationId": question["confirmationId"], "digest": question["digest"], "outcome": "allowOnce",
    });
    wire.call("confirmation/respond", answer).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_questions_stay_open_and_no_change_is_made_twice() {
    let trials: u64 = if is_full() { 60 } else { 6 };
    let seed = Seed::new();
    let mut chance = Chance::new(seed.0);
    let home = Home::new();
    fs::write(home.path("config/subagentd/agents/writer.md"), WRITER).unwrap();
    fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
    fs::write(home.path("config/subagentd/policies/edits.toml"), EDITS_RUN).unwrap();
    let filling = "0123456789abcde\n".repeat(BYTES / 16);
    let mut came_to: BTreeMap<&str, u32> = BTreeMap::new();
    for trial in 0..trials {
        let scene = Scene { home: &home, trial, filling: filling.clone() };
        let served = home.start().await;
        let mut wire = home.connect().await;
        wire.call("session/attach", json!({ "sessionId": "*", "from": "now" })).await.unwrap();
        let runs = [scene.start(&mut wire, "one", 3).await.0, scene.start(&mut wire, "two", 2).await.0];
        let mut answered = Vec::new();
        let (mut asked, mut editing) = (0, 0);
        while asked < 5 || editing < 2 {
            let event = wire.event().await.unwrap();
            let data = &event["data"];
            match text(&event, "type") {
                "confirmation.requested" if answered.len() < 2 => {
                    let resolution = allow(&mut wire, &data["confirmation"]).await;
                    answered.push((data["confirmation"]["confirmationId"].clone(), resolution));
                }
                "confirmation.requested" => asked += 1,
                "tool.state" if data["to"] == "executing" && data["name"] == "edit_file" => editing += 1,
                _ => (),
            }
        }
        let before = open(&mut wire).await;
        assert_eq!(before.len(), 5);
        // Not for something to happen: to hit another place.
        std::thread::sleep(Duration::from_micros(chance.below(PAUSE_US)));
        served.kill().await;

        let served = home.start().await;
        let mut wire = home.connect().await;
        let after = open(&mut wire).await;
        assert_eq!(json!(after), json!(before), "the same questions are open, as they were");
        for (id, resolution) in &answered {
            let known = wire.call("confirmation/get", json!({ "confirmationId": id })).await.unwrap();
            assert_eq!(known["confirmation"]["resolution"]["outcome"], "allowOnce", "{known}");
            assert_eq!(known["confirmation"]["resolution"]["digest"], resolution["resolution"]["digest"]);
        }
        for question in after.values() {
            assert!(!scene.path(question["details"]["path"].as_str().unwrap()).exists());
            allow(&mut wire, question).await;
        }
        for run in &runs {
            let record = wire.ended(run).await.unwrap();
            assert_eq!(record["reason"], "GOAL", "{record}");
            let log = wire.log(json!({ "runId": run }), 0).await.unwrap();
            laws::check_finished(&log)
                .unwrap_or_else(|broken| panic!("{}\n{}", broken.join("\n"), lines(&log)));
            *came_to.entry(outcome_of_edit(&scene, &log)).or_default() += 1;
            let resolved = of_type(&log, "confirmation.resolved").count();
            assert_eq!(resolved, of_type(&log, "confirmation.requested").count());
        }
        for (name, questions) in [("one", 3), ("two", 2)] {
            let files = (0..questions).map(|n| format!("{name}-{n}")).chain([format!("{name}-first")]);
            for file in files {
                assert_eq!(fs::read_to_string(scene.path(&file)).unwrap(), format!("content of {file}\n"));
            }
        }
        drop(wire);
        served.stop().await;
    }
    eprintln!(
        "{trials} kills, each with five open questions and two edits: {came_to:?}; SUBAGENTD_SEED={}",
        seed.0
    );
    assert!(came_to.keys().any(|what| *what != "done"), "no kill hit a running edit: {came_to:?}");
}

/// Holds what the log says of the run's edit to what is in the file.
fn outcome_of_edit(scene: &Scene<'_>, log: &[Value]) -> &'static str {
    let states = of_type(log, "tool.state").filter(|event| event["data"]["name"] == "edit_file");
    let states: Vec<&Value> = states.map(|event| &event["data"]).collect();
    assert_eq!(states.iter().filter(|state| state["to"] == "executing").count(), 1, "{states:?}");
    let end = states.last().unwrap();
    let path = states[0]["arguments"]["path"].as_str().unwrap();
    let content = fs::read_to_string(path).unwrap();
    let is_told = of_type(log, "file.changed").any(|event| event["data"]["path"] == path);
    let is_written = content == format!("{AFTER}{}", scene.filling);
    assert!(
        is_written || content == format!("{BEFORE}{}", scene.filling),
        "{path} is neither as before nor as after"
    );
    assert_eq!(is_told, is_written, "what the log says of {path} is not so: {end}");
    if end["to"] == "success" {
        assert!(is_written, "{path} was to be changed");
        return "done";
    }
    assert_eq!(end["error"]["type"], "INTERRUPTED", "{end}");
    let told = end["error"]["message"].as_str().unwrap();
    let (said, what) = match is_written {
        true => (format!("it had changed `{path}`"), "interrupted, and had changed the file"),
        false if told.contains("what it did is unknown") => {
            ("what it did is unknown".to_owned(), "interrupted, before it kept anything")
        }
        false => (format!("it had not changed `{path}`"), "interrupted, and had not changed the file"),
    };
    assert!(told.contains(&said), "{told}");
    what
}
