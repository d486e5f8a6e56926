//! Which files does a skill have, and what do path, mode and bytes of all of them come to? (spec 08, "Trust")

use std::{
    fs::{self, File, Metadata},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use agents::AgentFileStamp;
use sys::regular_file;

/// Files of a skill that can be acknowledged.
pub const MOST_SKILL_FILES: usize = 1_000;
/// Entries of its folders, these among them: a walk through more is work without an end.
const MOST_ENTRIES: usize = 2 * MOST_SKILL_FILES;
/// Bytes of all of them.
pub const LARGEST_SKILL: u64 = 32 * 1024 * 1024;
/// Folders below each other in it.
const DEEPEST: usize = 16;
/// The part of a file's mode that says who may do what with it.
const PERMISSIONS: u32 = 0o7777;
/// The part that says that somebody may execute it.
const EXECUTABLE: u32 = 0o111;
/// Bytes that are read at a time.
const CHUNK: usize = 64 * 1024;

/// The files of a skill's folder, without what they say.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SkillContents {
    /// Below the folder, in the order of their paths.
    pub files: Vec<SkillEntry>,
    /// The reason why that is not all: the end of a sentence that begins with the skill.
    pub fault: Option<String>,
    /// The reason why a digest would not hold what it says: the end of such a sentence.
    uncovered: Option<String>,
    entries: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SkillEntry {
    pub path: PathBuf,
    mode: u32,
    stamp: AgentFileStamp,
    /// The target of a link, which is not followed.
    link: Option<PathBuf>,
}

impl SkillContents {
    /// Looks at the folder. Links are not followed.
    pub fn of(folder: &Path) -> SkillContents {
        let mut contents = SkillContents { files: Vec::new(), fault: None, uncovered: None, entries: 0 };
        if let Err(fault) = contents.enter(folder, Path::new(""), 0) {
            contents.fault = Some(fault);
        }
        contents.files.sort_by(|left, right| left.path.cmp(&right.path));
        contents
    }

    fn enter(&mut self, folder: &Path, below: &Path, depth: usize) -> Result<(), String> {
        if DEEPEST < depth {
            return Err(format!("has folders more than {DEEPEST} deep"));
        }
        let at = folder.join(below);
        let unread = |error: &io::Error| format!("cannot be read: `{}`: {error}", at.display());
        for entry in fs::read_dir(&at).map_err(|error| unread(&error))? {
            let entry = entry.map_err(|error| unread(&error))?;
            let path = below.join(entry.file_name());
            self.entries += 1;
            if MOST_ENTRIES < self.entries {
                return Err(format!("has more than {MOST_ENTRIES} files and folders"));
            }
            let metadata = fs::symlink_metadata(folder.join(&path)).map_err(|error| unread(&error))?;
            if metadata.is_dir() {
                self.enter(folder, &path, depth + 1)?;
                continue;
            }
            if self.files.len() == MOST_SKILL_FILES {
                return Err(format!("has more than {MOST_SKILL_FILES} files"));
            }
            let link = match metadata.is_symlink() {
                true => Some(fs::read_link(folder.join(&path)).map_err(|error| unread(&error))?),
                false if metadata.is_file() => None,
                false => return Err(format!("has something that is no file: `{}`", path.display())),
            };
            if self.uncovered.is_none() {
                self.uncovered = uncovered(folder, &path, &metadata);
            }
            let (mode, stamp) = (metadata.mode() & PERMISSIONS, AgentFileStamp::in_metadata(&metadata));
            self.files.push(SkillEntry { path, mode, stamp, link });
        }
        Ok(())
    }

    /// Bytes of all files, as they were looked at.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.stamp.bytes()).sum()
    }

    /// The number of files, of those that somebody may execute, and of links.
    pub fn counts(&self) -> (usize, usize, usize) {
        let links = self.files.iter().filter(|file| file.link.is_some()).count();
        let executables = self.files.iter().filter(|file| file.link.is_none() && file.mode & EXECUTABLE != 0);
        (self.files.len(), executables.count(), links)
    }

    /// True if a later change of any file would show in its stamp.
    pub fn is_settled(&self) -> bool {
        self.files.iter().all(|file| file.stamp.is_settled())
    }

    /// The digest over path, mode and bytes of all files, and the bytes of the one at `wanted`: of the very files that were looked at,
    /// while they were so. The folder's path has no links. An error is the end of a sentence that begins with the skill.
    pub fn digest(&self, folder: &Path, wanted: &Path) -> Result<(String, Option<Vec<u8>>), String> {
        if let Some(fault) = self.fault.as_ref().or(self.uncovered.as_ref()) {
            return Err(fault.clone());
        }
        let too_large = || format!("has more than {} MiB", LARGEST_SKILL / 1024 / 1024);
        if LARGEST_SKILL < self.bytes() {
            return Err(too_large());
        }
        let (mut whole, mut found, mut left) = (Sha256::new(), None, LARGEST_SKILL);
        for entry in &self.files {
            let is_wanted = entry.path == wanted;
            let (content, kept) = match &entry.link {
                Some(link) => (Sha256::digest(link.as_os_str().as_encoded_bytes()), None),
                None => read(&folder.join(&entry.path), entry.stamp, &mut left, is_wanted)
                    .map_err(|error| format!("cannot be read: `{}`: {error}", entry.path.display()))?
                    .ok_or_else(too_large)?,
            };
            found = kept.or(found);
            let path = entry.path.as_os_str().as_encoded_bytes();
            whole.update((path.len() as u64).to_be_bytes());
            whole.update(path);
            whole.update(entry.mode.to_be_bytes());
            whole.update([u8::from(entry.link.is_some())]);
            whole.update(content);
        }
        let mut digest = "sha256:".to_owned();
        for byte in whole.finalize() {
            digest.push_str(&format!("{byte:02x}"));
        }
        Ok((digest, found))
    }
}

