//! Where do the configured patterns match, in a text that may still grow?
//!
//! All patterns are one automaton, walked once over the text. Every character that stands in *some* match is hidden:
//! that needs no choice between matches, so it does not depend on how the text arrives, and costs one pass however
//! hostile the text is. Each thread of the walk carries where it began, and of threads in the same state only the
//! earliest is kept, since what it matches covers what the others would.

use regex_automata::{
    meta,
    nfa::thompson::{self, NFA, State, WhichCaptures},
    util::primitives::StateID,
};

use super::{HiddenSpan, window::TextWindow};

/// Larger automata are slips like `\w{1000}`; each byte of every text pays for them.
const MOST_AUTOMATON_BYTES: usize = 2 * 1024 * 1024;

/// Text held back at most while a match may be growing. What is held longer is hidden as if it had matched.
pub const MOST_HELD_BYTES: usize = 64 * 1024;

/// A regular expression whose matches are hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactionPattern(String);

/// The reason why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("the pattern {pattern:?} is no regular expression that can be used: {reason}")]
    Unreadable { pattern: String, reason: String },
    #[error("the pattern {pattern:?} matches the empty text, so it would match everywhere")]
    Empty { pattern: String },
}

impl RedactionPattern {
    /// The syntax is that of the `regex` crate: no look-around, no back-references.
    pub fn new(pattern: &str) -> Result<RedactionPattern, PatternError> {
        let unreadable = |reason: String| PatternError::Unreadable { pattern: pattern.to_owned(), reason };
        let parsed = regex_syntax::parse(pattern).map_err(|error| unreadable(error.to_string()))?;
        if parsed.properties().minimum_len() == Some(0) {
            return Err(PatternError::Empty { pattern: pattern.to_owned() });
        }
        automaton(&[pattern]).map_err(|error| unreadable(error.to_string()))?;
        Ok(RedactionPattern(pattern.to_owned()))
    }
}

fn automaton(patterns: &[&str]) -> Result<NFA, thompson::BuildError> {
    let limit = MOST_AUTOMATON_BYTES.saturating_mul(patterns.len());
    let settings = thompson::Config::new().nfa_size_limit(Some(limit)).which_captures(WhichCaptures::None);
    thompson::Compiler::new().configure(settings).build_many(patterns)
}

/// All patterns of a redactor.
pub(super) struct PatternAutomaton {
    automaton: NFA,
    /// Tells quickly that nothing matches.
    quick: meta::Regex,
    /// Of what was held too long, whichever pattern it was; the patterns' own labels follow.
    pub first_label: u32,
}

impl PatternAutomaton {
    /// `None` when there are none.
    pub fn new(patterns: &[RedactionPattern], first_label: u32) -> Option<PatternAutomaton> {
        let texts: Vec<&str> = patterns.iter().map(|pattern| pattern.0.as_str()).collect();
        if texts.is_empty() {
            return None;
        }
        let automaton = automaton(&texts).expect("each was built by itself, within its share of the limit");
        let quick = meta::Regex::builder()
            .configure(meta::Config::new().nfa_size_limit(None))
            .build_many(&texts)
            .expect("each was parsed, and the size is not limited again");
        Some(PatternAutomaton { automaton, quick, first_label })
    }

    /// True if a walk over this text would hide nothing, as far as can be told quickly.
    pub fn hide_nothing_of(&self, text: &str) -> bool {
        text.len() < MOST_HELD_BYTES && !self.quick.is_match(text)
    }
}

/// One walk.
pub(super) struct PatternWalk {
    /// Everything before it has been read.
    at: usize,
    /// Where the automaton may be, and where that match began; earliest first.
    threads: Vec<(StateID, usize)>,
    /// What is hidden, in order; blocks may touch but not overlap.
    pub blocks: Vec<HiddenSpan>,
    /// By state: the last position at which it was entered, so that only the earliest thread enters.
    entered: Vec<usize>,
    /// Counts positions, so that `entered` need not be cleared.
    tick: usize,
    stack: Vec<StateID>,
    steps: Vec<(StateID, usize)>,
}

