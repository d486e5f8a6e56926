//! Which lines does a change remove and add? As a unified diff.
//!
//! Perf: what both files begin and end with is skipped by comparing bytes, and what is left of large files is taken apart
//! at the next lines that agree again, so that the work grows with the change and not with the square of the file.

use std::{collections::HashMap, fmt::Write as _, ops::Range};

use memchr::{memchr_iter, memrchr_iter};
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// Lines around a change.
const CONTEXT: usize = 3;
/// Lines of a stretch, old and new, in which the smallest difference is looked for. Its price is their product.
const MAX_EXACT_LINES: usize = 4_000;
/// Lines that are compared at all, old and new; of each one it is known where it lies. In files where more differ, all of that counts as
/// changed.
const MOST_LINES: usize = 1_000_000;
/// Lines looked ahead for two that agree again, in larger stretches.
const LOOK_AHEAD: usize = 200;

#[derive(Debug, Default)]
pub struct UnifiedDiff {
    /// Empty when nothing differs.
    pub text: String,
    pub added: usize,
    pub removed: usize,
}

impl UnifiedDiff {
    /// `None` = there is no file.
    pub fn of(shown: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> UnifiedDiff {
        // Perf: of large files most lines are in neither part of what is shown, and are only counted.
        let same = CommonEnds::of(old.unwrap_or_default(), new.unwrap_or_default());
        UnifiedDiff::without(&same, shown, old, new)
    }

    fn without(same: &CommonEnds, shown: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> UnifiedDiff {
        let (old_bytes, new_bytes) = (old.unwrap_or_default(), new.unwrap_or_default());
        let (old_rest, new_rest) = (same.part(old_bytes), same.part(new_bytes));
        if MOST_LINES < count(old_rest) + count(new_rest) {
            return UnifiedDiff::of_all(same, (shown, old.is_some(), new.is_some()), old_rest, new_rest);
        }
        let (old_lines, new_lines) = (lines(old_rest), lines(new_rest));
        let ops = operations(&old_lines, &new_lines);
        let mut diff = UnifiedDiff::default();
        for op in &ops {
            let (removed, added) = match op {
                DiffOp::Equal { .. } => (0, 0),
                DiffOp::Delete { old_len, .. } => (*old_len, 0),
                DiffOp::Insert { new_len, .. } => (0, *new_len),
                DiffOp::Replace { old_len, new_len, .. } => (*old_len, *new_len),
            };
            diff.removed += removed;
            diff.added += added;
        }
        let is_same_presence = old.is_some() == new.is_some();
        if diff.removed + diff.added == 0 && is_same_presence {
            return diff;
        }
        diff.names(shown, old.is_some(), new.is_some());
        for group in group_diff_ops(ops, CONTEXT) {
            hunk(&mut diff.text, &group, (&old_lines, &new_lines), same.lines_before);
        }
        diff
    }

    /// All of these parts of two files, without a look at what is the same in them.
    fn of_all(
        same: &CommonEnds,
        (shown, has_old, has_new): (&str, bool, bool),
        old: &[u8],
        new: &[u8],
    ) -> UnifiedDiff {
        let mut diff = UnifiedDiff { removed: count(old), added: count(new), ..UnifiedDiff::default() };
        diff.names(shown, has_old, has_new);
        let (removed, added) = (0..diff.removed, 0..diff.added);
        let (removed, added) = (header(&removed, same.lines_before), header(&added, same.lines_before));
        let _ = writeln!(diff.text, "@@ -{removed} +{added} @@");
        for (sign, bytes) in [('-', old), ('+', new)] {
            bytes.split_inclusive(|byte| *byte == b'\n').for_each(|line| push(&mut diff.text, sign, line));
        }
        diff
    }

    fn names(&mut self, shown: &str, has_old: bool, has_new: bool) {
        let name = |side: char, is_there: bool| match is_there {
            true => format!("{side}/{shown}"),
            false => "/dev/null".to_owned(),
        };
        let _ = writeln!(self.text, "--- {}\n+++ {}", name('a', has_old), name('b', has_new));
    }
}

/// What two files begin and end with, but for the lines that are shown around a change.
struct CommonEnds {
    /// Bytes at the beginning, and how many lines they are.
    before: usize,
    lines_before: usize,
    /// Bytes at the end.
    after: usize,
}

impl CommonEnds {
    fn of(old: &[u8], new: &[u8]) -> CommonEnds {
        let begin = common(old.chunks(PIECE), new.chunks(PIECE), |a, b| {
            a.iter().zip(b).take_while(|(a, b)| a == b).count()
        });
        let (old_rest, new_rest) = (&old[begin..], &new[begin..]);
        let end = common(old_rest.rchunks(PIECE), new_rest.rchunks(PIECE), |a, b| {
            a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
        });
        // Whole lines, and of those all but the ones around the change. A line more, since a change may begin or end in the
        // midst of one.
        let mut breaks = memrchr_iter(b'\n', &old[..begin]);
        let before = breaks.nth(CONTEXT + 1).map_or(0, |at| at + 1);
        let tail = &old[old.len() - end..];
        let after = memchr_iter(b'\n', tail).nth(CONTEXT + 1).map_or(0, |at| tail.len() - at - 1);
        CommonEnds { before, lines_before: memchr_iter(b'\n', &old[..before]).count(), after }
    }

    /// The bytes of a file between them.
    fn part<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.before..bytes.len() - self.after]
    }
}

