//! `session/attach`, `session/detach`.

use std::sync::Arc;

use super::super::{
    feed::EventPump,
    rpc::{MethodHandlers, PendingSubscription, RpcCaller},
    state::DaemonContext,
};
use protocol::{
    DetachResult, RpcError, SessionAttach, SessionAttachParams, SessionDetach, SessionDetachParams,
};

pub fn register(api: &mut MethodHandlers<DaemonContext>) {
    api.subscription::<SessionAttach, _, _>(attach);
    api.method::<SessionDetach, _, _>(detach);
}

async fn attach(
    state: Arc<DaemonContext>,
    caller: RpcCaller,
    params: SessionAttachParams,
    feed: PendingSubscription,
) -> Result<(), RpcError> {
    let pump = EventPump::attach(state, caller, params).await?;
    pump.run(feed.accept().await?).await;
    Ok(())
}

async fn detach(
    _: Arc<DaemonContext>,
    caller: RpcCaller,
    params: SessionDetachParams,
) -> Result<DetachResult, RpcError> {
    Ok(DetachResult { detached: caller.detach(&params.subscription) })
}
