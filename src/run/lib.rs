//! Runs: one agent working on one task until it completes, fails, or is stopped (spec 03).
//!
//! `machine` is pure; `driver` keeps what is in flight equal to what the machine wants; `executor` owns the
//! drivers; `gate` alone decides whether a call may run and mints the permit.

mod alternates;
mod aside;
mod child;
mod compaction;
mod completion;
mod doors;
mod driver;
mod editors;
mod equipment;
mod executor;
mod gate;
mod hooks;
mod lanes;
mod live_runs;
mod loops;
mod machine;
mod meter;
mod modes;
mod near_memory;
mod nudges;
mod plan;
mod resources;
mod shared_state;
mod side_calls;
mod slots;
mod think;
mod transcript;
mod wire_errors;

pub use child::agent_parameters;
pub use editors::{EditorContexts, TooManyEditors};
pub use executor::{
    AnswerError, AnswerOutcome, CancelOutcome, CheckError, CheckRequest, CheckedCall, ExecutorParts,
    MakeKeyed, NamedInVain, PromoteOutcome, PromptQuery, RenderedPrompt, ResourceUpdate, ResumeError,
    RunExecutor, SessionChoice, StartError, StartOptions, StartOutcome, SteerOutcome,
};
pub use gate::said;
pub use hooks::{HookConfiguration, HooksInForce};
pub use live_runs::RunRequestError;
pub use machine::UnansweredEffect;
pub use plan::{MEMORY_BELOW, PlanError, PromptExtent, RunPlan, RunRequest, SkillProblem};
pub use resources::{CompressionRules, LoopRules, ModelRoles, PromptRules, RunDefaults};

/// Runs `work` where blocking harms nobody. A panic goes on in the caller.
async fn unblocked<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // It cannot be cancelled: nobody holds its handle but this.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// The items of long work, each of which takes a moment. Before the next one, whoever else waits for this processor has it.
///
/// Perf: a thread that computes keeps its processor for a time slice of some milliseconds, in which a turn of another run
/// would have been over.
fn unhurried<I: IntoIterator>(items: I) -> impl Iterator<Item = I::Item> {
    items.into_iter().inspect(|_| std::thread::yield_now())
}