impl PatternWalk {
    pub fn new(patterns: &PatternAutomaton) -> PatternWalk {
        PatternWalk {
            at: 0,
            threads: Vec::new(),
            blocks: Vec::new(),
            entered: vec![0; patterns.automaton.states().len()],
            tick: 0,
            stack: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Reads what there is of the text.
    pub fn advance(&mut self, patterns: &PatternAutomaton, window: &TextWindow<'_>) {
        let length = window.bytes().len();
        // What stands before a boundary is known only with what follows it.
        while self.at < length || (window.is_whole && self.at == length) {
            self.enter_all(patterns, window);
            let Some(byte) = window.bytes().get(self.at) else { break };
            self.step_all(patterns, *byte);
            self.at += 1;
            if let Some((_, oldest)) = self.threads.first().copied()
                && self.at - self.held_from() >= MOST_HELD_BYTES
            {
                self.hide(HiddenSpan { start: oldest, end: self.at, label: patterns.first_label });
            }
        }
    }

    /// From here on it is not known yet what is hidden.
    pub fn held_from(&self) -> usize {
        let Some((_, oldest)) = self.threads.first() else { return self.at };
        let after = self.blocks.partition_point(|block| block.start <= *oldest);
        let block = after.checked_sub(1).map(|before| self.blocks[before]);
        block.map_or(*oldest, |block| block.end.max(*oldest))
    }

    pub fn shift(&mut self, by: usize) {
        self.at -= by;
        for (_, start) in &mut self.threads {
            *start = start.saturating_sub(by);
        }
        self.blocks.retain_mut(|block| block.shift(by));
    }

    /// Follows what needs no byte, and begins anew here.
    fn enter_all(&mut self, patterns: &PatternAutomaton, window: &TextWindow<'_>) {
        self.tick += 1;
        let mut threads = std::mem::take(&mut self.threads);
        self.steps.clear();
        if window.text.is_char_boundary(self.at) {
            threads.push((patterns.automaton.start_anchored(), self.at));
        }
        for (state, start) in threads.drain(..) {
            self.enter(patterns, window, state, start);
        }
        self.threads = threads;
    }

    fn enter(&mut self, patterns: &PatternAutomaton, window: &TextWindow<'_>, state: StateID, start: usize) {
        self.stack.push(state);
        while let Some(state) = self.stack.pop() {
            if std::mem::replace(&mut self.entered[state.as_usize()], self.tick) == self.tick {
                continue;
            }
            match patterns.automaton.state(state) {
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => {
                    self.steps.push((state, start))
                }
                State::Look { look, next } => {
                    let looks = patterns.automaton.look_matcher();
                    if looks.matches(*look, window.bytes(), self.at) {
                        self.stack.push(*next);
                    }
                }
                State::Union { alternates } => self.stack.extend(alternates.iter().rev()),
                State::BinaryUnion { alt1, alt2 } => self.stack.extend([*alt2, *alt1]),
                State::Capture { next, .. } => self.stack.push(*next),
                State::Fail => (),
                State::Match { pattern_id } => {
                    if start < self.at {
                        let label = patterns.first_label + 1 + pattern_id.as_u32();
                        self.hide(HiddenSpan { start, end: self.at, label });
                    }
                }
            }
        }
    }

    fn step_all(&mut self, patterns: &PatternAutomaton, byte: u8) {
        self.threads.clear();
        for (state, start) in self.steps.drain(..) {
            let next = match patterns.automaton.state(state) {
                State::ByteRange { trans } if trans.matches_byte(byte) => Some(trans.next),
                State::Sparse(transitions) => transitions.matches_byte(byte),
                State::Dense(transitions) => transitions.matches_byte(byte),
                _ => None,
            };
            self.threads.extend(next.map(|next| (next, start)));
        }
    }

    /// Joins what overlaps; the earliest beginning gives the name, and at a tie whoever was found first.
    fn hide(&mut self, mut new: HiddenSpan) {
        while let Some(last) = self.blocks.last().copied() {
            if last.end <= new.start {
                break;
            }
            self.blocks.pop();
            if last.start <= new.start {
                (new.start, new.label) = (last.start, last.label);
            }
            new.end = new.end.max(last.end);
        }
        self.blocks.push(new);
    }
}
