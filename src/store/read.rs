//! Reading: events by page, whole runs and contexts, and the projections as clients see them.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use sqlx::{
    ConnectOptions as _, Row as _, SqlSafeStr as _, Sqlite, Transaction,
    sqlite::{SqliteConnection, SqliteRow},
};

use super::{
    CommittedEvent, EventStore, LogFilter, StoreError, StoredEvent, event::EncodedEvent, removals::is_removed,
};
use protocol::{ContextId, EventBody, EventHead, EventSeq, PrivateEventFields, RunId, Timestamp};

pub(super) mod agents;
pub(super) mod calls;
mod client_calls;
pub(super) mod history;
mod modes;
mod outputs;
pub(super) mod people;
mod runs;
pub(super) mod sessions;
pub(super) mod standing;
mod traces;
pub(super) mod usage;

pub use agents::{AgentSession, TriggerHits};
pub use client_calls::ClientCallRecord;
pub use outputs::KeptOutput;
pub use people::{ConfirmationFilter, StoredConfirmation, StoredTrust};
pub use runs::{OpenStream, RunFilter, UnfinishedRunRecord};
pub use sessions::{SessionFilter, SessionView};
pub use standing::LiveView;
pub use traces::{RunPlace, TreeTotal};
pub use usage::UsageOf;

/// A piece of a list that is read piece by piece.
pub struct ListPage<T> {
    pub items: Vec<T>,
    /// Where the next piece begins; `None` after the last.
    pub next: Option<String>,
}

impl<T> ListPage<T> {
    /// Of `items`, which are one more than `limit` when there is a next piece; `cursor` names the place after an item.
    fn cut(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> String) -> ListPage<T> {
        let is_more = limit < items.len();
        items.truncate(limit);
        let next = items.last().filter(|_| is_more).map(cursor);
        ListPage { items, next }
    }
}

/// One page of the log.
pub struct EventPage {
    pub events: Vec<Arc<StoredEvent>>,
    /// Nothing between the last event and this matches.
    pub searched_to: EventSeq,
    /// The newest `seq` of the whole log when the page was read.
    pub head: EventSeq,
}

/// The events of a context as they lie in the database. A context may have many megabytes, which take their time to be read.
pub struct ContextEvents(Vec<SqliteRow>);

impl ContextEvents {
    /// One after the other, typed. Types this version does not know are left out.
    pub fn iter(&self) -> impl Iterator<Item = Result<CommittedEvent, StoreError>> {
        self.0.iter().filter_map(|row| event(row).transpose())
    }
}

/// Bytes of one page at most, but for its last event: pages are held in memory, and answers have a limit.
const PAGE_BYTES: usize = 2 << 20;

const EVENT_COLUMNS: &str = "seq, time_us, type, session_id, run_id, head, body";

impl EventStore {
    /// At most `limit` matching events after `after`. Reads one consistent state.
    pub async fn page(
        &self,
        filter: &LogFilter,
        after: EventSeq,
        limit: usize,
    ) -> Result<EventPage, StoreError> {
        let mut from = after;
        loop {
            let (page, is_full) = self.page_of_rows(filter, from, limit).await?;
            // All rows were of sessions that are being removed: whoever gets an empty page would take it for the last.
            if !page.events.is_empty() || !is_full {
                return Ok(page);
            }
            from = page.searched_to;
        }
    }

