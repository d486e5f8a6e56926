//! What may an agent do that another calls? No more than its caller.

use super::ChildInheritance;
use protocol::AgentDefinition;

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
