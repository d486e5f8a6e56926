//! Opening a file by its path for reading, when somebody else may have put something else there.
//!
//! A FIFO makes whoever opens it wait for a writer, and a device can act when it is opened. So what is opened here never
//! waits, and is a regular file or refused. Files below the roots of a session are opened by `tools::workspace`, which
//! also keeps the opening below the root. Nothing else in the daemon opens what a person or an agent wrote
//! (`tests/it/tidy.rs` holds this).

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;

/// The words for what is no regular file, as the end of a sentence that begins with its path.
pub const NOT_REGULAR: &str = "is not a regular file";

/// Opens a regular file; links are followed, and what they lead to must be one as well. Anything else is
/// `InvalidInput`, and is not waited for.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR)),
    }
}

/// The bytes of a regular file; `None` = it has more than `most_bytes`.
pub fn read_bounded(path: &Path, most_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    open(path)?.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most_bytes).then_some(bytes))
}
