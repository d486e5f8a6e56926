//! Does each command print what it should, where it should, and end with the right code?

mod answering;
mod asking;
mod below;
mod checking;
mod commands;
mod creating;
mod deciding;
mod disturbing;
mod editing;
mod exchanging;
mod following;
mod going_on;
mod incomplete;
mod living;
mod logging;
mod looking;
mod operating;
mod out_of_sight;
mod programs;
mod routing;
mod ruling;
mod running;
mod screens;
mod talking;
mod telling;
mod tooling;
mod tracing;
mod typing;
mod versions;
mod wrapping;

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    ffi::OsString,
    io::{self, Cursor, Write},
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};

use expect_test::Expect;
use serde_json::{Value, json};

use super::{InputStream, KeyWaitResult, KeyboardInput, MonotonicClock, OutputWriter, ProcessIo};
use client::fake_daemon::{DaemonScript, FakeDaemon, ScriptedPeer, envelope};

/// What a command left behind.
#[derive(Debug)]
struct Ran {
    exit_code: u8,
    stdout: String,
    stderr: String,
    /// What stood in the last line of the terminal for a while: the spinner, and what was asked.
    drawn: Vec<String>,
}

/// One command line and the process around it.
struct Command {
    arguments: Vec<String>,
    socket: Option<PathBuf>,
    stdin: Option<&'static str>,
    /// What somebody types into the terminal, line by line; not together with `stdin`.
    typed: Option<&'static str>,
    is_terminal: bool,
    /// The terminal's cursor stays where it is.
    is_dumb: bool,
    /// Of the terminal.
    columns: usize,
    stdout_is_closed: bool,
    /// Presses Ctrl-C once each time one more of these texts stands on stderr.
    interrupt_after: Vec<&'static str>,
    /// Presses Ctrl-C once something stands on stdout.
    interrupt_after_stdout: bool,
    /// Presses these keys once one more of these texts stands on stderr.
    press_after: Vec<(&'static str, &'static str)>,
    /// The program that `e` opens.
    editor: Option<String>,
    /// Once this stands on stderr, the terminal is so wide.
    resized: Option<(&'static str, usize)>,
    /// How long an answer may take without a word.
    silence: Duration,
    /// Milliseconds that each look at the clock takes.
    clock_step: u64,
}

impl Command {
    fn new(arguments: &[&str]) -> Command {
        Command {
            arguments: arguments.iter().map(ToString::to_string).collect(),
            socket: None,
            stdin: None,
            typed: None,
            is_terminal: false,
            is_dumb: false,
            columns: 120,
            stdout_is_closed: false,
            interrupt_after: Vec::new(),
            interrupt_after_stdout: false,
            press_after: Vec::new(),
            editor: None,
            resized: None,
            silence: Duration::from_secs(3),
            clock_step: 200,
        }
    }

    /// Runs it against a daemon that follows these scripts.
    fn against(mut self, scripts: Vec<DaemonScript>) -> Ran {
        let folder = tempfile::tempdir().unwrap();
        let daemon = FakeDaemon::start(folder.path(), scripts);
        self.socket = Some(daemon.socket().to_owned());
        let ran = self.run(folder.path());
        daemon.finish();
        ran
    }

