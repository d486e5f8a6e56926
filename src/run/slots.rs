//! How many runs may be at work at once, and who comes next (spec 03, "Subagent calls").
//!
//! A slot is a permit to ask models and run tools. Runs that only wait hold none, so a parent cannot starve the runs
//! it waits for. Slots bound work within each session and within the daemon; whoever gets none waits in one queue,
//! first come, first served, but for runs that have begun: they go before new ones, so that what is begun is finished.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;

use protocol::SessionId;

/// The slots of a daemon. Cheap to clone.
#[derive(Clone)]
pub struct RunSlots {
    inner: Arc<Mutex<SlotsState>>,
}

struct SlotsState {
    per_session: usize,
    in_all: usize,
    taken: usize,
    by_session: HashMap<SessionId, usize>,
    /// All slots are kept for somebody; see [`SlotReservation`].
    is_reserved: bool,
    /// Invariant: nobody in here could get a slot now.
    waiting: VecDeque<Arc<SlotWaiter>>,
}

struct SlotWaiter {
    session: SessionId,
    /// It has begun, and goes before those that have not.
    has_begun: bool,
    is_granted: AtomicBool,
    granted: Notify,
}

/// While it lives, nobody but its holder gets a slot: what another process left at work comes before what is new.
pub struct SlotReservation {
    slots: RunSlots,
}

/// One slot; given back when it is dropped.
pub struct RunSlot {
    slots: RunSlots,
    session: SessionId,
}

/// A place in the queue. Dropping it leaves the queue, or gives back the slot that was granted meanwhile.
pub struct SlotTicket {
    slots: RunSlots,
    waiter: Arc<SlotWaiter>,
    /// The slot has been handed out.
    is_used: bool,
}

