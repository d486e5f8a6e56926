//! The real programs in a home of their own: how a test starts them, ends them, and talks to them over the socket.
//!
//! Whatever is started here ends with the test, also when it panics: a daemon that a test started with its
//! [`Served`], one that the companion started with the [`Home`].

use std::{
    collections::VecDeque,
    ffi::OsStr,
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    process::{Child, Command},
    time::timeout,
};

use crate::{built, support::STUCK};

/// Reads what it is told to, for as long as a recording goes on.
const READER: &str = "---
kind: agent
name: reader
description: Reads.
completion: tool
tools: [read_file, grep]
run: { maxTurns: 500 }
---
You read.
";

/// The places in the kernel at which the threads of this test's child processes wait, each as `PID COMMAND: PLACE`. They tell a disk
/// that does not answer from a daemon that does not go on.
pub fn waits_of_children() -> Vec<String> {
    let mut waits = Vec::new();
    let own = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let children = own.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    for pid in children.collect::<Vec<String>>().join(" ").split_whitespace() {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for thread in threads.map(|thread| thread.path()) {
            let read = |name: &str| fs::read_to_string(thread.join(name)).unwrap_or_default();
            waits.push(format!("{pid} {}: {}", read("comm").trim(), read("wchan").trim()));
        }
    }
    waits
}

/// The most events of one page of `events/list`.
const PAGE: usize = 1_000;

