//! How freely do a session's calls run, now? Kept where every call can see it without asking the store.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use protocol::{ApprovalMode, EventSeq, RuleOrigin, SessionId, SessionSummary};
use store::{EventStore, StoreError};

/// The modes of sessions in which runs live. Cheap to clone.
#[derive(Clone, Default)]
pub struct SessionModes {
    sessions: Arc<Mutex<HashMap<SessionId, Weak<SessionMode>>>>,
}

/// One session's mode, for as long as a run of it lives.
#[derive(Debug, Default)]
pub struct SessionMode {
    /// The event that said so, and in the lowest bits one more than the place in [`ApprovalMode::ALL`]; 0 = not known yet.
    /// Of two events the later one counts, in whatever order they are told.
    told: AtomicU64,
    /// The one whose word it is, by the event that said so; `None` = not known.
    origin: Mutex<Option<(EventSeq, Option<RuleOrigin>)>>,
}

impl SessionModes {
    /// Of a session. Take it before the store is read, and [tell](SessionMode::found) it then what was read: a change
    /// in between is not lost.
    pub fn of(&self, session: &SessionId) -> Arc<SessionMode> {
        let mut sessions = self.lock();
        if let Some(mode) = sessions.get(session).and_then(Weak::upgrade) {
            return mode;
        }
        sessions.retain(|_, mode| mode.strong_count() != 0);
        let mode = Arc::<SessionMode>::default();
        sessions.insert(session.clone(), Arc::downgrade(&mode));
        mode
    }

    /// The log says by this event that the session has this mode from now on. `origin`: whose word it is; `None` = whose it was, if it is
    /// the same mode.
    pub fn set(&self, session: &SessionId, mode: ApprovalMode, seq: EventSeq, origin: Option<RuleOrigin>) {
        if let Some(known) = self.lock().get(session).and_then(Weak::upgrade) {
            let is_same = origin.is_none() && known.get() == mode;
            if !is_same {
                known.keep_origin(seq, origin);
            }
            known.told.fetch_max(seq.0.unsigned_abs() << PLACE_BITS | place(mode), Ordering::AcqRel);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<SessionMode>>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionMode {
    /// The mode that the store said, and whose word it is; what was set since is newer.
    pub fn found(&self, mode: ApprovalMode, origin: Option<RuleOrigin>) {
        self.keep_origin(EventSeq(0), origin);
        let _newer = self.told.compare_exchange(0, place(mode), Ordering::AcqRel, Ordering::Acquire);
    }

    /// The same of a session that is in the store.
    pub async fn found_in(&self, store: &EventStore, session: &SessionSummary) -> Result<(), StoreError> {
        // By the word of this one no call runs, and none is refused.
        let is_usual = session.mode == ApprovalMode::Default;
        let origin = match !is_usual && self.origin().is_none() {
            true => store.mode_origin(&session.session_id).await?,
            false => None,
        };
        self.found(session.mode, origin);
        Ok(())
    }

    /// The one whose word the mode is, where that is known.
    pub fn origin(&self) -> Option<RuleOrigin> {
        self.origin_lock().as_ref().and_then(|(_, origin)| origin.clone())
    }

    fn keep_origin(&self, seq: EventSeq, origin: Option<RuleOrigin>) {
        let mut known = self.origin_lock();
        if known.as_ref().is_none_or(|(known, _)| *known < seq) {
            *known = Some((seq, origin));
        }
    }

    fn origin_lock(&self) -> MutexGuard<'_, Option<(EventSeq, Option<RuleOrigin>)>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.origin.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The strictest, as long as it is not known.
    pub fn get(&self) -> ApprovalMode {
        let place = self.told.load(Ordering::Acquire) & ((1 << PLACE_BITS) - 1);
        let at = usize::try_from(place).ok().and_then(|place| place.checked_sub(1));
        at.and_then(|at| ApprovalMode::ALL.get(at).copied()).unwrap_or(ApprovalMode::Plan)
    }
}

/// Bits for a place: there are fewer than seven modes.
const PLACE_BITS: u32 = 3;

fn place(mode: ApprovalMode) -> u64 {
    (1..).zip(ApprovalMode::ALL).find(|(_, it)| *it == mode).map_or(0, |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_between_looking_and_telling_is_not_lost() {
        let modes = SessionModes::default();
        let session = SessionId::from("s");
        let mode = modes.of(&session);
        assert_eq!(mode.get(), ApprovalMode::Plan);
        modes.set(&session, ApprovalMode::AutoEdit, EventSeq(7), None);
        mode.found(ApprovalMode::Yolo, None);
        assert_eq!(modes.of(&session).get(), ApprovalMode::AutoEdit);
        // An earlier change that is told later.
        modes.set(&session, ApprovalMode::Yolo, EventSeq(6), None);
        assert_eq!(mode.get(), ApprovalMode::AutoEdit);
        modes.set(&session, ApprovalMode::Plan, EventSeq(8), None);
        assert_eq!(mode.get(), ApprovalMode::Plan);
        drop(mode);
        modes.of(&session).found(ApprovalMode::Default, None);
        assert_eq!(modes.of(&session).get(), ApprovalMode::Plan, "nobody kept it");
    }
}
