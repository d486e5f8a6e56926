//! Where does a text import another? `@path` at a line's start or after a blank, outside of code.

use std::ops::Range;

use super::{
    code_blocks::CodeLines,
    facts::{FactLine, FactLines},
};

/// Letters that end a sentence rather than a path.
const ENDINGS: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'', '*', '_'];

/// A word that may import something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImportSite<'a> {
    /// Its place with the `@`, in bytes.
    pub range: Range<usize>,
    /// The word as it stands, and without what may end the sentence.
    pub spellings: Vec<&'a str>,
    /// It stands among what agents wrote down.
    pub is_of_agents: bool,
}

/// Words that may import something, in the order of the text.
pub(super) fn import_sites(text: &str) -> Vec<ImportSite<'_>> {
    let code = CodeLines::of(text).is_code;
    let mut facts = FactLines::of(text);
    let mut sites = Vec::new();
    let mut at = 0;
    for (line, is_code) in text.split_inclusive('\n').zip(code) {
        let (start, content) = (at, line.trim_end());
        at += line.len();
        let is_of_agents = facts.next(content) == FactLine::Below;
        if !is_code {
            sites.extend(sites_of_line(content, start).map(|site| ImportSite { is_of_agents, ..site }));
        }
    }
    sites
}

fn sites_of_line(line: &str, start: usize) -> impl Iterator<Item = ImportSite<'_>> {
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
                    let range = start + at..start + at + length;
                    sites.push(ImportSite { range, spellings, is_of_agents: false });
                }
                at += length.max(1);
            }
            _ => at += 1,
        }
    }
    sites.into_iter()
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
