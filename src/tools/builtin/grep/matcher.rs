//! Is the pattern a regular expression, and if not, where is it wrong?

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

use super::Arguments;
use crate::{
    protocol::{ToolError, Violation},
    tools::parameters::refusal,
};

/// A longer pattern is data.
pub const MAX_PATTERN_CHARS: usize = 10_000;
/// Memory of one compiled pattern, and of the states it grows while searching, per thread. Patterns people write
/// need kilobytes; `\w{1000}{1000}` must not take the daemon's.
const MAX_COMPILED_BYTES: usize = 10 * 1024 * 1024;
const MAX_STATE_BYTES: usize = 10 * 1024 * 1024;

/// The compiled pattern, or `INVALID_TOOL_PARAMS` with the position.
pub fn compile(arguments: &Arguments) -> Result<RegexMatcher, ToolError> {
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
    builder.build(&arguments.pattern).map_err(|error| {
        let message = match error.kind() {
            ErrorKind::NotAllowed(_) => {
                "the pattern contains a line end; set `multiline` to search across lines".to_owned()
            }
            _ => explained(&error.to_string()),
        };
        refusal(&[Violation { pointer: "/pattern".to_owned(), message }])
    })
}

/// The engine's words, which draw a caret below the offending place, with the place as a number.
fn explained(text: &str) -> String {
    match caret_column(text) {
        Some(column) => format!("at character {column}: {text}"),
        None => text.to_owned(),
    }
}

/// The column of the caret, from 1. The engine indents a pattern of one line by four blanks; longer ones it
/// numbers and describes in words.
fn caret_column(text: &str) -> Option<usize> {
    let is_caret_line = |line: &&str| line.contains('^') && line.chars().all(|c| c == ' ' || c == '^');
    let line = text.lines().skip(2).find(is_caret_line)?;
    line.find('^')?.checked_sub(3)
}
