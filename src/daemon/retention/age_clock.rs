//! By which time do sessions grow old, when the machine's clock may be wrong?
//!
//! A clock that went ahead, since a battery is empty or a virtual machine was resumed, must not cost anybody their history. A
//! session that is gone does not come back when the clock is right again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use protocol::Timestamp;

/// Time that may pass between two looks beside the time that the daemon has watched: a night without a daemon, not more.
const USUAL_GAP: Duration = Duration::from_secs(24 * 60 * 60);

/// The time that a clock which went ahead further has to stay so, with a daemon at work, until it is believed. Whoever keeps the time
/// of a machine has mended it by then, or somebody has seen it.
const BELIEVED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The time by which age counts. Never ahead of the machine's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgeClock {
    believed: Timestamp,
    /// The time that the machine's clock has been ahead of it, as far as daemons were at work.
    ahead_for_us: u64,
    /// The last look, by this daemon's monotonic clock.
    #[serde(skip)]
    looked_at: Duration,
}

impl AgeClock {
    /// Goes on from what a daemon before has noted, or else from the newest of what there is.
    pub fn from_note(note: Option<&str>, newest: Timestamp) -> AgeClock {
        let noted = note.and_then(|text| serde_json::from_str(text).ok());
        noted.unwrap_or(AgeClock { believed: newest, ahead_for_us: 0, looked_at: Duration::ZERO })
    }

    /// The same for the next daemon.
    pub fn note(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// The time that this daemon has watched counts from here on.
    pub fn starting_at(self, monotonic: Duration) -> AgeClock {
        AgeClock { looked_at: monotonic, ..self }
    }

    /// The time by which age counts now.
    pub fn look(&mut self, now: Timestamp, monotonic: Duration) -> Timestamp {
        let watched = monotonic.saturating_sub(self.looked_at);
        self.looked_at = monotonic;
        let expected = self.believed.plus(watched);
        let is_usual = now <= expected.plus(USUAL_GAP);
        let ahead_for_us = self.ahead_for_us.saturating_add(micros(watched));
        let is_believed = is_usual || micros(BELIEVED_AFTER) <= ahead_for_us;
        (self.believed, self.ahead_for_us) = if is_believed { (now, 0) } else { (expected, ahead_for_us) };
        self.believed
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    /// A machine, looked at by one daemon after the other.
    struct Machine {
        clock: AgeClock,
        now: Timestamp,
        monotonic: Duration,
    }

    impl Machine {
        fn new() -> Machine {
            let now = Timestamp(0).plus(400 * DAY);
            Machine { clock: AgeClock::from_note(None, now), now, monotonic: Duration::ZERO }
        }

        fn works(&mut self, hours: u32) -> Duration {
            for _ in 0..hours {
                self.now = self.now.plus(HOUR);
                self.monotonic += HOUR;
                self.clock.look(self.now, self.monotonic);
            }
            self.now.since(self.clock.believed)
        }

        /// Another daemon begins after so long.
        fn is_off(&mut self, time: Duration) {
            self.now = self.now.plus(time);
            self.monotonic = HOUR;
            self.clock =
                AgeClock::from_note(Some(&self.clock.note()), Timestamp(0)).starting_at(self.monotonic);
        }
    }

    #[test]
    fn nights_and_hours_at_work_are_time_like_any_other() {
        let mut machine = Machine::new();
        for _ in 0..30 {
            assert_eq!(machine.works(9), Duration::ZERO);
            machine.is_off(15 * HOUR);
        }
        assert_eq!(machine.works(1), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_jumped_counts_once_it_has_stayed_so_for_a_day_at_work() {
        let mut machine = Machine::new();
        machine.is_off(100 * DAY);
        assert_eq!(machine.works(9), 100 * DAY);
        machine.is_off(15 * HOUR);
        assert_eq!(machine.works(9), 100 * DAY + 15 * HOUR);
        machine.is_off(15 * HOUR);
        assert_eq!(machine.works(6), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_is_right_again_has_cost_nothing() {
        let mut machine = Machine::new();
        machine.is_off(100 * DAY);
        machine.works(20);
        // Set right: a day has passed, not a hundred.
        machine.now = Timestamp(machine.now.0 - i64::try_from((100 * DAY).as_micros()).unwrap());
        assert_eq!(machine.works(1), Duration::ZERO);
        // The next jump is looked at from its beginning.
        machine.is_off(100 * DAY);
        assert_eq!(machine.works(20), 100 * DAY);
        // Nothing is older than the clock says, also when that went back.
        let mut machine = Machine::new();
        machine.now = Timestamp(0);
        assert_eq!(machine.works(1), Duration::ZERO);
    }

    #[test]
    fn a_note_that_says_nothing_is_none() {
        let newest = Timestamp(7);
        for note in [None, Some(""), Some("{}"), Some("{\"believed\":")] {
            assert_eq!(AgeClock::from_note(note, newest).believed, newest, "{note:?}");
        }
    }
}
