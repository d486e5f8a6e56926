//! Where in a pack does an object stand, and of which others is it made?

use std::{
    fs::File,
    io::{self, BufReader, Read as _},
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::Path,
};

use flate2::bufread::ZlibDecoder;

use super::{FileFrom, FileTime, LONGEST_OBJECT, ObjectKind, READ_AT_ONCE, SearchBudget};
use sys::regular_file;

/// The beginning of a pack's index, and its version.
const PACK_INDEX: [u8; 8] = [0xFF, b't', b'O', b'c', 0, 0, 0, 2];
/// The places at which its table of counts by first bytes begins, and at which the names do.
const COUNTS_AT: u64 = 8;
const NAMES_AT: u64 = COUNTS_AT + 256 * 4;
/// Bytes of a checksum and of a place in the pack, in tables behind the names.
const CHECKSUM: u64 = 4;
const PLACE: u64 = 4;
/// A bit of such a place: the rest is a number in a table of larger ones.
const IS_LARGE: u32 = 0x8000_0000;
/// Bytes in front of an object that tell its kind, its length and what it is made of.
const LONGEST_BEGINNING: usize = 64;
/// The bit of a byte by which another one belongs to the number.
const GOES_ON: u8 = 0x80;
/// Kinds of entries that are made of others, which stand before them in the pack, or have a name.
const OF_ONE_BEFORE: u8 = 6;
const OF_NAMED: u8 = 7;
/// Objects of which one is made, one after the other. git makes no more.
const MOST_DELTAS: usize = 4_096;

/// A pack whose index is open. The rest is read once something of it is.
pub(super) struct Pack {
    index: File,
    /// The time at which the index came.
    pub came: FileTime,
    pack: Option<File>,
}

/// The beginning of an object in a pack.
struct PackedEntry {
    made: MadeOf,
    length: u64,
    /// The place of its bytes.
    at: u64,
}

/// Everything else that an entry's bytes need.
enum MadeOf {
    Nothing(ObjectKind),
    EntryAt(u64),
    Named(Vec<u8>),
}

impl Pack {
    /// `None` = it is no index that is known, or no regular file.
    pub fn of(path: &Path) -> Option<Pack> {
        let index = regular_file::open_without_links(path).ok()?;
        let found = index.metadata().ok()?;
        let mut begin = [0; PACK_INDEX.len()];
        index.read_exact_at(&mut begin, 0).ok()?;
        let pack = regular_file::open_without_links(&path.with_extension("pack")).ok();
        (begin == PACK_INDEX).then_some(Pack { index, came: (found.ctime(), found.ctime_nsec()), pack })
    }

    /// True if the index has this name.
    pub fn has(&self, object: &[u8], budget: &SearchBudget) -> bool {
        matches!(self.number_of(object, budget), Ok(Some(_)))
    }

    /// `None` also where that takes more memory than an object.
    pub fn read(&self, object: &[u8], budget: &SearchBudget) -> Option<(ObjectKind, Vec<u8>)> {
        let pack = self.pack.as_ref()?;
        let mut entry = PackedEntry::at(pack, self.place_of(object, budget).ok()??, object.len())?;
        let (mut changes, mut held) = (Vec::new(), 0);
        let kind = loop {
            let before = match entry.made {
                MadeOf::Nothing(kind) => break kind,
                _ if changes.len() == MOST_DELTAS => return None,
                MadeOf::EntryAt(place) => place,
                MadeOf::Named(ref name) => self.place_of(name, budget).ok()??,
            };
            held += entry.length;
            if LONGEST_OBJECT < held {
                return None;
            }
            changes.push(entry.bytes(pack, budget)?);
            entry = PackedEntry::at(pack, before, object.len())?;
        };
        let mut bytes = entry.bytes(pack, budget)?;
        for change in changes.iter().rev() {
            bytes = changed_by(&bytes, change, budget)?;
        }
        Some((kind, bytes))
    }

    fn number(&self, at: u64) -> io::Result<u32> {
        let mut number = [0; 4];
        self.index.read_exact_at(&mut number, at)?;
        Ok(u32::from_be_bytes(number))
    }

    fn count_to(&self, byte: u64) -> io::Result<u64> {
        Ok(u64::from(self.number(COUNTS_AT + byte * 4)?))
    }

