//! What does the machine itself take? The baselines that figures are read against.

use std::{
    fs::{File, OpenOptions, Permissions},
    io::{BufRead as _, BufReader, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::PathBuf,
    sync::{Arc, LazyLock},
    thread,
    time::Duration,
};

use subagentd::sys::clock::{Clock as _, SystemClock};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _},
    runtime::Runtime,
    task::JoinSet,
};

use crate::table::median;

static CLOCK: LazyLock<Arc<SystemClock>> = LazyLock::new(SystemClock::new);

/// Time since the bench began.
pub fn now() -> Duration {
    CLOCK.monotonic()
}

pub fn since(moment: Duration) -> Duration {
    now().saturating_sub(moment)
}

/// A folder on the file system that the package is built on, which has a disk below it where `/tmp` may not.
pub fn folder() -> anyhow::Result<TempDir> {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&target)?;
    Ok(tempfile::tempdir_in(target)?)
}

/// A folder for a socket: with a short path, and closed to others, as the daemon demands.
pub fn socket_folder() -> anyhow::Result<TempDir> {
    Ok(tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir()?)
}

/// A file that is appended to and synced.
pub struct SyncedFile {
    file: File,
    _folder: TempDir,
}

impl SyncedFile {
    pub fn new() -> anyhow::Result<SyncedFile> {
        let folder = folder()?;
        let file = OpenOptions::new().create(true).append(true).open(folder.path().join("synced"))?;
        Ok(SyncedFile { file, _folder: folder })
    }

    /// Appends 1 KB and waits for the disk.
    pub fn append(&mut self) -> anyhow::Result<Duration> {
        let began = now();
        self.file.write_all(&[b'x'; 1_024])?;
        self.file.sync_all()?;
        Ok(since(began))
    }
}

/// What the disk takes for a sync, p50, in milliseconds.
pub fn sync_time() -> anyhow::Result<f64> {
    let mut synced = SyncedFile::new()?;
    let syncs: anyhow::Result<Vec<Duration>> = (0..200).map(|_| synced.append()).collect();
    Ok(median(&syncs?))
}

/// Round trips of `line` and `answer` over a Unix socket between a plain thread and a runtime with as many threads as
/// a daemon's, and nothing else.
pub fn bare_ping_pong(line: &str, answer: &str, rounds: usize) -> anyhow::Result<Vec<Duration>> {
    let runtime = daemon_runtime()?;
    let (ours, theirs) = UnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    let answer = format!("{answer}\n");
    let mut echo = JoinSet::new();
    let echoing = async move {
        let (reader, mut writer) = tokio::net::UnixStream::from_std(theirs)?.into_split();
        let (mut reader, mut line) = (tokio::io::BufReader::new(reader), String::new());
        while reader.read_line(&mut line).await? != 0 {
            writer.write_all(answer.as_bytes()).await?;
            line.clear();
        }
        std::io::Result::Ok(())
    };
    echo.spawn_on(echoing, runtime.handle());
    let times = ping_pong(ours, line, rounds)?;
    runtime.block_on(echo.join_next()).transpose()?.transpose()?;
    Ok(times)
}

/// A runtime as the binary makes it.
pub fn daemon_runtime() -> anyhow::Result<Runtime> {
    let workers = thread::available_parallelism()?.get();
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?)
}

/// Sends `line` and waits for a line, again and again.
pub fn ping_pong(stream: UnixStream, line: &str, rounds: usize) -> anyhow::Result<Vec<Duration>> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut writer, line) = (stream, format!("{line}\n"));
    let mut answer = String::new();
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let began = now();
        writer.write_all(line.as_bytes())?;
        answer.clear();
        anyhow::ensure!(reader.read_line(&mut answer)? != 0, "hung up on");
        times.push(since(began));
    }
    Ok(times)
}

/// Processor time of this process so far.
pub fn cpu_time() -> Duration {
    /// Ticks of `/proc/self/stat` a second, on every Linux there is.
    const TICKS: u64 = 100;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which may hold anything, user and system time are the fields 12 and 13.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 =
        fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1_000 / TICKS)
}
