//! The newest events in memory, and waking those who wait for more.
//!
//! A cursor inside the ring reads memory; an older one reads SQLite. Only followers of the sessions and runs
//! that something happened to are woken.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::{StoreError, Stored};
use crate::protocol::{RunId, Seq, SessionId};

/// Events the ring holds: some seconds of a busy daemon.
const RING_EVENTS: usize = 8_192;
/// Bytes the ring holds; large outputs push older events out.
const RING_BYTES: usize = 16 << 20;

/// What a follower waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Topic {
    All,
    Session(SessionId),
    Run(RunId),
    /// The open texts of a session, which grow without events.
    Texts(SessionId),
    /// Those of all sessions.
    AllTexts,
}

pub(super) struct Tail {
    inner: Mutex<Inner>,
}

struct Inner {
    /// Invariant: contiguous and ends at `head`.
    ring: VecDeque<Slot>,
    bytes: usize,
    head: Seq,
    failing: Option<StoreError>,
    waiting: HashMap<Topic, Vec<Arc<Notify>>>,
}

/// A place in the ring; empty when its event was removed from the log.
struct Slot {
    seq: Seq,
    event: Option<Arc<Stored>>,
}

impl Slot {
    fn weight(&self) -> usize {
        self.event.as_ref().map_or(0, |event| event.weight())
    }
}

/// What the ring knows after a cursor.
pub(super) enum Recent {
    /// Matching events, and how far the ring was searched.
    Events { events: Vec<Arc<Stored>>, searched_to: Seq },
    /// The cursor is older than the ring.
    TooOld,
}

impl Tail {
    pub fn new(head: Seq) -> Tail {
        let inner = Inner { ring: VecDeque::new(), bytes: 0, head, failing: None, waiting: HashMap::new() };
        Tail { inner: Mutex::new(inner) }
    }

    pub fn head(&self) -> Seq {
        self.lock().head
    }

    /// Why nothing can be written at the moment.
    pub fn failing(&self) -> Option<StoreError> {
        self.lock().failing.clone()
    }

    pub fn set_failing(&self, failing: Option<StoreError>) {
        self.lock().failing = failing;
    }

    /// Adds what was committed. Must be called in `seq` order.
    pub fn publish(&self, events: Vec<Arc<Stored>>) {
        let mut inner = self.lock();
        for event in events {
            inner.head = event.seq;
            inner.bytes += event.weight();
            inner.wake(&Topic::All);
            if let Some(session) = &event.session {
                inner.wake(&Topic::Session(session.clone()));
            }
            if let Some(run) = &event.run {
                inner.wake(&Topic::Run(run.clone()));
            }
            inner.ring.push_back(Slot { seq: event.seq, event: Some(event) });
        }
        while RING_EVENTS < inner.ring.len() || RING_BYTES < inner.bytes {
            let Some(oldest) = inner.ring.pop_front() else { break };
            inner.bytes -= oldest.weight();
        }
    }

    /// Serves nothing of this session any more: it was removed from the log.
    pub fn forget(&self, session: &SessionId) {
        let mut inner = self.lock();
        let Inner { ring, bytes, .. } = &mut *inner;
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
        inner.wake(&Topic::Texts(session.clone()));
        inner.wake(&Topic::AllTexts);
    }

    /// At most `limit` events after `after` that match. Each is asked about once, in order.
    pub fn after(&self, after: Seq, mut matches: impl FnMut(&Stored) -> bool, limit: usize) -> Recent {
        let inner = self.lock();
        if inner.head <= after {
            return Recent::Events { events: Vec::new(), searched_to: after };
        }
        let Some(first) = inner.ring.front().map(|slot| slot.seq) else { return Recent::TooOld };
        if after.0 + 1 < first.0 {
            return Recent::TooOld;
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
        Recent::Events { events, searched_to }
    }

    /// Woken by any of the topics.
    pub fn register(&self, topics: &[Topic]) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        self.lock().add(topics, &notify);
        notify
    }

    pub fn unregister(&self, topics: &[Topic], notify: &Arc<Notify>) {
        self.lock().remove(topics, notify);
    }

    /// From some topics to others, without a moment in between.
    pub fn move_over(&self, from: &[Topic], to: &[Topic], notify: &Arc<Notify>) {
        let mut inner = self.lock();
        inner.remove(from, notify);
        inner.add(to, notify);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing below panics while it holds the lock, so a poisoned one is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn add(&mut self, topics: &[Topic], notify: &Arc<Notify>) {
        for topic in topics {
            self.waiting.entry(topic.clone()).or_default().push(Arc::clone(notify));
        }
    }

    fn remove(&mut self, topics: &[Topic], notify: &Arc<Notify>) {
        for topic in topics {
            if let Some(waiting) = self.waiting.get_mut(topic) {
                waiting.retain(|it| !Arc::ptr_eq(it, notify));
                if waiting.is_empty() {
                    self.waiting.remove(topic);
                }
            }
        }
    }

    fn wake(&self, topic: &Topic) {
        for notify in self.waiting.get(topic).into_iter().flatten() {
            notify.notify_one();
        }
    }
}
