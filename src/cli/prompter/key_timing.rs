//! Which keys can be meant for what stands on the screen? See [`AnswerGuard`]. Pure.

use std::time::Duration;

use crate::{answer_guard::AnswerGuard, line_editor::drawing::LineLayout, width};

/// What the line ends with while no key counts.
pub(super) const NOT_YET: &str = "… one moment";

/// Columns of the narrowest terminal that is drawn for.
const COLUMNS_MIN: usize = 8;

/// When keys came, and whether they count.
#[derive(Default)]
pub(super) struct KeyTiming {
    guard: Option<AnswerGuard>,
    now: Duration,
    /// Whether what this look brought can be meant: it came alone, and late enough.
    counts: bool,
}

impl KeyTiming {
    /// It is drawn where it was not before.
    pub(super) fn shown(&mut self, now: Duration) {
        (self.guard, self.now, self.counts) = (Some(AnswerGuard::shown(now)), now, false);
    }

    /// A look at the keyboard, by a time as [`AnswerGuard`] wants it, brought so many bytes, which are so many strokes. True after a time
    /// without a look: then what
    /// was typed before is out of date.
    pub(super) fn look(&mut self, now: Duration, bytes: usize, strokes: usize) -> bool {
        self.now = now;
        let begins_anew = self.guard.as_mut().is_some_and(|guard| guard.looks(now, bytes == 0));
        self.counts = self.takes_keys() && strokes <= 1;
        if let Some(guard) = self.guard.as_mut().filter(|_| 0 < bytes) {
            guard.typed(now);
        }
        begins_anew
    }

    /// The last look.
    pub(super) fn now(&self) -> Duration {
        self.now
    }

    /// The time for which nothing was typed behind a moment, as far as it is known.
    pub(super) fn quiet_since(&self, moment: Duration) -> Duration {
        self.guard.as_ref().map_or(Duration::ZERO, |guard| guard.quiet_since(moment))
    }

    pub(super) fn counts(&self) -> bool {
        self.counts
    }

    pub(super) fn takes_keys(&self) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.takes_keys())
    }
}

/// One row, and the cursor behind it.
pub(super) fn row(text: &str, columns: usize) -> LineLayout {
    let row = width::cut(text, columns.max(COLUMNS_MIN) - 1);
    let column = width::of(&row);
    LineLayout::of_rows(vec![row], column)
}
