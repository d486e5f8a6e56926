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
    /// The time by which the machine's clock was ahead at the last look; zero as long as that is usual.
    #[serde(default)]
    ahead_us: u64,
    /// The time that it has stayed so, as far as daemons were at work.
    #[serde(default)]
    ahead_for_us: u64,
    /// The last look, by this daemon's monotonic clock; `None` = nothing was watched yet.
    #[serde(skip)]
    looked_at: Option<Duration>,
}

impl AgeClock {
    /// Goes on from what a daemon before has noted, and from when this one began; else from the newest of what there is, and from
    /// the first look.
    pub fn from_note(note: Option<&str>, newest: Timestamp, started: Duration) -> AgeClock {
        let noted: Option<AgeClock> = note.and_then(|text| serde_json::from_str(text).ok());
        match noted {
            Some(noted) => AgeClock { looked_at: Some(started), ..noted },
            None => AgeClock { believed: newest, ahead_us: 0, ahead_for_us: 0, looked_at: None },
        }
    }

    /// The same for the next daemon.
    pub fn note(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// The time by which age counts now.
    pub fn look(&mut self, now: Timestamp, monotonic: Duration) -> Timestamp {
        let watched = self.looked_at.map_or(Duration::ZERO, |looked| monotonic.saturating_sub(looked));
        let expected = self.believed.plus(watched);
        let ahead_us = micros(now.since(expected));
        let usual_us = micros(USUAL_GAP);
        // It went ahead since the last look, also if it was ahead before: what was watched until then says nothing of this.
        let has_jumped = self.ahead_us.saturating_add(usual_us) < ahead_us;
        let ahead_for_us = if has_jumped { 0 } else { self.ahead_for_us.saturating_add(micros(watched)) };
        let is_believed = ahead_us <= usual_us || micros(BELIEVED_AFTER) <= ahead_for_us;
        let looked_at = Some(monotonic);
        *self = match is_believed {
            true => AgeClock { believed: now, ahead_us: 0, ahead_for_us: 0, looked_at },
            false => AgeClock { believed: expected, ahead_us, ahead_for_us, looked_at },
        };
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
            Machine { clock: AgeClock::from_note(None, now, Duration::ZERO), now, monotonic: Duration::ZERO }
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
            self.clock = AgeClock::from_note(Some(&self.clock.note()), Timestamp(0), self.monotonic);
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

    /// The look that finds the jump counts nothing; the days of work after it do.
    #[test]
    fn a_clock_that_jumped_counts_once_it_has_stayed_so_for_a_day_at_work() {
        let mut machine = Machine::new();
        machine.works(1);
        machine.is_off(100 * DAY);
        assert_eq!(machine.works(9), 100 * DAY);
        machine.is_off(15 * HOUR);
        assert_eq!(machine.works(9), 100 * DAY + 15 * HOUR);
        machine.is_off(15 * HOUR);
        assert_eq!(machine.works(6), 100 * DAY + 30 * HOUR);
        assert_eq!(machine.works(1), Duration::ZERO);
    }

    /// Nobody has looked for a long time, or it jumps again before the first jump is believed.
    #[test]
    fn only_time_in_which_it_has_stayed_so_counts() {
        let mut machine = Machine::new();
        machine.works(1);
        machine.is_off(HOUR);
        machine.now = machine.now.plus(300 * DAY);
        machine.monotonic += 30 * DAY;
        machine.clock.look(machine.now, machine.monotonic);
        assert_eq!(machine.works(0), 270 * DAY + HOUR);
        let mut machine = Machine::new();
        machine.works(1);
        machine.is_off(60 * HOUR);
        machine.works(23);
        machine.now = machine.now.plus(365 * DAY);
        assert_eq!(machine.works(23), 365 * DAY + 60 * HOUR);
        // Of what was never noted nothing was watched.
        let mut clock = AgeClock::from_note(None, Timestamp(0), Duration::ZERO);
        assert_eq!(clock.look(Timestamp(0).plus(90 * DAY), 60 * DAY), Timestamp(0));
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
            assert_eq!(AgeClock::from_note(note, newest, Duration::ZERO).believed, newest, "{note:?}");
        }
    }
}
