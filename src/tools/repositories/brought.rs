//! Which files of a working tree are just what git has at their paths, by objects that it had before agents' commands began?
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
    gitlinks::{IndexEntry, index_entries},
    repositories_of_root,
};
use crate::digest;
use sys::regular_file;

/// Bytes of a file that is read.
const LONGEST: u64 = 256 << 10;
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

/// Answers those of these files, absolute and without links on their way, with the digests of their bytes. Only in repositories of the `roots`,
/// and of objects that were not touched since that second and nanosecond. Blocks.
pub fn brought_by_git(roots: &[PathBuf], files: &[PathBuf], since: (i64, i64)) -> Vec<(PathBuf, String)> {
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
        for (path, entry) in index_entries(&folder, &paths) {
            let file = top.join(path);
            let bytes = bytes_of(&file, &entry).filter(|bytes| is_object(bytes, &entry.object));
            if let Some(bytes) = bytes
                && is_older(&repository.common.join("objects"), &entry.object, since)
            {
                brought.push((file, digest::of(&bytes)));
            }
        }
    }
    brought
}

/// The bytes of a file, or the path of a link, of the kind that the entry says.
fn bytes_of(file: &Path, entry: &IndexEntry) -> Option<Vec<u8>> {
    let found = fs::symlink_metadata(file).ok()?;
    if found.is_symlink() {
        let to = fs::read_link(file).ok().filter(|_| entry.mode == LINK)?;
        return Some(to.as_os_str().as_bytes().to_vec());
    }
    let is_run = found.permissions().mode() & 0o111 != 0;
    if !found.is_file() || entry.mode == LINK || (is_run && entry.mode != RUN) {
        return None;
    }
    let mut bytes = Vec::new();
    regular_file::open_without_links(file).ok()?.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LONGEST).then_some(bytes)
}

/// True if the object of this name has these bytes.
fn is_object(bytes: &[u8], object: &[u8]) -> bool {
    let before = format!("blob {}\0", bytes.len());
    if object.len() == 20 {
        let hasher = <Sha1 as sha1::Digest>::new_with_prefix(before);
        let hasher = sha1::Digest::chain_update(hasher, bytes);
        return sha1::Digest::finalize(hasher).as_slice() == object;
    }
    let hasher = <Sha256 as sha2::Digest>::new_with_prefix(before);
    let hasher = sha2::Digest::chain_update(hasher, bytes);
    *sha2::Digest::finalize(hasher) == *object
}

/// True if an object lies there, by itself or in a pack, and has since before.
fn is_older(objects: &Path, object: &[u8], since: (i64, i64)) -> bool {
    let is_before = |found: fs::Metadata| found.is_file() && (found.ctime(), found.ctime_nsec()) < since;
    let name: String = object.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = name.split_at(2);
    if fs::symlink_metadata(objects.join(first).join(rest)).is_ok_and(is_before) {
        return true;
    }
    let packs = fs::read_dir(objects.join("pack")).into_iter().flatten().flatten();
    let indexes =
        packs.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "idx"));
    indexes.take(MOST_PACKS).any(|index| {
        let is_old = fs::symlink_metadata(&index).is_ok_and(is_before);
        is_old && names_object(&index, object).unwrap_or(false)
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
