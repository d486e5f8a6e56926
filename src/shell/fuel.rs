//! How much work may it be to judge one text, and does anybody still wait for it?

use std::cell::Cell;

/// Work that one text may be: letters read, words looked at, names held against patterns. Some ten scripts as long as a text may be
/// are less; what is more was written to keep others waiting, and is not read to its end.
const MOST_WORK: usize = 5_000_000;

/// Work between two questions whether anybody waits: some milliseconds.
const BETWEEN_LOOKS: usize = 1 << 16;

/// The work of following a path through the file system.
pub(super) const PATH_WORK: usize = 100;

/// Runs out once. From then on the text is not understood, and whoever reads it should come to an end.
pub(super) struct ReadingFuel<'a> {
    left: Cell<usize>,
    look_at: Cell<usize>,
    is_wanted: &'a dyn Fn() -> bool,
    why_out: Cell<Option<&'static str>>,
}

impl<'a> ReadingFuel<'a> {
    pub fn new(is_wanted: &'a dyn Fn() -> bool) -> ReadingFuel<'a> {
        ReadingFuel {
            left: Cell::new(MOST_WORK),
            look_at: Cell::new(MOST_WORK - BETWEEN_LOOKS),
            is_wanted,
            why_out: Cell::new(None),
        }
    }

    /// False when there is none left.
    pub fn burn(&self, work: usize) -> bool {
        let left = self.left.get().saturating_sub(work);
        self.left.set(left);
        if left == 0 {
            self.ends("it would take too long to judge it");
        } else if left < self.look_at.get() {
            self.look_at.set(left.saturating_sub(BETWEEN_LOOKS));
            if !(self.is_wanted)() {
                self.ends("nobody waits for it any more");
            }
        }
        self.why_out.get().is_none()
    }

    fn ends(&self, why: &'static str) {
        if self.why_out.get().is_none() {
            self.why_out.set(Some(why));
        }
    }

    /// The reason why a text is not read to its end.
    pub fn why_out(&self) -> Option<&'static str> {
        self.why_out.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuel_runs_out_for_good_and_at_once_when_nobody_waits() {
        let fuel = ReadingFuel::new(&|| true);
        assert!(fuel.burn(MOST_WORK - 1) && !fuel.burn(1) && !fuel.burn(0));
        assert_eq!(fuel.why_out(), Some("it would take too long to judge it"));
        let fuel = ReadingFuel::new(&|| false);
        assert!(fuel.burn(BETWEEN_LOOKS) && !fuel.burn(1));
        assert_eq!(fuel.why_out(), Some("nobody waits for it any more"));
    }
}
