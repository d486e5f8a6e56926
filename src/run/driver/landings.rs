//! What tasks of a run come back with.

use tokio::sync::oneshot;

use super::{
    super::{
        gate::GateJudgement,
        hooks::ElicitationAdvice,
        machine::{HookEffects, MachineInput},
        slots::RunSlot,
        think::ModelCallResult,
        transcript::ContextTranscript,
    },
    answers,
};
use protocol::{CallId, RunId};
use tools::{ElicitationOutcome, PendingToolElicitation};

/// The thing that a task came back with.
pub(super) enum TaskOutput {
    Input(MachineInput),
    Thought(ModelCallResult),
    Judged(Vec<(CallId, GateJudgement)>),
    Checked(Box<answers::CheckedAnswer>),
    /// The run was to be stopped and has come to rest: it is stopped after the next start.
    ChildAtRest(RunId),
    /// Hooks had their say on what an MCP server asks, unless nobody waits for that any more.
    ElicitationHooked(Box<PendingToolElicitation>, Option<Box<ElicitationAdvice>>),
    /// The same on what a person answered it.
    ElicitationAnswered(Box<HookEffects>, oneshot::Sender<ElicitationOutcome>, ElicitationOutcome),
    /// The context is the run's own; this is what is in it.
    Context(ContextTranscript),
    /// With what is in the context, for a run that has not begun.
    Slot(RunSlot, Option<ContextTranscript>),
}
