//! Are these bytes text, and in which encoding?

use std::{borrow::Cow, str};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

use super::media;

/// Where a NUL byte says "binary"; as much as git looks at.
const BINARY_CHECK_BYTES: usize = 8_000;
/// How much a guess of the encoding is based on; it does not get better with more.
const DETECTION_BYTES: usize = 256 * 1024;

/// What the bytes of a file are.
pub enum FileContent<'a> {
    /// `encoding` is the name of what was decoded; `None` = it was UTF-8.
    Text {
        text: Cow<'a, str>,
        encoding: Option<&'static str>,
    },
    /// One that models take.
    Image {
        mime: &'static str,
    },
    /// Of a format that models take, but its end is missing.
    BrokenImage {
        mime: &'static str,
    },
    /// A sound of a format that models take.
    Audio {
        mime: &'static str,
    },
    Pdf,
    Binary {
        mime: &'static str,
    },
}

/// Looks at the bytes alone; names lie.
pub fn content(bytes: &[u8]) -> FileContent<'_> {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        let (text, encoding, _) = encoding.decode(bytes);
        let is_utf8 = encoding == encoding_rs::UTF_8;
        return FileContent::Text { text, encoding: (!is_utf8).then(|| encoding.name()) };
    }
    if is_surely_binary(bytes) {
        return binary(bytes);
    }
    if let Ok(text) = str::from_utf8(bytes) {
        return FileContent::Text { text: Cow::Borrowed(text), encoding: None };
    }
    // Magic numbers are only asked here: as text, `BM` is a fine start of a sentence.
    if infer::get(bytes).is_some_and(|found| found.matcher_type() != infer::MatcherType::Text) {
        return binary(bytes);
    }
    if is_damaged_utf8(bytes) {
        return FileContent::Text {
            text: String::from_utf8_lossy(bytes),
            encoding: Some("UTF-8 with invalid bytes"),
        };
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&bytes[..bytes.len().min(DETECTION_BYTES)], true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let (text, encoding, _) = encoding.decode(bytes);
    FileContent::Text { text, encoding: Some(encoding.name()) }
}

/// Whether the beginning of a file says that it is no text, whatever follows.
pub fn is_surely_binary(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(BINARY_CHECK_BYTES)];
    let is_marked_text = Encoding::for_bom(bytes).is_some();
    !is_marked_text && (memchr::memchr(0, head).is_some() || head.starts_with(b"%PDF-"))
}

fn binary(bytes: &[u8]) -> FileContent<'static> {
    match infer::get(bytes).map_or("application/octet-stream", |found| found.mime_type()) {
        "application/pdf" => FileContent::Pdf,
        mime if media::is_taken_image(mime) && media::is_whole_image(mime, bytes) => {
            FileContent::Image { mime }
        }
        mime if media::is_taken_image(mime) => FileContent::BrokenImage { mime },
        mime => match media::taken_audio(mime) {
            Some(mime) => FileContent::Audio { mime },
            None => FileContent::Binary { mime },
        },
    }
}

/// Whether most of what is not ASCII is good UTF-8: other encodings hardly ever look so.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().bytes().filter(|byte| !byte.is_ascii()).count();
        bad += chunk.invalid().len();
    }
    2 * bad < good
}
