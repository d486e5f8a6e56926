//! What do a run's facts say? Questions that need nothing else.

use std::sync::Arc;

use super::{ConfirmationAsker, ModelAsk, RunFacts, RunPhase, TrackedCall, TurnStage};
use protocol::{
    CallHooks, CallId, CallState, Confirmation, ConfirmationId, JudgedCall, OnDisconnect, ParkReason,
    ReplaySafety, RunId, RunStarted, ToolCall, ToolName,
};

impl RunFacts {
    pub fn is_finished(&self) -> bool {
        self.phase == RunPhase::Finished
    }

    /// The current turn, 1-based.
    pub fn turn(&self) -> u32 {
        self.turn.number
    }

    /// How many replies the run has had that it does not ask for again.
    pub fn replies(&self) -> u32 {
        self.turn.replies
    }

    /// What the model asked for under this id, in the current turn.
    pub fn request(&self, call: &CallId) -> Option<&Arc<ToolCall>> {
        self.call(call).map(|it| &it.request)
    }

    /// The calls of the current turn as they were asked for.
    pub fn requests(&self) -> Vec<Arc<ToolCall>> {
        self.calls.iter().map(|call| Arc::clone(call.asked_for.as_ref().unwrap_or(&call.request))).collect()
    }

    /// What was judged and committed about a call.
    pub fn prepared(&self, call: &CallId) -> Option<&Arc<JudgedCall>> {
        self.call(call).and_then(|it| it.prepared.as_ref())
    }

    /// Everything that hooks said of a call before it was judged, where that is in the log.
    pub fn hooked(&self, call: &CallId) -> Option<Arc<CallHooks>> {
        self.call(call).and_then(|it| it.prepared.as_ref()?.hooks.clone())
    }

    /// True if this call goes on where it was after a restart: a client that may be away is to answer it.
    pub fn can_be_left(&self, call: &CallId) -> bool {
        let lent = self.prepared(call).and_then(|it| it.lent.as_ref());
        lent.is_some_and(|it| it.on_disconnect == OnDisconnect::Wait)
    }

    /// Calls that were running and may not be run again.
    pub fn cut_off(&self) -> Vec<CallId> {
        let is_unsafe =
            |call: &&TrackedCall| call.prepared.as_ref().is_none_or(|it| it.replay == ReplaySafety::Unsafe);
        let running = self.calls.open().filter(|it| it.state == CallState::Executing && it.child().is_none());
        running.filter(is_unsafe).map(|it| it.request.call_id.clone()).collect()
    }

    /// Calls that wait to be judged, in the order asked: for the first time, or again now that what was in their way
    /// is over.
    pub fn unjudged(&self) -> impl Iterator<Item = &Arc<ToolCall>> {
        let is_acting = self.phase == RunPhase::Acting;
        let waits = move |it: &&TrackedCall| {
            let is_free = || it.state == CallState::Scheduled && it.is_held_up && !self.is_in_the_way(it);
            is_acting && (it.state == CallState::Validating || is_free())
        };
        self.calls.open().filter(waits).map(|it| &it.request)
    }

    /// Who asks this, and what is asked now.
    pub fn asking(&self, confirmation: &ConfirmationId) -> Option<(ConfirmationAsker, &Arc<Confirmation>)> {
        let of_run = || Some((ConfirmationAsker::Run, self.budget_question(confirmation)?));
        let of_call = || {
            let (call, question) = self.call_question(confirmation)?;
            Some((ConfirmationAsker::Call(Arc::clone(call)), question))
        };
        let of_tool = || Some((ConfirmationAsker::Tool, self.tool_question(confirmation)?));
        of_run().or_else(of_call).or_else(of_tool)
    }

    /// The question about the run's budget, if it has this id.
    pub(super) fn budget_question(&self, confirmation: &ConfirmationId) -> Option<&Arc<Confirmation>> {
        self.budget.question.as_ref().filter(|it| it.confirmation_id == *confirmation)
    }

