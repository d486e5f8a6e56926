//! `/mcp` over HTTP: who is let in, and a session from its beginning to its end.

use std::{net::SocketAddr, path::Path, time::Duration};

use serde_json::{Value, json};
use subagentd::daemon::rpc::TcpAcceptor;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
    time::timeout,
};

use super::{agent, boot, house, prompt};
use crate::support::{House, Reply, Running, STUCK, Script};

/// A daemon that listens on TCP as well, with its token.
async fn listening(running: &Running, folder: &Path) -> (SocketAddr, String) {
    let token = folder.join("token");
    let door = TcpAcceptor::bind("127.0.0.1:0".parse().unwrap(), &token).await.unwrap();
    let address = door.address();
    running.daemon.listen_tcp(door);
    (address, std::fs::read_to_string(token).unwrap().trim().to_owned())
}

/// One request with a body, on a connection of its own; answers head and body, as far as they came by the end of the message.
async fn ask(stream: &mut (impl AsyncReadAndWrite + Unpin), head: &str, body: &str) -> (String, String) {
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let request = format!("{head}{length}\r\n{body}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(STUCK, stream.read_to_string(&mut answer)).await.expect("no end").unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}

trait AsyncReadAndWrite: tokio::io::AsyncRead + tokio::io::AsyncWrite {}
impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite> AsyncReadAndWrite for T {}

fn head(method: &str, query: &str, host: &str, more: &str) -> String {
    format!(
        "{method} /mcp?{query} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{more}"
    )
}

fn initialize() -> String {
    let client = json!({ "name": "tester", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string()
}

/// The messages of a stream of events.
fn messages(body: &str) -> Vec<Value> {
    body.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok()).collect()
}

fn session(head: &str) -> String {
    head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("no session").to_owned()
}

#[tokio::test]
async fn only_who_shows_the_token_by_the_right_name_is_let_in() {
    let house = house(&Script::new([Reply::done("done")]));
    let (running, _) = boot(&house).await;
    let (address, token) = listening(&running, house.dir.path()).await;
    let host = address.to_string();
    let shown = format!("Authorization: Bearer {token}\r\n");
    let page = format!("{shown}Origin: http://evil.example\r\n");
    for (host, more, expected) in [
        (host.as_str(), "", "401"),
        (host.as_str(), "Authorization: Bearer wrong\r\n", "401"),
        ("evil.example", shown.as_str(), "403"),
        (host.as_str(), page.as_str(), "403"),
        (host.as_str(), shown.as_str(), "200"),
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let (answer, _) = ask(&mut stream, &head("POST", "workspace=/", host, more), &initialize()).await;
        assert!(answer.starts_with(&format!("http/1.1 {expected}")), "{host} {more}: {answer}");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_session_over_http_lists_runs_and_ends() {
    let house = house(&Script::new([Reply::done("by http")]));
    let (running, socket) = boot(&house).await;
    let query = format!("workspace={}", running.work().display());
    let send = async |method: &str, more: &str, body: &str| {
        let mut stream = UnixStream::connect(&socket).await.unwrap();
        ask(&mut stream, &head(method, &query, "localhost", more), body).await
    };
    let (answer, body) = send("POST", "", &initialize()).await;
    assert!(answer.starts_with("http/1.1 200"), "{answer}");
    assert_eq!(messages(&body)[0]["result"]["serverInfo"]["name"], "subagentd");
    let named = format!("Mcp-Session-Id: {}\r\nMcp-Protocol-Version: 2025-06-18\r\n", session(&answer));
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    assert!(send("POST", &named, &ready).await.0.starts_with("http/1.1 202"));
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "worker", "arguments": prompt(), "_meta": { "progressToken": 7 } },
    });
    let (_, body) = send("POST", &named, &call.to_string()).await;
    let told = messages(&body);
    assert_eq!(told[0]["method"], "notifications/progress", "{told:?}");
    assert_eq!(told.last().unwrap()["result"]["content"][0]["text"], "by http", "{told:?}");
    assert!(send("DELETE", &named, "").await.0.starts_with("http/1.1 202"));
    let list = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }).to_string();
    assert!(send("POST", &named, &list).await.0.starts_with("http/1.1 404"));
    running.stop().await;
}

#[tokio::test]
async fn what_a_url_gets_wrong_and_a_missing_folder_are_told() {
    let (running, socket) = boot(&house(&Script::new([Reply::done("done")]))).await;
    let send = async |query: &str, more: &str, body: &str| {
        let mut stream = UnixStream::connect(&socket).await.unwrap();
        ask(&mut stream, &head("POST", query, "localhost", more), body).await
    };
    let (_, body) = send("workspace=here", "", &initialize()).await;
    assert!(body.contains("not an absolute path"), "{body}");
    let (answer, _) = send("", "", &initialize()).await;
    let named = format!("Mcp-Session-Id: {}\r\n", session(&answer));
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }).to_string();
    let (_, body) = send("", &named, &list).await;
    assert!(body.contains("?workspace=/absolute/path"), "{body}");
    running.stop().await;
}

