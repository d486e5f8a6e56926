//! Edits of people that are in the log and about which hooks are asked: nothing of them is lost with whoever asks the hooks.

use std::sync::Arc;

use super::RunFacts;
use protocol::{CallId, CallState, ConfirmationEdited, ConfirmationRevised, RevisionReason};

/// A call as a person changed it, about which hooks are asked.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEdit {
    pub edited: ConfirmationEdited,
    /// Counts the edits of the call that are in the log; 1-based. No two of them are one and the same question to hooks.
    pub number: u32,
    /// Counts restarts of the daemon in which the hooks may have been asked, and said nothing that was written down; 1-based.
    pub attempt: u32,
}

impl RunFacts {
    /// The edit of this call about which hooks are asked.
    pub fn edit(&self, call: &CallId) -> Option<&Arc<LoggedEdit>> {
        self.call(call).filter(|it| it.state == CallState::AwaitingApproval)?.edit.as_ref()
    }

    /// The number of the edits of this call that are in the log.
    pub fn edits_so_far(&self, call: &CallId) -> u32 {
        self.call(call).map_or(0, |it| it.edits)
    }

    /// The calls about whose edits hooks are asked.
    pub(super) fn edited(&self) -> impl Iterator<Item = &CallId> {
        let is_edited =
            |it: &&super::TrackedCall| it.state == CallState::AwaitingApproval && it.edit.is_some();
        self.calls.open().filter(is_edited).map(|it| &it.request.call_id)
    }

    pub(super) fn apply_edit(&mut self, edited: &ConfirmationEdited) {
        if let Some(call) = self.calls.get_mut(&edited.tool_call_id) {
            call.edits = call.edits.saturating_add(1);
            let (edited, number) = (edited.clone(), call.edits);
            call.edit = Some(Arc::new(LoggedEdit { edited, number, attempt: 1 }));
        }
    }

    /// Before a question is another one: keeps its reason where nothing came of an edit.
    pub(super) fn note_drop(&mut self, revised: &ConfirmationRevised) {
        let call = revised.confirmation.tool_call_id.as_ref().and_then(|call| self.calls.get_mut(call));
        let Some(call) = call else { return };
        match revised.reason {
            RevisionReason::Deadline => (),
            RevisionReason::EditDropped => {
                let now = call.question.as_ref().map(|question| Arc::from(question.reason.as_str()));
                call.reason_before = call.reason_before.take().or(now);
            }
            _ => call.reason_before = None,
        }
    }

    /// The reason of a call's question, without what was said of edits of which nothing came.
    pub(super) fn reason_before_edits(&self, call: &CallId) -> Option<&Arc<str>> {
        self.call(call)?.reason_before.as_ref()
    }

    /// Hooks that were asked about edits when the daemon died are asked again.
    pub(super) fn restart_edits(&mut self) {
        for edit in self.calls.iter_mut().filter_map(|call| call.edit.as_mut()) {
            let edit = Arc::make_mut(edit);
            edit.attempt = edit.attempt.saturating_add(1);
        }
    }
}
