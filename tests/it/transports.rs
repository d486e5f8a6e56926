//! The real daemon, reached in every way there is: one method table behind all of them.

use std::{net::SocketAddr, process::Stdio};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
    process::Command,
    time::timeout,
};
use tokio_tungstenite::{
    client_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};

use crate::{
    built,
    process::{Home, output},
    support::STUCK,
};

const STATUS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"daemon/status"}"#;

/// Sends bytes, says that no more will come, and reads all that is answered.
async fn say_and_listen(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) -> String {
    stream.write_all(bytes).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    timeout(STUCK, stream.read_to_string(&mut answer)).await.expect("no end").unwrap();
    answer
}

fn posted(headers: &str, body: &str) -> String {
    format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Posts one message, and answers the status and the body.
async fn post(mut stream: impl AsyncRead + AsyncWrite + Unpin, headers: &str, body: &str) -> (String, Value) {
    stream.write_all(posted(headers, body).as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(STUCK, stream.read_to_string(&mut answer)).await.expect("no end").unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), serde_json::from_str(body).unwrap_or(Value::Null))
}

/// What the daemon answers about itself, by whatever way.
fn pid(answer: &Value) -> u64 {
    answer["result"]["daemon"]["pid"].as_u64().unwrap_or_else(|| panic!("no status: {answer}"))
}

#[tokio::test]
async fn one_socket_speaks_every_framing() {
    let home = Home::new();
    let daemon = home.start().await;
    let connect = async || UnixStream::connect(home.socket()).await.unwrap();

    let lines = say_and_listen(connect().await, format!("{STATUS}\n").as_bytes()).await;
    let lines: Value = serde_json::from_str(&lines).unwrap();

    let framed = format!("Content-Length: {}\r\n\r\n{STATUS}", STATUS.len());
    let headers = say_and_listen(connect().await, framed.as_bytes()).await;
    let (head, body) = headers.split_once("\r\n\r\n").unwrap();
    assert_eq!(head, format!("Content-Length: {}", body.len()));
    let headers: Value = serde_json::from_str(body).unwrap();

    let (status, http) = post(connect().await, "", STATUS).await;
    assert_eq!(status, "HTTP/1.1 200 OK");

    let (mut socket, _) = client_async("ws://localhost/rpc", connect().await).await.unwrap();
    socket.send(Message::text(STATUS)).await.unwrap();
    let Some(Ok(Message::Text(websocket))) = socket.next().await else { panic!("no answer") };
    let websocket: Value = serde_json::from_str(&websocket).unwrap();

    let all = [lines, headers, http, websocket];
    assert!(all.iter().all(|answer| pid(answer) == pid(&all[0])), "{all:?}");
    drop(socket);
    daemon.stop().await;
}

#[tokio::test]
async fn a_websocket_follows_a_session_that_lines_began() {
    let home = Home::new();
    let daemon = home.start().await;
    let stream = UnixStream::connect(home.socket()).await.unwrap();
    let create = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/create", "params": { "workspace": home.work() } });
    let created = say_and_listen(stream, format!("{create}\n").as_bytes()).await;
    let created: Value = serde_json::from_str(&created).unwrap();
    let session = created["result"]["sessionId"].clone();

    let stream = UnixStream::connect(home.socket()).await.unwrap();
    let (mut socket, _) = client_async("ws://localhost/rpc", stream).await.unwrap();
    let attach = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/attach", "params": { "sessionId": session, "from": "start" } });
    socket.send(Message::text(attach.to_string())).await.unwrap();
    let (_, updated) = post(
        UnixStream::connect(home.socket()).await.unwrap(),
        "",
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "session/update", "params": { "sessionId": session, "title": "by HTTP" } }).to_string(),
    )
    .await;
    let seq = updated["result"]["seq"].clone();
    let mut prev = json!(0);
    loop {
        let Some(Ok(message)) = timeout(STUCK, socket.next()).await.unwrap() else { panic!("hung up") };
        let Message::Text(text) = message else { continue };
        let message: Value = serde_json::from_str(&text).unwrap();
        let event = &message["params"]["result"];
        if event["seq"].is_null() {
            continue;
        }
        assert_eq!(event["prev"], prev);
        prev = event["seq"].clone();
        if event["type"] == "session.updated" {
            assert_eq!(event["seq"], seq);
            break;
        }
    }
    drop(socket);
    daemon.stop().await;
}

