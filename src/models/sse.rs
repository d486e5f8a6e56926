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

/// The reason why the bytes are no events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event of the stream is longer than {MAX_EVENT_BYTES} bytes")]
    TooLong,
    #[error("an event of the stream is not UTF-8")]
    NotUtf8,
}

/// Gathers bytes into events. After an error nothing more may be asked of it.
///
/// Perf: a line that came whole is read where it lies, and the room for an event's data serves the next one: 200,000 events
/// take at most half as long again as finding where they end and copying them.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// The line that has no end yet.
    line: Vec<u8>,
    /// The data of the open event, its lines with newlines between them; of the last one when none is open.
    data: Vec<u8>,
    /// The open event has data.
    has_data: bool,
    /// The last byte was a CR that ended a line: an LF right after it belongs to it.
    after_cr: bool,
    /// The first line has ended, so that no mark can stand before it any more.
    has_begun: bool,
}

impl SseDecoder {
    /// Takes the next bytes from the front up to the end of an event, whose data it answers; `None` = all were taken.
    pub fn next<'a>(&'a mut self, bytes: &mut &[u8]) -> Result<Option<&'a str>, SseError> {
        if bytes.first().is_some_and(|first| std::mem::take(&mut self.after_cr) && *first == b'\n') {
            *bytes = &bytes[1..];
        }
        while let Some(first) = bytes.first() {
            // Every event ends with an empty line, which need not be searched.
            let end = if is_end(*first) { Some(0) } else { memchr2(b'\n', b'\r', bytes) };
            let Some(end) = end else {
                self.check_room(bytes)?;
                self.line.extend_from_slice(bytes);
                *bytes = &[];
                break;
            };
            let (line, rest) = bytes.split_at(end);
            self.check_room(line)?;
            *bytes = match rest {
                [b'\r', b'\n', rest @ ..] => rest,
                [last, rest @ ..] => {
                    self.after_cr = *last == b'\r' && rest.is_empty();
                    rest
                }
                [] => rest,
            };
            if self.end_line(line) {
                return self.told().map(Some);
            }
        }
        Ok(None)
    }

    /// The event that the end of the stream closes, if there is one.
    pub fn finish(&mut self) -> Result<Option<&str>, SseError> {
        if !self.line.is_empty() {
            self.end_line(&[]);
        }
        if self.end_event() { self.told().map(Some) } else { Ok(None) }
    }

    fn check_room(&self, more: &[u8]) -> Result<(), SseError> {
        let data = if self.has_data { self.data.len() } else { 0 };
        match self.line.len() + data + more.len() {
            0..=MAX_EVENT_BYTES => Ok(()),
            _ => Err(SseError::TooLong),
        }
    }

    /// Takes the last piece of a line; answers whether it ends an event.
    fn end_line(&mut self, rest: &[u8]) -> bool {
        if self.line.is_empty() {
            return self.take_line(rest);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(rest);
        let ends = self.take_line(&line);
        // Its room serves the next line that comes in pieces.
        line.clear();
        self.line = line;
        ends
    }

    fn take_line(&mut self, line: &[u8]) -> bool {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line = line.strip_prefix(MARK).filter(|_| is_first).unwrap_or(line);
        if line.is_empty() {
            return self.end_event();
        }
        // A line without a colon is a field without a value; one that begins with it is a comment.
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[][..],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            _ => return false,
        };
        match std::mem::replace(&mut self.has_data, true) {
            true => self.data.push(b'\n'),
            false => self.data.clear(),
        }
        self.data.extend_from_slice(value);
        false
    }

    /// Answers whether there was one; its data is what was gathered.
    fn end_event(&mut self) -> bool {
        std::mem::take(&mut self.has_data)
    }

    fn told(&self) -> Result<&str, SseError> {
        std::str::from_utf8(&self.data).map_err(|_| SseError::NotUtf8)
    }
}

fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

#[cfg(test)]
mod tests;
