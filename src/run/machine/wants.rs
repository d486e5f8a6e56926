//! Being here, what should be in flight?

use std::path::Path;

use super::{CallState, RunFacts, RunMachine, RunPhase, TrackedCall, TurnStage, WantedTask, WantedTasks};
use protocol::{JudgedCall, QueuedFor, ResourceAccess, ToolKind};

impl RunMachine {
    /// A pure function of state.
    pub fn wants(&self) -> WantedTasks {
        let mut wants = WantedTasks::new();
        let executing = self.calls.open().filter(|it| it.state == CallState::Executing);
        match &self.phase {
            RunPhase::Finished => return wants,
            RunPhase::Queued { waits_for: QueuedFor::Context } => drop(wants.insert(WantedTask::Context)),
            RunPhase::Queued { waits_for: QueuedFor::Place } => drop(wants.insert(WantedTask::Slot)),
            RunPhase::Queued { waits_for: QueuedFor::Hooks } => (),
            RunPhase::Thinking { stage, .. } => {
                let ask = self.ask();
                wants.extend(ask.map(|ask| match stage {
                    TurnStage::Asking => WantedTask::Model(ask),
                    TurnStage::Waiting { not_before } => WantedTask::Backoff { ask, not_before: *not_before },
                    TurnStage::Slot => WantedTask::Slot,
                    TurnStage::SideCall(side_call) => WantedTask::SideCall(*side_call),
                }));
                wants.retain(
                    |want| !matches!(want, WantedTask::SideCall(side_call) if self.compression_waits(*side_call)),
                );
            }
            RunPhase::Considering(side_call) => drop(wants.insert(WantedTask::SideCall(*side_call))),
            RunPhase::Acting => {
                let first = self.unjudged().next();
                wants.extend(first.map(|it| WantedTask::Judge { first: it.call_id.clone() }));
                wants.extend(self.edited().map(|call| WantedTask::Edit { call: call.clone() }));
                wants.extend(executing.map(|it| {
                    let call = it.request.call_id.clone();
                    match it.child() {
                        Some(run) => WantedTask::Child { call, run: run.clone() },
                        None => WantedTask::Tool { call },
                    }
                }));
            }
            // Nothing but the ends of what still runs; what follows them has no timer of its own.
            RunPhase::Stopping { .. } => {
                wants.extend(executing.map(|it| {
                    let call = it.request.call_id.clone();
                    match it.child() {
                        Some(run) => WantedTask::EndChild { call, run: run.clone() },
                        None => WantedTask::End { call },
                    }
                }));
                wants.extend(self.due_points().into_iter().map(WantedTask::Hooks));
                return wants;
            }
        }
        wants.extend(self.due_points().into_iter().map(WantedTask::Hooks));
        let due_us = self.due_us().filter(|_| self.is_ticking());
        wants.extend(due_us.map(|due_us| WantedTask::Timer { due_us }));
        wants
    }

    /// Whether all that is open waits for a person, or the run itself; `None` when a run that answers a call has not said yet.
    pub(super) fn waits_for_people(&self) -> Option<bool> {
        let mut open = self.calls.open().filter(|it| it.completion.is_none()).peekable();
        if self.budget.question.is_some() {
            return Some(true);
        }
        if self.phase != RunPhase::Acting || open.peek().is_none() || self.waits_for_hooks() {
            return Some(false);
        }
        let mut is_known = true;
        let mut scheduled = Vec::new();
        for call in open {
            let waits = match call.state {
                CallState::AwaitingApproval => Some(true),
                CallState::Executing if call.child().is_some() => self.now.child(&call.request.call_id).waits,
                CallState::Executing => Some(!call.asks.is_empty()),
                CallState::Scheduled => {
                    scheduled.push(call);
                    continue;
                }
                _ => Some(false),
            };
            match waits {
                Some(false) => return Some(false),
                Some(true) => (),
                None => is_known = false,
            }
        }
        // Each is behind a call that is open itself, or is about to be judged again.
        if !scheduled.into_iter().all(|call| self.is_in_the_way(call)) {
            return Some(false);
        }
        is_known.then_some(true)
    }
}

impl RunFacts {
    /// The first scheduled call that conflicts with no earlier open call of the turn.
    pub(super) fn startable(&self) -> Option<&TrackedCall> {
        let scheduled = |call: &&TrackedCall| {
            call.state == CallState::Scheduled && call.completion.is_none() && !call.is_held_up
        };
        self.calls.open().filter(scheduled).find(|call| !self.is_in_the_way(call))
    }

    /// True if an earlier call that is still open conflicts with this one, which is one of the turn's.
    pub(super) fn is_in_the_way(&self, call: &TrackedCall) -> bool {
        self.calls.open_before(call).any(|it| conflict(it, call))
    }
}

/// Calls conflict when they share a path with a mutator among them, or both run commands (spec 05,
/// "Scheduler"). A call that is not judged yet conflicts with nothing: it touches nothing yet, and it is
/// judged before it could.
fn conflict(earlier: &TrackedCall, later: &TrackedCall) -> bool {
    let (Some(a), Some(b)) = (&earlier.prepared, &later.prepared) else { return false };
    if a.kind == ToolKind::Execute && b.kind == ToolKind::Execute {
        return true;
    }
    // Also what is no mutator by its kind may write, e.g. a memory file.
    let writes = |call: &JudgedCall| {
        call.kind.is_mutator()
            || call.accesses.iter().any(|access| matches!(access, ResourceAccess::Write { .. }))
    };
    if !writes(a) && !writes(b) {
        return false;
    }
    a.accesses.iter().any(|a| b.accesses.iter().any(|b| overlap(a, b)))
}

fn overlap(a: &ResourceAccess, b: &ResourceAccess) -> bool {
    fn path(access: &ResourceAccess) -> Option<&Path> {
        match access {
            ResourceAccess::Read { path } | ResourceAccess::Write { path } => Some(path),
            _ => None,
        }
    }
    let both_read = matches!((a, b), (ResourceAccess::Read { .. }, ResourceAccess::Read { .. }));
    match (path(a), path(b)) {
        (Some(a), Some(b)) if !both_read => a.starts_with(b) || b.starts_with(a),
        _ => false,
    }
}
