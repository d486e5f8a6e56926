//! How freely do a session's calls run, now? Kept where every call can see it without asking the store.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::protocol::{ApprovalMode, SessionId};

/// The modes of sessions in which runs live. Cheap to clone.
#[derive(Clone, Default)]
pub struct Modes {
    sessions: Arc<Mutex<HashMap<SessionId, Weak<SessionMode>>>>,
}

/// One session's mode, for as long as a run of it lives.
#[derive(Debug, Default)]
pub struct SessionMode {
    /// One more than the place in [`ApprovalMode::ALL`]; 0 = not known yet.
    place: AtomicUsize,
}

impl Modes {
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

    /// The log says that the session has this mode from now on.
    pub fn set(&self, session: &SessionId, mode: ApprovalMode) {
        if let Some(known) = self.lock().get(session).and_then(Weak::upgrade) {
            known.place.store(place(mode), Ordering::Release);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<SessionMode>>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionMode {
    /// What the store said; what was set since is newer.
    pub fn found(&self, mode: ApprovalMode) {
        let _newer = self.place.compare_exchange(0, place(mode), Ordering::AcqRel, Ordering::Acquire);
    }

    /// The strictest, as long as it is not known.
    pub fn get(&self) -> ApprovalMode {
        let place = self.place.load(Ordering::Acquire);
        place.checked_sub(1).and_then(|at| ApprovalMode::ALL.get(at).copied()).unwrap_or(ApprovalMode::Plan)
    }
}

fn place(mode: ApprovalMode) -> usize {
    ApprovalMode::ALL.iter().position(|it| *it == mode).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_between_looking_and_telling_is_not_lost() {
        let modes = Modes::default();
        let session = SessionId::from("s");
        let mode = modes.of(&session);
        assert_eq!(mode.get(), ApprovalMode::Plan);
        modes.set(&session, ApprovalMode::AutoEdit);
        mode.found(ApprovalMode::Yolo);
        assert_eq!(modes.of(&session).get(), ApprovalMode::AutoEdit);
        drop(mode);
        modes.of(&session).found(ApprovalMode::Default);
        assert_eq!(modes.of(&session).get(), ApprovalMode::Plan, "nobody kept it");
    }
}
