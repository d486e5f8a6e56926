//! A provider's API on this machine's loopback: answers from a script, as broken as a test wants, and judges every request
//! as the real one would, or more strictly.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::timeout,
};

use crate::support::STUCK;

mod anthropic;
mod gemini;
mod lists;
mod openai;
mod openai_responses;
mod wire;

pub use self::wire::{Call, Said, Why, Wire, call};

/// What the server wants for a key.
pub const KEY: &str = "AIza-test-key-that-must-not-show";

/// A server that answers one request after the other from its script. It ends when it is dropped.
pub struct ProviderServer {
    port: u16,
    shared: Arc<Shared>,
    /// Owns the task that accepts, which owns those of the connections.
    _tasks: JoinSet<()>,
}

struct Shared {
    source: Mutex<Source>,
    judge: Mutex<Box<dyn Judge>>,
    requests: Mutex<Vec<Asked>>,
    /// How many requests were read whole.
    asked: watch::Sender<usize>,
    /// How many stalled answers the client gave up.
    hung_up: watch::Sender<usize>,
    /// How many bytes may be written of answers that wait to be told.
    allowed: Semaphore,
}

/// Where answers come from.
enum Source {
    Script(VecDeque<Answer>),
    /// What each request deserves: of a daemon that is killed, nobody knows what it will ask.
    Thought(Box<dyn FnMut(&Asked) -> Answer + Send>),
}

impl Source {
    /// `None` when the script has ended.
    fn answer(&mut self, asked: &Asked) -> Option<Answer> {
        match self {
            Source::Script(script) => script.pop_front(),
            Source::Thought(think) => Some(think(asked)),
        }
    }

    fn n_left(&self) -> usize {
        match self {
            Source::Script(script) => script.len(),
            Source::Thought(_) => 0,
        }
    }
}

/// Would the provider take this request? Every rule that its documentation or its refusals tell of.
pub trait Judge: Send {
    /// Takes down what is wrong with a request.
    fn request(&mut self, asked: &Asked);

    /// Remembers what the model said, event by event.
    fn remember(&mut self, _events: &[String]) {}

    fn violations(&mut self) -> &mut Vec<String>;
}

/// One request, as it was read.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Method, path and query.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// One scripted answer.
#[derive(Debug, Clone)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// The chunks of a reply, for the judge: what it said must come back.
    chunks: Vec<String>,
    /// Bytes in each piece that is written by itself.
    piece: usize,
    /// A byte at a time, each when the test says so.
    is_told: bool,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Whole,
    /// Nothing more comes, and the connection stays.
    Stall,
    /// The connection is closed without the end that HTTP wants.
    Cut,
}

impl Answer {
    /// A stream of these chunks, each as JSON text.
    pub fn chunks<S: Into<String>>(chunks: impl IntoIterator<Item = S>) -> Answer {
        let chunks: Vec<String> = chunks.into_iter().map(Into::into).collect();
        let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect();
        Answer { chunks, ..Answer::stream(body) }
    }

    /// A stream of these bytes, whatever they are.
    pub fn stream(body: impl Into<Vec<u8>>) -> Answer {
        Answer {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            body: body.into(),
            chunks: Vec::new(),
            piece: usize::MAX,
            is_told: false,
            end: End::Whole,
        }
    }

    /// One chunk with these parts that ends with `STOP`.
    pub fn parts(parts: Value) -> Answer {
        Answer::finished(parts, "STOP")
    }

