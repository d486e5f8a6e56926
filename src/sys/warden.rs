//! A warden: the process between the daemon and a command it runs for others.
//!
//! The daemon starts itself once more, with [`ARGUMENT`] and a socket as standard input, and says there what to run. The
//! warden, which has one thread and so may do what is needed between `fork` and `exec`, confines the command, watches what it
//! uses, and is the one to whom everything falls that the command leaves behind: nothing outlives it. When the socket ends,
//! because the daemon let go of it or died, everything ends. The words of the two are here; how they are kept, below.

use std::{
    ffi::CStr,
    io::{self, Read as _, Write as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
    process::ExitCode,
};

use rustix::{
    process::{DumpableBehavior, set_dumpable_behavior},
    thread::set_name,
};
use serde::{Deserialize, Serialize};

use super::guarded::FileIdentity;

mod confine;
mod fixed;
mod on_behalf;
mod processes;
mod terminal;
mod trials;
mod watch;

/// The first argument of a process that is a warden.
pub const ARGUMENT: &str = "warden";

/// The first argument of a process that tries what a command may not do. What it is to try, follows as JSON.
pub const TRIALS: &str = "sandbox-trials";

/// The program of an order that is this one.
pub const OWN_PROGRAM: &str = "/proc/self/exe";

/// What a warden is called among processes: the daemon starts it by a path that says nothing.
const NAME: &CStr = c"subagentd";

pub use confine::{LEAST_LANDLOCK, landlock_version};
pub use trials::{AttemptOutcome, SandboxAttempt};

/// Bytes of an order at most. The longest has a command of a megabyte in it.
const MAX_ORDER: usize = 16 << 20;

/// Bytes that a command can be given to read, at most: they are held in memory, and no call hands over more than one file.
pub const MAX_INPUT: usize = 32 << 20;

/// What to run, and what it may do. The first that stands on the socket; see [`WardenOrder::message`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WardenOrder {
    /// A program, found by the `PATH` below, and its arguments.
    pub words: Vec<String>,
    pub directory: PathBuf,
    /// All of its environment.
    pub environment: Vec<(String, String)>,
    pub limits: CommandLimits,
    /// `None` = whoever started the warden has confined it already, or nobody wants to.
    pub files: Option<FileAccess>,
    /// The only places that are read, where something else decides over files. A folder means everything below it. `None` = no more is
    /// refused.
    pub seen: Option<Vec<PathBuf>>,
    /// What must be just this when the command begins.
    pub fixed: Vec<FixedPlace>,
    pub sockets: SocketAccess,
    /// Socket files, and folders of such, that the command reaches whatever else it may not: where they really lie, no link among
    /// them.
    pub sockets_at: Vec<PathBuf>,
    /// Bytes that follow the order, which the command reads from its standard input. With a terminal it reads that instead.
    pub input_bytes: usize,
    /// The command gets a terminal, whose output is the warden's standard output.
    pub terminal: Option<TerminalSize>,
    /// The warden is the first process of a namespace of its own: all others in it are the command's.
    pub is_first: bool,
    /// The daemon, as the command would signal it where the kernel does not keep it from that otherwise.
    pub daemon: u32,
}

/// What a command may use, together with all that it starts. `None` = no limit but the system's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLimits {
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
pub struct FileAccess {
    pub readable: Vec<PathBuf>,
    pub writable: Vec<PathBuf>,
}

/// A file or folder as the daemon saw it. Another command, which goes on, may put a link in its place at any time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedPlace {
    /// Without links.
    pub path: PathBuf,
    pub id: FileIdentity,
    /// It was mounted for this command. Where its mount is not, it is somewhere else.
    pub is_mounted: bool,
}

/// What sockets a command may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SocketAccess {
    All,
    /// The internet's, which may be that of a network of the command's own, and pairs: a socket file, or a socket that has a
    /// name and no file, may lead to whoever runs what the user runs.
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
pub enum WardenSignal {
    /// All of its processes are asked to end.
    Stop,
    /// They end.
    Kill,
}

