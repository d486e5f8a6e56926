//! How does a file become another one, whole or not at all?
//!
//! Everything happens relative to handles of folders that were opened below a root, so no link, `..` or race leads out.
//! New content is written to a file without a name (or with a hidden one, where the file system knows no files without),
//! synced, and then takes the place of the old one in one step; whatever fails before leaves the old file whole and
//! nothing beside it.
//!
//! Note: the new file is another inode. Further hard links to the old one keep the old content, as with editors that
//! save by renaming: what a second name outside of the workspace shows must not change by a call that was judged by the
//! first. Mode and, where the system lets us, owner are kept; access lists and extended attributes are not.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::{AsFd, OwnedFd},
    path::Path,
    sync::Arc,
};

use rustix::{
    fs::{
        AtFlags, Gid, Mode, OFlags, RawMode, RenameFlags, Stat, Uid, fstat, fsync, mkdirat, openat,
        renameat_with, statat, unlinkat,
    },
    io::Errno,
};
use tokio_util::sync::CancellationToken;

use super::{OpenedPath, Workspace, WorkspacePath};
use protocol::{ToolError, ToolErrorType};

mod draft;
#[cfg(test)]
mod tests;

use draft::UnlinkedFile;

/// Larger files are not changed: each change keeps the old content for undo, and is shown and compared as a whole.
pub const MAX_FILE_BYTES: u64 = 20 * 1024 * 1024;

/// Bytes between two looks at whether to stop.
const PIECE_BYTES: usize = 1024 * 1024;

/// Permission bits of new files and folders, less what the user's umask takes away.
const NEW_FILE: RawMode = 0o666;
const NEW_FOLDER: RawMode = 0o777;

/// A file as it was found.
#[derive(Debug)]
pub struct ExistingFile {
    pub bytes: Arc<Vec<u8>>,
    pub attributes: FileAttributes,
    stamp: FileVersion,
}

/// What a file keeps when its content changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileAttributes {
    /// Permission bits.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
}

/// Tells whether a name still means the file that was read, and whether that was written to since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What is to be at a place.
pub struct WriteRequest<'a> {
    pub bytes: &'a [u8],
    /// What is there now and is replaced; `None` = nothing, and if something is there by then, it stays.
    pub over: Option<&'a ExistingFile>,
    /// `None` = as `over` has them, else as the system gives them to new files.
    pub attributes: Option<FileAttributes>,
}

/// What became of a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    Done,
    /// What is there is not what was expected; nothing was changed.
    Changed,
    /// The work was to stop; nothing was changed.
    Stopped,
}

