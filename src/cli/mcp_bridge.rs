//! `subagent mcp`: how does a program that starts its servers of the Model Context Protocol itself reach the one daemon there is?
//! Lines from standard input go to the daemon's `/mcp`, lines from it to standard output (spec 07, "As a server").
//!
//! What is said is the daemon's business; this is a [`BridgeConversation`] that it can be taken up with the next daemon when one goes away.
//! It is told once more who the client is, and what was asked and not answered. Since the daemon knows a request of this bridge
//! by its id, a run that was begun is found again, and its answer arrives.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
    time::Duration,
};

use clap::Args;
use serde_json::Value;

use super::{ProcessIo, failure::CommandFailure, key, link::DaemonLink};
use client::{ConnectError, DaemonDialer, MAX_INCOMING_BYTES, MonotonicStopwatch, RECONNECT_BOUND};
use protocol::MAX_MESSAGE_BYTES;

mod conversation;

use conversation::{BridgeConversation, ClientLineAction};

/// Lines that wait to be carried, from both sides; then neither is read.
const LINES_AT_ONCE: usize = 64;
/// Bytes of chance in the bridge's name.
const NAME_BYTES: usize = 16;
/// How long the daemon may take to let a bridge in.
const HEAD_PATIENCE: Duration = Duration::from_secs(15);
/// How long it may refuse to take bytes before it counts as stuck.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of its answer to that, and of what it says when it does not.
const HEAD_BYTES: usize = 16 << 10;
/// Between two attempts to find it again; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The same when a daemon is found and lost again without having said anything.
const FIRST_LOST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_LOST_PAUSE: Duration = Duration::from_secs(5);
/// Whoever keeps the daemon running gets this long to start it again before we do.
const START_GRACE: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(super) struct BridgeArguments {
    /// The folder that agents work in [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Seconds a call waits for its run before it returns a handle; keep it below the client's time limit [default:
    /// 45]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=600))]
    wait: Option<u64>,
}

/// What happens on either side.
enum BridgeEvent {
    Said(Vec<u8>),
    TooLong,
    /// The client says nothing more.
    Finished,
    /// By the daemon of this number.
    Answered(u64, Vec<u8>),
    Gone(u64),
}

/// Carries until the client has said all, or no daemon is found any more.
pub(super) fn bridge(
    arguments: &BridgeArguments,
    link: &DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let path = path(arguments, surroundings)?;
    let first = let_in(link.dial(&mut surroundings.stderr)?.into_stream(), &path)?;
    let (tell, events) = sync_channel(LINES_AT_ONCE);
    let input = tell.clone();
    // Not joined: it may wait for input that never comes, and ends with the process.
    thread::spawn(move || hear_client(io::stdin().lock(), &input));
    let dialer = link.dialer().clone();
    let mut bridge = McpBridge {
        path,
        dialer,
        tell,
        socket: first,
        number: 0,
        conversation: BridgeConversation::default(),
        pause: None,
    };
    bridge.listen()?;
    bridge.carry(&events, &mut io::stdout().lock())
}

struct McpBridge {
    path: String,
    dialer: DaemonDialer,
    tell: SyncSender<BridgeEvent>,
    socket: UnixStream,
    /// Of the daemon's connection.
    number: u64,
    conversation: BridgeConversation,
    /// Before the next daemon is looked for; `None` when this one has said something.
    pause: Option<Duration>,
}

