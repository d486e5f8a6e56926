//! How do spans get from the log to a place on this machine, each of them once? (spec 10, "Agent's field `tracing`")
//!
//! As on the way to a collector, the log is the queue and the database keeps a place in it, which moves only when everything before
//! it has arrived. What arrives here cannot be refused: as long as it cannot be written it waits, in the log.

pub(crate) mod console;
mod files;

use std::{sync::Arc, time::Duration};

use protocol::{RunTracing, SessionId, TraceBackend};
use redact::Redactor;
use store::{EventStore, Follower, LogFilter, StoreError};
use sys::{clock::Clock, current::HotSwap};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use self::{console::SpanLog, files::SpanFiles};
use crate::{
    LAST_WORDS,
    feed::{DELETED, FedSpan, FeedObserver, SpanDestination, SpanFeed},
};

/// Between tries to write, or to read the log.
const RETRY: Duration = Duration::from_secs(5);

/// A place on this machine that spans go to.
pub(crate) trait SpanSink: Send + 'static {
    type Item: FedSpan + Clone + Send + Sync;

    const DESTINATION: SpanDestination;

    /// Begins anew: what of the next spans was written already is not known. Answers the sessions of which something lies there.
    async fn begin(&mut self) -> std::io::Result<Vec<SessionId>>;

    /// Writes spans. What was written before, in a try that failed or by a daemon that was killed, is not written again.
    async fn write(&mut self, spans: Vec<Self::Item>) -> std::io::Result<()>;

    /// Removes everything of these sessions.
    async fn forget(&mut self, sessions: Vec<SessionId>) -> std::io::Result<()>;
}

/// The settings in force about spans that stay on this machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LocalTracing {
    /// Destinations that they name.
    pub backends: Vec<TraceBackend>,
    /// Of what is written no more is told than this says, whatever was said when its run began.
    pub tracing: RunTracing,
}

/// Everything that followers of the log work with whose spans stay on this machine.
#[derive(Clone)]
pub struct LocalSpanParts {
    pub store: EventStore,
    pub clock: Arc<dyn Clock>,
    /// Secrets that were learned after they stood in the log are hidden as well.
    pub redactor: Arc<HotSwap<Redactor>>,
    pub in_force: watch::Receiver<LocalTracing>,
    pub stop: CancellationToken,
}

/// Follows the log and hands the spans that end to a place on this machine.
pub struct LocalSpans<K> {
    parts: LocalSpanParts,
    sink: K,
}

/// A reason why the follower cannot go on, for now.
#[derive(Debug, thiserror::Error)]
enum Hindrance {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Place(#[from] std::io::Error),
}

/// Something changed while it waited.
enum Wakening {
    /// There is something to do.
    Work,
    /// The settings are others.
    Settings,
    /// The daemon stops.
    Stop,
}

/// Nobody counts them: none is dropped.
struct Uncounted;

impl FeedObserver for Uncounted {
    fn dropped(&self, _: u64) {}

    fn waits(&self, _: u64) {}
}

/// The follower's place in the log.
enum LocalFeed<S> {
    Spans(Box<SpanFeed<S>>),
    /// Nobody wants spans now. What was written of sessions goes with them all the same.
    Deletions(Follower, Vec<SessionId>),
}

#[allow(private_bounds, reason = "the sinks are all here")]
impl<K: SpanSink> LocalSpans<K> {
    pub fn new(parts: LocalSpanParts, sink: K) -> LocalSpans<K> {
        LocalSpans { parts, sink }
    }

    /// Until the daemon stops. Nobody waits for it.
    pub async fn run(mut self) {
        let mut is_well = true;
        loop {
            match self.follow(&mut is_well).await {
                Ok(Wakening::Stop) => return,
                Ok(Wakening::Work | Wakening::Settings) => {}
                Err(hindrance) => {
                    let backend = K::DESTINATION.place;
                    // Once, and not at every try.
                    if is_well {
                        tracing::warn!(backend, %hindrance, "spans cannot be written; it is tried again");
                    }
                    is_well = false;
                    let again = self.parts.clock.sleep(RETRY);
                    tokio::select! {
                        () = self.parts.stop.cancelled() => return,
                        () = again => {}
                    }
                }
            }
        }
    }

