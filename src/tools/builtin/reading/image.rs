//! Which images can a model look at, and how are they handed over?

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::protocol::Part;

/// Bytes of the images of one call. In base64 they are 5 MiB, which is what the strictest of the large providers takes
/// as one image; and an event with them stays well below the longest answer and leaves others room in the log's ring.
pub const MAX_IMAGE_BYTES: usize = 5 * 1024 * 1024 / 4 * 3;

/// Formats that models take (spec 05).
pub fn is_taken(mime: &str) -> bool {
    matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "image/bmp")
}

/// Whether an image has its beginning and its end. A half one, e.g. of a download that broke off, would make the
/// provider refuse the request, and every later one of the run, since it stays in the history.
pub fn is_whole(mime: &str, bytes: &[u8]) -> bool {
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok())?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let has = |bytes: &[u8], needle: &[u8]| memchr::memmem::find(bytes, needle).is_some();
    match mime {
        // The last chunk is always the same, with its checksum; some programs leave something behind it.
        "image/png" => bytes.get(12..16) == Some(b"IHDR") && has(bytes, b"IEND\xaeB`\x82"),
        // Cameras put videos and maps behind the end, so it is looked for from the beginning of the scan.
        "image/jpeg" => {
            let scan = memchr::memmem::find(bytes, b"\xff\xda");
            scan.is_some_and(|scan| has(&bytes[scan..], b"\xff\xd9"))
        }
        "image/gif" => bytes.iter().rfind(|byte| **byte != 0) == Some(&b';') && 14 <= bytes.len(),
        "image/webp" => number(4).is_some_and(|size| 12 <= size && size + 8 <= bytes.len()),
        "image/bmp" => number(2).is_some_and(|size| 26 <= bytes.len() && size <= bytes.len()),
        _ => false,
    }
}

/// The image as a model gets it.
pub fn part(mime: &str, bytes: &[u8]) -> Part {
    Part::InlineData { mime_type: mime.to_owned(), data: STANDARD.encode(bytes) }
}
