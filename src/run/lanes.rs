//! Whose turn is it in a context? Root runs of one agent in one session share a context, so one goes after the other
//! (spec 01, `run/start`).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

use protocol::{AgentName, ContextId, EventSeq, RunId, SessionId};

/// The contexts in which something happens. Cheap to clone.
#[derive(Clone, Default)]
pub struct ContextQueue {
    inner: Arc<Mutex<ContextQueueState>>,
}

#[derive(Default)]
struct ContextQueueState {
    lanes: HashMap<ContextKey, QueuedContext>,
    /// How many lanes have come to an end: whoever looked up a context before one did must look again.
    ended: u64,
}

type ContextKey = (SessionId, AgentName);

struct QueuedContext {
    context: ContextId,
    /// Who has the context, or had it last.
    holder: RunId,
    /// The holder has left, and who comes next is not known yet.
    is_vacant: bool,
    waiting: Vec<ContextWaiter>,
}

struct ContextWaiter {
    run: RunId,
    granted: CancellationToken,
    /// The lowest comes next; `None` until the log says that the run waits.
    rank: Option<i64>,
    /// A request is under way that gives it another rank.
    is_moving: bool,
}

/// A run's right to its context, now or later; given up when it is dropped.
pub struct ContextLease {
    lanes: ContextQueue,
    key: ContextKey,
    run: RunId,
    context: ContextId,
    granted: CancellationToken,
}

/// What somebody who would enter a lane finds.
pub enum QueueAdmission {
    /// The context is the run's own.
    Free(ContextLease),
    /// It waits behind others; this run holds the context.
    Waiting(ContextLease, RunId),
    /// So many wait that one more is refused.
    Full,
    /// It would have to wait and did not want to: this run holds the context.
    Busy(RunId),
    /// The context that was looked up may not be the right one any more: look again.
    Outdated,
}

/// How a run enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueuePolicy {
    /// When it is its turn.
    Queue,
    /// Only if nobody is there.
    Free,
    /// However many wait: it waited before, under this rank.
    Back(i64),
}

/// Runs that may wait for one context. Each holds its plan and its workspace's folders open; so many are a script's
/// mistake.
const MOST_WAITING: usize = 256;

/// Where a run stands among those that wait for its context: the number of the event that says that it waits, so that
/// the order is the log's, whoever is told first. Negative for those that were put in front: of two the later one goes
/// first.
pub fn rank(seq: EventSeq, front: bool) -> i64 {
    if front { -seq.0 } else { seq.0 }
}

/// What a driver needs to know of its run's context.
#[derive(Clone)]
pub struct LeaseHandle {
    pub context: ContextId,
    /// Fires when the context is the run's own.
    pub granted: CancellationToken,
}

impl ContextQueue {
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
        wish: QueuePolicy,
        edition: u64,
        (found, fresh): (Option<ContextId>, ContextId),
    ) -> QueueAdmission {
        let mut inner = self.lock();
        let granted = CancellationToken::new();
        let is_current = inner.ended == edition;
        let (context, holder) = match inner.lanes.get_mut(&key) {
            None if !is_current => return QueueAdmission::Outdated,
            None => {
                let context = found.unwrap_or(fresh);
                let holder = run.clone();
                let lane =
                    QueuedContext { context: context.clone(), holder, is_vacant: false, waiting: Vec::new() };
                inner.lanes.insert(key.clone(), lane);
                granted.cancel();
                (context, None)
            }
            Some(lane) => {
                let rank = match wish {
                    QueuePolicy::Free => return QueueAdmission::Busy(lane.holder.clone()),
                    QueuePolicy::Queue if MOST_WAITING <= lane.waiting.len() => return QueueAdmission::Full,
                    QueuePolicy::Queue => None,
                    QueuePolicy::Back(rank) => Some(rank),
                };
                let waiter =
                    ContextWaiter { run: run.clone(), granted: granted.clone(), rank, is_moving: false };
                lane.waiting.push(waiter);
                (lane.context.clone(), Some(lane.holder.clone()))
            }
        };
        drop(inner);
        let pass = ContextLease { lanes: self.clone(), key, run, context, granted };
        match holder {
            None => QueueAdmission::Free(pass),
            Some(holder) => QueueAdmission::Waiting(pass, holder),
        }
    }

    /// The log says that the run waits for its context, or that it was put in front.
    pub fn settle(&self, run: &RunId, rank: i64) {
        self.change(run, |waiter| {
            waiter.rank = Some(rank);
            waiter.is_moving = false;
        });
    }

    /// A request that puts the run in front is being written: until that is settled, or [kept](ContextQueue::keep) from the
    /// log, nobody is next.
    pub fn unsettle(&self, run: &RunId) {
        self.change(run, |waiter| waiter.is_moving = true);
    }

    /// The request came to nothing.
    pub fn keep(&self, run: &RunId) {
        self.change(run, |waiter| waiter.is_moving = false);
    }

    fn change(&self, run: &RunId, change: impl FnOnce(&mut ContextWaiter)) {
        let mut inner = self.lock();
        let of_run = |lane: &mut QueuedContext| lane.waiting.iter().position(|waiter| waiter.run == *run);
        let found = inner.lanes.iter_mut().find_map(|(key, lane)| Some((key.clone(), of_run(lane)?, lane)));
        let Some((key, at, lane)) = found else { return };
        change(&mut lane.waiting[at]);
        inner.grant(&key);
    }

    /// How many contexts are in use.
    pub fn len(&self) -> usize {
        self.lock().lanes.len()
    }

    fn lock(&self) -> MutexGuard<'_, ContextQueueState> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ContextLease {
    pub fn turn(&self) -> LeaseHandle {
        LeaseHandle { context: self.context.clone(), granted: self.granted.clone() }
    }
}

