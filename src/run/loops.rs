//! Does a run go round in circles? Two ways in which that shows without asking anybody (spec 04, "Loop detection", a
//! and b). Pure.

use std::{
    collections::{HashMap, VecDeque, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher},
};

use serde_json::Value;

/// A call, or a round of calls, that comes this often in a row is a circle (spec 04).
const CALL_REPEATS: usize = 5;
/// Calls of a round at most. Spec 04 names single calls; a model that alternates between two gets no further, either.
const LONGEST_ROUND: usize = 3;

/// Letters that are compared (spec 04).
const CHUNK: usize = 50;
/// How often one chunk comes (spec 04).
const CHUNK_REPEATS: usize = 10;
/// Letters from each to the next on average, at most: 1.5 chunks (spec 04).
const MOST_APART: usize = CHUNK * 3 / 2;
/// Letters that are remembered: those in which so many repeats must lie.
const WINDOW: usize = CHUNK_REPEATS * MOST_APART;

/// The last calls of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    recent: VecDeque<u64>,
}

/// How calls repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Calls in it.
    pub length: usize,
}

impl Calls {
    /// Takes in the next call; answers the round that was gone through [`CALL_REPEATS`] times with it.
    pub fn push(&mut self, name: &str, arguments: &Value) -> Option<Round> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        hash_canonical(arguments, &mut hasher);
        if self.recent.len() == CALL_REPEATS * LONGEST_ROUND {
            self.recent.pop_front();
        }
        self.recent.push_back(hasher.finish());
        (1..=LONGEST_ROUND).find(|length| self.repeats(*length)).map(|length| Round { length })
    }

    /// Begins anew, after what was found was told.
    pub fn clear(&mut self) {
        self.recent.clear();
    }

    fn repeats(&self, length: usize) -> bool {
        let n = CALL_REPEATS * length;
        let Some(first) = self.recent.len().checked_sub(n) else { return false };
        (first..self.recent.len() - length).all(|at| self.recent[at] == self.recent[at + length])
    }
}

/// The order of an object's keys is no difference between two calls.
fn hash_canonical(value: &Value, hasher: &mut impl Hasher) {
    match value {
        Value::Array(items) => {
            (0_u8, items.len()).hash(hasher);
            items.iter().for_each(|item| hash_canonical(item, hasher));
        }
        Value::Object(fields) => {
            (1_u8, fields.len()).hash(hasher);
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in fields {
                name.hash(hasher);
                hash_canonical(value, hasher);
            }
        }
        Value::String(text) => (2_u8, text).hash(hasher),
        other => (3_u8, other.to_string()).hash(hasher),
    }
}

/// A text while it is being written.
///
/// What repeats by its nature is not looked at: code blocks, tables, lists and headings begin the window anew (spec 04).
#[derive(Debug, Default)]
pub struct Text {
    /// The last letters.
    letters: VecDeque<char>,
    /// Of those, rolling.
    hash: u64,
    /// Where each chunk of the window was last, by its hash.
    last: HashMap<u64, usize>,
    /// The chunks of the window by their number, and the number of the one before that is the same.
    chunks: VecDeque<(u64, Option<usize>)>,
    /// The number of the next chunk.
    n: usize,
    line: Line,
    is_in_code: bool,
}

/// What is known of the line that is being written.
#[derive(Debug, Default)]
struct Line {
    /// Its first letters, white space left out: enough to tell what it is.
    beginning: String,
    /// It was told apart from prose, or is too long to be.
    is_judged: bool,
}

/// An odd number without a pattern; what is hashed by it is told apart by all its letters.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
/// What the letter that leaves the chunk counted.
const LEAVES: u64 = BASE.wrapping_pow(CHUNK as u32);

impl Text {
    /// Takes in more of the text; answers the chunk that is repeated, once there is one.
    pub fn push(&mut self, more: &str) -> Option<String> {
        more.chars().find_map(|letter| self.letter(letter))
    }

