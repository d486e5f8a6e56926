//! Which passages speak of what was asked? By the words they share, the rare ones first (BM25).

use std::collections::{HashMap, HashSet};

use super::documents::DocumentPassage;

/// How soon a word that is repeated says nothing new, and how much a long passage must have more of it: the usual values of
/// BM25.
const SATURATION: f64 = 1.2;
const LENGTH_WEIGHT: f64 = 0.75;

/// A word of a heading is worth so many of the text.
const HEADING_WEIGHT: f64 = 2.5;

/// A passage fits that has this share of what the question's words weigh. Below it the words are there by chance.
const LEAST_SHARE: f64 = 0.5;

/// Words that say nothing of what is asked.
const EMPTY_WORDS: &[&str] = &[
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "could",
    "do", "does", "for", "from", "get", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its",
    "me", "my", "of", "on", "one", "or", "please", "should", "so", "tell", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "to", "use", "used", "using", "want", "was", "we", "what",
    "when", "where", "which", "who", "why", "will", "with", "work", "would", "you", "your",
];

/// What was found.
#[derive(Debug, PartialEq)]
pub struct PassageRanking<'p, 'a> {
    /// That fit, best first.
    pub passages: Vec<&'p DocumentPassage<'a>>,
    /// Words of the question that stand nowhere.
    pub unknown: Vec<String>,
}

/// Ranks the passages for a question.
pub fn rank<'p, 'a>(passages: &'p [DocumentPassage<'a>], question: &str) -> PassageRanking<'p, 'a> {
    let mut asked: Vec<String> = Vec::new();
    words(question, |word| {
        if !EMPTY_WORDS.contains(&word) && !asked.iter().any(|known| *known == stem(word)) {
            asked.push(stem(word).to_owned());
        }
    });
    let counted: Vec<PassageCounts> =
        passages.iter().map(|passage| PassageCounts::of(passage, &asked)).collect();
    let total = counted.len() as f64;
    let usual_length = counted.iter().map(|it| it.length).sum::<f64>() / total.max(1.0);
    let rarity: Vec<f64> = (0..asked.len())
        .map(|at| {
            let having = counted.iter().filter(|it| 0.0 < it.counts[at]).count() as f64;
            (1.0 + (total - having + 0.5) / (having + 0.5)).ln()
        })
        .collect();
    let whole: f64 = rarity.iter().sum();
    let mut scored: Vec<(f64, &DocumentPassage<'_>)> = Vec::new();
    for (passage, counted) in passages.iter().zip(&counted) {
        let room = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * counted.length / usual_length);
        let (mut score, mut share) = (0.0, 0.0);
        for (count, rarity) in counted.counts.iter().zip(&rarity).filter(|(count, _)| 0.0 < **count) {
            score += rarity * count * (SATURATION + 1.0) / (count + room);
            share += rarity / whole;
        }
        if LEAST_SHARE <= share {
            scored.push((score * share * passage.weight, passage));
        }
    }
    // Stable: of equals the first document's first.
    scored.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    // The same type is described for methods and for events.
    let mut told = HashSet::new();
    scored.retain(|(_, passage)| told.insert(passage.text));
    let is_unknown = |at: &usize| counted.iter().all(|it| it.counts[*at] == 0.0);
    let unknown = (0..asked.len()).filter(is_unknown).map(|at| asked[at].clone()).collect();
    PassageRanking { passages: scored.into_iter().map(|(_, passage)| passage).collect(), unknown }
}

/// How often a passage has each word.
struct PassageCounts {
    counts: Vec<f64>,
    /// In words.
    length: f64,
}

impl PassageCounts {
    fn of(passage: &DocumentPassage<'_>, asked: &[String]) -> PassageCounts {
        let places: HashMap<&str, usize> =
            asked.iter().enumerate().map(|(at, word)| (word.as_str(), at)).collect();
        let (mut counts, mut length) = (vec![0.0; asked.len()], 0.0);
        words(passage.text, |word| {
            length += 1.0;
            if let Some(at) = places.get(stem(word)) {
                counts[*at] += 1.0;
            }
        });
        for heading in &passage.headings {
            words(heading, |word| {
                if let Some(at) = places.get(stem(word)) {
                    counts[*at] += HEADING_WEIGHT;
                }
            });
        }
        PassageCounts { counts, length }
    }
}

/// Every word in small letters; `maxTurns` is the three words `maxturns`, `max` and `turns`.
fn words(text: &str, mut take: impl FnMut(&str)) {
    for written in text.split(|it: char| !it.is_alphanumeric()).filter(|word| !word.is_empty()) {
        take(&written.to_lowercase());
        let is_hump = |(at, it): &(usize, char)| {
            it.is_uppercase() && written[..*at].chars().next_back().is_some_and(char::is_lowercase)
        };
        let mut start = 0;
        for (at, _) in written.char_indices().filter(is_hump) {
            take(&written[start..at].to_lowercase());
            start = at;
        }
        if 0 < start {
            take(&written[start..].to_lowercase());
        }
    }
}

/// Without the usual endings of English, so that `rules` finds `rule` and `asked` finds `ask`.
fn stem(word: &str) -> &str {
    let plain = match word.strip_suffix('s') {
        Some(rest) if 3 <= rest.len() && !rest.ends_with(['s', 'u', 'i']) => rest,
        _ => word,
    };
    for ending in ["ing", "ed", "e"] {
        if let Some(rest) = plain.strip_suffix(ending).filter(|rest| 3 <= rest.len()) {
            return rest;
        }
    }
    plain
}
