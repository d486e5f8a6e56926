//! What did a call change, and how does it become what it was? (spec 05, "Undo")
//!
//! Before a tool changes a file, what was there is kept under `artifacts/<session>/undo/<call>/` of the state folder: a
//! manifest and the old content, both durable. So a change can be undone byte for byte, and after a crash it can be told
//! whether an interrupted call had made it. Everything here blocks.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use super::{
    artifacts::{ArtifactFolder, is_name, make_folders, private_file, replace_durably, write_durably},
    digest,
    workspace::{ExistingFile, Workspace, WorkspacePath},
};
use protocol::{CallId, FileChange, FileChanged, SessionId, ToolError, ToolErrorType};

mod manifest;
mod restore;
#[cfg(test)]
mod tests;

use manifest::UndoManifest;
pub use restore::{InterruptedChange, InterruptedChangeState, RestoredChange, UndoError};

/// Changes of one call that are looked for; a call changes one file.
const MAX_CHANGES: usize = 100;

/// The artifact folder of a daemon, as far as undo uses it. A cheap handle.
#[derive(Debug, Clone)]
pub struct UndoStore {
    artifacts: ArtifactFolder,
}

/// A change that is about to be made.
pub(super) struct PlannedChange<'a> {
    pub workspace: &'a Workspace,
    /// Where the file is, or will be.
    pub place: &'a WorkspacePath,
    /// With a move: where it was.
    pub from: Option<&'a WorkspacePath>,
    pub change: FileChange,
    /// What is there, and its digest.
    pub before: Option<(&'a ExistingFile, &'a str)>,
    /// The digest of what will be there.
    pub after: Option<&'a str>,
    /// Folders that are missing above the place, and will be made with the file.
    pub folders: usize,
}

/// A change whose undoing is prepared. It is either made or forgotten.
#[derive(Debug)]
pub(super) struct PreparedUndo {
    folder: PathBuf,
    number: usize,
    pub changed: FileChanged,
}

impl UndoStore {
    /// Nothing is made before something is kept.
    pub fn new(artifacts: ArtifactFolder) -> UndoStore {
        UndoStore { artifacts }
    }

    /// Keeps what a change will replace, durably.
    pub(super) fn keep(
        &self,
        session: &SessionId,
        call: &CallId,
        keep: &PlannedChange<'_>,
    ) -> Result<PreparedUndo, ToolError> {
        self.try_keep(session, call, keep).map_err(|error| {
            let shown = keep.workspace.shown(keep.place);
            let kind = match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ToolErrorType::NoSpaceLeft,
                _ => ToolErrorType::FileWriteFailure,
            };
            let message =
                format!("what `{shown}` is now cannot be kept for undo ({error}), so nothing was changed");
            ToolError { kind, message }
        })
    }

    fn try_keep(
        &self,
        session: &SessionId,
        call: &CallId,
        keep: &PlannedChange<'_>,
    ) -> io::Result<PreparedUndo> {
        let folder = self.folder(session, call).ok_or_else(|| io::Error::other("the ids are no names"))?;
        make_folders(&folder)?;
        let number = (0..MAX_CHANGES)
            .find(|number| !manifest_path(&folder, *number).exists())
            .ok_or_else(|| io::Error::other("the call changed too many files"))?;
        if let Some((found, _)) = keep.before {
            write_durably(&content_path(&folder, number), &found.bytes)?;
        }
        let manifest = UndoManifest::of(keep);
        let written = serde_json::to_vec(&manifest)?;
        let draft = folder.join(format!("{number}.draft"));
        replace_durably(&manifest_path(&folder, number), &draft, &written)?;
        let changed = manifest.changed(call, number);
        Ok(PreparedUndo { folder, number, changed })
    }

    fn folder(&self, session: &SessionId, call: &CallId) -> Option<PathBuf> {
        let session = self.artifacts.session_folder(session)?;
        is_name(call.as_str()).then(|| session.join("undo").join(call.as_str()))
    }
}

impl PreparedUndo {
    /// The change was made. Not synced: if the note is lost, the digests tell the same.
    pub fn made(self) -> FileChanged {
        if let Err(error) = private_file(&done_path(&self.folder, self.number)) {
            tracing::warn!(call = %self.changed.call_id, %error, "a change cannot be noted as made");
        }
        self.changed
    }

    /// The change was not made, so there is nothing to undo.
    pub fn forget(self) {
        let paths = [manifest_path(&self.folder, self.number), content_path(&self.folder, self.number)];
        for path in paths {
            if let Err(error) = fs::remove_file(&path)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(path = %path.display(), %error, "what was kept for undo cannot be removed");
            }
        }
    }
}

fn manifest_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number}.json"))
}

fn content_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number}.before"))
}

fn done_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number}.done"))
}

impl fmt::Display for PreparedUndo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.changed.path)
    }
}

/// The digest of what was kept, to find damage.
fn digest_of(bytes: &[u8]) -> String {
    digest::of(bytes)
}
