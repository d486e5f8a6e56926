//! What can a person answer, by which key, and in which words?

use crate::{
    cli::rule::RuleView,
    protocol::{ConfirmationOutcome, GrantScope},
};

/// One way to answer that a key stands for.
#[derive(Debug, Clone)]
pub(in crate::cli) struct OutcomeChoice {
    pub(in crate::cli) key: char,
    pub(in crate::cli) outcome: ConfirmationOutcome,
    /// Which later calls it allows, too.
    pub(in crate::cli) grant: Option<GrantScope>,
    /// In a word or two, for the line in which one chooses.
    pub(in crate::cli) word: &'static str,
    pub(super) label: String,
    pub(super) allows: Option<String>,
    pub(super) remembers: Option<RuleView>,
}

impl OutcomeChoice {
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
            ConfirmationOutcome::CancelRun => "cancels the run",
            ConfirmationOutcome::Deny => "denies it",
            _ => "allows it",
        }
    }
}

pub(super) fn choice(
    outcome: ConfirmationOutcome,
    grant: Option<GrantScope>,
    label: String,
) -> OutcomeChoice {
    let (key, word) = match (outcome, grant) {
        (ConfirmationOutcome::AllowOnce, _) => ('y', "once"),
        (ConfirmationOutcome::AllowSession, Some(GrantScope::Edits)) => ('a', "all edits"),
        (ConfirmationOutcome::AllowSession, Some(GrantScope::Words)) => ('w', "similar"),
        (ConfirmationOutcome::AllowSession, Some(GrantScope::Folder)) => ('f', "folder"),
        (ConfirmationOutcome::AllowSession, _) => ('s', "session"),
        (ConfirmationOutcome::AllowProject, _) => ('p', "project"),
        (ConfirmationOutcome::AllowUser, _) => ('u', "user"),
        (ConfirmationOutcome::Modify, _) => ('e', "edit"),
        (ConfirmationOutcome::Answer, _) => ('a', "answer"),
        (ConfirmationOutcome::Deny, _) => ('n', "deny"),
        (ConfirmationOutcome::CancelRun, _) => ('c', "cancel run"),
    };
    OutcomeChoice { key, outcome, grant, word, label, allows: None, remembers: None }
}
