//! Which spans come next, and up to which event are they?

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use opentelemetry_proto::tonic::trace::v1::Span;
use protocol::{EventSeq, SessionId};
use redact::Redactor;
use store::{EventStore, Follower, LogFilter, StoreError, StoredEvent};
use sys::{clock::Clock, current::HotSwap};
use traces::OtlpSpan;

use super::traced::TracedSpans;
use crate::{OtlpCounts, OtlpSignal, messages};

/// The note in the database that has the place up to which spans were dealt with.
const PLACE: &str = "otlp.traces";
/// That nobody wants them.
const NOWHERE: &str = "";

/// Spans of one request. Collectors take thousands; with as many a lost answer costs little.
const BATCH_SPANS: usize = 512;
/// Bytes of one request, about: servers of gRPC refuse what is larger than 4 MiB.
const BATCH_BYTES: usize = 1 << 20;
/// Bytes of a span beside its texts, about.
const SPAN_BYTES: usize = 1_024;
/// Spans that end within this time go together.
const LINGER: Duration = Duration::from_secs(1);
/// Events that are read at once.
const EVENTS_READ: usize = 200;

/// Spans in the order in which they end, from a place in the log on. Its methods are cancel safe: what was read stays.
pub(super) struct SpanFeed {
    store: EventStore,
    follower: Follower,
    fold: TracedSpans,
    /// Read, and not yet told to the fold.
    unread: VecDeque<Arc<StoredEvent>>,
    /// Ended up to `told`, and not sent; each with its session.
    spans: Vec<(Option<SessionId>, Span)>,
    bytes: usize,
    /// The newest event that the fold was told.
    told: EventSeq,
    /// Up to here all was dealt with.
    settled: EventSeq,
    max_backlog: u64,
}

/// Nothing is to be sent from now on.
pub(super) async fn forget(store: &EventStore) -> Result<(), StoreError> {
    match store.note(PLACE).await?.as_deref() {
        None | Some(NOWHERE) => Ok(()),
        Some(_) => store.leave_note(PLACE, NOWHERE.to_owned()).await,
    }
}

/// Everything up to here was dealt with.
pub(super) async fn remember(store: &EventStore, place: EventSeq) -> Result<(), StoreError> {
    store.leave_note(PLACE, place.to_string()).await
}

impl SpanFeed {
    /// From the place that was remembered on; where there is none, from now on.
    pub async fn open(store: &EventStore, max_backlog: u64) -> Result<SpanFeed, StoreError> {
        let head = store.head();
        let kept = store.note(PLACE).await?.and_then(|text| text.parse::<i64>().ok());
        // A place beyond the log is another log's: somebody put an older copy of the database back.
        let place = kept.map(EventSeq).filter(|place| *place <= head);
        let told = match place {
            Some(place) => place,
            None => {
                remember(store, head).await?;
                head
            }
        };
        let fold = fold_at(store, told).await?;
        let follower = store.follow(LogFilter::default(), told);
        Ok(SpanFeed {
            store: store.clone(),
            follower,
            fold,
            unread: VecDeque::new(),
            spans: Vec::new(),
            bytes: 0,
            told,
            settled: told,
            max_backlog,
        })
    }

    /// Waits until there is something to send: a whole batch, or what ended in a while.
    pub async fn fill(
        &mut self,
        clock: &Arc<dyn Clock>,
        redactor: &HotSwap<Redactor>,
        counts: &OtlpCounts,
    ) -> Result<(), StoreError> {
        let mut over = None;
        loop {
            self.gather(redactor, counts).await?;
            if self.is_full() {
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

    /// Takes what there is now, up to a batch. Whether there is anything to send.
    pub async fn gather(
        &mut self,
        redactor: &HotSwap<Redactor>,
        counts: &OtlpCounts,
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
        Ok(!self.spans.is_empty())
    }

    /// Tells the fold what was read, until there is a batch.
    fn tell(&mut self, redactor: &Redactor, counts: &OtlpCounts) {
        while !self.is_full()
            && let Some(event) = self.unread.pop_front()
        {
            self.told = event.seq;
            if event.run.is_none() {
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
                let whole = (!is_too_old).then(|| {
                    let mut span = OtlpSpan::of(&span);
                    let bytes = hide(&mut span, redactor);
                    messages::span(span).map(|span| (span, bytes))
                });
                match whole.flatten() {
                    Some((span, bytes)) => {
                        self.bytes += SPAN_BYTES + bytes;
                        self.spans.push((session, span));
                    }
                    None => counts.dropped(OtlpSignal::Traces, 1),
                }
            }
        }
    }

    /// Spans to be sent; `None` = there are none.
    pub fn spans(&self) -> Option<Vec<Span>> {
        (!self.spans.is_empty()).then(|| self.spans.iter().map(|(_, span)| span.clone()).collect())
    }

    /// Takes out the spans of sessions that were deleted meanwhile, and counts them: what is gone here goes nowhere.
    pub async fn leave_deleted(&mut self, counts: &OtlpCounts) -> Result<(), StoreError> {
        let sessions: BTreeSet<SessionId> =
            self.spans.iter().filter_map(|(session, _)| session.clone()).collect();
        let there = self.store.sessions_there(&sessions).await?;
        let before = self.spans.len();
        self.spans.retain(|(session, _)| session.as_ref().is_none_or(|it| there.contains(it)));
        counts.dropped(OtlpSignal::Traces, u64::try_from(before - self.spans.len()).unwrap_or(0));
        Ok(())
    }

    /// Once the batch was dealt with, everything up to here was.
    pub fn batch_end(&self) -> EventSeq {
        self.told
    }

    /// The batch was dealt with.
    pub fn settled(&mut self) {
        self.spans.clear();
        self.bytes = 0;
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
        self.max_backlog < events_between(self.told, self.store.head())
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
        BATCH_SPANS <= self.spans.len() || BATCH_BYTES <= self.bytes
    }
}

fn events_between(from: EventSeq, to: EventSeq) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}

/// The spans that were open at a place: of the runs that had begun by then and end later, all events up to there.
async fn fold_at(store: &EventStore, place: EventSeq) -> Result<TracedSpans, StoreError> {
    let mut fold = TracedSpans::default();
    let runs = store.open_runs_at(place).await?;
    if runs.is_empty() {
        return Ok(fold);
    }
    let filter = LogFilter { runs, ..LogFilter::default() };
    let mut read_to = EventSeq(0);
    while read_to < place {
        let page = store.page(&filter, read_to, EVENTS_READ).await?;
        for event in page.events.iter().filter(|event| event.seq <= place) {
            if let Ok(envelope) = event.to_envelope() {
                // What ended by then was dealt with.
                drop(fold.apply(&envelope));
            }
        }
        read_to = page.searched_to;
    }
    Ok(fold)
}

/// Hides secrets; answers how many bytes of text there are.
fn hide(span: &mut OtlpSpan, redactor: &Redactor) -> usize {
    let mut bytes = 0;
    for text in span.texts_mut() {
        if let std::borrow::Cow::Owned(hidden) = redactor.text(text) {
            *text = hidden;
        }
        bytes += text.len();
    }
    bytes
}
