//! The harness: a daemon in this process over an in-memory pipe, scripted models, probe tools, and a client that
//! keeps what it saw. Every daemon's log is held to the laws when it is stopped.

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use futures_util::stream::{self, BoxStream, StreamExt as _};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};
use subagentd::{
    agents::AgentPlaces,
    config::{ConfigPlaces, ConfigSources, DaemonConfig},
    daemon::{Daemon, DaemonDependencies, DaemonSettings},
    models::{LanguageModel, ModelError, ModelEvent, ModelRegistry, ModelReply, ModelRequest, ReplyPart},
    protocol::{EventSeq, FinishReason, Timestamp, Usage},
    redact::Redactor,
    rules::RulePlaces,
    sandbox::{HiddenPlaces, Sandbox, SandboxMechanism},
    skills::SkillPlaces,
    store::LogFilter,
    sys::{
        children::ChildProcesses,
        clock::{Clock, ManualClock, SystemClock},
        source_places::SourcePlaces,
    },
    tools::{OwnFiles, Tool, ToolRegistry},
    web::WebTransport,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::{Semaphore, mpsc},
    time::timeout,
};

use crate::{built, laws};

/// Longer than any machine needs; reached only by a defect.
pub const STUCK: Duration = Duration::from_secs(60);

/// Below a house: where hooks read what was said.
pub const TRANSCRIPTS: &str = ".cache/subagentd/transcripts";

/// A daemon with a home of its own.
pub struct House {
    pub dir: Arc<tempfile::TempDir>,
    pub clock: Arc<dyn Clock>,
    pub models: ModelRegistry,
    pub tools: Vec<Arc<dyn Tool>>,
    pub config: DaemonConfig,
    /// What settings are read from anew; `settings.json` of the house is the user's.
    pub sources: ConfigSources,
    pub redactor: Redactor,
    /// What confines commands; this system's own, unless a test is about another.
    pub sandbox: Sandbox,
    /// What the web is reached through.
    pub outside: WebTransport,
}

impl House {
    pub fn new() -> House {
        House::in_folder(tempfile::tempdir().unwrap())
    }

    /// One that lies there.
    pub fn in_folder(dir: tempfile::TempDir) -> House {
        std::fs::create_dir(dir.path().join("work")).unwrap();
        std::fs::create_dir(dir.path().join("agents")).unwrap();
        let sources = quick_to_stop(dir.path());
        let (config, problems) = DaemonConfig::load(&sources);
        assert_eq!(problems, []);
        let home = dir.path().to_owned();
        House {
            dir: Arc::new(dir),
            clock: SystemClock::new(),
            models: ModelRegistry::new(),
            tools: Vec::new(),
            config,
            sources,
            redactor: Redactor::none(),
            sandbox: sandbox(&home),
            outside: WebTransport::system(),
        }
    }

    /// A model that answers from a script, under the name `script`.
    pub fn script(self, script: &Script) -> House {
        self.model("script", script)
    }

    /// A model under any name.
    pub fn model(mut self, name: &str, model: &(impl LanguageModel + Clone)) -> House {
        self.models = self.models.with_model(name, Arc::new(model.clone()));
        self
    }

    pub fn manual_clock(mut self) -> (House, Arc<ManualClock>) {
        let clock = ManualClock::starting_at(Timestamp(1_700_000_000_000_000));
        self.clock = clock.clone();
        (self, clock)
    }

    /// A tool beside the built-in ones.
    pub fn tool(mut self, tool: impl Tool) -> House {
        self.tools.push(Arc::new(tool));
        self
    }

    /// A user's agent file.
    pub fn agent(self, name: &str, text: &str) -> House {
        std::fs::write(self.dir.path().join("agents").join(format!("{name}.md")), text).unwrap();
        self
    }

    /// A user's rule file.
    pub fn rules(self, name: &str, text: &str) -> House {
        let folder = self.dir.path().join("policies");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
        self
    }

    /// The user's settings, with [`House::own_hooks`].
    pub fn settings(mut self, settings: &Value) -> House {
        std::fs::write(&self.sources.files.user, self.own_hooks(settings).to_string()).unwrap();
        let (config, problems) = DaemonConfig::load(&self.sources);
        assert_eq!(problems, []);
        self.config = config;
        self
    }

