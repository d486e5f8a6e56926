//! Does a name whose bytes are written in letters, `path-bytes:<base64url>` (spec 05), hide a secret? Nothing else finds it there.

use base64::{
    Engine as _,
    alphabet::URL_SAFE,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{
    HiddenSpan, RedactionRules,
    scan::OutputPiece,
    window::{LetterCase, NeedsMoreText, TextWindow},
};

/// Before the bytes.
pub(super) const PREFIX: &str = "path-bytes:";

/// Letters that are read at most: more than any path has (Linux: 4,096 bytes), a multiple of the four that stand for three bytes.
const MOST_LETTERS: usize = 16 * 1024;

/// Reads also what was cut, or stands glued to other letters: its last bits are no whole byte then.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl RedactionRules {
    /// Hides the letters of a name that begins at `start` if its bytes hold a secret, under what the first of them is called.
    /// `read_to`: as far as its letters have been read before; kept while there is no end of them, so that none is read twice.
    pub(super) fn named_bytes(
        &self,
        window: &TextWindow<'_>,
        start: usize,
        read_to: &mut usize,
    ) -> Result<Option<HiddenSpan>, NeedsMoreText> {
        if !window.reads(start, PREFIX, LetterCase::Exact)? {
            return Ok(None);
        }
        let start = start + PREFIX.len();
        // What was read before lies in this name, or before it: between two names stands at least a colon.
        let from = start.max(*read_to);
        let left = MOST_LETTERS.saturating_sub(from - start);
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let end = window.run(from, left, is_letter).inspect_err(|_| *read_to = window.bytes().len())?;
        // One letter alone is no byte yet.
        let whole = end - usize::from((end - start) % 4 == 1);
        let Ok(bytes) = LENIENT.decode(&window.bytes()[start..whole]) else {
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
