//! Parameters and results: the log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::default_page;
use crate::protocol::{Envelope, RunId, Seq, SessionId};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsListParams {
    #[serde(default)]
    pub filter: EventFilter,
    /// Exclusive; 0 = from the beginning.
    #[serde(default)]
    pub from: Seq,
    #[serde(default = "default_page")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: u32,
    /// When nothing matches yet: waits this long for the first. At most 60,000.
    #[serde(default)]
    #[schemars(range(max = 60_000))]
    pub wait_ms: u64,
}

/// Which events; an empty filter matches all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EventFilter {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Types of events, e.g. `tool.state`; empty = all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsListResult {
    /// A page of large events is shorter than `limit`. The next page begins after the last of these; an empty one says
    /// that nothing up to `head` matches any more.
    pub events: Vec<Envelope>,
    /// The newest `seq` of the whole log.
    pub head: Seq,
}
