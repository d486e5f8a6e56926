//! How many tokens will this be? An estimate, where no provider has counted (spec 04, last lines of "Compression").

use std::{
    io,
    iter::Sum,
    ops::{Add, AddAssign},
};

use serde_json::Value;

use protocol::{ContextMessage, MessagePart, ToolDeclaration};

mod image;

/// An ASCII character: 0.25 tokens (spec 04).
const ASCII: u64 = 25;

/// Any other character: 1.3 tokens (spec 04).
const OTHER: u64 = 130;

/// What wraps a message on the wire: its role, and marks of its begin and end. A guess on the high side.
const PER_MESSAGE: TokenEstimate = TokenEstimate::tokens(4);

/// What wraps a part, a call, a result or a declaration: names of fields, an id.
const PER_PART: TokenEstimate = TokenEstimate::tokens(3);

/// Data that is neither image nor text, per KiB. Gemini counts 32 tokens for a second of sound, which is 16 KiB of
/// a usual recording, and 258 for a page of a PDF, which seldom has less than 50 KiB: this is the higher of both.
const DATA_PER_KIB: u64 = 5;

/// The least that data counts, however few bytes it has, and what a file counts that the provider fetches itself, since
/// nobody here knows its size: one image tile, or one page.
const DATA_LEAST: TokenEstimate = TokenEstimate::tokens(258);

/// An estimated number of tokens, in hundredths. What would not fit stays at the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenEstimate(u64);

impl TokenEstimate {
    pub const fn tokens(tokens: u64) -> TokenEstimate {
        TokenEstimate(tokens.saturating_mul(100))
    }

    pub const fn hundredths(self) -> u64 {
        self.0
    }

    pub(super) const fn of_hundredths(hundredths: u64) -> TokenEstimate {
        TokenEstimate(hundredths)
    }

    pub const fn saturating_sub(self, other: TokenEstimate) -> TokenEstimate {
        TokenEstimate(self.0.saturating_sub(other.0))
    }
}

impl Add for TokenEstimate {
    type Output = TokenEstimate;

    fn add(self, other: TokenEstimate) -> TokenEstimate {
        TokenEstimate(self.0.saturating_add(other.0))
    }
}

impl AddAssign for TokenEstimate {
    fn add_assign(&mut self, other: TokenEstimate) {
        *self = *self + other;
    }
}

impl Sum for TokenEstimate {
    fn sum<I: Iterator<Item = TokenEstimate>>(weights: I) -> TokenEstimate {
        weights.fold(TokenEstimate::default(), Add::add)
    }
}

/// What a message holds, counted once for both measures: tokens, and the characters by which a history is split.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MessageLength {
    ascii: u64,
    other: u64,
    /// What has no characters: data, and what wraps the parts.
    beside: TokenEstimate,
}

impl MessageLength {
    pub(super) fn of_message(message: &ContextMessage) -> MessageLength {
        let mut extent = MessageLength { beside: PER_MESSAGE, ..MessageLength::default() };
        message.parts.iter().for_each(|part| extent.add_part(part));
        extent
    }

    pub(super) fn of_parts(parts: &[MessagePart]) -> MessageLength {
        let mut extent = MessageLength::default();
        parts.iter().for_each(|part| extent.add_part(part));
        extent
    }

    pub(super) fn weight(self) -> TokenEstimate {
        let text = self.ascii.saturating_mul(ASCII).saturating_add(self.other.saturating_mul(OTHER));
        TokenEstimate(text) + self.beside
    }

    /// Data counts as many characters as would weigh the same.
    pub(super) fn chars(self) -> u64 {
        self.ascii.saturating_add(self.other).saturating_add(self.beside.0 / ASCII)
    }

    fn add_part(&mut self, part: &MessagePart) {
        self.beside += PER_PART;
        match part {
            MessagePart::Text { text } => self.add_text(text),
            // A signature goes back with its thought, and providers count it.
            MessagePart::Thought { text, signature } => {
                self.add_text(text);
                self.add_text(signature.as_deref().unwrap_or_default());
            }
            MessagePart::ToolCall(call) => {
                self.add_text(call.name.as_str());
                self.add_json(&call.arguments);
                self.add_text(call.signature.as_deref().unwrap_or_default());
            }
            MessagePart::ToolResult { name, parts, .. } => {
                self.add_text(name.as_str());
                parts.iter().for_each(|part| self.add_part(part));
            }
            MessagePart::InlineData { mime_type, data } => self.beside += weigh_data(mime_type, data),
            MessagePart::File { uri, .. } => {
                self.beside += DATA_LEAST;
                self.add_text(uri);
            }
        }
    }

    fn add_text(&mut self, text: &str) {
        self.add_bytes(text.as_bytes());
    }

    /// The order of an object's members changes nothing about its length, so this is as good as the canonical form.
    fn add_json(&mut self, value: &Value) {
        serde_json::to_writer(self, value).expect("a value's keys are texts, and counting never fails");
    }

