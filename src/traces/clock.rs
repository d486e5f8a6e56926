//! When did an event happen, by a clock that never goes back?

use protocol::Timestamp;

/// Events that stand in the log in another order than they were made in are as close as their transactions. What goes
/// further back is a clock that was set.
const DISORDER_US: i64 = 2_000_000;

/// Straightens times: in the order of the log they never go back. What follows a clock that was set back is moved on, so
/// that durations stay right.
#[derive(Debug, Default)]
pub(super) struct LogClock {
    last: i64,
    moved: i64,
}

impl LogClock {
    /// The straight time of an event that says it happened `at`; `None` = it does not say.
    pub(super) fn straighten(&mut self, at: Option<Timestamp>) -> Timestamp {
        let Some(at) = at else { return Timestamp(self.last) };
        let told = at.0.saturating_add(self.moved);
        let back = self.last.saturating_sub(told);
        if back <= 0 {
            self.last = told;
        } else if DISORDER_US < back {
            self.moved = self.moved.saturating_add(back);
        }
        Timestamp(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_never_go_back_and_durations_stay_right() {
        let mut clock = LogClock::default();
        let minute = 60_000_000;
        let mut read = |us: i64| clock.straighten(Some(Timestamp(us))).0;
        assert_eq!([read(10 * minute), read(11 * minute)], [10 * minute, 11 * minute]);
        // Another's event that was made before and committed after.
        assert_eq!([read(11 * minute - 900), read(11 * minute + 5)], [11 * minute, 11 * minute + 5]);
        // Set back by nine minutes, and a minute later.
        assert_eq!([read(2 * minute), read(3 * minute)], [11 * minute + 5, 12 * minute + 5]);
        assert_eq!(clock.straighten(None).0, 12 * minute + 5);
        assert_eq!(clock.straighten(Some(Timestamp(i64::MIN))).0, 12 * minute + 5);
        assert_eq!(clock.straighten(Some(Timestamp(i64::MAX))).0, i64::MAX);
    }
}
