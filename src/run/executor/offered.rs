//! What would a run be given, if it began now?

use std::{collections::HashMap, sync::Arc};

use super::RunExecutor;
use crate::{
    child::CallableAgents,
    completion::CompletionTool,
    plan::{self, KeyLookup, PlanError},
    resources::RunResources,
};
use models::ResolveError;
use project::Project;
use protocol::{
    AgentDefinition, AgentName, COMPLETE_TASK, DiscoveryCommands, ToolDeclaration, ToolName, ToolSelection,
};
use tools::{
    ForeignToolset, RunToolset, ToolExclusion, ToolRegistry, WEB_SEARCH, entry_allows, entry_matches,
};

impl RunExecutor {
    /// The definition as the user's settings have it, where they say something of this agent.
    pub fn overriding(&self, definition: &AgentDefinition) -> Option<AgentDefinition> {
        self.supplies().defaults.overriding(definition)
    }

    /// The tools that a run of this definition would get.
    pub fn toolset(
        &self,
        definition: &AgentDefinition,
        project: &Project,
        foreign: ForeignToolset,
    ) -> RunToolset {
        let supplies = self.supplies();
        let overriding = supplies.defaults.overriding(definition);
        let definition = overriding.as_ref().unwrap_or(definition);
        let callables = CallableAgents::of(definition, &project.catalog);
        plan::toolset(definition, &callables, project, &foreign, &supplies)
    }

    /// The selection of a definition among the tools of this workspace.
    pub fn selection(&self, definition: &AgentDefinition, project: &Project) -> ToolSelection {
        plan::selection(definition, &project.skills)
    }

    /// What to ask of many agents of one workspace.
    pub fn named_in_vain<'a>(&self, project: &'a Project, foreign: ForeignToolset) -> NamedInVain<'a> {
        let supplies = self.supplies();
        let registry = supplies.registry.clone().with_foreign(&foreign);
        NamedInVain { supplies, project, foreign, registry, known: HashMap::new() }
    }

    /// Every tool that an agent of this workspace may be given, whatever is excluded.
    pub fn registry(&self, project: &Project, foreign: ForeignToolset) -> ToolRegistry {
        let supplies = self.supplies();
        let agents = CallableAgents::every(&project.catalog);
        let registry = supplies
            .registry
            .with_own(plan::skill_tool(&project.skills))
            .with_agents(agents.tools(&supplies.redactor));
        registry.with_foreign(&foreign)
    }

    /// The reason why no run gets the model of this agent as it is named, if none does. No key is looked for.
    pub fn model_problem(&self, definition: &AgentDefinition) -> Option<String> {
        match self.model_finding(definition, KeyLookup::AtNames) {
            Ok(found) => found.err(),
            Err(problem) => Some(format!("`model`: {problem}")),
        }
    }

    /// The reason why another model answers for an agent of another product than its file names, if one does. No key is looked for.
    pub fn unresolved_model(&self, definition: &AgentDefinition) -> Option<String> {
        self.model_finding(definition, KeyLookup::AtNames).ok()?.err()
    }

    /// What is wrong with the model of an agent. Looks for keys, so it may block.
    pub fn model_warning(&self, definition: &AgentDefinition) -> Option<String> {
        match self.model_finding(definition, KeyLookup::AtKeys) {
            Ok(found) => found.err(),
            Err(problem) => Some(problem.to_string()),
        }
    }

    fn model_finding(
        &self,
        definition: &AgentDefinition,
        look: KeyLookup,
    ) -> Result<Result<(), String>, ResolveError> {
        let supplies = self.supplies();
        let overriding = supplies.defaults.overriding(definition);
        let definition = overriding.as_ref().unwrap_or(definition);
        let found = plan::look_for_model(definition, look, &supplies.defaults, &supplies.models)?;
        let instead = || match &supplies.defaults.model {
            Some(default) => format!("the default `{default}`, or the model of an agent that calls it,"),
            None => "only the model of an agent that calls it, since `models.default` is not set,".to_owned(),
        };
        Ok(found.map_err(|unresolved| unresolved.warning(&instead())))
    }

    /// The tools of the daemon's own.
    pub fn built_in(&self) -> ToolRegistry {
        self.supplies().registry.clone()
    }

    /// What no run in this workspace gets.
    pub fn exclusions(&self, project: &Project) -> Vec<ToolExclusion> {
        plan::exclusions(project, &self.supplies())
    }

    /// The discovery commands of whoever runs the daemon.
    pub fn discovery_commands(&self) -> DiscoveryCommands {
        self.supplies().defaults.discovery.clone()
    }

    /// What a run of this definition would declare as `complete_task`.
    pub fn completion_declaration(&self, definition: &AgentDefinition) -> Result<ToolDeclaration, PlanError> {
        Ok(CompletionTool::new(definition.output.as_ref())?.declaration().clone())
    }
}

