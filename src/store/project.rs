//! The projections: what the tables beside the log hold, computed from events by one function.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use self::{
    people::ConsentChanges,
    run::{RunPatch, RunRow},
    usage::UsageRows,
};
use super::{EventStore, StoreError, event::EncodedEvent, read};
use protocol::{
    ApprovalMode, CompressionStatus, ContextId, EventBody, EventSeq, RunId, RunStarted, SessionCreated,
    SessionId, SessionState, SessionUpdated, Timestamp,
};

mod people;
mod run;
pub(super) mod usage;

/// What a batch of events changes, gathered so that each table is written once.
#[derive(Default)]
pub(super) struct ProjectionBatch {
    sessions: BTreeMap<SessionId, (SessionCreated, Timestamp)>,
    /// Folders that are no longer known as those of sessions, unless one begins there behind it.
    forgotten: BTreeSet<String>,
    updated: BTreeMap<SessionId, SessionUpdated>,
    /// Modes that answers gave to sessions, after what is `updated`.
    modes: BTreeMap<SessionId, ApprovalMode>,
    closed: Vec<SessionId>,
    deleted: Vec<SessionId>,
    active: BTreeMap<SessionId, Timestamp>,
    active_contexts: BTreeMap<ContextId, Timestamp>,
    /// Epoch and tokens, where they change.
    contexts: BTreeMap<ContextId, (Option<u32>, Option<u64>)>,
    rows: BTreeMap<RunId, RunRow>,
    runs: BTreeMap<RunId, RunPatch>,
    usage: UsageRows,
    people: ConsentChanges,
    /// Runs whose agent was chosen by their prompt.
    routes: Vec<Value>,
    /// Kept outputs: their calls and whose they are.
    outputs: Vec<Value>,
    /// Calls that clients are to answer, and calls that have ended: of any tool, since an end does not say whose.
    client_calls: Vec<Value>,
    ended_calls: Vec<Value>,
}

impl ProjectionBatch {
    /// The one function that says what an event means for the tables.
    pub fn add(&mut self, seq: EventSeq, event: &EncodedEvent) {
        self.people.add(seq, event);
        if let EventBody::FolderForgotten(data) = &event.body {
            self.forgotten.insert(data.folder.clone());
        }
        let Some(session) = &event.session else { return };
        match &event.body {
            EventBody::SessionCreated(data) => {
                self.forgotten.retain(|folder| !data.roots.contains(folder));
                self.sessions.insert(session.clone(), (data.clone(), event.at));
            }
            EventBody::SessionUpdated(data) => {
                self.modes.remove(session);
                self.updated.insert(session.clone(), data.clone());
            }
            EventBody::ConfirmationResolved(data) => {
                if let Some(mode) = data.resolution.mode {
                    self.modes.insert(session.clone(), mode);
                }
            }
            EventBody::SessionClosed(_) => self.closed.push(session.clone()),
            EventBody::SessionDeleted(_) => self.deleted.push(session.clone()),
            EventBody::ToolState(data) => {
                if let Some(whole) = data.result.as_ref().and_then(|result| result.full_output.as_ref()) {
                    self.outputs.push(json!([data.call_id, session, whole.bytes, whole.total_bytes]));
                }
                if data.to.is_end() {
                    self.ended_calls.push(json!([data.call_id, data.to]));
                }
            }
            EventBody::RouteSelected(data) => {
                let trigger = data.routed.trigger.as_ref().map(|trigger| json!(trigger).to_string());
                self.routes.push(json!([data.run_id, session, data.routed.agent, trigger]));
            }
            EventBody::ToolClientCall(data) => {
                self.client_calls.push(json!([data.call_id, session, event.run, data.client_id, seq]));
            }
            _ => (),
        }
        let Some(run) = &event.run else { return };
        match &event.body {
            EventBody::RunStarted(data) => self.add_row(seq, event, (session, run), data),
            EventBody::RunQueued(data) => {
                if let Some(data) = &data.run {
                    self.add_row(seq, event, (session, run), data);
                }
            }
            _ => (),
        }
        if matches!(
            &event.body,
            EventBody::RunStarted(_) | EventBody::RunQueued(_) | EventBody::RunCompleted(_)
        ) {
            self.active.insert(session.clone(), event.at);
            if let Some(context) = &event.context {
                self.active_contexts.insert(context.clone(), event.at);
            }
        }
        if let Some(context) = &event.context {
            self.follow_context(context, &event.body);
        }
        self.usage.add(run, event.at, &event.body);
        self.runs.entry(run.clone()).or_default().add(seq, event);
    }

    fn follow_context(&mut self, context: &ContextId, body: &EventBody) {
        let (epoch, tokens) = match body {
            EventBody::ModelCompleted(data) if data.usage.prompt_tokens != 0 => {
                (None, Some(data.usage.prompt_tokens))
            }
            EventBody::ContextCompressed(data) if data.status == CompressionStatus::Compressed => {
                (Some(data.epoch), Some(data.tokens_after))
            }
            EventBody::ContextCleared(data) => (Some(data.epoch), Some(0)),
            _ => return,
        };
        let known = self.contexts.entry(context.clone()).or_default();
        *known = (epoch.or(known.0), tokens.or(known.1));
    }

