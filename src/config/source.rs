//! What is in a file that a person wrote, and where in it is this byte?
//!
//! Reads within bounds, never waits for a pipe, and turns what goes wrong into a problem that names the file.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use crate::protocol::{FileProblem, FileProblemCode, Severity};

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
}

impl Mark {
    /// Where the byte `offset` of `text` stands.
    pub fn at(text: &str, offset: usize) -> Mark {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let lines_before = before[..line_start].bytes().filter(|byte| *byte == b'\n').count();
        Mark { line: one_based(lines_before), column: one_based(before[line_start..].chars().count()) }
    }
}

/// Counts from one; files are too short for the number to reach its end.
pub fn one_based(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1)
}

/// The bytes of a regular file; `None` when there is no such file.
///
/// A pipe or a device is refused, not read: it could make the reader wait for ever.
pub fn read_bounded(path: &Path, most_bytes: u64) -> Result<Option<Vec<u8>>, FileProblem> {
    let unreadable = |error: io::Error| problem(path, None, FileProblemCode::Unreadable, reason(&error));
    let file = match open_without_waiting(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(problem(path, None, FileProblemCode::Unreadable, "is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most_bytes + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > most_bytes {
        let message = format!("is larger than {} KiB", most_bytes / 1024);
        return Err(problem(path, None, FileProblemCode::TooLarge, message));
    }
    Ok(Some(bytes))
}

fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
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
        let mark = Mark::at(&valid, valid.len());
        problem(path, Some(mark), FileProblemCode::Unreadable, "is not UTF-8 text: save it as UTF-8")
    })
}

/// An error in a file; `None` means the file as a whole.
pub fn problem(
    path: &Path,
    mark: Option<Mark>,
    code: FileProblemCode,
    message: impl Into<String>,
) -> FileProblem {
    FileProblem {
        path: path.to_owned(),
        line: mark.map(|mark| mark.line),
        column: mark.map(|mark| mark.column),
        severity: Severity::Error,
        code,
        message: message.into(),
        fix: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_count_from_one() {
        let text = "a\nöü x\r\nend";
        let cases = [(0, (1, 1)), (2, (2, 1)), (7, (2, 4)), (text.len(), (3, 4)), (999, (3, 4))];
        for (offset, (line, column)) in cases {
            assert_eq!(Mark::at(text, offset), Mark { line, column }, "offset {offset}");
        }
    }

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
