//! Answers of which nothing has come yet: those that are checked, those that wait, and edits about which hooks are asked.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::{
    gate::{PreparedWork, RefusedAnswer, edit_to_show::EditToShow, said},
    machine::{AnswerEffect, LoggedEdit},
};
use crate::live_runs::{RunMessage, RunMessageReply};
use protocol::{CallId, ConfirmationAnswer, ConfirmationOutcome};

/// Answers that make one edit and wait for what comes of it: more are a mistake of a script.
const MOST_REPLIES: usize = 64;

/// Answers of one run that nothing has come of yet.
#[derive(Default)]
pub(super) struct AnswersUnderWay {
    /// Calls with an answer that is being checked, or is to be decided.
    pub(super) answering: HashSet<CallId>,
    /// Answers that wait until one before them is decided.
    pub(super) waiting: Vec<RunMessage>,
    /// Edits about which hooks are asked.
    pub(super) edits: HashMap<CallId, EditUnderWay>,
}

impl AnswersUnderWay {
    /// Whoever makes an edit again waits for what comes of the first one. Gives the answer back when it is another one.
    pub(super) fn same_edit(
        &mut self,
        edit: &LoggedEdit,
        answer: &ConfirmationAnswer,
        message: RunMessage,
    ) -> Option<RunMessage> {
        let edited = &edit.edited;
        let is_same = answer.outcome == ConfirmationOutcome::Modify
            && (&edited.confirmation_id, &edited.digest) == (&answer.confirmation, &answer.digest)
            && edited.name == answer.name
            && edited.said == said(answer);
        if !is_same {
            return Some(message);
        }
        let under_way = self.edits.entry(edited.tool_call_id.clone()).or_default();
        if MOST_REPLIES <= under_way.replies.len() {
            return Some(message);
        }
        under_way.replies.extend(message.reply);
        None
    }
}

/// An edit about which hooks are asked, as far as it is not in the log.
#[derive(Default)]
pub(super) struct EditUnderWay {
    /// The arguments with the secrets in them; `None` = another daemon took the answer.
    pub(super) arguments: Option<Value>,
    /// The ways back to those who made it, and wait for what comes of it.
    pub(super) replies: Vec<RunMessageReply>,
}

/// An answer that was checked.
pub(super) struct CheckedAnswer {
    pub(super) message: RunMessage,
    /// `None` = it is about the run itself.
    pub(super) call: Option<CallId>,
    pub(super) outcome: Result<AnswerCheck, RefusedAnswer>,
}

/// The outcome of an answer that counts.
pub(super) enum AnswerCheck {
    /// The effect of the answer, and the work that it allows.
    Settled(Box<AnswerEffect>, Option<PreparedWork>),
    /// An edit that is to be written down before hooks are asked about it.
    ToShow(Box<EditToShow>),
}
