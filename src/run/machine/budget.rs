//! What may a run still spend? Time, tokens and money, which it shares with the runs below it (spec 03, "Subagent calls").

use super::RunMachine;
use crate::protocol::{Cost, RunLimits, Spent};

/// What is left of a run's limits; `None` = unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    pub time_ms: Option<u64>,
    pub tokens: Option<u64>,
    pub cost: Option<Cost>,
}

impl Left {
    /// Whether nothing is left once this is spent, too.
    pub fn is_used_up_by(&self, spent: Spent) -> bool {
        let cost = spent.cost.unwrap_or_default();
        self.tokens.is_some_and(|tokens| tokens <= spent.usage.total())
            || self.cost.is_some_and(|left| left <= cost)
    }
}

impl RunMachine {
    /// What is left of the run's limits. The runs below it live on it (spec 03, "Subagent calls").
    pub fn left(&self) -> Left {
        let RunLimits { max_tokens, max_cost, .. } = *self.terms.limits();
        let spent = self.spent();
        let cost = spent.cost.unwrap_or_default().nanos();
        Left {
            time_ms: self.due_us().map(|due| due.saturating_sub(self.active_us) / 1_000),
            tokens: max_tokens.map(|max| max.saturating_sub(spent.usage.total())),
            cost: max_cost.map(|max| Cost::from_nanos(max.nanos().saturating_sub(cost))),
        }
    }

    /// By the run and all below it, also by those that go on.
    pub fn spent(&self) -> Spent {
        let mut spent = self.spent;
        spent += self.child_spent;
        self.calls.iter().for_each(|call| spent += call.child_spent);
        spent
    }

    /// Whether the tokens or the money that the run may spend are gone.
    pub(super) fn is_budget_spent(&self) -> bool {
        let Left { tokens, cost, .. } = self.left();
        tokens == Some(0) || cost == Some(Cost::ZERO)
    }
}
