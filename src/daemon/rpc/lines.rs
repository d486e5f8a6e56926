//! Which bytes are one message? Lines, read without ever holding more than a message may be.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::protocol::MAX_MESSAGE_BYTES;

/// What is asked from the socket at once. Small, since every idle connection holds one; a long message costs
/// a few more system calls.
const READ_BUFFER_BYTES: usize = 8 << 10;

/// How a connection begins: its first byte tells the framing (spec 01, "Transports").
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// `{` or `[`: one JSON value a line.
    Lines,
    /// A capital letter: HTTP, WebSocket or `Content-Length`.
    Headers,
    Garbage,
    Nothing,
}

/// One line, or why there is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// Never blank.
    Line(Vec<u8>),
    /// A line longer than a message may be; it has been skipped.
    TooLong,
    End,
}

pub(super) struct LineReader<R> {
    reader: BufReader<R>,
    /// The line so far.
    line: Vec<u8>,
    /// The line is too long already; what comes until its end is not kept.
    is_skipping: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: R) -> LineReader<R> {
        let reader = BufReader::with_capacity(READ_BUFFER_BYTES, reader);
        LineReader { reader, line: Vec::new(), is_skipping: false }
    }

    pub(super) fn get_ref(&self) -> &R {
        self.reader.get_ref()
    }

    /// Skips blanks and looks at the first byte that is none. Cancel safe.
    pub(super) async fn opening(&mut self) -> io::Result<Opening> {
        loop {
            let bytes = self.reader.fill_buf().await?;
            let blanks = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let opening = match bytes.get(blanks) {
                Some(b'{' | b'[') => Some(Opening::Lines),
                Some(byte) if byte.is_ascii_uppercase() => Some(Opening::Headers),
                Some(_) => Some(Opening::Garbage),
                None if bytes.is_empty() => Some(Opening::Nothing),
                None => None,
            };
            self.reader.consume(blanks);
            if let Some(opening) = opening {
                return Ok(opening);
            }
        }
    }

    /// The next line that is not blank. Cancel safe: what was read so far is kept.
    pub(super) async fn next(&mut self) -> io::Result<Read> {
        loop {
            let bytes = self.reader.fill_buf().await?;
            let is_end = bytes.is_empty();
            let newline = memchr::memchr(b'\n', bytes);
            let part = &bytes[..newline.unwrap_or(bytes.len())];
            if self.line.len() + part.len() > MAX_MESSAGE_BYTES {
                self.is_skipping = true;
                self.line = Vec::new();
            }
            if !self.is_skipping {
                self.line.extend_from_slice(part);
            }
            let consumed = part.len() + usize::from(newline.is_some());
            self.reader.consume(consumed);
            // A last line without a newline counts: `printf '{…}' | nc` leaves it out.
            if newline.is_none() && !is_end {
                continue;
            }
            if std::mem::take(&mut self.is_skipping) {
                return Ok(Read::TooLong);
            }
            // The buffer goes with the line, so that a long one is not held while the connection idles.
            let line = std::mem::take(&mut self.line);
            if !line.trim_ascii().is_empty() {
                return Ok(Read::Line(line));
            }
            if is_end {
                return Ok(Read::End);
            }
        }
    }
}
