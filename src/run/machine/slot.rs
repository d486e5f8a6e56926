//! When does a run need one of the slots that runs at work share? (Spec 03, "Subagent calls".)

use super::{MachineInput, RunFacts, RunMachine, RunPhase, TrackedCall, TurnStage};
use protocol::{CallState, QueuedFor};

impl RunMachine {
    /// True if the run does something that needs a slot: a run that only waits, for its turn, for people, or for runs
    /// that answer its calls, gives its slot back (spec 03, "Subagent calls").
    pub fn is_at_work(&self) -> bool {
        let waits_for_hooks = matches!(self.phase, RunPhase::Acting) && self.waits_for_hooks();
        self.is_at_work_itself() || waits_for_hooks
    }

    /// True if `input` may bring the run to where it asks a model, so that it is worth trying to get a slot first.
    pub fn may_need_slot(&self, input: &MachineInput) -> bool {
        match (&self.phase, input) {
            (RunPhase::Queued { waits_for: QueuedFor::Context }, input) => {
                matches!(input, MachineInput::ContextFree)
            }
            (RunPhase::Queued { waits_for: QueuedFor::Hooks }, input) => {
                matches!(input, MachineInput::Hooked { .. })
            }
            (RunPhase::Queued { .. } | RunPhase::Finished, _) => false,
            (RunPhase::Thinking { stage, .. }, _) => *stage != TurnStage::Slot,
            (RunPhase::Acting | RunPhase::Considering(_) | RunPhase::Stopping { .. }, _) => true,
        }
    }
}

impl RunFacts {
    /// True if the run does something that needs a slot, but for hooks that may be asked. A log does not say if there are any, so nothing that is told of a run by its log alone
    /// counts them.
    pub(super) fn is_at_work_itself(&self) -> bool {
        let runs_tool = |call: &TrackedCall| {
            call.state == CallState::Executing && call.child().is_none() && call.asks.is_empty()
        };
        match &self.phase {
            RunPhase::Thinking { stage, .. } => *stage != TurnStage::Slot,
            RunPhase::Considering(_) => true,
            RunPhase::Acting => self.unjudged().next().is_some() || self.calls.open().any(runs_tool),
            RunPhase::Stopping { .. } => self.calls.open().any(runs_tool),
            // It begins as soon as hooks have had their say.
            RunPhase::Queued { waits_for } => *waits_for == QueuedFor::Hooks,
            RunPhase::Finished => false,
        }
    }
}