impl Drop for ContextLease {
    fn drop(&mut self) {
        let mut inner = self.lanes.lock();
        let Some(lane) = inner.lanes.get_mut(&self.key) else { return };
        match lane.holder == self.run {
            true => lane.is_vacant = true,
            false => lane.waiting.retain(|waiter| waiter.run != self.run),
        }
        inner.grant(&self.key);
    }
}

impl ContextQueueState {
    /// Gives a context that nobody has to whoever is next, once the log says who that is.
    fn grant(&mut self, key: &ContextKey) {
        let Some(lane) = self.lanes.get_mut(key).filter(|lane| lane.is_vacant) else { return };
        let is_settled = |waiter: &ContextWaiter| waiter.rank.is_some() && !waiter.is_moving;
        if !lane.waiting.iter().all(is_settled) {
            return;
        }
        let next = lane.waiting.iter().enumerate().min_by_key(|(_, waiter)| waiter.rank);
        match next.map(|(at, _)| at) {
            Some(at) => {
                let next = lane.waiting.remove(at);
                lane.holder = next.run;
                lane.is_vacant = false;
                next.granted.cancel();
            }
            None => {
                self.lanes.remove(key);
                self.ended += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(lanes: &ContextQueue, run: &str, wish: QueuePolicy) -> QueueAdmission {
        let contexts = (None, ContextId::from(format!("context of {run}")));
        lanes.enter(("s".into(), "a".into()), run.into(), wish, lanes.edition(), contexts)
    }

    fn pass(entry: QueueAdmission) -> ContextLease {
        match entry {
            QueueAdmission::Free(pass) | QueueAdmission::Waiting(pass, _) => pass,
            _ => panic!("no pass"),
        }
    }

    fn has_it(pass: &ContextLease) -> bool {
        pass.turn().granted.is_cancelled()
    }

    #[test]
    fn one_goes_after_the_other_in_one_context() {
        let lanes = ContextQueue::default();
        let [first, second, third] = ["1", "2", "3"].map(|run| pass(enter(&lanes, run, QueuePolicy::Queue)));
        lanes.settle(&"2".into(), rank(EventSeq(2), false));
        lanes.settle(&"3".into(), rank(EventSeq(3), false));
        assert!(has_it(&first) && !has_it(&second));
        assert_eq!(third.turn().context, first.turn().context);
        lanes.settle(&"3".into(), rank(EventSeq(4), true));
        drop(first);
        assert!(has_it(&third) && !has_it(&second));
        assert!(
            matches!(enter(&lanes, "4", QueuePolicy::Free), QueueAdmission::Busy(run) if run.as_str() == "3")
        );
        let urgent = pass(enter(&lanes, "5", QueuePolicy::Queue));
        lanes.settle(&"5".into(), rank(EventSeq(5), true));
        let back = pass(enter(&lanes, "6", QueuePolicy::Back(rank(EventSeq(1), false))));
        drop(third);
        assert!(has_it(&urgent) && !has_it(&second));
        drop(urgent);
        assert!(has_it(&back) && !has_it(&second));
        drop((second, back));
        assert_eq!(lanes.len(), 0);
    }

    #[test]
    fn who_is_next_is_what_the_log_says_however_late_the_news() {
        let lanes = ContextQueue::default();
        let [first, second, third] = ["1", "2", "3"].map(|run| pass(enter(&lanes, run, QueuePolicy::Queue)));
        // The later one in the log hears of it first.
        lanes.settle(&"2".into(), rank(EventSeq(3), false));
        drop(first);
        assert!(!has_it(&second), "the other one may be before it in the log");
        lanes.settle(&"3".into(), rank(EventSeq(2), false));
        assert!(has_it(&third) && !has_it(&second));
        let fourth = pass(enter(&lanes, "4", QueuePolicy::Queue));
        drop(third);
        assert!(!has_it(&second));
        // It is not in the log after all.
        drop(fourth);
        assert!(has_it(&second));
        let [fifth, sixth] = ["5", "6"].map(|run| pass(enter(&lanes, run, QueuePolicy::Queue)));
        lanes.settle(&"5".into(), rank(EventSeq(5), false));
        lanes.settle(&"6".into(), rank(EventSeq(6), false));
        lanes.unsettle(&"6".into());
        drop(second);
        assert!(!has_it(&fifth), "the log may say already that the other one is in front");
        lanes.keep(&"6".into());
        assert!(has_it(&fifth));
        drop((fifth, sixth));
        assert_eq!(lanes.len(), 0);
    }

    #[test]
    fn a_lookup_from_before_a_lane_ended_is_outdated() {
        let lanes = ContextQueue::default();
        let edition = lanes.edition();
        drop(pass(enter(&lanes, "1", QueuePolicy::Queue)));
        let contexts = (None, ContextId::from("fresh"));
        let entry = lanes.enter(("s".into(), "a".into()), "2".into(), QueuePolicy::Queue, edition, contexts);
        assert!(matches!(entry, QueueAdmission::Outdated));
    }
}
