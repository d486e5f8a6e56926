//! Which tools does a run get, and what keeps it from others?

use super::skills::{self, means_skill_tool, skill_tool};
use crate::{child::CallableAgents, resources::RunResources};
use project::Project;
use protocol::{AgentDefinition, RunSeed, ToolName};
use tools::{ForeignToolset, RunToolset, ToolExclusion, WEB_SEARCH, commands_in_force, entry_matches};

/// The tools of a definition, the agents it may call among them, without those that the settings keep from every run, or
/// from every run of this workspace.
pub(crate) fn toolset(
    definition: &AgentDefinition,
    callables: &CallableAgents,
    project: &Project,
    foreign: &ForeignToolset,
    supplies: &RunResources,
) -> RunToolset {
    let mut selection = skills::selection(definition, &project.skills);
    let skills = skills::is_wanted(definition).then(|| skill_tool(&project.skills)).flatten();
    selection.deny.extend(exclusions(project, supplies).into_iter().map(|it| it.entry));
    if let Some(allow) = &mut selection.allow {
        allow.retain(|entry| callables.untrusted(entry).is_none());
    }
    let registry = supplies
        .registry
        .with_own(skills)
        .with_agents(callables.tools(&supplies.redactor))
        .with_foreign(foreign);
    let is_named =
        |entry: &ToolName| !entry.as_str().contains('*') && entry_matches(entry.as_str(), WEB_SEARCH);
    let wants_search = definition.tools.allow.as_ref().is_some_and(|allow| allow.iter().any(is_named));
    let toolset = match wants_search && supplies.defaults.web.search.is_none() {
        true => registry.select(&selection).with_warning(format!(
            "`{WEB_SEARCH}` is not there: nobody answers searches; the setting tools.webSearch.backend says who does"
        )),
        false => registry.select(&selection),
    };
    let toolset = toolset.expecting(|entry| foreign.may_have(entry) || means_skill_tool(entry));
    let toolset = toolset.explained(|entry| callables.unsupported(entry).cloned());
    let toolset = foreign.away().fold(toolset, RunToolset::with_warning);
    callables.warnings().fold(toolset, RunToolset::with_warning)
}

/// What no run in this workspace gets.
pub(crate) fn exclusions(project: &Project, supplies: &RunResources) -> Vec<ToolExclusion> {
    let of = |entries: &[ToolName], place: &str| -> Vec<ToolExclusion> {
        let exclusion = |entry: &ToolName| ToolExclusion { entry: entry.clone(), place: place.to_owned() };
        entries.iter().map(exclusion).collect()
    };
    let mut all = of(&supplies.defaults.excluded, "the setting tools.exclude");
    all.extend(of(&project.settings.exclude, "the workspace's setting tools.exclude"));
    // Nobody answers searches.
    if supplies.defaults.web.search.is_none() {
        let (entry, place) =
            (ToolName::from(WEB_SEARCH), "the setting tools.webSearch.backend, which is not set");
        all.push(ToolExclusion { entry, place: place.to_owned() });
    }
    all
}

/// The tools from elsewhere that a run goes on with after a restart.
pub(crate) fn taken_up(seed: &RunSeed, project: &Project, supplies: &RunResources) -> ForeignToolset {
    let kept = seed.foreign.clone();
    let in_force = commands_in_force(project, &supplies.defaults.discovery);
    let with = (&supplies.lenders, &supplies.redactor);
    supplies.servers.meet(project);
    let served = (&supplies.servers, &*project.roots);
    let owned = supplies.servers.kept(kept.mcp.iter(), &seed.definition, project);
    ForeignToolset::taken_up((kept, owned), project.is_trusted.then_some(&in_force), with, served)
}
