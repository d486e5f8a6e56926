//! A client of the Model Context Protocol by hand: lines over the daemon's socket, as `subagent mcp` carries them.

use std::{collections::VecDeque, path::Path};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    time::timeout,
};

use crate::support::{Client, Running, STUCK};

/// A session that has begun.
pub struct Peer {
    client: Client,
    next_id: u64,
    /// Answers and notifications that nobody has asked for yet.
    heard: VecDeque<Value>,
}

impl Peer {
    /// Begins one in the house's workspace, with more in the URL's query.
    pub async fn open(running: &Running, socket: &Path, query: &str, capabilities: Value) -> Peer {
        let work = running.work().to_str().unwrap();
        let mut peer = Peer::connect(socket, &format!("workspace={work}{query}")).await;
        peer.initialize(capabilities).await;
        peer
    }

    /// A connection that is lines, and has said nothing.
    pub async fn connect(socket: &Path, query: &str) -> Peer {
        let mut stream = UnixStream::connect(socket).await.unwrap();
        let request = format!(
            "GET /mcp?{query} HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: mcp\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(timeout(STUCK, stream.read_u8()).await.unwrap().unwrap());
        }
        assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
        Peer { client: Client::new(stream), next_id: 0, heard: VecDeque::new() }
    }

    pub async fn initialize(&mut self, capabilities: Value) -> Value {
        let client = json!({ "name": "tester", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client });
        let answer = self.call("initialize", params).await;
        assert_eq!(answer["serverInfo"]["name"], "subagentd");
        self.notify("notifications/initialized", json!({})).await;
        answer
    }

    pub async fn send(&mut self, text: &str) {
        self.client.send(text).await;
    }

    /// Sends a request; answers its id.
    pub async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params });
        self.client.send(&message.to_string()).await;
        self.next_id
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.client.send(&message.to_string()).await;
    }

    /// The next message for which this holds; others are kept.
    pub async fn hear(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.heard.iter().position(&is_it) {
            return self.heard.remove(at).unwrap();
        }
        loop {
            let message = self.client.receive().await;
            if is_it(&message) {
                return message;
            }
            self.heard.push_back(message);
        }
    }

    /// The whole response.
    pub async fn answer(&mut self, id: u64) -> Value {
        self.hear(|message| message["id"] == json!(id) && message.get("method").is_none()).await
    }

    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer(id).await
    }

    /// The result; an error fails the test.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let response = self.request(method, params).await;
        assert!(response.get("error").is_none(), "{method}: {response}");
        response["result"].clone()
    }

    pub async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call("tools/call", json!({ "name": name, "arguments": arguments })).await
    }

    /// The parameters of the next notification of this method.
    pub async fn notification(&mut self, method: &str) -> Value {
        self.hear(|message| message["method"] == method && message.get("id").is_none()).await["params"]
            .clone()
    }

    /// How many messages of this method have come that nobody asked for.
    pub fn heard(&self, method: &str) -> usize {
        self.heard.iter().filter(|message| message["method"] == method).count()
    }

    /// The next request of the server: its id and parameters.
    pub async fn asked(&mut self, method: &str) -> (Value, Value) {
        let message = self.hear(|message| message["method"] == method && message.get("id").is_some()).await;
        (message["id"].clone(), message["params"].clone())
    }

    pub async fn respond(&mut self, id: &Value, result: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        self.client.send(&message.to_string()).await;
    }

    /// The one run that lives.
    pub async fn only_run(&self, other: &mut Client) -> String {
        let live = other.call("run/list", json!({ "active": true })).await["runs"].clone();
        assert_eq!(live.as_array().unwrap().len(), 1, "{live}");
        live[0]["runId"].as_str().unwrap().to_owned()
    }
}
