//! Which known word did somebody mean?

/// Longer words are not compared: the comparison is quadratic, and nothing of ours is as long.
const LONGEST_WORD: usize = 64;

/// The candidate nearest to `word`, if one is near enough that a typo explains the difference.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = simplified(word)?;
    candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(&word, &simplified(candidate)?), candidate)))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3).min(4))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Case and separators are what people get wrong most, so they do not count: `run_id` is `runId`.
fn simplified(word: &str) -> Option<Vec<char>> {
    let is_short = word.len() <= LONGEST_WORD;
    is_short.then(|| {
        let letters = word.chars().filter(|letter| !matches!(letter, '_' | '-' | '.' | '/'));
        letters.flat_map(char::to_lowercase).collect()
    })
}

/// Edits that turn one word into the other: insert, delete, replace, swap neighbours.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, &letter) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, &other) in to.iter().enumerate() {
            let replaced = above[column] + usize::from(letter != other);
            let mut least = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            let is_swap = row > 0 && column > 0 && letter == to[column - 1] && from[row - 1] == other;
            if is_swap {
                least = least.min(before[column - 1] + 1);
            }
            current.push(least);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn typos_case_and_separators_are_forgiven_and_strangers_are_not() {
        let methods = ["run/start", "run/get", "ping", "session/attach"];
        let check = |word: &str, meant: Option<&str>| assert_eq!(nearest(word, methods), meant, "{word}");
        check("run/strat", Some("run/start"));
        check("run.start", Some("run/start"));
        check("Session/Attach", Some("session/attach"));
        check("runs/get", Some("run/get"));
        check("pnig", Some("ping"));
        check("tools/list", None);
        check("x", None);
        check(&"run/start".repeat(20), None);
    }
}
