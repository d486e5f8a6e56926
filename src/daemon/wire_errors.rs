//! Why is a request refused, where several handlers refuse for the same reason?

use serde_json::json;

use protocol::{ErrorKind, RpcError, SessionId};
use store::EventStore;

/// A parameter that its schema allows and its neighbours do not.
pub(super) fn violation(pointer: &str, message: &str) -> RpcError {
    RpcError::new(ErrorKind::InvalidParams, format!("{pointer}: {message}"))
        .with_details(json!({ "violations": [{ "pointer": pointer, "message": message }] }))
}

/// The reason why there is no such session.
pub(super) async fn no_session(store: &EventStore, session: &SessionId) -> RpcError {
    match store.was_deleted(session).await {
        Ok(true) => RpcError::new(ErrorKind::Gone, format!("session {session} was deleted"))
            .with_hint("start without a session (`subagent run --new`): that opens a new one"),
        Ok(false) => RpcError::new(ErrorKind::NotFound, format!("there is no session {session}"))
            .with_hint("`subagent sessions` shows those there are"),
        Err(error) => error.into(),
    }
}

/// A task of the daemon's own that could not be finished.
pub(super) fn internal(what: &str, error: &dyn std::fmt::Display) -> RpcError {
    let id: String = sys::ids::fresh();
    tracing::error!(%id, %error, "{what}");
    RpcError::new(ErrorKind::InternalError, format!("{what}; the daemon's log has it as {id}"))
        .with_details(json!({ "id": id }))
}