impl FileVersion {
    fn of(stat: &Stat) -> FileVersion {
        FileVersion {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }
}

impl Workspace {
    /// The file at a place, whole; `None` when there is nothing. A folder, what is no file, and what is too large are
    /// failures.
    pub fn find(&self, place: &WorkspacePath) -> Result<Option<ExistingFile>, ToolError> {
        let (mut file, size) = match self.open_quietly(place) {
            Ok(OpenedPath::File { file, size }) => (file, size),
            Ok(OpenedPath::Folder(_)) => return Err(self.is_a_folder(place)),
            Ok(OpenedPath::Special(what)) => {
                let message = format!("`{}` is {what}, not a file; it was not touched", self.shown(place));
                return Err(ToolError { kind: ToolErrorType::FileWriteFailure, message });
            }
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR) => return Err(self.write_failure(place, Errno::NOTDIR)),
            Err(errno) => return Err(self.failure(place, errno)),
        };
        if MAX_FILE_BYTES < size {
            return Err(self.is_too_large(place, size));
        }
        let stat = fstat(&file).map_err(|errno| self.failure(place, errno))?;
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        let read = (&mut file).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.failure(place, errno_of(&error)))?;
        if MAX_FILE_BYTES < bytes.len() as u64 {
            return Err(self.is_too_large(place, bytes.len() as u64));
        }
        let attributes = FileAttributes { mode: stat.st_mode & 0o7777, uid: stat.st_uid, gid: stat.st_gid };
        Ok(Some(ExistingFile { bytes: Arc::new(bytes), attributes, stamp: FileVersion::of(&stat) }))
    }

    /// How many folders above a place are missing.
    pub fn missing_folders(&self, place: &WorkspacePath) -> usize {
        let is_missing = |folder: &&Path| {
            let folder = WorkspacePath { root: place.root, relative: folder.to_path_buf() };
            self.facts(&folder).is_err()
        };
        place.relative.ancestors().skip(1).take_while(is_missing).count()
    }

    /// Makes the file at a place what is wished, durably, with the folders above it. `may_go_on` is asked last of all
    /// before anything changes; after false it is as if the work was to stop. Blocks.
    pub fn put(
        &self,
        place: &WorkspacePath,
        wish: &WriteRequest<'_>,
        stop: &CancellationToken,
        may_go_on: &mut dyn FnMut() -> bool,
    ) -> Result<WriteOutcome, ToolError> {
        let failed = |errno| self.write_failure(place, errno);
        let name = place.relative.file_name().ok_or_else(|| self.is_a_folder(place))?;
        let mut made = CreatedFolders::default();
        let folder = self.folder_for(place, &mut made).map_err(failed)?;
        let attributes = wish.attributes.or(wish.over.map(|found| found.attributes));
        let mut is_ready = |is_filled: bool| !stop.is_cancelled() && (!is_filled || may_go_on());
        let placed = match wish.over {
            Some(found) => replace(&folder, name, wish.bytes, found, attributes, &mut is_ready),
            None => create(&folder, name, wish.bytes, attributes, &mut is_ready),
        };
        if placed != Ok(WriteOutcome::Done) {
            made.unmake();
        }
        placed.map_err(failed)
    }

    /// Removes the file at a place, if it is still what was found. Blocks.
    pub fn remove(&self, place: &WorkspacePath, found: &ExistingFile) -> Result<WriteOutcome, ToolError> {
        let failed = |errno| self.write_failure(place, errno);
        let name = place.relative.file_name().ok_or_else(|| self.is_a_folder(place))?;
        let folder = self.parent_of(place).map_err(failed)?;
        if !is_still(&folder, name, found) {
            return Ok(WriteOutcome::Changed);
        }
        unlinkat(&folder, name, AtFlags::empty()).map_err(failed)?;
        sync_names(&folder);
        Ok(WriteOutcome::Done)
    }

    /// Gives the file at `from` the name `to`, where nothing may be, if it is still what was found. Blocks.
    pub fn rename(
        &self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        found: &ExistingFile,
    ) -> Result<WriteOutcome, ToolError> {
        let failed = |errno| self.write_failure(to, errno);
        let old_name = from.relative.file_name().ok_or_else(|| self.is_a_folder(from))?;
        let new_name = to.relative.file_name().ok_or_else(|| self.is_a_folder(to))?;
        let old_folder = self.parent_of(from).map_err(|errno| self.write_failure(from, errno))?;
        let mut made = CreatedFolders::default();
        let new_folder = self.folder_for(to, &mut made).map_err(failed)?;
        let renamed = match is_still(&old_folder, old_name, found) {
            false => Ok(WriteOutcome::Changed),
            true => match renameat_with(&old_folder, old_name, &new_folder, new_name, RenameFlags::NOREPLACE)
            {
                Ok(()) => Ok(WriteOutcome::Done),
                Err(Errno::EXIST | Errno::NOENT) => Ok(WriteOutcome::Changed),
                Err(Errno::XDEV) => {
                    made.unmake();
                    return Err(self.is_elsewhere(from, to));
                }
                Err(errno) => Err(errno),
            },
        };
        if renamed != Ok(WriteOutcome::Done) {
            made.unmake();
            return renamed.map_err(failed);
        }
        sync_names(&new_folder);
        sync_names(&old_folder);
        Ok(WriteOutcome::Done)
    }

    /// Removes `count` folders above a place, innermost first, as long as they are empty.
    pub fn remove_empty_folders(&self, place: &WorkspacePath, count: usize) {
        let mut folder = WorkspacePath { root: place.root, relative: place.relative.with_file_name("") };
        for _ in 0..count {
            let (Some(name), Ok(parent)) = (folder.relative.file_name(), self.parent_of(&folder)) else {
                return;
            };
            if unlinkat(&parent, name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
            // Durable when the file's removal is: an empty folder that comes back harms nobody.
            let _unsynced = fsync(&parent);
            folder = WorkspacePath { root: folder.root, relative: folder.relative.with_file_name("") };
        }
    }

    fn parent_of(&self, place: &WorkspacePath) -> Result<OwnedFd, Errno> {
        let parent = WorkspacePath { root: place.root, relative: place.relative.with_file_name("") };
        self.open_folder(&parent)
    }

    /// The folder of a place, made with all above it where they are missing.
    fn folder_for(&self, place: &WorkspacePath, made: &mut CreatedFolders) -> Result<OwnedFd, Errno> {
        let parent = place.relative.parent().unwrap_or(Path::new(""));
        match self.parent_of(place) {
            Err(Errno::NOENT) => {}
            other => return other,
        }
        // From the root down: each step is below the handle of the one before, and follows no link.
        let root = WorkspacePath { root: place.root, relative: Path::new("").to_owned() };
        let mut folder = self.open_folder(&root)?;
        for name in parent.iter() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let next = match openat(&folder, name, flags, Mode::empty()) {
                Err(Errno::NOENT) => {
                    match mkdirat(&folder, name, Mode::from_raw_mode(NEW_FOLDER)) {
                        Ok(()) => {
                            made.0.push((folder.try_clone().map_err(|it| errno_of(&it))?, name.to_owned()))
                        }
                        // Somebody else made it meanwhile.
                        Err(Errno::EXIST) => {}
                        Err(errno) => return Err(made.give_up(errno)),
                    }
                    fsync(&folder).map_err(|errno| made.give_up(errno))?;
                    openat(&folder, name, flags, Mode::empty()).map_err(|errno| made.give_up(errno))?
                }
                other => other?,
            };
            self.closed.check(&next).map_err(|errno| made.give_up(errno))?;
            folder = next;
        }
        Ok(folder)
    }

    /// What a failed change means to a model.
    pub fn write_failure(&self, place: &WorkspacePath, errno: Errno) -> ToolError {
        let shown = self.shown(place);
        let (kind, message) = match errno {
            Errno::NOSPC | Errno::DQUOT => (
                ToolErrorType::NoSpaceLeft,
                format!("there is no room left for `{shown}`; nothing was changed"),
            ),
            Errno::ACCESS | Errno::PERM | Errno::ROFS => (
                ToolErrorType::PermissionDenied,
                format!("the system does not let us change `{shown}`: {errno}; nothing was changed"),
            ),
            Errno::LOOP | Errno::XDEV => (
                ToolErrorType::PathNotInWorkspace,
                format!("`{shown}` became a link while it was being changed; it was not followed"),
            ),
            Errno::ISDIR => return self.is_a_folder(place),
            Errno::NOTDIR => (
                ToolErrorType::FileWriteFailure,
                format!("`{shown}` cannot be there: a part of the path is a file, or a link"),
            ),
            other => (
                ToolErrorType::FileWriteFailure,
                format!("`{shown}` cannot be changed: {other}; it is as it was"),
            ),
        };
        ToolError { kind, message }
    }

    fn is_a_folder(&self, place: &WorkspacePath) -> ToolError {
        let message = format!("`{}` is a folder, not a file", self.shown(place));
        ToolError { kind: ToolErrorType::TargetIsDirectory, message }
    }

    fn is_elsewhere(&self, from: &WorkspacePath, to: &WorkspacePath) -> ToolError {
        let (from, to) = (self.shown(from), self.shown(to));
        let message = format!(
            "`{from}` and `{to}` lie on different file systems; write the new file, then delete the old one"
        );
        ToolError { kind: ToolErrorType::FileWriteFailure, message }
    }

    fn is_too_large(&self, place: &WorkspacePath, size: u64) -> ToolError {
        let shown = self.shown(place);
        let message =
            format!("`{shown}` has {size} bytes; files of more than {MAX_FILE_BYTES} are not changed");
        ToolError { kind: ToolErrorType::FileTooLarge, message }
    }
}

