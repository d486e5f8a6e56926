//! One run's row: what makes it, and what each later event changes in it.

use serde_json::{Value, json};

use super::usage::UsageEntry;
use crate::event::EncodedEvent;
use protocol::{
    CallState, EventBody, EventSeq, LoopKind, QueuedFor, RunId, RunQueued, RunStarted, RunState, SessionId,
    Timestamp, UsageTotal,
};

/// A row as the run's first event makes it.
pub(super) struct RunRow {
    pub seq: EventSeq,
    pub at: Timestamp,
    pub session: SessionId,
    pub parent: Option<RunId>,
    /// The root of its tree, when this batch knows it.
    pub root: Option<RunId>,
    /// Else the run in the table that has the same root.
    pub root_of: Option<RunId>,
    pub data: RunStarted,
}

impl RunRow {
    pub fn columns(&self, run: &RunId) -> Value {
        let RunRow { seq, at, session, parent, root, root_of, data } = self;
        let RunStarted { context_id, agent, digest, model, query, prompt, depth, parent_call_id, .. } = data;
        json!([
            run,
            session,
            context_id,
            parent,
            parent_call_id,
            root,
            root_of,
            depth,
            agent,
            digest,
            model,
            query,
            prompt,
            seq.0,
            at.0
        ])
    }

    pub fn context(&self) -> Value {
        json!([self.data.context_id, self.session, self.data.agent, self.parent, self.at.0])
    }
}

/// Changes of one run's row. `None` and zero leave it as it is.
///
/// Invariant: patches of two batches, one after the other, do what the patch of both batches together does; else a
/// rebuild would differ from what was written live.
#[derive(Default)]
pub(super) struct RunPatch {
    state: Option<StateChange>,
    queue: QueueChange,
    started: Option<(EventSeq, Timestamp)>,
    ended_at: Option<Timestamp>,
    turn: Option<(u32, EventSeq)>,
    more_tool_calls: u32,
    more_replies: u32,
    more: UsageTotal,
    active_us: u64,
    /// The outer `None` leaves it, the inner one clears it.
    open_stream: Option<Option<(String, EventSeq)>>,
    completed: Option<String>,
}

enum StateChange {
    To(RunState),
    /// Whether it goes on running or queueing depends on whether it had begun, which the row knows.
    Resume,
}

#[derive(Default)]
struct QueueChange {
    /// The outer `None` leaves it, the inner one clears it.
    set: Option<Option<(QueuedFor, i64)>>,
    /// After that, a run that has begun waits for nothing.
    clear_if_begun: bool,
}

impl QueueChange {
    fn to(place: Option<(QueuedFor, i64)>) -> QueueChange {
        QueueChange { set: Some(place), clear_if_begun: false }
    }
}

impl RunPatch {
    pub fn add(&mut self, seq: EventSeq, event: &EncodedEvent) {
        self.active_us = self.active_us.max(event.active_us);
        if self.completed.is_none() {
            self.stand(seq, &event.body);
        }
        if let Some(used) = UsageEntry::of(&event.body) {
            self.more += used.spent;
        }
        match &event.body {
            EventBody::RunStarted(_) => {
                self.started.get_or_insert((seq, event.at));
            }
            EventBody::TurnStarted(data) => self.turn = Some((data.turn, seq)),
            EventBody::ModelStarted(data) => {
                self.open_stream = Some(Some((data.stream.clone(), seq)));
            }
            EventBody::ModelRetrying(_) => self.open_stream = Some(None),
            EventBody::ModelCompleted(data) => {
                self.open_stream = Some(None);
                self.more_replies += u32::from(!data.cut && data.finish_reason.is_some());
            }
            // Babble that was cut is not asked for again.
            EventBody::LoopDetected(data) => self.more_replies += u32::from(data.kind == LoopKind::Text),
            EventBody::ToolState(data) if data.to == CallState::Validating => self.more_tool_calls += 1,
            EventBody::RunCompleted(_) => {
                self.ended_at = Some(event.at);
                self.open_stream = Some(None);
                self.completed = Some(event.body_json.clone());
            }
            _ => (),
        }
    }

