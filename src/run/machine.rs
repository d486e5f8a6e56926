//! The run as a pure state machine. No I/O, no async, no clock: time and randomness arrive inside inputs.
//!
//! Three functions, three questions:
//! - [`RunMachine::decide`]: given this input, what happened? Events, each applied as it is decided.
//! - [`RunMachine::apply`]: given this event, where are we? The only way in which facts change.
//! - [`RunMachine::wants`]: being here, what should be in flight?
//!
//! Wants follow from state, not from transitions, so a machine folded from the log after a crash wants what
//! the living one wanted. Recovery is therefore the ordinary code path plus one input.
//!
//! The state has two halves. [`RunFacts`] are what the log says, and by their type nothing but events changes them, so a fold gives
//! the same ones. [`RunCircumstances`] are what this process knows beside the log: the next one finds them out anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    sync::Arc,
};

use protocol::{
    CallId, CallState, CompletionResult, Confirmation, EventBody, HookEventName, HookPoint, JudgedCall,
    ParkReason, PrivateEventFields, QueuedFor, RunEndReason, RunError, RunId, RunLimits, RunStarted,
    SideCallPurpose, StopThen, SubagentActivity, Timestamp, ToolCall, ToolName,
};

mod answers;
mod apply;
mod budget;
mod circumstances;
mod cut;
mod decide;
mod edits;
mod facts;
mod hook_effects;
mod hook_watch;
mod hooks;
mod input;
mod metered_usage;
mod refusal;
mod safeguards;
mod side_call;
mod slot;
mod standing;
mod turn_calls;
mod wants;

pub use answers::{AnswerEffect, BudgetAnswer, CallAnswer, ToolAnswer, UnansweredEffect};
pub use decide::StartMode;
pub use edits::LoggedEdit;
pub use hook_effects::{HookEffects, HookRefusal, LateHook};
pub use input::{
    CallJudgement, CompleteReply, CompressionResult, FailureKind, InterruptedCall, MachineInput, ModelEnd,
    ModelFailure, NearMemoryNews, NextSpeaker, PartialReply, RoutedModel, SideCallResult,
};

use budget::BudgetFacts;
pub use budget::RemainingBudget;
use circumstances::RunCircumstances;
use facts::LoggedFacts;
use hooks::HookProgress;
pub use hooks::{EndedCall, HookMadeCall};
pub use metered_usage::MeteredUsage;
pub use refusal::CallRefusal;
pub use safeguards::ContextState;
use safeguards::{ContextFacts, LoopFacts, ModelFacts, SideCallFacts};
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
#[derive(Debug, Clone)]
pub enum ConfirmationAsker {
    /// The run itself, for more of its budget.
    Run,
    /// A call, whether it may run, or what to answer in its place.
    Call(Arc<ToolCall>),
    /// The tool of a call that runs.
    Tool,
}

/// Where a run stands, and what this process knows beside that. Cloned for every step as a draft, so everything long is shared.
#[derive(Debug, Clone, PartialEq)]
pub struct RunMachine {
    facts: LoggedFacts,
    now: RunCircumstances,
}

/// Its facts are read through it, and only read.
impl Deref for RunMachine {
    type Target = RunFacts;

    fn deref(&self) -> &RunFacts {
        &self.facts
    }
}

/// Everything that the log says of a run: its events make it, and nothing else does ([`LoggedFacts`]). A new process has it from the log.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    terms: Arc<RunConstants>,
    phase: RunPhase,
    /// Its first event, which carries everything, has happened.
    is_logged: bool,
    parked: Option<ParkReason>,
    /// Every open call waits for a person, directly or through a run it called.
    is_waiting: bool,
    /// Restarts after unclean stops, since the run last got further.
    idle_resumes: u32,
    /// Microseconds, when the last event happened.
    active_us: u64,
    turn: TurnFacts,
    /// Of the current turn, in the order in which the model asked.
    calls: TurnCalls,
    /// Messages that the model has not got yet, in the order in which they came.
    steers: Vec<SteeringMessage>,
    work: WorkFacts,
    budget: BudgetFacts,
    model: ModelFacts,
    context: ContextFacts,
    side_calls: SideCallFacts,
    loops: LoopFacts,
    hooks: HookProgress,
}

/// The turns of a run, and what the model said in them.
#[derive(Debug, Clone, PartialEq)]
struct TurnFacts {
    /// 1-based; 0 before the first.
    number: u32,
    /// Between `turn.started` and `turn.completed`.
    is_open: bool,
    /// The limit that was hit; set in the grace turn.
    grace: Option<GraceTurn>,
    /// Replies that are over so far, whole ones and babble that was cut: the ordinal of the next one.
    replies: u32,
    last_text: Arc<str>,
    /// The last reply was cut by the output limit and the model was told to go on.
    was_continued: bool,
    /// What that reply said, and those before it that were cut.
    cut_text: Arc<str>,
}

/// The work that a run's calls have done.
#[derive(Debug, Clone, Default, PartialEq)]
struct WorkFacts {
    tool_calls: u32,
    /// How many runs each agent was called for.
    children: Arc<BTreeMap<ToolName, u32>>,
    /// Paths that calls changed, each once, in that order.
    files_changed: Arc<Vec<String>>,
}

/// A message to the run that the model has not got yet.
#[derive(Debug, Clone, PartialEq)]
struct SteeringMessage {
    id: Arc<str>,
    text: Arc<str>,
    /// Hooks have had their say on it.
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
    /// The event for hooks by which it ended; `None` = it has not, or no hook is asked when a call ends so.
    end: Option<HookEventName>,
    /// Active time when it began to execute, in microseconds.
    began_us: u64,
    /// Restarts of the daemon in which its hooks may have been asked, and said nothing that was written down.
    restarts: u32,
}

/// Sorted, so that the driver begins them in one order.
pub type WantedTasks = BTreeSet<WantedTask>;

#[cfg(test)]
mod tests;