#[tokio::test]
async fn tcp_is_served_when_asked_for_to_whoever_shows_the_token() {
    let home = Home::new();
    let daemon = home.start_told(&[], &["--listen", "127.0.0.1:0"]).await;
    let log = home.daemon_log();
    let address = log.split("address=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    let address: SocketAddr = address.parse().unwrap();
    let token = std::fs::read_to_string(home.state_dir().join("token")).unwrap();
    let host = format!("Host: {address}\r\n");
    let request = posted("", STATUS).replace("Host: localhost\r\n", &host);
    let ask = async |request: String| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        timeout(STUCK, stream.read_to_string(&mut answer)).await.expect("no end").unwrap();
        answer
    };
    assert!(ask(request.clone()).await.starts_with("HTTP/1.1 401"));
    let shown = format!("{host}Authorization: Bearer {}\r\n", token.trim());
    let answer = ask(request.replace(&host, &shown)).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""result""#), "{answer}");
    assert!(!log.contains(token.trim()), "the token stands in the log");

    let mut upgrade = format!("ws://{address}/rpc").into_client_request().unwrap();
    upgrade.headers_mut().insert("authorization", format!("Bearer {}", token.trim()).parse().unwrap());
    let (mut socket, _) = client_async(upgrade, TcpStream::connect(address).await.unwrap()).await.unwrap();
    socket.send(Message::text(STATUS)).await.unwrap();
    assert!(matches!(socket.next().await, Some(Ok(Message::Text(_)))));
    drop(socket);
    daemon.stop().await;
}

#[tokio::test]
async fn other_machines_are_not_listened_to() {
    let home = Home::new();
    let mut command = home.daemon(&home.socket(), &home.state_dir());
    let ended = output(command.args(["--listen", "0.0.0.0:0"])).await;
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("0.0.0.0:0 is no loopback address"), "{}", ended.stderr);
    assert!(!home.socket().exists(), "the socket is left");
}

/// Standard input and output, connected with the daemon of a home.
fn pump(home: &Home) -> Command {
    let mut command = home.command(built::daemon());
    command.arg("--stdio").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn through(home: &Home, input: &str) -> (Option<i32>, String, String) {
    let mut child = pump(home).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    let output = timeout(STUCK, child.wait_with_output()).await.expect("no end").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn standard_input_and_output_reach_the_daemon_which_outlives_them() {
    let home = Home::new();
    // Nobody listens: the pump starts a daemon, and the next one finds it.
    let (code, first, stderr) = through(&home, &format!("{STATUS}\n")).await;
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let first: Value = serde_json::from_str(&first).unwrap();
    let framed = format!("Content-Length: {}\r\n\r\n{STATUS}", STATUS.len());
    let (code, second, stderr) = through(&home, &framed).await;
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let second: Value = serde_json::from_str(second.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(pid(&first), pid(&second));
}

#[tokio::test]
async fn the_pump_says_when_the_daemon_is_gone() {
    let home = Home::new();
    let daemon = home.start().await;
    let mut child = pump(&home).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{STATUS}\n").as_bytes()).await.unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut answer = vec![0; 4096];
    assert_ne!(stdout.read(&mut answer).await.unwrap(), 0);
    daemon.kill().await;
    let output = timeout(STUCK, child.wait_with_output()).await.expect("no end").unwrap();
    assert_eq!(output.status.code(), Some(69));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("the daemon ended the connection"), "{stderr}");
    drop(stdin);
}
