//! Answers of which nothing has come yet: those that are checked, those that wait, and edits about which hooks are asked.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::{
    gate::{AnswerRefusal, PreparedWork, RefusedAnswer, edit_to_show::EditToShow, said},
    machine::{AnswerEffect, CallAnswer, LoggedEdit},
};
use crate::live_runs::{AnswerMessage, RunMessageOutcome, RunMessageReply};
use protocol::{CallId, ConfirmationAnswer, ConfirmationEdited, ConfirmationOutcome};

/// Answers that make one edit and wait for what comes of it: more are a mistake of a script.
const MOST_REPLIES: usize = 64;

/// Answers of one run that wait for one before them. There are as many as clients that answer at once; more is a mistake
/// of a script.
const MOST_WAITING: usize = 64;

/// Answers of one run that nothing has come of yet.
#[derive(Default)]
pub(super) struct AnswersUnderWay {
    /// Calls with an answer that is being checked, or is to be decided.
    answering: HashSet<CallId>,
    /// Answers that wait until one before them is decided.
    waiting: Vec<AnswerMessage>,
    /// Edits about which hooks are asked.
    edits: HashMap<CallId, EditUnderWay>,
}

impl AnswersUnderWay {
    /// True of a call with an answer that is being checked, or is to be decided.
    pub(super) fn is_answering(&self, call: &CallId) -> bool {
        self.answering.contains(call)
    }

    pub(super) fn begin_check(&mut self, call: CallId) {
        self.answering.insert(call);
    }

    /// Nothing comes of the answer to this call, or it is decided: the next one may be checked.
    pub(super) fn end_check(&mut self, call: &CallId) {
        self.answering.remove(call);
    }

    /// Lets an answer wait for the one before it. Gives it back where too many wait.
    pub(super) fn wait(
        &mut self,
        edit: Option<&LoggedEdit>,
        message: AnswerMessage,
    ) -> Option<AnswerMessage> {
        if MOST_WAITING <= self.waiting.len() {
            return Some(message);
        }
        let message = match edit {
            Some(edit) => self.same_edit(edit, message)?,
            None => message,
        };
        self.waiting.push(message);
        None
    }

    pub(super) fn take_waiting(&mut self) -> Vec<AnswerMessage> {
        std::mem::take(&mut self.waiting)
    }

    /// Answers that wait and are about what is not asked any more count no more.
    pub(super) fn refuse_waiting(&mut self, is_stale: impl Fn(&ConfirmationAnswer) -> bool) {
        let (stale, waiting): (Vec<_>, Vec<_>) =
            self.take_waiting().into_iter().partition(|message| is_stale(&message.answer));
        self.waiting = waiting;
        for message in stale {
            message.end(RunMessageOutcome::Refused(AnswerRefusal::Stale));
        }
    }

    /// An edit is in the log, and hooks are asked about it.
    pub(super) fn begin_edit(&mut self, call: CallId, edit: EditUnderWay) {
        self.edits.insert(call, edit);
    }

    /// Something came of the edit of this call, if there is one; answers who waits for that.
    pub(super) fn end_edit(&mut self, call: &CallId) -> Vec<RunMessageReply> {
        self.edits.remove(call).map(|edit| edit.replies).unwrap_or_default()
    }

    /// The same of all that are over.
    pub(super) fn end_edits(&mut self, is_over: impl Fn(&CallId) -> bool) -> Vec<RunMessageReply> {
        let ended = self.edits.extract_if(|call, _| is_over(call));
        ended.flat_map(|(_, edit)| edit.replies).collect()
    }

    /// Those who wait for what comes of the edit of this call, which is not over.
    pub(super) fn take_replies(&mut self, call: &CallId) -> Vec<RunMessageReply> {
        self.edits.get_mut(call).map(|edit| std::mem::take(&mut edit.replies)).unwrap_or_default()
    }

    /// The arguments that an edit makes, with the secrets in them; `None` = another daemon took the answer.
    pub(super) fn edited_arguments(&self, call: &CallId) -> Option<&Value> {
        self.edits.get(call)?.arguments.as_ref()
    }

    /// Whoever makes an edit again waits for what comes of the first one. Gives the answer back when it is another one.
    fn same_edit(&mut self, edit: &LoggedEdit, message: AnswerMessage) -> Option<AnswerMessage> {
        let edited = &edit.edited;
        if !is_same(edited, &message.answer) {
            return Some(message);
        }
        let is_known = self.edited_arguments(&edited.tool_call_id).is_some();
        if edited.redacted && !is_known {
            // Nothing comes of the first one, since its secret was lost. This one has it.
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

/// True of an answer that makes this edit, by the same person.
pub(super) fn is_same(edited: &ConfirmationEdited, answer: &ConfirmationAnswer) -> bool {
    answer.outcome == ConfirmationOutcome::Modify
        && (&edited.confirmation_id, &edited.digest) == (&answer.confirmation, &answer.digest)
        && edited.name == answer.name
        && edited.answer_digest == said(answer)
}

/// An edit about which hooks are asked, as far as it is not in the log.
#[derive(Default)]
pub(super) struct EditUnderWay {
    /// The arguments with the secrets in them; `None` = another daemon took the answer.
    pub(super) arguments: Option<Value>,
    /// The ways back to those who made it, and wait for what comes of it.
    pub(super) replies: Vec<RunMessageReply>,
}

/// An answer that was checked, to a question of the run itself or of a tool.
pub(super) struct CheckedAnswer {
    pub(super) message: AnswerMessage,
    pub(super) outcome: Result<AnswerEffect, AnswerRefusal>,
}

/// An answer that was checked, to the question about a call.
pub(super) struct CheckedCallAnswer {
    pub(super) message: AnswerMessage,
    pub(super) call: CallId,
    pub(super) outcome: Result<AnswerCheck, RefusedAnswer>,
}

/// The outcome of an answer that counts.
pub(super) enum AnswerCheck {
    /// The effect of the answer, and the work that it allows.
    Settled(Box<CallAnswer>, Option<PreparedWork>),
    /// An edit that is to be written down before hooks are asked about it.
    ToShow(Box<EditToShow>),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Whoever makes it again gives the secret again, which nobody else has.
    #[test]
    fn edit_whose_secret_was_lost_is_no_answer_to_whoever_makes_it_again() {
        let answer = ConfirmationAnswer {
            confirmation: "q".into(),
            digest: "d".to_owned(),
            outcome: ConfirmationOutcome::Modify,
            grant: None,
            message: None,
            arguments: Some(json!({ "content": "a secret" })),
            content: None,
            limits: None,
            answers: Vec::new(),
            name: Some("ada".to_owned()),
        };
        let edited = ConfirmationEdited {
            confirmation_id: "q".into(),
            tool_call_id: "c".into(),
            digest: "d".to_owned(),
            edited: json!({ "content": "[redacted]" }),
            redacted: true,
            name: answer.name.clone(),
            message: None,
            answer_digest: said(&answer),
        };
        let lost = LoggedEdit { edited, number: 1, attempt: 2 };
        let message = || AnswerMessage { answer: Box::new(answer.clone()), reply: None };
        let mut answers = AnswersUnderWay::default();
        assert!(answers.same_edit(&lost, message()).is_some());
        let known = EditUnderWay { arguments: Some(json!({})), replies: Vec::new() };
        answers.edits.insert("c".into(), known);
        assert!(answers.same_edit(&lost, message()).is_none());
        let kept =
            LoggedEdit { edited: ConfirmationEdited { redacted: false, ..lost.edited.clone() }, ..lost };
        answers.edits.clear();
        assert!(answers.same_edit(&kept, message()).is_none());
    }
}
