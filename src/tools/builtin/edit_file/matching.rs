//! Where in a file does an edit apply, and what does the file become? Exactly as given; else but for indentation and
//! trailing blanks; else but for escapes that are one too many; else, if the model has seen the file, at the one place
//! that is nearly the same. Where two places fit, none is taken.

use std::{borrow::Cow, ops::Range};

use memchr::memmem;

use super::{
    super::{changing::text::LineEnds, reading::MAX_FILE_BYTES},
    fuzzy,
    lines::{self, TextLines},
};
use protocol::{ToolError, ToolErrorType};

/// Places that a refusal names.
const SHOWN_PLACES: usize = 10;

/// One replacement.
#[derive(Debug, Clone, Copy)]
pub struct TextEdit<'a> {
    pub old: &'a str,
    pub new: &'a str,
    pub expected: ExpectedReplacements,
    /// The model has seen the file as it is, so a text that is nearly what stands there can be taken for it.
    pub may_guess: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedReplacements {
    Exactly(usize),
    /// Every occurrence, and at least one.
    All,
}

/// What an edit made.
#[derive(Debug)]
pub struct AppliedEdit {
    pub bytes: Vec<u8>,
    pub replaced: usize,
    /// The first line that was replaced, from 1.
    pub line: usize,
    /// How what was replaced differs from what was asked for.
    pub corrected: Option<String>,
}

/// A stretch of the file, and what comes in its place.
struct ReplacedRange {
    range: Range<usize>,
    new: Vec<u8>,
}

pub fn apply(text: &[u8], ends: LineEnds, edit: &TextEdit<'_>) -> Result<AppliedEdit, ToolError> {
    let (old, new) = (ends.given_to(edit.old), ends.given_to(edit.new));
    if old == new {
        let message = "oldString and newString are the same".to_owned();
        return Err(ToolError { kind: ToolErrorType::EditNoChange, message });
    }
    if let Some(applied) = exact(text, &old, &new, edit.expected)? {
        return Ok(applied);
    }
    let lines = TextLines::of(text);
    if let Some(swaps) = but_for_blanks(&lines, &old, &new, ends, edit.expected)? {
        let note = "oldString was matched ignoring indentation and trailing blanks, and newString indented like what \
                    it replaced";
        return applied(text, swaps, Some(note.to_owned()));
    }
    if let Some((old, new)) = unescaped(&old, &new) {
        // A line end that was escaped has to be the file's own.
        let (old, new) = (ends.given_to(&old), ends.given_to(&new));
        let note = "oldString and newString were escaped once too often, and matched without that";
        if let Some(applied) = exact(text, &old, &new, edit.expected)? {
            return Ok(AppliedEdit { corrected: Some(note.to_owned()), ..applied });
        }
        if let Some(swaps) = but_for_blanks(&lines, &old, &new, ends, edit.expected)? {
            let note = format!("{note}, ignoring indentation and trailing blanks");
            return applied(text, swaps, Some(note));
        }
    }
    if edit.expected == ExpectedReplacements::Exactly(1) {
        match fuzzy::find(&lines, &lines::of_pattern(&old).0) {
            fuzzy::FuzzyMatch::One { at, len, likeness } if edit.may_guess => {
                let lines_taken = match len {
                    1 => format!("line {}", at + 1),
                    _ => format!("lines {}-{}", at + 1, at + len),
                };
                let percent = likeness * 100.0;
                let note = format!(
                    "oldString does not stand in the file; {lines_taken}, {percent:.0} % the same, was taken for it"
                );
                let swap = swap_lines(&lines, at, &old, &new, ends);
                return applied(text, vec![swap], Some(note));
            }
            fuzzy::FuzzyMatch::Several(at) => {
                let message = format!(
                    "oldString does not stand in the file, and more than one place is nearly the same: lines {}. \
                     Give the text exactly as it is in the file, with more lines around it",
                    listed(at.iter().map(|at| at + 1))
                );
                return Err(ToolError { kind: ToolErrorType::EditNoOccurrenceFound, message });
            }
            _ => {}
        }
    }
    let hint = if !new.is_empty() && memmem::find(text, new.as_bytes()).is_some() {
        " (newString stands there already)"
    } else {
        ""
    };
    let message = format!(
        "oldString does not stand in the file{hint}. Give the text exactly as it is in the file, without escapes and \
         line numbers"
    );
    Err(ToolError { kind: ToolErrorType::EditNoOccurrenceFound, message })
}

