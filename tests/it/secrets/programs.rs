//! The real program: secrets of its own environment and settings, and a log that says all there is to say.

use std::fs;

use serde_json::json;

use super::planted::{ENVIRONMENT, PATTERN, Search, everything, file_names};
use crate::{
    process::{Home, text},
    recording::Recording,
};

/// Answers what the client heard, what the daemon logged, and what it stored.
async fn plant_and_look(level: &str, is_hidden: bool) -> Search {
    let all = everything();
    let home = Home::new();
    let patterns = if is_hidden { vec![PATTERN] } else { vec![] };
    let settings = json!({ "redaction": { "patterns": patterns } });
    fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
    fs::write(home.work().join("all.txt"), &all).unwrap();
    for name in file_names() {
        fs::write(home.work().join(&name), &name).unwrap();
    }
    let pieces: Vec<char> = all.chars().collect();
    let mut parts: Vec<_> =
        pieces.chunks(5).map(|piece| json!({ "text": piece.iter().collect::<String>() })).collect();
    parts.push(json!({ "functionCall": { "name": "read_file", "args": { "path": "all.txt" } } }));
    for name in file_names() {
        parts.push(json!({ "functionCall": { "name": "read_file", "args": { "path": name } } }));
    }
    parts.push(json!({ "functionCall": { "name": "grep", "args": { "pattern": "this", "context": 2 } } }));
    parts.push(json!({ "functionCall": { "name": all, "args": { all.clone(): all } } }));
    let finished = json!({ "functionCall": { "name": "complete_task", "args": { "result": all } } });
    let recording = Recording::write_parts(&home, "secrets", vec![parts, vec![finished]]);

    let mut variables: Vec<(&str, &str)> = if is_hidden { ENVIRONMENT.to_vec() } else { Vec::new() };
    variables.push(("RUST_LOG", level));
    let served = home.start_with(&variables).await;
    let mut wire = home.connect().await;
    let mut search = Search::new();
    let params = json!({
        "workspace": home.work(), "agent": "reader", "model": recording, "prompt": all,
    });
    let started = wire.call("run/start", params).await.unwrap();
    let (run, session) = (text(&started, "runId"), text(&started, "sessionId"));
    let attach = json!({ "sessionId": session, "from": "start", "deltas": true });
    wire.call("session/attach", attach).await.unwrap();
    for envelope in wire.events_until("run.completed").await.unwrap() {
        search.look_at(envelope["type"].as_str().unwrap(), &envelope);
    }
    let record = wire.ended(run).await.unwrap();
    assert_eq!(record["reason"], "GOAL", "{record}");
    // Also what is refused may be logged.
    wire.send("run/start", json!({ "agent": all, "prompt": 5, all.clone(): all })).await.unwrap();
    wire.call("session/update", json!({ "sessionId": session, "title": all })).await.unwrap();
    let logs = wire.call("daemon/logs", json!({ "lines": 4096 })).await.unwrap();
    search.look_at("daemon/logs", &logs);
    drop(wire);
    served.stop().await;
    let log = home.daemon_log();
    assert!(log.contains("listening"), "{log}");
    search.look("stderr", log.as_bytes());
    search.look_into(&home.state_dir());
    search
}

#[tokio::test]
async fn a_daemon_tells_no_secret_of_its_environment_at_debug() {
    plant_and_look("debug", true).await.assert_clean();
}

#[tokio::test]
async fn a_daemon_tells_no_secret_of_its_environment_at_trace() {
    plant_and_look("trace", true).await.assert_clean();
}

/// The search can fail: what the daemon was not told to be secret is found.
#[tokio::test]
async fn what_is_no_secret_of_the_daemon_is_found() {
    let found = plant_and_look("info", false).await.names();
    // Shapes of keys are known without being told.
    let told =
        ["SERVICE_TOKEN", "PASSPHRASE", "LINES_KEY", "DATABASE_URL", "ALIGNED_TOKEN_0", "ALIGNED_TOKEN_1"];
    let more = ["ALIGNED_TOKEN_2", "QUERY_PASSWORD", "pattern"];
    assert_eq!(found, told.into_iter().chain(more).collect());
}
