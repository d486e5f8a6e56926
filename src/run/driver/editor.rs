//! What is a model told of the editor of the person who asks?

use super::{
    super::machine::{EventDraft, RunMachine},
    RunDriver,
};

impl RunDriver {
    /// The model that is about to be asked learns what is new in the editor of the person who asks.
    pub(super) fn look_at_editor(&self, machine: &mut RunMachine, drafts: &mut Vec<EventDraft>) {
        if self.identity.parent.is_none() {
            let told = (self.transcript.editor(), &self.gate.supplies.redactor);
            self.parts.common.editors.tell(&self.identity.session, told, machine, drafts);
        }
    }
}
