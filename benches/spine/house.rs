//! A daemon in this process, on threads of its own, behind a real socket and a real disk, with a model that takes
//! no time.

use std::{
    collections::VecDeque,
    iter,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use subagentd::{
    agents::AgentPlaces,
    config::{ConfigSources, DaemonConfig},
    daemon::{Daemon, DaemonDependencies, DaemonSettings},
    models::ModelRegistry,
    redact::{Redactor, RedactorParts},
    rules::RulePlaces,
    sandbox::Sandbox,
    sys::{children::ChildProcesses, clock::SystemClock},
    tools::{OwnFiles, Tool, ToolRegistry},
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

use crate::{
    ground,
    model::{FILES, Zero},
};

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

/// What stands in the daemon's environment and must not be shown; so what is hidden is looked for, as in any daemon
/// that has a key.
pub const SECRET: (&str, &str) = ("GEMINI_API_KEY", "AIza-bench-key-that-must-not-show");

/// What differs from house to house.
pub struct HouseParts {
    pub models: ModelRegistry,
    pub config: DaemonConfig,
    /// Names and files of agents besides the one that reads.
    pub agents: Vec<(&'static str, String)>,
    /// Tools besides the built-in ones, or in their place.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What commands and servers are started in.
    pub sandbox: Sandbox,
    /// The user's settings, where there are any.
    pub settings: Option<Value>,
}

impl HouseParts {
    pub fn with(models: ModelRegistry) -> HouseParts {
        let (agents, tools, sandbox) = (Vec::new(), Vec::new(), Sandbox::none());
        HouseParts { models, config: DaemonConfig::default(), agents, tools, sandbox, settings: None }
    }

    /// With a model named `zero`.
    pub fn zero(model: &Zero) -> HouseParts {
        HouseParts::with(ModelRegistry::new().with_model("zero", Arc::new(model.clone())))
    }
}

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
    pub fn open(parts: HouseParts) -> anyhow::Result<House> {
        let folder = ground::folder()?;
        let socket_folder = ground::socket_folder()?;
        let socket = socket_folder.path().join("s");
        for name in ["work", "agents"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        for (name, file) in [("reader", READER.to_owned())].into_iter().chain(parts.agents) {
            std::fs::write(folder.path().join(format!("agents/{name}.md")), file)?;
        }
        for n in 0..FILES {
            let text = format!("line of file {n}\n").repeat(40);
            std::fs::write(folder.path().join(format!("work/{n}.txt")), text)?;
        }
        let mut sources = ConfigSources::default();
        if let Some(settings) = &parts.settings {
            let file = folder.path().join("settings.json");
            std::fs::write(&file, settings.to_string())?;
            sources.files.user = file;
        }
        let runtime = ground::daemon_runtime()?;
        let secret = (SECRET.0.to_owned(), SECRET.1.to_owned());
        let base = folder.path();
        let settings = DaemonSettings {
            own_files: OwnFiles::new(&base.join("config"), &base.join("state"), []),
            state_dir: folder.path().join("state"),
            data_dir: folder.path().join("data"),
            agents: AgentPlaces::of_user(folder.path().join("agents")),
            skills: subagentd::skills::SkillPlaces::new(folder.path(), None),
            rules: RulePlaces::default(),
            config: parts.config,
            problems: Vec::new(),
            sources,
            redactor: Redactor::new(RedactorParts { environment: iter::once(secret), patterns: Vec::new() }),
        };
        let edges = DaemonDependencies {
            clock: SystemClock::new(),
            models: parts.models,
            tools: ToolRegistry::with(parts.tools),
            children: ChildProcesses::default(),
            sandbox: parts.sandbox,
            outside: subagentd::web::WebTransport::system(),
        };
        let daemon = runtime.block_on(async {
            let daemon = Daemon::boot(settings, edges).await?;
            daemon.listen(UnixListener::bind(&socket)?);
            anyhow::Ok(daemon)
        })?;
        Ok(House { runtime, daemon, folder, socket, _socket_folder: socket_folder })
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The workspace.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// The user's agents.
    pub fn agents(&self) -> PathBuf {
        self.folder.path().join("agents")
    }

    pub async fn client(&self) -> anyhow::Result<Client> {
        Client::connect(&self.socket).await
    }

    /// What starts a run of the reading agent on the model `zero`.
    pub fn start(&self) -> Value {
        self.start_of("reader", "zero")
    }

    pub fn start_of(&self, agent: &str, model: &str) -> Value {
        json!({
            "workspace": self.folder.path().join("work"), "agent": agent, "model": model, "prompt": "go",
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

    /// Starts a run and waits until it has reached its goal; its record.
    pub async fn run(&mut self, start: Value) -> anyhow::Result<Value> {
        let started = self.call("run/start", start).await?;
        let waiting = json!({ "runId": started["runId"], "timeoutMs": 60_000 });
        loop {
            let mut waited = self.call("run/wait", waiting.clone()).await?;
            if waited["done"] == true {
                ensure!(waited["run"]["reason"] == "GOAL", "{waited}");
                return Ok(waited["run"].take());
            }
        }
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