    /// The call that waits for an answer to this question.
    pub(super) fn call_question(
        &self,
        confirmation: &ConfirmationId,
    ) -> Option<(&Arc<ToolCall>, &Arc<Confirmation>)> {
        let waiting = self.calls.open().filter(|call| call.state == CallState::AwaitingApproval);
        let mut questions = waiting.filter_map(|call| Some((&call.request, call.question.as_ref()?)));
        questions.find(|(_, question)| question.confirmation_id == *confirmation)
    }

    /// What the tool of a call asks under this id while the call runs.
    pub(super) fn tool_question(&self, confirmation: &ConfirmationId) -> Option<&Arc<Confirmation>> {
        let others = self.calls.open().filter(|call| call.state != CallState::AwaitingApproval);
        others.flat_map(|call| &call.asks).find(|it| it.confirmation_id == *confirmation)
    }

    /// True if all that the call's tool is known to do is wait for a person.
    pub fn only_asks(&self, call: &CallId) -> bool {
        self.call(call).is_some_and(|it| !it.asks.is_empty())
    }

    /// In the grace turn only `complete_task` is offered.
    pub fn is_grace(&self) -> bool {
        self.turn.grace.is_some()
    }

    /// Nothing can be written, so nothing is begun.
    pub fn is_parked(&self) -> bool {
        self.parked == Some(ParkReason::StorageFull)
    }

    /// The run has its first turn behind it or before it: it is not in a queue to begin.
    pub fn has_begun(&self) -> bool {
        !matches!(self.phase, RunPhase::Queued { .. })
    }

    /// How many runs an agent was called for so far.
    pub fn children(&self, agent: &ToolName) -> u32 {
        self.work.children.get(agent).copied().unwrap_or(0)
    }

    /// Calls that a run answers and that have not ended.
    pub fn open_children(&self) -> Vec<(CallId, RunId)> {
        let executing = self.calls.open().filter(|call| call.state == CallState::Executing);
        executing.filter_map(|call| Some((call.request.call_id.clone(), call.child()?.clone()))).collect()
    }

    pub fn start(&self) -> &RunStarted {
        &self.terms.start
    }

    /// The clock stands still while the run is queued or parked (spec 03, "The loop", 3).
    pub(super) fn is_ticking(&self) -> bool {
        let is_queued = match &self.phase {
            RunPhase::Finished | RunPhase::Queued { .. } => true,
            RunPhase::Thinking { stage, .. } => *stage == TurnStage::Slot,
            RunPhase::Acting | RunPhase::Considering(_) | RunPhase::Stopping { .. } => false,
        };
        !is_queued && self.parked.is_none() && !self.is_waiting
    }

    /// When the time of the run, or of its grace turn, is spent.
    pub(super) fn due_us(&self) -> Option<u64> {
        let limits = self.terms.limits();
        match &self.turn.grace {
            Some(grace) => Some(grace.since_us.saturating_add(limits.grace_ms.saturating_mul(1_000))),
            None => limits.max_time_ms.map(|ms| ms.saturating_mul(1_000)),
        }
    }

    pub(super) fn ask(&self) -> Option<ModelAsk> {
        match &self.phase {
            RunPhase::Thinking { attempt, .. } => Some(ModelAsk {
                turn: self.turn.number,
                attempt: *attempt,
                is_grace: self.turn.grace.is_some(),
            }),
            _ => None,
        }
    }

    pub(super) fn call(&self, call: &CallId) -> Option<&TrackedCall> {
        self.calls.get(call)
    }

    pub(super) fn pending(&self) -> Option<&TrackedCall> {
        self.calls.open().find(|it| it.completion.is_some())
    }
}

impl TrackedCall {
    /// The run that answers it.
    pub(super) fn child(&self) -> Option<&RunId> {
        self.prepared.as_ref().and_then(|it| it.child.as_ref())
    }

    /// True if it puts something out while it runs.
    pub(super) fn streams(&self) -> bool {
        self.prepared.as_ref().is_some_and(|it| it.streams)
    }
}
