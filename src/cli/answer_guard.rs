//! When does a key count as an answer to a question, and when was it typed for something else?
//!
//! People type ahead: a sentence that was begun before a question came up must not answer it. So a question takes keys only
//! once it has stood on the screen for a time and nothing was typed for a time, and a single key only counts when no other
//! one follows it. Pure: time comes in with each call, measured from any fixed moment.
//!
//! A key that is read now was typed at any time since the look before, so a busy machine makes gaps longer than they were. What is counted as
//! quiet ends with the last look that found nothing: a look that finds nothing is given the time before it, one that finds something the time
//! behind it.

use std::time::Duration;

/// A question stands on the screen at least so long before a key can answer it: to notice it, and to read its heading, takes
/// a person longer than this (a choice among a few signs takes about 0.5 s, without any reading).
pub(super) const STOOD: Duration = Duration::from_millis(700);

/// So long nothing was typed before a key can be an answer. Within a sentence, keys are 80 to 300 ms apart, of slow typists
/// 400 ms.
pub(super) const QUIET: Duration = Duration::from_millis(500);

/// A key that allows something on its own counts when none follows it for so long: the first letter of a sentence, which was
/// begun while the question took keys already, is followed by the second one sooner.
pub(super) const ALONE: Duration = Duration::from_millis(450);

/// The second key of an answer (Enter, mostly) counts from so long after the first one: both in one burst are a paste, or the
/// end of a line that was typed for something else.
pub(super) const APART: Duration = Duration::from_millis(150);

/// The longest time between two looks at the keyboard. After a longer one (the command was stopped, the machine slept) nobody
/// knows when that was typed which is read now: it may have been before there was any quiet.
const UNWATCHED_MAX: Duration = QUIET;

/// Watches what is typed while one question stands on the screen.
#[derive(Debug, Clone)]
pub(super) struct AnswerGuard {
    shown_at: Duration,
    looked_at: Duration,
    typed_at: Option<Duration>,
    /// The last look that found nothing: what comes next was typed later.
    quiet_until: Duration,
}

impl AnswerGuard {
    /// The question is on the screen from now on. Also after it was drawn anew, e.g. because the terminal has another size
    /// or the command was stopped: the person looks at it for the first time.
    pub(super) fn shown(now: Duration) -> AnswerGuard {
        AnswerGuard { shown_at: now, looked_at: now, typed_at: None, quiet_until: now }
    }

    /// The keyboard is looked at now; `finds_nothing`: it brings no byte. True when it was not looked at for so long that what it brings is no
    /// answer: then the question begins as if it was shown now.
    pub(super) fn looks(&mut self, now: Duration, finds_nothing: bool) -> bool {
        let was_unwatched = UNWATCHED_MAX < now.saturating_sub(self.looked_at);
        self.looked_at = now;
        if was_unwatched {
            *self = AnswerGuard::shown(now);
        } else if finds_nothing {
            self.quiet_until = now;
        }
        was_unwatched
    }

    /// Something was typed that is no answer.
    pub(super) fn typed(&mut self, now: Duration) {
        self.typed_at = Some(now);
    }

    /// Whether a key that is read next is meant for the question.
    pub(super) fn takes_keys(&self) -> bool {
        STOOD <= self.quiet_since(self.shown_at)
            && self.typed_at.is_none_or(|typed_at| QUIET <= self.quiet_since(typed_at))
    }

    /// The time for which nothing was typed, as far as it is known.
    pub(super) fn quiet_since(&self, moment: Duration) -> Duration {
        self.quiet_until.saturating_sub(moment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// The guard of a question that stands there from 0 on, after looks at these times; a negative one finds a key.
    fn after(looks: &[i64]) -> AnswerGuard {
        let mut guard = AnswerGuard::shown(ms(0));
        for look in looks {
            let now = ms(look.unsigned_abs());
            guard.looks(now, 0 < *look);
            if *look < 0 {
                guard.typed(now);
            }
        }
        guard
    }

    #[test]
    fn a_question_takes_keys_once_it_has_stood_for_a_while() {
        assert!(!after(&[]).takes_keys());
        assert!(!after(&[350, 699]).takes_keys());
        assert!(after(&[350, 700]).takes_keys());
    }

    #[test]
    fn after_a_time_without_a_look_it_begins_anew() {
        let mut guard = after(&[400, 800, 1_300]);
        assert!(guard.takes_keys());
        // The command was stopped, or the machine slept.
        assert!(guard.looks(ms(9_000), true));
        assert!(!guard.takes_keys());
        assert!(!guard.looks(ms(9_400), true));
        assert!(!guard.looks(ms(9_699), true));
        assert!(!guard.takes_keys());
        assert!(!guard.looks(ms(9_700), true));
        assert!(guard.takes_keys());
    }

    #[test]
    fn whatever_is_typed_puts_it_off() {
        assert!(!after(&[300, -600, 800, 1_099]).takes_keys());
        assert!(after(&[300, -600, 800, 1_100]).takes_keys());
        assert!(!after(&[300, -600, 800, -1_099, 1_400, 1_598]).takes_keys());
        assert!(after(&[300, -600, 800, -1_099, 1_400, 1_599]).takes_keys());
    }

    /// Keys are 220 ms apart; the second one is read late, since the machine was busy.
    #[test]
    fn a_key_that_is_read_late_was_not_typed_late() {
        let mut guard = after(&[300, 600, -800, 850]);
        // It is read at 1,300, and may have been typed at 1,020.
        assert!(!guard.looks(ms(1_300), false));
        assert!(!guard.takes_keys());
        // Nor is it known that nothing followed the first one.
        assert!(guard.quiet_since(ms(800)) < ALONE);
    }
}
