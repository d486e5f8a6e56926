//! What can be read of a text that may still grow?

use std::cell::Cell;

/// The text so far ends where the answer would begin: ask again when there is more of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NeedsMoreText;

/// A text, or as much of it as there is.
pub(super) struct TextWindow<'a> {
    pub text: &'a str,
    /// Nothing will follow.
    pub is_whole: bool,
    /// Bytes that were looked at beyond the one pass over all: what a test bounds.
    work: Cell<u64>,
}

impl<'a> TextWindow<'a> {
    pub fn new(text: &'a str, is_whole: bool) -> TextWindow<'a> {
        TextWindow { text, is_whole, work: Cell::new(0) }
    }

    pub fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// The byte at `at`; `None` at the end of the text.
    pub fn byte(&self, at: usize) -> Result<Option<u8>, NeedsMoreText> {
        self.work.set(self.work.get() + 1);
        match self.bytes().get(at) {
            Some(byte) => Ok(Some(*byte)),
            None if self.is_whole => Ok(None),
            None => Err(NeedsMoreText),
        }
    }

    /// The byte before `at`; `None` at the beginning of the text.
    pub fn before(&self, at: usize) -> Option<u8> {
        at.checked_sub(1).and_then(|at| self.bytes().get(at).copied())
    }

    /// Where the run of bytes of this class ends that begins at `from`, looking at `most` of them.
    pub fn run(&self, from: usize, most: usize, class: fn(u8) -> bool) -> Result<usize, NeedsMoreText> {
        let mut at = from;
        while at - from < most && self.byte(at)?.is_some_and(class) {
            at += 1;
        }
        Ok(at)
    }

    /// True if `words` stand at `at`.
    pub fn reads(&self, at: usize, words: &str, case: LetterCase) -> Result<bool, NeedsMoreText> {
        for (offset, expected) in words.bytes().enumerate() {
            let is_same = match (self.byte(at + offset)?, case) {
                (Some(found), LetterCase::Exact) => found == expected,
                (Some(found), LetterCase::Any) => found.eq_ignore_ascii_case(&expected),
                (None, _) => false,
            };
            if !is_same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[cfg(test)]
    pub fn work(&self) -> u64 {
        self.work.get()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LetterCase {
    Exact,
    Any,
}
