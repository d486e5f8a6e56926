//! What an open run waits for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::{AgentName, ConfirmationId, RunId, Timestamp};

/// The runs that had a context while another one waited for it: the first is the one that had it when that one was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedBehind {
    pub run_id: RunId,
    pub agent: AgentName,
    /// The run that had it after that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<NextHolder>,
    /// The number of further ones.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more: u64,
}

/// A run that had a context after another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NextHolder {
    pub run_id: RunId,
    pub agent: AgentName,
}

/// A run that was asked for after another one, and was moved ahead of it in the queue of their context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MovedAhead {
    pub run_id: RunId,
    pub agent: AgentName,
    /// The client that moved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub at: Timestamp,
}

/// The thing that a run which has not ended waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitCause {
    /// `person`: an answer to a question. `model`, `tool`, `agent`: something that is at work for it. `hook`: a hook that takes
    /// long. `context`: the runs before it in its context. `place`: a place among the runs at work. `hooks`: what hooks say of
    /// its prompt. `unparked`: that it is no longer parked. `daemon`: the daemon was started again, and has not taken it up yet.
    #[serde(rename = "for")]
    pub waits_for: String,
    /// The time from which on it waits; of `daemon` the time of the last that the log tells of it, which is before the daemon ended.
    pub since: Timestamp,
    /// The title of the question, the model, the tool with what the call is about, the agent, the hook, the run that has the context now
    /// (`run ID of AGENT`), or the reason why it is parked or was not taken up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The question, where it waits for a person, or for a hook about their change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation_id: Option<ConfirmationId>,
    /// The number of runs before it in the same queue, without the one that is at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
}
