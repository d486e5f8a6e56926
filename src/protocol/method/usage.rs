//! Parameters and results: what models used, and what that cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentName, RunId, SessionId, Timestamp, Usage, UsdAmount};

/// Exactly one of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageGetParams {
    /// All runs of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// This run and all below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// From this moment on, in all sessions that there are: what a deleted session used went with it. Kept by the minute,
    /// so the whole minute counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageGetResult {
    /// Where it was asked by time: the moment from which on it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    pub total: UsedAmount,
    /// Of each model, most tokens first.
    pub by_model: Vec<UsedByModel>,
    /// Of each agent, most tokens first.
    pub by_agent: Vec<UsedByAgent>,
    /// Of each agent by each model, most tokens first.
    pub by_agent_and_model: Vec<UsedByAgentAndModel>,
    /// Models that used tokens whose price nobody told (`models.prices`): all costs in which they have a part are less than
    /// what it came to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpriced_models: Vec<String>,
    /// Lists are cut after 1,000 rows; `total` counts all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// What was used, by replies of models and by what the daemon asks them beside the turns, as the log tells it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsedAmount {
    /// Requests to models, also those that were cut off.
    pub calls: u64,
    /// Of these, calls whose tokens the daemon estimated, since the provider did not count them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub estimated_calls: u64,
    /// Calls among these of which nobody knows what they used, since they were cut off before anything had come of them, or as the
    /// daemon ended: `usage` and `cost` are without them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncounted_calls: u64,
    pub usage: Usage,
    /// By `models.prices`, as they were at the time; missing when none of the prices was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<UsdAmount>,
    /// Tokens whose price nobody told; as long as there are any, `cost` is not the whole.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsedByModel {
    /// As `model.completed` names it.
    pub model: String,
    #[serde(flatten)]
    pub amount: UsedAmount,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsedByAgent {
    pub agent: AgentName,
    #[serde(flatten)]
    pub amount: UsedAmount,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsedByAgentAndModel {
    pub agent: AgentName,
    pub model: String,
    #[serde(flatten)]
    pub amount: UsedAmount,
}

impl std::ops::AddAssign for UsedAmount {
    fn add_assign(&mut self, other: UsedAmount) {
        self.calls = self.calls.saturating_add(other.calls);
        self.estimated_calls = self.estimated_calls.saturating_add(other.estimated_calls);
        self.uncounted_calls = self.uncounted_calls.saturating_add(other.uncounted_calls);
        self.usage += other.usage;
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(more)) => Some(one + more),
            (one, more) => one.or(more),
        };
        self.unpriced_tokens = self.unpriced_tokens.saturating_add(other.unpriced_tokens);
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
