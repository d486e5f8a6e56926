//! How does a history that has grown too long become a short one? (spec 04, "Compression")
//!
//! The rules of it, one file each: how much a text weighs, where to cut, which old outputs are shortened, what a snapshot
//! is, and what the summariser is asked. Pure: this knows messages, and neither clock nor store nor models; who asks when,
//! and what becomes of the answer, is told elsewhere. All of it takes time that grows with the history's size, not its
//! square.

mod estimate;
mod outputs;
mod request;
mod skills;
mod snapshot;
mod split;
#[cfg(test)]
mod tests;

pub use estimate::{TokenEstimate, TokenEstimator, beginning, weigh, weigh_text, weigh_tools};
pub use outputs::{OUTPUT_BUDGET, OldOutput, old_outputs, with_replaced};
pub use request::{SummaryRequest, check_request, pieces, summary_request, told};
pub use skills::{ActiveSkill, ActiveSkillOrigin, lasting, outdated, retold, surviving, without_outdated};
#[cfg(test)]
pub use snapshot::of_history;
pub use snapshot::{CompactionSummary, opening};
#[cfg(test)]
pub use split::HistorySplit;
pub use split::split;
