//! Which known word did somebody probably mean?

/// Words longer than this are not compared: the work grows with the product of the lengths.
const LONGEST_WORD: usize = 100;

/// The known word nearest to `word`, when one is near enough to be worth offering: at most a third of its
/// letters differ. Letter case and the marks between words do not count. At a tie the first known one wins.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = letters_of(word);
    if word.is_empty() || word.len() > LONGEST_WORD {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let candidate_letters = letters_of(candidate);
        if candidate_letters.len() > LONGEST_WORD {
            continue;
        }
        let distance = distance(&word, &candidate_letters);
        let near_enough = distance <= word.len().max(candidate_letters.len()) / 3;
        if near_enough && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The letters of a word that are compared: letter case and the marks between words do not count.
pub fn letters_of(word: &str) -> Vec<char> {
    word.chars().filter(|letter| !matches!(letter, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// True if at most so many edits turn one word into the other: insert, delete, replace, or swap two neighbours.
pub fn within(most: usize, from: &[char], to: &[char]) -> bool {
    // Perf: most words differ in length by more than that, and are not compared.
    from.len().abs_diff(to.len()) <= most && to.len() <= LONGEST_WORD && distance(from, to) <= most
}

/// Edits that turn one word into the other: insert, delete, replace, or swap two neighbours.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != other);
            let mut least = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let is_swap = row > 0
                && column > 0
                && *letter == to[column - 1]
                && from[row - 1] == *other
                && letter != other;
            if is_swap {
                least = least.min(before_last[column - 1] + 1);
            }
            current.push(least);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_finds_none() {
        let known = ["maxTurns", "maxTokens", "graceSeconds", "tools"];
        let cases = [
            ("maxTurn", Some("maxTurns")),
            ("max_turns", Some("maxTurns")),
            ("maxtruns", Some("maxTurns")),
            ("MAX-TOKEN", Some("maxTokens")),
            ("tool", Some("tools")),
            ("graceSecs", Some("graceSeconds")),
            ("colour", None),
            ("", None),
            ("x", None),
        ];
        for (word, expected) in cases {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest(&"a".repeat(1_000_000), known), None);
    }

    #[test]
    fn as_many_edits_as_are_said_are_within_them() {
        let is = |most, a: &str, b| within(most, &letters_of(a), &letters_of(b));
        assert!(
            is(0, "tool_Input", "toolInput") && is(1, "decison", "decision") && is(1, "deicsion", "decision")
        );
        assert!(
            is(2, "desicion", "decision") && !is(2, "verdict", "decision") && !is(2, "decide", "decision")
        );
        assert!(!is(2, &"a".repeat(1_000_000), "decision"));
    }
}
