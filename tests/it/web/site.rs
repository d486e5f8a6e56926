//! A server on this machine that answers byte for byte what a test says, and counts who comes.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
};

/// What a path answers.
#[derive(Clone)]
pub enum Reply {
    /// These bytes, then the end of the connection.
    Bytes(Vec<u8>),
    /// The first bytes, then the second ones again and again, as long as somebody reads.
    Endless(Vec<u8>, Vec<u8>),
    /// These bytes, then nothing, and no end either.
    Hangs(Vec<u8>),
}

impl Reply {
    /// A page of this type.
    pub fn page(content_type: &str, body: impl AsRef<[u8]>) -> Reply {
        let length = body.as_ref().len();
        Reply::with(&format!("content-type: {content_type}\r\ncontent-length: {length}"), body)
    }

    /// Status 200 with these lines in its head.
    pub fn with(head: &str, body: impl AsRef<[u8]>) -> Reply {
        Reply::status("200 OK", head, body)
    }

    pub fn status(status: &str, head: &str, body: impl AsRef<[u8]>) -> Reply {
        let head = if head.is_empty() { String::new() } else { format!("{head}\r\n") };
        let mut bytes = format!("HTTP/1.1 {status}\r\n{head}\r\n").into_bytes();
        bytes.extend_from_slice(body.as_ref());
        Reply::Bytes(bytes)
    }

    pub fn redirect(location: &str) -> Reply {
        Reply::status("302 Found", &format!("location: {location}\r\ncontent-length: 0"), "")
    }
}

type Answers = Arc<dyn Fn(&str) -> Reply + Send + Sync>;

/// Ends when it is dropped.
pub struct Site {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    /// The head and the first bytes of the body of each request, once its answer is begun.
    requests: tokio::sync::Mutex<mpsc::UnboundedReceiver<String>>,
    _serving: JoinSet<()>,
}

impl Site {
    /// `answers` says what a path, with its query, answers.
    pub async fn start(answers: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (asked, requests) = mpsc::unbounded_channel();
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::new(answers), Arc::clone(&connections), asked));
        Site { address, connections, requests: requests.into(), _serving: serving }
    }

    /// So many have come.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The next request, as it came.
    pub async fn request(&self) -> String {
        self.requests.lock().await.recv().await.unwrap()
    }
}

async fn serve(
    listener: TcpListener,
    answers: Answers,
    connections: Arc<AtomicUsize>,
    asked: mpsc::UnboundedSender<String>,
) {
    // Its tasks end with this one.
    let mut answering = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::SeqCst);
        answering.spawn(answer(stream, Arc::clone(&answers), asked.clone()));
    }
}

async fn answer(mut stream: TcpStream, answers: Answers, asked: mpsc::UnboundedSender<String>) {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    let head_end = |request: &[u8]| request.windows(4).position(|it| it == b"\r\n\r\n").map(|at| at + 4);
    let length = |head: &str| {
        let line = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:").map(str::to_owned));
        line.map_or(0, |line| line.trim().parse::<usize>().unwrap())
    };
    loop {
        if let Some(end) = head_end(&request) {
            let head = String::from_utf8_lossy(&request[..end]).into_owned();
            if end + length(&head) <= request.len() {
                break;
            }
        }
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(n) => request.extend_from_slice(&piece[..n]),
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    // Whoever asked may be gone by now; that is theirs to say.
    match answers(&path) {
        Reply::Bytes(bytes) => {
            let _said = asked.send(request);
            let _gone = stream.write_all(&bytes).await;
            let _gone = stream.shutdown().await;
        }
        Reply::Endless(first, again) => {
            let _said = asked.send(request);
            let mut sent = stream.write_all(&first).await;
            while sent.is_ok() {
                sent = stream.write_all(&again).await;
            }
        }
        Reply::Hangs(bytes) => {
            let _gone = stream.write_all(&bytes).await;
            let _said = asked.send(request);
            // Until the other side has had enough.
            while stream.read(&mut piece).await.is_ok_and(|n| n != 0) {}
        }
    }
}
