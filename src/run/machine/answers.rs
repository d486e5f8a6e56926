//! The effects of answers to a run's questions, of a kind for each who asks.

use super::{CallRefusal, HookEffects};
use protocol::{
    BudgetLimits, CallDetails, ConfirmationResolved, ConfirmationRevised, DecidedBy, JudgedCall, Timestamp,
    ToolResult,
};

/// The effect of an answer, once it was checked. Who asked is known by its kind.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "each is in a box of its input")]
pub enum AnswerEffect {
    Call(CallAnswer),
    Budget(BudgetAnswer),
    Tool(ToolAnswer),
}

/// The effect of an answer to the question whether a call may run, or what to answer in its place.
#[derive(Debug, Clone)]
pub enum CallAnswer {
    /// The call runs.
    Run {
        resolved: ConfirmationResolved,
        /// The question as the answer changed it, where it did.
        revised: Option<ConfirmationRevised>,
        details: Box<CallDetails>,
        arguments: serde_json::Value,
        prepared: Box<JudgedCall>,
        /// Everything that they said who were shown a call that a person changed.
        hooks: Box<HookEffects>,
    },
    /// It needs no running: a question was answered, or what was allowed is not possible any more.
    Result { resolved: ConfirmationResolved, result: ToolResult },
    /// It does not run; the model reads why.
    Refuse { resolved: ConfirmationResolved, refusal: CallRefusal, hooks: Box<HookEffects> },
    /// What would happen is not what was shown any more: the question is another one now.
    Revise { revised: ConfirmationRevised, prepared: JudgedCall, hooks: Box<HookEffects> },
    /// The run ends.
    CancelRun { resolved: ConfirmationResolved },
}

impl CallAnswer {
    /// The end of the question by it, where it ends.
    pub fn resolved_mut(&mut self) -> Option<&mut ConfirmationResolved> {
        match self {
            CallAnswer::Run { resolved, .. }
            | CallAnswer::Result { resolved, .. }
            | CallAnswer::Refuse { resolved, .. }
            | CallAnswer::CancelRun { resolved } => Some(resolved),
            CallAnswer::Revise { .. } => None,
        }
    }
}

/// The effect of an answer to the question whether a run may use more than its budget.
#[derive(Debug, Clone)]
pub enum BudgetAnswer {
    /// The run may use more.
    Raise { resolved: ConfirmationResolved, limits: BudgetLimits },
    /// The run may use no more.
    End { resolved: ConfirmationResolved },
    /// The run ends.
    CancelRun { resolved: ConfirmationResolved },
}

/// The effect of an answer to what the tool of a running call asks.
#[derive(Debug, Clone)]
pub enum ToolAnswer {
    /// Whoever asked is told, and the call goes on. `content` is what was made of the answers; it goes to whoever asked, and into no
    /// log.
    Told { resolved: ConfirmationResolved, content: Option<serde_json::Value> },
    /// The run ends.
    CancelRun { resolved: ConfirmationResolved },
}

/// The end of a question that nobody could answer, or whose time is over, whoever asks it. None of it is consent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnansweredEffect {
    /// The call is denied with this message for the model.
    Deny { by: DecidedBy, message: String },
    /// The run ends.
    CancelRun { by: DecidedBy, message: String },
    /// The run ends `UNATTENDED`.
    Fail { message: String },
    /// The run holds no resources until it is answered or unparked.
    Park,
    /// Nothing but another deadline.
    Postpone(Timestamp),
}
