//! What did a tool say? Reads the text our own tools write for models; lines it does not understand, such as notes
//! in brackets, are passed over.

use std::collections::BTreeMap;

use super::transcript::Lines;

/// The names of a folder's listing: one a line, folders with a `/` behind; what follows the name (sizes, times) is
/// left out.
pub(super) fn entries(text: &str) -> Vec<String> {
    let names = text.lines().filter(|line| !is_note(line) && !line.trim().is_empty());
    names
        .map(|line| line.trim().split("  ").next().unwrap_or_default())
        .map(|name| name.split(['\t', '(']).next().unwrap_or_default().trim().to_owned())
        .filter(|name| !name.is_empty() && !name.ends_with(':'))
        .collect()
}

/// The paths of a list of files: one a line.
pub(super) fn paths(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !is_note(line) && !line.is_empty() && !line.ends_with(':'))
        .map(str::to_owned)
        .collect()
}

/// Matching lines per file: `path: 3` or `path:3` a line.
pub(super) fn counts(text: &str) -> BTreeMap<String, u32> {
    let pairs = text.lines().filter(|line| !is_note(line)).filter_map(|line| {
        let (path, count) = line.rsplit_once(':')?;
        let digits: String = count.trim().chars().take_while(char::is_ascii_digit).collect();
        Some((path.trim().to_owned(), digits.parse().ok()?))
    });
    pairs.collect()
}

/// The lines a search showed: a line with the path, then `12: text` (match) or `12- text` (context). `only_file`
/// is the file searched, when there was but one.
pub(super) fn matches(text: &str, only_file: Option<&str>) -> Vec<(String, u32, String)> {
    let mut path = only_file.map(str::to_owned);
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some((number, shown)) = numbered_line(line) {
            if let Some(path) = &path {
                found.push((path.clone(), number, shown.to_owned()));
            }
        } else if !is_note(line) && !line.trim().is_empty() && line.trim() != "--" {
            path = Some(line.trim().trim_end_matches(':').to_owned());
        }
    }
    found
}

/// The lines of a file that was read from line `first` on; `known` are lines of it that are known otherwise.
pub(super) fn numbered(text: &str, first: u32, limit: Option<usize>, known: &Lines) -> Lines {
    let texts: Vec<&str> = text.lines().collect();
    let has_note = texts.first().is_some_and(|line| is_note(line));
    // A first line in brackets is a note, or a line of the file that looks like one. The known lines tell.
    let skipped = if has_note && !agrees(&texts, first, known) { notes_before(&texts) } else { 0 };
    let numbers = first..;
    let numbered = numbers.zip(texts.iter().skip(skipped)).take(limit.unwrap_or(usize::MAX));
    // A note at the end says that there is more; no line of ours may point at it.
    numbered
        .filter(|(_, line)| !is_reading_note(line))
        .map(|(number, line)| (number, (*line).to_owned()))
        .collect()
}

/// Whether the lines are numbered right when the first text is line `first`.
fn agrees(texts: &[&str], first: u32, known: &Lines) -> bool {
    let shown: Vec<bool> = (first..)
        .zip(texts)
        .filter_map(|(number, text)| known.get(&number).map(|known| text.starts_with(known.trim_end())))
        .collect();
    if shown.is_empty() {
        return !texts.first().is_some_and(|line| is_reading_note(line));
    }
    shown.iter().filter(|agrees| **agrees).count() * 2 > shown.len()
}

/// The note and the blank line that sets it apart.
fn notes_before(texts: &[&str]) -> usize {
    1 + usize::from(texts.get(1).is_some_and(|line| line.trim().is_empty()))
}

fn is_note(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('[') && line.ends_with(']')
}

/// A note of `read_file`, and not a line of a file that stands in brackets.
fn is_reading_note(line: &str) -> bool {
    is_note(line)
        && line.contains(' ')
        && line.contains("line")
        && line.contains(|digit: char| digit.is_ascii_digit())
}

fn numbered_line(line: &str) -> Option<(u32, &str)> {
    let digits = line.find(|character: char| !character.is_ascii_digit())?;
    let number = line[..digits].parse().ok()?;
    let shown = line[digits..].strip_prefix([':', '-'])?;
    Some((number, shown.strip_prefix(' ').unwrap_or(shown)))
}
