//! How do bytes become messages? One JSON value a line (spec 01, "Transports").

use std::{
    borrow::Cow,
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    time::Duration,
};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::MonotonicStopwatch;

/// The longest message the daemon may send. A page of 1,000 events, each with a tool's 40,000 characters, fits;
/// without a bound a broken daemon could fill the client's memory.
pub const MAX_INCOMING_BYTES: usize = 64 << 20;

/// Bytes asked of the socket at a time: about one burst of deltas.
const READ_BYTES: usize = 64 << 10;

/// How long the daemon may refuse to take a request's bytes before it counts as stuck.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// One side of a socket, cut into lines.
pub(super) struct SocketLines {
    stream: UnixStream,
    /// Invariant: bytes before `taken` are used up, bytes before `searched` hold no further newline.
    buffer: Vec<u8>,
    taken: usize,
    searched: usize,
}

/// What waiting for a line came to.
#[derive(Debug)]
pub(super) enum NextLine {
    /// One line, without its newline.
    Line(Vec<u8>),
    /// The time is over, or a signal came; what arrived of a line so far is kept.
    Quiet,
    /// The other side is gone.
    Closed,
    /// A line grew beyond [`MAX_INCOMING_BYTES`].
    TooLong,
}

impl SocketLines {
    pub(super) fn new(stream: UnixStream) -> io::Result<SocketLines> {
        stream.set_write_timeout(Some(WRITE_PATIENCE))?;
        Ok(SocketLines { stream, buffer: Vec::new(), taken: 0, searched: 0 })
    }

    /// The socket; what arrived and was not taken is dropped.
    pub(super) fn into_stream(self) -> UnixStream {
        self.stream
    }

    /// Sends one message.
    pub(super) fn send(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        self.stream.write_all(&line)
    }

    /// Waits at most `wait` for one line. Returns early, with `Quiet`, when a signal interrupts the wait.
    pub(super) fn receive(&mut self, wait: Duration) -> NextLine {
        let stopwatch = MonotonicStopwatch::start();
        loop {
            if let Some(line) = self.take_line() {
                return NextLine::Line(line);
            }
            if self.buffer.len() - self.taken > MAX_INCOMING_BYTES {
                return NextLine::TooLong;
            }
            let Some(left) = stopwatch.left_of(wait) else { return NextLine::Quiet };
            if let Some(end) = self.fill(left) {
                return end;
            }
        }
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let newline = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n');
        match newline {
            Some(offset) => {
                let end = self.searched + offset;
                let line = self.buffer[self.taken..end].to_vec();
                self.taken = end + 1;
                self.searched = self.taken;
                Some(line)
            }
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    /// Reads once; `None` when bytes came.
    fn fill(&mut self, wait: Duration) -> Option<NextLine> {
        // A zero timeout would mean "for ever" to the system.
        if self.stream.set_read_timeout(Some(wait.max(Duration::from_millis(1)))).is_err() {
            return Some(NextLine::Closed);
        }
        self.buffer.drain(..self.taken);
        self.searched -= self.taken;
        self.taken = 0;

        let old_length = self.buffer.len();
        self.buffer.resize(old_length + READ_BYTES, 0);
        let outcome = self.stream.read(&mut self.buffer[old_length..]);
        self.buffer.truncate(old_length + outcome.as_ref().copied().unwrap_or(0));
        match outcome {
            Ok(0) => Some(NextLine::Closed),
            Ok(_) => None,
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => {
                    Some(NextLine::Quiet)
                }
                _ => Some(NextLine::Closed),
            },
        }
    }
}

/// Any message the daemon sends: a response or a notification.
#[derive(Debug, Deserialize)]
pub(super) struct IncomingMessage<'line> {
    #[serde(default)]
    pub(super) id: Option<serde_json::Value>,
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'line, str>>,
    #[serde(borrow, default)]
    pub(super) params: Option<&'line RawValue>,
    /// Missing and `null` read the same; both mean `null` when there is no error.
    #[serde(borrow, default)]
    pub(super) result: Option<&'line RawValue>,
    #[serde(default)]
    pub(super) error: Option<serde_json::Value>,
}

impl<'line> IncomingMessage<'line> {
    pub(super) fn parse(line: &'line [u8]) -> Result<IncomingMessage<'line>, serde_json::Error> {
        serde_json::from_slice(line)
    }
}

/// Parameters of the notification `event`, with the envelope left as it was sent.
#[derive(Debug, Deserialize)]
pub(super) struct RawNotification<'line> {
    #[serde(default)]
    pub(super) subscription: Option<serde_json::Value>,
    #[serde(borrow)]
    pub(super) result: &'line RawValue,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (SocketLines, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (SocketLines::new(ours).unwrap(), theirs)
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn lines_are_cut_wherever_the_reads_fall() {
        let (mut lines, mut peer) = pair();
        peer.write_all(b"{\"a\":1}\n\n{\"b\"").unwrap();
        assert!(matches!(lines.receive(LONG), NextLine::Line(line) if line == b"{\"a\":1}"));
        assert!(matches!(lines.receive(LONG), NextLine::Line(line) if line.is_empty()));
        assert!(matches!(lines.receive(Duration::from_millis(1)), NextLine::Quiet));
        peer.write_all(b":2}\nrest").unwrap();
        assert!(matches!(lines.receive(LONG), NextLine::Line(line) if line == b"{\"b\":2}"));
        drop(peer);
        assert!(matches!(lines.receive(LONG), NextLine::Closed));
    }

    #[test]
    fn a_line_beyond_the_bound_is_refused() {
        let (mut lines, mut peer) = pair();
        let writer = std::thread::spawn(move || {
            let chunk = vec![b'x'; 1 << 20];
            while peer.write_all(&chunk).is_ok() {}
        });
        assert!(matches!(lines.receive(LONG), NextLine::TooLong));
        drop(lines);
        writer.join().unwrap();
    }
}
