//! Which files does an extension's folder have, how are they copied, and what do path, mode and bytes of all of them come to?

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::PackageFault;
use agents::AgentFileStamp;
use sys::regular_file;

/// Files of an extension: each of them is looked at whenever a run begins.
pub const MOST_EXTENSION_FILES: usize = 5_000;
/// Entries of its folders, these among them: a walk through more is work without an end.
const MOST_ENTRIES: usize = 2 * MOST_EXTENSION_FILES;
/// Bytes of all of them: what is changed is read anew.
pub const LARGEST_EXTENSION: u64 = 128 * 1024 * 1024;
/// Folders below each other in it.
const DEEPEST: usize = 32;
/// The part of a file's mode that says that somebody may execute it.
const EXECUTABLE: u32 = 0o111;
/// Bytes that are read at a time.
const CHUNK: usize = 64 * 1024;
/// Names that belong to whatever brought the folder here, and are not copied.
const NOT_COPIED: &str = ".git";

/// The files of an extension's folder, without what they say.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PackageContents {
    /// Below the folder, in the order of their paths.
    pub files: Vec<PackageEntry>,
    entries: usize,
    bytes: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PackageEntry {
    pub path: PathBuf,
    is_executable: bool,
    stamp: AgentFileStamp,
    /// The target of a link, which is not followed.
    link: Option<PathBuf>,
}

impl PackageContents {
    /// Looks at a folder that is to be copied; its path has no links, and links in it are not followed. What belongs to whatever brought it
    /// here is left out. Blocks on the file system.
    pub fn of_source(folder: &Path) -> Result<PackageContents, PackageFault> {
        PackageContents::look(folder, Some(NOT_COPIED))
    }

    /// Looks at a copy, all of which counts. Blocks on the file system.
    pub fn of(folder: &Path) -> Result<PackageContents, PackageFault> {
        PackageContents::look(folder, None)
    }

    fn look(folder: &Path, skipped: Option<&str>) -> Result<PackageContents, PackageFault> {
        let mut contents = PackageContents { files: Vec::new(), entries: 0, bytes: 0 };
        contents.enter((folder, skipped), Path::new(""), 0)?;
        contents.files.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(contents)
    }

    fn enter(
        &mut self,
        (folder, skipped): (&Path, Option<&str>),
        below: &Path,
        depth: usize,
    ) -> Result<(), PackageFault> {
        if DEEPEST < depth {
            return Err(PackageFault::Refused(format!("has folders more than {DEEPEST} deep")));
        }
        let at = folder.join(below);
        for entry in fs::read_dir(&at).map_err(|error| unread(below, &error))? {
            let entry = entry.map_err(|error| unread(below, &error))?;
            let name = entry.file_name();
            if skipped.is_some_and(|skipped| name == skipped) {
                continue;
            }
            let path = below.join(&name);
            if name.to_str().is_none() {
                return Err(PackageFault::Refused(format!("has a name that is not UTF-8: {}", shown(&path))));
            }
            self.entries += 1;
            if MOST_ENTRIES < self.entries {
                let message = format!("has more than {MOST_ENTRIES} files and folders");
                return Err(PackageFault::Refused(message));
            }
            let metadata = fs::symlink_metadata(folder.join(&path)).map_err(|error| unread(&path, &error))?;
            if metadata.is_dir() {
                self.enter((folder, skipped), &path, depth + 1)?;
                continue;
            }
            if self.files.len() == MOST_EXTENSION_FILES {
                let message = format!("has more than {MOST_EXTENSION_FILES} files");
                return Err(PackageFault::Refused(message));
            }
            let link = match metadata.is_symlink() {
                true => Some(fs::read_link(folder.join(&path)).map_err(|error| unread(&path, &error))?),
                false if metadata.is_file() => None,
                false => {
                    let message = format!("has something that is no file: {}", shown(&path));
                    return Err(PackageFault::Refused(message));
                }
            };
            if link.is_none() && 1 < metadata.nlink() {
                let message =
                    format!("has a file with another name elsewhere (a hard link): {}", shown(&path));
                return Err(PackageFault::Refused(message));
            }
            self.bytes = self.bytes.saturating_add(metadata.len());
            if LARGEST_EXTENSION < self.bytes {
                return Err(too_large());
            }
            let is_executable = link.is_none() && metadata.mode() & EXECUTABLE != 0;
            let stamp = AgentFileStamp::in_metadata(&metadata);
            self.files.push(PackageEntry { path, is_executable, stamp, link });
        }
        Ok(())
    }

    /// True if a later change of any file would show in its stamp.
    pub fn is_settled(&self) -> bool {
        self.files.iter().all(|file| file.stamp.is_settled())
    }