    /// The first event of a run makes its row; of a run that was queued, `run.started` finds it made.
    fn add_row(
        &mut self,
        seq: EventSeq,
        event: &EncodedEvent,
        (session, run): (&SessionId, &RunId),
        data: &RunStarted,
    ) {
        if self.rows.contains_key(run) {
            return;
        }
        // A parent that begins in the same batch is not in the table yet when its children are written.
        let parent = event.parent_run.clone();
        let (root, root_of) = match &parent {
            None => (Some(run.clone()), None),
            Some(parent) => match self.rows.get(parent) {
                Some(row) => (row.root.clone(), row.root_of.clone()),
                None => (None, Some(parent.clone())),
            },
        };
        let row =
            RunRow { seq, at: event.at, session: session.clone(), parent, root, root_of, data: data.clone() };
        self.rows.insert(run.clone(), row);
    }
}

/// A statement and what it takes: its rows, as one JSON array.
pub(super) type SqlStatement = (&'static str, String);

impl ProjectionBatch {
    /// What writes all that was gathered, each table in one statement.
    pub fn statements(self) -> Vec<SqlStatement> {
        let ProjectionBatch {
            sessions,
            forgotten,
            updated,
            modes,
            closed,
            deleted,
            active,
            active_contexts,
            contexts: context_patches,
            rows,
            runs,
            usage,
            people,
            routes,
            outputs,
            client_calls,
            ended_calls,
        } = self;
        let mut statements = Vec::new();
        let mut push = |text: &'static str, rows: Vec<Value>| {
            if !rows.is_empty() {
                statements.push((text, json!(rows).to_string()));
            }
        };
        let created = sessions.iter().map(|(id, (data, at))| {
            let SessionCreated { roots, title, agent, mode, ephemeral, mode_of_settings: _ } = data;
            json!([id, json!(roots).to_string(), title, agent, ephemeral, at.0, mode.as_str()])
        });
        let created: Vec<Value> = created.collect();
        push(INSERT_WORKED_FOLDERS, created.clone());
        push(FORGET_FOLDERS, forgotten.iter().map(|folder| json!(folder)).collect());
        push(INSERT_SESSIONS, created);
        let contexts = rows.values().map(RunRow::context);
        push(INSERT_CONTEXTS, contexts.collect());
        push(run::INSERT, rows.iter().map(|(run, row)| row.columns(run)).collect());
        push(
            UPDATE_SESSIONS,
            updated
                .iter()
                .map(|(id, it)| json!([id, it.title, it.agent, it.mode.as_str(), it.system_append]))
                .collect(),
        );
        push(UPDATE_MODES, modes.iter().map(|(id, mode)| json!([id, mode.as_str()])).collect());
        let closed_state = SessionState::Closed.as_str();
        push(CLOSE_SESSIONS, closed.iter().map(|id| json!([id, closed_state])).collect());
        push(TOUCH_SESSIONS, active.iter().map(|(id, at)| json!([id, at.0])).collect());
        push(TOUCH_CONTEXTS, active_contexts.iter().map(|(id, at)| json!([id, at.0])).collect());
        let patches = context_patches.iter().map(|(id, (epoch, tokens))| json!([id, epoch, tokens]));
        push(UPDATE_CONTEXTS, patches.collect());
        push(run::UPDATE_STANDING, runs.iter().filter_map(|(run, patch)| patch.standing(run)).collect());
        push(run::UPDATE_WORK, runs.iter().map(|(run, patch)| patch.work(run)).collect());
        push(usage::ADD, usage.rows());
        push(INSERT_ROUTES, routes);
        push(INSERT_OUTPUTS, outputs);
        push(INSERT_CLIENT_CALLS, client_calls);
        push(END_CLIENT_CALLS, ended_calls);
        statements.extend(people.statements());
        for text in DELETE_SESSIONS {
            if !deleted.is_empty() {
                statements.push((text, json!(deleted).to_string()));
            }
        }
        statements
    }
}

const INSERT_SESSIONS: &str = "
insert into sessions (session_id, roots, title, agent, ephemeral, state, created_us, last_active_us, mode)
select value->>0, value->>1, value->>2, value->>3, value->>4, 'open', value->>5, value->>5, value->>6
from jsonb_each(?)";

/// Kept when the session is deleted: what its agents wrote is there all the same.
const INSERT_WORKED_FOLDERS: &str = "
insert into worked_folders (folder, session_id, last_us)
select root.value, session.value->>0, session.value->>5
from jsonb_each(?) as session, json_each(session.value->>1) as root
where true
on conflict (folder) do update set session_id = excluded.session_id, last_us = excluded.last_us
where coalesce(worked_folders.last_us, 0) <= excluded.last_us";

