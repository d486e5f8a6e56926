//! Which outputs were cut for the model and are kept whole? As the ends of their calls said.

use sqlx::Row as _;

use crate::{EventStore, StoreError};
use protocol::{CallId, SessionId};

/// An output that is kept beside the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOutput {
    pub session: SessionId,
    pub call: CallId,
    /// What is kept of it, and what there was.
    pub bytes: u64,
    pub total_bytes: u64,
}

impl EventStore {
    /// `None`: there is no such call, or its output was not cut, or could not be kept.
    pub async fn kept_output(&self, call: &CallId) -> Result<Option<KeptOutput>, StoreError> {
        let row = sqlx::query("select session_id, bytes, total_bytes from outputs where call_id = ?1")
            .bind(call.as_str())
            .fetch_optional(&self.shared.readers)
            .await?;
        Ok(row.map(|row| KeptOutput {
            session: row.get::<&str, _>("session_id").into(),
            call: call.clone(),
            bytes: row.get::<i64, _>("bytes").unsigned_abs(),
            total_bytes: row.get::<i64, _>("total_bytes").unsigned_abs(),
        }))
    }
}
