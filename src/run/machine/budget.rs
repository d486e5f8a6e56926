//! What may a run still spend? Time, tokens and money, which it shares with the runs below it (spec 03, "Subagent calls").

use std::{collections::BTreeSet, sync::Arc};

use super::{RunFacts, RunMachine, RunPhase};
use protocol::{
    BudgetKind, BudgetLimits, BudgetRaised, BudgetUsed, Confirmation, OnBudget, RunLimits, StopThen,
    UsageTotal, UsdAmount,
};

/// What is left of a run's limits; `None` = unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemainingBudget {
    pub time_ms: Option<u64>,
    pub tokens: Option<u64>,
    pub cost: Option<UsdAmount>,
}

impl RemainingBudget {
    /// True if nothing is left once this is spent, too.
    pub fn is_used_up_by(&self, spent: UsageTotal) -> bool {
        let cost = spent.cost.unwrap_or_default();
        self.tokens.is_some_and(|tokens| tokens <= spent.usage.total())
            || self.cost.is_some_and(|left| left <= cost)
    }
}

/// Everything that a run has spent, and what it may.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct BudgetFacts {
    /// By its own models.
    pub spent: UsageTotal,
    /// By runs below this one that have ended.
    pub child_spent: UsageTotal,
    /// Budgets of which people were told that little is left.
    pub warned: BTreeSet<BudgetKind>,
    /// Limits that people gave the run instead of those that were used up.
    pub raised: BudgetLimits,
    /// What a person is asked about the budget.
    pub question: Option<Arc<Confirmation>>,
}

impl RunMachine {
    /// What a person has to be asked before the run goes on: the limits that are used up, and how far.
    pub fn unasked_budget(&self) -> Option<(BudgetLimits, BudgetUsed)> {
        let is_due =
            self.stopping() == Some(StopThen::Ask) && !self.turn.is_open && self.budget.question.is_none();
        if !is_due {
            return None;
        }
        let (limits, left, spent) = (self.limits(), self.left(), self.spent());
        let limit = BudgetLimits {
            max_tokens: limits.max_tokens.filter(|_| left.tokens == Some(0)),
            max_cost: limits.max_cost.filter(|_| left.cost == Some(UsdAmount::ZERO)),
        };
        // What a run below had used may be known to nobody any more after a restart; a person is asked all the same.
        let limit = match limit == BudgetLimits::default() {
            true => BudgetLimits { max_tokens: limits.max_tokens, max_cost: limits.max_cost },
            false => limit,
        };
        let used = BudgetUsed {
            tokens: spent.usage.total(),
            cost: spent.cost,
            estimated_requests: spent.estimated_requests,
            uncounted_requests: spent.uncounted_requests,
        };
        Some((limit, used))
    }

    /// True if a person is to be asked rather than the run to end, now that its budget is used up.
    pub(super) fn asks_for_budget(&self) -> bool {
        let (limits, left) = (self.limits(), self.left());
        // What is left of another run's budget is that one's to ask for.
        let is_lent = left.tokens == Some(0)
            && limits.inherited.max_tokens.is_some_and(|lent| limits.max_tokens >= Some(lent))
            || left.cost == Some(UsdAmount::ZERO)
                && limits.inherited.max_cost.is_some_and(|lent| limits.max_cost >= Some(lent));
        limits.on_budget == OnBudget::Ask && self.turn.grace.is_none() && !is_lent
    }

    /// What is left of the run's limits. The runs below it live on it (spec 03, "Subagent calls").
    pub fn left(&self) -> RemainingBudget {
        let RunLimits { max_tokens, max_cost, .. } = self.limits();
        let spent = self.spent();
        let cost = spent.cost.unwrap_or_default().nanos();
        RemainingBudget {
            time_ms: self.due_us().map(|due| due.saturating_sub(self.active_us()) / 1_000),
            tokens: max_tokens.map(|max| max.saturating_sub(spent.usage.total())),
            cost: max_cost.map(|max| UsdAmount::from_nanos(max.nanos().saturating_sub(cost))),
        }
    }

    /// By the run and all below it, also by those that go on.
    pub fn spent(&self) -> UsageTotal {
        let mut spent = self.budget.spent;
        spent += self.budget.child_spent;
        // Of those that have ended it is counted for good.
        self.now.children.values().for_each(|child| spent += child.spent);
        spent
    }

    /// True if the tokens or the money that the run may spend are gone.
    pub(super) fn is_budget_spent(&self) -> bool {
        let RemainingBudget { tokens, cost, .. } = self.left();
        tokens == Some(0) || cost == Some(UsdAmount::ZERO)
    }
}

impl RunFacts {
    /// What the run may use: as it was started, and what people gave it since.
    pub fn limits(&self) -> RunLimits {
        let started = *self.terms.limits();
        let BudgetLimits { max_tokens, max_cost } = self.budget.raised;
        RunLimits {
            max_tokens: max_tokens.or(started.max_tokens),
            max_cost: max_cost.or(started.max_cost),
            ..started
        }
    }

    pub(super) fn apply_raised(&mut self, data: &BudgetRaised) {
        let BudgetLimits { max_tokens, max_cost } = data.limits;
        let raised = &mut self.budget.raised;
        raised.max_tokens = max_tokens.or(raised.max_tokens);
        raised.max_cost = max_cost.or(raised.max_cost);
        // Of the new ones people are warned anew.
        let kinds = [(BudgetKind::Tokens, max_tokens.is_some()), (BudgetKind::Cost, max_cost.is_some())];
        self.budget.warned.retain(|warned| !kinds.contains(&(*warned, true)));
        if self.stopping() == Some(StopThen::Ask) {
            self.phase = RunPhase::Acting;
        }
    }
}
