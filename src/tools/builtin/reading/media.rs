//! Which files other than text can a model take as they are, and how are they handed over?

use base64::{Engine as _, engine::general_purpose::STANDARD};
use memchr::memmem;

use protocol::MessagePart;

/// Bytes of the images, sounds and documents of one call. In base64 they are 5 MiB, which is what the strictest of the large
/// providers takes as one image; and an event with them stays well below the longest answer and leaves others room in the
/// log's ring.
pub const MAX_INLINE_BYTES: usize = 5 * 1024 * 1024 / 4 * 3;

/// Formats of images that models take (spec 05).
pub fn is_taken_image(mime: &str) -> bool {
    matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "image/bmp")
}

/// The registered name of a format of sound that models take; `None` = no model does.
pub fn taken_audio(mime: &str) -> Option<&'static str> {
    Some(match mime {
        "audio/x-wav" => "audio/wav",
        "audio/mpeg" => "audio/mpeg",
        "audio/x-aiff" => "audio/aiff",
        "audio/aac" => "audio/aac",
        "audio/ogg" => "audio/ogg",
        "audio/x-flac" => "audio/flac",
        _ => return None,
    })
}

/// Whether an image has its beginning and its end. A half one, e.g. of a download that broke off, would make the
/// provider refuse the request, and every later one of the run, since it stays in the history.
pub fn is_whole_image(mime: &str, bytes: &[u8]) -> bool {
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok())?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let has = |bytes: &[u8], needle: &[u8]| memmem::find(bytes, needle).is_some();
    match mime {
        // The last chunk is always the same, with its checksum; some programs leave something behind it.
        "image/png" => bytes.get(12..16) == Some(b"IHDR") && has(bytes, b"IEND\xaeB`\x82"),
        // Cameras put videos and maps behind the end, so it is looked for from the beginning of the scan.
        "image/jpeg" => {
            let scan = memmem::find(bytes, b"\xff\xda");
            scan.is_some_and(|scan| has(&bytes[scan..], b"\xff\xd9"))
        }
        "image/gif" => bytes.iter().rfind(|byte| **byte != 0) == Some(&b';') && 14 <= bytes.len(),
        "image/webp" => number(4).is_some_and(|size| 12 <= size && size + 8 <= bytes.len()),
        "image/bmp" => number(2).is_some_and(|size| 26 <= bytes.len() && size <= bytes.len()),
        _ => false,
    }
}

/// Why no provider would take a PDF; `None` = one may. Like half an image, one that is refused would stay in the history.
pub fn pdf_fault(bytes: &[u8]) -> Option<&'static str> {
    let end = memmem::rfind(bytes, b"%%EOF");
    let index = memmem::rfind(bytes, b"startxref");
    match (end, index) {
        (Some(end), Some(index)) if index < end => {}
        _ => return Some("has no end: it is broken or was cut"),
    }
    memmem::find(bytes, b"/Encrypt").map(|_| "is encrypted")
}

/// The bytes as a model gets them.
pub fn part(mime: &str, bytes: &[u8]) -> MessagePart {
    MessagePart::InlineData { mime_type: mime.to_owned(), data: STANDARD.encode(bytes) }
}
