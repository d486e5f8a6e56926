//! `agents/list`.

use std::sync::Arc;

use super::{
    super::{
        rpc::{Api, Caller},
        state::State,
    },
    internal, roots,
};
use crate::protocol::{AgentsList, AgentsListParams, AgentsListResult, RpcError};

pub fn register(api: &mut Api<State>) {
    api.cancellable::<AgentsList, _, _>(list);
}

async fn list(state: Arc<State>, _: Caller, params: AgentsListParams) -> Result<AgentsListResult, RpcError> {
    let roots = params.workspace.as_ref().map(roots).transpose()?.unwrap_or_default();
    let catalog =
        state.catalog(roots).await.map_err(|error| internal("the agents could not be read", &error))?;
    Ok(AgentsListResult { agents: catalog.list(params.include_hidden, params.include_invalid) })
}
