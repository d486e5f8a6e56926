//! Braces: which words do they make of one?

use super::Letter;
use crate::syntax::{ShellWord, WordPiece};

/// Values that the braces of one word may make. More are one that is not known.
const MOST_VALUES: usize = 256;
/// Letters that the braces of one word may make on the way to its values.
const MOST_LETTERS: usize = 1 << 18;
/// Numbers that `{1..9}` may count.
const MOST_COUNTED: i64 = 100;

/// True if braces may make other words of it than they seem to. Bash expands them in the text, before anything else: what it puts
/// together there may be another variable, or a `~`. And a `{}` is passed over only where no other brace stands.
pub(super) fn has_unclear_braces(word: &ShellWord, letters: &[Letter]) -> bool {
    let plain = |wanted: char| letters.contains(&Letter::Plain(wanted));
    if !(plain('{')
        && plain('}')
        && (plain(',') || letters.windows(2).any(|pair| pair == [Letter::Plain('.'); 2])))
    {
        return false;
    }
    let is_bare = |piece: &WordPiece| matches!(piece, WordPiece::Variable { quoted: false, .. });
    let mut open = 0_usize;
    let mut is_matched = true;
    for (at, letter) in letters.iter().enumerate() {
        match letter {
            Letter::Plain('{') => {
                open += 1;
                is_matched &= letters.get(at + 1) != Some(&Letter::Plain('}'));
            }
            Letter::Plain('}') => match open.checked_sub(1) {
                Some(rest) => open = rest,
                None => is_matched = false,
            },
            _ => {}
        }
    }
    let tildes = letters.iter().enumerate().filter(|(_, letter)| **letter == Letter::Plain('~'));
    let is_usual = |at: usize| at == 0 && letters.get(1) == Some(&Letter::Plain('/'));
    let has_tilde = tildes.into_iter().any(|(at, _)| !is_usual(at));
    word.pieces.iter().any(is_bare) || plain('$') || !is_matched || open > 0 || has_tilde
}

/// The words that `{a,b}` and `{1..3}` make of one.
#[derive(Default)]
pub(super) struct BraceExpansion {
    pub values: Vec<Vec<Letter>>,
    /// Letters that were looked at for them.
    looked_at: usize,
}

impl BraceExpansion {
    /// False when there would be too many.
    pub fn take(&mut self, letters: &[Letter], depth: usize) -> bool {
        self.looked_at += letters.len();
        if depth > MOST_VALUES || self.values.len() >= MOST_VALUES {
            return false;
        }
        if depth > 0 && self.looked_at > MOST_LETTERS {
            return false;
        }
        // Perf: what has no `..` counts nothing, however many braces stand around it.
        let is_dots = |pair: &[Letter]| pair == [Letter::Plain('.'), Letter::Plain('.')];
        let dots: Vec<usize> =
            (0..letters.len().saturating_sub(1)).filter(|at| is_dots(&letters[*at..at + 2])).collect();
        for BracePair { open, close, commas } in brace_pairs(letters) {
            let (before, inside, after) =
                (&letters[..open], &letters[open + 1..close], &letters[close + 1..]);
            let alternatives: Vec<Vec<Letter>> = if commas.is_empty() {
                let first = dots.partition_point(|at| *at <= open);
                if dots.get(first).is_none_or(|at| close <= at + 1) {
                    continue;
                }
                match counted(inside) {
                    BraceSequence::These(these) => these,
                    BraceSequence::Unclear => vec![vec![Letter::Splitting]],
                    BraceSequence::Nothing => continue,
                }
            } else {
                let mut parts = Vec::new();
                let mut begin = open + 1;
                for comma in commas.iter().copied().chain([close]) {
                    parts.push(letters[begin..comma].to_vec());
                    begin = comma + 1;
                }
                parts
            };
            for alternative in alternatives {
                let whole: Vec<Letter> = before.iter().chain(&alternative).chain(after).copied().collect();
                if !self.take(&whole, depth + 1) {
                    return false;
                }
            }
            return true;
        }
        self.values.push(letters.to_vec());
        true
    }
}

/// Braces that belong together, and the commas between that are their own.
struct BracePair {
    open: usize,
    close: usize,
    commas: Vec<usize>,
}

/// The pairs of a word in the order in which they open. Braces that are not closed are only letters.
fn brace_pairs(letters: &[Letter]) -> Vec<BracePair> {
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut pairs = Vec::new();
    for (at, letter) in letters.iter().enumerate() {
        match letter {
            Letter::Plain('{') => open.push((at, Vec::new())),
            Letter::Plain('}') => {
                pairs.extend(open.pop().map(|(open, commas)| BracePair { open, close: at, commas }));
            }
            Letter::Plain(',') => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            _ => {}
        }
    }
    pairs.sort_unstable_by_key(|pair| pair.open);
    pairs
}

enum BraceSequence {
    These(Vec<Vec<Letter>>),
    /// It counts something that is not read.
    Unclear,
    Nothing,
}

fn counted(inside: &[Letter]) -> BraceSequence {
    let text: Option<String> = inside
        .iter()
        .map(|letter| match letter {
            Letter::Plain(letter) => Some(*letter),
            _ => None,
        })
        .collect();
    let Some(text) = text.filter(|text| text.contains("..")) else {
        let dots = inside.windows(2).any(|pair| pair == [Letter::Plain('.'), Letter::Plain('.')]);
        return if dots { BraceSequence::Unclear } else { BraceSequence::Nothing };
    };
    let is_padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.len() > 1;
    match text.split("..").collect::<Vec<_>>().as_slice() {
        [from, to] if !is_padded(from) && !is_padded(to) => match (from.parse::<i64>(), to.parse::<i64>()) {
            (Ok(from), Ok(to)) if from.abs_diff(to) < MOST_COUNTED as u64 => {
                let numbers: Vec<i64> =
                    if from <= to { (from..=to).collect() } else { (to..=from).rev().collect() };
                let these =
                    numbers.iter().map(|number| number.to_string().chars().map(Letter::Plain).collect());
                BraceSequence::These(these.collect())
            }
            _ => BraceSequence::Unclear,
        },
        _ => BraceSequence::Unclear,
    }
}