    /// The number of an object among those of the index, by their names.
    fn number_of(&self, object: &[u8], budget: &SearchBudget) -> io::Result<Option<u64>> {
        let Some(first) = object.first().map(|byte| u64::from(*byte)) else { return Ok(None) };
        let mut low = if first == 0 { 0 } else { self.count_to(first - 1)? };
        let mut high = self.count_to(first)?;
        let mut name = vec![0; object.len()];
        while low < high {
            budget.lookups.take(1).ok_or(io::ErrorKind::QuotaExceeded)?;
            let middle = low + (high - low) / 2;
            self.index.read_exact_at(&mut name, NAMES_AT + middle * object.len() as u64)?;
            match name.as_slice().cmp(object) {
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    fn place_of(&self, object: &[u8], budget: &SearchBudget) -> io::Result<Option<u64>> {
        let Some(number) = self.number_of(object, budget)? else { return Ok(None) };
        let (all, length) = (self.count_to(255)?, object.len() as u64);
        let places_at = NAMES_AT + all * (length + CHECKSUM);
        let place = self.number(places_at + number * PLACE)?;
        if place & IS_LARGE == 0 {
            return Ok(Some(u64::from(place)));
        }
        let mut large = [0; 8];
        let at = places_at + all * PLACE + u64::from(place & !IS_LARGE) * large.len() as u64;
        self.index.read_exact_at(&mut large, at)?;
        Ok(Some(u64::from_be_bytes(large)))
    }
}

impl PackedEntry {
    fn at(pack: &File, place: u64, name_length: usize) -> Option<PackedEntry> {
        let mut begin = [0; LONGEST_BEGINNING];
        let read = pack.read_at(&mut begin, place).ok()?;
        let (begin, mut used) = (begin.get(..read)?, 0);
        let mut next = || {
            let byte = *begin.get(used)?;
            used += 1;
            Some(byte)
        };
        let first = next()?;
        let (mut length, mut shift, mut byte) = (u64::from(first & 0x0F), 4, first);
        while byte & GOES_ON != 0 {
            byte = next()?;
            length |= u64::from(byte & !GOES_ON).checked_shl(shift)?;
            shift += 7;
        }
        let made = match (first >> 4) & 0x07 {
            1 => MadeOf::Nothing(ObjectKind::Commit),
            2 => MadeOf::Nothing(ObjectKind::Tree),
            3 => MadeOf::Nothing(ObjectKind::Blob),
            4 => MadeOf::Nothing(ObjectKind::Tag),
            OF_ONE_BEFORE => {
                let mut byte = next()?;
                let mut back = u64::from(byte & !GOES_ON);
                while byte & GOES_ON != 0 {
                    byte = next()?;
                    back = back.checked_add(1)?.checked_mul(1 << 7)? | u64::from(byte & !GOES_ON);
                }
                MadeOf::EntryAt(place.checked_sub(back).filter(|before| *before < place)?)
            }
            OF_NAMED => {
                let name = begin.get(used..used + name_length)?.to_vec();
                used += name_length;
                MadeOf::Named(name)
            }
            _ => return None,
        };
        Some(PackedEntry { made, length, at: place.checked_add(used as u64)? })
    }

    fn bytes(&self, pack: &File, budget: &SearchBudget) -> Option<Vec<u8>> {
        if LONGEST_OBJECT < self.length {
            return None;
        }
        budget.inflated.take(self.length)?;
        let file = BufReader::with_capacity(READ_AT_ONCE, FileFrom { file: pack, at: self.at });
        let mut bytes = Vec::with_capacity(usize::try_from(self.length).ok()?);
        ZlibDecoder::new(file).take(self.length + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 == self.length).then_some(bytes)
    }
}

/// The bytes that git makes of others by what an entry says: pieces of them, and new ones.
fn changed_by(before: &[u8], change: &[u8], budget: &SearchBudget) -> Option<Vec<u8>> {
    let mut change = change.iter().copied();
    let of_before = length_in(&mut change)?;
    let length = length_in(&mut change)?;
    if of_before != before.len() as u64 || LONGEST_OBJECT < length {
        return None;
    }
    budget.inflated.take(length)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).ok()?);
    while let Some(what) = change.next() {
        if what & GOES_ON != 0 {
            let mut number = |bits: std::ops::Range<u8>| {
                let mut number = 0_usize;
                for (at, bit) in bits.enumerate() {
                    if what & (1 << bit) != 0 {
                        number |= usize::from(change.next()?) << (8 * at);
                    }
                }
                Some(number)
            };
            let (from, count) = (number(0..4)?, number(4..7)?);
            let count = if count == 0 { 0x1_0000 } else { count };
            if length < (bytes.len() + count) as u64 {
                return None;
            }
            bytes.extend_from_slice(before.get(from..from.checked_add(count)?)?);
        } else {
            let count = usize::from(what);
            let new: Vec<u8> = change.by_ref().take(count).collect();
            if count == 0 || new.len() != count {
                return None;
            }
            bytes.extend(new);
        }
        if length < bytes.len() as u64 {
            return None;
        }
    }
    (bytes.len() as u64 == length).then_some(bytes)
}

/// A number of which the lowest seven bits come first.
fn length_in(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let (mut length, mut shift) = (0_u64, 0);
    loop {
        let byte = bytes.next()?;
        length |= u64::from(byte & !GOES_ON).checked_shl(shift)?;
        shift += 7;
        if byte & GOES_ON == 0 {
            return Some(length);
        }
    }
}
