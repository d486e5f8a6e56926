//! `agents/reload`.

use std::sync::Arc;

use super::AgentMethods;
use crate::{
    agent_changes,
    handlers::{by, roots},
    rpc::RpcCaller,
};
use protocol::{AgentsReloadParams, AgentsReloadResult, RpcError};

/// Whoever asks may leave, but what the log says is then done.
pub async fn reload(
    state: Arc<AgentMethods>,
    caller: RpcCaller,
    params: AgentsReloadParams,
) -> Result<AgentsReloadResult, RpcError> {
    let roots = params.workspace.as_ref().map(roots).transpose()?.unwrap_or_default();
    agent_changes::reload(&state.news, roots, by(&caller)).await
}
