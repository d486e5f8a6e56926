//! Does a text end with an escape? A key right behind one is no part of the word that the escape's last letter seems to end: tools
//! colour what they print, and JSON, programs' texts and addresses write a line break as letters.

/// Bytes of an escape at most: a colour in 24 bits with its attributes is the longest.
pub(in super::super) const LONGEST_ESCAPE: usize = 24;

/// Letters behind a backslash, as JSON, C, Python and shells have them.
const BACKSLASHED: &[u8] = b"abefnrtv";

/// Escapes of a fixed number of digits: what stands before the digits, their number, and their base.
const NUMBERED: &[(&[u8], usize, u32)] = &[
    (b"%", 2, 16),
    (b"=", 2, 16),
    (b"\\x", 2, 16),
    (b"\\u", 4, 16),
    (b"\\", 1, 8),
    (b"\\", 2, 8),
    (b"\\", 3, 8),
];

/// True if an escape stands at the end: of a string (`\n`, `\u001b`, `\x1b`, `\033`), of an address (`%0A`), of a mail (`=3D`), or
/// one that sets a terminal's colours (`[31m`, whatever is left of what begins it).
pub(super) fn ends_with_escape(text: &[u8]) -> bool {
    let text = &text[text.len().saturating_sub(LONGEST_ESCAPE)..];
    let Some((last, before)) = text.split_last() else { return false };
    if before.ends_with(b"\\") && BACKSLASHED.contains(last) {
        return true;
    }
    let is_numbered = |(lead, digits, base): &(&[u8], usize, u32)| {
        let Some(at) = text.len().checked_sub(*digits) else { return false };
        text[..at].ends_with(lead) && text[at..].iter().all(|byte| char::from(*byte).is_digit(*base))
    };
    if NUMBERED.iter().any(is_numbered) {
        return true;
    }
    // A control sequence of a terminal (ECMA-48, 5.4): `[`, numbers, a letter.
    let is_number = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b';' | b':');
    let numbers = before.iter().rev().take_while(|byte| is_number(byte)).count();
    last.is_ascii_alphabetic() && before[..before.len() - numbers].ends_with(b"[")
}