    /// Also right for pieces of UTF-8 that are cut within a character: only first bytes of characters count.
    fn add_bytes(&mut self, bytes: &[u8]) {
        // Perf: counters as wide as what is counted let the compiler look at many bytes at once; so few cannot overflow one.
        for few in bytes.chunks(usize::from(u8::MAX)) {
            self.ascii += u64::from(few.iter().map(|byte| u8::from(byte.is_ascii())).sum::<u8>());
            self.other += u64::from(few.iter().map(|byte| u8::from(0xC0 <= *byte)).sum::<u8>());
        }
    }
}

impl io::Write for &mut MessageLength {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add_bytes(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a message takes of the window. A provider's verbatim block counts as the parts that stand for it.
pub fn weigh(message: &ContextMessage) -> TokenEstimate {
    MessageLength::of_message(message).weight()
}

/// What a text takes, with nothing around it.
pub fn weigh_text(text: &str) -> TokenEstimate {
    let mut extent = MessageLength::default();
    extent.add_text(text);
    extent.weight()
}

/// As much of a text, from its beginning, as has room.
pub fn beginning(text: &str, room: TokenEstimate) -> &str {
    let mut left = room.0;
    let is_too_much = |(_, letter): &(usize, char)| {
        let weight = if letter.is_ascii() { ASCII } else { OTHER };
        let is_too_much = left < weight;
        left = left.saturating_sub(weight);
        is_too_much
    };
    text.char_indices().find(is_too_much).map_or(text, |(end, _)| &text[..end])
}

/// What declaring these tools takes.
pub fn weigh_tools(tools: &[ToolDeclaration]) -> TokenEstimate {
    let weigh_tool = |tool: &ToolDeclaration| {
        let mut extent = MessageLength { beside: PER_PART, ..MessageLength::default() };
        extent.add_text(tool.name.as_str());
        extent.add_text(&tool.description);
        extent.add_json(&tool.parameters);
        extent.weight()
    };
    tools.iter().map(weigh_tool).sum()
}

/// Inline data, by what a model makes of it: an image by its tiles, a text by its length, the rest by its bytes.
fn weigh_data(mime_type: &str, data: &str) -> TokenEstimate {
    let bytes = data_bytes(data);
    let kind = mime_type.trim().to_ascii_lowercase();
    if kind.starts_with("image/") {
        image::weigh(data)
    } else if kind.starts_with("text/") || kind.starts_with("application/json") {
        TokenEstimate(bytes.saturating_mul(ASCII))
    } else {
        // Perf: exact enough, and no overflow: bytes come from a string in memory.
        TokenEstimate(bytes.saturating_mul(DATA_PER_KIB * 100) / 1024).max(DATA_LEAST)
    }
}

/// How many bytes base64 text stands for.
pub(super) fn data_bytes(data: &str) -> u64 {
    let digits = data.trim_end_matches('=').len() as u64;
    digits / 4 * 3 + digits % 4 * 3 / 4
}

/// Thousandths by which estimates are multiplied. No text that a model can read is further off than this; a count beyond
/// would be about something else, say a request with parts that were not weighed.
const RATIO_MIN: u64 = 250;
const RATIO_MAX: u64 = 4_000;
const RATIO_ONE: u64 = 1_000;

/// Corrects estimates by how far the last one was off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenEstimator {
    /// Invariant: between `RATIO_MIN` and `RATIO_MAX`.
    ratio: u64,
}

impl Default for TokenEstimator {
    fn default() -> Self {
        TokenEstimator { ratio: RATIO_ONE }
    }
}

impl TokenEstimator {
    /// Takes in what a provider counted for a request that was estimated at so much. A count of 0 is none, and neither is
    /// an estimate of 0.
    pub fn learn(&mut self, estimated: TokenEstimate, counted: u64) {
        if counted == 0 || estimated == TokenEstimate::default() {
            return;
        }
        let ratio = u128::from(counted) * 100 * u128::from(RATIO_ONE) / u128::from(estimated.0);
        self.ratio = u64::try_from(ratio).unwrap_or(RATIO_MAX).clamp(RATIO_MIN, RATIO_MAX);
    }

    /// Tokens, rounded up.
    pub fn tokens(&self, weight: TokenEstimate) -> u64 {
        let tokens = (u128::from(weight.0) * u128::from(self.ratio)).div_ceil(100 * u128::from(RATIO_ONE));
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }

    /// The weight that is estimated at so many tokens, rounded down: what fits into a room that a provider's limit sets.
    pub fn weight(&self, tokens: u64) -> TokenEstimate {
        let hundredths = u128::from(tokens) * 100 * u128::from(RATIO_ONE) / u128::from(self.ratio);
        TokenEstimate(u64::try_from(hundredths).unwrap_or(u64::MAX))
    }
}