const FORGET_FOLDERS: &str = "delete from worked_folders where folder in (select value from json_each(?))";

const INSERT_CONTEXTS: &str = "
insert into contexts (context_id, session_id, agent, parent_run_id, created_us, last_active_us)
select value->>0, value->>1, value->>2, value->>3, value->>4, value->>4
from jsonb_each(?)
where true
on conflict do nothing";

const INSERT_ROUTES: &str = "
insert into routes (run_id, session_id, agent, trigger)
select value->>0, value->>1, value->>2, value->>3
from jsonb_each(?)
where true
on conflict do nothing";

const INSERT_OUTPUTS: &str = "
insert into outputs (call_id, session_id, bytes, total_bytes)
select value->>0, value->>1, value->>2, value->>3
from jsonb_each(?)
where true
on conflict do nothing";

const INSERT_CLIENT_CALLS: &str = "
insert into client_calls (call_id, session_id, run_id, client_id, told_seq)
select value->>0, value->>1, value->>2, value->>3, value->>4
from jsonb_each(?)
where true
on conflict (call_id) do update set told_seq = max(told_seq, excluded.told_seq)";

const END_CLIENT_CALLS: &str = "
update client_calls set state = patch.state
from (select value->>0 as id, value->>1 as state from jsonb_each(?)) as patch
where client_calls.call_id = patch.id";

const UPDATE_SESSIONS: &str = "
update sessions set
    title = patch.title, agent = patch.agent, mode = patch.mode, system_append = patch.system_append
from (
    select value->>0 as id, value->>1 as title, value->>2 as agent, value->>3 as mode, value->>4 as system_append
    from jsonb_each(?)
) as patch
where sessions.session_id = patch.id";

const UPDATE_MODES: &str = "
update sessions set mode = patch.mode
from (select value->>0 as id, value->>1 as mode from jsonb_each(?)) as patch
where sessions.session_id = patch.id";

const CLOSE_SESSIONS: &str = "
update sessions set state = patch.state
from (select value->>0 as id, value->>1 as state from jsonb_each(?)) as patch
where sessions.session_id = patch.id";

const TOUCH_SESSIONS: &str = "
update sessions set last_active_us = patch.at
from (select value->>0 as id, value->>1 as at from jsonb_each(?)) as patch
where sessions.session_id = patch.id";

const TOUCH_CONTEXTS: &str = "
update contexts set last_active_us = patch.at
from (select value->>0 as id, value->>1 as at from jsonb_each(?)) as patch
where contexts.context_id = patch.id";

const UPDATE_CONTEXTS: &str = "
update contexts set epoch = coalesce(patch.epoch, contexts.epoch), tokens = coalesce(patch.tokens, contexts.tokens)
from (select value->>0 as id, value->>1 as epoch, value->>2 as tokens from jsonb_each(?)) as patch
where contexts.context_id = patch.id";

const DELETE_SESSIONS: &[&str] = &[
    "delete from confirmations where session_id in (select value from json_each(?))",
    "delete from routes where session_id in (select value from json_each(?))",
    "delete from outputs where session_id in (select value from json_each(?))",
    "delete from client_calls where session_id in (select value from json_each(?))",
    // Before the runs, which say whose it is.
    "delete from usage where run_id in (
        select run_id from runs where session_id in (select value from json_each(?))
    )",
    "delete from runs where session_id in (select value from json_each(?))",
    "delete from contexts where session_id in (select value from json_each(?))",
    "delete from sessions where session_id in (select value from json_each(?))",
];

/// Events folded at once by [`EventStore::rebuild`].
const REBUILD_BATCH: usize = 1_000;

impl EventStore {
    /// Computes the projections anew from the log, in place of those there are, in one transaction of its own
    /// connection. For repair and for the test that holds rebuild equal to live.
    pub async fn rebuild(&self) -> Result<(), StoreError> {
        self.rebuild_by(REBUILD_BATCH).await
    }

    /// As [`EventStore::rebuild`]; the tables do not depend on how many events are folded at once.
    pub(super) async fn rebuild_by(&self, batch: usize) -> Result<(), StoreError> {
        let mut connection = self.second_writer().await?;
        let mut transaction = sqlx::Connection::begin_with(&mut connection, "begin immediate").await?;
        for table in [
            "delete from runs",
            "delete from usage",
            "delete from contexts",
            "delete from sessions",
            "delete from confirmations",
            "delete from routes",
            "delete from outputs",
            "delete from client_calls",
            "delete from remembered_rules",
            "delete from trust",
            "delete from noted_programs",
            "delete from extensions",
        ] {
            sqlx::query(table).execute(&mut *transaction).await?;
        }
        let mut after = EventSeq(0);
        while let Some((last, events)) = read::encoded_after(&mut transaction, after, batch).await? {
            after = last;
            let mut projections = ProjectionBatch::default();
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
