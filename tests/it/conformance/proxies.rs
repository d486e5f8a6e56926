//! A proxy in between, and what the daemon itself writes down: the real program, whose environment names the proxy.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{
    process::Home,
    provider_server::{KEY, ProviderServer, Wire},
};

const TALKER: &str = "---\nkind: agent\nname: talker\ndescription: Talks.\ncompletion: message\ntools: [read_file]\n---\nYou talk.\n";

/// Hands on to one server whatever host is asked for, and opens no tunnels.
struct Proxy {
    port: u16,
    /// The first line of each connection.
    lines: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    async fn before(server: &ProviderServer) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = server.base_url().replace("http://", "");
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&lines);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(hand_on(stream, target.clone(), Arc::clone(&seen)));
            }
        });
        Proxy { port, lines, _tasks: tasks }
    }
}

async fn hand_on(mut stream: TcpStream, target: String, seen: Arc<Mutex<Vec<String>>>) {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        line.push(byte);
    }
    let text = String::from_utf8(line.clone()).unwrap().trim_end().to_owned();
    let is_tunnel = text.starts_with("CONNECT ");
    seen.lock().unwrap().push(text);
    // Whoever hangs up ends it.
    if is_tunnel {
        let _gone = stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await;
        return;
    }
    let mut onwards = TcpStream::connect(target).await.unwrap();
    onwards.write_all(&line).await.unwrap();
    let _gone = copy_bidirectional(&mut stream, &mut onwards).await;
}

#[tokio::test]
async fn proxies_of_the_environment_are_used_but_for_this_machine_and_the_key_is_told_nobody() {
    let mut played = JoinSet::new();
    for wire in Wire::ALL {
        played.spawn(through_a_proxy(wire));
    }
    while let Some(done) = played.join_next().await {
        done.unwrap();
    }
}

async fn through_a_proxy(wire: Wire) {
    // One request for each of: through the proxy, to this machine, to a host that is to be reached directly; then a
    // refusal that repeats the key.
    let refusal = wire.refuses(401, &format!("not a key: {KEY}"));
    let server = wire.server([wire.text("Far."), wire.text("Near."), wire.text("Direct."), refusal]).await;
    let proxy = Proxy::before(&server).await;
    let home = Home::new();
    std::fs::write(home.path("config/subagentd/agents/talker.md"), TALKER).unwrap();
    let port = server.base_url().rsplit(':').next().unwrap().to_owned();
    let bases = [
        ("far", "http://provider.example".to_owned()),
        ("near", format!("http://127.0.0.1:{port}")),
        // This machine as well, which nobody can tell by its name.
        ("direct", format!("http://0.0.0.0:{port}")),
        ("secure", "https://provider.example".to_owned()),
    ];
    let entry = |base: &str| {
        json!({
            "kind": wire.name(), "baseUrl": format!("{base}{}", wire.base_path()), "key": { "env": "TEST_KEY" },
        })
    };
    let providers: Value = bases.iter().map(|(name, base)| ((*name).to_owned(), entry(base))).collect();
    let settings = json!({ "providers": providers });
    std::fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
    let address = format!("http://somebody:his-password@127.0.0.1:{}", proxy.port);
    let variables = [
        ("TEST_KEY", KEY),
        ("HTTP_PROXY", address.as_str()),
        ("HTTPS_PROXY", address.as_str()),
        ("NO_PROXY", "0.0.0.0"),
        // As much as there is to be said.
        ("RUST_LOG", "trace"),
    ];
    let daemon = home.start_with(&variables).await;
    let mut client = home.connect().await;
    let start = |entry: &str| json!({ "workspace": home.work(), "agent": "talker", "prompt": "go", "model": format!("{entry}/{}", wire.model()) });
    let mut told = Vec::new();
    for entry in ["far", "near", "direct", "far"] {
        let started = client.call("run/start", start(entry)).await.unwrap();
        let record = client.ended(started["runId"].as_str().unwrap()).await.unwrap();
        let error = record["error"]["message"].as_str().unwrap_or_default().to_owned();
        told.push((record["reason"].as_str().unwrap().to_owned(), record["result"].clone(), error));
    }
    let name = wire.name();
    let good = |text: &str| ("GOAL".to_owned(), json!(text), String::new());
    assert_eq!(told[..3], [good("Far."), good("Near."), good("Direct.")], "{name}");
    let refused = &told[3].2;
    assert!(
        refused.contains("entry `far`")
            && refused.contains("TEST_KEY")
            && refused.contains("not a key: [key]"),
        "{name}: {refused}"
    );
    // A tunnel is asked for, in which the key would be; when there is none, the run waits to try again.
    let started = client.call("run/start", start("secure")).await.unwrap();
    let run = started["runId"].as_str().unwrap();
    client
        .call("session/attach", json!({ "sessionId": started["sessionId"], "from": "start" }))
        .await
        .unwrap();
    let retrying = client.events_until("model.retrying").await.unwrap().pop().unwrap();
    let message = retrying["data"]["message"].as_str().unwrap();
    assert!(message.starts_with("provider.example cannot be reached: "), "{name}: {message}");
    client.call("run/cancel", json!({ "runId": run })).await.unwrap();
    assert_eq!(client.ended(run).await.unwrap()["reason"], "ABORTED");
    let log = client.log(json!({}), 0).await.unwrap();
    daemon.stop().await;
    server.assert_content();
    let lines = proxy.lines.lock().unwrap().clone();
    let n_far = lines.iter().filter(|line| line.starts_with("POST http://provider.example/v1")).count();
    let n_tunnels = lines.iter().filter(|line| *line == "CONNECT provider.example:443 HTTP/1.1").count();
    // A connection serves more than one request, and a tunnel that was refused may have been asked for again.
    assert!(0 < n_far && 0 < n_tunnels && lines.len() == n_far + n_tunnels, "{name}: {lines:?}");
    let daemon_log = home.daemon_log();
    assert!(daemon_log.contains("provider.example"), "the log says nothing of what was asked: {name}");
    for secret in [KEY, "his-password"] {
        assert!(!serde_json::to_string(&log).unwrap().contains(secret), "{name}: an event shows {secret}");
        let shown: Vec<&str> = daemon_log.lines().filter(|line| line.contains(secret)).take(3).collect();
        assert!(shown.is_empty(), "{name}: the daemon's log shows {secret}: {shown:?}");
    }
}
