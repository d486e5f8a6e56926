//! How is a trace read page by page, when it is computed from the log?
//!
//! Each page goes on where the one before ended: the fold is kept for a while under the cursor that was handed out. Who comes
//! later, or after a restart, has it made anew from the beginning, and gets the same page: the log up to a place never
//! changes, so neither do its edges.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use protocol::{EventSeq, RunId, RunSpan, SessionId, Timestamp, TraceSpan, UndoneChange, WaitCause};
use store::{EventPage, EventStore, LogFilter, StoreError, StoredEvent};
use traces::{SpanEdge, SpanFold, SpanPlace, TraceTimeline};

/// Folds that wait for somebody to go on. Each is as large as the spans that are open in it, which are few; more people than
/// this do not page through traces at the same time.
const MOST_KEPT: usize = 8;

/// Events that are read at once. With their texts they are all that is in memory of a trace, however long it is.
const EVENTS_READ: usize = 200;

/// The runs whose spans are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TraceSubject {
    /// A run and all below it, of which the first event is `first_seq`.
    Run { run: RunId, session: SessionId, first_seq: EventSeq },
    /// All runs of a session.
    Session(SessionId),
}

/// A page's answer to an edge: is there room for more?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageRoom {
    Left,
    Full,
}

/// A piece of a trace.
pub(super) struct TracePage {
    /// Nothing was handed out before it.
    pub is_first: bool,
    /// The cursor of the next piece; `None` after the last.
    pub next: Option<String>,
}

/// Facts of runs that have not ended which the log does not have.
pub(super) struct OpenRunFacts {
    /// The time at which this daemon began.
    pub daemon_began: Timestamp,
    pub now: Timestamp,
    /// Runs that could not be taken up, and why.
    pub stranded: HashMap<RunId, String>,
}

/// Reads traces; one for the daemon.
#[derive(Default)]
pub(super) struct TraceReader {
    kept: Mutex<VecDeque<KeptFold>>,
}

struct KeptFold {
    subject: TraceSubject,
    cursor: TraceCursor,
    reading: TraceReading,
}

/// A place in a trace as of a place in the log: so many edges were handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TraceCursor {
    head: EventSeq,
    given: u64,
}

/// A trace that was read up to a place in the log.
struct TraceReading {
    fold: SpanFold,
    read_to: EventSeq,
    /// The runs of a tree that have begun and not ended; empty when a session is read.
    family: HashSet<RunId>,
    timeline: TraceTimeline,
    /// Changes that were undone, which no run's log tells.
    undone: HashMap<String, UndoneChange>,
    /// Edges that were made and not handed out.
    made: VecDeque<(SpanEdge, SpanPlace)>,
    is_over: bool,
}

impl TraceReader {
    /// Hands out edges from `cursor` on until `take` says that it is full, or all are.
    pub async fn page(
        &self,
        store: &EventStore,
        open: &OpenRunFacts,
        subject: &TraceSubject,
        cursor: Option<&str>,
        mut take: impl FnMut(&SpanEdge, SpanPlace) -> PageRoom,
    ) -> Result<TracePage, StoreError> {
        let cursor = match cursor {
            Some(text) => TraceCursor::parse(text, subject, store.head())?,
            None => TraceCursor { head: store.head(), given: 0 },
        };
        let (mut reading, mut given) = match self.take_up(subject, cursor) {
            Some(reading) => (reading, cursor.given),
            None => {
                // As of the same moment as the spans, so that all pages have the same.
                let in_session = matches!(subject, TraceSubject::Session(_));
                let numbers = store.run_numbers(subject.session(), in_session, cursor.head).await?;
                let undone = store.undone_changes(subject.session(), cursor.head).await?;
                (TraceReading::begin(subject, numbers, undone), 0)
            }
        };
        loop {
            while let Some((edge, place)) = reading.made.pop_front() {
                given += 1;
                // Handed out before, to whoever had the cursor.
                if given <= cursor.given {
                    continue;
                }
                if take(&edge, place) == PageRoom::Full {
                    let next = TraceCursor { given, ..cursor };
                    let text = next.text(subject);
                    self.keep(KeptFold { subject: subject.clone(), cursor: next, reading });
                    return Ok(TracePage { is_first: cursor.given == 0, next: Some(text) });
                }
            }
            if reading.is_over && given < cursor.given {
                return Err(StoreError::BadCursor);
            }
            if reading.is_over {
                return Ok(TracePage { is_first: cursor.given == 0, next: None });
            }
            reading.read(store, open, subject, cursor.head).await?;
        }
    }

