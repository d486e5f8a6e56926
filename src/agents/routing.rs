//! Which agent does a prompt go to, by the triggers of the agents' files? Pure (spec 02, "Auto-routing").
//!
//! A keyword is found whatever its case and however its characters are composed, where a word begins with it: `bug` finds
//! `bugs`, not `debug`. One of one or two letters must be the whole word; in scripts without blanks one is found
//! anywhere; a blank in one stands for any run of blanks. An expression is matched without regard to case. Only
//! the first [`PROMPT_BYTES`] of a prompt count.

use std::{cmp::Reverse, collections::BTreeSet};

use self::{expression::ExpressionScratch, words::KeywordIndex};
use protocol::{AgentName, RoutingTrigger};

mod expression;
mod words;

pub(super) use self::{
    expression::{MOST_AUTOMATA_BYTES, TriggerExpression},
    words::TriggerKeyword,
};

/// So much of a prompt counts: what people ask for stands at its beginning, before what they paste.
pub const PROMPT_BYTES: usize = 64 * 1024;

/// A word that the end of the part that counts would cut is left out if it is no longer, in bytes.
const LONGEST_CUT_WORD: usize = 256;

/// Other agents that are told of, at most.
pub const MOST_RUNNERS_UP: usize = 5;

/// Longest text told of as matched, in characters.
const LONGEST_MATCHED: usize = 80;

/// The triggers of one agent, ready to be looked for.
#[derive(Debug, Clone, Default)]
pub struct AgentTriggers {
    /// The highest priority first, those of one priority in the order of the file.
    triggers: Vec<ReadyTrigger>,
}

#[derive(Debug, Clone)]
struct ReadyTrigger {
    /// In the file.
    index: usize,
    trigger: RoutingTrigger,
    /// And where each stands in the trigger. Those that mean the same are there once.
    keywords: Vec<(TriggerKeyword, usize)>,
    expression: Option<TriggerExpression>,
}

/// Where a prompt goes, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerRoute {
    pub agent: AgentName,
    /// Of the trigger among the agent's, from 0.
    pub trigger_index: usize,
    pub trigger: RoutingTrigger,
    /// The keywords that were found, as the file writes them, or else the text that the expression matched; long ones
    /// shortened.
    pub matched: Vec<String>,
    pub priority: i64,
    /// The next best, each with its best trigger; at most [`MOST_RUNNERS_UP`].
    pub runners_up: Vec<RouteRunnerUp>,
}

/// An agent that the prompt would have gone to, had the better ones not been there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteRunnerUp {
    pub agent: AgentName,
    /// As of [`TriggerRoute`].
    pub trigger_index: usize,
    pub trigger: RoutingTrigger,
    /// As of [`TriggerRoute`].
    pub matched: Vec<String>,
    pub priority: i64,
}

impl AgentTriggers {
    /// Makes them ready. What reading a file would have refused is never found.
    pub fn compile(triggers: &[RoutingTrigger]) -> AgentTriggers {
        let mut allowance_bytes = MOST_AUTOMATA_BYTES;
        let ready = triggers.iter().enumerate().map(|(index, trigger)| {
            let mut seen = BTreeSet::new();
            let keywords = trigger.keywords.iter().enumerate();
            let keywords =
                keywords.filter_map(|(place, text)| Some((TriggerKeyword::new(text).ok()?, place)));
            ReadyTrigger {
                index,
                trigger: trigger.clone(),
                keywords: keywords.filter(|(keyword, _)| seen.insert(keyword.clone())).collect(),
                expression: trigger
                    .regex
                    .as_ref()
                    .and_then(|text| TriggerExpression::new(text, &mut allowance_bytes).ok()),
            }
        });
        let mut triggers: Vec<ReadyTrigger> = ready.collect();
        triggers.sort_by_key(|ready| Reverse(ready.trigger.priority));
        AgentTriggers { triggers }
    }

    /// True if no prompt ever goes to this agent.
    pub fn is_empty(&self) -> bool {
        self.triggers.is_empty()
    }

