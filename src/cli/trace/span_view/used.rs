//! What did a span use, what did that cost, and how sure is it?

use super::{
    super::{money, tokens},
    RunSpanView, SpanView,
};
use crate::sureness::Sureness;
use protocol::Usage;

impl RunSpanView {
    fn sureness(&self) -> Sureness {
        let own = Sureness { estimated: self.estimated_requests, uncounted: self.uncounted_requests };
        own.with(Sureness {
            estimated: self.child_estimated_requests,
            uncounted: self.child_uncounted_requests,
        })
    }
}

impl SpanView {
    /// Tokens and cost; of a run with all that it called, as its time is.
    pub(in super::super) fn spent(&self) -> (String, String) {
        let run = self.run.as_ref();
        let below = run.and_then(|run| run.child_usage);
        let mut all = self.usage.or(below);
        if let (Some(all), Some(_), Some(below)) = (&mut all, self.usage, below) {
            *all += below;
        }
        let costs = [self.cost, run.and_then(|run| run.child_cost)];
        let is_used = |usage: Option<Usage>| usage.is_some_and(|usage| usage.total() != 0);
        let sure = self.sureness();
        let cost = costs.iter().flatten().copied().reduce(|one, more| one + more);
        let cost = cost.filter(|_| is_used(all));
        let is_unpriced = run.is_some_and(|run| run.unpriced_tokens != 0 || run.child_unpriced_tokens != 0);
        let is_part = sure.uncounted != 0
            || is_unpriced
            || is_used(self.usage) && self.cost.is_none()
            || is_used(below) && costs.last().is_none_or(Option::is_none);
        let used = tokens(all).map(|used| Sureness { uncounted: 0, ..sure }.mark(&used, false));
        (used.unwrap_or_default(), money(cost, is_part, sure).unwrap_or_default())
    }

    /// The sureness of its use: of a run with all that it called.
    pub(in super::super) fn sureness(&self) -> Sureness {
        let of_request = self.llm.as_ref().map(|llm| Sureness {
            estimated: u64::from(llm.estimated),
            uncounted: u64::from(llm.usage_unknown),
        });
        let of_run = self.run.as_ref().map(RunSpanView::sureness);
        [of_request, of_run].into_iter().flatten().fold(self.sureness, Sureness::with)
    }
}
