//! How does a file become what it was before a change, and what is known of a change that was interrupted?

use std::fs;

use tokio_util::sync::CancellationToken;

use super::{
    MAX_CHANGES, UndoManifest, UndoStore, content_path, digest_of, done_path, manifest::ChangeLocation,
    manifest_path,
};
use crate::workspace::{ExistingFile, WorkspacePath, WriteOutcome, WriteRequest};
use protocol::{CallId, FileChange, FileChanged, SessionId, ToolError};

/// A change that was undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredChange {
    /// Absolute: where the file is again, or was removed from.
    pub path: String,
    /// Somebody had changed the file since, and that was overwritten.
    pub forced: bool,
    /// It was as before already; nothing was done.
    pub was_there: bool,
}

/// Why a change cannot be undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("nothing is kept of {0}: it was removed, or the change was made by another daemon")]
    NotKept(String),
    /// `FILE_CONFLICT`, unless it is forced.
    #[error("`{path}` was changed since: {what}; undoing would lose that")]
    Conflict { path: String, what: &'static str },
    /// A move cannot be taken back: somebody made another file where it came from. `FILE_CONFLICT`, unless it is forced.
    #[error("`{path}` is there again, so moving `{moved}` back to it would overwrite it")]
    Occupied { path: String, moved: String },
    #[error("`{path}` cannot be reached: {why}")]
    Unreachable { path: String, why: String },
    #[error("what is kept of `{0}` is damaged: it is not what the manifest says")]
    Damaged(String),
    #[error("{}", .0.message)]
    Failed(ToolError),
}

/// A change of a call that did not come to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct InterruptedChange {
    /// What the call was about to do; undone like any other change.
    pub changed: FileChanged,
    pub known: InterruptedChangeState,
}

/// Whether an interrupted change was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptedChangeState {
    /// The file is what it was before.
    NotBegun,
    /// The file was what it was to be.
    Written,
    /// It is neither, or cannot be read.
    Unknown,
}

impl UndoStore {
    /// Makes a file what it was before `change`, byte for byte and with its mode, durably. Refuses where the file is not
    /// what the change left, unless it is forced. Undoing what is undone already is no failure.
    pub fn restore(
        &self,
        session: &SessionId,
        change: &FileChanged,
        force: bool,
    ) -> Result<RestoredChange, UndoError> {
        let kept = self.kept(session, change)?;
        let unreachable = |why| UndoError::Unreachable { path: change.path.clone(), why };
        let ground = kept.manifest.ground().map_err(unreachable)?;
        RestoreOperation { kept, ground, force }.restore()
    }

    /// What is now where `change` happened. What cannot be read is in the way of undoing.
    pub fn now(&self, session: &SessionId, change: &FileChanged) -> Result<CurrentDigests, UndoError> {
        let StoredChange { manifest, .. } = self.kept(session, change)?;
        let unreachable = |why| UndoError::Unreachable { path: change.path.clone(), why };
        let ChangeLocation { workspace, place, from } = manifest.ground().map_err(unreachable)?;
        let digest_at = |place: &WorkspacePath| {
            let found = workspace.find(place).map_err(UndoError::Failed)?;
            Ok(found.map(|found| digest_of(&found.bytes)))
        };
        let back = from.as_ref().map(&digest_at).transpose()?;
        Ok(CurrentDigests { there: digest_at(&place)?, back: back.flatten() })
    }

    /// What is known of the changes of a call that was cut off; empty when it had not begun any.
    pub fn known(&self, session: &SessionId, call: &CallId) -> Vec<InterruptedChange> {
        let Some(folder) = self.folder(session, call) else { return Vec::new() };
        let kept = (0..MAX_CHANGES).map_while(|number| {
            let written = fs::read(manifest_path(&folder, number)).ok()?;
            Some((number, serde_json::from_slice::<UndoManifest>(&written)))
        });
        let interrupted = kept.filter_map(|(number, manifest)| {
            let manifest = manifest
                .inspect_err(|error| tracing::warn!(%call, number, %error, "a manifest cannot be read"))
                .ok()?;
            let known = match done_path(&folder, number).exists() {
                true => InterruptedChangeState::Written,
                false => known_of(&manifest),
            };
            Some(InterruptedChange { changed: manifest.changed(call, number), known })
        });
        interrupted.collect()
    }

    fn kept(&self, session: &SessionId, change: &FileChanged) -> Result<StoredChange, UndoError> {
        let not_kept = || UndoError::NotKept(change.undo_id.clone());
        let number = change.undo_id.strip_prefix(change.call_id.as_str());
        let number = number.and_then(|rest| rest.strip_prefix(':')?.parse::<usize>().ok());
        let number = number.filter(|number| *number < MAX_CHANGES).ok_or_else(not_kept)?;
        let folder = self.folder(session, &change.call_id).ok_or_else(not_kept)?;
        let written = fs::read(manifest_path(&folder, number)).map_err(|_| not_kept())?;
        let damaged = || UndoError::Damaged(change.path.clone());
        let manifest: UndoManifest = serde_json::from_slice(&written).map_err(|_| damaged())?;
        let content = match &manifest.before {
            None => Vec::new(),
            Some(before) => {
                let content = fs::read(content_path(&folder, number)).map_err(|_| damaged())?;
                if digest_of(&content) != before.digest {
                    return Err(damaged());
                }
                content
            }
        };
        Ok(StoredChange { manifest, content, path: change.path.clone(), from: change.from.clone() })
    }
}

/// Digests of what is at the place of a change, and with a move, of what is where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentDigests {
    pub there: Option<String>,
    pub back: Option<String>,
}

