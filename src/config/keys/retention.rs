//! The settings about how long sessions are kept.

use serde_json::json;

use super::{
    super::{
        LayeredSetting,
        shapes::{IntegerShape, OrNull, SettingShape},
    },
    ChangeTiming, SettingKey,
};

/// Most days a setting may name: a century.
const MOST_DAYS: u64 = 36_500;

/// Least bytes a setting may name: an empty database and a few runs.
const LEAST_BYTES: u64 = 1 << 20;

/// Most bytes a setting may name: what SQLite's numbers hold.
const MOST_BYTES: u64 = i64::MAX as u64;

pub(super) const KEYS: &[SettingKey] = &[
    key!(
        "retention.maxAgeDays", retention.max_age_days, OrNull(IntegerShape { least: 1, most: MOST_DAYS }),
        in: Ok, out: |most: &Option<u64>| json!(most),
        "Days after which a session in which nothing runs is removed, with all that happened in it; null is never. Limits take effect after daemons have run with them for one hour in all.",
        expected: "a whole number of days from 1 to 36500, or null",
        example: "90"
    ),
    key!(
        "retention.maxSessions", retention.max_sessions, OrNull(IntegerShape { least: 1, most: u64::MAX }),
        in: Ok, out: |most: &Option<u64>| json!(most),
        "Sessions that are kept; beyond, those that were idle longest are removed. null is all.",
        expected: "a whole number of at least 1, or null",
        example: "1000"
    ),
    key!(
        "retention.maxBytes", retention.max_bytes, OrNull(IntegerShape { least: LEAST_BYTES, most: MOST_BYTES }),
        in: Ok, out: |most: &Option<u64>| json!(most),
        "Bytes of the database and of the outputs of tools beside it; beyond, sessions that were idle longest are removed. null is no \
         bound.",
        expected: "a whole number of bytes of at least 1048576, or null",
        example: "2147483648"
    ),
];
