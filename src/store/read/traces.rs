//! Where do the events of a tree of runs stand, how large is it, and what did it use?

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use sqlx::{Row as _, sqlite::SqliteRow};

use crate::{EventStore, LogFilter, StoreError, StoredEvent};
use protocol::{
    AgentName, EventSeq, MovedAhead, NextHolder, QueuedBehind, RunId, SessionId, Timestamp, UndoneChange,
    Usage, UsageTotal, UsdAmount,
};

/// Events of open runs that are read at once.
const EVENTS_READ: usize = 200;

/// Runs that had a context while another one waited for it, which are counted; two of them are named.
const MOST_BEHIND: i64 = 1_000;

/// Totals of a root run and all below it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeTotal {
    pub runs: u64,
    pub turns: u64,
    pub tool_calls: u64,
    pub spent: UsageTotal,
    /// The time at which the root run was asked for, before all queues.
    pub asked_at: Option<Timestamp>,
}

/// The place of the events of a run and of all below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPlace {
    pub session: SessionId,
    /// The run at the root of its tree.
    pub root: RunId,
    /// Its first event; no run below it has an earlier one.
    pub first_seq: EventSeq,
}

impl EventStore {
    /// `None`: there is no such run.
    pub async fn run_place(&self, run: &RunId) -> Result<Option<RunPlace>, StoreError> {
        let text = "select session_id, root_run_id, first_seq from runs where run_id = ?1";
        let row = sqlx::query(text).bind(run.as_str()).fetch_optional(&self.shared.readers).await?;
        Ok(row.map(|row| RunPlace {
            session: row.get::<&str, _>("session_id").into(),
            root: row.get::<&str, _>("root_run_id").into(),
            first_seq: EventSeq(row.get("first_seq")),
        }))
    }

    /// The numbers of a session's runs among those of the same agent below the same root, or in the whole session, in the order in which
    /// they began, up to this place in the log. Of an agent that has one run there it is not told.
    pub async fn run_numbers(
        &self,
        session: &SessionId,
        in_session: bool,
        head: EventSeq,
    ) -> Result<HashMap<RunId, u64>, StoreError> {
        let text = "
select run_id, number from (
    select run_id, row_number() over (of_agent order by first_seq) as number, count(*) over of_agent as runs
    from runs where session_id = ?1 and first_seq <= ?2
    window of_agent as (partition by iif(?3, session_id, root_run_id), agent)
)
where 1 < runs";
        let rows = sqlx::query(text).bind(session.as_str()).bind(head.0).bind(in_session);
        let rows = rows.fetch_all(&self.shared.readers).await?;
        let number = |row: &sqlx::sqlite::SqliteRow| row.get::<i64, _>("number").unsigned_abs();
        Ok(rows.iter().map(|row| (row.get::<&str, _>("run_id").into(), number(row))).collect())
    }

    /// The changes of a session's files that were undone up to this place in the log, by the ids that undo knows them by.
    pub async fn undone_changes(
        &self,
        session: &SessionId,
        head: EventSeq,
    ) -> Result<HashMap<String, UndoneChange>, StoreError> {
        let text = "
select body ->> '$.undoId' as undo_id, coalesce(body ->> '$.forced', 0) as forced, head ->> '$.by' as undone_by, time_us
from events
where session_id = ?1 and seq <= ?2 and type = 'file.restored'";
        let rows = sqlx::query(text).bind(session.as_str()).bind(head.0);
        let rows = rows.fetch_all(&self.shared.readers).await?;
        let undone = |row: &SqliteRow| UndoneChange {
            at: Timestamp(row.get("time_us")),
            by: row.get("undone_by"),
            forced: row.get::<i64, _>("forced") != 0,
        };
        let named =
            rows.iter().filter_map(|row| Some((row.get::<Option<String>, _>("undo_id")?, undone(row))));
        Ok(named.collect())
    }

    /// Those of these sessions that have not been removed.
    pub async fn sessions_there(
        &self,
        sessions: &BTreeSet<SessionId>,
    ) -> Result<BTreeSet<SessionId>, StoreError> {
        let named = serde_json::to_string(sessions).map_err(|error| StoreError::Encode(Arc::new(error)))?;
        let text = "select session_id from sessions where session_id in (select value from json_each(?1))";
        let rows = sqlx::query(text).bind(named).fetch_all(&self.shared.readers).await?;
        Ok(rows.iter().map(|row| row.get::<&str, _>(0).into()).collect())
    }

