//! When does a run need one of the slots that runs at work share? (Spec 03, "Subagent calls".)

use super::{Call, Input, Phase, RunMachine, Stage};
use crate::protocol::{CallState, QueuedFor};

impl RunMachine {
    /// The driver has a slot for the run.
    pub fn hold_slot(&mut self) {
        self.has_slot = true;
    }

    /// The driver has given the run's slot back.
    pub fn leave_slot(&mut self) {
        self.has_slot = false;
    }

    /// Whether the run does something that needs a slot: a run that only waits, for its turn, for people, or for runs
    /// that answer its calls, gives its slot back (spec 03, "Subagent calls").
    pub fn is_at_work(&self) -> bool {
        let runs_tool = |call: &Call| {
            call.state == CallState::Executing && call.child().is_none() && call.asks.is_empty()
        };
        match &self.phase {
            Phase::Thinking { stage, .. } => *stage != Stage::Slot,
            Phase::Considering(_) => true,
            Phase::Acting => self.unjudged().next().is_some() || self.calls.iter().any(runs_tool),
            Phase::Stopping { .. } => self.calls.iter().any(runs_tool),
            Phase::Queued { .. } | Phase::Finished => false,
        }
    }

    /// Whether `input` may bring the run to where it asks a model, so that it is worth trying to get a slot first.
    pub fn may_need_slot(&self, input: &Input) -> bool {
        match (&self.phase, input) {
            (Phase::Queued { waits_for: QueuedFor::Context }, input) => matches!(input, Input::ContextFree),
            (Phase::Queued { .. } | Phase::Finished, _) => false,
            (Phase::Thinking { stage, .. }, _) => *stage != Stage::Slot,
            (Phase::Acting | Phase::Considering(_) | Phase::Stopping { .. }, _) => true,
        }
    }
}
