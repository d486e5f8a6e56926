//! A server on this machine's loopback that answers what it was given beforehand, and models of every provider's wire that
//! ask it.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context as _;
use subagentd::{
    config::{KeySource, LayeredSetting, ProviderKind, ProviderSettings, SettingLayer},
    models::{LanguageModel, ModelRegistry},
    sys::children::ChildProcesses,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
    task::JoinSet,
};

use crate::{house::SECRET, provider::read_request};

/// The providers, each with a model of its own.
pub const KINDS: [(ProviderKind, &str); 4] = [
    (ProviderKind::Gemini, "gemini-2.5-flash"),
    (ProviderKind::OpenAi, "gpt-4.1"),
    (ProviderKind::OpenAiResponses, "gpt-4.1"),
    (ProviderKind::Anthropic, "claude-sonnet-4-5"),
];

/// A whole response, made of a request's body: what is written to the socket.
type Answer = dyn Fn(&[u8]) -> Arc<[u8]> + Send + Sync;

/// The server, on a thread of its own. It ends when it is dropped.
pub struct Canned {
    port: u16,
    /// Owns the task that accepts, which owns those of the connections.
    _tasks: JoinSet<()>,
    _runtime: Runtime,
}

impl Canned {
    pub fn start(answer: impl Fn(&[u8]) -> Arc<[u8]> + Send + Sync + 'static) -> anyhow::Result<Canned> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let port = listener.local_addr()?.port();
        let mut tasks = JoinSet::new();
        tasks.spawn_on(accept(listener, Arc::new(answer)), runtime.handle());
        Ok(Canned { port, _tasks: tasks, _runtime: runtime })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The models of every provider, as settings would name this server for each.
    pub fn models(&self) -> ModelRegistry {
        let entry = |kind: ProviderKind| {
            let settings = ProviderSettings {
                base_url: Some(format!("http://127.0.0.1:{}", self.port)),
                key: Some(KeySource::Env(SECRET.0.to_owned())),
                ..ProviderSettings::usual(kind)
            };
            (kind.as_str().to_owned(), LayeredSetting { value: Some(settings), origin: SettingLayer::User })
        };
        let entries: BTreeMap<_, _> = KINDS.iter().map(|(kind, _)| entry(*kind)).collect();
        ModelRegistry::configured(&entries, ChildProcesses::default(), |name| {
            (name == SECRET.0).then(|| SECRET.1.into())
        })
    }

    /// One of them, for one run.
    pub fn model(&self, kind: ProviderKind) -> anyhow::Result<Arc<dyn LanguageModel>> {
        let (_, model) = KINDS.iter().find(|(other, _)| *other == kind).context("every kind has a model")?;
        let name = format!("{}/{model}", kind.as_str());
        Ok(self.models().resolve(&name.as_str().into())?.model)
    }
}

async fn accept(listener: TcpListener, answer: Arc<Answer>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(serve(stream, Arc::clone(&answer)));
            }
            // An error is a client that hung up in the middle, as those do that have read enough.
            Some(_ended) = connections.join_next() => (),
        }
    }
}

async fn serve(stream: TcpStream, answer: Arc<Answer>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while !stream.fill_buf().await?.is_empty() {
        let body = read_request(&mut stream).await?;
        stream.get_mut().write_all(&answer(&body)).await?;
    }
    Ok(())
}
