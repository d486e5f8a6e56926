//! `session/attach`, `session/detach`.

use std::sync::Arc;

use super::super::{
    feed::{EventPump, LogFeed},
    rpc::{MethodHandlers, PendingSubscription, RpcCaller},
};
use crate::daemon_services::DaemonServices;
use protocol::{
    DetachResult, RpcError, SessionAttach, SessionAttachParams, SessionDetach, SessionDetachParams,
};

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let mut api = api.given(Arc::new(LogFeed::of(services)));
    api.subscription::<SessionAttach, _, _>(attach);
    api.method::<SessionDetach, _, _>(detach);
}

async fn attach(
    log: Arc<LogFeed>,
    caller: RpcCaller,
    params: SessionAttachParams,
    feed: PendingSubscription,
) -> Result<(), RpcError> {
    let pump = EventPump::attach(log, caller, params).await?;
    pump.run(feed.accept().await?).await;
    Ok(())
}

async fn detach(
    _: Arc<LogFeed>,
    caller: RpcCaller,
    params: SessionDetachParams,
) -> Result<DetachResult, RpcError> {
    Ok(DetachResult { detached: caller.detach(&params.subscription) })
}
