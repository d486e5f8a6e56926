//! May a run still start in a session? While a session is being closed nothing new gets in, and what was getting in is
//! waited for, so that a closed session has no runs.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use protocol::SessionId;

/// The doors of all sessions. Cheap to clone.
#[derive(Clone, Default)]
pub struct SessionGate {
    inner: Arc<SessionGateState>,
}

#[derive(Default)]
struct SessionGateState {
    sessions: Mutex<HashMap<SessionId, SessionGateEntry>>,
    somebody_left: Notify,
}

#[derive(Default)]
struct SessionGateEntry {
    /// Runs that are getting in.
    entering: usize,
    /// How often it is barred.
    bars: usize,
}

/// Somebody is getting in.
pub struct StartGuard {
    doors: SessionGate,
    session: SessionId,
}

/// The door is barred until this is dropped.
pub struct CloseGuard {
    doors: SessionGate,
    session: SessionId,
}

impl SessionGate {
    /// `None` when the session is being closed.
    pub fn enter(&self, session: &SessionId) -> Option<StartGuard> {
        let mut sessions = self.lock();
        let door = sessions.entry(session.clone()).or_default();
        if door.bars != 0 {
            return None;
        }
        door.entering += 1;
        Some(StartGuard { doors: self.clone(), session: session.clone() })
    }

    /// Lets nobody in from now on, and waits until nobody is getting in.
    pub async fn bar(&self, session: &SessionId) -> CloseGuard {
        self.lock().entry(session.clone()).or_default().bars += 1;
        let bar = CloseGuard { doors: self.clone(), session: session.clone() };
        loop {
            let left = self.inner.somebody_left.notified();
            tokio::pin!(left);
            // Registered before the look, so that nobody leaves unnoticed in between.
            left.as_mut().enable();
            if self.lock().get(session).is_none_or(|door| door.entering == 0) {
                return bar;
            }
            left.await;
        }
    }

    fn leave(&self, session: &SessionId, change: impl Fn(&mut SessionGateEntry)) {
        let mut sessions = self.lock();
        if let Some(door) = sessions.get_mut(session) {
            change(door);
            if door.entering == 0 && door.bars == 0 {
                sessions.remove(session);
            }
        }
        drop(sessions);
        self.inner.somebody_left.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, SessionGateEntry>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StartGuard {
    fn drop(&mut self) {
        self.doors.leave(&self.session, |door| door.entering = door.entering.saturating_sub(1));
    }
}

impl Drop for CloseGuard {
    fn drop(&mut self) {
        self.doors.leave(&self.session, |door| door.bars = door.bars.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_bar_waits_for_those_who_are_getting_in_and_keeps_out_the_rest() {
        let doors = SessionGate::default();
        let session = SessionId::from("s");
        let entering = doors.enter(&session).unwrap();
        let mut barring = Box::pin(doors.bar(&session));
        assert!((&mut barring).now_or_never().is_none());
        assert!(doors.enter(&session).is_none());
        drop(entering);
        let bar = barring.await;
        assert!(doors.enter(&session).is_none());
        drop(bar);
        drop(doors.enter(&session).unwrap());
        assert!(doors.lock().is_empty());
    }
}
