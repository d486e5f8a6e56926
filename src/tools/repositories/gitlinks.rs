//! Which folders of a working tree does git take for repositories of their own, since its index says so (gitformat-index(5))?
//!
//! For each of them `git status` in the working tree asks git in that folder, which obeys the settings there.

use std::{
    ffi::OsStr,
    io::Read as _,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::PathBuf,
};

use super::folder::file_in;

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
const NAME_LENGTHS: [usize; 2] = [20, 32];
/// A bit of the flags behind it: there are more of them.
const EXTENDED: u16 = 0x4000;

/// The paths of such folders below the working tree. Where the index cannot be read, git cannot either.
pub fn gitlinks(repository: &OwnedFd) -> Vec<PathBuf> {
    let Some(file) = file_in(repository, "index") else { return Vec::new() };
    // Perf: usual ones have none, and that is told without reading them entry by entry.
    let mut bytes = Vec::new();
    let is_read = file.take(LONGEST_INDEX).read_to_end(&mut bytes).is_ok();
    if !is_read || memchr::memmem::find(&bytes, &LINK_MODE).is_none() {
        return Vec::new();
    }
    NAME_LENGTHS.iter().find_map(|length| links_in(&bytes, *length)).unwrap_or_default()
}

/// `None` = the entries do not fit objects' names of this length.
fn links_in(bytes: &[u8], name_length: usize) -> Option<Vec<PathBuf>> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (version, count) = (number(4)?, number(8)?);
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut links = Vec::new();
    let mut at = 12;
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let begin = at;
        let mode = number(begin + MODE_AT)?;
        at += BEFORE_NAME + name_length;
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
        if path.is_empty() {
            return None;
        }
        if mode == u32::from_be_bytes(LINK_MODE) && links.len() < MOST_LINKS {
            links.push(PathBuf::from(OsStr::from_bytes(&path)));
        }
    }
    // What follows says itself how long it is, up to the name of it all.
    while bytes.len().checked_sub(at)? > name_length {
        at = at.checked_add(8)?.checked_add(number(at + 4)? as usize)?;
    }
    (bytes.len() == at + name_length).then_some(links)
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
