//! Which text do these bytes spell? (spec 02, "Foreign files", rule 1)
//!
//! People's files come in any encoding. Each is read as what it most likely is; a guess is told, with the place that made
//! it necessary, and no file is turned away for its bytes alone.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::findings::FileFindings;
use config::TextPosition;
use protocol::FileProblemCode::BadValue;

/// The text, with `\n` at the end of each line and without a byte order mark.
pub(super) fn decode<'a>(bytes: &'a [u8], findings: &mut FileFindings) -> Cow<'a, str> {
    let text = match Encoding::for_bom(bytes) {
        Some((encoding, length)) if encoding == UTF_16LE || encoding == UTF_16BE => {
            let (text, had_errors) = encoding.decode_without_bom_handling(&bytes[length..]);
            if had_errors {
                let at = text.find('\u{fffd}').unwrap_or_default();
                let message =
                    format!("has bytes that are no {}; each was replaced by `\u{fffd}`", encoding.name());
                findings.warning(Some(TextPosition::at(&text, at)), BadValue, message, save_as_utf8());
            }
            text
        }
        bom => utf8_or_windows(&bytes[bom.map_or(0, |(_, length)| length)..], findings),
    };
    let text = without_carriage_returns(without_nul(text, findings));
    // A second mark is as invisible as the first.
    match text.starts_with('\u{feff}') {
        true => Cow::Owned(text.trim_start_matches('\u{feff}').to_owned()),
        false => text,
    }
}

fn utf8_or_windows<'a>(bytes: &'a [u8], findings: &mut FileFindings) -> Cow<'a, str> {
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Cow::Borrowed(text),
        Err(error) => error,
    };
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
    // What stands before is UTF-8, but not all of it need be ASCII: the same bytes are more characters now.
    let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
    let message = "is not UTF-8 from here on; the whole file is read as Windows-1252";
    findings.warning(Some(TextPosition::at(&valid, valid.len())), BadValue, message, save_as_utf8());
    text
}

fn save_as_utf8() -> Option<String> {
    Some("save the file as UTF-8".to_owned())
}

fn without_nul<'a>(text: Cow<'a, str>, findings: &mut FileFindings) -> Cow<'a, str> {
    let Some(first) = text.find('\0') else { return text };
    let count = text.bytes().filter(|byte| *byte == 0).count();
    let message = match count {
        1 => "has a NUL here, which was replaced by `\u{fffd}`".to_owned(),
        _ => format!("has {count} NULs, the first here; each was replaced by `\u{fffd}`"),
    };
    findings.warning(Some(TextPosition::at(&text, first)), BadValue, message, Some("remove it".to_owned()));
    Cow::Owned(text.replace('\0', "\u{fffd}"))
}

/// Line ends of Windows, and of a Macintosh of the last century, where nothing else ends a line.
fn without_carriage_returns(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains('\r') {
        return text;
    }
    match text.contains('\n') {
        true => Cow::Owned(text.replace("\r\n", "\n")),
        false => Cow::Owned(text.replace('\r', "\n")),
    }
}
