//! One transaction: what goes into it, and what is true when it fails.

use std::{path::PathBuf, sync::Arc};

use serde_json::json;
use sqlx::{AssertSqlSafe, ConnectOptions as _, SqlSafeStr as _};

use super::{AppendRequest, StoreWriter};
use crate::{
    StoreError, StoredEvent, consumer_rows, keys,
    project::{ProjectionBatch, SqlStatement},
    read,
};
use protocol::{EventBody, EventSeq, SessionId};

/// A transaction, ready to be written.
pub(super) struct WriteBatch {
    pub statements: Vec<SqlStatement>,
    /// Its events.
    pub stored: Vec<Arc<StoredEvent>>,
    /// A session whose events are no more, once it is committed.
    pub forgets: Option<SessionId>,
    /// The newest of that session's events that stay in the file for now.
    pub leaves: Option<EventSeq>,
}

const INSERT_EVENTS: &str = "
insert into events (seq, time_us, type, session_id, run_id, context_id, head, body, private)
select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8
from jsonb_each(?)";

impl StoreWriter {
    /// Writes all of `appends` in one transaction and publishes them.
    pub(super) async fn commit(
        &mut self,
        appends: &[AppendRequest],
    ) -> Result<Vec<(EventSeq, EventSeq)>, StoreError> {
        // What it finds may move the head, so it comes before the numbers are given.
        self.heal().await?;
        let (batch, seqs) = self.batch(appends);
        self.commit_batch(batch).await?;
        Ok(seqs)
    }

    /// The transaction of `appends`, and the `seq`s of the first and last event of each.
    pub(super) fn batch(&self, appends: &[AppendRequest]) -> (WriteBatch, Vec<(EventSeq, EventSeq)>) {
        let mut seq = self.head;
        let mut rows = String::from("[");
        let mut stored = Vec::new();
        let mut seqs = Vec::with_capacity(appends.len());
        let mut projections = ProjectionBatch::default();
        let (mut kept, mut acknowledged, now) = (Vec::new(), Vec::new(), self.clock.now());
        for append in appends {
            let first = EventSeq(seq.0 + 1);
            for (event, row) in &append.events {
                seq = EventSeq(seq.0 + 1);
                row.push_to(&mut rows, seq);
                projections.add(seq, event);
                if let EventBody::SessionCreated(created) = &event.body {
                    // Before anybody can work there; in the order of the log, since others are forgotten.
                    self.worked.add(created.roots.iter().map(PathBuf::from));
                }
                stored.push(Arc::new(event.stored(seq)));
            }
            let session = append.events.first().and_then(|(event, _)| event.session.as_ref());
            kept.extend(append.keyed.as_ref().map(|keyed| keys::row(keyed, seq, session, now)));
            acknowledged.extend(append.acknowledged.as_ref().map(|(name, seq)| json!([name, seq, now.0])));
            seqs.push((first.min(seq), seq));
        }
        rows.push(']');
        let mut statements = vec![(INSERT_EVENTS, rows)];
        if !kept.is_empty() {
            statements.push((keys::INSERT_KEYS, serde_json::Value::from(kept).to_string()));
        }
        if !acknowledged.is_empty() {
            statements.push((consumer_rows::UPSERT, serde_json::Value::from(acknowledged).to_string()));
        }
        statements.extend(projections.statements());
        (WriteBatch { statements, stored, forgets: None, leaves: None }, seqs)
    }

    /// Commits and publishes. An error means that nothing of it is in the log, unless the log cannot be read either.
    pub(super) async fn commit_batch(&mut self, batch: WriteBatch) -> Result<(), StoreError> {
        let WriteBatch { statements, stored, forgets, leaves } = batch;
        let began = self.clock.monotonic();
        match self.execute(statements).await {
            Ok(()) => {
                self.commit_times.count(self.clock.monotonic().saturating_sub(began));
                self.forget(forgets, leaves);
                self.head = stored.last().map_or(self.head, |last| last.seq);
                self.tail.publish(stored);
                self.tail.set_failing(None);
                Ok(())
            }
            Err(error) => {
                let error = self.room.explain(error).await;
                self.is_suspect = true;
                self.tail.set_failing(Some(error.clone()));
                // A commit can be reported as failed and be durable all the same. Who would be told that it failed
                // would write it again, so the log is asked.
                let found = self.heal().await.unwrap_or_else(|error| {
                    tracing::warn!(%error, "the log cannot be read after a commit that failed");
                    Vec::new()
                });
                let is_durable = !stored.is_empty()
                    && found.len() == stored.len()
                    && found.iter().zip(&stored).all(|(found, event)| found.is_same(event));
                if !is_durable {
                    return Err(error);
                }
                tracing::warn!(%error, "a commit was reported as failed and is in the log");
                self.forget(forgets, leaves);
                self.tail.set_failing(None);
                Ok(())
            }
        }
    }

    /// Nobody reads the events of a session any more that were committed before.
    fn forget(&self, session: Option<SessionId>, leaves: Option<EventSeq>) {
        let Some(session) = session else { return };
        self.tail.forget(&session);
        if let Some(seq) = leaves {
            self.removals.begin(session, seq);
        }
    }

    /// After a failed commit: takes a fresh connection, and publishes what is in the log and was not known to be, so
    /// that followers miss nothing and no `seq` is given twice. Answers these events.
    pub(super) async fn heal(&mut self) -> Result<Vec<Arc<StoredEvent>>, StoreError> {
        if !self.is_suspect {
            return Ok(Vec::new());
        }
        self.connection = self.options.connect().await?;
        let found = read::stored_after(&mut self.connection, self.head).await?;
        if let Some(last) = found.last() {
            // What is published must be durable: folding the write-ahead log back syncs both files.
            sqlx::query("pragma wal_checkpoint(full)").execute(&mut self.connection).await?;
            self.head = last.seq;
            self.tail.publish(found.clone());
        }
        self.is_suspect = false;
        Ok(found)
    }

    /// All in one transaction.
    pub(super) async fn execute(&mut self, statements: Vec<SqlStatement>) -> Result<(), StoreError> {
        // Perf: each request to the connection's thread costs two wake-ups, so the whole transaction is one. The few
        // combinations of statements there are stay prepared.
        let mut text = String::from("begin immediate;");
        let mut rows = Vec::with_capacity(statements.len());
        for (statement, its_rows) in statements {
            text.push_str(statement);
            text.push(';');
            rows.push(its_rows);
        }
        text.push_str("commit");
        // The parts are constants of this module, of `consumer_rows`, `delete`, `keys` and `project`.
        let query = sqlx::query(AssertSqlSafe(text).into_sql_str());
        let query = rows.into_iter().fold(query, |query, rows| query.bind(rows));
        match query.execute(&mut self.connection).await {
            Ok(_) => Ok(()),
            Err(error) => {
                // Fails when the transaction never began, or SQLite rolled back by itself: then nothing is open, as
                // it should be.
                let _none_open = sqlx::raw_sql("rollback").execute(&mut self.connection).await;
                Err(error.into())
            }
        }
    }
}
