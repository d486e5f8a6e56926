//! Whose turn is it in a context? Root runs of one agent in one session share a context, so one goes after the other
//! (spec 01, `run/start`).

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

use crate::protocol::{AgentName, ContextId, RunId, SessionId};

/// The contexts in which something happens. Cheap to clone.
#[derive(Clone, Default)]
pub struct Lanes {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    lanes: HashMap<Key, Lane>,
    /// How many lanes have come to an end: whoever looked up a context before one did must look again.
    ended: u64,
}

type Key = (SessionId, AgentName);

struct Lane {
    context: ContextId,
    holder: RunId,
    /// Next one first.
    waiting: VecDeque<(RunId, CancellationToken)>,
}

/// A run's right to its context, now or later; given up when it is dropped.
pub struct Pass {
    lanes: Lanes,
    key: Key,
    run: RunId,
    context: ContextId,
    granted: CancellationToken,
}

/// What somebody who would enter a lane finds.
pub enum Entry {
    /// The context is the run's own.
    Free(Pass),
    /// It waits behind others; this run holds the context.
    Waiting(Pass, RunId),
    /// So many wait that one more is refused.
    Full,
    /// It would have to wait and did not want to: this run holds the context.
    Busy(RunId),
    /// The context that was looked up may not be the right one any more: look again.
    Outdated,
}

/// How a run enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    Last,
    Next,
    /// Only if nobody is there.
    Free,
    /// Last, and however many wait: it waited before.
    Back,
}

/// Runs that may wait for one context. Each holds its plan and its workspace's folders open; so many are a script's
/// mistake.
const MOST_WAITING: usize = 256;

/// What a driver needs to know of its run's context.
#[derive(Clone)]
pub struct Turn {
    pub context: ContextId,
    /// Fires when the context is the run's own.
    pub granted: CancellationToken,
}

impl Lanes {
    /// What to look up a context after, and to enter with.
    pub fn edition(&self) -> u64 {
        self.lock().ended
    }

    /// Enters the lane of an agent in a session; `found` is its context, if there is one in the log, as it was at
    /// `edition`, and `fresh` the one to make otherwise.
    pub fn enter(
        &self,
        key: (SessionId, AgentName),
        run: RunId,
        wish: Wish,
        edition: u64,
        (found, fresh): (Option<ContextId>, ContextId),
    ) -> Entry {
        let mut inner = self.lock();
        let granted = CancellationToken::new();
        let is_current = inner.ended == edition;
        let (context, holder) = match inner.lanes.get_mut(&key) {
            None if !is_current => return Entry::Outdated,
            None => {
                let context = found.unwrap_or(fresh);
                let lane = Lane { context: context.clone(), holder: run.clone(), waiting: VecDeque::new() };
                inner.lanes.insert(key.clone(), lane);
                granted.cancel();
                (context, None)
            }
            Some(lane) => {
                let waiter = (run.clone(), granted.clone());
                match wish {
                    Wish::Free => return Entry::Busy(lane.holder.clone()),
                    Wish::Last | Wish::Next if MOST_WAITING <= lane.waiting.len() => return Entry::Full,
                    Wish::Last | Wish::Back => lane.waiting.push_back(waiter),
                    Wish::Next => lane.waiting.push_front(waiter),
                }
                (lane.context.clone(), Some(lane.holder.clone()))
            }
        };
        drop(inner);
        let pass = Pass { lanes: self.clone(), key, run, context, granted };
        match holder {
            None => Entry::Free(pass),
            Some(holder) => Entry::Waiting(pass, holder),
        }
    }

    /// Puts a waiting run before all others that wait for its context. False when it waits for none.
    pub fn promote(&self, run: &RunId) -> bool {
        let mut inner = self.lock();
        for lane in inner.lanes.values_mut() {
            if let Some(at) = lane.waiting.iter().position(|(waiting, _)| waiting == run)
                && let Some(waiter) = lane.waiting.remove(at)
            {
                lane.waiting.push_front(waiter);
                return true;
            }
        }
        false
    }

    /// How many contexts are in use.
    pub fn len(&self) -> usize {
        self.lock().lanes.len()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    pub fn turn(&self) -> Turn {
        Turn { context: self.context.clone(), granted: self.granted.clone() }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut inner = self.lanes.lock();
        let Some(lane) = inner.lanes.get_mut(&self.key) else { return };
        if lane.holder != self.run {
            lane.waiting.retain(|(waiting, _)| *waiting != self.run);
            return;
        }
        match lane.waiting.pop_front() {
            Some((next, granted)) => {
                lane.holder = next;
                granted.cancel();
            }
            None => {
                inner.lanes.remove(&self.key);
                inner.ended += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(lanes: &Lanes, run: &str, wish: Wish) -> Entry {
        let contexts = (None, ContextId::from(format!("context of {run}")));
        lanes.enter(("s".into(), "a".into()), run.into(), wish, lanes.edition(), contexts)
    }

    fn pass(entry: Entry) -> Pass {
        match entry {
            Entry::Free(pass) | Entry::Waiting(pass, _) => pass,
            _ => panic!("no pass"),
        }
    }

    #[test]
    fn one_goes_after_the_other_in_one_context() {
        let lanes = Lanes::default();
        let first = pass(enter(&lanes, "1", Wish::Last));
        let second = pass(enter(&lanes, "2", Wish::Last));
        let third = pass(enter(&lanes, "3", Wish::Last));
        assert!(first.turn().granted.is_cancelled() && !second.turn().granted.is_cancelled());
        assert_eq!(third.turn().context, first.turn().context);
        assert!(lanes.promote(&"3".into()));
        drop(first);
        assert!(third.turn().granted.is_cancelled() && !second.turn().granted.is_cancelled());
        assert!(matches!(enter(&lanes, "4", Wish::Free), Entry::Busy(run) if run.as_str() == "3"));
        let urgent = pass(enter(&lanes, "5", Wish::Next));
        drop(third);
        assert!(urgent.turn().granted.is_cancelled() && !second.turn().granted.is_cancelled());
        drop((second, urgent));
        assert_eq!(lanes.len(), 0);
    }

    #[test]
    fn a_lookup_from_before_a_lane_ended_is_outdated() {
        let lanes = Lanes::default();
        let edition = lanes.edition();
        drop(pass(enter(&lanes, "1", Wish::Last)));
        let contexts = (None, ContextId::from("fresh"));
        let entry = lanes.enter(("s".into(), "a".into()), "2".into(), Wish::Last, edition, contexts);
        assert!(matches!(entry, Entry::Outdated));
    }
}
