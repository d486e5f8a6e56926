//! `tools/list`.

use std::sync::Arc;

use super::{
    super::{
        rpc::{Api, Caller},
        state::State,
    },
    internal,
    runs::definition,
};
use crate::protocol::{ListedTool, RpcError, ToolDeclaration, ToolsList, ToolsListParams, ToolsListResult};

pub fn register(api: &mut Api<State>) {
    api.cancellable::<ToolsList, _, _>(list);
}

async fn list(state: Arc<State>, _: Caller, params: ToolsListParams) -> Result<ToolsListResult, RpcError> {
    let listed = |declaration: ToolDeclaration| ListedTool { declaration, source: "builtin".to_owned() };
    let declarations: Vec<ToolDeclaration> = match &params.agent {
        None => state.tools.list().cloned().collect(),
        Some(agent) => {
            let project = state
                .project(Vec::new())
                .await
                .map_err(|error| internal("the agents could not be read", &error))?;
            let (definition, _) = definition(&project.catalog, agent)?;
            let toolset = state.executor.toolset(&definition, &project);
            let mut declarations: Vec<ToolDeclaration> = toolset.declarations().cloned().collect();
            let completion = state.executor.completion_declaration(&definition)?;
            declarations.push(completion);
            declarations
        }
    };
    Ok(ToolsListResult { tools: declarations.into_iter().map(listed).collect() })
}