    /// The same hooks, but those that write beside the workspace (`../told`) stand in scripts of a person's own: as a text in the
    /// settings they would be confined.
    pub fn own_hooks(&self, settings: &Value) -> Value {
        match settings {
            Value::Object(entries) => {
                let is_beside = |text: &str| entries.get("args").is_none() && text.contains("..");
                let own = |text: &str| {
                    let folder = self.dir.path().join("own-hooks");
                    std::fs::create_dir_all(&folder).unwrap();
                    let script = folder.join(format!("{}.sh", std::fs::read_dir(&folder).unwrap().count()));
                    std::fs::write(&script, text).unwrap();
                    json!(format!("sh {}", script.display()))
                };
                let entry = |(name, value): (&String, &Value)| {
                    let command = value.as_str().filter(|text| name == "command" && is_beside(text));
                    (name.clone(), command.map_or_else(|| self.own_hooks(value), own))
                };
                entries.iter().map(entry).collect()
            }
            Value::Array(all) => all.iter().map(|value| self.own_hooks(value)).collect(),
            other => other.clone(),
        }
    }

    /// A file in the workspace.
    pub fn file(self, path: &str, text: impl AsRef<[u8]>) -> House {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub async fn boot(&self) -> Running {
        let settings = DaemonSettings {
            state_dir: self.dir.path().join("state"),
            data_dir: self.dir.path().join("data"),
            agents: AgentPlaces::of_user(self.dir.path().join("agents")),
            skills: SkillPlaces::new(self.dir.path(), None),
            rules: rule_places(self.dir.path()),
            config: self.config.clone(),
            problems: Vec::new(),
            sources: self.sources.clone(),
            redactor: self.redactor.clone(),
            own_files: OwnFiles::new(
                &self.dir.path().join("config"),
                &self.dir.path().join("state"),
                ["agents", "settings.json", "data/plugins", "data/plugin-data"]
                    .map(|name| self.dir.path().join(name)),
            )
            .hiding(self.dir.path().join(TRANSCRIPTS))
            .reading(read_from(self.dir.path())),
        };
        let edges = DaemonDependencies {
            clock: Arc::clone(&self.clock),
            models: self.models.clone(),
            tools: ToolRegistry::with(self.tools.clone()),
            children: ChildProcesses::default(),
            sandbox: self.sandbox.clone(),
            outside: self.outside.clone(),
        };
        let daemon = Daemon::boot(settings, edges).await.unwrap();
        Running { daemon, work: self.work(), _dir: Arc::clone(&self.dir) }
    }
}

/// A daemon in the test's process is no warden, so the real one is.
fn sandbox(home: &Path) -> Sandbox {
    confined_by(home, MECHANISM.clone())
}

/// What confines commands of a house by one mechanism.
pub fn confined_by(home: &Path, mechanism: SandboxMechanism) -> Sandbox {
    let hidden = HiddenPlaces::new(
        None,
        ["state", "config", "agents", "settings.json", "data/plugins", "data/plugin-data", TRANSCRIPTS]
            .map(|name| home.join(name)),
    );
    Sandbox::with(warden(), hidden.reading(read_from(home)), mechanism)
}

/// What the daemon of a house goes by.
fn read_from(home: &Path) -> SourcePlaces {
    let names = ["agents", "policies", "system-policies", "templates", "settings.json", "system.json"];
    SourcePlaces::new(names.map(|name| home.join(name)))
}

fn warden() -> PathBuf {
    PathBuf::from(built::daemon())
}

/// What this machine has, found out once for all tests.
pub static MECHANISM: LazyLock<SandboxMechanism> = LazyLock::new(|| {
    let finding = std::thread::spawn(|| {
        let sandbox = Sandbox::new(warden(), HiddenPlaces::default(), ChildProcesses::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { sandbox.mechanism().await.clone() })
    });
    finding.join().unwrap()
});

/// Turns are cut off at once when the daemon stops, unless a test is about that.
fn quick_to_stop(home: &Path) -> ConfigSources {
    let files = ConfigPlaces { system: home.join("system.json"), user: home.join("settings.json") };
    let flags = vec![("shutdown.graceSeconds".to_owned(), "0".to_owned())];
    ConfigSources { flags, ..ConfigSources::files(files) }
}

/// Rule files of a house lie in `system-policies` and `policies`; it is also the home.
pub fn rule_places(home: &Path) -> RulePlaces {
    RulePlaces { system: home.join("system-policies"), user: home.join("policies"), home: home.to_owned() }
}

/// A daemon that runs.
pub struct Running {
    pub daemon: Daemon,
    work: PathBuf,
    _dir: Arc<tempfile::TempDir>,
}

impl Running {
    pub fn client(&self) -> Client {
        Client::new(self.daemon.connect())
    }

