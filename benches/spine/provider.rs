//! A provider that takes no time, on this machine's loopback: Gemini's wire, as far as runs of reads need it, and a
//! client of it that does nothing but ask.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::ensure;
use memchr::memmem;
use serde_json::{Value, json};
use subagentd::{
    config::{KeySource, LayeredSetting, ProviderKind, ProviderSettings, SettingLayer},
    models::ModelRegistry,
    sys::children::ChildProcesses,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
    task::JoinSet,
};

use crate::{ground::now, house::SECRET, model::FILES};

/// What runs call it.
pub const MODEL: &str = "loopback/gemini-2.5-flash";

/// What ends every response.
const END: &[u8] = b"\r\n0\r\n\r\n";

/// The server, on a thread of its own. It ends when it is dropped.
pub struct Provider {
    port: u16,
    shared: Arc<Shared>,
    /// Owns the task that accepts, which owns those of the connections.
    _tasks: JoinSet<()>,
    _runtime: Runtime,
}

struct Shared {
    /// As many turns of a run read a file; the next ends it.
    read_turns: usize,
    /// One after the other: a run that made the same call again and again would be found to go in circles.
    reads: Vec<Vec<u8>>,
    done: Vec<u8>,
    exchanges: Mutex<Vec<Exchange>>,
    connections: AtomicUsize,
}

/// One request, as the server saw it.
pub struct Exchange {
    /// When its first byte was there.
    pub began: Duration,
    /// When its last byte was there, and the reply, which is one write, was about to go.
    pub read: Duration,
    /// How many results of tools it tells, which is one for each turn before it.
    pub results: usize,
    pub body: Vec<u8>,
}

impl Provider {
    pub fn start(read_turns: usize) -> anyhow::Result<Provider> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            read_turns,
            reads: (0..FILES).map(|n| reply("read_file", json!({ "path": format!("{n}.txt") }))).collect(),
            done: reply("complete_task", json!({ "result": "done" })),
            exchanges: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn_on(accept(listener, Arc::clone(&shared)), runtime.handle());
        Ok(Provider { port, shared, _tasks: tasks, _runtime: runtime })
    }

    /// Models that are this server's, as settings would name it.
    pub fn models(&self) -> ModelRegistry {
        let settings = ProviderSettings {
            base_url: Some(format!("http://127.0.0.1:{}", self.port)),
            key: Some(KeySource::Env(SECRET.0.to_owned())),
            ..ProviderSettings::usual(ProviderKind::Gemini)
        };
        let entry = LayeredSetting { value: Some(settings), origin: SettingLayer::User };
        let entries = BTreeMap::from([("loopback".to_owned(), entry)]);
        ModelRegistry::configured(&entries, ChildProcesses::default(), |name| {
            (name == SECRET.0).then(|| SECRET.1.into())
        })
    }

    /// What it was asked, since this was asked last.
    pub fn take_exchanges(&self) -> Vec<Exchange> {
        std::mem::take(&mut self.shared.exchanges.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many connections were made, since this was asked last.
    pub fn take_connections(&self) -> usize {
        self.shared.connections.swap(0, Ordering::Relaxed)
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Asks with one body after the other over one connection, as a client that knows nothing but this server.
pub async fn ask(port: u16, bodies: Vec<Vec<u8>>) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let mut response = Vec::new();
    for body in bodies {
        let head = format!("POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), &body].concat()).await?;
        response.clear();
        while !response.ends_with(END) {
            ensure!(stream.read_buf(&mut response).await? != 0, "the server hung up");
        }
    }
    Ok(())
}

/// A whole response that calls one tool: what is written to the socket.
fn reply(tool: &str, arguments: Value) -> Vec<u8> {
    let event = json!({
        "candidates": [{
            "content": {
                "role": "model",
                "parts": [{ "functionCall": { "name": tool, "args": arguments }, "thoughtSignature": "c2lnbmVk" }],
            },
            "finishReason": "STOP",
            "index": 0,
        }],
        "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 },
    });
    let chunk = format!("data: {event}\r\n\r\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut response = format!("{head}{:x}\r\n{chunk}", chunk.len()).into_bytes();
    response.extend_from_slice(END);
    response
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                shared.connections.fetch_add(1, Ordering::Relaxed);
                connections.spawn(serve(stream, Arc::clone(&shared)));
            }
            // An error is a client that hung up in the middle; whoever counts exchanges sees that one is missing.
            Some(_ended) = connections.join_next() => (),
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while !stream.fill_buf().await?.is_empty() {
        let began = now();
        let body = read_request(&mut stream).await?;
        let results = memmem::find_iter(&body, b"\"functionResponse\"").count();
        let read = &shared.reads[results % FILES];
        let reply = if results < shared.read_turns { read } else { &shared.done };
        let exchange = Exchange { began, read: now(), results, body };
        shared.exchanges.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
        stream.get_mut().write_all(reply).await?;
    }
    Ok(())
}

/// The body of a request whose first byte is there.
pub async fn read_request(stream: &mut BufReader<TcpStream>) -> std::io::Result<Vec<u8>> {
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let header = line.trim_end();
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(std::io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(body)
}
