//! Which limits does a run get, and how are its questions put: the request's word, else the agent's, else the settings'.

use protocol::{
    AgentLimits, ApprovalParams, BudgetLimits, ClientId, CompletionMode, LimitsParams, OnDetached,
    RunApproval, RunLimits, default_max_depth,
};

/// Turns of a run (spec 02, `run.maxTurns`).
const MAX_TURNS: u32 = 30;
/// Turns of a conversational root run (spec 02).
const MAX_TURNS_CONVERSATION: u32 = 100;
/// Active time of a run (spec 02, `run.maxTimeMinutes`); conversational root runs have no limit.
const MAX_TIME_MS: u64 = 10 * 60 * 1_000;
/// Time of the grace turn (spec 02, `run.graceSeconds`).
const GRACE_MS: u64 = 60 * 1_000;

pub(super) fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

pub(super) fn resolve_limits(
    asked: &LimitsParams,
    own: AgentLimits,
    defaults: &LimitsParams,
    completion: CompletionMode,
) -> RunLimits {
    let is_conversation = completion == CompletionMode::Message;
    let (max_turns, max_time_ms) = match is_conversation {
        true => (MAX_TURNS_CONVERSATION, None),
        false => (MAX_TURNS, Some(MAX_TIME_MS)),
    };
    let max_depth = asked.max_depth.or(own.max_depth).or(defaults.max_depth);
    RunLimits {
        max_turns: asked.max_turns.or(own.max_turns).or(defaults.max_turns).unwrap_or(max_turns),
        max_time_ms: asked.max_time_ms.or(own.max_time_ms).or(defaults.max_time_ms).or(max_time_ms),
        max_tokens: asked.max_tokens.or(own.max_tokens).or(defaults.max_tokens),
        max_cost: asked.max_cost.or(own.max_cost).or(defaults.max_cost),
        inherited: BudgetLimits::default(),
        on_budget: asked.on_budget.or(own.on_budget).or(defaults.on_budget).unwrap_or_default(),
        grace_ms: asked.grace_ms.or(own.grace_ms).or(defaults.grace_ms).unwrap_or(GRACE_MS),
        max_depth: max_depth.unwrap_or_else(default_max_depth),
    }
}

/// The request's word, else the settings'. Nobody is asked where nobody sits, unless somebody says otherwise.
pub(super) fn resolve_approval(
    asked: ApprovalParams,
    defaults: &ApprovalParams,
    initiator: Option<ClientId>,
) -> RunApproval {
    let headless = match asked.headless {
        true => Some(OnDetached::Deny),
        false => None,
    };
    RunApproval {
        headless: asked.headless,
        mode: asked.mode,
        auto_approve: asked.auto_approve,
        audience: asked.audience.or_else(|| defaults.audience.clone()).unwrap_or_default(),
        on_detached: asked.on_detached.or(headless).or(defaults.on_detached).unwrap_or_default(),
        deadline_ms: asked.deadline_ms.or(defaults.deadline_ms),
        on_deadline: asked.on_deadline.or(defaults.on_deadline).unwrap_or_default(),
        initiator,
    }
}
