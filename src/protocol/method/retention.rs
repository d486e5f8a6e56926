//! Parameters and results: giving room back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::{EventSeq, SessionId, Timestamp};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GcParams {
    /// Only says what would be removed.
    pub dry_run: bool,
}

/// The settings `retention.…` that are in force; those that are missing bound nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RetentionLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age_days: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_sessions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// The limit for which a session is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PruningReason {
    /// Nothing ran in it for longer than `retention.maxAgeDays`.
    Age,
    /// There are more sessions than `retention.maxSessions`.
    Count,
    /// They take more than `retention.maxBytes`.
    Bytes,
}

/// A session that is removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrunedSession {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub last_active_at: Timestamp,
    /// Events in it.
    pub events: u64,
    /// Bytes of these, and of the outputs of tools that are kept for it.
    pub bytes: u64,
    pub reason: PruningReason,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcResult {
    #[serde(default, skip_serializing_if = "is_default")]
    pub dry_run: bool,
    pub limits: RetentionLimits,
    /// Those that were removed, or would be, the one that was idle longest first; at most 1,000.
    pub sessions: Vec<PrunedSession>,
    /// The number of sessions that were removed, or would be, beside those that are listed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more: u64,
    /// The number of sessions that the limits would remove, but for somebody who is attached to them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attached: u64,
    /// The time by which the machine's clock went ahead of the time that is believed, where sessions go by age: they do not grow older
    /// by it until the clock has stayed so for a day in which the daemon was at work.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clock_ahead_ms: u64,
    /// Bytes that the database and the outputs of tools take; of a dry run, what they take now.
    pub used_bytes: u64,
    /// Bytes of the database's file.
    pub file_bytes: u64,
    /// Bytes by which that file has become smaller. Its last part goes when its write-ahead log is folded back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub given_back_bytes: u64,
    /// The file was made by an older version and cannot become smaller. The next start of the daemon rewrites it, which takes some
    /// seconds for each GiB.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rewritten_at_next_start: bool,
    /// The newest event of what was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<EventSeq>,
}
