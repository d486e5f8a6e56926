//! What can a person answer, by which key, and in which words?

use super::{ConfirmationView, Details};
use crate::rule::RuleView;
use protocol::{ConfirmationOutcome, GrantScope};

/// What the choice of all edits is, and how one takes it back.
const EDITS_ARE_A_MODE: &str = "this is the session's mode autoEdit; Shift-Tab in the conversation leaves it, or \
                                `subagent sessions mode`";

/// One way to answer that a key stands for.
#[derive(Debug, Clone)]
pub(crate) struct OutcomeChoice {
    pub(crate) key: char,
    pub(crate) outcome: ConfirmationOutcome,
    /// Which later calls it allows, too.
    pub(crate) grant: Option<GrantScope>,
    /// In a word or two, for the line in which one chooses.
    pub(crate) word: &'static str,
    pub(super) label: String,
    pub(super) allows: Option<String>,
    pub(super) remembers: Option<RuleView>,
}

impl OutcomeChoice {
    /// Whether it allows more than this call.
    pub(crate) fn outlives_call(&self) -> bool {
        matches!(
            self.outcome,
            ConfirmationOutcome::AllowSession
                | ConfirmationOutcome::AllowProject
                | ConfirmationOutcome::AllowUser
        )
    }

    /// In one short word, for a narrow terminal.
    pub(crate) fn short_word(&self) -> &'static str {
        match (self.outcome, self.word) {
            (ConfirmationOutcome::AllowSession, "all edits") => "edits",
            (ConfirmationOutcome::Deny, "deny") => "no",
            (ConfirmationOutcome::CancelRun, _) => "stop",
            (_, word) => word,
        }
    }

    /// What it does, in one line, before it is done.
    pub(crate) fn in_words(&self) -> String {
        let words = self.what_it_does();
        match self.grant {
            // It is the session that changes, so that more than this agent's edits run.
            Some(GrantScope::Edits) => format!("{words}; {EDITS_ARE_A_MODE}"),
            _ => words,
        }
    }

    fn what_it_does(&self) -> String {
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
    pub(crate) fn confirmed(&self) -> &'static str {
        match self.outcome {
            ConfirmationOutcome::CancelRun => "cancels the run",
            ConfirmationOutcome::Deny => "denies it",
            _ => "allows it",
        }
    }
}

/// What answers that allow more are for, of those that are not offered: each key and where it is. Which of the reasons holds is
/// the daemon's to know.
pub(super) fn missing(asked: &ConfirmationView, choices: &[OutcomeChoice]) -> Vec<(char, &'static str)> {
    let is_there = |key: char| choices.iter().any(|choice| choice.key == key);
    let is_dangerous = !matches!(asked.risk.as_str(), "safe" | "low" | "medium");
    let told: &[(char, &str)] = match asked.details() {
        // Nothing that was allowed before would keep it from asking again.
        _ if asked.is_asked_by_hook() => {
            &[('s', "is not offered: a hook asks about each call, whatever was allowed before")]
        }
        // Nothing of these is allowed for longer.
        Details::Questions(_) | Details::Budget(_) => &[],
        // What is told of each that is left out says why.
        Details::Edit { cut_bytes: 1.., .. } => &[],
        Details::Exec { .. } if is_dangerous => &[
            ('s', CALL_AGAIN),
            ('w', "is not offered at high risk: the danger is in words that vary"),
            ('p', ONE_FOLDER),
            ('u', HIGH_RISK),
        ],
        Details::Exec { .. } => &[
            ('s', CALL_AGAIN),
            (
                'w',
                "is for commands whose first words tell what they do, in the workspace; scripts and unknown options are none",
            ),
            ('p', ONE_FOLDER),
            ('u', "is for commands whose first words tell what they do, as `w` is"),
        ],
        Details::Edit { .. } => &[
            ('s', CALL_AGAIN),
            ('f', "is for files in a subfolder of the workspace, when the risk is not high"),
            ('a', "is for edits of low risk in the workspace, in a session of mode default"),
            ('p', ONE_FOLDER),
            ('u', HIGH_RISK),
        ],
        Details::Info(_) | Details::Other(_) => &[('s', CALL_AGAIN), ('p', ONE_FOLDER), ('u', HIGH_RISK)],
    };
    told.iter().copied().filter(|(key, _)| !is_there(*key)).collect()
}

const CALL_AGAIN: &str =
    "is for calls below critical risk that are not too long to be kept and hold no secret";
const ONE_FOLDER: &str = "is for calls that `s` is offered for, in a session of one folder";
const HIGH_RISK: &str = "is not offered at high risk: what is dangerous was seen here, and nowhere else";

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
