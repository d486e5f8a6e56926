//! Parameters and results: which models there are, and whether one answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ModelRef, Timestamp, Usage, UsdAmount, WindowSource};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelsListParams {
    /// Asks the providers anew, whatever they said a while ago.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refresh: bool,
    /// Of this entry alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelsListResult {
    /// By name: the entries of `providers`, and those that are there without being named.
    pub entries: Vec<ListedEntry>,
    /// Names of the user's own.
    pub aliases: Vec<ListedAlias>,
    /// The model of agents that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<ModelRef>,
    /// The model for short questions beside the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small: Option<ModelRef>,
    /// The model that is always there: rules, no language model.
    pub offline: ModelRef,
}

/// A provider's entry. What one cannot tell costs the others nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedEntry {
    pub name: String,
    /// What the provider speaks; missing when the entry's settings have mistakes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ListedKey>,
    /// What the provider has, by id, as far as it told.
    pub models: Vec<ListedModel>,
    /// When it told; an answer is kept for ten minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_at: Option<Timestamp>,
    /// It has more models than are answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The reason why its models are not known, for people. They may be there all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Whether an entry has a key; never the key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedKey {
    pub state: ListedKeyState,
    /// Where it was looked for, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The reason why there is none, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ListedKeyState {
    Found,
    /// The entry is a server of one's own, which is asked without.
    NotNeeded,
    Missing,
    /// There is something, and it cannot be taken.
    Unusable,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedModel {
    /// `entry/id`: what `model` takes.
    pub model: ModelRef,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Tokens that it takes in.
    pub window: u64,
    pub window_from: WindowSource,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedAlias {
    pub name: String,
    pub model: ModelRef,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelsTestParams {
    /// A model's name as runs take it: `entry/id`, a bare id, or an alias.
    #[schemars(length(min = 1))]
    pub model: ModelRef,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelsTestResult {
    /// The name by which runs would know it.
    pub model: ModelRef,
    /// It answered the question, whatever it said.
    pub reachable: bool,
    /// Milliseconds until the whole answer was there, or until it was clear that none comes.
    pub latency_ms: u64,
    /// Milliseconds until the first of it was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    /// It called the tool that it was asked to call.
    pub tool_calls: bool,
    pub usage: Usage,
    /// Tokens that it takes in.
    pub window: u64,
    pub window_from: WindowSource,
    /// Missing when nobody told its price (`models.prices`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<UsdAmount>,
    /// What went wrong, in the provider's words, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
