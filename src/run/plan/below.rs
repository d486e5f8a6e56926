//! What may an agent do that another calls? No more than its caller.

use crate::{equipment::RunEquipment, machine::RemainingBudget};
use protocol::{AgentDefinition, AgentName, Risk, RunApproval, Timestamp};

/// Everything that a run that is called by another gets from it.
pub(crate) struct ChildInheritance<'a> {
    pub equipment: &'a RunEquipment,
    /// Spec 03: "capped by what the parent has left".
    pub left: RemainingBudget,
    pub max_depth: u32,
    pub now: Timestamp,
    /// How its questions are put is how those of the run that calls it are.
    pub approval: &'a RunApproval,
    /// What runs of the run that calls it without being asked about: the default asks that are dropped there.
    pub auto_approve: &'a [Risk],
    /// From the root run's agent to the one that calls.
    pub callers: &'a [AgentName],
}

/// The definition of an agent that another calls: nothing in it is wider than what holds for the caller. A person who was
/// asked about the caller was asked about all that it does. It is kept with the run, so it holds after a restart as well.
pub(super) fn caller(definition: &AgentDefinition, parent: &ChildInheritance<'_>) -> AgentDefinition {
    let mut definition = definition.clone();
    let of_caller = parent.equipment.prepare.command_rules.confinement.profile;
    definition.sandbox = Some(definition.sandbox.map_or(of_caller, |wanted| wanted.min(of_caller)));
    definition.auto_approve.retain(|risk| parent.auto_approve.contains(risk));
    definition.tracing = definition.tracing.narrowed_by(&parent.equipment.own_tracing);
    for narrowing in &parent.equipment.own_narrowings {
        if !definition.narrowings.contains(narrowing) {
            definition.narrowings.push(narrowing.clone());
        }
    }
    definition
}
