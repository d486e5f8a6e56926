//! Lines of the daemon's own log, for a collector: kept in a ring as they are said, and sent in their order. Nothing is kept while
//! nobody wants them.

use std::{
    collections::VecDeque,
    future::pending,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use opentelemetry_proto::tonic::{
    collector::logs::v1::ExportLogsServiceRequest,
    common::v1::{AnyValue, any_value},
    logs::v1::{LogRecord, ResourceLogs, ScopeLogs},
};
use tokio::sync::watch;
use traces::AttributeValue;

use crate::{
    ExporterParts, LAST_WORDS, OtlpSignal, OtlpTargets,
    messages::{self, attributes, nanos, scope},
    sender::{BatchFate, SignalSender},
};

/// Lines that wait: some hours of a quiet daemon, some minutes of a loud one.
const RING_LINES: usize = 4_096;
/// Lines of one request.
const BATCH_LINES: usize = 512;
/// Lines that are said within this time go together.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes of one text that are kept; longer ones are cut, and say so.
const TEXT_BYTES: usize = 4_096;

/// A line of the log. Secrets were taken out of it before.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    pub at_us: i64,
    pub level: LogSeverity,
    pub message: String,
    /// The part of the daemon that says it, fields of the line, and of what it lies in: run, session, request.
    pub attributes: Vec<(String, AttributeValue)>,
}

/// A level of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSeverity {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// The lines that wait for a collector; the oldest go when there are too many.
pub struct LogQueue {
    is_wanted: AtomicBool,
    lines: Mutex<QueuedLines>,
    /// The count of lines that there have been.
    count: watch::Sender<u64>,
}

#[derive(Default)]
struct QueuedLines {
    ring: VecDeque<LogEntry>,
    count: u64,
}

impl LogQueue {
    pub fn new() -> LogQueue {
        LogQueue { is_wanted: AtomicBool::new(false), lines: Mutex::default(), count: watch::Sender::new(0) }
    }

    /// True: somebody sends what is kept.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Keeps a line, if anybody wants it.
    pub fn push(&self, mut entry: LogEntry) {
        if !self.is_wanted() {
            return;
        }
        let texts = entry.attributes.iter_mut().flat_map(|(_, value)| value.texts_mut());
        texts.chain([&mut entry.message]).for_each(cut);
        let mut lines = self.lock();
        if lines.ring.len() == RING_LINES {
            lines.ring.pop_front();
        }
        lines.ring.push_back(entry);
        lines.count += 1;
        let count = lines.count;
        drop(lines);
        self.count.send_replace(count);
    }

    fn want(&self, is_wanted: bool) {
        self.is_wanted.store(is_wanted, Ordering::Relaxed);
        if !is_wanted {
            self.lock().ring.clear();
        }
    }

    /// The next lines after line number `after`, the number of the last of them, and how many in between were lost.
    fn after(&self, after: u64) -> (Vec<LogEntry>, u64, u64) {
        let lines = self.lock();
        let before_oldest =
            lines.count - u64::try_from(lines.ring.len()).unwrap_or(u64::MAX).min(lines.count);
        let from = after.clamp(before_oldest, lines.count);
        let skipped = usize::try_from(from - before_oldest).unwrap_or(usize::MAX);
        let found: Vec<LogEntry> = lines.ring.iter().skip(skipped).take(BATCH_LINES).cloned().collect();
        let last = from + u64::try_from(found.len()).unwrap_or(0);
        (found, last, from.saturating_sub(after))
    }

    fn newest(&self) -> u64 {
        self.lock().count
    }

    async fn grown(&self, after: u64) {
        let mut count = self.count.subscribe();
        // The sender is this queue's own, so it is there as long as this waits.
        let _there = count.wait_for(|count| after < *count).await;
    }

    fn lock(&self) -> MutexGuard<'_, QueuedLines> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for LogQueue {
    fn default() -> LogQueue {
        LogQueue::new()
    }
}

/// Sends the lines of a queue.
pub struct LogExporter {
    parts: ExporterParts,
    queue: &'static LogQueue,
}

