//! Does a known value stand here, as it is, escaped, percent-encoded, or within base64?
//!
//! A value is compared byte by byte with what the text *means*: each byte may stand there as itself, as `%2F`, as
//! `\n`, `\"` or `\u002f`, also escaped several times over, and each in its own way. In base64 a value can begin at
//! any of three positions within a group; what it determines of the characters is compared, the rest is free.

use super::{
    environment::SecretValue,
    window::{NeedsMoreText, TextWindow},
};

/// Backslashes in a row that are one escaped character at most: three levels of JSON within JSON.
const MOST_BACKSLASHES: usize = 8;

/// Levels of percent-encoding on top of the first: `%25252F`.
const MOST_PERCENTS: usize = 3;

/// The characters of base64 by their values; the address-safe alphabet has `-` and `_` for the last two.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Every form of every known value.
pub(super) struct NeedleIndex {
    needles: Vec<Needle>,
    /// By the byte that a needle begins with.
    by_first: Vec<Vec<usize>>,
}

struct Needle {
    form: NeedleForm,
    label: u32,
}

enum NeedleForm {
    Bytes(Vec<u8>),
    /// For each character the values it may have, one bit each.
    Base64(Vec<u64>),
}

/// What one piece of text may mean.
#[derive(Debug, Clone, Copy)]
struct DecodedPiece {
    bytes: [u8; 4],
    length: usize,
    /// Where the next piece begins.
    next: usize,
}

impl NeedleIndex {
    /// `label` of the first secret; the others follow.
    pub fn new(secrets: &[SecretValue], first_label: u32) -> NeedleIndex {
        let mut needles = Vec::new();
        for (label, secret) in (first_label..).zip(secrets) {
            needles.push(Needle { form: NeedleForm::Bytes(secret.value.clone()), label });
            for alignment in 0..3 {
                needles
                    .push(Needle { form: NeedleForm::Base64(base64_masks(&secret.value, alignment)), label });
            }
        }
        let mut by_first = vec![Vec::new(); 256];
        for (index, needle) in needles.iter().enumerate() {
            for byte in needle.form.bytes_at(0) {
                by_first[usize::from(byte)].push(index);
            }
        }
        NeedleIndex { needles, by_first }
    }

    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// The three bytes that each needle may begin with, unescaped.
    pub fn beginnings(&self) -> Vec<[u8; 3]> {
        let mut beginnings = Vec::new();
        for needle in &self.needles {
            for first in needle.form.bytes_at(0) {
                for second in needle.form.bytes_at(1) {
                    let thirds = needle.form.bytes_at(2);
                    beginnings.extend(thirds.into_iter().map(|third| [first, second, third]));
                }
            }
        }
        beginnings
    }

    /// The longest value that begins at `start`: its end and its label.
    pub fn longest_at(
        &self,
        window: &TextWindow<'_>,
        start: usize,
    ) -> Result<Option<(usize, u32)>, NeedsMoreText> {
        let mut readings = Vec::new();
        read(window, start, &mut readings)?;
        let mut longest: Option<(usize, u32)> = None;
        for reading in readings {
            for index in &self.by_first[usize::from(reading.bytes[0])] {
                let needle = &self.needles[*index];
                if let Some(end) = needle.form.end(window, start)?
                    && longest.is_none_or(|(other, _)| end > other)
                {
                    longest = Some((end, needle.label));
                }
            }
        }
        Ok(longest)
    }
}

impl NeedleForm {
    fn len(&self) -> usize {
        match self {
            NeedleForm::Bytes(bytes) => bytes.len(),
            NeedleForm::Base64(masks) => masks.len(),
        }
    }

    /// What may stand, unescaped, at this place of the form.
    fn bytes_at(&self, index: usize) -> Vec<u8> {
        match self {
            NeedleForm::Bytes(bytes) if is_blank(bytes[index]) => vec![b' ', b'+', b'\n', b'\r', b'\t'],
            NeedleForm::Bytes(bytes) => vec![bytes[index]],
            NeedleForm::Base64(masks) => (0..=u8::MAX).filter(|byte| is_in(masks[index], *byte)).collect(),
        }
    }

    /// Where the longest reading of this form ends that begins at `start`.
    ///
    /// Places are visited in order of what they have matched, so each is visited once.
    fn end(&self, window: &TextWindow<'_>, start: usize) -> Result<Option<usize>, NeedsMoreText> {
        let mut end = None;
        let mut open = vec![(0, start)];
        let mut readings = Vec::new();
        while let Some(first) = (0..open.len()).min_by_key(|index| open[*index]) {
            let (matched, at) = open.swap_remove(first);
            if matched == self.len() {
                end = end.max(Some(at));
                continue;
            }
            readings.clear();
            read(window, at, &mut readings)?;
            for reading in &readings {
                let next = (matched + self.step(matched, reading), reading.next);
                let is_break =
                    matches!(self, NeedleForm::Base64(_)) && matched > 0 && reading.is_line_break();
                if (next.0 > matched || is_break) && !open.contains(&next) {
                    open.push(next);
                }
            }
        }
        Ok(end)
    }

