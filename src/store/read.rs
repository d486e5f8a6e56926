//! Reading: events by page, whole runs, and the projections as clients see them.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use sqlx::{
    ConnectOptions as _, Row as _, SqlSafeStr as _, Sqlite, Transaction,
    sqlite::{SqliteConnection, SqliteRow},
};

use super::{Event, Filter, Store, StoreError, Stored, event::Encoded};
use crate::protocol::{
    EventBody, EventHead, Private, RunCompleted, RunCounts, RunId, RunRecord, RunState, Seq, SessionId,
    SessionSummary, Timestamp, Usage,
};

/// One page of the log.
pub struct Page {
    pub events: Vec<Arc<Stored>>,
    /// Nothing between the last event and this matches.
    pub searched_to: Seq,
    /// The newest `seq` of the whole log when the page was read.
    pub head: Seq,
}

/// A session as of one moment.
pub struct SessionView {
    pub seq: Seq,
    pub session: SessionSummary,
    pub runs: Vec<RunRecord>,
    pub open: Vec<OpenStream>,
}

/// A text that is being written.
pub struct OpenStream {
    pub run: RunId,
    pub stream: String,
    pub after_seq: Seq,
}

/// Bytes of one page at most, but for its last event: pages are held in memory, and answers have a limit.
const PAGE_BYTES: usize = 2 << 20;

const EVENT_COLUMNS: &str = "seq, time_us, type, session_id, run_id, head, body";

impl Store {
    /// At most `limit` matching events after `after`. Reads one consistent state.
    pub async fn page(&self, filter: &Filter, after: Seq, limit: usize) -> Result<Page, StoreError> {
        // The index is chosen by the text of the statement, so there is one text a shape.
        let by = match (&filter.run, &filter.session) {
            (Some(_), _) => "run_id = ?2 and (?3 is null or session_id = ?3)",
            (None, Some(_)) => "session_id = ?3 and ?2 is null",
            (None, None) => "?2 is null and ?3 is null",
        };
        let types = if filter.types.is_empty() {
            "?4 is not null"
        } else {
            "type in (select value from json_each(?4))"
        };
        let text = format!(
            "select {EVENT_COLUMNS} from events where ?1 < seq and {by} and {types} order by seq limit ?5"
        );
        // Perf: what is published was committed before, so the statement below sees all up to here, and neither a
        // question for the head nor a transaction around both is needed: one request to the connection instead of four.
        let published = self.head();
        let query = sqlx::query(sqlx::AssertSqlSafe(text).into_sql_str())
            .bind(after.0)
            .bind(filter.run.as_ref().map(RunId::as_str))
            .bind(filter.session.as_ref().map(SessionId::as_str))
            .bind(serde_json::to_string(&filter.types).map_err(|error| StoreError::Encode(Arc::new(error)))?)
            .bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let mut events: Vec<Arc<Stored>> = Vec::new();
        let mut bytes = 0;
        {
            let mut rows = query.fetch(&self.shared.readers);
            while bytes < PAGE_BYTES
                && let Some(row) = rows.try_next().await?
            {
                let event = stored(&row);
                bytes += event.weight();
                events.push(Arc::new(event));
            }
        }
        let head = events.last().map_or(published, |last| last.seq.max(published));
        let is_full = limit <= events.len() || PAGE_BYTES <= bytes;
        let searched_to = match events.last() {
            Some(last) if is_full => last.seq,
            _ => head.max(after),
        };
        Ok(Page { events, searched_to, head })
    }

    /// Every event of a run, typed. Types this version does not know are left out.
    pub async fn run_events(&self, run: &RunId) -> Result<Vec<Event>, StoreError> {
        let rows = sqlx::query(
            "select seq, time_us, type, body, private from events where run_id = ?1 order by seq",
        )
        .bind(run.as_str())
        .fetch_all(&self.shared.readers)
        .await?;
        let mut events = Vec::with_capacity(rows.len());
        for row in &rows {
            let (seq, at) = (Seq(row.get(0)), Timestamp(row.get(1)));
            let unreadable =
                |error: serde_json::Error| StoreError::Unreadable { seq, message: error.to_string() };
            let body = EventBody::parse(row.get(2), row.get(3)).map_err(unreadable)?;
            let private = private(row.get(4)).map_err(unreadable)?;
            events.extend(body.map(|body| Event { seq, at, body, private }));
        }
        Ok(events)
    }

