//! `subagent mcp`, the real one, with a real daemon behind it.

use std::{process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout},
    time::timeout,
};

use super::agent;
use crate::{process::Home, recording::Recording, support::STUCK};

/// The program, and its standard input and output.
struct Bridge {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Bridge {
    fn start(home: &Home, arguments: &[&str]) -> Bridge {
        let mut command = home.companion(&[&["mcp"][..], arguments].concat());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Bridge { child, stdin, stdout }
    }

    async fn send(&mut self, message: Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        let read = timeout(STUCK, self.stdout.read_line(&mut line)).await.expect("no answer").unwrap();
        assert_ne!(read, 0, "the bridge has ended");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"))
    }

    /// Messages up to and with the answer to a request.
    async fn until_answer(&mut self, id: u64) -> Vec<Value> {
        let mut heard = Vec::new();
        loop {
            let message = self.receive().await;
            let is_it = message["id"] == json!(id) && message.get("method").is_none();
            heard.push(message);
            if is_it {
                return heard;
            }
        }
    }

    async fn begin(&mut self) {
        let client = json!({ "name": "tester", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        self.send(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await;
        assert_eq!(self.until_answer(0).await.len(), 1);
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    }

    async fn call(&mut self, id: u64, name: &str, arguments: Value) {
        let params = json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": id } });
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).await;
    }

    /// Says that nothing more comes, and waits for the end.
    async fn finish(mut self) -> (Option<i32>, String) {
        drop(self.stdin);
        let mut rest = String::new();
        timeout(STUCK, self.stdout.read_to_string(&mut rest)).await.expect("no end").unwrap();
        let status = timeout(STUCK, self.child.wait()).await.expect("no end").unwrap();
        (status.code(), rest)
    }
}

/// An agent that runs a command which does not end by itself, and then is done.
fn prepare(home: &Home) {
    let write = |path: &str, text: &str| {
        let path = home.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let call =
        |name: &str, arguments: Value| vec![json!({ "functionCall": { "name": name, "args": arguments } })];
    std::fs::create_dir_all(home.path("recordings")).unwrap();
    let turns = vec![
        call("run_shell_command", json!({ "command": "touch begun && sleep 600" })),
        call("complete_task", json!({ "result": "survived" })),
    ];
    let model = Recording::write_parts(home, "worker", turns);
    write("config/subagentd/settings.json", &json!({ "models": { "default": model } }).to_string());
    write("config/subagentd/agents/worker.md", &agent("worker", "tools: [run_shell_command]"));
    write("config/subagentd/policies/all.toml", "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n");
}

/// Between looks whether a command has begun.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Begins a call whose run is in the middle of its work then: its command runs. One that had not begun yet when the daemon ended
/// would rightly begin in the next daemon.
async fn in_the_middle(home: &Home, bridge: &mut Bridge) {
    bridge.begin().await;
    bridge.call(1, "worker", json!({ "prompt": "go" })).await;
    loop {
        let message = bridge.receive().await;
        assert_eq!(message["method"], "notifications/progress", "{message}");
        if message["params"]["message"] == "run_shell_command begins" {
            break;
        }
    }
    let begun = home.work().join("begun");
    let has_begun = async {
        while !begun.exists() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    timeout(STUCK, has_begun).await.expect("the command never began");
}

/// What the call answers, after the daemon has been another one.
async fn survives(bridge: &mut Bridge) {
    let heard = bridge.until_answer(1).await;
    let (answer, before) = heard.split_last().unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "survived", "{answer}");
    // Nothing of how the bridge began again is heard.
    assert!(before.iter().all(|message| message["method"] == "notifications/progress"), "{before:?}");
    // The run that was begun, and no other.
    bridge.call(2, "run_status", json!({})).await;
    let status = bridge.until_answer(2).await.pop().unwrap();
    let runs = status["result"]["structuredContent"]["runs"].as_array().unwrap().clone();
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!(runs[0]["runId"], answer["result"]["structuredContent"]["runId"]);
}

#[tokio::test]
async fn a_call_survives_a_daemon_that_is_killed() {
    let home = Home::new();
    prepare(&home);
    let daemon = home.start().await;
    let mut bridge = Bridge::start(&home, &["--no-spawn"]);
    in_the_middle(&home, &mut bridge).await;
    daemon.kill().await;
    let daemon = home.start().await;
    survives(&mut bridge).await;
    assert_eq!(bridge.finish().await, (Some(0), String::new()));
    daemon.stop().await;
}

#[tokio::test]
async fn a_call_survives_a_daemon_that_is_stopped() {
    let home = Home::new();
    prepare(&home);
    let quick = ["--set", "shutdown.graceSeconds=0"];
    let daemon = home.start_told(&[], &quick).await;
    let mut bridge = Bridge::start(&home, &["--no-spawn"]);
    in_the_middle(&home, &mut bridge).await;
    daemon.stop().await;
    let daemon = home.start_told(&[], &quick).await;
    survives(&mut bridge).await;
    assert_eq!(bridge.finish().await, (Some(0), String::new()));
    daemon.stop().await;
}

#[tokio::test]
async fn the_bridge_starts_a_daemon_and_says_nothing_but_the_protocol() {
    let home = Home::new();
    prepare(&home);
    let mut bridge = Bridge::start(&home, &["--workspace", "."]);
    bridge.begin().await;
    for (wrong, code) in [("{".to_owned(), -32700), ("x".repeat(5 << 20), -32600)] {
        bridge.stdin.write_all(format!("{wrong}\n\n").as_bytes()).await.unwrap();
        let told = bridge.receive().await;
        assert_eq!((&told["id"], &told["error"]["code"]), (&Value::Null, &json!(code)));
    }
    bridge.send(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" })).await;
    let tools = bridge.until_answer(3).await.pop().unwrap();
    assert!(
        tools["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "worker"),
        "{tools}"
    );
    assert_eq!(bridge.finish().await, (Some(0), String::new()));
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_told() {
    let home = Home::new();
    let mut bridge = Bridge::start(&home, &["--workspace", "nowhere"]);
    let mut told = String::new();
    let mut stderr = bridge.child.stderr.take().unwrap();
    timeout(STUCK, stderr.read_to_string(&mut told)).await.expect("no end").unwrap();
    assert!(told.contains("cannot work in") && told.contains("--workspace"), "{told}");
    assert_eq!(bridge.finish().await, (Some(2), String::new()));
}