/// The number of lines; the last may have no end.
fn count(bytes: &[u8]) -> usize {
    memchr_iter(b'\n', bytes).count() + usize::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}

/// Bytes that are compared at once.
const PIECE: usize = 4096;

/// How many bytes are the same, piece by piece; `within` counts in the first two pieces that differ.
fn common<'a>(
    a: impl Iterator<Item = &'a [u8]>,
    b: impl Iterator<Item = &'a [u8]>,
    within: fn(&[u8], &[u8]) -> usize,
) -> usize {
    let mut same = 0;
    for (a, b) in a.zip(b) {
        if a != b {
            return same + within(a, b);
        }
        same += a.len();
    }
    same
}

/// Lines with their ends; the last may have none.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut start = 0;
    for end in memchr_iter(b'\n', bytes) {
        lines.push(&bytes[start..=end]);
        start = end + 1;
    }
    if start < bytes.len() {
        lines.push(&bytes[start..]);
    }
    lines
}

fn operations(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    let begin = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[begin..], &new[begin..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (begin..old.len() - end, begin..new.len() - end);
    let mut ops = Vec::new();
    if begin != 0 {
        ops.push(DiffOp::Equal { old_index: 0, new_index: 0, len: begin });
    }
    middle(old, new, old_middle.clone(), new_middle.clone(), &mut ops);
    if end != 0 {
        ops.push(DiffOp::Equal { old_index: old_middle.end, new_index: new_middle.end, len: end });
    }
    ops
}

/// What is left when the same beginning and end are gone.
fn middle(old: &[&[u8]], new: &[&[u8]], a: Range<usize>, b: Range<usize>, ops: &mut Vec<DiffOp>) {
    if a.len() + b.len() <= MAX_EXACT_LINES {
        return exact(old, new, a, b, ops);
    }
    let (mut i, mut j) = (a.start, b.start);
    while i < a.end || j < b.end {
        let same = old[i..a.end].iter().zip(&new[j..b.end]).take_while(|(x, y)| x == y).count();
        if same != 0 {
            ops.push(DiffOp::Equal { old_index: i, new_index: j, len: same });
            (i, j) = (i + same, j + same);
            continue;
        }
        let (next_i, next_j) =
            agreeing(&old[i..a.end], &new[j..b.end]).map_or((a.end, b.end), |(di, dj)| (i + di, j + dj));
        if (next_i - i) + (next_j - j) <= MAX_EXACT_LINES {
            exact(old, new, i..next_i, j..next_j, ops);
        } else {
            changed(i..next_i, j..next_j, ops);
        }
        (i, j) = (next_i, next_j);
    }
}

/// How far the nearest lines are that agree again: two in a row, or the last ones.
fn agreeing(old: &[&[u8]], new: &[&[u8]]) -> Option<(usize, usize)> {
    let agrees = |i: usize, j: usize| {
        old.get(i).is_some_and(|line| new.get(j) == Some(line)) && old.get(i + 1) == new.get(j + 1)
    };
    (1..=2 * LOOK_AHEAD)
        .find_map(|distance| (0..=distance).map(|i| (i, distance - i)).find(|(i, j)| agrees(*i, *j)))
}

/// The smallest difference of a stretch.
fn exact<'a>(old: &[&'a [u8]], new: &[&'a [u8]], a: Range<usize>, b: Range<usize>, ops: &mut Vec<DiffOp>) {
    // Lines are compared once here, and as numbers from then on.
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut number = |line: &&'a [u8]| {
        let next = known.len();
        *known.entry(line).or_insert(next)
    };
    let old_numbers: Vec<usize> = old[a.clone()].iter().map(&mut number).collect();
    let new_numbers: Vec<usize> = new[b.clone()].iter().map(&mut number).collect();
    for op in capture_diff_slices(Algorithm::Myers, &old_numbers, &new_numbers) {
        let (old_range, new_range) = (op.old_range(), op.new_range());
        let (old_index, new_index) = (a.start + old_range.start, b.start + new_range.start);
        match op {
            DiffOp::Equal { len, .. } => ops.push(DiffOp::Equal { old_index, new_index, len }),
            _ => changed(old_index..a.start + old_range.end, new_index..b.start + new_range.end, ops),
        }
    }
}

