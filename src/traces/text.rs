//! How much of a text does a span keep?

use serde_json::Value;

use protocol::SpanText;

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
    fn a_long_text_keeps_whole_characters_and_says_how_long_it_was() {
        let text = "日".repeat(TEXT_BYTES);
        let cut = kept(&text);
        assert!(cut.text.len() <= TEXT_BYTES && TEXT_BYTES < cut.text.len() + 3);
        assert_eq!(cut.bytes, Some(3 * TEXT_BYTES as u64));
        assert_eq!(kept("short"), SpanText { text: "short".to_owned(), bytes: None });
        assert_eq!(line("\n  \n two words \nthree"), "two words");
    }
}
