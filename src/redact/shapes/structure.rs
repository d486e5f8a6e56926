//! Secrets with parts: private keys in PEM, tokens of three segments, passwords in addresses.

use super::{NeedsMoreText, SecretGrowth, ShapeMatch, TextWindow, is_alphanumeric, is_base64, is_base64url};
use crate::window::LetterCase;

/// Between `-----BEGIN ` and `-----`; the longest known label is `ENCRYPTED PRIVATE KEY`.
const LONGEST_LABEL: usize = 48;

/// Breaks, quotes and their escapes between the header of a key and its first line.
const MOST_BEFORE_BODY: usize = 64;

/// The first line of a key has this many characters of base64, or names a header; words of prose do neither.
const LEAST_FIRST_LINE: usize = 16;

/// Marks before a line.
const MOST_LINE_MARKS: usize = 16;

/// Digits of a line's number.
const LONGEST_LINE_NUMBER: usize = 9;

const FOOTER: &str = "-----END ";

/// The first segment of a token; it holds names of algorithms and keys.
const LONGEST_TOKEN_HEADER: usize = 4096;

/// Both leading segments of a token: `{"alg":…` and what it claims.
const LEAST_TOKEN_SEGMENT: usize = 10;

/// User, password and host of an address.
const LONGEST_AUTHORITY: usize = 1024;

/// The way in which a break is shown where a text must stay in one line.
const BREAK_SHOWN: &str = "\u{fffd}";

/// `-----BEGIN … PRIVATE KEY-----` and what follows, to its footer or to where it can no more be a key.
pub(super) fn private_key(
    window: &TextWindow<'_>,
    start: usize,
    after: usize,
) -> Result<ShapeMatch, NeedsMoreText> {
    let nothing = ShapeMatch::Nothing { looked_to: start };
    let label = window.run(after, LONGEST_LABEL, is_label)?;
    let words = &window.text[after..label];
    let is_private = words.ends_with("PRIVATE KEY") || words.ends_with("PRIVATE KEY BLOCK");
    if !is_private || !window.reads(label, "-----", LetterCase::Exact)? {
        return Ok(nothing);
    }
    let header = label + 5;
    // Escapes of breaks end with a letter, which no line of base64 loses by being read as one.
    let is_between =
        |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'"' | b'\'' | b'+' | b',');
    let mut body = window.run(header, MOST_BEFORE_BODY, is_between)?;
    // The end of the header's line, and the marks before the next one.
    loop {
        let is_escape =
            matches!(window.before(body), Some(b'\\')) && matches!(window.byte(body)?, Some(b'n' | b'r'));
        let skipped = match is_escape {
            true => 1,
            false if window.reads(body, BREAK_SHOWN, LetterCase::Exact)? => BREAK_SHOWN.len(),
            false => break,
        };
        body = window.run(body + skipped, MOST_BEFORE_BODY, is_between)?;
        if body - header >= MOST_BEFORE_BODY {
            return Ok(nothing);
        }
    }
    let body = behind_line_mark(window, body)?;
    let line = window.run(body, LEAST_FIRST_LINE, is_base64)?;
    let name = window.run(body, LEAST_FIRST_LINE, |byte| is_alphanumeric(byte) || byte == b'-')?;
    let is_key = line - body == LEAST_FIRST_LINE || (name > body && window.byte(name)? == Some(b':'));
    Ok(match is_key {
        true => ShapeMatch::Secret { start, end: body, growth: Some(SecretGrowth::PrivateKey) },
        false => nothing,
    })
}

/// Skips what stands before each line: `> ` of a quote, `-` of a diff, `12- ` of a search, the numbers of `cat -n`, `# ` of a comment.
fn behind_line_mark(window: &TextWindow<'_>, from: usize) -> Result<usize, NeedsMoreText> {
    let marks = window.run(from, MOST_LINE_MARKS, is_line_mark)?;
    let number = window.run(marks, LONGEST_LINE_NUMBER, |byte| byte.is_ascii_digit())?;
    if number == marks {
        return Ok(marks);
    }
    // A tab that is written as an escape.
    if window.byte(number)? == Some(b'\\') && window.byte(number + 1)? == Some(b't') {
        return window.run(number + 2, MOST_LINE_MARKS, is_line_mark);
    }
    if !window.byte(number)?.is_some_and(is_line_mark) {
        return Ok(marks);
    }
    window.run(number, MOST_LINE_MARKS, is_line_mark)
}

