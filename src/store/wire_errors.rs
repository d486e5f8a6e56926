//! What does a client of the wire learn when the store refuses?

use protocol::{ErrorKind, RpcError};

use crate::StoreError;

impl From<StoreError> for RpcError {
    fn from(error: StoreError) -> RpcError {
        let kind = match &error {
            StoreError::Full => ErrorKind::StorageFull,
            StoreError::Closed => ErrorKind::ShuttingDown,
            StoreError::BadCursor => ErrorKind::InvalidParams,
            StoreError::SessionGone => ErrorKind::NotFound,
            StoreError::KeyUsed => ErrorKind::IdempotencyConflict,
            StoreError::TooManyConsumers => ErrorKind::LimitExceeded,
            StoreError::Locked { .. }
            | StoreError::Newer { .. }
            | StoreError::Incompatible { .. }
            | StoreError::Database(_)
            | StoreError::Io { .. }
            | StoreError::Unusable { .. }
            | StoreError::Unreadable { .. }
            | StoreError::Encode(_) => ErrorKind::StorageError,
        };
        let hint = match &error {
            StoreError::Full => "free some space; nothing was lost, and the same request works then",
            StoreError::Closed => "the daemon is stopping; ask again when it is back",
            StoreError::KeyUsed => {
                "use a new key for a new request; the same request again answers as before"
            }
            StoreError::TooManyConsumers => {
                "use one of the names there are: a consumer is for one reader of the log, not for one connection"
            }
            StoreError::SessionGone => "see `session/list` for those that are there",
            StoreError::BadCursor => "give the `nextCursor` of the page before, unchanged, or none",
            _ => "see the daemon's log; `subagent status` names the database",
        };
        tracing::warn!(%error, "the store refused a request");
        RpcError::new(kind, error.to_string()).with_hint(hint)
    }
}
