//! A warden: the process between the daemon and a command it runs for others.
//!
//! The daemon starts itself once more, with [`ARGUMENT`] and a socket as standard input, and says there what to run. The
//! warden, which has one thread and so may do what is needed between `fork` and `exec`, confines the command, watches what it
//! uses, and is the one to whom everything falls that the command leaves behind: nothing outlives it. When the socket ends,
//! because the daemon let go of it or died, everything ends. The words of the two are here; how they are kept, below.

use std::{
    io::{self, Read as _, Write as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
    process::ExitCode,
};

use serde::{Deserialize, Serialize};

mod confine;
mod processes;
mod terminal;
mod trials;
mod watch;

/// The first argument of a process that is a warden.
pub const ARGUMENT: &str = "warden";

/// The first argument of a process that tries what a command may not do. What it is to try, follows as JSON.
pub const TRIALS: &str = "sandbox-trials";

pub use confine::{LEAST_LANDLOCK, landlock_version};
pub use trials::{Attempt, Attempted};

/// What to run, and what it may do. The first line on the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// A program, found by the `PATH` below, and its arguments.
    pub words: Vec<String>,
    pub directory: PathBuf,
    /// All of its environment.
    pub environment: Vec<(String, String)>,
    pub limits: Limits,
    /// `None` = whoever started the warden has confined it already, or nobody wants to.
    pub files: Option<Files>,
    pub sockets: Sockets,
    /// The command gets a terminal, whose output is the warden's standard output.
    pub terminal: Option<TerminalSize>,
    /// The warden is the first process of a namespace of its own: all others in it are the command's.
    pub is_first: bool,
    /// The daemon, as the command would signal it where the kernel does not keep it from that otherwise.
    pub daemon: u32,
}

/// What a command may use, together with all that it starts. `None` = no limit but the system's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Of processor time.
    pub cpu_seconds: Option<u64>,
    /// Resident, in bytes; what processes share counts for each.
    pub memory_bytes: Option<u64>,
    pub processes: Option<u64>,
    /// For each process.
    pub open_files: Option<u64>,
}

/// Files as Landlock lets a command have them: a folder means everything below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    pub readable: Vec<PathBuf>,
    pub writable: Vec<PathBuf>,
}

/// What sockets a command may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sockets {
    All,
    /// Those to this machine and the internet: for a command whose network is another namespace's.
    Usual,
    /// The internet's alone: a socket file may lead to whoever serves the user's desktop.
    Internet,
    /// Only pairs.
    None,
}

/// In characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    pub columns: u16,
    pub rows: u16,
}

/// What the daemon says while the command runs, a byte each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// All of its processes are asked to end.
    Stop,
    /// They end.
    Kill,
}

impl Wish {
    /// As it is said.
    pub fn byte(self) -> u8 {
        match self {
            Wish::Stop => b's',
            Wish::Kill => b'k',
        }
    }

    fn from_byte(byte: u8) -> Option<Wish> {
        [Wish::Stop, Wish::Kill].into_iter().find(|wish| wish.byte() == byte)
    }
}

/// What the warden says: one line, then it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// Nothing was run.
    NotRun(String),
    Ended(Ended),
}

/// How a command ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub code: Option<i32>,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
    /// The limit that it went over, for which it was ended.
    pub over: Option<Limit>,
    /// Names of the processes that were still there, and were ended.
    pub left: Vec<String>,
}

/// See [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    Cpu,
    Memory,
    Processes,
}

/// The exit of a process that is a warden by its arguments; `None` = this is another process.
pub fn run_if_asked() -> Option<ExitCode> {
    let arguments: Vec<_> = std::env::args_os().skip(1).take(3).collect();
    match arguments.as_slice() {
        [only] if only == ARGUMENT => Some(run()),
        [first, attempts] if first == TRIALS => Some(trials::run(&attempts.to_string_lossy())),
        _ => None,
    }
}

fn run() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!(
                "Error: the daemon starts `{ARGUMENT}` by itself, with a socket as its standard input: {error}"
            );
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let control: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let mut control = UnixStream::from(control);
    let order: Order = serde_json::from_slice(&read_line(&mut control)?).map_err(io::Error::other)?;
    let report = match watch::Watch::begin(order) {
        Ok(watch) => Report::Ended(watch.until_end(control.try_clone()?)?),
        Err(problem) => Report::NotRun(problem),
    };
    let mut text = serde_json::to_string(&report).map_err(io::Error::other)?;
    text.push('\n');
    control.write_all(text.as_bytes())
}

/// The order. What follows it is read by somebody else, so no byte too many is taken: the daemon says nothing before the
/// order has come.
fn read_line(control: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut piece = [0; 16 << 10];
    while line.last() != Some(&b'\n') {
        match control.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => line.extend_from_slice(&piece[..length]),
        }
    }
    Ok(line)
}