impl WardenSignal {
    /// As it is said.
    pub fn byte(self) -> u8 {
        match self {
            WardenSignal::Stop => b's',
            WardenSignal::Kill => b'k',
        }
    }

    fn from_byte(byte: u8) -> Option<WardenSignal> {
        [WardenSignal::Stop, WardenSignal::Kill].into_iter().find(|wish| wish.byte() == byte)
    }
}

/// What the warden says: one line, then it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum WardenReport {
    /// Nothing was run.
    NotRun(String),
    Ended(CommandExit),
}

/// How a command ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandExit {
    pub code: Option<i32>,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
    /// The limit that it went over, for which it was ended.
    pub over: Option<CommandLimit>,
    /// Names of the processes that were still there, and were ended.
    pub left: Vec<String>,
}

/// See [`CommandLimits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandLimit {
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
    // Nobody of the same user may look into this process, or change it, also while it waits for its order.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_name(NAME)?;
    close_all_others()?;
    let control: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let mut control = UnixStream::from(control);
    let (order, input) = match read_order(&mut control) {
        Ok(told) => told,
        // It was started for a command that never came.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
        Err(error) => return Err(error),
    };
    let report = match watch::CommandWatch::begin(order, &input) {
        Ok(watch) => WardenReport::Ended(watch.until_end(control.try_clone()?)?),
        Err(problem) => WardenReport::NotRun(problem),
    };
    let mut text = serde_json::to_string(&report).map_err(io::Error::other)?;
    text.push('\n');
    control.write_all(text.as_bytes())
}

/// Closes what this process was started with, like its own program: it has three descriptors, and whatever it opens is its own.
fn close_all_others() -> io::Result<()> {
    const FIRST: u32 = 3;
    // Safety: nothing has been opened here yet that anybody would use.
    #[allow(unsafe_code, reason = "these descriptors belong to nobody here")]
    let done = unsafe { libc::syscall(libc::SYS_close_range, FIRST, u32::MAX, 0) };
    if done == 0 {
        return Ok(());
    }
    // Kernels before 5.9 do not know it.
    let entries: Vec<_> = std::fs::read_dir("/proc/self/fd")?.collect::<Result<_, _>>()?;
    let numbers = entries.iter().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| FIRST.cast_signed() <= *number) {
        // Safety: as above. The folder itself is closed by now, and its number with it.
        #[allow(unsafe_code, reason = "as above")]
        let _closed_before = unsafe { libc::close(number) };
    }
    Ok(())
}

impl WardenOrder {
    /// As it is said: its length, the order, and then what the command is to read.
    ///
    /// # Errors
    /// When the order or the input is longer than a warden takes.
    pub fn message(&self, input: &[u8]) -> io::Result<Vec<u8>> {
        let order = serde_json::to_vec(&WardenOrder { input_bytes: input.len(), ..self.clone() })?;
        if MAX_ORDER < order.len() || MAX_INPUT < input.len() {
            return Err(io::Error::other("the command or its input is too long"));
        }
        let length = u32::try_from(order.len()).map_err(io::Error::other)?;
        Ok([&length.to_le_bytes(), order.as_slice(), input].concat())
    }
}

/// The order and what the command is to read. No byte more is taken: what follows are wishes.
fn read_order(control: &mut UnixStream) -> io::Result<(WardenOrder, Vec<u8>)> {
    let mut length = [0; size_of::<u32>()];
    control.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
    if MAX_ORDER < length {
        return Err(io::Error::other("the order is too long"));
    }
    let mut order = vec![0; length];
    control.read_exact(&mut order)?;
    let order: WardenOrder = serde_json::from_slice(&order).map_err(io::Error::other)?;
    if MAX_INPUT < order.input_bytes {
        return Err(io::Error::other("the command's input is too long"));
    }
    let mut input = vec![0; order.input_bytes];
    control.read_exact(&mut input)?;
    Ok((order, input))
}
