//! Which files of a working tree are just what git has at their paths, by objects that no agent's command made?
//!
//! git writes a file of a commit and notes its object in the index at once. A script can do both as well, but no object that it makes is older
//! than itself: nobody sets the time at which a file was last changed in any way. An older one it can put at another path, so a commit that is
//! as old must have it there.

use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use super::{
    RepositoryAround,
    committed::{CommittedFile, committed},
    folder::folder_at,
    gitlinks::{IndexEntry, NAME_LENGTHS, index_entries},
    objects::{FileTime, GitObjects, ObjectKind, ObjectTimes, object_name},
    repositories_of_root,
    search_budget::SearchBudget,
};
use crate::digest;
use sys::regular_file;

/// Bytes of a file that is read.
pub const LONGEST_BROUGHT: u64 = 16 << 20;
/// Modes of entries: a link, and a file that is run.
const LINK: u32 = 0o120_000;
const RUN: u32 = 0o100_755;

/// The objects of git's by which a file counts as brought. A program that git runs can make objects, and write the index.
#[derive(Debug, Clone, Copy)]
pub struct BroughtObjects<'a> {
    /// The times at which those came that count, and the commits that have them at the path.
    pub times: &'a ObjectTimes,
    /// From when to when git alone made objects, by merging what counts. They are in no older commit.
    pub merged: Option<(FileTime, FileTime)>,
    /// Others than the index names at the path count, too, as a stash brings them.
    pub others: bool,
    /// Names of commits that nothing may name any more.
    pub stashed: &'a [Vec<u8>],
}

/// The content of a file, or the path of a link.
struct WorkingTreeFile {
    bytes: Vec<u8>,
    is_link: bool,
    is_run: bool,
}

impl BroughtObjects<'_> {
    fn is_merged(&self, time: FileTime) -> bool {
        self.merged.is_some_and(|(from, to)| from < time && time <= to)
    }

    /// Only those that the index names.
    pub fn of_index(times: &ObjectTimes) -> BroughtObjects<'_> {
        BroughtObjects { times, merged: None, others: false, stashed: &[] }
    }
}

/// Answers those of these files, absolute and without links on their way, with the digests of their bytes. Only in repositories of the `roots`.
/// All of it is one search, with one budget: what that has no room for is not answered. Blocks.
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
    let (mut brought, budget) = (Vec::new(), SearchBudget::default());
    for (repository, paths) in by_repository.into_values() {
        let (Some(folder), Some(top)) = (folder_at(&repository.folder), repository.tops.first()) else {
            continue;
        };
        let (entries, objects) =
            (index_entries(&folder, &paths), GitObjects::of(repository.common.join("objects"), &budget));
        let mut at_path: Vec<(CommittedFile, String)> = Vec::new();
        for path in paths {
            let Some(found) = WorkingTreeFile::at(&top.join(&path)) else { continue };
            let digest = || digest::of(&found.bytes);
            for object in found.objects(entries.get(&path), wanted.others) {
                let came = objects.times_of(&object);
                if came.iter().any(|time| wanted.times.have(*time)) {
                    at_path.push((found.committed_as(&path, object), digest()));
                } else if came.iter().any(|time| wanted.is_merged(*time)) {
                    brought.push((top.join(&path), digest()));
                }
            }
        }
        if at_path.is_empty() {
            continue;
        }
        let files = at_path.iter().map(|(file, _)| file.clone()).collect();
        let found = committed(&repository, &objects, (files, wanted.stashed), wanted.times);
        let at_path = at_path.into_iter().filter(|(file, _)| found.contains(file));
        brought.extend(at_path.map(|(file, digest)| (top.join(file.path), digest)));
    }
    brought.sort();
    brought.dedup();
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

    /// The names of the objects by which git may have written it here.
    fn objects(&self, entry: Option<&IndexEntry>, others: bool) -> Vec<Vec<u8>> {
        let mut objects: Vec<Vec<u8>> = entry.and_then(|entry| self.object_of(entry)).into_iter().collect();
        // Nobody runs one for whom git has none like it at the path.
        let is_run = self.is_run && entry.is_none_or(|entry| entry.mode != RUN);
        if others && !self.is_link && !is_run {
            objects.extend(NAME_LENGTHS.map(|length| blob(&self.bytes, length)));
        }
        objects
    }

    /// The name of the entry's object if it is of this kind and has these bytes, or has them with the ends of lines that git writes for another
    /// system (gitattributes(5), `eol`).
    fn object_of(&self, entry: &IndexEntry) -> Option<Vec<u8>> {
        let has_mode = self.is_link == (entry.mode == LINK) && (!self.is_run || entry.mode == RUN);
        if !has_mode {
            return None;
        }
        let is_it = |bytes: &[u8]| blob(bytes, entry.object.len()) == entry.object;
        let is_one = is_it(&self.bytes) || !self.is_link && is_it(&without_returns(&self.bytes));
        is_one.then(|| entry.object.clone())
    }

    fn committed_as(&self, path: &Path, object: Vec<u8>) -> CommittedFile {
        CommittedFile { path: path.to_owned(), object, is_link: self.is_link, is_run: self.is_run }
    }
}

fn blob(bytes: &[u8], name_length: usize) -> Vec<u8> {
    object_name(ObjectKind::Blob, bytes, name_length)
}

/// The bytes with each end of a line as one letter.
fn without_returns(bytes: &[u8]) -> Vec<u8> {
    let is_kept = |(at, byte): &(usize, &u8)| **byte != b'\r' || bytes.get(at + 1) != Some(&b'\n');
    bytes.iter().enumerate().filter(is_kept).map(|(_, byte)| *byte).collect()
}

#[cfg(test)]
mod tests;