    fn take_up(&self, subject: &TraceSubject, cursor: TraceCursor) -> Option<TraceReading> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |it: &KeptFold| it.subject == *subject && it.cursor == cursor;
        let at = kept.iter().position(is_it)?;
        kept.remove(at).map(|it| it.reading)
    }

    fn keep(&self, fold: KeptFold) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if MOST_KEPT <= kept.len() {
            kept.pop_front();
        }
        kept.push_back(fold);
    }
}

impl OpenRunFacts {
    /// Adds what the log alone does not say of the wait of an open run.
    async fn complete(
        &self,
        store: &EventStore,
        run_id: &RunId,
        run: &mut RunSpan,
    ) -> Result<(), StoreError> {
        let word = run.waits_for.as_ref().map(|cause| cause.waits_for.as_str());
        match (word, run.last_event_at) {
            (Some("context" | "place"), _) => {
                let ahead = store.queued_before(run_id).await?;
                let (behind, holder, moved) = match word {
                    Some("context") => (
                        store.queued_behind(run_id).await?,
                        store.context_holder(run_id).await?,
                        store.moved_ahead(run_id).await?,
                    ),
                    _ => (None, None, Vec::new()),
                };
                if let Some(cause) = &mut run.waits_for {
                    cause.ahead = ahead;
                    cause.about = holder.map(|(run, agent)| format!("run {run} of {agent}"));
                }
                (run.queued_behind, run.moved_ahead) = (behind, moved);
            }
            // It waits for as long as it did before; of one that was going on each daemon tells first that it goes on.
            (Some("hooks" | "unparked"), _) => {}
            (_, Some(since)) if since < self.daemon_began || self.stranded.contains_key(run_id) => {
                run.waits_for = Some(WaitCause {
                    waits_for: "daemon".to_owned(),
                    since,
                    about: self.stranded.get(run_id).cloned(),
                    confirmation_id: None,
                    ahead: None,
                });
            }
            _ => {}
        }
        Ok(())
    }
}

impl TraceReading {
    fn begin(
        subject: &TraceSubject,
        numbers: HashMap<RunId, u64>,
        undone: HashMap<String, UndoneChange>,
    ) -> TraceReading {
        let (read_to, family) = match subject {
            TraceSubject::Run { run, first_seq, .. } => {
                (EventSeq(first_seq.0.saturating_sub(1)), HashSet::from([run.clone()]))
            }
            TraceSubject::Session(_) => (EventSeq(0), HashSet::new()),
        };
        let (fold, timeline) = (SpanFold::numbered(numbers), TraceTimeline::new());
        TraceReading { fold, read_to, family, timeline, undone, made: VecDeque::new(), is_over: false }
    }

    /// Has a call say which of its changes were undone.
    fn tell_undone(&self, span: &mut TraceSpan) {
        for file in span.tool.iter_mut().flat_map(|tool| &mut tool.files_changed) {
            file.undone = self.undone.get(&file.undo_id).cloned();
        }
    }

