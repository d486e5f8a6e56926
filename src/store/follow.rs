//! Following the log: every matching event after a cursor, then every later one, without gap or repeat.
//!
//! Followers pull. The database is the buffer, so a slow one costs no memory and loses nothing.

use std::{collections::BTreeSet, sync::Arc};

use sqlx::{Row as _, sqlite::SqliteRow};
use tokio::sync::Notify;

use super::{
    EventStore, LogFilter, StoreError, StoredEvent,
    filter::RunFamily,
    tail::{FollowTopic, RecentEvents},
};
use protocol::{EventSeq, RunId, SessionId};

/// Events read at once; bounds the memory of one follower.
const BATCH: usize = 256;

/// One reader's place in the log.
pub struct Follower {
    store: EventStore,
    filter: LogFilter,
    after: EventSeq,
    topics: Vec<FollowTopic>,
    woken: Arc<Notify>,
    /// Of a filter with descendants: right as of `after` while `is_family_known`.
    family: RunFamily,
    is_family_known: bool,
    /// The last batch was full, so there may be another one already.
    is_behind: bool,
}

impl EventStore {
    /// Follows what matches, from after `after` on.
    pub fn follow(&self, filter: LogFilter, after: EventSeq) -> Follower {
        let topics = filter.topics();
        // Registered before the first read, so an append between read and wait still wakes.
        let woken = self.shared.tail.register(&topics);
        let (family, is_family_known) = (RunFamily::default(), !filter.has_family());
        let (store, is_behind) = (self.clone(), false);
        Follower { store, filter, after, topics, woken, family, is_family_known, is_behind }
    }

    /// These runs and all below them, with their sessions; `None` of a run that is not there.
    async fn family(&self, runs: &[RunId]) -> Result<Vec<(RunId, Option<SessionId>)>, StoreError> {
        let named = serde_json::to_string(runs).map_err(|error| StoreError::Encode(Arc::new(error)))?;
        let rows = sqlx::query(FAMILY).bind(named).fetch_all(&self.shared.readers).await?;
        let member =
            |row: &SqliteRow| (row.get::<&str, _>(0).into(), row.get::<Option<&str>, _>(1).map(Into::into));
        Ok(rows.iter().map(member).collect())
    }

    /// These runs and all below them that are there now.
    pub async fn descendants(&self, runs: &[RunId]) -> Result<Vec<RunId>, StoreError> {
        Ok(self.family(runs).await?.into_iter().map(|(run, _)| run).collect())
    }
}

pub(super) const FAMILY: &str = "
with recursive member(id) as (
    select value from json_each(?1)
    union
    select runs.run_id from member join runs on runs.parent_run_id = member.id
)
select member.id, runs.session_id from member left join runs on runs.run_id = member.id";

impl Follower {
    /// What there is now, at most a batch; empty when the follower has seen all.
    pub async fn poll(&mut self) -> Result<Vec<Arc<StoredEvent>>, StoreError> {
        loop {
            self.know_family().await?;
            let Follower { store, filter, after, family, .. } = self;
            match store.shared.tail.after(*after, |event| filter.matches(event, family), BATCH) {
                RecentEvents::Events { events, searched_to } => {
                    self.after = searched_to;
                    return Ok(events);
                }
                RecentEvents::TooOld => {
                    let page = self.store.page(&self.filter, self.after, BATCH).await?;
                    self.after = page.searched_to;
                    // Runs of the family may have begun that the page did not show.
                    self.is_family_known = !self.filter.has_family();
                    if !page.events.is_empty() {
                        return Ok(page.events);
                    }
                }
            }
        }
    }

    /// Looks up the runs below those of the filter, as far as they began before `after`, and where to wait for them.
    async fn know_family(&mut self) -> Result<(), StoreError> {
        if self.is_family_known {
            return Ok(());
        }
        let members = self.store.family(&self.filter.runs).await?;
        // A run below another is in the same session. Of one that is not there yet nobody knows which.
        let sessions: Option<BTreeSet<SessionId>> =
            members.iter().map(|(_, session)| session.clone()).collect();
        self.family = RunFamily::new(members.into_iter().map(|(run, _)| run));
        if let Some(sessions) = sessions {
            let topics: Vec<FollowTopic> = sessions.into_iter().map(FollowTopic::Session).collect();
            if topics != self.topics {
                let before = std::mem::replace(&mut self.topics, topics);
                self.store.shared.tail.move_over(&before, &self.topics, &self.woken);
            }
        }
        self.is_family_known = true;
        Ok(())
    }

    /// Everything that matches up to here has been answered.
    pub fn position(&self) -> EventSeq {
        self.after
    }

    /// Waits until there may be an event that matches. May wake without cause. Cancel safe.
    pub async fn wait(&self) {
        self.woken.notified().await;
    }

    /// Waits for matching events. Cancel safe.
    pub async fn next(&mut self) -> Result<Vec<Arc<StoredEvent>>, StoreError> {
        loop {
            if std::mem::take(&mut self.is_behind) {
                // Batches of a flood are there at once, and others wait for this thread.
                tokio::task::yield_now().await;
            }
            let events = self.poll().await?;
            if !events.is_empty() {
                self.is_behind = BATCH <= events.len();
                return Ok(events);
            }
            self.wait().await;
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.store.shared.tail.unregister(&self.topics, &self.woken);
    }
}