    fn run(self, folder: &Path) -> Ran {
        let (stdout, stderr) = (Buffer::default(), Buffer::default());
        let socket = self.socket.unwrap_or_else(|| folder.join("none.sock"));
        let (seen, mut awaited) = (stderr.clone(), self.interrupt_after.into_iter().peekable());
        let printed = stdout.clone();
        let stdout_writer: Box<dyn Write> =
            if self.stdout_is_closed { Box::new(ClosedPipe) } else { Box::new(stdout.clone()) };
        let keyboard = ScriptedKeyboard {
            screen: stderr.clone(),
            read_to: 0,
            presses: self.press_after.into(),
            has_pressed: false,
            columns: self.is_terminal.then_some(self.columns),
            resized: self.resized,
            is_open: false,
        };
        let (editor, drafts) = (self.editor, folder.as_os_str().to_owned());
        let mut surroundings = ProcessIo {
            stdin: InputStream {
                is_terminal: self.stdin.is_none(),
                reader: Box::new(Cursor::new(self.stdin.or(self.typed).unwrap_or_default())),
            },
            stdout: OutputWriter {
                writer: stdout_writer,
                is_terminal: self.is_terminal,
                has_color: false,
                is_live: self.is_terminal && !self.is_dumb,
                width: self.is_terminal.then_some(self.columns),
                is_for_programs: false,
            },
            stderr: OutputWriter {
                writer: Box::new(stderr.clone()),
                is_terminal: self.is_terminal,
                has_color: false,
                is_live: self.is_terminal && !self.is_dumb,
                width: self.is_terminal.then_some(self.columns),
                is_for_programs: false,
            },
            environment: Box::new(move |name| match name {
                "SUBAGENTD_SOCKET" => Some(OsString::from(socket.as_os_str())),
                "EDITOR" => editor.as_ref().map(OsString::from),
                "TMPDIR" => Some(drafts.clone()),
                "USER" => Some("ada".into()),
                _ => None,
            }),
            working_folder: folder.to_owned(),
            own_program: None,
            interrupts: Box::new(move || {
                let is_printed = self.interrupt_after_stdout && !printed.text().is_empty();
                let is_seen = awaited.next_if(|text| seen.text().contains(text)).is_some();
                u32::from(is_printed || is_seen)
            }),
            keyboard: Box::new(keyboard),
            terminal_name: None,
            clock: hurrying(self.clock_step),
            silence: self.silence,
        };
        let arguments = std::iter::once("subagent".to_owned()).chain(self.arguments).map(OsString::from);
        let exit_code = super::run(arguments, &mut surroundings);
        let hide = |text: String| text.replace(&*folder.to_string_lossy(), "FOLDER");
        let (kept, drawn) = without_status(&stderr.text());
        Ran { exit_code, stdout: hide(stdout.text()), stderr: hide(kept), drawn }
    }
}

/// How a person agrees to what holds longer than a call.
const AGREES: [(&str, &str); 3] = [("n declines › ", "y"), ("does not › y", ""), ("", "\r")];

/// A clock on which every look takes so many milliseconds: nobody waits long until a key counts.
pub(super) fn hurrying(step: u64) -> MonotonicClock {
    let looks = Cell::new(0);
    Box::new(move || {
        looks.set(looks.get() + 1);
        Duration::from_millis(step * looks.get())
    })
}

/// How often the spinner turns depends on the machine, so goldens are without it.
fn without_status(text: &str) -> (String, Vec<String>) {
    let (mut kept, mut drawn) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\r\x1b[2K") {
        kept.push_str(before);
        let status_end = after.strip_prefix("\x1b[?7l").and_then(|status| status.split_once("\x1b[?7h"));
        rest = match status_end {
            Some((panel, after)) if panel.contains('\n') => {
                kept.push_str(panel);
                after
            }
            Some((status, after)) => {
                drawn.push(status.to_owned());
                after
            }
            None => after,
        };
    }
    // Rows of a panel are cut at the terminal's edge, which goldens need not show.
    ((kept + rest).replace("\x1b[?7l", "").replace("\x1b[?7h", ""), drawn)
}

#[derive(Clone, Default)]
struct Buffer(Rc<RefCell<Vec<u8>>>);

impl Buffer {
    fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).unwrap()
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Somebody who reads what is asked, and then presses keys.
struct ScriptedKeyboard {
    screen: Buffer,
    /// What was read of the screen: a text that is awaited again must stand there again.
    read_to: usize,
    presses: VecDeque<(&'static str, &'static str)>,
    has_pressed: bool,
    columns: Option<usize>,
    resized: Option<(&'static str, usize)>,
    is_open: bool,
}

impl KeyboardInput for ScriptedKeyboard {
    fn open(&mut self) -> bool {
        self.is_open = true;
        true
    }

    fn wait(&mut self, _: Duration) -> KeyWaitResult {
        KeyWaitResult::Done
    }

    fn close(&mut self) {
        self.is_open = false;
    }

    fn read(&mut self) -> Vec<u8> {
        assert!(self.is_open, "keys are taken while nothing is asked");
        // Nobody presses two keys in two looks.
        if std::mem::take(&mut self.has_pressed) {
            return Vec::new();
        }
        let Some((awaited, keys)) = self.presses.front() else { return Vec::new() };
        let screen = self.screen.text();
        let Some(at) = screen[self.read_to..].find(awaited) else { return Vec::new() };
        self.read_to += at + awaited.len();
        let keys = keys.as_bytes().to_vec();
        self.presses.pop_front();
        self.has_pressed = !keys.is_empty();
        keys
    }

