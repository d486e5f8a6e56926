//! Is the pattern a regular expression, and if not, where is it wrong? And which lines need it?

use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher, NoCaptures, NoError};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use memchr::memmem::Finder;
use regex_syntax::{
    Error, ParserBuilder,
    hir::{Hir, HirKind},
};

use super::GrepArguments;
use crate::parameters::refusal;
use protocol::{SchemaViolation, ToolError};

/// A longer pattern is data.
pub const MAX_PATTERN_CHARS: usize = 10_000;
/// Memory of one compiled pattern, and of the states it grows while searching, per thread. Patterns people write
/// need kilobytes; `\w{1000}{1000}` must not take the daemon's.
const MAX_COMPILED_BYTES: usize = 10 * 1024 * 1024;
const MAX_STATE_BYTES: usize = 10 * 1024 * 1024;

/// The compiled pattern, or `INVALID_TOOL_PARAMS` with the position.
pub fn compile(arguments: &GrepArguments) -> Result<LineMatcher, ToolError> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(!arguments.case_sensitive)
        .fixed_strings(arguments.fixed_strings)
        .multi_line(true)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_STATE_BYTES);
    match arguments.multiline {
        true => builder.dot_matches_new_line(true),
        // `$` also matches before `\r\n`.
        false => builder.crlf(true),
    };
    let regex = builder.build(&arguments.pattern).map_err(|error| {
        let message = match error.kind() {
            ErrorKind::NotAllowed(_) => {
                "the pattern contains a line end; set `multiline` to search across lines".to_owned()
            }
            _ => syntax_error(&arguments.pattern).unwrap_or_else(|| error.to_string()),
        };
        refusal(&[SchemaViolation { pointer: "/pattern".to_owned(), message }])
    })?;
    // A match that spans lines is not found line by line.
    let searches_lines = !arguments.multiline && !arguments.fixed_strings;
    let needle = searches_lines.then(|| needle(&arguments.pattern, arguments.case_sensitive)).flatten();
    Ok(LineMatcher { regex, needle: needle.map(|bytes| Finder::new(&bytes).into_owned()) })
}

/// A needle of fewer bytes stands in too many lines.
const MIN_NEEDLE_BYTES: usize = 4;

/// Bytes that every match has in it, when they are rarer than those it begins with, which the engine looks for.
///
/// Perf: for `fn \w+_unchecked\(` the engine tries each `fn `; looking for `_unchecked(` takes half the time.
fn needle(pattern: &str, is_case_sensitive: bool) -> Option<Vec<u8>> {
    let mut parser = ParserBuilder::new()
        .case_insensitive(!is_case_sensitive)
        .multi_line(true)
        .crlf(true)
        .utf8(false)
        .build();
    let hir = parser.parse(pattern).ok()?;
    let longest = longest(&hir)?;
    let is_worth_it = MIN_NEEDLE_BYTES <= longest.len() && first(&hir).len() < longest.len();
    is_worth_it.then(|| longest.to_owned())
}

/// The longest bytes that stand in every match. Case that does not matter makes classes of letters, which are no bytes.
fn longest(hir: &Hir) -> Option<&[u8]> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(&literal.0),
        HirKind::Capture(capture) => longest(&capture.sub),
        HirKind::Repetition(repetition) if 0 < repetition.min => longest(&repetition.sub),
        HirKind::Concat(parts) => parts.iter().filter_map(longest).max_by_key(|bytes| bytes.len()),
        _ => None,
    }
}

/// The bytes that every match begins with.
fn first(hir: &Hir) -> &[u8] {
    match hir.kind() {
        HirKind::Literal(literal) => &literal.0,
        HirKind::Capture(capture) => first(&capture.sub),
        HirKind::Concat(parts) => {
            let mut matching = parts.iter().filter(|part| !matches!(part.kind(), HirKind::Look(_)));
            matching.next().map_or(&[], first)
        }
        _ => &[],
    }
}

/// The regular expression, which is asked only about lines that have the needle in them, where there is one.
#[derive(Debug, Clone)]
pub struct LineMatcher {
    regex: RegexMatcher,
    needle: Option<Finder<'static>>,
}

