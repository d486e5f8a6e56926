//! When was a daemon at work on this database last? The log says nothing of it while runs only wait.

use std::{
    sync::atomic::Ordering,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use protocol::{EventSeq, Timestamp};

use super::{EventStore, StoreError};

/// The time since the lock was touched last; `None` where the clock was set back.
pub(super) fn away(touched: SystemTime, now: Timestamp) -> Option<Duration> {
    let touched = Timestamp::from(touched);
    (touched <= now).then(|| now.since(touched))
}

impl EventStore {
    /// The most time in which nobody had this database open before this one did; `None` = nobody knows.
    pub fn away(&self) -> Option<Duration> {
        self.shared.away
    }

    /// The same up to the time at which this daemon takes up the first run; for all runs the same. `left_at`: the time of the last that a
    /// daemon told before.
    pub fn away_until_work(&self, now: Timestamp, left_at: Option<Timestamp>) -> Option<Duration> {
        let since_opened = || now.since(self.shared.opened_at);
        let since_told = left_at.map_or(Duration::MAX, |left_at| now.since(left_at));
        *self
            .shared
            .away_until_work
            .get_or_init(|| self.away().map(|away| (away + since_opened()).min(since_told)))
    }

    /// The newest event of those that came before this one.
    pub fn found_head(&self) -> EventSeq {
        self.shared.found_head
    }

    /// The time of the newest event of a run of those that came before this one: until then a daemon was at work.
    pub async fn left_at(&self) -> Result<Option<Timestamp>, StoreError> {
        let text =
            "select time_us from events where run_id is not null and seq <= ?1 order by seq desc limit 1";
        let row: Option<i64> =
            sqlx::query_scalar(text).bind(self.found_head().0).fetch_optional(&self.shared.readers).await?;
        Ok(row.map(Timestamp))
    }

    /// The runs that the last daemon left are taken up: from now on this daemon is the one that was at work last. One that fails
    /// before that leaves the database as it found it, and the next one still knows how, and when, work ended.
    pub fn note_at_work(&self) {
        self.shared.is_at_work.store(true, Ordering::Relaxed);
        self.note_alive();
    }

    /// True: what the last daemon left has been taken up.
    pub(super) fn is_at_work(&self) -> bool {
        self.shared.is_at_work.load(Ordering::Relaxed)
    }

    /// Notes that a daemon is at work now, for the one that comes after it; nothing before [`EventStore::note_at_work`].
    pub fn note_alive(&self) {
        if !self.is_at_work() {
            return;
        }
        let now = u64::try_from(self.shared.clock.now().0).unwrap_or_default();
        let touched: SystemTime = UNIX_EPOCH + Duration::from_micros(now);
        if let Err(error) = self.shared.lock.set_modified(touched) {
            // The next one tells a longer time than it was: at most so long, as it says.
            tracing::debug!(%error, "the lock of the database cannot be touched");
        }
    }
}
