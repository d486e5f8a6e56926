//! `session/attach`, `session/detach`.

use std::sync::Arc;

use super::super::{
    attach::Attachment,
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
    _: Caller,
    params: SessionAttachParams,
    feed: Feed,
) -> Result<(), RpcError> {
    let attachment = Attachment::open(&state, params).await?;
    attachment.pump(feed.accept().await?).await;
    Ok(())
}

async fn detach(
    _: Arc<State>,
    caller: Caller,
    params: SessionDetachParams,
) -> Result<DetachResult, RpcError> {
    Ok(DetachResult { detached: caller.detach(&params.subscription) })
}