    /// Serves a Unix socket in a folder of the house, and answers its path.
    pub async fn listen(&self) -> PathBuf {
        let folder = self._dir.path().join("run");
        let socket = folder.join("subagentd.sock");
        let listener = subagentd::daemon::rpc::bind(&socket).await.unwrap();
        self.daemon.listen(listener);
        socket
    }

    /// The whole log, as clients would read it.
    pub async fn log(&self) -> Vec<Value> {
        let mut events = Vec::new();
        let mut from = EventSeq(0);
        loop {
            let page = self.daemon.store().page(&LogFilter::default(), from, 1_000).await.unwrap();
            events.extend(
                page.events.iter().map(|it| serde_json::from_str::<Value>(&it.envelope(None)).unwrap()),
            );
            from = page.searched_to;
            if page.head <= from {
                return events;
            }
        }
    }

    /// Stops the daemon and holds its log to the laws; with `finished` also to those of a log at rest.
    pub async fn stop(self) {
        self.end(true).await;
    }

    /// As [`Running::stop`], for a log with runs that go on later.
    pub async fn stop_unfinished(self) {
        self.end(false).await;
    }

    /// As [`Running::stop`], for a log into which a test wrote by hand what no run would.
    pub async fn stop_forged(self) {
        assert!(
            timeout(STUCK, self.daemon.stop()).await.expect("the daemon did not stop"),
            "something was left"
        );
    }

    async fn end(self, finished: bool) {
        let log = self.log().await;
        let broken = if finished { laws::check_finished(&log) } else { laws::check(&log) };
        if let Err(violations) = broken {
            panic!("the log breaks laws:\n{}\n{}", violations.join("\n"), lines(&log));
        }
        assert!(
            timeout(STUCK, self.daemon.stop()).await.expect("the daemon did not stop"),
            "something was left"
        );
    }

    pub fn work(&self) -> &Path {
        &self.work
    }

