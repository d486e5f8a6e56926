//! Does a run go round in circles? Two ways in which that shows without asking anybody (spec 04, "Loop detection", a
//! and b). Pure.

use std::{
    collections::{HashMap, VecDeque, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher},
};

use serde_json::Value;

/// A call, or a round of calls, that comes this often in a row is a circle (spec 04).
const CALL_REPEATS: usize = 5;
/// Calls, or whole turns, of a round at most. Spec 04 names single calls; a model that alternates between two gets no
/// further, either, nor does one that makes the same four at once in each turn.
const LONGEST_ROUND: usize = 3;

/// Letters that are compared (spec 04).
const CHUNK: usize = 50;
/// How often one chunk comes (spec 04).
const CHUNK_REPEATS: usize = 10;
/// Letters from each to the next on average, at most: 1.5 chunks (spec 04).
const MOST_APART: usize = CHUNK * 3 / 2;
/// Letters that are remembered: those in which so many repeats must lie.
const WINDOW: usize = CHUNK_REPEATS * MOST_APART;
/// Letters and digits of a chunk that says something. Rulers, blanks to fill in and the dots of a table of contents repeat
/// by their nature.
const TELLING: usize = 12;
/// Letters after which that has lasted too long for anything that somebody draws.
const ENDLESS: usize = 2_000;

/// An odd number without a pattern; what is hashed by it is told apart by all its letters.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
/// What the letter that leaves the chunk counted.
const LEAVES: u64 = BASE.wrapping_pow(CHUNK as u32);

/// The last calls of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallLoopDetector {
    /// Each a round of one.
    calls: CallCycles,
    /// Whole turns.
    turns: CallCycles,
}

/// How calls repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallCycle {
    /// Calls in it.
    pub length: usize,
}

impl CallLoopDetector {
    /// Takes in the calls of a turn; answers the round that was gone through [`CALL_REPEATS`] times with one of them, or
    /// with all of them.
    pub fn push<'a>(&mut self, turn: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Option<CallCycle> {
        let mut found = None;
        let mut hashes = Vec::new();
        for (name, arguments) in turn {
            let mut hasher = DefaultHasher::new();
            name.hash(&mut hasher);
            hash_canonical(arguments, &mut hasher);
            let hash = hasher.finish();
            found = found.or(self.calls.push(CallFingerprint { hash, n_calls: 1 }));
            hashes.push(hash);
        }
        if hashes.is_empty() {
            return None;
        }
        // They run beside each other: their order is no difference.
        hashes.sort_unstable();
        let mut hasher = DefaultHasher::new();
        hashes.hash(&mut hasher);
        let turn = CallFingerprint { hash: hasher.finish(), n_calls: hashes.len() };
        let whole = self.turns.push(turn);
        found.or(whole)
    }

    /// Begins anew, after what was found was told.
    pub fn clear(&mut self) {
        *self = CallLoopDetector::default();
    }
}

/// What came last, of what may come round again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct CallCycles {
    recent: VecDeque<CallFingerprint>,
}

/// A call, or those of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CallFingerprint {
    hash: u64,
    n_calls: usize,
}

impl CallCycles {
    fn push(&mut self, item: CallFingerprint) -> Option<CallCycle> {
        if self.recent.len() == CALL_REPEATS * LONGEST_ROUND {
            self.recent.pop_front();
        }
        self.recent.push_back(item);
        let length = (1..=LONGEST_ROUND).find(|length| self.repeats(*length))?;
        let round = self.recent.iter().rev().take(length);
        Some(CallCycle { length: round.map(|item| item.n_calls).sum() })
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
pub struct TextLoopDetector {
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
    /// Letters and digits among the last letters.
    n_telling: usize,
    /// Chunks in a row up to here that say nothing and were there before.
    n_dull: usize,
    tail: TwoLetterTail,
    line: WrittenLine,
    is_in_code: bool,
}

impl TextLoopDetector {
    /// Takes in more of the text; answers the chunk that is repeated, once there is one.
    pub fn push(&mut self, more: &str) -> Option<String> {
        more.chars().find_map(|letter| self.letter(letter))
    }

    fn letter(&mut self, letter: char) -> Option<String> {
        if letter == '\n' {
            self.end_line();
        } else {
            self.begin_line(letter);
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
            self.n_telling -= usize::from(left.is_alphanumeric());
        }
        self.letters.push_back(letter);
        self.n_telling += usize::from(letter.is_alphanumeric());
        self.tail.push(letter);
        let seen = if self.letters.len() == CHUNK { self.chunk() } else { ChunkFrequency::Never };
        let is_telling = TELLING <= self.n_telling && self.tail.length < CHUNK;
        self.n_dull = if is_telling || seen == ChunkFrequency::Never { 0 } else { self.n_dull + 1 };
        let is_circle = match is_telling {
            true => seen == ChunkFrequency::TooOften,
            false => ENDLESS <= self.tail.length.max(self.n_dull),
        };
        is_circle.then(|| self.letters.iter().collect())
    }

    /// Takes in the chunk that the last letters are; answers how often it was there lately.
    fn chunk(&mut self) -> ChunkFrequency {
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
                None if at + 1 == self.n => return ChunkFrequency::Never,
                None => return ChunkFrequency::Before,
            }
        }
        match self.n - 1 - at <= (CHUNK_REPEATS - 1) * MOST_APART {
            true => ChunkFrequency::TooOften,
            false => ChunkFrequency::Before,
        }
    }

