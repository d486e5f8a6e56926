//! Remembering a consumer from its first subscription on.

use serde_json::json;
use sqlx::Row as _;
use tokio::sync::oneshot;

use super::{StoreWriter, commit::WriteBatch};
use crate::{
    EventConsumer, StoreError,
    consumer_rows::{FORGOTTEN_AFTER_US, MAX_CONSUMERS, TOUCH_PAUSE_US, UPSERT},
};
use protocol::EventSeq;

/// A consumer that a subscription names.
pub(crate) struct ConsumerOpening {
    pub name: String,
    /// Where it stands if it is new.
    pub at: EventSeq,
    pub reply: oneshot::Sender<Result<EventConsumer, StoreError>>,
}

/// The consumer, how many there are, and the one that was used least lately, if that is long ago.
const LOOK: &str = "
select
    (select seq from consumers where name = ?1) as seq,
    (select used_us from consumers where name = ?1) as used_us,
    (select count(*) from consumers) as consumers,
    (select name from consumers where used_us <= ?2 order by used_us limit 1) as forgotten";

const FORGET: &str = "delete from consumers where name in (select value from json_each(?))";

impl StoreWriter {
    pub(super) async fn open_consumer(&mut self, opening: ConsumerOpening) {
        let ConsumerOpening { name, at, reply } = opening;
        let opened = async {
            self.heal().await?;
            let now = self.clock.now().0;
            let row = sqlx::query(LOOK)
                .bind(&name)
                .bind(now.saturating_sub(FORGOTTEN_AFTER_US))
                .fetch_one(&mut self.connection)
                .await?;
            let known: Option<i64> = row.get("seq");
            let used: Option<i64> = row.get("used_us");
            let consumer = EventConsumer { seq: known.map_or(at, EventSeq), is_new: known.is_none() };
            let was_used_lately = used.is_some_and(|used| now < used.saturating_add(TOUCH_PAUSE_US));
            // That a known one is used is no news worth the room that is left.
            if was_used_lately || (self.room.is_full() && !consumer.is_new) {
                return Ok(consumer);
            }
            if self.room.is_full() {
                return Err(StoreError::Full);
            }
            let mut statements = Vec::new();
            if consumer.is_new && MAX_CONSUMERS <= row.get::<i64, _>("consumers") {
                let forgotten: Option<String> = row.get("forgotten");
                let forgotten = forgotten.ok_or(StoreError::TooManyConsumers)?;
                tracing::info!(consumer = forgotten, "a consumer that nobody used for long is forgotten");
                statements.push((FORGET, json!([forgotten]).to_string()));
            }
            statements.push((UPSERT, json!([[name, consumer.seq, now]]).to_string()));
            self.commit_batch(WriteBatch { statements, stored: Vec::new(), forgets: None, leaves: None })
                .await?;
            Ok(consumer)
        };
        // Whoever asked may be gone; the consumer is remembered all the same.
        let _gone = reply.send(opened.await);
    }
}
