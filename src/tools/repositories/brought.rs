//! Which files of a working tree are just what git has at their paths, by objects that no agent's command made?
//!
//! git writes a file of a commit and notes its object in the index at once. A script can do both as well, but no object that it makes is older
//! than itself: nobody sets the time at which a file was last changed in any way.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{FileExt as _, MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use sha1::Sha1;
use sha2::Sha256;

use super::{
    RepositoryAround,
    folder::folder_at,
    gitlinks::{IndexEntry, NAME_LENGTHS, index_entries},
    repositories_of_root,
};
use crate::digest;
use sys::regular_file;

/// Bytes of a file that is read.
pub const LONGEST_BROUGHT: u64 = 16 << 20;
/// Packs of a repository that are looked into. Clones have one, and git itself makes one of them at fifty.
const MOST_PACKS: usize = 200;
/// The beginning of a pack's index, and its version (gitformat-pack(5)).
const PACK_INDEX: [u8; 8] = [0xFF, b't', b'O', b'c', 0, 0, 0, 2];
/// The places at which its table of counts by first bytes begins, and at which the names do.
const COUNTS_AT: u64 = 8;
const NAMES_AT: u64 = COUNTS_AT + 256 * 4;
/// Modes of entries: a link, and a file that is run.
const LINK: u32 = 0o120_000;
const RUN: u32 = 0o100_755;

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

/// The objects of git's by which a file counts as brought. A program that git runs can make objects, and write the index.
#[derive(Debug, Clone, Copy)]
pub struct BroughtObjects<'a> {
    /// The times at which those came that count.
    pub times: &'a ObjectTimes,
    /// Others than the index names at the path count, too, as a stash brings them.
    pub others: bool,
}

/// The content of a file, or the path of a link.
struct WorkingTreeFile {
    bytes: Vec<u8>,
    is_link: bool,
    is_run: bool,
}

impl ObjectTimes {
    pub fn older_than(since: FileTime) -> ObjectTimes {
        ObjectTimes { before: since, ..ObjectTimes::default() }
    }

    fn have(&self, time: FileTime) -> bool {
        let is_in =
            |times: &[(FileTime, FileTime)]| times.iter().any(|(from, to)| (*from..=*to).contains(&time));
        let is_brought = self.brought.iter().any(|(from, to)| *from < time && time <= *to);
        let is_persons = || self.after.is_some_and(|after| after < time) && !is_in(&self.served);
        is_brought || (time < self.before || is_persons()) && !is_in(&self.made)
    }
}

impl BroughtObjects<'_> {
    /// Only those that the index names.
    pub fn of_index(times: &ObjectTimes) -> BroughtObjects<'_> {
        BroughtObjects { times, others: false }
    }
}

/// Answers those of these files, absolute and without links on their way, with the digests of their bytes. Only in repositories of the `roots`.
/// Blocks.
pub fn brought_by_git(
    roots: &[PathBuf],
    files: &[PathBuf],
    wanted: BroughtObjects<'_>,
) -> Vec<(PathBuf, String)> {
    if files.is_empty() {
        return Vec::new();
    }
    let known: Vec<RepositoryAround> = roots.iter().flat_map(|root| repositories_of_root(root)).collect();
    let mut by_repository: BTreeMap<PathBuf, (RepositoryAround, Vec<PathBuf>)> = BTreeMap::new();
    for file in files {
        let repository = file.parent().and_then(|above| RepositoryAround::all(above).into_iter().next());
        let Some(repository) = repository.filter(|it| known.iter().any(|known| known.folder == it.folder))
        else {
            continue;
        };
        let below = repository.tops.first().and_then(|top| file.strip_prefix(top).ok()).map(Path::to_owned);
        let entry = by_repository.entry(repository.folder.clone()).or_insert((repository, Vec::new()));
        entry.1.extend(below);
    }
    let mut brought = Vec::new();
    for (repository, paths) in by_repository.into_values() {
        let (Some(folder), Some(top)) = (folder_at(&repository.folder), repository.tops.first()) else {
            continue;
        };
        let (entries, objects) = (index_entries(&folder, &paths), repository.common.join("objects"));
        for path in &paths {
            let Some(found) = WorkingTreeFile::at(&top.join(path)) else { continue };
            let entry = entries.get(path);
            let is_named = || {
                let object = entry.and_then(|entry| found.object_of(entry));
                object.is_some_and(|object| is_there(&objects, &object, wanted.times))
            };
            if is_named() || wanted.others && found.is_other(entry, &objects, wanted.times) {
                brought.push((top.join(path), digest::of(&found.bytes)));
            }
        }
    }
    brought
}

