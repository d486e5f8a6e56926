//! How is a memory file opened, and how far may its imports reach?

use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use sys::{
    guarded::{FileIdentity, GuardedPlacesView},
    regular_file,
};

/// The outcome of opening a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryRead {
    Missing,
    File {
        /// Its first bytes.
        bytes: Vec<u8>,
        /// The length of all of it.
        size: u64,
        /// Without links: two paths of one file are one file.
        canonical: PathBuf,
    },
    /// It lies, or leads, where this ground ends.
    Outside,
    /// The reason why it is not read, as the end of a sentence that begins with its path.
    Refused(String),
}

/// Reads files of one ground: the user's, or a repository's. Regular files only, and none is waited for.
pub trait MemoryReader {
    /// A file where memory files lie. Paths are absolute.
    fn read(&self, path: &Path, most_bytes: u64) -> MemoryRead;

    /// A file that one of them imports.
    fn import(&self, path: &Path, most_bytes: u64) -> MemoryRead;

    /// The folder that `~/` means in imports; `None` = none.
    fn home(&self) -> Option<&Path>;
}

/// The user's own files, and the system's: what is a link there was made by whoever owns them. Imports stay below the home.
pub struct UserFileReader {
    pub home: Option<PathBuf>,
    /// Places of which no model is told: people's keys, the daemon's state.
    pub hidden: GuardedPlacesView,
}

impl MemoryReader for UserFileReader {
    fn read(&self, path: &Path, most_bytes: u64) -> MemoryRead {
        match open(path, most_bytes) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => MemoryRead::Missing,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => MemoryRead::Missing,
            Err(error) if error.to_string() == regular_file::NOT_REGULAR => {
                MemoryRead::Refused(regular_file::NOT_REGULAR.to_owned())
            }
            Err(error) => MemoryRead::Refused(config::reason(&error)),
        }
    }

    fn import(&self, path: &Path, most_bytes: u64) -> MemoryRead {
        let Some(home) = self.home.as_ref().and_then(|home| home.canonicalize().ok()) else {
            return MemoryRead::Outside;
        };
        let Ok(canonical) = path.canonicalize() else { return MemoryRead::Missing };
        let is_hidden = || {
            let id = FileIdentity::of(&canonical);
            self.hidden.holds(&canonical) || id.is_some_and(|id| self.hidden.ids.contains(&id))
        };
        if !canonical.starts_with(&home) || is_hidden() {
            return MemoryRead::Outside;
        }
        // A word that names a folder names no file.
        if canonical.is_dir() { MemoryRead::Missing } else { self.read(&canonical, most_bytes) }
    }

    fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }
}

fn open(path: &Path, most_bytes: u64) -> io::Result<MemoryRead> {
    let file = regular_file::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(most_bytes).read_to_end(&mut bytes)?;
    Ok(MemoryRead::File { bytes, size, canonical: path.canonicalize()? })
}