/// Perf: two passes by memchr's searcher, and one copy. Nothing is held for each place: there may be millions.
fn exact(
    text: &[u8],
    old: &str,
    new: &str,
    expected: ExpectedReplacements,
) -> Result<Option<AppliedEdit>, ToolError> {
    let starts = || memmem::find_iter(text, old.as_bytes());
    let line = |start: usize| memchr::memchr_iter(b'\n', &text[..start]).count() + 1;
    let count = starts().count();
    check(count, expected, || starts().take(SHOWN_PLACES).map(line).collect())?;
    let Some(first) = starts().next() else { return Ok(None) };
    let length = (text.len() - count * old.len()).saturating_add(count.saturating_mul(new.len()));
    let mut bytes = Vec::with_capacity(bearable(length)?);
    let mut done = 0;
    for start in starts() {
        bytes.extend_from_slice(&text[done..start]);
        bytes.extend_from_slice(new.as_bytes());
        done = start + old.len();
    }
    bytes.extend_from_slice(&text[done..]);
    Ok(Some(AppliedEdit { bytes, replaced: count, line: line(first), corrected: None }))
}

/// The length of what an edit makes, if a file so long is changed at all.
fn bearable(length: usize) -> Result<usize, ToolError> {
    if length as u64 <= MAX_FILE_BYTES {
        return Ok(length);
    }
    let message = format!(
        "the edit would make a file of {length} bytes; files of more than {MAX_FILE_BYTES} are not changed"
    );
    Err(ToolError { kind: ToolErrorType::FileTooLarge, message })
}

fn but_for_blanks(
    lines: &TextLines<'_>,
    old: &str,
    new: &str,
    ends: LineEnds,
    expected: ExpectedReplacements,
) -> Result<Option<Vec<ReplacedRange>>, ToolError> {
    let (pattern, _) = lines::of_pattern(old);
    let starts = lines.find(&pattern);
    check(starts.len(), expected, || starts.iter().take(SHOWN_PLACES).map(|at| at + 1).collect())?;
    let (mut swaps, mut length) = (Vec::new(), 0);
    for at in starts {
        let swap = swap_lines(lines, at, old, new, ends);
        length = bearable(length + swap.new.len())?;
        swaps.push(swap);
    }
    Ok((!swaps.is_empty()).then_some(swaps))
}

/// None is not too few: there are other ways to look.
fn check(
    count: usize,
    expected: ExpectedReplacements,
    places: impl FnOnce() -> Vec<usize>,
) -> Result<(), ToolError> {
    let expected = match expected {
        ExpectedReplacements::Exactly(expected) if count != 0 && count != expected => expected,
        _ => return Ok(()),
    };
    let more = if SHOWN_PLACES < count { ", …" } else { "" };
    let message = format!(
        "oldString stands in the file {count} times (lines {}{more}), but expectedReplacements is {expected}. Give more \
         lines around it to name one, or the right expectedReplacements, or replaceAll: true",
        listed(places().into_iter())
    );
    Err(ToolError { kind: ToolErrorType::EditExpectedOccurrenceMismatch, message })
}

