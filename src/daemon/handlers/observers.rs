//! Which connections only look on at a session, and so change nothing in it? (Spec 01, `session/attach`.)
//!
//! A connection that is attached to nothing is a script or a command, whose user the socket has proved.

use crate::{client_connections::ClientConnections, rpc::RpcCaller};
use protocol::{AttachRole, ErrorKind, RpcError, SessionId};

/// Refuses what would change something in a session that the connection only looks on at.
pub fn may_change(
    clients: &ClientConnections,
    caller: &RpcCaller,
    session_id: &SessionId,
) -> Result<(), RpcError> {
    if clients.connected.role(caller.connection(), session_id) != Some(AttachRole::Observe) {
        return Ok(());
    }
    let message = format!("this connection only looks on at session {session_id}");
    Err(RpcError::new(ErrorKind::Forbidden, message)
        .with_hint("attach with the role `control` to answer its questions and to change something in it"))
}

/// Refuses what would reach into all sessions, from a connection that only looks on wherever it is attached.
pub fn may_change_all(clients: &ClientConnections, caller: &RpcCaller) -> Result<(), RpcError> {
    if !clients.connected.only_looks_on(caller.connection()) {
        return Ok(());
    }
    Err(RpcError::new(ErrorKind::Forbidden, "this connection only looks on at sessions")
        .with_hint("attach with the role `control`, or use a connection that is attached to nothing"))
}
