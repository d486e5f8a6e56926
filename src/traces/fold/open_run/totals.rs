//! How sure are the sums of what a run used, and what do the runs below it add?

use protocol::RunSpan;

use super::OpenRun;
use crate::facts::EventFacts;

impl OpenRun {
    /// Counts a request whose use is an estimate, or not known.
    pub(super) fn count_unsure(&mut self, facts: EventFacts<'_>) {
        let run = self.facts();
        run.estimated_requests += u64::from(facts.flag("estimated"));
        run.uncounted_requests += u64::from(facts.flag("usageUnknown"));
    }
}

/// Totals of a run of which its own requests do not tell, once it has ended.
pub(super) fn sum_up(run: &mut RunSpan, facts: EventFacts<'_>) {
    let count = |key: &str| facts.count(key).unwrap_or_default();
    run.child_usage = facts.read("childUsage");
    run.child_cost = facts.read("childCost");
    run.unpriced_tokens = count("unpricedTokens");
    run.child_unpriced_tokens = count("childUnpricedTokens");
    run.child_estimated_requests = count("childEstimatedRequests");
    run.child_uncounted_requests = count("childUncountedRequests");
}
