//! Does a text end with an escape? A key right behind one is no part of the word that the escape's last letter seems to end: tools
//! colour what they print, and JSON, programs' texts and addresses write a line break as letters.

/// Bytes of an escape at most: a terminal's fore- and background in 24 bits, with attributes, and the escape's own escape.
pub(in super::super) const LONGEST_ESCAPE: usize = 64;

/// Letters behind a backslash, as JSON, C, Python and shells have them.
const BACKSLASHED: &[u8] = b"abefnrtv";

/// Escapes of a fixed number of digits: what stands before the digits, their number, and their base.
const NUMBERED: &[(&[u8], usize, u32)] = &[
    (b"%u", 4, 16),
    (b"\\x", 2, 16),
    (b"\\u", 4, 16),
    (b"\\U", 8, 16),
    (b"\\", 1, 8),
    (b"\\", 2, 8),
    (b"\\", 3, 8),
    (b"\\", 4, 8),
    (b"&#x", 2, 16),
    (b"&#", 2, 10),
];

/// What stands for the control character that begins a terminal's sequence: itself, as JSON and programs' texts write it, and as
/// pagers show it.
const ESCAPE_CHARACTER: &[&[u8]] =
    &[b"\x1b", b"\\u001b", b"\\u001B", b"\\x1b", b"\\x1B", b"\\e", b"\\E", b"\\033", b"^["];

/// Bytes in mails that are written as `=` and two digits, since they would end a line or a word (RFC 2045, 6.7). Others look like
/// what is given to a name.
const QUOTED_PRINTABLE: &[&[u8]] = &[b"=09", b"=0A", b"=0D", b"=20", b"=22", b"=27", b"=2C", b"=3D"];

/// True if an escape stands at the end: of a string (`\n`, `\u001b`, `\x1b`, `\033`), of an address (`%0A`), of a mail (`=3D`), of a
/// page, or one that moves a terminal.
pub(super) fn ends_with_escape(text: &[u8]) -> bool {
    let text = &text[text.len().saturating_sub(LONGEST_ESCAPE)..];
    let Some((last, before)) = text.split_last() else { return false };
    let is_backslashed = before.ends_with(b"\\") && BACKSLASHED.contains(last);
    // As pagers show a control character.
    let is_caret = before.ends_with(b"^") && last.is_ascii_uppercase();
    is_backslashed
        || is_caret
        || NUMBERED.iter().any(|(lead, digits, base)| ends_with_number(text, lead, *digits, *base))
        || QUOTED_PRINTABLE.iter().any(|quoted| text.ends_with(quoted))
        || ends_with_percent(text)
        || ends_with_sequence(text)
}

fn ends_with_number(text: &[u8], lead: &[u8], digits: usize, base: u32) -> bool {
    let Some((before, number)) = text.len().checked_sub(digits).map(|at| text.split_at(at)) else {
        return false;
    };
    before.ends_with(lead) && number.iter().all(|byte| char::from(*byte).is_digit(base))
}

/// `%0A`, also within an address that was escaped again (`%250A`). One that stands for a letter belongs to a word, and `%de` of
/// `50%desk` stands for nothing.
fn ends_with_percent(text: &[u8]) -> bool {
    let Some((mut before, digits)) = text.len().checked_sub(2).map(|at| text.split_at(at)) else {
        return false;
    };
    let Some(byte) = std::str::from_utf8(digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok())
    else {
        return false;
    };
    while let Some(shorter) = before.strip_suffix(b"25") {
        before = shorter;
    }
    let Some(before) = before.strip_suffix(b"%") else { return false };
    let is_of_several = !byte.is_ascii() && ends_with_number(before, b"%", 2, 16);
    is_of_several || (byte.is_ascii() && !byte.is_ascii_alphanumeric())
}

/// A sequence of a terminal (ECMA-48, 5.3 and 5.4; ISO 2022): behind the control character `[`, numbers and a letter, or a letter
/// alone. Where the control character was lost, only one with a number is taken for such a sequence.
fn ends_with_sequence(text: &[u8]) -> bool {
    let Some((last, before)) = text.split_last() else { return false };
    let without = |class: fn(&u8) -> bool, text: &'_ [u8]| {
        text.len() - text.iter().rev().take_while(|byte| class(byte)).count()
    };
    let is_begun = |text: &[u8]| ESCAPE_CHARACTER.iter().any(|lead| text.ends_with(lead));
    let before_marks = &before[..without(|byte| (b' '..=b'/').contains(byte), before)];
    let numbers = without(|byte| (b'0'..=b'?').contains(byte), before_marks);
    match before_marks[..numbers].strip_suffix(b"[") {
        Some(lead) if is_begun(lead) => true,
        Some(_) => *last == b'm' && before_marks[numbers..].iter().any(u8::is_ascii_digit),
        None => is_begun(before_marks),
    }
}
