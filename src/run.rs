//! Runs: one agent working on one task until it completes, fails, or is stopped (spec 03).
//!
//! `machine` is pure; `driver` keeps what is in flight equal to what the machine wants; `executor` owns the
//! drivers; `gate` alone decides whether a call may run and mints the permit.

mod completion;
mod driver;
mod executor;
mod gate;
mod machine;
mod plan;
mod think;
mod transcript;

pub use executor::{CancelError, Cancelled, Executor, ExecutorParts, Started};
pub use plan::{PlanError, RunDefaults, RunPlan, RunRequest};
