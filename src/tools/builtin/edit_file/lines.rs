//! Which lines of a file are the same as some others, but for indentation and trailing blanks?

use std::collections::HashMap;

use memchr::memchr_iter;

/// Lines of a text that are told apart; of each one it is known where it lies. Texts with more are only searched byte by byte.
const MOST_LINES: usize = 1_000_000;

/// A text as lines; none of one that has too many.
pub struct TextLines<'a> {
    pub text: &'a [u8],
    pub all: Vec<LineSpan>,
}

/// One line: `start..end` without its end, `start..full_end` with it.
#[derive(Debug, Clone, Copy)]
pub struct LineSpan {
    pub start: usize,
    pub end: usize,
    pub full_end: usize,
}

impl<'a> TextLines<'a> {
    pub fn of(text: &'a [u8]) -> TextLines<'a> {
        let mut all = Vec::new();
        if MOST_LINES <= memchr_iter(b'\n', text).count() {
            return TextLines { text, all };
        }
        let mut start = 0;
        for at in memchr_iter(b'\n', text) {
            let end = if start < at && text[at - 1] == b'\r' { at - 1 } else { at };
            all.push(LineSpan { start, end, full_end: at + 1 });
            start = at + 1;
        }
        if start < text.len() {
            all.push(LineSpan { start, end: text.len(), full_end: text.len() });
        }
        TextLines { text, all }
    }

    /// A line without blanks around it.
    pub fn trimmed(&self, at: usize) -> &'a [u8] {
        let line = self.all[at];
        self.text[line.start..line.end].trim_ascii()
    }

    /// Where the lines of `pattern` stand in a row, but for blanks; without overlaps. A pattern of nothing but blank lines
    /// stands nowhere.
    ///
    /// Perf: Knuth, Morris and Pratt's search over numbered lines, so that files of many equal lines cost no more.
    pub fn find(&self, pattern: &[&str]) -> Vec<usize> {
        if pattern.iter().all(|line| line.trim_ascii().is_empty()) {
            return Vec::new();
        }
        let mut numbers: HashMap<&[u8], usize> = HashMap::new();
        let wanted: Vec<usize> = pattern
            .iter()
            .map(|line| {
                let next = numbers.len();
                *numbers.entry(line.trim_ascii().as_bytes()).or_insert(next)
            })
            .collect();
        let borders = borders(&wanted);
        let (mut found, mut matched) = (Vec::new(), 0);
        for at in 0..self.all.len() {
            let number = numbers.get(self.trimmed(at)).copied();
            while matched != 0 && Some(wanted[matched]) != number {
                matched = borders[matched - 1];
            }
            if Some(wanted[matched]) == number {
                matched += 1;
            }
            if matched == wanted.len() {
                found.push(at + 1 - matched);
                matched = 0;
            }
        }
        found
    }
}

/// For each beginning, the length of its longest proper beginning that is its end as well.
fn borders(wanted: &[usize]) -> Vec<usize> {
    let mut borders = vec![0; wanted.len()];
    let mut length = 0;
    for at in 1..wanted.len() {
        while length != 0 && wanted[at] != wanted[length] {
            length = borders[length - 1];
        }
        if wanted[at] == wanted[length] {
            length += 1;
        }
        borders[at] = length;
    }
    borders
}

/// The lines of a text that was given, and whether the last one has an end.
pub fn of_pattern(text: &str) -> (Vec<&str>, bool) {
    let lines = text.split_inclusive('\n').map(|line| line.trim_end_matches('\n').trim_end_matches('\r'));
    (lines.collect(), text.ends_with('\n'))
}

/// How lines are indented in a file, by how they are in the text that was given for them.
pub struct IndentMapping<'a> {
    pairs: Vec<IndentPair<'a>>,
    /// What one level adds, where that can be told.
    level: Option<IndentPair<'a>>,
}

#[derive(Debug, Clone, Copy)]
struct IndentPair<'a> {
    given: &'a [u8],
    there: &'a [u8],
}

impl<'a> IndentMapping<'a> {
    /// Of lines of the text that stand in the file from `at` on.
    pub fn of(pattern: &[&'a str], lines: &TextLines<'a>, at: usize) -> IndentMapping<'a> {
        let given = pattern.iter().enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
        let pair = |(number, line): (usize, &&'a str)| {
            let LineSpan { start, end, .. } = lines.all[at + number];
            IndentPair { given: indent(line.as_bytes()), there: indent(&lines.text[start..end]) }
        };
        let pairs: Vec<IndentPair<'a>> = given.map(pair).collect();
        let deeper = |(from, to): (&IndentPair<'a>, &IndentPair<'a>)| {
            let given = to.given.strip_prefix(from.given).filter(|it| !it.is_empty())?;
            Some(IndentPair { given, there: to.there.strip_prefix(from.there)? })
        };
        let level = pairs.iter().zip(pairs.iter().skip(1)).find_map(deeper);
        IndentMapping { pairs, level }
    }

    /// Writes a line of the new text as the file would have it.
    pub fn write(&self, line: &str, to: &mut Vec<u8>) {
        let line = line.as_bytes();
        if line.trim_ascii().is_empty() {
            to.extend_from_slice(line);
            return;
        }
        let own = indent(line);
        // The first of the longest: lines of the same depth are indented like the first of them.
        let mut best: Option<&IndentPair<'_>> = None;
        for pair in self.pairs.iter().filter(|pair| own.starts_with(pair.given)) {
            if best.is_none_or(|best| best.given.len() < pair.given.len()) {
                best = Some(pair);
            }
        }
        match (best, self.pairs.first()) {
            (Some(best), _) => {
                to.extend_from_slice(best.there);
                let mut rest = &line[best.given.len()..];
                while let Some(level) = self.level
                    && let Some(deeper) = rest.strip_prefix(level.given)
                {
                    to.extend_from_slice(level.there);
                    rest = deeper;
                }
                to.extend_from_slice(rest);
            }
            // Less deep than anything given: as much deeper or less deep as the first line is.
            (None, Some(first)) if first.there.ends_with(first.given) => {
                to.extend_from_slice(&first.there[..first.there.len() - first.given.len()]);
                to.extend_from_slice(line);
            }
            _ => to.extend_from_slice(line),
        }
    }
}

fn indent(line: &[u8]) -> &[u8] {
    &line[..line.len() - line.trim_ascii_start().len()]
}