fn is_line_mark(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'>' | b'|' | b'#' | b'*' | b'-' | b'+' | b':')
}

/// True of a mark at the beginning of a line, behind nothing but others, blanks and a number.
fn begins_line(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    let is_before = |byte: &u8| is_line_mark(*byte) || byte.is_ascii_digit();
    let most = 2 * MOST_LINE_MARKS + LONGEST_LINE_NUMBER;
    let marks = before.iter().rev().take(most).take_while(|byte| is_before(byte)).count();
    match before[..at - marks].last() {
        // Also a break that is written as an escape.
        Some(byte) => {
            *byte == b'\n'
                || matches!(byte, b'n' | b'r') && before[..at - marks].ends_with(&[b'\\', *byte])
                || before[..at - marks].ends_with(BREAK_SHOWN.as_bytes())
        }
        // What came before is gone already, and was hidden.
        None => true,
    }
}

/// Behind the header everything is hidden that a key may hold, and the footer.
pub(super) fn follow_private_key(window: &TextWindow<'_>, from: usize) -> (usize, bool) {
    let bytes = window.bytes();
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match key_ends(window, at) {
            Ok(Some(end)) => return (end, true),
            Ok(None) if is_of_key(*byte) => at += 1,
            Ok(None) if is_line_mark(*byte) && begins_line(bytes, at) => at += 1,
            Ok(None) if bytes[at..].starts_with(BREAK_SHOWN.as_bytes()) => at += BREAK_SHOWN.len(),
            Ok(None) => return (at, true),
            Err(NeedsMoreText) => return (at, false),
        }
    }
    (at, window.is_whole)
}

fn key_ends(window: &TextWindow<'_>, at: usize) -> Result<Option<usize>, NeedsMoreText> {
    if !window.reads(at, FOOTER, LetterCase::Exact)? {
        return Ok(None);
    }
    let label = window.run(at + FOOTER.len(), LONGEST_LABEL, is_label)?;
    window.run(label, 5, |byte| byte == b'-').map(Some)
}

fn is_label(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
}

fn is_of_key(byte: u8) -> bool {
    is_base64(byte) || byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'"' | b'\'' | b',' | b'-' | b':')
}

/// `eyJ….….…`: a JSON object, what it claims, and more segments.
pub(super) fn json_web_token(
    window: &TextWindow<'_>,
    start: usize,
    after: usize,
) -> Result<ShapeMatch, NeedsMoreText> {
    let dot = window.run(after, LONGEST_TOKEN_HEADER, is_base64url)?;
    // Whatever else begins within this run ends where it does.
    let nothing = ShapeMatch::Nothing { looked_to: dot };
    if dot - after < LEAST_TOKEN_SEGMENT || window.byte(dot)? != Some(b'.') {
        return Ok(nothing);
    }
    let is_segment = |byte| is_base64url(byte) || byte == b'.';
    let end = window.run(dot + 1, LEAST_TOKEN_SEGMENT, is_base64url)?;
    Ok(match end - dot > LEAST_TOKEN_SEGMENT {
        true => ShapeMatch::Secret { start, end, growth: Some(SecretGrowth::Run(is_segment)) },
        false => nothing,
    })
}

/// `scheme://user:password@host`: the password.
pub(super) fn url_password(
    window: &TextWindow<'_>,
    _start: usize,
    after: usize,
) -> Result<ShapeMatch, NeedsMoreText> {
    let is_authority = |byte: u8| {
        !byte.is_ascii_whitespace()
            && !matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\')
    };
    let end = window.run(after, LONGEST_AUTHORITY, is_authority)?;
    let authority = &window.bytes()[after..end];
    let nothing = ShapeMatch::Nothing { looked_to: end };
    let Some(at) = authority.iter().rposition(|byte| *byte == b'@') else { return Ok(nothing) };
    let Some(colon) = authority[..at].iter().position(|byte| *byte == b':') else { return Ok(nothing) };
    let password = &authority[colon + 1..at];
    // Places for a password, and ours, are none.
    let is_blank = password.is_empty() || matches!(password[0], b'$' | b'{' | b'[' | b'*');
    Ok(match is_blank {
        true => nothing,
        false => ShapeMatch::Secret { start: after + colon + 1, end: after + at, growth: None },
    })
}
