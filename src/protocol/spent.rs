//! What runs use up (spec 04, "Usage and cost").

use std::ops::AddAssign;

use super::{Usage, UsdAmount};

/// Tokens, and what they cost as far as anybody knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageTotal {
    pub usage: Usage,
    /// Of the tokens whose price is known; `None` = of none.
    pub cost: Option<UsdAmount>,
    /// Tokens whose price nobody told: they may have cost anything.
    pub unpriced_tokens: u64,
    /// Requests of which the daemon estimated the tokens, or some of them.
    pub estimated_requests: u64,
    /// Requests that were made, and of which nobody knows what they used: they may have cost something.
    pub uncounted_requests: u64,
}

impl UsageTotal {
    /// By one call of a model; without a cost its price is unknown.
    pub fn of(usage: Usage, cost: Option<UsdAmount>) -> UsageTotal {
        let unpriced_tokens = if cost.is_none() { usage.total() } else { 0 };
        UsageTotal { usage, cost, unpriced_tokens, ..UsageTotal::default() }
    }

    /// The same of one whose tokens are an estimate, or were not counted at all.
    pub fn marked(self, is_estimate: bool, is_unknown: bool) -> UsageTotal {
        UsageTotal {
            estimated_requests: u64::from(is_estimate),
            uncounted_requests: u64::from(is_unknown),
            ..self
        }
    }
}

impl AddAssign for UsageTotal {
    fn add_assign(&mut self, other: UsageTotal) {
        self.usage += other.usage;
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(more)) => Some(one + more),
            (one, more) => one.or(more),
        };
        self.unpriced_tokens = self.unpriced_tokens.saturating_add(other.unpriced_tokens);
        self.estimated_requests = self.estimated_requests.saturating_add(other.estimated_requests);
        self.uncounted_requests = self.uncounted_requests.saturating_add(other.uncounted_requests);
    }
}
