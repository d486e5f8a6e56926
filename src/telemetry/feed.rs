//! Which spans come next, and up to which event are they?

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use protocol::{EventSeq, RunTracing, SessionId, TraceBackend, TraceSpan};
use redact::Redactor;
use store::{EventStore, Follower, LogFilter, StoreError, StoredEvent};
use sys::{clock::Clock, current::HotSwap};

use crate::traced::TracedSpans;

/// That nobody wants them.
const NOWHERE: &str = "";

/// Spans of one batch. Collectors take thousands; with as many a lost answer costs little.
const BATCH_SPANS: usize = 512;
/// Bytes of one batch, about: servers of gRPC refuse what is larger than 4 MiB.
const BATCH_BYTES: usize = 1 << 20;
/// Spans that end within this time go together.
const LINGER: Duration = Duration::from_secs(1);
/// The event that says that a session is gone.
pub(crate) const DELETED: &str = "session.deleted";

/// A place that spans go to, as their follower knows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpanDestination {
    pub backend: TraceBackend,
    /// The note in the database that has the place up to which spans were dealt with.
    pub place: &'static str,
    /// Spans after which more events than this came are given up.
    pub max_backlog: u64,
}

/// A span as its destination takes it.
pub(crate) trait FedSpan: Sized {
    /// The span without its secrets, and its size in bytes, about. `None` = it cannot be taken.
    fn of(span: &TraceSpan, redactor: &Redactor) -> Option<(Self, usize)>;
}

/// Someone who counts what does not arrive, and what waits.
pub(crate) trait FeedObserver {
    /// Spans were given up.
    fn dropped(&self, spans: u64);
    /// Tells how many events of the log were not dealt with yet.
    fn waits(&self, events: u64);
}

/// Spans in the order in which they end, from a place in the log on. Its methods are cancel safe: what was read stays.
pub(crate) struct SpanFeed<S> {
    store: EventStore,
    destination: SpanDestination,
    follower: Follower,
    fold: TracedSpans,
    /// Read, and not yet told to the fold.
    unread: VecDeque<Arc<StoredEvent>>,
    /// Ended up to `told`, and not sent; each with its session.
    spans: Vec<(Option<SessionId>, S)>,
    bytes: usize,
    /// Given up since the last batch.
    dropped: usize,
    /// Sessions that were deleted up to `told`, since the last batch.
    deleted: Vec<SessionId>,
    /// The newest event that the fold was told.
    told: EventSeq,
    /// Up to here all was dealt with.
    settled: EventSeq,
}

impl SpanDestination {
    /// Nothing goes there from now on. Answers how many events of the log still waited.
    pub async fn forget(self, store: &EventStore) -> Result<u64, StoreError> {
        let kept = store.note(self.place).await?;
        let Some(kept) = kept.filter(|it| it != NOWHERE) else { return Ok(0) };
        store.leave_note(self.place, NOWHERE.to_owned()).await?;
        Ok(kept.parse().map_or(0, |place| events_between(EventSeq(place), store.head())))
    }

    /// Everything up to here was dealt with.
    pub async fn remember(self, store: &EventStore, place: EventSeq) -> Result<(), StoreError> {
        store.leave_note(self.place, place.to_string()).await
    }
}

impl<S: FedSpan> SpanFeed<S> {
    /// From the place that was remembered on; where there is none, from now on. No more is told of spans than `in_force` says.
    pub async fn open(
        store: &EventStore,
        destination: SpanDestination,
        in_force: &RunTracing,
    ) -> Result<SpanFeed<S>, StoreError> {
        let head = store.head();
        let kept = store.note(destination.place).await?.and_then(|text| text.parse::<i64>().ok());
        // A place beyond the log is another log's: somebody put an older copy of the database back.
        let place = kept.map(EventSeq).filter(|place| *place <= head);
        let told = match place {
            Some(place) => place,
            None => {
                destination.remember(store, head).await?;
                head
            }
        };
        let fold = fold_at(store, TracedSpans::new(destination.backend, in_force.clone()), told).await?;
        let follower = store.follow(LogFilter::default(), told);
        Ok(SpanFeed {
            store: store.clone(),
            destination,
            follower,
            fold,
            unread: VecDeque::new(),
            spans: Vec::new(),
            bytes: 0,
            dropped: 0,
            deleted: Vec::new(),
            told,
            settled: told,
        })
    }

    /// Waits until there is something to deal with: a whole batch, or what ended in a while.
    pub async fn fill(
        &mut self,
        clock: &Arc<dyn Clock>,
        redactor: &HotSwap<Redactor>,
        counts: &impl FeedObserver,
    ) -> Result<(), StoreError> {
        let mut over = None;
        loop {
            self.gather(redactor, counts).await?;
            // Spans that were given up are given up once: the place moves on although nothing is sent. What was deleted goes
            // at once.
            let is_over_at_once = !self.deleted.is_empty() || self.spans.is_empty() && self.dropped != 0;
            if self.is_full() || is_over_at_once {
                return Ok(());
            }
            counts.waits(self.behind());
            if self.spans.is_empty() {
                self.follower.wait().await;
                continue;
            }
            let linger = over.get_or_insert_with(|| clock.sleep(LINGER));
            tokio::select! {
                () = self.follower.wait() => {}
                () = linger => return Ok(()),
            }
        }
    }

