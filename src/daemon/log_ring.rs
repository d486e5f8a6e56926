//! The newest lines of the daemon's own log, for `daemon/logs`.

use std::{
    cell::Cell,
    collections::VecDeque,
    io,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

/// Lines that are kept: some hours of a quiet daemon, some minutes of a loud one.
const RING_LINES: usize = 4_096;

/// Bytes of one line that are kept; longer ones are cut, and say so.
const LINE_BYTES: usize = 4_096;

/// The ring of this process: its log is one, as `tracing` has it.
pub(super) static LOG: LazyLock<LogRing> = LazyLock::new(LogRing::new);

pub(super) struct LogRing {
    lines: Mutex<LogLines>,
    /// The number of the newest line; 0 before the first.
    newest: watch::Sender<u64>,
}

#[derive(Default)]
struct LogLines {
    ring: VecDeque<String>,
    /// How many there have been: the number of the newest.
    count: u64,
}

/// Lines after a number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogExcerpt {
    /// Oldest first.
    pub lines: Vec<String>,
    /// The number of the last of these.
    pub last: u64,
    /// Lines before the first of these that are no longer kept.
    pub missed: u64,
}

impl LogRing {
    fn new() -> LogRing {
        LogRing { lines: Mutex::default(), newest: watch::Sender::new(0) }
    }

    /// Keeps what was written, line by line.
    pub fn push(&self, text: &str) {
        let mut lines = self.lock();
        for line in text.lines() {
            if lines.ring.len() == RING_LINES {
                lines.ring.pop_front();
            }
            lines.ring.push_back(cut(line));
            lines.count += 1;
        }
        let count = lines.count;
        drop(lines);
        self.newest.send_replace(count);
    }

    /// At most `limit` lines after line number `after`, the oldest of them first.
    pub fn after(&self, after: u64, limit: usize) -> LogExcerpt {
        let lines = self.lock();
        let kept = u64::try_from(lines.ring.len()).unwrap_or(u64::MAX);
        let before_oldest = lines.count - kept;
        let from = after.clamp(before_oldest, lines.count);
        let skipped = usize::try_from(from - before_oldest).unwrap_or(usize::MAX);
        let found: Vec<String> = lines.ring.iter().skip(skipped).take(limit).cloned().collect();
        let last = from + u64::try_from(found.len()).unwrap_or(0);
        LogExcerpt { lines: found, last, missed: before_oldest.saturating_sub(after) }
    }

    /// The newest `limit` lines.
    pub fn newest(&self, limit: usize) -> LogExcerpt {
        let count = self.lock().count;
        let excerpt = self.after(count.saturating_sub(u64::try_from(limit).unwrap_or(u64::MAX)), limit);
        // Nobody asked for what came before.
        LogExcerpt { missed: 0, ..excerpt }
    }

    /// Waits until there is a line after number `after`. Cancel safe.
    pub async fn grown(&self, after: u64) {
        let mut newest = self.newest.subscribe();
        // The sender is this ring's own, so it is there as long as this waits.
        let _there = newest.wait_for(|newest| after < *newest).await;
    }

    fn lock(&self) -> MutexGuard<'_, LogLines> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cut(line: &str) -> String {
    if line.len() <= LINE_BYTES {
        return line.to_owned();
    }
    let end = line.floor_char_boundary(LINE_BYTES);
    format!("{}… [{} bytes in all]", &line[..end], line.len())
}

/// Writes to standard error what the journal did not take, and keeps the lines. What comes is whole: secrets were taken out of it before.
#[derive(Clone, Copy)]
pub(super) struct LogWriter;

thread_local! {
    /// The journal has the line that is being written; it is no line of standard error any more.
    static IS_TAKEN: Cell<bool> = const { Cell::new(false) };
}

impl LogWriter {
    /// Notes whether the journal took the line that this thread writes next.
    pub fn next_line_is_taken(is_taken: bool) {
        IS_TAKEN.set(is_taken);
    }

    /// True once for each line that the journal took.
    pub fn is_taken() -> bool {
        IS_TAKEN.replace(false)
    }
}

impl io::Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.push(&String::from_utf8_lossy(bytes));
        if !LogWriter::is_taken() {
            io::stderr().write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn lines_are_numbered_and_the_oldest_go() {
        let ring = LogRing::new();
        assert_eq!(ring.after(0, 10), LogExcerpt { lines: Vec::new(), last: 0, missed: 0 });
        ring.push("one\ntwo\n");
        ring.push("three");
        let excerpt = |lines: &[&str], last, missed| LogExcerpt {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            last,
            missed,
        };
        assert_eq!(ring.after(1, 1), excerpt(&["two"], 2, 0));
        assert_eq!(ring.newest(2), excerpt(&["two", "three"], 3, 0));
        assert_eq!(ring.after(3, 10), excerpt(&[], 3, 0));
        // A number of a daemon before this one.
        assert_eq!(ring.after(99, 10), excerpt(&[], 3, 0));
        for n in 4..=RING_LINES + 5 {
            ring.push(&n.to_string());
        }
        assert_eq!(ring.after(2, 1), excerpt(&["6"], 6, 3));
    }

    #[test]
    fn waiting_ends_with_the_next_line() {
        let ring = LogRing::new();
        let mut waiting = Box::pin(ring.grown(0));
        assert!((&mut waiting).now_or_never().is_none());
        ring.push("one");
        assert!(waiting.now_or_never().is_some());
        assert!(ring.grown(1).now_or_never().is_none());
    }

    #[test]
    fn long_lines_are_cut_and_say_so() {
        let line = cut(&"é".repeat(LINE_BYTES));
        assert!(line.ends_with("… [8192 bytes in all]") && line.len() < LINE_BYTES + 40, "{line}");
    }
}
