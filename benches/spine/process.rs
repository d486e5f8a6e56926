//! What does the real binary take: time to be ready, memory after a run, memory for a client that watches?

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use serde_json::json;
use subagentd::protocol::PROTOCOL_VERSIONS;
use tempfile::TempDir;

use crate::{
    ground::{self, now, since},
    house::{Client, client_runtime},
    table::{Row, Table, median, percentile},
};

const STARTS: usize = counted!(15, 1);
const WATCHERS: usize = counted!(500, 10);
const BINARY: &str = env!("CARGO_BIN_EXE_subagentd");

/// The binary, with a home of its own.
struct Process {
    child: Child,
    socket: PathBuf,
}

impl Process {
    /// Starts it and waits until it says that it is ready; how long that took.
    fn start(home: &Path, socket: PathBuf) -> anyhow::Result<(Process, Duration)> {
        let began = now();
        let mut child = Command::new(BINARY)
            .args(["--ready-fd", "1", "--socket"])
            .arg(&socket)
            .env_clear()
            .env("HOME", home)
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().context("stdout was asked for")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let took = since(began);
        // Owned before it is judged, so that it is ended in any case.
        let process = Process { child, socket };
        ensure!(line == "ready\n", "the daemon did not start: {line:?}");
        Ok((process, took))
    }

    fn kib(&self, field: &str) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(field)).context("no such field")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    async fn stop(mut self) -> anyhow::Result<()> {
        Client::connect(&self.socket).await?.call("daemon/shutdown", json!({})).await?;
        ensure!(self.child.wait()?.success(), "the daemon did not end well");
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing is left to end when it was stopped.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let home = ground::folder()?;
    let sockets = ground::socket_folder()?;
    start_times(table, home.path(), &sockets)?;
    memory(table, home.path(), &sockets)
}

fn start_times(table: &mut Table, home: &Path, sockets: &TempDir) -> anyhow::Result<()> {
    let mut bare = Vec::new();
    for _ in 0..STARTS {
        let began = now();
        Command::new(BINARY).arg("--version").stdout(Stdio::null()).status()?;
        bare.push(since(began));
    }
    let mut times = Vec::new();
    for _ in 0..=STARTS {
        let (process, took) = Process::start(home, sockets.path().join("s"))?;
        client_runtime()?.block_on(process.stop())?;
        times.push(took);
    }
    // The first one makes the database.
    let (first, later) = times.split_at(1);
    table.row(Row {
        name: "ready from exec, p50",
        figure: median(later),
        bound: 30.0,
        unit: "ms",
        is_rate: false,
        baseline: Some(("--version", median(&bare))),
        note: format!("p90 {:.1}; the first, in an empty home: {:.1}", percentile(later, 0.9), median(first)),
    });
    Ok(())
}

fn memory(table: &mut Table, home: &Path, sockets: &TempDir) -> anyhow::Result<()> {
    let (process, _) = Process::start(home, sockets.path().join("s"))?;
    let before = (process.kib("RssAnon:")? / 1_024.0, process.kib("VmRSS:")? / 1_024.0);
    let runtime = client_runtime()?;
    let session = runtime.block_on(investigate(&process.socket))?;
    let (anon, resident) = (process.kib("RssAnon:")?, process.kib("VmRSS:")?);
    for (name, figure, bound, before) in [
        ("RssAnon after one run", anon / 1_024.0, 12.0, before.0),
        ("RSS after one run", resident / 1_024.0, 30.0, before.1),
    ] {
        let note = format!("threads {}", process.kib("Threads:")?);
        let baseline = Some(("before the run", before));
        table.row(Row { name, figure, bound, unit: "MB", is_rate: false, baseline, note });
    }
    runtime.block_on(async {
        let mut watchers = Vec::with_capacity(WATCHERS);
        for _ in 0..WATCHERS {
            let mut client = Client::connect(&process.socket).await?;
            let hello = json!({ "protocolVersion": PROTOCOL_VERSIONS[0], "client": { "name": "bench", "version": "1", "kind": "script" } });
            client.call("initialize", hello).await?;
            client.call("session/attach", json!({ "sessionId": session, "deltas": true })).await?;
            client.until("signal.snapshot").await?;
            watchers.push(client);
        }
        table.row(Row {
            name: "an attached client, mean of 500",
            figure: (process.kib("RssAnon:")? - anon) / WATCHERS as f64,
            bound: 32.0,
            unit: "KB",
            is_rate: false,
            baseline: None,
            note: String::new(),
        });
        drop(watchers);
        anyhow::Ok(())
    })?;
    runtime.block_on(process.stop())
}

/// One run as a user's first: the investigator with the model that needs no key, over this package's sources.
async fn investigate(socket: &Path) -> anyhow::Result<String> {
    let mut client = Client::connect(socket).await?;
    let start = json!({
        "workspace": concat!(env!("CARGO_MANIFEST_DIR"), "/src"), "agent": "codebase-investigator",
        "model": "offline", "prompt": "Where are events committed before anything acts on them?",
    });
    let started = client.call("run/start", start).await?;
    let waited = client.call("run/wait", json!({ "runId": started["runId"], "timeoutMs": 60_000 })).await?;
    ensure!(waited["run"]["reason"] == "GOAL", "{waited}");
    Ok(started["sessionId"].as_str().unwrap_or_default().to_owned())
}
