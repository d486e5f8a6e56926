//! What is told to a run's machine.

use std::sync::Arc;

use super::{
    AnswerEffect, CallAnswer, CallRefusal, HookEffects, LateHook, MeteredUsage, ModelAsk, SideCall,
    SideCallReply, ToolSideCall, UnansweredEffect,
};
use protocol::{
    CallDetails, CallId, Compaction, CompletionResult, Confirmation, ConfirmationEdited, ConfirmationId,
    ContextCompressed, ContextMessage, FileChanged, FinishReason, FolderMemory, HookPoint, HookStarted,
    IdeContext, JudgedCall, McpServerTools, NamedModel, ParkReason, RunErrorCode, RunToolsChanged, Timestamp,
    ToolResult, UsageTotal,
};

/// News of memory files of sub-folders in the result of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NearMemoryNews {
    pub told: Option<FolderMemory>,
    pub warnings: Vec<String>,
}

/// What a driver tells its machine.
#[derive(Debug, Clone)]
pub enum MachineInput {
    /// The end of a request to the model, and what hooks said of the request or of the answer; that of an abandoned ask is stale.
    ModelEnded {
        ask: ModelAsk,
        hooks: Box<HookEffects>,
        end: ModelEnd,
    },
    /// A call that a question of the daemon's own took, while the question goes on.
    SideCallReplied {
        side_call: SideCall,
        call: Box<SideCallReply>,
    },
    /// Questions to models of which nobody else tells: whoever asked them is gone, or goes with what the run does next.
    GivenUp {
        asked: Vec<ToolSideCall>,
    },
    /// What a question of the daemon's own came to, and the calls of models that it took, but those that were told before.
    SideCallEnded {
        side_call: SideCall,
        calls: Vec<SideCallReply>,
        advice: Box<SideCallResult>,
    },
    /// A hook of the run has been at work for a while. Decides nothing.
    HookAtWork(HookStarted),
    /// Asynchronous hooks of the run have ended.
    HooksEnded {
        late: Vec<LateHook>,
    },
    /// The back-off before `ask` is over.
    BackoffOver {
        ask: ModelAsk,
    },
    /// Judgements of the turn's calls, in the order in which they were asked, and what hooks said before.
    Judged {
        call: CallId,
        judgement: CallJudgement,
        hooks: Box<HookEffects>,
    },
    /// Hooks had their say on what a call asks a person, or on the answer.
    HooksAsked {
        /// Names the answer that is given when that is committed.
        question: String,
        hooks: Box<HookEffects>,
    },
    /// Answers of hooks at a point that the run has come to; nothing where there are none.
    Hooked {
        point: HookPoint,
        hooks: Box<HookEffects>,
    },
    ToolFinished {
        call: CallId,
        result: ToolResult,
        /// What it asked models.
        asked: Vec<ToolSideCall>,
        /// News of memory files in the result.
        near: NearMemoryNews,
    },
    /// The editor of the person who asks shows something else, and the model is told of it.
    EditorChanged {
        text: String,
        whole: bool,
        now: Arc<IdeContext>,
    },
    /// The tool of a call that runs asks a person.
    ToolAsks {
        call: CallId,
        question: Box<Confirmation>,
    },
    /// Whoever asked at a call that runs does not wait for the answer any more.
    ToolStopsAsking {
        confirmation: ConfirmationId,
    },
    /// The client that answers a call has done so.
    ClientAnswered {
        call: CallId,
        result: ToolResult,
        by: Option<String>,
    },
    /// The client that answers a call was away, or the daemon: it is told again.
    ClientBack {
        call: CallId,
    },
    /// The run that answers a call has ended; `spent` is all that it and the runs below it used, `output` what the
    /// call was shown to put out.
    ChildSettled {
        call: CallId,
        result: ToolResult,
        spent: UsageTotal,
        output: Option<String>,
    },
    /// What the run that answers a call and those below it used so far. No fact of this run: it is told anew after a
    /// restart.
    ChildSpent {
        call: CallId,
        spent: UsageTotal,
    },
    /// Whether the run that answers a call does nothing but wait for a person. No fact of this run: it is told anew
    /// after a restart.
    ChildWaits {
        call: CallId,
        waits: bool,
    },
    /// Servers tell of other tools than the run has: from the next model call on it has these.
    Served {
        told: RunToolsChanged,
        served: Vec<McpServerTools>,
    },
    /// The question whether a run that has used up its budget may use more.
    AskBudget {
        question: Box<Confirmation>,
    },
    /// A person's valid edit of a call, about which hooks are to be asked before anything comes of it.
    Edited(Box<ConfirmationEdited>),
    /// Nothing comes of an edit about which hooks were asked, or were to be: the question with this digest stays open, and its reason
    /// says why.
    EditDropped {
        confirmation: ConfirmationId,
        digest: String,
        why: String,
        /// Everything that they said of it who were asked.
        hooks: Box<HookEffects>,
    },
    /// What a checked answer to the question with this digest comes to.
    Settled {
        confirmation: ConfirmationId,
        digest: String,
        settled: Box<AnswerEffect>,
        by: Option<String>,
    },
    /// What becomes of a question that nobody answers.
    Settle {
        confirmation: ConfirmationId,
        how: UnansweredEffect,
    },
    /// A person lets a parked run go on.
    Unpark {
        by: Option<String>,
    },
    /// No other run holds the context any more.
    ContextFree,
    /// The slot that the run waited for is its own; the driver has said so before ([`RunMachine::hold_slot`]).
    SlotTaken,
    /// It goes before all others that wait for the context.
    Promoted {
        by: Option<String>,
    },
    /// Taken out of the queue in which it waits to begin.
    Removed {
        by: Option<String>,
    },
    /// Somebody says something to the run.
    Steer {
        id: String,
        text: String,
        by: Option<String>,
    },
    /// Nothing can be written: nothing is begun until [`MachineInput::Unparked`].
    Park {
        reason: ParkReason,
    },
    Unparked,
    /// The time that [`Want::Timer`] named has been spent.
    TimeSpent {
        partial: Option<PartialReply>,
    },
    Cancel {
        by: Option<String>,
        reason: Option<String>,
        partial: Option<PartialReply>,
    },
    /// First input after the log was folded by a new process.
    Restarted {
        unclean: bool,
        /// Milliseconds without a daemon, at most, where somebody knows.
        away_ms: Option<u64>,
        now: Timestamp,
        /// What is known of calls that were cut off.
        known: Vec<InterruptedCall>,
    },
    /// What the run needs is no longer there, so it cannot go on after a restart.
    Unresumable {
        code: RunErrorCode,
        message: String,
        now: Timestamp,
    },
    /// The driver itself failed; `id` is in the daemon's log.
    Panicked {
        id: String,
        now: Timestamp,
    },
}

