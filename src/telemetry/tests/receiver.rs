//! A collector on this machine's loopback, for HTTP and gRPC: takes what it is sent, or answers as badly as a test wants.

#![allow(dead_code, reason = "each group of tests needs another part of it")]

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use opentelemetry_proto::tonic::{
    collector::{
        logs::v1::ExportLogsServiceRequest, metrics::v1::ExportMetricsServiceRequest,
        trace::v1::ExportTraceServiceRequest,
    },
    trace::v1::Span,
};
use prost::{Message as _, bytes::Bytes};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

/// Longer than any machine needs; reached only by a defect.
const STUCK: Duration = Duration::from_secs(60);

/// What a request is answered. After the script everything is taken.
#[derive(Debug, Clone)]
pub enum Answer {
    Take,
    /// This status, and lines of headers.
    Status(u16, &'static str),
    /// The same of gRPC, with details that ask for so many seconds of patience.
    Grpc(u32, Option<u64>),
    /// All but so many.
    Reject(i64),
    /// Nothing, until the client has gone.
    Silence,
    /// A body of ten gigabytes.
    Endless,
    /// The request is taken, and the answer never comes to its end.
    Halting,
    /// The request is taken, and its answer is lost.
    Vanish,
}

/// A request as it came, unpacked.
#[derive(Debug, Clone)]
pub struct Received {
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn traces(&self) -> ExportTraceServiceRequest {
        match self.header("content-type") {
            Some("application/json") => serde_json::from_slice(&self.body).unwrap(),
            _ => ExportTraceServiceRequest::decode(&*self.body).unwrap(),
        }
    }

    pub fn metrics(&self) -> ExportMetricsServiceRequest {
        ExportMetricsServiceRequest::decode(&*self.body).unwrap()
    }

    pub fn logs(&self) -> ExportLogsServiceRequest {
        ExportLogsServiceRequest::decode(&*self.body).unwrap()
    }

    fn is_of(&self, signal: &str) -> bool {
        self.path.to_lowercase().contains(signal)
    }
}

pub struct Receiver {
    pub port: u16,
    shared: Arc<Shared>,
    /// Owns the task that accepts, which owns those of the connections.
    _tasks: JoinSet<()>,
}

struct Shared {
    script: Mutex<VecDeque<Answer>>,
    received: Mutex<Vec<(Received, bool)>>,
    count: watch::Sender<usize>,
    /// Requests that were given up by the client while nothing was answered.
    left: watch::Sender<usize>,
}

impl Receiver {
    pub async fn http(script: impl Into<VecDeque<Answer>>) -> Receiver {
        Receiver::on(0, false, script.into()).await
    }

    pub async fn grpc(script: impl Into<VecDeque<Answer>>) -> Receiver {
        Receiver::on(0, true, script.into()).await
    }