/// Everything that programs find through their environment, in one folder.
pub struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    /// With the agent `reader`, and a workspace of generated files that a recording may read.
    pub fn new() -> Home {
        let home = Home { dir: tempfile::tempdir().unwrap() };
        for folder in ["work/src", "config/subagentd/agents", "recordings"] {
            fs::create_dir_all(home.path(folder)).unwrap();
        }
        fs::write(home.path("config/subagentd/agents/reader.md"), READER).unwrap();
        home
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    pub fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// Where clients look when nobody tells them.
    pub fn socket(&self) -> PathBuf {
        self.path("run/subagentd/subagentd.sock")
    }

    pub fn state_dir(&self) -> PathBuf {
        self.path("state/subagentd")
    }

    /// What daemons said on stderr so far.
    pub fn daemon_log(&self) -> String {
        fs::read_to_string(self.path("daemon.log")).unwrap_or_default()
    }

    /// A program that finds its places in this home.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", self.dir.path())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .current_dir(self.work())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// The companion, with its output in pipes.
    pub fn companion(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(built::companion());
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A daemon on these places, with its output in pipes.
    pub fn daemon(&self, socket: &Path, state_dir: &Path) -> Command {
        let mut command = self.command(built::daemon());
        command.arg("--socket").arg(socket).arg("--state-dir").arg(state_dir).args(["--ready-fd", "1"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A daemon on this home's places that is ready.
    pub async fn start(&self) -> Served {
        self.start_with(&[]).await
    }

    /// The same, with more in its environment.
    pub async fn start_with(&self, variables: &[(&str, &str)]) -> Served {
        self.start_told(variables, &[]).await
    }

    /// The same, with more on its command line.
    pub async fn start_told(&self, variables: &[(&str, &str)], flags: &[&str]) -> Served {
        let log = OpenOptions::new().create(true).append(true).open(self.path("daemon.log")).unwrap();
        let mut command = self.daemon(&self.socket(), &self.state_dir());
        let mut child = command.envs(variables.iter().copied()).args(flags).stderr(log).spawn().unwrap();
        let mut line = String::new();
        let mut greeting = BufReader::new(child.stdout.take().unwrap());
        timeout(STUCK, greeting.read_line(&mut line)).await.expect("the daemon is not ready").unwrap();
        assert_eq!(line, "ready\n", "{}", self.daemon_log());
        Served { child }
    }

    /// A connection to a daemon that is there.
    pub async fn connect(&self) -> Wire {
        Wire::connect(&self.socket()).await.expect("nobody listens")
    }

    /// The daemon that holds the database of this home, whoever started it.
    pub fn daemon_pid(&self) -> Option<Pid> {
        let pid = fs::read_to_string(self.state_dir().join("lock")).ok()?;
        let pid = pid.trim().parse::<i32>().ok()?;
        // The number may be another's by now; a command line with our socket is ours.
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let socket = self.socket();
        let names_socket =
            command.split(|byte| *byte == 0).any(|word| Path::new(&*String::from_utf8_lossy(word)) == socket);
        names_socket.then(|| Pid::from_raw(pid)).flatten()
    }

    /// Kills the daemon that the companion started; false when there is none.
    pub fn kill_daemon(&self) -> bool {
        self.daemon_pid().is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.kill_daemon();
    }
}

/// A daemon process that a test started.
pub struct Served {
    child: Child,
}

impl Served {
    pub fn pid(&self) -> Pid {
        self.child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).unwrap())).unwrap()
    }

    /// A process that was started by other means.
    pub fn of(child: Child) -> Served {
        Served { child }
    }

    /// SIGHUP, which does not end it.
    pub fn hang_up(&self) {
        kill_process(self.pid(), Signal::HUP).unwrap();
    }

    /// SIGKILL, without a warning.
    pub async fn kill(mut self) {
        self.child.start_kill().unwrap();
        ended(&mut self.child).await;
    }

    /// SIGTERM; answers how it exited.
    pub async fn terminate(mut self) -> ExitStatus {
        kill_process(self.pid(), Signal::TERM).unwrap();
        ended(&mut self.child).await
    }

    /// A stop that must be clean.
    pub async fn stop(self) {
        let status = self.terminate().await;
        assert!(status.success(), "{status}");
    }
}

async fn ended(child: &mut Child) -> ExitStatus {
    timeout(STUCK, child.wait()).await.expect("a process does not end").unwrap()
}

/// What a program that has ended left.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a program to its end.
pub async fn output(command: &mut Command) -> Ended {
    let output = timeout(STUCK, command.output()).await.expect("a process does not end").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The daemon hung up, or nobody listens.
#[derive(Debug)]
pub struct Gone;

/// A client on the socket that survives the daemon's death.
pub struct Wire {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    next_id: u64,
    notifications: VecDeque<Value>,
}

impl Wire {
    pub async fn connect(socket: &Path) -> Result<Wire, Gone> {
        let stream = UnixStream::connect(socket).await.map_err(|_| Gone)?;
        let (reader, writer) = stream.into_split();
        let reader = BufReader::new(reader);
        Ok(Wire { reader, writer, next_id: 1, notifications: VecDeque::new() })
    }

    /// Sends a request and does not wait for the answer.
    pub async fn send(&mut self, method: &str, params: Value) -> Result<u64, Gone> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.writer.write_all(format!("{request}\n").as_bytes()).await.map_err(|_| Gone)?;
        Ok(id)
    }

    /// A line that was cut off is none.
    async fn receive(&mut self) -> Result<Value, Gone> {
        let mut line = String::new();
        let Ok(read) = timeout(STUCK, self.reader.read_line(&mut line)).await else {
            panic!("the daemon says nothing; its threads stand in {:?}", waits_of_children());
        };
        match read {
            Ok(_) if line.ends_with('\n') => Ok(serde_json::from_str(&line).unwrap()),
            _ => Err(Gone),
        }
    }

    /// The whole answer.
    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value, Gone> {
        let id = self.send(method, params).await?;
        self.answer(id).await
    }

    /// The whole answer to a request that was sent.
    pub async fn answer(&mut self, id: u64) -> Result<Value, Gone> {
        loop {
            let message = self.receive().await?;
            if message["id"] == json!(id) {
                return Ok(message);
            }
            self.notifications.push_back(message);
        }
    }

    /// The result; an error fails the test.
    pub async fn call(&mut self, method: &str, params: Value) -> Result<Value, Gone> {
        let message = self.request(method, params).await?;
        assert!(message.get("error").is_none(), "{method}: {message}");
        Ok(message["result"].clone())
    }

    /// The next envelope of any subscription.
    pub async fn event(&mut self) -> Result<Value, Gone> {
        let message = match self.notifications.pop_front() {
            Some(message) => message,
            None => self.receive().await?,
        };
        assert_eq!(message["method"], "event", "{message}");
        Ok(message["params"]["result"].clone())
    }

    /// Envelopes up to and with the first of this type.
    pub async fn events_until(&mut self, kind: &str) -> Result<Vec<Value>, Gone> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await?;
            let is_last = event["type"] == kind;
            events.push(event);
            if is_last {
                return Ok(events);
            }
        }
    }

    /// The record of a run that has ended.
    pub async fn ended(&mut self, run: &str) -> Result<Value, Gone> {
        let waited = self.call("run/wait", json!({ "runId": run, "timeoutMs": 60_000 })).await?;
        assert_eq!(waited["done"], true, "{waited}");
        Ok(waited["run"].clone())
    }

    /// The log from a cursor to its end, page by page. A page may be short because its events are large.
    pub async fn log(&mut self, filter: Value, from: i64) -> Result<Vec<Value>, Gone> {
        let mut events: Vec<Value> = Vec::new();
        loop {
            let from = events.last().map_or(from, |event| event["seq"].as_i64().unwrap());
            let params = json!({ "filter": filter, "from": from, "limit": PAGE });
            let page = self.call("events/list", params).await?;
            let page = page["events"].as_array().unwrap();
            if page.is_empty() {
                return Ok(events);
            }
            events.extend(page.iter().cloned());
        }
    }
}

/// A text of a run, as clients read it.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {value}"))
}
