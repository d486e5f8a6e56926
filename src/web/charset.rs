//! In which letters is a page written? What it says of itself, as far as that can be true; else the likeliest.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};

/// Where a page says in which letters it is written; browsers look as far.
const HEAD_BYTES: usize = 1024;
/// How much a guess is based on; it does not get better with more.
const DETECTION_BYTES: usize = 256 * 1024;

/// The text, and the name of the encoding it was in. `named` is what came with the bytes.
pub(super) fn decode<'a>(
    bytes: &'a [u8],
    named: Option<&str>,
    is_markup: bool,
) -> (Cow<'a, str>, &'static str) {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        let (text, encoding, _) = encoding.decode(bytes);
        return (text, encoding.name());
    }
    let said = named.and_then(|label| Encoding::for_label(label.trim_matches(['"', '\'', ' ']).as_bytes()));
    let said = said.or_else(|| is_markup.then(|| in_markup(bytes)).flatten());
    // Other encodings hardly ever look like UTF-8, but for the one that is ASCII with signs in between.
    if let Ok(text) = std::str::from_utf8(bytes)
        && said != Some(ISO_2022_JP)
    {
        return (Cow::Borrowed(text), UTF_8.name());
    }
    // "replacement" stands for encodings that are not read because they were used to deceive.
    if let Some(encoding) = said.filter(|encoding| *encoding != REPLACEMENT) {
        let (text, encoding, has_errors) = encoding.decode(bytes);
        if !has_errors {
            return (text, encoding.name());
        }
    }
    // What a page said of itself is wrong, or it said nothing.
    if is_nearly_utf8(bytes) {
        return (String::from_utf8_lossy(bytes), UTF_8.name());
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&bytes[..bytes.len().min(DETECTION_BYTES)], true);
    let (text, encoding, _) = detector.guess(None, Utf8Detection::Deny).decode(bytes);
    (text, encoding.name())
}

/// `<meta charset="…">`, `<meta http-equiv … content="…; charset=…">` or `<?xml … encoding="…"?>` near the beginning.
fn in_markup(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let head = head.to_ascii_lowercase();
    let after = |start: usize, word: &[u8]| {
        let rest = &head[start + word.len()..];
        let rest = rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
        let rest = rest.strip_prefix(b"\"").or(rest.strip_prefix(b"'")).unwrap_or(rest);
        let end = rest.iter().position(|byte| b"\"' ;>/?\t\r\n".contains(byte))?;
        Encoding::for_label(&rest[..end])
    };
    let declared = head.starts_with(b"<?xml").then(|| {
        let start = find(&head, b"encoding").filter(|start| Some(*start) < find(&head, b"?>"))?;
        after(start, b"encoding")
    });
    let found = declared.flatten().or_else(|| {
        let mut from = 0;
        while let Some(meta) = find(&head[from..], b"<meta") {
            let start = from + meta;
            let end = find(&head[start..], b">").map_or(head.len(), |end| start + end + 1);
            if let Some(charset) = find(&head[start..end], b"charset") {
                return after(start + charset, b"charset");
            }
            from = end;
        }
        None
    });
    // It could be read, so it is none of these: what a page of 16-bit letters says is what it was before it was saved.
    found.map(|encoding| if [UTF_16LE, UTF_16BE].contains(&encoding) { UTF_8 } else { encoding })
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, word)
}

/// True if most of what is not ASCII is good UTF-8: other encodings hardly ever look so.
fn is_nearly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().bytes().filter(|byte| !byte.is_ascii()).count();
        bad += chunk.invalid().len();
    }
    2 * bad < good
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_in_its_own_letters_whatever_it_says() {
        let utf8 = "Grüße aus Köln".as_bytes();
        let latin = b"Gr\xfc\xdfe aus K\xf6ln";
        let cyrillic =
            encoding_rs::WINDOWS_1251.encode("Привет, мир! Как дела? Это обычный русский текст.").0;
        let japanese = encoding_rs::SHIFT_JIS.encode("こんにちは、世界。今日はいい天気ですね。").0;
        let iso_2022_jp = encoding_rs::ISO_2022_JP.encode("こんにちは").0;
        let utf16: Vec<u8> = "\u{feff}Grüße".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let meta = |label: &str, body: &[u8]| {
            let mut page = format!("<!doctype html><html><head><meta charset={label}><body>").into_bytes();
            page.extend_from_slice(body);
            page
        };
        let old =
            [b"<meta http-equiv='content-type' content='text/html; charset=ISO-8859-1'>", latin.as_slice()];
        let xml = [b"<?xml version='1.0' encoding='windows-1252'?><a>", latin.as_slice()];
        let cases: Vec<(Vec<u8>, Option<&str>, &str, &str)> = vec![
            (utf8.to_vec(), None, "Grüße aus Köln", "UTF-8"),
            (utf8.to_vec(), Some("utf-8"), "Grüße aus Köln", "UTF-8"),
            (latin.to_vec(), Some("\"iso-8859-1\""), "Grüße aus Köln", "windows-1252"),
            // What it says is wrong.
            (latin.to_vec(), Some("utf-8"), "Grüße aus Köln", "windows-1252"),
            (latin.to_vec(), Some("no-such-thing"), "Grüße aus Köln", "windows-1252"),
            (latin.to_vec(), Some("hz-gb-2312"), "Grüße aus Köln", "windows-1252"),
            (utf8.to_vec(), Some("us-ascii"), "Grüße aus Köln", "UTF-8"),
            (iso_2022_jp.to_vec(), Some("iso-2022-jp"), "こんにちは", "ISO-2022-JP"),
            (cyrillic.to_vec(), None, "Привет, мир!", "windows-1251"),
            (japanese.to_vec(), None, "こんにちは、世界。", "Shift_JIS"),
            (utf16, Some("iso-8859-1"), "Grüße", "UTF-16LE"),
            (meta("windows-1251", &cyrillic), None, "Привет, мир!", "windows-1251"),
            (meta("\"Shift_JIS\"", &japanese), None, "こんにちは、世界。", "Shift_JIS"),
            (meta("utf-16", utf8), None, "Grüße aus Köln", "UTF-8"),
            (meta("utf-8", latin), None, "Grüße aus Köln", "windows-1252"),
            (old.concat(), None, "Grüße aus Köln", "windows-1252"),
            (xml.concat(), None, "Grüße aus Köln", "windows-1252"),
            (
                b"damaged Gr\xc3\xbc\xc3\x9fe \xff K\xc3\xb6ln".to_vec(),
                None,
                "damaged Grüße \u{fffd} Köln",
                "UTF-8",
            ),
        ];
        for (bytes, named, expected, encoding) in cases {
            let (text, name) = decode(&bytes, named, true);
            assert!(text.contains(expected), "{named:?}: {text}");
            assert_eq!(name, encoding, "{text}");
        }
    }
}