#[tokio::test]
async fn sessions_over_http_are_bounded() {
    let (running, socket) = boot(&house(&Script::new([Reply::done("done")]))).await;
    let mut answers = Vec::new();
    for _ in 0..65 {
        let mut stream = UnixStream::connect(&socket).await.unwrap();
        answers.push(ask(&mut stream, &head("POST", "workspace=/", "localhost", ""), &initialize()).await.0);
    }
    let (last, others) = answers.split_last().unwrap();
    assert!(others.iter().all(|answer| answer.starts_with("http/1.1 200")));
    assert!(last.starts_with("http/1.1 503") && last.contains("retry-after"), "{last}");
    running.stop().await;
}

#[tokio::test]
async fn of_the_sessions_that_their_clients_left_the_oldest_makes_room() {
    let (house, clock) = house(&Script::new([Reply::done("done")])).manual_clock();
    let (running, socket) = boot(&house).await;
    let send = async |more: &str, body: &str| {
        let mut stream = UnixStream::connect(&socket).await.unwrap();
        ask(&mut stream, &head("POST", "workspace=/", "localhost", more), body).await.0
    };
    let mut sessions = Vec::new();
    for _ in 0..64 {
        sessions.push(session(&send("", &initialize()).await));
        clock.advance(Duration::from_millis(1));
    }
    assert!(send("", &initialize()).await.starts_with("http/1.1 503"), "somebody who was there made room");
    clock.advance(Duration::from_secs(60));
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    let named = |session: &str| format!("Mcp-Session-Id: {session}\r\nMcp-Protocol-Version: 2025-06-18\r\n");
    // Who says something is there again.
    assert!(send(&named(&sessions[0]), &ready).await.starts_with("http/1.1 202"));
    assert!(send("", &initialize()).await.starts_with("http/1.1 200"));
    assert!(
        send(&named(&sessions[1]), &ready).await.starts_with("http/1.1 404"),
        "the oldest is still there"
    );
    for still in [&sessions[0], &sessions[2], &sessions[63]] {
        assert!(send(&named(still), &ready).await.starts_with("http/1.1 202"), "another made room");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_question_is_not_offered_any_more_to_a_client_that_has_left() {
    let write = Reply::calls(&[("write_file", json!({ "path": "note.txt", "content": "one\n" }))]);
    let (house, clock) = House::new()
        .script(&Script::new([write, Reply::done("done")]))
        .agent("writer", &agent("writer", "tools: [write_file]"))
        .settings(&json!({ "models": { "default": "script" } }))
        .manual_clock();
    let (running, socket) = boot(&house).await;
    let query = format!("workspace={}&waitMs=0", running.work().display());
    let send = async |more: &str, body: &Value| {
        let mut stream = UnixStream::connect(&socket).await.unwrap();
        ask(&mut stream, &head("POST", &query, "localhost", more), &body.to_string()).await
    };
    let mut begin: Value = serde_json::from_str(&initialize()).unwrap();
    begin["params"]["capabilities"] = json!({ "elicitation": {} });
    let named = format!(
        "Mcp-Session-Id: {}\r\nMcp-Protocol-Version: 2025-06-18\r\n",
        session(&send("", &begin).await.0)
    );
    send(&named, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    let call = |id: u32, name: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
    let (_, body) = send(&named, &call(2, "writer", prompt())).await;
    let run = messages(&body).last().unwrap()["result"]["structuredContent"]["runId"].clone();
    let mut other = running.client();
    let is = |state: &'static str| move |it: &Value| it["confirmations"][0]["state"] == state;
    other.until("confirmation/list", json!({}), is("offered")).await;
    clock.advance(Duration::from_secs(59));
    // Whoever comes back within a minute has not left.
    let wait = json!({ "runId": run, "timeoutMs": 0 });
    send(&named, &call(3, "run_wait", wait.clone())).await;
    clock.advance(Duration::from_secs(59));
    other.until("confirmation/list", json!({}), is("offered")).await;
    clock.advance(Duration::from_secs(1));
    other.until("confirmation/list", json!({}), is("queued")).await;
    // And who comes back later is asked again.
    send(&named, &call(4, "run_wait", wait)).await;
    other.until("confirmation/list", json!({}), is("offered")).await;
    clock.advance(Duration::from_secs(60));
    other.until("confirmation/list", json!({}), is("queued")).await;
    drop(other);
    running.stop_unfinished().await;
}