    pub async fn run(&self, run: &RunId) -> Result<Option<RunRecord>, StoreError> {
        let row = sqlx::query("select * from runs where run_id = ?1")
            .bind(run.as_str())
            .fetch_optional(&self.shared.readers)
            .await?;
        row.as_ref().map(record).transpose()
    }

    /// Runs that have not ended, oldest first.
    pub async fn unfinished_runs(&self) -> Result<Vec<RunId>, StoreError> {
        let rows = sqlx::query("select run_id from runs where state <> 'ended' order by started_seq")
            .fetch_all(&self.shared.readers)
            .await?;
        Ok(rows.iter().map(|row| RunId::from(row.get::<String, _>(0))).collect())
    }

    pub async fn run_counts(&self) -> Result<RunCounts, StoreError> {
        let rows = sqlx::query("select state, count(*) from runs group by state")
            .fetch_all(&self.shared.readers)
            .await?;
        let mut counts = RunCounts::default();
        for row in &rows {
            // Cannot be negative: it is a count.
            let n = row.get::<i64, _>(1).unsigned_abs();
            match row.get::<&str, _>(0) {
                "queued" => counts.queued = n,
                "waiting" => counts.waiting = n,
                "parked" => counts.parked = n,
                "ended" => counts.ended = n,
                _ => counts.running = n,
            }
        }
        Ok(counts)
    }

    /// Size of the database file with its write-ahead log, in bytes.
    pub async fn bytes(&self) -> Result<u64, StoreError> {
        let size = sqlx::query_scalar::<_, i64>(
            "select page_count * page_size from pragma_page_count(), pragma_page_size()",
        );
        Ok(size.fetch_one(&self.shared.readers).await?.unsigned_abs())
    }

    /// The session with its newest runs, as of one `seq`; `None` when there is no such session.
    pub async fn session_view(
        &self,
        session: &SessionId,
        runs: u32,
    ) -> Result<Option<SessionView>, StoreError> {
        let mut transaction = self.shared.readers.begin().await?;
        let seq = newest(&mut transaction).await?;
        let row = sqlx::query("select * from sessions where session_id = ?1")
            .bind(session.as_str())
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let summary = SessionSummary {
            session_id: session.clone(),
            roots: serde_json::from_str(row.get("roots")).unwrap_or_default(),
            title: row.get("title"),
            created_at: Timestamp(row.get("created_us")),
            last_active_at: Timestamp(row.get("last_active_us")),
        };
        // Live ones always, however old; of the others the newest.
        let rows = sqlx::query(
            "select * from runs where session_id = ?1 and (
                 state <> 'ended'
                 or run_id in (select run_id from runs where session_id = ?1 order by started_seq desc limit ?2)
             ) order by started_seq",
        )
        .bind(session.as_str())
        .bind(runs)
        .fetch_all(&mut *transaction)
        .await?;
        transaction.commit().await?;
        let open = rows.iter().filter_map(open_stream).collect();
        let runs = rows.iter().map(record).collect::<Result<_, _>>()?;
        Ok(Some(SessionView { seq, session: summary, runs, open }))
    }

    /// A writing connection beside the writer's; it waits while a batch is being committed.
    pub(super) async fn second_writer(&self) -> Result<SqliteConnection, StoreError> {
        let options = self.shared.readers.connect_options().as_ref().clone().read_only(false);
        Ok(options.connect().await?)
    }
}

async fn newest(transaction: &mut Transaction<'_, Sqlite>) -> Result<Seq, StoreError> {
    let seq: Option<i64> =
        sqlx::query_scalar("select max(seq) from events").fetch_one(&mut **transaction).await?;
    Ok(Seq(seq.unwrap_or(0)))
}

