//! Which calls have not ended? Read from the turns that are under way, so the history's length is no matter.

use sqlx::{Row as _, Sqlite, Transaction, sqlite::SqliteRow};

use super::runs::OpenStream;
use crate::{EventStore, StoreError};
use protocol::{CallId, CallState, EventSeq, OpenToolCall, RunId, SessionId, ToolState};

/// `cross join` holds SQLite to this order: the few live runs first, then the events of each one's turn by index.
pub(crate) const OPEN_CALLS: &str = "
select events.seq, runs.session_id, events.run_id, events.body
from runs cross join events
where runs.session_id = ?1 and runs.state <> 'ended'
    and events.run_id = runs.run_id and runs.turn_seq < events.seq and +events.type = 'tool.state'
order by events.seq";

/// The same for some runs, whatever their sessions.
pub(crate) const OPEN_CALLS_OF: &str = "
select events.seq, runs.session_id, events.run_id, events.body
from json_each(?1) as named cross join runs cross join events
where runs.run_id = named.value
    and events.run_id = runs.run_id and runs.turn_seq < events.seq and +events.type = 'tool.state'
order by events.seq";

impl EventStore {
    /// Calls that have not ended, of the session's live runs, in the order in which they were asked for.
    pub async fn open_calls(&self, session: &SessionId) -> Result<Vec<OpenToolCall>, StoreError> {
        let mut transaction = self.shared.readers.begin().await?;
        Ok(open_calls(&mut transaction, session).await?.0)
    }
}

/// The calls, and the texts that those put out which runs answer.
pub(super) async fn open_calls(
    transaction: &mut Transaction<'_, Sqlite>,
    session: &SessionId,
) -> Result<(Vec<OpenToolCall>, Vec<OpenStream>), StoreError> {
    fold(&sqlx::query(OPEN_CALLS).bind(session.as_str()).fetch_all(&mut **transaction).await?)
}

/// As [`open_calls`], of the runs in this JSON list.
pub(super) async fn open_calls_of(
    transaction: &mut Transaction<'_, Sqlite>,
    runs: &str,
) -> Result<(Vec<OpenToolCall>, Vec<OpenStream>), StoreError> {
    fold(&sqlx::query(OPEN_CALLS_OF).bind(runs).fetch_all(&mut **transaction).await?)
}

fn fold(rows: &[SqliteRow]) -> Result<(Vec<OpenToolCall>, Vec<OpenStream>), StoreError> {
    let mut calls: Vec<OpenToolCall> = Vec::new();
    let mut outputs = Vec::new();
    for row in rows {
        let seq = EventSeq(row.get("seq"));
        let state: ToolState = serde_json::from_str(row.get("body"))
            .map_err(|error| StoreError::Unreadable { seq, message: error.to_string() })?;
        let run = RunId::from(row.get::<&str, _>("run_id"));
        if state.to == CallState::Executing && state.puts_out() {
            let (stream, call) = (state.call_id.as_str().to_owned(), Some(state.call_id.clone()));
            let session = row.get::<&str, _>("session_id").into();
            outputs.push(OpenStream { session, run: run.clone(), stream, call, after_seq: seq });
        }
        match calls.iter_mut().find(|it| it.call_id == state.call_id && it.run_id == run) {
            Some(call) => {
                call.state = state.to;
                call.details = state.details.or_else(|| call.details.take());
                call.child_run_id = state.child_run_id.or_else(|| call.child_run_id.take());
            }
            None => calls.push(OpenToolCall {
                run_id: run,
                call_id: state.call_id,
                name: state.name,
                state: state.to,
                details: state.details,
                child_run_id: state.child_run_id,
            }),
        }
    }
    calls.retain(|call| !call.state.is_end());
    let is_open = |call: &CallId| calls.iter().any(|open| open.call_id == *call);
    outputs.retain(|output| output.call.as_ref().is_some_and(is_open));
    Ok((calls, outputs))
}
