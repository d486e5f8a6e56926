//! What does an index have that shares its entries with another file (gitformat-index(5), "Split index")?
//!
//! The shared one has most entries, and is never written again. The index itself says which of those are gone, and has the ones that stand in
//! for others, without their paths, and those that came.

use super::{TakeEntry, entries_in};

/// The extension by which an index names the shared one.
const LINK: &[u8; 4] = b"link";
/// Entries of a shared index that are counted: of some million files.
const MOST_ENTRIES: u64 = 1 << 24;

/// The words of the index about the shared one.
#[derive(Debug)]
pub(super) struct IndexLink<'a> {
    /// The name of the shared one, in bytes. Zeros = there is none.
    base: &'a [u8],
    /// The rest: two bitmaps, of which entries are gone, and of which others stand in for. Missing = none.
    bitmaps: &'a [u8],
}

/// The entries of the shared index, and what became of them.
#[derive(Debug)]
pub(super) struct SharedBase {
    pub bytes: Vec<u8>,
    gone: Bitmap,
    replaced: Bitmap,
}

/// A bit an entry.
#[derive(Debug, Default)]
struct Bitmap(Vec<u64>);

/// Finds it among the extensions of an index.
pub(super) fn link_in(mut extensions: &[u8], name_length: usize) -> Option<IndexLink<'_>> {
    while let Some((head, rest)) = extensions.split_at_checked(8) {
        let length = u32::from_be_bytes(head[4..].try_into().ok()?) as usize;
        let (content, behind) = rest.split_at_checked(length)?;
        if head.starts_with(LINK) {
            let (base, bitmaps) = content.split_at_checked(name_length)?;
            return Some(IndexLink { base, bitmaps });
        }
        extensions = behind;
    }
    None
}

impl SharedBase {
    /// Reads it by its name. `Some(None)` = the index has all entries itself; `None` = it cannot be read.
    pub fn of(
        link: IndexLink<'_>,
        name_length: usize,
        read: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Option<Option<SharedBase>> {
        if link.base.iter().all(|byte| *byte == 0) {
            return Some(None);
        }
        let name: String = link.base.iter().map(|byte| format!("{byte:02x}")).collect();
        let bytes = read(&format!("sharedindex.{name}"))?;
        let mut is_whole = true;
        entries_in(&bytes, name_length, &mut |path, _, _, _| is_whole &= !path.is_empty())?;
        let (gone, rest) =
            if link.bitmaps.is_empty() { Default::default() } else { Bitmap::read(link.bitmaps)? };
        let (replaced, rest) = if rest.is_empty() { Default::default() } else { Bitmap::read(rest)? };
        (is_whole && rest.is_empty()).then_some(Some(SharedBase { bytes, gone, replaced }))
    }
}

/// Calls it with each entry that counts, in no order.
pub(super) fn each_of_both(
    base: &SharedBase,
    (bytes, name_length): (&[u8], usize),
    take: &mut TakeEntry<'_>,
) {
    // The first ones of the index stand in for others, in the order of those.
    let mut stand_ins: Vec<(u32, Vec<u8>, bool)> = Vec::new();
    let _fits = entries_in(bytes, name_length, &mut |path, mode, object, is_merged| match path {
        [] => stand_ins.push((mode, object.to_vec(), is_merged)),
        path => take(path, mode, object, is_merged),
    });
    let (mut stand_ins, mut number) = (stand_ins.into_iter(), 0);
    let _fits = entries_in(&base.bytes, name_length, &mut |path, mode, object, is_merged| {
        let stands_in = if base.replaced.has(number) { stand_ins.next() } else { None };
        if !base.gone.has(number) {
            match stands_in {
                Some((mode, object, is_merged)) => take(path, mode, &object, is_merged),
                None => take(path, mode, object, is_merged),
            }
        }
        number += 1;
    });
}

impl Bitmap {
    /// Reads one in the compressed form that git has (gitformat-bitmap(5), "Serialization format for an EWAH bitmap"). Answers what stands
    /// behind it.
    fn read(bytes: &[u8]) -> Option<(Bitmap, &[u8])> {
        let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (bits, count) = (u64::from(number(0)?), number(4)? as usize);
        if MOST_ENTRIES < bits {
            return None;
        }
        let end = count.checked_mul(8)?.checked_add(8)?;
        let mut packed = bytes
            .get(8..end)?
            .chunks_exact(8)
            .map(|word| word.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte)));
        let words = usize::try_from(bits.div_ceil(64)).ok()?;
        let mut unpacked = Vec::with_capacity(words);
        // A word tells how often one of the same bits comes, and how many stand behind as they are.
        while let Some(run) = packed.next() {
            let same = usize::try_from(run >> 1 & 0xFFFF_FFFF).ok()?;
            if words.checked_sub(unpacked.len())? < same {
                return None;
            }
            unpacked.resize(unpacked.len() + same, if run & 1 == 0 { 0 } else { u64::MAX });
            for _ in 0..run >> 33 {
                unpacked.push(packed.next()?);
            }
        }
        // Where the last word begins that says so.
        number(end)?;
        Some((Bitmap(unpacked), &bytes[end + 4..]))
    }

    fn has(&self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }
}
