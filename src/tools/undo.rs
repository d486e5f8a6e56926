//! What did a call change, and how does it become what it was? (spec 05, "Undo")
//!
//! Before a tool changes a file, what was there is kept under `artifacts/<session>/undo/<call>/` of the state folder: a
//! manifest and the old content, both durable. So a change can be undone byte for byte, and after a crash it can be told
//! whether an interrupted call had made it. Everything here blocks.

use std::{
    fmt, fs,
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::{
    digest,
    workspace::{Found, Place, Workspace},
};
use crate::protocol::{CallId, FileChange, FileChanged, SessionId, ToolError, ToolErrorType};

mod manifest;
mod restore;
#[cfg(test)]
mod tests;

use manifest::Manifest;
pub use restore::{Interrupted, Restored, UndoError, WhatIsKnown};

/// Changes of one call that are looked for; a call changes one file.
const MAX_CHANGES: usize = 100;
/// Old contents may be anybody's secrets.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The artifact folder of a daemon, as far as undo uses it. A cheap handle.
#[derive(Debug, Clone)]
pub struct UndoStore {
    artifacts: PathBuf,
}

/// A change that is about to be made.
pub(super) struct Keep<'a> {
    pub workspace: &'a Workspace,
    /// Where the file is, or will be.
    pub place: &'a Place,
    /// With a move: where it was.
    pub from: Option<&'a Place>,
    pub change: FileChange,
    /// What is there, and its digest.
    pub before: Option<(&'a Found, &'a str)>,
    /// The digest of what will be there.
    pub after: Option<&'a str>,
    /// Folders that are missing above the place, and will be made with the file.
    pub folders: usize,
}

/// A change whose undoing is prepared. It is either made or forgotten.
#[derive(Debug)]
pub(super) struct Kept {
    folder: PathBuf,
    number: usize,
    pub changed: FileChanged,
}

impl UndoStore {
    /// Nothing is made before something is kept.
    pub fn new(state_dir: &Path) -> UndoStore {
        UndoStore { artifacts: state_dir.join("artifacts") }
    }

    /// Keeps what a change will replace, durably.
    pub(super) fn keep(
        &self,
        session: &SessionId,
        call: &CallId,
        keep: &Keep<'_>,
    ) -> Result<Kept, ToolError> {
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

    fn try_keep(&self, session: &SessionId, call: &CallId, keep: &Keep<'_>) -> io::Result<Kept> {
        let folder = self.folder(session, call).ok_or_else(|| io::Error::other("the ids are no names"))?;
        make_folders(&folder)?;
        let number = (0..MAX_CHANGES)
            .find(|number| !manifest_path(&folder, *number).exists())
            .ok_or_else(|| io::Error::other("the call changed too many files"))?;
        if let Some((found, _)) = keep.before {
            write_durably(&content_path(&folder, number), &found.bytes)?;
        }
        let manifest = Manifest::of(keep);
        let written = serde_json::to_vec(&manifest)?;
        let draft = folder.join(format!("{number}.draft"));
        write_durably(&draft, &written)?;
        fs::rename(&draft, manifest_path(&folder, number))?;
        sync_folder(&folder)?;
        let changed = manifest.changed(call, number);
        Ok(Kept { folder, number, changed })
    }

    /// Removes what is kept of a session. Nothing kept is no failure.
    pub fn forget_session(&self, session: &SessionId) -> io::Result<()> {
        let Some(folder) = self.session_folder(session) else { return Ok(()) };
        match fs::remove_dir_all(folder.join("undo")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn session_folder(&self, session: &SessionId) -> Option<PathBuf> {
        is_name(session.as_str()).then(|| self.artifacts.join(session.as_str()))
    }

    fn folder(&self, session: &SessionId, call: &CallId) -> Option<PathBuf> {
        let session = self.session_folder(session)?;
        is_name(call.as_str()).then(|| session.join("undo").join(call.as_str()))
    }
}

impl Kept {
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

/// Whether an id is a file name: ours are, others must not lead anywhere.
fn is_name(id: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !id.is_empty() && !id.starts_with('.') && id.chars().all(is_plain)
}

/// Makes the folders that are missing, each durable in the one above it.
fn make_folders(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|it| !it.is_dir()).collect();
    for folder in missing.into_iter().rev() {
        match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if let Some(parent) = folder.parent() {
            sync_folder(parent)?;
        }
    }
    Ok(())
}

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path)
}

fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private_file(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.changed.path)
    }
}

/// The digest of what was kept, to find damage.
fn digest_of(bytes: &[u8]) -> String {
    digest::of(bytes)
}
