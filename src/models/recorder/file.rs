//! The file of a recording: one writer each, whole lines, for its owner's eyes alone.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Write as _},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use rustix::{
    fs::{FileType, Mode, OFlags, Stat, fchmod, fstat, open},
    io::Errno,
};

use crate::replay::MAX_RECORDING_BYTES;

/// Bytes that are read at once when the end of the last whole line is looked for.
const CHUNK: usize = 64 * 1024;

/// The recordings that runs of this daemon are writing. A cheap handle.
#[derive(Clone, Default)]
pub struct OpenRecordings {
    open: Arc<Mutex<HashMap<FileId, Weak<RecordingFile>>>>,
}

/// A file, whatever path leads to it: its device and its number there.
type FileId = (u64, u64);

/// A recording that is being written, by all runs of one tree. A cheap handle; the file is closed with the last.
#[derive(Clone)]
pub struct RecordingWriter {
    written: Arc<RecordingFile>,
}

struct RecordingFile {
    path: PathBuf,
    state: Mutex<RecordingFileState>,
}

struct RecordingFileState {
    file: File,
    /// Bytes of whole lines.
    end: u64,
    /// A line could not be written. Nothing follows it: what is played would not be what was said.
    is_over: bool,
}

/// The reason why a run cannot be recorded into a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRecordable {
    #[error("is not an absolute path; the daemon does not know your working directory")]
    Relative,
    #[error("is there already and is not empty; a recording holds one run and those below it")]
    NotEmpty,
    #[error("is being written by another run")]
    InUse,
    #[error("is no regular file")]
    NoFile,
    #[error("cannot be written: {0}")]
    Unwritable(String),
}

impl From<io::Error> for NotRecordable {
    fn from(error: io::Error) -> NotRecordable {
        NotRecordable::Unwritable(error.to_string())
    }
}

impl OpenRecordings {
    /// A new recording. The file is made now, so that what cannot be written is known before the run starts.
    pub fn begin(&self, path: &Path) -> Result<RecordingWriter, NotRecordable> {
        let (file, stat) = open_file(path)?;
        let mut open = lock(&self.open);
        if living(&mut open, &stat).is_some() {
            return Err(NotRecordable::InUse);
        }
        if stat.st_size != 0 {
            return Err(NotRecordable::NotEmpty);
        }
        Ok(keep(&mut open, path, file, &stat, 0))
    }

    /// The recording of a run that is taken up: what another process has left of a line is cut off.
    pub fn go_on(&self, path: &Path) -> Result<RecordingWriter, NotRecordable> {
        let (file, stat) = open_file(path)?;
        let mut open = lock(&self.open);
        if let Some(written) = living(&mut open, &stat) {
            return Ok(RecordingWriter { written });
        }
        let bytes = u64::try_from(stat.st_size).unwrap_or(0);
        let end = end_of_lines(&file, bytes)?;
        if end != bytes {
            file.set_len(end)?;
        }
        Ok(keep(&mut open, path, file, &stat, end))
    }
}

fn keep(
    open: &mut HashMap<FileId, Weak<RecordingFile>>,
    path: &Path,
    file: File,
    stat: &Stat,
    end: u64,
) -> RecordingWriter {
    let state = Mutex::new(RecordingFileState { file, end, is_over: false });
    let written = Arc::new(RecordingFile { path: path.to_owned(), state });
    open.insert(id(stat), Arc::downgrade(&written));
    RecordingWriter { written }
}

/// Those that nobody writes any more are forgotten meanwhile.
fn living(open: &mut HashMap<FileId, Weak<RecordingFile>>, stat: &Stat) -> Option<Arc<RecordingFile>> {
    open.retain(|_, written| written.strong_count() != 0);
    open.get(&id(stat)).and_then(Weak::upgrade)
}

fn id(stat: &Stat) -> FileId {
    (stat.st_dev, stat.st_ino)
}

/// Opened without waiting: a pipe would hold a thread for ever. Links are not followed at the end of the path.
fn open_file(path: &Path) -> Result<(File, Stat), NotRecordable> {
    if !path.is_absolute() {
        return Err(NotRecordable::Relative);
    }
    let flags = OFlags::RDWR
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::CLOEXEC
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY;
    let private = Mode::RUSR | Mode::WUSR;
    let handle = open(path, flags, private).map_err(|error| match error {
        Errno::NOENT => NotRecordable::Unwritable("its folder does not exist".to_owned()),
        Errno::LOOP => NotRecordable::Unwritable("it is a symbolic link".to_owned()),
        Errno::ISDIR | Errno::NXIO => NotRecordable::NoFile,
        error => io::Error::from(error).into(),
    })?;
    let stat = fstat(&handle).map_err(io::Error::from)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(NotRecordable::NoFile);
    }
    if stat.st_size == 0 {
        // An empty one may have been made for everybody to read.
        fchmod(&handle, private).map_err(io::Error::from)?;
    }
    Ok((File::from(handle), stat))
}

/// How many of a file's first bytes are whole lines.
fn end_of_lines(file: &File, bytes: u64) -> io::Result<u64> {
    let mut buffer = [0; CHUNK];
    let mut end = bytes;
    while end > 0 {
        let start = end.saturating_sub(CHUNK as u64);
        let chunk = &mut buffer[..usize::try_from(end - start).unwrap_or(CHUNK)];
        file.read_exact_at(chunk, start)?;
        if let Some(at) = chunk.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

impl RecordingWriter {
    pub fn path(&self) -> &Path {
        &self.written.path
    }

    /// Writes a line and waits until it is on the disk. When that fails, the recording is over; the run is not.
    ///
    /// Not cancel safe in one way that does no harm: the line is written all the same.
    pub(super) async fn append(&self, line: Vec<u8>) {
        let written = Arc::clone(&self.written);
        let appending = tokio::task::spawn_blocking(move || written.append(&line));
        if let Err(error) = appending.await {
            tracing::warn!(path = %self.written.path.display(), %error, "a line of a recording is missing");
        }
    }
}

impl RecordingFile {
    fn append(&self, line: &[u8]) {
        let mut state = lock(&self.state);
        if state.is_over {
            return;
        }
        if let Err(error) = state.append(line) {
            state.is_over = true;
            tracing::warn!(
                path = %self.path.display(),
                %error,
                "the recording ends before its run does: a line could not be written"
            );
        }
    }
}

impl RecordingFileState {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let end = self.end.saturating_add(line.len() as u64);
        if MAX_RECORDING_BYTES < end {
            let message =
                format!("it would be longer than the {MAX_RECORDING_BYTES} bytes that can be played");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        if let Err(error) = self.file.write_all(line).and_then(|()| self.file.sync_data()) {
            // Half a line would make the lines before it unreadable, too.
            self.file.set_len(self.end)?;
            return Err(error);
        }
        self.end = end;
        Ok(())
    }
}

/// What is behind these locks is whole between any two statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