impl Matcher for LineMatcher {
    type Captures = NoCaptures;
    type Error = NoError;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, NoError> {
        self.regex.find_at(haystack, at)
    }

    fn new_captures(&self) -> Result<NoCaptures, NoError> {
        Ok(NoCaptures::new())
    }

    fn shortest_match_at(&self, haystack: &[u8], at: usize) -> Result<Option<usize>, NoError> {
        self.regex.shortest_match_at(haystack, at)
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.regex.non_matching_bytes()
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.regex.line_terminator()
    }

    fn find_candidate_line(&self, haystack: &[u8]) -> Result<Option<LineMatchKind>, NoError> {
        match &self.needle {
            // The searcher asks the expression about the whole line around it.
            Some(needle) => Ok(needle.find(haystack).map(LineMatchKind::Candidate)),
            None => self.regex.find_candidate_line(haystack),
        }
    }
}

/// What is wrong and where. The engine itself tells it of a pattern that it has wrapped in a group, so an
/// unclosed one is found at the wrong place; hence a second look with its parser alone.
fn syntax_error(pattern: &str) -> Option<String> {
    let (reason, start) = match regex_syntax::parse(pattern).err()? {
        Error::Parse(error) => (error.kind().to_string(), error.span().start.offset),
        Error::Translate(error) => (error.kind().to_string(), error.span().start.offset),
        _ => return None,
    };
    let column = pattern[..pattern.floor_char_boundary(start)].chars().count() + 1;
    Some(format!("not a regular expression: {reason}, at character {column}"))
}

#[cfg(test)]
mod tests {
    use grep_searcher::{SearcherBuilder, sinks::Bytes};
    use serde_json::json;

    use super::*;

    fn compiled(pattern: &str, is_case_sensitive: bool) -> LineMatcher {
        let arguments = json!({ "pattern": pattern, "caseSensitive": is_case_sensitive });
        compile(&serde_json::from_value(arguments).unwrap()).unwrap()
    }

    #[test]
    fn a_needle_is_what_every_match_has_in_it_and_does_not_begin_with() {
        let cases = [
            (r"fn \w+_unchecked\(", Some("_unchecked(")),
            (r"^\s*(pub )+struct \w+", Some("struct ")),
            (r"(?:ab|cd)(long{1,2}er)?needle+", Some("needl")),
            ("plain words", None),
            (r"longest_first\w+last", None),
            (r"a|quite other", None),
            (r"\w*(maybe)?", None),
            (r"x\w+abc", None),
            (r"x\w+(?i)needle", None),
        ];
        for (pattern, expected) in cases {
            let found = needle(pattern, true).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(found.as_deref(), expected, "{pattern}");
        }
        assert_eq!(needle(r"fn \w+_unchecked\(", false), None, "it may be written in any case");
    }

    #[test]
    fn the_same_lines_are_found_with_a_needle_and_without() {
        let text = "fn a_unchecked(\r\nfn a_unchecked\n_unchecked( fn\n\nlet fn b_unchecked(x)_unchecked(y)\n\
                    _unchecked(\nfn \u{e4}_unchecked(";
        let patterns = [
            r"fn \w+_unchecked\(",
            r"fn \w+_unchecked\($",
            r"^fn \w+_unchecked\($",
            r"\bfn\b.*_unchecked\(.\)$",
            r"[^x]+_unchecked\(\s*$",
        ];
        for pattern in patterns {
            let with = compiled(pattern, true);
            let without = LineMatcher { needle: None, ..with.clone() };
            let lines = |matcher: &LineMatcher| {
                let mut lines = Vec::new();
                let sink = Bytes(|number, _| {
                    lines.push(number);
                    Ok(true)
                });
                let mut searcher = SearcherBuilder::new().line_terminator(LineTerminator::crlf()).build();
                searcher.search_slice(matcher, text.as_bytes(), sink).unwrap();
                lines
            };
            assert_eq!(lines(&with), lines(&without), "{pattern}");
            assert!(with.needle.is_some() && !lines(&with).is_empty(), "{pattern}");
        }
    }
}