fn changed(old: Range<usize>, new: Range<usize>, ops: &mut Vec<DiffOp>) {
    let (old_index, old_len, new_index, new_len) = (old.start, old.len(), new.start, new.len());
    match (old_len, new_len) {
        (0, 0) => {}
        (_, 0) => ops.push(DiffOp::Delete { old_index, old_len, new_index }),
        (0, _) => ops.push(DiffOp::Insert { old_index, new_index, new_len }),
        _ => ops.push(DiffOp::Replace { old_index, old_len, new_index, new_len }),
    }
}

/// `skipped`: lines before the first one of both.
fn hunk(text: &mut String, group: &[DiffOp], (old, new): (&[&[u8]], &[&[u8]]), skipped: usize) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let old_range = first.old_range().start..last.old_range().end;
    let new_range = first.new_range().start..last.new_range().end;
    let _ = writeln!(text, "@@ -{} +{} @@", header(&old_range, skipped), header(&new_range, skipped));
    for op in group {
        let old_lines = &old[op.old_range()];
        let new_lines = &new[op.new_range()];
        if let DiffOp::Equal { .. } = op {
            old_lines.iter().for_each(|line| push(text, ' ', line));
            continue;
        }
        old_lines.iter().for_each(|line| push(text, '-', line));
        new_lines.iter().for_each(|line| push(text, '+', line));
    }
}

/// Lines are counted from 1, and an empty range stands after the line it names.
fn header(range: &Range<usize>, skipped: usize) -> String {
    let start = skipped + range.start;
    match range.len() {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        len => format!("{},{len}", start + 1),
    }
}

fn push(text: &mut String, sign: char, line: &[u8]) {
    text.push(sign);
    text.push_str(&String::from_utf8_lossy(line));
    if !line.ends_with(b"\n") {
        text.push_str("\n\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seeded sequence: Knuth's MMIX generator.
    fn below(state: &mut u64, n: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % n
    }

    #[test]
    fn what_is_skipped_as_the_same_is_in_no_part_of_a_diff() {
        let mut state = 1;
        for round in 0..3_000 {
            // Few different lines, so that beginnings and ends overlap in many ways; long ones reach over pieces.
            let line = |state: &mut u64| match below(state, 4) {
                0 => "a\n".to_owned(),
                1 => "ab\n".to_owned(),
                2 => "\n".to_owned(),
                _ => "x".repeat(usize::try_from(below(state, 3_000)).unwrap()) + "\n",
            };
            let n_lines = below(&mut state, 30);
            let mut lines: Vec<String> = (0..n_lines).map(|_| line(&mut state)).collect();
            let old = lines.concat();
            for _ in 0..below(&mut state, 4) {
                let at = usize::try_from(below(&mut state, lines.len() as u64 + 1)).unwrap();
                match below(&mut state, 3) {
                    0 if at < lines.len() => drop(lines.remove(at)),
                    1 if at < lines.len() => lines[at] = line(&mut state),
                    _ => lines.insert(at, line(&mut state)),
                }
            }
            let mut new = lines.concat();
            if below(&mut state, 4) == 0 {
                new.truncate(new.trim_end().len());
            }
            let (old, new) = (Some(old.as_bytes()), Some(new.as_bytes()));
            let nothing = CommonEnds { before: 0, lines_before: 0, after: 0 };
            let (found, wanted) =
                (UnifiedDiff::of("f", old, new), UnifiedDiff::without(&nothing, "f", old, new));
            assert_eq!(found.text, wanted.text, "round {round}");
            assert_eq!((found.added, found.removed), (wanted.added, wanted.removed), "round {round}");
        }
    }

    #[test]
    fn what_differs_in_too_many_lines_counts_as_changed_whole() {
        let (old, new) = (format!("x\n{}", "\n".repeat(600_000)), "a\n".repeat(600_000));
        let diff = UnifiedDiff::of("f", Some(old.as_bytes()), Some(new.as_bytes()));
        assert_eq!((diff.removed, diff.added), (600_001, 600_000));
        assert!(diff.text.starts_with("--- a/f\n+++ b/f\n@@ -1,600001 +1,600000 @@\n-x\n-\n-\n"));
        assert!(diff.text.ends_with("\n-\n+a\n") || diff.text.ends_with("+a\n+a\n"));
    }
}
