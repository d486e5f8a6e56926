//! A server that is reached over HTTP, on this machine's loopback, by hand.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};

/// It listens until it is dropped.
pub struct Server {
    pub url: String,
    /// Heads of the requests that came, in small letters.
    pub heads: Arc<Mutex<Vec<String>>>,
    /// A call of `waits` came.
    pub waited_for: Arc<Notify>,
    tasks: JoinSet<()>,
}

impl Server {
    pub async fn start() -> Server {
        Server::moving_to("http://127.0.0.1:9/mcp").await
    }

    /// Of which one tool says that it is elsewhere.
    pub async fn moving_to(elsewhere: &str) -> Server {
        let elsewhere: Arc<str> = elsewhere.into();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (heads, waited_for) = (Arc::default(), Arc::<Notify>::default());
        let mut tasks = JoinSet::new();
        let (told, waiting) = (Arc::clone(&heads), Arc::clone(&waited_for));
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(serve(
                    stream,
                    Arc::clone(&told),
                    Arc::clone(&waiting),
                    Arc::clone(&elsewhere),
                ));
            }
        });
        Server { url, heads, waited_for, tasks }
    }

    /// Ends it, with every connection.
    pub async fn kill(&mut self) {
        self.tasks.shutdown().await;
    }
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// Answers in a way that no server should, until nobody listens any more.
async fn misbehave(how: &str, stream: &mut BufReader<TcpStream>, moved_to: &str) {
    let head = match how {
        "moves" => {
            format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {moved_to}\r\ncontent-length: 0\r\n\r\n")
        }
        "hangs_up" => return,
        "hangs_up_midway" => {
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{".to_owned()
        }
        _ => "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_owned(),
    };
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    let piece = match how {
        "endless" => format!("data: {}", "x".repeat(1 << 20)),
        "floods" => {
            let word = json!({ "jsonrpc": "2.0", "method": "notifications/message",
                               "params": { "level": "info", "data": "x".repeat(1_000) } });
            format!("data: {word}\n\n").repeat(1_000)
        }
        _ => return,
    };
    while stream.write_all(piece.as_bytes()).await.is_ok() {}
}

async fn serve(
    stream: TcpStream,
    heads: Arc<Mutex<Vec<String>>>,
    waited_for: Arc<Notify>,
    moved_to: Arc<str>,
) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let head = head.to_lowercase();
        heads.lock().unwrap().push(head.clone());
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |it| it.trim().parse().unwrap())];
        stream.read_exact(&mut body).await.unwrap();
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let answer = match message["method"].as_str() {
            Some("initialize") => Some(json!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "far", "version": "3" },
            })),
            Some("tools/list") => {
                let names = [
                    "echo",
                    "waits",
                    "big",
                    "huge",
                    "endless",
                    "floods",
                    "moves",
                    "hangs_up",
                    "hangs_up_midway",
                ];
                Some(json!({ "tools": names.map(|name| json!({ "name": name })) }))
            }
            Some("tools/call") if message["params"]["name"] == "waits" => {
                waited_for.notify_one();
                std::future::pending::<()>().await;
                None
            }
            Some("tools/call") => match message["params"]["name"].as_str().unwrap() {
                "big" => Some(text(&"x".repeat(50 << 20))),
                "huge" => Some(text(&"x".repeat(90 << 20))),
                misbehaved if misbehaved != "echo" => {
                    misbehave(misbehaved, &mut stream, &moved_to).await;
                    return;
                }
                _ => Some(text("from afar")),
            },
            Some("ping") => Some(json!({})),
            _ => None,
        };
        let reply = match answer {
            Some(result) => {
                let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
                let length = body.len();
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
                )
            }
            // It streams nothing by itself.
            None if head.starts_with("get") => {
                "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            None => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
        };
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}
