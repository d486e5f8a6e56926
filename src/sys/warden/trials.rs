//! Tries what a confined command must not be able to do, from inside, and says what came of it.

use std::{
    fs, io,
    net::{SocketAddr, TcpStream, UdpSocket},
    os::unix::{
        fs::symlink,
        net::{UnixDatagram, UnixStream},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    process::{Pid, Resource, getrlimit, prlimit, setsid, test_kill_process},
};
use serde::{Deserialize, Serialize};

/// How long an attempt waits for an answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// One thing to try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SandboxAttempt {
    /// To make a file.
    Write(PathBuf),
    /// To open a file for writing. Writes nothing.
    Open(PathBuf),
    /// To read a file, or to list a folder.
    Read(PathBuf),
    /// To write, by way of a link that lies in a place that may be written.
    WriteThroughLink {
        link: PathBuf,
        target: PathBuf,
    },
    ConnectTcp(SocketAddr),
    SendUdp(SocketAddr),
    /// To change who may read a file. Gives it the mode that it has.
    ChangeMode(PathBuf),
    /// The same of what was opened for reading.
    ChangeModeOpened(PathBuf),
    /// To change when a file was written.
    ChangeTimes(PathBuf),
    /// To keep things in memory that no limit counts.
    UncountedMemory,
    /// A call by the number that some kernels know it by beside its own.
    SecondNumber,
    /// To connect to a socket file.
    ConnectSocket(PathBuf),
    /// To make a pair of sockets that send to whomever they name.
    PairOfSenders,
    /// To find a process to send signals to. Sends none.
    Signal(u32),
    /// To change a process's limits. Sets the one that it has.
    Limit(u32),
    /// To leave a process behind that holds standard output open.
    Outlive,
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptOutcome {
    /// `None` = it was possible, as far as could be seen from inside.
    pub refused: Option<String>,
}

/// Tries one after the other and puts out a line for each.
pub fn run(attempts: &str) -> ExitCode {
    let Ok(attempts) = serde_json::from_str::<Vec<SandboxAttempt>>(attempts) else {
        return ExitCode::FAILURE;
    };
    for attempt in attempts {
        let refused = attempt.make().err().map(|error| error.to_string());
        let line = serde_json::to_string(&AttemptOutcome { refused }).unwrap_or_default();
        println!("{line}");
    }
    ExitCode::SUCCESS
}

impl SandboxAttempt {
    fn make(&self) -> io::Result<()> {
        match self {
            SandboxAttempt::Write(path) => write(path),
            SandboxAttempt::Open(path) => fs::OpenOptions::new().write(true).open(path).map(drop),
            SandboxAttempt::Read(path) if path.is_dir() => {
                let entries = fs::read_dir(path)?.count();
                // What is hidden is an empty folder.
                if entries == 0 { Err(io::Error::other("the folder is empty")) } else { Ok(()) }
            }
            SandboxAttempt::Read(path) => fs::read(path).and_then(|bytes| match bytes.is_empty() {
                true => Err(io::Error::other("the file is empty")),
                false => Ok(()),
            }),
            SandboxAttempt::WriteThroughLink { link, target } => {
                symlink(target, link)?;
                let written = write(target);
                let through = fs::write(link, b"through a link");
                let _removed = fs::remove_file(link);
                written.or(through)
            }
            SandboxAttempt::ConnectTcp(address) => TcpStream::connect_timeout(address, PATIENCE).map(drop),
            SandboxAttempt::SendUdp(address) => {
                UdpSocket::bind(("127.0.0.1", 0))?.send_to(b"from a sandbox", address).map(drop)
            }
            SandboxAttempt::ChangeMode(path) => fs::set_permissions(path, fs::metadata(path)?.permissions()),
            SandboxAttempt::ChangeModeOpened(path) => {
                let opened = fs::File::open(path)?;
                opened.set_permissions(opened.metadata()?.permissions())
            }
            SandboxAttempt::ChangeTimes(path) => {
                let opened = fs::File::open(path)?;
                opened.set_modified(opened.metadata()?.modified()?)
            }
            SandboxAttempt::UncountedMemory => Ok(memfd_create("trial", MemfdFlags::CLOEXEC).map(drop)?),
            SandboxAttempt::SecondNumber => second_number(),
            SandboxAttempt::ConnectSocket(path) => UnixStream::connect(path).map(drop),
            SandboxAttempt::PairOfSenders => UnixDatagram::pair().map(drop),
            SandboxAttempt::Signal(pid) => {
                let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
                Ok(test_kill_process(pid.ok_or(io::ErrorKind::InvalidInput)?)?)
            }
            SandboxAttempt::Limit(pid) => {
                let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
                let core = getrlimit(Resource::Core);
                Ok(prlimit(Some(pid.ok_or(io::ErrorKind::InvalidInput)?), Resource::Core, core).map(drop)?)
            }
            SandboxAttempt::Outlive => outlive(),
        }
    }
}

fn write(path: &Path) -> io::Result<()> {
    fs::write(path, b"from a sandbox")?;
    // It was possible; nothing is left of it.
    fs::remove_file(path)
}

/// `getpid` of x32.
fn second_number() -> io::Result<()> {
    const SECOND: i64 = 0x4000_0000;
    // Safety: the call has no arguments, and answers a number.
    #[allow(unsafe_code, reason = "no library calls by this number")]
    let answer = unsafe { libc::syscall(SECOND | libc::SYS_getpid) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn outlive() -> io::Result<()> {
    let mut command = Command::new("sleep");
    command.arg("1000").stdin(Stdio::null()).stderr(Stdio::null());
    // Safety: `setsid` is one system call.
    #[allow(unsafe_code, reason = "leaving the session is what is tried")]
    unsafe {
        command.pre_exec(|| Ok(setsid().map(drop)?))
    };
    // Not waited for, which is what is tried, too.
    command.spawn().map(drop)
}
