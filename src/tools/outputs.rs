//! What becomes of an output that is longer than the model's budget? (spec 05, "Scheduler")
//!
//! The model gets its head and its tail. The whole is kept as `artifacts/<session>/output/<call>.txt`, durably and before
//! the call's end is committed, so no end names a file that is not there. A file that no end names, after a crash in
//! between, is written over when the call runs again, and goes with its session. Names are made of ids of ours alone.
//! What is kept has no secrets: results come here after they were taken out.

use std::{
    borrow::Cow,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FileType, Mode, OFlags, fstat, open},
    io::Errno,
};

use super::{
    OutputLimits,
    artifacts::{ArtifactFolder, is_name, make_folders, replace_durably},
    work,
    workspace::PathOpener,
};
use protocol::{CallId, FullOutput, MessagePart, SessionId, ToolResult};

mod cut;
#[cfg(test)]
mod tests;

use cut::{OutputCut, StoredOutput};

/// Bytes kept of one output: as many as `read_file` reads, so that the way on that the model is told leads to the end.
pub const MAX_KEPT_BYTES: usize = 20 * 1024 * 1024;

/// Characters of a line: as many as `read_file` shows of one. Longer lines of an output are broken when they are read.
const LINE_CHARS: usize = 2_000;

/// The outputs that are kept of a daemon's calls. A cheap handle.
#[derive(Debug, Clone)]
pub struct OutputStore {
    artifacts: ArtifactFolder,
}

impl OutputStore {
    pub fn new(artifacts: ArtifactFolder) -> OutputStore {
        OutputStore { artifacts }
    }

    /// The result as the model gets it: as it is, or cut, the whole being kept. When that fails, the model is told so.
    pub async fn fit(
        &self,
        result: ToolResult,
        session: &SessionId,
        call: &CallId,
        limits: OutputLimits,
    ) -> ToolResult {
        let is_short = result.error.as_ref().is_none_or(|error| error.message.len() <= limits.max_chars);
        if is_short && !cut::may_be_too_long(&result.llm_content, limits.max_chars) {
            return result;
        }
        let (store, session, call) = (self.clone(), session.clone(), call.clone());
        work::aside(move || store.cut(result, &session, &call, limits)).await
    }

    /// Writes files.
    fn cut(
        &self,
        mut result: ToolResult,
        session: &SessionId,
        call: &CallId,
        limits: OutputLimits,
    ) -> ToolResult {
        if let Some(error) = &mut result.error {
            cut::shorten(&mut error.message, limits.max_chars);
        }
        let Some(whole) = cut::too_long(&result.llm_content, limits.max_chars) else { return result };
        let kept = self.keep(session, call, &whole);
        if let Err(error) = &kept {
            tracing::warn!(%session, %call, %error, "a whole output cannot be kept");
        }
        let cut = OutputCut::of(&whole, limits.max_chars, &kept);
        result.llm_content = cut.parts(result.llm_content);
        result.full_output = kept.ok().map(|StoredOutput { path, bytes }| {
            Box::new(FullOutput { path, bytes: bytes as u64, total_bytes: whole.len() as u64 })
        });
        result
    }

    fn keep(&self, session: &SessionId, call: &CallId, whole: &str) -> io::Result<StoredOutput> {
        let path = self.path(session, call).ok_or_else(|| io::Error::other("the ids are no names"))?;
        let shown =
            path.to_str().ok_or_else(|| io::Error::other("the folder's name is not UTF-8"))?.to_owned();
        make_folders(path.parent().unwrap_or(&path))?;
        let bytes = whole.floor_char_boundary(MAX_KEPT_BYTES);
        replace_durably(&path, &path.with_extension("draft"), &whole.as_bytes()[..bytes])?;
        Ok(StoredOutput { path: shown, bytes })
    }

    /// Keeps the whole of an output that is cut after its call has ended, if it is not kept already; answers where. Reads
    /// and writes files.
    pub fn keep_late(&self, session: &SessionId, call: &CallId, whole: &str) -> io::Result<String> {
        if self.open(session, call).is_ok()
            && let Some(path) = self.path(session, call).and_then(|path| path.to_str().map(str::to_owned))
        {
            return Ok(path);
        }
        self.keep(session, call, whole).map(|kept| kept.path)
    }

    /// The call of this session whose output is kept, or would be, at exactly this path.
    pub fn call_at(&self, session: &SessionId, path: &str) -> Option<CallId> {
        let name = Path::new(path).file_name()?.to_str()?;
        let call = CallId::from(name.strip_suffix(".txt")?);
        // Compared as text: `..`, doubled slashes and links are other paths.
        (self.path(session, &call)?.to_str()? == path).then_some(call)
    }

    /// What is kept of a call's output, open for reading, and its size. Links are not followed below the artifact folder.
    pub fn open(&self, session: &SessionId, call: &CallId) -> io::Result<(File, u64)> {
        let path = self.path(session, call).ok_or(io::ErrorKind::NotFound)?;
        let root =
            open(self.artifacts.root(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let relative = path.strip_prefix(self.artifacts.root()).map_err(io::Error::other)?;
        let handle = PathOpener::detect(&root).open(&root, relative, OFlags::RDONLY | OFlags::NONBLOCK)?;
        let stat = fstat(&handle)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((File::from(handle), u64::try_from(stat.st_size).unwrap_or(0))),
            _ => Err(Errno::INVAL.into()),
        }
    }

    fn path(&self, session: &SessionId, call: &CallId) -> Option<PathBuf> {
        let folder = self.artifacts.session_folder(session)?;
        is_name(call.as_str()).then(|| folder.join("output").join(format!("{call}.txt")))
    }
}

/// An output as `read_file` shows it: lines that are too long are broken, so that all of it can be reached by line.
pub fn wrapped(text: &str) -> Cow<'_, str> {
    let is_short = |line: &str| line.len() <= LINE_CHARS;
    if text.split('\n').all(is_short) {
        return Cow::Borrowed(text);
    }
    let mut broken = String::with_capacity(text.len() + text.len() / LINE_CHARS);
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while let Some((end, _)) =
            rest.char_indices().nth(LINE_CHARS).filter(|(end, _)| rest[*end..] != *"\n")
        {
            broken.push_str(&rest[..end]);
            broken.push('\n');
            rest = &rest[end..];
        }
        broken.push_str(rest);
    }
    Cow::Owned(broken)
}

/// The texts of a result, one after the other.
fn joined(parts: &[MessagePart]) -> String {
    let mut whole = String::new();
    for text in parts.iter().filter_map(MessagePart::as_text) {
        if !whole.is_empty() && !whole.ends_with('\n') {
            whole.push('\n');
        }
        whole.push_str(text);
    }
    whole
}
