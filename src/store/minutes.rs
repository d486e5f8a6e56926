//! Minutes, in which the table `usage` counts what models used.

use protocol::Timestamp;

const US_PER_MINUTE: i64 = 60_000_000;

/// The minute in which this is, as the table counts them.
pub(crate) fn minute(at: Timestamp) -> i64 {
    at.0.div_euclid(US_PER_MINUTE)
}

/// When such a minute begins.
pub(crate) fn begin_of(minute: i64) -> Timestamp {
    Timestamp(minute.saturating_mul(US_PER_MINUTE))
}
