//! What is in a file that a person wrote?
//!
//! Reads within bounds, never waits for a pipe, and turns what goes wrong into a problem that names the file.

use std::{io, path::Path};

use protocol::{FileProblem, FileProblemCode};
use sys::{
    mark::{TextPosition, problem},
    regular_file,
};

/// What comes of a file of the person's own, or of the system, in which nobody can tell which hooks stand.
pub const UNREADABLE_FILE_EFFECT: &str = "until this file is mended, no prompt and no tool call is accepted, because nobody can tell which hooks it has";

/// The bytes of a regular file; `None` when there is no such file.
///
/// A pipe or a device is refused, not read: it could make the reader wait for ever.
pub fn read_bounded(path: &Path, most_bytes: u64) -> Result<Option<Vec<u8>>, FileProblem> {
    match regular_file::read_bounded(path, most_bytes) {
        Ok(Some(bytes)) => Ok(Some(bytes)),
        Ok(None) => {
            let message = format!("is larger than {} KiB", most_bytes / 1024);
            Err(problem(path, None, FileProblemCode::TooLarge, message))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.to_string() == regular_file::NOT_REGULAR => {
            Err(problem(path, None, FileProblemCode::Unreadable, regular_file::NOT_REGULAR))
        }
        Err(error) => Err(problem(path, None, FileProblemCode::Unreadable, reason(&error))),
    }
}

/// An I/O error in words, without the number of the system's error.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    format!("cannot be read: {words}")
}

/// The text of a file: a byte order mark is dropped, anything but UTF-8 refused.
pub fn decode<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, FileProblem> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let mark = TextPosition::at(&valid, valid.len());
        problem(path, Some(mark), FileProblemCode::Unreadable, "is not UTF-8 text: save it as UTF-8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_refused_instead_of_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert_eq!(read_bounded(&pipe, 10).unwrap_err().message, "is not a regular file");
    }

    #[test]
    fn one_byte_too_many_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [b'x'; 1024]).unwrap();
        assert_eq!(read_bounded(&path, 1024).unwrap().map(|bytes| bytes.len()), Some(1024));
        assert_eq!(read_bounded(&path, 1023).unwrap_err().code, FileProblemCode::TooLarge);
        assert_eq!(read_bounded(&folder.path().join("missing"), 1).unwrap(), None);
    }
}
