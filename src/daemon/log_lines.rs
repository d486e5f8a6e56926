//! How does a line of the log reach stderr, and those who ask for it, without its secrets?

use std::{
    io::{self, Write},
    sync::{Arc, LazyLock},
};

use tracing_subscriber::fmt::MakeWriter;

use super::log_ring::LogWriter;
use redact::Redactor;
use sys::current::HotSwap;

/// What must not stand in the log of this process; it is one, as `tracing` has it.
pub(super) static HIDDEN: LazyLock<HotSwap<Redactor>> = LazyLock::new(|| HotSwap::new(Redactor::none()));

/// Where the log goes: each event is written by a writer of its own, in one piece, without what is [`HIDDEN`].
pub(super) struct RedactedStderr;

impl<'a> MakeWriter<'a> for RedactedStderr {
    type Writer = RedactedLines<LogWriter>;

    fn make_writer(&'a self) -> Self::Writer {
        RedactedLines { redactor: HIDDEN.get(), text: Vec::new(), out: LogWriter }
    }
}

/// Collects what is written, since a secret may stand across two writes, and passes it on when dropped.
pub(super) struct RedactedLines<W: Write> {
    redactor: Arc<Redactor>,
    text: Vec<u8>,
    out: W,
}

impl<W: Write> Write for RedactedLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Does nothing: the event is not over, and its end may belong to a secret.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for RedactedLines<W> {
    fn drop(&mut self) {
        // Where the log itself cannot be written there is nobody left to tell.
        let _lost = self.out.write_all(&self.redactor.bytes_line(&self.text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redact::RedactorParts;

    #[test]
    fn a_secret_across_two_writes_does_not_reach_the_log() {
        let environment = [("MY_TOKEN".to_owned(), "hunter2hunter2".to_owned())].into_iter();
        let redactor = Redactor::new(RedactorParts { environment, patterns: Vec::new() });
        let mut out = Vec::new();
        let mut lines = RedactedLines { redactor: Arc::new(redactor), text: Vec::new(), out: &mut out };
        lines.write_all(b"INFO told hunter2").unwrap();
        lines.flush().unwrap();
        lines.write_all(b"hunter2 to them\n").unwrap();
        drop(lines);
        assert_eq!(String::from_utf8(out).unwrap(), "INFO told [redacted:env:MY_TOKEN] to them\n");
    }
}
