//! How does a call change a file? Shared by the tools that write: what would change is computed when a call is prepared,
//! shown to whoever decides, and made when it runs, if what is there is still what was shown.

use std::{
    panic::resume_unwind,
    path::PathBuf,
    sync::{Arc, OnceLock},
    thread,
};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    CallContext, OwnFiles, Permit, PrepareContext, SeenFileDigests,
    autorun::AutorunGuards,
    digest,
    large_changes::{LARGE_BYTES, LargeChangeHold},
    undo::PlannedChange,
    work,
    workspace::{ExistingFile, Workspace, WorkspacePath, WriteOutcome, WriteRequest},
};
use protocol::{
    CallId, CallLocation, ConfirmationDetails, FileChange, FileChanged, ResourceAccess, Risk, SessionId,
    ToolEffect, ToolError, ToolErrorType, ToolResult,
};
use redact::Redactor;

pub mod diff;
mod kept_secrets;
pub mod text;

pub use kept_secrets::keeps_secrets;

use text::TextFile;

/// Bytes of a file's content in a question to a person; the diff shows what changes in longer ones.
const SHOWN_CONTENT_BYTES: usize = 64 * 1024;
/// Bytes of a diff in a question to a person, and of one that a result shows people.
const SHOWN_DIFF_BYTES: usize = 256 * 1024;
const RESULT_DIFF_BYTES: usize = 16 * 1024;
/// Smaller files are worked on at once: handing one to another thread costs more than the work.
pub const SMALL_BYTES: u64 = 256 * 1024;

/// The bytes of a file that is there; none of one that cannot be looked at.
pub fn bytes_at(path: &str, cx: &PrepareContext) -> u64 {
    let facts = cx.workspace.resolve(path).ok().and_then(|place| cx.workspace.facts(&place).ok());
    facts.map_or(0, |facts| facts.size)
}

/// Where a change happens, and by whom it is told.
#[derive(Clone)]
pub struct ChangeContext {
    pub workspace: Arc<Workspace>,
    pub own_files: Arc<OwnFiles>,
    pub reads: SeenFileDigests,
    pub redactor: Redactor,
    /// Commands that go on do not count as who made the change.
    pub guards: AutorunGuards,
}

impl ChangeContext {
    pub fn of(cx: &PrepareContext) -> ChangeContext {
        ChangeContext {
            workspace: Arc::clone(&cx.workspace),
            own_files: Arc::clone(&cx.own_files),
            reads: cx.reads.clone(),
            redactor: cx.redactor.clone(),
            guards: cx.commands.autorun_guards().clone(),
        }
    }

    /// Waits for the turn of a file with so many bytes, as long as the call has time. The error is what the call came to.
    pub async fn turn(&self, bytes: u64, cx: &CallContext) -> Result<Option<LargeChangeHold>, ToolResult> {
        work::in_time(cx, self.own_files.changes().next(bytes)).await
    }

    /// How dangerous it is to change this place; `None` = no more than the tool is.
    pub fn risk(&self, place: &WorkspacePath) -> Option<Risk> {
        self.own_files.risk(&self.workspace, &self.workspace.absolute(place))
    }

    /// Refuses a file that is not as the model of this run last saw it.
    pub fn known(
        &self,
        place: &WorkspacePath,
        before: Option<&OriginalFile>,
    ) -> Result<SeenVersion, ToolError> {
        let Some(seen) = self.reads.of(&self.workspace.absolute(place)) else {
            return Ok(SeenVersion::Never);
        };
        match before {
            Some(before) if before.digest() == seen => Ok(SeenVersion::AsItIs),
            before => {
                let what = if before.is_some() { "was changed" } else { "was removed" };
                let shown = self.workspace.shown(place);
                let message =
                    format!("`{shown}` {what} since you last read it; read it again, then decide anew");
                Err(ToolError { kind: ToolErrorType::FileChanged, message })
            }
        }
    }
}

/// What the model of this run knows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeenVersion {
    Never,
    AsItIs,
}

