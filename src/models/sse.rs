//! Which events are in this stream of bytes? Server-sent events, as the WHATWG's HTML standard has them ("Server-sent
//! events", 9.2.6), cut at any byte.
//!
//! Only the data of events is told: names, ids and retry times mean nothing to the providers we know. Other than the
//! standard says, an event that the end of the stream closes counts: whoever reads it sees whether it is whole.

use memchr::memchr2;

/// Bytes of one event at most. The largest that providers send repeat the whole text, of which a run takes 16 MiB, with its
/// escapes; what is longer is no answer, and would be held in memory.
pub(super) const MAX_EVENT_BYTES: usize = 24 * 1024 * 1024;

/// A byte order mark, which may stand before the first line.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Why the bytes are no events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SseError {
    #[error("an event of the stream is longer than {MAX_EVENT_BYTES} bytes")]
    TooLong,
    #[error("an event of the stream is not UTF-8")]
    NotUtf8,
}

/// Gathers bytes into events. After an error nothing more may be asked of it.
#[derive(Debug, Default)]
pub(super) struct SseDecoder {
    /// The line that has no end yet.
    line: Vec<u8>,
    /// The data of the open event, each line with its newline.
    data: Vec<u8>,
    /// The last byte was a CR that ended a line: an LF right after it belongs to it.
    after_cr: bool,
    /// The first line has ended, so that no mark can stand before it any more.
    has_begun: bool,
}

impl SseDecoder {
    /// Takes the next bytes; answers the data of every event that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<String>, SseError> {
        let mut events = Vec::new();
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.extend_line(bytes)?;
                break;
            };
            self.extend_line(&bytes[..end])?;
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line()?);
        }
        Ok(events)
    }

    /// The event that the end of the stream closes, if there is one.
    pub(super) fn finish(mut self) -> Result<Option<String>, SseError> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        self.end_event()
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if MAX_EVENT_BYTES < self.line.len() + self.data.len() + bytes.len() {
            return Err(SseError::TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<String>, SseError> {
        let line = std::mem::take(&mut self.line);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line = line.strip_prefix(MARK).filter(|_| is_first).unwrap_or(&line);
        if line.is_empty() {
            return self.end_event();
        }
        // A line that begins with a colon is a comment: its field has no name.
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        if field == b"data" {
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.data.push(b'\n');
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Result<Option<String>, SseError> {
        let mut data = std::mem::take(&mut self.data);
        if data.pop().is_none() {
            return Ok(None);
        }
        String::from_utf8(data).map(Some).map_err(|_| SseError::NotUtf8)
    }
}

#[cfg(test)]
mod tests;
