//! Does a trigger's regular expression match a prompt, and what does it cost at most to know?
//!
//! All is linear in the prompt, but what it is linear by is the size of the expression, which a stranger may have
//! written. So sizes are bounded when an expression is read, and work is when a prompt is.

use regex_automata::{
    Input, MatchKind,
    hybrid::dfa::{Cache, DFA},
    nfa::thompson::{self, NFA, WhichCaptures, pikevm::PikeVM},
    util::prefilter::Prefilter,
};
use regex_syntax::{
    ParserBuilder,
    hir::{
        Hir,
        literal::{ExtractKind, Extractor, Seq},
    },
};

/// Largest automaton of an expression, in bytes; larger ones are slips like `\w{1000}`.
const MOST_AUTOMATON_BYTES: usize = 256 * 1024;

/// Largest automata of an agent together, what reading them takes counted in: a hundred usual ones.
pub const MOST_AUTOMATA_BYTES: usize = 4 * 1024 * 1024;

/// What reading an expression is counted as, for each of its bytes. Three of them may name a class of all letters, whose
/// cases are looked up (0.1 ms).
const BYTES_OF_READING: usize = 256;

/// Room for the states that a prompt makes of an expression. Usual ones need a few kilobytes.
const CACHE_BYTES: usize = 256 * 1024;

/// So often the room may be used up before the slow engine takes over: an expression that fills it four times makes a
/// new state for nearly every character.
const MOST_CLEARS: usize = 3;

/// Steps of the slow engine for one expression: a whole prompt for one of 64 states, some tens of milliseconds. A
/// larger one reads only so much of the prompt's beginning.
const STEPS_OF_ONE: usize = 4 * 1024 * 1024;

/// So much is told of a match whose beginning is not known.
const BYTES_OF_FAR: usize = 80;

/// Steps of the slow engine for all expressions together.
const STEPS_OF_ALL: usize = 16 * STEPS_OF_ONE;

/// An expression that can be searched for, without regard to case.
#[derive(Debug, Clone)]
pub struct TriggerExpression {
    automaton: DFA,
    /// Finds quickly that nothing of what must stand in a match is there.
    quick: Option<Prefilter>,
    /// True if it matches the empty text, and so every prompt.
    pub matches_all: bool,
}

impl TriggerExpression {
    /// The syntax is that of the `regex` crate: no look-around, no back-references. `allowance_bytes` is what the
    /// agent's automata may still occupy; it is charged also for what turns out to be too large. The error continues the sentence
    /// "the expression …".
    pub fn new(text: &str, allowance_bytes: &mut usize) -> Result<TriggerExpression, String> {
        let too_large = || "is too large; use smaller repetitions".to_owned();
        if *allowance_bytes == 0 {
            return Err("is one too many: all of this agent together are too large".to_owned());
        }
        *allowance_bytes = allowance_bytes.saturating_sub(text.len() * BYTES_OF_READING);
        let hir = ParserBuilder::new().case_insensitive(true).build().parse(text).map_err(reason)?;
        let limits = thompson::Config::new()
            .nfa_size_limit(Some(MOST_AUTOMATON_BYTES))
            .which_captures(WhichCaptures::Implicit);
        let built = thompson::Compiler::new().configure(limits).build_from_hir(&hir);
        let bytes = built.as_ref().map_or(MOST_AUTOMATON_BYTES, NFA::memory_usage);
        *allowance_bytes = allowance_bytes.saturating_sub(bytes);
        let settings = DFA::config()
            .unicode_word_boundary(true)
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(MOST_CLEARS));
        let automaton = DFA::builder()
            .configure(settings)
            .build_from_nfa(built.map_err(|_| too_large())?)
            .map_err(|_| too_large())?;
        let properties = hir.properties();
        Ok(TriggerExpression {
            automaton,
            quick: quick(&hir),
            matches_all: properties.minimum_len() == Some(0) && properties.look_set().is_empty(),
        })
    }

    /// Where a match ends, if there is one.
    pub fn find_end(&self, text: &str, work: &mut ExpressionScratch) -> Option<usize> {
        let needs_search = self
            .quick
            .as_ref()
            .is_none_or(|quick| quick.find(text.as_bytes(), (0..text.len()).into()).is_some());
        if !needs_search {
            return None;
        }
        let cache = match &mut work.cache {
            Some(cache) => {
                cache.reset(&self.automaton);
                cache
            }
            empty => empty.insert(self.automaton.create_cache()),
        };
        match self.automaton.try_search_fwd(cache, &Input::new(text).earliest(true)) {
            Ok(end) => end.map(|end| end.offset()),
            // It cannot tell where words of other letters than ASCII's end, or makes too many states.
            Err(_) => self.find_slowly(text, 0, work).map(|found| found.end),
        }
    }

    /// The first match; `end` is where one ends. When it begins too far from there to be looked for, what stands before
    /// `end`.
    pub fn text_of_match<'a>(&self, text: &'a str, end: usize, work: &mut ExpressionScratch) -> &'a str {
        work.steps = work.steps.max(STEPS_OF_ONE);
        let reach = STEPS_OF_ONE / self.automaton.get_nfa().states().len().max(1) / 2;
        let start =
            if text.len() <= 2 * reach { 0 } else { text.floor_char_boundary(end.saturating_sub(reach)) };
        let found = self.find_slowly(text, start, work);
        &text[found.unwrap_or(text.floor_char_boundary(end.saturating_sub(BYTES_OF_FAR))..end)]
    }

    /// The first match from `start` on, as far as steps allow.
    fn find_slowly(
        &self,
        text: &str,
        start: usize,
        work: &mut ExpressionScratch,
    ) -> Option<std::ops::Range<usize>> {
        let nfa = self.automaton.get_nfa();
        let steps = work.steps.min(STEPS_OF_ONE);
        let reach = (steps / nfa.states().len().max(1)).min(text.len() - start);
        work.steps = work.steps.saturating_sub(reach.saturating_mul(nfa.states().len()));
        let end = text.floor_char_boundary(start + reach);
        let machine = PikeVM::new_from_nfa(nfa.clone()).ok()?;
        let found = machine.find(&mut machine.create_cache(), Input::new(text).range(start..end))?;
        Some(found.range())
    }
}

/// What the search in one prompt has at hand.
#[derive(Debug)]
pub struct ExpressionScratch {
    /// Memory for the states of whichever expression is searched for.
    cache: Option<Cache>,
    /// What the slow engine may still do.
    steps: usize,
}

impl Default for ExpressionScratch {
    fn default() -> ExpressionScratch {
        ExpressionScratch { cache: None, steps: STEPS_OF_ALL }
    }
}

/// A search for the texts of which every match begins, or else ends, with one.
fn quick(hir: &Hir) -> Option<Prefilter> {
    let mut beginnings = Extractor::new().kind(ExtractKind::Prefix).extract(hir);
    beginnings.optimize_for_prefix_by_preference();
    let mut endings = Extractor::new().kind(ExtractKind::Suffix).extract(hir);
    endings.optimize_for_suffix_by_preference();
    search_for(&beginnings).or_else(|| search_for(&endings))
}

fn search_for(texts: &Seq) -> Option<Prefilter> {
    Prefilter::new(MatchKind::All, texts.literals()?)
}

fn reason(error: regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => {
            let at = error.span().start.column;
            format!("is none, at its character {at}: {}", error.kind())
        }
        regex_syntax::Error::Translate(error) => {
            let at = error.span().start.column;
            format!("is none, at its character {at}: {}", error.kind())
        }
        _ => "is none".to_owned(),
    }
}