    /// Runs a statement on the living daemon's database, beside it.
    pub async fn tamper(&self, statement: &str) {
        let options = SqliteConnectOptions::new().filename(self.daemon.store().path());
        let mut connection = options.connect().await.unwrap();
        sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
}

/// A message of a request that is too long, without how long it is: that follows where the test's folder is.
pub fn without_counts(message: &Value) -> Value {
    let Some(text) = message.as_str() else { return message.clone() };
    text.split("; the request is about ").next().into()
}

/// One event a line: type and what tells it apart.
pub fn lines(log: &[Value]) -> String {
    let line = |event: &Value| {
        let data = &event["data"];
        let mut line = event["type"].as_str().unwrap().to_owned();
        for key in ["turn", "grace", "name", "to", "reason", "then", "text", "result", "message"] {
            match &data[key] {
                Value::Null => (),
                Value::String(text) => line.push_str(&format!(" {key}={text:?}")),
                Value::Object(object) if key == "result" => {
                    let text = object["llmContent"][0]["text"].as_str().unwrap_or_default();
                    line.push_str(&format!(" {key}={:?}", text.chars().take(60).collect::<String>()));
                }
                other => line.push_str(&format!(" {key}={other}")),
            }
        }
        if let Some(kind) = data["error"]["type"].as_str().or(data["error"]["code"].as_str()) {
            line.push_str(&format!(" error={kind}"));
        }
        line
    };
    log.iter().map(|event| line(event) + "\n").collect()
}

/// A client on the wire. Requests are answered in order of asking; notifications are kept.
pub struct Client {
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    reader: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    next_id: u64,
    notifications: VecDeque<Value>,
}

impl Client {
    pub fn new(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Client {
        let (reader, writer) = tokio::io::split(stream);
        Client {
            writer: Box::new(writer),
            reader: BufReader::new(Box::new(reader)),
            next_id: 1,
            notifications: VecDeque::new(),
        }
    }

    /// Says that nothing more will be sent; answers and events still come.
    pub async fn finish_writing(&mut self) {
        self.writer.shutdown().await.unwrap();
    }

    pub async fn send(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    /// The next message, whatever it is.
    pub async fn receive(&mut self) -> Value {
        self.receive_or_end().await.expect("the daemon hung up")
    }

    /// The next message; `None` when the daemon has hung up.
    pub async fn receive_or_end(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = timeout(STUCK, self.reader.read_line(&mut line)).await.expect("no answer").unwrap();
        (read != 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// The whole response.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())
            .await;
        loop {
            let message = self.receive().await;
            if message["id"] == json!(id) {
                return message;
            }
            self.notifications.push_back(message);
        }
    }

    /// The result; an error fails the test.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let response = self.request(method, params).await;
        assert!(response.get("error").is_none(), "{method}: {response}");
        response["result"].clone()
    }

    /// The error's `kind` and the whole error.
    pub async fn refused(&mut self, method: &str, params: Value) -> (String, Value) {
        let response = self.request(method, params).await;
        let error = response.get("error").unwrap_or_else(|| panic!("{method} was not refused: {response}"));
        (error["data"]["kind"].as_str().unwrap().to_owned(), error.clone())
    }

    /// The next envelope of any subscription.
    pub async fn event(&mut self) -> Value {
        let message = match self.notifications.pop_front() {
            Some(message) => message,
            None => self.receive().await,
        };
        assert_eq!(message["method"], "event", "{message}");
        message["params"]["result"].clone()
    }

    /// The envelopes that came up to now: what a request sets off is seen once later ones are answered.
    pub async fn drain(&mut self) -> Vec<Value> {
        self.settle().await;
        let came = self.notifications.drain(..).map(|message| message["params"]["result"].clone());
        came.collect()
    }

    /// Envelopes up to and with the first of this type.
    pub async fn events_until(&mut self, kind: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await;
            let is_last = event["type"] == kind;
            events.push(event);
            if is_last {
                return events;
            }
        }
    }

    /// Starts a run of `agent` with the scripted model; answers run and session.
    pub async fn start(&mut self, house: &Running, agent: &str, more: Value) -> (String, String) {
        let mut params = json!({
            "workspace": house.work(), "agent": agent, "model": "script", "prompt": "do it",
        });
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        // Null leaves a default out.
        params.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let started = self.call("run/start", params).await;
        (started["runId"].as_str().unwrap().to_owned(), started["sessionId"].as_str().unwrap().to_owned())
    }

    /// Asks until `params` are answered as `is_so` wants it.
    pub async fn until(&mut self, method: &str, params: Value, is_so: impl Fn(&Value) -> bool) -> Value {
        let asking = async {
            loop {
                let result = self.call(method, params.clone()).await;
                if is_so(&result) {
                    return result;
                }
                tokio::task::yield_now().await;
            }
        };
        timeout(STUCK, asking).await.unwrap_or_else(|_| panic!("{method} never answers what was waited for"))
    }

    /// Lets every task that can get on do so: what a request sets off has begun once later ones are answered.
    pub async fn settle(&mut self) {
        for _ in 0..8 {
            self.call("ping", json!({})).await;
        }
    }

    /// The record of a run that has ended. It may take many turns: it is stuck when nothing is logged for a while, or it goes on and on.
    pub async fn ended(&mut self, run: &str) -> Value {
        let mut head = Value::Null;
        for _ in 0..10 {
            let waited = self.call("run/wait", json!({ "runId": run, "timeoutMs": 30_000 })).await;
            if waited["done"] == true {
                return waited["run"].clone();
            }
            let now = self.call("daemon/status", json!({})).await["database"]["head"].clone();
            assert!(now.is_u64(), "the status does not say how long the log is");
            assert_ne!(now, head, "nothing goes on: {waited}");
            head = now;
        }
        panic!("{run} goes on for five minutes")
    }
}

/// A model that does what a test says, reply by reply.
#[derive(Clone)]
pub struct Script {
    shared: Arc<ScriptShared>,
}

struct ScriptShared {
    replies: Mutex<Vec<Reply>>,
    requests: Mutex<Vec<ModelRequest>>,
    asked: mpsc::UnboundedSender<usize>,
    heard: tokio::sync::Mutex<mpsc::UnboundedReceiver<usize>>,
}

/// One scripted reply. Replies are taken by the request's ordinal, so that a retry gets the same one.
#[derive(Clone)]
pub enum Reply {
    /// Text in these chunks, then calls.
    Says {
        chunks: Vec<String>,
        thought: Option<String>,
        calls: Vec<(String, Value)>,
        finish: FinishReason,
    },
    /// Streams these texts and thoughts, each at once, and ends with them.
    Parts(Vec<ReplyPart>),
    /// Streams the chunks it is sent until the sender is dropped, then ends with them as text.
    Streams(Arc<tokio::sync::Mutex<mpsc::Receiver<String>>>),
    Fails(ModelError),
    /// Never answers.
    Hangs,
    Panics,
    /// The same, once there is a permit, which it takes.
    After(Arc<Semaphore>, Box<Reply>),
}

impl Reply {
    pub fn calls(calls: &[(&str, Value)]) -> Reply {
        let calls = calls.iter().map(|(name, arguments)| ((*name).to_owned(), arguments.clone())).collect();
        Reply::Says { chunks: Vec::new(), thought: None, calls, finish: FinishReason::Stop }
    }

