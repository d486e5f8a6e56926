//! What does git's index have of a working tree (gitformat-index(5)): which folders are repositories of their own, and which object is at a path?
//!
//! For each such folder `git status` in the working tree asks git in it, which obeys the settings there.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsStr,
    io::Read as _,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::PathBuf,
};

use super::folder::file_in;
use split_index::{SharedBase, each_of_both};

mod split_index;

/// Bytes of an index that is read: of some million files.
const LONGEST_INDEX: u64 = 256 << 20;
/// Folders that are told at most. More are none that a person made.
const MOST_LINKS: usize = 200;
/// A mode of an entry that is such a folder, as it stands there.
const LINK_MODE: [u8; 4] = [0, 0, 0xE0, 0];
/// Bytes before the object's name in an entry, and where the mode stands among them.
const BEFORE_NAME: usize = 40;
const MODE_AT: usize = 24;
/// Bytes of an object's name, by either of git's ways to make one.
pub(super) const NAME_LENGTHS: [usize; 2] = [20, 32];
/// A bit of the flags behind it: there are more of them.
const EXTENDED: u16 = 0x4000;
/// Bits of the flags: of a merge that waits, one of the sides.
const STAGE: u16 = 0x3000;

/// An object that git has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    pub mode: u32,
    /// The object's name, in bytes.
    pub object: Vec<u8>,
}

/// The paths of such folders below the working tree. Where the index cannot be read, git cannot either.
pub fn gitlinks(repository: &OwnedFd) -> Vec<PathBuf> {
    let Some(index) = WorkingTreeIndex::of(repository) else { return Vec::new() };
    // Perf: usual ones have none, and that is told without reading them entry by entry.
    let is_one = |bytes: &[u8]| memchr::memmem::find(bytes, &LINK_MODE).is_some();
    if !is_one(&index.bytes) && index.base.as_ref().is_none_or(|base| !is_one(&base.bytes)) {
        return Vec::new();
    }
    let mut links = Vec::new();
    index.each(&mut |path, mode, _, _| {
        if mode == u32::from_be_bytes(LINK_MODE) && links.len() < MOST_LINKS {
            links.push(PathBuf::from(OsStr::from_bytes(path)));
        }
    });
    links
}

/// The entries of these paths below the working tree, but for those of a merge that waits.
pub fn index_entries(repository: &OwnedFd, wanted: &[PathBuf]) -> BTreeMap<PathBuf, IndexEntry> {
    let mut found = BTreeMap::new();
    let Some(index) = WorkingTreeIndex::of(repository) else { return found };
    let wanted: HashMap<&[u8], &PathBuf> =
        wanted.iter().map(|wanted| (wanted.as_os_str().as_bytes(), wanted)).collect();
    index.each(&mut |path, mode, object, is_merged| {
        if is_merged && let Some(wanted) = wanted.get(path) {
            found.insert(PathBuf::from(wanted), IndexEntry { mode, object: object.to_vec() });
        }
    });
    found
}

/// An index that is read, with the one that it shares its entries with.
struct WorkingTreeIndex {
    bytes: Vec<u8>,
    /// Bytes of an object's name.
    name_length: usize,
    base: Option<SharedBase>,
}

/// A use of the path, the mode and the object of an entry, and with whether that is of no merge that waits.
type TakeEntry<'a> = dyn FnMut(&[u8], u32, &[u8], bool) + 'a;

impl WorkingTreeIndex {
    /// `None` = it cannot be read.
    fn of(repository: &OwnedFd) -> Option<WorkingTreeIndex> {
        let bytes = read_index(repository, "index")?;
        let (name_length, link) = NAME_LENGTHS.iter().find_map(|length| {
            let behind = entries_in(&bytes, *length, &mut |_, _, _, _| ())?;
            Some((*length, split_index::link_in(behind, *length)))
        })?;
        let base = match link {
            Some(link) => SharedBase::of(link, name_length, |name| read_index(repository, name))?,
            None => None,
        };
        Some(WorkingTreeIndex { bytes, name_length, base })
    }

    fn each(&self, take: &mut TakeEntry<'_>) {
        match &self.base {
            Some(base) => each_of_both(base, (&self.bytes, self.name_length), take),
            None => {
                let _fits = entries_in(&self.bytes, self.name_length, take);
            }
        }
    }
}

fn read_index(repository: &OwnedFd, name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file_in(repository, name)?.take(LONGEST_INDEX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Calls it with each entry. One that stands in for another of a shared index has an empty path. Answers what stands behind them, up to the
/// name of it all; `None` = the entries do not fit objects' names of this length.
fn entries_in<'a>(bytes: &'a [u8], name_length: usize, take: &mut TakeEntry<'_>) -> Option<&'a [u8]> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (version, count) = (number(4)?, number(8)?);
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut at = 12;
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let begin = at;
        let mode = number(begin + MODE_AT)?;
        at += BEFORE_NAME + name_length;
        let object = bytes.get(begin + BEFORE_NAME..at)?;
        let flags = u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?);
        at += if flags & EXTENDED == 0 { 2 } else { 4 };
        if version == 4 {
            // So many letters of the path before are left out.
            let (less, length) = varint(bytes.get(at..)?)?;
            at += length;
            path.truncate(path.len().checked_sub(less)?);
        } else {
            path.clear();
        }
        let rest = bytes.get(at..)?;
        let end = memchr::memchr(0, rest)?;
        path.extend_from_slice(&rest[..end]);
        at += end + 1;
        if version < 4 {
            at = begin + (at - begin).next_multiple_of(8);
        }
        take(&path, mode, object, flags & STAGE == 0);
    }
    let extensions = at;
    // What follows says itself how long it is, up to the name of it all.
    while bytes.len().checked_sub(at)? > name_length {
        at = at.checked_add(8)?.checked_add(number(at + 4)? as usize)?;
    }
    (bytes.len() == at + name_length).then(|| &bytes[extensions..at])
}

/// Reads a number as git packs it: seven bits in each byte, the highest first.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        value = value.checked_add(usize::from(byte & 0x7F))?;
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value = value.checked_add(1)?.checked_shl(7)?;
    }
    None
}

#[cfg(test)]
mod tests;