    /// A page of rows of the database; true if there may be more behind it.
    async fn page_of_rows(
        &self,
        filter: &LogFilter,
        after: EventSeq,
        limit: usize,
    ) -> Result<(EventPage, bool), StoreError> {
        let text = filter.page_text(EVENT_COLUMNS);
        let list =
            |list: serde_json::Result<String>| list.map_err(|error| StoreError::Encode(Arc::new(error)));
        // Perf: what is published was committed before, so the statement below sees all up to here, and neither a
        // question for the head nor a transaction around both is needed: one request to the connection instead of four.
        let published = self.head();
        let removals = self.shared.removals.now();
        let query = sqlx::query(sqlx::AssertSqlSafe(text).into_sql_str())
            .bind(after.0)
            .bind(list(serde_json::to_string(&filter.runs))?)
            .bind(list(serde_json::to_string(&filter.sessions))?)
            .bind(list(serde_json::to_string(&filter.types))?)
            .bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let mut events: Vec<Arc<StoredEvent>> = Vec::new();
        let (mut bytes, mut n_read, mut last_read) = (0, 0, None);
        {
            let mut rows = query.fetch(&self.shared.readers);
            while bytes < PAGE_BYTES
                && let Some(row) = rows.try_next().await?
            {
                let event = stored(&row);
                bytes += event.weight();
                n_read += 1;
                last_read = Some(event.seq);
                if !is_removed(&removals, event.session.as_ref(), event.seq) {
                    events.push(Arc::new(event));
                }
            }
        }
        let head = last_read.map_or(published, |last| last.max(published));
        let is_full = limit <= n_read || PAGE_BYTES <= bytes;
        let searched_to = match last_read {
            Some(last) if is_full => last,
            _ => head.max(after),
        };
        Ok((EventPage { events, searched_to, head }, is_full))
    }

    /// The newest `seq` that a reader can have seen. Between its commit and its publishing an event can be read and is
    /// not yet below [`EventStore::head`].
    pub async fn newest(&self) -> Result<EventSeq, StoreError> {
        let seq: Option<i64> =
            sqlx::query_scalar("select max(seq) from events").fetch_one(&self.shared.readers).await?;
        Ok(EventSeq(seq.unwrap_or(0)).max(self.head()))
    }

    /// Every event of a run, typed. Types this version does not know are left out.
    pub async fn run_events(&self, run: &RunId) -> Result<Vec<CommittedEvent>, StoreError> {
        let query = sqlx::query(
            "select seq, time_us, type, run_id, body, private from events where run_id = ?1 order by seq",
        );
        let rows = query.bind(run.as_str()).fetch_all(&self.shared.readers).await?;
        events(&rows)
    }

    /// Every event of a context, of all its runs.
    pub async fn context_events(&self, context: &ContextId) -> Result<ContextEvents, StoreError> {
        let query = sqlx::query(sqlx::AssertSqlSafe(whole_context()).into_sql_str());
        query
            .bind(context.as_str())
            .fetch_all(&self.shared.readers)
            .await
            .map(ContextEvents)
            .map_err(Into::into)
    }

    /// Size of the database file with its write-ahead log, in bytes.
    pub async fn bytes(&self) -> Result<u64, StoreError> {
        let size = sqlx::query_scalar::<_, i64>(
            "select page_count * page_size from pragma_page_count(), pragma_page_size()",
        );
        Ok(size.fetch_one(&self.shared.control).await?.unsigned_abs())
    }

    /// A writing connection beside the writer's; it waits while a batch is being committed.
    pub(super) async fn second_writer(&self) -> Result<SqliteConnection, StoreError> {
        let options = self.shared.readers.connect_options().as_ref().clone().read_only(false);
        Ok(options.connect().await?)
    }
}

/// Finds the events of the context `?1` in a range of `seq`, through its runs: only runs have events in a context.
///
/// Perf: an index of its own cost every append a page more. The numbers are gathered from the runs' index before any row
/// is read, so that what is read in their order needs no sorting and may end early.
fn of_context_where(range: &str) -> String {
    format!(
        "seq in (select seq from events where run_id in (select run_id from runs where context_id = ?1) and {range})"
    )
}

/// Every event of a context, `?1`.
pub(super) fn whole_context() -> String {
    let of_context = of_context_where("true");
    format!("select seq, time_us, type, run_id, body, private from events where {of_context} order by seq")
}

/// Every event after `?1`.
pub(super) fn all_after() -> String {
    format!("select {EVENT_COLUMNS} from events where ?1 < seq order by seq")
}

/// Rows of `seq, time_us, type, run_id, body, private`, typed. Types this version does not know are left out.
fn events(rows: &[SqliteRow]) -> Result<Vec<CommittedEvent>, StoreError> {
    let typed = rows.iter().filter_map(|row| event(row).transpose());
    typed.collect()
}

