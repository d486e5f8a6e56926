//! Where does a run's agent come from, and which hooks does it bring along?

use std::{path::Path, sync::Arc};

use super::{ChildInheritance, RunPlan};
use crate::{
    child::CallableAgent,
    hooks::{AgentHooks, RunHooks},
    resources::RunResources,
};
use project::Project;
use protocol::{AcknowledgedAgentFile, AgentDefinition, AgentProvenance};

/// The files behind a root run's agent.
pub(super) fn of_root(project: &Project, definition: &AgentDefinition, digest: &str) -> AgentProvenance {
    let own = project.catalog.workspace_file(&definition.name, digest);
    AgentProvenance { own, callers: Vec::new() }
}

/// The same for a run that another one calls: nothing that its agent lets it do unasked outlasts the trust in its callers.
pub(super) fn of_child(callable: &CallableAgent, parent: &ChildInheritance<'_>) -> AgentProvenance {
    let callers = parent.equipment.provenance.files().cloned().collect();
    AgentProvenance { own: callable.file.clone(), callers }
}

/// Every hook that counts in a root run.
pub(super) fn hooks_of(
    project: &Project,
    definition: &AgentDefinition,
    provenance: &AgentProvenance,
    supplies: &RunResources,
) -> RunHooks {
    let runs_by = (supplies.own_files.artifacts().clone(), Arc::clone(&supplies.commands));
    let own = agent_hooks(project, definition, provenance.own.as_ref());
    RunHooks::of(&supplies.hooks, (&project.roots, own), runs_by)
}

/// The hooks that an agent brings along. Whoever may start it has trusted its file; whether they still do, is asked when hooks are.
pub(super) fn agent_hooks(
    project: &Project,
    definition: &AgentDefinition,
    begun_from: Option<&AcknowledgedAgentFile>,
) -> Option<AgentHooks> {
    let file = project.catalog.path(&definition.name).map(Path::to_owned).unwrap_or_default();
    let (agent, hooks) = (definition.name.clone(), definition.hooks.clone()?);
    Some(AgentHooks { agent, file, hooks, is_trusted: true, begun_from: begun_from.cloned() })
}

impl RunPlan {
    /// Tells that the agent's file is in a state that people acknowledged before another one.
    pub(super) fn tell_of_earlier_state(&mut self) {
        let equipment = &self.resources.equipment;
        let acts = !equipment.own_auto_approve.is_empty() || equipment.hooks.has_agent();
        let Some(file) = equipment.provenance.own.as_ref().filter(|_| acts) else { return };
        if !equipment.is_acknowledged_by_now() {
            let path = Path::new(&file.root).join(&file.path);
            self.prompt_warnings.push(equipment.supplies.redactor.owned(format!(
                "another state of {} was acknowledged after this one: what it would let the run do unasked asks, its hooks \
                 rest, and those that guard refuse (`subagent trust`)",
                path.display()
            )));
        }
    }
}