/// The reason why what is read at this path may become other without another digest: a link that leads out of the folder, or a file
/// that has another name elsewhere.
fn uncovered(folder: &Path, path: &Path, metadata: &Metadata) -> Option<String> {
    if metadata.is_symlink() {
        let is_within = fs::canonicalize(folder.join(path)).is_ok_and(|end| end.starts_with(folder));
        return (!is_within)
            .then(|| format!("has a link that leads out of its folder, or nowhere: `{}`", path.display()));
    }
    let has_names = 1 < metadata.nlink();
    has_names.then(|| format!("has a file with another name elsewhere (a hard link): `{}`", path.display()))
}

/// The digest of a file's bytes, and these where they are wanted; `None` = they are more than are left. The file must be the one
/// that was looked at before, from the beginning to the end.
fn read(
    path: &Path,
    seen: AgentFileStamp,
    left: &mut u64,
    is_wanted: bool,
) -> io::Result<Option<ReadContent>> {
    let mut file = regular_file::open_without_links(path)?;
    let is_as_seen = |file: &File| Ok::<_, io::Error>(AgentFileStamp::in_metadata(&file.metadata()?) == seen);
    let moved = || io::Error::other("it changes while it is read");
    if !is_as_seen(&file)? {
        return Err(moved());
    }
    let (mut digest, mut kept) = (Sha256::new(), is_wanted.then(Vec::new));
    let mut chunk = vec![0; CHUNK];
    loop {
        let n = file.read(&mut chunk)?;
        if n == 0 {
            return if is_as_seen(&file)? { Ok(Some((digest.finalize(), kept))) } else { Err(moved()) };
        }
        let Some(rest) = left.checked_sub(n as u64) else { return Ok(None) };
        *left = rest;
        digest.update(&chunk[..n]);
        if let Some(kept) = &mut kept {
            kept.extend_from_slice(&chunk[..n]);
        }
    }
}

type ReadContent = (sha2::digest::Output<Sha256>, Option<Vec<u8>>);
