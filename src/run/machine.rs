//! The run as a pure state machine. No I/O, no async, no clock: time and randomness arrive inside inputs.
//!
//! Three functions, three questions:
//! - [`RunMachine::decide`]: given this input, what happened? Events, each applied as it is decided.
//! - [`RunMachine::apply`]: given this event, where are we? The only mutation.
//! - [`RunMachine::wants`]: being here, what should be in flight?
//!
//! Wants follow from state, not from transitions, so a machine folded from the log after a crash wants what
//! the living one wanted. Recovery is therefore the ordinary code path plus one input.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use protocol::{
    CallHooks, CallId, CallState, CompletionResult, Confirmation, ConfirmationId, EventBody, HookPoint,
    JudgedCall, OnDisconnect, ParkReason, PrivateEventFields, QueuedFor, ReplaySafety, RunEndReason,
    RunError, RunId, RunLimits, RunStarted, SideCallPurpose, StopThen, SubagentActivity, Timestamp, ToolCall,
    ToolName, UsageTotal,
};

mod apply;
mod budget;
mod cut;
mod decide;
mod edits;
mod hook_effects;
mod hooks;
mod input;
mod metered_usage;
mod safeguards;
mod side_call;
mod slot;
mod turn_calls;
mod wants;

pub use decide::StartMode;
pub use edits::LoggedEdit;
pub use hook_effects::{HookEffects, HookRefusal, LateHook};
pub use input::{
    AnswerEffect, CallJudgement, CallRefusal, CompleteReply, CompressionResult, FailureKind, InterruptedCall,
    MachineInput, ModelFailure, NearMemoryNews, NextSpeaker, PartialReply, RoutedModel, SideCallResult,
    UnansweredEffect,
};

pub use budget::RemainingBudget;
use hooks::{CallEnd, HookProgress};
pub use hooks::{EndedCall, HookMadeCall};
pub use metered_usage::MeteredUsage;
pub use safeguards::ContextState;
use safeguards::SafeguardState;
pub use side_call::{AskingHook, SideCallReply, ToolSideCall};
use turn_calls::TurnCalls;

/// Something that should be in flight. The key of the driver's reconciliation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WantedTask {
    /// The model's answer.
    Model(ModelAsk),
    /// A model's answer to a question of the daemon's own.
    SideCall(SideCall),
    /// Nothing, until a failed model may be asked again.
    Backoff { ask: ModelAsk, not_before: Timestamp },
    /// A judgement of every call that waits for one.
    Judge { first: CallId },
    /// The outcome of a call as a person changed it, of hooks.
    Edit { call: CallId },
    /// The tool, running.
    Tool { call: CallId },
    /// The end of the run that answers a call.
    Child { call: CallId, run: RunId },
    /// The same, after it was told to stop.
    EndChild { call: CallId, run: RunId },
    /// The context, once the runs before this one have left it.
    Context,
    /// One of the slots that runs at work share.
    Slot,
    /// The tool's end: it is told to stop, and dropped when it does not.
    End { call: CallId },
    /// The outcome of hooks say at a point that the run has.
    Hooks(HookPoint),
    /// To be told when active time reaches this many microseconds.
    Timer { due_us: u64 },
}

/// Identifies one request to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelAsk {
    pub turn: u32,
    /// 1-based within the turn; counts restarts too, so that every stream has a name of its own.
    pub attempt: u32,
    /// Only `complete_task` is offered.
    pub is_grace: bool,
}

impl ModelAsk {
    /// The name of the text's stream in deltas.
    pub fn stream(self, run: &RunId) -> String {
        format!("{run}#{}.{}", self.turn, self.attempt)
    }
}

/// One question of the daemon's own, beside the turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SideCall {
    /// 1-based within the run.
    pub n: u32,
    pub about: SideCallPurpose,
    /// Of a compression: as `sideCall.started` says.
    pub forced: bool,
    pub outputs_only: bool,
}

/// An event as the machine decides it; the driver adds who and when.
#[derive(Debug, Clone)]
pub struct EventDraft {
    pub body: EventBody,
    pub private: PrivateEventFields,
    pub activity: Option<SubagentActivity>,
    pub by: Option<String>,
}

/// What the machine needs to know of its run and never changes.
#[derive(Debug, Clone, PartialEq)]
pub struct RunConstants {
    pub run: RunId,
    /// As `run.started` says it, also before it has been said.
    pub start: RunStarted,
}

impl RunConstants {
    pub fn limits(&self) -> &RunLimits {
        &self.start.limits
    }
}

/// Who asks a question.
#[derive(Debug, Clone, Copy)]
pub enum ConfirmationAsker<'a> {
    /// The run itself, for more of its budget.
    Run,
    /// A call, whether it may run, or what to answer in its place.
    Call(&'a Arc<ToolCall>),
    /// The tool of a call that runs.
    Tool,
}

