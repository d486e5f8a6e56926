//! Which runs are there, and how does each stand?

use sqlx::{Row as _, SqlSafeStr as _, Sqlite, Transaction, sqlite::SqliteRow};

use super::ListPage;
use crate::{EventStore, StoreError};
use protocol::{
    AgentName, CallId, EventSeq, QueuedFor, QueuedRun, RunCompleted, RunCounts, RunId, RunRecord, RunState,
    SessionId, Timestamp, Usage, UsdAmount,
};

/// Which runs; an empty filter matches all.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    pub session: Option<SessionId>,
    pub agent: Option<AgentName>,
    pub state: Option<RunState>,
    /// Only those that have not ended.
    pub active: bool,
    /// Only those that nobody called as a tool.
    pub roots: bool,
    pub parent: Option<RunId>,
}

/// A text that is being written.
#[derive(Debug, PartialEq)]
pub struct OpenStream {
    pub session: SessionId,
    pub run: RunId,
    pub stream: String,
    /// The call that puts it out; `None` for what a model writes.
    pub call: Option<CallId>,
    pub after_seq: EventSeq,
}

impl RunFilter {
    /// The condition; the index is chosen by its text, so that the narrowest one is named first and the others only
    /// sift.
    fn condition(&self) -> String {
        let mut terms = Vec::new();
        if self.active || self.state.is_some_and(|state| state != RunState::Ended) {
            // What lives is little, whatever the history.
            terms.push("state <> 'ended'");
        }
        terms.push(match (&self.parent, &self.session, &self.agent) {
            (Some(_), _, _) => {
                "parent_run_id = ?2 and (?3 is null or +session_id = ?3) and (?4 is null or +agent = ?4)"
            }
            (None, Some(_), _) => "?2 is null and session_id = ?3 and (?4 is null or +agent = ?4)",
            (None, None, Some(_)) => "?2 is null and ?3 is null and agent = ?4",
            (None, None, None) => "?2 is null and ?3 is null and ?4 is null",
        });
        if self.roots {
            terms.push("+parent_run_id is null");
        }
        terms.push("(?5 is null or +state = ?5)");
        terms.join(" and ")
    }

    pub(crate) fn list_text(&self) -> String {
        let condition = self.condition();
        format!("select * from runs where first_seq < ?1 and {condition} order by first_seq desc limit ?6")
    }
}

/// A run that has not ended.
pub struct UnfinishedRunRecord {
    pub record: RunRecord,
    /// Where it stands among those that wait for its context, if it does; the lowest comes next.
    pub rank: Option<i64>,
}

impl EventStore {
    pub async fn run(&self, run: &RunId) -> Result<Option<RunRecord>, StoreError> {
        let row = sqlx::query("select * from runs where run_id = ?1")
            .bind(run.as_str())
            .fetch_optional(&self.shared.control)
            .await?;
        row.as_ref().map(record).transpose()
    }

    /// Matching runs, newest first, from after `cursor` on.
    pub async fn run_list(
        &self,
        filter: &RunFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<ListPage<RunRecord>, StoreError> {
        let before = match cursor {
            None => i64::MAX,
            Some(cursor) => cursor.parse().map_err(|_| StoreError::BadCursor)?,
        };
        let rows = sqlx::query(sqlx::AssertSqlSafe(filter.list_text()).into_sql_str())
            .bind(before)
            .bind(filter.parent.as_ref().map(RunId::as_str))
            .bind(filter.session.as_ref().map(SessionId::as_str))
            .bind(filter.agent.as_ref().map(AgentName::as_str))
            .bind(filter.state.map(RunState::as_str))
            .bind(i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX))
            .fetch_all(&self.shared.readers)
            .await?;
        let ListPage { items, next } =
            ListPage::cut(rows, limit, |row| row.get::<i64, _>("first_seq").to_string());
        Ok(ListPage { items: items.iter().map(record).collect::<Result<_, _>>()?, next })
    }

    /// Runs that have not ended: those that had begun in the order in which they did, then those that wait for it, the
    /// next one first: whoever has its context already goes before those who wait for that.
    pub async fn unfinished_runs(&self) -> Result<Vec<UnfinishedRunRecord>, StoreError> {
        let rows = sqlx::query(
            "select * from runs where state <> 'ended'
             order by started_seq is null, started_seq, queued_for = 'context', queue_rank",
        )
        .fetch_all(&self.shared.readers)
        .await?;
        let unfinished = rows.iter().map(|row| {
            let waits_for_context = row.get::<Option<&str>, _>("queued_for") == Some("context");
            let rank = row.get::<Option<i64>, _>("queue_rank").filter(|_| waits_for_context);
            Ok(UnfinishedRunRecord { record: record(row)?, rank })
        });
        unfinished.collect()
    }

    /// Runs by state.
    pub async fn run_counts(&self) -> Result<RunCounts, StoreError> {
        let rows = sqlx::query("select state, count(*) from runs group by state")
            .fetch_all(&self.shared.control)
            .await?;
        let mut counts = RunCounts::default();
        for row in &rows {
            // Cannot be negative: it is a count.
            let n = row.get::<i64, _>(1).unsigned_abs();
            match run_state(row.get(0)) {
                RunState::Queued => counts.queued = n,
                RunState::Running => counts.running = n,
                RunState::Waiting => counts.waiting = n,
                RunState::Parked => counts.parked = n,
                RunState::Ended => counts.ended = n,
            }
        }
        Ok(counts)
    }

