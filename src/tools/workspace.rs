//! Where may file tools reach? The roots of a session, held open, and the one way to open what lies below them.
//!
//! It hides how a path text becomes a place (`resolve`), how the kernel is made to keep an opening below a root
//! (`beneath`), what stays closed in it (`closed`), how odd names are written (`name`), which ignore rules hold (`ignores`) and how a file is replaced whole
//! or not at all (`write`), and how many places are looked at fast (`neighbours`). Nothing else in `tools` opens a workspace file.

use std::{
    ffi::OsStr,
    fs::File,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{FileType, OFlags, Stat, fstat, readlinkat},
    io::Errno,
};

use super::git_settings;
use protocol::{Timestamp, ToolError, ToolErrorType};
use sys::guarded::FileIdentity;

mod beneath;
mod closed;
mod ignores;
mod name;
mod neighbours;
mod resolve;
mod roots;
#[cfg(test)]
mod tests;
mod write;

pub use beneath::PathOpener;
pub use ignores::IgnoreRules;
pub use name::with_plain_paths;
pub use neighbours::PlaceScanner;
pub use write::{ExistingFile, FileAttributes, WriteOutcome, WriteRequest};

/// The folder of a workspace with its own agents, policies and settings.
pub const PROJECT_CONFIG: &str = ".subagentd";

/// The roots of a session. Their folders stay open, so renaming one does not move the boundary.
#[derive(Debug)]
pub struct Workspace {
    roots: Vec<OpenRoot>,
    opener: PathOpener,
    closed: closed::WorkspaceHiddenPlaces,
    ignore_files: ignores::IgnoreCache,
    /// Paths are shown whole, also those in the first root.
    is_shown_whole: bool,
}

#[derive(Debug)]
struct OpenRoot {
    /// Canonical: absolute, without links, UTF-8.
    path: PathBuf,
    handle: OwnedFd,
}

/// A place below a root, its links resolved. It may not exist (yet, or any more).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspacePath {
    root: usize,
    /// Invariant: only normal components; empty is the root itself.
    relative: PathBuf,
}

impl WorkspacePath {
    /// The entry `name` of this folder.
    #[must_use]
    pub fn child(&self, name: &OsStr) -> WorkspacePath {
        WorkspacePath { root: self.root, relative: self.relative.join(name) }
    }

    /// Below its root; empty for the root itself.
    pub fn relative(&self) -> &Path {
        &self.relative
    }
}

/// What an opened place turned out to be.
#[derive(Debug)]
pub enum OpenedPath {
    /// A regular file, open for reading.
    File {
        file: File,
        size: u64,
    },
    Folder(OwnedFd),
    /// Neither; not opened, since opening alone can wait or act. The word says what it is.
    Special(&'static str),
}

impl OpenedPath {
    /// What was opened for reading may be something else than what was looked at before.
    fn of(handle: OwnedFd) -> Result<OpenedPath, Errno> {
        let stat = fstat(&handle)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(OpenedPath::File {
                file: File::from(handle),
                size: u64::try_from(stat.st_size).unwrap_or(0),
            }),
            other => Ok(OpenedPath::Special(special(other))),
        }
    }
}

/// What is known of a place without reading it.
#[derive(Debug, Clone, Copy)]
pub struct PathMetadata {
    pub is_folder: bool,
    pub is_file: bool,
    pub size: u64,
    pub modified: Timestamp,
}

impl PathMetadata {
    fn of(stat: &Stat) -> PathMetadata {
        let kind = FileType::from_raw_mode(stat.st_mode);
        let micros = i64::try_from(stat.st_mtime_nsec / 1000).unwrap_or(0);
        PathMetadata {
            is_folder: kind == FileType::Directory,
            is_file: kind == FileType::RegularFile,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: Timestamp(stat.st_mtime.saturating_mul(1_000_000).saturating_add(micros)),
        }
    }
}

/// Why a workspace cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("a workspace needs at least one root folder")]
    NoRoots,
    #[error("{}", list(.0))]
    BadRoots(Vec<BadRoot>),
}

/// One root that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRoot {
    pub path: PathBuf,
    pub problem: String,
}

fn list(bad: &[BadRoot]) -> String {
    let line = |root: &BadRoot| format!("{}: {}", root.path.display(), root.problem);
    bad.iter().map(line).collect::<Vec<_>>().join("; ")
}

impl Workspace {
    /// Opens every root: absolute paths of existing folders whose names are UTF-8. The error names each bad
    /// one. The first root is what relative paths start from.
    pub fn open(roots: &[PathBuf]) -> Result<Workspace, WorkspaceError> {
        Workspace::open_with(roots, None, git_settings::global_excludes())
    }