    fn begin_line(&mut self, letter: char) {
        let line = &mut self.line;
        line.n_ruling += usize::from(is_ruling(letter));
        line.has_others |= !is_ruling(letter) && !letter.is_whitespace();
        line.go_on_with_fence(letter);
        if !line.is_judged && (!letter.is_whitespace() || !line.beginning.is_empty()) {
            line.beginning.push(letter);
            self.judge_line();
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_fence() {
            self.is_in_code = !self.is_in_code;
        }
        if line.is_ruler() {
            self.begin_anew();
        }
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
        let fence = [("```", '`'), ("~~~", '~')].into_iter().find(|(marks, _)| beginning == *marks);
        /// Letters that tell what a line is, the longest number of a list item included.
        const ENOUGH: usize = 8;
        if let Some((_, mark)) = fence {
            line.fence = CodeFence::Marks(mark);
        }
        if line.is_fence() || is_list || is_table || is_heading {
            line.is_judged = true;
            self.begin_anew();
        } else if ENOUGH <= beginning.chars().count() {
            line.is_judged = true;
        }
    }

    fn begin_anew(&mut self) {
        self.letters.clear();
        self.hash = 0;
        self.last.clear();
        self.chunks.clear();
        (self.n_telling, self.n_dull) = (0, 0);
    }
}

/// How often a chunk was there lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkFrequency {
    Never,
    Before,
    TooOften,
}

/// The longest end of a text that has no more than two different letters.
#[derive(Debug, Default)]
struct TwoLetterTail {
    length: usize,
    /// The last letter, how often it stands at the very end, and the other one.
    last: Option<char>,
    n_last: usize,
    other: Option<char>,
}

impl TwoLetterTail {
    fn push(&mut self, letter: char) {
        if self.last == Some(letter) {
            self.n_last += 1;
            self.length += 1;
            return;
        }
        // A third letter leaves of what was before it the end that was one letter alone.
        self.length = if self.other == Some(letter) { self.length } else { self.n_last } + 1;
        (self.other, self.last, self.n_last) = (self.last, Some(letter), 1);
    }
}

/// What is known of the line that is being written.
#[derive(Debug, Default)]
struct WrittenLine {
    /// Its first letters, white space left out: enough to tell what it is.
    beginning: String,
    /// It was told apart from prose, or is too long to be.
    is_judged: bool,
    fence: CodeFence,
    /// Of those that rulers are made of.
    n_ruling: usize,
    /// It has other letters, blanks apart.
    has_others: bool,
}

/// Whether a line begins a code block, or ends one.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum CodeFence {
    #[default]
    No,
    /// So far it has the marks alone, of which these are.
    Marks(char),
    /// Something follows the marks.
    Named(char),
    /// The marks come again: what looked like a fence is a piece of code in a line.
    Closed,
}

impl WrittenLine {
    /// Takes in a letter after those that began a fence.
    fn go_on_with_fence(&mut self, letter: char) {
        self.fence = match self.fence {
            CodeFence::Marks(mark) if letter != mark => CodeFence::Named(mark),
            // Those of the other kind may be named by what they are made of.
            CodeFence::Named('`') if letter == '`' => CodeFence::Closed,
            fence => fence,
        };
    }

    fn is_fence(&self) -> bool {
        matches!(self.fence, CodeFence::Marks(_) | CodeFence::Named(_))
    }

    fn is_ruler(&self) -> bool {
        /// Fewer are an ellipsis, or the end of a block.
        const SHORTEST: usize = 3;
        SHORTEST <= self.n_ruling && !self.has_others
    }
}

/// True if rulers are made of it.
fn is_ruling(letter: char) -> bool {
    "-=_*.~#+|:·•…–—".contains(letter) || ('\u{2500}'..='\u{259f}').contains(&letter)
}

#[cfg(test)]
mod tests;
