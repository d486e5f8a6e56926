//! When are hooks told that a session starts? Before its first run, and before its next one after the daemon was started or the
//! session's context was cleared or compressed. No fact: what is not known of a session any more has a start again.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use protocol::SessionId;

/// Sessions that are known; a daemon that has met more tells some of their hooks once too often.
const MOST_SESSIONS: usize = 10_000;

/// Sessions whose hooks were told, with what has become of their contexts since.
#[derive(Default)]
pub struct SessionStarts {
    met: Mutex<HashMap<SessionId, Option<&'static str>>>,
}

impl SessionStarts {
    /// The reason why the session starts with the run that begins now; `None` = it does not.
    pub fn of(&self, session: &SessionId, is_new: bool) -> Option<&'static str> {
        // Only whole entries are put in, so a poisoned lock guards whole data.
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if MOST_SESSIONS <= met.len() {
            met.clear();
        }
        match met.insert(session.clone(), None) {
            Some(since) => since,
            None if is_new => Some("startup"),
            None => Some("resume"),
        }
    }

    /// The next run of the session starts it anew, for this reason.
    pub fn again(&self, session: &SessionId, why: &'static str) {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = met.get_mut(session) {
            *since = Some(why);
        }
    }
}
