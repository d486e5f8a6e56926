//! What is remembered of a consumer, for how long, and of how many?

use protocol::EventSeq;

/// Names that are remembered. A row is small; without a bound, a client that makes up a new name each time would fill
/// the disk.
pub(super) const MAX_CONSUMERS: i64 = 1_000;

/// A name that nobody used for so long makes room when there are too many.
pub(super) const FORGOTTEN_AFTER_US: i64 = 30 * 24 * 60 * 60 * 1_000_000;

/// How exactly it is remembered when a name was used last: a subscription in between writes nothing.
pub(super) const TOUCH_PAUSE_US: i64 = 24 * 60 * 60 * 1_000_000;

/// A consumer, as a subscription finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventConsumer {
    /// Everything up to here was acknowledged.
    pub seq: EventSeq,
    /// It is remembered from now on.
    pub is_new: bool,
}

/// Writes where consumers stand; a row each: name, place, time. None goes back.
pub(super) const UPSERT: &str = "
insert into consumers (name, seq, used_us)
select value->>0, value->>1, value->>2 from jsonb_each(?)
where true
on conflict (name) do update set seq = max(consumers.seq, excluded.seq), used_us = excluded.used_us";