    fn letter(&mut self, letter: char) -> Option<String> {
        if letter == '\n' {
            self.line = Line::default();
        } else if !self.line.is_judged && (!letter.is_whitespace() || !self.line.beginning.is_empty()) {
            self.line.beginning.push(letter);
            self.judge_line();
        }
        if self.is_in_code {
            return None;
        }
        let code = |letter: char| u64::from(u32::from(letter)) + 1;
        self.hash = self.hash.wrapping_mul(BASE).wrapping_add(code(letter));
        if self.letters.len() == CHUNK
            && let Some(left) = self.letters.pop_front()
        {
            self.hash = self.hash.wrapping_sub(code(left).wrapping_mul(LEAVES));
        }
        self.letters.push_back(letter);
        let is_circle = self.letters.len() == CHUNK && self.chunk();
        is_circle.then(|| self.letters.iter().collect())
    }

    /// Takes in the chunk that the last letters are; answers whether it came too often.
    fn chunk(&mut self) -> bool {
        let first = self.n - self.chunks.len();
        if self.chunks.len() == WINDOW
            && let Some((hash, _)) = self.chunks.pop_front()
            && self.last.get(&hash) == Some(&first)
        {
            self.last.remove(&hash);
        }
        let before = self.last.insert(self.hash, self.n);
        self.chunks.push_back((self.hash, before));
        self.n += 1;
        let (first, mut at) = (self.n - self.chunks.len(), self.n - 1);
        for _ in 1..CHUNK_REPEATS {
            match self.chunks[at - first].1.filter(|before| first <= *before) {
                Some(before) => at = before,
                None => return false,
            }
        }
        self.n - 1 - at <= (CHUNK_REPEATS - 1) * MOST_APART
    }

    fn judge_line(&mut self) {
        let line = &mut self.line;
        let beginning = line.beginning.as_str();
        let numbered = beginning.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let is_numbered =
            numbered.len() < beginning.len() && (numbered.starts_with(". ") || numbered.starts_with(") "));
        let is_list = ["- ", "* ", "+ ", "• "].iter().any(|mark| beginning.starts_with(mark)) || is_numbered;
        let is_table = beginning.starts_with('|') || beginning.starts_with("+-");
        // A ruler is a heading's, or a table's.
        let is_heading =
            beginning.starts_with('#') || beginning.starts_with("===") || beginning.starts_with("---");
        let is_fence = beginning.starts_with("```") || beginning.starts_with("~~~");
        /// Letters that tell what a line is, the longest number of a list item included.
        const TELLING: usize = 8;
        if is_fence {
            self.is_in_code = !self.is_in_code;
        }
        if is_fence || is_list || is_table || is_heading {
            line.is_judged = true;
            self.begin_anew();
        } else if TELLING <= beginning.chars().count() {
            line.is_judged = true;
        }
    }