impl McpBridge {
    fn carry(
        &mut self,
        events: &Receiver<BridgeEvent>,
        client: &mut impl Write,
    ) -> Result<u8, CommandFailure> {
        let mut has_finished = false;
        // The sender that the bridge keeps makes this endless.
        while let Ok(event) = events.recv() {
            let told = match event {
                BridgeEvent::Said(line) => {
                    match self.conversation.said(line) {
                        // A failure shows as the end of the connection, after which it is sent again.
                        ClientLineAction::Pass(line) => drop(self.send(&line)),
                        ClientLineAction::Answer(line) => {
                            if tell(client, &line).is_err() {
                                return Ok(0);
                            }
                        }
                        ClientLineAction::Nothing => {}
                    }
                    Ok(())
                }
                BridgeEvent::TooLong => tell(client, conversation::TOO_LONG.as_bytes()),
                BridgeEvent::Finished => {
                    has_finished = true;
                    // What was asked is still answered, for as long as the daemon lingers.
                    let _gone = self.socket.shutdown(Shutdown::Write);
                    Ok(())
                }
                BridgeEvent::Answered(number, line) if number == self.number => {
                    self.pause = None;
                    match self.conversation.answered(number, line) {
                        Some(line) => tell(client, &line),
                        None => Ok(()),
                    }
                }
                BridgeEvent::Gone(number) if number == self.number => {
                    if has_finished {
                        return Ok(0);
                    }
                    let taken_back = self.conversation.lost();
                    let told = taken_back.iter().try_for_each(|line| tell(client, line));
                    if told.is_ok() {
                        self.reconnect()?;
                    }
                    told
                }
                // Of a daemon that is gone.
                BridgeEvent::Answered(..) | BridgeEvent::Gone(_) => Ok(()),
            };
            // Whoever started us has closed our output: there is nobody to tell.
            if told.is_err() {
                return Ok(0);
            }
        }
        Ok(0)
    }

    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        let sent = self.socket.write_all(line).and_then(|()| self.socket.write_all(b"\n"));
        if sent.is_err() {
            // It takes nothing, so what it says is of no use either: the reader ends, and it is lost.
            let _gone = self.socket.shutdown(Shutdown::Both);
        }
        sent
    }

    /// Hears the daemon on a thread of its own, until it is gone.
    fn listen(&mut self) -> Result<(), CommandFailure> {
        let (socket, tell, number) =
            (self.socket.try_clone().map_err(unusable)?, self.tell.clone(), self.number);
        thread::spawn(move || {
            let mut reader = BufReader::new(socket);
            while let Ok(BridgeLine::Whole(line)) = next_line(&mut reader, MAX_INCOMING_BYTES) {
                if tell.send(BridgeEvent::Answered(number, line)).is_err() {
                    return;
                }
            }
            let _ended = tell.send(BridgeEvent::Gone(number));
        });
        Ok(())
    }

    /// Finds the next daemon and tells it what the last one was told.
    fn reconnect(&mut self) -> Result<(), CommandFailure> {
        if let Some(pause) = self.pause {
            thread::sleep(pause);
        }
        let next = self.pause.map_or(FIRST_LOST_PAUSE, |pause| (pause * 2).min(LONGEST_LOST_PAUSE));
        self.pause = Some(next);
        let stopwatch = MonotonicStopwatch::start();
        let mut pause = FIRST_PAUSE;
        loop {
            let outcome = self.find(stopwatch.elapsed());
            match outcome {
                Ok(socket) => {
                    self.socket = socket;
                    self.number += 1;
                    self.listen()?;
                    for line in self.conversation.again() {
                        if self.send(&line).is_err() {
                            // Its end is an event like any.
                            break;
                        }
                    }
                    return Ok(());
                }
                Err(failure) if RECONNECT_BOUND <= stopwatch.elapsed() => {
                    return Err(
                        failure.or_hint("start this again: it connects to the next daemon, or starts one")
                    );
                }
                Err(_) => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    fn find(&self, waited: Duration) -> Result<UnixStream, CommandFailure> {
        let mut outcome = self.dialer.connect();
        // A daemon that was told to stop takes its socket away, one that died leaves it: what a person stopped is not
        // started again behind their back.
        let may_start =
            self.dialer.starter().is_some() && START_GRACE <= waited && self.dialer.socket().exists();
        if may_start && matches!(outcome, Err(ConnectError::NobodyListens { .. })) {
            outcome = self.dialer.start();
        }
        let_in(outcome?.into_stream(), &self.path)
    }
}

/// The path of `/mcp`, with what the session begins with.
fn path(arguments: &BridgeArguments, surroundings: &ProcessIo) -> Result<String, CommandFailure> {
    let folder = match &arguments.workspace {
        Some(folder) => surroundings.working_folder.join(folder),
        None => surroundings.working_folder.clone(),
    };
    let folder = folder.canonicalize().map_err(|error| {
        CommandFailure::usage(format!("cannot work in {}: {error}", folder.display()))
            .or_hint("name another with --workspace")
    })?;
    let Some(folder) = folder.to_str() else {
        return Err(
            CommandFailure::usage("the folder's path is no UTF-8").or_hint("name another with --workspace")
        );
    };
    let name = key::chance(NAME_BYTES)?;
    let wait = arguments.wait.map(|seconds| format!("&waitMs={}", seconds * 1_000)).unwrap_or_default();
    Ok(format!("/mcp?workspace={}&bridge={name}{wait}", escaped(folder)))
}

/// As it stands in a URL.
fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let escape = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// Makes lines of a connection.
fn let_in(mut socket: UnixStream, path: &str) -> Result<UnixStream, CommandFailure> {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: mcp\r\n\r\n");
    socket.set_write_timeout(Some(WRITE_PATIENCE)).map_err(unusable)?;
    socket.set_read_timeout(Some(HEAD_PATIENCE)).map_err(unusable)?;
    socket.write_all(request.as_bytes()).map_err(unusable)?;
    let mut head = Vec::new();
    // Byte by byte: what comes behind the head is the conversation's.
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_BYTES {
        let mut byte = [0];
        // One that ends here was refused before it could ask; what it was told is in `head`.
        if socket.read(&mut byte).map_err(unusable)? == 0 {
            break;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head);
    if head.starts_with("HTTP/1.1 101 ") {
        socket.set_read_timeout(None).map_err(unusable)?;
        return Ok(socket);
    }
    let mut body = Vec::new();
    // One that breaks off tells less, but the status line is there.
    let _read = socket.take(length(&head)).read_to_end(&mut body);
    Err(refused(&head, &String::from_utf8_lossy(&body)))
}

/// How long the body is that this head tells of, as far as it is read.
fn length(head: &str) -> u64 {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = lengths.next().and_then(|(_, length)| length.trim().parse::<u64>().ok());
    length.unwrap_or_default().min(HEAD_BYTES as u64)
}

/// What is told when there are no lines: what the daemon says of it, by HTTP or, before it could be asked, without.
fn refused(head: &str, body: &str) -> CommandFailure {
    let of = |text: &str| serde_json::from_str::<Value>(text).ok();
    let said = of(body).or_else(|| of(head)).unwrap_or_default();
    let word = |pointer: &str| said.pointer(pointer).and_then(Value::as_str);
    let hint = word("/error/data/hint")
        .unwrap_or("`subagent status` shows the daemon; one of another version may have to be stopped");
    match word("/error/message") {
        Some(message) => CommandFailure::unavailable(message).or_hint(hint),
        None => {
            let said = head.lines().next().unwrap_or("nothing");
            let what = format!("the daemon does not speak the Model Context Protocol: it said {said}");
            CommandFailure::unavailable(what).or_hint(hint)
        }
    }
}

fn unusable(error: io::Error) -> CommandFailure {
    CommandFailure::unavailable(format!("the connection to the daemon is lost: {error}"))
        .or_hint("start this again: it connects to the next daemon, or starts one")
}

fn hear_client(input: impl Read, tell: &SyncSender<BridgeEvent>) {
    let mut reader = BufReader::new(input);
    loop {
        let event = match next_line(&mut reader, MAX_MESSAGE_BYTES) {
            Ok(BridgeLine::Whole(line)) => BridgeEvent::Said(line),
            Ok(BridgeLine::TooLong) => BridgeEvent::TooLong,
            Ok(BridgeLine::End) | Err(_) => BridgeEvent::Finished,
        };
        let is_last = matches!(event, BridgeEvent::Finished);
        if tell.send(event).is_err() || is_last {
            return;
        }
    }
}

enum BridgeLine {
    /// Not blank, without its end.
    Whole(Vec<u8>),
    /// It was read to its end and forgotten.
    TooLong,
    End,
}

/// Reads one line without ever holding more than `most` bytes of it.
fn next_line(reader: &mut impl BufRead, most: usize) -> io::Result<BridgeLine> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let bytes = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            bytes => bytes?,
        };
        if bytes.is_empty() {
            // Half a line is no message.
            return Ok(BridgeLine::End);
        }
        let newline = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..newline.unwrap_or(bytes.len())];
        is_too_long |= most < line.len() + part.len();
        match is_too_long {
            true => line = Vec::new(),
            false => line.extend_from_slice(part),
        }
        let taken = part.len() + usize::from(newline.is_some());
        reader.consume(taken);
        if newline.is_none() {
            continue;
        }
        if is_too_long {
            return Ok(BridgeLine::TooLong);
        }
        if line.iter().any(|byte| !byte.is_ascii_whitespace()) {
            return Ok(BridgeLine::Whole(line));
        }
        line.clear();
    }
}

