//! Servers that tell of other tools while a run works: its next model call has them (spec 07, "`tools/list_changed`").

use std::{collections::BTreeMap, sync::Arc};

use super::{
    super::{
        equipment::RunEquipment,
        gate::CallGate,
        machine::{EventDraft, MachineInput, RunMachine},
    },
    RunDriver,
};
use protocol::{EventBody, McpServerTools, PrivateEventFields, RunToolsChanged, ToolDeclaration, ToolName};
use tools::RunToolset;

impl RunDriver {
    /// Where a model call is announced: what it can choose among is what there is now.
    pub(super) fn look_at_servers(&self, machine: &mut RunMachine, drafts: &mut Vec<EventDraft>) {
        let is_asked = drafts.iter().any(|draft| matches!(draft.body, EventBody::ModelStarted(_)));
        if !is_asked {
            return;
        }
        let Some(served) = self.gate.foreign.served_now() else { return };
        let told =
            difference(&self.gate.toolset, &self.gate.served(served.clone(), &self.seed.definition).toolset);
        if told == RunToolsChanged::default() {
            // What changed is none of this run's.
            return self.gate.foreign.is_as_told();
        }
        drafts.extend(machine.decide(MachineInput::Served { told, served }));
    }

    /// Calls are judged by these tools from here on, and the model is told of them.
    pub(super) fn take_served(&mut self, private: &PrivateEventFields) {
        let Some(served) = &private.served else { return };
        let gate = self.gate.served(served.clone(), &self.seed.definition);
        self.frame.declare(&gate);
        self.gate = Arc::new(gate);
    }
}

impl CallGate {
    /// The same, with other tools of the same servers.
    fn served(&self, served: Vec<McpServerTools>, definition: &protocol::AgentDefinition) -> CallGate {
        let foreign = self.foreign.with_other_tools(served, &self.supplies.lenders);
        let toolset =
            super::super::plan::toolset(definition, &self.callables, &self.project, &foreign, &self.supplies);
        CallGate::with(RunEquipment { foreign, toolset, ..(**self).clone() })
    }
}

fn difference(before: &RunToolset, now: &RunToolset) -> RunToolsChanged {
    let by_name = |toolset: &RunToolset| -> BTreeMap<ToolName, ToolDeclaration> {
        toolset.declarations().map(|it| (it.name.clone(), it.clone())).collect()
    };
    let (before, now) = (by_name(before), by_name(now));
    RunToolsChanged {
        added: now.keys().filter(|name| !before.contains_key(*name)).cloned().collect(),
        removed: before.keys().filter(|name| !now.contains_key(*name)).cloned().collect(),
        changed: now
            .iter()
            .filter(|(name, it)| before.get(*name).is_some_and(|was| was != *it))
            .map(|(name, _)| name.clone())
            .collect(),
    }
}