    /// At a port where one was before.
    pub async fn on(port: u16, is_grpc: bool, script: VecDeque<Answer>) -> Receiver {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            received: Mutex::default(),
            count: watch::Sender::new(0),
            left: watch::Sender::new(0),
        });
        let mut tasks = JoinSet::new();
        let accepting = Arc::clone(&shared);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&accepting);
                connections.spawn(async move {
                    match is_grpc {
                        true => serve_grpc(stream, &shared).await,
                        false => serve_http(stream, &shared).await,
                    }
                });
            }
        });
        Receiver { port, shared, _tasks: tasks }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All requests so far, also those that were not taken.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap().iter().map(|(it, _)| it.clone()).collect()
    }

    /// Waits until there were so many requests.
    pub async fn requests(&self, count: usize) -> Vec<Received> {
        let mut seen = self.shared.count.subscribe();
        let waiting = seen.wait_for(|seen| count <= *seen);
        timeout(STUCK, waiting).await.expect("no request came").unwrap();
        self.received()
    }

    /// Waits until a client gave up a request that was not answered.
    pub async fn left_alone(&self) {
        let mut left = self.shared.left.subscribe();
        timeout(STUCK, left.wait_for(|left| *left != 0)).await.expect("the client stayed").unwrap();
    }

    /// Spans that were taken, with those that came again.
    pub fn spans(&self) -> Vec<Span> {
        let received = self.shared.received.lock().unwrap();
        let taken = received.iter().filter(|(it, is_taken)| *is_taken && it.is_of("trace"));
        let spans = taken.flat_map(|(it, _)| it.traces().resource_spans);
        spans.flat_map(|it| it.scope_spans).flat_map(|it| it.spans).collect()
    }

    /// Waits until the spans that were taken are so.
    pub async fn until(&self, is_so: impl Fn(&[Span]) -> bool) -> Vec<Span> {
        let mut seen = self.shared.count.subscribe();
        let waiting = async {
            loop {
                let spans = self.spans();
                if is_so(&spans) {
                    return spans;
                }
                seen.changed().await.unwrap();
            }
        };
        match timeout(STUCK, waiting).await {
            Ok(spans) => spans,
            Err(_) => panic!(
                "the spans never came: {:?}",
                self.spans().iter().map(|it| &it.name).collect::<Vec<_>>()
            ),
        }
    }
}

impl Shared {
    fn answer(&self, received: Received) -> Answer {
        let answer = self.script.lock().unwrap().pop_front().unwrap_or(Answer::Take);
        let is_taken = matches!(
            answer,
            Answer::Take | Answer::Halting | Answer::Vanish | Answer::Reject(_) | Answer::Endless
        );
        self.received.lock().unwrap().push((received, is_taken));
        self.count.send_modify(|count| *count += 1);
        answer
    }

    fn is_left(&self) {
        self.left.send_modify(|left| *left += 1);
    }
}

async fn serve_http(stream: TcpStream, shared: &Shared) {
    let mut stream = BufReader::new(stream);
    while let Some(received) = request(&mut stream).await {
        let is_json = received.header("content-type") == Some("application/json");
        match shared.answer(received) {
            Answer::Take => write(&mut stream, "200 OK", "", b"").await,
            Answer::Status(status, headers) => {
                write(&mut stream, &format!("{status} Said"), headers, b"sorry").await
            }
            Answer::Reject(count) if is_json => {
                let body =
                    format!(r#"{{"partialSuccess":{{"rejectedSpans":"{count}","errorMessage":"no"}}}}"#);
                write(&mut stream, "200 OK", "Content-Type: application/json\r\n", body.as_bytes()).await;
            }
            Answer::Reject(count) => write(&mut stream, "200 OK", "", &rejected(count)).await,
            Answer::Silence => {
                let mut rest = [0; 1];
                drop(stream.read(&mut rest).await);
                shared.is_left();
                return;
            }
            Answer::Halting => {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n").await);
                drop(stream.read(&mut [0; 1]).await);
                return shared.is_left();
            }
            Answer::Endless => {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 10_u64 << 30);
                drop(stream.write_all(head.as_bytes()).await);
                while stream.write_all(&[0; 65_536]).await.is_ok() {}
                shared.is_left();
                return;
            }
            Answer::Vanish | Answer::Grpc(..) => return,
        }
    }
}

async fn request(stream: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|read| *read != 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let find = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let mut body = vec![0; find("content-length")?.parse().ok()?];
    stream.read_exact(&mut body).await.ok()?;
    if find("content-encoding").is_some_and(|it| it == "gzip") {
        body = unpacked(&body);
    }
    Some(Received { path, headers, body })
}

async fn write(stream: &mut BufReader<TcpStream>, status: &str, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    drop(stream.write_all(&[head.as_bytes(), body].concat()).await);
}

fn unpacked(body: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(body), &mut unpacked).unwrap();
    unpacked
}

