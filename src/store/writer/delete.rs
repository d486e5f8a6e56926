//! Removing a session with everything that happened in it.

use std::sync::Arc;

use serde_json::json;
use sqlx::Row as _;

use super::{AppendRequest, SessionDeletion, StoreWriter};
use crate::{NewEvent, SessionDeletionOutcome, StoreError, event::EncodedEvent};
use protocol::{EventSeq, SessionDeleted, SessionId};

/// Whether it is there, how much is in it, and what lives in it.
const LOOK: &str = "
select
    (select count(*) from events where session_id = ?1) as events,
    (select count(*) from runs where session_id = ?1 and state <> 'ended') as live
from sessions where session_id = ?1";

/// The projections' rows go by the tombstone, as they do in a rebuild. Answers that were kept stay for their time: they
/// hold ids only, and without them a request that is repeated would have its effect again.
const REMOVE: &str = "delete from events where session_id in (select value from json_each(?))";

impl StoreWriter {
    pub(super) async fn delete(&mut self, deletion: SessionDeletion) {
        let SessionDeletion { session, tombstone, reply } = deletion;
        let deleted = async {
            if self.room.is_full() {
                return Err(StoreError::Full);
            }
            self.heal().await?;
            let found = sqlx::query(LOOK).bind(session.as_str()).fetch_optional(&mut self.connection).await?;
            let Some(row) = found else { return Ok(SessionDeletionOutcome::Missing) };
            let count = |column: &str| row.get::<i64, _>(column).unsigned_abs();
            if count("live") != 0 {
                return Ok(SessionDeletionOutcome::Busy { live_runs: count("live") });
            }
            let events = count("events");
            let mut tombstone = *tombstone;
            tombstone.body = SessionDeleted { events }.into();
            let seq = self.remove(&session, tombstone).await?;
            Ok(SessionDeletionOutcome::Gone { seq, events })
        };
        // Whoever asked may be gone; the session is removed all the same.
        let _gone = reply.send(deleted.await);
    }

    async fn remove(&mut self, session: &SessionId, tombstone: NewEvent) -> Result<EventSeq, StoreError> {
        let event = EncodedEvent::new(tombstone).map_err(|error| StoreError::Encode(Arc::new(error)))?;
        // Nobody waits for it: the answer is the deletion's.
        let (reply, _) = tokio::sync::oneshot::channel();
        let append =
            AppendRequest { events: vec![event], keyed: None, acknowledged: None, is_urgent: false, reply };
        let (mut batch, seqs) = self.batch(&[append]);
        // Before the tombstone is written, which is of the session too.
        batch.statements.insert(0, (REMOVE, json!([session]).to_string()));
        batch.forgets = Some(session.clone());
        self.commit_batch(batch).await?;
        Ok(seqs.last().map_or(self.head, |(_, last)| *last))
    }
}
