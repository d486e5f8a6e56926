//! How much of a text does a span keep?

use std::{borrow::Cow, fmt::Write as _, time::Duration};

use serde_json::Value;

use protocol::{SpanText, Timestamp, TraceSpan};

use super::facts::EventFacts;

/// Bytes that are kept of each text: an answer with a page of spans must stay one that can be sent. The docs say the same.
const TEXT_BYTES: usize = 16 * 1024;

/// Digits that keep two commands apart which run at the same time.
const CHANCE_DIGITS: usize = 8;

/// Bytes of the number of a connection.
const NUMBER_BYTES: usize = 36;

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

/// A text that was kept, with no more than so many bytes of it.
pub(super) fn cut(text: &SpanText, most: usize) -> SpanText {
    let shorter = beginning(&text.text, most);
    let is_same = shorter.len() == text.text.len();
    let bytes = text.bytes.or((!is_same).then_some(text.text.len() as u64));
    SpanText { text: shorter.to_owned(), bytes }
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
    // Perf: of a long result no more is copied than is kept.
    let (mut text, mut whole) = (String::new(), 0);
    for (at, part) in parts.iter().enumerate() {
        let part = of_part(EventFacts(part));
        let break_before = if at == 0 { "" } else { "\n" };
        whole += break_before.len() + part.len();
        for piece in [break_before, &part] {
            text.push_str(beginning(piece, TEXT_BYTES.saturating_sub(text.len())));
        }
    }
    if whole == 0 {
        return None;
    }
    let is_whole = text.len() == whole;
    // Cut for the model already: the whole is longer than what was read.
    let bytes = result.within("fullOutput").count("totalBytes").or((!is_whole).then_some(whole as u64));
    Some(SpanText { text, bytes })
}

fn of_part(part: EventFacts<'_>) -> Cow<'_, str> {
    match (part.text("text"), part.text("mimeType")) {
        (Some(text), _) => text.into(),
        (None, Some(kind)) => format!("[{kind}]").into(),
        (None, None) => "".into(),
    }
}

/// A value as JSON in one line.
pub(super) fn of_value(value: &Value) -> Option<SpanText> {
    if value.is_null() {
        return None;
    }
    said(&value.to_string())
}

/// A span's output as far as it says more than its error: of a call that failed the model reads `KIND: message`, and below it
/// what a hook added.
pub fn output_beside_error(span: &TraceSpan) -> Option<SpanText> {
    let output = span.output.as_ref()?;
    let Some(told) = span.error.as_ref().and_then(|error| {
        let after_kind = output.text.strip_prefix(error.kind.as_str())?;
        let after_colon = after_kind.strip_prefix(": ").or(after_kind.is_empty().then_some(""))?;
        // In other words it is the same error.
        Some(after_colon.strip_prefix(error.message.as_str()).unwrap_or_default().trim_start())
    }) else {
        return Some(output.clone());
    };
    (!told.is_empty()).then(|| SpanText { text: told.to_owned(), bytes: output.bytes })
}

/// `120 ms`, `4.2 s`, `2 min 3 s`, `5 h 20 min`, `3 d 4 h`: each rounded to the last that is told.
pub fn duration(duration: Duration) -> String {
    let us = duration.as_micros();
    let rounded = |unit_us: u128| us.saturating_add(unit_us / 2) / unit_us;
    let (ms, tenths, seconds) = (rounded(1_000), rounded(100_000), rounded(1_000_000));
    let (minutes, hours) = (rounded(60_000_000), rounded(3_600_000_000));
    if ms < 1_000 {
        format!("{ms} ms")
    } else if tenths < 600 {
        format!("{}.{} s", tenths / 10, tenths % 10)
    } else if seconds < 3_600 {
        format!("{} min {} s", seconds / 60, seconds % 60)
    } else if minutes < 2_880 {
        format!("{} h {} min", minutes / 60, minutes % 60)
    } else {
        format!("{} d {} h", hours / 24, hours % 24)
    }
}

/// `2026-11-26 11:04:00Z`
pub(super) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}Z", text.split('.').next().unwrap_or_default().replace('T', " "))
}

/// `helper`, or `helper 2` where a trace has several runs of this agent.
pub fn numbered(agent: &str, number: Option<u64>) -> String {
    number.map_or_else(|| agent.to_owned(), |number| format!("{agent} {number}"))
}

/// Whom a client's id names: `ada@pts/3-3fa91c02` of the command line is ada at pts/3, the number of a connection is nobody who
/// gave a name, that behind a name is the program of that name. Another client's id is shown as it is.
pub fn person(id: &str) -> String {
    // A program that gave no id has a number, behind its name if it gave one.
    match id.len().checked_sub(NUMBER_BYTES).and_then(|at| id.split_at_checked(at)) {
        Some((name, number)) if is_number(number) => {
            return match name.strip_suffix('-') {
                Some(name) if !name.is_empty() => name.to_owned(),
                _ => "a program".to_owned(),
            };
        }
        _ => {}
    }
    let named = id.rsplit_once('-').filter(|(_, chance)| {
        chance.len() == CHANCE_DIGITS && chance.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    match named.map(|(who, _)| who.split_once('@').unwrap_or((who, ""))) {
        Some((user, "")) => user.to_owned(),
        Some((user, place)) => format!("{user} ({place})"),
        None => id.to_owned(),
    }
}

/// The number of a connection.
fn is_number(text: &str) -> bool {
    /// The places of its dashes.
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    text.len() == NUMBER_BYTES
        && text.bytes().enumerate().all(|(at, byte)| match DASHES.contains(&at) {
            true => byte == b'-',
            false => byte.is_ascii_hexdigit(),
        })
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
            ("night-watch-019aa1b2-c3d4-7001-8000-00000000000a", "night-watch"),
            ("-019aa1b2-c3d4-7001-8000-00000000000a", "a program"),
            ("", ""),
        ] {
            assert_eq!(person(id), expected, "{id}");
        }
    }

    #[test]
    fn times_are_rounded_to_the_last_that_is_told() {
        for (us, expected) in [
            (0, "0 ms"),
            (499, "0 ms"),
            (500, "1 ms"),
            (999_499, "999 ms"),
            (999_500, "1.0 s"),
            (1_949_999, "1.9 s"),
            (1_999_000, "2.0 s"),
            (59_949_999, "59.9 s"),
            (59_950_000, "1 min 0 s"),
            (119_600_000, "2 min 0 s"),
            (3_599_499_999, "59 min 59 s"),
            (3_599_500_000, "1 h 0 min"),
            (172_769_000_000, "47 h 59 min"),
            (172_770_000_000, "2 d 0 h"),
            (u64::MAX, "213503982 d 8 h"),
        ] {
            assert_eq!(duration(Duration::from_micros(us)), expected, "{us}");
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