    /// The same of roots that are known by their paths without links, as a session keeps them: a link that has come to be in
    /// one would lead anywhere, so it is refused and not followed.
    pub fn open_known(roots: &[PathBuf]) -> Result<Workspace, WorkspaceError> {
        let moved = |path: &PathBuf| {
            let problem = roots::moved(path)?;
            Some(BadRoot { path: path.clone(), problem })
        };
        let moved: Vec<BadRoot> = roots.iter().filter_map(moved).collect();
        if !moved.is_empty() {
            return Err(WorkspaceError::BadRoots(moved));
        }
        let workspace = Workspace::open(roots)?;
        // Between the two looks it may have become one.
        workspace.check_roots().map_err(|bad| WorkspaceError::BadRoots(vec![bad]))?;
        Ok(workspace)
    }

    /// The reason why a path that is known without links leads to another folder by now; `None` = it does not.
    pub fn moved(root: &Path) -> Option<String> {
        roots::moved(root)
    }

    /// Whether each root is still, by its path, the folder that was opened.
    pub fn check_roots(&self) -> Result<(), BadRoot> {
        let other = self.roots.iter().find(|root| !roots::is_still(&root.path, &root.handle));
        match other {
            None => Ok(()),
            Some(root) => Err(BadRoot { path: root.path.clone(), problem: roots::ANOTHER.to_owned() }),
        }
    }

    /// The roots with what they are. One that cannot be looked at any more is left out.
    pub fn known_roots(&self) -> Vec<(PathBuf, FileIdentity)> {
        let known =
            |root: &OpenRoot| Some((root.path.clone(), FileIdentity::of_stat(&fstat(&root.handle).ok()?)));
        self.roots.iter().filter_map(known).collect()
    }

    /// `opener`: `None` = what the machine has. `global_excludes`: git's own ignore file of the user.
    fn open_with(
        roots: &[PathBuf],
        opener: Option<PathOpener>,
        global_excludes: Option<PathBuf>,
    ) -> Result<Workspace, WorkspaceError> {
        let mut opened: Vec<OpenRoot> = Vec::new();
        let mut bad = Vec::new();
        for path in roots {
            match roots::open_root(path) {
                Ok(root) if opened.iter().any(|other| other.path == root.path) => {}
                Ok(root) => opened.push(root),
                Err(problem) => bad.push(BadRoot { path: path.clone(), problem }),
            }
        }
        if !bad.is_empty() {
            return Err(WorkspaceError::BadRoots(bad));
        }
        let first = opened.first().ok_or(WorkspaceError::NoRoots)?;
        let opener = opener.unwrap_or_else(|| PathOpener::detect(&first.handle));
        let ignore_files = ignores::IgnoreCache::new(global_excludes);
        Ok(Workspace {
            roots: opened,
            opener,
            closed: closed::WorkspaceHiddenPlaces::default(),
            ignore_files,
            is_shown_whole: false,
        })
    }

    /// The same, whose paths are all shown from the top: it lies beside another one, to which relative paths belong.
    #[must_use]
    pub fn shown_whole(self) -> Workspace {
        Workspace { is_shown_whole: true, ..self }
    }

