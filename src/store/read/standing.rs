//! What lives, in all sessions or in some? Read from what has not ended, so the history's length is no matter.

use std::{collections::BTreeSet, sync::Arc};

use sqlx::{Row as _, SqlSafeStr as _};

use super::{
    calls, newest, people,
    runs::{OpenStream, open_stream, queue, record},
    sessions::summary,
};
use crate::{EventStore, StoreError};
use protocol::{
    Confirmation, EventSeq, OpenToolCall, QueuedRun, RunId, RunRecord, SessionId, SessionSummary,
};

/// What lives, as of one moment.
pub struct LiveView {
    pub seq: EventSeq,
    /// In which something lives.
    pub sessions: Vec<SessionSummary>,
    /// The newest ones, oldest first.
    pub runs: Vec<RunRecord>,
    /// How many there are.
    pub live_runs: u64,
    /// Of `runs`, as the others.
    pub open: Vec<OpenStream>,
    pub calls: Vec<OpenToolCall>,
    pub queue: Vec<QueuedRun>,
    /// Questions that wait, of the named sessions, oldest first.
    pub confirmations: Vec<Confirmation>,
}

/// ?1 sessions, ?2 the most runs. The partial index holds what lives and nothing else.
pub(crate) fn live_runs(of_all: bool) -> String {
    let sessions = match of_all {
        true => "?1 is not null",
        false => "session_id in (select value from json_each(?1))",
    };
    format!(
        "select *, count(*) over () as live from runs indexed by runs_unfinished
         where state <> 'ended' and {sessions} order by first_seq desc limit ?2"
    )
}

impl EventStore {
    /// What lives in these sessions; in all when none is named. At most `limit` runs, with what belongs to them.
    pub async fn live_view(&self, sessions: &[SessionId], limit: u32) -> Result<LiveView, StoreError> {
        let list =
            |list: serde_json::Result<String>| list.map_err(|error| StoreError::Encode(Arc::new(error)));
        let mut transaction = self.shared.readers.begin().await?;
        let seq = newest(&mut transaction).await?;
        let text = sqlx::AssertSqlSafe(live_runs(sessions.is_empty())).into_sql_str();
        let mut rows = sqlx::query(text)
            .bind(list(serde_json::to_string(sessions))?)
            .bind(limit)
            .fetch_all(&mut *transaction)
            .await?;
        rows.reverse();
        let live_runs = rows.first().map_or(0, |row| row.get::<i64, _>("live").unsigned_abs());
        let runs: Vec<RunRecord> = rows.iter().map(record).collect::<Result<_, _>>()?;
        let named: BTreeSet<&RunId> = runs.iter().map(|run| &run.run_id).collect();
        let (calls, outputs) =
            calls::open_calls_of(&mut transaction, &list(serde_json::to_string(&named))?).await?;
        let homes: BTreeSet<&SessionId> = runs.iter().map(|run| &run.session_id).collect();
        let of_runs = "select * from sessions where session_id in (select value from json_each(?1))";
        let homes = sqlx::query(of_runs)
            .bind(list(serde_json::to_string(&homes))?)
            .fetch_all(&mut *transaction)
            .await?;
        let mut queue = queue(&mut transaction, None).await?;
        let asked_of = list(serde_json::to_string(sessions))?;
        let asked_of = (!sessions.is_empty()).then_some(asked_of.as_str());
        let confirmations = people::open_within(&mut transaction, asked_of, people::SHOWN).await?;
        transaction.commit().await?;
        queue.retain(|queued| named.contains(&queued.run_id));
        Ok(LiveView {
            seq,
            sessions: homes.iter().map(summary).collect::<Result<_, _>>()?,
            live_runs,
            open: rows.iter().filter_map(open_stream).chain(outputs).collect(),
            calls,
            queue,
            confirmations,
            runs,
        })
    }
}
