//! Which of the names that people write for models fits one?

use std::collections::BTreeMap;

/// True if `name` fits `pattern`, in which `*` stands for any letters, or none.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(head) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let tail = pieces.pop().unwrap_or_default();
    // The earliest place leaves the most for what follows.
    for piece in pieces {
        let Some(at) = left.find(piece) else { return false };
        left = &left[at + piece.len()..];
    }
    left.ends_with(tail)
}

/// What stands under the longest pattern that one of the names fits; stars do not make it longer. Of two as long the one
/// without a star counts, then the first by name.
pub(super) fn longest<'a, T>(by_pattern: &'a BTreeMap<String, T>, names: &[&str]) -> Option<&'a T> {
    let fitting = by_pattern.iter().filter(|(pattern, _)| names.iter().any(|name| matches(pattern, name)));
    let letters = |pattern: &str| pattern.chars().filter(|letter| *letter != '*').count();
    let rank = |pattern: &str| (letters(pattern), !pattern.contains('*'));
    // The last of equals is taken, so the first by name has to come last.
    fitting.rev().max_by_key(|(pattern, _)| rank(pattern)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_letters() {
        let cases = [
            ("gemini-*", "gemini-2.5-pro", true),
            ("gemini-*", "gemini-", true),
            ("gemini-*", "my-gemini-2", false),
            ("*", "", true),
            ("*-pro", "gemini-2.5-pro", true),
            ("*-pro", "gemini-2.5-pro-x", false),
            ("a*b*c", "abbcbc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn the_longest_pattern_counts() {
        let names = ["work/gemini-2.5-pro", "gemini-2.5-pro"];
        let cases: &[(&[&str], Option<&str>)] = &[
            (&[], None),
            (&["gemini-3-*", "other/*"], None),
            (&["*", "gemini-*"], Some("gemini-*")),
            (&["gemini-*", "gemini-2.5-pro"], Some("gemini-2.5-pro")),
            (&["gemini-2.5-pro", "work/gemini-2.5-*"], Some("work/gemini-2.5-*")),
            (&["*****", "g*"], Some("g*")),
            (&["gemini-2.5-pro*", "gemini-2.5-pro"], Some("gemini-2.5-pro")),
            (&["gemini*-2.5-pro", "gemini-*2.5-pro"], Some("gemini*-2.5-pro")),
        ];
        for (patterns, expected) in cases {
            let map = patterns.iter().map(|pattern| ((*pattern).to_owned(), *pattern)).collect();
            assert_eq!(longest(&map, &names).copied(), *expected, "{patterns:?}");
        }
    }
}
