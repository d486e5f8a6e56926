//! `agents/list`.

use std::sync::Arc;

use super::{
    super::{
        rpc::{Api, Caller},
        state::State,
    },
    internal, roots,
};
use crate::protocol::{
    AgentsList, AgentsListParams, AgentsListResult, FileProblem, FileProblemCode, RpcError, Severity,
};

pub fn register(api: &mut Api<State>) {
    api.cancellable::<AgentsList, _, _>(list);
}

async fn list(state: Arc<State>, _: Caller, params: AgentsListParams) -> Result<AgentsListResult, RpcError> {
    let roots = params.workspace.as_ref().map(roots).transpose()?.unwrap_or_default();
    let catalog =
        state.catalog(roots).await.map_err(|error| internal("the agents could not be read", &error))?;
    let mut agents = catalog.list(params.include_hidden, params.include_invalid);
    for agent in &mut agents {
        // Only here are the tools known, so only here a misspelled one is noticed.
        let Some(definition) = catalog.definition(&agent.name, agent.path.as_deref()) else { continue };
        let path = agent.path.clone().unwrap_or_default();
        let toolset = state.tools.select(&definition.tools);
        agent.problems.extend(toolset.warnings().iter().map(|message| FileProblem {
            path: path.clone(),
            line: None,
            column: None,
            severity: Severity::Warning,
            code: FileProblemCode::UnknownTool,
            message: message.clone(),
            fix: None,
        }));
    }
    Ok(AgentsListResult { agents })
}