    /// Reads some more events, up to `head`; after the last what is open is made, too.
    async fn read(
        &mut self,
        store: &EventStore,
        open: &OpenRunFacts,
        subject: &TraceSubject,
        head: EventSeq,
    ) -> Result<(), StoreError> {
        // Perf: of the session, not of the tree. What else the session did meanwhile is passed over, and that is less work
        // than merging the events of hundreds of runs for each page.
        let filter = LogFilter::session(subject.session().clone());
        let EventPage { events, searched_to, .. } = store.page(&filter, self.read_to, EVENTS_READ).await?;
        for event in events.iter().filter(|event| event.seq <= head) {
            if self.is_wanted(subject, event) {
                let mut edges = self.fold.apply(&event.to_envelope()?);
                for edge in edges.iter_mut().filter(|edge| matches!(edge, SpanEdge::Ended(_))) {
                    let span = edge.span_mut();
                    self.tell_undone(span);
                    if traces::was_queued(span) {
                        let behind = store.queued_behind(&span.run_id).await?;
                        let moved = store.moved_ahead(&span.run_id).await?;
                        if let Some(run) = &mut span.run {
                            (run.queued_behind, run.moved_ahead) = (behind, moved);
                        }
                    }
                }
                self.hand_out(edges);
                // One may hold the whole text of an answer, and others wait for this thread.
                tokio::task::yield_now().await;
            }
        }
        self.read_to = searched_to;
        let is_run_over = matches!(subject, TraceSubject::Run { .. }) && self.family.is_empty();
        if is_run_over || head <= searched_to || events.is_empty() {
            let mut edges = Vec::new();
            // Whether a run that a daemon before this one left still waits is not known.
            let until = |told: Timestamp| if told < open.daemon_began { told } else { open.now };
            // Runs that a daemon before this one left, each with when the log told of it last.
            let mut left: HashMap<RunId, Timestamp> = HashMap::new();
            for mut span in self.fold.open_until(until) {
                if let Some(run) = &mut span.run {
                    open.complete(store, &span.run_id, run).await?;
                    let is_left = run.waits_for.as_ref().is_some_and(|cause| cause.waits_for == "daemon");
                    left.extend(run.last_event_at.filter(|_| is_left).map(|at| (span.run_id.clone(), at)));
                }
                if let Some(at) = left.get(&span.run_id) {
                    // Its hooks ended with the daemon.
                    traces::interrupt(&mut span, *at);
                }
                edges.push(SpanEdge::Open(Box::new(span)));
            }
            self.hand_out(edges);
            self.is_over = true;
        }
        Ok(())
    }

    fn hand_out(&mut self, edges: Vec<SpanEdge>) {
        for edge in edges {
            let place = self.timeline.place(&edge);
            self.made.push_back((edge, place));
        }
    }

    fn is_wanted(&mut self, subject: &TraceSubject, event: &Arc<StoredEvent>) -> bool {
        let TraceSubject::Run { run, .. } = subject else { return true };
        let Some(of) = &event.run else { return false };
        if event.parent_run().is_some_and(|parent| self.family.contains(parent)) {
            self.family.insert(of.clone());
        }
        let is_member = self.family.contains(of);
        if &*event.kind == "run.completed" {
            // Nothing of a run comes after its end, nor of those below it.
            match of == run {
                true => self.family.clear(),
                false => drop(self.family.remove(of)),
            }
        }
        is_member
    }
}

impl TraceCursor {
    /// Only one that was handed out for this subject: a place in the log that there is, after an edge.
    fn parse(text: &str, subject: &TraceSubject, head: EventSeq) -> Result<TraceCursor, StoreError> {
        let mut parts = text.splitn(3, '.');
        let mut part = || parts.next().ok_or(StoreError::BadCursor);
        let (at, given, of) = (part()?, part()?, part()?);
        let at = EventSeq(at.parse().map_err(|_| StoreError::BadCursor)?);
        let cursor = TraceCursor { head: at, given: given.parse().map_err(|_| StoreError::BadCursor)? };
        let is_ours = of == subject.id() && 0 <= at.0 && at <= head && cursor.given != 0;
        if is_ours { Ok(cursor) } else { Err(StoreError::BadCursor) }
    }

    fn text(self, subject: &TraceSubject) -> String {
        format!("{}.{}.{}", self.head, self.given, subject.id())
    }
}

impl TraceSubject {
    fn session(&self) -> &SessionId {
        let (TraceSubject::Run { session, .. } | TraceSubject::Session(session)) = self;
        session
    }

    fn id(&self) -> &str {
        match self {
            TraceSubject::Run { run, .. } => run.as_str(),
            TraceSubject::Session(session) => session.as_str(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_holds_only_for_what_it_was_handed_out_for() {
        let subject = TraceSubject::Session("s1".into());
        let cursor = TraceCursor { head: EventSeq(9), given: 4 };
        let text = cursor.text(&subject);
        assert_eq!(TraceCursor::parse(&text, &subject, EventSeq(9)).unwrap(), cursor);
        let other = TraceSubject::Session("s2".into());
        assert!(matches!(TraceCursor::parse(&text, &other, EventSeq(9)), Err(StoreError::BadCursor)));
        for bad in
            ["", "9.4", "9.0.s1", "-1.4.s1", "10.4.s1", "999999999.99.s1", "9.-4.s1", "9.4.s1.", "x.4.s1"]
        {
            let refused = TraceCursor::parse(bad, &subject, EventSeq(9));
            assert!(matches!(refused, Err(StoreError::BadCursor)), "{bad}");
        }
    }
}
