//! The projections: what the tables beside the log hold, computed from events by one function.

use std::collections::{BTreeMap, btree_map::Entry};

use serde_json::json;

use super::{Store, StoreError, event::Encoded, read};
use crate::protocol::{
    CallState, EventBody, RunId, RunStarted, RunState, Seq, SessionCreated, SessionId, Timestamp, Usage,
};

/// What a batch of events changes, gathered so that each table is written once.
#[derive(Default)]
pub(super) struct Projections {
    sessions: BTreeMap<SessionId, (SessionCreated, Timestamp)>,
    active: BTreeMap<SessionId, Timestamp>,
    started: BTreeMap<RunId, StartedRow>,
    runs: BTreeMap<RunId, RunPatch>,
}

struct StartedRow {
    seq: Seq,
    at: Timestamp,
    session: SessionId,
    parent: Option<RunId>,
    data: RunStarted,
}

/// Changes of one run's row. `None` and zero leave it as it is.
#[derive(Default)]
struct RunPatch {
    state: Option<RunState>,
    ended_at: Option<Timestamp>,
    turns: Option<u32>,
    more_tool_calls: u32,
    more_usage: Usage,
    active_us: u64,
    /// The outer `None` leaves it, the inner one clears it.
    open_stream: Option<Option<(String, Seq)>>,
    completed: Option<String>,
}

impl Projections {
    /// The one function that says what an event means for the tables.
    pub fn add(&mut self, seq: Seq, event: &Encoded) {
        if let (EventBody::SessionCreated(data), Some(session)) = (&event.body, &event.session) {
            self.sessions.insert(session.clone(), (data.clone(), event.at));
        }
        let (Some(session), Some(run)) = (&event.session, &event.run) else { return };
        if let EventBody::RunStarted(data) = &event.body {
            let row = StartedRow {
                seq,
                at: event.at,
                session: session.clone(),
                parent: event.parent_run.clone(),
                data: data.clone(),
            };
            self.started.insert(run.clone(), row);
            self.active.insert(session.clone(), event.at);
        }
        let patch = match self.runs.entry(run.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(RunPatch::default()),
        };
        patch.active_us = patch.active_us.max(event.active_us);
        match &event.body {
            EventBody::TurnStarted(data) => patch.turns = Some(data.turn),
            EventBody::ModelStarted(data) => patch.open_stream = Some(Some((data.stream.clone(), seq))),
            EventBody::ModelRetrying(_) => patch.open_stream = Some(None),
            EventBody::ModelCompleted(data) => {
                patch.open_stream = Some(None);
                patch.more_usage += data.usage;
            }
            EventBody::ToolState(data) if data.to == CallState::Validating => patch.more_tool_calls += 1,
            EventBody::RunCompleted(_) => {
                patch.state = Some(RunState::Ended);
                patch.ended_at = Some(event.at);
                patch.open_stream = Some(None);
                patch.completed = Some(event.body_json.clone());
                self.active.insert(session.clone(), event.at);
            }
            _ => (),
        }
    }
}

