//! Which known name was probably meant?

use std::cmp::min;

/// Longer texts are not compared: the work grows with the square, and nobody mistypes a page.
const MAX_CHARS: usize = 64;

/// The known name nearest to `text`, if one is near: about every third letter may differ, case does not count.
pub fn nearest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = text.chars().flat_map(char::to_lowercase).take(MAX_CHARS + 1).collect();
    if wanted.is_empty() || MAX_CHARS < wanted.len() {
        return None;
    }
    let far = |name: &str| distance(&wanted, &name.chars().flat_map(char::to_lowercase).collect::<Vec<_>>());
    let candidates = known.into_iter().filter(|name| name.chars().count() <= MAX_CHARS);
    let (distance, name) = candidates.map(|name| (far(name), name)).min_by_key(|(distance, _)| *distance)?;
    (distance <= (wanted.len() / 3).max(1)).then_some(name)
}

/// Levenshtein's distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = min(substituted, min(row[j], row[j + 1]) + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_recognised() {
        let known = ["read_file", "glob", "grep", "list_directory"];
        assert_eq!(nearest("red_file", known), Some("read_file"));
        assert_eq!(nearest("Grpe", known), Some("grep"));
        assert_eq!(nearest("launch_rocket", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
    }
}