    /// Canonical paths of the roots, in the order given.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.path.as_path())
    }

    /// The absolute path of a place.
    pub fn absolute(&self, place: &WorkspacePath) -> PathBuf {
        join(&self.root(place).path, &place.relative)
    }

    /// The place at an absolute path that has neither links nor `..`: links in it are not followed, opening it fails.
    /// `None` when it lies in no root.
    pub fn place_at(&self, path: &Path) -> Option<WorkspacePath> {
        let place = self.locate(path)?;
        let is_normal = |part: Component<'_>| matches!(part, Component::Normal(_));
        place.relative.components().all(is_normal).then_some(place)
    }

    /// The root that a place lies in.
    pub fn root_of(&self, place: &WorkspacePath) -> &Path {
        &self.root(place).path
    }

    /// The absolute path in one piece that `written_path` reads back, whatever its bytes.
    pub fn written(&self, place: &WorkspacePath) -> String {
        name::written(&self.absolute(place))
    }

    /// The absolute path as accesses carry it: always UTF-8.
    pub fn access_path(&self, place: &WorkspacePath) -> PathBuf {
        name::utf8(&self.absolute(place))
    }

    /// For output: relative to the first root, absolute in others, `.` for the first root itself. Accepted as
    /// a path by every file tool, whole or by its `path-bytes:` part.
    pub fn shown(&self, place: &WorkspacePath) -> String {
        name::shown(&self.spelled(place))
    }

    /// ` in src` for a sentence; nothing for the first root itself.
    pub fn shown_within(&self, place: &WorkspacePath) -> String {
        let shown = self.shown(place);
        if shown == "." { String::new() } else { format!(" in {shown}") }
    }

    /// The absolute path for output.
    pub fn shown_absolute(&self, place: &WorkspacePath) -> String {
        name::shown(&self.absolute(place))
    }

    /// The last component alone, for output.
    pub fn shown_name(&self, place: &WorkspacePath) -> String {
        let spelled = self.spelled(place);
        name::shown_as(spelled.file_name().unwrap_or(spelled.as_os_str()), &spelled)
    }

    /// What a link says, for output; it is not followed.
    pub fn link_target(&self, link: &WorkspacePath) -> String {
        let name = link.relative.file_name().unwrap_or_default();
        let folder = WorkspacePath { root: link.root, relative: link.relative.with_file_name("") };
        let target =
            self.open_raw(&folder, OFlags::PATH).and_then(|handle| readlinkat(handle, name, Vec::new()));
        match target {
            Ok(target) => name::shown(Path::new(OsStr::from_bytes(target.as_bytes()))),
            Err(_) => "?".to_owned(),
        }
    }

    fn spelled(&self, place: &WorkspacePath) -> PathBuf {
        match (place.root, place.relative.as_os_str().is_empty()) {
            _ if self.is_shown_whole => self.absolute(place),
            (0, true) => PathBuf::from("."),
            (0, false) => place.relative.clone(),
            _ => self.absolute(place),
        }
    }

    /// Opens a place for reading. Never waits: what is neither file nor folder is only described.
    pub fn open_place(&self, place: &WorkspacePath) -> Result<OpenedPath, ToolError> {
        self.open_quietly(place).map_err(|errno| self.failure(place, errno))
    }

    /// As `open_place`, for callers that go through many places and only count failures.
    pub fn open_quietly(&self, place: &WorkspacePath) -> Result<OpenedPath, Errno> {
        // First a handle that opens nothing: opening a FIFO or a device can wait or act.
        match self.look_at(place)?.0 {
            FileType::RegularFile => {}
            FileType::Directory => return self.open_folder(place).map(OpenedPath::Folder),
            other => return Ok(OpenedPath::Special(special(other))),
        }
        OpenedPath::of(self.open_raw(place, OFlags::RDONLY | OFlags::NONBLOCK)?)
    }

    /// A folder, to list it.
    pub fn open_folder(&self, place: &WorkspacePath) -> Result<OwnedFd, Errno> {
        self.open_raw(place, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK)
    }

    /// Size, time and kind, without opening for reading.
    pub fn facts(&self, place: &WorkspacePath) -> Result<PathMetadata, Errno> {
        Ok(PathMetadata::of(&self.look_at(place)?.1))
    }

    fn look_at(&self, place: &WorkspacePath) -> Result<(FileType, Stat), Errno> {
        let stat = fstat(self.open_raw(place, OFlags::PATH)?)?;
        match FileType::from_raw_mode(stat.st_mode) {
            // One of the two openers gives a handle on the link itself. Places have none, so it is a race.
            FileType::Symlink => Err(Errno::LOOP),
            kind => Ok((kind, stat)),
        }
    }

    fn open_raw(&self, place: &WorkspacePath, flags: OFlags) -> Result<OwnedFd, Errno> {
        let root = &self.root(place).handle;
        match (place.relative.parent(), place.relative.file_name()) {
            (Some(folder), Some(name)) if self.closed.is_any() => {
                // What is in the folder is opened by way of the very folder that was looked at.
                let folder = self.opener.open(root, folder, OFlags::PATH | OFlags::DIRECTORY)?;
                self.closed.check_with_all_above(&folder)?;
                let opened = self.opener.open(folder, Path::new(name), flags)?;
                self.closed.check(&opened)?;
                Ok(opened)
            }
            _ => self.opener.open(root, &place.relative, flags),
        }
    }

    /// What a failed opening means to a model.
    pub fn failure(&self, place: &WorkspacePath, errno: Errno) -> ToolError {
        let shown = self.shown(place);
        let (kind, message) = match errno {
            Errno::NOENT => (ToolErrorType::FileNotFound, format!("there is no `{shown}`")),
            Errno::NOTDIR => {
                (ToolErrorType::FileNotFound, format!("there is no `{shown}`: a part of it is not a folder"))
            }
            Errno::NAMETOOLONG => {
                (ToolErrorType::FileNotFound, format!("there is no `{shown}`: the name is too long to exist"))
            }
            Errno::LOOP | Errno::XDEV => (
                ToolErrorType::PathNotInWorkspace,
                format!("`{shown}` became a link while it was being opened; it was not followed"),
            ),
            Errno::ACCESS | Errno::PERM => {
                (ToolErrorType::PermissionDenied, format!("the system does not let us read `{shown}`"))
            }
            other => (ToolErrorType::ReadContentFailure, format!("`{shown}` cannot be read: {other}")),
        };
        ToolError { kind, message }
    }

    fn root(&self, place: &WorkspacePath) -> &OpenRoot {
        // Invariant: a place is only made by this workspace, with the index of one of its roots.
        &self.roots[place.root]
    }

    fn first_root(&self) -> &OpenRoot {
        // Invariant: `open_with` refuses an empty list.
        &self.roots[0]
    }
}

/// What [`Workspace::written`] wrote.
pub fn written_path(text: &str) -> Option<PathBuf> {
    match name::bytes_of(text) {
        None => Some(PathBuf::from(text)),
        Some(read) => read.ok(),
    }
}

fn join(root: &Path, relative: &Path) -> PathBuf {
    // `join("")` would add a slash.
    if relative.as_os_str().is_empty() { root.to_owned() } else { root.join(relative) }
}

/// A word for what is neither file nor folder.
fn special(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "neither a file nor a folder",
    }
}
