//! How far has each consumer of the log come? What clients acknowledged, under names that outlive them (spec 01,
//! "Events and confirmations").
//!
//! No projection: the log says what happened, not who has read it.

use sqlx::Row as _;
use tokio::sync::oneshot;

use super::{EventConsumer, EventStore, StoreError, writer::WriterRequest};
use protocol::EventSeq;

impl EventStore {
    /// The consumer of this name; one that is new is remembered as standing at `at`.
    pub async fn open_consumer(&self, name: &str, at: EventSeq) -> Result<EventConsumer, StoreError> {
        let (reply, answer) = oneshot::channel();
        let request = WriterRequest::open_consumer(name, at, reply);
        self.shared.requests.send(request).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Remembers that everything up to `seq` was dealt with; answers where the consumer stands then. It never goes back.
    pub async fn acknowledge(&self, name: &str, seq: EventSeq) -> Result<EventSeq, StoreError> {
        // What was acknowledged before needs no commit.
        if let Some(stands) = self.consumer(name).await?.filter(|stands| seq <= *stands) {
            return Ok(stands);
        }
        let (reply, answer) = oneshot::channel();
        let request = WriterRequest::acknowledge(name, seq, reply);
        self.shared.requests.send(request).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)??;
        Ok(self.consumer(name).await?.unwrap_or(seq))
    }

    /// Where a consumer stands; `None` for a name that is not known.
    pub async fn consumer(&self, name: &str) -> Result<Option<EventSeq>, StoreError> {
        let row = sqlx::query("select seq from consumers where name = ?1")
            .bind(name)
            .fetch_optional(&self.shared.readers)
            .await?;
        Ok(row.map(|row| EventSeq(row.get(0))))
    }
}
