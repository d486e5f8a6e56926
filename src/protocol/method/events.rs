//! Parameters and results: the log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AttachFrom, default_page, is_default};
use crate::{Envelope, EventSeq, RunId, SessionId, SubscriptionId};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsListParams {
    #[serde(default)]
    pub filter: EventFilter,
    /// Exclusive; 0 = from the beginning.
    #[serde(default)]
    pub from: EventSeq,
    /// The log that `from` came from, as an earlier answer or `daemon.logId` said. Of another log it is `CURSOR_GONE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_id: Option<String>,
    #[serde(default = "default_page")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: u32,
    /// When nothing matches yet: waits this long for the first. At most 60,000.
    #[serde(default)]
    #[schemars(range(max = 60_000))]
    pub wait_ms: u64,
}

/// Which events; an empty filter matches all. Each field that is given narrows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EventFilter {
    /// The same as one entry of `sessionIds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Of these sessions; at most 64, empty = of all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub session_ids: Vec<SessionId>,
    /// Of this run alone, without those below it. Not together with `runIds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Of these runs and of those below them, whenever they begin; at most 64, empty = of all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub run_ids: Vec<RunId>,
    /// Of the runs in `runIds` themselves only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// Types of events, e.g. `tool.state`; a `*` at the end stands for any rest, e.g. `run.*`. At most 64, empty = all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(regex(pattern = r"^[A-Za-z.]*\*?$")))]
    pub types: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsListResult {
    /// A page of large events is shorter than `limit`. The next page begins after the last of these; an empty one says
    /// that nothing up to `head` matches any more.
    pub events: Vec<Envelope>,
    /// The newest `seq` of the whole log.
    pub head: EventSeq,
    /// Which log it is; give it beside the next `from`.
    #[serde(default)]
    pub log_id: String,
}

/// Each of `sessionIds`, `runIds` and `types` that is given narrows; without any, the whole log is followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsSubscribeParams {
    /// Of these sessions; at most 64, empty = of all. What is left of a deleted one is its `session.deleted`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub session_ids: Vec<SessionId>,
    /// Of these runs and of those below them, also those that begin later; at most 64, empty = of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub run_ids: Vec<RunId>,
    /// Of the runs in `runIds` themselves only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// Types of events, and with `deltas` of deltas, e.g. `tool.state`; a `*` at the end stands for any rest, e.g.
    /// `run.*`. At most 64, empty = all. Of a session that was deleted or pruned while nobody read, `session.deleted` is all that
    /// comes, and no cursor is gone for it: name that type, too, to learn that something was missed. Its `lastSeq` says how far the
    /// events went that are missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(regex(pattern = r"^[A-Za-z.]*\*?$")))]
    pub types: Vec<String>,
    /// A `seq` (exclusive), `"now"`, `"start"`, or `"consumer"`: after what `consumer` has acknowledged.
    pub from: AttachFrom,
    /// With a `seq`: the log it came from, as `daemon.logId` said. Of another log it is `CURSOR_GONE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_id: Option<String>,
    /// The daemon remembers under this name what `events/ack` acknowledges, across reconnects and restarts. The name is
    /// the whole of it: who uses the same one goes on from the same place, and the furthest acknowledgement counts. A
    /// new name is remembered where the subscription begins, with `from: "consumer"` at the start of the log. At most
    /// 1,000 names; one that nobody used for 30 days makes room for a new one when there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub consumer: Option<String>,
    /// What comes of a cursor that is gone. Missing = `error`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_gone: GoneCursorPolicy,
    /// Text while it is being written. Of a text that is open when the subscription begins it comes from its beginning.
    #[serde(default)]
    pub deltas: bool,
}

/// What comes of a cursor that lies outside of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GoneCursorPolicy {
    /// `CURSOR_GONE`.
    #[default]
    Error,
    /// A snapshot comes first, as with `session/attach` from `now`: of one session when exactly one is named and no
    /// run, else of what lives in the sessions and runs that are named.
    Snapshot,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsUnsubscribeParams {
    pub subscription: SubscriptionId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnsubscribeResult {
    /// False when there was no such subscription on this connection.
    pub unsubscribed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsAckParams {
    /// Of this connection, opened with a `consumer`.
    pub subscription: SubscriptionId,
    /// Everything up to here is dealt with: a `seq` that came on this subscription, or the `head` of its
    /// `signal.caughtUp`.
    pub seq: EventSeq,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsAckResult {
    /// Where the consumer stands now. It never goes back: behind an older acknowledgement this is further than `seq`.
    pub seq: EventSeq,
}