/// Events as the writer had them, for the rebuild. Types this version does not know are left out.
pub(super) async fn encoded_after(
    transaction: &mut Transaction<'_, Sqlite>,
    after: Seq,
    limit: usize,
) -> Result<Vec<(Seq, Encoded)>, StoreError> {
    let rows = sqlx::query(
        "select seq, time_us, type, session_id, run_id, context_id, head, body, private
         from events where ?1 < seq order by seq limit ?2",
    )
    .bind(after.0)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(&mut **transaction)
    .await?;
    let mut events = Vec::with_capacity(rows.len());
    for row in &rows {
        let seq = Seq(row.get(0));
        let unreadable =
            |error: serde_json::Error| StoreError::Unreadable { seq, message: error.to_string() };
        let body_json: String = row.get(7);
        let Some(body) = EventBody::parse(row.get(2), &body_json).map_err(unreadable)? else { continue };
        let head: String = row.get(6);
        let private_json: Option<String> = row.get(8);
        let event = Encoded {
            at: Timestamp(row.get(1)),
            session: row.get::<Option<String>, _>(3).map(Into::into),
            run: row.get::<Option<String>, _>(4).map(Into::into),
            parent_run: serde_json::from_str::<EventHead>(&head).map_err(unreadable)?.parent_run_id,
            head,
            body,
            body_json,
            active_us: private(private_json.as_deref()).map_err(unreadable)?.active_us,
        };
        events.push((seq, event));
    }
    Ok(events)
}

fn private(json: Option<&str>) -> serde_json::Result<Private> {
    json.map_or_else(|| Ok(Private::default()), serde_json::from_str)
}

fn stored(row: &SqliteRow) -> Stored {
    Stored {
        seq: Seq(row.get(0)),
        at: Timestamp(row.get(1)),
        kind: row.get::<&str, _>(2).into(),
        session: row.get::<Option<&str>, _>(3).map(Into::into),
        run: row.get::<Option<&str>, _>(4).map(Into::into),
        head: row.get::<&str, _>(5).into(),
        body: row.get::<&str, _>(6).into(),
    }
}

fn open_stream(row: &SqliteRow) -> Option<OpenStream> {
    let stream: Option<String> = row.get("open_stream");
    let after_seq: Option<i64> = row.get("open_stream_seq");
    Some(OpenStream { run: row.get::<&str, _>("run_id").into(), stream: stream?, after_seq: Seq(after_seq?) })
}

fn record(row: &SqliteRow) -> Result<RunRecord, StoreError> {
    let completed: Option<&str> = row.get("completed");
    let completed: Option<RunCompleted> =
        completed.map(serde_json::from_str).transpose().map_err(|error: serde_json::Error| {
            StoreError::Unreadable { seq: Seq(row.get("started_seq")), message: error.to_string() }
        })?;
    let count = |column: &str| row.get::<i64, _>(column).unsigned_abs();
    let state = match row.get("state") {
        "queued" => RunState::Queued,
        "waiting" => RunState::Waiting,
        "parked" => RunState::Parked,
        "ended" => RunState::Ended,
        _ => RunState::Running,
    };
    let ended_us: Option<i64> = row.get("ended_us");
    let end = completed.as_ref();
    Ok(RunRecord {
        run_id: row.get::<&str, _>("run_id").into(),
        session_id: row.get::<&str, _>("session_id").into(),
        context_id: row.get::<&str, _>("context_id").into(),
        parent_run_id: row.get::<Option<&str>, _>("parent_run_id").map(Into::into),
        agent: row.get::<&str, _>("agent").into(),
        digest: row.get("digest"),
        model: row.get("model"),
        state,
        reason: end.map(|end| end.reason),
        error: end.and_then(|end| end.error.clone()),
        result: end.and_then(|end| end.result.clone()),
        output: end.and_then(|end| end.output.clone()),
        partial_result: end.and_then(|end| end.partial_result.clone()),
        recovered: end.is_some_and(|end| end.recovered),
        recovered_from: end.and_then(|end| end.recovered_from),
        usage: Usage {
            prompt_tokens: count("prompt_tokens"),
            cached_tokens: count("cached_tokens"),
            output_tokens: count("output_tokens"),
            thought_tokens: count("thought_tokens"),
        },
        turns: u32::try_from(count("turns")).unwrap_or(u32::MAX),
        tool_calls: u32::try_from(count("tool_calls")).unwrap_or(u32::MAX),
        files_changed: end.map(|end| end.files_changed.clone()).unwrap_or_default(),
        started_at: Timestamp(row.get("started_us")),
        ended_at: ended_us.map(Timestamp),
        active_ms: count("active_us") / 1_000,
    })
}