impl WorkingTreeFile {
    fn at(path: &Path) -> Option<WorkingTreeFile> {
        let found = fs::symlink_metadata(path).ok()?;
        if found.is_symlink() {
            let bytes = fs::read_link(path).ok()?.as_os_str().as_bytes().to_vec();
            return Some(WorkingTreeFile { bytes, is_link: true, is_run: false });
        }
        if !found.is_file() || LONGEST_BROUGHT < found.size() {
            return None;
        }
        let mut bytes = Vec::new();
        let file = regular_file::open_without_links(path).ok()?;
        file.take(LONGEST_BROUGHT + 1).read_to_end(&mut bytes).ok()?;
        let is_run = found.permissions().mode() & 0o111 != 0;
        (bytes.len() as u64 <= LONGEST_BROUGHT).then_some(WorkingTreeFile { bytes, is_link: false, is_run })
    }

    /// The name of the entry's object if it is of this kind and has these bytes, or has them with the ends of lines that git writes for another
    /// system (gitattributes(5), `eol`).
    fn object_of(&self, entry: &IndexEntry) -> Option<Vec<u8>> {
        let has_mode = self.is_link == (entry.mode == LINK) && (!self.is_run || entry.mode == RUN);
        if !has_mode {
            return None;
        }
        let is_it = |bytes: &[u8]| object_name(bytes, entry.object.len()) == entry.object;
        let is_one = is_it(&self.bytes) || !self.is_link && is_it(&without_returns(&self.bytes));
        is_one.then(|| entry.object.clone())
    }

    /// True if an object that counts has these bytes, and the file is run by nobody for whom git has none like it at the path.
    fn is_other(&self, entry: Option<&IndexEntry>, objects: &Path, times: &ObjectTimes) -> bool {
        let is_run = self.is_run && entry.is_none_or(|entry| entry.mode != RUN);
        let is_one = |length: &usize| is_there(objects, &object_name(&self.bytes, *length), times);
        !self.is_link && !is_run && NAME_LENGTHS.iter().any(is_one)
    }
}

/// The bytes with each end of a line as one letter.
fn without_returns(bytes: &[u8]) -> Vec<u8> {
    let is_kept = |(at, byte): &(usize, &u8)| **byte != b'\r' || bytes.get(at + 1) != Some(&b'\n');
    bytes.iter().enumerate().filter(is_kept).map(|(_, byte)| *byte).collect()
}

/// The name of the object that has these bytes, where names are so long.
fn object_name(bytes: &[u8], length: usize) -> Vec<u8> {
    let before = format!("blob {}\0", bytes.len());
    if length == NAME_LENGTHS[0] {
        let hasher = <Sha1 as sha1::Digest>::new_with_prefix(before);
        return sha1::Digest::finalize(sha1::Digest::chain_update(hasher, bytes)).to_vec();
    }
    let hasher = <Sha256 as sha2::Digest>::new_with_prefix(before);
    sha2::Digest::finalize(sha2::Digest::chain_update(hasher, bytes)).to_vec()
}

/// True if an object lies there, by itself or in a pack, and came at one of these times.
fn is_there(objects: &Path, object: &[u8], times: &ObjectTimes) -> bool {
    let is_of_these =
        |found: fs::Metadata| found.is_file() && times.have((found.ctime(), found.ctime_nsec()));
    let name: String = object.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = name.split_at(2);
    // A link in its place would lead to what another repository has.
    let is_own = |folder: &Path| fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    let (loose, packed) = (objects.join(first), objects.join("pack"));
    if is_own(&loose) && fs::symlink_metadata(loose.join(rest)).is_ok_and(is_of_these) {
        return true;
    }
    if !is_own(&packed) {
        return false;
    }
    let packs = fs::read_dir(packed).into_iter().flatten().flatten();
    let indexes =
        packs.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "idx"));
    indexes.take(MOST_PACKS).any(|index| {
        let is_one = fs::symlink_metadata(&index).is_ok_and(is_of_these);
        is_one && names_object(&index, object).unwrap_or(false)
    })
}

/// True if a pack's index has this name (gitformat-pack(5), version 2).
fn names_object(index: &Path, object: &[u8]) -> io::Result<bool> {
    let file = regular_file::open(index)?;
    let mut begin = [0; PACK_INDEX.len()];
    file.read_exact_at(&mut begin, 0)?;
    if begin != PACK_INDEX {
        return Ok(false);
    }
    let count = |byte: u64| {
        let mut count = [0; 4];
        file.read_exact_at(&mut count, COUNTS_AT + byte * 4)?;
        io::Result::Ok(u64::from(u32::from_be_bytes(count)))
    };
    let Some(first) = object.first().map(|byte| u64::from(*byte)) else { return Ok(false) };
    let mut low = if first == 0 { 0 } else { count(first - 1)? };
    let mut high = count(first)?;
    let mut name = vec![0; object.len()];
    while low < high {
        let middle = low + (high - low) / 2;
        file.read_exact_at(&mut name, NAMES_AT + middle * object.len() as u64)?;
        match name.as_slice().cmp(object) {
            std::cmp::Ordering::Equal => return Ok(true),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;