/// What is at a place when a call is prepared.
pub struct OriginalFile {
    pub found: ExistingFile,
    digest: OnceLock<String>,
}

impl OriginalFile {
    /// `None` when nothing is there.
    pub fn of(workspace: &Workspace, place: &WorkspacePath) -> Result<Option<OriginalFile>, ToolError> {
        let found = workspace.find(place)?;
        Ok(found.map(|found| OriginalFile { digest: OnceLock::new(), found }))
    }

    /// Perf: of 10 MB it takes about as long as writing them, so it is taken once, and only when it is needed.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| digest::of(&self.found.bytes))
    }
}

/// A file as it would be.
pub struct PreparedChange {
    ground: ChangeContext,
    place: WorkspacePath,
    accesses: Vec<ResourceAccess>,
    /// The digest of what is there.
    before: Option<String>,
    /// What would be, and its digest; `None` = nothing. Without a content nothing is written.
    after: Option<(Option<Arc<Vec<u8>>>, String)>,
    details: ConfirmationDetails,
    /// For people, where the result shows what changed.
    display: String,
    /// Bytes of the longer one of both.
    bytes: u64,
    /// Room for both, of large ones.
    held: Option<LargeChangeHold>,
    /// Lines added and removed.
    pub counts: (usize, usize),
}

impl PreparedChange {
    /// `before` and `after` are what is there and what would be; the texts are the same as people read them, where they
    /// can.
    pub fn new(
        ground: ChangeContext,
        place: WorkspacePath,
        before: Option<OriginalFile>,
        after: Option<Arc<Vec<u8>>>,
        texts: (Option<&TextFile>, Option<&TextFile>),
    ) -> PreparedChange {
        let workspace = &ground.workspace;
        let shown = workspace.shown(&place);
        let diff = match (before.is_some(), texts.0, after.is_some(), texts.1) {
            // Nothing of what is there can be shown, but whoever decides sees all that would be.
            (true, None, true, Some(new)) => diff::UnifiedDiff::of(&shown, Some(b""), Some(new.bytes())),
            (true, None, _, _) | (_, _, true, None) => diff::UnifiedDiff::default(),
            (_, old, _, new) => {
                diff::UnifiedDiff::of(&shown, old.map(TextFile::bytes), new.map(TextFile::bytes))
            }
        };
        // Hidden before it is cut: half a secret is not found any more.
        let counts = (diff.added, diff.removed);
        let diff = ground.redactor.owned(diff.text);
        let content = |text: Option<&TextFile>| {
            let text = text?.as_str()?;
            (text.len() <= SHOWN_CONTENT_BYTES).then(|| text.to_owned())
        };
        let display = match diff.as_str() {
            "" => String::new(),
            diff => {
                let (head, cut) = cut(diff, RESULT_DIFF_BYTES);
                let more = if cut == 0 { String::new() } else { format!("\n[{cut} more bytes]") };
                format!("```diff\n{}{more}\n```", head.trim_end_matches('\n'))
            }
        };
        let (head, cut_bytes) = cut(&diff, SHOWN_DIFF_BYTES);
        let details = ConfirmationDetails::Edit {
            path: workspace.shown_absolute(&place),
            diff: head.to_owned(),
            old_content: content(texts.0),
            new_content: content(texts.1),
            cut_bytes,
        };
        let mut accesses = vec![ResourceAccess::Write { path: workspace.access_path(&place) }];
        accesses.extend(made_folders(workspace, &place));
        let length = |bytes: Option<&Arc<Vec<u8>>>| bytes.map_or(0, |bytes| bytes.len() as u64);
        let bytes = length(before.as_ref().map(|before| &before.found.bytes)).max(length(after.as_ref()));
        // Perf: both at once; see `OriginalFile::digest`.
        let (before, after) = thread::scope(|scope| {
            let hashing = scope.spawn(|| before.as_ref().map(|before| before.digest().to_owned()));
            let after = after.map(|bytes| {
                let digest = digest::of(&bytes);
                (Some(bytes), digest)
            });
            (hashing.join().unwrap_or_else(|panic| resume_unwind(panic)), after)
        });
        PreparedChange { ground, place, accesses, before, after, details, display, bytes, held: None, counts }
    }