    /// The digest over path, mode and bytes of all files: of the very files that were looked at, while they were so. Blocks on the
    /// file system.
    pub fn digest(&self, folder: &Path) -> Result<String, PackageFault> {
        let mut whole = Sha256::new();
        let mut left = LARGEST_EXTENSION;
        for entry in &self.files {
            let content = match &entry.link {
                Some(link) => Sha256::digest(link.as_os_str().as_encoded_bytes()),
                None => {
                    let mut digest = Sha256::new();
                    entry.read(folder, &mut left, |chunk| {
                        digest.update(chunk);
                        Ok(())
                    })?;
                    digest.finalize()
                }
            };
            let path = entry.path.as_os_str().as_encoded_bytes();
            whole.update((path.len() as u64).to_be_bytes());
            whole.update(path);
            whole.update([u8::from(entry.is_executable), u8::from(entry.link.is_some())]);
            whole.update(content);
        }
        let mut digest = "sha256:".to_owned();
        for byte in whole.finalize() {
            digest.push_str(&format!("{byte:02x}"));
        }
        Ok(digest)
    }

    /// Copies the files that were looked at in `from` into the empty folder `to`, which is nobody else's. Links that lead out of it, or
    /// nowhere, are left out; each is answered in a sentence. Blocks on the file system.
    pub fn copy(&self, from: &Path, to: &Path) -> Result<Vec<String>, PackageFault> {
        let mut left = LARGEST_EXTENSION;
        for entry in &self.files {
            let path = to.join(&entry.path);
            if let Some(folder) = path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|it| unmade(&it))?;
            }
            if let Some(link) = &entry.link {
                symlink(link, &path).map_err(|error| unmade(&error))?;
                continue;
            }
            let mode = if entry.is_executable { 0o700 } else { 0o600 };
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(&path)
                .map_err(|error| unmade(&error))?;
            entry.read(from, &mut left, |chunk| file.write_all(chunk))?;
            // Whatever mask this process has.
            file.set_permissions(Permissions::from_mode(mode)).map_err(|error| unmade(&error))?;
        }
        // All of them are there, so what leads to another one of them leads somewhere.
        let mut left_out = Vec::new();
        for entry in self.files.iter().filter(|entry| entry.link.is_some()) {
            let path = to.join(&entry.path);
            if !fs::canonicalize(&path).is_ok_and(|end| end.starts_with(to)) {
                fs::remove_file(&path).map_err(|error| unmade(&error))?;
                left_out.push(format!(
                    "{} is a link that leads out of the extension, or nowhere; it is left out",
                    shown(&entry.path)
                ));
            }
        }
        Ok(left_out)
    }
}

impl PackageEntry {
    /// Reads the very file that was looked at, from the beginning to the end.
    fn read(
        &self,
        folder: &Path,
        left: &mut u64,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), PackageFault> {
        let unread = |error: io::Error| unread(&self.path, &error);
        let moved = || PackageFault::Unreadable(format!("changes while it is read: {}", shown(&self.path)));
        let mut file = regular_file::open_without_links(&folder.join(&self.path)).map_err(unread)?;
        let is_as_seen =
            |file: &File| Ok::<_, io::Error>(AgentFileStamp::in_metadata(&file.metadata()?) == self.stamp);
        if !is_as_seen(&file).map_err(unread)? {
            return Err(moved());
        }
        let mut chunk = vec![0; CHUNK];
        loop {
            let n = file.read(&mut chunk).map_err(unread)?;
            if n == 0 {
                return if is_as_seen(&file).map_err(unread)? { Ok(()) } else { Err(moved()) };
            }
            *left = left.checked_sub(n as u64).ok_or_else(too_large)?;
            take(&chunk[..n]).map_err(|error| unmade(&error))?;
        }
    }
}

/// A path of somebody else's, for people.
pub(super) fn shown(path: &Path) -> String {
    format!("`{}`", path.to_string_lossy().replace(char::is_control, "\u{fffd}"))
}

fn too_large() -> PackageFault {
    PackageFault::Refused(format!("has more than {} MiB", LARGEST_EXTENSION / 1024 / 1024))
}

fn unread(path: &Path, error: &io::Error) -> PackageFault {
    match path.as_os_str().is_empty() {
        true => PackageFault::Unreadable(format!("cannot be read: {error}")),
        false => PackageFault::Unreadable(format!("cannot be read: {}: {error}", shown(path))),
    }
}

pub(super) fn unmade(error: &io::Error) -> PackageFault {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => PackageFault::NoRoom,
        _ => PackageFault::Unreadable(format!("cannot be copied: {error}")),
    }
}