fn tell(client: &mut impl Write, line: &[u8]) -> io::Result<()> {
    client.write_all(line)?;
    client.write_all(b"\n")?;
    client.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(head: &str, body: &str) -> (String, String) {
        match refused(head, body) {
            CommandFailure::Told { what, hint, .. } => (what, hint.unwrap_or_default()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_daemon() {
        let error =
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no room","data":{"hint":"wait"}}}"#;
        let no_room = ("no room".to_owned(), "wait".to_owned());
        assert_eq!(told("HTTP/1.1 503 Service Unavailable\r\n\r\n", error), no_room);
        assert_eq!(told(&format!("{error}\n"), ""), no_room, "it refused before it was asked");
        for body in ["", "Not Found", "{}"] {
            let (what, hint) = told("HTTP/1.1 404 Not Found\r\n\r\n", body);
            assert!(what.ends_with("it said HTTP/1.1 404 Not Found"), "{what}");
            assert!(hint.contains("subagent status"), "{hint}");
        }
    }

    #[test]
    fn of_a_refusal_only_so_much_is_read() {
        assert_eq!(length("HTTP/1.1 400 Bad Request\r\nContent-Length: 12\r\n\r\n"), 12);
        assert_eq!(length("HTTP/1.1 400 Bad Request\r\ncontent-length: 99999999\r\n\r\n"), HEAD_BYTES as u64);
        assert_eq!(length("HTTP/1.1 400 Bad Request\r\n\r\n"), 0);
    }
}
