//! Spans as files: `<date>/session-<id>.jsonl` below a folder, a span a line, in the order in which they ended.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use protocol::{SessionId, Timestamp, TraceBackend, TraceSpan};
use redact::Redactor;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use super::SpanSink;
use crate::feed::{FedSpan, SpanDestination};

/// The end of a file in which lines of a batch may stand that was not remembered: more than a batch and its longest line.
const TAIL_BYTES: u64 = 8 << 20;

/// Writes spans into files that only this user can read.
pub struct SpanFiles {
    folder: Arc<PathBuf>,
    /// Bytes that all files may have; the oldest go first.
    most_bytes: watch::Receiver<u64>,
    /// The sizes of all files are so much together; `None` = not looked at yet.
    bytes: Option<u64>,
    /// False: what of the batch stands in the files is not known.
    is_sure: bool,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpanLine {
    /// `2026-11-26/session-ID.jsonl`
    file: PathBuf,
    span: String,
    line: String,
}

impl FedSpan for SpanLine {
    fn of(span: &TraceSpan, redactor: &Redactor) -> Option<(SpanLine, usize)> {
        let session = span.session_id.as_ref().filter(|session| is_name(session.as_str()))?;
        let day = Timestamp(span.end_us.unwrap_or(span.start_us)).to_string();
        // By its end, so that a day's file is only added to.
        let file = Path::new(day.get(..10)?).join(format!("{PREFIX}{session}{SUFFIX}"));
        let mut value: Value = serde_json::to_value(span).ok()?;
        redactor.value(&mut value);
        let line = format!("{value}\n");
        let bytes = line.len();
        Some((SpanLine { file, span: span.span_id.to_string(), line }, bytes))
    }
}

const PREFIX: &str = "session-";
const SUFFIX: &str = ".jsonl";

/// True for an id that is a name of a file and nothing else.
fn is_name(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

impl SpanFiles {
    pub fn new(folder: PathBuf, most_bytes: watch::Receiver<u64>) -> SpanFiles {
        SpanFiles { folder: Arc::new(folder), most_bytes, bytes: None, is_sure: false }
    }

    /// Keeps all files below the limit.
    async fn keep_to_limit(&mut self, written: u64) -> io::Result<()> {
        let most = *self.most_bytes.borrow();
        let bytes = self.bytes.map(|bytes| bytes.saturating_add(written));
        if bytes.is_some_and(|bytes| bytes <= most) {
            self.bytes = bytes;
            return Ok(());
        }
        self.bytes = None;
        let folder = Arc::clone(&self.folder);
        let (left, removed) = blocking(move || remove_oldest(&folder, most)).await?;
        if removed != 0 {
            tracing::info!(
                removed,
                most,
                "the oldest files of traces were removed to keep all within their limit"
            );
        }
        self.bytes = Some(left);
        Ok(())
    }
}

impl SpanSink for SpanFiles {
    type Item = SpanLine;

    const DESTINATION: SpanDestination =
        SpanDestination { backend: TraceBackend::File, place: "file.traces", max_backlog: u64::MAX };

    async fn begin(&mut self) -> io::Result<Vec<SessionId>> {
        self.is_sure = false;
        let folder = Arc::clone(&self.folder);
        let files = blocking(move || files_below(&folder)).await?;
        let sessions: BTreeSet<SessionId> = files.into_iter().map(|file| file.session).collect();
        Ok(sessions.into_iter().collect())
    }

    async fn write(&mut self, spans: Vec<SpanLine>) -> io::Result<()> {
        let (folder, is_sure) = (Arc::clone(&self.folder), self.is_sure);
        self.is_sure = false;
        let written = blocking(move || append(&folder, spans, is_sure)).await?;
        self.is_sure = true;
        self.keep_to_limit(written).await
    }

    async fn forget(&mut self, sessions: Vec<SessionId>) -> io::Result<()> {
        let folder = Arc::clone(&self.folder);
        self.bytes = None;
        blocking(move || {
            let sessions: BTreeSet<SessionId> = sessions.into_iter().collect();
            let mut of_them =
                files_below(&folder)?.into_iter().filter(|file| sessions.contains(&file.session));
            of_them.try_for_each(|file| remove(&file.path))
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.into()))
}

/// Adds lines to their files, and waits until they are on the disk. Answers how many bytes were added.
fn append(folder: &Path, spans: Vec<SpanLine>, is_sure: bool) -> io::Result<u64> {
    let mut of_files: BTreeMap<PathBuf, Vec<SpanLine>> = BTreeMap::new();
    for span in spans {
        of_files.entry(span.file.clone()).or_default().push(span);
    }
    let mut written = 0;
    for (file, spans) in of_files {
        let path = folder.join(file);
        let day = path.parent().unwrap_or(folder);
        DirBuilder::new().recursive(true).mode(0o700).create(day)?;
        let is_new = !path.exists();
        // A link is nobody's file here, and nothing waits for whoever would read a pipe.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600).custom_flags(flags);
        let mut file = options.open(&path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other(format!("{} is no file", path.display())));
        }
        let known = if is_sure || is_new { BTreeSet::new() } else { mended(&mut file)? };
        let lines = spans.iter().filter(|span| !known.contains(&span.span)).map(|span| span.line.as_str());
        let text: String = lines.collect();
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        if is_new {
            for place in [day, folder] {
                File::open(place)?.sync_all()?;
            }
        }
        written += text.len() as u64;
    }
    Ok(written)
}

/// Cuts off a line that was not written to its end, and answers which spans stand in the end of a file.
fn mended(file: &mut File) -> io::Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct WrittenSpan {
        span_id: String,
    }
    let length = file.metadata()?.len();
    let from = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail)?;
    let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    if whole < tail.len() {
        file.set_len(from + whole as u64)?;
    }
    let lines = tail.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n');
    let spans = lines.filter_map(|line| serde_json::from_slice::<WrittenSpan>(line).ok());
    Ok(spans.map(|span| span.span_id).collect())
}

/// A file of spans.
struct SpanFile {
    path: PathBuf,
    session: SessionId,
}

/// Every one, the oldest days first. What is no such file is not touched.
fn files_below(folder: &Path) -> io::Result<Vec<SpanFile>> {
    let mut files = Vec::new();
    for day in entries(folder)? {
        if !day.file_type()?.is_dir() {
            continue;
        }
        for entry in entries(&day.path())? {
            let name = entry.file_name();
            let session = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
            if let Some(session) = session.filter(|session| is_name(session)) {
                files.push(SpanFile { path: entry.path(), session: session.into() });
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Removes a file, and the folder of its day with the last one.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    if let Some(day) = path.parent() {
        // It is there as long as there is something else in it.
        let _is_in_use = fs::remove_dir(day);
    }
    Ok(())
}

/// Removes files until all are within the limit; answers how many bytes are left, and how many files were removed.
fn remove_oldest(folder: &Path, most: u64) -> io::Result<(u64, usize)> {
    let mut files = Vec::new();
    for file in files_below(folder)? {
        let metadata = fs::symlink_metadata(&file.path)?;
        let day = file.path.parent().map(Path::to_owned);
        let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        files.push((day, written, file.path, metadata.len()));
    }
    files.sort();
    let mut left: u64 = files.iter().map(|(.., bytes)| bytes).sum();
    let mut removed = 0;
    for (_, _, path, bytes) in files {
        if left <= most {
            break;
        }
        remove(&path)?;
        left = left.saturating_sub(bytes);
        removed += 1;
    }
    Ok((left, removed))
}
