//! Is the pattern a regular expression, and if not, where is it wrong?

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use regex_syntax::Error;

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
            _ => syntax_error(&arguments.pattern).unwrap_or_else(|| error.to_string()),
        };
        refusal(&[Violation { pointer: "/pattern".to_owned(), message }])
    })
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