    fn begin_anew(&mut self) {
        self.letters.clear();
        self.hash = 0;
        self.last.clear();
        self.chunks.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Letters until a circle is found.
    fn found_after(text: &str) -> Option<usize> {
        let mut reader = Text::default();
        text.chars().position(|letter| reader.push(&letter.to_string()).is_some()).map(|at| at + 1)
    }

    const SENTENCE: &str = "I will now look into the file to see what it is about. ";

    #[test]
    fn a_sentence_said_again_and_again_is_a_circle() {
        let length = SENTENCE.chars().count();
        let found = found_after(&SENTENCE.repeat(20)).unwrap();
        // The tenth time that its first chunk is whole.
        assert_eq!(found, 9 * length + CHUNK);
        assert_eq!(found_after(&SENTENCE.repeat(9)), None);
        assert_eq!(found_after(&"ü".repeat(200)), Some(CHUNK + 9), "letters, not bytes");
    }

    #[test]
    fn what_lies_far_apart_is_no_circle() {
        let mut n = 0;
        let mut text = String::new();
        for _ in 0..40 {
            text.push_str(SENTENCE);
            for _ in 0..6 {
                n += 1;
                text.push_str(&format!("step{n} "));
            }
        }
        assert_eq!(found_after(&text), None);
    }

    #[test]
    fn what_repeats_by_its_nature_is_none() {
        let rows = "| a cell of a table | and another cell that is the same |\n".repeat(30);
        let list = "- the same item of a list, said once more to fill its line\n".repeat(30);
        let numbered = "12. the same item of a list, said once more to fill its line\n".repeat(30);
        let headings = "## The same heading, said once more, and long enough for a chunk\n".repeat(30);
        let code = format!(
            "```rust\n{}```\n",
            "    vec.push(Item { name: String::new(), size: 0, kind: 1 });\n".repeat(30)
        );
        for text in [&rows, &list, &numbered, &headings, &code] {
            assert_eq!(found_after(text), None, "{text}");
            // What stands before it does not count towards what comes after.
            let half = SENTENCE.repeat(6);
            assert_eq!(found_after(&format!("{half}\n{text}\n{half}")), None, "{text}");
        }
        assert!(found_after(&format!("{code}{}", SENTENCE.repeat(20))).is_some(), "the code is over");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut reader = Text::default();
        for n in 0..50_000_u32 {
            reader.push(&format!("{n:x} "));
        }
        assert!(reader.chunks.len() <= WINDOW && reader.last.len() <= WINDOW);
    }

    #[test]
    fn how_a_text_is_cut_into_pieces_changes_nothing() {
        let text = format!("{}\n# Head\n{}", SENTENCE.repeat(5), SENTENCE.repeat(20));
        let whole = found_after(&text).unwrap();
        for size in [2, 7, 49, 50, 51, 1_000] {
            let letters: Vec<char> = text.chars().collect();
            let mut reader = Text::default();
            let mut read = 0;
            for piece in letters.chunks(size) {
                read += piece.len();
                if reader.push(&piece.iter().collect::<String>()).is_some() {
                    break;
                }
            }
            assert!(read >= whole && read < whole + size, "{size}: {read} {whole}");
        }
    }

    fn rounds(calls: &[&str]) -> Option<(usize, usize)> {
        let mut seen = Calls::default();
        calls.iter().enumerate().find_map(|(at, call)| {
            Some((at + 1, seen.push("read", &json!({ "path": call })).map(|round| round.length)?))
        })
    }

    #[test]
    fn rounds_of_calls_are_circles_and_others_are_none() {
        assert_eq!(rounds(&["a"; 4]), None);
        assert_eq!(rounds(&["a"; 5]), Some((5, 1)));
        assert_eq!(rounds(&["b", "a", "a", "a", "a", "a"]), Some((6, 1)));
        assert_eq!(rounds(&["a", "a", "a", "a", "b", "a"]), None);
        assert_eq!(rounds(&["a", "b"].repeat(5)), Some((10, 2)));
        assert_eq!(rounds(&["a", "b"].repeat(4)), None);
        assert_eq!(rounds(&["a", "b", "c"].repeat(5)), Some((15, 3)));
        assert_eq!(rounds(&["a", "b", "c", "d"].repeat(10)), None);
    }

    #[test]
    fn calls_are_the_same_by_name_and_canonical_arguments() {
        let mut calls = Calls::default();
        let same = [
            json!({"a": 1, "b": [1, {"c": null, "d": "x"}]}),
            json!({"b": [1, {"d": "x", "c": null}], "a": 1}),
        ];
        let found: Vec<bool> = (0..5).map(|n| calls.push("t", &same[n % 2]).is_some()).collect();
        assert_eq!(found, [false, false, false, false, true]);
        calls.clear();
        let others =
            [json!({"a": 1}), json!({"a": "1"}), json!({"a": [1]}), json!({"a": [[1]]}), json!({"a": true})];
        assert!(others.iter().all(|arguments| calls.push("t", arguments).is_none()));
        calls.clear();
        assert!(["t", "u", "t", "t", "t", "t"].iter().all(|name| calls.push(name, &json!({})).is_none()));
    }
}
