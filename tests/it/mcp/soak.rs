//! Does anything of a run's own servers outlive it? (Spec 07; 11, promise 11.)
//!
//! In a daemon of its own process, whose files and processes are counted before and after, and beside it the folders that servers
//! get. `SUBAGENTD_TRIALS=full` has 500 runs.

use std::{fs, time::Duration};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{agent, server};
use crate::{
    built,
    kills::is_full,
    process::{Home, Served, text},
    recording::Recording,
    soak::children,
    support::STUCK,
};

/// Clients at once, each with one run after the other.
const CLIENTS: usize = 4;

/// Files that the daemon has open, its processes, the folders of its servers, and servers that it knows of.
async fn counts(home: &Home, served: &Served) -> [usize; 4] {
    let pid = served.pid().as_raw_nonzero().get();
    let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let folders = fs::read_dir(home.path("tmp")).unwrap().count();
    let mut wire = home.connect().await;
    let listed = wire.call("mcp/list", json!({ "workspace": home.work() })).await.unwrap();
    let servers = listed["servers"].as_array().unwrap().len();
    drop(wire);
    [files, children(u32::try_from(pid).unwrap()), folders, servers]
}

async fn settled(home: &Home, served: &Served) -> [usize; 4] {
    // Where no view is made for each command, a warden waits for the next one.
    let n_spare = usize::from(built::bubblewrap().is_none());
    let settling = async {
        let mut last = counts(home, served).await;
        loop {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let now = counts(home, served).await;
            if now == last && now[1..] == [n_spare, 0, 0] {
                return now;
            }
            last = now;
        }
    };
    tokio::time::timeout(STUCK, settling).await.expect("it does not come to rest")
}

async fn work(home: &Home, model: &str, runs: usize) {
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let runs = (client..runs).step_by(CLIENTS).len();
        let socket = home.socket();
        let params = json!({ "workspace": home.work(), "agent": "user", "model": model, "prompt": "work" });
        clients.spawn(async move {
            for _ in 0..runs {
                let mut wire = crate::process::Wire::connect(&socket).await.unwrap();
                let started = wire.call("run/start", params.clone()).await.unwrap();
                let record: Value = wire.ended(text(&started, "runId")).await.unwrap();
                assert_eq!(record["reason"], "GOAL", "{record}");
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_runs_own_servers_outlives_it() {
    let runs = if is_full() { 500 } else { 24 };
    let home = Home::new();
    fs::create_dir(home.path("tmp")).unwrap();
    let servers = json!({ "one": server::entry("plain"), "two": server::entry("plain") });
    let lines = format!("mcp: {{servers: {servers}}}");
    fs::write(home.path("config/subagentd/agents/user.md"), agent("user", &lines)).unwrap();
    fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
    fs::write(home.path("config/subagentd/policies/all.toml"), super::ALLOW).unwrap();
    let call =
        |name: &str, arguments: Value| vec![json!({ "functionCall": { "name": name, "args": arguments } })];
    let turns = vec![
        call("mcp.one.echo", json!({ "text": "x" })),
        // One of them does not live to the end of its run.
        call("mcp.two.dies", json!({})),
        call("complete_task", json!({ "result": "done" })),
    ];
    let model = Recording::write_parts(&home, "uses", turns);
    let temporary = home.path("tmp").to_string_lossy().into_owned();
    let served = home.start_with(&[("TMPDIR", temporary.as_str())]).await;
    work(&home, &model, CLIENTS * 2).await;
    let before = settled(&home, &served).await;
    work(&home, &model, runs).await;
    let after = settled(&home, &served).await;
    eprintln!("{runs} runs with two servers each: before {before:?}, after {after:?}");
    assert_eq!(before, after, "{}", home.daemon_log());
    served.stop().await;
}