    /// Where the run stands after the event. An end is for good.
    fn stand(&mut self, seq: EventSeq, body: &EventBody) {
        match body {
            EventBody::RunQueued(RunQueued { waits_for, front, .. }) => {
                // The lowest rank comes next, so of two that were put in front the later one.
                let rank = if *front { -seq.0 } else { seq.0 };
                self.state = Some(StateChange::To(RunState::Queued));
                self.queue = QueueChange::to(Some((*waits_for, rank)));
            }
            EventBody::RunStarted(_) | EventBody::ModelStarted(_) => {
                self.state = Some(StateChange::To(RunState::Running));
                self.queue = QueueChange::to(None);
            }
            EventBody::RunWaiting(data) => {
                let state = if data.waiting { RunState::Waiting } else { RunState::Running };
                self.state = Some(StateChange::To(state));
            }
            EventBody::RunParked(_) => self.state = Some(StateChange::To(RunState::Parked)),
            EventBody::RunResumed(_) => {
                self.state = Some(StateChange::Resume);
                self.queue.clear_if_begun = true;
            }
            EventBody::RunCompleted(_) => {
                self.state = Some(StateChange::To(RunState::Ended));
                self.queue = QueueChange::to(None);
            }
            _ => (),
        }
    }

    /// What counts the run's work; every event changes it.
    pub fn work(&self, run: &RunId) -> Value {
        let keeps_stream = self.open_stream.is_none();
        let (stream, stream_seq) = self.open_stream.clone().flatten().unzip();
        let (turns, turn_seq) = self.turn.unzip();
        json!([
            run,
            self.ended_at.map(|at| at.0),
            turns,
            turn_seq,
            self.more_tool_calls,
            self.more_replies,
            self.more.usage.prompt_tokens,
            self.more.usage.cached_tokens,
            self.more.usage.output_tokens,
            self.more.usage.thought_tokens,
            self.active_us,
            keeps_stream,
            stream,
            stream_seq,
            self.completed,
            // SQLite's numbers end at 2^63; nobody has so many billionths of dollars.
            self.more.cost.map(|cost| i64::try_from(cost.nanos()).unwrap_or(i64::MAX)),
            self.more.unpriced_tokens,
            self.more.usage.cache_write_tokens,
            self.more.estimated_requests,
            self.more.uncounted_requests,
        ])
    }

    /// Where the run stands; `None` when nothing is said about that.
    pub fn standing(&self, run: &RunId) -> Option<Value> {
        let is_silent = self.state.is_none()
            && self.queue.set.is_none()
            && !self.queue.clear_if_begun
            && self.started.is_none();
        if is_silent {
            return None;
        }
        let (state, resumes) = match &self.state {
            None => (None, false),
            Some(StateChange::To(state)) => (Some(state.as_str()), false),
            Some(StateChange::Resume) => (None, true),
        };
        let keeps_queue = self.queue.set.is_none();
        let (queued_for, rank) = self.queue.set.flatten().unzip();
        let (started_seq, started_at) = self.started.unzip();
        let started_us = started_at.map(|at| at.0);
        let clear_if_begun = self.queue.clear_if_begun;
        Some(json!([
            run,
            state,
            resumes,
            keeps_queue,
            queued_for,
            rank,
            clear_if_begun,
            started_seq,
            started_us
        ]))
    }
}

/// A row of a run that has not begun; the patch of the same batch says what else its events did.
pub(super) const INSERT: &str = "
insert into runs (
    run_id, session_id, context_id, parent_run_id, parent_call_id, root_run_id, depth, agent, digest, model, query,
    prompt, first_seq, started_us, state, turns, tool_calls, replies, prompt_tokens, cached_tokens, output_tokens,
    thought_tokens, active_us
)
select
    value->>0, value->>1, value->>2, value->>3, value->>4,
    coalesce(value->>5, (select root_run_id from runs where run_id = value->>6), value->>6),
    value->>7, value->>8, value->>9, value->>10, value->>11, value->>12, value->>13, value->>14,
    'queued', 0, 0, 0, 0, 0, 0, 0, 0
from jsonb_each(?)
where true
on conflict (run_id) do nothing";

