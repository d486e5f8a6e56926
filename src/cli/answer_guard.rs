//! When does a key count as an answer to a question, and when was it typed for something else?
//!
//! People type ahead: a sentence that was begun before a question came up must not answer it. So a question takes keys only
//! once it has stood on the screen for a time and nothing was typed for a time, and a single key only counts when no other
//! one follows it. Pure: time comes in with each call, measured from any fixed moment.

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
}

impl AnswerGuard {
    /// The question is on the screen from now on. Also after it was drawn anew, e.g. because the terminal has another size
    /// or the command was stopped: the person looks at it for the first time.
    pub(super) fn shown(now: Duration) -> AnswerGuard {
        AnswerGuard { shown_at: now, looked_at: now, typed_at: None }
    }

    /// The keyboard is looked at now. True when it was not for so long that what it brings is no answer: then the question
    /// begins as if it was shown now.
    pub(super) fn looks(&mut self, now: Duration) -> bool {
        let was_unwatched = UNWATCHED_MAX < now.saturating_sub(self.looked_at);
        self.looked_at = now;
        if was_unwatched {
            *self = AnswerGuard::shown(now);
        }
        was_unwatched
    }

    /// Something was typed that is no answer.
    pub(super) fn typed(&mut self, now: Duration) {
        self.typed_at = Some(now);
    }

    /// Whether a key that is pressed now is meant for the question.
    pub(super) fn takes_keys(&self, now: Duration) -> bool {
        STOOD <= now.saturating_sub(self.shown_at)
            && self.typed_at.is_none_or(|typed_at| QUIET <= now.saturating_sub(typed_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_question_takes_keys_once_it_has_stood_for_a_while() {
        let guard = AnswerGuard::shown(ms(1_000));
        assert!(!guard.takes_keys(ms(1_000)));
        assert!(!guard.takes_keys(ms(1_699)));
        assert!(guard.takes_keys(ms(1_700)));
    }

    #[test]
    fn after_a_time_without_a_look_it_begins_anew() {
        let mut guard = AnswerGuard::shown(ms(0));
        for now in [400, 800, 1_300] {
            assert!(!guard.looks(ms(now)));
        }
        assert!(guard.takes_keys(ms(1_300)));
        // The command was stopped, or the machine slept.
        assert!(guard.looks(ms(9_000)));
        assert!(!guard.takes_keys(ms(9_000)));
        assert!(!guard.looks(ms(9_400)));
        assert!(!guard.takes_keys(ms(9_699)));
        assert!(guard.takes_keys(ms(9_700)));
    }

    #[test]
    fn whatever_is_typed_puts_it_off() {
        let mut guard = AnswerGuard::shown(ms(0));
        guard.typed(ms(600));
        assert!(!guard.takes_keys(ms(1_099)));
        guard.typed(ms(1_099));
        assert!(!guard.takes_keys(ms(1_598)));
        assert!(guard.takes_keys(ms(1_599)));
    }
}