/// An answer that says how many were rejected.
fn rejected(count: i64) -> Vec<u8> {
    use opentelemetry_proto::tonic::collector::trace::v1::{
        ExportTracePartialSuccess, ExportTraceServiceResponse,
    };
    let partial = ExportTracePartialSuccess { rejected_spans: count, error_message: "no".to_owned() };
    ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec()
}

async fn serve_grpc(stream: TcpStream, shared: &Shared) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let (head, mut body) = request.into_parts();
        let reading = async {
            let mut read = Vec::new();
            while let Some(Ok(chunk)) = body.data().await {
                read.extend_from_slice(&chunk);
                drop(body.flow_control().release_capacity(chunk.len()));
            }
            read
        };
        // The connection moves the body's bytes.
        let read = tokio::select! {
            read = reading => read,
            _ = std::future::poll_fn(|cx| connection.poll_closed(cx)) => return,
        };
        let headers = head.headers.iter();
        let headers: Vec<(String, String)> =
            headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        let length = u32::from_be_bytes(read[1..5].try_into().unwrap()) as usize;
        assert_eq!(length, read.len() - 5);
        let body = if read[0] == 1 { unpacked(&read[5..]) } else { read[5..].to_vec() };
        let answer = shared.answer(Received { path: head.uri.path().to_owned(), headers, body });
        let ok = || http::Response::builder().header("content-type", "application/grpc");
        let (status, details, message) = match answer {
            Answer::Grpc(status, seconds) => (status, seconds, None),
            Answer::Reject(count) => (0, None, Some(rejected(count))),
            Answer::Silence => {
                drop(std::future::poll_fn(|cx| connection.poll_closed(cx)).await);
                return shared.is_left();
            }
            Answer::Halting | Answer::Vanish => return,
            Answer::Endless => {
                let mut sending = respond.send_response(ok().body(()).unwrap(), false).unwrap();
                sending.reserve_capacity(1 << 20);
                let endless = async {
                    while let Some(Ok(room)) = std::future::poll_fn(|cx| sending.poll_capacity(cx)).await {
                        if sending.send_data(Bytes::from(vec![0; room]), false).is_err() {
                            break;
                        }
                        sending.reserve_capacity(1 << 20);
                    }
                };
                tokio::select! {
                    () = endless => {}
                    _ = std::future::poll_fn(|cx| connection.poll_closed(cx)) => {}
                }
                return shared.is_left();
            }
            Answer::Take | Answer::Status(..) => (0, None, Some(Vec::new())),
        };
        let mut trailers = http::HeaderMap::new();
        trailers.insert("grpc-status", http::HeaderValue::from(status));
        if let Some(seconds) = details {
            trailers.insert("grpc-status-details-bin", patience(seconds).parse().unwrap());
        }
        match message {
            Some(message) => {
                let mut sending = respond.send_response(ok().body(()).unwrap(), false).unwrap();
                let prefix = [&[0_u8][..], &u32::try_from(message.len()).unwrap().to_be_bytes()].concat();
                sending.send_data(Bytes::from([prefix, message].concat()), false).unwrap();
                sending.send_trailers(trailers).unwrap();
            }
            None => {
                let mut head = ok().body(()).unwrap();
                head.headers_mut().extend(trailers);
                respond.send_response(head, true).unwrap();
            }
        }
    }
}

/// `google.rpc.Status` with a `RetryInfo` of so many seconds, as a header has it.
fn patience(seconds: u64) -> String {
    use base64::Engine as _;
    let delay = [&[0x08][..], &varint(seconds)].concat();
    let field = |tag: u8, bytes: &[u8]| [&[tag][..], &varint(bytes.len() as u64), bytes].concat();
    let any = [field(0x0a, b"type.googleapis.com/google.rpc.RetryInfo"), field(0x12, &field(0x0a, &delay))]
        .concat();
    base64::engine::general_purpose::STANDARD_NO_PAD.encode(field(0x1a, &any))
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while 0x80 <= number {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
