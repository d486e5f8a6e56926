//! Following the log: every matching event after a cursor, then every later one, without gap or repeat.
//!
//! Followers pull. The database is the buffer, so a slow one costs no memory and loses nothing.

use std::sync::Arc;

use tokio::sync::Notify;

use super::{
    Store, StoreError, Stored,
    tail::{Recent, Topic},
};
use crate::protocol::{EventFilter, RunId, Seq, SessionId};

/// Events read at once; bounds the memory of one follower.
const BATCH: usize = 256;

/// Which events; an empty filter matches all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub session: Option<SessionId>,
    pub run: Option<RunId>,
    /// Empty = all.
    pub types: Vec<String>,
}

impl From<EventFilter> for Filter {
    fn from(filter: EventFilter) -> Filter {
        Filter { session: filter.session_id, run: filter.run_id, types: filter.types }
    }
}

impl Filter {
    pub fn session(session: SessionId) -> Filter {
        Filter { session: Some(session), ..Filter::default() }
    }

    pub fn run(run: RunId) -> Filter {
        Filter { run: Some(run), ..Filter::default() }
    }

    pub(super) fn matches(&self, event: &Stored) -> bool {
        let session_fits = self.session.is_none() || self.session == event.session;
        let run_fits = self.run.is_none() || self.run == event.run;
        let type_fits = self.types.is_empty() || self.types.iter().any(|it| **it == *event.kind);
        session_fits && run_fits && type_fits
    }

    fn topic(&self) -> Topic {
        match (&self.run, &self.session) {
            (Some(run), _) => Topic::Run(run.clone()),
            (None, Some(session)) => Topic::Session(session.clone()),
            (None, None) => Topic::All,
        }
    }
}

/// One reader's place in the log.
pub struct Follower {
    store: Store,
    filter: Filter,
    after: Seq,
    topic: Topic,
    woken: Arc<Notify>,
}

impl Store {
    /// Follows what matches, from after `after` on.
    pub fn follow(&self, filter: Filter, after: Seq) -> Follower {
        let topic = filter.topic();
        // Registered before the first read, so an append between read and wait still wakes.
        let woken = self.shared.tail.register(topic.clone());
        Follower { store: self.clone(), filter, after, topic, woken }
    }
}

impl Follower {
    /// What there is now, at most a batch; empty when the follower has seen all.
    pub async fn poll(&mut self) -> Result<Vec<Arc<Stored>>, StoreError> {
        loop {
            match self.store.shared.tail.after(self.after, &self.filter, BATCH) {
                Recent::Events { events, searched_to } => {
                    self.after = searched_to;
                    return Ok(events);
                }
                Recent::TooOld => {
                    let page = self.store.page(&self.filter, self.after, BATCH).await?;
                    self.after = page.searched_to;
                    if !page.events.is_empty() {
                        return Ok(page.events);
                    }
                }
            }
        }
    }

    /// Everything that matches up to here has been answered.
    pub fn position(&self) -> Seq {
        self.after
    }

    /// Waits until there may be an event that matches. May wake without cause. Cancel safe.
    pub async fn wait(&self) {
        self.woken.notified().await;
    }

    /// Waits for matching events. Cancel safe.
    pub async fn next(&mut self) -> Result<Vec<Arc<Stored>>, StoreError> {
        loop {
            let events = self.poll().await?;
            if !events.is_empty() {
                return Ok(events);
            }
            self.wait().await;
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.store.shared.tail.unregister(&self.topic, &self.woken);
    }
}
