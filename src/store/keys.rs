//! Who has asked before? Answers kept under idempotency keys, each written in the transaction of its effect (spec 01,
//! "Methods").
//!
//! No projection: the log says what happened, not what was answered.

use serde_json::{Value, json};
use sqlx::{Row as _, sqlite::SqliteConnection};

use super::{EventStore, NewEvent, StoreError};
use protocol::{EventSeq, IdempotencyKey, RunId, SessionId, Timestamp};

/// How long an answer is kept at least (spec 01); the answer to a request that began a run as long as that lives.
const KEPT_US: i64 = 24 * 60 * 60 * 1_000_000;

/// How often old answers are looked for. Rows are small, so an hour's worth too many is no matter.
const SWEEP_PAUSE_US: i64 = 60 * 60 * 1_000_000;

/// Answers removed at once: the writer's other work waits meanwhile. What is left goes with the next sweep.
const SWEPT_AT_ONCE: u32 = 1_000;

/// An answer to be kept with the events it is about.
#[derive(Debug, Clone)]
pub struct KeyedAnswer {
    pub key: IdempotencyKey,
    pub method: String,
    /// Of the request's parameters without the key.
    pub params_digest: String,
    pub result: Value,
    /// The answer is kept at least as long as this run lives.
    pub run: Option<RunId>,
}

/// An answer that was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptAnswer {
    pub method: String,
    pub params_digest: String,
    pub result: Value,
    /// The last event of the effect.
    pub seq: EventSeq,
}

impl EventStore {
    /// As [`EventStore::append`], with an answer that is kept in the same transaction. A key that is there already refuses
    /// the append with [`StoreError::KeyUsed`]; others are not harmed.
    pub async fn append_keyed(
        &self,
        events: Vec<NewEvent>,
        keyed: Option<KeyedAnswer>,
    ) -> Result<(EventSeq, EventSeq), StoreError> {
        if events.is_empty() && keyed.is_none() {
            let head = self.head();
            return Ok((head, head));
        }
        self.ask_writer(events, keyed, false).await
    }

    /// What was answered under this key; `None` for one that is free.
    pub async fn keyed(&self, key: &IdempotencyKey) -> Result<Option<KeptAnswer>, StoreError> {
        let row = sqlx::query("select method, params_digest, result, seq from idempotency where key = ?1")
            .bind(&key.0)
            .fetch_optional(&self.shared.readers)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let seq = EventSeq(row.get("seq"));
        let result = serde_json::from_str(row.get("result")).map_err(|error: serde_json::Error| {
            StoreError::Unreadable { seq, message: format!("the answer kept with it: {error}") }
        })?;
        let (method, params_digest) = (row.get("method"), row.get("params_digest"));
        Ok(Some(KeptAnswer { method, params_digest, result, seq }))
    }
}

/// Writes answers; a row each.
pub(super) const INSERT_KEYS: &str = "
insert into idempotency (key, method, params_digest, result, seq, session_id, run_id, created_us)
select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7
from jsonb_each(?)";

pub(super) fn row(keyed: &KeyedAnswer, seq: EventSeq, session: Option<&SessionId>, at: Timestamp) -> Value {
    let KeyedAnswer { key, method, params_digest, result, run } = keyed;
    json!([key, method, params_digest, result.to_string(), seq, session, run, at.0])
}

/// Which of these keys are there already.
pub(super) async fn used(
    connection: &mut SqliteConnection,
    keys: &[&IdempotencyKey],
) -> Result<Vec<String>, StoreError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let query =
        sqlx::query_scalar("select key from idempotency where key in (select value from json_each(?))");
    Ok(query.bind(json!(keys).to_string()).fetch_all(connection).await?)
}

/// When old answers are removed.
pub(super) struct AnswerSweeper {
    next_us: i64,
}

impl AnswerSweeper {
    pub fn new() -> AnswerSweeper {
        AnswerSweeper { next_us: i64::MIN }
    }

    /// Removes what is old, if that was not done lately.
    pub async fn sweep(
        &mut self,
        connection: &mut SqliteConnection,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if now.0 < self.next_us {
            return Ok(());
        }
        self.next_us = now.0.saturating_add(SWEEP_PAUSE_US);
        sqlx::query(SWEEP)
            .bind(now.0.saturating_sub(KEPT_US))
            .bind(SWEPT_AT_ONCE)
            .execute(connection)
            .await?;
        Ok(())
    }
}

const SWEEP: &str = "
delete from idempotency where key in (
    select key from idempotency
    where created_us <= ?1 and not exists (
        select 1 from runs where runs.run_id = idempotency.run_id and runs.state <> 'ended'
    )
    order by created_us limit ?2
)";
