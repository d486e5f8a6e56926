//! Is a glob pattern one that may be compiled? What models and repositories write is bounded first: alternates are compiled by
//! recursion, so enough braces in each other would end the daemon, and many patterns take much memory.

/// Characters of one pattern: more is no pattern but a list.
pub const MAX_PATTERN_CHARS: usize = 1_000;

/// Opening braces of one pattern, in each other or not. Real ones have one or two.
const MAX_BRACES: usize = 32;

/// What is wrong with a pattern before anybody reads it, for people.
pub fn excess(pattern: &str) -> Option<String> {
    if pattern.chars().nth(MAX_PATTERN_CHARS).is_some() {
        return Some(format!("more than {MAX_PATTERN_CHARS} characters"));
    }
    let braces = pattern.matches('{').count();
    (MAX_BRACES < braces).then(|| format!("{braces} opening braces, and at most {MAX_BRACES} are read"))
}