    /// The runs that had begun by this place in the log, and end after it or have not ended.
    pub async fn open_runs_at(&self, place: EventSeq) -> Result<Vec<RunId>, StoreError> {
        // What ended later stands in the log behind the place, which is read through once: few of its events are ends.
        let text = "
select run_id from runs where state <> 'ended' and first_seq <= ?1
union
select runs.run_id from events cross join runs on runs.run_id = events.run_id
where ?1 < events.seq and events.type = 'run.completed' and runs.first_seq <= ?1";
        let rows = sqlx::query(text).bind(place.0).fetch_all(&self.shared.readers).await?;
        Ok(rows.iter().map(|row| row.get::<&str, _>(0).into()).collect())
    }

    /// Reads what the log told up to this place, in its order, of the runs that were open there: events of these types, and of all
    /// types where none is named.
    pub async fn read_open_runs(
        &self,
        place: EventSeq,
        types: Vec<String>,
        mut read: impl FnMut(&StoredEvent),
    ) -> Result<(), StoreError> {
        let runs = self.open_runs_at(place).await?;
        if runs.is_empty() {
            return Ok(());
        }
        let filter = LogFilter { runs, types, ..LogFilter::default() };
        let mut read_to = EventSeq(0);
        while read_to < place {
            let page = self.page(&filter, read_to, EVENTS_READ).await?;
            page.events.iter().filter(|event| event.seq <= place).for_each(|event| read(event));
            read_to = page.searched_to;
        }
        Ok(())
    }

    /// The number of runs that wait before this one in the same queue; `None` when it waits in none.
    pub async fn queued_before(&self, run: &RunId) -> Result<Option<u64>, StoreError> {
        let text = "
select (
    select count(*) from runs as before
    where before.queued_for = own.queued_for and before.queue_rank < own.queue_rank
        and (own.queued_for <> 'context' or before.context_id = own.context_id)
) from runs as own where own.run_id = ?1 and own.queued_for in ('context', 'place')";
        let count: Option<i64> =
            sqlx::query_scalar(text).bind(run.as_str()).fetch_optional(&self.shared.readers).await?;
        Ok(count.map(i64::unsigned_abs))
    }

    /// The runs that had the context of this one from when this one was asked for until it began. `None`: the context was free.
    pub async fn queued_behind(&self, run: &RunId) -> Result<Option<QueuedBehind>, StoreError> {
        let text = "
select before.run_id, before.agent from runs as own join runs as before on before.context_id = own.context_id
where own.run_id = ?1 and before.run_id <> own.run_id and before.parent_run_id is own.parent_run_id
    and before.started_seq < coalesce(own.started_seq, 9223372036854775807)
    and (own.ended_us is null or (select time_us from events where seq = before.started_seq) <= own.ended_us)
    and (before.ended_us is null or (select time_us from events where seq = own.first_seq) <= before.ended_us)
order by before.started_seq limit ?2";
        let rows =
            sqlx::query(text).bind(run.as_str()).bind(MOST_BEHIND).fetch_all(&self.shared.readers).await?;
        let named = |row: &SqliteRow| NextHolder {
            run_id: row.get::<&str, _>("run_id").into(),
            agent: row.get::<&str, _>("agent").into(),
        };
        let mut holders = rows.iter().map(named);
        let Some(NextHolder { run_id, agent }) = holders.next() else { return Ok(None) };
        let then = holders.next();
        Ok(Some(QueuedBehind { run_id, agent, then, more: holders.count() as u64 }))
    }

