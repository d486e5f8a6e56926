//! The newest events in memory, and waking those who wait for more.
//!
//! A cursor inside the ring reads memory; an older one reads SQLite. Only followers of the sessions and runs
//! that something happened to are woken.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::{StoreError, StoredEvent};
use protocol::{EventSeq, RunId, SessionId};

/// Events the ring holds: some seconds of a busy daemon.
const RING_EVENTS: usize = 8_192;
/// Bytes the ring holds; large outputs push older events out.
const RING_BYTES: usize = 16 << 20;

/// What a follower waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum FollowTopic {
    All,
    Session(SessionId),
    Run(RunId),
    /// The open texts of a session, which grow without events.
    Texts(SessionId),
    /// Those of all sessions.
    AllTexts,
}

pub(super) struct LogTail {
    inner: Mutex<LogTailState>,
}

struct LogTailState {
    /// Invariant: contiguous and ends at `head`.
    ring: VecDeque<RingSlot>,
    bytes: usize,
    head: EventSeq,
    failing: Option<StoreError>,
    waiting: HashMap<FollowTopic, Vec<Arc<Notify>>>,
}

/// A place in the ring; empty when its event was removed from the log.
struct RingSlot {
    seq: EventSeq,
    event: Option<Arc<StoredEvent>>,
}

impl RingSlot {
    fn weight(&self) -> usize {
        self.event.as_ref().map_or(0, |event| event.weight())
    }
}

/// What the ring knows after a cursor.
pub(super) enum RecentEvents {
    /// Matching events, and how far the ring was searched.
    Events { events: Vec<Arc<StoredEvent>>, searched_to: EventSeq },
    /// The cursor is older than the ring.
    TooOld,
}

impl LogTail {
    pub fn new(head: EventSeq) -> LogTail {
        let inner =
            LogTailState { ring: VecDeque::new(), bytes: 0, head, failing: None, waiting: HashMap::new() };
        LogTail { inner: Mutex::new(inner) }
    }

    pub fn head(&self) -> EventSeq {
        self.lock().head
    }

    /// The reason why nothing can be written at the moment.
    pub fn failing(&self) -> Option<StoreError> {
        self.lock().failing.clone()
    }

    pub fn set_failing(&self, failing: Option<StoreError>) {
        self.lock().failing = failing;
    }

    /// Adds what was committed. Must be called in `seq` order.
    pub fn publish(&self, events: Vec<Arc<StoredEvent>>) {
        let mut inner = self.lock();
        for event in events {
            inner.head = event.seq;
            inner.bytes += event.weight();
            inner.wake(&FollowTopic::All);
            if let Some(session) = &event.session {
                inner.wake(&FollowTopic::Session(session.clone()));
            }
            if let Some(run) = &event.run {
                inner.wake(&FollowTopic::Run(run.clone()));
            }
            inner.ring.push_back(RingSlot { seq: event.seq, event: Some(event) });
        }
        while RING_EVENTS < inner.ring.len() || RING_BYTES < inner.bytes {
            let Some(oldest) = inner.ring.pop_front() else { break };
            inner.bytes -= oldest.weight();
        }
    }

    /// Serves nothing of this session any more: it was removed from the log.
    pub fn forget(&self, session: &SessionId) {
        let mut inner = self.lock();
        let LogTailState { ring, bytes, .. } = &mut *inner;
        for slot in ring {
            if slot.event.as_ref().is_some_and(|event| event.session.as_ref() == Some(session)) {
                *bytes -= slot.weight();
                slot.event = None;
            }
        }
    }

    /// Wakes those who watch a session's texts: one grew.
    pub fn wake_texts(&self, session: &SessionId) {
        let inner = self.lock();
        inner.wake(&FollowTopic::Texts(session.clone()));
        inner.wake(&FollowTopic::AllTexts);
    }

    /// At most `limit` events after `after` that match. Each is asked about once, in order.
    pub fn after(
        &self,
        after: EventSeq,
        mut matches: impl FnMut(&StoredEvent) -> bool,
        limit: usize,
    ) -> RecentEvents {
        let inner = self.lock();
        if inner.head <= after {
            return RecentEvents::Events { events: Vec::new(), searched_to: after };
        }
        let Some(first) = inner.ring.front().map(|slot| slot.seq) else { return RecentEvents::TooOld };
        if after.0 + 1 < first.0 {
            return RecentEvents::TooOld;
        }
        // Cannot truncate: the difference is below RING_EVENTS.
        let start = (after.0 + 1 - first.0) as usize;
        let mut events = Vec::new();
        let mut searched_to = after;
        for slot in inner.ring.range(start..) {
            if limit <= events.len() {
                break;
            }
            searched_to = slot.seq;
            events.extend(slot.event.as_ref().filter(|event| matches(event)).map(Arc::clone));
        }
        RecentEvents::Events { events, searched_to }
    }

    /// Woken by any of the topics.
    pub fn register(&self, topics: &[FollowTopic]) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        self.lock().add(topics, &notify);
        notify
    }

    pub fn unregister(&self, topics: &[FollowTopic], notify: &Arc<Notify>) {
        self.lock().remove(topics, notify);
    }

    /// From some topics to others, without a moment in between.
    pub fn move_over(&self, from: &[FollowTopic], to: &[FollowTopic], notify: &Arc<Notify>) {
        let mut inner = self.lock();
        inner.remove(from, notify);
        inner.add(to, notify);
    }

    fn lock(&self) -> MutexGuard<'_, LogTailState> {
        // Nothing below panics while it holds the lock, so a poisoned one is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogTailState {
    fn add(&mut self, topics: &[FollowTopic], notify: &Arc<Notify>) {
        for topic in topics {
            self.waiting.entry(topic.clone()).or_default().push(Arc::clone(notify));
        }
    }

    fn remove(&mut self, topics: &[FollowTopic], notify: &Arc<Notify>) {
        for topic in topics {
            if let Some(waiting) = self.waiting.get_mut(topic) {
                waiting.retain(|it| !Arc::ptr_eq(it, notify));
                if waiting.is_empty() {
                    self.waiting.remove(topic);
                }
            }
        }
    }

    fn wake(&self, topic: &FollowTopic) {
        for notify in self.waiting.get(topic).into_iter().flatten() {
            notify.notify_one();
        }
    }
}