    /// A text and no calls.
    pub fn says(text: &str) -> Reply {
        let chunks = vec![text.to_owned()];
        Reply::Says { chunks, thought: None, calls: Vec::new(), finish: FinishReason::Stop }
    }

    pub fn done(result: &str) -> Reply {
        Reply::calls(&[("complete_task", json!({ "result": result }))])
    }

    /// The same, once the semaphore has a permit.
    pub fn after(gate: &Arc<Semaphore>, reply: Reply) -> Reply {
        Reply::After(Arc::clone(gate), Box::new(reply))
    }

    pub fn streams() -> (Reply, Chunks) {
        let (sender, receiver) = mpsc::channel(1);
        (Reply::Streams(Arc::new(tokio::sync::Mutex::new(receiver))), Chunks(sender))
    }
}

/// What a model is made to say, piece by piece; it has said all once this is dropped.
pub struct Chunks(mpsc::Sender<String>);

impl Chunks {
    /// Waits until the piece before is said. A run that was cut off says nothing more, which is no reason to wait for ever.
    pub async fn send(&self, chunk: String) -> Result<(), mpsc::error::SendError<String>> {
        timeout(STUCK, self.0.send(chunk)).await.expect("nobody listens to the model any more")
    }
}

impl Script {
    pub fn new(replies: impl Into<Vec<Reply>>) -> Script {
        let (asked, heard) = mpsc::unbounded_channel();
        let shared = ScriptShared {
            replies: Mutex::new(replies.into()),
            requests: Mutex::default(),
            asked,
            heard: tokio::sync::Mutex::new(heard),
        };
        Script { shared: Arc::new(shared) }
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Forgets the first reply: the next request for the same ordinal gets the one after it.
    pub fn skip(&self) {
        self.shared.replies.lock().unwrap().remove(0);
    }

    /// Answers from here on with these.
    pub fn replace(&self, replies: impl Into<Vec<Reply>>) {
        *self.shared.replies.lock().unwrap() = replies.into();
    }

    /// Waits until the model has been asked once more.
    pub async fn asked(&self) {
        let mut heard = self.shared.heard.lock().await;
        timeout(STUCK, heard.recv()).await.expect("the model was not asked").unwrap();
    }
}

impl LanguageModel for Script {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let ordinal = usize::try_from(request.ordinal).unwrap();
        let n_replies = self.shared.replies.lock().unwrap().len();
        let reply = self.shared.replies.lock().unwrap().get(ordinal.min(n_replies - 1)).cloned().unwrap();
        self.shared.requests.lock().unwrap().push(request);
        self.shared.asked.send(ordinal).unwrap();
        reply.play()
    }
}

impl Reply {
    fn play(self) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        match self {
            Reply::Says { chunks, thought, calls, finish } => {
                let mut events = Vec::new();
                events.extend(thought.clone().map(ModelEvent::ThoughtDelta));
                events.extend(chunks.iter().cloned().map(ModelEvent::TextDelta));
                let mut parts = Vec::new();
                parts.extend(thought.map(|text| ReplyPart::Thought { text, signature: None }));
                if !chunks.is_empty() {
                    parts.push(ReplyPart::Text(chunks.concat()));
                }
                parts.extend(calls.into_iter().map(|(name, arguments)| ReplyPart::ToolCall {
                    provider_call_id: None,
                    name: name.into(),
                    arguments,
                    signature: None,
                }));
                events.push(finished(parts, finish));
                stream::iter(events.into_iter().map(Ok)).boxed()
            }
            Reply::Parts(parts) => {
                let deltas = parts.iter().filter_map(|part| match part {
                    ReplyPart::Text(text) => Some(ModelEvent::TextDelta(text.clone())),
                    ReplyPart::Thought { text, .. } => Some(ModelEvent::ThoughtDelta(text.clone())),
                    ReplyPart::ToolCall { .. } => None,
                });
                let mut events: Vec<_> = deltas.collect();
                events.push(finished(parts, FinishReason::Stop));
                stream::iter(events.into_iter().map(Ok)).boxed()
            }
            Reply::Streams(receiver) => {
                stream::unfold((receiver, String::new(), false), |state| async move {
                    let (receiver, mut text, is_over) = state;
                    if is_over {
                        return None;
                    }
                    let chunk = receiver.lock().await.recv().await;
                    match chunk {
                        Some(chunk) => {
                            text.push_str(&chunk);
                            Some((Ok(ModelEvent::TextDelta(chunk)), (receiver, text, false)))
                        }
                        None => {
                            let event = finished(vec![ReplyPart::Text(text)], FinishReason::Stop);
                            Some((Ok(event), (receiver, String::new(), true)))
                        }
                    }
                })
                .boxed()
            }
            Reply::Fails(error) => stream::iter([Err(error)]).boxed(),
            Reply::Hangs => stream::pending().boxed(),
            Reply::Panics => stream::poll_fn(|_| panic!("planted")).boxed(),
            Reply::After(gate, reply) => {
                let opening = async move {
                    gate.acquire().await.unwrap().forget();
                    reply.play()
                };
                stream::once(opening).flatten().boxed()
            }
        }
    }
}

/// A model that several agents share: each run answers from the list under its path, e.g. `lead#1/worker#2`, or under
/// the path without its numbers, e.g. `lead/worker`.
#[derive(Clone)]
pub struct Cast {
    shared: Arc<CastShared>,
}

struct CastShared {
    roles: HashMap<String, Script>,
    /// Replies that are being written, and the most there were at once.
    busy: Mutex<(usize, usize)>,
}

impl Cast {
    pub fn new<const N: usize>(roles: [(&str, Vec<Reply>); N]) -> Cast {
        let roles = roles.into_iter().map(|(path, replies)| (path.to_owned(), Script::new(replies)));
        Cast { shared: Arc::new(CastShared { roles: roles.collect(), busy: Mutex::default() }) }
    }

