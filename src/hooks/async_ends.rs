//! Where does what asynchronous hooks said wait until their run takes it? And what was a run told already?
//!
//! What no run takes is handed to whoever keeps the log: that a hook failed must not get lost with the end of its run.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::{AsyncHookEnd, HookId, HookServices};
use protocol::RunId;

/// Ends that wait for one run; the oldest go first.
const MOST_ENDS: usize = 100;

/// The runs that take what asynchronous hooks say. A cheap handle.
#[derive(Clone, Default)]
pub(super) struct AsyncInboxes(Arc<Mutex<HashMap<RunId, AsyncInbox>>>);

#[derive(Default)]
struct AsyncInbox {
    ends: VecDeque<WaitingEnd>,
    /// Hooks of which it was told that they answer with fields that mean nothing: not once a call.
    passed_over: HashSet<HookId>,
    arrived: Arc<Notify>,
}

/// The words of one hook, and who hears of them if its run does not.
struct WaitingEnd {
    end: AsyncHookEnd,
    services: Arc<dyn HookServices>,
}

impl WaitingEnd {
    fn outlives_its_run(self) {
        self.services.ended_late(self.end);
    }
}

/// Everything that asynchronous hooks of one run say. Once it is dropped, nobody hears them any more.
pub struct AsyncHookEnds {
    inboxes: AsyncInboxes,
    run: RunId,
    arrived: Arc<Notify>,
}

impl AsyncInboxes {
    /// Everything that is said to this run from now on.
    pub fn attend(&self, run: &RunId) -> AsyncHookEnds {
        let inbox = AsyncInbox::default();
        let arrived = Arc::clone(&inbox.arrived);
        let before = self.all().insert(run.clone(), inbox);
        // Outside of the lock.
        before.into_iter().flat_map(|before| before.ends).for_each(WaitingEnd::outlives_its_run);
        AsyncHookEnds { inboxes: self.clone(), run: run.clone(), arrived }
    }

    /// Keeps what a hook said while its run goes on. What the run does not take these services hear.
    pub fn put(&self, run: &RunId, end: AsyncHookEnd, services: &Arc<dyn HookServices>) {
        let waiting = WaitingEnd { end, services: Arc::clone(services) };
        if let Some(left) = self.put_in(run, waiting) {
            left.outlives_its_run();
        }
    }

    /// The one that has no place: this one where the run is over, the oldest where too many wait.
    fn put_in(&self, run: &RunId, waiting: WaitingEnd) -> Option<WaitingEnd> {
        let mut all = self.all();
        let Some(inbox) = all.get_mut(run) else { return Some(waiting) };
        let oldest = if MOST_ENDS <= inbox.ends.len() { inbox.ends.pop_front() } else { None };
        inbox.ends.push_back(waiting);
        inbox.arrived.notify_one();
        oldest
    }

    /// True if a run is to be told that fields of a hook's answers mean nothing: once while it goes on.
    pub fn tells_passed_over(&self, run: &RunId, hook: &HookId) -> bool {
        self.all().get_mut(run).is_none_or(|inbox| inbox.passed_over.insert(hook.clone()))
    }

    fn all(&self) -> MutexGuard<'_, HashMap<RunId, AsyncInbox>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncHookEnds {
    /// Waits until hooks have said something, and takes all of it. Cancel safe.
    pub async fn next(&self) -> Vec<AsyncHookEnd> {
        loop {
            let ends = self.take();
            if !ends.is_empty() {
                return ends;
            }
            // A notice that came in between is kept for this.
            self.arrived.notified().await;
        }
    }

    fn take(&self) -> Vec<AsyncHookEnd> {
        let mut all = self.inboxes.all();
        let ends = all.get_mut(&self.run).map(|inbox| std::mem::take(&mut inbox.ends)).unwrap_or_default();
        ends.into_iter().map(|waiting| waiting.end).collect()
    }
}

impl Drop for AsyncHookEnds {
    fn drop(&mut self) {
        let left = {
            let mut all = self.inboxes.all();
            let is_own = all.get(&self.run).is_some_and(|inbox| Arc::ptr_eq(&inbox.arrived, &self.arrived));
            if is_own { all.remove(&self.run) } else { None }
        };
        left.into_iter().flat_map(|inbox| inbox.ends).for_each(WaitingEnd::outlives_its_run);
    }
}
