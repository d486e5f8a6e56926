//! `tools/list`: which tools are there, whence, and which of them does nobody get?

use std::{path::PathBuf, sync::Arc};

use super::{
    super::{
        discovery::{self, foreign},
        rpc::{Api, Caller},
        state::State,
    },
    roots,
    runs::definition,
    sessions::session,
    violation,
};
use crate::{
    protocol::{
        AgentDefinition, ListedTool, ListedToolState, RpcError, ToolSource, ToolsList, ToolsListParams,
        ToolsListResult,
    },
    tools::{Exclusion, Registry, Tool},
};

pub fn register(api: &mut Api<State>) {
    api.cancellable::<ToolsList, _, _>(list);
}

async fn list(state: Arc<State>, _: Caller, params: ToolsListParams) -> Result<ToolsListResult, RpcError> {
    let ToolsListParams { agent, session_id, workspace } = params;
    let given = workspace.as_ref().map(roots).transpose()?;
    let roots: Vec<PathBuf> = match &session_id {
        None => given.unwrap_or_default(),
        Some(id) => {
            let own: Vec<PathBuf> = session(&state, id).await?.roots.iter().map(PathBuf::from).collect();
            if given.is_some_and(|given| given != own) {
                return Err(violation("/workspace", "is not that of the session"));
            }
            own
        }
    };
    let project = discovery::project(&state, roots).await?;
    let foreign = foreign(&state, &project, session_id.as_ref()).await;
    let mut exclusions = state.executor.exclusions(&project);
    let mut warnings = state
        .discoveries
        .known(&project.roots)
        .map_or_else(Vec::new, |found| found.discovery.warnings.clone());
    let registry = state.executor.registry(&project, foreign.clone());
    let listed = |tool: &Arc<dyn Tool>| listed(tool, &exclusions);
    let Some(agent) = agent else {
        warnings.extend(registry.warnings().iter().cloned());
        return Ok(ToolsListResult { tools: registry.tools().map(listed).collect(), warnings });
    };
    let (definition, _) = definition(&project.catalog, &agent)?;
    let toolset = state.executor.toolset(&definition, &project, foreign.clone());
    warnings.extend(toolset.warnings().iter().cloned());
    exclusions.extend(own_exclusions(&definition));
    // What it would get if nothing were excluded, so that what is excluded shows.
    let mut wanted = (*definition).clone();
    wanted.tools.deny = Vec::new();
    let tools = registry.select(&wanted.tools);
    let mut tools: Vec<ListedTool> = tools.tools().map(|tool| self::listed(tool, &exclusions)).collect();
    let declaration = state.executor.completion_declaration(&definition)?;
    tools.push(ListedTool {
        declaration,
        source: ToolSource::Builtin,
        state: ListedToolState::Available,
        rule: None,
        client_id: None,
    });
    Ok(ToolsListResult { tools, warnings })
}

fn own_exclusions(definition: &AgentDefinition) -> Vec<Exclusion> {
    let place = format!("tools.deny of the agent {}", definition.name);
    let of = |entry: &crate::protocol::ToolName| Exclusion { entry: entry.clone(), place: place.clone() };
    definition.tools.deny.iter().map(of).collect()
}

fn listed(tool: &Arc<dyn Tool>, exclusions: &[Exclusion]) -> ListedTool {
    let declaration = tool.declaration().clone();
    let rule = Registry::excluded_by(&declaration.name, exclusions);
    let state = match &rule {
        Some(_) => ListedToolState::Excluded,
        None => ListedToolState::Available,
    };
    ListedTool { declaration, source: tool.source(), state, rule, client_id: tool.lender().cloned() }
}
