//! What runs use up (spec 04, "Usage and cost").

use std::ops::AddAssign;

use super::{Cost, Usage};

/// Tokens, and what they cost as far as anybody knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub usage: Usage,
    /// Of the tokens whose price is known; `None` = of none.
    pub cost: Option<Cost>,
    /// Tokens whose price nobody told: they may have cost anything.
    pub unpriced_tokens: u64,
}

impl Spent {
    /// By one call of a model; without a cost its price is unknown.
    pub fn of(usage: Usage, cost: Option<Cost>) -> Spent {
        let unpriced_tokens = if cost.is_none() { usage.total() } else { 0 };
        Spent { usage, cost, unpriced_tokens }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.usage += other.usage;
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(more)) => Some(one + more),
            (one, more) => one.or(more),
        };
        self.unpriced_tokens = self.unpriced_tokens.saturating_add(other.unpriced_tokens);
    }
}