    /// The runs that were asked for after this one, and moved ahead of it while both waited for their context.
    pub async fn moved_ahead(&self, run: &RunId) -> Result<Vec<MovedAhead>, StoreError> {
        // Perf: of each run of the context only what comes before it began is read.
        let text = "
select later.run_id, later.agent, moved.time_us, moved.head->>'by' as moved_by, max(moved.seq)
from runs as own join runs as later on later.context_id = own.context_id
    join events as moved on moved.run_id = later.run_id
        and moved.seq between later.first_seq and coalesce(later.started_seq, 9223372036854775807)
where own.run_id = ?1 and own.first_seq < later.first_seq and moved.type = 'run.queued' and moved.body->>'front'
    and moved.seq < coalesce(own.started_seq, 9223372036854775807)
    and (own.ended_us is null or moved.time_us <= own.ended_us)
group by later.run_id order by max(moved.seq) limit ?2";
        let rows =
            sqlx::query(text).bind(run.as_str()).bind(MOST_BEHIND).fetch_all(&self.shared.readers).await?;
        let moved = |row: &SqliteRow| MovedAhead {
            run_id: row.get::<&str, _>("run_id").into(),
            agent: row.get::<&str, _>("agent").into(),
            by: row.get("moved_by"),
            at: Timestamp(row.get("time_us")),
        };
        Ok(rows.iter().map(moved).collect())
    }

    /// The run that has the context for which this one waits. `None`: none has it now, or this one waits for none.
    pub async fn context_holder(&self, run: &RunId) -> Result<Option<(RunId, AgentName)>, StoreError> {
        // One that has the context may wait for a place before it begins.
        let text = "
select holder.run_id, holder.agent from runs as own join runs as holder on holder.context_id = own.context_id
where own.run_id = ?1 and own.queued_for = 'context' and holder.run_id <> own.run_id and holder.state <> 'ended'
    and holder.parent_run_id is own.parent_run_id
    and (holder.started_seq is not null or holder.queued_for is not 'context')
order by holder.started_seq is null, holder.started_seq limit 1";
        let row = sqlx::query(text).bind(run.as_str()).fetch_optional(&self.shared.readers).await?;
        Ok(row.map(|row| (row.get::<&str, _>("run_id").into(), row.get::<&str, _>("agent").into())))
    }

    /// The totals of each of these root runs that exists.
    pub async fn tree_totals(&self, roots: &[RunId]) -> Result<HashMap<RunId, TreeTotal>, StoreError> {
        let text = "
select root_run_id, count(*) as runs, sum(turns) as turns, sum(tool_calls) as tool_calls,
    sum(prompt_tokens) as prompt_tokens, sum(cached_tokens) as cached_tokens,
    sum(cache_write_tokens) as cache_write_tokens, sum(output_tokens) as output_tokens,
    sum(thought_tokens) as thought_tokens, sum(cost_nanos) as cost_nanos, sum(unpriced_tokens) as unpriced_tokens,
    sum(estimated_requests) as estimated_requests, sum(uncounted_requests) as uncounted_requests,
    max(iif(run_id = root_run_id, (select time_us from events where seq = first_seq), null)) as asked_us
from runs where root_run_id in (select value from json_each(?1))
group by root_run_id";
        let roots = serde_json::to_string(roots).map_err(|error| StoreError::Encode(Arc::new(error)))?;
        let rows = sqlx::query(text).bind(roots).fetch_all(&self.shared.readers).await?;
        let totals = rows.iter().map(|row| {
            // None is negative: they are counts.
            let count = |column: &str| row.get::<i64, _>(column).unsigned_abs();
            let cost = row.get::<Option<i64>, _>("cost_nanos");
            let usage = Usage {
                prompt_tokens: count("prompt_tokens"),
                cached_tokens: count("cached_tokens"),
                cache_write_tokens: count("cache_write_tokens"),
                output_tokens: count("output_tokens"),
                thought_tokens: count("thought_tokens"),
            };
            let spent = UsageTotal {
                usage,
                cost: cost.map(|nanos| UsdAmount::from_nanos(nanos.unsigned_abs())),
                unpriced_tokens: count("unpriced_tokens"),
                estimated_requests: count("estimated_requests"),
                uncounted_requests: count("uncounted_requests"),
            };
            let (runs, turns, tool_calls) = (count("runs"), count("turns"), count("tool_calls"));
            let asked_at = row.get::<Option<i64>, _>("asked_us").map(Timestamp);
            (row.get::<&str, _>("root_run_id").into(), TreeTotal { runs, turns, tool_calls, spent, asked_at })
        });
        Ok(totals.collect())
    }
}
