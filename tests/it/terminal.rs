//! A real terminal (a pty) with a program on it: what it shows, what is typed, and how it is left.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read as _, Write as _},
    process::Stdio,
    thread,
    time::Duration,
};

use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};
use tokio::{
    process::{Child, Command},
    sync::mpsc::{Receiver, channel},
    time::timeout,
};

use crate::{built, process::Home, support::STUCK};

/// Between two keys of which the second confirms the first.
const APART: Duration = Duration::from_millis(300);

/// Pieces of the screen that wait to be read.
const PIECES: usize = 1_024;

/// Rows of a terminal that nobody chose.
const USUAL_ROWS: u16 = 24;

/// Ctrl-C.
pub const INTERRUPT: &str = "\x03";

/// Whoever sits at a terminal, and the companion on it.
pub struct Terminal {
    master: File,
    /// Held, so that the terminal is there after the program, too.
    slave: File,
    child: Child,
    /// What the terminal shows, as it comes.
    shown: Receiver<Vec<u8>>,
    pending: Vec<u8>,
    /// All that was shown; up to `read_to` it was waited for.
    pub seen: String,
    read_to: usize,
    modes: LocalModes,
}

impl Terminal {
    /// The companion on a terminal of its own, which sends Ctrl-C as a signal.
    pub fn open(home: &Home, columns: u16, arguments: &[&str]) -> Terminal {
        Terminal::open_sized(home, (columns, USUAL_ROWS), arguments)
    }

    /// The same on a terminal of so many columns and rows.
    pub fn open_sized(home: &Home, (columns, rows): (u16, u16), arguments: &[&str]) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        let slave = OpenOptions::new().read(true).write(true).open(path.to_str().unwrap()).unwrap();
        let modes = tcgetattr(&slave).unwrap().local_modes;
        // `setsid` makes the terminal the program's own, and becomes the program.
        let mut command: Command = home.command("setsid");
        command
            .args(["--ctty", built::companion()])
            .args(arguments)
            .env("TERM", "xterm")
            .env("NO_COLOR", "1");
        let side = || Stdio::from(slave.try_clone().unwrap());
        let child = {
            tcsetwinsize(&slave, size(columns, rows)).unwrap();
            command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap()
        };
        let master = File::from(master);
        let (sender, shown) = channel(PIECES);
        let mut screen = master.try_clone().unwrap();
        // Ends when nobody has the terminal any more.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                if sender.blocking_send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let (pending, seen, read_to) = (Vec::new(), String::new(), 0);
        Terminal { master, slave, child, shown, pending, seen, read_to, modes }
    }

    /// Reads on until this stands there, after what was waited for before.
    pub async fn sees(&mut self, awaited: &str) {
        // A spinner goes on for ever, so this is for all of the waiting.
        if timeout(STUCK, self.read_until(awaited)).await != Ok(true) {
            panic!("{awaited:?} never comes: {}", &self.seen[self.read_to..]);
        }
    }

    /// False when nothing more comes.
    async fn read_until(&mut self, awaited: &str) -> bool {
        loop {
            if let Some(at) = self.seen[self.read_to..].find(awaited) {
                self.read_to += at + awaited.len();
                return true;
            }
            let Some(shown) = self.shown.recv().await else { return false };
            self.pending.extend(shown);
            if let Ok(text) = std::str::from_utf8(&self.pending) {
                self.seen.push_str(text);
                self.pending.clear();
            }
        }
    }

    /// Takes what was shown up to the program's end.
    pub async fn rest(&mut self) {
        const LAST: &str = "\u{4}the terminal's end\n";
        // Comes back from the terminal behind all that stands in it.
        self.slave.write_all(LAST.as_bytes()).unwrap();
        self.sees(LAST.trim_end()).await;
    }

    pub fn types(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Enter, as a second, different key is pressed: not in the same breath as the first. It is the pace that counts here, and
    /// a machine that is busy only makes it slower.
    pub async fn confirms(&mut self) {
        tokio::time::sleep(APART).await;
        self.types("\r");
    }

    /// Types a line and sends it.
    pub fn enters(&mut self, line: &str) {
        self.types(&format!("{line}\r"));
    }

    pub fn resize(&self, columns: u16) {
        tcsetwinsize(&self.slave, size(columns, USUAL_ROWS)).unwrap();
    }

    pub fn signal(&self, signal: Signal) {
        let pid = self.child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).unwrap()));
        kill_process(pid.unwrap(), signal).unwrap();
    }

    /// Stops the program, as one who types into another window may, and waits until it stands still.
    pub async fn stops(&self) {
        self.signal(Signal::STOP);
        let path = format!("/proc/{}/stat", self.child.id().unwrap());
        // `setsid` became the program, so its state stands there behind its name.
        while !fs::read_to_string(&path).unwrap().contains(") T ") {
            tokio::task::yield_now().await;
        }
    }

    /// Whether the terminal is as it was before the program came.
    pub fn is_as_it_was(&self) -> bool {
        tcgetattr(&self.slave).unwrap().local_modes == self.modes
    }

    /// Waits for the program's end: its exit code, `None` after a signal. The terminal must be as it was.
    pub async fn ended(&mut self) -> Option<i32> {
        let status = timeout(STUCK, self.child.wait()).await.expect("the program does not end").unwrap();
        assert!(self.is_as_it_was(), "the terminal is left in another mode: {}", self.seen);
        status.code()
    }
}

fn size(ws_col: u16, ws_row: u16) -> Winsize {
    Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }
}