/// Folders made on the way, outermost first.
#[derive(Default)]
struct CreatedFolders(Vec<(OwnedFd, std::ffi::OsString)>);

impl CreatedFolders {
    /// What failed leaves no folders behind; one that somebody used meanwhile stays.
    fn unmake(&mut self) {
        for (parent, name) in self.0.drain(..).rev() {
            let _is_used = unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
    }

    fn give_up(&mut self, errno: Errno) -> Errno {
        self.unmake();
        errno
    }
}

fn create(
    folder: &OwnedFd,
    name: &OsStr,
    bytes: &[u8],
    attributes: Option<FileAttributes>,
    is_ready: &mut dyn FnMut(bool) -> bool,
) -> Result<WriteOutcome, Errno> {
    let mut draft = UnlinkedFile::begin(folder, Mode::from_raw_mode(NEW_FILE))?;
    if !fill(&mut draft, bytes, attributes, is_ready)? {
        return Ok(WriteOutcome::Stopped);
    }
    match draft.take_free_name(folder, name) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Ok(WriteOutcome::Changed),
        Err(errno) => return Err(errno),
    }
    sync_names(folder);
    Ok(WriteOutcome::Done)
}

fn replace(
    folder: &OwnedFd,
    name: &OsStr,
    bytes: &[u8],
    found: &ExistingFile,
    attributes: Option<FileAttributes>,
    is_ready: &mut dyn FnMut(bool) -> bool,
) -> Result<WriteOutcome, Errno> {
    // Closed to others until it has the old file's own permissions.
    let mut draft = UnlinkedFile::begin(folder, Mode::RUSR | Mode::WUSR)?;
    if !fill(&mut draft, bytes, attributes, is_ready)? {
        return Ok(WriteOutcome::Stopped);
    }
    // Note: between this look and the next call somebody may still write; no system call compares and replaces.
    if !is_still(folder, name, found) {
        return Ok(WriteOutcome::Changed);
    }
    draft.take_name(folder, name)?;
    sync_names(folder);
    Ok(WriteOutcome::Done)
}

