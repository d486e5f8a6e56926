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

/// Levenshtein's distance, with two swapped neighbours counted as one slip.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substituted = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = min(substituted, min(rows[i - 1][j], row[j - 1]) + 1);
            if 1 < i && 1 < j && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = min(best, rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
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
