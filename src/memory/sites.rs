//! Where does a text import another? `@path` at a line's start or after a blank, outside of code.

use std::ops::Range;

/// Letters that end a sentence rather than a path.
const ENDINGS: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'', '*', '_'];

/// A word that may import something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImportSite<'a> {
    /// With its `@`, in bytes.
    pub range: Range<usize>,
    /// As it stands, and without what may end the sentence.
    pub spellings: Vec<&'a str>,
}

/// In the order of the text.
pub(super) fn import_sites(text: &str) -> Vec<ImportSite<'_>> {
    let mut sites = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, content) = (at, line.trim_end());
        at += line.len();
        match (fence, fence_of(content)) {
            (None, Some(opened)) => fence = Some(opened),
            // It is closed by as many of its own, with nothing behind them.
            (Some((letter, length)), Some((other, longer)))
                if letter == other && length <= longer && content.trim().chars().all(|it| it == letter) =>
            {
                fence = None;
            }
            (Some(_), _) => {}
            (None, None) => sites.extend(sites_of_line(content, start)),
        }
    }
    sites
}

fn fence_of(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let letter = line.chars().next().filter(|letter| ['`', '~'].contains(letter))?;
    let length = line.chars().take_while(|it| *it == letter).count();
    // A line with code in it is no fence.
    let is_fence = 3 <= length && !(letter == '`' && line[length..].contains('`'));
    is_fence.then_some((letter, length))
}

fn sites_of_line(line: &str, start: usize) -> Vec<ImportSite<'_>> {
    let mut sites = Vec::new();
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'`' => at = after_code(line, at),
            b'@' if at == 0 || bytes[at - 1].is_ascii_whitespace() => {
                let length = line[at..].find(char::is_whitespace).unwrap_or(line.len() - at);
                let word = &line[at + 1..at + length];
                // Code may begin within the word; then it is none.
                if !word.is_empty() && !word.contains('`') {
                    let mut spellings = vec![word];
                    let plain = word.trim_end_matches(ENDINGS);
                    if plain != word && !plain.is_empty() {
                        spellings.push(plain);
                    }
                    sites.push(ImportSite { range: start + at..start + at + length, spellings });
                }
                at += length.max(1);
            }
            _ => at += 1,
        }
    }
    sites
}

/// Behind a span of code that begins here; behind its first backticks where nothing closes it.
fn after_code(line: &str, at: usize) -> usize {
    let length = line[at..].bytes().take_while(|it| *it == b'`').count();
    let mut from = at + length;
    while let Some(found) = line[from..].find('`') {
        let begin = from + found;
        let run = line[begin..].bytes().take_while(|it| *it == b'`').count();
        from = begin + run;
        if run == length {
            return from;
        }
    }
    at + length
}
