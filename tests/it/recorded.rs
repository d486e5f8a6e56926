//! What models say is recorded with the run, its children and what comes after a restart, and plays the same
//! (spec 04, "`replay` and recording").

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc};

use serde_json::{Value, json};
use subagentd::{
    models::{ModelError, ReplyPart},
    protocol::FinishReason,
};
use tokio::sync::Semaphore;

use crate::{
    companion_runs::Place,
    support::{Cast, House, Reply, Script},
};

fn agent(name: &str, tools: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: Does {name} things.\ncompletion: tool\ntools: [{tools}]\n---\nYou are {name}.\n"
    )
}

fn house(cast: &Cast) -> House {
    House::new()
        .model("script", cast)
        .agent("lead", &agent("lead", "worker"))
        .agent("worker", &agent("worker", "worker"))
}

fn call_worker(prompt: &str) -> (&'static str, Value) {
    ("worker", json!({ "prompt": prompt }))
}

fn read(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_path(lines: &[Value], path: &str) -> usize {
    lines.iter().filter(|line| line["path"] == path).count()
}

#[tokio::test]
async fn a_tree_of_runs_is_recorded_by_path_and_plays_the_same() {
    let thinks = Reply::Parts(vec![
        ReplyPart::Thought { text: "Let me see.".to_owned(), signature: Some("c2ln".to_owned()) },
        ReplyPart::Text("größer · 漢字".to_owned()),
        ReplyPart::ToolCall {
            provider_call_id: Some("c1".to_owned()),
            name: "complete_task".into(),
            arguments: json!({ "result": "two" }),
            signature: None,
        },
    ]);
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[call_worker("a"), call_worker("b")]), Reply::done("whole")]),
        ("lead#1/worker#1", vec![Reply::says("Well."), Reply::done("one")]),
        ("lead#1/worker#2", vec![thinks]),
    ]);
    let house = house(&cast);
    let file = house.work().join("../run.jsonl");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({ "record": file })).await;
    let first = client.ended(&run).await;
    assert_eq!((&first["reason"], &first["result"]), (&json!("GOAL"), &json!("whole")));

    let lines = read(&file);
    assert_eq!(of_path(&lines, "lead#1"), 2, "{lines:#?}");
    assert!(1 <= of_path(&lines, "lead#1/worker#1"), "{lines:#?}");
    assert_eq!(of_path(&lines, "lead#1/worker#2"), 1, "{lines:#?}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let mut gists = Vec::new();
    for model in ["replay", "replay+strict"] {
        let model = format!("{model}:{}", fs::canonicalize(&file).unwrap().display());
        let (played, session) = client.start(&running, "lead", json!({ "model": model })).await;
        let record = client.ended(&played).await;
        for field in ["reason", "result", "usage", "turns", "toolCalls"] {
            assert_eq!(record[field], first[field], "{model}: {field}: {record}");
        }
        let history = client.call("session/history", json!({ "sessionId": session })).await;
        gists.push(history.to_string().contains("worker"));
    }
    assert_eq!(gists, [true, true]);
    running.stop().await;
}

#[tokio::test]
async fn a_run_goes_on_being_recorded_after_a_restart() {
    let gate = Arc::new(Semaphore::new(0));
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[call_worker("x")]), Reply::done("whole")]),
        ("lead/worker", vec![Reply::after(&gate, Reply::done("half"))]),
    ]);
    let house = house(&cast);
    let file = house.work().join("../run.jsonl");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({ "record": file })).await;
    cast.asked("lead/worker").await;
    assert_eq!(read(&file).len(), 1);
    running.stop_unfinished().await;
    // A line that a crash has cut off.
    let whole = fs::read(&file).unwrap();
    fs::write(&file, [&whole[..], b"{\"method\":\"gener"].concat()).unwrap();

    let running = house.boot().await;
    let mut client = running.client();
    cast.asked("lead/worker").await;
    gate.add_permits(1);
    assert_eq!(client.ended(&run).await["result"], "whole");
    let lines = read(&file);
    let paths: Vec<&str> = lines.iter().map(|line| line["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["lead#1", "lead#1/worker#1", "lead#1"]);
    let model = format!("replay:{}", fs::canonicalize(&file).unwrap().display());
    let (played, _) = client.start(&running, "lead", json!({ "model": model })).await;
    assert_eq!(client.ended(&played).await["result"], "whole");
    running.stop().await;
}

#[tokio::test]
async fn a_run_goes_on_when_its_recording_cannot() {
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[call_worker("x")]), Reply::done("whole")]),
        ("lead/worker", vec![Reply::Hangs]),
    ]);
    let house = house(&cast);
    let folder = house.work().join("../recordings");
    fs::create_dir(&folder).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({ "record": folder.join("run.jsonl") })).await;
    cast.asked("lead/worker").await;
    running.stop_unfinished().await;
    fs::remove_dir_all(&folder).unwrap();
    cast.replace("lead/worker", vec![Reply::done("half")]);

    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.ended(&run).await["result"], "whole");
    assert!(!folder.exists());
    running.stop().await;
}