    /// What the runs under this path were asked.
    pub fn requests(&self, path: &str) -> Vec<ModelRequest> {
        self.shared.roles[path].requests()
    }

    /// Waits until one of the runs under this path has asked once more.
    pub async fn asked(&self, path: &str) {
        self.shared.roles[path].asked().await;
    }

    /// Answers the runs under this path from here on with these.
    pub fn replace(&self, path: &str, replies: impl Into<Vec<Reply>>) {
        self.shared.roles[path].replace(replies);
    }

    /// The most replies that were written at once.
    pub fn most_at_once(&self) -> usize {
        self.shared.busy.lock().unwrap().1
    }
}

impl LanguageModel for Cast {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let name = |step: &str| step.split('#').next().unwrap().to_owned();
        let names = request.path.split('/').map(name).collect::<Vec<_>>().join("/");
        let roles = &self.shared.roles;
        let role = roles.get(&*request.path).or(roles.get(&names));
        let role = role.unwrap_or_else(|| panic!("nobody plays {}", request.path));
        {
            let mut busy = self.shared.busy.lock().unwrap();
            busy.0 += 1;
            busy.1 = busy.1.max(busy.0);
        }
        let writing = Writing(Arc::clone(&self.shared));
        role.stream(request).map(move |event| (event, &writing).0).boxed()
    }
}

/// A reply that is being written.
struct Writing(Arc<CastShared>);

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.busy.lock().unwrap().0 -= 1;
    }
}

fn finished(parts: Vec<ReplyPart>, reason: FinishReason) -> ModelEvent {
    let usage = Usage { prompt_tokens: 10, output_tokens: 5, ..Usage::default() };
    ModelEvent::Finished(ModelReply { parts, raw: None, usage, reason })
}
