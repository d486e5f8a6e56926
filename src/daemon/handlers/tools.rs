//! `tools/list`: which tools are there, whence, and which of them does nobody get?

use std::{path::PathBuf, sync::Arc};

use super::{
    super::{
        discovery::{self, foreign},
        rpc::{MethodHandlers, RpcCaller},
    },
    lookup::{definition, session},
    roots, violation,
};
use crate::{
    daemon_services::DaemonServices, discovery::ToolDiscovery, program_runtime::ProgramRuntime,
    settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use protocol::{
    AgentDefinition, ListedTool, ListedToolState, RpcError, ToolSource, ToolsList, ToolsListParams,
    ToolsListResult,
};
use run::RunExecutor;
use store::EventStore;
use tools::{Tool, ToolExclusion, ToolRegistry, WEB_SEARCH};

/// The services that the methods of tools use.
pub(super) struct ToolMethods {
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub workspaces: Arc<WorkspaceSources>,
    pub programs: Arc<ProgramRuntime>,
    pub discovery: ToolDiscovery,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { settings, store, executor, workspaces, programs, .. } = services.clone();
    let discovery = ToolDiscovery::of(services);
    let mut api =
        api.given(Arc::new(ToolMethods { settings, store, executor, workspaces, programs, discovery }));
    api.cancellable::<ToolsList, _, _>(list);
}

async fn list(
    state: Arc<ToolMethods>,
    _: RpcCaller,
    params: ToolsListParams,
) -> Result<ToolsListResult, RpcError> {
    let ToolsListParams { agent, session_id, workspace } = params;
    let given = workspace.as_ref().map(roots).transpose()?;
    let roots: Vec<PathBuf> = match &session_id {
        None => given.unwrap_or_default(),
        Some(id) => {
            let own: Vec<PathBuf> =
                session(&state.store, id).await?.roots.iter().map(PathBuf::from).collect();
            if given.is_some_and(|given| given != own) {
                return Err(violation("/workspace", "is not that of the session"));
            }
            own
        }
    };
    let project = discovery::project(&state.workspaces, roots).await?;
    let found = agent.as_ref().map(|agent| definition(&project.catalog, agent)).transpose()?;
    let foreign =
        foreign(&state.discovery, &project, session_id.as_ref(), found.as_ref().map(|(it, _)| &**it)).await;
    let mut exclusions = state.executor.exclusions(&project);
    let mut warnings = state
        .programs
        .discoveries
        .known(&project.roots)
        .map_or_else(Vec::new, |found| found.discovery.warnings.clone());
    if project.names_unread_command {
        warnings.push(discovery::UNREAD.to_owned());
    }
    let registry = state.executor.registry(&project, foreign.clone());
    let idle = |it: &ToolExclusion| Some(format!("{}: {}", it.place, registry.explain_idle(&it.entry)?));
    let redactor = state.settings.redactor.get();
    warnings.extend(exclusions.iter().filter_map(idle).map(|warning| redactor.owned(warning)));
    let has_search = state.settings.get().config.tools.web_search.backend.value.is_some();
    let listed = |tool: &Arc<dyn Tool>| listed(tool, &exclusions, has_search);
    let Some((definition, _)) = found else {
        warnings.extend(registry.warnings().iter().cloned());
        return Ok(ToolsListResult { tools: registry.tools().map(listed).collect(), warnings });
    };
    let definition = state.executor.overriding(&definition).map_or(definition, Arc::new);
    let toolset = state.executor.toolset(&definition, &project, foreign.clone());
    warnings.extend(toolset.warnings_of(&definition.tools));
    exclusions.extend(own_exclusions(&definition));
    // What it would get if nothing were excluded, so that what is excluded shows.
    let mut wanted = (*definition).clone();
    wanted.tools.deny = Vec::new();
    let tools = registry.select(&state.executor.selection(&wanted, &project));
    let mut tools: Vec<ListedTool> =
        tools.tools().map(|tool| self::listed(tool, &exclusions, has_search)).collect();
    let declaration = state.executor.completion_declaration(&definition)?;
    tools.push(ListedTool {
        declaration,
        source: ToolSource::Builtin,
        state: ListedToolState::Available,
        rule: None,
        client_id: None,
        extension: None,
    });
    Ok(ToolsListResult { tools, warnings })
}

fn own_exclusions(definition: &AgentDefinition) -> Vec<ToolExclusion> {
    let place = format!("tools.deny of the agent {}", definition.name);
    let of = |entry: &protocol::ToolName| ToolExclusion { entry: entry.clone(), place: place.clone() };
    definition.tools.deny.iter().map(of).collect()
}

fn listed(tool: &Arc<dyn Tool>, exclusions: &[ToolExclusion], has_search: bool) -> ListedTool {
    let declaration = tool.declaration().clone();
    let rule = match declaration.name.as_str() == WEB_SEARCH && !has_search {
        true => Some("tools.webSearch.backend is not set".to_owned()),
        false => ToolRegistry::excluded_by(&declaration.name, exclusions),
    };
    let state = match &rule {
        Some(_) => ListedToolState::Excluded,
        None => ListedToolState::Available,
    };
    let (client_id, extension) = (tool.lender().cloned(), tool.extension().cloned());
    ListedTool { declaration, source: tool.source(), state, rule, client_id, extension }
}