struct StoredChange {
    manifest: UndoManifest,
    /// What was there.
    content: Vec<u8>,
    path: String,
    /// The place that a moved file came from.
    from: Option<String>,
}

struct RestoreOperation {
    kept: StoredChange,
    ground: ChangeLocation,
    force: bool,
}

impl RestoreOperation {
    fn restore(&self) -> Result<RestoredChange, UndoError> {
        let manifest = &self.kept.manifest;
        let (before, after) =
            (manifest.before.as_ref().map(|before| before.digest.as_str()), manifest.after.as_deref());
        if let (FileChange::Moved, Some(from)) = (manifest.change, &self.ground.from) {
            return self.move_back(from);
        }
        let place = &self.ground.place;
        let there = self.find(place)?;
        let digest = there.as_ref().map(|found| digest_of(&found.bytes));
        let is_own = digest.as_deref() == after;
        if digest.as_deref() == before && !is_own {
            return Ok(self.restored(false, true));
        }
        if !is_own && !self.force {
            return Err(self.conflict(there.is_some()));
        }
        match before {
            Some(_) => self.put_back(place, there.as_ref())?,
            None => self.remove(place, there.as_ref())?,
        }
        Ok(self.restored(!is_own, false))
    }

    fn move_back(&self, from: &WorkspacePath) -> Result<RestoredChange, UndoError> {
        let manifest = &self.kept.manifest;
        let (there, back) = (self.find(&self.ground.place)?, self.find(from)?);
        let of = |found: &Option<ExistingFile>| found.as_ref().map(|found| digest_of(&found.bytes));
        let (there_digest, back_digest) = (of(&there), of(&back));
        let before = manifest.before.as_ref().map(|before| before.digest.as_str());
        if there.is_none() && back_digest.as_deref() == before {
            return Ok(self.restored(false, true));
        }
        let is_own = there_digest.as_deref() == manifest.after.as_deref() && back.is_none();
        match (&there, is_own) {
            (Some(there), true) => {
                let renamed = self.ground.workspace.rename(&self.ground.place, from, there);
                self.placed(renamed)?;
                self.ground.workspace.remove_empty_folders(&self.ground.place, manifest.folders);
                Ok(self.restored(false, false))
            }
            _ if !self.force => Err(match &self.kept.from {
                Some(from) if there_digest.as_deref() == manifest.after.as_deref() => {
                    UndoError::Occupied { path: from.clone(), moved: self.kept.path.clone() }
                }
                _ => self.conflict(there.is_some()),
            }),
            _ => {
                self.put_back(from, back.as_ref())?;
                self.remove(&self.ground.place, there.as_ref())?;
                Ok(self.restored(true, false))
            }
        }
    }

    fn put_back(&self, place: &WorkspacePath, over: Option<&ExistingFile>) -> Result<(), UndoError> {
        // No call changes permissions: those of a file that is there are as before, or as somebody wants them since.
        let before = self.kept.manifest.before.as_ref().filter(|_| over.is_none());
        let attributes = before.map(|before| before.attributes());
        let wish = WriteRequest { bytes: &self.kept.content, over, attributes };
        self.placed(self.ground.workspace.put(place, &wish, &CancellationToken::new(), &mut || true))
    }

    fn remove(&self, place: &WorkspacePath, there: Option<&ExistingFile>) -> Result<(), UndoError> {
        if let Some(found) = there {
            self.placed(self.ground.workspace.remove(place, found))?;
        }
        self.ground.workspace.remove_empty_folders(place, self.kept.manifest.folders);
        Ok(())
    }

    fn find(&self, place: &WorkspacePath) -> Result<Option<ExistingFile>, UndoError> {
        self.ground.workspace.find(place).map_err(UndoError::Failed)
    }

    fn placed(&self, placed: Result<WriteOutcome, ToolError>) -> Result<(), UndoError> {
        match placed.map_err(UndoError::Failed)? {
            WriteOutcome::Done => Ok(()),
            // Somebody was there between the look and the change; also when forced, since nobody saw what it is.
            WriteOutcome::Changed | WriteOutcome::Stopped => Err(self.conflict(true)),
        }
    }

    fn conflict(&self, is_there: bool) -> UndoError {
        let what = match (is_there, self.kept.manifest.change) {
            (true, FileChange::Deleted) => "something is there again",
            (true, _) => "its content is another",
            (false, _) => "it is gone",
        };
        UndoError::Conflict { path: self.kept.path.clone(), what }
    }

    fn restored(&self, forced: bool, was_there: bool) -> RestoredChange {
        RestoredChange { path: self.kept.path.clone(), forced, was_there }
    }
}

fn known_of(manifest: &UndoManifest) -> InterruptedChangeState {
    let Ok(ChangeLocation { workspace, place, from }) = manifest.ground() else {
        return InterruptedChangeState::Unknown;
    };
    let digest_at = |place: &WorkspacePath| {
        let found = workspace.find(place).ok()?;
        Some(found.map(|found| digest_of(&found.bytes)))
    };
    let before = manifest.before.as_ref().map(|before| before.digest.clone());
    let Some(there) = digest_at(&place) else { return InterruptedChangeState::Unknown };
    let (is_before, is_after) = match from {
        None => (there == before, there == manifest.after),
        Some(from) => {
            let Some(back) = digest_at(&from) else { return InterruptedChangeState::Unknown };
            (back == before && there.is_none(), there == manifest.after && back.is_none())
        }
    };
    match (is_before, is_after) {
        (true, _) => InterruptedChangeState::NotBegun,
        (false, true) => InterruptedChangeState::Written,
        (false, false) => InterruptedChangeState::Unknown,
    }
}
