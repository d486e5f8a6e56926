//! How does a file become something a model can read? Shared by the tools that read whole files.

use std::{
    fs::File,
    io::{self, Read},
};

mod excerpt;
mod media;
mod text;

pub use excerpt::{LineRange, NOTE_CHARS, TextExcerpt};
pub use media::{MAX_INLINE_BYTES, part, pdf_fault};
pub use text::{FileContent, content, is_surely_binary};

/// Larger files are refused before anything is read (spec 05).
pub const MAX_FILE_BYTES: u64 = 20 * 1024 * 1024;
/// Lines shown when the call does not say how many (spec 05).
pub const DEFAULT_LINES: u64 = 2_000;
/// As much of a file tells what it is, in most cases.
const HEAD_BYTES: u64 = 8_000;

/// The type of an image that models take and that has its end; `None` = it is something else.
pub fn whole_image(bytes: &[u8]) -> Option<&'static str> {
    match content(bytes) {
        FileContent::Image { mime } => Some(mime),
        _ => None,
    }
}

/// The beginning of a file; what comes after it can still be read.
pub fn read_head(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The whole file, of which `bytes` were read already; `None` = it is larger than allowed.
pub fn read_on(file: &File, mut bytes: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    file.take((MAX_FILE_BYTES + 1).saturating_sub(read)).read_to_end(&mut bytes)?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_FILE_BYTES);
    Ok(fits.then_some(bytes))
}