    /// Has the contents stay in memory until the change is made, if there is room for them; else, it is to be used [without
    /// them](PreparedChange::without_content).
    pub fn takes_room(&mut self) -> bool {
        if LARGE_BYTES <= self.bytes {
            self.held = self.ground.own_files.changes().hold(2 * self.bytes);
        }
        self.bytes < LARGE_BYTES || self.held.is_some()
    }

    /// The same without what would be, for whoever makes it anew when it is to be written.
    #[must_use]
    pub fn without_content(self) -> PreparedChange {
        PreparedChange { after: self.after.map(|(_, digest)| (None, digest)), ..self }
    }

    pub fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    pub fn shown(&self) -> String {
        self.ground.workspace.shown(&self.place)
    }

    pub fn locations(&self) -> Vec<CallLocation> {
        vec![CallLocation { path: self.ground.workspace.shown_absolute(&self.place), line: None }]
    }

    pub fn risk(&self) -> Option<Risk> {
        self.ground.risk(&self.place)
    }

    pub fn details(&self) -> ConfirmationDetails {
        self.details.clone()
    }

    pub fn basis(&self) -> String {
        let path = self.ground.workspace.written(&self.place);
        let after = self.after.as_ref().map_or("", |(_, digest)| digest);
        digest::of_parts([path.as_str(), self.before.as_deref().unwrap_or(""), after])
    }

