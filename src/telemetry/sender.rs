//! What becomes of a batch that a collector takes, refuses, or does not answer?

use std::{sync::Arc, time::Duration};

use config::OtlpProtocol;
use sys::clock::Clock;

use crate::{DeliveryError, OtlpCollector, OtlpCounts, OtlpSignal, OtlpTarget};

/// The pause after a request that was not taken; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest one.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Tries of a batch on which the collector itself fails, before it is asked whether it takes anything. One batch that breaks it
/// each time must not hold up all others for ever; a collector that takes nothing at all loses nothing.
const MOST_FAILURES: u32 = 8;
/// Characters of what a collector says that go into the daemon's log.
const WORD_CHARACTERS: usize = 200;

/// Sends the batches of one signal to one collector, counts them, and tells the log of changes.
pub(crate) struct SignalSender {
    collector: OtlpCollector,
    signal: OtlpSignal,
    clock: Arc<dyn Clock>,
    counts: Arc<OtlpCounts>,
    /// Tries of this batch that failed.
    failures: u32,
    /// It took something else since it failed on this batch so often: the next failure is the batch's own.
    takes_others: bool,
    /// The last request was taken, or there was none.
    is_well: bool,
}

/// The outcome of a try to send a batch.
pub(crate) enum BatchFate {
    /// It was taken, or never will be.
    Settled,
    /// It may be taken after this time.
    Again(Duration),
}

impl SignalSender {
    pub fn new(
        target: &OtlpTarget,
        signal: OtlpSignal,
        clock: &Arc<dyn Clock>,
        counts: &Arc<OtlpCounts>,
    ) -> SignalSender {
        SignalSender {
            collector: OtlpCollector::new(target.clone(), signal, Arc::clone(clock)),
            signal,
            clock: Arc::clone(clock),
            counts: Arc::clone(counts),
            failures: 0,
            takes_others: false,
            is_well: true,
        }
    }

    pub fn protocol(&self) -> OtlpProtocol {
        self.collector.protocol()
    }

    /// True: the collector took what it was sent last.
    pub fn is_well(&self) -> bool {
        self.is_well
    }

    /// Sends a batch of so many items, once.
    pub async fn attempt(&mut self, items: usize, body: Vec<u8>) -> BatchFate {
        let items = u64::try_from(items).unwrap_or(u64::MAX);
        let sent = self.collector.deliver(self.collector.packed(body)).await;
        let signal = self.signal.as_str();
        let (problem, after, is_over) = match sent {
            Ok(accepted) => {
                let host = self.collector.host();
                let rejected = accepted.rejected.min(items);
                self.counts.sent(self.signal, items - rejected);
                self.counts.dropped(self.signal, rejected);
                if rejected != 0 {
                    tracing::warn!(
                        host,
                        signal,
                        rejected,
                        reason = in_a_line(&accepted.message),
                        "the collector rejected some"
                    );
                }
                if !self.is_well {
                    tracing::info!(host, signal, "the collector is back");
                }
                (self.is_well, self.failures, self.takes_others) = (true, 0, false);
                self.counts.is_well(self.signal);
                return BatchFate::Settled;
            }
            Err(DeliveryError::Later { problem, after }) => (problem, after, false),
            Err(DeliveryError::Failed { problem }) => {
                let is_over = self.takes_others;
                // One that was away when it was asked may take the batch, too, by now.
                if MOST_FAILURES <= self.failures.saturating_add(1) && !is_over {
                    self.takes_others = self.takes_nothing_in_particular().await;
                }
                (problem, None, is_over)
            }
            Err(DeliveryError::Refused { problem }) => (problem, None, true),
        };
        let host = self.collector.host();
        self.counts.failed(self.signal);
        if is_over {
            tracing::warn!(
                host,
                signal,
                problem,
                items,
                "the collector does not take these; they are dropped"
            );
            self.counts.dropped(self.signal, items);
            self.gave_up();
            return BatchFate::Settled;
        }
        // Once, and not at every try: nobody reads a log that says the same for hours.
        if self.is_well {
            tracing::warn!(host, signal, problem, "cannot be sent to the collector; it is tried again");
        }
        self.is_well = false;
        self.counts.is_refused(self.signal, &in_a_line(&problem), self.clock.now());
        let pause = pause(self.failures, &*self.clock);
        self.failures = self.failures.saturating_add(1);
        BatchFate::Again(after.unwrap_or_default().max(pause))
    }

    /// True if the collector takes a request with nothing in it, or says why it does not: it is there, and the batch is what it
    /// fails on.
    async fn takes_nothing_in_particular(&self) -> bool {
        let empty = match self.collector.protocol() {
            // One resource with nothing of it, whatever the signal: a body without a byte is refused by some proxies.
            OtlpProtocol::HttpProtobuf | OtlpProtocol::Grpc => vec![0x0a, 0x00],
            OtlpProtocol::HttpJson => b"{}".to_vec(),
        };
        let sent = self.collector.deliver(self.collector.packed(empty)).await;
        matches!(sent, Ok(_) | Err(DeliveryError::Refused { .. }))
    }

    /// Notes that the batch was given up: the next one is another.
    pub fn gave_up(&mut self) {
        (self.failures, self.takes_others) = (0, false);
    }
}

/// A stranger's words in one line, so that none of them passes for a line of the log.
fn in_a_line(words: &str) -> String {
    let shown = |it: char| if it.is_control() || matches!(it, '\u{2028}' | '\u{2029}') { ' ' } else { it };
    words.chars().take(WORD_CHARACTERS).map(shown).collect()
}

/// The pause after so many failures, a fifth more or less, so that those who failed together do not come back together.
fn pause(failures: u32, clock: &dyn Clock) -> Duration {
    let pause = FIRST_PAUSE.saturating_mul(1 << failures.min(6)).min(LONGEST_PAUSE);
    let chance = u32::try_from(clock.now().0.rem_euclid(401)).unwrap_or(200);
    pause * (800 + chance) / 1_000
}