/// Whole lines of the file by the lines of `new`, indented like what they replace.
fn swap_lines(lines: &TextLines<'_>, at: usize, old: &str, new: &str, ends: LineEnds) -> ReplacedRange {
    let (old_lines, old_is_closed) = lines::of_pattern(old);
    let (new_lines, new_is_closed) = lines::of_pattern(new);
    let (first, last) = (&lines.all[at], &lines.all[at + old_lines.len() - 1]);
    let end = if old_is_closed { last.full_end } else { last.end };
    let line_end: &[u8] = match ends {
        LineEnds::Mixed if first.end < first.full_end => &lines.text[first.end..first.full_end],
        ends => ends.as_str().as_bytes(),
    };
    let indents = lines::IndentMapping::of(&old_lines, lines, at);
    let mut swapped = Vec::new();
    for (number, line) in new_lines.iter().enumerate() {
        if number != 0 {
            swapped.extend_from_slice(line_end);
        }
        indents.write(line, &mut swapped);
    }
    // The file's last line keeps its open end.
    if new_is_closed && !new_lines.is_empty() && (!old_is_closed || last.end < last.full_end) {
        swapped.extend_from_slice(line_end);
    }
    ReplacedRange { range: first.start..end, new: swapped }
}

fn applied(
    text: &[u8],
    swaps: Vec<ReplacedRange>,
    corrected: Option<String>,
) -> Result<AppliedEdit, ToolError> {
    let grown: usize = swaps.iter().map(|swap| swap.new.len()).sum();
    let shrunk: usize = swaps.iter().map(|swap| swap.range.len()).sum();
    let mut bytes = Vec::with_capacity(bearable((text.len() + grown).saturating_sub(shrunk))?);
    let mut done = 0;
    for swap in &swaps {
        bytes.extend_from_slice(&text[done..swap.range.start]);
        bytes.extend_from_slice(&swap.new);
        done = swap.range.end;
    }
    bytes.extend_from_slice(&text[done..]);
    let first = swaps.first().map_or(0, |swap| swap.range.start);
    let line = memchr::memchr_iter(b'\n', &text[..first]).count() + 1;
    Ok(AppliedEdit { bytes, replaced: swaps.len(), line, corrected })
}

/// Both texts without a level of escapes, if the old one has any. In the new one only those go that the old one had:
/// others may be meant.
fn unescaped(old: &str, new: &str) -> Option<(String, String)> {
    const ESCAPES: &[(&str, &str)] = &[
        ("\\\\", "\\"),
        ("\\n", "\n"),
        ("\\t", "\t"),
        ("\\r", "\r"),
        ("\\\"", "\""),
        ("\\'", "'"),
        ("\\`", "`"),
    ];
    let used: Vec<(&str, &str)> =
        ESCAPES.iter().copied().filter(|(escape, _)| old.contains(escape)).collect();
    if used.is_empty() {
        return None;
    }
    let plain = |text: &str| {
        let mut plain = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('\\') {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            match used.iter().find(|(escape, _)| rest.starts_with(escape)) {
                Some((escape, meant)) => {
                    plain.push_str(meant);
                    rest = &rest[escape.len()..];
                }
                None => {
                    plain.push('\\');
                    rest = &rest[1..];
                }
            }
        }
        plain.push_str(rest);
        plain
    };
    Some((plain(old), plain(new)))
}

fn listed(numbers: impl Iterator<Item = usize>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

/// The lines of a file that are most like a text, with their numbers; for a refusal.
pub fn nearest(text: &[u8], old: &str) -> Vec<(usize, String)> {
    let lines = TextLines::of(text);
    let (pattern, _) = lines::of_pattern(old);
    let Some(at) = fuzzy::nearest(&lines, &pattern) else { return Vec::new() };
    /// As many as show where one is.
    const SHOWN: usize = 5;
    let shown = lines.all.iter().enumerate().skip(at).take(pattern.len().clamp(1, SHOWN));
    let text = |line: &lines::LineSpan| -> Cow<'_, str> {
        String::from_utf8_lossy(&lines.text[line.start..line.end])
    };
    shown.map(|(number, line)| (number + 1, text(line).into_owned())).collect()
}
