//! Which lines of a file are nearly the same as some others, and are they the only ones?
//!
//! The work is bounded: large files and long texts are not guessed about.

use std::collections::HashMap;

use super::lines::TextLines;

/// Lines of a file in which is looked at all.
const MAX_LINES: usize = 50_000;
/// Lines of a text that is looked for.
const MAX_PATTERN_LINES: usize = 200;
/// Bytes of a line that is compared letter by letter; longer ones are the same or not.
const MAX_LINE_BYTES: usize = 400;
/// Places that are compared letter by letter.
const MAX_CANDIDATES: usize = 50;
/// A text of fewer bytes is nearly the same as too many others.
const MIN_PATTERN_BYTES: usize = 20;
/// What part of a place must be the same to be taken for the text.
const ENOUGH: f64 = 0.9;
/// What part makes another place a rival, so that none is taken.
const RIVAL: f64 = 0.85;
/// What part of each line must be the same.
const LEAST_OF_A_LINE: f64 = 0.5;
/// What part is worth showing to whoever looked for it.
const WORTH_SHOWING: f64 = 0.3;

#[derive(Debug, PartialEq)]
pub enum FuzzyMatch {
    None,
    /// From line `at` on, counted from 0.
    One {
        at: usize,
        len: usize,
        likeness: f64,
    },
    /// Lines at which the likely places begin.
    Several(Vec<usize>),
}

/// The only place that is nearly the same.
pub fn find(lines: &TextLines<'_>, pattern: &[&str]) -> FuzzyMatch {
    let bytes: usize = pattern.iter().map(|line| line.trim_ascii().len()).sum();
    let is_within = (1..=MAX_PATTERN_LINES).contains(&pattern.len())
        && pattern.len() <= lines.all.len()
        && lines.all.len() <= MAX_LINES;
    if !is_within || bytes < MIN_PATTERN_BYTES {
        return FuzzyMatch::None;
    }
    let mut likely: Vec<(usize, f64)> = candidates(lines, pattern)
        .into_iter()
        .map(|at| (at, likeness(lines, at, pattern)))
        .filter(|(_, likeness)| RIVAL <= *likeness)
        .collect();
    likely.sort_by_key(|(at, _)| *at);
    match likely[..] {
        [(at, likeness)] if ENOUGH <= likeness => FuzzyMatch::One { at, len: pattern.len(), likeness },
        [] | [_] => FuzzyMatch::None,
        _ => FuzzyMatch::Several(likely.into_iter().map(|(at, _)| at).collect()),
    }
}

/// The line at which what is most like `pattern` begins, if anything is.
pub fn nearest(lines: &TextLines<'_>, pattern: &[&str]) -> Option<usize> {
    let (offset, line) =
        pattern.iter().enumerate().max_by_key(|(_, line)| line.trim_ascii().len().min(MAX_LINE_BYTES))?;
    let wanted = line.trim_ascii().as_bytes();
    if wanted.is_empty() || MAX_LINE_BYTES < wanted.len() {
        return None;
    }
    let own = ByteHistogram::of(wanted);
    let mut near: Vec<(usize, usize)> = (0..lines.all.len().min(MAX_LINES))
        .filter(|at| lines.trimmed(*at).len() <= MAX_LINE_BYTES)
        .map(|at| (own.distance(&ByteHistogram::of(lines.trimmed(at))), at))
        .collect();
    near.sort_unstable();
    let scored = near.into_iter().take(MAX_CANDIDATES).map(|(_, at)| (same(wanted, lines.trimmed(at)), at));
    let (likeness, at) = scored.max_by(|(a, m), (b, n)| a.total_cmp(b).then(n.cmp(m)))?;
    (WORTH_SHOWING <= likeness).then(|| at.saturating_sub(offset))
}

/// Places worth a closer look: those where most lines are the same; of a single line those with much the same letters.
fn candidates(lines: &TextLines<'_>, pattern: &[&str]) -> Vec<usize> {
    if let [line] = pattern {
        let wanted = line.trim_ascii().as_bytes();
        let own = ByteHistogram::of(wanted);
        // A letter that is exchanged counts twice.
        let most = wanted.len() / 3;
        let is_near = |at: &usize| own.distance(&ByteHistogram::of(lines.trimmed(*at))) <= most;
        return (0..lines.all.len()).filter(is_near).take(MAX_CANDIDATES).collect();
    }
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (number, line) in pattern.iter().enumerate() {
        let line = line.trim_ascii().as_bytes();
        if !line.is_empty() {
            places.entry(line).or_default().push(number);
        }
    }
    let told: usize = places.values().map(Vec::len).sum();
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for at in 0..lines.all.len() {
        for number in places.get(lines.trimmed(at)).into_iter().flatten() {
            if let Some(start) = at.checked_sub(*number).filter(|at| at + pattern.len() <= lines.all.len()) {
                *votes.entry(start).or_default() += 1;
            }
        }
    }
    let mut likely: Vec<(usize, usize)> = votes.into_iter().filter(|(_, votes)| told <= 2 * votes).collect();
    likely.sort_by_key(|(at, votes)| (std::cmp::Reverse(*votes), *at));
    likely.into_iter().take(MAX_CANDIDATES).map(|(at, _)| at).collect()
}

/// What part of the lines from `at` on is the same, by letters; nothing where a line is quite another.
fn likeness(lines: &TextLines<'_>, at: usize, pattern: &[&str]) -> f64 {
    let (mut alike, mut whole) = (0.0, 0.0);
    for (number, line) in pattern.iter().enumerate() {
        let (wanted, there) = (line.trim_ascii().as_bytes(), lines.trimmed(at + number));
        let likeness = same(wanted, there);
        if likeness < LEAST_OF_A_LINE {
            return 0.0;
        }
        // At least one, so that blank lines count.
        let weight = wanted.len().max(there.len()).max(1) as f64;
        alike += likeness * weight;
        whole += weight;
    }
    alike / whole
}

/// What part of two lines is the same: 1 less the share of letters that must change.
fn same(a: &[u8], b: &[u8]) -> f64 {
    if a == b {
        return 1.0;
    }
    let longer = a.len().max(b.len());
    if MAX_LINE_BYTES < longer || a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    1.0 - row[b.len()] as f64 / longer as f64
}

/// How often each byte stands in a line: cheaper to compare than the line, and never further apart than twice the number
/// of bytes that must change.
struct ByteHistogram([u16; 256]);

impl ByteHistogram {
    fn of(line: &[u8]) -> ByteHistogram {
        let mut counts = [0_u16; 256];
        for byte in line {
            counts[usize::from(*byte)] = counts[usize::from(*byte)].saturating_add(1);
        }
        ByteHistogram(counts)
    }

    fn distance(&self, other: &ByteHistogram) -> usize {
        self.0.iter().zip(&other.0).map(|(a, b)| usize::from(a.abs_diff(*b))).sum()
    }
}