    /// Writes what ends, until the settings are others or the daemon stops.
    async fn follow(&mut self, is_well: &mut bool) -> Result<Wakening, Hindrance> {
        let mut in_force = self.parts.in_force.clone();
        let LocalTracing { backends, tracing } = in_force.borrow_and_update().clone();
        let wanted = backends.contains(&K::DESTINATION.backend).then_some(tracing);
        let mut feed = self.open(wanted.as_ref()).await?;
        loop {
            let wakening = tokio::select! {
                () = self.parts.stop.cancelled() => Wakening::Stop,
                changed = in_force.changed() => if changed.is_ok() { Wakening::Settings } else { Wakening::Stop },
                filled = feed.fill(&self.parts) => filled.map(|()| Wakening::Work)?,
            };
            match wakening {
                // What was gathered by settings that are others by now is gathered anew.
                Wakening::Work if in_force.has_changed().unwrap_or(false) => return Ok(Wakening::Settings),
                Wakening::Settings => return Ok(Wakening::Settings),
                Wakening::Work => self.settle(&mut feed).await?,
                Wakening::Stop => {
                    // On the system's clock, as all of a stop. The rest comes with the next daemon.
                    let _rest_comes_later = tokio::time::timeout(LAST_WORDS, self.last_words(feed)).await;
                    return Ok(Wakening::Stop);
                }
            }
            if !*is_well {
                tracing::info!(backend = K::DESTINATION.place, "spans are written again");
                *is_well = true;
            }
        }
    }

    /// Begins where it was. What a daemon that was killed left of removed sessions goes first.
    /// `wanted`: how much may be told, if spans are wanted.
    async fn open(&mut self, wanted: Option<&RunTracing>) -> Result<LocalFeed<K::Item>, Hindrance> {
        let store = &self.parts.store;
        // Taken before the sweep: what is deleted after it is told of.
        let head = store.head();
        let sessions = self.sink.begin().await?;
        let there = store.sessions_there(&sessions.iter().cloned().collect()).await?;
        let gone: Vec<SessionId> = sessions.into_iter().filter(|session| !there.contains(session)).collect();
        if !gone.is_empty() {
            self.sink.forget(gone).await?;
        }
        if let Some(in_force) = wanted {
            let feed = SpanFeed::open(store, K::DESTINATION, in_force).await?;
            return Ok(LocalFeed::Spans(Box::new(feed)));
        }
        K::DESTINATION.forget(store).await?;
        let filter = LogFilter { types: vec![DELETED.to_owned()], ..LogFilter::default() };
        Ok(LocalFeed::Deletions(store.follow(filter, head), Vec::new()))
    }

    /// Writes the batch and remembers it. Never given up in its middle, so that nobody writes beside it.
    async fn settle(&mut self, feed: &mut LocalFeed<K::Item>) -> Result<(), Hindrance> {
        match feed {
            LocalFeed::Deletions(_, deleted) => {
                if !deleted.is_empty() {
                    self.sink.forget(deleted.clone()).await?;
                    deleted.clear();
                }
            }
            LocalFeed::Spans(feed) => {
                feed.leave_deleted(&Uncounted).await?;
                let spans: Vec<K::Item> = feed.spans().cloned().collect();
                if !spans.is_empty() {
                    self.sink.write(spans).await?;
                }
                if !feed.deleted().is_empty() {
                    self.sink.forget(feed.deleted().to_vec()).await?;
                }
                feed.remember().await?;
                feed.settled();
            }
        }
        Ok(())
    }

    /// Writes what there is.
    async fn last_words(&mut self, mut feed: LocalFeed<K::Item>) {
        loop {
            let LocalFeed::Spans(spans) = &mut feed else { return };
            if !matches!(spans.gather(&self.parts.redactor, &Uncounted).await, Ok(true)) {
                return;
            }
            if let Err(hindrance) = self.settle(&mut feed).await {
                tracing::debug!(%hindrance, "the last spans are left to the next daemon");
                return;
            }
        }
    }
}

impl<S: FedSpan> LocalFeed<S> {
    /// Waits until there is something to do. Cancel safe.
    async fn fill(&mut self, parts: &LocalSpanParts) -> Result<(), StoreError> {
        match self {
            LocalFeed::Spans(feed) => feed.fill(&parts.clock, &parts.redactor, &Uncounted).await,
            LocalFeed::Deletions(follower, deleted) => {
                let events = follower.next().await?;
                deleted.extend(events.iter().filter_map(|event| event.session.clone()));
                Ok(())
            }
        }
    }
}
