//! What would a run be given, if it began now?

use super::Executor;
use crate::{
    project::Project,
    protocol::{AgentDefinition, DiscoveryCommands, ForeignTools, ToolDeclaration},
    run::{
        child::Callables,
        completion::CompletionTool,
        plan::{self, PlanError},
    },
    tools::{Exclusion, Foreign, Registry, Toolset},
};

impl Executor {
    /// The definition as the user's settings have it, where they say something of this agent.
    pub fn overriding(&self, definition: &AgentDefinition) -> Option<AgentDefinition> {
        self.supplies().defaults.overriding(definition)
    }

    /// The tools that a run of this definition would get.
    pub fn toolset(&self, definition: &AgentDefinition, project: &Project, foreign: ForeignTools) -> Toolset {
        let supplies = self.supplies();
        let overriding = supplies.defaults.overriding(definition);
        let definition = overriding.as_ref().unwrap_or(definition);
        let callables = Callables::of(definition, &project.catalog);
        let foreign = Foreign::new(foreign, &supplies.lenders);
        plan::toolset(definition, &callables, project, &foreign, &supplies)
    }

    /// Every tool that an agent of this workspace may be given, whatever is excluded.
    pub fn registry(&self, project: &Project, foreign: ForeignTools) -> Registry {
        let supplies = self.supplies();
        let agents = Callables::every(&project.catalog);
        let registry = supplies.registry.with_agents(agents.tools(&supplies.redactor));
        registry.with_foreign(&Foreign::new(foreign, &supplies.lenders))
    }

    /// The tools of the daemon's own.
    pub fn built_in(&self) -> Registry {
        self.supplies().registry.clone()
    }

    /// What no run in this workspace gets.
    pub fn exclusions(&self, project: &Project) -> Vec<Exclusion> {
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
