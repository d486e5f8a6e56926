//! How much of a text does a span keep?

use std::fmt::Write as _;

use serde_json::Value;

use protocol::{SpanText, TraceSpan};

use super::facts::EventFacts;

/// Bytes that are kept of each text: an answer with a page of spans must stay one that can be sent. The docs say the same.
const TEXT_BYTES: usize = 16 * 1024;

/// Bytes that are kept of a line.
const LINE_BYTES: usize = 1024;

/// The beginning of a text, with the size of the whole where that is more.
pub(super) fn kept(text: &str) -> SpanText {
    let beginning = beginning(text, TEXT_BYTES);
    let is_whole = beginning.len() == text.len();
    SpanText { text: beginning.to_owned(), bytes: (!is_whole).then_some(text.len() as u64) }
}

/// The same, or nothing when the text says nothing.
pub(super) fn said(text: &str) -> Option<SpanText> {
    (!text.is_empty()).then(|| kept(text))
}

/// One line of a text, cut.
pub(super) fn line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let beginning = beginning(line, LINE_BYTES);
    if beginning.len() == line.len() { line.to_owned() } else { format!("{beginning}…") }
}

/// The text that a call returned, as its model reads it.
pub(super) fn of_result(result: EventFacts<'_>) -> Option<SpanText> {
    let parts = result.list("llmContent");
    let shown: Vec<String> = parts.iter().map(|part| of_part(EventFacts(part))).collect();
    let mut text = said(&shown.join("\n"))?;
    // Cut for the model already: the whole is longer than what was read.
    text.bytes = result.within("whole").count("totalBytes").or(text.bytes);
    Some(text)
}

fn of_part(part: EventFacts<'_>) -> String {
    match (part.text("text"), part.text("mimeType")) {
        (Some(text), _) => text.to_owned(),
        (None, Some(kind)) => format!("[{kind}]"),
        (None, None) => String::new(),
    }
}

/// A value as JSON in one line.
pub(super) fn of_value(value: &Value) -> Option<SpanText> {
    if value.is_null() {
        return None;
    }
    said(&value.to_string())
}

/// True if a span's output says no more than its error: `KIND: message`, as the model reads it.
pub fn told_by_error(span: &TraceSpan) -> bool {
    let told = |text: &SpanText| span.error.as_ref().is_some_and(|error| text.text.starts_with(&error.kind));
    span.output.as_ref().is_some_and(told)
}

/// Whom a client's id names: `ada@pts/3-3fa91c02` of the command line is ada at pts/3, the number of a connection is nobody who
/// gave a name. Another client's id is shown as it is.
pub fn person(id: &str) -> String {
    /// The places of the dashes in the number of a connection.
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let is_number = id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match DASHES.contains(&at) {
            true => byte == b'-',
            false => byte.is_ascii_hexdigit(),
        });
    if is_number {
        return "a program".to_owned();
    }
    /// The length of what keeps two commands apart that run at the same time.
    const CHANCE_DIGITS: usize = 8;
    let named = id.rsplit_once('-').filter(|(_, chance)| {
        chance.len() == CHANCE_DIGITS && chance.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    match named.map(|(who, _)| who.split_once('@').unwrap_or((who, ""))) {
        Some((user, "")) => user.to_owned(),
        Some((user, place)) => format!("{user} ({place})"),
        None => id.to_owned(),
    }
}

/// The lines of a text for a document that people read: whatever anybody takes for a line's end is one, and what acts
/// instead of showing is a sign.
pub(super) fn lines_shown(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let is_end =
        |it: char| matches!(it, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    text.split_terminator(is_end).map(shown).collect()
}

/// The same in one line.
pub(super) fn line_shown(text: &str) -> String {
    lines_shown(text).join(" ")
}

/// A sign in place of what acts, as a terminal would show it.
fn shown(line: &str) -> String {
    let mut safe = String::with_capacity(line.len());
    for character in line.chars() {
        match character {
            '\t' => safe.push(character),
            '\0'..='\x1f' => {
                safe.push('^');
                safe.push(char::from(b'@' + character as u8));
            }
            '\x7f' => safe.push_str("^?"),
            _ if acts(character) => {
                let _infallible = write!(safe, "<{:02X}>", u32::from(character));
            }
            _ => safe.push(character),
        }
    }
    safe
}

/// Controls beyond ASCII, marks and overrides of direction, and what is not seen.
fn acts(character: char) -> bool {
    let is_hidden = matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    character.is_control() || is_hidden
}

/// At most so many bytes of whole characters.
fn beginning(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_told_by_name_and_place() {
        for (id, expected) in [
            ("ada@pts/3-3fa91c02", "ada (pts/3)"),
            ("ada-3fa91c02", "ada"),
            ("bob-1", "bob-1"),
            ("019aa1b2-c3d4-7001-8000-00000000000a", "a program"),
            ("", ""),
        ] {
            assert_eq!(person(id), expected, "{id}");
        }
    }

    #[test]
    fn a_long_text_keeps_whole_characters_and_says_how_long_it_was() {
        let text = "日".repeat(TEXT_BYTES);
        let cut = kept(&text);
        assert!(cut.text.len() <= TEXT_BYTES && TEXT_BYTES < cut.text.len() + 3);
        assert_eq!(cut.bytes, Some(3 * TEXT_BYTES as u64));
        assert_eq!(kept("short"), SpanText { text: "short".to_owned(), bytes: None });
        assert_eq!(line("\n  \n two words \nthree"), "two words");
    }
}
