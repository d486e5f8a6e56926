//! Which sessions does a client have open, although it is not attached to them? Those in which it worked last, for as long as its
//! connection lasts.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::rpc::RpcCaller;
use protocol::SessionId;

/// Sessions of one connection that are remembered, the last ones.
const MOST_SESSIONS: usize = 64;

/// The sessions that clients have open. A cheap handle.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenSessions(Arc<Mutex<BTreeMap<u64, VecDeque<SessionId>>>>);

impl OpenSessions {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, VecDeque<SessionId>>> {
        // Poisoned or not: each change leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client works in this session.
    pub fn note(&self, caller: &RpcCaller, session: &SessionId) {
        let connection = caller.connection();
        // Before it is noted, so that nothing of it can stay.
        caller.keep_once(|| OpenSessionsLease { open: self.clone(), connection });
        let mut all = self.all();
        let sessions = all.entry(connection).or_default();
        sessions.retain(|it| it != session);
        if MOST_SESSIONS <= sessions.len() {
            sessions.pop_front();
        }
        sessions.push_back(session.clone());
    }

    /// Says if a client has it open.
    pub fn contains(&self, session: &SessionId) -> bool {
        self.all().values().any(|sessions| sessions.contains(session))
    }
}

/// Forgets what a connection worked in when it ends.
struct OpenSessionsLease {
    open: OpenSessions,
    connection: u64,
}

impl Drop for OpenSessionsLease {
    fn drop(&mut self) {
        self.open.all().remove(&self.connection);
    }
}
