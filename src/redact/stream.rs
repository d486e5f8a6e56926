//! How is a text redacted that arrives in pieces, with a secret across their borders?

use super::{Redactor, scan::RedactionScan, window::TextWindow};

/// Redacts a text as it arrives. All that it returns, joined, is what [`Redactor::text`] makes of the whole, however
/// the text was cut; so nothing is ever shown that it would have hidden.
///
/// Held back is at most what may still become part of a secret: usually the word that has begun, or less. A
/// known value, a key of a fixed shape or a password in an address is decided within a few times its longest length;
/// a configured pattern within [`super::MOST_HELD_BYTES`], after which what is held is hidden as one block. Of a
/// secret that was found already nothing is held, however long it goes on.
pub struct StreamRedactor {
    redactor: Redactor,
    scan: RedactionScan,
    /// What was pushed and is still asked for.
    window: String,
}

impl StreamRedactor {
    pub(super) fn new(redactor: Redactor) -> StreamRedactor {
        let scan = RedactionScan::new(&redactor.rules);
        StreamRedactor { redactor, scan, window: String::new() }
    }

    /// Takes more of the text; returns what may be shown now.
    #[must_use = "what is returned is not returned again"]
    pub fn push(&mut self, delta: &str) -> String {
        self.window.push_str(delta);
        let shown = self.advance(false);
        let spent = self.window.floor_char_boundary(self.scan.spent());
        if spent > 0 {
            self.scan.shift(spent);
            self.window.drain(..spent);
        }
        shown
    }

    /// Ends the text; returns the rest of it.
    #[must_use = "what is returned is not returned again"]
    pub fn finish(mut self) -> String {
        self.advance(true)
    }

    /// Bytes that are kept: what is held back, and a little before it.
    pub fn held_bytes(&self) -> usize {
        self.window.len()
    }

    fn advance(&mut self, is_whole: bool) -> String {
        let window = TextWindow::new(&self.window, is_whole);
        let pieces = self.scan.advance(&self.redactor.rules, &window);
        self.redactor.written(&self.window, &pieces)
    }
}