    pub fn finished(parts: Value, reason: &str) -> Answer {
        Answer::chunks([json!({
            "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": reason, "index": 0 }],
            "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 },
        })
        .to_string()])
    }

    pub fn call(name: &str, args: Value) -> Answer {
        Answer::parts(
            json!([{ "functionCall": { "name": name, "args": args }, "thoughtSignature": "c2lnbmVk" }]),
        )
    }

    pub fn done(result: &str) -> Answer {
        Answer::call("complete_task", json!({ "result": result }))
    }

    /// A refusal.
    pub fn status(status: u16, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status, headers: Vec::new(), ..Answer::stream(body) }
    }

    /// A refusal in Google's form.
    pub fn error(status: u16, name: &str, message: &str, details: Value) -> Answer {
        let error =
            json!({ "error": { "code": status, "message": message, "status": name, "details": details } });
        Answer::status(status, error.to_string()).header("content-type", "application/json")
    }

    /// A list, or anything else that is one JSON text.
    pub fn json(body: Value) -> Answer {
        Answer::status(200, body.to_string()).header("content-type", "application/json")
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Answer {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Written this many bytes at a time.
    #[must_use]
    pub fn pieces_of(mut self, bytes: usize) -> Answer {
        self.piece = bytes;
        self
    }

    /// Written byte by byte, as [`ProviderServer::allow`] says.
    #[must_use]
    pub fn when_told(mut self) -> Answer {
        (self.piece, self.is_told) = (1, true);
        self
    }

    /// How many bytes the body has.
    pub fn bytes(&self) -> usize {
        self.body.len()
    }

    /// Up to the middle of the first place with these bytes, and then the connection breaks.
    #[must_use]
    pub fn cut_within(self, needle: &str) -> Answer {
        let at = self.body.windows(needle.len()).position(|window| window == needle.as_bytes());
        let at = at.unwrap_or_else(|| panic!("there is no {needle:?} to be cut"));
        self.first_bytes(at + needle.len() / 2).then_cut()
    }

    /// Only so many bytes of the body.
    #[must_use]
    pub fn first_bytes(mut self, bytes: usize) -> Answer {
        self.body.truncate(bytes);
        self.chunks.clear();
        self
    }

    /// With these bytes behind all others.
    #[must_use]
    pub fn then_bytes(mut self, bytes: &[u8]) -> Answer {
        self.body.extend_from_slice(bytes);
        self
    }

    #[must_use]
    pub fn then_stall(mut self) -> Answer {
        self.end = End::Stall;
        self
    }

    #[must_use]
    pub fn then_cut(mut self) -> Answer {
        self.end = End::Cut;
        self
    }
}

impl ProviderServer {
    /// Gemini's.
    pub async fn gemini(script: impl IntoIterator<Item = Answer>) -> ProviderServer {
        ProviderServer::start(Box::<gemini::Judge>::default(), script).await
    }

    /// OpenAI's chat completions; without a key where it wants none.
    pub async fn openai(wants_key: bool, script: impl IntoIterator<Item = Answer>) -> ProviderServer {
        ProviderServer::start(Box::new(openai::Judge::new(wants_key)), script).await
    }

    /// The same with a key, answered as each request deserves.
    pub async fn openai_thinking(think: impl FnMut(&Asked) -> Answer + Send + 'static) -> ProviderServer {
        ProviderServer::begin(Box::new(openai::Judge::new(true)), Source::Thought(Box::new(think))).await
    }

    /// OpenAI's responses.
    pub async fn openai_responses(script: impl IntoIterator<Item = Answer>) -> ProviderServer {
        ProviderServer::start(Box::<openai_responses::Judge>::default(), script).await
    }

    /// Anthropic's messages.
    pub async fn anthropic(script: impl IntoIterator<Item = Answer>) -> ProviderServer {
        ProviderServer::start(Box::<anthropic::Judge>::default(), script).await
    }

    async fn start(judge: Box<dyn Judge>, script: impl IntoIterator<Item = Answer>) -> ProviderServer {
        ProviderServer::begin(judge, Source::Script(script.into_iter().collect())).await
    }

    async fn begin(judge: Box<dyn Judge>, source: Source) -> ProviderServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            source: Mutex::new(source),
            judge: Mutex::new(judge),
            requests: Mutex::default(),
            asked: watch::Sender::new(0),
            hung_up: watch::Sender::new(0),
            allowed: Semaphore::new(0),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&shared)));
        ProviderServer { port, shared, _tasks: tasks }
    }

    /// For `baseUrl`.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Everything that was asked so far.
    pub fn requests(&self) -> Vec<Asked> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Waits until this many requests have come.
    pub async fn asked(&self, n: usize) {
        let mut asked = self.shared.asked.subscribe();
        timeout(STUCK, asked.wait_for(|asked| n <= *asked)).await.expect("no request came").unwrap();
    }

    /// Waits until the client has given up this many stalled answers.
    pub async fn hung_up(&self, n: usize) {
        let mut hung_up = self.shared.hung_up.subscribe();
        timeout(STUCK, hung_up.wait_for(|hung_up| n <= *hung_up)).await.expect("nobody hung up").unwrap();
    }

    /// Lets one more byte go out of an answer that waits for that.
    pub fn allow_byte(&self) {
        self.shared.allowed.add_permits(1);
    }

    /// What was wrong with the requests so far.
    pub fn violations(&self) -> Vec<String> {
        self.shared.judge.lock().unwrap().violations().clone()
    }

    /// Fails unless all requests were well-formed and the whole script was asked for.
    pub fn assert_content(&self) {
        let violations = self.violations();
        assert!(violations.is_empty(), "\n{}\n{:#?}", violations.join("\n"), self.requests());
        assert_eq!(self.shared.source.lock().unwrap().n_left(), 0, "not all of the script was asked for");
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => { connections.spawn(serve(stream, Arc::clone(&shared))); }
            Some(served) = connections.join_next() => served.unwrap(),
        }
    }
}

/// Serves one connection. An error ends it: the client is gone.
async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let mut stream = BufReader::new(stream);
    while let Ok(Some(asked)) = read_request(&mut stream).await {
        shared.judge.lock().unwrap().request(&asked);
        let answer = shared.source.lock().unwrap().answer(&asked);
        shared.requests.lock().unwrap().push(asked);
        let answer = answer.unwrap_or_else(|| {
            shared.judge.lock().unwrap().violations().push("more was asked than scripted".to_owned());
            Answer::status(400, "the script has ended")
        });
        shared.judge.lock().unwrap().remember(&answer.chunks);
        shared.asked.send_modify(|asked| *asked += 1);
        if write_answer(stream.get_mut(), &answer, &shared.allowed).await.is_err() {
            return;
        }
        match answer.end {
            End::Whole => (),
            End::Cut => return,
            End::Stall => {
                let mut rest = Vec::new();
                // An end or an error: either way the client has gone.
                let _gone = stream.read_to_end(&mut rest).await;
                shared.hung_up.send_modify(|hung_up| *hung_up += 1);
                return;
            }
        }
    }
}

/// `None` at the end of the connection.
async fn read_request(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Asked>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        lines.push(line.to_owned());
    }
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    // Through a proxy the whole address comes, which every server must take (RFC 9112, 3.2.2).
    let mut line = lines[0].clone();
    if let Some((method, rest)) = line.split_once(" http://") {
        line = format!("{method} {}", &rest[rest.find('/').unwrap()..]);
    }
    let mut asked = Asked { line, headers, body: String::new() };
    let length = asked.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    asked.body = String::from_utf8(body).unwrap();
    Ok(Some(asked))
}

async fn write_answer(stream: &mut TcpStream, answer: &Answer, allowed: &Semaphore) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut head = format!("HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    for piece in answer.body.chunks(answer.piece) {
        if answer.is_told {
            allowed.acquire().await.unwrap().forget();
        }
        stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        stream.write_all(piece).await?;
        stream.write_all(b"\r\n").await?;
    }
    if answer.end == End::Whole {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    stream.flush().await
}
