//! TCP: whoever shows the token, from this machine, and no web page.

use std::{
    fs::{self, Permissions},
    net::SocketAddr,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
};

use tempfile::TempDir;
use tokio::{io::AsyncReadExt as _, net::TcpStream};

use super::*;
use crate::rpc::TcpAcceptor;

struct Daemon {
    address: SocketAddr,
    token: String,
    stop: CancellationToken,
    serving: JoinSet<()>,
    _folder: TempDir,
}

async fn daemon() -> Daemon {
    let folder = tempfile::tempdir().unwrap();
    let token_file = folder.path().join("token");
    let door = TcpAcceptor::bind("127.0.0.1:0".parse().unwrap(), &token_file).await.unwrap();
    let (address, stop) = (door.address(), CancellationToken::new());
    let mut serving = JoinSet::new();
    serving.spawn(door.serve(reception(&table(&Bed::new()), &stop), stop.clone()));
    let token = fs::read_to_string(token_file).unwrap().trim().to_owned();
    Daemon { address, token, stop, serving, _folder: folder }
}

impl Daemon {
    /// The status and the error's kind, of a request with these headers; `{port}` and `{token}` are filled in.
    async fn ask(&self, request_line: &str, headers: &[&str]) -> String {
        self.post(request_line, headers, "application/json", r#"{"id":1,"method":"ping"}"#).await.0
    }

    /// The same of any body, with the answer's own.
    async fn post(&self, request_line: &str, headers: &[&str], kind: &str, body: &str) -> (String, Value) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let headers =
            headers.replace("{port}", &self.address.port().to_string()).replace("{token}", &self.token);
        let request = format!(
            "{request_line} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = &head[9..12];
        let value = serde_json::from_str::<Value>(body).unwrap_or_default();
        match value["error"].is_object() {
            true => (format!("{status} {}", super::kind(&value)), value),
            false => (status.to_owned(), value),
        }
    }

    async fn end(mut self) {
        self.stop.cancel();
        self.serving.join_next().await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_request_shows_the_token_and_names_this_machine() {
    let daemon = daemon().await;
    let (host, token) = ("Host: 127.0.0.1:{port}", "Authorization: Bearer {token}");
    let rpc = "POST /rpc";
    for (request_line, headers, answer) in [
        (rpc, &[host, token][..], "200"),
        (rpc, &["Host: localhost:{port}", "authorization: bearer {token}"], "200"),
        (rpc, &["Host: [::1]:{port}", token], "200"),
        (rpc, &[host, token, "Origin: http://127.0.0.1:{port}"], "200"),
        (rpc, &[host], "401 UNAUTHORIZED"),
        (rpc, &[host, "Authorization: Bearer"], "401 UNAUTHORIZED"),
        (rpc, &[host, "Authorization: Bearer 00{token}"], "401 UNAUTHORIZED"),
        (rpc, &[host, "Authorization: Bearer {token}0"], "401 UNAUTHORIZED"),
        (rpc, &[host, "Authorization: Basic {token}"], "401 UNAUTHORIZED"),
        (rpc, &[host, token, token], "401 UNAUTHORIZED"),
        (rpc, &[host, "Cookie: token={token}"], "401 UNAUTHORIZED"),
        ("POST /rpc?token={token}", &[host], "401 UNAUTHORIZED"),
        (rpc, &["Host: evil.example", token], "403 FORBIDDEN"),
        (rpc, &["Host: evil.example:{port}", token], "403 FORBIDDEN"),
        (rpc, &["Host: 127.0.0.1:1", token], "403 FORBIDDEN"),
        (rpc, &["Host: localhost", token], "403 FORBIDDEN"),
        (rpc, &["Host: localhost.evil.example:{port}", token], "403 FORBIDDEN"),
        (rpc, &["Host: 127.0.0.1:{port}@evil.example:{port}", token], "403 FORBIDDEN"),
        (rpc, &[host, host, token], "403 FORBIDDEN"),
        (rpc, &[token], "403 FORBIDDEN"),
        (rpc, &[host, token, "Origin: http://evil.example"], "403 FORBIDDEN"),
        (rpc, &[host, token, "Origin: http://localhost:3000"], "403 FORBIDDEN"),
        (rpc, &[host, token, "Origin: https://127.0.0.1:{port}"], "403 FORBIDDEN"),
        (rpc, &[host, token, "Origin: null"], "403 FORBIDDEN"),
        ("OPTIONS /rpc", &[host, "Origin: http://evil.example"], "403 FORBIDDEN"),
        ("GET /rpc", &[host, "Upgrade: websocket", "Connection: Upgrade"], "401 UNAUTHORIZED"),
        ("GET /healthz", &[host], "200"),
        ("GET /readyz", &[host], "200"),
        ("GET /healthz", &["Host: evil.example"], "403 FORBIDDEN"),
        ("GET /nothing", &[host], "401 UNAUTHORIZED"),
    ] {
        assert_eq!(daemon.ask(request_line, headers).await, answer, "{request_line} {headers:?}");
    }
    daemon.end().await;
}

#[tokio::test]
async fn lines_are_not_spoken_over_tcp_since_they_show_no_token() {
    let daemon = daemon().await;
    for opening in [
        "{\"id\":1,\"method\":\"ping\"}\n",
        "Content-Length: 24\r\n\r\n{\"id\":1,\"method\":\"ping\"}",
        "\0\0\0\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(daemon.address).await.unwrap();
        stream.write_all(opening.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 400"), "{opening:?}: {answer}");
        assert!(!answer.contains("result"), "{opening:?}: {answer}");
    }
    daemon.end().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_says_nothing_or_comes_as_one_too_many_is_let_go() {
    let daemon = daemon().await;
    let mut silent = Vec::new();
    for _ in 0..400 {
        let mut stream = TcpStream::connect(daemon.address).await.unwrap();
        stream.write_all(b" ").await.unwrap();
        silent.push(stream);
    }
    // All are let go: those that were let in when they had said nothing for a while, the others with a word.
    let mut refused = 0;
    for mut stream in silent {
        let mut answer = String::new();
        if stream.read_to_string(&mut answer).await.is_ok() && answer.starts_with("HTTP/1.1 503") {
            refused += 1;
        }
    }
    assert!(0 < refused, "400 are more than are let in");
    assert_eq!(daemon.ask("GET /healthz", &["Host: 127.0.0.1:{port}"]).await, "200");
    daemon.end().await;
}

#[tokio::test]
async fn a_websocket_shows_the_token_in_its_handshake() {
    use futures_util::{SinkExt as _, StreamExt as _};
    use tokio_tungstenite::{
        client_async,
        tungstenite::{Message, client::IntoClientRequest as _},
    };
    let daemon = daemon().await;
    let mut request = format!("ws://{}/rpc", daemon.address).into_client_request().unwrap();
    let stream = TcpStream::connect(daemon.address).await.unwrap();
    assert!(client_async(request.clone(), stream).await.is_err(), "without the token");
    let shown = format!("Bearer {}", daemon.token).parse().unwrap();
    request.headers_mut().insert("authorization", shown);
    let stream = TcpStream::connect(daemon.address).await.unwrap();
    let (mut socket, _) = client_async(request, stream).await.unwrap();
    socket.send(Message::text(r#"{"id":1,"method":"ping"}"#)).await.unwrap();
    let Some(Ok(Message::Text(answer))) = socket.next().await else { panic!("no answer") };
    assert!(answer.contains(r#""id":1"#), "{answer}");
    drop(socket);
    daemon.end().await;
}

#[tokio::test]
async fn only_this_machine_is_listened_to() {
    let folder = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error =
            TcpAcceptor::bind(address.parse().unwrap(), &folder.path().join("token")).await.err().unwrap();
        assert!(error.to_string().contains("is no loopback address"), "{error}");
    }
    assert!(!folder.path().join("token").exists());
}

#[tokio::test]
async fn the_token_is_made_once_and_a_file_that_others_can_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let bind = async |path: PathBuf| TcpAcceptor::bind("127.0.0.1:0".parse().unwrap(), &path).await;
    drop(bind(path.clone()).await.unwrap());
    let made = fs::read_to_string(&path).unwrap();
    assert_eq!((made.trim().len(), fs::metadata(&path).unwrap().permissions().mode() & 0o777), (64, 0o600));
    drop(bind(path.clone()).await.unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), made, "kept");

    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let error = bind(path.clone()).await.err().unwrap().to_string();
    assert!(error.contains("is open to others (mode 0640)"), "{error}");

    for (name, content) in
        [("empty", ""), ("short", "abc"), ("long", &"0".repeat(65)), ("words", &"x".repeat(64))]
    {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let error = bind(path).await.err().unwrap().to_string();
        assert!(error.contains("holds no key"), "{name}: {error}");
    }
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    let error = bind(link).await.err().unwrap().to_string();
    assert!(error.contains("cannot open the key file"), "{error}");
}

#[tokio::test]
async fn a_question_is_answered_by_the_token_in_the_path_alone() {
    let daemon = daemon().await;
    let host = format!("Host: 127.0.0.1:{}", daemon.address.port());
    let allow = r#"{"outcome":"allowOnce","message":"go on"}"#;
    for (request_line, headers, body, expected) in [
        ("POST /confirm/good", &[&*host][..], allow, "200"),
        // The token of the path counts, whatever the body says.
        ("POST /confirm/old", &[&host], r#"{"outcome":"deny","token":"good"}"#, "409 CONFIRMATION_STALE"),
        ("POST /confirm/used", &[&host], allow, "409 CONFIRMATION_ALREADY_RESOLVED"),
        ("POST /confirm/made-up", &[&host], allow, "403 FORBIDDEN"),
        ("POST /confirm/", &[&host], allow, "403 FORBIDDEN"),
        ("POST /confirm/full", &[&host], allow, "503 STORAGE_FULL"),
        ("POST /confirm/good", &[&host], r#"{"outcome":"maybe"}"#, "400 INVALID_PARAMS"),
        ("POST /confirm/good", &[&host], r#"{"outcome":"deny","outcome":"allowOnce"}"#, "400 PARSE_ERROR"),
        ("POST /confirm/good", &[&host], "{}", "400 INVALID_PARAMS"),
        ("POST /confirm/good", &[&host], "[]", "400 PARSE_ERROR"),
        ("POST /confirm/good", &[&host], "allowOnce", "400 PARSE_ERROR"),
        ("GET /confirm/good", &[&host], "", "405 INVALID_REQUEST"),
        ("POST /confirm/good", &["Host: evil.example"], allow, "403 FORBIDDEN"),
        ("POST /confirm/good", &[&host, "Origin: http://evil.example"], allow, "403 FORBIDDEN"),
        ("POST /confirmed", &[&host], allow, "401 UNAUTHORIZED"),
    ] {
        let answer = daemon.post(request_line, headers, "application/json", body).await;
        assert_eq!(answer.0, expected, "{request_line} {headers:?} {body}");
        if expected == "200" {
            assert_eq!(answer.1["resolution"]["outcome"], "allowOnce", "{}", answer.1);
            assert_eq!(answer.1["resolution"]["message"], "go on");
        }
    }
    // A form of a web page cannot say that it is JSON.
    let form = daemon.post("POST /confirm/good", &[&host], "text/plain", allow).await;
    assert_eq!(form.0, "415 INVALID_REQUEST");
    daemon.end().await;
}
