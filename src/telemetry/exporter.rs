//! How do spans get from the log to a collector, each of them, though either may be away? (spec 10, "OTLP")
//!
//! A place in the log is kept in the database: spans that ended before it were taken by the collector, or given up and counted. It
//! moves only after an answer, so whoever is killed in between sends a batch again; a span has the same ids then, which are made of
//! the event that began it. What is being sent is one batch in memory; all else waits where it is, in the log.

use std::{borrow::Cow, future::pending, sync::Arc, time::Duration};

use opentelemetry_proto::tonic::trace::v1::Span;
use protocol::{Timestamp, TraceBackend, TraceSpan};
use redact::Redactor;
use store::{EventStore, StoreError};
use sys::{clock::Clock, current::HotSwap};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use traces::OtlpSpan;

use crate::{
    LAST_WORDS, OtlpCounts, OtlpSignal, OtlpTarget, OtlpTargets,
    feed::{FedSpan, FeedObserver, SpanDestination, SpanFeed},
    messages::{self, TelemetryResource},
    sender::{BatchFate, SignalSender},
};

/// The collector of traces. How much may wait is up to the settings in force.
const COLLECTOR: SpanDestination =
    SpanDestination { backend: TraceBackend::Otlp, place: "otlp.traces", max_backlog: u64::MAX };
/// Bytes of a span beside its texts, about.
const SPAN_BYTES: usize = 1_024;
/// Between tries to read the log, or to remember a place in it.
const STORE_RETRY: Duration = Duration::from_secs(1);

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
        let redactor = self.redactor.get();
        let hidden = |(name, value): &(String, String)| (name.clone(), redactor.text(value).into_owned());
        let resource: Vec<(String, String)> = targets.resource.iter().map(hidden).collect();
        TelemetryResource::new(self.version, &self.instance, &resource)
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
        let events = self.until_stored(|| COLLECTOR.forget(&self.store)).await;
        if events != 0 {
            tracing::warn!(
                events,
                "no collector is named any more: traces that waited for it are given up, those of so many events of the log"
            );
        }
    }

    async fn begin(&self, target: &OtlpTarget, targets: &OtlpTargets) -> TraceExport {
        let destination = SpanDestination { max_backlog: targets.max_backlog, ..COLLECTOR };
        TraceExport {
            feed: self.until_stored(|| SpanFeed::open(&self.store, destination, &targets.tracing)).await,
            sender: self.parts.sender(target, OtlpSignal::Traces),
            resource: self.parts.resource(targets),
        }
    }

    async fn export(&self, export: &mut TraceExport) {
        let ExporterParts { clock, redactor, counts, .. } = &self.parts;
        loop {
            while let Err(error) = export.feed.fill(clock, redactor, &**counts).await {
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
            self.until_stored(|| export.feed.remember()).await;
            export.feed.settled();
            counts.waits(export.feed.behind());
        }
    }

    async fn attempt(&self, export: &mut TraceExport) -> BatchFate {
        if let Err(error) = export.feed.leave_deleted(&*self.parts.counts).await {
            // Nobody knows whether they may be sent.
            tracing::debug!(%error, "whether sessions were deleted cannot be read");
            return BatchFate::Again(STORE_RETRY);
        }
        let spans: Vec<Span> = export.feed.spans().map(|span| span.0.clone()).collect();
        let items = spans.len();
        if items == 0 {
            return BatchFate::Settled;
        }
        let request = messages::of_spans(&export.resource, self.parts.version, spans);
        let body = messages::encoded(&request, export.sender.protocol());
        export.sender.attempt(items, body).await
    }

    /// Sends what there is, as long as the collector takes it.
    async fn last_words(&self, mut export: TraceExport) {
        while export.sender.is_well() {
            match export.feed.gather(&self.parts.redactor, &*self.parts.counts).await {
                Ok(true) => {}
                Ok(false) | Err(_) => return,
            }
            if let BatchFate::Again(_) = self.attempt(&mut export).await {
                return;
            }
            if export.feed.remember().await.is_err() {
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
    feed: SpanFeed<SentSpan>,
    sender: SignalSender,
    resource: TelemetryResource,
}

/// A span as the protocol has it.
struct SentSpan(Span);

impl FedSpan for SentSpan {
    fn of(span: &TraceSpan, redactor: &Redactor) -> Option<(SentSpan, usize)> {
        let mut span = OtlpSpan::of(span);
        let mut bytes = SPAN_BYTES;
        for text in span.texts_mut() {
            if let Cow::Owned(hidden) = redactor.text(text) {
                *text = hidden;
            }
            bytes += text.len();
        }
        messages::span(span).map(|span| (SentSpan(span), bytes))
    }
}

impl FeedObserver for OtlpCounts {
    fn dropped(&self, spans: u64) {
        self.dropped(OtlpSignal::Traces, spans);
    }

    fn waits(&self, events: u64) {
        self.waits(events);
    }
}
