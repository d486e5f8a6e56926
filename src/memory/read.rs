//! How is a memory file opened, and how far may its imports reach?

use std::{
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
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

    /// A file that one of them imports. `within`: the folder in which it has to be.
    fn import(&self, path: &Path, within: Option<&Path>, most_bytes: u64) -> MemoryRead;

    /// The folder into which imports of a file reach alone; `None` = all of the ground. `canonical`: the path without links.
    fn reach_of(&self, path: &Path, canonical: &Path) -> Option<PathBuf>;

    /// The folder that `~/` means in imports; `None` = none.
    fn home(&self) -> Option<&Path>;
}

/// The reason for not importing a file that has several names: it may lie elsewhere too, under one that nobody may read.
pub const MANY_NAMES: &str = "has more than one name on the disk";

/// The reason for not importing a file that git does not have, and that is named like no text: keys and settings lie so.
pub const IGNORED: &str =
    "is ignored (.gitignore, .subagentignore), and its name does not end like a text's (.md, .txt, …)";

/// The reason for not importing a file that a rule keeps from agents, or asks about.
pub const RULED_OUT: &str = "is not to be read unasked, by a rule";

/// The reason for not importing a file that hooks are shown where an agent reads it: one of them may refuse that, or take something out.
pub const SHOWN_TO_HOOKS: &str = "would be shown to hooks if an agent read it (`subagent policy check read_file path=…` names them), and no hook is asked about an import. If a hook only logs, mark it `\"async\": true`";

/// Folders of the daemon's own, where others keep texts that are no memory.
const OWN_FOLDERS: [&str; 2] = ["agents", "policies"];
const OWN_FILES: [&str; 1] = ["system.md"];

/// The user's own files, and the system's: what is a link there was made by whoever owns them. Imports stay below the home, and
/// those of a file that lies elsewhere than in `folders`, in a checkout say, below its own folder.
pub struct UserFileReader {
    pub home: Option<PathBuf>,
    /// The user's and the system's, in which memory files lie beside settings, agents and rules.
    pub folders: Vec<PathBuf>,
    /// Places of which no model is told: people's keys, the daemon's state.
    pub hidden: GuardedPlacesView,
}

impl UserFileReader {
    /// The path of a file below one of the folders.
    fn below_folders<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        self.folders.iter().find_map(|folder| {
            let below = path.strip_prefix(folder).ok();
            below.or_else(|| path.strip_prefix(folder.canonicalize().ok()?).ok())
        })
    }

    fn is_hidden(&self, canonical: &Path) -> bool {
        let id = FileIdentity::of(canonical);
        self.hidden.holds(canonical) || id.is_some_and(|id| self.hidden.ids.contains(&id))
    }

    /// The file at a path that has no links.
    fn opened(&self, path: &Path, is_import: bool, most_bytes: u64) -> MemoryRead {
        match open(path, is_import, most_bytes) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => MemoryRead::Missing,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => MemoryRead::Missing,
            Err(error) if error.to_string() == regular_file::NOT_REGULAR => {
                MemoryRead::Refused(regular_file::NOT_REGULAR.to_owned())
            }
            Err(error) => MemoryRead::Refused(config::reason(&error)),
        }
    }
}

/// Tells whether a file beside the settings is a text of the user's, and none by which the daemon goes.
fn is_text_of_the_user(below: &Path) -> bool {
    let first = below.components().next().and_then(|part| part.as_os_str().to_str()).unwrap_or_default();
    let is_own = OWN_FOLDERS.contains(&first) || OWN_FILES.iter().any(|name| below == Path::new(name));
    !is_own && below.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"))
}

impl MemoryReader for UserFileReader {
    fn read(&self, path: &Path, most_bytes: u64) -> MemoryRead {
        // A link may be the user's, or a command's that put it there: what models must not read they are told by neither.
        match path.canonicalize() {
            Ok(canonical) if self.is_hidden(&canonical) => MemoryRead::Outside,
            Ok(canonical) => self.opened(&canonical, false, most_bytes),
            // It is missing, or may not be looked at: opening says which.
            Err(_) => self.opened(path, false, most_bytes),
        }
    }

    fn reach_of(&self, path: &Path, canonical: &Path) -> Option<PathBuf> {
        // A link where the user's files lie is the user's own.
        let is_of_user = self.below_folders(path).is_some() || self.below_folders(canonical).is_some();
        (!is_of_user).then(|| canonical.parent().unwrap_or(Path::new("/")).to_owned())
    }

    fn import(&self, path: &Path, within: Option<&Path>, most_bytes: u64) -> MemoryRead {
        let Some(home) = self.home.as_ref().and_then(|home| home.canonicalize().ok()) else {
            return MemoryRead::Outside;
        };
        let Ok(canonical) = path.canonicalize() else { return MemoryRead::Missing };
        let is_within = canonical.starts_with(&home) && within.is_none_or(|it| canonical.starts_with(it));
        if !is_within || self.is_hidden(&canonical) {
            return MemoryRead::Outside;
        }
        // A word that names a folder names no file.
        if canonical.is_dir() {
            return MemoryRead::Missing;
        }
        if self.below_folders(&canonical).is_some_and(|below| !is_text_of_the_user(below)) {
            return MemoryRead::Outside;
        }
        self.opened(&canonical, true, most_bytes)
    }

    fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }
}

fn open(path: &Path, is_import: bool, most_bytes: u64) -> io::Result<MemoryRead> {
    // What it leads to was looked at by its path without links.
    let file = regular_file::open_without_links(path)?;
    let found = file.metadata()?;
    if is_import && 1 < found.nlink() {
        return Ok(MemoryRead::Refused(MANY_NAMES.to_owned()));
    }
    let size = found.len();
    let mut bytes = Vec::new();
    file.take(most_bytes).read_to_end(&mut bytes)?;
    // It was opened without following a link, so this is its path without links.
    Ok(MemoryRead::File { bytes, size, canonical: path.to_owned() })
}