    /// The trigger that stands for the agent: the highest priority, then the most keywords, then the first in the file.
    fn best<'a>(&'a self, agent: &'a AgentName, prompt: &mut Prompt<'_>) -> Option<TriggerHit<'a>> {
        let mut best: Option<TriggerHit<'a>> = None;
        for ready in &self.triggers {
            if best.as_ref().is_some_and(|best| ready.trigger.priority < best.ready.trigger.priority) {
                break;
            }
            let Some(found) = ready.find(prompt) else { continue };
            let hit = TriggerHit { agent, ready, found };
            if best.as_ref().is_none_or(|best| hit.n_keywords() > best.n_keywords()) {
                best = Some(hit);
            }
        }
        best
    }
}

impl ReadyTrigger {
    fn find(&self, prompt: &mut Prompt<'_>) -> Option<TriggerMatch> {
        let n_keywords = self.keywords.iter().filter(|(keyword, _)| prompt.words.hold(keyword)).count();
        if n_keywords > 0 {
            return Some(TriggerMatch::Keywords(n_keywords));
        }
        let end = self.expression.as_ref()?.find_end(prompt.text, &mut prompt.work)?;
        Some(TriggerMatch::MatchUpTo(end))
    }
}

/// The agent whose trigger fits best: the highest priority, then the most keywords, then the first by name. `None` when
/// no trigger fits.
pub fn route<'a>(
    prompt: &str,
    candidates: impl IntoIterator<Item = (&'a AgentName, &'a AgentTriggers)>,
) -> Option<TriggerRoute> {
    let mut prompt = Prompt::new(prompt);
    let candidates = candidates.into_iter();
    let mut hits: Vec<TriggerHit<'_>> =
        candidates.filter_map(|(agent, triggers)| triggers.best(agent, &mut prompt)).collect();
    hits.sort_by_key(|hit| (Reverse(hit.ready.trigger.priority), Reverse(hit.n_keywords()), hit.agent));
    let mut told = hits.into_iter().take(1 + MOST_RUNNERS_UP).map(|hit| hit.tell(&mut prompt));
    let RouteRunnerUp { agent, trigger_index, trigger, matched, priority } = told.next()?;
    Some(TriggerRoute { agent, trigger_index, trigger, matched, priority, runners_up: told.collect() })
}

/// A prompt that is looked at.
struct Prompt<'a> {
    text: &'a str,
    words: KeywordIndex,
    work: ExpressionScratch,
}

impl<'a> Prompt<'a> {
    fn new(text: &'a str) -> Prompt<'a> {
        let text = beginning(text);
        Prompt { text, words: KeywordIndex::of(text), work: ExpressionScratch::default() }
    }
}

/// As much as counts, without half a word at its end.
fn beginning(text: &str) -> &str {
    if text.len() <= PROMPT_BYTES {
        return text;
    }
    let text = &text[..text.floor_char_boundary(PROMPT_BYTES)];
    let last = text.len() - LONGEST_CUT_WORD;
    text.rfind(char::is_whitespace).filter(|blank| *blank >= last).map_or(text, |blank| &text[..blank])
}

/// A trigger that fits.
struct TriggerHit<'a> {
    agent: &'a AgentName,
    ready: &'a ReadyTrigger,
    found: TriggerMatch,
}

enum TriggerMatch {
    Keywords(usize),
    /// The expression matches; a match ends here.
    MatchUpTo(usize),
}

impl TriggerHit<'_> {
    fn n_keywords(&self) -> usize {
        match self.found {
            TriggerMatch::Keywords(n_keywords) => n_keywords,
            TriggerMatch::MatchUpTo(_) => 0,
        }
    }

    fn tell(self, prompt: &mut Prompt<'_>) -> RouteRunnerUp {
        let ReadyTrigger { index, trigger, keywords, expression } = self.ready;
        let matched = match (self.found, expression) {
            (TriggerMatch::MatchUpTo(end), Some(expression)) => {
                vec![shortened(expression.text_of_match(prompt.text, end, &mut prompt.work))]
            }
            _ => {
                let found = keywords.iter().filter(|(keyword, _)| prompt.words.hold(keyword));
                found.map(|(_, place)| shortened(&trigger.keywords[*place])).collect()
            }
        };
        RouteRunnerUp {
            agent: self.agent.clone(),
            trigger_index: *index,
            trigger: trigger.clone(),
            matched,
            priority: trigger.priority,
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MATCHED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
