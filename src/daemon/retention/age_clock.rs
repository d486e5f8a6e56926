//! By which time do sessions grow old, when the machine's clock may be wrong?
//!
//! A clock that went ahead, since a battery is empty or a virtual machine was resumed, must not cost anybody their history. A
//! session that is gone does not come back when the clock is right again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use protocol::Timestamp;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The time that a clock which went ahead further has to stay so, with a daemon at work, until it is believed. Whoever keeps the time
/// of a machine has mended it by then, or somebody has seen it.
const BELIEVED_AFTER: Duration = DAY;

/// The most of a gap between two looks that counts as such time: where daemons are at work for minutes each, a day of them would
/// never come together. A clock that is wrong whenever the machine starts, and right soon after, would have to be seen wrong by
/// two dozen daemons, and right by none.
const COUNTED_GAP: Duration = Duration::from_secs(60 * 60);

/// Time that may pass between two looks beside the time that the daemon has watched: a night without a daemon; for those who keep
/// sessions for long, also a weekend or a week, which is as little to them.
pub fn usual_gap(max_age_days: Option<u64>) -> Duration {
    let tenth = max_age_days.map_or(0, |days| days.saturating_mul(DAY.as_secs()) / 10);
    Duration::from_secs(tenth).max(DAY)
}

/// The time by which age counts. Never ahead of the machine's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgeClock {
    believed: Timestamp,
    /// The time by which the machine's clock was ahead at the last look; zero as long as that is usual.
    #[serde(default)]
    ahead_us: u64,
    /// The time that it has stayed so, as far as daemons were at work, and a part of the time between them.
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

    /// The time by which age counts now. `usual`: the gap that is no jump ([`usual_gap`]).
    pub fn look(&mut self, now: Timestamp, monotonic: Duration, usual: Duration) -> Timestamp {
        let watched = self.looked_at.map_or(Duration::ZERO, |looked| monotonic.saturating_sub(looked));
        let expected = self.believed.plus(watched);
        let ahead_us = micros(now.since(expected));
        let usual_us = micros(usual);
        // It went ahead since the last look, also if it was ahead before: what was watched until then says nothing of this.
        let has_jumped = self.ahead_us.saturating_add(usual_us) < ahead_us;
        let gap_us = ahead_us.saturating_sub(self.ahead_us).min(micros(COUNTED_GAP));
        let counted_us = micros(watched).saturating_add(gap_us);
        let ahead_for_us = if has_jumped { 0 } else { self.ahead_for_us.saturating_add(counted_us) };
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
                self.clock.look(self.now, self.monotonic, DAY);
            }
            self.now.since(self.clock.believed)
        }

        /// A daemon that looks as it stops.
        fn works_for(&mut self, time: Duration, usual: Duration) -> Duration {
            self.now = self.now.plus(time);
            self.monotonic += time;
            self.now.since(self.clock.look(self.now, self.monotonic, usual))
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
        // Of the time between two daemons an hour counts.
        assert_eq!(machine.works(4), 100 * DAY + 30 * HOUR);
        assert_eq!(machine.works(1), Duration::ZERO);
    }

    /// On a machine where commands start a daemon that ends after minutes.
    #[test]
    fn daemons_that_live_for_minutes_grow_old_too() {
        let quarter = Duration::from_secs(15 * 60);
        let month = usual_gap(Some(30));
        let mut machine = Machine::new();
        for day in 1..=60 {
            for _ in 0..2 {
                assert_eq!(machine.works_for(quarter, month), Duration::ZERO, "day {day}");
                machine.is_off(4 * HOUR);
            }
            // A week has a weekend.
            machine.is_off(if day % 5 == 0 { 64 * HOUR } else { 12 * HOUR });
        }
        // After a holiday it takes two dozen of them.
        machine.is_off(20 * DAY);
        let mut daemons = 0;
        while machine.works_for(quarter, month) != Duration::ZERO {
            daemons += 1;
            machine.is_off(4 * HOUR);
        }
        assert_eq!(daemons, 20);
        assert_eq!(usual_gap(Some(u64::MAX)).as_secs(), u64::MAX / 10);
        assert_eq!([usual_gap(None), usual_gap(Some(1)), month], [DAY, DAY, 3 * DAY]);
    }

    /// Minutes after each start the time is right, and somebody is there to see it.
    #[test]
    fn a_clock_that_is_wrong_at_each_start_is_never_believed() {
        let mut machine = Machine::new();
        for _ in 0..100 {
            machine.is_off(12 * HOUR);
            let right = machine.now;
            machine.now = right.plus(100 * DAY);
            assert_eq!(machine.works_for(HOUR / 60, DAY), 100 * DAY + 12 * HOUR);
            machine.now = right.plus(HOUR / 60);
            assert_eq!(machine.works_for(HOUR, DAY), Duration::ZERO);
        }
    }

    /// Nobody has looked for a long time, or it jumps again before the first jump is believed.
    #[test]
    fn only_time_in_which_it_has_stayed_so_counts() {
        let mut machine = Machine::new();
        machine.works(1);
        machine.is_off(HOUR);
        machine.now = machine.now.plus(300 * DAY);
        machine.monotonic += 30 * DAY;
        machine.clock.look(machine.now, machine.monotonic, DAY);
        assert_eq!(machine.works(0), 270 * DAY + HOUR);
        let mut machine = Machine::new();
        machine.works(1);
        machine.is_off(60 * HOUR);
        machine.works(23);
        machine.now = machine.now.plus(365 * DAY);
        assert_eq!(machine.works(23), 365 * DAY + 60 * HOUR);
        // Of what was never noted nothing was watched.
        let mut clock = AgeClock::from_note(None, Timestamp(0), Duration::ZERO);
        assert_eq!(clock.look(Timestamp(0).plus(90 * DAY), 60 * DAY, DAY), Timestamp(0));
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