impl RunSlots {
    /// At least one slot each, so that there is always somebody who gets on.
    pub fn new(per_session: usize, in_all: usize) -> RunSlots {
        let inner = SlotsState {
            per_session: per_session.max(1),
            in_all: in_all.max(1),
            taken: 0,
            by_session: HashMap::new(),
            is_reserved: false,
            waiting: VecDeque::new(),
        };
        RunSlots { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Other bounds from now on. What is taken beyond them is kept until it is given back.
    pub fn resize(&self, per_session: usize, in_all: usize) {
        let mut inner = self.lock();
        (inner.per_session, inner.in_all) = (per_session.max(1), in_all.max(1));
        inner.grant();
    }

    /// A slot, if there is one. Whoever waits is held up by a bound that holds for the one who asks too, or by its own
    /// session's, so nobody is overtaken.
    pub fn try_take(&self, session: &SessionId) -> Option<RunSlot> {
        let mut inner = self.lock();
        let is_taken = !inner.is_reserved && inner.try_take(session);
        is_taken.then(|| self.slot(session))
    }

    /// Keeps all slots for whoever holds the answer.
    pub fn reserve(&self) -> SlotReservation {
        self.lock().is_reserved = true;
        SlotReservation { slots: self.clone() }
    }

    fn slot(&self, session: &SessionId) -> RunSlot {
        RunSlot { slots: self.clone(), session: session.clone() }
    }

    /// Waits in the queue from now on.
    pub fn queue(&self, session: &SessionId, has_begun: bool) -> SlotTicket {
        let waiter = Arc::new(SlotWaiter {
            session: session.clone(),
            has_begun,
            is_granted: AtomicBool::new(false),
            granted: Notify::new(),
        });
        let mut inner = self.lock();
        let place = match has_begun {
            true => inner.waiting.iter().take_while(|other| other.has_begun).count(),
            false => inner.waiting.len(),
        };
        inner.waiting.insert(place, Arc::clone(&waiter));
        inner.grant();
        SlotTicket { slots: self.clone(), waiter, is_used: false }
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.lock().taken
    }

    /// How many wait for one.
    pub fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    fn lock(&self) -> MutexGuard<'_, SlotsState> {
        // Nothing below panics while it holds the lock, so a poisoned one is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotsState {
    fn try_take(&mut self, session: &SessionId) -> bool {
        let of_session = self.by_session.get(session).copied().unwrap_or(0);
        let is_free = self.taken < self.in_all && of_session < self.per_session;
        if is_free {
            self.taken += 1;
            self.by_session.insert(session.clone(), of_session + 1);
        }
        is_free
    }

    fn give_back(&mut self, session: &SessionId) {
        self.taken = self.taken.saturating_sub(1);
        if let Some(of_session) = self.by_session.get_mut(session) {
            *of_session = of_session.saturating_sub(1);
            if *of_session == 0 {
                self.by_session.remove(session);
            }
        }
        self.grant();
    }

    /// Gives slots to those in the queue that can have one, in order.
    fn grant(&mut self) {
        let mut at = 0;
        while !self.is_reserved && self.taken < self.in_all && at < self.waiting.len() {
            let session = self.waiting[at].session.clone();
            if !self.try_take(&session) {
                at += 1;
                continue;
            }
            if let Some(waiter) = self.waiting.remove(at) {
                waiter.is_granted.store(true, Ordering::Release);
                waiter.granted.notify_one();
            }
        }
    }
}

impl SlotReservation {
    /// A slot, if the bounds allow one more.
    pub fn try_take(&self, session: &SessionId) -> Option<RunSlot> {
        self.slots.lock().try_take(session).then(|| self.slots.slot(session))
    }
}

impl Drop for SlotReservation {
    fn drop(&mut self) {
        let mut inner = self.slots.lock();
        inner.is_reserved = false;
        inner.grant();
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        self.slots.lock().give_back(&self.session);
    }
}

impl SlotTicket {
    /// Waits for the slot. Cancel safe: dropping it leaves the queue.
    pub async fn slot(mut self) -> RunSlot {
        // Notified once; the permit is kept when that was before this.
        self.waiter.granted.notified().await;
        self.is_used = true;
        self.slots.slot(&self.waiter.session)
    }
}

impl Drop for SlotTicket {
    fn drop(&mut self) {
        if self.is_used {
            return;
        }
        let mut inner = self.slots.lock();
        if self.waiter.is_granted.load(Ordering::Acquire) {
            inner.give_back(&self.waiter.session);
        } else {
            inner.waiting.retain(|other| !Arc::ptr_eq(other, &self.waiter));
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn session(name: &str) -> SessionId {
        SessionId::from(name)
    }

    #[test]
    fn bounds_hold_for_sessions_and_for_all() {
        let slots = RunSlots::new(2, 3);
        let a: Vec<RunSlot> = (0..3).filter_map(|_| slots.try_take(&session("a"))).collect();
        assert_eq!(a.len(), 2);
        let b: Vec<RunSlot> = (0..3).filter_map(|_| slots.try_take(&session("b"))).collect();
        assert_eq!(b.len(), 1);
        drop((a, b));
        assert_eq!(slots.taken(), 0);
        assert!(slots.lock().by_session.is_empty());
    }

    #[test]
    fn first_come_first_served_but_the_begun_go_first() {
        let slots = RunSlots::new(1, 1);
        let held = slots.try_take(&session("a")).unwrap();
        let mut new = slots.queue(&session("b"), false).slot().boxed();
        let mut begun = slots.queue(&session("c"), true).slot().boxed();
        let mut begun_later = slots.queue(&session("d"), true).slot().boxed();
        assert!((&mut new).now_or_never().is_none() && (&mut begun).now_or_never().is_none());
        drop(held);
        assert!((&mut new).now_or_never().is_none(), "a new run went before one that has begun");
        let slot = (&mut begun).now_or_never().expect("the slot was free");
        assert!((&mut begun_later).now_or_never().is_none());
        drop(slot);
        let slot = (&mut begun_later).now_or_never().expect("the slot was free");
        drop(slot);
        assert!(new.now_or_never().is_some());
        assert_eq!((slots.taken(), slots.waiting()), (0, 0));
    }

    #[test]
    fn a_full_session_holds_up_nobody_else() {
        let slots = RunSlots::new(1, 2);
        let _held = slots.try_take(&session("a")).unwrap();
        let _waits = slots.queue(&session("a"), true);
        let other = slots.queue(&session("b"), false).slot().now_or_never();
        assert!(other.is_some());
    }

    #[test]
    fn other_bounds_count_at_once_and_take_nothing_away() {
        let slots = RunSlots::new(1, 1);
        let a = slots.try_take(&session("a")).unwrap();
        let mut waits = slots.queue(&session("b"), false).slot().boxed();
        assert!((&mut waits).now_or_never().is_none());
        slots.resize(2, 2);
        let b = waits.now_or_never().expect("there was room for one more");
        slots.resize(1, 1);
        assert_eq!(slots.taken(), 2);
        drop(a);
        assert!(slots.try_take(&session("a")).is_none(), "one too many is taken still");
        drop(b);
        assert!(slots.try_take(&session("a")).is_some());
    }

    #[test]
    fn what_is_reserved_is_for_nobody_else() {
        let slots = RunSlots::new(1, 2);
        let reserve = slots.reserve();
        assert!(slots.try_take(&session("a")).is_none());
        let mut waits = slots.queue(&session("a"), true).slot().boxed();
        assert!((&mut waits).now_or_never().is_none());
        let left = reserve.try_take(&session("a")).unwrap();
        assert!(reserve.try_take(&session("a")).is_none(), "the bounds hold all the same");
        drop(reserve);
        assert!((&mut waits).now_or_never().is_none());
        assert!(slots.try_take(&session("b")).is_some());
        drop(left);
        assert!(waits.now_or_never().is_some());
        assert_eq!((slots.taken(), slots.waiting()), (0, 0));
    }

    #[test]
    fn whoever_leaves_the_queue_leaves_nothing_behind() {
        let slots = RunSlots::new(1, 1);
        let held = slots.try_take(&session("a")).unwrap();
        let gone = slots.queue(&session("a"), false);
        let granted = slots.queue(&session("a"), false);
        drop(gone);
        drop(held);
        assert_eq!(slots.taken(), 1, "granted before it was asked for");
        drop(granted);
        assert_eq!((slots.taken(), slots.waiting()), (0, 0));
    }
}
