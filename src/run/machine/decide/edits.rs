//! Edits of people about which hooks are asked: written down before anybody is asked, and settled once.

use super::{super::HookEffects, MachineStep};
use protocol::{
    Confirmation, ConfirmationEdited, ConfirmationId, ConfirmationRevised, PrivateEventFields, RevisionReason,
};

/// Letters of the reason why nothing came of an edit: a question is read whole.
const MOST_WHY_CHARS: usize = 1_000;

impl MachineStep<'_> {
    /// A person has changed the call that is asked about. An edit of anything but what is asked now is stale, and so is a second one.
    pub(super) fn edited(&mut self, edited: ConfirmationEdited) {
        let Some((_, question)) = self.machine.call_question(&edited.confirmation_id) else { return };
        let is_of_question =
            question.digest == edited.digest && question.tool_call_id.as_ref() == Some(&edited.tool_call_id);
        if !is_of_question || self.machine.edit(&edited.tool_call_id).is_some() {
            return;
        }
        self.unpark();
        let by = edited.name.clone();
        self.emit_with(edited, PrivateEventFields::default(), None, by);
    }

    /// Nothing comes of an edit: the question is asked as it was, and says why.
    pub(super) fn edit_dropped(
        &mut self,
        confirmation: &ConfirmationId,
        digest: &str,
        why: &str,
        hooks: HookEffects,
    ) {
        let Some((_, question)) = self.machine.call_question(confirmation) else { return };
        let edit = question.tool_call_id.as_ref().and_then(|call| self.machine.edit(call));
        let Some(edit) = edit.filter(|_| question.digest == digest) else { return };
        let (edited, by) = (edit.edited.edited.clone(), edit.edited.name.clone());
        let before = question.tool_call_id.as_ref().and_then(|call| self.machine.reason_before_edits(call));
        let before = before.map_or(question.reason.as_str(), |before| before);
        // Only the last one is told: each drop would make it longer.
        let why: String = why.chars().take(MOST_WHY_CHARS).collect();
        let reason = format!("{before}; {why}");
        let revised = ConfirmationRevised {
            confirmation: Box::new(Confirmation { reason, ..(**question).clone() }),
            reason: RevisionReason::EditDropped,
            difference: None,
            edited: Some(edited),
            arguments: None,
        };
        self.tell_hooks_to_people(hooks);
        self.emit_with(revised, PrivateEventFields::default(), None, by);
    }

    /// True while hooks are asked about what a person made of the call: that nobody is there to answer means nothing.
    pub(super) fn is_edited(&self, question: &Confirmation) -> bool {
        question.tool_call_id.as_ref().is_some_and(|call| self.machine.edit(call).is_some())
    }
}