    /// Runs that wait for their turn in a context, of one session or of all; of each context the next one first.
    pub async fn queue(&self, session: Option<&SessionId>) -> Result<Vec<QueuedRun>, StoreError> {
        let mut transaction = self.shared.readers.begin().await?;
        queue(&mut transaction, session).await
    }

    /// Replies that a model gave in all runs of this run's tree and that are not asked for again.
    pub async fn tree_replies(&self, run: &RunId, model: &str) -> Result<u32, StoreError> {
        let sum: i64 = sqlx::query_scalar(
            "select coalesce(sum(replies), 0) from runs
             where root_run_id = (select root_run_id from runs where run_id = ?1) and model = ?2",
        )
        .bind(run.as_str())
        .bind(model)
        .fetch_one(&self.shared.readers)
        .await?;
        Ok(u32::try_from(sum).unwrap_or(u32::MAX))
    }
}

pub(super) async fn queue(
    transaction: &mut Transaction<'_, Sqlite>,
    session: Option<&SessionId>,
) -> Result<Vec<QueuedRun>, StoreError> {
    let of_all =
        "select * from runs where queued_for = 'context' order by session_id, context_id, queue_rank";
    let of_one = "select * from runs where queued_for = 'context' and session_id = ?1
                  order by context_id, queue_rank";
    let query = match session {
        None => sqlx::query(of_all),
        Some(session) => sqlx::query(of_one).bind(session.as_str()),
    };
    let rows = query.fetch_all(&mut **transaction).await?;
    let queued = rows.iter().map(|row| QueuedRun {
        run_id: row.get::<&str, _>("run_id").into(),
        session_id: row.get::<&str, _>("session_id").into(),
        agent: row.get::<&str, _>("agent").into(),
        waits_for: QueuedFor::Context,
        query: row.get("query"),
        prompt: row.get("prompt"),
        queued_at: Timestamp(row.get("started_us")),
    });
    Ok(queued.collect())
}

fn run_state(text: &str) -> RunState {
    match text {
        "queued" => RunState::Queued,
        "waiting" => RunState::Waiting,
        "parked" => RunState::Parked,
        "ended" => RunState::Ended,
        _ => RunState::Running,
    }
}

pub(super) fn open_stream(row: &SqliteRow) -> Option<OpenStream> {
    let stream: Option<String> = row.get("open_stream");
    let after_seq: Option<i64> = row.get("open_stream_seq");
    let (session, run) = (row.get::<&str, _>("session_id").into(), row.get::<&str, _>("run_id").into());
    Some(OpenStream { session, run, stream: stream?, call: None, after_seq: EventSeq(after_seq?) })
}

pub(super) fn record(row: &SqliteRow) -> Result<RunRecord, StoreError> {
    let completed: Option<&str> = row.get("completed");
    let completed: Option<RunCompleted> =
        completed.map(serde_json::from_str).transpose().map_err(|error: serde_json::Error| {
            StoreError::Unreadable { seq: EventSeq(row.get("first_seq")), message: error.to_string() }
        })?;
    let count = |column: &str| row.get::<i64, _>(column).unsigned_abs();
    let number = |column: &str| u32::try_from(count(column)).unwrap_or(u32::MAX);
    let ended_us: Option<i64> = row.get("ended_us");
    let end = completed.as_ref();
    Ok(RunRecord {
        run_id: row.get::<&str, _>("run_id").into(),
        session_id: row.get::<&str, _>("session_id").into(),
        context_id: row.get::<&str, _>("context_id").into(),
        parent_run_id: row.get::<Option<&str>, _>("parent_run_id").map(Into::into),
        parent_call_id: row.get::<Option<&str>, _>("parent_call_id").map(Into::into),
        depth: number("depth"),
        agent: row.get::<&str, _>("agent").into(),
        digest: row.get("digest"),
        model: row.get("model"),
        prompt: row.get("prompt"),
        state: run_state(row.get("state")),
        reason: end.map(|end| end.reason),
        error: end.and_then(|end| end.error.clone()),
        message: end.and_then(|end| end.message.clone()),
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
            cache_write_tokens: count("cache_write_tokens"),
        },
        cost: row
            .get::<Option<i64>, _>("cost_nanos")
            .map(|nanos| UsdAmount::from_nanos(nanos.unsigned_abs())),
        unpriced_tokens: count("unpriced_tokens"),
        estimated_requests: count("estimated_requests"),
        uncounted_requests: count("uncounted_requests"),
        child_usage: end.map(|end| end.child_usage).filter(|usage| *usage != Usage::default()),
        child_cost: end.and_then(|end| end.child_cost),
        child_estimated_requests: end.map_or(0, |end| end.child_estimated_requests),
        child_uncounted_requests: end.map_or(0, |end| end.child_uncounted_requests),
        turns: number("turns"),
        tool_calls: number("tool_calls"),
        files_changed: end.map(|end| end.files_changed.clone()).unwrap_or_default(),
        started_at: Timestamp(row.get("started_us")),
        ended_at: ended_us.map(Timestamp),
        active_ms: count("active_us") / 1_000,
    })
}
