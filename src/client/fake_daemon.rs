//! A daemon that does what a test's script says: one script a connection, in the order they are accepted.
//!
//! It answers whatever the script says, but a call that the daemon would refuse for its parameters fails the test.

#![allow(clippy::unwrap_used, reason = "a part of tests, which may stop where they stand")]

mod params;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value, json};

/// What the daemon does on one connection.
pub type DaemonScript = Box<dyn FnOnce(&mut ScriptedPeer) + Send>;

/// Longer than any correct client lets us wait; a test that gets here fails instead of hanging.
const STUCK: Duration = Duration::from_secs(60);

pub struct FakeDaemon {
    socket: PathBuf,
    acceptor: JoinHandle<()>,
}

impl FakeDaemon {
    /// Listens below `folder`. Once the last script's connection is accepted, nobody listens any more.
    pub fn start(folder: &Path, scripts: Vec<DaemonScript>) -> FakeDaemon {
        let socket = folder.join("fake.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let path = socket.clone();
        let acceptor = thread::spawn(move || {
            let mut peers = Vec::new();
            for script in scripts {
                let (stream, _) = listener.accept().unwrap();
                peers.push(thread::spawn(move || script(&mut ScriptedPeer::new(stream))));
            }
            fs::remove_file(path).unwrap();
            drop(listener);
            for peer in peers {
                peer.join().unwrap();
            }
        });
        FakeDaemon { socket, acceptor }
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Fails when a script failed, or was never needed (its connection never came).
    pub fn finish(self) {
        if !self.acceptor.is_finished() {
            // Whoever still waits for a connection gets one that hangs up at once, which its script notices.
            drop(UnixStream::connect(&self.socket));
        }
        self.acceptor.join().unwrap();
    }
}

/// The other side of one connection, as a script sees it.
pub struct ScriptedPeer {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    /// What a client said of itself that follows, or that could be asked.
    pub introduction: Option<Value>,
    /// Calls that the daemon would refuse for their parameters are what the test is about.
    pub takes_wrong_params: bool,
    /// Of the calls so far, what the daemon would refuse in them.
    violations: Vec<String>,
}

impl ScriptedPeer {
    pub fn new(stream: UnixStream) -> ScriptedPeer {
        stream.set_read_timeout(Some(STUCK)).unwrap();
        ScriptedPeer {
            reader: BufReader::new(stream.try_clone().unwrap()),
            writer: stream,
            introduction: None,
            takes_wrong_params: false,
            violations: Vec::new(),
        }
    }

    fn receive(&mut self, method: &str) -> (Value, Value) {
        let (id, asked, params) = self.receive_any(method);
        if method != "initialize" && asked == "initialize" {
            // Whoever may be asked says so on each of its connections; a script need not know.
            self.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"daemon": {"version": "0"}}}));
            self.introduction = Some(params);
            return self.receive(method);
        }
        assert_eq!(asked, method);
        (id, params)
    }

    fn receive_any(&mut self, method: &str) -> (Value, String, Value) {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        let mut request: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("{method}: got {line:?}"));
        assert_eq!(request["jsonrpc"], "2.0");
        assert!(request["id"].is_i64(), "{line}");
        let asked = request["method"].as_str().unwrap().to_owned();
        if !self.takes_wrong_params {
            self.violations.extend(params::violations(&asked, &request["params"]));
        }
        (request["id"].take(), asked, request["params"].take())
    }

    /// Expects a call of `method`; answers its parameters.
    pub fn answer(&mut self, method: &str, result: Value) -> Value {
        let (id, params) = self.receive(method);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        params
    }

    /// The same, once `until` has returned.
    pub fn answer_when(&mut self, method: &str, result: Value, until: impl FnOnce()) -> Value {
        let (id, params) = self.receive(method);
        until();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        params
    }

    /// The same with an error.
    pub fn refuse(&mut self, method: &str, error: Value) -> Value {
        let (id, params) = self.receive(method);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        params
    }

    /// Expects a call of `method` and leaves it without an answer; answers its parameters.
    pub fn leave_unanswered(&mut self, method: &str) -> Value {
        self.receive(method).1
    }

    /// Expects a call of `method` and hangs up without an answer; answers its parameters.
    pub fn hang_up_on(&mut self, method: &str) -> Value {
        let (_, params) = self.receive(method);
        self.writer.shutdown(std::net::Shutdown::Both).unwrap();
        params
    }

    /// Sends an event of the connection's subscription.
    pub fn event(&mut self, envelope: Value) {
        let params = json!({"subscription": "1", "result": envelope});
        self.send(&json!({"jsonrpc": "2.0", "method": "event", "params": params}));
    }

    pub fn send(&mut self, message: &Value) {
        // The client may have seen enough and be gone.
        let _ = self.writer.write_all(format!("{message}\n").as_bytes());
    }

    /// Waits until the client closes; anything else it says is a failure.
    pub fn wait_for_hangup(&mut self) {
        let mut rest = Vec::new();
        // A client that closes with events unread resets the connection, which is hanging up too.
        let _ = self.reader.read_to_end(&mut rest);
        assert_eq!(String::from_utf8_lossy(&rest), "");
    }
}

impl Drop for ScriptedPeer {
    /// Fails the test with all that the daemon would have refused. Here, so that no script can forget it.
    fn drop(&mut self) {
        if self.violations.is_empty() {
            return;
        }
        let refused = format!("the daemon would refuse these calls:\n{}", self.violations.join("\n"));
        match thread::panicking() {
            // A second panic would end all tests.
            true => eprintln!("{refused}"),
            false => panic!("{refused}"),
        }
    }
}

/// An envelope of run `r1` in session `s1`; each event is 100 ms after the one before.
pub fn envelope(seq: i64, kind: &str, data: Value) -> Value {
    let at = format!("2025-11-20T11:04:{:02}.{}00Z", seq / 10, seq % 10);
    json!({
        "seq": seq, "prev": seq - 1, "at": at, "type": kind,
        "sessionId": "s1", "runId": "r1", "agent": "scout", "agentPath": ["scout"],
        "data": data,
    })
}