    fn columns(&self) -> Option<usize> {
        match self.resized {
            Some((text, columns)) if self.screen.text().contains(text) => Some(columns),
            _ => self.columns,
        }
    }
}

struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a command against a daemon with these scripts prints, and its exit code.
fn check(command: Command, scripts: Vec<DaemonScript>, expected: Expect) {
    let Ran { exit_code, stdout, stderr, .. } = command.against(scripts);
    let stderr = settled(&stderr);
    expected.assert_eq(&format!("exit {exit_code}\n--- stdout\n{stdout}--- stderr\n{stderr}"));
}

/// What stays on the screen of lines that were drawn over.
fn settled(text: &str) -> String {
    let stays = |line: &str| match line.rsplit_once("\r\u{1b}[J") {
        Some((_, last)) => last.split('\u{1b}').next().unwrap_or_default().trim_end_matches('\r').to_owned(),
        None => line.to_owned(),
    };
    text.lines().map(|line| stays(line) + "\n").collect()
}

/// What stands on a high screen once all of this was written to it.
fn left_on_screen(text: &str) -> String {
    let mut screen = avt::Terminal::with_scrollback(200, 50, None).unwrap();
    screen.feed(text.replace('\n', "\r\n").as_str());
    let rows: Vec<String> =
        screen.screen().all_lines().map(|line| line.text().trim_end().to_owned() + "\n").collect();
    let filled = rows.iter().rposition(|row| row != "\n").map_or(0, |at| at + 1);
    rows[..filled].concat() + "\n"
}

/// A daemon that is asked this once, with these parameters.
fn answering(method: &'static str, params: Value, answer: Value) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        assert_eq!(peer.answer(method, answer), params);
        peer.wait_for_hangup();
    })
}

fn say_hello(peer: &mut ScriptedPeer) {
    say_hello_as(peer, env!("CARGO_PKG_VERSION"));
}

fn say_hello_as(peer: &mut ScriptedPeer, version: &str) {
    let daemon = json!({
        "name": "subagentd", "version": version, "pid": 7, "instance": "i1", "logId": "l1",
        "startedAt": "2025-11-20T11:00:00.000Z",
    });
    let limits = json!({"maxMessageBytes": 1, "maxInFlight": 1, "maxSubscriptions": 1, "maxBatch": 1});
    let hello = json!({
        "protocolVersion": "2", "daemon": daemon, "clientId": "c1", "limits": limits, "methods": [],
    });
    let params = peer.answer("initialize", hello);
    assert_eq!(params["client"]["kind"], "cli");
}

/// A record of run `r1` with these fields on top.
fn record(fields: Value) -> Value {
    let mut record = json!({
        "runId": "r1", "sessionId": "s1", "contextId": "c1", "agent": "scout", "digest": "sha256:00",
        "model": "offline", "state": "ended",
        "usage": {"promptTokens": 1200, "cachedTokens": 0, "outputTokens": 34, "thoughtTokens": 0},
        "turns": 2, "toolCalls": 3, "filesChanged": [], "startedAt": "2025-11-20T11:04:00.100Z",
        "endedAt": "2025-11-20T11:04:04.300Z", "activeMs": 4200,
    });
    for (key, value) in fields.as_object().unwrap() {
        record[key] = value.clone();
    }
    record
}

fn completed(seq: i64, record: &Value) -> Value {
    envelope(seq, "run.completed", record.clone())
}

/// The connection on which `run` asks: starts `r1`, and answers its record at the end.
fn control(record: Value) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        start_run(peer);
        peer.answer("run/get", record);
        peer.wait_for_hangup();
    })
}

fn start_run(peer: &mut ScriptedPeer) -> Value {
    let started = json!({
        "disposition": "started", "runId": "r1", "sessionId": "s1", "agent": "scout", "seq": 2,
    });
    peer.answer("run/start", started)
}

/// The connection that brings these events.
fn events(events: Vec<Value>) -> DaemonScript {
    Box::new(move |peer| {
        peer.answer("session/attach", json!("1"));
        for event in events {
            peer.event(event);
        }
        peer.wait_for_hangup();
    })
}