fn event(row: &SqliteRow) -> Result<Option<CommittedEvent>, StoreError> {
    let (seq, at) = (EventSeq(row.get(0)), Timestamp(row.get(1)));
    let unreadable = |error: serde_json::Error| StoreError::Unreadable { seq, message: error.to_string() };
    let Some(body) = EventBody::parse(row.get(2), row.get(4)).map_err(unreadable)? else { return Ok(None) };
    let run = row.get::<Option<&str>, _>(3).map(Into::into);
    let private = private(row.get(5)).map_err(unreadable)?;
    Ok(Some(CommittedEvent { seq, at, run, body, private }))
}

/// Every event after `after`, as followers get them.
pub(super) async fn stored_after(
    connection: &mut SqliteConnection,
    after: EventSeq,
) -> Result<Vec<Arc<StoredEvent>>, StoreError> {
    let query = sqlx::query(sqlx::AssertSqlSafe(all_after()).into_sql_str()).bind(after.0);
    let rows = query.fetch_all(connection).await?;
    Ok(rows.iter().map(|row| Arc::new(stored(row))).collect())
}

async fn newest(transaction: &mut Transaction<'_, Sqlite>) -> Result<EventSeq, StoreError> {
    let seq: Option<i64> =
        sqlx::query_scalar("select max(seq) from events").fetch_one(&mut **transaction).await?;
    Ok(EventSeq(seq.unwrap_or(0)))
}

/// Events as the writer had them, for the rebuild, and the `seq` up to which they were looked at; `None` after the last.
/// Types this version does not know are left out, so that there may be no events and yet more to come.
pub(super) async fn encoded_after(
    transaction: &mut Transaction<'_, Sqlite>,
    after: EventSeq,
    limit: usize,
) -> Result<Option<(EventSeq, Vec<(EventSeq, EncodedEvent)>)>, StoreError> {
    let rows = sqlx::query(
        "select seq, time_us, type, session_id, run_id, context_id, head, body, private
         from events where ?1 < seq order by seq limit ?2",
    )
    .bind(after.0)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(&mut **transaction)
    .await?;
    let Some(last) = rows.last().map(|row| EventSeq(row.get(0))) else { return Ok(None) };
    let mut events = Vec::with_capacity(rows.len());
    for row in &rows {
        let seq = EventSeq(row.get(0));
        let unreadable =
            |error: serde_json::Error| StoreError::Unreadable { seq, message: error.to_string() };
        let body_json: String = row.get(7);
        let Some(body) = EventBody::parse(row.get(2), &body_json).map_err(unreadable)? else { continue };
        let head: String = row.get(6);
        let private_json: Option<String> = row.get(8);
        let event = EncodedEvent {
            at: Timestamp(row.get(1)),
            session: row.get::<Option<String>, _>(3).map(Into::into),
            run: row.get::<Option<String>, _>(4).map(Into::into),
            context: row.get::<Option<String>, _>(5).map(Into::into),
            parent_run: serde_json::from_str::<EventHead>(&head).map_err(unreadable)?.parent_run_id,
            head,
            body,
            body_json,
            active_us: private(private_json.as_deref()).map_err(unreadable)?.active_us,
        };
        events.push((seq, event));
    }
    Ok(Some((last, events)))
}

fn private(json: Option<&str>) -> serde_json::Result<PrivateEventFields> {
    json.map_or_else(|| Ok(PrivateEventFields::default()), serde_json::from_str)
}

fn stored(row: &SqliteRow) -> StoredEvent {
    let head: &str = row.get(5);
    StoredEvent {
        seq: EventSeq(row.get(0)),
        at: Timestamp(row.get(1)),
        kind: row.get::<&str, _>(2).into(),
        session: row.get::<Option<&str>, _>(3).map(Into::into),
        run: row.get::<Option<&str>, _>(4).map(Into::into),
        parent: parent(head),
        head: head.into(),
        body: row.get::<&str, _>(6).into(),
    }
}

/// The run that called the event's, of those that somebody called. A head that cannot be read names none; who parses it
/// says so.
fn parent(head: &str) -> Option<RunId> {
    let is_called = head.contains(r#""parentRunId""#);
    is_called.then(|| serde_json::from_str::<EventHead>(head).ok()?.parent_run_id).flatten()
}
