//! When does a run hold still, though it has not ended: the daemon is closing, or the disk is full; and when does it get a
//! slot?

use super::{
    super::machine::{MachineInput, WantedTask},
    RunDriver, RunInput,
};
use protocol::ParkReason;

impl RunDriver {
    /// The daemon is closing.
    pub(super) fn close(&mut self) {
        self.is_closing = true;
        self.machine.close();
    }

    /// The daemon is closing, and what the run still waits for can be waited for after the next start.
    pub(super) fn is_at_rest(&self) -> bool {
        let can_wait = |want: &WantedTask| match want {
            WantedTask::Timer { .. }
            | WantedTask::Backoff { .. }
            | WantedTask::Context
            | WantedTask::Slot
            | WantedTask::Edit { .. }
            | WantedTask::Child { .. } => true,
            // Whoever only waits for a person is not waited for: its call is cut off, as by any restart.
            WantedTask::Tool { call } => self.machine.can_be_left(call) || self.machine.only_asks(call),
            _ => false,
        };
        self.is_closing && self.backlog.is_empty() && self.flights.wanted().all(can_wait)
    }

    /// The disk is full: the log says, in the room kept for that, that the run holds still.
    pub(super) async fn park(&mut self) {
        self.charge();
        let mut machine = self.machine.clone();
        let drafts = machine.decide(MachineInput::Park { reason: ParkReason::StorageFull });
        let events = self.identity.events(&drafts, self.parts.clock.now(), self.machine.turn());
        match self.parts.store.append_urgent(events).await {
            Ok((first, _)) => {
                self.machine = machine;
                self.absorb_all(first, &drafts);
            }
            // Nothing acts without a commit, so the run holds still all the same.
            Err(error) => {
                tracing::warn!(run = %self.identity.run, %error, "that the run is parked is not in the log")
            }
        }
    }

    /// Gets a slot before it is decided whether one is there, where that may matter.
    pub(super) fn seek_slot(&mut self, inputs: &[RunInput]) {
        let is_worth_it = || inputs.iter().any(|message| self.machine.may_need_slot(&message.input));
        if self.holdings.slot.is_none() && is_worth_it() {
            self.holdings.slot = self.parts.common.slots.try_take(&self.identity.session);
            if self.holdings.slot.is_some() {
                self.machine.hold_slot();
            }
        }
    }
}
