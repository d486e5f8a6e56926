//! A warden that is started before anybody wants it: starting one takes longer than most commands do.

use std::sync::{Mutex, PoisonError};

use super::running::IdleWarden;

/// Room for one warden that nobody wants yet. Dropping it ends the warden.
#[derive(Default)]
pub struct SpareWarden(Mutex<Option<IdleWarden>>);

impl std::fmt::Debug for SpareWarden {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Spare").finish_non_exhaustive()
    }
}

impl SpareWarden {
    /// The one that waits, if it is still there.
    pub fn take(&self) -> Option<IdleWarden> {
        self.room().take().filter(IdleWarden::is_there)
    }

    pub fn is_missing(&self) -> bool {
        self.room().is_none()
    }

    /// Keeps one. Of two that came at once, the older ends.
    pub fn keep(&self, idle: IdleWarden) {
        let older = self.room().replace(idle);
        // Its end may take a moment, for which nobody needs to wait who wants the room.
        drop(older);
    }

    fn room(&self) -> std::sync::MutexGuard<'_, Option<IdleWarden>> {
        // Nothing panics while the room is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
