//! Does a name whose bytes are written in letters, `path-bytes:<base64url>` (spec 05), hide a secret? Nothing else finds it there.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use super::{
    HiddenSpan, RedactionRules,
    scan::OutputPiece,
    window::{LetterCase, NeedsMoreText, TextWindow},
};

/// Before the bytes.
pub(super) const PREFIX: &str = "path-bytes:";

/// Letters that are read at most: more than any path has (Linux: 4,096 bytes), a multiple of the four that stand for three bytes.
const MOST_LETTERS: usize = 16 * 1024;

impl RedactionRules {
    /// Hides the letters of a name that begins at `start` if its bytes hold a secret, under what the first of them is called.
    pub(super) fn named_bytes(
        &self,
        window: &TextWindow<'_>,
        start: usize,
    ) -> Result<Option<HiddenSpan>, NeedsMoreText> {
        if !window.reads(start, PREFIX, LetterCase::Exact)? {
            return Ok(None);
        }
        let start = start + PREFIX.len();
        let end =
            window.run(start, MOST_LETTERS, |byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))?;
        let Ok(bytes) = BASE64_URL_SAFE_NO_PAD.decode(&window.bytes()[start..end]) else {
            return Ok(None);
        };
        // Without what made a name of letters of it: a break, a tab, a byte that is no text.
        let first = self.pieces(&String::from_utf8_lossy(&bytes)).into_iter().find_map(|piece| match piece {
            OutputPiece::Mark { label, .. } => Some(label),
            OutputPiece::Plain { .. } => None,
        });
        Ok(first.map(|label| HiddenSpan { start, end, label }))
    }
}
