//! What do the glob patterns of a call match?

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};

use crate::{glob_bounds, parameters::refusal};
use protocol::{SchemaViolation, ToolError};
use redact::Redactor;

pub use crate::glob_bounds::MAX_PATTERN_CHARS;

/// Patterns of one call.
pub const MAX_PATTERNS: usize = 100;

/// Characters of a pattern that people and notes get to see.
const MAX_SHOWN_CHARS: usize = 120;

/// A pattern for one line of output.
pub fn shown(pattern: &str, redactor: &Redactor) -> String {
    let line = redactor.text(pattern).replace(char::is_control, "\u{fffd}");
    match line.char_indices().nth(MAX_SHOWN_CHARS) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

/// Patterns of single names, without case.
pub fn names(patterns: &[String], pointer: &str) -> Result<GlobSet, ToolError> {
    let mut set = GlobSetBuilder::new();
    for (index, pattern) in patterns.iter().enumerate() {
        let pattern = pattern.trim_end_matches('/');
        let pointer = format!("{pointer}/{index}");
        bounded(pattern, &pointer)?;
        let glob = GlobBuilder::new(pattern).case_insensitive(true).build();
        set.add(glob.map_err(|error| bad(&pointer, &error))?);
    }
    set.build().map_err(|error| bad(pointer, &error))
}

/// One pattern of paths: `*` stays within a folder, `**` does not.
pub fn path(pattern: &str, is_case_sensitive: bool, pointer: &str) -> Result<GlobMatcher, ToolError> {
    bounded(pattern, pointer)?;
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .case_insensitive(!is_case_sensitive)
        .build()
        .map_err(|error| bad(pointer, &error))?;
    Ok(glob.compile_matcher())
}

/// What to leave out: a pattern without `/` is about names, one with `/` about paths below a root. What a pattern
/// leaves out includes all that lies below it.
pub fn left_out(patterns: &[String], roots: &[&Path], pointer: &str) -> Result<GlobSet, Vec<ToolError>> {
    let mut set = GlobSetBuilder::new();
    let mut errors = Vec::new();
    for (index, pattern) in patterns.iter().enumerate() {
        let below = |root: &&Path| pattern.strip_prefix(root.to_str()?).filter(|rest| rest.starts_with('/'));
        let relative = roots.iter().find_map(below).unwrap_or(pattern).trim_start_matches("./");
        let plain = relative.trim_matches('/');
        // `/docs` is what lies in the root, as in ignore files; `docs/` may lie anywhere.
        let anywhere = if relative.trim_end_matches('/').contains('/') { "" } else { "**/" };
        for below in ["", "/**"] {
            match path(&format!("{anywhere}{plain}{below}"), false, &format!("{pointer}/{index}")) {
                Ok(matcher) => drop(set.add(matcher.glob().clone())),
                Err(error) => {
                    errors.push(error);
                    break;
                }
            }
        }
    }
    match set.build() {
        _ if !errors.is_empty() => Err(errors),
        Ok(set) => Ok(set),
        Err(error) => Err(vec![bad(pointer, &error)]),
    }
}

/// Which files a search looks at: a pattern without `/` is about the name, one with `/` about the path, and one
/// that begins with `!` says what to leave out.
pub struct IncludePattern {
    matcher: GlobMatcher,
    is_negated: bool,
}

impl IncludePattern {
    pub fn new(pattern: &str, pointer: &str) -> Result<IncludePattern, ToolError> {
        let (is_negated, pattern) = match pattern.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let pattern = pattern.trim_start_matches("./");
        let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
        let matcher = path(anywhere.trim_start_matches('/'), false, pointer)?;
        Ok(IncludePattern { matcher, is_negated })
    }

    /// Whether one of the file's paths is meant: seen from the root and from where the search starts.
    pub fn has(&self, from_root: &Path, from_start: &Path) -> bool {
        (self.matcher.is_match(from_root) || self.matcher.is_match(from_start)) != self.is_negated
    }
}

fn bounded(pattern: &str, pointer: &str) -> Result<(), ToolError> {
    match glob_bounds::excess(pattern) {
        Some(excess) => Err(not_a_pattern(pointer, &excess)),
        None => Ok(()),
    }
}

fn bad(pointer: &str, error: &globset::Error) -> ToolError {
    not_a_pattern(pointer, &error.to_string())
}

fn not_a_pattern(pointer: &str, why: &str) -> ToolError {
    let message = format!("not a glob pattern: {why}");
    refusal(&[SchemaViolation { pointer: pointer.to_owned(), message }])
}