impl MachineInput {
    /// True if whoever asked models this hands it over here.
    pub fn hands_over(&self, asked: &ToolSideCall) -> bool {
        match self {
            MachineInput::SideCallReplied { side_call, call } => {
                side_call.about == asked.purpose && **call == asked.call
            }
            MachineInput::SideCallEnded { side_call, calls, .. } => {
                side_call.about == asked.purpose && calls.contains(&asked.call)
            }
            MachineInput::ToolFinished { asked: handed, .. } => handed.contains(asked),
            MachineInput::ModelEnded { hooks, .. }
            | MachineInput::Judged { hooks, .. }
            | MachineInput::HooksAsked { hooks, .. }
            | MachineInput::Hooked { hooks, .. }
            | MachineInput::EditDropped { hooks, .. } => hooks.asked.contains(asked),
            MachineInput::Settled { settled, .. } => match &**settled {
                AnswerEffect::Call(
                    CallAnswer::Run { hooks, .. }
                    | CallAnswer::Refuse { hooks, .. }
                    | CallAnswer::Revise { hooks, .. },
                ) => hooks.asked.contains(asked),
                _ => false,
            },
            _ => false,
        }
    }

    /// Bytes of a call's result as the log has it; 0 for what carries none.
    pub fn result_bytes(&self) -> usize {
        let (MachineInput::ToolFinished { result, .. }
        | MachineInput::ClientAnswered { result, .. }
        | MachineInput::ChildSettled { result, .. }) = self
        else {
            return 0;
        };
        let mut counted = ByteCounter(0);
        // Counting cannot fail, and neither can what is written as JSON anyway.
        let _infallible = serde_json::to_writer(&mut counted, result);
        counted.0
    }
}

