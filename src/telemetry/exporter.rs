//! How do spans get from the log to a collector, each of them, though either may be away? (spec 10, "OTLP")
//!
//! A place in the log is kept in the database: spans that ended before it were taken by the collector, or given up and counted. It
//! moves only after an answer, so whoever is killed in between sends a batch again; a span has the same ids then, which are made of
//! the event that began it. What is being sent is one batch in memory; all else waits where it is, in the log.

mod feed;
mod traced;

use std::{future::pending, sync::Arc, time::Duration};

use protocol::Timestamp;
use redact::Redactor;
use store::{EventStore, StoreError};
use sys::{clock::Clock, current::HotSwap};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::feed::SpanFeed;
use crate::{
    OtlpCounts, OtlpSignal, OtlpTarget, OtlpTargets,
    messages::{self, TelemetryResource},
    sender::{BatchFate, SignalSender},
};

/// Between tries to read the log, or to remember a place in it.
const STORE_RETRY: Duration = Duration::from_secs(1);
/// A daemon that stops sends what it has in so much time; the next one sends the rest.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(2);

/// Everything that an exporter of any signal works with.
#[derive(Clone)]
pub struct ExporterParts {
    pub clock: Arc<dyn Clock>,
    /// Secrets that were learned after they stood in the log are hidden as well.
    pub redactor: Arc<HotSwap<Redactor>>,
    /// The targets in force, by which the next request goes.
    pub targets: watch::Receiver<Arc<OtlpTargets>>,
    pub counts: Arc<OtlpCounts>,
    /// The daemon's, as the next two.
    pub version: &'static str,
    pub instance: String,
    pub started_at: Timestamp,
    pub stop: CancellationToken,
}

impl ExporterParts {
    pub(crate) fn resource(&self, targets: &OtlpTargets) -> TelemetryResource {
        TelemetryResource::new(self.version, &self.instance, &targets.resource)
    }

    pub(crate) fn sender(&self, target: &OtlpTarget, signal: OtlpSignal) -> SignalSender {
        SignalSender::new(target, signal, &self.clock, &self.counts)
    }
}

/// Follows the log and sends the spans that end.
pub struct TraceExporter {
    store: EventStore,
    parts: ExporterParts,
}

impl TraceExporter {
    pub fn new(store: EventStore, parts: ExporterParts) -> TraceExporter {
        TraceExporter { store, parts }
    }

    /// Until the daemon stops. Nobody waits for it.
    pub async fn run(&self) {
        let mut targets = self.parts.targets.clone();
        loop {
            let in_force = Arc::clone(&targets.borrow_and_update());
            let mut export = None;
            let working = async {
                match &in_force.traces {
                    Some(target) => {
                        let export = export.insert(self.begin(target, &in_force).await);
                        self.export(export).await;
                    }
                    // A slip in the settings is no wish to lose what waits.
                    None if in_force.is_mistaken => pending().await,
                    None => {
                        self.forget().await;
                        pending().await
                    }
                }
            };
            tokio::select! {
                () = self.parts.stop.cancelled() => {
                    if let Some(export) = export {
                        // On the system's clock, as all of a stop.
                        let _rest_comes_later = tokio::time::timeout(LAST_WORDS, self.last_words(export)).await;
                    }
                    return;
                }
                changed = targets.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = working => {}
            }
        }
    }

    /// Forgets the place: what was not sent while nobody wanted it is not wanted later.
    async fn forget(&self) {
        self.parts.counts.waits(0);
        self.until_stored(|| feed::forget(&self.store)).await;
    }

    async fn begin(&self, target: &OtlpTarget, targets: &OtlpTargets) -> TraceExport {
        TraceExport {
            feed: self.until_stored(|| SpanFeed::open(&self.store, targets.max_backlog)).await,
            sender: self.parts.sender(target, OtlpSignal::Traces),
            resource: self.parts.resource(targets),
        }
    }

    async fn export(&self, export: &mut TraceExport) {
        let ExporterParts { clock, redactor, counts, .. } = &self.parts;
        loop {
            while let Err(error) = export.feed.fill(clock, redactor, counts).await {
                tracing::warn!(%error, "the log cannot be read to send traces; tried again");
                clock.sleep(STORE_RETRY).await;
            }
            while let BatchFate::Again(pause) = self.attempt(export).await {
                clock.sleep(pause).await;
                counts.waits(export.feed.behind());
                if export.feed.is_too_old() {
                    counts.dropped(OtlpSignal::Traces, export.feed.give_up());
                    export.sender.gave_up();
                    break;
                }
            }
            let to = export.feed.batch_end();
            self.until_stored(|| feed::remember(&self.store, to)).await;
            export.feed.settled();
            counts.waits(export.feed.behind());
        }
    }

    async fn attempt(&self, export: &mut TraceExport) -> BatchFate {
        if let Err(error) = export.feed.leave_deleted(&self.parts.counts).await {
            // Nobody knows whether they may be sent.
            tracing::debug!(%error, "whether sessions were deleted cannot be read");
            return BatchFate::Again(STORE_RETRY);
        }
        let Some(spans) = export.feed.spans() else { return BatchFate::Settled };
        let items = spans.len();
        let request = messages::of_spans(&export.resource, self.parts.version, spans);
        let body = messages::encoded(&request, export.sender.protocol());
        export.sender.attempt(items, body).await
    }

    /// Sends what there is, as long as the collector takes it.
    async fn last_words(&self, mut export: TraceExport) {
        while export.sender.is_well() {
            match export.feed.gather(&self.parts.redactor, &self.parts.counts).await {
                Ok(true) => {}
                Ok(false) | Err(_) => return,
            }
            if let BatchFate::Again(_) = self.attempt(&mut export).await {
                return;
            }
            if feed::remember(&self.store, export.feed.batch_end()).await.is_err() {
                return;
            }
            export.feed.settled();
        }
    }

    /// Tries again until the database does it; a full disk will have room again.
    async fn until_stored<T, F>(&self, work: impl Fn() -> F) -> T
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        loop {
            match work().await {
                Ok(done) => return done,
                Err(error) => {
                    tracing::debug!(%error, "the place up to which traces were sent cannot be read or kept");
                    self.parts.clock.sleep(STORE_RETRY).await;
                }
            }
        }
    }
}

/// An export to one collector.
struct TraceExport {
    feed: SpanFeed,
    sender: SignalSender,
    resource: TelemetryResource,
}
