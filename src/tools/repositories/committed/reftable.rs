//! Which objects does a file of references name that git keeps as a table (reftable(5) of git's technical documentation)?
//!
//! What a later file takes back is named as well: whoever asks looks for where to begin.

use std::io::Read as _;

use flate2::bufread::ZlibDecoder;

use super::super::search_budget::SearchBudget;

/// The beginning of a file, and the version and the letters by which names are of 32 bytes.
const MAGIC: &[u8] = b"REFT";
const WITH_HASH: u8 = 2;
const SHA256: &[u8] = b"s256";
/// Bytes of a file's header and of its footer, without what the second version has more.
const HEADER: usize = 24;
const FOOTER: usize = 68;
const MORE: usize = 4;
/// The place in the footer, behind the header in it, of where logs begin.
const LOGS_AT: usize = 24;
/// The kinds of blocks, and the bytes before a block's records.
const OF_REFERENCES: u8 = b'r';
const OF_LOGS: u8 = b'g';
const BEFORE_RECORDS: usize = 4;
/// Bytes of a place at which a record stands whole, and of their count.
const RESTART: usize = 3;
const RESTARTS: usize = 2;
/// Kinds of records: a reference to an object, also with what a tag stands for, and one to another reference.
const OBJECT: usize = 1;
const TAG: usize = 2;
const SYMBOLIC: usize = 3;
/// Bytes of a time zone.
const ZONE: usize = 2;

/// Adds the names in all references and their logs.
pub(super) fn names_in_table(bytes: &[u8], budget: &SearchBudget, names: &mut Vec<Vec<u8>>) {
    // Of one that is cut off, or for which there is no room, what was read counts.
    let _cut = collect(bytes, budget, names);
}

fn collect(bytes: &[u8], budget: &SearchBudget, names: &mut Vec<Vec<u8>>) -> Option<()> {
    let more = if *bytes.strip_prefix(MAGIC)?.first()? == WITH_HASH { MORE } else { 0 };
    let header = HEADER + more;
    let name_length = if more > 0 && bytes.get(HEADER..header)? == SHA256 { 32 } else { 20 };
    let block_size = number(bytes.get(5..8)?);
    let mut at = 0;
    // The first one has the file's header in it.
    let records_of = |at: usize| if at == 0 { header } else { at };
    while bytes.get(records_of(at)) == Some(&OF_REFERENCES) {
        let begin = records_of(at);
        let end = at + number(bytes.get(begin + 1..begin + BEFORE_RECORDS)?);
        let next = if block_size == 0 { end } else { at + block_size };
        // Else what stands in it would be read once more with each that begins in it.
        if next < end {
            return None;
        }
        let records = without_restarts(bytes.get(begin + BEFORE_RECORDS..end)?)?;
        each_record(records, |rest, kind| {
            varint(rest)?;
            let count = if kind == SYMBOLIC { 0 } else { kind.min(TAG) };
            budget.names.take(count as u64)?;
            for _ in 0..count {
                names.push(take(rest, name_length)?.to_vec());
            }
            if kind == SYMBOLIC {
                let length = varint(rest)?;
                take(rest, length)?;
            }
            Some(())
        })?;
        at = next;
    }
    let footer = bytes.len().checked_sub(FOOTER + more)? + header;
    let mut at = number(bytes.get(footer + LOGS_AT..footer + LOGS_AT + 8)?);
    while bytes.get(records_of(at)) == Some(&OF_LOGS) {
        let begin = records_of(at);
        let length = number(bytes.get(begin + 1..begin + BEFORE_RECORDS)?);
        let mut packed = ZlibDecoder::new(bytes.get(begin + BEFORE_RECORDS..)?);
        budget.inflated.take(length as u64)?;
        let mut records = Vec::with_capacity(length);
        packed.by_ref().take(length as u64).read_to_end(&mut records).ok()?;
        each_record(without_restarts(&records)?, |rest, kind| {
            if kind != OBJECT {
                return Some(());
            }
            budget.names.take(2)?;
            for _ in 0..2 {
                names.push(take(rest, name_length)?.to_vec());
            }
            // Who it was, by name and address, at which time, and why.
            for _ in 0..2 {
                let length = varint(rest)?;
                take(rest, length)?;
            }
            varint(rest)?;
            take(rest, ZONE)?;
            let length = varint(rest)?;
            take(rest, length).map(drop)
        })?;
        at = begin + BEFORE_RECORDS + usize::try_from(packed.total_in()).ok()?;
    }
    Some(())
}

/// Reads the beginning of each record, and has the rest of it read by its kind.
fn each_record(mut rest: &[u8], mut read: impl FnMut(&mut &[u8], usize) -> Option<()>) -> Option<()> {
    while !rest.is_empty() {
        let _shared = varint(&mut rest)?;
        let word = varint(&mut rest)?;
        take(&mut rest, word >> 3)?;
        read(&mut rest, word & 7)?;
    }
    Some(())
}

fn without_restarts(block: &[u8]) -> Option<&[u8]> {
    let count = number(block.get(block.len().checked_sub(RESTARTS)?..)?);
    block.get(..block.len().checked_sub(RESTARTS + RESTART * count)?)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(taken)
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| (number << 8) | usize::from(*byte))
}

/// A number of which the highest seven bits come first, and each byte that goes on counts one more.
fn varint(rest: &mut &[u8]) -> Option<usize> {
    let mut byte = *take(rest, 1)?.first()?;
    let mut number = usize::from(byte & 0x7F);
    while byte & 0x80 != 0 {
        byte = *take(rest, 1)?.first()?;
        number = number.checked_add(1)?.checked_mul(1 << 7)? | usize::from(byte & 0x7F);
    }
    Some(number)
}
