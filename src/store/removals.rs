//! What deleted sessions leave in the log: taken away a piece at a time, so that no commit waits long for it, and read by nobody
//! meanwhile.
//!
//! A session is gone with its tombstone. Its events go after that, the newest first, so that what is left in between is the
//! beginning of a log and the projections can be rebuilt from it.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use sqlx::sqlite::SqliteConnection;
use tokio::sync::Notify;

use protocol::{EventSeq, SessionId};

/// Events that go in one transaction. A commit that comes meanwhile waits for it, so it takes about as long as a commit.
pub(super) const PIECE_EVENTS: u64 = 256;

/// Bytes of events that go in one transaction, but for its first: long ones lie on pages of their own.
pub(super) const PIECE_BYTES: u64 = 1 << 20;

/// Sessions whose events are being taken away, and up to where.
#[derive(Debug, Default)]
pub(super) struct SessionRemovals {
    sessions: RwLock<Arc<BTreeMap<SessionId, EventSeq>>>,
    news: Notify,
}

impl SessionRemovals {
    /// Those that the daemon before had not ended.
    pub async fn load(connection: &mut SqliteConnection) -> Result<SessionRemovals, sqlx::Error> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("select session_id, seq from removals").fetch_all(connection).await?;
        let sessions = rows.into_iter().map(|(session, seq)| (SessionId::from(session), EventSeq(seq)));
        let removals = SessionRemovals::default();
        removals.change(|all| all.extend(sessions));
        Ok(removals)
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<SessionId, EventSeq>)) {
        // Poisoned or not: each change leaves it whole.
        let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut sessions));
    }

    /// From now on nobody reads the events of a session up to `seq`.
    pub fn begin(&self, session: SessionId, seq: EventSeq) {
        self.change(|all| {
            all.insert(session, seq);
        });
        self.news.notify_one();
    }

    /// The last of a session's events are gone.
    pub fn end(&self, session: &SessionId) {
        self.change(|all| {
            all.remove(session);
        });
    }

    /// Waits until one has begun. May wake without cause. Cancel safe.
    pub async fn met_one(&self) {
        self.news.notified().await;
    }

    /// The sessions, as they are now.
    pub fn now(&self) -> Arc<BTreeMap<SessionId, EventSeq>> {
        Arc::clone(&self.sessions.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Says if an event is one of a deleted session that is still to go.
pub(super) fn is_removed(
    removals: &BTreeMap<SessionId, EventSeq>,
    session: Option<&SessionId>,
    seq: EventSeq,
) -> bool {
    // Hot: nearly always there are none.
    !removals.is_empty() && session.and_then(|it| removals.get(it)).is_some_and(|last| seq <= *last)
}