    /// How much further this reading leads; 0 when it does not fit.
    fn step(&self, matched: usize, reading: &DecodedPiece) -> usize {
        let bytes = &reading.bytes[..reading.length];
        let fits = match self {
            NeedleForm::Bytes(expected) => {
                let is_same = expected[matched..].starts_with(bytes);
                // What shows a value on one line makes spaces of its breaks.
                is_same || (bytes.len() == 1 && is_blank(bytes[0]) && is_blank(expected[matched]))
            }
            NeedleForm::Base64(masks) => bytes.len() == 1 && is_in(masks[matched], bytes[0]),
        };
        if fits { bytes.len() } else { 0 }
    }
}

impl DecodedPiece {
    fn of(byte: u8, next: usize) -> DecodedPiece {
        DecodedPiece { bytes: [byte, 0, 0, 0], length: 1, next }
    }

    fn is_line_break(&self) -> bool {
        self.length == 1 && matches!(self.bytes[0], b'\n' | b'\r')
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// What may stand at each character of base64 that a value at this alignment has a share in.
fn base64_masks(value: &[u8], alignment: usize) -> Vec<u64> {
    let begin = 8 * alignment;
    let end = begin + 8 * value.len();
    let bit = |at: usize| (value[(at - begin) / 8] >> (7 - (at - begin) % 8)) & 1;
    let is_possible = |character: usize, candidate: usize| {
        (0..6).all(|offset| {
            let at = 6 * character + offset;
            let found = (candidate >> (5 - offset)) & 1;
            at < begin || at >= end || usize::from(bit(at)) == found
        })
    };
    let mask = |character: usize| {
        (0..64).filter(|value| is_possible(character, *value)).fold(0, |mask, value| mask | 1_u64 << value)
    };
    (begin / 6..end.div_ceil(6)).map(mask).collect()
}

fn is_in(mask: u64, byte: u8) -> bool {
    let value = match byte {
        b'-' => 62,
        b'_' => 63,
        _ => match ALPHABET.iter().position(|known| *known == byte) {
            Some(value) => value,
            None => return false,
        },
    };
    mask >> value & 1 == 1
}

/// All readings of what stands at `at`; none at the end of the text.
fn read(window: &TextWindow<'_>, at: usize, readings: &mut Vec<DecodedPiece>) -> Result<(), NeedsMoreText> {
    let Some(byte) = window.byte(at)? else { return Ok(()) };
    readings.push(DecodedPiece::of(byte, at + 1));
    match byte {
        b'+' => readings.push(DecodedPiece::of(b' ', at + 1)),
        b'%' => read_percent(window, at, readings)?,
        b'\\' => read_escape(window, at, readings)?,
        _ => (),
    }
    Ok(())
}

fn read_percent(
    window: &TextWindow<'_>,
    at: usize,
    readings: &mut Vec<DecodedPiece>,
) -> Result<(), NeedsMoreText> {
    let mut digits = at + 1;
    for _level in 0..=MOST_PERCENTS {
        let Some(byte) = hex(window, digits, 2)?.and_then(|number| u8::try_from(number).ok()) else { break };
        readings.push(DecodedPiece::of(byte, digits + 2));
        if byte != b'%' {
            break;
        }
        digits += 2;
    }
    Ok(())
}

fn read_escape(
    window: &TextWindow<'_>,
    at: usize,
    readings: &mut Vec<DecodedPiece>,
) -> Result<(), NeedsMoreText> {
    let after = window.run(at, MOST_BACKSLASHES, |byte| byte == b'\\')?;
    for length in [2, 4, 8] {
        if length <= after - at {
            readings.push(DecodedPiece::of(b'\\', at + length));
        }
    }
    let meant = match window.byte(after)? {
        Some(quote @ (b'"' | b'\'' | b'/')) => quote,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'u') => return read_unicode(window, after + 1, after - at, readings),
        _ => return Ok(()),
    };
    readings.push(DecodedPiece::of(meant, after + 1));
    Ok(())
}

/// `\u002f`, or a pair of them, the second behind as many backslashes as the first.
fn read_unicode(
    window: &TextWindow<'_>,
    digits: usize,
    backslashes: usize,
    readings: &mut Vec<DecodedPiece>,
) -> Result<(), NeedsMoreText> {
    let Some(mut number) = hex(window, digits, 4)? else { return Ok(()) };
    let mut next = digits + 4;
    if (0xD800..0xDC00).contains(&number) {
        let escape = window.run(next, backslashes, |byte| byte == b'\\')?;
        if escape - next != backslashes || window.byte(escape)? != Some(b'u') {
            return Ok(());
        }
        let Some(low) = hex(window, escape + 1, 4)?.filter(|low| (0xDC00..0xE000).contains(low)) else {
            return Ok(());
        };
        number = 0x1_0000 + ((number - 0xD800) << 10) + (low - 0xDC00);
        next = escape + 5;
    }
    if let Some(ch) = char::from_u32(number) {
        let mut bytes = [0; 4];
        let length = ch.encode_utf8(&mut bytes).len();
        readings.push(DecodedPiece { bytes, length, next });
    }
    Ok(())
}

fn hex(window: &TextWindow<'_>, at: usize, digits: usize) -> Result<Option<u32>, NeedsMoreText> {
    let mut number = 0;
    for offset in 0..digits {
        let digit = window.byte(at + offset)?.and_then(|byte| char::from(byte).to_digit(16));
        let Some(digit) = digit else { return Ok(None) };
        number = number * 16 + digit;
    }
    Ok(Some(number))
}