/// Writes and syncs; false when it was to stop. `is_ready` is asked before each piece, and with true at the end.
fn fill(
    draft: &mut UnlinkedFile,
    bytes: &[u8],
    attributes: Option<FileAttributes>,
    is_ready: &mut dyn FnMut(bool) -> bool,
) -> Result<bool, Errno> {
    let file = draft.file();
    for piece in bytes.chunks(PIECE_BYTES) {
        if !is_ready(false) {
            return Ok(false);
        }
        file.write_all(piece).map_err(|error| errno_of(&error))?;
    }
    if let Some(attributes) = attributes {
        dress(file, attributes)?;
    }
    fsync(&*file)?;
    Ok(is_ready(true))
}

/// Gives a new file the owner and mode of another.
fn dress(file: &File, attributes: FileAttributes) -> Result<(), Errno> {
    let own = fstat(file)?;
    let mut mode = attributes.mode & 0o7777;
    if (own.st_uid, own.st_gid) != (attributes.uid, attributes.gid) {
        let owner = (Some(Uid::from_raw(attributes.uid)), Some(Gid::from_raw(attributes.gid)));
        if rustix::fs::fchown(file, owner.0, owner.1).is_err() {
            // It becomes ours. What it could do in another's name must not become what it does in ours.
            mode &= 0o1777;
        }
    }
    // After the owner, since changing that clears bits.
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode))
}

fn is_still(folder: impl AsFd, name: &OsStr, found: &ExistingFile) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| FileVersion::of(&stat) == found.stamp)
}

/// The names in a folder, durably. The change is made when this is called, so a failure cannot undo it any more.
fn sync_names(folder: &OwnedFd) {
    if let Err(error) = fsync(folder) {
        tracing::warn!(%error, "a change of a file may not survive a power cut");
    }
}

fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
