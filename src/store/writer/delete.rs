//! Removing a session with everything that happened in it, and giving its room back.

use std::sync::Arc;

use serde_json::json;
use sqlx::{Row as _, SqlSafeStr as _};

use super::{AppendRequest, SessionDeletion, StoreWriter, refuse};
use crate::{
    NewEvent, SessionDeletionOutcome, StoreError,
    event::EncodedEvent,
    removals::{PIECE_BYTES, PIECE_EVENTS},
    schema,
};
use protocol::{EventBody, EventSeq, SessionDeleted, SessionId};

/// Whether it is there, how much is in it, and what lives in it.
const LOOK: &str = "
select
    (select count(*) from events where session_id = ?1) as events,
    (select max(seq) from events where session_id = ?1) as last_seq,
    (select count(*) from runs where session_id = ?1 and state <> 'ended') as live
from sessions where session_id = ?1";

/// The projections' rows go by the tombstone, as they do in a rebuild. Answers that were kept stay for their time: they
/// hold ids only, and without them a request that is repeated would have its effect again.
const REMOVE: &str = "delete from events where session_id in (select value from json_each(?))";

/// The events of a large session go a piece at a time.
const LEAVE: &str =
    "insert or replace into removals (session_id, seq) select value->>0, value->>1 from json_each(?)";

/// The newest events of a session up to some `seq`: as many as go at once.
const PIECE: &str = "
select seq, octet_length(body) + octet_length(head) + coalesce(octet_length(private), 0)
from events where session_id = ?1 and seq <= ?2 order by seq desc limit ?3";

const IS_THERE: &str = "select 1 from sessions where session_id = ?1";

const REMOVE_PIECE: &str = "delete from events where seq in (select value from json_each(?))";

const NONE_LEFT: &str = "delete from removals where session_id in (select value from json_each(?))";

impl StoreWriter {
    /// Everything that is left to be committed when those whose session is gone have been told. Deletions are written here as well, so none
    /// comes between the look and the commit.
    pub(super) async fn refuse_of_deleted(&mut self, appends: Vec<AppendRequest>) -> Vec<AppendRequest> {
        let mut left = Vec::with_capacity(appends.len());
        for append in appends {
            let refusal = match &append.within {
                None => None,
                Some(session) => {
                    let found = sqlx::query(IS_THERE)
                        .bind(session.as_str())
                        .fetch_optional(&mut self.connection)
                        .await;
                    match found {
                        Ok(Some(_)) => None,
                        Ok(None) => Some(StoreError::SessionGone),
                        Err(error) => Some(StoreError::from(error)),
                    }
                }
            };
            match refusal {
                None => left.push(append),
                Some(error) => refuse(vec![append], &error),
            }
        }
        left
    }

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
            let last_seq = row.get::<Option<i64>, _>("last_seq").map(EventSeq);
            let mut tombstone = *tombstone;
            let pruned = match &tombstone.body {
                EventBody::SessionDeleted(data) => data.pruned,
                _ => None,
            };
            tombstone.body = SessionDeleted { events, last_seq, pruned }.into();
            let seq = self.remove(&session, events, tombstone).await?;
            Ok(SessionDeletionOutcome::Gone { seq, events })
        };
        // Whoever asked may be gone; the session is removed all the same.
        let _gone = reply.send(deleted.await);
    }

    async fn remove(
        &mut self,
        session: &SessionId,
        events: u64,
        tombstone: NewEvent,
    ) -> Result<EventSeq, StoreError> {
        let event = EncodedEvent::new(tombstone).map_err(|error| StoreError::Encode(Arc::new(error)))?;
        // Nobody waits for it: the answer is the deletion's.
        let (reply, _) = tokio::sync::oneshot::channel();
        let append = AppendRequest {
            events: vec![event],
            keyed: None,
            acknowledged: None,
            is_urgent: false,
            within: None,
            reply,
        };
        let (mut batch, seqs) = self.batch(&[append]);
        // Before the tombstone is written, which is of the session too.
        if events <= PIECE_EVENTS {
            batch.statements.insert(0, (REMOVE, json!([session]).to_string()));
        } else {
            batch.statements.insert(0, (LEAVE, json!([[session, self.head]]).to_string()));
            batch.leaves = Some(self.head);
        }
        batch.forgets = Some(session.clone());
        self.commit_batch(batch).await?;
        Ok(seqs.last().map_or(self.head, |(_, last)| *last))
    }

    /// Takes away the next piece of what a deleted session left; false when none has left anything.
    pub(super) async fn remove_piece(&mut self) -> Result<bool, StoreError> {
        if self.room.is_full() {
            return Err(StoreError::Full);
        }
        self.heal().await?;
        let removals = self.removals.now();
        let Some((session, last)) = removals.first_key_value() else { return Ok(false) };
        let found: Vec<(i64, i64)> = sqlx::query_as(PIECE)
            .bind(session.as_str())
            .bind(last.0)
            .bind(i64::try_from(PIECE_EVENTS).unwrap_or(i64::MAX))
            .fetch_all(&mut self.connection)
            .await?;
        let mut bytes = 0;
        let mut seqs = Vec::new();
        for (seq, its_bytes) in &found {
            bytes += its_bytes.unsigned_abs();
            if !seqs.is_empty() && PIECE_BYTES < bytes {
                break;
            }
            seqs.push(*seq);
        }
        let is_last =
            seqs.len() == found.len() && found.len() < usize::try_from(PIECE_EVENTS).unwrap_or(usize::MAX);
        let mut statements = vec![(REMOVE_PIECE, json!(seqs).to_string())];
        if is_last {
            statements.push((NONE_LEFT, json!([session]).to_string()));
        }
        if let Err(error) = self.execute(statements).await {
            self.is_suspect = true;
            return Err(self.room.explain(error).await);
        }
        if is_last {
            self.removals.end(session);
        }
        Ok(true)
    }

    /// Gives empty pages back to the disk, but for `kept`; whether there are more.
    pub(super) async fn give_back(&mut self, pages: u32, kept: u64) -> Result<bool, StoreError> {
        self.heal().await?;
        if !schema::is_shrinkable(&mut self.connection).await? {
            return Ok(false);
        }
        let free: i64 = sqlx::query_scalar("pragma freelist_count").fetch_one(&mut self.connection).await?;
        let spare = free.unsigned_abs().saturating_sub(kept);
        let now = spare.min(u64::from(pages));
        if now != 0 {
            // A pragma takes no parameters; it is a number.
            let text = format!("pragma incremental_vacuum({now})");
            // It steps once for each page, so all of it must be read.
            sqlx::query(sqlx::AssertSqlSafe(text).into_sql_str()).fetch_all(&mut self.connection).await?;
        }
        Ok(now < spare)
    }
}
