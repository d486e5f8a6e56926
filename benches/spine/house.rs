//! A daemon in this process, on threads of its own, behind a real socket and a real disk, with a model that takes
//! no time.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use subagentd::{
    agents::AgentPlaces,
    config::Config,
    daemon::{Daemon, Edges, Settings},
    models::Models,
    sys::clock::SystemClock,
    tools::Registry,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    runtime::Runtime,
    time::timeout,
};

use crate::{ground, model::Zero};

/// Longer than anything here takes; reached only by a defect.
const STUCK: Duration = Duration::from_secs(60);

const READER: &str = "---
kind: agent
name: reader
description: Reads.
completion: tool
tools: [read_file]
---
You read.
";

/// A daemon as the binary starts it, on a runtime of its own.
pub struct House {
    runtime: Runtime,
    daemon: Daemon,
    folder: TempDir,
    socket: PathBuf,
    /// Sockets have short paths; the state lies where the disk is.
    _socket_folder: TempDir,
}

impl House {
    pub fn open(model: &Zero) -> anyhow::Result<House> {
        let folder = ground::folder()?;
        let socket_folder = ground::socket_folder()?;
        let socket = socket_folder.path().join("s");
        for name in ["work", "agents"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        std::fs::write(folder.path().join("agents/reader.md"), READER)?;
        for n in 0..20 {
            let text = format!("line of file {n}\n").repeat(40);
            std::fs::write(folder.path().join(format!("work/{n}.txt")), text)?;
        }
        let runtime = ground::daemon_runtime()?;
        let settings = Settings {
            state_dir: folder.path().join("state"),
            agents: AgentPlaces { user: folder.path().join("agents") },
            config: Config::default(),
            problems: Vec::new(),
            redactor: subagentd::redact::Redactor::none(),
        };
        let edges = Edges {
            clock: SystemClock::new(),
            models: Models::new().with_model("zero", Arc::new(model.clone())),
            tools: Registry::built_in(),
        };
        let daemon = runtime.block_on(async {
            let daemon = Daemon::boot(settings, edges).await?;
            daemon.listen(UnixListener::bind(&socket)?, Vec::new());
            anyhow::Ok(daemon)
        })?;
        Ok(House { runtime, daemon, folder, socket, _socket_folder: socket_folder })
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub async fn client(&self) -> anyhow::Result<Client> {
        Client::connect(&self.socket).await
    }

    /// What starts a run of the reading agent.
    pub fn start(&self) -> Value {
        json!({
            "workspace": self.folder.path().join("work"), "agent": "reader", "model": "zero", "prompt": "go",
            "limits": { "maxTurns": 5_000 },
        })
    }

    pub fn close(self) -> anyhow::Result<()> {
        ensure!(self.runtime.block_on(self.daemon.stop()), "something was left in the daemon");
        Ok(())
    }
}

/// The client's side: one thread, as a companion is.
pub fn client_runtime() -> anyhow::Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// A client on the wire. Notifications that come while an answer is awaited are kept.
pub struct Client {
    writer: OwnedWriteHalf,
    reader: BufReader<OwnedReadHalf>,
    next_id: u64,
    kept: VecDeque<Value>,
}

impl Client {
    pub async fn connect(socket: &Path) -> anyhow::Result<Client> {
        let (reader, writer) = UnixStream::connect(socket).await?.into_split();
        Ok(Client { writer, reader: BufReader::new(reader), next_id: 1, kept: Default::default() })
    }

    pub async fn call(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        let mut line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        line.push('\n');
        self.writer.write_all(line.as_bytes()).await?;
        loop {
            let mut message = self.receive().await?;
            if message["id"] == json!(id) {
                ensure!(message.get("error").is_none(), "{method}: {message}");
                return Ok(message["result"].take());
            }
            self.kept.push_back(message);
        }
    }

    /// The next envelope of any subscription.
    pub async fn event(&mut self) -> anyhow::Result<Value> {
        let mut message = match self.kept.pop_front() {
            Some(message) => message,
            None => self.receive().await?,
        };
        Ok(message["params"]["result"].take())
    }

    pub async fn until(&mut self, kind: &str) -> anyhow::Result<Value> {
        loop {
            let event = self.event().await?;
            if event["type"] == kind {
                return Ok(event);
            }
        }
    }

    async fn receive(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        let read =
            timeout(STUCK, self.reader.read_line(&mut line)).await.context("no word for a minute")??;
        ensure!(read != 0, "the daemon hung up");
        Ok(serde_json::from_str(&line)?)
    }
}
