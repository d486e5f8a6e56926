//! Where does what asynchronous hooks said wait until their run takes it? And what was a run told already?

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::{AsyncHookEnd, HookId};
use protocol::RunId;

/// Ends that wait for one run; the oldest go first.
const MOST_ENDS: usize = 100;

/// The runs that take what asynchronous hooks say. A cheap handle.
#[derive(Clone, Default)]
pub(super) struct AsyncInboxes(Arc<Mutex<HashMap<RunId, AsyncInbox>>>);

#[derive(Default)]
struct AsyncInbox {
    ends: VecDeque<AsyncHookEnd>,
    /// Hooks of which it was told that they answer with fields that mean nothing: not once a call.
    passed_over: HashSet<HookId>,
    arrived: Arc<Notify>,
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
        self.all().insert(run.clone(), inbox);
        AsyncHookEnds { inboxes: self.clone(), run: run.clone(), arrived }
    }

    /// Keeps what a hook said, if its run goes on.
    pub fn put(&self, run: &RunId, end: AsyncHookEnd) {
        let mut all = self.all();
        let Some(inbox) = all.get_mut(run) else { return };
        if MOST_ENDS <= inbox.ends.len() {
            inbox.ends.pop_front();
        }
        inbox.ends.push_back(end);
        inbox.arrived.notify_one();
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
        self.inboxes.all().get_mut(&self.run).map(|inbox| inbox.ends.drain(..).collect()).unwrap_or_default()
    }
}

impl Drop for AsyncHookEnds {
    fn drop(&mut self) {
        let mut all = self.inboxes.all();
        if all.get(&self.run).is_some_and(|inbox| Arc::ptr_eq(&inbox.arrived, &self.arrived)) {
            all.remove(&self.run);
        }
    }
}
