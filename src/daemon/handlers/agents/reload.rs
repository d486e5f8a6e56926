//! `agents/reload`.

use std::sync::Arc;

use crate::{
    agent_changes,
    handlers::{by, roots},
    rpc::RpcCaller,
    state::DaemonContext,
};
use protocol::{AgentsReloadParams, AgentsReloadResult, RpcError};

/// Whoever asks may leave, but what the log says is then done.
pub async fn reload(
    state: Arc<DaemonContext>,
    caller: RpcCaller,
    params: AgentsReloadParams,
) -> Result<AgentsReloadResult, RpcError> {
    let roots = params.workspace.as_ref().map(roots).transpose()?.unwrap_or_default();
    agent_changes::reload(&state, roots, by(&caller)).await
}
