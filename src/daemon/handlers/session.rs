//! `session/attach`, `session/detach`.

use std::sync::Arc;

use super::super::{
    feed::Pump,
    rpc::{Api, Caller, Feed},
    state::State,
};
use crate::protocol::{
    DetachResult, RpcError, SessionAttach, SessionAttachParams, SessionDetach, SessionDetachParams,
};

pub fn register(api: &mut Api<State>) {
    api.subscription::<SessionAttach, _, _>(attach);
    api.method::<SessionDetach, _, _>(detach);
}

async fn attach(
    state: Arc<State>,
    caller: Caller,
    params: SessionAttachParams,
    feed: Feed,
) -> Result<(), RpcError> {
    let pump = Pump::attach(state, caller, params).await?;
    pump.run(feed.accept().await?).await;
    Ok(())
}

async fn detach(
    _: Arc<State>,
    caller: Caller,
    params: SessionDetachParams,
) -> Result<DetachResult, RpcError> {
    Ok(DetachResult { detached: caller.detach(&params.subscription) })
}
