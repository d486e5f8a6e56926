//! How much more than the page itself may what it becomes be?
//!
//! A page need not be large to become large: a long `<base>` stands in each of its links, and each line of a quotation in a
//! quotation has the signs of both. What is added to a page is counted here, and there is an end to it.

use std::cell::Cell;

/// What is added may be so many times the page. Ordinary pages add half of themselves at most.
const TIMES_THE_PAGE: usize = 2;
/// A small page may have a long address, and many links to places beside it.
const LEAST_BYTES: usize = 64 * 1024;

/// Bytes that may still be added.
pub(super) struct MarkdownBudget {
    left: Cell<usize>,
    is_spent: Cell<bool>,
}

impl MarkdownBudget {
    pub fn of(page_bytes: usize) -> MarkdownBudget {
        let left = page_bytes.saturating_mul(TIMES_THE_PAGE).max(LEAST_BYTES);
        MarkdownBudget { left: Cell::new(left), is_spent: Cell::new(false) }
    }

    /// Takes so many bytes. False when there are not so many; from then on nothing more is given.
    pub fn take(&self, bytes: usize) -> bool {
        let left = self.left.get().checked_sub(bytes).filter(|_| !self.is_spent.get());
        match left {
            Some(left) => self.left.set(left),
            None if bytes == 0 => return true,
            None => self.is_spent.set(true),
        }
        left.is_some()
    }

    /// Something was to be added that was not.
    pub fn is_spent(&self) -> bool {
        self.is_spent.get()
    }
}