#[tokio::test]
async fn what_cannot_be_recorded_into_starts_nothing() {
    let cast = Cast::new([("lead", vec![Reply::Hangs])]);
    let house = house(&cast);
    let running = house.boot().await;
    let mut client = running.client();
    let full = running.work().join("full.jsonl");
    fs::write(&full, "mine\n").unwrap();
    for (path, expected) in [
        ("run.jsonl".to_owned(), "not an absolute path"),
        (full.display().to_string(), "not empty"),
        (running.work().join("no/run.jsonl").display().to_string(), "its folder does not exist"),
        (running.work().display().to_string(), "no regular file"),
    ] {
        let params = json!({ "workspace": running.work(), "agent": "lead", "prompt": "p", "model": "script", "record": path });
        let (kind, error) = client.refused("run/start", params).await;
        assert_eq!(kind, "INVALID_PARAMS", "{error}");
        let violation = &error["data"]["details"]["violations"][0];
        assert_eq!(violation["pointer"], "/record", "{error}");
        assert!(violation["message"].as_str().unwrap().contains(expected), "{error}");
    }
    assert_eq!(fs::read_to_string(&full).unwrap(), "mine\n");
    assert_eq!(client.call("run/list", json!({})).await["runs"], json!([]));

    // A file that a living run writes is not another one's.
    let file = running.work().join("../run.jsonl");
    let (run, _) = client.start(&running, "lead", json!({ "record": file })).await;
    cast.asked("lead").await;
    let params = json!({ "workspace": running.work(), "agent": "lead", "prompt": "p", "model": "script", "record": file });
    let (_, error) = client.refused("run/start", params).await;
    assert!(error.to_string().contains("is being written by another run"), "{error}");
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    running.stop().await;
}

#[tokio::test]
async fn a_reply_that_was_of_no_use_is_recorded_and_passed_over() {
    let unusable = ModelError::Unusable { message: "the response is empty".to_owned() };
    let script = Script::new([Reply::Fails(unusable), Reply::done("found")]);
    let (house, clock) = House::new().script(&script).agent("lead", &agent("lead", "")).manual_clock();
    let file = house.work().join("../run.jsonl");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({ "record": file })).await;
    script.asked().await;
    script.skip();
    let passing = |record: &Value| {
        clock.advance(std::time::Duration::from_secs(1));
        record["state"] == "ended"
    };
    let record = client.until("run/get", json!({ "runId": run }), passing).await;
    assert_eq!(record["result"], "found");
    assert_eq!(read(&file).len(), 2);
    for model in ["replay", "replay+strict"] {
        let model = format!("{model}:{}", fs::canonicalize(&file).unwrap().display());
        let (played, _) = client.start(&running, "lead", json!({ "model": model })).await;
        assert_eq!(client.ended(&played).await["result"], "found");
    }
    running.stop().await;
}

/// A recording of these replies; `path` is the run's.
fn recording(folder: &Path, name: &str, path: Option<&str>, replies: &[Value]) -> String {
    let file = folder.join(name);
    let line = |parts: &Value| {
        let response = json!([{ "candidates": [{ "content": { "parts": parts }, "finishReason": "STOP" }] }]);
        let mut line = json!({ "method": "generateContentStream", "response": response });
        if let Some(path) = path {
            line["path"] = json!(path);
        }
        format!("{line}\n")
    };
    fs::write(&file, replies.iter().map(line).collect::<String>()).unwrap();
    fs::canonicalize(&file).unwrap().display().to_string()
}