impl LogExporter {
    pub fn new(parts: ExporterParts, queue: &'static LogQueue) -> LogExporter {
        LogExporter { parts, queue }
    }

    /// Until the daemon stops. Nobody waits for it.
    pub async fn run(&self) {
        let mut targets = self.parts.targets.clone();
        let mut sent = self.queue.newest();
        loop {
            let in_force = Arc::clone(&targets.borrow_and_update());
            self.queue.want(in_force.logs.is_some());
            tokio::select! {
                () = self.parts.stop.cancelled() => {
                    // On the system's clock, as all of a stop.
                    let _nobody_waits =
                        tokio::time::timeout(LAST_WORDS, self.last_words(&in_force, sent)).await;
                    self.queue.want(false);
                    return;
                }
                changed = targets.changed() => {
                    if changed.is_err() {
                        self.queue.want(false);
                        return;
                    }
                }
                () = self.send_always(&in_force, &mut sent) => {}
            }
        }
    }

    async fn send_always(&self, targets: &OtlpTargets, sent: &mut u64) {
        let Some(target) = &targets.logs else { return pending().await };
        let mut sender = self.parts.sender(target, OtlpSignal::Logs);
        loop {
            self.queue.grown(*sent).await;
            self.parts.clock.sleep(LINGER).await;
            let (lines, last, lost) = self.queue.after(*sent);
            self.parts.counts.dropped(OtlpSignal::Logs, lost);
            let newest_before = last - u64::try_from(lines.len()).unwrap_or(0);
            *sent = newest_before;
            while let BatchFate::Again(pause) = self.attempt(&mut sender, targets, lines.clone()).await {
                self.parts.clock.sleep(pause).await;
            }
            *sent = last;
        }
    }

    async fn last_words(&self, targets: &OtlpTargets, mut sent: u64) {
        let Some(target) = &targets.logs else { return };
        let mut sender = self.parts.sender(target, OtlpSignal::Logs);
        loop {
            let (lines, last, lost) = self.queue.after(sent);
            self.parts.counts.dropped(OtlpSignal::Logs, lost);
            if lines.is_empty() {
                return;
            }
            if let BatchFate::Again(_) = self.attempt(&mut sender, targets, lines).await {
                return;
            }
            sent = last;
        }
    }

    async fn attempt(
        &self,
        sender: &mut SignalSender,
        targets: &OtlpTargets,
        lines: Vec<LogEntry>,
    ) -> BatchFate {
        let items = lines.len();
        let of_scope = ScopeLogs {
            scope: Some(scope(self.parts.version)),
            log_records: lines.into_iter().map(record).collect(),
            ..ScopeLogs::default()
        };
        let of_resource = ResourceLogs {
            resource: Some(self.parts.resource(targets).message()),
            scope_logs: vec![of_scope],
            ..ResourceLogs::default()
        };
        let request = ExportLogsServiceRequest { resource_logs: vec![of_resource] };
        sender.attempt(items, messages::encoded(&request, sender.protocol())).await
    }
}

fn record(entry: LogEntry) -> LogRecord {
    // The first of the four numbers that each level has.
    let (number, word) = match entry.level {
        LogSeverity::Trace => (1, "TRACE"),
        LogSeverity::Debug => (5, "DEBUG"),
        LogSeverity::Info => (9, "INFO"),
        LogSeverity::Warn => (13, "WARN"),
        LogSeverity::Error => (17, "ERROR"),
    };
    LogRecord {
        time_unix_nano: nanos(entry.at_us),
        observed_time_unix_nano: nanos(entry.at_us),
        severity_number: number,
        severity_text: word.to_owned(),
        body: Some(AnyValue { value: Some(any_value::Value::StringValue(entry.message)) }),
        attributes: attributes(entry.attributes),
        ..LogRecord::default()
    }
}

fn cut(text: &mut String) {
    if TEXT_BYTES < text.len() {
        let whole = text.len();
        text.truncate(text.floor_char_boundary(TEXT_BYTES));
        text.push_str(&format!("… [{whole} bytes in all]"));
    }
}