/// A statement and what it takes: its rows, as one JSON array.
pub(super) type Statement = (&'static str, String);

impl Projections {
    /// What writes all that was gathered, each table in one statement.
    pub fn statements(self) -> Vec<Statement> {
        let Projections { sessions, active, started, runs } = self;
        let mut statements = Vec::new();
        if !sessions.is_empty() {
            let rows: Vec<_> = sessions
                .iter()
                .map(|(id, (data, at))| json!([id, json!(data.roots).to_string(), data.title, at.0]))
                .collect();
            statements.push((INSERT_SESSIONS, json!(rows).to_string()));
        }
        if !started.is_empty() {
            let rows: Vec<_> = started
                .iter()
                .map(|(run, row)| {
                    let StartedRow { seq, at, session, parent, data } = row;
                    let RunStarted { context_id, agent, digest, model, .. } = data;
                    json!([run, session, context_id, parent, agent, digest, model, seq.0, at.0])
                })
                .collect();
            let rows = json!(rows).to_string();
            statements.push((INSERT_CONTEXTS, rows.clone()));
            statements.push((INSERT_RUNS, rows));
        }
        if !active.is_empty() {
            let rows: Vec<_> = active.iter().map(|(session, at)| json!([session, at.0])).collect();
            statements.push((UPDATE_SESSIONS, json!(rows).to_string()));
        }
        if !runs.is_empty() {
            let rows: Vec<_> = runs.iter().map(|(run, patch)| patch.row(run)).collect();
            statements.push((UPDATE_RUNS, json!(rows).to_string()));
        }
        statements
    }
}

impl RunPatch {
    fn row(&self, run: &RunId) -> serde_json::Value {
        let keeps_stream = self.open_stream.is_none();
        let (stream, stream_seq) = match &self.open_stream {
            Some(Some((stream, seq))) => (Some(stream), Some(seq.0)),
            _ => (None, None),
        };
        json!([
            run,
            self.state.map(RunState::as_str),
            self.ended_at.map(|at| at.0),
            self.turns,
            self.more_tool_calls,
            self.more_usage.prompt_tokens,
            self.more_usage.cached_tokens,
            self.more_usage.output_tokens,
            self.more_usage.thought_tokens,
            self.active_us,
            keeps_stream,
            stream,
            stream_seq,
            self.completed,
        ])
    }
}

const INSERT_SESSIONS: &str = "
insert into sessions (session_id, roots, title, created_us, last_active_us)
select value->>0, value->>1, value->>2, value->>3, value->>3
from jsonb_each(?)";

const INSERT_CONTEXTS: &str = "
insert into contexts (context_id, session_id, agent, created_us)
select value->>2, value->>1, value->>4, value->>8
from jsonb_each(?)
where true
on conflict do nothing";

const INSERT_RUNS: &str = "
insert into runs (
    run_id, session_id, context_id, parent_run_id, agent, digest, model, started_seq, started_us,
    state, turns, tool_calls, prompt_tokens, cached_tokens, output_tokens, thought_tokens, active_us
)
select
    value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8,
    'running', 0, 0, 0, 0, 0, 0, 0
from jsonb_each(?)";

const UPDATE_SESSIONS: &str = "
update sessions set last_active_us = patch.at
from (select value->>0 as id, value->>1 as at from jsonb_each(?)) as patch
where sessions.session_id = patch.id";

const UPDATE_RUNS: &str = "
update runs set
    state = coalesce(patch.state, runs.state),
    ended_us = coalesce(patch.ended_us, runs.ended_us),
    turns = coalesce(patch.turns, runs.turns),
    tool_calls = runs.tool_calls + patch.tool_calls,
    prompt_tokens = runs.prompt_tokens + patch.prompt_tokens,
    cached_tokens = runs.cached_tokens + patch.cached_tokens,
    output_tokens = runs.output_tokens + patch.output_tokens,
    thought_tokens = runs.thought_tokens + patch.thought_tokens,
    active_us = max(runs.active_us, patch.active_us),
    open_stream = iif(patch.keeps_stream, runs.open_stream, patch.open_stream),
    open_stream_seq = iif(patch.keeps_stream, runs.open_stream_seq, patch.open_stream_seq),
    completed = coalesce(patch.completed, runs.completed)
from (
    select
        value->>0 as run_id, value->>1 as state, value->>2 as ended_us, value->>3 as turns,
        value->>4 as tool_calls, value->>5 as prompt_tokens, value->>6 as cached_tokens,
        value->>7 as output_tokens, value->>8 as thought_tokens, value->>9 as active_us,
        value->>10 as keeps_stream, value->>11 as open_stream, value->>12 as open_stream_seq,
        value->>13 as completed
    from jsonb_each(?)
) as patch
where runs.run_id = patch.run_id";

/// Events folded at once by [`Store::rebuild`].
const REBUILD_BATCH: usize = 1_000;

impl Store {
    /// Computes the projections anew from the log, in place of those there are, in one transaction of its own
    /// connection. For repair and for the test that holds rebuild equal to live.
    pub async fn rebuild(&self) -> Result<(), StoreError> {
        let mut connection = self.second_writer().await?;
        let mut transaction = sqlx::Connection::begin_with(&mut connection, "begin immediate").await?;
        for table in ["delete from runs", "delete from contexts", "delete from sessions"] {
            sqlx::query(table).execute(&mut *transaction).await?;
        }
        let mut after = Seq(0);
        loop {
            let events = read::encoded_after(&mut transaction, after, REBUILD_BATCH).await?;
            let Some((last, _)) = events.last() else { break };
            after = *last;
            let mut projections = Projections::default();
            for (seq, event) in &events {
                projections.add(*seq, event);
            }
            for (text, rows) in projections.statements() {
                sqlx::query(text).bind(rows).execute(&mut *transaction).await?;
            }
        }
        Ok(transaction.commit().await?)
    }
}
