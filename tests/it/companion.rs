//! Do `subagent` and `subagentd` do together what a person was promised? (Spec 12.)

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    time::timeout,
};

use crate::{
    laws,
    process::{Ended, Home, output, text},
    recording::{Chance, Recording, write_workspace},
    support::STUCK,
};

async fn subagent(home: &Home, arguments: &[&str]) -> Ended {
    output(&mut home.companion(arguments)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_command_starts_the_daemon_and_the_others_find_it() {
    let home = Home::new();
    write_workspace(&home);
    let recording = Recording::write(&home, "short", 6, &mut Chance::new(1));
    let run = ["run", "reader", "-p", "read", "--model", &recording.model];

    let refused = subagent(&home, &["--no-spawn", "list"]).await;
    assert_eq!((refused.code, &*refused.stdout), (Some(69), ""), "{}", refused.stderr);
    assert!(home.daemon_pid().is_none(), "--no-spawn started a daemon");

    let ran = subagent(&home, &run).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout, format!("{}\n", recording.result), "the result stands alone on stdout");
    assert!(ran.stderr.contains("starting"), "{}", ran.stderr);
    let pid = home.daemon_pid().expect("the daemon lives on").as_raw_nonzero();

    let status = subagent(&home, &["status"]).await;
    assert_eq!(status.code, Some(0), "{}", status.stderr);
    assert!(
        status.stdout.contains(&format!("pid {pid}")) && status.stdout.contains("1 ended"),
        "{}",
        status.stdout
    );

    let listed = subagent(&home, &["list"]).await;
    assert!(
        listed.stdout.contains("reader") && listed.stdout.contains("codebase-investigator"),
        "{}",
        listed.stdout
    );

    let pinged = subagent(&home, &["rpc", "ping"]).await;
    let answer: Value = serde_json::from_str(&pinged.stdout).unwrap();
    assert!(answer["at"].is_string(), "{answer}");

    let started = subagent(&home, &["rpc", "events/list", r#"{"filter":{"types":["run.started"]}}"#]).await;
    let started: Value = serde_json::from_str(&started.stdout).unwrap();
    let attached = subagent(&home, &["attach", text(&started["events"][0], "runId")]).await;
    assert_eq!((attached.code, attached.stdout), (Some(0), ran.stdout), "{}", attached.stderr);

    let stopped = subagent(&home, &["stop"]).await;
    assert_eq!((stopped.code, &*stopped.stdout), (Some(0), "stopped\n"), "{}", stopped.stderr);
    assert!(!home.socket().exists(), "the socket was left");
    let status = subagent(&home, &["status"]).await;
    assert_eq!((status.code, &*status.stdout), (Some(69), ""), "{}", status.stderr);
}

#[tokio::test]
async fn missing_model_is_told_with_the_ways_out() {
    let home = Home::new();
    let _served = home.start().await;
    let refused = subagent(&home, &["run", "reader", "-p", "read"]).await;
    assert_eq!((refused.code, &*refused.stdout), (Some(1), ""), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("hint: ") && refused.stderr.contains("--model offline"),
        "{}",
        refused.stderr
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_command_outlives_the_daemon_and_shows_each_event_once() {
    let home = Home::new();
    write_workspace(&home);
    let recording = Recording::write(&home, "long", 60, &mut Chance::new(2));
    let mut command = home.companion(&[
        "run",
        "reader",
        "-p",
        "read",
        "--model",
        &recording.model,
        "--output-format",
        "stream-json",
    ]);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut received: Vec<Value> = Vec::new();
    while let Some(line) = timeout(STUCK, lines.next_line()).await.expect("no event comes").unwrap() {
        received.push(serde_json::from_str(&line).unwrap());
        if received.len() == 60 {
            assert!(home.kill_daemon(), "there is no daemon to kill");
        }
    }
    let ended = timeout(STUCK, child.wait_with_output()).await.unwrap().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{stderr}");
    assert_eq!(stderr, "", "a program that reads events is told nothing but those");

    let record = received.pop().unwrap();
    assert_eq!(
        (&record["reason"], &record["result"]),
        (&json!("GOAL"), &json!(recording.result)),
        "{record}"
    );
    let log = home.connect().await.log(json!({}), 0).await.unwrap();
    laws::check_finished(&log).unwrap_or_else(|broken| panic!("{}", broken.join("\n")));
    laws::check_delivery(&log, 0, &received).unwrap_or_else(|broken| panic!("{}", broken.join("\n")));
    let seen: BTreeSet<&str> = received.iter().map(|event| text(event, "type")).collect();
    assert!(
        seen.contains("run.resumed") && seen.contains("model.textDelta"),
        "the kill hit nothing: {seen:?}"
    );
}
