//! How does a client start a daemon that outlives it? (Spec 12.)

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    os::unix::{
        fs::{DirBuilderExt, OpenOptionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use super::{ConnectError, MonotonicStopwatch, RpcClient};

/// How long a started daemon may take until it says it is ready. It opens its database in milliseconds; a
/// migration of a large one takes seconds.
pub const READY_PATIENCE: Duration = Duration::from_secs(10);

/// How long to look for a daemon that somebody else started at the same moment, when ours ended early: it has
/// the lock by then and needs only to listen.
const RIVAL_PATIENCE: Duration = Duration::from_secs(1);

/// Pause between two looks for a rival.
const RIVAL_PAUSE: Duration = Duration::from_millis(50);

/// What is shown of the log of a daemon that ended early: its last words are what matters.
const TAIL_BYTES: u64 = 4 << 10;

/// A log that has grown beyond this is put aside before the next start, so that it cannot fill the disk.
const LOG_BYTES: u64 = 1 << 20;

/// How to start a daemon.
#[derive(Debug, Clone)]
pub struct DaemonStarter {
    /// A path, or a name to be found in `PATH`.
    pub program: PathBuf,
    /// Given to it beside those that make it listen and say so.
    pub arguments: Vec<OsString>,
    /// Where its standard error goes; made with mode 0600 when missing.
    pub log: PathBuf,
}

impl DaemonStarter {
    /// The daemon beside the program at `own_program`, else the one in `PATH`.
    pub fn beside(own_program: Option<&Path>, state_folder: &Path) -> DaemonStarter {
        let sibling = own_program.map(|path| path.with_file_name("subagentd")).filter(|path| path.is_file());
        let program = sibling.unwrap_or_else(|| PathBuf::from("subagentd"));
        DaemonStarter { program, arguments: Vec::new(), log: state_folder.join("daemon.log") }
    }

    /// Starts a daemon on `socket` in a process group of its own, waits until it is ready, and connects.
    pub(super) fn start(&self, socket: &Path) -> Result<RpcClient, ConnectError> {
        let (log, old_length) =
            self.open_log().map_err(|error| ConnectError::LogUnusable { log: self.log.clone(), error })?;
        let mut child = self.spawn(socket, log)?;
        // Its standard output is the pipe on which it says that it is ready.
        let ready_pipe = child.stdout.take();
        match ready_pipe.map(wait_for_line) {
            Some(Readiness::Ready) => RpcClient::connect(socket),
            Some(Readiness::TooLate) => {
                // It may be migrating a large database, so it is left to finish.
                Err(ConnectError::NotReady { waited: READY_PATIENCE, log: self.log.clone() })
            }
            Some(Readiness::Ended) | None => {
                let status = child.wait().ok();
                find_rival(socket).ok_or_else(|| ConnectError::DaemonDied {
                    status,
                    log: self.log.clone(),
                    tail: read_tail(&self.log, old_length),
                })
            }
        }
    }

    fn spawn(&self, socket: &Path, log: File) -> Result<Child, ConnectError> {
        Command::new(&self.program)
            .arg("--socket")
            .arg(socket)
            .args(["--ready-fd", "1", "--exit-when-idle"])
            .args(&self.arguments)
            // The folder we were called in must be free to be unmounted while the daemon lives.
            .current_dir("/")
            // Ctrl-C in our terminal must not reach it.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| ConnectError::ProgramMissing { program: self.program.clone(), error })
    }

    /// Opens the log for appending; also says how long it was.
    fn open_log(&self) -> io::Result<(File, u64)> {
        if let Some(folder) = self.log.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let is_large = fs::metadata(&self.log).is_ok_and(|metadata| metadata.len() > LOG_BYTES);
        if is_large {
            fs::rename(&self.log, self.log.with_extension("log.old"))?;
        }
        let log = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.log)?;
        let length = log.metadata()?.len();
        Ok((log, length))
    }
}

enum Readiness {
    Ready,
    /// It closed its standard output, which it does by ending.
    Ended,
    TooLate,
}

/// Waits for the first line. The thread that reads ends with the pipe or with us; std has no pipe time-outs.
fn wait_for_line(pipe: ChildStdout) -> Readiness {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut line = String::new();
        // A line longer than any greeting is no line of ours; reading stops there.
        let is_line = BufReader::new(pipe.take(256)).read_line(&mut line).is_ok() && line.ends_with('\n');
        // Nobody listens any more when the time is over.
        let _ = sender.send(if is_line { Readiness::Ready } else { Readiness::Ended });
    });
    receiver.recv_timeout(READY_PATIENCE).unwrap_or(Readiness::TooLate)
}

/// Two clients may start a daemon at the same moment; the second daemon finds the lock taken and ends.
fn find_rival(socket: &Path) -> Option<RpcClient> {
    let stopwatch = MonotonicStopwatch::start();
    loop {
        if let Ok(client) = RpcClient::connect(socket) {
            return Some(client);
        }
        stopwatch.left_of(RIVAL_PATIENCE)?;
        thread::sleep(RIVAL_PAUSE);
    }
}

/// What was written to the log after `from`, or the end of it.
fn read_tail(log: &Path, from: u64) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(from.max(length.saturating_sub(TAIL_BYTES))))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // A log that cannot be read only makes the message shorter.
    read().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
