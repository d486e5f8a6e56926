//! What do git's objects hold, by themselves or in packs (gitformat-pack(5)), and when did they come?
//!
//! A command of an agent may have written there what it likes. So nothing counts as an object's bytes that does not have its name, which is their
//! digest; and what lies about it, as lists of commits or of what stands for what, is not read.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read},
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use flate2::bufread::ZlibDecoder;
use sha1::Sha1;
use sha2::Sha256;

use super::{gitlinks::NAME_LENGTHS, search_budget::SearchBudget};
use packs::Pack;
use sys::regular_file;

mod packs;

/// Packs of a repository that are looked into. Clones have one, and git itself makes one of them at fifty.
const MOST_PACKS: usize = 200;
/// Bytes of one object that is read.
const LONGEST_OBJECT: u64 = 16 << 20;
/// Bytes of what stands in front of an object's own: its kind and length.
const LONGEST_HEADER: usize = 32;
/// Bytes of a file that are read at once. Most objects are small.
const READ_AT_ONCE: usize = 4_096;

/// The second and nanosecond at which something of a file was changed for the last time. Nobody sets it.
pub type FileTime = (i64, i64);

/// The times at which objects came that no agent's program made.
#[derive(Debug, Clone, Default)]
pub struct ObjectTimes {
    /// Everything older than that, but for what came in `made`.
    pub before: FileTime,
    /// Everything newer than that, but for what came in `made` or `served`; `None` = nothing.
    pub after: Option<FileTime>,
    /// From when to when programs ran that agents had run.
    pub made: Vec<(FileTime, FileTime)>,
    /// The same of servers that they call.
    pub served: Vec<(FileTime, FileTime)>,
    /// From when to when nothing came but what counts: newer than the first, and no newer than the second.
    pub brought: Vec<(FileTime, FileTime)>,
}

/// The kinds of objects that are read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Commit,
    Tree,
    Blob,
    Tag,
}

/// All objects of a repository, looked at once.
pub(super) struct GitObjects<'a> {
    folder: PathBuf,
    packs: Vec<Pack>,
    /// Shared with the rest of the search.
    pub budget: &'a SearchBudget,
}

impl ObjectTimes {
    pub fn older_than(since: FileTime) -> ObjectTimes {
        ObjectTimes { before: since, ..ObjectTimes::default() }
    }

    pub(super) fn have(&self, time: FileTime) -> bool {
        let is_in =
            |times: &[(FileTime, FileTime)]| times.iter().any(|(from, to)| (*from..=*to).contains(&time));
        let is_brought = self.brought.iter().any(|(from, to)| *from < time && time <= *to);
        let is_persons = || self.after.is_some_and(|after| after < time) && !is_in(&self.served);
        is_brought || (time < self.before || is_persons()) && !is_in(&self.made)
    }
}

impl ObjectKind {
    const ALL: [ObjectKind; 4] = [ObjectKind::Commit, ObjectKind::Tree, ObjectKind::Blob, ObjectKind::Tag];

    fn word(self) -> &'static str {
        match self {
            ObjectKind::Commit => "commit",
            ObjectKind::Tree => "tree",
            ObjectKind::Blob => "blob",
            ObjectKind::Tag => "tag",
        }
    }
}

impl GitObjects<'_> {
    /// Those in this folder, without links on its way. Blocks for a look.
    pub fn of(folder: PathBuf, budget: &SearchBudget) -> GitObjects<'_> {
        let packed = folder.join("pack");
        // A link in its place would lead to what another repository has.
        let entries = is_own_folder(&packed).then(|| fs::read_dir(&packed).into_iter().flatten().flatten());
        let indexes = entries.into_iter().flatten().map(|entry| entry.path());
        let indexes = indexes.filter(|path| path.extension().is_some_and(|it| it == "idx"));
        let packs = indexes.take(MOST_PACKS).filter_map(|index| Pack::of(&index)).collect();
        GitObjects { folder, packs, budget }
    }

    /// The times at which files came that have an object of this name, by what they are called.
    pub fn times_of(&self, object: &[u8]) -> Vec<FileTime> {
        let loose = self.loose(object).and_then(|path| fs::symlink_metadata(path).ok());
        let loose = loose.filter(fs::Metadata::is_file).map(|found| (found.ctime(), found.ctime_nsec()));
        let packs = self.packs.iter().filter(|pack| pack.has(object, self.budget));
        loose.into_iter().chain(packs.map(|pack| pack.came)).collect()
    }

    /// The kind and the bytes of an object; `None` also where it is too long, or too much was read before.
    pub fn read(&self, object: &[u8]) -> Option<(ObjectKind, Vec<u8>)> {
        let is_it = |(kind, bytes): &(ObjectKind, Vec<u8>)| object_name(*kind, bytes, object.len()) == object;
        let loose = || self.loose(object).and_then(|path| self.read_loose(&path));
        let mut packed = self.packs.iter().filter_map(|pack| pack.read(object, self.budget)).filter(is_it);
        packed.next().or_else(|| loose().filter(is_it))
    }

    /// The path of one that lies by itself.
    fn loose(&self, object: &[u8]) -> Option<PathBuf> {
        let name: String = object.iter().map(|byte| format!("{byte:02x}")).collect();
        let (first, rest) = name.split_at_checked(2)?;
        let folder = self.folder.join(first);
        is_own_folder(&folder).then(|| folder.join(rest))
    }

    fn read_loose(&self, path: &Path) -> Option<(ObjectKind, Vec<u8>)> {
        let mut bytes = Vec::new();
        let longest = LONGEST_OBJECT.min(self.budget.inflated.left()) + LONGEST_HEADER as u64;
        let file = BufReader::with_capacity(READ_AT_ONCE, regular_file::open(path).ok()?);
        ZlibDecoder::new(file).take(longest).read_to_end(&mut bytes).ok()?;
        self.budget.inflated.take(bytes.len() as u64)?;
        let end = bytes.iter().take(LONGEST_HEADER).position(|byte| *byte == 0)?;
        let header = std::str::from_utf8(bytes.get(..end)?).ok()?;
        let (word, length) = header.split_once(' ')?;
        let kind = ObjectKind::ALL.into_iter().find(|kind| kind.word() == word)?;
        let length: usize = length.parse().ok()?;
        let object = bytes.split_off(end + 1);
        (length == object.len()).then_some((kind, object))
    }
}

fn is_own_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// The name of the object of this kind that has these bytes, where names are so long.
pub(super) fn object_name(kind: ObjectKind, bytes: &[u8], length: usize) -> Vec<u8> {
    let before = format!("{} {}\0", kind.word(), bytes.len());
    if length == NAME_LENGTHS[0] {
        let hasher = <Sha1 as sha1::Digest>::new_with_prefix(before);
        return sha1::Digest::finalize(sha1::Digest::chain_update(hasher, bytes)).to_vec();
    }
    let hasher = <Sha256 as sha2::Digest>::new_with_prefix(before);
    sha2::Digest::finalize(sha2::Digest::chain_update(hasher, bytes)).to_vec()
}

/// Reads a file from a place on.
struct FileFrom<'a> {
    file: &'a File,
    at: u64,
}

impl Read for FileFrom<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