/// Perf: a statement of its own, for rows that it changes. Indexes hold these columns, and SQLite writes an index anew
/// when a statement names a column of it, also when the value stays: that were three pages more in every commit.
pub(super) const UPDATE_STANDING: &str = "
update runs set
    state = next.state,
    queued_for = next.queued_for,
    queue_rank = next.queue_rank,
    started_us = iif(runs.started_seq is null, coalesce(next.started_us, runs.started_us), runs.started_us),
    started_seq = coalesce(runs.started_seq, next.started_seq)
from (
    select
        patch.run_id, patch.started_seq, patch.started_us,
        case
            when now.state = 'ended' then now.state
            when patch.state is not null then patch.state
            when patch.resumes then iif(coalesce(patch.started_seq, now.started_seq) is null, 'queued', 'running')
            else now.state
        end as state,
        case
            when now.state = 'ended' then now.queued_for
            when patch.clear_if_begun and coalesce(patch.started_seq, now.started_seq) is not null then null
            when patch.keeps_queue then now.queued_for
            else patch.queued_for
        end as queued_for,
        case
            when now.state = 'ended' then now.queue_rank
            when patch.clear_if_begun and coalesce(patch.started_seq, now.started_seq) is not null then null
            when patch.keeps_queue then now.queue_rank
            else patch.queue_rank
        end as queue_rank
    from (
        select
            value->>0 as run_id, value->>1 as state, value->>2 as resumes, value->>3 as keeps_queue,
            value->>4 as queued_for, value->>5 as queue_rank, value->>6 as clear_if_begun,
            value->>7 as started_seq, value->>8 as started_us
        from jsonb_each(?)
    ) as patch
    join runs as now on now.run_id = patch.run_id
) as next
where runs.run_id = next.run_id and (
    runs.state is not next.state or runs.queued_for is not next.queued_for
    or runs.queue_rank is not next.queue_rank or (runs.started_seq is null and next.started_seq is not null)
)";

pub(super) const UPDATE_WORK: &str = "
update runs set
    ended_us = coalesce(patch.ended_us, runs.ended_us),
    turns = coalesce(patch.turns, runs.turns),
    turn_seq = coalesce(patch.turn_seq, runs.turn_seq),
    tool_calls = runs.tool_calls + patch.tool_calls,
    replies = runs.replies + patch.replies,
    prompt_tokens = runs.prompt_tokens + patch.prompt_tokens,
    cached_tokens = runs.cached_tokens + patch.cached_tokens,
    output_tokens = runs.output_tokens + patch.output_tokens,
    thought_tokens = runs.thought_tokens + patch.thought_tokens,
    cache_write_tokens = runs.cache_write_tokens + patch.cache_write_tokens,
    cost_nanos = iif(patch.cost_nanos is null, runs.cost_nanos, coalesce(runs.cost_nanos, 0) + patch.cost_nanos),
    unpriced_tokens = runs.unpriced_tokens + patch.unpriced_tokens,
    estimated_requests = runs.estimated_requests + patch.estimated_requests,
    uncounted_requests = runs.uncounted_requests + patch.uncounted_requests,
    active_us = max(runs.active_us, patch.active_us),
    open_stream = iif(patch.keeps_stream, runs.open_stream, patch.open_stream),
    open_stream_seq = iif(patch.keeps_stream, runs.open_stream_seq, patch.open_stream_seq),
    completed = coalesce(patch.completed, runs.completed)
from (
    select
        value->>0 as run_id, value->>1 as ended_us, value->>2 as turns, value->>3 as turn_seq,
        value->>4 as tool_calls, value->>5 as replies, value->>6 as prompt_tokens, value->>7 as cached_tokens,
        value->>8 as output_tokens, value->>9 as thought_tokens, value->>10 as active_us,
        value->>11 as keeps_stream, value->>12 as open_stream, value->>13 as open_stream_seq,
        value->>14 as completed, value->>15 as cost_nanos, value->>16 as unpriced_tokens,
        value->>17 as cache_write_tokens, value->>18 as estimated_requests, value->>19 as uncounted_requests
    from jsonb_each(?)
) as patch
where runs.run_id = patch.run_id";
