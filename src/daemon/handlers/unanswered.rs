//! Methods whose handlers are still being written: each says so.

use std::sync::Arc;

use super::super::{
    rpc::{Api, Caller},
    state::State,
};
use crate::protocol::{
    AgentsAcknowledge, ErrorKind, Method, PolicyCheck, PolicyList, PolicyRemove, RpcError, SessionUndo,
    ToolsCall, ToolsOutput, WorkspaceList, WorkspaceOpen, WorkspaceTrust,
};

pub fn register(api: &mut Api<State>) {
    refuse::<AgentsAcknowledge>(api);
    refuse::<PolicyCheck>(api);
    refuse::<PolicyList>(api);
    refuse::<PolicyRemove>(api);
    refuse::<SessionUndo>(api);
    refuse::<ToolsCall>(api);
    refuse::<ToolsOutput>(api);
    refuse::<WorkspaceList>(api);
    refuse::<WorkspaceOpen>(api);
    refuse::<WorkspaceTrust>(api);
}

fn refuse<M: Method>(api: &mut Api<State>) {
    api.method::<M, _, _>(|_: Arc<State>, _: Caller, _| async {
        Err::<M::Result, RpcError>(RpcError::new(ErrorKind::MethodNotFound, "not in this version"))
    });
}