/// Counts what is written to it.
struct ByteCounter(usize);

impl std::io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The way in which a request to the model ended.
#[derive(Debug, Clone)]
pub enum ModelEnd {
    Responded(CompleteReply),
    Failed(ModelFailure),
    /// The model says the same again and again; it was cut off.
    Babbled {
        partial: PartialReply,
        /// What it says.
        chunk: String,
    },
}

/// A whole reply, with calls under ids of ours.
#[derive(Debug, Clone)]
pub struct CompleteReply {
    pub model: String,
    pub message: ContextMessage,
    pub metered: MeteredUsage,
    pub finish: FinishReason,
}

/// What a question of the daemon's own came to.
#[derive(Debug, Clone)]
pub enum SideCallResult {
    Compressed(CompressionResult),
    /// How sure the model is that the run goes round in circles, 0 to 1, and why.
    Loop {
        confidence: f64,
        reason: String,
    },
    NextSpeaker(NextSpeaker),
    Routed(RoutedModel),
    /// There is no answer; everything goes on as if nobody had asked.
    Nothing {
        message: String,
    },
}

/// What became of a context that was to be compressed.
#[derive(Debug, Clone)]
pub struct CompressionResult {
    pub told: ContextCompressed,
    /// Set where something came of it.
    pub compaction: Option<Compaction>,
}

/// Who should speak next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextSpeaker {
    User,
    Model,
}

/// Which of its two models a run gets, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutedModel {
    pub model: NamedModel,
    pub reason: String,
}

/// The reason why there is no reply. `now` and `jitter` (0..1) are for the back-off.
#[derive(Debug, Clone)]
pub struct ModelFailure {
    pub message: String,
    pub kind: FailureKind,
    /// What had been shown of the failed attempt.
    pub partial: PartialReply,
    pub now: Timestamp,
    pub jitter: f64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    Passing {
        retry_after_ms: Option<u64>,
    },
    /// A reply that is cut, empty or malformed.
    Unusable,
    /// The request is longer than the model's window.
    TooLong,
    Final(RunErrorCode),
}

/// What had been written when the model failed, or a stop cut it off.
#[derive(Debug, Clone, Default)]
pub struct PartialReply {
    pub text: String,
    pub thought: String,
    /// As far as the provider said it, and estimated beyond that if anything had come; else nobody knows, and nothing is counted.
    pub metered: MeteredUsage,
}

impl PartialReply {
    /// True if somebody may have read some of it.
    pub fn was_shown(&self) -> bool {
        !self.text.is_empty() || !self.thought.is_empty()
    }

    pub fn spent(&self) -> UsageTotal {
        let MeteredUsage { usage, cost, is_estimate, is_unknown, .. } = self.metered;
        UsageTotal::of(usage, cost).marked(is_estimate, is_unknown)
    }
}

/// What the gate found out about a call.
#[derive(Debug, Clone)]
pub enum CallJudgement {
    /// It may run.
    Run { details: CallDetails, arguments: serde_json::Value, prepared: JudgedCall },
    /// A valid `complete_task`.
    Complete { result: CompletionResult },
    /// A person has to be asked.
    Ask {
        details: CallDetails,
        arguments: serde_json::Value,
        prepared: JudgedCall,
        confirmation: Box<Confirmation>,
    },
    /// It may not, or cannot; the model reads why.
    Refuse(CallRefusal),
}

/// What is known of a call that was running when the daemon died (spec 11, promise 4).
#[derive(Debug, Clone, PartialEq)]
pub struct InterruptedCall {
    pub call: CallId,
    /// Files that it had changed.
    pub changed: Vec<FileChanged>,
    /// For the model.
    pub told: String,
}