#[tokio::test]
async fn a_recorded_reply_that_babbles_is_played_once() {
    let babble = "I will now look into the file to see what is in it. ".repeat(30);
    let babble = json!([{ "text": babble }]);
    let done = json!([{ "functionCall": { "name": "complete_task", "args": { "result": "found" } } }]);
    let house = House::new().agent("lead", &agent("lead", ""));
    let folder = house.work().join("..");
    let running = house.boot().await;
    let mut client = running.client();
    for (name, path) in [("paths.jsonl", Some("lead#1")), ("none.jsonl", None)] {
        let file = recording(&folder, name, path, &[babble.clone(), done.clone()]);
        for model in ["replay", "replay+strict"] {
            let (played, _) =
                client.start(&running, "lead", json!({ "model": format!("{model}:{file}") })).await;
            let end = client.ended(&played).await;
            assert_eq!(
                (&end["reason"], &end["result"]),
                (&json!("GOAL"), &json!("found")),
                "{model} {name}: {end}"
            );
        }
    }
    running.stop().await;
}

/// A house in which these settings hold.
fn settled(house: House, settings: &Value) -> House {
    house.settings(settings)
}

const TALKER: &str =
    "---\nkind: agent\nname: talker\ndescription: Talks.\ncompletion: message\ntools: []\n---\nYou talk.\n";

#[tokio::test]
async fn questions_that_came_to_nothing_are_played_as_well() {
    let refuses = |words: &str| Reply::Says {
        chunks: vec!["no".to_owned()],
        thought: None,
        calls: Vec::new(),
        finish: FinishReason::Refused { message: words.to_owned() },
    };
    let speaker = |who: &str| Reply::says(&json!({ "reasoning": "", "next_speaker": who }).to_string());
    let small = Script::new([refuses("SAFETY"), speaker("model"), speaker("model"), refuses("OTHERS")]);
    let script =
        Script::new([Reply::says("I will look."), Reply::says("I look again."), Reply::says("It is blue.")]);
    let models = |of_turns: &str, small: &str| {
        json!({
            "models": { "default": of_turns, "small": small, "auto": { "fast": of_turns, "strong": of_turns } },
            "nextSpeakerCheck": true,
        })
    };
    let house = House::new().script(&script).model("small", &small).agent("talker", TALKER);
    let house = settled(house, &models("script", "small"));
    let file = house.work().join("../run.jsonl");
    let running = house.boot().await;
    let mut client = running.client();
    let params = json!({ "model": "auto", "prompt": "which colour?", "record": file });
    let (run, _) = client.start(&running, "talker", params).await;
    let first = client.ended(&run).await;
    assert_eq!((&first["result"], &first["turns"]), (&json!("It is blue."), &json!(3)), "{first}");
    running.stop().await;
    let methods: Vec<Value> = read(&file).iter().map(|line| line["method"].clone()).collect();
    let (turn, question) = ("generateContentStream", "generateContent");
    assert_eq!(methods, [question, turn, question, turn, question, turn, question]);

    for model in ["replay", "replay+strict"] {
        let model = format!("{model}:{}", fs::canonicalize(&file).unwrap().display());
        let house = settled(House::new().agent("talker", TALKER), &models(&model, &model));
        let running = house.boot().await;
        let mut client = running.client();
        let (run, _) = client.start(&running, "talker", json!({ "model": "auto" })).await;
        let played = client.ended(&run).await;
        for field in ["reason", "result", "usage", "turns"] {
            assert_eq!(played[field], first[field], "{model}: {field}: {played}");
        }
        running.stop().await;
    }
}

#[tokio::test]
async fn the_companion_records_where_the_person_stands() {
    let place = Place::with([Reply::done("found")]).await;
    let ended = place.run("look", &["--record", "run.jsonl"]).await;
    assert_eq!((ended.code, &*ended.stdout), (Some(0), "found\n"), "{}", ended.stderr);
    assert_eq!(read(&place.home.work().join("run.jsonl")).len(), 1);
    let again = place.run("look", &["--record", "run.jsonl"]).await;
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    assert!(again.stderr.contains("is not empty"), "{}", again.stderr);
    place.running.stop().await;
}
