//! One run's row: what makes it, and what each later event changes in it.

use serde_json::{Value, json};

use crate::{
    protocol::{
        CallState, EventBody, QueuedFor, RunId, RunQueued, RunStarted, RunState, Seq, SessionId, Timestamp,
        Usage,
    },
    store::event::Encoded,
};

/// A row as the run's first event makes it.
pub(super) struct RunRow {
    pub seq: Seq,
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
    started: Option<(Seq, Timestamp)>,
    ended_at: Option<Timestamp>,
    turn: Option<(u32, Seq)>,
    more_tool_calls: u32,
    more_replies: u32,
    more_usage: Usage,
    active_us: u64,
    /// The outer `None` leaves it, the inner one clears it.
    open_stream: Option<Option<(String, Seq)>>,
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
    pub fn add(&mut self, seq: Seq, event: &Encoded) {
        self.active_us = self.active_us.max(event.active_us);
        if self.completed.is_none() {
            self.stand(seq, &event.body);
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
                self.more_usage += data.usage;
                self.more_replies += u32::from(!data.cut && data.finish_reason.is_some());
            }
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
    fn stand(&mut self, seq: Seq, body: &EventBody) {
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

    pub fn columns(&self, run: &RunId) -> Value {
        let (state, resumes) = match &self.state {
            None => (None, false),
            Some(StateChange::To(state)) => (Some(state.as_str()), false),
            Some(StateChange::Resume) => (None, true),
        };
        let keeps_queue = self.queue.set.is_none();
        let (queued_for, rank) = self.queue.set.flatten().unzip();
        let keeps_stream = self.open_stream.is_none();
        let (stream, stream_seq) = self.open_stream.clone().flatten().unzip();
        let (started_seq, started_at) = self.started.unzip();
        let (turns, turn_seq) = self.turn.unzip();
        json!({
            "run": run,
            "state": state,
            "resumes": resumes,
            "keepsQueue": keeps_queue,
            "queuedFor": queued_for,
            "rank": rank,
            "clearIfBegun": self.queue.clear_if_begun,
            "startedSeq": started_seq,
            "startedUs": started_at.map(|at| at.0),
            "endedUs": self.ended_at.map(|at| at.0),
            "turns": turns,
            "turnSeq": turn_seq,
            "toolCalls": self.more_tool_calls,
            "replies": self.more_replies,
            "prompt": self.more_usage.prompt_tokens,
            "cached": self.more_usage.cached_tokens,
            "output": self.more_usage.output_tokens,
            "thought": self.more_usage.thought_tokens,
            "activeUs": self.active_us,
            "keepsStream": keeps_stream,
            "stream": stream,
            "streamSeq": stream_seq,
            "completed": self.completed,
        })
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

pub(super) const UPDATE: &str = "
update runs set
    state = case
        when runs.state = 'ended' then runs.state
        when patch.state is not null then patch.state
        when patch.resumes then iif(coalesce(patch.started_seq, runs.started_seq) is null, 'queued', 'running')
        else runs.state
    end,
    queued_for = case
        when runs.state = 'ended' then runs.queued_for
        when patch.clear_if_begun and coalesce(patch.started_seq, runs.started_seq) is not null then null
        when patch.keeps_queue then runs.queued_for
        else patch.queued_for
    end,
    queue_rank = case
        when runs.state = 'ended' then runs.queue_rank
        when patch.clear_if_begun and coalesce(patch.started_seq, runs.started_seq) is not null then null
        when patch.keeps_queue then runs.queue_rank
        else patch.queue_rank
    end,
    started_seq = coalesce(runs.started_seq, patch.started_seq),
    started_us = iif(runs.started_seq is null, coalesce(patch.started_us, runs.started_us), runs.started_us),
    ended_us = coalesce(patch.ended_us, runs.ended_us),
    turns = coalesce(patch.turns, runs.turns),
    turn_seq = coalesce(patch.turn_seq, runs.turn_seq),
    tool_calls = runs.tool_calls + patch.tool_calls,
    replies = runs.replies + patch.replies,
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
        value->>'run' as run_id, value->>'state' as state, value->>'resumes' as resumes,
        value->>'keepsQueue' as keeps_queue, value->>'queuedFor' as queued_for, value->>'rank' as queue_rank,
        value->>'clearIfBegun' as clear_if_begun, value->>'startedSeq' as started_seq,
        value->>'startedUs' as started_us, value->>'endedUs' as ended_us, value->>'turns' as turns,
        value->>'turnSeq' as turn_seq, value->>'toolCalls' as tool_calls, value->>'replies' as replies,
        value->>'prompt' as prompt_tokens, value->>'cached' as cached_tokens, value->>'output' as output_tokens,
        value->>'thought' as thought_tokens, value->>'activeUs' as active_us,
        value->>'keepsStream' as keeps_stream, value->>'stream' as open_stream,
        value->>'streamSeq' as open_stream_seq, value->>'completed' as completed
    from jsonb_each(?)
) as patch
where runs.run_id = patch.run_id";