    /// Takes what there is now, up to a batch. Whether there is anything to deal with.
    pub async fn gather(
        &mut self,
        redactor: &HotSwap<Redactor>,
        counts: &impl FeedObserver,
    ) -> Result<bool, StoreError> {
        while !self.is_full() {
            if self.unread.is_empty() {
                let events = self.follower.poll().await?;
                if events.is_empty() {
                    break;
                }
                self.unread.extend(events);
            }
            self.tell(&redactor.get(), counts);
        }
        Ok(!self.spans.is_empty() || !self.deleted.is_empty())
    }

    /// Tells the fold what was read, until there is a batch.
    fn tell(&mut self, redactor: &Redactor, counts: &impl FeedObserver) {
        while !self.is_full()
            && let Some(event) = self.unread.pop_front()
        {
            self.told = event.seq;
            if event.run.is_none() {
                let gone = event.session.clone().filter(|_| &*event.kind == DELETED);
                if let Some(session) = &gone {
                    self.fold.forget(session);
                }
                self.deleted.extend(gone);
                continue;
            }
            let ended = match event.to_envelope() {
                Ok(envelope) => self.fold.apply(&envelope),
                Err(error) => {
                    tracing::warn!(%error, "an event is left out of the traces that are sent");
                    continue;
                }
            };
            let is_too_old = self.is_too_old();
            for span in ended {
                let session = span.session_id.clone();
                match (!is_too_old).then(|| S::of(&span, redactor)).flatten() {
                    Some((span, bytes)) => {
                        self.bytes += bytes;
                        self.spans.push((session, span));
                    }
                    None => {
                        self.dropped += 1;
                        counts.dropped(1);
                    }
                }
            }
        }
    }

    /// The batch.
    pub fn spans(&self) -> impl ExactSizeIterator<Item = &S> {
        self.spans.iter().map(|(_, span)| span)
    }

    /// Sessions that are gone since the last batch.
    pub fn deleted(&self) -> &[SessionId] {
        &self.deleted
    }

    /// Takes out the spans of sessions that were deleted meanwhile, and counts them: what is gone here goes nowhere.
    pub async fn leave_deleted(&mut self, counts: &impl FeedObserver) -> Result<(), StoreError> {
        let sessions: BTreeSet<SessionId> =
            self.spans.iter().filter_map(|(session, _)| session.clone()).collect();
        let there = self.store.sessions_there(&sessions).await?;
        let before = self.spans.len();
        self.spans.retain(|(session, _)| session.as_ref().is_none_or(|it| there.contains(it)));
        counts.dropped(u64::try_from(before - self.spans.len()).unwrap_or(0));
        Ok(())
    }

    /// Remembers that the batch was dealt with, and so everything up to its end.
    pub async fn remember(&self) -> Result<(), StoreError> {
        self.destination.remember(&self.store, self.told).await
    }

    /// The batch was dealt with.
    pub fn settled(&mut self) {
        self.spans.clear();
        self.deleted.clear();
        (self.bytes, self.dropped) = (0, 0);
        self.settled = self.told;
    }

    /// Drops the batch; answers how many spans it had.
    pub fn give_up(&mut self) -> u64 {
        let spans = u64::try_from(self.spans.len()).unwrap_or(u64::MAX);
        self.settled();
        spans
    }

    /// True: so much happened since that this is not waited for any more.
    pub fn is_too_old(&self) -> bool {
        self.destination.max_backlog < events_between(self.told, self.store.head())
    }

    /// Events that wait; those after which there was nothing to send do not.
    pub fn behind(&self) -> u64 {
        let has_seen_all = self.unread.is_empty() && self.store.head() <= self.follower.position();
        if self.spans.is_empty() && has_seen_all {
            return 0;
        }
        events_between(self.settled, self.store.head())
    }

    fn is_full(&self) -> bool {
        BATCH_SPANS <= self.spans.len() + self.dropped || BATCH_BYTES <= self.bytes
    }
}

fn events_between(from: EventSeq, to: EventSeq) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}

/// The spans that were open at a place: of the runs that had begun by then and end later, all events up to there.
async fn fold_at(
    store: &EventStore,
    mut fold: TracedSpans,
    place: EventSeq,
) -> Result<TracedSpans, StoreError> {
    let read = |event: &StoredEvent| {
        if let Ok(envelope) = event.to_envelope() {
            // What ended by then was dealt with.
            drop(fold.apply(&envelope));
        }
    };
    store.read_open_runs(place, Vec::new(), read).await?;
    Ok(fold)
}