/// Where a run stands. Cloned for every step as a draft, so everything long is shared.
#[derive(Debug, Clone, PartialEq)]
pub struct RunMachine {
    terms: Arc<RunConstants>,
    phase: RunPhase,
    /// Its first event, which carries everything, has happened.
    is_logged: bool,
    parked: Option<ParkReason>,
    /// Every open call waits for a person, directly or through a run it called.
    is_waiting: bool,
    /// True if it may ask models and run tools now. No fact: a new process holds no slots.
    has_slot: bool,
    /// The daemon is closing, and no model is asked any more. No fact, either.
    is_closing: bool,
    /// 1-based; 0 before the first.
    turn: u32,
    /// Between `turn.started` and `turn.completed`.
    turn_is_open: bool,
    /// The limit that was hit; set in the grace turn.
    grace: Option<GraceTurn>,
    /// Of the current turn, in the order in which the model asked.
    calls: TurnCalls,
    /// Messages that the model has not got yet, in the order in which they came.
    steers: Vec<SteeringMessage>,
    /// How many runs each agent was called for.
    children: Arc<BTreeMap<ToolName, u32>>,
    /// Microseconds.
    active_us: u64,
    /// By its own models.
    spent: UsageTotal,
    /// By runs below this one that have ended.
    child_spent: UsageTotal,
    tool_calls: u32,
    /// Paths that calls changed, each once, in that order.
    files_changed: Arc<Vec<String>>,
    /// Replies that are over so far, whole ones and babble that was cut: the ordinal of the next one.
    replies: u32,
    last_text: Arc<str>,
    /// The last reply was cut by the output limit and the model was told to go on.
    was_continued: bool,
    /// What that reply said, and those before it that were cut.
    cut_text: Arc<str>,
    /// Restarts after unclean stops, since the run last got further.
    idle_resumes: u32,
    /// The model that is asked.
    model: Arc<str>,
    /// Tokens that fit it.
    window: Option<u64>,
    safeguards: SafeguardState,
    hooks: HookProgress,
}

#[derive(Debug, Clone, PartialEq)]
struct SteeringMessage {
    id: Arc<str>,
    text: Arc<str>,
    /// Hooks have had their say on it, or there are none.
    is_cleared: bool,
    /// Everything that they have to say beside it.
    context: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq)]
enum RunPhase {
    /// Not begun.
    Queued {
        waits_for: QueuedFor,
    },
    Thinking {
        attempt: u32,
        failures: u32,
        stage: TurnStage,
    },
    Acting,
    /// The model has spoken, and it is asked whether it has said all.
    Considering(SideCall),
    Stopping {
        reason: RunEndReason,
        then: StopThen,
        error: Option<RunError>,
        message: String,
    },
    Finished,
}

#[derive(Debug, Clone, PartialEq)]
enum TurnStage {
    /// Between `turn.started` or `model.retrying` and `model.started`.
    Waiting {
        not_before: Timestamp,
    },
    /// The model can be asked as soon as there is a slot.
    Slot,
    Asking,
    /// Something comes before the model is asked.
    SideCall(SideCall),
}

#[derive(Debug, Clone, PartialEq)]
struct GraceTurn {
    reason: RunEndReason,
    /// Active time when the grace turn began.
    since_us: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct TrackedCall {
    /// The call as hooks and people left it so far.
    request: Arc<ToolCall>,
    /// The same as it was asked for, where that differs.
    asked_for: Option<Arc<ToolCall>>,
    state: CallState,
    /// Set from `scheduled` on.
    prepared: Option<Arc<JudgedCall>>,
    /// Set on the `complete_task` that ends the run.
    completion: Option<Arc<CompletionResult>>,
    /// What a person is asked about it.
    question: Option<Arc<Confirmation>>,
    /// The edit of a person about which hooks are asked.
    edit: Option<Arc<LoggedEdit>>,
    /// Counts the edits of people about which hooks were asked.
    edits: u32,
    /// The reason of its question without that of edits of which nothing came.
    reason_before: Option<Arc<str>>,
    /// What its tool asks people while it runs, oldest first.
    asks: Vec<Arc<Confirmation>>,
    /// An earlier call was in its way when it was scheduled. What was found out about it may not hold any more, so it is
    /// judged again before it runs.
    is_held_up: bool,
    /// What the model is told with the result.
    note: Option<Arc<str>>,
    /// A person or a hook changed it after it was asked: its arguments are not those that the log told last.
    is_changed_again: bool,
    /// Only of a call that a hook made, the one in whose place the model reads what came of it.
    follows: Option<CallId>,
    /// The hook that made it, by its id.
    wanted_by: Option<Arc<str>>,
    /// The way in which it ended, for hooks.
    end: Option<Arc<CallEnd>>,
    /// Active time when it began to execute, in microseconds.
    began_us: u64,
    /// Restarts of the daemon in which its hooks may have been asked, and said nothing that was written down.
    restarts: u32,
    /// True if the run that answers it only waits for a person; `None` = not known to this process. No fact.
    child_waits: Option<bool>,
    /// By the run that answers it and those below, while it goes on. No fact.
    child_spent: UsageTotal,
}

impl RunMachine {
    pub fn is_finished(&self) -> bool {
        self.phase == RunPhase::Finished
    }

