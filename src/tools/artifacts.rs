//! Where do the files lie that belong to a session and to none of its workspaces, and how are they written?
//!
//! `artifacts/<session>/` of the state folder: `undo/` is written by [`super::undo`], `output/` by [`super::outputs`]. All
//! of it goes when its session is deleted. Folders are made when something is first put into them. Everything here blocks.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use protocol::SessionId;

mod removing;

pub use removing::remove_tree;

/// What is kept may be anybody's secrets.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The artifact folder of a daemon. A cheap handle.
#[derive(Debug, Clone)]
pub struct ArtifactFolder {
    root: PathBuf,
}

impl ArtifactFolder {
    pub fn new(state_dir: &Path) -> ArtifactFolder {
        ArtifactFolder { root: state_dir.join("artifacts") }
    }

    /// The folder of all sessions.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// A session's own folder; `None` when its id is no name.
    pub fn session_folder(&self, session: &SessionId) -> Option<PathBuf> {
        is_name(session.as_str()).then(|| self.root.join(session.as_str()))
    }

    /// Those of which anything is kept.
    pub fn sessions(&self) -> io::Result<Vec<SessionId>> {
        let entries = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
        let names = names.collect::<io::Result<Vec<_>>>()?;
        let names = names.iter().filter_map(|name| name.to_str()).filter(|name| is_name(name));
        Ok(names.map(SessionId::from).collect())
    }

    /// Removes what is kept of a session. Nothing kept is no failure.
    pub fn forget_session(&self, session: &SessionId) -> io::Result<()> {
        let Some(folder) = self.session_folder(session) else { return Ok(()) };
        match remove_tree(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Whether an id is a file name: ours are, others must not lead anywhere.
pub(super) fn is_name(id: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !id.is_empty() && !id.starts_with('.') && id.chars().all(is_plain)
}

/// Makes the folders that are missing, each durable in the one above it.
pub(super) fn make_folders(folder: &Path) -> io::Result<()> {
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

pub(super) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path)
}

pub(super) fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private_file(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Puts a whole file in its place, durably, or leaves what was there.
pub(super) fn replace_durably(path: &Path, draft: &Path, bytes: &[u8]) -> io::Result<()> {
    let replaced = write_durably(draft, bytes).and_then(|()| fs::rename(draft, path));
    if replaced.is_err() {
        // Of a full disk it would keep the room.
        let _never_made = fs::remove_file(draft);
    }
    replaced?;
    path.parent().map_or(Ok(()), sync_folder)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