/// Which tools do agents' files name in vain? What the agents have in common is found out once.
pub struct NamedInVain<'a> {
    supplies: Arc<RunResources>,
    project: &'a Project,
    foreign: ForeignToolset,
    /// Without agents.
    registry: ToolRegistry,
    known: HashMap<ToolName, OfferedToolMeaning>,
}

/// What an entry of a list of tools means, whichever agent's it is.
#[derive(Clone)]
enum OfferedToolMeaning {
    Tool,
    /// Agents that may be called; no more than tell whether there is another one than the agent itself.
    Agents(Vec<AgentName>),
    /// Nothing, or what needs a closer look.
    Doubtful,
}

impl NamedInVain<'_> {
    /// As [`RunToolset::warnings_of`] tells them of what a run of this definition would get.
    pub fn of(&mut self, definition: &AgentDefinition) -> Vec<String> {
        let overriding = self.supplies.defaults.overriding(definition);
        let tools = &definition.tools;
        // Of agents that nobody acknowledged, whoever may call all is told.
        let calls_unknown = tools.agents && self.project.catalog.untrusted().next().is_some();
        let is_plain = overriding.is_none()
            && !calls_unknown
            && tools.allow.iter().flatten().all(|entry| match self.meaning(entry) {
                OfferedToolMeaning::Tool => true,
                OfferedToolMeaning::Agents(agents) => agents.iter().any(|agent| *agent != definition.name),
                OfferedToolMeaning::Doubtful => false,
            })
            && tools.deny.iter().all(|entry| matches!(self.meaning(entry), OfferedToolMeaning::Tool));
        if is_plain {
            return Vec::new();
        }
        let definition = overriding.as_ref().unwrap_or(definition);
        let callables = CallableAgents::of(definition, &self.project.catalog);
        let toolset = plan::toolset(definition, &callables, self.project, &self.foreign, &self.supplies);
        toolset.warnings_of(tools).collect()
    }

    fn meaning(&mut self, entry: &ToolName) -> OfferedToolMeaning {
        if let Some(known) = self.known.get(entry) {
            return known.clone();
        }
        let is_meant = |name: &str| entry_matches(entry.as_str(), name);
        let brings = |tool: &ToolDeclaration| entry_allows(entry.as_str(), tool.name.as_str());
        let catalog = &self.project.catalog;
        let wants_search = !entry.as_str().contains('*') && is_meant(WEB_SEARCH);
        let meaning = if wants_search || catalog.untrusted().any(|agent| is_meant(agent.name.as_str())) {
            OfferedToolMeaning::Doubtful
        } else if is_meant(COMPLETE_TASK) || plan::means_skill_tool(entry) || self.registry.list().any(brings)
        {
            OfferedToolMeaning::Tool
        } else {
            let agents = catalog.callable().filter(|(agent, _)| is_meant(agent.name.as_str()));
            let agents: Vec<AgentName> = agents.take(2).map(|(agent, _)| agent.name.clone()).collect();
            if agents.is_empty() { OfferedToolMeaning::Doubtful } else { OfferedToolMeaning::Agents(agents) }
        };
        self.known.insert(entry.clone(), meaning.clone());
        meaning
    }
}