    /// The current turn, 1-based.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    pub fn active_us(&self) -> u64 {
        self.active_us
    }

    /// How many replies the run has had that it does not ask for again.
    pub fn replies(&self) -> u32 {
        self.replies
    }

    /// Adds active time; the driver measures it with a monotonic clock. The clock of a run stands still
    /// once it has finished.
    pub fn charge(&mut self, elapsed_us: u64) {
        if self.is_ticking() {
            self.active_us = self.active_us.saturating_add(elapsed_us);
        }
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
    pub fn asking(
        &self,
        confirmation: &ConfirmationId,
    ) -> Option<(ConfirmationAsker<'_>, &Arc<Confirmation>)> {
        let is_this = |it: &&Arc<Confirmation>| it.confirmation_id == *confirmation;
        if let Some(question) = self.safeguards.question.as_ref().filter(is_this) {
            return Some((ConfirmationAsker::Run, question));
        }
        self.calls.open().find_map(|call| match call.state {
            CallState::AwaitingApproval => {
                let question = call.question.as_ref().filter(is_this)?;
                Some((ConfirmationAsker::Call(&call.request), question))
            }
            _ => Some((ConfirmationAsker::Tool, call.asks.iter().find(is_this)?)),
        })
    }

    /// True if all that the call's tool is known to do is wait for a person.
    pub fn only_asks(&self, call: &CallId) -> bool {
        self.call(call).is_some_and(|it| !it.asks.is_empty())
    }

    /// In the grace turn only `complete_task` is offered.
    pub fn is_grace(&self) -> bool {
        self.grace.is_some()
    }

    /// Nothing can be written, so nothing is begun.
    pub fn is_parked(&self) -> bool {
        self.parked == Some(ParkReason::StorageFull)
    }

    /// From now on no model is asked: that is left to the next process.
    pub fn close(&mut self) {
        self.is_closing = true;
    }

    /// The run has its first turn behind it or before it: it is not in a queue to begin.
    pub fn has_begun(&self) -> bool {
        !matches!(self.phase, RunPhase::Queued { .. })
    }

    /// How many runs an agent was called for so far.
    pub fn children(&self, agent: &ToolName) -> u32 {
        self.children.get(agent).copied().unwrap_or(0)
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
    fn is_ticking(&self) -> bool {
        let is_queued = match &self.phase {
            RunPhase::Finished | RunPhase::Queued { .. } => true,
            RunPhase::Thinking { stage, .. } => *stage == TurnStage::Slot,
            RunPhase::Acting | RunPhase::Considering(_) | RunPhase::Stopping { .. } => false,
        };
        !is_queued && self.parked.is_none() && !self.is_waiting
    }

    fn is_time_spent(&self) -> bool {
        self.due_us().is_some_and(|due| due <= self.active_us)
    }

    /// When the time of the run, or of its grace turn, is spent.
    fn due_us(&self) -> Option<u64> {
        let limits = self.terms.limits();
        match &self.grace {
            Some(grace) => Some(grace.since_us.saturating_add(limits.grace_ms.saturating_mul(1_000))),
            None => limits.max_time_ms.map(|ms| ms.saturating_mul(1_000)),
        }
    }

    fn ask(&self) -> Option<ModelAsk> {
        match &self.phase {
            RunPhase::Thinking { attempt, .. } => {
                Some(ModelAsk { turn: self.turn, attempt: *attempt, is_grace: self.grace.is_some() })
            }
            _ => None,
        }
    }

    fn call(&self, call: &CallId) -> Option<&TrackedCall> {
        self.calls.get(call)
    }

    fn pending(&self) -> Option<&TrackedCall> {
        self.calls.open().find(|it| it.completion.is_some())
    }
}

impl TrackedCall {
    /// The run that answers it.
    fn child(&self) -> Option<&RunId> {
        self.prepared.as_ref().and_then(|it| it.child.as_ref())
    }

    /// True if it puts something out while it runs.
    fn streams(&self) -> bool {
        self.prepared.as_ref().is_some_and(|it| it.streams)
    }
}

/// Sorted, so that the driver begins them in one order.
pub type WantedTasks = BTreeSet<WantedTask>;

#[cfg(test)]
mod tests;
