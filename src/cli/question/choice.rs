//! What can a person answer, by which key, and in which words?

use crate::{
    cli::rule::Rule,
    protocol::{Grant, Outcome},
};

/// One way to answer that a key stands for.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Choice {
    pub(in crate::cli) key: char,
    pub(in crate::cli) outcome: Outcome,
    /// Which later calls it allows, too.
    pub(in crate::cli) grant: Option<Grant>,
    /// In a word or two, for the line in which one chooses.
    pub(in crate::cli) word: &'static str,
    pub(super) label: String,
    pub(super) allows: Option<String>,
    pub(super) remembers: Option<Rule>,
}

impl Choice {
    /// What it does, in one line, before it is done.
    pub(in crate::cli) fn in_words(&self) -> String {
        match (&self.allows, &self.remembers) {
            (Some(allows), _) => allows.clone(),
            // A daemon that does not say it in words.
            (None, Some(rule)) => {
                format!("{}; from now on {}: {}", self.label, rule.decision, rule.matches())
            }
            (None, None) => self.label.clone(),
        }
    }

    /// What the second key of the answer does to it: `Enter allows it`.
    pub(in crate::cli) fn confirmed(&self) -> &'static str {
        match self.outcome {
            Outcome::CancelRun => "cancels the run",
            Outcome::Deny => "denies it",
            _ => "allows it",
        }
    }
}

pub(super) fn choice(outcome: Outcome, grant: Option<Grant>, label: String) -> Choice {
    let (key, word) = match (outcome, grant) {
        (Outcome::AllowOnce, _) => ('y', "once"),
        (Outcome::AllowSession, Some(Grant::Edits)) => ('a', "all edits"),
        (Outcome::AllowSession, Some(Grant::Words)) => ('w', "similar"),
        (Outcome::AllowSession, Some(Grant::Folder)) => ('f', "folder"),
        (Outcome::AllowSession, _) => ('s', "session"),
        (Outcome::AllowProject, _) => ('p', "project"),
        (Outcome::AllowUser, _) => ('u', "user"),
        (Outcome::Modify, _) => ('e', "edit"),
        (Outcome::Answer, _) => ('a', "answer"),
        (Outcome::Deny, _) => ('n', "deny"),
        (Outcome::CancelRun, _) => ('c', "cancel run"),
    };
    Choice { key, outcome, grant, word, label, allows: None, remembers: None }
}
