//! Runs: one agent working on one task until it completes, fails, or is stopped (spec 03).
//!
//! `machine` is pure; `driver` keeps what is in flight equal to what the machine wants; `executor` owns the
//! drivers; `gate` alone decides whether a call may run and mints the permit.

mod alternates;
mod child;
mod compaction;
mod completion;
mod consult;
mod doors;
mod driver;
mod executor;
mod gate;
mod lanes;
mod loops;
mod machine;
mod modes;
mod nudges;
mod plan;
mod slots;
mod think;
mod transcript;

pub use executor::{
    AnswerError, Answered, AskError, Cancelled, CheckError, CheckRequest, Executor, ExecutorParts, MakeKeyed,
    Promoted, Refit, StartError, StartOptions, Started, Steered, Stranded, Where,
};
pub use gate::said;
pub use machine::Settling;
pub use plan::{CompressionRules, LoopRules, ModelRoles, PlanError, RunDefaults, RunPlan, RunRequest};

/// Runs `work` where blocking harms nobody. A panic goes on in the caller.
async fn unblocked<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // It cannot be cancelled: nobody holds its handle but this.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