    pub fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// Makes the change and tells of it: `said` is what the model reads.
    pub fn run(
        self,
        said: String,
        data: Value,
        permit: Permit,
        cx: CallContext,
    ) -> BoxFuture<'static, ToolResult> {
        self.run_by(permit, cx, move |change, session, call, stop| match change.make(session, call, stop) {
            Ok(changed) => change.result(changed, said, data),
            Err(error) => ToolResult::failure(error.kind, error.message),
        })
    }

    /// Has `make` make the change when it is its turn.
    pub fn run_by(
        self,
        permit: Permit,
        cx: CallContext,
        make: impl FnOnce(&PreparedChange, &SessionId, &CallId, &CancellationToken) -> ToolResult + Send + 'static,
    ) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            let turn = match self.ground.turn(self.bytes, &cx).await {
                Ok(turn) => turn,
                Err(result) => return result,
            };
            let session = cx.session.clone();
            let making = move |stop: &CancellationToken| {
                // Held to the end, also where nobody waits for it any more.
                let _turn = turn;
                make(&self, &session, permit.call(), stop)
            };
            work::to_the_end(cx, making).await
        })
    }

    /// The result of the change once it is made: `said` is what the model reads.
    pub fn result(&self, changed: FileChanged, said: String, data: Value) -> ToolResult {
        ToolResult {
            return_display: Some(self.display.clone()).filter(|display| !display.is_empty()),
            data: Some(data),
            effects: vec![ToolEffect::File(changed)],
            ..ToolResult::text(said)
        }
    }

    /// Makes the change, if what is there is what preparing saw. Blocks.
    pub fn make(
        &self,
        session: &SessionId,
        call: &CallId,
        stop: &CancellationToken,
    ) -> Result<FileChanged, ToolError> {
        let ChangeContext { workspace, own_files, reads, guards, .. } = &self.ground;
        if stop.is_cancelled() {
            return Err(stopped());
        }
        let found = workspace.find(&self.place)?;
        if found.is_some() != self.before.is_some() {
            return Err(self.is_changed());
        }
        let found = found.as_ref();
        let keep = PlannedChange {
            workspace,
            place: &self.place,
            from: None,
            change: match (found, &self.after) {
                (None, _) => FileChange::Created,
                (Some(_), Some(_)) => FileChange::Modified,
                (Some(_), None) => FileChange::Deleted,
            },
            before: found.zip(self.before.as_deref()),
            after: self.after.as_ref().map(|(_, digest)| digest.as_str()),
            folders: workspace.missing_folders(&self.place),
        };
        // Perf: what is there is compared and kept while the new content is written beside it; all three wait for the
        // disk or take a processor. Nothing changes before the first two are done.
        let (kept, placed) = thread::scope(|scope| {
            let comparing = scope
                .spawn(|| found.map(|found| digest::of(&found.bytes)).as_deref() == self.before.as_deref());
            let keeping = scope.spawn(|| own_files.undo().keep(session, call, &keep));
            let mut waiting = Some((comparing, keeping));
            let mut done = None;
            let mut may_go_on = || {
                let Some((comparing, keeping)) = waiting.take() else { return false };
                let is_same = comparing.join().unwrap_or_else(|panic| resume_unwind(panic));
                let kept = keeping.join().unwrap_or_else(|panic| resume_unwind(panic));
                let may_go_on = is_same && kept.is_ok();
                done = Some((is_same, kept));
                may_go_on
            };
            let placed = match (&self.after, found) {
                (Some((None, _)), _) => Ok(WriteOutcome::Changed),
                (Some((Some(bytes), _)), over) => {
                    let wish = WriteRequest { bytes, over, attributes: None };
                    workspace.put(&self.place, &wish, stop, &mut may_go_on)
                }
                (None, Some(found)) if may_go_on() => workspace.remove(&self.place, found),
                (None, Some(_)) => Ok(WriteOutcome::Stopped),
                (None, None) => Ok(WriteOutcome::Done),
            };
            // Also when the new content could not be written: what was kept has to be forgotten.
            may_go_on();
            (done, placed)
        });
        // Invariant: `may_go_on` was called at least once.
        let Some((is_same, kept)) = kept else { return Err(stopped()) };
        let kept = kept?;
        let error = match placed {
            Ok(WriteOutcome::Done) => None,
            Ok(WriteOutcome::Changed) => Some(self.is_changed()),
            Ok(WriteOutcome::Stopped) if !is_same => Some(self.is_changed()),
            Ok(WriteOutcome::Stopped) => Some(stopped()),
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            kept.forget();
            return Err(error);
        }
        let path = workspace.absolute(&self.place);
        match &self.after {
            Some((_, digest)) => {
                guards.allow(&path, Some(digest));
                reads.note(path, digest.clone());
            }
            None => reads.forget(&path),
        }
        Ok(kept.made())
    }

    /// The refusal of what is not as it was when the call was prepared.
    pub fn is_changed(&self) -> ToolError {
        let message = format!(
            "`{}` was changed after this call was prepared, so nothing was written; read it again, then decide anew",
            self.shown()
        );
        ToolError { kind: ToolErrorType::FileChanged, message }
    }
}

/// What a call that was stopped in time says.
pub fn stopped() -> ToolError {
    let message = "the run was stopped before the call was done; nothing was changed".to_owned();
    ToolError { kind: ToolErrorType::Cancelled, message }
}

/// The folders that are made for a place: each is written to the workspace as well.
pub fn made_folders(workspace: &Workspace, place: &WorkspacePath) -> Vec<ResourceAccess> {
    let path = workspace.access_path(place);
    let missing = workspace.missing_folders(place);
    let folders: Vec<PathBuf> = path.ancestors().skip(1).take(missing).map(PathBuf::from).collect();
    folders.into_iter().rev().map(|path| ResourceAccess::Write { path }).collect()
}

/// The beginning of a text, in whole lines where it has some, and how many bytes are left out.
fn cut(text: &str, bytes: usize) -> (&str, u64) {
    if text.len() <= bytes {
        return (text, 0);
    }
    let end = text.floor_char_boundary(bytes);
    let end = text[..end].rfind('\n').unwrap_or(end);
    (&text[..end], (text.len() - end) as u64)
}
