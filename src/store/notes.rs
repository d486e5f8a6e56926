//! What one daemon leaves for the next, beside the log: no client is told of it, and the log is whole without it.

use tokio::sync::oneshot;

use super::{
    EventStore, StoreError,
    writer::{DaemonNote, WriterRequest},
};

impl EventStore {
    /// Leaves a text under a name; one of this name is replaced.
    pub async fn leave_note(&self, name: &'static str, text: String) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        let request = WriterRequest::Remember(DaemonNote { key: name, value: text, reply });
        self.shared.requests.send(request).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// What was left under a name.
    pub async fn note(&self, name: &'static str) -> Result<Option<String>, StoreError> {
        let value = sqlx::query_scalar("select value from meta where key = ?1").bind(name);
        Ok(value.fetch_optional(&self.shared.readers).await?)
    }
}
